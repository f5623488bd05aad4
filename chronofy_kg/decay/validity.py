"""Validity of a fact at an age: V = q * survival(age), for scalars and columns alike.

This is the hot path of scoring: pure numpy, no fitting. Learning the rate lives in `fit`, other shapes than
the exponential in `families`, the rates of a data set in `facttypes`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronofy_kg.decay.families import Decay
from chronofy_kg.errors import InputError

if TYPE_CHECKING:
    from typing import TypeAlias

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["half_life", "log_validity", "rate_from_half_life", "validity", "validity_interval"]

# exp(-745.13) is the last exponent that is not 0 in double precision; below it numpy would warn of underflow.
_LOWEST_EXPONENT = -745.0


def validity(q: ArrayLike, beta: ArrayLike | Decay, age: ArrayLike) -> Floats:
    """Validity V = q * exp(-beta * age) of facts.

    Formula: "Chronofy", section III-E: the share of variance that an observation of reliability q still
    explains after `age`, with beta = 2 theta for a mean reversion rate theta.

    Args:
        q: quality in (0, 1]; scalar or array.
        beta: decay coefficient per day, >= 0 and finite; scalar, array, or a `Decay` family.
        age: days since the fact was last seen to hold; scalar or array, below 0 counts as 0, inf is allowed.

    Returns:
        float64 array of the common (broadcast) shape, in [0, 1]; 0-dimensional for scalars.

    Raises:
        InputError: q outside (0, 1], beta negative or infinite, or NaN anywhere.

    >>> float(validity(0.95, 5.0, 1 / 24))
    0.7713395288431032
    >>> validity([1.0, 0.8, 1.0], 0.6931471805599453, [0, 1, 2]).round(6).tolist()
    [1.0, 0.4, 0.25]
    """
    quality = _quality(q)
    exponent = np.maximum(_log_survival(beta, age), _LOWEST_EXPONENT)
    survival = np.exp(exponent)
    # the clamp must not make an infinitely old fact look alive
    survival = np.where(exponent <= _LOWEST_EXPONENT, 0.0, survival)
    return np.asarray(quality * survival, dtype=np.float64)


def log_validity(q: ArrayLike, beta: ArrayLike | Decay, age: ArrayLike) -> Floats:
    """Natural logarithm of `validity`, computed without exp.

    Rank by this one: where validity underflows to 0, two very old facts keep their order.

    Args:
        q: quality in (0, 1].
        beta: decay coefficient per day, or a `Decay` family.
        age: days; below 0 counts as 0.

    Returns:
        float64 array of the common shape, in [-inf, 0].

    Raises:
        InputError: as `validity`.

    >>> log_validity(1.0, 10.0, [730_000, 730_001]).tolist()
    [-7300000.0, -7300010.0]
    """
    return np.asarray(np.log(_quality(q)) + _log_survival(beta, age), dtype=np.float64)


def validity_interval(
    q: ArrayLike, beta_low: ArrayLike, beta_high: ArrayLike, age: ArrayLike
) -> tuple[Floats, Floats]:
    """Interval of validity that comes from an interval of beta.

    V falls with beta, so the ends are V at the upper and at the lower end: q exp(-beta_high age) to
    q exp(-beta_low age).

    Args:
        q: quality in (0, 1].
        beta_low: lower end per day, finite and >= 0.
        beta_high: upper end per day, may be inf: then nothing is sure beyond age 0.
        age: days; below 0 counts as 0.

    Returns:
        (low, high), float64 arrays of the common shape.

    Raises:
        InputError: as `validity`, or a lower end above the upper one.

    >>> low, high = validity_interval(0.8, 0.0, [0.1, float("inf")], 10.0)
    >>> low.round(6).tolist(), high.tolist()
    ([0.294304, 0.0], [0.8, 0.8])
    """
    bottom, top = np.asarray(beta_low, dtype=np.float64), np.asarray(beta_high, dtype=np.float64)
    if bool(np.any(bottom > top)):
        raise InputError("beta_low is above beta_high")
    # NaN stays, for `validity` to refuse
    finite = np.where(np.isposinf(top), np.finfo(np.float64).max, top)
    low, high, _ = np.broadcast_arrays(validity(q, finite, age), validity(q, bottom, age), top)
    return low, high


def half_life(beta: float) -> float | None:
    """Age at which validity has halved: ln 2 / beta, in the unit of 1 / beta; None where nothing decays.

    Raises:
        InputError: beta negative or NaN.

    >>> half_life(5.0)
    0.13862943611198905
    >>> half_life(0.0) is None
    True
    """
    if not beta >= 0.0:
        raise InputError(f"beta is {beta}; a decay coefficient is a number >= 0")
    # an underflow of ln 2 / beta or a denormal beta means "no decay that could be told from none"
    return math.log(2.0) / beta if beta > 1e-300 else None


def rate_from_half_life(duration: float) -> float:
    """Decay coefficient beta = ln 2 / half-life, per the unit of `duration`; 0 for an infinite one.

    Raises:
        InputError: the half-life is not positive.

    >>> rate_from_half_life(90.0)
    0.007701635339554948
    """
    if not duration > 0.0:
        raise InputError(f"a half-life of {duration} is not positive")
    return math.log(2.0) / duration


def _quality(q: ArrayLike) -> Floats:
    quality = np.asarray(q, dtype=np.float64)
    if not bool(np.all((quality > 0.0) & (quality <= 1.0))):
        raise InputError(
            f"quality must lie in (0, 1]; {_first_bad(quality, (quality > 0.0) & (quality <= 1.0))}"
        )
    return quality


def _log_survival(beta: ArrayLike | Decay, age: ArrayLike) -> Floats:
    days = np.asarray(age, dtype=np.float64)
    if bool(np.any(np.isnan(days))):
        raise InputError(f"age is NaN; {_first_bad(days, ~np.isnan(days))}")
    days = np.maximum(days, 0.0)
    if isinstance(beta, Decay):
        return beta.log_survival(days)
    rate = np.asarray(beta, dtype=np.float64)
    sound = (rate >= 0.0) & np.isfinite(rate)
    if not bool(np.all(sound)):
        raise InputError(f"beta must be a finite number >= 0; {_first_bad(rate, sound)}")
    with np.errstate(over="ignore", invalid="ignore"):
        product = rate * days
    # 0 * inf: what does not decay is valid at any age
    return np.asarray(-np.where(rate == 0.0, 0.0, product), dtype=np.float64)


def _first_bad(values: Floats, sound: NDArray[np.bool_]) -> str:
    index = int(np.flatnonzero(~np.atleast_1d(sound))[0])
    return f"got {np.atleast_1d(values).flat[index]} at index {index}"
