"""Windows and until on arrays, against their definitions."""

import numpy as np
import pytest

from chronofy_kg.spec.windows import range_window, shift, until, window

INF = float("inf")


@pytest.mark.parametrize("lowest", [True, False])
@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (0, 1), (1, 3), (2, 2), (0, 6), (3, 20), (9, 12), (0, None), (4, None)]
)
def test_window_equals_its_definition(low, high, lowest):
    values = np.random.default_rng(low).normal(size=(2, 9))
    fill, pick = (INF, min) if lowest else (-INF, max)
    found = window(values, low, high, lowest, fill)
    for row in range(2):
        for t in range(9):
            inside = values[row, t + low : None if high is None else t + high + 1]
            assert found[row, t] == pick(inside, default=fill)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (0, 1), (1, 3), (2, 2), (0, 7), (3, 20), (9, 12), (0, None), (2, None)]
)
def test_until_equals_its_definition(low, high):
    left, right = np.random.default_rng(low).normal(size=(2, 9))
    found = until(left, right, low, high, -INF)
    for t in range(9):
        last = 9 if high is None else min(9, t + high + 1)
        reached = [min(right[u], min(left[t:u], default=INF)) for u in range(t + low, last)]
        assert found[t] == max(reached, default=-INF)


def test_without_a_fill_the_last_sample_goes_on():
    values = np.array([3.0, 1.0, 2.0])
    longer = np.array([3.0, 1.0, 2.0] + [2.0] * 20)
    for low, high in [(0, 1), (2, 5), (4, 4), (1, None)]:
        assert (
            window(values, low, high, True, None).tolist()
            == window(longer, low, high, True, INF)[:3].tolist()
        )
        a = until(values, -values, low, high, None)
        assert a.tolist() == until(longer, -longer, low, high, -INF)[:3].tolist()
    assert shift(values, 2, None).tolist() == [2.0, 2.0, 2.0]


def test_inputs_are_not_altered():
    values = np.arange(10.0)
    values.flags.writeable = False
    for high in (0, 3, None):
        window(values, 0, high, True, INF)
        until(values, values, 1, high and high + 1, -INF)


def test_ranges_of_any_width():
    values = np.random.default_rng(3).normal(size=50)
    first = np.random.default_rng(4).integers(0, 50, 200)
    last = np.minimum(first + np.random.default_rng(5).integers(0, 50, 200), 50)
    found = range_window(values, first, last, True, INF)
    assert found.tolist() == [min(values[a:b], default=INF) for a, b in zip(first, last, strict=True)]


@pytest.mark.parametrize("shape", [(512,), (529,), (530,), (1023,), (3, 700)])
@pytest.mark.parametrize("low", [0, 3])
def test_until_without_an_end_over_many_samples(shape, low):
    left, right = np.random.default_rng(shape[-1]).normal(size=(2, *shape))
    expected = np.full(shape, -INF)
    reached = np.full(shape[:-1], -INF)
    for t in reversed(range(shape[-1])):
        reached = np.maximum(right[..., t], np.minimum(left[..., t], reached))
        expected[..., t] = reached
    if low:
        held = window(left, 0, low - 1, True, INF)
        expected = np.minimum(shift(expected, low, -INF), held)
    assert until(left, right, low, None, -INF).tolist() == expected.tolist()
