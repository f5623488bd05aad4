"""The fold against an evaluator that asks each instant by itself; loading order; corrections."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofy_kg.facts import Assertion, FactTable, TableBuilder, fold
from chronofy_kg.facts.history import _interrupt, _sweep
from chronofy_kg.facts.plan import plan_load
from chronofy_kg.facts.time import OPEN_US

HORIZON = 8  # instants 0..8 and one far beyond
INSTANTS = (*range(HORIZON + 2), OPEN_US - 1)


@st.composite
def assertions(draw, open_only=False):
    start = draw(st.integers(0, HORIZON - 1))
    end = OPEN_US if open_only or draw(st.booleans()) else draw(st.integers(start + 1, HORIZON))
    return Assertion(
        subject=draw(st.sampled_from(["s", "t"])),
        predicate="p",
        value=draw(st.sampled_from([1, 1.0, 2, True, "1"])),
        unit=draw(st.sampled_from([None, None, "mg"])),
        valid_from=start,
        valid_to=end,
        observed_at=draw(st.integers(0, 3)),
        source=draw(st.sampled_from([None, "a", "b"])),
        quality=draw(st.sampled_from([None, 0.5, 1.0])),
    )


lists = st.lists(assertions(), max_size=9)
open_lists = st.lists(assertions(open_only=True), max_size=9)


def table_of(rows):
    builder = TableBuilder()
    builder.extend(rows)
    return builder.build()


def fold_all(rows, many):
    table = table_of(rows)
    return fold(table, np.arange(len(table)), np.full(len(table), many))


def facts(history):
    return {
        (history.table.statement(int(row)), int(start), int(end))
        for row, start, end in zip(history.winner, history.start, history.end, strict=True)
    }


def priority(table, row):
    quality = table.quality[row]
    return (
        table.valid_from[row],
        1.0 if np.isnan(quality) else quality,
        table.observed_at[row],
        table.ids[row].tobytes(),
    )


def holds_at(table, many, at):
    """Asks every key by itself: the statements that hold at an instant."""
    keys = {}
    for row in range(len(table)):
        statement = table.statement(row)
        if table.valid_from[row] <= at < table.valid_to[row]:
            keys.setdefault(statement if many else statement[:3], []).append(row)
    return {table.statement(max(rows, key=lambda row: priority(table, row))) for rows in keys.values()}


def continues(table, statement, at):
    """Whether some row states a statement over an instant."""
    return any(
        table.statement(row) == statement and table.valid_from[row] <= at < table.valid_to[row]
        for row in range(len(table))
    )


@given(st.one_of(lists, open_lists), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_fold_is_what_each_instant_says(rows, many):
    history = fold_all(rows, many)
    table = history.table
    for at in INSTANTS:
        held = [table.statement(int(history.winner[fact])) for fact in history.holding(at)]
        assert len(held) == len(set(held))
        assert set(held) == holds_at(table, many, at)


@given(lists, st.booleans())
@settings(max_examples=60, deadline=None)
def test_facts_of_a_key_never_overlap_and_rest_on_their_winner(rows, many):
    history = fold_all(rows, many)
    assert (history.start < history.end).all()
    for one, other in itertools.pairwise(range(len(history))):
        assert history.key[one] <= history.key[other]
        if history.key[one] == history.key[other]:
            assert history.end[one] <= history.start[other]
    offsets, support = history.support(np.arange(len(history)))
    table = history.table
    for fact in range(len(history)):
        rests_on = support[offsets[fact] : offsets[fact + 1]].tolist()
        assert len(rests_on) == len(set(rests_on))
        winner, start, end = int(history.winner[fact]), history.start[fact], history.end[fact]
        assert set(rests_on) == {
            row
            for row in range(len(table))
            if table.statement(row) == table.statement(winner)
            and table.valid_from[row] <= start
            and end <= table.valid_to[row]
        }
        assert winner in rests_on
    ids = [history.id(fact) for fact in range(len(history))]
    assert len(ids) == len(set(ids))


@given(lists, st.booleans())
@settings(max_examples=60, deadline=None)
def test_superseded_by_names_the_other_value_that_ended_it(rows, many):
    history = fold_all(rows, many)
    table = history.table
    statements = [table.statement(int(row)) for row in history.winner]
    for fact, by in enumerate(history.superseded_by.tolist()):
        end = int(history.end[fact])
        follows = [
            other
            for other in range(len(history))
            if history.key[other] == history.key[fact] and history.start[other] == end
        ]
        expected = [
            other
            for other in follows
            if statements[other] != statements[fact] and continues(table, statements[fact], end)
        ]
        assert [by] == (expected or [-1])


@given(lists, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_loading_changes_nothing(rows, many, random):
    shuffled = rows[:]
    random.shuffle(shuffled)
    assert facts(fold_all(rows, many)) == facts(fold_all(shuffled, many))


@given(lists, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_a_repeated_row_changes_no_fact(rows, random):
    repeated = [*rows, *(row for row in rows if random.random() < 0.5)]
    assert facts(fold_all(rows, False)) == facts(fold_all(repeated, False))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=7))
@settings(max_examples=100, deadline=None)
def test_the_fast_path_and_the_interrupting_path_agree(spans):
    spans.sort(key=lambda span: span[0])
    start = np.array([low for low, _ in spans])
    end = np.array([low + length for low, length in spans])
    segments = _sweep(np.zeros(len(spans), dtype=np.int64), start, end)
    swept = list(zip(segments.owner.tolist(), segments.start.tolist(), segments.end.tolist(), strict=True))
    assert swept == _interrupt(start.tolist(), end.tolist())
    rising = np.maximum.accumulate(end)
    segments = _sweep(np.zeros(len(spans), dtype=np.int64), start, rising)
    swept = list(zip(segments.owner.tolist(), segments.start.tolist(), segments.end.tolist(), strict=True))
    assert swept == _interrupt(start.tolist(), rising.tolist())


def apply(known, rows, many):
    incoming = table_of(rows)
    plan = plan_load(known, incoming, np.full(len(rows), many))
    now = int(known.recorded_at.max(initial=0)) + 1
    plan.new.retired_at[plan.stillborn] = now
    plan.new.recorded_at[:] = now
    stored = known.append(plan.new)
    stored.retired_at[plan.retire] = now
    return plan, stored


def naive_store(loads, many):
    """The rules of corrections, row by row: {id: alive}, in order of arrival."""
    stored = {}
    for row in (row for rows in loads for row in rows):
        table = table_of([row])
        name, statement = table.id_of(0), table.statement(0)
        if name in stored:
            continue
        for other in stored.values():
            same = other["source"] is not None and other["source"] == row.source
            same &= other["statement"][:3] == statement[:3] and other["start"] == row.valid_from
            same &= not many or other["statement"] == statement
            if same and (other["statement"], other["end"]) != (statement, row.valid_to):
                other["alive"] = False
        stored[name] = {
            "source": row.source,
            "statement": statement,
            "start": row.valid_from,
            "end": row.valid_to,
            "alive": True,
        }
    return {name: entry["alive"] for name, entry in stored.items()}


@given(st.lists(st.lists(assertions(), max_size=6), max_size=4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_loads_keep_the_rules_of_corrections(loads, many):
    known = FactTable.empty()
    for rows in loads:
        before = len(known)
        plan, known = apply(known, rows, many)
        assert len(plan.new) + plan.unchanged == len(rows)
        assert len(known) == before + len(plan.new)
    state = {known.id_of(row): bool(known.retired_at[row] == OPEN_US) for row in range(len(known))}
    assert state == naive_store(loads, many)
    for rows in loads:
        assert apply(known, rows, many)[0].is_empty
