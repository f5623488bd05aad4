"""Edges: which candidate pairs of rule nodes are worth their description, and their figures.

Takes the counts of `pairs` and the code lengths of `mdl`; the lag and the decay of an edge are read off its
gaps. Names, ids and the shape that is handed out belong to `graph`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.rules.mdl import (
    Gaps,
    bin_counts,
    empirical_bits,
    exception_bits,
    fit_gaps,
    model_bits,
    null_bits,
)
from chronofy_kg.rules.pairs import ROLES, PairCounts

__all__ = ["NodeCounts", "ScoredEdges", "exposure_by_bin", "fit_betas", "median_gaps", "score_edges"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """What the edges of a graph are weighed against.

    Attributes:
        support: int64[nodes], events of each node.
        facts: number F of events in all.
        steps: number T of distinct steps of time on which there are events.
        exposure: int64[nodes, bins], events of each node whose future is long enough for the bin.
        bounds: int64[bins + 1], borders of the bins, from `gap_bounds`.
    """

    support: Ints
    facts: int
    steps: int
    exposure: Ints
    bounds: Ints


@dataclass(frozen=True, slots=True)
class ScoredEdges:
    """The edges that are kept, e of them, in the order of the candidates.

    Attributes:
        source, target, role, support, followed, last_us: as in `PairCounts`.
        delta: float64[e], Delta L in bits, below 0.
        gap_model: int64[e], index into GAP_MODELS.
        lag: float64[e], median gap in steps.
        beta: float64[e], decay of the confidence by gap, per step.
        histogram: int64[e, bins], later events by bin of their gap.
    """

    source: Ints
    target: Ints
    role: Ints
    support: Ints
    followed: Ints
    last_us: Ints
    delta: Floats
    gap_model: Ints
    lag: Floats
    beta: Floats
    histogram: Ints

    def __len__(self) -> int:
        return len(self.source)


def score_edges(pairs: PairCounts, nodes: NodeCounts) -> ScoredEdges:
    """Keep the candidates with Delta L < 0, L_model + L_exc + L_gap against L_null."""
    # No gap model beats the entropy of the gaps, none has fewer than one parameter: what costs too much even
    # so is out, exactly, before any model is fitted.
    least = _fixed_bits(pairs, nodes, np.ones_like(pairs.support)) + empirical_bits(pairs.gaps) + np.log2(3.0)
    hopeful = least < 0.0
    pairs = _take(pairs, hopeful)
    fit = fit_gaps(pairs.gaps, nodes.bounds)
    delta = _fixed_bits(pairs, nodes, fit.parameters) + fit.bits
    kept = delta < 0.0
    pairs = _take(pairs, kept)
    histogram = bin_counts(pairs.gaps, nodes.bounds)
    return ScoredEdges(
        source=pairs.source,
        target=pairs.target,
        role=pairs.role,
        support=pairs.support,
        followed=pairs.followed,
        last_us=pairs.last_us,
        delta=delta[kept],
        gap_model=fit.model[kept],
        lag=median_gaps(pairs.gaps),
        beta=fit_betas(histogram, nodes.exposure[pairs.source], nodes.bounds),
        histogram=histogram,
    )


def _fixed_bits(pairs: PairCounts, nodes: NodeCounts, parameters: Ints) -> Floats:
    """Return L_model + L_exc - L_null of each candidate."""
    n_u, n_v, n_uv = nodes.support[pairs.source], nodes.support[pairs.target], pairs.support
    bits: Floats = (
        model_bits(n_u, n_v, n_uv, nodes.facts, len(ROLES), parameters)
        + exception_bits(n_v, n_uv)
        - null_bits(n_uv, nodes.steps)
    )
    return bits


def _take(pairs: PairCounts, keep: NDArray[np.bool_]) -> PairCounts:
    return PairCounts(
        pairs.source[keep], pairs.target[keep], pairs.role[keep], pairs.support[keep], pairs.followed[keep],
        pairs.last_us[keep], pairs.gaps.take(keep), pairs.skipped,
    )  # fmt: skip


def median_gaps(gaps: Gaps) -> Floats:
    """Return float64[edges]: the median gap of each edge, in steps.

    >>> median_gaps(Gaps.of([1, 2, 9], [2, 2, 4, 8])).tolist()
    [2.0, 3.0]
    """
    # Entries are ordered by edge and gap, so a place in the running count finds a gap.
    reach = np.cumsum(gaps.count)
    n = np.rint(gaps.events()).astype(np.int64)
    start = np.cumsum(n) - n
    low = gaps.gap[np.searchsorted(reach, start + (n - 1) // 2, side="right")]
    high = gaps.gap[np.searchsorted(reach, start + n // 2, side="right")]
    median: Floats = (low + high) / 2.0
    return median


def exposure_by_bin(node: Ints, step: Ints, nodes: int, bounds: Ints) -> Ints:
    """Return int64[nodes, bins]: events of each node whose future holds at least the first gap of the bin.

    Args:
        node, step: int64[i], the instances.
        nodes: number of nodes.
        bounds: int64[bins + 1], from `gap_bounds`.

    >>> exposure_by_bin(np.array([0, 0, 1]), np.array([0, 8, 10]), 2, np.array([1, 2, 5, 11])).tolist()
    [[2, 2, 1], [0, 0, 0]]
    """
    bins = len(bounds) - 1
    ahead = (step.max() if len(step) else 0) - step
    reached = np.searchsorted(bounds[:-1], ahead, side="right")
    table = np.bincount(node * (bins + 1) + reached, minlength=nodes * (bins + 1)).reshape(nodes, bins + 1)
    exposure: Ints = table[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:].astype(np.int64)
    return exposure


def fit_betas(histogram: Ints, exposure: Ints, bounds: Ints) -> Floats:
    """Fit confidence by gap, c(d) = a exp(-beta d), by weighted least squares on the bins.

    The confidence of a bin is the share of exposed source events that a target event follows at one gap of
    the bin: (count + e) / (exposure * width). Its log has a variance of about 1 / (count + e), which gives
    the weights. One event, e in all, is spread evenly over the gaps: empty bins then speak for a decline, and
    an edge with few events is nearly flat. A rising fit means no decay: 0.

    Args:
        histogram: int64[e, bins], later events by bin.
        exposure: int64[e, bins], source events that were followed long enough.
        bounds: int64[bins + 1], borders of the bins in steps.

    Returns:
        float64[e], beta per step, at least 0.

    >>> bounds = np.arange(1, 12)
    >>> count = np.rint(1e6 * np.exp(-0.3 * bounds[:-1])).astype(np.int64)[None]
    >>> fit_betas(count, np.full_like(count, 10**7), bounds).round(3).tolist()
    [0.3]
    """
    width = np.diff(bounds).astype(np.float64)
    middle = (bounds[:-1] + bounds[1:] - 1) / 2.0
    weight = np.where(exposure > 0, histogram + width / width.sum(), 0.0)
    log_rate = np.log(np.maximum(weight, 1e-300) / (np.maximum(exposure, 1) * width))
    total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    off = middle - (weight * middle).sum(axis=1, keepdims=True) / total
    spread = (weight * off * off).sum(axis=1)
    slope = (weight * off * log_rate).sum(axis=1) / np.where(spread > 0.0, spread, 1.0)
    return np.where(spread > 0.0, np.maximum(-slope, 0.0), 0.0)
