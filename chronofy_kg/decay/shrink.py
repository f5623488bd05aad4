"""Fact types with few rows borrow from the others of their kind (empirical Bayes on log beta).

The types of one kind are taken as drawn from a normal law of log beta. Those with many rows tell its mean and
spread; a type with few rows is then drawn towards the mean by the precision of each. What comes out is always
labelled as informed by a prior. With fewer than 3 types to learn from, the declared prior of the kind stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from chronofy_kg.decay.facttypes import FEW_ROWS, FactKind, FactType, KindPrior, Priors

__all__ = ["learn_prior"]

Floats: TypeAlias = NDArray[np.float64]

_Z = 1.959963984540054
_LEAST_TYPES = 3
_PRIOR_TYPES = 2.0  # weight of the declared spread, in types: a handful may agree by chance


@dataclass(frozen=True, slots=True)
class _Known:
    """Logarithms of well-known rates, and their standard errors."""

    logs: Floats
    errors: Floats


def learn_prior(types: Iterable[FactType], kind: FactKind, priors: Priors) -> KindPrior | None:
    """Prior of a kind, learned from those of its types that were fitted on many rows.

    Mean and spread by the method of Paule & Mandel (1982): the spread at which the weighted squares around
    the weighted mean are what one expects, sum (y - m)^2 / (tau^2 + s^2) = k - 1. The declared spread counts
    as 2 more types. A type without a finite interval above 0 tells nothing here.

    Args:
        types: rows of the table; any order.
        kind: numeric or categorical.
        priors: the declared priors.

    Returns:
        None with fewer than 3 types to learn from.
    """
    rows = sorted((t for t in types if _tells(t, kind)), key=lambda t: t.name)
    if len(rows) < _LEAST_TYPES:
        return None
    known = _Known(
        np.array([math.log(t.beta) for t in rows]),
        np.array([max(math.log(t.beta_high / t.beta_low) / (2.0 * _Z), 1e-6) for t in rows]),
    )
    size = len(rows)
    between = (size - 1.0) * _between(known) + _PRIOR_TYPES * priors.log_sd**2
    between /= size - 1.0 + _PRIOR_TYPES
    weights = 1.0 / (between + known.errors**2)
    mean = float(np.sum(weights * known.logs) / np.sum(weights))
    # of a new type: its own spread around the mean, and the mean is not known for sure either
    return KindPrior(math.exp(mean), math.sqrt(between + 1.0 / float(np.sum(weights))), size)


def _tells(row: FactType, kind: FactKind) -> bool:
    return (
        row.kind == kind
        and row.beta_from == "fitted"
        and row.status == "ok"
        and row.n >= FEW_ROWS
        and 0.0 < row.beta_low < row.beta_high < math.inf
    )


def _between(known: _Known) -> float:
    """Variance of log beta between types, beyond what the errors explain."""
    freedom = known.logs.size - 1.0

    def excess(variance: float) -> float:
        weights = 1.0 / (variance + known.errors**2)
        mean = np.sum(weights * known.logs) / np.sum(weights)
        return float(np.sum(weights * (known.logs - mean) ** 2)) - freedom

    if excess(0.0) <= 0.0:
        return 0.0
    most = float(np.sum((known.logs - known.logs.mean()) ** 2))
    return float(brentq(excess, 0.0, max(most, 1e-12), xtol=1e-12))
