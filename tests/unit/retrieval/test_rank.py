"""Ranking: gates, modes, ties, and what must not invert an order."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofy_kg.facts.time import DAY_US
from chronofy_kg.retrieval.lexical import LexicalIndex, NameIndex
from chronofy_kg.retrieval.rank import Candidates, RankSettings, Reason, rank_facts

MODES = ("fresh", "balanced", "relevant", "fused")
AT = 1000 * DAY_US


def candidates(coverage, *, age_days=0, validity=1.0, bm25=None, **more):
    coverage = np.asarray(coverage, dtype=float)
    ages = np.broadcast_to(np.asarray(age_days, dtype=np.int64), coverage.shape)
    return Candidates(
        coverage=coverage,
        bm25=coverage.copy() if bm25 is None else np.asarray(bm25, dtype=float),
        observed_at=AT - ages * DAY_US,
        validity=np.broadcast_to(np.asarray(validity, dtype=float), coverage.shape).copy(),
        **more,
    )


def order(told, mode="balanced", settings=None):
    return rank_facts(told, mode, settings, at=AT).order.tolist()


def test_modes_order_by_what_they_say():
    told = candidates([1.0, 0.9, 0.6, 0.2], age_days=[400, 200, 1, 0])
    assert order(told, "fresh") == [2, 1, 0]
    assert order(told, "relevant") == [0, 1, 2]
    assert order(told, "balanced") == [0, 2, 1]
    assert order(told, "fused") == [2, 0, 1, 3]


def test_the_gate_holds_in_every_mode_but_the_seed_formula():
    told = candidates([0.44, 0.45, 0.0])
    for mode in ("fresh", "balanced", "relevant"):
        assert order(told, mode) == [1]
    assert order(told, "relevant", RankSettings(gate=0.0)) == [1, 0]  # what matches nothing never passes
    assert len(order(told, "fused")) == 3


def test_fused_is_the_seed_formula():
    cosine = np.array([0.5, 0.4, -0.3])
    told = candidates([0, 0, 0], age_days=[28, 14, 0], cosine=cosine)
    got = rank_facts(told, "fused", RankSettings(alpha=0.7, half_life_days=14), at=AT)
    np.testing.assert_allclose(got.score, 0.7 * cosine + 0.3 * np.array([0.25, 0.5, 1.0]))
    assert got.order.tolist() == [1, 0, 2]


def test_a_negative_cosine_does_not_put_the_stale_fact_first():
    told = candidates([0.8, 0.8], age_days=[900, 0], validity=[0.1, 0.9], cosine=np.array([-0.4, -0.4]))
    for mode in MODES:
        assert order(told, mode)[0] == 1, mode
    nothing = candidates([0, 0], validity=[0.1, 0.9], cosine=np.array([-0.4, -0.4]))
    assert order(nothing, "relevant") == []


@pytest.mark.parametrize("mode", MODES)
def test_ties_fall_to_validity_then_observed_at_then_index(mode):
    told = candidates([0.9] * 4, validity=[0.5, 0.9, 0.9, 0.5])
    assert order(told, mode) == [1, 2, 0, 3]
    if mode == "relevant":
        assert order(candidates([0.9] * 3, age_days=[3, 1, 2]), mode) == [1, 2, 0]


def test_without_vectors_words_and_graph_answer():
    told = candidates([1.0, 0.5, 0.0], walk=np.array([0.0, 0.2, 0.1]))
    got = rank_facts(told, at=AT)
    assert got.order.tolist() == [0, 1]
    assert got.relevance[1] == pytest.approx(1 - 0.5 * 0.8)


def test_meaning_alone_can_pass():
    told = candidates([0.0, 0.0, 0.0], cosine=np.array([0.7, 0.5, np.nan]))
    got = rank_facts(told, "relevant", at=AT)
    assert got.order.tolist() == [0]
    assert got.relevance[2] == 0.0
    assert Reason(int(got.reasons[0])) == Reason.MEANING
    assert got.why(2) == "is below the relevance gate"


def test_a_vector_that_is_not_ready_neither_helps_nor_harms():
    with_none = rank_facts(candidates([0.6, 0.5]), "relevant", at=AT)
    with_nan = rank_facts(candidates([0.6, 0.5], cosine=np.full(2, np.nan)), "relevant", at=AT)
    np.testing.assert_array_equal(with_none.relevance, with_nan.relevance)
    fused = candidates([0.6, 0.5], cosine=np.full(2, np.nan))
    assert order(fused, "fused") == order(candidates([0.6, 0.5]), "fused")


def test_a_named_entity_is_required():
    """Words of the rest of the question, or closeness in meaning, do not make up for another name."""
    told = candidates([0.6, 1.0], cosine=np.array([0.9, 0.9]), named=np.array([0.0, 1.0]))
    got = rank_facts(told, at=AT)
    assert got.order.tolist() == [1]
    assert "is below the relevance gate" in got.why(0)
    assert got.why(1) == "has words of the question, is close in meaning"


def test_ageing_in_the_walk_lowers_relevance_of_a_linked_fact():
    near, far = (candidates([0.5, 0.5], walk=np.array([0.2, w])) for w in (0.2, 0.01))
    assert rank_facts(near, at=AT).relevance[1] > rank_facts(far, at=AT).relevance[1]


@pytest.mark.parametrize("field", ["coverage", "bm25", "validity", "walk", "named"])
@pytest.mark.parametrize("bad", [np.nan, -0.5, np.inf])
def test_numbers_that_cannot_be_ordered_are_refused(field, bad):
    told = candidates([0.5, 0.5], walk=np.zeros(2), named=np.zeros(2))
    values = getattr(told, field).copy()
    values[1] = bad
    with pytest.raises(ValueError, match=f"{field} of candidate 1"):
        rank_facts(dataclasses.replace(told, **{field: values}), at=AT)


def test_wrong_shapes_and_modes_are_refused():
    with pytest.raises(ValueError, match="cosine of candidate 0"):
        rank_facts(candidates([0.5], cosine=np.array([2.0])), at=AT)
    with pytest.raises(ValueError, match="walk has 2 entries for 1"):
        rank_facts(candidates([0.5], walk=np.zeros(2)), at=AT)
    with pytest.raises(ValueError, match="unknown mode 'best': fresh, balanced, relevant, fused"):
        rank_facts(candidates([0.5]), "best", at=AT)
    with pytest.raises(ValueError, match="half-life"):
        rank_facts(candidates([0.5]), "fused", RankSettings(half_life_days=0), at=AT)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_to_rank(mode):
    got = rank_facts(candidates([]), mode, at=AT)
    assert got.order.shape == got.relevance.shape == (0,)


numbers = st.floats(0, 1)


@given(
    st.lists(
        st.tuples(numbers, numbers, st.integers(0, 900), st.floats(-1, 1), numbers), min_size=1, max_size=12
    ),
    st.sampled_from(MODES),
    st.randoms(use_true_random=False),
)
def test_the_order_is_total_and_does_not_depend_on_the_input_order(rows, mode, random):
    coverage, validity, ages, cosine, walk = (np.array(column) for column in zip(*rows, strict=True))
    told = candidates(coverage, age_days=ages, validity=validity, cosine=cosine, walk=walk)
    got = rank_facts(told, mode, at=AT)
    assert ((got.relevance >= 0) & (got.relevance <= 1)).all()
    assert len(set(got.order.tolist())) == len(got.order)
    shuffled = list(range(len(rows)))
    random.shuffle(shuffled)
    mixed = np.array(shuffled)
    other = rank_facts(
        candidates(coverage[mixed], age_days=ages[mixed], validity=validity[mixed], cosine=cosine[mixed],
                   walk=walk[mixed]), mode, at=AT)  # fmt: skip
    keys = [(got.score[i].round(12), validity[i], ages[i]) for i in got.order]
    assert [(other.score[i].round(12), validity[mixed][i], ages[mixed][i]) for i in other.order] == keys


FACTS = [
    "CVE-2024-1234 affects Fortinet FortiNAC",
    "CVE-2024-1234 exploitation_status active",
    "CVE-2024-9999 affects Fortinet FortiOS",
    "CVE-2024-9999 exploitation_status none",
    "US unemployment_rate 3.7 percent",
    "US gdp_growth 2.1 percent",
    "DE unemployment_rate 3.0 percent",
    "DE gdp_growth 0.1 percent",
    "CVE-2024-1234 summary A flaw in FortiNAC lets an attacker who is near run code",
]
NAMES = ["CVE-2024-1234", "CVE-2024-9999", "Fortinet FortiNAC", "Fortinet FortiOS", "US", "DE"]


@pytest.mark.parametrize(
    ("question", "first", "never"),
    [
        ("Is CVE-2024-1234 exploited?", 1, {2, 3, 4, 5, 6, 7}),
        ("What was US unemployment?", 4, {0, 1, 2, 3, 5, 6, 7, 8}),
        ("Which CVEs affect Fortinet FortiNAC?", 0, {1, 3, 4, 5, 6, 7}),
        ("Is CVE-2020-1 exploited?", None, set(range(9))),
        ("Who won the match in Paris?", None, set(range(9))),
    ],
)
def test_questions_end_to_end_by_words(question, first, never):
    mentions = NameIndex(NAMES).find(question)
    matches = LexicalIndex.build(FACTS).score(question, mentions.terms)
    got = order(candidates(matches.coverage, bm25=matches.bm25, named=matches.named))
    assert got[:1] == ([] if first is None else [first])
    assert not never & set(got)
