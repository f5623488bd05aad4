"""KnowledgeBase: ties facts, decay, specs, rules, store, retrieval and answers together. No logic of its own.

One instance serves one tenant. It holds a snapshot of the tenant's assertions, refreshed from the store's
change sequence before each query, so that several processes on one store agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from chronofy_kg.answer.account import Account, changed_facts, explain_fact, history_of, rows_to_retract
from chronofy_kg.answer.compose import Found, compose
from chronofy_kg.answer.dryrun import SpecDryRun, dry_run
from chronofy_kg.answer.identity import request_id
from chronofy_kg.answer.listing import FactFilter, FactPage, list_facts, pinned
from chronofy_kg.answer.model import Answer, Pattern
from chronofy_kg.answer.provenance import provenance_of
from chronofy_kg.answer.reliability import Calibration
from chronofy_kg.answer.resolve import find_fact, resolve
from chronofy_kg.answer.select import found_by_pattern, found_by_question
from chronofy_kg.answer.shape import answer_as_json
from chronofy_kg.answer.shelf import SpecChoice, SpecShelf, SpecVersion
from chronofy_kg.answer.trace import Cited
from chronofy_kg.answer.typeshelf import TypeShelf
from chronofy_kg.answer.verify import GivenStep, verify
from chronofy_kg.answer.view import Moment
from chronofy_kg.decay.curves import Curve
from chronofy_kg.decay.facttypes import Priors
from chronofy_kg.errors import InputError, QueryError, UnknownFactError, UnknownNameError
from chronofy_kg.facts.history import believed_rows
from chronofy_kg.facts.model import Assertion, Fact, fact_id
from chronofy_kg.facts.plan import Plan, plan_retract
from chronofy_kg.facts.readers import ColumnMapping, ReadOptions, RowError, as_mapping, read_table
from chronofy_kg.facts.table import FactTable, TableBuilder
from chronofy_kg.facts.time import OPEN_US, parse_moment
from chronofy_kg.facts.writers import Profile, check_form, write_file, write_table
from chronofy_kg.retrieval.corpus import Corpus
from chronofy_kg.retrieval.rank import Mode
from chronofy_kg.rules import MiningOptions, mine_rules
from chronofy_kg.settings import Settings, load_settings
from chronofy_kg.store import CypherResult, GraphStore, Loader, Snapshot, StoreAddress
from chronofy_kg.store.loading import Progress

__all__ = ["KnowledgeBase", "LoadReport", "MineReport", "SpecChoice", "SpecDryRun", "SpecVersion"]

#: An instant: ISO 8601 text, or microseconds since 1970 in UTC.
When = int | str


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did. With `written` false nothing was stored, because of the errors."""

    rows: int
    added: int
    unchanged: int
    corrected: int
    errors: tuple[RowError, ...]
    written: bool
    sequence: int
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MineReport:
    """Size of the rule graph, and its strongest edges by bits per event."""

    nodes: int
    edges: int
    top: tuple[dict[str, Any], ...]


class KnowledgeBase:
    """The facts of one tenant, ready to be loaded, learned from and asked.

    Args:
        store: an open graph store.
        settings: the settings of this process.
        clock: returns now in microseconds since 1970.
    """

    def __init__(self, store: GraphStore, settings: Settings, clock: Callable[[], int] | None = None) -> None:
        self.settings = settings
        self.tenant = settings.tenant
        self._store = store
        self._owns_store = True
        self._now = clock if clock is not None else _wall_clock
        self._priors = Priors(
            numeric_half_life_days=settings.half_life_numeric,
            categorical_half_life_days=settings.half_life_categorical,
        )
        self._snapshot = Snapshot(store, self.tenant, settings.data / "snapshots")
        self._types = TypeShelf(store, self.tenant, self._snapshot, self._priors, lambda: self._now())
        self._loader = Loader(
            store, self.tenant, self._snapshot, self._types.catalog, lambda: self._now(), settings.load_batch
        )
        self._shelf = SpecShelf(store, self.tenant, settings.gamma)
        self._corpus = Corpus(settings.data / "vectors", settings.embedder)

    @classmethod
    def open(
        cls, uri: str | None = None, path: str | Path | None = None, *, settings: Settings | None = None
    ) -> KnowledgeBase:
        """Open a knowledge base.

        Args:
            uri: "embedded:", "bolt://…" or "neo4j://…"; None takes the settings'.
            path: data folder of the embedded store and of caches; None takes the settings'.
            settings: all settings, instead of those of the environment.

        Raises:
            StoreError: the store cannot be reached, refuses the user, or has a newer schema.
        """
        chosen = settings or load_settings(uri=uri, data=path)
        secret = chosen.password.get_secret_value() if chosen.password else None
        address = StoreAddress(chosen.uri, chosen.user, secret, chosen.database, chosen.data)
        return cls(GraphStore.open(address), chosen)

    def close(self) -> None:
        """Give the store back; the embedded engine ends with its last user."""
        self._snapshot.close()
        if self._owns_store:
            self._store.close()

    def of_tenant(self, tenant: str) -> KnowledgeBase:
        """Return the knowledge base of another tenant on the same open store.

        It is closed by itself, before this one; that leaves the store open.
        """
        settings = self.settings.model_copy(update={"tenant": tenant})
        other = KnowledgeBase(self._store, settings, self._now)
        other._owns_store, other._corpus = False, self._corpus.sibling()
        return other

    @property
    def store(self) -> GraphStore:
        """The open store, for what is kept beside the facts: keys, jobs, repeatable requests."""
        return self._store

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Facts

    def load(
        self,
        source: str | Path | FactTable | Iterable[Assertion],
        *,
        on_error: Literal["abort", "skip"] = "abort",
        encoding: str = "utf-8",
        mapping: ColumnMapping | Mapping[str, Any] | str | Path | None = None,
        restore: bool = False,
        on_progress: Progress | None = None,
    ) -> LoadReport:
        """Load assertions from a file, a table or an iterable.

        Args:
            source: path of a .jsonl, .csv, .tsv, .parquet, .ttl, .trig, .nt, .nq or .jsonld file (text also
                .gz), a FactTable, or assertions.
            on_error: abort stores nothing if any row is bad, skip stores the others.
            encoding: of CSV files.
            mapping: which column of a file is which field, or the path of a mapping file.
            restore: keep the transaction times of an export; the tenant must be empty.
            on_progress: called with what is done, rows done, and rows in all (of a file that is being read,
                about so many) or None.

        Raises:
            InputError: the source cannot be read at all, or the mapping is wrong.
            ConflictError: a restore finds something else in the tenant.
        """
        errors: tuple[RowError, ...] = ()
        told: FactTable
        is_file = isinstance(source, str | Path)
        if isinstance(source, str | Path):
            options = ReadOptions(self.settings.default_zone, encoding, as_mapping(mapping), restore)
            tell = None if on_progress is None else partial(on_progress, "read")
            result = read_table(Path(source), options, tenant=self.tenant, on_row=tell)
            told, errors = result.table, result.errors
        elif isinstance(source, FactTable):
            told = source
        elif restore:
            raise InputError("assertions have no transaction times; restore a file or a table")
        else:
            builder = TableBuilder(self.tenant)
            builder.extend(source)
            told = builder.build()
        rows = len(told) + len(errors)
        if errors and on_error == "abort":
            return LoadReport(rows, 0, 0, 0, errors, written=False, sequence=self._snapshot.sequence)
        if restore:
            done = self._loader.restore(told, self._skew, on_progress)
        else:
            done = self._loader.load(told, on_progress)
        ids = (
            () if is_file else (fact_id(told.statement(r), int(told.valid_from[r])) for r in range(len(told)))
        )
        return LoadReport(
            rows, done.added, done.unchanged, done.corrected, errors, written=True,
            sequence=self._snapshot.sequence, facts=tuple(ids),
        )  # fmt: skip

    def export(
        self,
        target: str | Path | IO[bytes],
        *,
        form: str | None = None,
        profile: Profile | None = None,
        on_progress: Progress | None = None,
    ) -> int:
        """Write every assertion ever told, with its transaction times; `load(restore=True)` takes it back.

        Args:
            target: path of a file, whose ending is its form (see `writers.ENDINGS`; text also .gz), or a
                stream of bytes.
            form: the form for a stream, as an ending; .jsonl by default.
            profile: how RDF says what is known of a statement, "star" or "plain".
            on_progress: called with "write", rows done and rows in all.

        Returns:
            The number of assertions written.

        Raises:
            InputError: the ending is unknown, a library is missing, or the file cannot be written.
        """
        table, _ = self._snapshot.current()
        tell = None if on_progress is None else lambda rows: on_progress("write", rows, len(table))
        if isinstance(target, str | Path):
            write_file(table, Path(target), profile=profile, on_row=tell)
        else:
            chosen = check_form(Path(f"stream{form or '.jsonl'}"), profile)
            write_table(table, target, chosen, profile=profile, on_row=tell)
        return len(table)

    def facts(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,  # noqa: A002 - the word of the model
        type: str | None = None,  # noqa: A002
        source: str | None = None,
        at: When | None = None,
        known_at: When | None = None,
        history: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> FactPage:
        """List facts, page by page; see `answer.listing` for the order."""
        table, last = self._snapshot.current()
        wanted = FactFilter(Pattern(subject, predicate, object), type, source, history)
        moment = pinned(self._moment(at, known_at, last), cursor, wanted)
        return list_facts(
            table, self._types.catalog(moment.known_at), wanted, moment, limit=limit, cursor=cursor
        )

    def fact(self, fact_id: str, *, at: When | None = None, known_at: When | None = None) -> Fact:
        """Return a fact by id, whether it holds at `at` or not.

        Raises:
            UnknownFactError: no fact has this id.
        """
        table, last = self._snapshot.current()
        moment = self._moment(at, known_at, last)
        found = find_fact(table, self._types.catalog(moment.known_at), moment, fact_id, self._keys([fact_id]))
        if found is None:
            raise UnknownFactError(f"no fact {fact_id!r} is known at that moment")
        return found

    def fact_history(
        self, fact_id: str, *, at: When | None = None, known_at: When | None = None
    ) -> list[tuple[Fact, str]]:
        """Return all periods of a fact's key, each with what ended it in words; see `answer.account`."""
        table, last = self._snapshot.current()
        moment = self._moment(at, known_at, last)
        return history_of(table, self._types.catalog(moment.known_at), moment, fact_id, self._keys([fact_id]))

    def explain(self, fact_id: str, *, at: When | None = None, known_at: When | None = None) -> Account:
        """Return why a fact holds or what ended it, with its assertions; see `answer.account`."""
        table, last = self._snapshot.current()
        moment = self._moment(at, known_at, last)
        return explain_fact(
            table, self._types.catalog(moment.known_at), moment, fact_id, self._keys([fact_id])
        )

    def retract(self, fact_id: str, source: str | None = None) -> list[str]:
        """Stop believing what a fact rests on; return the ids of the facts that changed, sorted.

        Args:
            fact_id: of a fact, in force or not; one that is retracted already changes nothing.
            source: retract only what this source states of it.

        Raises:
            UnknownFactError: no fact has this id.
            QueryError: the source states nothing of the fact.
        """
        return self.retract_counted(fact_id, source)[0]

    def retract_counted(self, fact_id: str, source: str | None = None) -> tuple[list[str], int]:
        """Do as `retract`; return the ids, and how many assertions were retired."""
        catalog, keys = self._types.catalog(), self._keys([fact_id])
        # As the graph folds: all that is believed, whenever it was observed.
        moment = Moment(self._now(), OPEN_US - 1, hindsight=True)
        before = self._snapshot.current()[0]

        def plan(table: FactTable) -> Plan:
            nonlocal before
            before = table
            return plan_retract(table, rows_to_retract(table, catalog, moment, fact_id, keys, source))

        made = self._snapshot.write(plan, self._loader.many, self._now)
        return changed_facts(before, catalog, moment, made.retire, keys), len(made.retire)

    # Fact types, specs and rules

    def fact_types(self) -> list[dict[str, Any]]:
        """Return every fact type as a JSON-safe map, by name."""
        return self._types.all()

    def fact_type(self, name: str) -> dict[str, Any]:
        """Return one fact type with all its versions; UnknownNameError for an unknown name."""
        return self._types.one(name)

    def explain_type(self, name: str) -> tuple[dict[str, Any], Curve | None]:
        """Return a fact type, and its history against the fitted curve; see `answer.typeshelf`."""
        return self._types.explained(name, self._skew)

    def calibrate(
        self,
        names: Sequence[str] | None = None,
        *,
        cuts: int = 5,
        again: bool = False,
        tau: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Calibration, ...]:
        """Test on the history whether what had validity V was true in a share V of the cases.

        Args:
            names: fact types; None for all.
            cuts: at how many instants the future is hidden.
            again: whether a value that came back counts as true.
            tau: claims below it are left out; the setting by default.
            on_progress: called with number and total before each cut.

        Returns:
            The reliability table of all claims, then one for each fact type; see `answer.calibrate`.

        Raises:
            QueryError: a name is not a fact type of any fact.
        """
        least = self.settings.tau if tau is None else tau
        return self._types.calibrated(
            names, self._skew, cuts=cuts, again=again, tau=least, on_cut=on_progress
        )

    def put_spec(self, name: str, text: str, author: str | None = None) -> SpecVersion:
        """Check and store a spec file, and put the fact types that it declares into force.

        Raises:
            SpecError: the text has errors; nothing was stored.
        """
        version, file = self._shelf.put(name, text, self._now(), author)
        self._types.declare(file)
        return version

    def dry_run_spec(self, name: str, text: str) -> SpecDryRun:
        """Return what `put_spec` would change, with nothing written; raises as it does."""
        table, last = self._snapshot.current()
        moment = self._moment(None, None, last)
        return dry_run(self._shelf, name, text, table, self._types.catalog(), moment, self._priors)

    def specs(self) -> list[SpecVersion]:
        """Return every version of every stored spec file, by name and version."""
        return self._shelf.all()

    def fit(
        self, names: Sequence[str] | None = None, *, on_progress: Progress | None = None
    ) -> list[dict[str, Any]]:
        """Learn the rates of fact types from their history and record them; see `answer.typeshelf`.

        A type whose facts have not changed stays as it is; a declared rate stays and is not refuted by a fit.

        Returns:
            The rows of the table of fact types, each with `changed`: whether it is a new version.

        Raises:
            QueryError: a name is not a fact type of any fact.
        """
        return self._types.fit(names, self._skew, on_progress)

    def mine(
        self, options: MiningOptions | None = None, *, on_progress: Progress | None = None
    ) -> MineReport:
        """Mine temporal rules from the facts believed now and write the rule graph."""
        tell = on_progress if on_progress is not None else _tell_nobody
        table, known_at = self._snapshot.current()
        tell("mine", 0, None)
        graph = mine_rules(table, believed_rows(table, known_at), options or MiningOptions())
        nodes, edges = graph.nodes_as_maps(), graph.edges_as_maps()
        pairs = zip(graph.instances.rows.tolist(), graph.instances.nodes.tolist(), strict=True)
        instances = [
            (fact_id(table.statement(row), int(table.valid_from[row])), graph.nodes[node].id)
            for row, node in pairs
        ]
        tell("write", 0, None)
        self._store.write_rule_graph(self.tenant, nodes, edges, instances)
        names = {n.id: f"{n.subject_category} {n.predicate} {n.object_category}" for n in graph.nodes}
        best = sorted(edges, key=lambda e: (-e["bits"] * e["support"], e["source"], e["target"]))[:10]
        top = tuple({**e, "if": names[e["source"]], "then": names[e["target"]]} for e in best)
        return MineReport(len(nodes), len(edges), top)

    # Questions

    def query(
        self,
        question: str | None = None,
        *,
        pattern: Pattern | None = None,
        at: When | None = None,
        known_at: When | None = None,
        spec: SpecChoice | None = None,
        params: Mapping[str, float | str] | None = None,
        tau: float | None = None,
        mode: Mode = "balanced",
        limit: int = 10,
        on_fail: Literal["withhold", "flag"] | None = None,
        history: bool = False,
        hindsight: bool = False,
    ) -> Answer:
        """Answer a question, or find what matches a pattern, as of (at, known_at).

        Args:
            question: words; or
            pattern: a statement with parts left open.
            at, known_at: instants, as text or microseconds; now and the store's last change by default.
            spec, params: how to judge; G validity >= gamma by default.
            tau: the knowledge filter; the setting by default.
            mode: fresh, balanced, relevant or fused: how a question ranks.
            limit: most statements.
            on_fail: withhold or flag what fails the spec.
            history: show ended periods too.
            hindsight: count observations later than `at`.

        Raises:
            QueryError: neither or both of question and pattern, or the spec cannot judge.
            SpecError: the spec's text has errors.
        """
        if (question is None) == (pattern is None):
            raise QueryError("give a question or a pattern, one of them")
        table, last = self._snapshot.current()
        moment = self._moment(at, known_at, last, hindsight)
        judge, catalog = self._shelf.judge(spec, params), self._types.catalog(moment.known_at)
        least = self.settings.tau if tau is None else tau
        found: Found
        if pattern is not None:
            found = found_by_pattern(table, catalog, pattern, moment, tau=least, limit=limit, history=history)
        else:
            found = found_by_question(
                table, catalog, question or "", self._corpus, moment,
                tau=least, gate=self.settings.gate, mode=mode, limit=limit, history=history,
            )  # fmt: skip
        request = {"question": question, "pattern": pattern, "tau": least, "mode": mode, "limit": limit,
                   "on_fail": on_fail, "history": history}  # fmt: skip
        answer = compose(
            found, judge, answer_id=request_id(self.tenant, request, moment, judge, catalog), at=moment.at,
            known_at=moment.known_at, lag=self.settings.lag_window, on_fail=on_fail,
        )  # fmt: skip
        return self._keep(answer, found.stated)

    def verify(
        self,
        steps: Sequence[GivenStep],
        *,
        at: When | None = None,
        known_at: When | None = None,
        spec: SpecChoice | None = None,
        params: Mapping[str, float | str] | None = None,
    ) -> Answer:
        """Judge a trace that other reasoning produced; see `answer.verify`."""
        table, last = self._snapshot.current()
        moment = self._moment(at, known_at, last)
        judge, catalog = self._shelf.judge(spec, params), self._types.catalog(moment.known_at)

        def look_up(ids: Sequence[str]) -> dict[str, Cited]:
            return resolve(table, catalog, moment, ids, self._keys(ids))

        answer = verify(
            steps, look_up, judge,
            answer_id=request_id(self.tenant, {"steps": steps}, moment, judge, catalog),
            at=moment.at, known_at=moment.known_at, lag=self.settings.lag_window,
        )  # fmt: skip
        return self._keep(answer, ())

    def answer(self, answer_id: str) -> dict[str, Any]:
        """Return a stored answer in its JSON form; UnknownNameError for an unknown id."""
        found = self._store.read_answer(self.tenant, answer_id)
        if found is None:
            raise UnknownNameError(f"no answer {answer_id!r} is known")
        return found

    def provenance(self, answer_id: str) -> dict[str, Any]:
        """Return where a stored answer comes from, as W3C PROV-O in JSON-LD."""
        return provenance_of(self.answer(answer_id))

    # The graph itself

    def cypher(self, text: str, parameters: Mapping[str, Any] | None = None) -> CypherResult:
        """Run a read-only Cypher query on the whole store.

        Raises:
            ReadOnlyError: the query writes.
            LimitError: it takes too long.
        """
        limit, timeout = self.settings.cypher_rows, self.settings.cypher_timeout_s
        return self._store.cypher(text, dict(parameters or {}), row_limit=limit, timeout_s=timeout)

    def named(self, name: str, parameters: Mapping[str, Any] | None = None) -> CypherResult:
        """Run a named query of the Cypher library with this tenant."""
        return self._store.named(name, **{"tenant": self.tenant, **(parameters or {})})

    def ready(self) -> dict[str, Any]:
        """Return whether the parts work; raises StoreUnavailableError where the store does not answer."""
        sequence, _ = self._store.sequence(self.tenant)
        return {"store": "ok", "sequence": sequence, "embedder": self._corpus.state}

    def warm(self, on_progress: Progress | None = None, *, only_pending: bool = False) -> None:
        """Load the model and embed every text that has no vector yet; questions work meanwhile by words.

        Args:
            on_progress: called with "embed", texts done, and texts in all.
            only_pending: leave the model alone where no text waits for it.
        """
        table, _ = self._snapshot.current()
        self._corpus.update(table)
        if self._corpus.pending or not only_pending:
            self._corpus.embed(on_progress)

    # Parts of the above

    @property
    def _skew(self) -> int:
        return int(self.settings.clock_skew_s * 1_000_000)

    def _moment(self, at: When | None, known_at: When | None, last: int, hindsight: bool = False) -> Moment:
        return Moment(
            self._now() if at is None else self._instant(at),
            last if known_at is None else self._instant(known_at),
            self._skew,
            hindsight,
        )

    def _instant(self, when: When) -> int:
        """Return an instant in microseconds; text is ISO 8601, without an offset in the default zone."""
        return parse_moment(when, zone=self.settings.default_zone) if isinstance(when, str) else when

    def _keys(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        rows = self._store.named("fact_keys", tenant=self.tenant, ids=list(ids)).rows
        return [(str(subject), str(predicate)) for subject, predicate in rows]

    def _keep(self, answer: Answer, used: Sequence[Cited]) -> Answer:
        body = answer_as_json(answer)
        shares = [(c.id, c.validity.value) for c in used]
        self._store.write_answer(self.tenant, answer.id, body, shares)
        return answer


def _tell_nobody(stage: str, done: int, total: int | None) -> None:
    pass


def _wall_clock() -> int:
    return time.time_ns() // 1_000
