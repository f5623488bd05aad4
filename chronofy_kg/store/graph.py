"""GraphStore: the one door to the graph, for every engine that speaks Bolt.

It only opens and closes, and names what can be done; the work is in the modules beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from chronofy_kg.facts import FactTable, StringPool
from chronofy_kg.facts.plan import Plan
from chronofy_kg.store import catalog, rulegraph
from chronofy_kg.store.address import StoreAddress
from chronofy_kg.store.answers import AnswerWriter, read_answer
from chronofy_kg.store.connection import Connection
from chronofy_kg.store.errors import StaleSnapshotError
from chronofy_kg.store.facts import Changes, Position, position, read_changes, read_table
from chronofy_kg.store.jobs import JobRecords
from chronofy_kg.store.keys import KeyCabinet
from chronofy_kg.store.materialise import Many
from chronofy_kg.store.migrate import migrate
from chronofy_kg.store.query import DEFAULT_ROWS, DEFAULT_TIMEOUT_S, CypherResult, named_text, run_read_only
from chronofy_kg.store.requests import RequestLog
from chronofy_kg.store.writing import Batch, Beside, Written, refold, write_beside

__all__ = ["GraphStore"]

_NAMED_ROWS = 100_000


def _recorded(tenant: str, types: Sequence[Mapping[str, Any]]) -> Beside:
    return lambda tx, at: catalog.put_fact_types(tx, tenant, types, at)


class GraphStore:
    """An open graph store; use `open`, and close it or use it in a with statement. Thread safe.

    Args:
        connection: an open connection.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._answers = AnswerWriter(connection)

    @classmethod
    def open(cls, address: StoreAddress) -> Self:
        """Connect, verify, and bring the schema up to date.

        Raises:
            StoreUnavailableError: the address is wrong or nothing answers there.
            StoreAuthError: user or password is wrong.
            MigrationError: the store has a newer or an altered schema.
        """
        connection = Connection(address)
        try:
            migrate(connection)
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    def close(self) -> None:
        """Close the store; the embedded engine ends when nobody uses it any more."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def address(self) -> StoreAddress:
        """Where the store is."""
        return self._connection.address

    @property
    def keys(self) -> KeyCabinet:
        """The API keys of all tenants."""
        return KeyCabinet(self._connection)

    def requests(self, tenant: str) -> RequestLog:
        """Return the repeatable requests of a tenant."""
        return RequestLog(self._connection, tenant)

    def jobs(self, tenant: str) -> JobRecords:
        """Return the background jobs of a tenant."""
        return JobRecords(self._connection, tenant)

    # Assertions and facts

    def sequence(self, tenant: str) -> tuple[int, int]:
        """Return a tenant's last sequence number and when it was recorded (us); (0, 0) for a new tenant."""
        at = self.position(tenant)
        return at.sequence, at.recorded_at

    def position(self, tenant: str) -> Position:
        """Return where a tenant stands; zeros for a new one."""
        return position(self._connection, tenant)

    def read(self, tenant: str, pool: StringPool | None = None) -> tuple[FactTable, int]:
        """Return all assertions of a tenant, retired ones included, and the sequence number of that state.

        They come as they were told, in order of recorded_at and then of the row in its load.
        """
        table, at = self.read_at(tenant, pool)
        return table, at.sequence

    def read_at(self, tenant: str, pool: StringPool | None = None) -> tuple[FactTable, Position]:
        """Return what `read` returns, with the whole position of that state."""
        return read_table(self._connection, tenant, pool)

    def changes(self, tenant: str, since: int, pool: StringPool | None = None) -> Changes:
        """Return what was added and retired after a sequence number; see `Changes.apply`."""
        return read_changes(self._connection, tenant, since, pool)

    def write(
        self, tenant: str, known: FactTable, plan: Plan, many: Many, expected: int, now_us: int
    ) -> Written:
        """Write a plan in one transaction, with the facts that follow from it.

        Args:
            tenant: whose facts they are.
            known: every assertion of the tenant as of `expected`.
            plan: what to add and retire; at most some thousand rows at a time.
            many: bool[n] of a table: whether each row's fact type has cardinality `many`.
            expected: the sequence number of `known`.
            now_us: the caller's clock; recorded_at is this, or 1 us after the last write where that is later.

        Raises:
            StaleSnapshotError: the tenant is not at `expected`; nothing was written.
        """
        if plan.is_empty:
            at = self.position(tenant)
            if at.sequence != expected:
                raise StaleSnapshotError(tenant, expected, at.sequence)
            return Written(at.sequence, at.recorded_at, known, at.identity)
        return self.commit(Batch(tenant, known, plan, many), expected, now_us)

    def commit(self, batch: Batch, expected: int, now_us: int) -> Written:
        """Write a change that was worked out before; as `write` does."""
        return batch.commit(self._connection, expected, now_us)

    # What is kept beside the facts

    def write_fact_types(self, tenant: str, types: Sequence[Mapping[str, Any]]) -> None:
        """Write fact types: maps with a `name` and scalars or lists; None removes a property.

        They get no version: for those that turned up without a declaration.
        """
        catalog.write_fact_types(self._connection, tenant, types)

    def record_fact_types(self, tenant: str, types: Sequence[Mapping[str, Any]], now_us: int) -> Position:
        """Write fact types as their next versions, at a sequence number of their own, and return that."""
        return write_beside(self._connection, tenant, now_us, _recorded(tenant, types))

    def declare(
        self,
        tenant: str,
        known: FactTable,
        types: Sequence[Mapping[str, Any]],
        before: Many,
        after: Many,
        expected: int,
        now_us: int,
    ) -> Written:
        """Write fact types whose cardinality changes, and the facts that follow, in one transaction.

        Args:
            tenant: whose facts they are.
            known: every assertion of the tenant as of `expected`.
            types: as for `write_fact_types`.
            before, after: bool[n] of a table: whether each row's fact type has cardinality `many`.
            expected: the sequence number of `known`.
            now_us: the caller's clock.

        Raises:
            StaleSnapshotError: the tenant is not at `expected`; nothing was written.
        """
        beside = _recorded(tenant, types)
        return refold(self._connection, tenant, known, before, after, expected, now_us, beside)

    def read_fact_types(self, tenant: str) -> list[dict[str, Any]]:
        """Return the fact types that were written, by name."""
        return catalog.read_fact_types(self._connection, tenant)

    def read_fact_type_versions(self, tenant: str) -> list[dict[str, Any]]:
        """Return every version of every fact type, by name and version, each with its `recorded_at_us`."""
        return catalog.read_fact_type_versions(self._connection, tenant)

    def recorded_fact_types(self, tenant: str, recorded_at_us: int) -> bool:
        """Return whether fact types were recorded at just this instant."""
        return catalog.recorded_fact_types(self._connection, tenant, recorded_at_us)

    def write_spec(self, tenant: str, name: str, text: str, now_us: int, author: str | None = None) -> int:
        """Store a spec file and return its version; the newest text again is no new version."""
        return catalog.write_spec(self._connection, tenant, name, text, now_us, author)

    def read_specs(self, tenant: str) -> list[dict[str, Any]]:
        """Return every version of every spec file: name, version, hash, text, author, recorded_at_us."""
        return catalog.read_specs(self._connection, tenant)

    def write_answer(
        self, tenant: str, answer: str, body: Mapping[str, Any], used: Sequence[tuple[str, float]]
    ) -> None:
        """Store an answer with the (fact id, validity) pairs that it used; the same id again replaces it."""
        self._answers.write(tenant, answer, body, used)

    def read_answer(self, tenant: str, answer: str) -> dict[str, Any] | None:
        """Return the JSON form of an answer, None for an unknown id."""
        return read_answer(self._connection, tenant, answer)

    def write_rule_graph(
        self,
        tenant: str,
        nodes: Sequence[Mapping[str, Any]],
        edges: Sequence[Mapping[str, Any]],
        instances: Iterable[tuple[str, str]],
    ) -> None:
        """Replace a tenant's rule graph: nodes, edges, and (fact id, node id) pairs."""
        rulegraph.write_rule_graph(self._connection, tenant, nodes, edges, instances)

    def read_rule_graph(
        self, tenant: str
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, str]]]:
        """Return nodes, edges and (fact id, node id) pairs of a tenant's rule graph."""
        return rulegraph.read_rule_graph(self._connection, tenant)

    # Queries

    def cypher(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        row_limit: int = DEFAULT_ROWS,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> CypherResult:
        """Run one reading statement; nothing that it does can stay.

        Raises:
            ReadOnlyError: it is not a reading statement.
            LimitError: it took longer than `timeout_s` seconds.
            QueryError: the engine does not understand it.
        """
        return run_read_only(self._connection, text, parameters, row_limit, timeout_s)

    def named(self, name: str, /, **parameters: Any) -> CypherResult:
        """Run a query of ``cypher/queries`` by its name; QueryError for an unknown one."""
        return run_read_only(self._connection, named_text(name), parameters, _NAMED_ROWS)
