"""What a load changes: repeats, corrections by the same source, and what must be left alone."""

import itertools

import numpy as np
import pytest

from chronofy_kg.facts import Assertion, FactTable, TableBuilder
from chronofy_kg.facts.plan import key_codes, plan_load, plan_retract
from chronofy_kg.facts.time import OPEN_US


def told(value, start=0, end=OPEN_US, *, source="a", subject="s", predicate="p", seen=0, **more):
    return Assertion(
        subject=subject,
        predicate=predicate,
        value=value,
        valid_from=start,
        valid_to=end,
        observed_at=seen,
        source=source,
        **more,
    )


def table_of(*rows, tenant="default"):
    builder = TableBuilder(tenant)
    builder.extend(rows)
    return builder.build()


def load(known, *rows, many=False, tenant="default"):
    """Plan a load and carry it out, as the store does; returns the plan and what is stored then."""
    incoming = table_of(*rows, tenant=tenant)
    plan = plan_load(known, incoming, np.full(len(incoming), many))
    now = int(known.recorded_at.max(initial=0)) + 1
    plan.new.recorded_at[:] = now
    plan.new.retired_at[plan.stillborn] = now
    stored = known.append(plan.new)
    stored.retired_at[plan.retire] = now
    return plan, stored


def alive(table):
    return sorted(table.value(row) for row in np.flatnonzero(table.retired_at == OPEN_US))


EMPTY = FactTable.empty()


def test_an_empty_load():
    plan, _ = load(EMPTY)
    assert plan.is_empty
    assert plan.unchanged == 0
    _, stored = load(EMPTY, told(1))
    assert load(stored)[0].is_empty


def test_the_first_load_takes_everything():
    plan, stored = load(EMPTY, told(1), told(2, 5), told(3, subject="t"))
    assert (len(plan.new), plan.retire.tolist(), plan.unchanged) == (3, [], 0)
    assert not plan.stillborn.any()
    assert not plan.is_empty
    assert alive(stored) == [1, 2, 3]


def test_the_same_file_twice_changes_nothing():
    # Graphiti#963
    rows = [
        told(1),
        told(2, 5),
        told(3, source=None),
        told(1, source="b"),
        told("x", predicate="q", unit="u"),
    ]
    _, stored = load(EMPTY, *rows)
    plan, after = load(stored, *rows)
    assert plan.is_empty
    assert plan.unchanged == 5
    assert len(after) == 5


def test_duplicates_inside_a_load_are_stored_once():
    plan, _ = load(EMPTY, told(1), told(1.0), told(1), told(2, 5))
    assert (len(plan.new), plan.unchanged) == (2, 2)
    assert not plan.stillborn.any()
    assert [plan.new.value(row) for row in range(2)] == [1, 2]


def test_nfd_is_no_news():
    _, stored = load(EMPTY, told("Zo\u00eb", subject="Zo\u00eb", source="Zo\u00eb"))
    plan, _ = load(stored, told("Zoe\u0308", subject="Zoe\u0308", source="Zoe\u0308"))
    assert plan.is_empty


@pytest.mark.parametrize(
    "correction",
    [told(2), told(1, 0, 9), told(1, unit="mg"), told("1"), told(2, seen=99, quality=0.1, content="c")],
)
def test_the_same_source_corrects_value_or_end(correction):
    _, stored = load(EMPTY, told(1), told(7, 5), told(8, subject="t"))
    plan, after = load(stored, correction)
    assert plan.retire.tolist() == [0]
    assert len(plan.new) == 1
    assert len(after) == 4  # nothing is deleted


def test_the_source_is_compared_in_nfc():
    _, stored = load(EMPTY, told(1, source="Zo\u00eb"))
    plan, _ = load(stored, told(2, source="Zoe\u0308"))
    assert plan.retire.tolist() == [0]


@pytest.mark.parametrize(
    "other",
    [
        told(2, source="b"),
        told(2, source=None),
        told(2, 5),
        told(2, subject="t"),
        told(2, predicate="q"),
        told(1, seen=99),  # seen again: exposure
        told(1, quality=0.5),
        told(1, content="c"),
        told(1, meta={"k": 1}),
    ],
)
def test_what_corrects_nothing(other):
    _, stored = load(EMPTY, told(1))
    plan, after = load(stored, other)
    assert plan.retire.tolist() == []
    assert not plan.stillborn.any()
    assert len(after) == 2


def test_rows_without_a_source_correct_nobody():
    _, stored = load(EMPTY, told(1, source=None))
    plan, after = load(stored, told(2, source=None), told(3, source=None))
    assert plan.retire.tolist() == []
    assert not plan.stillborn.any()
    assert alive(after) == [1, 2, 3]


def test_a_correction_retires_every_earlier_exposure():
    _, stored = load(EMPTY, told(1), told(1, seen=5), told(1, source="b"))
    plan, after = load(stored, told(2))
    assert plan.retire.tolist() == [0, 1]
    assert alive(after) == [1, 2]


def test_corrections_inside_one_load_are_stillborn():
    plan, stored = load(EMPTY, told(1), told(2), told(3))
    assert plan.stillborn.tolist() == [True, True, False]
    assert plan.retire.tolist() == []
    assert alive(stored) == [3]
    assert load(stored, told(1), told(2), told(3))[0].is_empty


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2)])
def test_who_returns_to_a_first_word_has_taken_it_back_meanwhile(cuts):
    rows = [told(1), told(2), told(1, seen=3)]
    stored = EMPTY
    for low, high in itertools.pairwise((0, *cuts, len(rows))):
        _, stored = load(stored, *rows[low:high])
    assert [int(stored.observed_at[row]) for row in np.flatnonzero(stored.retired_at == OPEN_US)] == [3]


def test_a_load_corrects_known_and_own_rows_at_once():
    _, stored = load(EMPTY, told(1))
    plan, after = load(stored, told(2), told(3), told(9, subject="t"))
    assert plan.retire.tolist() == [0]
    assert plan.stillborn.tolist() == [True, False, False]
    assert alive(after) == [3, 9]


def test_a_retired_identical_row_changes_nothing():
    _, first = load(EMPTY, told(1))
    _, second = load(first, told(2))
    plan, after = load(second, told(1))
    assert plan.is_empty
    assert plan.unchanged == 1
    assert alive(after) == [2]


def test_a_repeated_row_beside_a_new_one_takes_nothing_back():
    # The file that was corrected is loaded again with a row added: the correction stays.
    _, first = load(EMPTY, told(1))
    _, second = load(first, told(2))
    plan, after = load(second, told(1), told(3, 10))
    assert plan.retire.tolist() == []
    assert plan.unchanged == 1
    assert alive(after) == [2, 3]
    # And inside one load: the first row again, after its correction.
    plan, after = load(EMPTY, told(1), told(2), told(1))
    assert plan.stillborn.tolist() == [True, False]
    assert plan.unchanged == 1
    assert alive(after) == [2]


def test_slots_that_a_load_does_not_touch_are_left_alone():
    # Two values were stored while the type was `many`; then it was declared `one`.
    _, stored = load(EMPTY, told(1), told(2), many=True)
    assert alive(stored) == [1, 2]
    plan, _ = load(stored, told(3, 10))
    assert plan.retire.tolist() == []
    plan, _ = load(stored, told(3))
    assert plan.retire.tolist() == [0, 1]


def test_many_another_value_is_no_correction_another_end_is():
    _, stored = load(EMPTY, told("x"), many=True)
    plan, _ = load(stored, told("y"), many=True)
    assert plan.retire.tolist() == []
    plan, after = load(stored, told("x", 0, 9), told("y"), many=True)
    assert plan.retire.tolist() == [0]
    assert not plan.stillborn.any()
    assert alive(after) == ["x", "y"]


def test_one_and_many_in_one_load():
    incoming = table_of(told(1), told("x", predicate="q"), told(2), told("y", predicate="q"))
    plan = plan_load(EMPTY, incoming, np.array([False, True, False, True]))
    assert plan.stillborn.tolist() == [True, False, False, False]


def test_tenants_do_not_correct_one_another():
    _, stored = load(EMPTY, told(1), tenant="a")
    plan, _ = load(stored, told(2), tenant="b")
    assert (plan.retire.tolist(), len(plan.new)) == ([], 1)
    plan, _ = load(stored, told(1), tenant="b")
    assert (plan.unchanged, len(plan.new)) == (0, 1)


def test_new_rows_join_the_known_pool():
    _, stored = load(EMPTY, told(1))
    plan, _ = load(stored, told("fresh text", 5))
    assert plan.new.pool is stored.pool
    assert plan.new.value(0) == "fresh text"


def test_key_codes():
    table = table_of(
        told(1), told(2, 9), told(1, subject="t"), told(1, predicate="t"), told(1, subject="p", predicate="s")
    )
    keys = key_codes(table)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 4


def test_plan_retract():
    _, stored = load(EMPTY, told(1), told(2, 5))
    plan = plan_retract(stored, np.array([1]))
    assert (len(plan.new), plan.retire.tolist(), plan.unchanged) == (0, [1], 0)
    assert not plan.is_empty
    assert plan_retract(stored, np.empty(0, np.int64)).is_empty
