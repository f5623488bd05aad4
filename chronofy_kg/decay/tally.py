"""Counts that are all a rate of exits or events needs: they add up, so new data are added, not refitted.

A tally of one window plus that of the next is the tally of both, exactly: whole ticks, no rounding. A spell
that goes on over the edge is told in both, cut at the edge, and counts as left only where it ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.poisson import Amount, exact_sum
from chronofy_kg.errors import InputError

__all__ = ["EventTally", "SpellTally", "by_code"]


@dataclass(frozen=True, slots=True)
class SpellTally:
    """Exits and exposure of spells, state by state.

    Attributes:
        tick: length of a tick of exposure, in units of time.
        rows: spells told.
        subjects: names of the subjects.
        changes: exits from each state.
        exposure: ticks spent in each state.
        moves: how often each state was left for each other one, where the next state is known.
    """

    tick: float
    rows: int = 0
    subjects: frozenset[Any] = frozenset()
    changes: Mapping[Any, int] = field(default_factory=dict)
    exposure: Mapping[Any, Amount] = field(default_factory=dict)
    moves: Mapping[tuple[Any, Any], int] = field(default_factory=dict)

    @property
    def total_changes(self) -> int:
        """Exits from all states."""
        return sum(self.changes.values())

    @property
    def total_exposure(self) -> float:
        """Time spent in all states, in units of time."""
        return float(_sum(self.exposure.values())) * self.tick

    def __add__(self, other: SpellTally) -> SpellTally:
        """The tally of both windows.

        Raises:
            InputError: their ticks differ.

        >>> one = SpellTally(1.0, 1, frozenset("a"), {"on": 1}, {"on": 10})
        >>> (one + one).total_exposure
        20.0
        """
        if self.tick != other.tick:
            raise InputError(f"tallies of ticks {self.tick} and {other.tick} do not add up")
        return SpellTally(
            self.tick,
            self.rows + other.rows,
            self.subjects | other.subjects,
            _added(self.changes, other.changes),
            _added(self.exposure, other.exposure),
            _added(self.moves, other.moves),
        )


@dataclass(frozen=True, slots=True)
class EventTally:
    """Events counted in a window.

    Attributes:
        tick: length of a tick of exposure, in units of time.
        count: events that the rate counts.
        exposure: ticks watched, summed over subjects.
        subjects: names of the subjects.
    """

    tick: float
    count: int
    exposure: Amount
    subjects: frozenset[Any] = frozenset()

    def __add__(self, other: EventTally) -> EventTally:
        """The tally of both windows.

        Raises:
            InputError: their ticks differ.
        """
        if self.tick != other.tick:
            raise InputError(f"tallies of ticks {self.tick} and {other.tick} do not add up")
        return EventTally(
            self.tick,
            self.count + other.count,
            self.exposure + other.exposure,
            self.subjects | other.subjects,
        )


def by_code(values: NDArray[Any], codes: NDArray[np.int64], names: list[Any]) -> dict[Any, Amount]:
    """Exact sum of the values of each code, by name; codes without rows are left out."""
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    parts = np.split(values[order], starts[1:])
    return {names[code]: exact_sum(part) for code, part in zip(present.tolist(), parts, strict=True)}


def _added(one: Mapping[Any, Any], two: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: one.get(key, 0) + two.get(key, 0) for key in {**one, **two}}


def _sum(amounts: Any) -> Amount:
    """Sum of exact parts; floats are rounded once."""
    parts = list(amounts)
    return sum(parts) if all(isinstance(part, int) for part in parts) else math.fsum(parts)
