"""Categories: what entities do, found by Apriori over each entity's set of (role, predicate) items.

A category is a frequent item set that no larger frequent set contains. An entity has at most three, which
share no item; one that has none belongs to the catch-all, so that every event has a node. The only module
that imports mlxtend and pandas, and only when there is something to search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from chronofy_kg.errors import ChronofyError, LimitError
from chronofy_kg.rules.events import Events
from chronofy_kg.rules.options import MiningOptions

__all__ = ["CATCH_ALL", "Categories", "Category", "frequent_item_sets", "mine_categories"]

Ints = NDArray[np.int64]
Item = tuple[str, str]

#: Number of the category of entities that no frequent set describes; its name is "any".
CATCH_ALL = 0
_ROLES = ("object", "subject")
_MAX_ITEMS = 3
_PER_ENTITY = 3
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Category:
    """A set of (role, predicate) items, in order, and the number of entities that hold all of them."""

    items: tuple[Item, ...]
    support: int

    @property
    def name(self) -> str:
        """The items as text, "subject:affects & subject:weakness"; "any" for the catch-all."""
        # A doubled ampersand is one within a predicate, so that two categories never share a name.
        words = (f"{role}:{predicate.replace('&', '&&')}" for role, predicate in self.items)
        return " & ".join(words) or "any"


@dataclass(frozen=True, slots=True)
class Categories:
    """Categories and who belongs to them.

    Attributes:
        categories: the catch-all first, then those in use by number of items, support and name.
        entities: int64[n], codes of the entities, ascending.
        members: int64[n, 3], the categories of each entity, filled up with -1.
    """

    categories: tuple[Category, ...]
    entities: Ints
    members: Ints

    def of(self, codes: Ints) -> Ints:
        """Return int64[m, 3]: the categories of entities given by their codes."""
        members: Ints = self.members[np.searchsorted(self.entities, codes)]
        return members


def mine_categories(events: Events, options: MiningOptions) -> Categories:
    """Find the categories of all entities, subjects and objects alike.

    Raises:
        LimitError: the search would pass `max_itemsets` or `max_cells`.
        ChronofyError: mlxtend or pandas is not installed.
    """
    entities, items, holds = _baskets(events)
    members = np.full((len(entities), _PER_ENTITY), -1, dtype=np.int64)
    found: list[Category] = []
    sets = _maximal(frequent_item_sets(holds, options))
    if len(sets):
        supports = _assign(holds, sets, members)
        used, numbers = np.unique(members, return_inverse=True)
        used, numbers = used[used >= 0], numbers.reshape(members.shape) - int(used[0] < 0)
        members = np.where(members >= 0, numbers + 1, -1)
        for number in used.tolist():
            own = tuple(items[item] for item in sets[number] if item >= 0)
            found.append(Category(own, int(supports[number])))
    alone = members[:, 0] < 0
    members[alone, 0] = CATCH_ALL
    return Categories((Category((), int(alone.sum())), *found), entities, members)


def _baskets(events: Events) -> tuple[Ints, list[Item], Any]:
    """Return entity codes, items in text order, and who holds what as a sparse int64[n, items] of ones."""
    linked = events.object >= 0
    entity = np.concatenate([events.object[linked], events.subject])
    role = np.repeat([0, 1], [int(linked.sum()), len(events)])
    item = np.concatenate([events.predicate[linked], events.predicate]) * 2 + role
    entities, row = np.unique(entity, return_inverse=True)
    keys, column = np.unique(item, return_inverse=True)
    named = [(_ROLES[key % 2], events.pool[key // 2]) for key in keys.tolist()]
    order = sorted(range(len(named)), key=named.__getitem__)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    pairs = np.unique(np.stack([row, place[column]]), axis=1) if len(entity) else np.zeros((2, 0), np.int64)
    ones = np.ones(pairs.shape[1], dtype=np.int64)
    holds = sparse.csr_matrix((ones, (pairs[0], pairs[1])), shape=(len(entities), len(named)))
    return entities, [named[index] for index in order], holds


def frequent_item_sets(holds: Any, options: MiningOptions) -> list[tuple[int, tuple[int, ...]]]:
    """Return (support, columns) of the item sets of at most three items that are frequent, by exact count.

    Frequent means held by at least ``max(category_floor, ceil(category_support * n))`` of the n entities, the
    share read as the decimal that was written. Near-constant items take no part.

    Args:
        holds: sparse int64[n, items] of ones.
        options: the thresholds and bounds.

    Returns:
        sets by support (largest first), then by columns.

    Raises:
        LimitError: the search would pass `max_itemsets` or `max_cells`.
        ChronofyError: mlxtend or pandas is not installed.
    """
    n = holds.shape[0]
    least = max(options.category_floor, math.ceil(Fraction(repr(float(options.category_support))) * n))
    counts = np.asarray(holds.sum(axis=0), dtype=np.int64).ravel()
    columns = np.flatnonzero((counts >= least) & (counts <= options.near_constant * n))
    if not len(columns):
        return []
    part = _cap_hubs(holds[:, columns].tocsr(), counts[columns], options.hub_items)
    part = part[np.flatnonzero(np.diff(part.indptr))]
    _refuse_explosion(part, least, options)
    return [(support, tuple(int(columns[i]) for i in own)) for support, own in _apriori(part, least)]


def _cap_hubs(part: Any, counts: Ints, cap: int) -> Any:
    """Return the matrix with at most `cap` items an entity, the most common ones."""
    # A few entities with very many items would make every combination of them a candidate
    # (rasbt/mlxtend#909).
    size = np.diff(part.indptr)
    row = np.repeat(np.arange(part.shape[0]), size)
    order = np.lexsort((part.indices, -counts[part.indices], row))
    rank = np.arange(len(row)) - np.repeat(part.indptr[:-1], size)
    kept = order[rank < cap]
    return sparse.csr_matrix((part.data[kept], (row[kept], part.indices[kept])), shape=part.shape)


def _refuse_explosion(part: Any, least: int, options: MiningOptions) -> None:
    """Raise LimitError where the search would be too large: exact pair counts, then their triangles."""
    advice = "raise category_support or category_floor, or lower hub_items"
    cells = part.shape[0] * part.shape[1]
    if cells > options.max_cells:
        raise LimitError(f"{part.shape[0]} entities times {part.shape[1]} items are {cells} cells, more than"
                         f" max_cells = {options.max_cells}; {advice}")  # fmt: skip
    together = (part.T @ part).tocoo()
    often = (together.data >= least) & (together.row < together.col)
    pairs = int(often.sum())
    candidates = part.shape[1] + pairs
    if candidates <= options.max_itemsets:
        ones = np.ones(pairs, dtype=np.int64)
        upper = sparse.csr_matrix(
            (ones, (together.row[often], together.col[often])), shape=together.shape, dtype=np.int64
        )
        candidates += int((upper @ upper).multiply(upper).sum())
    if candidates > options.max_itemsets:
        raise LimitError(f"at least {candidates} item sets would be searched at a support of {least} of"
                         f" {part.shape[0]} entities, more than max_itemsets = {options.max_itemsets};"
                         f" {advice}")  # fmt: skip


def _apriori(part: Any, least: int) -> list[tuple[int, tuple[int, ...]]]:
    """Run mlxtend's Apriori on a sparse 0/1 matrix, with the threshold as a count."""
    try:
        import pandas as pd
        from mlxtend.frequent_patterns import apriori
    except ImportError as error:
        raise ChronofyError(
            "mining rules needs mlxtend and pandas, which are not installed: pip install 'chronofy-kg[rules]'"
        ) from error
    rows = part.shape[0]
    frame = pd.DataFrame(part.toarray().astype(bool))
    # Supports come and go as fractions: half a count below the threshold, rounding cannot lose a set that
    # stands exactly on it (rasbt/mlxtend PR #1191).
    found = apriori(frame, min_support=(least - 0.5) / rows, max_len=_MAX_ITEMS, low_memory=True)
    sets = [(round(support * rows), tuple(sorted(int(i) for i in own)))
            for support, own in zip(found["support"], found["itemsets"], strict=True)]  # fmt: skip
    return sorted(sets, key=lambda found: (-found[0], found[1]))


def _maximal(sets: Sequence[tuple[int, tuple[int, ...]]]) -> Ints:
    """Return int64[c, 3]: the sets that no other contains, largest first, filled up with -1."""
    # Every part of a frequent set is frequent, so looking one item down is enough.
    inner = {own[:i] + own[i + 1 :] for _, own in sets for i in range(len(own))}
    kept = [own for _, own in sets if own not in inner]
    kept.sort(key=len, reverse=True)
    padded = [own + (-1,) * (_MAX_ITEMS - len(own)) for own in kept]
    return np.asarray(padded, dtype=np.int64).reshape(len(kept), _MAX_ITEMS)


def _assign(holds: Any, sets: Ints, members: Ints) -> Ints:
    """Fill in each entity's sets: the first that it holds, then the first that shares no item with those.

    Returns:
        int64[c]: the number of entities that hold each set, hubs with all of their items included.
    """
    supports = np.zeros(len(sets), dtype=np.int64)
    for start, row, number in _held(holds, sets):
        supports += np.bincount(number, minlength=len(sets))
        for turn in range(_PER_ENTITY):
            if not len(row):
                break
            owner, first = np.unique(row, return_index=True)
            members[start + owner, turn] = number[first]
            taken = sets[members[start + row, turn]]
            mine = sets[number]
            shares = (mine[:, :, None] == taken[:, None, :]) & (mine[:, :, None] >= 0)
            free = ~shares.any(axis=(1, 2))
            row, number = row[free], number[free]
    return supports


def _held(holds: Any, sets: Ints) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield (first entity, entity within the chunk, set that it holds), a chunk of entities at a time."""
    number, place = np.nonzero(sets >= 0)
    ones = np.ones(len(number), dtype=np.int64)
    wanted = sparse.csr_matrix((ones, (sets[number, place], number)), shape=(holds.shape[1], len(sets)))
    sizes = (sets >= 0).sum(axis=1)
    for start in range(0, holds.shape[0], _CHUNK):
        common = (holds[start : start + _CHUNK] @ wanted).tocoo()
        whole = common.data == sizes[common.col]
        row, held = common.row[whole].astype(np.int64), common.col[whole].astype(np.int64)
        order = np.lexsort((held, row))
        yield start, row[order], held[order]
