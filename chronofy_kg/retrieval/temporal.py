"""The temporal part of an embedding: instants as unit vectors whose likeness falls with the gap in time.

An embedding is [temporal ; semantic] (Definition 1 of the source paper), the temporal part first, so that a
vector cut to any length >= t keeps the age. Vectors of texts come from `chronofy_kg.retrieval.embed`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.time import DAY_US

__all__ = ["TEMPORAL_DIMENSIONS", "default_periods", "encode_times", "join", "sinusoids", "truncate"]

TEMPORAL_DIMENSIONS = 64
# Not a day nor a divisor of one: dates at midnight would all get the same phase.
_SHORTEST_US = int(0.3 * DAY_US)
# Four times a century: gaps up to a hundred years stay on the falling quarter of the longest wave.
_LONGEST_US = int(400 * 365.25 * DAY_US)
# Weight of a wave ~ period ** 0.75. With equal weights the short waves add up to noise as large as the
# signal; with more weight on the long ones a month is hardly seen.
_SLOPE = 0.75


def default_periods(count: int) -> NDArray[np.int64]:
    """Return int64[count] periods in microseconds, geometric from 7.2 hours to 400 years."""
    if count == 1:
        return np.asarray([_LONGEST_US], dtype=np.int64)
    return np.geomspace(_SHORTEST_US, _LONGEST_US, count).round().astype(np.int64)


def sinusoids(
    us: NDArray[np.int64], periods_us: Sequence[int] | NDArray[np.int64], origin_us: int = 0
) -> NDArray[np.float64]:
    """Return sine and cosine of instants for each period, in pairs.

    Args:
        us: int64[n], instants in microseconds since 1970.
        periods_us: k periods in microseconds.
        origin_us: the instant at which every phase is 0.

    Returns:
        float64[n, 2k]: sin, cos, sin, cos, … Phases are reduced as integers: no digit is lost far from 1970.

    >>> from chronofy_kg.facts.time import DAY_US
    >>> sinusoids(np.array([DAY_US]), [4 * DAY_US]).round(6).tolist()
    [[1.0, 0.0]]
    """
    periods = np.asarray(periods_us, dtype=np.int64)
    if periods.ndim != 1 or np.any(periods <= 0):
        raise ValueError("periods must be positive")
    instants = np.asarray(us, dtype=np.int64)
    # Reduce both before subtracting: the difference of two far instants may not fit 64 bits.
    phase = (instants[:, None] % periods - origin_us % periods) / periods * (2.0 * np.pi)
    pairs: NDArray[np.float64] = np.stack([np.sin(phase), np.cos(phase)], axis=2)
    return pairs.reshape(len(instants), 2 * len(periods))


def encode_times(us: NDArray[np.int64], dims: int = TEMPORAL_DIMENSIONS) -> NDArray[np.float32]:
    """Encode instants as unit vectors.

    The dot product of two of them is K(d) = sum_k w_k cos(2 pi d / P_k) of their gap d, with periods P_k
    from `default_periods` and w_k ~ P_k ** 0.75, scaled to sum to 1. At 64 dimensions K is 0.99 at a month,
    0.95 at a year, 0.71 at ten years; a gap longer by a quarter always has the smaller K, up to 50 years.

    Args:
        us: int64[n], instants in microseconds since 1970.
        dims: t, even and at least 2.

    Returns:
        float32[n, t].

    >>> from chronofy_kg.facts.time import DAY_US
    >>> vectors = encode_times(np.array([0, 365, 3650]) * DAY_US)
    >>> [f"{likeness:.2f}" for likeness in vectors @ vectors[0]]
    ['1.00', '0.95', '0.71']
    """
    if dims < 2 or dims % 2:
        raise ValueError(f"temporal dimensions come in pairs: {dims} is odd or below 2")
    periods = default_periods(dims // 2)
    weights = (periods / periods[-1]) ** _SLOPE
    amplitude = np.sqrt(weights / weights.sum())
    vectors: NDArray[np.float32] = (sinusoids(us, periods) * np.repeat(amplitude, 2)).astype(np.float32)
    return vectors


def join(
    temporal: NDArray[np.float32], semantic: NDArray[np.float32], weight: float = 0.3
) -> NDArray[np.float32]:
    """Join unit vectors to [temporal ; semantic].

    The dot product of two joined vectors is weight * K + (1 - weight) * cosine.

    Args:
        temporal: float32[n, t], unit rows.
        semantic: float32[n, s], unit rows, or zero rows where there is no text.
        weight: share of the temporal part, in [0, 1].

    Returns:
        float32[n, t + s], unit rows where both parts are.
    """
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"the temporal weight must lie in [0, 1], not {weight}")
    if len(temporal) != len(semantic):
        raise ValueError(f"{len(temporal)} temporal rows, but {len(semantic)} semantic rows")
    scaled = (np.sqrt(weight) * temporal, np.sqrt(1.0 - weight) * semantic)
    return np.concatenate(scaled, axis=1).astype(np.float32)


def truncate(
    joined: NDArray[np.float32], size: int, temporal_dims: int = TEMPORAL_DIMENSIONS
) -> NDArray[np.float32]:
    """Cut joined vectors to their first `size` dimensions; age and the weights of both parts stay.

    Args:
        joined: float32[n, t + s] from `join`.
        size: m, with t <= m <= t + s. What is left of the semantic part is scaled to its former length.
        temporal_dims: t.

    Returns:
        float32[n, m].
    """
    if not temporal_dims <= size <= joined.shape[1]:
        raise ValueError(f"size must lie between {temporal_dims} and {joined.shape[1]}, not {size}")
    cut = joined[:, :size].copy()
    full = np.linalg.norm(joined[:, temporal_dims:], axis=1, keepdims=True)
    left = np.linalg.norm(cut[:, temporal_dims:], axis=1, keepdims=True)
    cut[:, temporal_dims:] *= np.divide(full, left, out=np.zeros_like(full), where=left > 0)
    return cut
