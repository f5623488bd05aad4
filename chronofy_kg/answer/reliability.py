"""Reliability tables: what was claimed, in ranges of validity, beside what came of it. Pure.

The expected calibration error is that of Naeini, Cooper & Hauskrecht (2015), "Obtaining well calibrated
probabilities using Bayesian binning". Where the claims come from is `calibrate`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chronofy_kg.answer.calibrate import Claims
from chronofy_kg.errors import QueryError

__all__ = ["Bin", "Calibration", "report"]

_BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Claims of about one validity.

    Attributes:
        low, high: the range of V.
        count: how many claims.
        claimed: their mean V.
        seen: the share still true, or of variance explained.
    """

    low: float
    high: float
    count: int
    claimed: float
    seen: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A reliability table.

    Attributes:
        name: of the fact type, or "all".
        count: claims in it.
        error: expected calibration error, the mean over the claims of |claimed - seen| of their bin.
        bins: those with claims, by rising V.
    """

    name: str
    count: int
    error: float
    bins: tuple[Bin, ...]


def report(claims: Claims, bins: int = _BINS, *, tau: float = 0.0) -> tuple[Calibration, ...]:
    """Return the reliability table of all claims, then that of each fact type that has any.

    Args:
        claims: from `backtest`.
        tau: claims of less validity are left out: the knowledge filter keeps them from any answer.
        bins: number of equal ranges of V.
    """
    if bins < 1:
        raise QueryError(f"{bins} bins; there must be 1 or more")
    claims = claims.take(claims.validity >= tau)
    parts = [("all", claims)]
    parts += [(name, claims.take(claims.type == number)) for number, name in enumerate(claims.types)]
    return tuple(_table(name, part, bins) for name, part in parts if len(part) or name == "all")


def _table(name: str, claims: Claims, bins: int) -> Calibration:
    cell = np.minimum((claims.validity * bins).astype(np.int64), bins - 1)
    count = np.bincount(cell, minlength=bins)
    claimed = np.bincount(cell, claims.validity, minlength=bins) / np.maximum(count, 1)
    weight = np.bincount(cell, claims.weight, minlength=bins)
    seen = np.bincount(cell, claims.kept, minlength=bins) / np.where(weight > 0, weight, 1.0)
    used = np.flatnonzero(count)
    total = int(count.sum())
    error = float(np.sum(count[used] * np.abs(claimed[used] - seen[used])) / max(total, 1))
    made = (
        Bin(i / bins, (i + 1) / bins, int(count[i]), float(claimed[i]), float(seen[i])) for i in used.tolist()
    )
    return Calibration(name, total, error, tuple(made))
