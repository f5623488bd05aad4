"""Pairs of consecutive events that share a binding: the raw counts behind rule edges.

A binding is what two events have in common: the same pair of entities, the pair swapped, the subject or the
object, each seen under one category of what is shared. Within a binding events are put in order of time;
those of one step form a group, and only neighbouring groups are paired. What a count is worth is decided in
`edges`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.errors import LimitError
from chronofy_kg.facts.history import group_rows
from chronofy_kg.rules.mdl import Gaps
from chronofy_kg.rules.options import MiningOptions

__all__ = ["ROLES", "Instances", "PairCounts", "count_pairs"]

Ints = NDArray[np.int64]

#: The role maps, in the order of `PairCounts.role`.
ROLES = ("same pair", "swapped pair", "shared subject", "shared object")
_SWAPPED = 1
_CHUNK_PAIRS = 2_000_000


@dataclass(frozen=True, slots=True)
class Instances:
    """Events under each node that they are an instance of, i of them.

    Attributes:
        node: int64[i], number of the rule node.
        subject, object: int64[i] codes; the object is -1 for a literal.
        subject_category, object_category: int64[i], the categories within the node.
        step: int64[i], number of the step of time.
        at_us: int64[i], valid_from in microseconds.
    """

    node: Ints
    subject: Ints
    object: Ints
    subject_category: Ints
    object_category: Ints
    step: Ints
    at_us: Ints

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Candidate edges, c of them, ordered by source, target and role.

    Attributes:
        source, target, role: int64[c], two node numbers and an index into ROLES.
        support: int64[c], distinct later events (of the target) that follow one of the source.
        followed: int64[c], distinct earlier events (of the source) that one of the target follows.
        last_us: int64[c], valid_from of the last later event.
        gaps: the gaps of the later events, edge by edge.
        skipped: how many pairs of neighbouring groups were left out because a step was too busy.
    """

    source: Ints
    target: Ints
    role: Ints
    support: Ints
    followed: Ints
    last_us: Ints
    gaps: Gaps
    skipped: int


@dataclass(frozen=True, slots=True)
class _Stream:
    """Occurrences of nodes in bindings, ordered by binding, step and node; `many` events behind each."""

    node: Ints
    side: Ints
    many: Ints
    last_us: Ints
    group: Ints
    binding: Ints
    step: Ints


def count_pairs(instances: Instances, options: MiningOptions) -> PairCounts:
    """Count pairs of consecutive events in every role.

    A later event belongs to one group of a binding and so counts once for an edge, however many events of the
    source stand in the group before it; many pairs of entities on one day count as many.

    Raises:
        LimitError: the pairs would pass `max_pairs`.
    """
    found: list[Ints] = []
    skipped = total = 0
    for role in range(len(ROLES)):
        stream = _stream(instances, role)
        before, after, busy = _neighbours(stream, options.busy_step)
        skipped += busy
        sizes = np.bincount(stream.group)
        total += int((sizes[before] * sizes[after]).sum())
        if total > options.max_pairs:
            raise LimitError(f"at least {total} pairs of neighbouring events, more than max_pairs ="
                             f" {options.max_pairs}; lower busy_step, or mine fewer predicates")  # fmt: skip
        parts = [_collapse(part) for part in _pairs(stream, before, after, role)]
        if parts:
            found.append(_collapse(np.concatenate(parts, axis=1)))
    table = _collapse(np.concatenate(found, axis=1)) if found else np.zeros((7, 0), dtype=np.int64)
    return _summarise(table, skipped)


def _stream(instances: Instances, role: int) -> _Stream:
    """Bring the instances that can share a binding in this role into order."""
    whole = instances
    linked = whole.object >= 0
    if role == _SWAPPED:
        linked &= whole.subject != whole.object
    rows = np.arange(len(whole)) if ROLES[role] == "shared subject" else np.flatnonzero(linked)
    side = (whole.subject > whole.object).astype(np.int64)[rows]
    subject = [whole.subject[rows], whole.subject_category[rows]]
    target = [whole.object[rows], whole.object_category[rows]]
    if role == _SWAPPED:
        flip = side == 1
        lower = [np.where(flip, b, a) for a, b in zip(subject, target, strict=True)]
        upper = [np.where(flip, a, b) for a, b in zip(subject, target, strict=True)]
        subject, target = lower, upper
    shared = {"shared subject": subject, "shared object": target}.get(ROLES[role], [*subject, *target])
    binding = group_rows(tuple(shared))
    return _occurrences(binding, whole.step[rows], whole.node[rows], side, whole.at_us[rows])


def _occurrences(binding: Ints, step: Ints, node: Ints, side: Ints, at_us: Ints) -> _Stream:
    """Put equal (binding, step, node) together and number the groups of one binding and step."""
    order = np.lexsort((at_us, side, node, step, binding))
    binding, step, node, side, at_us = binding[order], step[order], node[order], side[order], at_us[order]
    new_group = _changes(binding, step)
    new = new_group | _changes(node, side)
    first = np.flatnonzero(new)
    ends = np.append(first[1:], len(node))[: len(first)]
    return _Stream(
        node=node[first],
        side=side[first],
        many=ends - first,
        last_us=at_us[ends - 1],
        group=np.cumsum(new_group)[first] - 1,
        binding=binding[first],
        step=step[first],
    )


def _changes(*columns: Ints) -> NDArray[np.bool_]:
    """Return where a row differs from the one before it; the first row does."""
    changed = np.zeros(len(columns[0]), dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def _neighbours(stream: _Stream, busy_step: int) -> tuple[Ints, Ints, int]:
    """Return the numbers of neighbouring groups of one binding, and how many were too busy to be paired."""
    head = np.flatnonzero(_changes(stream.group))
    binding = stream.binding[head]
    before = np.flatnonzero(binding[1:] == binding[:-1])
    sizes = np.bincount(stream.group)
    # On a step with very many kinds of events, order says little, and pairs grow with the square.
    calm = np.maximum(sizes[before], sizes[before + 1]) <= busy_step if len(before) else before.astype(bool)
    kept: Ints = before[calm]
    return kept, kept + 1, int(len(before) - len(kept))


def _pairs(stream: _Stream, before: Ints, after: Ints, role: int) -> Iterator[Ints]:
    """Yield int64[7, p] rows (source, target, role, gap, later events, earlier events, last_us) of pairs."""
    head = np.flatnonzero(_changes(stream.group))
    sizes = np.bincount(stream.group)
    products = np.cumsum(sizes[before] * sizes[after])
    start = 0
    while start < len(before):
        done = int(products[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(products, done + _CHUNK_PAIRS, side="right")))
        first, second = before[start:stop], after[start:stop]
        width = sizes[second]
        many = sizes[first] * width
        owner = np.repeat(np.arange(len(first)), many)
        inside = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
        u = head[first][owner] + inside // width[owner]
        v = head[second][owner] + inside % width[owner]
        if role == _SWAPPED:
            turned = stream.side[u] != stream.side[v]
            u, v = u[turned], v[turned]
        yield np.stack([
            stream.node[u], stream.node[v], np.full(len(u), role), stream.step[v] - stream.step[u],
            stream.many[v], stream.many[u], stream.last_us[v],
        ])  # fmt: skip
        start = stop


def _collapse(table: Ints) -> Ints:
    """Add up the rows of one (source, target, role, gap) and order them by it."""
    source, target, role, gap = table[:4]
    nodes = int(target.max(initial=0)) + 1
    order = np.lexsort((gap, (source * nodes + target) * len(ROLES) + role))
    table = table[:, order]
    first = np.flatnonzero(_changes(*table[:4]))
    if not len(first):
        return table
    sums = [np.add.reduceat(table[i], first) for i in (4, 5)]
    return np.stack([*table[:4, first], *sums, np.maximum.reduceat(table[6], first)])


def _summarise(table: Ints, skipped: int) -> PairCounts:
    """Turn rows by gap into candidate edges."""
    source, target, role, gap, later, earlier, last_us = table
    new = _changes(source, target, role)
    first = np.flatnonzero(new)
    edge = np.cumsum(new) - 1
    count = len(first)
    return PairCounts(
        source=source[first],
        target=target[first],
        role=role[first],
        support=np.add.reduceat(later, first) if count else later,
        followed=np.add.reduceat(earlier, first) if count else earlier,
        last_us=np.maximum.reduceat(last_us, first) if count else last_us,
        gaps=Gaps(edge, gap, later, count),
        skipped=skipped,
    )
