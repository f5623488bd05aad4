import numpy as np
import pytest

from chronofy_kg.rules.edges import NodeCounts, exposure_by_bin, fit_betas, median_gaps, score_edges
from chronofy_kg.rules.mdl import GAP_MODELS, Gaps, gap_bounds
from chronofy_kg.rules.pairs import PairCounts


def candidate(gaps, n_u, n_v, facts, steps):
    bounds = gap_bounds(steps - 1)
    one = np.array([0])
    table = Gaps.of(gaps)
    pairs = PairCounts(one, one + 1, one, np.array([len(gaps)]), np.array([len(gaps)]), one, table, 0)
    exposure = np.full((2, len(bounds) - 1), n_u)
    return pairs, NodeCounts(np.array([n_u, n_v]), facts, steps, exposure, bounds)


@pytest.mark.parametrize(
    ("n", "model", "price", "gaps"),
    [
        # Geometric: q = 1/3, one parameter. Histogram: no bits for gaps that are all alike, 19 parameters.
        (8, "geometric", 0.5 * 3, 8 * (np.log2(3) + 2 * np.log2(1.5))),
        (16, "histogram", 9.5 * 4, 0.0),
    ],
)
def test_delta_by_hand(n, model, price, gaps):
    scored = score_edges(*candidate([3] * n, n, n, 8 * n, 256))
    # 3 + 3 bits name the nodes, 2 the role; which of the n events: log(n + 1); which gap model: log 3.
    expected = 3 + 3 + 2 + price + np.log2(n + 1) + np.log2(3) + gaps - n * 8
    assert scored.delta[0] == pytest.approx(expected, abs=1e-9)
    assert GAP_MODELS[scored.gap_model[0]] == model


def test_an_edge_that_saves_nothing_is_dropped():
    assert len(score_edges(*candidate([1, 200, 77, 30], 50, 50, 1000, 256))) == 0
    assert len(score_edges(*candidate([1] * 40, 40, 40, 80, 1))) == 0


def test_irregular_gaps_lose_the_edge_that_regular_ones_keep():
    rng = np.random.default_rng(7)
    regular = score_edges(*candidate([5] * 30, 60, 60, 600, 200))
    irregular = score_edges(*candidate(rng.integers(1, 200, 30).tolist(), 60, 60, 600, 200))
    assert len(regular) == 1
    assert len(irregular) == 0


def test_exceptions_cost_bits():
    few = score_edges(*candidate([5] * 30, 30, 30, 600, 200)).delta[0]
    many = score_edges(*candidate([5] * 30, 30, 60, 600, 200)).delta[0]
    # Twice the target: one bit less to name it, log C(60, 30) and log 61 - log 31 more.
    extra = np.log2(118264581564861424) + np.log2(61 / 31) - 1
    assert many - few == pytest.approx(extra, abs=1e-6)


def test_median_of_even_and_odd_counts():
    assert median_gaps(Gaps.of([4], [1, 2], [9, 1, 1, 1], [1, 5, 9])).tolist() == [4.0, 1.5, 1.0, 5.0]
    assert median_gaps(Gaps.of([1]).take(np.array([False]))).tolist() == []


def test_exposure_ends_with_the_data():
    bounds = gap_bounds(10)
    node, step = np.array([0, 0, 0]), np.array([0, 7, 10])
    assert exposure_by_bin(node, step, 1, bounds)[0].tolist() == [2, 2, 2, 1, 1, 1, 1, 1, 1, 1]


def test_beta_of_a_planted_rate_and_of_none():
    bounds = gap_bounds(300)
    middle, width = (bounds[:-1] + bounds[1:] - 1) / 2, np.diff(bounds)
    rng = np.random.default_rng(0)
    exposure = np.full(20, 5000)
    falling = rng.poisson(5000 * 0.05 * np.exp(-0.04 * middle) * width)
    flat = rng.poisson(5000 * 0.002 * width)
    rising = np.rint(0.5 * middle * width).astype(int)
    betas = fit_betas(np.stack([falling, flat, rising]), np.stack([exposure] * 3), bounds)
    assert betas[0] == pytest.approx(0.04, rel=0.1)
    assert 0.0 <= betas[1] < 4e-4
    assert betas[2] == 0.0


def test_beta_without_enough_to_fit_is_zero():
    bounds = gap_bounds(1)
    assert fit_betas(np.array([[5]]), np.array([[9]]), bounds).tolist() == [0.0]
    assert fit_betas(np.zeros((1, 1), dtype=int), np.zeros((1, 1), dtype=int), bounds).tolist() == [0.0]


def test_censored_gaps_are_no_evidence_of_decay():
    bounds = gap_bounds(8)
    # Half of the sources were seen for four steps only; among those still seen the rate is one and the same.
    histogram = np.array([[80, 80, 80, 80, 40, 40, 40, 40]])
    exposure = np.array([[800, 800, 800, 800, 400, 400, 400, 400]])
    assert fit_betas(histogram, exposure, bounds)[0] == pytest.approx(0.0, abs=1e-3)
    assert fit_betas(histogram, np.full((1, 8), 800), bounds)[0] > 0.1
