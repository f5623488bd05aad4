"""The table of fact types: one row says how fast facts of a type go stale, and where that number comes from.

Pure functions over plain values: rows are made from nothing (`undeclared`), from a declaration
(`from_declaration`) or from a fit (`from_fit`). Reading spec files is `chronofy_kg.spec`'s task, keeping the
rows `chronofy_kg.store`'s. All rates are per day.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from chronofy_kg.decay.declared import decay_text, half_age, parse_decay
from chronofy_kg.decay.families import Decay
from chronofy_kg.decay.result import DecayFit
from chronofy_kg.decay.validity import half_life, rate_from_half_life
from chronofy_kg.errors import InputError

__all__ = [
    "FEW_ROWS",
    "BetaFrom",
    "Cardinality",
    "FactKind",
    "FactType",
    "KindPrior",
    "Priors",
    "from_declaration",
    "from_fit",
    "undeclared",
]

FactKind: TypeAlias = Literal["numeric", "categorical", "event", "static"]
Cardinality: TypeAlias = Literal["one", "many"]
BetaFrom: TypeAlias = Literal["declared", "fitted", "prior", "none"]

FEW_ROWS = 20
"""Fewer rows than this do not stand alone: a fit of them is drawn towards a prior, and says so."""

_Z = 1.959963984540054
_NOISE_SHOWN = 2.71  # 5 % point of the likelihood ratio of a variance that cannot be below 0
_UNBOUNDED = ("beta_high",)


@dataclass(frozen=True, slots=True)
class KindPrior:
    """What one expects of a rate before its data: a normal law of log beta.

    Attributes:
        beta: its median, per day.
        log_sd: standard deviation of log beta around it.
        types: number of fact types it was learned from, 0 where it was declared.
    """

    beta: float
    log_sd: float
    types: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate."""
        factor = math.exp(_Z * self.log_sd)
        return self.beta / factor, self.beta * factor

    def named(self, kind: str) -> str:
        """What it is, in words."""
        return f"prior of {kind} facts" + (f" learned from {self.types} types" if self.types else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """What is assumed of a kind before anything is known.

    Attributes:
        numeric_half_life_days: half-life of numeric facts.
        categorical_half_life_days: half-life of categorical facts.
        log_sd: standard deviation of log beta around these; 1.15 means 95 % within a factor of ten.
    """

    numeric_half_life_days: float = 90.0
    categorical_half_life_days: float = 365.0
    log_sd: float = 1.15

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value > 0.0):
                raise InputError(f"{field.name} is {value}; expected a finite number > 0")

    def beta(self, kind: FactKind) -> float:
        """Rate per day assumed of a kind; 0 for event and static.

        >>> round(Priors().beta("numeric"), 6)
        0.007702
        """
        if kind == "numeric":
            return rate_from_half_life(self.numeric_half_life_days)
        return rate_from_half_life(self.categorical_half_life_days) if kind == "categorical" else 0.0

    def of(self, kind: FactKind) -> KindPrior:
        """The declared prior of a kind."""
        return KindPrior(self.beta(kind), self.log_sd)

    def interval(self, kind: FactKind) -> tuple[float, float]:
        """95 % interval of that rate."""
        return self.of(kind).interval


@dataclass(frozen=True, slots=True, kw_only=True)
class FactType:
    """How facts of one type go stale.

    Attributes:
        name: name of the type.
        kind: numeric, categorical, event or static.
        cardinality: one value at a time, or many.
        beta: decay coefficient per day, finite and >= 0.
        beta_low: lower end of its 95 % interval.
        beta_high: upper end, may be inf.
        beta_from: declared, fitted, prior, or none where nothing decays by its nature.
        status: of the fit behind it (ok, unit_root, unresolved_fast, constant, insufficient); "declared" or
            "unfitted" where there was none.
        method: how beta came about, in words.
        quality: reliability of an assertion that states none, or None.
        q_noise: factor on quality, 1 / (1 + noise ratio); 1 where no noise term was shown.
        n: rows behind the fit.
        subjects: subjects behind the fit.
        span_days: time observed, summed over subjects.
        warnings: what a reader must know.
        version: counts up with each fit or declaration; 0 where there was none.
        declared: a spec file or a user declares the type.
        tolerance: deviation at which a value is of no more use, or None.
        data_hash: of the rows and options of the fit behind it; the same hash needs no new fit.
        decay: a declared family of decay other than the exponential one, or None; beta is then that of the
            exponential with its half-life, for those who only read a rate.
    """

    name: str
    kind: FactKind
    cardinality: Cardinality
    beta: float
    beta_low: float
    beta_high: float
    beta_from: BetaFrom
    status: str = "unfitted"
    method: str = ""
    quality: float | None = None
    q_noise: float = 1.0
    n: int = 0
    subjects: int = 0
    span_days: float = 0.0
    warnings: tuple[str, ...] = ()
    version: int = 1
    declared: bool = False
    tolerance: float | None = None
    data_hash: str = ""
    decay: Decay | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("kind", self.kind, get_args(FactKind)),
            ("cardinality", self.cardinality, get_args(Cardinality)),
            ("beta_from", self.beta_from, get_args(BetaFrom)),
        ):
            if value not in allowed:
                raise InputError(
                    f"fact type {self.name!r}: {name} is {value!r}; expected one of {', '.join(allowed)}"
                )
        if not (0.0 <= self.beta_low <= self.beta <= self.beta_high and math.isfinite(self.beta)):
            raise InputError(
                f"fact type {self.name!r}: beta {self.beta} [{self.beta_low}, {self.beta_high}] "
                "per day is no finite rate >= 0 within its interval"
            )
        for name, share in (("quality", self.quality), ("q_noise", self.q_noise)):
            if share is not None and not 0.0 < share <= 1.0:
                raise InputError(f"fact type {self.name!r}: {name} is {share}; expected a number in (0, 1]")
        if self.tolerance is not None and not (math.isfinite(self.tolerance) and self.tolerance > 0.0):
            raise InputError(f"fact type {self.name!r}: tolerance is {self.tolerance}; expected a number > 0")

    @property
    def half_life_days(self) -> float | None:
        """Days in which validity halves, None where it never does."""
        return half_life(self.beta) if self.decay is None else half_age(self.decay)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: an infinite bound is None, a family its text; the half-life is added."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        row["decay"] = None if self.decay is None else decay_text(self.decay)
        row["warnings"] = list(self.warnings)
        for name in _UNBOUNDED:
            row[name] = row[name] if math.isfinite(row[name]) else None
        row["half_life_days"] = self.half_life_days
        return row

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> FactType:
        """The row that `to_dict` wrote.

        Raises:
            InputError: a field is missing, unknown or out of range.
        """
        values = {name: value for name, value in row.items() if name != "half_life_days"}
        for name in _UNBOUNDED:
            if values.get(name, 0.0) is None:
                values[name] = math.inf
        values["warnings"] = tuple(values.get("warnings") or ())
        if values.get("decay") is not None:
            values["decay"] = parse_decay(values["decay"])
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"no row of the table of fact types: {error}") from None


def undeclared(
    name: str, kind: FactKind, cardinality: Cardinality | None = None, priors: Priors | None = None
) -> FactType:
    """Row of a type of which nothing is known but its kind.

    Args:
        name: name of the type.
        kind: its kind.
        cardinality: default: many for categorical and event, else one.
        priors: rates assumed by kind.

    >>> row = undeclared("egfr", "numeric")
    >>> row.beta_from, round(row.half_life_days, 6), row.status
    ('prior', 90.0, 'unfitted')
    >>> undeclared("admission", "event").half_life_days is None
    True
    """
    return from_declaration(name, kind, cardinality, priors=priors, declared=False)


def from_declaration(
    name: str,
    kind: FactKind,
    cardinality: Cardinality | None = None,
    *,
    beta: float | None = None,
    half_life_days: float | None = None,
    decay: Decay | None = None,
    quality: float | None = None,
    tolerance: float | None = None,
    priors: Priors | None = None,
    version: int | None = None,
    declared: bool = True,
) -> FactType:
    """Row of a declared type.

    Args:
        name: name of the type.
        kind: its kind.
        cardinality: default: many for categorical and event, else one.
        beta: declared rate per day.
        half_life_days: the same as a half-life.
        decay: another family of decay; one of the three at most.
        quality: reliability of assertions that state none.
        tolerance: see `fit_decay`.
        priors: rates assumed where none is declared.
        version: version of the row; default: 1, or 0 where it is not declared.
        declared: False for a type that only turned up in data.

    Raises:
        InputError: several of beta, half-life and family are given, or a value is out of range.

    >>> from_declaration("hr", "numeric", half_life_days=0.125).beta_from
    'declared'
    """
    if sum(one is not None for one in (beta, half_life_days, decay)) > 1:
        raise InputError(f"fact type {name!r}: give one of beta, half_life and decay, not several")
    if decay is not None:
        age = half_age(decay)
        beta = 0.0 if age is None else rate_from_half_life(age)
    if half_life_days is not None:
        beta = rate_from_half_life(half_life_days)
    low, high = (priors or Priors()).interval(kind) if beta is None else (beta, beta)
    rate = (priors or Priors()).beta(kind) if beta is None else beta
    if beta is not None:
        method = "declared" if decay is None else f"declared: {decay_text(decay)}"
        status = "declared"
        origin: BetaFrom = "declared"
    elif kind in ("event", "static"):
        origin, method, status = "none", f"{kind}: does not decay", "unfitted"
    else:
        origin, method, status = "prior", f"prior of {kind} facts", "unfitted"
    default: Cardinality = "many" if kind in ("categorical", "event") else "one"
    return FactType(
        name=name,
        kind=kind,
        cardinality=cardinality or default,
        beta=rate,
        beta_low=low,
        beta_high=high,
        beta_from=origin,
        status=status,
        method=method,
        quality=quality,
        version=int(declared) if version is None else version,
        declared=declared,
        tolerance=tolerance,
        decay=decay,
    )


def from_fit(
    fit: DecayFit, declaration: FactType, priors: Priors | None = None, learned: KindPrior | None = None
) -> FactType:
    """Row of a type that was fitted.

    A declared rate stays; the fit then only adds what it saw. A resolved numeric fit counts with its bias
    taken off. Below 20 rows log beta is drawn towards the prior of the kind, by the precision of each, and
    `method` says that the rate is prior-informed. Where the fit had to fall back to a prior, it is that one.
    A change of beta counts the version up.

    Args:
        fit: the fit, in any unit.
        declaration: the type's row so far (declared or not).
        priors: rates assumed by kind.
        learned: prior learned from other types of the kind, see `shrink`; it comes before `priors`.

    >>> from chronofy_kg.decay import fit_decay
    >>> fit = fit_decay([0.0, 100.0], kind="categorical", ends=[100.0, 150.0], changed=[True, False])
    >>> row = from_fit(fit, undeclared("status", "categorical"))
    >>> row.beta_from, row.status, row.version
    ('fitted', 'ok', 1)
    """
    kind = declaration.kind
    prior = learned or (priors or Priors()).of(kind)
    day = fit.per_day()
    seen = replace(
        declaration,
        status=fit.status,
        q_noise=_q_noise(fit),
        n=fit.n,
        subjects=fit.subjects,
        span_days=day.span,
        warnings=fit.warnings,
        version=declaration.version + 1,
        data_hash=fit.data_hash,
    )
    if declaration.beta_from == "declared":
        note = f"the declared rate holds; a fit gives {day.beta:.4g} per day ({fit.status}, {fit.method})"
        return replace(seen, warnings=(*fit.warnings, note))
    if kind in ("event", "static"):
        return replace(seen, beta=0.0, beta_low=0.0, beta_high=0.0, beta_from="none", method=fit.method)
    if fit.origin == "prior":
        low, high = prior.interval
        # what the data do exclude still counts
        low, high = max(low, day.ci_raw[0]), min(high, max(day.ci_raw[1], prior.beta))
        method = f"{fit.method} (prior-informed: {prior.named(kind)})" if prior.types else fit.method
        return _with_rate(seen, prior.beta, (low, high), "prior", method)
    beta, method = day.beta, fit.method
    if fit.status in ("ok", "unit_root") or kind == "categorical":
        beta = min(max(day.beta_corrected, day.ci[0]), day.ci[1])
    if fit.n < FEW_ROWS:
        drawn = _shrink(beta, day, prior)
        if drawn is not None:
            beta, method = drawn, f"{method}, few rows, prior-informed: drawn to the {prior.named(kind)}"
    return _with_rate(seen, beta, day.ci, "fitted", method)


def _with_rate(
    row: FactType, beta: float, interval: tuple[float, float], beta_from: BetaFrom, method: str
) -> FactType:
    """The row with a rate, and the interval made to hold it."""
    low, high = min(interval[0], beta), max(interval[1], beta)
    return replace(row, beta=beta, beta_low=low, beta_high=high, beta_from=beta_from, method=method)


def _q_noise(fit: DecayFit) -> float:
    shown = fit.lr_noise is not None and fit.lr_noise >= _NOISE_SHOWN
    return fit.q if shown and fit.origin != "prior" else 1.0


def _shrink(beta: float, day: DecayFit, prior: KindPrior) -> float | None:
    """The rate drawn to the prior, None where the fit says nothing that a prior could add to.

    A rate with an interval: the precision-weighted mean of log beta and the prior's. States that never
    changed have no logarithm: (0 + k) / (exposure + k / beta), the mean under a gamma prior with the mean and
    the coefficient of variation of the prior.
    """
    if day.kind == "categorical" and day.status == "constant" and day.span > 0.0:
        weight = 1.0 / math.expm1(min(prior.log_sd**2, 50.0))
        return weight / (day.span + weight / prior.beta)
    if day.status not in ("ok", "unit_root") or day.origin != "fitted" or not beta > 0.0:
        return None
    low, high = day.ci
    sides = [math.log(high / beta)] if math.isfinite(high) and high > beta else []
    sides += [math.log(beta / low)] if 0.0 < low < beta else []
    if not sides:
        return None
    spread = max(sum(sides) / len(sides) / _Z, 1e-6)
    share = 1.0 / (1.0 + (spread / prior.log_sd) ** 2)
    return math.exp(share * math.log(beta) + (1.0 - share) * math.log(prior.beta))
