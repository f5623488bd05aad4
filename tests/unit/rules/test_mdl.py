import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofy_kg.rules.mdl import (
    GAP_MODELS,
    Gaps,
    bin_counts,
    empirical_bits,
    exception_bits,
    fit_gaps,
    gap_bounds,
    geometric_bits,
    histogram_bits,
    log2_binomial,
    mixture_bits,
    model_bits,
    null_bits,
)

GAP_LISTS = st.lists(st.integers(1, 300), min_size=1, max_size=60)


def one(number):
    return np.array([number])


def test_binomials_by_hand():
    n, k = np.array([5, 10, 0, 7, 7, 52]), np.array([2, 5, 0, 7, 0, 5])
    expected = np.log2([10, 252, 1, 1, 1, 2_598_960])
    assert log2_binomial(n, k) == pytest.approx(expected, abs=1e-9)
    assert log2_binomial(one(10**7), one(10**7))[0] == 0.0


def test_fixed_terms_by_hand():
    # n_u/F = 1/4 and n_v/F = 1/8 are 2 + 3 bits, four roles 2 bits, three parameters of 16 events 6 bits.
    assert model_bits(one(64), one(32), one(16), 256, 4, one(3))[0] == pytest.approx(13.0)
    assert exception_bits(one(7), one(7))[0] == pytest.approx(3.0)
    assert exception_bits(one(4), one(2))[0] == pytest.approx(np.log2(5) + np.log2(6))
    assert null_bits(one(3), 365)[0] == pytest.approx(3 * np.log2(365))
    assert null_bits(one(3), 1)[0] == 0.0


def test_geometric_by_hand():
    # q = 3/6: 1 + 2 + 3 bits. q = 2/8: 2 log 4 - 6 log 3/4.
    bits = geometric_bits(Gaps.of([1, 2, 3], [4, 4]))
    assert bits == pytest.approx([6.0, 4.0 - 6 * np.log2(0.75)])


def test_histogram_by_hand():
    # Bins {1} {2,3} {4..7}: shares 1/4, 1/4, 1/2 cost 2 + 2 + 1 + 1 bits, places within 0 + 1 + 2 + 2.
    assert histogram_bits(Gaps.of([1, 3, 4, 7]), np.array([1, 2, 4, 8])).tolist() == [11.0]


def test_regular_gaps_cost_nothing_and_irregular_ones_up_to_log_t():
    regular = [3] * 64
    irregular = np.random.default_rng(3).integers(1, 257, 64).tolist()
    fit = fit_gaps(Gaps.of(regular, irregular), gap_bounds(256))
    assert fit.bits[0] == pytest.approx(np.log2(3))
    assert 6.0 * 64 < fit.bits[1] < 9.0 * 64


def test_each_model_wins_where_it_should():
    rng = np.random.default_rng(0)
    geometric = rng.geometric(0.2, 400).tolist()
    mixed = rng.geometric(0.9, 300).tolist() + np.minimum(rng.geometric(0.01, 300), 300).tolist()
    fixed = [7] * 200 + [30] * 200
    fit = fit_gaps(Gaps.of(geometric, mixed, fixed), gap_bounds(300))
    assert [GAP_MODELS[model] for model in fit.model] == ["geometric", "two-geometric", "histogram"]
    assert fit.parameters.tolist() == [1, 3, 19]


def test_the_mixture_finds_planted_parameters_in_bits():
    rng = np.random.default_rng(2)
    gaps = np.concatenate([rng.geometric(0.8, 3000), rng.geometric(0.02, 1000)])
    p = 0.75 * 0.8 * 0.2 ** (gaps - 1) + 0.25 * 0.02 * 0.98 ** (gaps - 1)
    true_bits = -np.log2(p).sum()
    assert mixture_bits(Gaps.of(gaps.tolist()))[0] == pytest.approx(true_bits, rel=2e-3)


@given(GAP_LISTS)
@settings(max_examples=60, deadline=None)
def test_no_model_beats_the_entropy(gaps):
    table = Gaps.of(gaps)
    least = empirical_bits(table)[0] - 1e-6
    for bits in (geometric_bits(table), mixture_bits(table), histogram_bits(table, gap_bounds(300))):
        assert bits[0] >= least


@given(st.lists(GAP_LISTS, min_size=2, max_size=5))
@settings(max_examples=30, deadline=None)
def test_edges_do_not_touch_one_another(lists):
    bounds = gap_bounds(300)
    together = fit_gaps(Gaps.of(*lists), bounds)
    for number, gaps in enumerate(lists):
        alone = fit_gaps(Gaps.of(gaps), bounds)
        # The mixture may run some rounds longer in company; it never codes worse by more than its tolerance.
        assert together.bits[number] == pytest.approx(alone.bits[0], abs=1e-3)


@given(st.integers(0, 10**7))
def test_bounds_cover_every_gap_in_rising_bins(longest):
    bounds = gap_bounds(longest)
    assert bounds[0] == 1
    assert bounds[-1] == max(longest, 1) + 1
    assert (np.diff(bounds) > 0).all()
    assert len(bounds) == min(20, max(longest, 1)) + 1


def test_bin_counts_keep_every_event():
    counts = bin_counts(Gaps.of([1, 1, 4, 300], [2]), gap_bounds(300))
    assert counts.sum(axis=1).tolist() == [4, 1]
    assert counts[0, :4].tolist() == [2, 0, 0, 1]
    assert counts[0, -1] == 1


def test_no_edges():
    fit = fit_gaps(Gaps.of([1, 2]).take(np.array([False])), gap_bounds(10))
    assert len(fit.bits) == len(fit.model) == 0
