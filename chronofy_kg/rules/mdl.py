"""Description lengths in bits: what a rule edge costs, and what it saves.

Delta L = L_model + L_exc + L_gap - L_null; an edge is worth keeping where Delta L < 0. The two-part code
and its exception term follow the graph summaries behind "STAR-RAG" (KGist, AnoT); the gap term, by which
irregular gaps cost bits, is our own. All logarithms are base 2. Nothing here knows facts, nodes or roles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = [
    "GAP_MODELS",
    "GapFit",
    "Gaps",
    "empirical_bits",
    "exception_bits",
    "fit_gaps",
    "gap_bounds",
    "geometric_bits",
    "histogram_bits",
    "log2_binomial",
    "mixture_bits",
    "model_bits",
    "null_bits",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Names of the gap models, in the order of `GapFit.model`.
GAP_MODELS = ("geometric", "two-geometric", "histogram")
_BINS = 20
_LN2 = float(np.log(2.0))
_TINY = 1e-12
_EM_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps of several edges in one flat table, ordered by edge and then by gap.

    Attributes:
        edge: int64[m], number of the edge.
        gap: int64[m], a gap of that edge in steps, at least 1; distinct within an edge.
        count: int64[m], how many later events have it.
        edges: the number of edges.
    """

    edge: Ints
    gap: Ints
    count: Ints
    edges: int

    @staticmethod
    def of(*lists: list[int]) -> Gaps:
        """Return the table of one list of gaps an edge."""
        parts = [np.unique(np.asarray(gaps, dtype=np.int64), return_counts=True) for gaps in lists]
        edge = np.repeat(np.arange(len(parts)), [len(gap) for gap, _ in parts])
        gap = np.concatenate([gap for gap, _ in parts])
        return Gaps(edge, gap, np.concatenate([count for _, count in parts]).astype(np.int64), len(parts))

    def total(self, weight: NDArray[np.float64] | Ints) -> Floats:
        """Return float64[edges]: the sum over the later events of an edge of one number per entry."""
        sums: Floats = np.bincount(self.edge, self.count * weight, self.edges).astype(np.float64)
        return sums

    def events(self) -> Floats:
        """Return float64[edges]: the number of later events of each edge."""
        return self.total(np.ones(len(self.gap)))

    def take(self, keep: NDArray[np.bool_]) -> Gaps:
        """Return the gaps of the edges that a mask keeps, renumbered in their order."""
        number = np.cumsum(keep) - 1
        rows = keep[self.edge]
        return Gaps(number[self.edge[rows]], self.gap[rows], self.count[rows], int(keep.sum()))


def log2_binomial(n: Ints | Floats, k: Ints | Floats) -> Floats:
    """Return log2 of the binomial coefficient C(n, k), elementwise.

    >>> float(log2_binomial(np.array(10), np.array(3)).round(6))    # log2 120
    6.906891
    """
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    bits: Floats = (gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)) / _LN2
    # C(n, n) = 1 exactly; the difference of large logarithms leaves rounding there.
    return np.where((k <= 0) | (k >= n), 0.0, bits)


def model_bits(n_u: Ints, n_v: Ints, n_uv: Ints, facts: int, roles: int, parameters: Ints) -> Floats:
    """Return L_model = -log(n_u/F) - log(n_v/F) + log(roles) + (k/2) log n_uv.

    Args:
        n_u, n_v: events of the source and of the target node.
        n_uv: later events that the edge explains, at least 1.
        facts: number F of events in all.
        roles: number of role maps to choose from.
        parameters: number k of parameters of the gap model.

    >>> one = lambda x: np.array([x])
    >>> float(model_bits(one(8), one(4), one(4), 64, 4, one(1))[0])    # 3 + 4 + 2 + 1
    10.0
    """
    naming = 2.0 * np.log2(max(facts, 1)) - np.log2(n_u) - np.log2(n_v) + np.log2(roles)
    bits: Floats = naming + 0.5 * parameters * np.log2(n_uv)
    return bits


def exception_bits(n_v: Ints, n_uv: Ints) -> Floats:
    """Return L_exc = log(n_v + 1) + log C(n_v, n_uv): which of the target's events the edge explains.

    >>> float(exception_bits(np.array([3]), np.array([2]))[0].round(6))    # log2 4 + log2 3
    3.584963
    """
    bits: Floats = np.log2(n_v + 1.0) + log2_binomial(n_v, n_uv)
    return bits


def null_bits(n_uv: Ints, steps: int) -> Floats:
    """Return L_null = n_uv log T: the time of each later event coded uniformly over the T steps in use.

    The baseline knows nothing of pace: where a binding is busy its gaps are short without any rule, and an
    edge may save bits for that alone. Bindings of a pair are seldom busy, those of a subject or object often.

    >>> float(null_bits(np.array([5]), 256)[0])
    40.0
    """
    bits: Floats = n_uv * np.log2(max(steps, 1))
    return bits


def empirical_bits(gaps: Gaps) -> Floats:
    """Return n H, with H the entropy of the gaps as they are: no gap model can code them in less.

    >>> empirical_bits(Gaps.of([1, 1, 2, 4], [3, 3])).tolist()
    [6.0, 0.0]
    """
    n = gaps.events()
    bits: Floats = gaps.total(np.log2(n[gaps.edge]) - np.log2(gaps.count))
    return bits


def geometric_bits(gaps: Gaps) -> Floats:
    """Return -sum log p(d) under p(d) = q (1 - q)^(d - 1) with q = n / sum d, the maximum-likelihood value.

    >>> geometric_bits(Gaps.of([1, 3, 2, 2], [1, 1, 1])).tolist()    # q = 1/2: the gaps themselves, in bits
    [8.0, 0.0]
    """
    q = gaps.events() / np.maximum(gaps.total(gaps.gap), 1.0)
    bits: Floats = -gaps.total(_log_geometric(np.clip(q, _TINY, 1.0), gaps)) / _LN2
    return np.maximum(bits, 0.0)


def _log_geometric(q: Floats, gaps: Gaps) -> Floats:
    """Return ln q + (d - 1) ln (1 - q) for each entry, q given per edge."""
    # At q = 1 only d = 1 has weight, and 0 * ln 0 stands for 0.
    rest = np.log(np.maximum(1.0 - q, _TINY))
    logs: Floats = np.log(q)[gaps.edge] + (gaps.gap - 1) * rest[gaps.edge]
    return logs


def mixture_bits(gaps: Gaps) -> Floats:
    """Return -sum log p(d) under w q1 (1 - q1)^(d - 1) + (1 - w) q2 (1 - q2)^(d - 1).

    The three parameters come from expectation-maximisation, begun with the gaps up to their mean and those
    beyond it. An optimum that it misses costs bits, never correctness: any parameters make a code.

    >>> gaps = Gaps.of([1] * 50 + [40, 50, 60] * 10)
    >>> bool(mixture_bits(gaps)[0] < geometric_bits(gaps)[0] - 100)
    True
    """
    n = np.maximum(gaps.events(), _TINY)
    mean = gaps.total(gaps.gap) / n
    near = np.where(gaps.gap <= mean[gaps.edge], 1.0 - 1e-3, 1e-3)
    logs = np.zeros(len(gaps.gap))
    for _ in range(_EM_ROUNDS):
        weight = np.clip(gaps.total(near) / n, _TINY, 1.0 - _TINY)
        parts = []
        for share, part in ((near, weight), (1.0 - near, 1.0 - weight)):
            q = gaps.total(share) / np.maximum(gaps.total(share * gaps.gap), _TINY)
            parts.append(np.log(part)[gaps.edge] + _log_geometric(np.clip(q, _TINY, 1.0), gaps))
        before, logs = logs, np.logaddexp(parts[0], parts[1])
        near = np.exp(parts[0] - logs)
        if np.max(np.abs(logs - before), initial=0.0) < 1e-9:
            break
    bits: Floats = -gaps.total(logs) / _LN2
    return np.maximum(bits, 0.0)


def gap_bounds(longest: int) -> Ints:
    """Return the borders of at most 20 bins of gaps, equal in width on a log scale: 1 = b0 < … = longest + 1.

    Bin i holds the gaps from b[i] to b[i+1] - 1. With fewer than 20 possible gaps each has its own bin.

    >>> gap_bounds(5).tolist()
    [1, 2, 3, 4, 5, 6]
    >>> gap_bounds(303).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 17, 23, 31, 41, 55, 73, 97, 129, 172, 228, 304]
    """
    longest = max(int(longest), 1)
    bins = min(_BINS, longest)
    wanted = np.rint(np.geomspace(1.0, longest + 1.0, bins + 1)).astype(np.int64)
    # Whole steps cannot be finer than one: where the log scale asks for less, borders are one apart.
    steps = np.arange(bins + 1)
    bounds: Ints = np.maximum.accumulate(wanted - steps) + steps
    return bounds


def histogram_bits(gaps: Gaps, bounds: Ints) -> Floats:
    """Return -sum log p(d), p(d) = share of d's bin over the number of gaps in the bin.

    >>> histogram_bits(Gaps.of([1, 2, 5, 6]), np.array([1, 3, 7])).tolist()    # 4 bits of bins, 2 + 4 within
    [10.0]
    """
    counts = bin_counts(gaps, bounds)
    n = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    width = np.diff(bounds)
    bits: Floats = (counts * (np.log2(n) - np.log2(np.maximum(counts, 1)) + np.log2(width))).sum(axis=1)
    return bits


def bin_counts(gaps: Gaps, bounds: Ints) -> Ints:
    """Return int64[edges, bins]: the later events of each edge by bin of their gap."""
    bins = len(bounds) - 1
    place = gaps.edge * bins + np.searchsorted(bounds, gaps.gap, side="right") - 1
    flat = np.bincount(place, gaps.count, gaps.edges * bins)
    counts: Ints = np.rint(flat).astype(np.int64).reshape(gaps.edges, bins)
    return counts


@dataclass(frozen=True, slots=True)
class GapFit:
    """The gap model of each edge: its index into GAP_MODELS, parameters k, and L_gap in bits."""

    model: Ints
    parameters: Ints
    bits: Floats


def fit_gaps(gaps: Gaps, bounds: Ints) -> GapFit:
    """Choose for each edge the gap model with the shortest code, parameters counted.

    L_gap = -sum log p(d) + log 3, the last for the choice among three models; the parameters' (k/2) log n
    counts in the choice here and in the total within `model_bits`.

    >>> fit = fit_gaps(Gaps.of([3] * 40, [1, 2, 1, 3, 1, 1, 2, 5]), gap_bounds(300))
    >>> [GAP_MODELS[m] for m in fit.model], fit.parameters.tolist(), fit.bits.round(3).tolist()
    (['histogram', 'geometric'], [19, 1], [1.585, 17.585])
    """
    n = np.maximum(gaps.events(), 1.0)
    k = np.asarray([1, 3, len(bounds) - 2], dtype=np.int64)
    bits = np.stack([geometric_bits(gaps), np.full(gaps.edges, np.inf), histogram_bits(gaps, bounds)])
    price = 0.5 * k[:, None] * np.log2(n)
    # A mixture that could not win even if it were perfect need not be fitted.
    hopeful = empirical_bits(gaps) + price[1] < (bits + price).min(axis=0)
    if hopeful.any():
        bits[1, hopeful] = mixture_bits(gaps.take(hopeful))
    model: Ints = np.argmin(bits + price, axis=0).astype(np.int64)
    return GapFit(model, k[model], bits[model, np.arange(gaps.edges)] + np.log2(3.0))
