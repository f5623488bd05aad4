"""What to acquire again when a trace fails its spec, and when a sound answer stops being one. Pure.

Greedy: raise to its q the fact that gains rho most, among the facts of each failing step i and of the steps
i-L+1 .. i-1 before it (lag window L), until rho > 0 or nothing gains. All options of a round are one batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.judge import Judge
from chronofy_kg.answer.trace import Evidence, TraceStep, reacquired
from chronofy_kg.facts.time import OPEN_US

__all__ = ["MOST_TARGETS", "Target", "targets", "targets_below_tau", "valid_until"]

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
#: Most targets of one trace: whoever has acquired that many asks again.
MOST_TARGETS = 1_000
_MOST_NUMBERS = 100_000  # options times facts, and options times steps, that one round tries
_MOST_TRIED = 4_096  # samples of one round
_TRIED = 64  # levels, or instants, tried at once


@dataclass(frozen=True, slots=True)
class Target:
    """A fact to acquire again.

    Attributes:
        fact: its id.
        step: the step that cites it.
        sources: who stated it.
        needed_validity: the least V of it that brings rho to 0 once the other targets are refreshed.
        gain: what rho has gained after this target and those before it are refreshed.
        reachable: whether a fresh observation, at its quality, can give that much.
    """

    fact: str
    step: int
    sources: tuple[str, ...]
    needed_validity: float
    gain: float
    reachable: bool


@dataclass(slots=True)
class _Climb:
    """The state of the greedy search: which facts are raised, in which order, and what rho has become."""

    evidence: Evidence
    judge: Judge
    own: Mapping[str, Floats]
    open: Numbers
    raised: Floats
    rho: float
    chosen: list[int] = field(default_factory=list)
    reached: list[float] = field(default_factory=list)

    def values(self, raised: Floats) -> Floats:
        """Return rho, float64[b], for a batch of raised facts, float64[b, f]."""
        rows = max(1, 8 * _MOST_NUMBERS // max(raised.shape[-1], 1))
        parts = [self._values(raised[low : low + rows]) for low in range(0, len(raised), rows)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _values(self, raised: Floats) -> Floats:
        reads = self.judge.reads
        return self.judge.values(self.evidence.by_step(reacquired(self.own, raised), reads))

    def with_open(self, level: Floats | float) -> Floats:
        """Return what is raised, float64[1, f], with every open fact at a level."""
        lifted = self.raised[np.newaxis].copy()
        lifted[0, self.open] = np.broadcast_to(level, self.raised.shape)[self.open]
        return lifted

    def run(self) -> None:
        """Raise facts one by one, the one that gains most first; of equal gains the stalest."""
        fresh, stale = self.evidence.fresh, self.own["validity"]
        ids = np.asarray([c.id for c in self.evidence.cited])
        left = self.open[np.lexsort((ids[self.open], stale[self.open]))]
        ceiling = float(self.values(self.with_open(fresh))[0])
        # Two facts that are equally stale gain nothing alone, so the climb goes on while together they would.
        while len(left) and self.rho <= 0 and (self.rho < ceiling or not self.chosen):
            options = self._options(left)
            batch = np.repeat(self.raised[np.newaxis], len(options), axis=0)
            batch[np.arange(len(options)), options] = fresh[options]
            values = self.values(batch)
            best = int(np.argmax(values))
            if values[best] < self.rho or len(self.chosen) == MOST_TARGETS:
                return
            self.rho = float(values[best])
            self.raised[options[best]] = fresh[options[best]]
            self.chosen.append(int(options[best]))
            self.reached.append(self.rho)
            left = left[left != options[best]]

    def _options(self, left: Numbers) -> Numbers:
        """Return the facts worth trying: those that decide a signal of a step, else all that are left.

        Of a spec whose parts must all hold, only the steps to blame now can gain. Else a round is bounded: of
        a huge trace only the stalest are tried.
        """
        evidence, reads = self.evidence, self.judge.reads
        own = reacquired(self.own, self.raised)
        step_signals = evidence.by_step(own, reads)
        deciding = np.isin(left, _deciding(evidence, own, step_signals))
        options = left[deciding] if deciding.any() else left
        if self.judge.all_must_hold:
            near = options[np.isin(options, evidence.behind(self.judge.blamed(step_signals)))]
            return near if len(near) else options[:1]
        width = max(len(self.raised), len(evidence.uses), 1)
        return options[: max(1, _MOST_NUMBERS // width)]


def _deciding(evidence: Evidence, own: Mapping[str, Floats], step_signals: Mapping[str, Floats]) -> Numbers:
    """Return the facts whose V, age or quality is the one that a step that cites them shows."""
    step = np.repeat(np.arange(len(evidence.uses)), np.diff([*evidence.starts, len(evidence.facts)]))
    real = evidence.facts < len(evidence.cited)
    step, fact = step[real], evidence.facts[real]
    shown = [own[name][fact] == values[step] for name, values in step_signals.items()]
    return np.unique(fact[np.logical_or.reduce(shown)])


def targets(steps: Sequence[TraceStep], judge: Judge, lag: int) -> tuple[Target, ...]:
    """Return the facts to acquire again so that the trace meets its spec, most useful first.

    Args:
        steps: a trace whose rho is below 0.
        judge: the spec.
        lag: how many steps, the failing one included, a target may lie back.
    """
    evidence = Evidence.of(steps)
    nothing = np.full(len(evidence.cited), np.nan)
    own = evidence.by_fact()
    before = judge.value(evidence.by_step(own))
    climb = _Climb(evidence, judge, own, _candidates(evidence, judge.failing(evidence), lag), nothing, before)
    if not len(climb.open) or climb.values(climb.with_open(1.0))[0] <= before:
        return ()  # whatever is wrong, no observation of these facts would mend it
    climb.run()
    blocking = _blocking(climb)
    numbers = [*climb.chosen, *(int(f) for f in blocking if f not in climb.chosen)]
    gains = [reached - before for reached in climb.reached]
    gains += [climb.rho - before] * (len(numbers) - len(gains))
    needed = _needed(climb, np.asarray(numbers, dtype=np.int64))
    return tuple(
        _target(evidence, number, need, gain, number not in blocking)
        for number, need, gain in zip(numbers, needed.tolist(), gains, strict=True)
    )


def targets_below_tau(step: TraceStep, judge: Judge, lag: int, tau: float) -> tuple[Target, ...]:
    """Return the facts to acquire again so that a statement that tau removed passes tau and its spec.

    They are named whatever the spec says of them.
    """
    evidence = Evidence.of([step])
    found = {target.fact: target for target in targets([step], judge, lag)}
    own = evidence.by_fact()
    before, after = (judge.value(evidence.by_step(one)) for one in (own, reacquired(own, evidence.fresh)))
    gain = after - before if np.isfinite([before, after]).all() else 0.0
    result = []
    for number, fresh in enumerate(evidence.fresh.tolist()):
        meant = _target(evidence, number, tau if before >= 0 else 1.0, gain, before >= 0)
        target = found.get(meant.fact, meant)
        needed = max(target.needed_validity, tau)
        result.append(replace(target, needed_validity=needed, reachable=target.reachable and tau <= fresh))
    return tuple(result)


def _candidates(evidence: Evidence, failing: Sequence[int], lag: int) -> Numbers:
    """Return the facts near the failing steps; one that no source could refresh is left out."""
    near = sorted({n for i in failing for n in range(max(i - lag + 1, 0), i + 1)})
    ends = [*evidence.starts[1:].tolist(), len(evidence.facts)]
    facts = {int(f) for n in near for f in evidence.facts[evidence.starts[n] + 1 : ends[n]]}
    return np.asarray(sorted(f for f in facts if evidence.cited[f].status != "unknown"), dtype=np.int64)


def _blocking(climb: _Climb) -> frozenset[int]:
    """Return the open facts whose quality is too low: rho stays below 0 though all others were perfect."""
    batch = np.repeat(climb.with_open(1.0), len(climb.open), axis=0)
    batch[np.arange(len(climb.open)), climb.open] = climb.evidence.fresh[climb.open]
    return frozenset(climb.open[climb.values(batch) < 0].tolist())


def _needed(climb: _Climb, numbers: Numbers) -> Floats:
    """Return the least V of some facts, each, that brings rho to 0, the other targets being fresh; at most 1.

    The others count as 1 where their own quality is not enough, so that each target tells its own need.
    """
    perfect = np.where(np.isnan(climb.raised), climb.with_open(1.0)[0], 1.0)

    def rho(facts: Numbers, level: float) -> Floats:
        return climb.values(_lifted(others[facts], numbers[facts], level))

    every = np.arange(len(numbers))
    others = np.repeat(climb.raised[np.newaxis], len(numbers), axis=0)
    others[rho(every, 1.0) < 0] = perfect
    needed = np.full(len(numbers), np.nan)
    while (left := np.flatnonzero(np.isnan(needed))).size:
        least = _least(climb, others[left[0]], int(numbers[left[0]]))
        needed[left[0]] = least
        # Most specs ask the same of all facts: whoever needs just as much is found in one go.
        rest = left[1:]
        just = (rho(rest, least) >= 0) & ((least == 0) | (rho(rest, np.nextafter(least, 0)) < 0))
        needed[rest[just]] = least
    return needed


def _least(climb: _Climb, others: Floats, number: int) -> float:
    """Return the least V of one fact with which rho is 0 or more; 1 where none is enough."""
    low, high = 0.0, 1.0
    if climb.values(_lifted(others[np.newaxis], np.asarray([number]), low))[0] >= 0:
        return 0.0
    while True:
        grid = np.unique(np.linspace(low, high, _TRIED + 1)[1:-1])
        grid = grid[(grid > low) & (grid < high)]
        if not len(grid):
            return high
        batch = np.repeat(others[np.newaxis], len(grid), axis=0)
        batch[:, number] = grid
        enough = np.append(climb.values(batch) >= 0, True)
        edges = np.concatenate([[low], grid, [high]])
        first = int(np.argmax(enough))
        low, high = float(edges[first]), float(edges[first + 1])


def _lifted(raised: Floats, numbers: Numbers, level: float) -> Floats:
    """Return a batch in which row i has fact numbers[i] at a level."""
    lifted = raised.copy()
    lifted[np.arange(len(numbers)), numbers] = level
    return lifted


def _target(evidence: Evidence, number: int, needed: float, gain: float, reachable: bool) -> Target:
    cited = evidence.cited[number]
    names = tuple(dict.fromkeys(s.id for s in cited.fact.sources if s.id)) if cited.fact else ()
    return Target(cited.id, int(evidence.first_step[number]), names, needed, gain, reachable)


def valid_until(steps: Sequence[TraceStep], judge: Judge, at: int, *, singly: bool = False) -> int | None:
    """Return the first instant at which a supported answer is none any more, None for never.

    Facts age, and one whose period has ended counts no longer; that nothing new is learned is taken for
    granted.

    Args:
        steps: a trace with rho > 0.
        judge: the spec.
        at: the instant it was judged at, microseconds.
        singly: each step is a trace of its own; the first of them to end counts.
    """
    evidence = Evidence.of(steps)

    def holds(instants: NDArray[np.int64]) -> NDArray[np.bool_]:
        later = (instants - at)[:, np.newaxis]
        signals = evidence.by_step(evidence.by_fact(later_us=later), judge.reads)
        if not singly:
            return judge.values(signals) > 0
        each = judge.values({name: one.reshape(-1, 1) for name, one in signals.items()})
        return np.asarray((each > 0).reshape(len(instants), -1).all(axis=1))

    low, high = at, OPEN_US - 1
    if high <= low or holds(np.asarray([high]))[0]:
        return None
    # Half a dozen rounds where the facts are few: a round costs more than its instants do.
    at_once = max(_TRIED, _MOST_TRIED // max(1, len(evidence.facts)))
    while high - low > 1:
        tried = np.arange(low, high, max(1, (high - low) // at_once))[1:]
        ended = np.append(~holds(tried), True)
        edges = np.concatenate([[low], tried, [high]]).tolist()
        first = int(np.argmax(ended))
        low, high = edges[first], edges[first + 1]
    return int(high)
