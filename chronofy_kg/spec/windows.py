"""Minimum and maximum over windows of time, and until, on numpy arrays whose last axis is time.

Windows [t+a, t+b] are clipped to the array. A window of k samples takes log2(k) passes over the array: the
window is doubled until it is wide enough, the last step overlapping (minimum and maximum do not mind). Until
composes clamps, f(x) = max(R, min(L, x)), in the same way (Donzé, Ferrère, Maler 2013, Efficient Robust
Monitoring for STL, for the semantics); without an end it is one scan, blocked so that each pass works on many
samples. The past is the same on reversed arrays.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.spec.trace import Floats

__all__ = ["range_window", "shift", "until", "window"]

Indices = NDArray[np.intp]
_LONG = 512  # samples from which a blocked scan is faster than doubling


def shift(values: Floats, by: int, fill: float | None) -> Floats:
    """Return values[t + by]; beyond the end it is `fill`, or the last value for ever if that is None."""
    n = values.shape[-1]
    if by == 0:
        return values
    by = min(by, n)
    result = np.empty_like(values)
    result[..., : n - by] = values[..., by:]
    result[..., n - by :] = values[..., -1:] if fill is None else fill
    return result


def window(values: Floats, low: int, high: int | None, lowest: bool, fill: float | None) -> Floats:
    """Return the minimum (`lowest`) or maximum over [t+low, t+high], clipped.

    Args:
        values: shape [..., n].
        low: the first offset.
        high: the last offset, or None for all that follows.
        lowest: minimum or maximum.
        fill: the value of an empty window, or None: the last sample goes on for ever.

    >>> window(np.array([3.0, 1.0, 4.0, 1.0, 5.0]), 1, 2, True, float("inf")).tolist()
    [1.0, 1.0, 1.0, 5.0, inf]
    """
    n = values.shape[-1]
    reduce = np.minimum if lowest else np.maximum
    width = n if high is None else min(high - low + 1, n)
    if width == n:
        return shift(reduce.accumulate(values[..., ::-1], axis=-1)[..., ::-1], low, fill)
    if width == 1:
        return shift(values, low, fill)
    result, spare = values, np.empty_like(values)
    size = 1
    while size < width:
        move = min(size, width - size)
        reduce(result[..., : n - move], result[..., move:], out=spare[..., : n - move])
        spare[..., n - move :] = result[..., n - move :]
        result, spare = spare, (np.empty_like(values) if result is values else result)
        size += move
    return shift(result, low, fill)


def until(left: Floats, right: Floats, low: int, high: int | None, fill: float | None) -> Floats:
    """Return max over t1 in [t+low, t+high] of min(right(t1), min of left over [t, t1)), clipped.

    >>> until(np.array([2.0, 2.0, 2.0]), np.array([-1.0, -1.0, 1.0]), 0, 1, -np.inf).tolist()
    [-1.0, 1.0, 1.0]
    """
    n = right.shape[-1]
    width = n if high is None else min(high - low + 1, n)
    reach, hold = right, left
    if width == n >= _LONG:
        return _delayed(_until_end(left, right), left, low, fill)
    size = 1
    while size < width:
        move = min(size, width - size)
        kept = n - move
        further = np.empty_like(right)
        np.minimum(hold[..., :kept], reach[..., move:], out=further[..., :kept])
        np.maximum(further[..., :kept], reach[..., :kept], out=further[..., :kept])
        further[..., kept:] = reach[..., kept:]
        if size + move < width:
            longer = np.empty_like(left)
            np.minimum(hold[..., :kept], hold[..., move:], out=longer[..., :kept])
            longer[..., kept:] = hold[..., kept:]
            hold = longer
        reach = further
        size += move
    return _delayed(reach, left, low, fill)


def _delayed(reach: Floats, left: Floats, low: int, fill: float | None) -> Floats:
    """Return L U[low, low + b] R, given L U[0, b] R: L has to hold until the window begins."""
    if low == 0:
        return reach
    result = np.minimum(shift(reach, low, fill), window(left, 0, low - 1, True, fill))
    if fill is not None:
        result[..., max(result.shape[-1] - low, 0) :] = fill  # an empty window, whatever holds until then
    return np.asarray(result)


def _until_end(left: Floats, right: Floats) -> Floats:
    """Return L U R without an end: u(t) = max(R(t), min(L(t), u(t+1))), in blocks of about sqrt(n) samples.

    Within all blocks at once the clamps are composed from the right; then the values at the blocks' ends are
    carried from block to block, and last through each.
    """
    n = right.shape[-1]
    width = math.isqrt(n)
    rows = -(-n // width)

    def columns(values: Floats, fill: float) -> Floats:
        padding = np.full((*values.shape[:-1], rows * width - n), fill)
        blocks = np.concatenate([values, padding], axis=-1).reshape(*values.shape[:-1], rows, width)
        return np.ascontiguousarray(np.moveaxis(blocks, -1, 0))

    reach, hold = columns(right, -np.inf), columns(left, np.inf)
    for at in range(width - 2, -1, -1):
        np.maximum(reach[at], np.minimum(hold[at], reach[at + 1]), out=reach[at])
        np.minimum(hold[at], hold[at + 1], out=hold[at])
    carried = np.full(reach.shape[1:], -np.inf)
    for row in range(rows - 2, -1, -1):
        beyond = np.minimum(hold[0, ..., row + 1], carried[..., row + 1])
        carried[..., row] = np.maximum(reach[0, ..., row + 1], beyond)
    np.maximum(reach, np.minimum(hold, carried, out=hold), out=reach)
    return np.asarray(np.moveaxis(reach, 0, -1).reshape(*right.shape[:-1], rows * width)[..., :n])


def range_window(values: Floats, first: Indices, last: Indices, lowest: bool, fill: float) -> Floats:
    """Return the minimum or maximum over values[first[t] : last[t]], `fill` where that is empty.

    A sparse table: level k holds windows of 2^k samples, any range is two of them.

    >>> range_window(np.array([3.0, 1.0, 4.0]), np.array([0, 1, 3]), np.array([2, 3, 3]), False, 0.0).tolist()
    [3.0, 4.0, 0.0]
    """
    reduce = np.minimum if lowest else np.maximum
    length = last - first
    result = np.full(values.shape[:-1] + first.shape, fill)
    level, size, longest = values, 1, int(length.max(initial=0))
    while size <= longest:
        at = np.flatnonzero((length >= size) & (length < 2 * size))
        result[..., at] = reduce(level[..., first[at]], level[..., last[at] - size])
        if 2 * size > longest:
            break
        level = reduce(level[..., :-size], level[..., size:])
        size *= 2
    return result
