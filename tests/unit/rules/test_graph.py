import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from chronofy_kg.facts import DAY_US
from chronofy_kg.rules import MiningOptions, mine_rules


def mine(table, **settings):
    return mine_rules(table, np.arange(len(table)), MiningOptions(**settings))


def triple(graph, node_id):
    node = next(node for node in graph.nodes if node.id == node_id)
    return node.predicate


def find(graph, source, target, roles):
    return [e for e in graph.edges if e.roles == roles and triple(graph, e.source) == source
            and triple(graph, e.target) == target]  # fmt: skip


def planted(seed=11, pairs=150, days=200, noise=600):
    """Return rows in which B follows A on the same pair after 3 days, among noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for pair in range(pairs):
        day = int(rng.integers(0, days - 3))
        rows += [(f"x{pair}", "A", f"@y{pair}", day), (f"x{pair}", "B", f"@y{pair}", day + 3)]
    for _ in range(noise):
        s, o, p = (int(rng.integers(0, top)) for top in (pairs, pairs, 5))
        rows.append((f"x{s}", f"N{p}", f"@y{o}", int(rng.integers(0, days))))
    return rows


def shuffled(rows, seed=1):
    days = np.random.default_rng(seed).permutation([row[3] for row in rows]).tolist()
    return [(s, p, o, day) for (s, p, o, _), day in zip(rows, days, strict=True)]


def saved(edges):
    return -sum(edge.delta_length for edge in edges)


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_a_planted_rule_is_found_with_its_lag_and_lost_when_times_are_shuffled(build, seed):
    rows = planted(seed)
    graph = mine(build(rows))
    edges = find(graph, "A", "B", "same pair")
    assert edges
    assert all(edge.lag == 3.0 and edge.bits > 1.0 for edge in edges)
    assert max(edge.confidence for edge in edges) > 0.9
    again = mine(build(shuffled(rows)))
    assert saved(find(again, "A", "B", "same pair")) < 0.1 * saved(edges)
    assert not find(graph, "B", "A", "same pair")


def test_regular_gaps_beat_irregular_ones_with_all_else_equal(build):
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 100, 60).tolist()
    gaps = rng.integers(1, 100, 60).tolist()
    regular = [(f"x{i}", p, f"@y{i}", d) for i, t in enumerate(starts) for p, d in (("A", t), ("B", t + 7))]
    loose = [(f"x{i}", p, f"@y{i}", d) for i, (t, g) in enumerate(zip(starts, gaps, strict=True))
             for p, d in (("A", t), ("B", t + g))]  # fmt: skip
    assert saved(find(mine(build(regular)), "A", "B", "same pair")) > 5 * saved(
        find(mine(build(loose)), "A", "B", "same pair")
    )


def test_every_figure_of_one_edge_by_hand(build):
    rows = [(f"x{i}", p, f"@y{i}", float(i + d)) for i in range(32) for p, d in (("A", 0), ("B", 1))]
    graph = mine(build(rows))
    assert [(n.subject_category, n.predicate, n.object_category, n.support) for n in graph.nodes] == [
        ("subject:A & subject:B", "A", "object:A & object:B", 32),
        ("subject:A & subject:B", "B", "object:A & object:B", 32),
    ]
    assert [edge.roles for edge in graph.edges] == ["same pair", "shared subject", "shared object"]
    edge = graph.edges[0]
    delta = 1 + 1 + 2 + 2.5 + np.log2(33) + np.log2(3) - 32 * np.log2(33)
    assert edge.delta_length == pytest.approx(delta, abs=1e-9)
    assert edge.bits == pytest.approx(-delta / 32)
    assert (edge.support, edge.confidence, edge.lag) == (32, 1.0, 1.0)
    assert (edge.gap_histogram[0], sum(edge.gap_histogram), len(graph.gap_bounds)) == (32, 32, 21)
    assert edge.gap_model == "geometric"
    assert edge.last_seen_us == 32 * DAY_US
    assert edge.beta > 0.0
    assert (graph.events, graph.steps, graph.skipped) == (64, 33, 0)


def test_many_pairs_on_one_day_have_full_support_and_confidence(build):
    rows = [(f"x{i}", p, f"@y{i}", day) for i in range(40) for p, day in (("A", 1.0), ("B", 2.0))]
    rows += [(f"z{i}", "C", f"@w{i}", 3.0 + i) for i in range(30)]
    (edge,) = find(mine(build(rows)), "A", "B", "same pair")
    assert (edge.support, edge.confidence) == (40, 1.0)


def test_recurrence_is_found(build):
    rows = [(f"x{i}", "R", f"@y{i}", float(i + 7 * k)) for i in range(10) for k in range(8)]
    (edge,) = find(mine(build(rows)), "R", "R", "same pair")
    assert (edge.source, edge.lag, edge.support) == (edge.target, 7.0, 70)
    assert edge.confidence == pytest.approx(70 / 80)


def test_lag_and_beta_are_per_day_whatever_the_step(build):
    rows = [(f"x{i}", p, f"@y{i}", float(7 * (i + d))) for i in range(40) for p, d in (("A", 0), ("B", 2))]
    (weekly,) = find(mine(build(rows), step_us=7 * DAY_US), "A", "B", "same pair")
    assert weekly.lag == 14.0
    table = build([(s, p, o, day / 7) for s, p, o, day in rows])
    (daily,) = find(mine(table), "A", "B", "same pair")
    assert weekly.beta == pytest.approx(daily.beta / 7)


def test_literals_take_part_by_their_classes(build):
    rows = []
    for i in range(40):
        rows += [(f"cve{i}", "exploitation", "none", float(i)), (f"cve{i}", "exploitation", "poc", i + 5.0)]
        rows += [(f"cve{i}", "score", float(i % 9), float(i)), (f"cve{i}", "affects", f"@p{i % 4}", float(i))]
    graph = mine(build(rows))
    classes = {(node.predicate, node.object_category) for node in graph.nodes}
    assert {("exploitation", "value:none"), ("exploitation", "value:poc"), ("score", "level:high")} <= classes
    names = {node.id: (node.predicate, node.object_category) for node in graph.nodes}
    lags = {(names[e.source], names[e.target]): e.lag for e in graph.edges if e.roles == "shared subject"}
    assert lags[("exploitation", "value:none"), ("exploitation", "value:poc")] == 5.0


def test_weekly_series_of_few_subjects(build):
    rng = np.random.default_rng(2)
    rows = []
    for subject in ("north", "south"):
        level = rng.normal(size=150).cumsum()
        rows += [(subject, "sales", float(v), 7.0 * week) for week, v in enumerate(level)]
    graph = mine(build(rows), step_us=7 * DAY_US)
    assert [category.name for category in graph.categories] == ["any"]
    assert [node.object_category for node in graph.nodes] == ["level:high", "level:low", "level:mid"]
    stays = [edge for edge in graph.edges if edge.source == edge.target]
    assert len(stays) == 3
    assert all(edge.lag == 7.0 and edge.roles == "shared subject" for edge in stays)


def test_the_order_of_rows_changes_nothing(build):
    rows = planted(pairs=60, noise=200)
    first = mine(build(rows))
    order = np.random.default_rng(3).permutation(len(rows))
    second = mine(build([rows[i] for i in order]))
    assert second.nodes == first.nodes
    assert second.edges == first.edges
    assert second.categories == first.categories
    assert [second.nodes_of(k) for k in range(5)] == [first.nodes_of(int(i)) for i in order[:5]]


SCRIPT = """
import numpy as np
from chronofy_kg.facts import Assertion, TableBuilder
from chronofy_kg.rules import mine_rules
builder = TableBuilder()
for i in range(240):
    at = (i * 7919 % 83) * 86_400_000_000
    builder.add(Assertion(subject=f"s{i % 11}", predicate=f"p{i % 7}", object=f"o{i % 5}", valid_from=at,
                          valid_to=at + 1, observed_at=at))
table = builder.build()
graph = mine_rules(table, np.arange(len(table)))
print(graph.nodes_as_maps(), graph.edges_as_maps(), graph.instances.nodes.tolist())
"""


def test_hash_seeds_change_nothing():
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE
        )
        for seed in ("1", "2")
    ]
    shown = [run.communicate()[0].decode() for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert shown[0] == shown[1]
    assert "'roles': 'shared subject'" in shown[0]


def test_nothing_one_fact_and_equal_times(build):
    empty = mine(build([]))
    assert (empty.nodes, empty.edges, empty.events, empty.steps) == ((), (), 0, 0)
    single = mine(build([("a", "r", "@b", 1.0)]))
    assert [(n.subject_category, n.predicate, n.object_category, n.support) for n in single.nodes] == [
        ("any", "r", "any", 1)
    ]
    assert single.edges == ()
    same = mine(build([(f"x{i}", p, "@y", 5.0) for i in range(20) for p in ("A", "B")]))
    assert same.steps == 1
    assert sum(node.support for node in same.nodes) == 40
    assert same.edges == ()


def test_every_row_that_was_mined_has_a_node_and_no_other_has(build):
    table = build(planted(pairs=30, noise=300))
    rows = np.arange(0, len(table), 2)
    graph = mine_rules(table, rows)
    assert np.unique(graph.instances.rows).tolist() == rows.tolist()
    assert graph.nodes_of(1) == ()
    for row in rows[:20].tolist():
        assert {node.predicate for node in graph.nodes_of(row)} == {table.pool[table.predicate[row]]}
    assert np.bincount(graph.instances.nodes).tolist() == [node.support for node in graph.nodes]


def test_two_sources_of_one_statement_are_one_event_and_two_instances(build):
    rows = [("a", "r", "@b", 1.0)]
    table = build(rows, source="x").append(build(rows, source="y"))
    graph = mine(table)
    assert graph.nodes[0].support == 1
    assert graph.instances.rows.tolist() == [0, 1]


def test_a_rare_combination_gives_way_to_a_common_node(build):
    # Every subject has the categories {a, b, c} and {d, e, f}; one node an event says all that both would.
    rows = [(f"s{i}", p, "@o", float(i)) for i in range(9) for p in ("a", "b", "c", "d", "e", "f")]
    graph = mine(build(rows))
    assert len(graph.nodes) == 6
    assert all(node.support == 9 for node in graph.nodes)


def test_a_hub_with_sixty_predicates_finishes_fast(build):
    rng = np.random.default_rng(8)
    rows = [("hub", f"p{i % 60}", f"@o{int(rng.integers(0, 50))}", float(i // 40)) for i in range(4000)]
    rows += [(f"s{i % 40}", f"p{i % 7}", f"@o{i % 50}", float(i)) for i in range(300)]
    table = build(rows)
    begin = time.process_time()
    graph = mine(table)
    assert time.process_time() - begin < 5.0
    assert len(np.unique(graph.instances.rows)) == len(table)


def test_maps_are_strict_json_and_name_their_ends(build):
    graph = mine(build(planted(pairs=60, noise=100)))
    nodes, edges = graph.nodes_as_maps(), graph.edges_as_maps()
    assert json.loads(json.dumps([nodes, edges], allow_nan=False)) == [nodes, edges]
    ids = {node["id"] for node in nodes}
    assert len(ids) == len(nodes)
    assert all(node_id.startswith("r_") for node_id in ids)
    assert {edge["source"] for edge in edges} | {edge["target"] for edge in edges} <= ids
    assert len({edge["id"] for edge in edges}) == len(edges)
    for edge in edges:
        assert edge["delta_length"] < 0.0 < edge["bits"]
        assert 0.0 < edge["confidence"] <= 1.0
        assert edge["beta"] >= 0.0
        assert sum(edge["gap_histogram"]) == edge["support"]
        assert len(edge["gap_bounds"]) == len(edge["gap_histogram"]) + 1


def test_ids_do_not_depend_on_figures_or_on_the_pool(build):
    rows = planted(pairs=60, noise=0)
    first, second = mine(build(rows)), mine(build(rows[20:]))
    assert {node.id for node in second.nodes} == {node.id for node in first.nodes}
    assert first.nodes != second.nodes
    padded = build([("other", "Z", "@pool", 0.0), *rows])
    third = mine_rules(padded, np.arange(1, len(padded)))
    assert third.edges == first.edges


def test_mining_leaves_the_table_as_it_was(build):
    table = build(planted(pairs=20, noise=20))
    before = {name: column.copy() for name, column in table.columns().items()}
    mine(replace(table))
    assert all(np.array_equal(before[name], column, equal_nan=column.dtype.kind == "f")
               for name, column in table.columns().items())  # fmt: skip
