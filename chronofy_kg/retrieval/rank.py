"""Relevance of candidates to a question, the gate, and the order in each mode. Arrays in, arrays out.

Scores come from `chronofy_kg.retrieval.lexical`, `vectors` and `pagerank`; candidates below tau were cut
before. Which of the ordered facts an answer states is decided in `chronofy_kg.answer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.time import DAY_US

__all__ = ["Candidates", "Mode", "RankSettings", "Ranking", "Reason", "rank_facts"]

Floats = NDArray[np.float64]
Mode = Literal["fresh", "balanced", "relevant", "fused"]


class Reason(IntFlag):
    """Why a candidate passed or not; several may hold."""

    WORDS = 1
    MEANING = 2
    GRAPH = 4
    BELOW_GATE = 8
    FAR_BELOW_BEST = 16


_REASON_TEXT = {
    Reason.WORDS: "has words of the question",
    Reason.MEANING: "is close in meaning",
    Reason.GRAPH: "is linked to what the question names",
    Reason.BELOW_GATE: "is below the relevance gate",
    Reason.FAR_BELOW_BEST: "is far below the best match",
}


@dataclass(frozen=True, slots=True)
class RankSettings:
    """Thresholds and weights of a ranking.

    Attributes:
        gate: least relevance that passes, in [0, 1].
        named_gate: least share of the best relevance that passes where the question names entities.
        meaning: weight of the cosine beside the words, in [0, 1].
        graph: weight of the walk beside words and cosine, in [0, 1].
        unlinked: factor, in [0, 1], on facts that neither say the names in the question nor are reached by
            the walk, where it names entities.
        cosine_floor, cosine_top: the cosines that count as no and as full likeness.
        frequency: weight of BM25 beside the relevance, in [0, 1], in the order of what passed.
        recency, recency_days: weight of recency in mode `balanced`, and the age at which it is halved.
        alpha, half_life_days: weight of the cosine, and half-life of recency, in mode `fused`.
    """

    gate: float = 0.45
    named_gate: float = 0.7
    meaning: float = 0.6
    graph: float = 0.2
    unlinked: float = 0.4
    cosine_floor: float = 0.35
    cosine_top: float = 0.75
    frequency: float = 0.25
    recency: float = 0.3
    recency_days: float = 30.0
    alpha: float = 0.7
    half_life_days: float = 14.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is known of n candidates.

    Attributes:
        coverage: float64[n] in [0, 1], from `LexicalIndex.score`.
        bm25: float64[n], >= 0.
        observed_at: int64[n], microseconds.
        validity: float64[n] in [0, 1], V at the instant asked about.
        cosine: float[n] in [-1, 1], NaN where the vector of a candidate is not ready; None where none is.
        named: float64[n] in [0, 1], from `LexicalIndex.score`; None where the question names no entity.
        walk: float64[n] >= 0, ranks of the facts in a walk from the named entities, or None.
    """

    coverage: Floats
    bm25: Floats
    observed_at: NDArray[np.int64]
    validity: Floats
    cosine: NDArray[np.floating] | None = None
    named: Floats | None = None
    walk: Floats | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """An order of candidates.

    Attributes:
        order: int64[k], the candidates that passed, best first.
        relevance: float64[n] in [0, 1].
        score: float64[n], what the mode orders by.
        reasons: uint8[n] of Reason.
    """

    order: NDArray[np.int64]
    relevance: Floats
    score: Floats
    reasons: NDArray[np.uint8]

    def why(self, candidate: int) -> str:
        """Return the reasons of a candidate as a sentence part."""
        flags = Reason(int(self.reasons[candidate]))
        return ", ".join(text for flag, text in _REASON_TEXT.items() if flag in flags) or "nothing matches"


def rank_facts(
    candidates: Candidates, mode: Mode = "balanced", settings: RankSettings | None = None, *, at: int
) -> Ranking:
    """Weigh candidates, cut what is not relevant and order the rest.

    With c the coverage, m the cosine scaled between floor and top, g the walk rank over its maximum and a, b
    the weights `meaning` and `graph`, relevance = (1 - (1 - c)(1 - a m)(1 - b g)) * l, where
    l = unlinked + (1 - unlinked) * max(named, g) if the question names entities, else 1.

    With b the BM25 over its maximum, match = (1 - w) * relevance + w * b, w = `frequency`. The orders:

    * `relevant`: by match.
    * `fresh`: by observed_at, newest first.
    * `balanced`: by (1 - r) * match + r / (1 + age / h), with r = `recency` and h = `recency_days`.
    * `fused`: by alpha * cos + (1 - alpha) * 0.5 ** (age / half-life); no gate. Without a vector the coverage
      stands for the cosine.

    Ties: higher validity, later observed_at, lower index. A negative cosine never multiplies anything.

    Args:
        candidates: n of them.
        mode: the order.
        settings: thresholds; the defaults if None.
        at: the instant asked about, in microseconds; ages count back from it.

    Returns:
        The order of those that passed the gates, and relevance, score and reasons of all.

    Raises:
        ValueError: an unknown mode, lengths that differ, or a number that is NaN or out of its range.

    >>> told = Candidates(coverage=np.array([1.0, 0.9, 0.1]), bm25=np.array([3.0, 2.0, 0.1]),
    ...                   observed_at=np.array([0, 9, 99]), validity=np.array([0.2, 0.9, 1.0]))
    >>> [rank_facts(told, mode, at=99).order.tolist() for mode in ("fresh", "relevant", "fused")]
    [[1, 0], [0, 1], [0, 1, 2]]
    """
    if mode not in get_args(Mode):
        raise ValueError(f"unknown mode {mode!r}: {', '.join(get_args(Mode))}")
    settings = settings or RankSettings()
    _check(candidates)
    relevance, reasons, passed = _relevance(candidates, settings)
    if mode == "fused":
        passed, score = np.ones(len(relevance), dtype=np.bool_), _fused(candidates, settings, at)
    elif mode == "fresh":
        score = candidates.observed_at.astype(np.float64)
    else:
        score = (1.0 - settings.frequency) * relevance + settings.frequency * _scaled(candidates.bm25)
        if mode == "balanced":
            recency = 1.0 / (1.0 + _age_days(candidates, at) / settings.recency_days)
            score = (1.0 - settings.recency) * score + settings.recency * recency
    # Equal scores must stay equal after different roundings, or the better of two equals could lose.
    key = candidates.observed_at if mode == "fresh" else np.round(score, 12)
    return Ranking(_ordered(candidates, np.flatnonzero(passed), key), relevance, score, reasons)


def _relevance(
    candidates: Candidates, settings: RankSettings
) -> tuple[Floats, NDArray[np.uint8], NDArray[np.bool_]]:
    """Return relevance float64[n], reasons uint8[n] and the mask of those that pass the gates."""
    reach = meaning = np.zeros(len(candidates.coverage))
    if candidates.cosine is not None:
        span = settings.cosine_top - settings.cosine_floor
        likeness = np.nan_to_num(candidates.cosine.astype(np.float64), nan=settings.cosine_floor)
        meaning = np.clip((likeness - settings.cosine_floor) / span, 0.0, 1.0)
    if candidates.walk is not None:
        reach = _scaled(candidates.walk)
    miss = (1.0 - candidates.coverage) * (1.0 - settings.meaning * meaning) * (1.0 - settings.graph * reach)
    relevance = 1.0 - miss
    best_share = 0.0
    if candidates.named is not None:
        link = np.maximum(candidates.named, reach)
        relevance = relevance * (settings.unlinked + (1.0 - settings.unlinked) * link)
        best_share = settings.named_gate
    relevance = np.round(relevance, 12)
    below = (relevance < settings.gate) | (relevance <= 0)
    far = relevance < best_share * float(relevance.max(initial=0.0))
    reasons = np.zeros(len(relevance), dtype=np.uint8)
    marks = (candidates.coverage > 0, meaning > 0, reach > 0, below, far)
    for reason, mark in zip(Reason, marks, strict=True):
        reasons[mark] |= np.uint8(reason)
    return relevance, reasons, ~below & ~far


def _fused(candidates: Candidates, settings: RankSettings, at: int) -> Floats:
    if not 0.0 <= settings.alpha <= 1.0 or not settings.half_life_days > 0:
        raise ValueError("alpha must lie in [0, 1] and the half-life above 0")
    likeness = candidates.coverage
    if candidates.cosine is not None:
        cosine = candidates.cosine.astype(np.float64)
        likeness = np.where(np.isnan(cosine), candidates.coverage, cosine)
    recency = np.exp2(-np.minimum(_age_days(candidates, at) / settings.half_life_days, 1000.0))
    score: Floats = settings.alpha * likeness + (1.0 - settings.alpha) * recency
    return score


def _age_days(candidates: Candidates, at: int) -> Floats:
    age: Floats = np.maximum(at - candidates.observed_at, 0) / DAY_US
    return age


def _scaled(values: Floats) -> Floats:
    """Return values over their maximum, zeros where that is 0."""
    top = float(values.max(initial=0.0))
    return values / top if top > 0 else np.zeros(len(values))


def _ordered(candidates: Candidates, rows: NDArray[np.int64], key: NDArray[Any]) -> NDArray[np.int64]:
    """Return rows by falling key; ties by validity, observed_at (both falling), then index."""
    falling = (candidates.observed_at, candidates.validity, key)
    return rows[np.lexsort((rows, *(-column[rows] for column in falling)))]


def _check(candidates: Candidates) -> None:
    """Refuse what cannot be ordered."""
    count = len(candidates.coverage)
    ranges: tuple[tuple[str, NDArray[np.floating] | None, float, float], ...] = (
        ("coverage", candidates.coverage, 0.0, 1.0),
        ("bm25", candidates.bm25, 0.0, np.inf),
        ("validity", candidates.validity, 0.0, 1.0),
        ("named", candidates.named, 0.0, 1.0),
        ("walk", candidates.walk, 0.0, np.inf),
        # A dot product of two float16 unit vectors may pass 1 by a rounding.
        ("cosine", candidates.cosine, -1.01, 1.01),
    )
    for name, values, low, high in ranges:
        if values is None:
            continue
        if len(values) != count:
            raise ValueError(f"{name} has {len(values)} entries for {count} candidates")
        bad = ~((values >= low) & (values <= high) & np.isfinite(values))
        if name == "cosine":
            bad &= ~np.isnan(values)
        if bad.any():
            raise ValueError(f"{name} of candidate {int(np.argmax(bad))} is {values[np.argmax(bad)]}")
    if len(candidates.observed_at) != count:
        raise ValueError(f"observed_at has {len(candidates.observed_at)} entries for {count} candidates")
