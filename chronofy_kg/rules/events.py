"""Events: the distinct statements behind assertion rows, as mining sees them.

Two rows of one subject, predicate, value and valid_from are one event, whoever told it. A literal is no
entity: it enters as a value class, which stands where the category of an object would. Categories are the
business of `categories`, pairs of events that of `pairs`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.errors import InputError
from chronofy_kg.facts import FactTable, StringPool, ValueKind
from chronofy_kg.facts.history import group_rows
from chronofy_kg.rules.options import MiningOptions

__all__ = ["ANY_TEXT", "Events", "collect_events", "number_levels"]

Ints = NDArray[np.int64]

#: The class of a text where the texts of its predicate are too many or too long to be classes themselves.
ANY_TEXT = "text"
_LONGEST_CLASS = 64
_LEVELS = ("level:low", "level:mid", "level:high")


@dataclass(frozen=True, slots=True)
class Events:
    """Distinct statements, e of them, from k assertion rows.

    Attributes:
        pool: the strings behind the codes.
        subject, predicate: int64[e] codes of the NFC form.
        object: int64[e] codes, -1 where the statement has a literal.
        value_class: int64[e] index into `class_names`, -1 where it has an object.
        class_names: the value classes: "value:…", "level:low|mid|high" or "text".
        at_us: int64[e], valid_from in microseconds.
        step: int64[e], number of the step of time that at_us falls into.
        rows: int64[k], the assertion rows, ascending.
        row_event: int64[k], the event of each row.
    """

    pool: StringPool
    subject: Ints
    predicate: Ints
    object: Ints
    value_class: Ints
    class_names: tuple[str, ...]
    at_us: Ints
    step: Ints
    rows: Ints
    row_event: Ints

    def __len__(self) -> int:
        return len(self.subject)


def collect_events(table: FactTable, rows: Ints, options: MiningOptions) -> Events:
    """Collapse assertion rows to distinct statements.

    Args:
        table: the assertions.
        rows: int64[k], rows of one tenant that are believed.
        options: `step_us` and `text_classes` are used.

    Raises:
        InputError: the rows belong to several tenants.
    """
    rows = np.unique(np.asarray(rows, dtype=np.int64))
    part = table.take(rows)
    if len(np.unique(part.tenant)) > 1:
        raise InputError("rules are mined for one tenant at a time; these rows belong to several")
    canonical = table.pool.canonical
    subject = canonical(part.subject).astype(np.int64)
    predicate = canonical(part.predicate).astype(np.int64)
    row_event = group_rows((subject, predicate, *part.value_columns(), part.valid_from))
    _, first = np.unique(row_event, return_index=True)
    distinct = part.take(first)
    predicate = predicate[first]
    value_class, class_names = _value_classes(distinct, predicate, options.text_classes)
    return Events(
        pool=table.pool,
        subject=subject[first],
        predicate=predicate,
        object=canonical(distinct.object).astype(np.int64),
        value_class=value_class,
        class_names=class_names,
        at_us=distinct.valid_from,
        step=distinct.valid_from // options.step_us,
        rows=rows,
        row_event=row_event,
    )


def _value_classes(part: FactTable, predicate: Ints, text_classes: int) -> tuple[Ints, tuple[str, ...]]:
    """Return the value class of each statement and the names; -1 for statements with an object."""
    classes = np.full(len(part), -1, dtype=np.int64)
    names: list[str] = [*_LEVELS, "value:false", "value:true", ANY_TEXT]
    number = np.flatnonzero((part.kind == ValueKind.NUMBER) | (part.kind == ValueKind.INTEGER))
    if len(number):
        scale = group_rows((predicate[number], part.unit[number].astype(np.int64)))
        classes[number] = number_levels(part.number[number], scale)
    boolean = part.kind == ValueKind.BOOLEAN
    classes[boolean] = 3 + (part.number[boolean] != 0.0)
    text = np.flatnonzero(part.kind == ValueKind.TEXT)
    if len(text):
        codes = part.pool.canonical(part.text[text]).astype(np.int64)
        classes[text] = _text_classes(part.pool, codes, predicate[text], text_classes, names)
    return classes, tuple(names)


def _text_classes(pool: StringPool, codes: Ints, predicate: Ints, limit: int, names: list[str]) -> Ints:
    """Return the class of each text, adding the names of new classes to `names`."""
    distinct, inverse = np.unique(codes, return_inverse=True)
    too_long = np.asarray([len(pool[code]) > _LONGEST_CLASS for code in distinct.tolist()])[inverse]
    group = group_rows((predicate,))
    seen = np.unique(np.stack([group, codes]), axis=1)
    crowded = np.bincount(seen[0], minlength=int(group.max()) + 1) > limit
    crowded[group[too_long]] = True
    classes = np.full(len(codes), names.index(ANY_TEXT), dtype=np.int64)
    named = ~crowded[group]
    own = np.unique(codes[named])
    classes[named] = len(names) + np.searchsorted(own, codes[named])
    names.extend(f"value:{pool[code]}" for code in own.tolist())
    return classes


def number_levels(values: NDArray[np.float64], scale: Ints) -> Ints:
    """Return the level of each number among those of its scale: 0 low, 1 mid, 2 high.

    Low lies below the scale's 1/3 quantile, high above its 2/3 quantile (linear interpolation), the rest is
    mid; so a constant is mid, and of numbers that are mostly one value that value is mid.

    Args:
        values: float64[n].
        scale: int64[n], number of the scale (predicate and unit), counted from 0.

    >>> number_levels(np.array([1.0, 2, 3, 4, 5, 6, 7, 7, 7]), np.array([0] * 6 + [1] * 3)).tolist()
    [0, 0, 1, 1, 2, 2, 1, 1, 1]
    """
    order = np.lexsort((values, scale))
    ordered, sizes = values[order], np.bincount(scale)
    starts = np.cumsum(sizes) - sizes
    bounds = []
    for share in (1, 2):
        place = (sizes - 1) * share
        low = starts + place // 3
        high = np.minimum(low + 1, starts + sizes - 1)
        bounds.append(ordered[low] + (ordered[high] - ordered[low]) * (place % 3) / 3.0)
    levels: Ints = 1 - (values < bounds[0][scale]).astype(np.int64) + (values > bounds[1][scale])
    return levels
