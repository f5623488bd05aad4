"""Each rule of the fold on a case small enough to read: periods, supersession, support, contradiction."""

import itertools

import numpy as np
import pytest

from chronofy_kg.facts import Assertion, History, TableBuilder, believed_rows, fold
from chronofy_kg.facts.history import _interrupt, _sweep, group_rows
from chronofy_kg.facts.time import OPEN_US

END = OPEN_US


def told(value, start, end=END, *, seen=None, subject="s", predicate="p", **more):
    what = {"object": value} if isinstance(value, str) else {"value": value}
    return Assertion(
        subject=subject,
        predicate=predicate,
        valid_from=start,
        valid_to=end,
        observed_at=start if seen is None else seen,
        **what,
        **more,
    )


def folded(*rows, many=False, observed_by=None) -> History:
    builder = TableBuilder()
    builder.extend(rows)
    table = builder.build()
    believed = believed_rows(table, 0, observed_by)
    return fold(table, believed, np.full(len(believed), many))


def periods(history):
    """The facts as (value, start, end), ordered by start."""
    table = history.table
    found = [
        (table.pool.get(table.object[row]) or table.value(row), int(start), int(end))
        for row, start, end in zip(history.winner, history.start, history.end, strict=True)
    ]
    return sorted(found, key=lambda fact: (fact[1], str(fact[0])))


def superseded(history):
    """For each fact, by start, the value of the fact that ended it."""
    values = [history.table.value(row) for row in history.winner]
    return [None if by < 0 else values[by] for by in history.superseded_by]


def support(history, index):
    """Which loaded rows a fact rests on."""
    offsets, rows = history.support(np.array([index]))
    assert offsets.tolist() == [0, len(rows)]
    return sorted(rows.tolist())


def test_no_rows():
    history = folded()
    assert len(history) == 0
    assert history.holding(0).tolist() == []
    offsets, rows = history.support(np.empty(0, dtype=np.int64))
    assert (offsets.tolist(), rows.tolist()) == ([0], [])


def test_one_statement_is_one_fact():
    history = folded(told(1, 5, 9))
    assert periods(history) == [(1, 5, 9)]
    assert superseded(history) == [None]
    assert [history.holding(at).tolist() for at in (4, 5, 8, 9)] == [[], [0], [0], []]


def test_a_newer_open_statement_ends_the_older_at_its_own_valid_from():
    history = folded(told(1, 0), told(2, 10))
    assert periods(history) == [(1, 0, 10), (2, 10, END)]
    assert superseded(history) == [2, None]


def test_a_newer_open_statement_ends_a_bounded_one_before_its_end():
    history = folded(told(1, 0, 20), told(2, 10))
    assert periods(history) == [(1, 0, 10), (2, 10, END)]
    assert superseded(history) == [2, None]


def test_a_bounded_statement_interrupts_and_the_older_returns():
    # xtdb/core2#417
    history = folded(told(1, 0), told(2, 10, 20))
    assert periods(history) == [(1, 0, 10), (2, 10, 20), (1, 20, END)]
    first, second, third = (history.id(i) for i in range(3))
    assert len({first, second, third}) == 3
    assert history.winner.tolist() == [0, 1, 0]
    assert [support(history, i) for i in range(3)] == [[0], [1], [0]]
    # The interruption ran out by itself; nothing ended it.
    assert superseded(history) == [2, None, None]
    assert [history.table.value(history.winner[history.holding(at)[0]]) for at in (9, 10, 19, 20)] == [
        1,
        2,
        2,
        1,
    ]


def test_interruptions_nest():
    history = folded(told(1, 0), told(2, 10, 50), told(3, 20, 30))
    assert periods(history) == [(1, 0, 10), (2, 10, 20), (3, 20, 30), (2, 30, 50), (1, 50, END)]
    assert superseded(history) == [2, 3, None, None, None]


def test_a_newer_statement_inside_an_interruption_ends_both():
    history = folded(told(1, 0), told(2, 10, 30), told(3, 20))
    assert periods(history) == [(1, 0, 10), (2, 10, 20), (3, 20, END)]
    assert superseded(history) == [2, 3, None]


def test_late_data_fits_in():
    # Graphiti#139: history that arrives last closes the older statement all the same.
    history = folded(told(3, 20), told(1, 0), told(2, 10))
    assert periods(history) == [(1, 0, 10), (2, 10, 20), (3, 20, END)]
    assert superseded(history) == [2, 3, None]


def test_a_gap_is_no_fact():
    history = folded(told(1, 0, 10), told(1, 20, 30))
    assert periods(history) == [(1, 0, 10), (1, 20, 30)]
    assert superseded(history) == [None, None]
    assert history.id(0) != history.id(1)
    assert history.holding(15).tolist() == []
    assert history.key[0] == history.key[1]
    assert history.value[0] == history.value[1]


def test_what_ran_out_was_not_superseded():
    # Touching, not overlapping: the first expired at 10 as it was told.
    assert superseded(folded(told(1, 0, 10), told(2, 10))) == [None, None]
    # But where another source still states it, it was.
    history = folded(told(1, 0, source="a"), told(1, 2, 10, source="b"), told(2, 10, source="a"))
    assert periods(history) == [(1, 0, 2), (1, 2, 10), (2, 10, END)]
    assert superseded(history) == [None, 2, None]
    # Not where the other source stopped before.
    history = folded(told(1, 0, 8, source="a"), told(1, 2, 10, source="b"), told(2, 10, source="a"))
    assert superseded(history) == [None, None, None]
    # Nor where its statement of the same value begins only later, or is of another subject.
    history = folded(told(1, 2, 10), told(2, 10, 30), told(1, 30), told(1, 0, subject="t"))
    assert [
        by for by, key in zip(superseded(history), history.key, strict=True) if key == history.key[0]
    ] == [None] * 3


def test_the_same_value_again_is_exposure():
    history = folded(told(1, 0), told(1, 10))
    assert periods(history) == [(1, 0, 10), (1, 10, END)]
    assert superseded(history) == [None, None]
    assert [support(history, i) for i in range(2)] == [[0], [0, 1]]


def test_the_same_period_from_two_sources_is_one_fact_with_two_assertions():
    # Graphiti#1872
    history = folded(told(1, 0, source="a"), told(1.0, 0, source="b", seen=7))
    assert periods(history) == [(1, 0, END)]
    assert support(history, 0) == [0, 1]
    assert history.contradicting(0).tolist() == []


def test_support_covers_the_whole_period():
    history = folded(told(1, 0, 15), told(1, 10), told(1, 10, 20, subject="other"))
    by_period = {
        (int(history.start[i]), int(history.end[i])): support(history, i) for i in range(len(history))
    }
    assert by_period == {(0, 10): [0], (10, END): [1], (10, 20): [2]}


def test_support_of_several_facts_at_once():
    history = folded(told(1, 0), told(2, 10, 20), told(1, 3))
    assert periods(history) == [(1, 0, 3), (1, 3, 10), (2, 10, 20), (1, 20, END)]
    offsets, rows = history.support(np.array([3, 0, 2]))
    parts = [sorted(rows[low:high].tolist()) for low, high in itertools.pairwise(offsets.tolist())]
    assert parts == [[0, 2], [0], [1]]


def test_many_never_closes():
    history = folded(told("a", 0), told("b", 10), told("c", 5, 20), many=True)
    assert periods(history) == [("a", 0, END), ("c", 5, 20), ("b", 10, END)]
    assert set(history.superseded_by.tolist()) == {-1}
    assert len(history.holding(12)) == 3
    assert len(set(history.key.tolist())) == 3
    assert all(history.contradicting(i).tolist() == [] for i in range(3))


def test_many_at_one_valid_from_is_no_contradiction():
    history = folded(told("a", 0), told("b", 0), many=True)
    assert periods(history) == [("a", 0, END), ("b", 0, END)]
    assert [history.contradicting(i).tolist() for i in range(2)] == [[], []]


def test_many_ends_itself_no_other():
    history = folded(told("a", 0, 30), told("a", 10, 20), told("b", 12), many=True)
    assert periods(history) == [("a", 0, 10), ("a", 10, 20), ("b", 12, END), ("a", 20, 30)]


def test_one_and_many_in_one_table():
    builder = TableBuilder()
    builder.extend([told(1, 0), told("x", 0, predicate="q"), told(2, 5), told("y", 5, predicate="q")])
    table = builder.build()
    history = fold(table, np.arange(4), np.array([False, True, False, True]))
    assert periods(history) == [(1, 0, 5), ("x", 0, END), (2, 5, END), ("y", 5, END)]


def test_a_boundary_belongs_to_exactly_one_fact():
    # activerecord-bitemporal#59
    history = folded(told(1, 0, 10), told(2, 10, 20), told(1, 5, 10), told(2, 20))
    for at in (0, 4, 5, 9, 10, 19, 20, 21):
        assert len(history.holding(at)) == 1
    assert history.table.value(history.winner[history.holding(10)[0]]) == 2


@pytest.mark.parametrize(
    ("one", "other", "picked"),
    [
        ({"quality": 0.9}, {"quality": 0.8, "seen": 99}, 1),
        ({"quality": 0.8, "seen": 5}, {"quality": 0.8, "seen": 9}, 2),
        ({"quality": None, "seen": 5}, {"quality": 0.99, "seen": 9}, 1),  # not stated counts as 1
        ({"quality": None, "seen": 5}, {"quality": 1.0, "seen": 9}, 2),
    ],
)
def test_equal_valid_from_picks_by_quality_then_observed_at(one, other, picked):
    for rows in ([told(1, 0, **one), told(2, 0, **other)], [told(2, 0, **other), told(1, 0, **one)]):
        history = folded(*rows)
        assert periods(history) == [(picked, 0, END)]
        (clash,) = history.contradicting(0).tolist()
        assert history.table.value(clash) == 3 - picked
        assert superseded(history) == [None]


def test_equal_in_all_but_value_picks_by_id():
    rows = [told(value, 0) for value in range(8)]
    history = folded(*rows)
    ids = [history.table.id_of(row) for row in range(8)]
    assert history.winner.tolist() == [ids.index(max(ids))]
    assert folded(*rows[::-1]).table.value(7 - ids.index(max(ids))) == periods(history)[0][0]
    assert len(history.contradicting(0)) == 7


def test_contradiction_is_of_one_valid_from_and_key():
    history = folded(
        told(1, 0, quality=0.9),
        told(2, 0, quality=0.5),
        told(3, 5),
        told(2, 0, subject="t"),
        told(1, 0, source="b"),
    )
    first = int(np.flatnonzero((history.start == 0) & (history.table.value(0) == 1))[0])
    named = [sorted(history.contradicting(i).tolist()) for i in range(len(history))]
    assert named[first] == [1]
    assert sum(map(len, named)) == 1


def test_a_bounded_loser_contradicts_and_a_returning_fact_says_so_again():
    history = folded(told(1, 0, quality=0.9), told(2, 0, 50, quality=0.5), told(3, 10, 20))
    assert periods(history) == [(1, 0, 10), (3, 10, 20), (1, 20, END)]
    assert [history.contradicting(i).tolist() for i in range(3)] == [[1], [], [1]]
    # Where the winner is the shorter, the loser takes over.
    history = folded(told(1, 0, 50, quality=0.9), told(2, 0, quality=0.5))
    assert periods(history) == [(1, 0, 50), (2, 50, END)]
    assert superseded(history) == [None, None]


def test_the_unicode_form_of_a_name_changes_nothing():
    nfc, nfd = "Zo\u00eb", "Zoe\u0308"
    history = folded(told(nfc, 0, subject=nfd), told(nfd, 5, subject=nfc))
    assert periods(history) == [(nfc, 0, 5), (nfd, 5, END)]
    assert superseded(history) == [None, None]
    assert support(history, 1) == [0, 1]
    clash = folded(told(1, 0, subject=nfd, quality=0.9), told(2, 0, subject=nfc, quality=0.5))
    assert clash.contradicting(0).tolist() == [1]


def test_observed_by_drops_what_was_not_yet_seen():
    rows = [told(1, 0, seen=0), told(2, 10, seen=100)]
    assert periods(folded(*rows, observed_by=99)) == [(1, 0, END)]
    assert periods(folded(*rows, observed_by=100)) == [(1, 0, 10), (2, 10, END)]


def test_believed_rows_by_transaction_time():
    builder = TableBuilder()
    builder.add(told(1, 0), recorded_at=10)
    builder.add(told(2, 5), recorded_at=20, retired_at=30)
    table = builder.build()
    known = {at: believed_rows(table, at).tolist() for at in (9, 10, 19, 20, 29, 30)}
    assert known == {9: [], 10: [0], 19: [0], 20: [0, 1], 29: [0, 1], 30: [0]}


def test_rows_number_the_whole_table_not_the_part():
    builder = TableBuilder()
    builder.extend(
        [told(9, 0, subject="x"), told(1, 0), told(9, 5, subject="x"), told(2, 10, 20), told(7, 10, 20)]
    )
    table = builder.build()
    history = fold(table, np.array([1, 3, 4]), np.zeros(3, dtype=bool))
    assert set(history.winner.tolist()) <= {1, 3, 4}
    assert history.rows.tolist() == [1, 3, 4]
    middle = int(history.holding(15)[0])
    other = {3: 4, 4: 3}[int(history.winner[middle])]
    assert history.contradicting(middle).tolist() == [other]
    assert support(history, 0) == [1]


def test_tenants_never_touch():
    one, other = TableBuilder("a"), TableBuilder("b")
    one.extend([told(1, 0), told("x", 0, predicate="q")])
    other.extend([told(2, 0), told(2, 10), told("x", 0, predicate="q")])
    table = one.build().append(other.build())
    many = np.array([False, True, False, False, True])
    history = fold(table, np.arange(5), many)
    tenants = [table.pool[code] for code in table.tenant[history.winner]]
    by_tenant = {name: [] for name in "ab"}
    for name, fact in zip(tenants, zip(history.winner, history.start, history.end, strict=True), strict=True):
        by_tenant[name].append(tuple(map(int, fact)))
    by_tenant = {name: sorted(found) for name, found in by_tenant.items()}
    assert by_tenant == {"a": [(0, 0, END), (1, 0, END)], "b": [(2, 0, 10), (3, 10, END), (4, 0, END)]}
    assert set(history.superseded_by.tolist()) == {-1}
    for index in range(len(history)):
        assert history.contradicting(index).tolist() == []
        _, rows = history.support(np.array([index]))
        assert {table.tenant[row] for row in rows} == {table.tenant[history.winner[index]]}
    assert len({history.id(i) for i in range(len(history))}) == len(history)


def test_group_rows():
    first, second = np.array([3, 1, 3, 1, 3]), np.array([0, 0, 0, 9, 1])
    groups = group_rows((first, second))
    assert (groups[0] == groups[2], len(set(groups.tolist()))) == (True, 4)
    assert group_rows((np.empty(0, np.int64),)).tolist() == []


def test_an_empty_period_is_no_fact():
    # No reader lets one in; a table made by hand must not bring the fold down.
    starts, ends = np.array([5, 5]), np.array([5, 4])
    assert len(_sweep(np.array([0, 0]), starts, ends).owner) == 0
    assert _interrupt([5, 5], [5, 4]) == []
