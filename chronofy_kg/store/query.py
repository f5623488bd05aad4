"""Read-only Cypher for people: guarded, bounded in rows and time, always rolled back; values for JSON.

The guard (`chronofy_kg.store.guard`) refuses what a rollback cannot undo; the access mode and the rollback
take care of the rest. Named queries are the files of ``cypher/queries``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from neo4j import READ_ACCESS
from neo4j.exceptions import Neo4jError
from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from chronofy_kg.errors import LimitError, QueryError, ReadOnlyError
from chronofy_kg.resources import data_folder
from chronofy_kg.store.connection import Connection
from chronofy_kg.store.errors import engine_message, told_errors
from chronofy_kg.store.guard import check_read_only

__all__ = ["CypherResult", "json_value", "named_queries", "named_text", "run_read_only"]

T = TypeVar("T")

DEFAULT_ROWS = 1_000
DEFAULT_TIMEOUT_S = 10.0
_GRACE_S = 0.5


@dataclass(frozen=True, slots=True)
class CypherResult:
    """What a query returned.

    Attributes:
        columns: names of the columns; the embedded engine may name none where there are no rows.
        rows: one list per row, values as JSON has them.
        truncated: whether there were more rows than the limit.
    """

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


def run_read_only(
    connection: Connection,
    text: str,
    parameters: Mapping[str, Any] | None = None,
    row_limit: int = DEFAULT_ROWS,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> CypherResult:
    """Run one reading statement.

    Args:
        connection: the open store.
        text: the statement.
        parameters: its parameters.
        row_limit: rows to return at most; more are cut off, and the result says so.
        timeout_s: seconds that it may take.

    Raises:
        ReadOnlyError: it is not a reading statement; nothing was changed.
        LimitError: it took longer than `timeout_s`.
        QueryError: the engine does not understand it.
    """
    check_read_only(text)
    return _within(
        timeout_s,
        lambda: _run(connection, text, dict(parameters or {}), row_limit, timeout_s),
    )


def _run(
    connection: Connection, text: str, parameters: dict[str, Any], row_limit: int, timeout_s: float
) -> CypherResult:
    with told_errors(connection.address):
        session = connection.session(
            default_access_mode=READ_ACCESS,
            fetch_size=min(row_limit + 1, 1_000),
        )
        with session, session.begin_transaction(timeout=timeout_s) as transaction:
            try:
                result = transaction.run(text, parameters)
                columns = list(result.keys())
                rows = [record.values() for record in result.fetch(row_limit + 1)]
                summary = result.consume()
            except Neo4jError as problem:
                raise _told(problem, timeout_s) from None
            except (TypeError, ValueError) as problem:
                raise QueryError(f"a parameter cannot be sent: {problem}") from None
            finally:
                # Whatever it was, nothing of it stays. (A transaction that is only left would be committed.)
                transaction.rollback()
    counted = summary.counters
    # Where rows were left unread the embedded engine names no type; its counters are right all the same.
    if summary.query_type not in ("r", None) or counted.contains_updates or counted.contains_system_updates:
        raise ReadOnlyError("the query writes; nothing was changed")
    shown = [[json_value(value) for value in row] for row in rows[:row_limit]]
    return CypherResult(columns, shown, truncated=len(rows) > row_limit)


def _told(problem: Neo4jError, timeout_s: float) -> Exception:
    """Return the error of this package for what the engine answered to a query."""
    code = problem.code or ""
    if "AccessMode" in code:
        return ReadOnlyError("the query writes; nothing was changed")
    if "TimedOut" in code or "Terminated" in code:
        return _too_long(timeout_s)
    if "OutOfMemory" in code:
        return LimitError("the query needs more memory than the store has; narrow it")
    if code.startswith(("Neo.ClientError.Statement", "Neo.ClientError.Procedure", "Neo.DatabaseError")):
        return QueryError(engine_message(problem))
    return problem


def _too_long(timeout_s: float) -> LimitError:
    return LimitError(f"the query took longer than {timeout_s:g} s; narrow it, or give it a LIMIT")


def _within(timeout_s: float, work: Callable[[], T]) -> T:
    """Run work in a thread of its own and wait no longer than the time given.

    The embedded engine ignores the timeout of a transaction (it ends a statement after its own 30 s), so
    the caller must not wait for it.
    """
    answers: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

    def run() -> None:
        try:
            answers.put((True, work()))
        except BaseException as problem:  # handed to the waiting thread
            answers.put((False, problem))

    threading.Thread(target=run, name="chronofy-read-only", daemon=True).start()
    try:
        well, answer = answers.get(timeout=timeout_s + _GRACE_S)
    except Empty:
        raise _too_long(timeout_s) from None
    if not well:
        raise answer
    result: T = answer
    return result


def json_value(value: Any) -> Any:
    """Return a value of the driver as JSON has it.

    Instants become RFC 3339 text in UTC, a time without a zone counting as UTC (the embedded engine drops
    the zone); durations become ISO 8601 text, infinities and NaN null.

    >>> json_value([1.5, float("nan"), {"a": True}])
    [1.5, None, {'a': True}]
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Duration | Point):  # both are tuples too
        return _json_object(value)
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in value.items()}
    return _json_object(value)


def _json_object(value: Any) -> Any:
    if isinstance(value, DateTime):
        return _instant_text(value)
    if isinstance(value, Date | Time | Duration):
        return value.iso_format()
    if isinstance(value, Node):
        return {"labels": sorted(value.labels), "properties": json_value(dict(value))}
    if isinstance(value, Relationship):
        return {"type": value.type, "properties": json_value(dict(value))}
    if isinstance(value, Path):
        return {"nodes": json_value(value.nodes), "relationships": json_value(value.relationships)}
    if isinstance(value, Point):
        return {"srid": value.srid, "coordinates": json_value(tuple(value))}
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def _instant_text(value: DateTime) -> str:
    try:
        moment: datetime = value.to_native()
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return value.iso_format()
    return moment.isoformat().replace("+00:00", "Z")


def named_queries() -> list[str]:
    """Return the names of the queries in ``cypher/queries``."""
    files = (entry.name for entry in data_folder("cypher").joinpath("queries").iterdir())
    return sorted(name.removesuffix(".cypher") for name in files if name.endswith(".cypher"))


def named_text(name: str) -> str:
    """Return the text of a named query; QueryError for an unknown one."""
    # Only names that are listed reach the file system.
    if name not in named_queries():
        raise QueryError(f"no query is called {name!r}; there are {', '.join(named_queries())}")
    return data_folder("cypher").joinpath("queries", name + ".cypher").read_text(encoding="utf-8")
