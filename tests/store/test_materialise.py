"""The difference that a write makes to the facts, applied to a graph of plain sets: no engine needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from chronofy_kg.facts import OPEN_US, FactTable, TableBuilder
from chronofy_kg.facts.plan import Plan, plan_load, plan_retract
from chronofy_kg.store.materialise import STATES, Delta, difference


class Graph:
    """Facts and relationships in memory, changed only by deltas."""

    def __init__(self) -> None:
        self.table = FactTable.empty()
        self.facts: dict[str, tuple[str, int, int, int]] = {}
        self.supersedes: set[tuple[str, str]] = set()
        self.resumes: set[tuple[str, str]] = set()
        self.homes: set[tuple[str, str]] = set()

    def apply(self, plan: Plan, many: Any) -> Delta:
        known = len(self.table)
        table = self.table.append(plan.new)
        retired = table.retired_at.copy()
        new = np.arange(known, len(table))
        retired[plan.retire] = retired[new[plan.stillborn]] = 1
        self.table = replace(table, retired_at=retired)
        delta = difference(self.table, known, plan.retire, many)
        for index in [*delta.created.tolist(), *delta.updated.tolist()]:
            after = delta.after
            observed = int(self.table.observed_at[after.seen[index]])
            period = int(after.start[index]), int(after.end[index])
            self.facts[str(delta.ids[index])] = (STATES[after.state[index]], *period, observed)
        for name, state in delta.gone:
            assert self.facts[name][0] == "in_force"
            self.facts[name] = (STATES[state], *self.facts[name][1:])
        for there, made, removed in (
            (self.supersedes, delta.supersedes, delta.not_supersedes),
            (self.resumes, delta.resumes, delta.not_resumes),
        ):
            assert set(removed) <= there
            there -= set(removed)
            assert not there & set(made)
            there |= set(made)
        self.homes |= {(delta.homes[row], self.table.id_of(row)) for row in new.tolist()}
        return delta

    def check(self, expected: Any) -> None:
        assert self.supersedes == expected.supersedes
        assert self.resumes == expected.resumes
        assert self.homes == expected.homes
        assert {name: self.facts[name] for name in expected.facts} == expected.facts
        # What is there besides are facts that returned once and do so no more.
        assert all(self.facts[name][0] != "in_force" for name in self.facts.keys() - expected.facts.keys())


def _table(rows: list[Any]) -> FactTable:
    builder = TableBuilder("t")
    builder.extend(rows)
    return builder.build()


def test_an_interruption_makes_three_periods_and_a_resumption(
    told: Any, many: Any, expected_graph: Any
) -> None:
    graph = Graph()
    first = _table([told(value="a")])
    graph.apply(plan_load(graph.table, first, many(first)), many)
    second = _table([told(value="b", valid_from=10, valid_to=20)])
    delta = graph.apply(plan_load(graph.table, second, many(second)), many)
    assert len(delta.created) == 2
    assert len(delta.updated) == 1
    assert sorted(graph.facts.values()) == [
        ("in_force", 0, 10, 0),
        ("in_force", 10, 20, 10),
        ("in_force", 20, OPEN_US, 0),
    ]
    assert len(graph.resumes) == 1
    graph.check(expected_graph(graph.table))
    # Taking the interruption back leaves the first statement whole again.
    graph.apply(plan_retract(graph.table, np.asarray([1])), many)
    assert sorted(state for state, *_ in graph.facts.values()) == ["in_force", "retracted", "shadowed"]
    assert not graph.resumes
    graph.check(expected_graph(graph.table))


def test_a_statement_that_never_holds_is_shadowed(told: Any, many: Any) -> None:
    graph = Graph()
    rows = _table([told(value="a", quality=0.5), told(value="b", quality=0.9)])
    graph.apply(plan_load(graph.table, rows, many(rows)), many)
    assert sorted(state for state, *_ in graph.facts.values()) == ["in_force", "shadowed"]


def test_only_touched_values_of_a_many_key_are_looked_at(told: Any, many: Any) -> None:
    graph = Graph()
    rows = _table([told(object=f"o{number}") for number in range(50)])
    graph.apply(plan_load(graph.table, rows, many(rows)), many)
    more = _table([told(object="o7", valid_from=5, observed_at=9)])
    delta = graph.apply(plan_load(graph.table, more, many(more)), many)
    assert len(delta.after) == 2


@pytest.mark.parametrize("seed", range(40))
def test_differences_add_up_to_the_fold(seed: int, random_rows: Any, many: Any, expected_graph: Any) -> None:
    rng, graph = np.random.default_rng(seed), Graph()
    for _ in range(12):
        alive = np.flatnonzero(graph.table.retired_at == OPEN_US)
        if len(alive) and rng.random() < 0.25:
            plan = plan_retract(graph.table, rng.choice(alive, size=1))
        else:
            incoming = _table(random_rows(rng, int(rng.integers(1, 6))))
            plan = plan_load(graph.table, incoming, many(incoming))
        if not plan.is_empty:
            graph.apply(plan, many)
        graph.check(expected_graph(graph.table))
