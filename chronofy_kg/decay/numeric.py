"""Decay of numeric facts: Ornstein-Uhlenbeck fit pooled over subjects, its status, and what to use instead.

beta = 2 theta by restricted maximum likelihood with a noise term; where 0 or infinity cannot be excluded the
status says so and `beta` falls back. The deviances are in `likelihood` and `kalman`, the search in `profile`.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from chronofy_kg.decay.bias import bias_of_theta, pull_of_noise
from chronofy_kg.decay.checks import Drift, drift, spikes
from chronofy_kg.decay.kalman import NoisyLikelihood
from chronofy_kg.decay.likelihood import CleanLikelihood
from chronofy_kg.decay.poisson import NO_CHANGE_BOUND
from chronofy_kg.decay.profile import Profile, profile
from chronofy_kg.decay.result import DecayFit, Origin, Status
from chronofy_kg.decay.series import Rows, Series, series_of

__all__ = ["NumericOptions", "fit_numeric"]

Scale: TypeAlias = Literal["auto", "subject", "shared"]

_ESTIMATOR = 2  # counts up when the same rows would give another result
_MANY_ROWS = 100_000
_CONSTANT_SHARE = 0.1  # more constant subjects than this: variances of their own would leave out too much


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericOptions:
    """How to fit; see `fit_decay`. `prior` is a rate per unit of time."""

    noise: Literal["auto"] | bool
    scale: Scale
    tolerance: float | None
    prior: float
    unit: str

    def digest(self, rows: str) -> str:
        """Hash of all that the outcome depends on: rows (by their hash), options, and the estimator."""
        text = repr((_ESTIMATOR, rows, self.noise, self.scale, self.tolerance, self.prior, self.unit))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Estimate:
    """Optimum in units of time: rates per unit, `walk` = sigma_W^2, `noise` = variance of the noise."""

    found: Profile
    step: float
    ratio: float
    walk: float | None
    variance: float
    noise: float
    lr_noise: float | None
    method: str
    w: float | None


def fit_numeric(rows: Rows, options: NumericOptions) -> DecayFit:
    """Fit one mean reversion rate to all subjects of a numeric fact type.

    Args:
        rows: clean rows, see `read_rows`.
        options: see `fit_decay`.

    Returns:
        A fit with a status; never NaN.
    """
    return replace(_fit(rows, options), data_hash=rows.digest)


def _fit(rows: Rows, options: NumericOptions) -> DecayFit:
    exponent = _far_out(rows)
    if exponent:
        return _rescaled(rows, options, exponent)
    if options.noise is False:
        rows = rows.merge_ties()
    warnings = list(rows.warnings)
    own = _own_scale(rows, options.scale)
    if rows.values.size:
        out = spikes(rows, own_scale=own)
        if bool(np.any(out)):
            warnings.append(
                f"{int(out.sum())} outlier(s), far from both neighbours, were left out of the fit"
            )
            rows = rows.select(~out)
    series = _usable(rows, own)
    if isinstance(series, str):
        return _without_fit(rows, options, series, warnings)
    left_out = int((rows.sizes >= 3).sum()) - series.sizes.size if own else 0
    if left_out > 0:
        warnings.append(f"{left_out} subject(s) that never change were left out")
    plain = _without_ties(rows, series)
    estimate = _estimate(series, plain, options, warnings)
    found = None
    if rows.values.size <= 10 * _MANY_ROWS:
        found = drift(plain if plain and estimate.w is None else series, estimate.w)
    if found is not None:
        warnings.append(found.text)
    pull = 0.0
    if options.noise is not False and plain is series and math.isfinite(estimate.found.rate):
        shown = 0.0 if estimate.ratio == 0.0 else estimate.lr_noise or 0.0
        pull = pull_of_noise(series, estimate.found.rate, shown)
    return _with_drift(_conclude(rows, estimate, pull, options, warnings), found)


def _far_out(rows: Rows) -> int:
    """Power of two that would bring the values near 1, 0 where their squares are within range as they are."""
    peak = float(np.max(np.abs(rows.values), initial=0.0))
    return 0 if peak == 0.0 or 1e-100 < peak < 1e100 else math.frexp(peak)[1]


def _rescaled(rows: Rows, options: NumericOptions, exponent: int) -> DecayFit:
    """The fit of values divided by 2^exponent, which is exact, told in the values as they were."""
    near = Rows(rows.gaps, np.ldexp(rows.values, -exponent), rows.starts, rows.warnings)
    tolerance = options.tolerance
    if tolerance is not None:
        with np.errstate(over="ignore", under="ignore"):
            tolerance = min(max(float(np.ldexp(tolerance, -exponent)), 1e-100), 1e100)
    fit = _fit(near, replace(options, tolerance=tolerance))

    def back(variance: float | None) -> float | None:
        with np.errstate(over="ignore", under="ignore"):
            return None if variance is None else float(np.ldexp(np.ldexp(variance, exponent), exponent))

    return replace(fit, sigma2_w=back(fit.sigma2_w), variance=back(fit.variance), v_ref=back(fit.v_ref))


def _own_scale(rows: Rows, scale: Scale) -> bool:
    if scale != "auto" or not rows.values.size:
        return scale == "subject"
    sizes = rows.sizes[rows.sizes >= 2]
    if not sizes.size or float(np.median(sizes)) < 5.0:
        return False
    low = np.minimum.reduceat(rows.values, rows.starts[:-1])
    high = np.maximum.reduceat(rows.values, rows.starts[:-1])
    return float(np.mean((low == high)[rows.sizes >= 2])) <= _CONSTANT_SHARE


def _usable(rows: Rows, own: bool, step: float | None = None) -> Series | Status:
    """Columns that hold information on theta, or the status without any."""
    if rows.values.size < 2 or not bool(np.any(rows.gaps > 0.0)):
        return "insufficient"
    low = np.minimum.reduceat(rows.values, rows.starts[:-1])
    high = np.maximum.reduceat(rows.values, rows.starts[:-1])
    size = np.maximum(np.abs(low), np.abs(high))
    if bool(np.all(high - low <= 8 * np.finfo(float).eps * size)):
        return "constant"
    if step is None:
        step = float(rows.gaps.sum()) / max(rows.values.size - rows.starts.size + 1, 1)
    series = series_of(rows, own_scale=own, step=step)
    moments = series.degrees - (series.sizes.size if own else 1)
    moving = moments >= 1 and int(np.sum(series.gaps > 0.0)) >= 2 and bool(np.any(series.values != 0.0))
    return series if moving else "insufficient"


def _without_ties(rows: Rows, series: Series) -> Series | None:
    """The same columns with ties merged, for the likelihood without noise; None if nothing is left."""
    merged = rows.merge_ties()
    if merged is rows:
        return series
    plain = _usable(merged, series.own_scale, series.step)
    return None if isinstance(plain, str) else plain


def _axis(series: Series) -> list[float]:
    """Log rates from a ten-thousandth of the longest span to well below the shortest gap."""
    gaps = series.gaps[series.gaps > 0.0]
    points = 24 if series.values.size <= _MANY_ROWS else 14
    return [
        float(u) for u in np.linspace(math.log(1e-4 / series.longest), math.log(30.0 / gaps.min()), points)
    ]


def _estimate(
    series: Series, plain: Series | None, options: NumericOptions, warnings: list[str]
) -> _Estimate:
    if options.noise is False and plain is not None:
        return _fit_clean(plain)
    noisy = _fit_noisy(series, _fit_clean(plain, interval=False) if plain is series else None)
    if noisy.found.high == math.inf and plain is not None:
        warnings.append(
            "measurement noise cannot be told from fast change: the bound is that of a fit without noise"
        )
        return _fit_clean(plain)
    return noisy


def _fit_clean(series: Series, *, interval: bool = True) -> _Estimate:
    likelihood = CleanLikelihood(series)
    found = profile(
        likelihood.deviance, _axis(series), likelihood.limits(), tolerance=1e-7, interval=interval
    )
    level = likelihood.variance(found.rate)
    return _Estimate(
        found=found,
        step=series.step,
        ratio=0.0,
        walk=_walk(level, found.rate, series.step),
        variance=math.inf if found.rate == 0.0 else level,
        noise=0.0,
        lr_noise=None,
        method="reml",
        w=None,
    )


def _fit_noisy(series: Series, clean: _Estimate | None) -> _Estimate:
    """Fit with a noise term; `clean` is the same without one where that likelihood exists (no ties)."""
    many = series.values.size > _MANY_ROWS
    likelihood = NoisyLikelihood(series, precision=1e-4 if many else 1e-7, passes=1 if many else 2)
    found = profile(
        likelihood.deviance,
        _axis(series),
        likelihood.limits(),
        rough=likelihood.rough,
        polish=likelihood.polish,
        tolerance=1e-3,
        precision=1e-5 if many else 1e-7,
    )
    gain = None if clean is None else max(clean.found.deviance - found.deviance, 0.0)
    if clean is not None and gain is not None and gain < 1e-5:
        # no noise at the optimum: there the likelihood without it is the same and exact
        best = Profile(
            clean.found.rate, clean.found.deviance, found.low, found.high, found.at_zero, found.at_infinity
        )
        return _Estimate(
            found=best,
            step=series.step,
            ratio=0.0,
            walk=clean.walk,
            variance=clean.variance,
            noise=0.0,
            lr_noise=gain,
            method="reml+noise",
            w=None,
        )
    rate = found.rate if math.isfinite(found.rate) else 50.0
    w = likelihood.limit(0.0)[0] if rate == 0.0 else likelihood.best_noise(math.log(rate))[0]
    level = likelihood.variance(rate, w)
    relative = math.exp(w) * (1.0 if rate == 0.0 else -math.expm1(-2.0 * rate))
    return _Estimate(
        found=found,
        step=series.step,
        ratio=0.0 if rate == 0.0 else relative,
        walk=_walk(level, found.rate, series.step),
        variance=math.inf if rate == 0.0 else level,
        noise=relative * level,
        lr_noise=math.inf if gain is None else gain,
        method="reml+noise",
        w=w,
    )


def _walk(level: float, rate: float, step: float) -> float | None:
    """sigma_W^2 per unit of time from the variance that a likelihood reports at its optimum."""
    if rate == 0.0:
        return level / step
    return 2.0 * rate * level / step if math.isfinite(rate) else None


def _without_fit(rows: Rows, options: NumericOptions, status: Status, warnings: list[str]) -> DecayFit:
    span = float(rows.gaps.sum())
    constant = status == "constant"
    interval = (0.0, NO_CHANGE_BOUND / span) if constant else (0.0, math.inf)
    beta = 0.0 if constant else options.prior
    warnings.append(
        f"constant: no change in {span:.6g} {options.unit} observed; the interval bounds the rate of changes"
        if constant
        else "insufficient data to learn a rate: beta is the prior"
    )
    return DecayFit(
        beta=beta,
        ci=interval,
        theta=0.0,
        q=1.0,
        noise_ratio=0.0,
        status="constant" if constant else "insufficient",
        method="no change" if constant else "prior",
        origin="fitted" if constant else "prior",
        unit=options.unit,
        n=int(rows.values.size),
        subjects=int(rows.starts.size - 1),
        span=span,
        warnings=tuple(warnings),
        beta_raw=0.0,
        beta_corrected=0.5 / span if constant else beta,
        ci_raw=interval,
    )


def _with_drift(fit: DecayFit, found: Drift | None) -> DecayFit:
    return fit if found is None else replace(fit, lr_trend=found.ratio, beta_robust=2.0 * found.theta)


def _conclude(
    rows: Rows, estimate: _Estimate, pull: float, options: NumericOptions, warnings: list[str]
) -> DecayFit:
    """The result of an estimate; `pull` is the mean pull of the noise term on theta, per step."""
    found, step = estimate.found, estimate.step
    theta = found.rate / step
    raw, low, high = 2.0 * theta, 2.0 * found.low / step, 2.0 * found.high / step
    span = float(rows.gaps.sum())
    corrected = max(2.0 * (theta - bias_of_theta(theta, span, step)), 0.0) if math.isfinite(theta) else low
    status = _status(low, high)
    v_ref = None
    origin: Origin = "fitted"
    method, beta = estimate.method, raw
    if status == "insufficient":
        warnings.append("neither a random walk nor white noise can be excluded: beta is the prior")
        beta, origin, method, corrected = (
            options.prior,
            "prior",
            f"{method}, undetermined: prior",
            options.prior,
        )
    elif status == "unresolved_fast":
        warnings.append("changes faster than it is observed: beta is a lower bound only")
        if not math.isfinite(raw):
            beta, method = low, f"{method}, lower bound"
    elif status == "unit_root":
        warnings.append("random walk not rejected: beta near 0 means 'not mean reverting', not 'stable'")
        beta, origin, method, v_ref = _not_reverting(rows, estimate, options, raw, corrected)
        corrected = corrected if origin == "fitted" else beta
    if origin == "fitted" and status in ("ok", "unit_root"):
        corrected += 2.0 * pull / step
    ratio = estimate.ratio if v_ref is None else estimate.noise / v_ref
    return DecayFit(
        beta=beta,
        ci=(min(low, beta), max(high, beta)),
        theta=theta,
        q=1.0 / (1.0 + ratio),
        noise_ratio=ratio,
        status=status,
        method=method,
        origin=origin,
        unit=options.unit,
        n=int(rows.values.size),
        subjects=int(rows.starts.size - 1),
        span=span,
        warnings=tuple(warnings),
        beta_raw=raw,
        beta_corrected=corrected,
        ci_raw=(low, high),
        sigma2_w=estimate.walk,
        variance=estimate.variance,
        v_ref=v_ref,
        lr_random_walk=found.against_zero,
        lr_white_noise=found.against_infinity,
        lr_noise=estimate.lr_noise,
    )


def _status(low: float, high: float) -> Status:
    if math.isfinite(high):
        return "ok" if low > 0.0 else "unit_root"
    return "unresolved_fast" if low > 0.0 else "insufficient"


def _not_reverting(
    rows: Rows, estimate: _Estimate, options: NumericOptions, raw: float, corrected: float
) -> tuple[float, Origin, str, float | None]:
    """beta where a random walk is not excluded: sigma_W^2 / v_ref, else the optimum, else the prior.

    The loss of an old value grows as sigma_W^2 * age at first, whatever the model; v_ref is the variance that
    one would face without the value. Where the fit has a stationary variance below the between-subject one,
    that is the reference, so beta does not jump where a random walk is only just rejected.
    """
    walk = estimate.walk
    assert walk is not None
    if options.tolerance is not None:
        # a tolerance far below or above all values must not leave the range of floats
        v_ref = min(max(options.tolerance * options.tolerance, 1e-300), 1e300)
        return min(walk / v_ref, 1e280), "diffusion", f"{estimate.method}, diffusion against tolerance", v_ref
    between = _between(rows)
    if between is not None and between < estimate.variance and walk > 0.0:
        return (
            min(walk / between, 1e280),
            "diffusion",
            f"{estimate.method}, diffusion against subjects",
            between,
        )
    if corrected > 0.0:  # further from 0 than its own bias
        return raw, "fitted", f"{estimate.method}, unit root not rejected", None
    return options.prior, "prior", f"{estimate.method}, not reverting: prior", None


def _between(rows: Rows) -> float | None:
    """Variance of the subjects' means, None below 3 subjects or where they agree."""
    if rows.starts.size < 4:
        return None
    means = np.add.reduceat(rows.values, rows.starts[:-1]) / rows.sizes
    variance = float(np.var(means, ddof=1))
    return variance if variance > 0.0 and math.isfinite(variance) else None
