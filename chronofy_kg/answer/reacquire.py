"""What to acquire again when a trace fails its spec, and when a sound answer stops being one. Pure.

Greedy: raise to its q the fact that gains rho most, among the facts of each failing step i and of the steps
i-L+1 .. i-1 before it (lag window L), until rho > 0 or nothing gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chronofy_kg.answer.judge import Judge
from chronofy_kg.answer.trace import Cited, TraceStep, signals
from chronofy_kg.facts.time import DAY_US, OPEN_US

__all__ = ["Target", "targets", "valid_until"]

_BISECTIONS = 60
_FOREVER_DAYS = 3_650_000.0  # ten thousand years: beyond the last instant


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


def targets(steps: Sequence[TraceStep], judge: Judge, lag: int) -> tuple[Target, ...]:
    """Return the facts to acquire again so that the trace meets its spec, most useful first.

    Args:
        steps: a trace whose rho is below 0.
        judge: the spec.
        lag: how many steps, the failing one included, a target may lie back.
    """
    before, _ = judge.value(signals(steps))
    open_facts = _candidates(steps, judge.failing(steps), lag)
    if judge.value(signals(steps, raised={cited.id: 1.0 for _, cited in open_facts}))[0] <= before:
        return ()  # whatever is wrong, no observation of these facts would mend it
    best = {cited.id: _fresh(cited) for _, cited in open_facts}
    ceiling, _ = judge.value(signals(steps, raised=best))
    raised: dict[str, float] = {}
    chosen: list[tuple[int, Cited, float]] = []
    rho = before
    # Two facts that are equally stale gain nothing alone, so the climb goes on while together they would.
    while open_facts and rho <= 0 and (rho < ceiling or not chosen):
        number, cited, rho = max(
            (
                (n, c, judge.value(signals(steps, raised={**raised, c.id: _fresh(c)}))[0])
                for n, c in open_facts
            ),
            key=lambda option: (option[2], -option[1].v(), option[1].id),
        )
        raised[cited.id] = _fresh(cited)
        chosen.append((number, cited, rho - before))
        open_facts = [option for option in open_facts if option[1].id != cited.id]
    return tuple(_target(steps, judge, raised, option) for option in chosen)


def _candidates(steps: Sequence[TraceStep], failing: Sequence[int], lag: int) -> list[tuple[int, Cited]]:
    """Return the facts near the failing steps, each once; one that no source could refresh is left out."""
    near = sorted({n for i in failing for n in range(max(i - lag + 1, 0), i + 1)})
    found: dict[str, tuple[int, Cited]] = {}
    for number in near:
        for cited in steps[number].cited:
            if cited.status not in ("unknown",):
                found.setdefault(cited.id, (number, cited))
    return list(found.values())


def _fresh(cited: Cited) -> float:
    """Return the V that a fresh observation would give: its q; full where nothing is known of it."""
    return cited.quality if cited.counts else 1.0


def _target(
    steps: Sequence[TraceStep], judge: Judge, raised: dict[str, float], option: tuple[int, Cited, float]
) -> Target:
    number, cited, gain = option
    needed = _needed(steps, judge, raised, cited.id)
    names = tuple(s.id for s in cited.fact.sources if s.id) if cited.fact else ()
    return Target(cited.id, number, names, needed, gain, needed <= _fresh(cited))


def _needed(steps: Sequence[TraceStep], judge: Judge, raised: dict[str, float], fact: str) -> float:
    """Return the least V of one fact that brings rho to 0, the others of `raised` being fresh; at most 1.

    The others count as 1 where their own quality is not enough, so that each target tells its own need.
    """
    others = {**raised}
    if judge.value(signals(steps, raised={**others, fact: 1.0}))[0] < 0:
        others = dict.fromkeys(others, 1.0)
    low, high = 0.0, 1.0
    if judge.value(signals(steps, raised={**others, fact: high}))[0] < 0:
        return 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if judge.value(signals(steps, raised={**others, fact: middle}))[0] < 0:
            low = middle
        else:
            high = middle
    return round(high, 12)


def valid_until(steps: Sequence[TraceStep], judge: Judge, at: int) -> int | None:
    """Return the instant at which a supported answer stops being one, None for never.

    That is when rho falls to 0 by age alone, or when the period of a fact ends, whichever is first.

    Args:
        steps: a trace with rho > 0.
        judge: the spec.
        at: the instant it was judged at, microseconds.
    """
    ends = [c.fact.valid_to for step in steps for c in step.cited if c.fact is not None]
    expiry = min(ends, default=OPEN_US)

    def holds(days: float) -> bool:
        return judge.value(signals(steps, later_days=days))[0] > 0

    last = (min(expiry, OPEN_US) - at) / DAY_US
    if holds(min(last, _FOREVER_DAYS)):
        return expiry if expiry < OPEN_US else None
    low, high = 0.0, 1.0
    while holds(high) and high < last:
        low, high = high, high * 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return min(at + round(high * DAY_US), expiry)
