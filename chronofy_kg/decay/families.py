"""Shapes of decay other than the exponential, for facts whose loss of validity is not memoryless.

A family gives the logarithm of the share of validity left at an age; `validity.validity` takes one in place
of beta. Parameters are checked once, when the family is made.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.errors import InputError

__all__ = ["Decay", "Exponential", "Linear", "PowerLaw", "Weibull"]


class Decay(ABC):
    """A survival function on ages in days: 1 at age 0, never rising."""

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
