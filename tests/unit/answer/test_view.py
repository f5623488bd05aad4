"""The facts of a moment, against a slow reading of the definition of V."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.facts import catalog_of, table_of, told, us

from chronofy_kg.answer.judge import bound_of, default_judge
from chronofy_kg.answer.reacquire import targets, valid_until
from chronofy_kg.answer.trace import Evidence, TraceStep, cite
from chronofy_kg.answer.view import Moment, build_view
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.declared import decay_text, parse_decay
from chronofy_kg.decay.facttypes import FactType, from_declaration
from chronofy_kg.decay.families import Decay, DelayedOnset, HalfLife, Linear, PowerLaw, Weibull
from chronofy_kg.facts.model import Assertion, Contradiction, fact_id
from chronofy_kg.facts.table import FactTable, TableBuilder
from chronofy_kg.facts.time import DAY_US, OPEN_US

LATER = us("2026-12-01")
SLOW = from_declaration("slow", "numeric", "one", half_life_days=100.0)
FAST = from_declaration("fast", "numeric", "one", half_life_days=2.0, quality=0.8)
OPEN_ENDED = FactType(
    name="open", kind="numeric", cardinality="one", beta=0.1, beta_low=0.0, beta_high=math.inf,
    beta_from="fitted",
)  # fmt: skip
TYPES = TypeCatalog.of([SLOW, FAST, OPEN_ENDED])
DAYS = st.integers(0, 8)


@st.composite
def assertions(draw: st.DrawFn) -> Assertion:
    start = draw(DAYS)
    end = draw(st.one_of(st.none(), st.integers(start + 1, 10)))
    return Assertion(
        subject=draw(st.sampled_from("pq")),
        predicate="x",
        value=draw(st.integers(1, 2)),
        type=draw(st.sampled_from(["slow", "fast", "open"])),
        valid_from=start * DAY_US,
        valid_to=OPEN_US if end is None else end * DAY_US,
        observed_at=draw(DAYS) * DAY_US,
        source=draw(st.sampled_from("abc")),
        quality=draw(st.sampled_from([None, 0.3, 0.9])),
    )


def slow_v(table: FactTable, row: int, at: int) -> float:
    known = TYPES.types[table.pool[table.type[row]]]
    stated = float(table.quality[row])
    quality = (known.quality or 1.0) if math.isnan(stated) else stated
    age = max((at - int(table.observed_at[row])) / DAY_US, 0.0)
    return quality * math.exp(-known.beta * age)


@settings(max_examples=60, deadline=None)
@given(st.lists(assertions(), min_size=1, max_size=8), DAYS, st.booleans())
def test_v_is_the_greatest_over_the_believed_assertions_that_cover_the_fact(
    told_rows: list[Assertion], day: int, hindsight: bool
) -> None:
    builder = TableBuilder()
    builder.extend(told_rows)
    table, at = builder.build(), day * DAY_US
    view = build_view(table, TYPES, Moment(at, LATER, 0, hindsight))
    assert len({view.fact(i).subject for i in range(len(view))}) == len(view)
    for index in range(len(view)):
        fact = view.fact(index)
        assert fact.valid_from <= at < fact.valid_to
        covering = [
            row
            for row in range(len(table))
            if table.statement(row) == table.statement(int(view.winner[index]))
            and table.valid_from[row] <= fact.valid_from
            and fact.valid_to <= table.valid_to[row]
            and (hindsight or table.observed_at[row] <= at)
        ]
        best = max(slow_v(table, row, at) for row in covering)
        assert fact.validity.value == pytest.approx(best, rel=1e-12)
        assert view.validity[index] == pytest.approx(best, rel=1e-12)
        assert 0 <= fact.validity.low <= fact.validity.value <= fact.validity.high <= 1
        assert {s.id for s in fact.sources} == {table.pool.get(int(table.source[r])) for r in covering}
        assert fact.id == fact_id(table.statement(int(view.winner[index])), fact.valid_from)
        assert fact.age_days == max((at - fact.observed_at) / DAY_US, 0.0)


def test_an_open_interval_of_the_rate_gives_a_low_end_of_zero() -> None:
    table = table_of(told("p", "x", 1, "2026-01-01", type="open"))
    (later,) = (build_view(table, TYPES, Moment(us("2026-01-02"), LATER)).fact(0),)
    assert (later.validity.low, later.validity.high) == (0.0, 1.0)
    now = build_view(table, TYPES, Moment(us("2026-01-01"), LATER)).fact(0)
    assert (now.validity.low, now.validity.value, now.validity.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(("minutes", "known"), [(4, True), (5, True), (6, False)])
def test_row_15_an_observation_may_lie_as_far_ahead_as_clocks_differ(minutes: int, known: bool) -> None:
    table = table_of(told("p", "x", 1, "2026-01-01", seen=f"2026-01-01T12:{minutes:02d}Z", type="fast"))
    view = build_view(table, TYPES, Moment(us("2026-01-01T12:00Z"), LATER, skew_us=300_000_000))
    assert len(view) == int(known)
    if known:
        assert (view.fact(0).validity.value, view.fact(0).age_days) == (0.8, 0.0)


def test_a_later_statement_that_nobody_has_seen_yet_does_not_take_over() -> None:
    table = table_of(
        told("p", "x", 1, "2026-01-01", type="slow"),
        told("p", "x", 2, "2026-01-05", seen="2026-03-01", type="slow"),
    )
    now, later = Moment(us("2026-02-01"), LATER), Moment(us("2026-02-01"), LATER, hindsight=True)
    assert [build_view(table, TYPES, one).fact(0).value for one in (now, later)] == [1, 2]
    assert build_view(table, TYPES, later).fact(0).age_days == 0.0


def test_contradictions_name_the_other_statement_and_only_of_the_same_instant() -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", source="a"),
        told("p", "weight", 90, "2026-01-01", source="b", quality=0.9),
        told("p", "weight", 70, "2025-01-01", source="b"),
        told("q", "weight", 60, "2026-01-01", source="b"),
    )
    view = build_view(table, catalog_of(weight=365.0), Moment(us("2026-01-02"), LATER))
    facts = {view.fact(i).subject: view.fact(i) for i in range(len(view))}
    assert facts["p"].value == 80
    other = Contradiction(fact_id(table.statement(1), us("2026-01-01")), "90", ("b",))
    assert facts["p"].contradicts == (other,)
    assert facts["q"].contradicts == ()


def test_many_values_do_not_contradict_each_other() -> None:
    table = table_of(*(told("p", "takes", None, "2026-01-01", object=f"drug:{i}") for i in range(3)))
    view = build_view(table, catalog_of(), Moment(us("2026-01-02"), LATER))
    assert [view.fact(i).contradicts for i in range(3)] == [(), (), ()]


def test_very_old_facts_keep_their_order_though_v_is_zero() -> None:
    table = table_of(*(told(f"p{i}", "x", 1, f"19{70 + i}-01-01", type="fast") for i in range(3)))
    view = build_view(table, TYPES, Moment(us("2026-01-01"), LATER))
    assert (view.validity == 0).all()
    assert np.isfinite(view.log_v).all()
    assert [view.fact(int(i)).subject for i in np.argsort(-view.log_v)] == ["p2", "p1", "p0"]


def test_each_end_of_the_interval_is_the_greatest_over_the_assertions() -> None:
    """The assertion that is best by the rates need not be the one that is best at an end."""
    steep = FactType(
        name="steep",
        kind="numeric",
        cardinality="one",
        beta=0.01,
        beta_low=0.005,
        beta_high=2.0,
        beta_from="fitted",
    )
    sure = from_declaration("sure", "numeric", "one", beta=0.1)
    table = table_of(
        told("p", "x", 1, "2026-01-01", type="steep", source="a", seen="2026-01-01"),
        told("p", "x", 1, "2026-01-01", type="sure", source="b", seen="2026-01-01", quality=0.9),
    )
    view = build_view(table, TypeCatalog.of([steep, sure]), Moment(us("2026-01-06"), LATER))
    found = view.validity_of(0)
    assert found.value == pytest.approx(math.exp(-0.05))
    assert found.high == pytest.approx(math.exp(-0.025))
    assert found.low == pytest.approx(0.9 * math.exp(-0.5))  # at the steep end the other one is better
    cited = cite(view, 0)
    assert cited.validity == found
    trace = [TraceStep("s", (cited,))]
    bound = bound_of(trace)
    assert bound is not None
    assert (bound.value, bound.low, bound.high) == (found.value, found.low, found.high)
    rho = default_judge(0.5).rho(trace)
    assert (rho.value, rho.low, rho.high) == pytest.approx(
        (found.value - 0.5, found.low - 0.5, found.high - 0.5)
    )


def test_valid_until_follows_whichever_assertion_is_best_by_then() -> None:
    slow, quick = (from_declaration(n, "numeric", "one", beta=b) for n, b in (("slow", 0.01), ("quick", 0.2)))
    table = table_of(
        told("p", "x", 1, "2026-01-01", type="slow", source="a", quality=0.8),
        told("p", "x", 1, "2026-01-01", type="quick", source="b"),
    )
    at = us("2026-01-01")
    view = build_view(table, TypeCatalog.of([slow, quick]), Moment(at, LATER))
    assert view.validity_of(0).value == 1.0
    until = valid_until([TraceStep("s", (cite(view, 0),))], default_judge(0.5), at)
    assert until == pytest.approx(at + 100 * math.log(0.8 / 0.5) * DAY_US, abs=2)


ONSET = DelayedOnset(location=5.0, spread=3.0)
FAMILIES = [
    (Weibull(scale=10.0, shape=2.0), math.exp(-0.25)),
    (Linear(0.05), 0.75),
    (PowerLaw(1.5), 6.0**-1.5),
    (HalfLife(5.0), 0.5),
    (ONSET, 1.0),
]


@pytest.mark.parametrize(("decay", "value"), FAMILIES, ids=lambda v: type(v).__name__)
def test_a_declared_family_decides_validity(decay: Decay, value: float) -> None:
    row = from_declaration("x", "numeric", "one", decay=decay, quality=0.8)
    assert FactType.from_dict(row.to_dict()) == row
    plain = from_declaration("y", "numeric", "one", beta=0.1)
    table = table_of(told("p", "x", 1), told("q", "y", 1))
    view = build_view(table, TypeCatalog.of([row, plain]), Moment(us("2026-01-06"), LATER))
    found = {f.subject: f for f in (view.fact(0), view.fact(1))}
    assert found["p"].validity.value == pytest.approx(0.8 * value)
    assert found["p"].validity.low == found["p"].validity.value == found["p"].validity.high
    assert found["p"].decay == decay_text(decay)
    assert parse_decay(decay_text(decay)) == decay
    assert found["q"].validity.value == pytest.approx(math.exp(-0.5))
    assert found["q"].decay is None
    assert view.validity.max() == max(f.validity.value for f in found.values())


def test_a_fact_of_a_delayed_onset_is_asked_for_again_only_if_that_helps() -> None:
    late = from_declaration("x", "numeric", "one", decay=ONSET)
    view = build_view(table_of(told("p", "x", 1)), TypeCatalog.of([late]), Moment(us("2026-01-21"), LATER))
    step = TraceStep("s", (cite(view, 0),))
    fresh = math.exp(-((5 / 3) ** 2) / 2)
    assert Evidence.of([step]).fresh[0] == pytest.approx(fresh)
    (target,) = targets([step], default_judge(0.5), 3)
    assert not target.reachable  # a fresh observation would be worth 0.25 now
