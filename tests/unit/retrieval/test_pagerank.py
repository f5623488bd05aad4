"""The walk: what it refuses, what is defined, and that decay lowers rank instead of cancelling."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chronofy_kg.retrieval.pagerank import RuleEdges, WalkGraph, walk

NONE = np.zeros(0, dtype=np.int64)


def dense_ranks(entities, subject, target, undecayed, weight, seeds, restart):
    """Solve for the stationary distribution by a dense eigen-solve of the full Markov chain."""
    facts = len(subject)
    size = entities + facts
    step = np.zeros((size, size))
    mass = np.zeros(entities)
    for s, o, u in zip(subject, target, undecayed, strict=True):
        mass[s] += u
        if o >= 0:
            mass[o] += u
    for f, (s, o) in enumerate(zip(subject, target, strict=True)):
        ends = [s] if o < 0 else [s, o]
        for e in ends:
            if mass[e] > 0:
                step[e, entities + f] += weight[f] / mass[e]
            step[entities + f, e] += 1.0 / len(ends)
    step *= 1.0 - restart
    lost = 1.0 - step.sum(axis=1)
    step += np.outer(lost, seeds)
    values, vectors = np.linalg.eig(step.T)
    rank = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    return rank / rank.sum()


@st.composite
def graphs(draw):
    entities = draw(st.integers(1, 6))
    facts = draw(st.integers(1, 10))
    index = st.integers(0, entities - 1)
    subject = np.array(draw(st.lists(index, min_size=facts, max_size=facts)))
    target = np.array(draw(st.lists(st.integers(-1, entities - 1), min_size=facts, max_size=facts)))
    share = st.floats(0.01, 1.0)
    undecayed = np.array(draw(st.lists(share, min_size=facts, max_size=facts)))
    decayed = undecayed * np.array(draw(st.lists(share, min_size=facts, max_size=facts)))
    seeds = np.array(draw(st.lists(st.floats(0, 1), min_size=entities, max_size=entities)))
    assume(seeds.sum() > 0.01)
    return entities, subject, target, undecayed, decayed, seeds


@given(graphs())
@settings(max_examples=40, deadline=None)
def test_ranks_are_those_of_the_markov_chain(graph):
    entities, subject, target, undecayed, decayed, seeds = graph
    keep = decayed / undecayed >= 0.05
    got = walk(*graph[:5], keep, seed_entities=seeds, tol=1e-12)
    start = np.concatenate([seeds / seeds.sum(), np.zeros(len(subject))])
    expected = dense_ranks(entities, subject, target, undecayed, np.where(keep, decayed, 0), start, 0.2)
    np.testing.assert_allclose(np.concatenate([got.entity_rank, got.fact_rank]), expected, atol=1e-9)
    assert got.converged


@given(graphs(), st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_ageing_lowers_the_rank_of_facts(graph, factor):
    entities, subject, target, undecayed, decayed, seeds = graph
    prepared = WalkGraph(entities, subject, target)
    young = prepared.walk(undecayed, decayed, seed_entities=seeds, tol=1e-12)
    assume(young.fact_rank.sum() > 1e-6)
    old = prepared.walk(undecayed, decayed * factor, seed_entities=seeds, tol=1e-12)
    assert old.fact_rank.sum() < young.fact_rank.sum()
    one = int(np.argmax(young.fact_rank))
    aged = decayed.copy()
    aged[one] *= factor
    single = prepared.walk(undecayed, aged, seed_entities=seeds, tol=1e-12)
    assert single.fact_rank[one] < young.fact_rank[one]


@given(graphs(), st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_ageing_lowers_the_rank_of_facts_that_are_seeds(graph, factor):
    entities, subject, target, undecayed, decayed, _ = graph
    prepared = WalkGraph(entities, subject, target)
    told = np.ones(len(subject))
    young = prepared.walk(undecayed, decayed, seed_facts=told, tol=1e-12)
    old = prepared.walk(undecayed, decayed * factor, seed_facts=told, tol=1e-12)
    assert old.fact_rank.sum() < young.fact_rank.sum()
    aged = decayed.copy()
    aged[0] *= factor
    single = prepared.walk(undecayed, aged, seed_facts=told, tol=1e-12)
    assert single.fact_rank[0] < young.fact_rank[0]


@given(graphs(), st.floats(0.05, 0.9))
@settings(max_examples=40, deadline=None)
def test_nothing_below_tau_gets_rank(graph, tau):
    _, subject, _, undecayed, decayed, seeds = graph
    keep = decayed / undecayed >= tau
    got = walk(*graph[:5], keep, seed_entities=seeds, seed_facts=np.ones(len(subject)))
    assert (got.fact_rank[~keep] == 0).all()
    assert (got.fact_rank[keep] > 0).all()
    total = got.entity_rank.sum() + got.fact_rank.sum()
    assert total == pytest.approx(1.0)


@given(graphs(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_names_of_nodes_do_not_matter(graph, random):
    entities, subject, target, undecayed, decayed, seeds = graph
    of_entity, of_fact = list(range(entities)), list(range(len(subject)))
    random.shuffle(of_entity)
    random.shuffle(of_fact)
    rename, order = np.array(of_entity), np.array(of_fact)
    renamed = np.append(rename, -1)
    moved = np.empty(entities)
    moved[rename] = seeds
    plain = walk(*graph[:5], seed_entities=seeds, tol=1e-12)
    other = walk(
        entities,
        rename[subject][order],
        renamed[target][order],
        undecayed[order],
        decayed[order],
        seed_entities=moved,
        tol=1e-12,
    )
    np.testing.assert_allclose(other.entity_rank[rename], plain.entity_rank, atol=1e-9)
    np.testing.assert_allclose(other.fact_rank, plain.fact_rank[order], atol=1e-9)


def test_uniform_ageing_does_not_cancel():
    """The peer gives the same ranks for ages 0, 5 and 30 days (its weights are normalised after decay)."""
    graph = WalkGraph(2, np.array([0, 0]), np.array([1, -1]))
    seeds = np.array([1.0, 0.0])
    totals = [
        graph.walk(np.ones(2), np.full(2, np.exp(-0.1 * age)), seed_entities=seeds).fact_rank.sum()
        for age in (0, 5, 30)
    ]
    assert totals[0] > 1.3 * totals[1] > 5 * totals[2]


def test_one_tiny_edge_carries_a_tiny_mass_and_underflow_is_smooth():
    graph = WalkGraph(2, np.array([0]), np.array([1]))
    seeds = np.array([1.0, 0.0])
    ranks = [
        graph.walk(np.ones(1), np.array([w]), seed_entities=seeds).fact_rank[0] for w in (1.0, 4e-18, 0.0)
    ]
    assert ranks[0] > 0.3
    assert ranks[1] == pytest.approx(4e-18 * 0.8, rel=1e-6)
    assert ranks[2] == 0.0


def test_a_cut_does_not_pass_its_share_to_the_neighbours():
    graph = WalkGraph(1, np.array([0, 0]), np.array([-1, -1]))
    seeds = np.ones(1)
    both = graph.walk(np.ones(2), np.array([0.9, 0.06]), seed_entities=seeds)
    cut = graph.walk(np.ones(2), np.array([0.9, 0.04]), np.array([True, False]), seed_entities=seeds)
    assert cut.fact_rank.sum() < both.fact_rank.sum()
    gone = graph.walk(np.array([1.0, 0.0]), np.array([0.9, 0.0]), seed_entities=seeds)
    assert gone.fact_rank[0] > 1.5 * cut.fact_rank[0]  # a fact that is not in force takes no share at all


def test_a_fact_two_steps_away_is_reached():
    got = walk(
        3, np.array([0, 1]), np.array([1, 2]), np.ones(2), np.ones(2), seed_entities=np.array([1.0, 0.0, 0.0])
    )
    assert got.fact_rank[0] > got.fact_rank[1] > 0.05
    assert got.entity_rank[0] > got.entity_rank[1] > got.entity_rank[2] > 0


def test_no_edges_and_no_seeds_are_defined():
    empty = walk(2, NONE, NONE, np.zeros(0), np.zeros(0), seed_entities=np.array([0.0, 3.0]))
    assert empty.entity_rank.tolist() == [0.0, 1.0]
    assert empty.converged
    graph = WalkGraph(2, np.array([0]), np.array([1]))
    for seeds in (None, np.zeros(2)):
        got = graph.walk(np.ones(1), np.ones(1), seed_entities=seeds)
        assert (got.entity_rank.tolist(), got.fact_rank.tolist()) == ([0.0, 0.0], [0.0])
        assert (got.iterations, got.converged) == (0, True)
    assert walk(0, NONE, NONE, np.zeros(0), np.zeros(0)).entity_rank.shape == (0,)


def test_all_weights_zero_leaves_the_seeds():
    graph = WalkGraph(2, np.array([0]), np.array([1]))
    got = graph.walk(np.zeros(1), np.zeros(1), seed_entities=np.array([1.0, 1.0]), seed_facts=np.ones(1))
    assert got.entity_rank.tolist() == [0.5, 0.5]
    assert got.fact_rank.tolist() == [0.0]
    decayed = graph.walk(np.ones(1), np.zeros(1), seed_facts=np.ones(1))
    assert decayed.entity_rank.tolist() == [0.5, 0.5]  # the share of a fully aged seed starts at its entities
    assert decayed.fact_rank.tolist() == [0.0]


def test_rule_edges_carry_rank_to_instances_of_the_next_rule():
    # Fact 0 (entity 0) is an instance of rule node 0, fact 1 (entity 1) of node 1; only the edge links them.
    arguments = (2, np.array([0, 1]), np.array([-1, -1]), np.ones(2), np.ones(2))
    seeds = np.array([1.0, 0.0])

    def rank(confidence, decayed):
        edges = RuleEdges(2, np.array([0, 1]), np.array([0]), np.array([1]), np.array([confidence]), decayed)
        return walk(*arguments, seed_entities=seeds, rules=edges, tol=1e-10)

    fresh, aged = rank(0.9, np.array([0.9])), rank(0.9, np.array([0.1]))
    assert walk(*arguments, seed_entities=seeds).fact_rank[1] == 0
    assert fresh.fact_rank[1] > aged.fact_rank[1] > 0
    for got in (fresh, aged):
        assert got.entity_rank.sum() + got.fact_rank.sum() + got.rule_rank.sum() == pytest.approx(1.0)
        assert got.converged
    with pytest.raises(ValueError, match="rule node outside 0"):
        walk(
            *arguments,
            rules=RuleEdges(2, np.array([0, 1]), np.array([-1]), np.array([1]), np.ones(1), np.ones(1)),
        )


def test_it_says_when_it_stopped_too_early():
    graph = WalkGraph(3, np.array([0, 1]), np.array([1, 2]))
    got = graph.walk(np.ones(2), np.ones(2), seed_entities=np.array([1.0, 0, 0]), tol=1e-12, max_iter=3)
    assert (got.iterations, got.converged) == (3, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"undecayed": np.array([np.nan])}, "undecayed holds a negative, infinite or NaN number at 0"),
        ({"decayed": np.array([-0.1])}, "decayed holds"),
        ({"decayed": np.array([1.5])}, "above the undecayed"),
        ({"decayed": np.ones(2)}, "must have 1 entries"),
        ({"seed_entities": np.array([np.inf, 0])}, "seed_entities holds"),
        ({"seed_entities": np.array([-1.0, 1])}, "seed_entities holds"),
        ({"seed_entities": np.array([1.7e308, 1.7e308])}, "more than a number holds"),
        ({"restart": 0.0}, "restart"),
        ({"restart": 1.0}, "restart"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {
        "undecayed": np.ones(1),
        "decayed": np.ones(1),
        "seed_entities": np.array([1.0, 0.0]),
    } | change
    with pytest.raises(ValueError, match=message):
        WalkGraph(2, np.array([0]), np.array([1])).walk(**arguments)


@pytest.mark.parametrize(
    ("subject", "target"), [([0], [2]), ([2], [0]), ([-1], [0]), ([0], [-2]), ([0, 1], [0])]
)
def test_indexes_outside_the_graph_are_refused(subject, target):
    with pytest.raises(ValueError):
        WalkGraph(2, np.array(subject), np.array(target))
