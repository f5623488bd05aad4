"""Shapes of decay other than the exponential, for facts whose loss of validity is not memoryless.

A family gives the logarithm of the share of validity left at an age; `validity.validity` takes one in place
of beta. Parameters are checked once, when the family is made.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.errors import InputError

__all__ = ["Decay", "DelayedOnset", "Exponential", "HalfLife", "Linear", "PowerLaw", "Weibull"]


class Decay(ABC):
    """The share of validity left at an age in days, in [0, 1] with a maximum of 1.

    All but `DelayedOnset` start with 1 and never rise.
    """

    __slots__ = ()

    @abstractmethod
    def log_survival(self, age: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the share of validity left at `age` (days, >= 0)."""


def _require(name: str, value: float, *, positive: bool) -> None:
    if not math.isfinite(value) or value < 0.0 or (positive and value == 0.0):
        raise InputError(f"{name} is {value}; expected a finite number {'> 0' if positive else '>= 0'}")


@dataclass(frozen=True, slots=True)
class Exponential(Decay):
    """exp(-beta * age); the same as passing beta itself."""

    beta: float

    def __post_init__(self) -> None:
        _require("beta", self.beta, positive=False)

    def log_survival(self, age: NDArray[np.float64]) -> NDArray[np.float64]:
        """-beta * age."""
        if self.beta == 0.0:
            return np.zeros_like(age)
        with np.errstate(over="ignore"):
            return -self.beta * age


@dataclass(frozen=True, slots=True)
class HalfLife(Decay):
    """2^(-age / days): half of the validity is left after `days`.

    >>> from chronofy_kg.decay.validity import validity
    >>> float(validity(0.8, HalfLife(7.0), 14.0).round(12))
    0.2
    """

    days: float

    def __post_init__(self) -> None:
        _require("half-life", self.days, positive=True)

    def log_survival(self, age: NDArray[np.float64]) -> NDArray[np.float64]:
        """-ln 2 * age / days."""
        with np.errstate(over="ignore"):
            return -math.log(2.0) * (age / self.days)


@dataclass(frozen=True, slots=True)
class Linear(Decay):
    """1 - rate * age, down to 0.

    >>> from chronofy_kg.decay.validity import validity
    >>> validity(0.8, Linear(0.1), [3, 15]).round(12).tolist()
    [0.56, 0.0]
    """

    rate: float

    def __post_init__(self) -> None:
        _require("rate", self.rate, positive=False)

    def log_survival(self, age: NDArray[np.float64]) -> NDArray[np.float64]:
        """log(1 - rate * age), -inf from age 1 / rate on."""
        lost = np.zeros_like(age) if self.rate == 0.0 else np.minimum(self.rate * age, 1.0)
        with np.errstate(divide="ignore"):
            return np.log1p(-lost)


@dataclass(frozen=True, slots=True)
class PowerLaw(Decay):
    """(1 + age)^-alpha, age in days.

    >>> from chronofy_kg.decay.validity import validity
    >>> float(validity(1.0, PowerLaw(1.5), 3.0).round(12))
    0.125
    """

    alpha: float

    def __post_init__(self) -> None:
        _require("alpha", self.alpha, positive=False)

    def log_survival(self, age: NDArray[np.float64]) -> NDArray[np.float64]:
        """-alpha * log(1 + age)."""
        if self.alpha == 0.0:
            return np.zeros_like(age)
        return -self.alpha * np.log1p(age)


@dataclass(frozen=True, slots=True)
class Weibull(Decay):
    """exp(-(age / scale)^shape); shape above 1 means "holds for a while, then goes", as terms of office do.

    >>> from chronofy_kg.decay.validity import validity
    >>> float(validity(0.9, Weibull(scale=7.0, shape=1.5), 3.5).round(9))
    0.631969651
    """

    scale: float
    shape: float

    def __post_init__(self) -> None:
        _require("scale", self.scale, positive=True)
        _require("shape", self.shape, positive=True)

    def log_survival(self, age: NDArray[np.float64]) -> NDArray[np.float64]:
        """-(age / scale)^shape."""
        with np.errstate(over="ignore"):
            return -((age / self.scale) ** self.shape)


@dataclass(frozen=True, slots=True)
class DelayedOnset(Decay):
    """A life cycle: most valid some days after it was observed, then fading, as a skew-normal curve.

    exp(-z^2 / 2) Phi(skew z), z = (age - location) / spread, over its maximum at ages >= 0. The shape is that
    of "Chronocept: Instilling a Sense of Time in Machines" (which puts it on an axis of log time); here it is
    scaled to a maximum of 1, so that V = q at its best.

    Args:
        location: where the curve sits, days; of no skew the peak, else the peak is beside it: `peak`.
        spread: how wide it is, days, > 0.
        skew: 0 is symmetric; above 0 it rises fast and fades slowly.

    >>> from chronofy_kg.decay.validity import validity
    >>> notice = DelayedOnset(location=2.0, spread=5.0, skew=4.0)
    >>> round(notice.peak, 3)
    4.085
    >>> validity(1.0, notice, [0.0, notice.peak, 30.0]).round(3).tolist()
    [0.058, 1.0, 0.0]
    """

    location: float
    spread: float
    skew: float = 0.0
    peak: float = field(init=False)

    def __post_init__(self) -> None:
        for name, value in (("location", self.location), ("skew", self.skew)):
            if not math.isfinite(value):
                raise InputError(f"{name} is {value}; expected a finite number")
        _require("spread", self.spread, positive=True)
        peak = max(self.location + self.spread * _mode(self.skew), 0.0)
        if not math.isfinite(peak):
            raise InputError(f"location {self.location} and spread {self.spread} put the peak out of range")
        object.__setattr__(self, "peak", peak)

    def log_survival(self, age: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the curve over its maximum."""
        best = float(self._log_curve(np.array([self.peak]))[0])
        # an age at the peak to the last digits may come out above it by a rounding
        return np.minimum(self._log_curve(age) - best, 0.0)

    def _log_curve(self, age: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import log_ndtr  # scipy takes a moment to load, and this family is rare

        with np.errstate(over="ignore"):
            z = np.clip((age - self.location) / self.spread, -1e150, 1e150)
            tail = log_ndtr(np.clip(self.skew * z, -1e150, 1e150)) if self.skew else 0.0
        return np.asarray(-z * z / 2.0 + tail, dtype=np.float64)


def _mode(skew: float) -> float:
    """Where exp(-z^2 / 2) Phi(skew z) is greatest: z = skew phi(skew z) / Phi(skew z), by bisection."""
    if skew < 0.0:
        return -_mode(-skew)

    def rises(z: float) -> bool:
        u = skew * z
        # z >= 0, so Phi is at least 1/2
        share = math.exp(-u * u / 2.0) / math.sqrt(2.0 * math.pi) / (0.5 * math.erfc(-u / math.sqrt(2.0)))
        return skew * share > z

    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if rises(middle) else (low, middle)
    return (low + high) / 2.0
