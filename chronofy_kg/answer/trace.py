"""The reasoning trace: steps, the facts they cite, and the signals that a spec sees.

v(s) is the least V over the facts of step s and over the steps that it uses; quality likewise, and age is the
greatest. A step without evidence, or with a cited fact that does not count, has v = 0, quality 0 and the
greatest age, so that no spec can take missing evidence for fresh. A trace is complete: its only uncertainty
is that of the rates. Pure numbers; where the facts come from is `view`, `compose` and `verify`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.view import View
from chronofy_kg.decay.catalog import Rates, Which
from chronofy_kg.decay.families import Decay, DelayedOnset
from chronofy_kg.facts.model import Fact, Validity
from chronofy_kg.facts.time import DAY_US, OPEN_US

__all__ = [
    "COUNTING",
    "OLDEST_DAYS",
    "SIGNALS",
    "Cited",
    "CitedStatus",
    "Evidence",
    "Support",
    "TraceStep",
    "cite",
    "not_counting",
    "reacquired",
]

CitedStatus = Literal[
    "in_force",
    "restated",
    "unknown",
    "retracted",
    "not_yet_observed",
    "not_yet_valid",
    "superseded",
    "expired",
]
#: Statuses of a cited fact whose validity counts; any other makes the v of its step 0.
COUNTING: tuple[CitedStatus, ...] = ("in_force", "restated")
#: What a spec over a trace may name, one sample a step.
SIGNALS = ("validity", "age_days", "quality")
#: Age of evidence that does not count: all the days of the years 1 to 9999. Finite, so that specs may reckon.
OLDEST_DAYS = 3_652_059.0
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Later = int | Numbers
#: How a step joins the values of its facts; what changes nothing; the value of a step without any evidence.
_JOINS: dict[str, tuple[np.ufunc, float, float]] = {
    "validity": (np.minimum, np.inf, 0.0),
    "age_days": (np.maximum, -np.inf, OLDEST_DAYS),
    "quality": (np.minimum, np.inf, 0.0),
}


@dataclass(frozen=True, slots=True)
class Support:
    """One assertion that a fact rests on: quality, age (below 0 where it lies ahead), rates, family."""

    quality: float
    age_days: float
    beta: float = 0.0
    beta_low: float = 0.0
    beta_high: float = 0.0
    decay: Decay | None = None


@dataclass(frozen=True, slots=True)
class Cited:
    """A fact as a step cites it.

    Attributes:
        id: the id that was cited.
        status: whether it counts, and if not why.
        fact: the fact that holds, None where none does.
        quality: of the assertion that gives V its maximum.
        age_days: its age; below 0 where it lies in the future (clock skew, hindsight) and counts as 0.
        beta, beta_low, beta_high: per day, with the interval.
        ends_us: microseconds from the instant asked about until the period of the fact ends.
        decay: the family by which it decays, None for the exponential one.
        others: further assertions that the fact rests on, of which one may give V its maximum later on, or at
            an end of its interval.
    """

    id: str
    status: CitedStatus
    fact: Fact | None = None
    quality: float = 0.0
    age_days: float = 0.0
    beta: float = 0.0
    beta_low: float = 0.0
    beta_high: float = 0.0
    ends_us: int = OPEN_US
    decay: Decay | None = None
    others: tuple[Support, ...] = ()

    @property
    def supports(self) -> tuple[Support, ...]:
        """The assertions that may give V its maximum, the one that does so now first."""
        best = Support(self.quality, self.age_days, self.beta, self.beta_low, self.beta_high, self.decay)
        return (best, *self.others)

    @property
    def counts(self) -> bool:
        """Whether its validity counts."""
        return self.status in COUNTING

    @property
    def validity(self) -> Validity:
        """V with its interval; 0 where the fact does not count."""
        if not self.counts:
            return Validity(0.0, 0.0, 0.0)
        rates, age = _rates(self.supports)
        value, low, high = (float(rates.validity(age, which).max()) for which in ("value", "low", "high"))
        return Validity(value, low, high)


_NONE = (Support(1.0, OLDEST_DAYS),)


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step: its text, the facts it cites and the earlier steps it uses (0-based)."""

    text: str
    cited: tuple[Cited, ...]
    uses: tuple[int, ...] = ()


def cite(view: View, index: int, cited_id: str | None = None) -> Cited:
    """Return a fact of a view as cited, under its own id or under an older one of the same value."""
    fact, rates, at = view.fact(index), view.rates, view.moment.at
    return Cited(
        id=cited_id or fact.id,
        status="in_force" if cited_id in (None, fact.id) else "restated",
        fact=fact,
        quality=fact.quality,
        age_days=(at - fact.observed_at) / DAY_US,
        beta=fact.beta_per_day,
        beta_low=float(rates.low[index]),
        beta_high=float(rates.high[index]),
        ends_us=OPEN_US if fact.valid_to >= OPEN_US else fact.valid_to - at,
        decay=rates.decay_of(index),
        others=_others(view, index),
    )


def _others(view: View, index: int) -> tuple[Support, ...]:
    """Return the assertions of a fact, beside the best one, that may give V its maximum at some time.

    Of those that decay alike one counts only if it is better or newer than all others; a delayed onset, which
    rises first, is left as it is.
    """
    rows = range(int(view.offsets[index]), int(view.offsets[index + 1]))
    if len(rows) == 1:
        return ()
    rates = view.support_rates
    told = {
        Support(
            float(rates.quality[row]), float(view.support_age[row]), float(rates.beta[row]),
            float(rates.low[row]), float(rates.high[row]), rates.decay_of(row),
        )
        for row in rows
        if view.support[row] != view.best[index]
    }  # fmt: skip
    kept: list[Support] = []
    best: dict[tuple[object, ...], float] = {}
    for one in sorted(told, key=lambda s: (s.age_days, -s.quality)):
        alike = (one.beta, one.beta_low, one.beta_high, one.decay)
        if isinstance(one.decay, DelayedOnset) or one.quality > best.get(alike, 0.0):
            kept.append(one)
            best[alike] = one.quality
    return tuple(kept)


def _rates(supports: Sequence[Support]) -> tuple[Rates, Floats]:
    """Return the rates and ages of assertions as columns."""
    families = list(dict.fromkeys(s.decay for s in supports if s.decay is not None))
    columns = np.asarray(
        [(s.beta, s.beta_low, s.beta_high, s.quality, s.age_days) for s in supports], dtype=np.float64
    ).reshape(-1, 5)
    family = [-1 if s.decay is None else families.index(s.decay) for s in supports]
    beta, low, high, quality, age = columns.T
    return Rates(beta, low, high, quality, np.asarray(family, dtype=np.int64), tuple(families)), age


def not_counting(cited_id: str, status: CitedStatus, fact: Fact | None = None) -> Cited:
    """Return a fact as cited that does not count, with the period it once had, where it is known."""
    return Cited(cited_id, status, fact)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The facts of a trace of n steps as columns, f of them, each once however often it is cited.

    An old and a new id of one fact in force are one fact.

    Attributes:
        cited: the facts, as first cited.
        first_step: int64[f], the step that cites each first.
        counts: bool[f], whether the validity of a fact counts.
        ends_us: int64[f].
        rates, age_days: of the assertions that the facts rest on, a of them; one that stands for none where a
            fact does not count.
        begins: int64[f], where the assertions of each fact begin.
        uses: the earlier steps that each step uses.
        facts, starts: the facts of step i are ``facts[starts[i]:starts[i + 1]]``, behind a first entry that
            stands for none: number f changes nothing, f + 1 is a step without any evidence.
        levels: the steps that use others, after all that they use: their numbers, those of what they use, and
            where that of each begins.
    """

    cited: tuple[Cited, ...]
    first_step: Numbers
    counts: NDArray[np.bool_]
    ends_us: Numbers
    rates: Rates
    age_days: Floats
    begins: Numbers
    uses: tuple[tuple[int, ...], ...]
    facts: Numbers
    starts: Numbers
    levels: tuple[tuple[Numbers, Numbers, Numbers], ...]

    @staticmethod
    def of(steps: Sequence[TraceStep]) -> Evidence:
        """Return the columns of a trace."""
        numbers: dict[str, int] = {}
        cited: list[Cited] = []
        first_step: list[int] = []
        parts: list[list[int | None]] = []
        for number, step in enumerate(steps):
            parts.append([None])
            for one in step.cited:
                identity = one.fact.id if one.counts and one.fact else one.id
                if numbers.setdefault(identity, len(cited)) == len(cited):
                    cited.append(one)
                    first_step.append(number)
                parts[-1].append(numbers[identity])
        neutral, nothing = len(cited), len(cited) + 1
        flat = [
            (neutral if step.cited or step.uses else nothing) if fact is None else fact
            for step, part in zip(steps, parts, strict=True)
            for fact in part
        ]
        starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]
        supports = [c.supports if c.counts else _NONE for c in cited]
        rates, age_days = _rates([one for part in supports for one in part])
        return Evidence(
            cited=tuple(cited),
            first_step=np.asarray(first_step, dtype=np.int64),
            counts=np.asarray([c.counts and c.quality > 0 for c in cited], dtype=np.bool_),
            ends_us=np.asarray([c.ends_us for c in cited], dtype=np.int64),
            rates=rates,
            age_days=age_days,
            begins=np.cumsum([0, *(len(part) for part in supports)])[:-1].astype(np.int64),
            uses=tuple(step.uses for step in steps),
            facts=np.asarray(flat, dtype=np.int64),
            starts=starts.astype(np.int64),
            levels=_levels([step.uses for step in steps]),
        )

    @property
    def fresh(self) -> Floats:
        """V that a fresh observation of each fact would give, float64[f]: its q, or 1 where none counts.

        A fact of a delayed onset is not at its best when it is fresh: then it keeps what it has.
        """
        best = self.rates.take(self.begins)
        now = np.maximum(best.validity(np.zeros(len(self.begins))), self.by_fact()["validity"])
        return np.where(self.counts, now, 1.0)

    def by_fact(self, *, later_us: Later = 0, which: Which = "value") -> dict[str, Floats]:
        """Return the signals (see SIGNALS) of each fact, float64[f], or [b, f] for a batch.

        Args:
            later_us: microseconds after `at`; int64[b, 1] for a batch.
            which: by the rates themselves ("value"), or by the ends that make V low or high.
        """
        lasting = self.counts & (later_us < self.ends_us)
        age = np.maximum(self.age_days + later_us / DAY_US, 0.0)
        value = self.rates.validity(age)
        found = value if which == "value" else self.rates.validity(age, which)
        quality = np.broadcast_to(self.rates.quality, age.shape)
        if age.shape[-1] > len(self.begins):
            found = np.maximum.reduceat(found, self.begins, axis=-1)
            age, quality = self._of_best(value, age, quality)
        return {
            "validity": np.where(lasting, found, 0.0),
            "age_days": np.where(lasting, age, OLDEST_DAYS),
            "quality": np.where(lasting, quality, 0.0),
        }

    def _of_best(self, value: Floats, age: Floats, quality: Floats) -> tuple[Floats, Floats]:
        """Return age and quality of the assertion that gives each fact its V; of equals, the newest."""
        owner = np.repeat(np.arange(len(self.begins)), np.diff([*self.begins, value.shape[-1]]))
        best = value == np.maximum.reduceat(value, self.begins, axis=-1)[..., owner]
        newest: Floats = np.minimum.reduceat(np.where(best, age, np.inf), self.begins, axis=-1)
        best &= age == newest[..., owner]
        return newest, np.maximum.reduceat(np.where(best, quality, 0.0), self.begins, axis=-1)

    def by_step(self, own: Mapping[str, Floats], names: Sequence[str] = SIGNALS) -> dict[str, Floats]:
        """Return the named signals of the steps, float64[n] each, or [b, n], given those of the facts."""
        return {name: self._per_step(own[name], *_JOINS[name]) for name in names}

    def signals(self, *, which: Which = "value") -> dict[str, Floats]:
        """Return the signals of the trace at the instant asked about, float64[n] each."""
        return self.by_step(self.by_fact(which=which))

    def _per_step(self, values: Floats, join: np.ufunc, neutral: float, nothing: float) -> Floats:
        """Join the values of each step's facts, then those of the steps that it uses."""
        ends = np.broadcast_to([neutral, nothing], (*values.shape[:-1], 2))
        known = np.concatenate([values, ends], axis=-1)
        joined: Floats = join.reduceat(known[..., self.facts], self.starts, axis=-1)
        for numbers, used, begins in self.levels:
            earlier = join.reduceat(joined[..., used], begins, axis=-1)
            joined[..., numbers] = join(joined[..., numbers], earlier)
        return joined

    def behind(self, steps: Iterable[int]) -> Numbers:
        """Return the facts that some steps rest on, by themselves or through what they use."""
        ends = [*self.starts[1:].tolist(), len(self.facts)]
        waiting, seen, facts = list(steps), set(steps), set[int]()
        while waiting:
            number = waiting.pop()
            facts.update(self.facts[self.starts[number] + 1 : ends[number]].tolist())
            fresh = set(self.uses[number]) - seen
            seen |= fresh
            waiting.extend(fresh)
        return np.asarray(sorted(facts), dtype=np.int64)


def reacquired(own: Mapping[str, Floats], raised: Floats) -> dict[str, Floats]:
    """Return the signals of facts some of which are imagined as re-acquired.

    Args:
        own: signals of the facts, float64[f], from `Evidence.by_fact`.
        raised: V after that, float64[f] or [b, f]; NaN for the others.
    """
    anew = ~np.isnan(raised)
    return {
        "validity": np.where(anew, raised, own["validity"]),
        "age_days": np.where(anew, 0.0, own["age_days"]),
        "quality": np.where(anew, np.fmax(own["quality"], raised), own["quality"]),
    }


def _levels(uses: Sequence[tuple[int, ...]]) -> tuple[tuple[Numbers, Numbers, Numbers], ...]:
    """Return the steps that use others, level by level; see `Evidence.levels`."""
    depth: list[int] = []
    for used in uses:
        depth.append(1 + max(depth[one] for one in used) if used else 0)
    found = []
    by_level: dict[int, list[int]] = {}
    for number, level in enumerate(depth):
        by_level.setdefault(level, []).append(number)
    for _, numbers in sorted(by_level.items())[1 if 0 in by_level else 0 :]:
        flat = [used for n in numbers for used in uses[n]]
        begins = np.cumsum([0, *(len(uses[n]) for n in numbers)])[:-1]
        found.append(tuple(np.asarray(part, dtype=np.int64) for part in (numbers, flat, begins)))
    return tuple((a, b, c) for a, b, c in found)
