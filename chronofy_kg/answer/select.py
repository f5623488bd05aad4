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
from chronofy_kg.answer.standing import count_left_out
from chronofy_kg.answer.trace import cite
from chronofy_kg.answer.view import Moment, View, build_view, weigh
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.errors import QueryError
from chronofy_kg.facts.history import group_rows
from chronofy_kg.facts.model import Fact
from chronofy_kg.facts.plan import key_codes
from chronofy_kg.facts.table import FactTable
from chronofy_kg.retrieval.corpus import Corpus, likeness
from chronofy_kg.retrieval.corpus import Found as Sought
from chronofy_kg.retrieval.pagerank import WalkGraph
from chronofy_kg.retrieval.rank import Candidates, Mode, Ranking, RankSettings, Reason, rank_facts

__all__ = ["Cut", "cut", "found_by_pattern", "found_by_question", "matching_rows", "whole_keys"]

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
# A fact answers a question if it is at least this share as relevant as the best one, removed ones included.
_DATED = "a date in a question is not read: ask as of an instant with `at`"
_STATED_SHARE = 0.8
# Cosine from which a fact may answer a question of which it says no word.
_ALIKE = 0.55
_FAR_OFF = np.uint8(Reason.BELOW_GATE | Reason.FAR_BELOW_BEST)


def matching_rows(table: FactTable, pattern: Pattern, type_name: str | None = None,
                  source: str | None = None) -> Rows:  # fmt: skip
    """Return the table rows, ascending, that state what a pattern says; a text value counts as its object."""
    find, rows = table.pool.find, np.arange(len(table))
    wanted = (
        (pattern.subject, (table.subject,)),
        (pattern.predicate, (table.predicate,)),
        (pattern.object, (table.object, table.text)),
        (type_name, (table.type,)),
        (source, (table.source,)),
    )
    for name, columns in wanted:
        if name is not None:
            code = _sought(find(name))
            # What an earlier part left out is not looked at again: a subject leaves few rows of many.
            says = [table.pool.canonical(column[rows]) == code for column in columns]
            rows = rows[np.logical_or.reduce(says)]
    return rows


def _sought(code: int) -> int:
    """Return a code to compare with; an unknown string equals no code, not even that of an absent one."""
    return code if code >= 0 else -2


def whole_keys(table: FactTable, rows: Rows) -> Rows:
    """Return every row, ascending, of the keys that some rows touch: what a fold of them needs."""
    if not len(rows):
        return rows
    # The subject alone leaves few rows to look at, where few are asked for.
    subject = table.pool.canonical(table.subject)
    near = np.flatnonzero(np.isin(subject, np.unique(subject[rows])))
    keys = key_codes(table.take(near)) if len(near) < len(table) // 2 else key_codes(table)[near]
    return near[np.isin(keys, keys[np.searchsorted(near, rows)])]


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
    _check(tau, limit)
    matched = matching_rows(table, pattern)
    matched = matched[table.recorded_at[matched] <= moment.known_at]
    view = build_view(table, catalog, moment, rows=whole_keys(table, matched))
    mine = np.flatnonzero(np.isin(view.winner, matched))
    order = mine[np.lexsort((*_id_words(table, view.winner[mine]).T[::-1], -view.log_v[mine]))]
    parts = cut(view, order, tau)
    return Found(
        stated=tuple(cite(view, int(i)) for i in parts.kept[:limit]),
        context=tuple(view.id(int(i)) for i in parts.kept[limit : 10 * limit]),
        removed=tuple(cite(view, int(i)) for i in parts.removed[:limit]),
        excluded=_excluded(view, matched, len(parts.removed)),
        shown=_ended(view, matched) if history else (),
        tau=tau,
    )


def _check(tau: float, limit: int) -> None:
    if not 0 <= tau <= 1:
        raise QueryError(f"tau is {tau}; it must lie in [0, 1]")
    if limit < 1:
        raise QueryError(f"limit is {limit}; an answer states at least 1 fact")


def _id_words(table: FactTable, rows: Rows) -> NDArray[np.uint64]:
    """Return the assertion ids of rows as two numbers each, uint64[r, 2]: an order nobody chose."""
    return np.ascontiguousarray(table.ids[rows]).view(">u8").astype(np.uint64).reshape(-1, 2)


def _ended(view: View, matched: Rows) -> tuple[Fact, ...]:
    """Return the facts of a history whose period is over, latest first."""
    history = view.history
    others = np.flatnonzero(np.isin(history.winner, matched) & (history.end <= view.moment.at))
    ended = weigh(history, others, view.catalog, view.moment)
    order = np.lexsort((_id_words(view.table, ended.winner)[:, 0], -history.start[others]))
    return tuple(ended.fact(int(i)) for i in order)


def _excluded(view: View, matched: Rows, below_tau: int) -> dict[str, int]:
    """Count the matched statements that are not used, each once, by the first reason that applies."""
    return {**dict.fromkeys(EXCLUSIONS, 0), **count_left_out(view, matched), "below_tau": below_tau}


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
    _check(tau, limit)
    sought = corpus.search(question, table)
    view = build_view(table, catalog, moment)
    # The order of loading decides nothing, not even between equals.
    facts = np.argsort(_id_words(table, view.winner)[:, 0], kind="stable")
    ranking = _rank(table, view, facts, sought, moment, tau, mode, RankSettings(gate=gate))
    best = float(ranking.relevance[ranking.order].max(initial=0.0))
    relevant = np.zeros(len(view), dtype=bool)
    relevant[facts] = (ranking.relevance >= _STATED_SHARE * best) & (ranking.reasons & _FAR_OFF == 0)
    answers = relevant & _answering(sought)[view.winner]
    parts = cut(view, facts[ranking.order], tau)
    stated, removed = parts.kept[answers[parts.kept]][:limit], parts.removed[answers[parts.removed]]
    context = parts.kept[~np.isin(parts.kept, stated)]
    whole, matched = _matched(table, catalog, sought, moment, max(gate, _STATED_SHARE * best))
    return Found(
        stated=tuple(cite(view, int(i)) for i in stated),
        context=tuple(view.id(int(i)) for i in context[: 10 * limit]),
        removed=tuple(cite(view, int(i)) for i in removed[:limit]),
        excluded=_excluded(whole, matched, len(removed)),
        shown=_ended(view, whole_keys(table, view.winner[stated])) if history else (),
        tau=tau,
        notes=(_DATED,) if sought.dated else (),
    )


def _answering(sought: Sought) -> Mask:
    """Return bool[n]: the rows that may answer; the others are context at best.

    Nothing about another identifier of the same kind answers. Of an entity that is named, only the predicate
    asked for does, or, where the question says the words of none, what says some other word of it.
    """
    mask = ~sought.foreign
    if not sought.entities.any():
        return mask
    if sought.asked is not None:
        return mask & sought.asked
    if sought.speaks is not None:
        mask = mask & (
            sought.speaks if sought.meaning is None else sought.speaks | (sought.meaning >= _ALIKE)
        )
    return mask


def _matched(
    table: FactTable, catalog: TypeCatalog, sought: Sought, moment: Moment, least: float
) -> tuple[View, Rows]:
    """Return the statements that match a question by their words, and the facts of their keys."""
    mask = (table.recorded_at <= moment.known_at) & (sought.coverage >= least) & _answering(sought)
    if sought.named is not None:
        mask &= sought.named > 0
    whole = whole_keys(table, np.flatnonzero(mask))
    home = group_rows(
        (key_codes(table)[whole], *(c[whole] for c in table.value_columns()), table.valid_from[whole])
    )
    told = np.isin(home, home[mask[whole]]) & (table.recorded_at[whole] <= moment.known_at)
    return build_view(table, catalog, moment, rows=whole), whole[told]


def _rank(table: FactTable, view: View, facts: Rows, sought: Sought, moment: Moment, tau: float, mode: Mode,
          settings: RankSettings) -> Ranking:  # fmt: skip
    """Rank facts of a view, in that order, by what a question found in their texts, and by the walk."""
    rows = view.winner[facts]
    observed_at = table.observed_at[view.best[facts]]
    meaning = None if sought.meaning is None else likeness(sought.meaning[rows], observed_at, moment.at)
    candidates = Candidates(
        coverage=sought.coverage[rows],
        bm25=sought.bm25[rows],
        observed_at=observed_at,
        validity=view.validity[facts],
        cosine=meaning,
        named=None if sought.named is None else sought.named[rows],
        walk=_walk(table, view, sought, tau)[facts] if sought.entities.any() else None,
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
