"""What a fit returns: the coefficient, its interval, and how far to trust it.

One record for all kinds; what a kind has no use for is None. How the numbers come about is in `numeric`,
`categorical` and `event`; how they become a row in the table of fact types is in `facttypes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from chronofy_kg.decay.validity import half_life as half_life_of
from chronofy_kg.errors import InputError

__all__ = ["UNIT_DAYS", "DecayFit", "Kind", "Origin", "StateRate", "Status", "unit_in_days"]

Status: TypeAlias = Literal["ok", "unit_root", "unresolved_fast", "constant", "insufficient"]
Kind: TypeAlias = Literal["numeric", "categorical", "event", "labels"]
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
class StateRate:
    """How fast one state of a categorical type is left; rates per unit of the fit.

    Attributes:
        state: the value, as it came.
        changes: exits seen.
        exposure: time seen in the state (of visits: the time that followed a visit in it).
        rate: exit rate.
        ci: its 95 % interval.
    """

    state: Any
    changes: int
    exposure: float
    rate: float
    ci: tuple[float, float]

    def scaled(self, factor: float) -> StateRate:
        """The same with time measured in another unit, `factor` old ones long."""
        return replace(
            self,
            exposure=self.exposure / factor,
            rate=self.rate * factor,
            ci=(self.ci[0] * factor, self.ci[1] * factor),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayFit:
    """Result of `fit_decay`. Rates are per `unit`, durations in `unit`.

    `beta` is the coefficient to use: finite and >= 0 whatever the status. For a resolved numeric fit it is
    the optimum of the restricted likelihood as it stands, 2 * theta (nearly median-unbiased);
    `beta_corrected` is the same with the mean bias of a short series, and of a noise term that is not shown,
    taken off (see `bias`), which the table of fact types uses.

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
        kind: what was fitted: numeric, categorical, event, or labels.
        lr_trend: likelihood ratio of the trend or level shift in the warnings.
        beta_robust: coefficient around that trend or level shift; the outliers of a warning are left out of
            `beta` already.
        by_state: exit rates state by state, where states are known.
        spectral_gap: rate at which a chain forgets its state ("is it true again", as far as `reverting` asked
            for it); `spectral_gap_ci` its interval.
        shape: Weibull shape of the durations of spells (1: no dependence on how long it has lasted);
            `shape_ci` its interval.
        lr_shape: likelihood ratio against shape 1 (3.84 rejects).
        dispersion: variance over mean of the counts of events in 30 equal bins (1: no clusters).
        data_hash: of the cleaned rows that went in, whatever their order.
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
    lr_trend: float | None = None
    kind: Kind = "numeric"
    beta_robust: float | None = None
    by_state: tuple[StateRate, ...] = ()
    spectral_gap: float | None = None
    spectral_gap_ci: tuple[float, float] | None = None
    shape: float | None = None
    shape_ci: tuple[float, float] | None = None
    lr_shape: float | None = None
    dispersion: float | None = None
    data_hash: str = ""

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

        def times(rate: float | None) -> float | None:
            return None if rate is None else rate * factor

        def pair_or_none(interval: tuple[float, float] | None) -> tuple[float, float] | None:
            return None if interval is None else pair(interval)

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
            sigma2_w=times(self.sigma2_w),
            rate=times(self.rate),
            rate_ci=pair_or_none(self.rate_ci),
            beta_robust=times(self.beta_robust),
            by_state=tuple(state.scaled(factor) for state in self.by_state),
            spectral_gap=times(self.spectral_gap),
            spectral_gap_ci=pair_or_none(self.spectral_gap_ci),
        )

    def __post_init__(self) -> None:
        if not (math.isfinite(self.beta) and self.beta >= 0.0):
            raise InputError(f"a fit ended with beta = {self.beta}; expected a finite number >= 0")
