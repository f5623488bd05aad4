"""Time as a vector: likeness falls with the gap, nothing is lost at midnight, cutting keeps the age."""

import numpy as np
import pytest

from chronofy_kg.facts.time import DAY_US, OPEN_US, parse_instant
from chronofy_kg.retrieval.temporal import default_periods, encode_times, join, sinusoids, truncate


def test_plain_sinusoids_match_the_reference():
    start, at = parse_instant("2020-01-01").us, parse_instant("2020-01-11T06:00Z").us
    periods = [DAY_US, round(3650**0.5 * DAY_US)]
    got = sinusoids(np.array([at]), periods, start)[0]
    np.testing.assert_allclose(got, [1, 0, 0.8752731098, 0.4836289727], atol=1e-9)


@pytest.mark.parametrize(("dims", "step"), [(64, 1.25), (32, 2.0), (16, 3.0)])
def test_likeness_falls_with_the_gap(dims, step):
    days = np.geomspace(0.5, 50 * 365.25, 800)
    origin = parse_instant("2024-03-01").us
    vectors = encode_times(origin - (days * DAY_US).astype(np.int64), dims)
    later = encode_times(origin - (np.minimum(days * step, 50 * 365.25) * DAY_US).astype(np.int64), dims)
    now = encode_times(np.array([origin]), dims)[0]
    inside = days * step <= 50 * 365.25
    assert (vectors @ now)[inside].min() > -0.2
    assert ((vectors @ now) > (later @ now))[inside].all()


def test_no_dimension_is_constant_for_dates_at_midnight():
    midnights = np.arange(0, 4000) * DAY_US
    assert encode_times(midnights).std(axis=0).min() > 1e-4
    assert not (DAY_US % default_periods(32) == 0).any()


def test_vectors_are_unit_even_at_the_ends_of_time():
    ends = np.array([parse_instant("0001-01-01").us, 0, OPEN_US, np.iinfo(np.int64).max])
    vectors = encode_times(ends)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert encode_times(np.zeros(0, dtype=np.int64)).shape == (0, 64)


def test_digits_far_from_1970_are_not_lost():
    far = parse_instant("9000-01-01").us
    periods = [1_000_000]
    got = sinusoids(np.array([far, far + 250_000]), periods)
    np.testing.assert_allclose(got, [[0, 1], [1, 0]], atol=1e-12)


def test_joined_likeness_is_the_weighted_mean():
    rng = np.random.default_rng(5)
    semantic = rng.normal(size=(2, 384)).astype(np.float32)
    semantic /= np.linalg.norm(semantic, axis=1, keepdims=True)
    temporal = encode_times(np.array([0, 700]) * DAY_US)
    joined = join(temporal, semantic, 0.3)
    assert joined.shape == (2, 448)
    expected = 0.3 * temporal[0] @ temporal[1] + 0.7 * semantic[0] @ semantic[1]
    assert joined[0] @ joined[1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("size", [64, 65, 128, 448])
def test_cutting_keeps_the_age_and_the_weights(size):
    rng = np.random.default_rng(5)
    semantic = rng.normal(size=(3, 384)).astype(np.float32)
    semantic /= np.linalg.norm(semantic, axis=1, keepdims=True)
    temporal = encode_times(np.array([0, 40, 4000]) * DAY_US)
    joined = join(temporal, semantic, 0.3)
    cut = truncate(joined, size)
    assert cut.shape == (3, size)
    np.testing.assert_array_equal(cut[:, :64], joined[:, :64])
    expected = np.full(3, 1.0 if size > 64 else 0.3**0.5)
    np.testing.assert_allclose(np.linalg.norm(cut, axis=1), expected, atol=1e-6)


def test_wrong_sizes_are_refused():
    with pytest.raises(ValueError, match="pairs"):
        encode_times(np.zeros(1, dtype=np.int64), 7)
    with pytest.raises(ValueError, match="size must lie between 64"):
        truncate(np.zeros((1, 448), dtype=np.float32), 63)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        join(np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32), 1.5)
    with pytest.raises(ValueError, match="2 temporal rows"):
        join(np.zeros((2, 4), np.float32), np.zeros((1, 4), np.float32))
    with pytest.raises(ValueError, match="positive"):
        sinusoids(np.zeros(1, dtype=np.int64), [0])
