"""Finds the facts that answer a query, cuts them by tau, and counts what was left out and why.

A pattern takes what matches. A question takes the relevant facts: ranking them is `retrieval`, and comes in
as a relevance per table row. tau is applied before anything may reach an answer or its context.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.compose import Found
from chronofy_kg.answer.model import EXCLUSIONS, Pattern
from chronofy_kg.answer.trace import cite
from chronofy_kg.answer.view import Moment, View, build_view, weigh
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.facts.history import group_rows
from chronofy_kg.facts.plan import key_codes
from chronofy_kg.facts.table import FactTable
from chronofy_kg.retrieval.corpus import Corpus, likeness
from chronofy_kg.retrieval.corpus import Found as Sought
from chronofy_kg.retrieval.pagerank import WalkGraph
from chronofy_kg.retrieval.rank import Candidates, Mode, Ranking, RankSettings, rank_facts

__all__ = ["Cut", "cut", "excluded", "found_by_pattern", "found_by_question", "matching_rows", "whole_keys"]

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
# A fact answers a question if it is at least this share as relevant as the best one, removed ones included.
_STATED_SHARE = 0.8


def matching_rows(table: FactTable, pattern: Pattern, type_name: str | None = None,
                  source: str | None = None) -> Rows:  # fmt: skip
    """Return the table rows, ascending, that state what a pattern says; a text value counts as its object."""
    canonical, find = table.pool.canonical, table.pool.find
    mask = np.ones(len(table), dtype=bool)
    if pattern.subject is not None:
        mask &= canonical(table.subject) == _sought(find(pattern.subject))
    if pattern.predicate is not None:
        mask &= canonical(table.predicate) == _sought(find(pattern.predicate))
    if pattern.object is not None:
        code = _sought(find(pattern.object))
        mask &= (canonical(table.object) == code) | (canonical(table.text) == code)
    if type_name is not None:
        mask &= canonical(table.type) == _sought(find(type_name))
    if source is not None:
        mask &= canonical(table.source) == _sought(find(source))
    return np.flatnonzero(mask)


def _sought(code: int) -> int:
    """Return a code to compare with; an unknown string equals no code, not even that of an absent one."""
    return code if code >= 0 else -2


def whole_keys(table: FactTable, rows: Rows) -> Rows:
    """Return every row, ascending, of the keys that some rows touch: what a fold of them needs."""
    if not len(rows):
        return rows
    keys = key_codes(table)
    return np.flatnonzero(np.isin(keys, np.unique(keys[rows])))


@dataclass(frozen=True, slots=True)
class Cut:
    """Facts of a view on both sides of the knowledge filter, as indexes into the view, in the given order."""

    kept: Rows
    removed: Rows


def cut(view: View, order: Rows, tau: float) -> Cut:
    """Split facts by the knowledge filter: nothing with V below tau may be used."""
    below = view.validity[order] < tau
    return Cut(order[~below], order[below])


def found_by_pattern(table: FactTable, catalog: TypeCatalog, pattern: Pattern, moment: Moment, *,
                     tau: float, limit: int, history: bool = False) -> Found:  # fmt: skip
    """Find the facts that a pattern matches, those of greatest validity first.

    Args:
        table: the assertions.
        catalog: the fact types.
        pattern: what to match.
        moment: the two instants.
        tau: the knowledge filter.
        limit: most facts to state; the rest is context.
        history: show the ended periods of the matched keys too.
    """
    matched = matching_rows(table, pattern)
    matched = matched[table.recorded_at[matched] <= moment.known_at]
    view = build_view(table, catalog, moment, rows=whole_keys(table, matched))
    mine = np.flatnonzero(np.isin(view.winner, matched))
    order = mine[np.lexsort((view.winner[mine], -view.log_v[mine]))]
    parts = cut(view, order, tau)
    return Found(
        stated=tuple(cite(view, int(i)) for i in parts.kept[:limit]),
        context=tuple(view.id(int(i)) for i in parts.kept[limit : 10 * limit]),
        removed=tuple(cite(view, int(i)) for i in parts.removed[:limit]),
        excluded=excluded(table, view, matched, moment, len(parts.removed)),
        shown=_ended(view, matched) if history else (),
    )


def _ended(view: View, matched: Rows) -> tuple:  # type: ignore[type-arg]
    """Return the facts of a history that do not hold now, latest first."""
    history = view.history
    others = np.setdiff1d(np.flatnonzero(np.isin(history.winner, matched)), view.facts)
    ended = weigh(history, others, view.catalog, view.moment)
    order = np.argsort(-history.start[others], kind="stable")
    return tuple(ended.fact(int(i)) for i in order)


def excluded(table: FactTable, view: View, matched: Rows, moment: Moment, below_tau: int) -> dict[str, int]:
    """Count the matched statements that are not used, each once, by the first reason that applies.

    Args:
        table: the assertions.
        view: the facts of all keys that `matched` touches.
        matched: rows that match and were recorded by `known_at`.
        moment: the two instants.
        below_tau: how many facts the knowledge filter removed.
    """
    counts = dict.fromkeys(EXCLUSIONS, 0)
    counts["below_tau"] = below_tau
    if not len(matched):
        return counts
    part = table.take(matched)
    home = group_rows((key_codes(part), *part.value_columns(), part.valid_from))
    homes = int(home.max()) + 1

    def any_of(mask: Mask) -> Mask:
        return np.bincount(home[mask], minlength=homes) > 0

    believed = part.retired_at > moment.known_at
    seen = believed if moment.observed_by is None else believed & (part.observed_at <= moment.observed_by)
    value = _value_numbers(view, matched)
    holds = any_of(seen & np.isin(value, view.history.value[view.facts]))
    begun = any_of(seen & (part.valid_from <= moment.at))
    known = np.isin(value, view.history.value)
    ended_by_other = view.history.value[view.history.superseded_by >= 0]
    displaced = any_of(seen & (~known | np.isin(value, ended_by_other)))
    reasons = (
        ("retracted", ~any_of(believed)),
        ("not_yet_observed", ~any_of(seen)),
        ("not_yet_valid", ~begun),
        ("superseded", displaced),
        ("expired", np.ones(homes, dtype=bool)),
    )
    left = ~holds
    for name, applies in reasons:
        counts[name] = int((left & applies).sum())
        left &= ~applies
    return counts


def _value_numbers(view: View, rows: Rows) -> Rows:
    """Return int64: the number of key and value of each row in the view's fold, -1 where not folded."""
    folded = view.history.rows
    place = np.searchsorted(folded, rows)
    place[place == len(folded)] = 0
    if not len(folded):
        return np.full(len(rows), -1, dtype=np.int64)
    return np.where(folded[place] == rows, view.history.row_value[place], -1)


def found_by_question(
    table: FactTable,
    catalog: TypeCatalog,
    question: str,
    corpus: Corpus,
    moment: Moment,
    *,
    tau: float,
    gate: float,
    mode: Mode,
    limit: int,
    history: bool = False,
) -> Found:
    """Find the facts that answer a question, by words, vectors and a walk from what it names.

    Relevance is judged before the knowledge filter, so that a relevant fact that is too old is asked for
    again, not replaced by a fresh one that says something else.

    Args:
        table: the assertions; `corpus` follows it.
        question: words.
        moment: the two instants.
        tau: the knowledge filter.
        gate: least relevance.
        mode: how the relevant facts are ordered.
        limit: most facts to state; the rest is context.
        history: show the ended periods of the stated keys too.
    """
    sought = corpus.search(question)
    view = build_view(table, catalog, moment)
    ranking = _rank(table, view, sought, moment, tau, mode, RankSettings(gate=gate))
    parts = cut(view, ranking.order, tau)
    best = float(ranking.relevance[ranking.order].max(initial=0.0))
    near = ranking.relevance >= _STATED_SHARE * best
    if sought.asked is not None and sought.entities.any():
        # Of an entity that is named, only the predicate asked for answers; the rest is context.
        near &= sought.asked[view.winner]
    stated, removed = parts.kept[near[parts.kept]][:limit], parts.removed[near[parts.removed]]
    context = parts.kept[~np.isin(parts.kept, stated)]
    believed = table.recorded_at <= moment.known_at
    matched = np.flatnonzero(believed & (sought.coverage >= max(gate, _STATED_SHARE * best)))
    whole = build_view(table, catalog, moment, rows=whole_keys(table, matched))
    said = view.winner[stated]
    return Found(
        stated=tuple(cite(view, int(i)) for i in stated),
        context=tuple(view.id(int(i)) for i in context[: 10 * limit]),
        removed=tuple(cite(view, int(i)) for i in removed[:limit]),
        excluded=excluded(table, whole, matched, moment, len(removed)),
        shown=_ended(view, whole_keys(table, said)) if history else (),
    )


def _rank(table: FactTable, view: View, sought: Sought, moment: Moment, tau: float, mode: Mode,
          settings: RankSettings) -> Ranking:  # fmt: skip
    """Rank the facts of a view by what a question found in their texts, and by the walk."""
    rows = view.winner
    observed_at = table.observed_at[view.best]
    meaning = None if sought.meaning is None else likeness(sought.meaning[rows], observed_at, moment.at)
    candidates = Candidates(
        coverage=sought.coverage[rows],
        bm25=sought.bm25[rows],
        observed_at=observed_at,
        validity=view.validity,
        cosine=meaning,
        named=None if sought.named is None else sought.named[rows],
        walk=_walk(table, view, sought, tau) if sought.entities.any() else None,
    )
    return rank_facts(candidates, mode, settings, at=moment.at)


def _walk(table: FactTable, view: View, sought: Sought, tau: float) -> NDArray[np.float64]:
    """Return the rank of each fact in a walk from the named entities; facts below tau are cut before it."""
    canonical, codes = table.pool.canonical, sought.entity_codes
    subject = np.searchsorted(codes, canonical(table.subject[view.winner]))
    linked = canonical(table.object[view.winner])
    target = np.where(linked >= 0, np.searchsorted(codes, np.maximum(linked, 0)), -1)
    graph = WalkGraph(len(codes), subject, target)
    walk = graph.walk(view.rates.quality, view.validity, view.validity >= tau, seed_entities=sought.entities)
    return walk.fact_rank
