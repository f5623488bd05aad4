"""A restore as a replay: what was learned and retired at each instant, in order, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from support.facts import told

from chronofy_kg.errors import ConflictError
from chronofy_kg.facts import OPEN_US, FactTable, TableBuilder
from chronofy_kg.facts.plan import check_replay, plan_replay, replay_instants

EMPTY = FactTable.empty()


def table_of(*rows):
    builder = TableBuilder()
    for row, recorded, retired in rows:
        builder.add(row, recorded_at=recorded, retired_at=retired)
    return builder.build()


A, B, C, D = (told("s", "p", value, source="a") for value in (1, 2, 3, 4))
EXPORT = table_of((A, 10, 20), (B, 20, 30), (C, 20, 20), (D, 20, OPEN_US))


def replay(known, export, until=None):
    """Carry a restore out as the store does."""
    known = known.take(np.arange(len(known)))
    for instant in check_replay(known, export).tolist():
        if until is not None and instant > until:
            break
        plan = plan_replay(known, export, instant)
        plan.new.recorded_at[:] = instant
        plan.new.retired_at[:] = np.where(plan.stillborn, instant, OPEN_US)
        known.retired_at[plan.retire] = instant
        known = known.append(plan.new)
    return known


def shown(table):
    columns = (table.recorded_at.tolist(), table.retired_at.tolist())
    return [(table.value(row), *times) for row, times in enumerate(zip(*columns, strict=True))]


def test_instants():
    assert replay_instants(EXPORT).tolist() == [10, 20, 30]
    assert replay_instants(EMPTY).tolist() == []
    assert check_replay(EMPTY, EXPORT).tolist() == [10, 20, 30]


def test_each_instant_is_one_change():
    plan = plan_replay(EMPTY, EXPORT, 10)
    assert (len(plan.new), plan.retire.tolist(), plan.stillborn.tolist()) == (1, [], [False])
    known = table_of((A, 10, OPEN_US))
    plan = plan_replay(known, EXPORT, 20)
    assert [plan.new.value(row) for row in range(3)] == [2, 3, 4]
    assert (plan.retire.tolist(), plan.stillborn.tolist()) == ([0], [False, True, False])
    assert plan.new.pool is known.pool
    known = table_of((A, 10, 20), (B, 20, OPEN_US), (C, 20, 20), (D, 20, OPEN_US))
    plan = plan_replay(known, EXPORT, 30)
    assert (len(plan.new), plan.retire.tolist(), plan.is_empty) == (0, [1], False)


def test_the_whole_history_comes_back():
    assert shown(replay(EMPTY, EXPORT)) == shown(EXPORT)
    backwards = EXPORT.take(np.array([3, 2, 1, 0]))
    assert sorted(shown(replay(EMPTY, backwards))) == sorted(shown(EXPORT))


@pytest.mark.parametrize("until", [10, 20, 30])
def test_an_interrupted_restore_goes_on(until):
    known = replay(FactTable.empty(), EXPORT, until)
    assert check_replay(known, EXPORT).tolist() == [n for n in (10, 20, 30) if n > until]
    assert shown(replay(known, EXPORT)) == shown(EXPORT)
    assert check_replay(replay(known, EXPORT), EXPORT).tolist() == []


@pytest.mark.parametrize(
    "known",
    [
        table_of((told("s", "p", 9), 10, OPEN_US)),
        table_of((A, 11, OPEN_US)),
        table_of((A, 10, 15)),
        table_of((A, 10, 20), (B, 20, 30), (C, 20, 20), (D, 20, 40)),
        table_of((A, 10, 20), (B, 20, 30), (D, 20, OPEN_US)),
        table_of((A, 10, OPEN_US), (D, 40, OPEN_US)),
    ],
)
def test_anything_else_in_the_tenant_is_a_conflict(known):
    with pytest.raises(ConflictError, match="a restore needs an empty tenant"):
        check_replay(known, EXPORT)


def test_a_write_in_between_is_a_conflict():
    with pytest.raises(ConflictError, match="while it was being restored"):
        plan_replay(table_of((A, 10, OPEN_US), (told("s", "q", 5), 25, OPEN_US)), EXPORT, 20)


def test_a_row_that_stands_twice_counts_once():
    twice = EXPORT.append(EXPORT.take(np.array([0])))
    plan = plan_replay(EMPTY, twice, 10)
    assert (len(plan.new), plan.unchanged) == (1, 1)
    assert shown(replay(FactTable.empty(), twice)) == shown(EXPORT)
