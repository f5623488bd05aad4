"""What a fit returns: the coefficient, its interval, and how far to trust it.

One record for all kinds; what a kind has no use for is None. How the numbers come about is in `numeric`,
`categorical` and `event`; how they become a row in the table of fact types is in `facttypes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from chronofy_kg.decay.validity import half_life as half_life_of
from chronofy_kg.errors import InputError

__all__ = ["UNIT_DAYS", "DecayFit", "Origin", "Status", "unit_in_days"]

Status: TypeAlias = Literal["ok", "unit_root", "unresolved_fast", "constant", "insufficient"]
Origin: TypeAlias = Literal["fitted", "diffusion", "prior"]

UNIT_DAYS = {
    "us": 1 / 86_400e6,
    "ms": 1 / 86_400e3,
    "s": 1 / 86_400,
    "m": 1 / 1_440,
    "h": 1 / 24,
    "d": 1.0,
    "w": 7.0,
}


def unit_in_days(unit: str) -> float:
    """Length of a time unit in days.

    Raises:
        InputError: not one of us, ms, s, m (minute), h, d, w.

    >>> unit_in_days("w")
    7.0
    """
    try:
        return UNIT_DAYS[unit]
    except (KeyError, TypeError):
        raise InputError(
            f"unknown time unit {unit!r}; use one of {', '.join(UNIT_DAYS)} "
            "(a month or a year has no fixed length: convert to days)"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayFit:
    """Result of `fit_decay`. Rates are per `unit`, durations in `unit`.

    `beta` is the coefficient to use: finite and >= 0 whatever the status. For a resolved numeric fit it is
    the optimum of the restricted likelihood as it stands, 2 * theta (nearly median-unbiased);
    `beta_corrected` is the same with the mean bias taken off (lowest squared error), which the table of fact
    types uses.

    Attributes:
        beta: decay coefficient to use.
        ci: 95 % interval; the lower end may be 0, the upper one inf. It always holds `beta`; where `beta` is
            a fallback it is widened to do so, and `ci_raw` keeps the interval of the likelihood.
        theta: mean reversion rate at the optimum (0: a random walk fits best; inf: no memory between rows).
        q: reliability 1 / (1 + noise_ratio) of one observation; 1 where no noise term was identified.
        noise_ratio: variance of the measurement noise over the stationary variance.
        status: ok; unit_root (0 is in the interval: not shown to revert); unresolved_fast (inf is in it: only
            a lower bound); constant (never changed); insufficient (nothing to learn from).
        method: how `beta` came about, in words.
        origin: fitted, diffusion (sigma_W^2 / v_ref) or prior.
        unit: time unit of all rates.
        half_life: ln 2 / beta, None where beta is 0.
        n: rows used.
        subjects: subjects used.
        warnings: what a reader must know, in words.
        beta_raw: 2 * theta at the optimum (may be 0 or inf); changes / exposure for categorical facts.
        beta_corrected: beta with the small-sample bias taken off; Jeffreys' (1/2) / exposure where nothing
            changed.
        sigma2_w: diffusion variance per unit of time (mean over subjects).
        variance: stationary variance (mean over subjects), inf for a random walk.
        v_ref: variance against which a diffusion was measured.
        span: observed time, summed over subjects (the exposure).
        changes: changes seen (categorical) or events counted.
        rate: rate of events, for those who ask for recency; `rate_ci` its exact interval.
        lr_random_walk: likelihood ratio against theta -> 0 (3.84 rejects).
        lr_white_noise: likelihood ratio against theta -> infinity.
        lr_noise: likelihood ratio against no measurement noise (2.71 rejects).
    """

    beta: float
    ci: tuple[float, float]
    theta: float
    q: float
    noise_ratio: float
    status: Status
    method: str
    origin: Origin
    unit: str
    n: int
    subjects: int
    span: float
    warnings: tuple[str, ...] = ()
    beta_raw: float
    beta_corrected: float
    ci_raw: tuple[float, float]
    sigma2_w: float | None = None
    variance: float | None = None
    v_ref: float | None = None
    changes: int | None = None
    rate: float | None = None
    rate_ci: tuple[float, float] | None = None
    lr_random_walk: float | None = None
    lr_white_noise: float | None = None
    lr_noise: float | None = None

    @property
    def half_life(self) -> float | None:
        """ln 2 / beta in `unit`, or None where beta is 0."""
        return half_life_of(self.beta)

    def per_day(self) -> DecayFit:
        """The same fit with rates per day and durations in days."""
        return self.to_unit("d")

    def to_unit(self, unit: str) -> DecayFit:
        """The same fit in another time unit.

        Args:
            unit: us, ms, s, m, h, d or w.

        Raises:
            InputError: an unknown unit.
        """
        factor = unit_in_days(unit) / unit_in_days(self.unit)

        def pair(interval: tuple[float, float]) -> tuple[float, float]:
            return interval[0] * factor, interval[1] * factor

        return replace(
            self,
            unit=unit,
            beta=self.beta * factor,
            ci=pair(self.ci),
            theta=self.theta * factor,
            span=self.span / factor,
            beta_raw=self.beta_raw * factor,
            beta_corrected=self.beta_corrected * factor,
            ci_raw=pair(self.ci_raw),
            sigma2_w=None if self.sigma2_w is None else self.sigma2_w * factor,
            rate=None if self.rate is None else self.rate * factor,
            rate_ci=None if self.rate_ci is None else pair(self.rate_ci),
        )

    def __post_init__(self) -> None:
        if not (math.isfinite(self.beta) and self.beta >= 0.0):
            raise InputError(f"a fit ended with beta = {self.beta}; expected a finite number >= 0")
