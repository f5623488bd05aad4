"""Statistics over windows of the past: mean, median, std, sum, count, lowest, highest, quantile.

A window counts the samples that have a value and meet its condition. With fewer than `least` of them the
result has no value, which is NaN here and only here: a comparison of it decides nothing (see `monitor`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.spec.ast import Number, Window
from chronofy_kg.spec.trace import Floats
from chronofy_kg.spec.windows import Indices, range_window

__all__ = ["MOMENTS", "least_of", "level_of", "over_ranges"]

MOMENTS: Mapping[str, int] = {"sum": 0, "count": 1, "mean": 2, "std": 3}
"""The functions of count, mean and squares, by their numbers in the compiled code."""

_LEAST: Mapping[str, int] = {"sum": 0, "count": 0}
"""How many samples a function needs where nothing is said; 1 for those that are not here."""

_LEVELS: Mapping[str, float] = {"lowest": 0.0, "highest": 1.0}


def least_of(node: Window) -> int:
    """Return how many samples a window needs to have a value."""
    return _LEAST.get(node.function, 1) if node.least is None else node.least


def level_of(node: Window) -> float:
    """Return the level of a quantile, in [0, 1]; median, lowest and highest are quantiles too."""
    return node.level.value if isinstance(node.level, Number) else _LEVELS.get(node.function, 0.5)


def over_ranges(
    node: Window, values: Floats, counted: NDArray[np.bool_], first: Indices, last: Indices
) -> Floats:
    """Return a statistic over the counted samples of values[first[t] : last[t]], NaN where there are too few.

    Args:
        node: says which statistic.
        values: float64[..., n].
        counted: bool[..., n]; where False the value does not matter.
        first: int64[m], not decreasing.
        last: int64[m], not decreasing, at least `first`.

    >>> from chronofy_kg.spec import parse_formula
    >>> node = parse_formula("std[0,2](x) > 1").root.left
    >>> x, t = np.array([1e9 + 1, 1e9 + 3, 1e9 + 5, 1e9 + 5]), np.arange(4)
    >>> over_ranges(node, x, np.isfinite(x), np.maximum(t - 2, 0), t + 1).round(6).tolist()
    [0.0, 1.0, 1.632993, 0.942809]
    """
    values, counted = np.broadcast_arrays(values, counted)
    shape = values.shape[:-1]
    least = least_of(node)
    if node.function in ("lowest", "highest"):
        lowest = node.function == "lowest"
        fill = np.inf if lowest else -np.inf
        found = range_window(np.where(counted, values, fill), first, last, lowest, fill)
        places = np.concatenate([np.zeros((*shape, 1), dtype=np.intp), np.cumsum(counted, axis=-1)], axis=-1)
        found[places[..., last] - places[..., first] < max(least, 1)] = np.nan
        return found
    from chronofy_kg.spec._moments import ranked, slide  # numba loads when the first such window is met

    found = np.empty((*shape, len(first)))
    for row in np.ndindex(shape):
        line, counts = np.ascontiguousarray(values[row]), np.ascontiguousarray(counted[row])
        if node.function in MOMENTS:
            slide(line, counts, first, last, MOMENTS[node.function], float(least), found[row])
        else:
            order = np.argsort(np.where(counts, line, np.inf), kind="stable")
            ranked(line, counts, order, first, last, level_of(node), float(least), found[row])
    return found
