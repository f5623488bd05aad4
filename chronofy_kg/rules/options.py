"""The settings of mining, checked where they enter.

What each one bounds is said beside it; the modules that use them take the whole record, so that a graph can
say with which settings it was mined.
"""

from __future__ import annotations

from dataclasses import dataclass

from chronofy_kg.errors import InputError
from chronofy_kg.facts import DAY_US

__all__ = ["MiningOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningOptions:
    """Settings of `mine_rules`.

    Attributes:
        step_us: microseconds in one step of time; gaps are differences of whole steps, counted from 1970.
        category_support: least share of the entities that must hold an item set, in (0, 1].
        category_floor: least number of entities that must hold it, whatever their share; at least 2.
        near_constant: items that more than this share of the entities hold say nothing and are dropped.
        hub_items: an entity counts towards item sets with this many of its items at most, the most common.
        max_itemsets: a bound on candidate item sets; more are refused before the search begins.
        max_cells: a bound on entities times items in the search; more are refused.
        text_classes: a predicate with more distinct texts than this has the one class "text".
        busy_step: neighbouring steps of one binding are skipped where one holds more rule nodes than this.
        max_pairs: a bound on pairs of neighbouring events; more are refused before they are built.

    Raises:
        InputError: a setting is out of its range.
    """

    step_us: int = DAY_US
    category_support: float = 0.01
    category_floor: int = 2
    near_constant: float = 0.95
    hub_items: int = 50
    max_itemsets: int = 100_000
    max_cells: int = 1_000_000_000
    text_classes: int = 12
    busy_step: int = 48
    max_pairs: int = 50_000_000

    def __post_init__(self) -> None:
        for name in ("category_support", "near_constant"):
            share = getattr(self, name)
            if not 0.0 < share <= 1.0:
                raise InputError(f"{name} must lie in (0, 1], not {share!r}")
        least = {"category_floor": 2, "text_classes": 0}
        for name in ("step_us", "category_floor", "hub_items", "max_itemsets", "max_cells", "text_classes",
                     "busy_step", "max_pairs"):  # fmt: skip
            number = getattr(self, name)
            if number < least.get(name, 1):
                raise InputError(f"{name} must be at least {least.get(name, 1)}, not {number!r}")
