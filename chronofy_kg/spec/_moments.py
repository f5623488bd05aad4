"""Statistics over windows, compiled: moments that compose, and numbers kept in order.

Imported on first use only (`statistics` and the kernels of `machine` do it), because numba takes a second to
load. numba carries no types that mypy could check.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["COUNT", "MEAN", "STD", "SUM", "between", "compiled", "merge", "moment", "ranked", "slide"]

SUM, COUNT, MEAN, STD = range(4)


def compiled(function: Any) -> Any:
    """Return the function compiled at its first call; kept on disk where there is a place for it."""
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no writable folder: compile anew in each process
        return numba.njit(error_model="numpy")(function)


@compiled
def merge(a: Any, b: Any, into: Any) -> None:
    """Join two sets of numbers, each as count, mean and sum of squares about it (Chan et al. 1979)."""
    count = a[0] + b[0]
    if b[0] == 0.0:
        into[0], into[1], into[2] = a[0], a[1], a[2]
    elif a[0] == 0.0:
        into[0], into[1], into[2] = b[0], b[1], b[2]
    else:
        apart = b[1] - a[1]
        mean = a[1] + apart * (b[0] / count)
        into[2] = a[2] + b[2] + apart * apart * (a[0] * b[0] / count)
        into[0], into[1] = count, mean


@compiled
def moment(function: Any, found: Any, least: Any) -> Any:
    """What a window function makes of count, mean and squares; NaN: fewer numbers than it needs."""
    count = found[0]
    if count < least:
        return np.nan
    if function == COUNT:
        return count
    if function == SUM:
        return count * found[1] if count > 0.0 else 0.0
    if count == 0.0:
        return np.nan
    return found[1] if function == MEAN else np.sqrt(found[2] / count)


@compiled
def between(ordered: Any, count: Any, level: Any) -> Any:
    """The quantile of numbers in order, between neighbours in proportion."""
    place = level * (count - 1)
    low = int(place)
    high = min(low + 1, count - 1)
    if ordered[low] == ordered[high]:
        return ordered[low]
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@compiled
def slide(values: Any, counted: Any, first: Any, last: Any, function: Any, least: Any, out: Any) -> None:
    """Sum, count, mean or standard deviation over values[first[t] : last[t]], first and last not decreasing.

    Moments of a front part, composed towards its end, and of what came since: nothing is ever taken away, so
    nothing cancels.
    """
    n = values.size
    front = np.zeros((n + 1, 3))
    back, one, whole = np.zeros(3), np.zeros(3), np.zeros(3)
    split = following = 0
    for t in range(first.size):
        low, high = first[t], last[t]
        if following <= low:
            split = following = low
            back[:] = 0.0
        while following < high:
            one[:] = 0.0
            if counted[following]:
                one[0], one[1] = 1.0, values[following]
            merge(back, one, back)
            following += 1
        whole[:] = 0.0
        if low < high:
            if low >= split:
                for at in range(following - 1, low - 1, -1):
                    one[:] = 0.0
                    if counted[at]:
                        one[0], one[1] = 1.0, values[at]
                    merge(one, whole, whole)
                    front[at] = whole
                split = following
                back[:] = 0.0
            merge(front[low], back, whole)
        out[t] = moment(function, whole, least)


@compiled
def find(tree: Any, size: Any, place: Any) -> Any:
    """The number at a place, from 0, among those in a Fenwick tree of a power of two."""
    at, left = 0, place + 1
    while size > 0:
        if tree[at + size] < left:
            at += size
            left -= tree[at]
        size >>= 1
    return at


@compiled
def ranked(
    values: Any, counted: Any, order: Any, first: Any, last: Any, level: Any, least: Any, out: Any
) -> None:
    """A quantile over values[first[t] : last[t]], first and last not decreasing.

    The numbers in a window are kept as marks on their places in the order of all (`order` sorts values), in a
    Fenwick tree: O(log n) a sample whatever the window.
    """
    n = values.size
    size = 1
    while size < n:
        size *= 2
    tree = np.zeros(size + 1, dtype=np.int64)
    place = np.empty(n, dtype=np.int64)
    for at in range(n):
        place[order[at]] = at
    inside = 0
    low = high = 0
    for t in range(first.size):
        while high < last[t] or low < first[t]:
            entering = high < last[t]
            at = high if entering else low
            change = 1 if entering else -1
            if counted[at]:
                inside += change
                node = place[at] + 1
                while node <= size:
                    tree[node] += change
                    node += node & -node
            if entering:
                high += 1
            else:
                low += 1
        out[t] = np.nan
        if inside >= max(least, 1.0):
            spot = level * (inside - 1)
            lower = int(spot)
            one = values[order[find(tree, size, lower)]]
            two = values[order[find(tree, size, min(lower + 1, inside - 1))]]
            out[t] = one if one == two else one + (two - one) * (spot - lower)
