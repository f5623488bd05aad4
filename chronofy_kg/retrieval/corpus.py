"""The searchable texts of a FactTable: words at once, vectors as they become ready.

One corpus follows one table. `update` reads the words of what was added; `embed` gives vectors to texts that
have none yet, each distinct text once, and may run in the background: questions are answered meanwhile by
words and graph. Ranking is `chronofy_kg.retrieval.rank`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.table import FactTable
from chronofy_kg.retrieval.documents import Documents, documents, predicate_words
from chronofy_kg.retrieval.embed import EmbedderMissingError, MiniLM
from chronofy_kg.retrieval.lexical import LexicalIndex, NameIndex
from chronofy_kg.retrieval.temporal import encode_times, join
from chronofy_kg.retrieval.tokens import Unit, document_terms, query_units
from chronofy_kg.retrieval.vectors import CachedEmbedder, EmbeddingCache, VectorIndex

__all__ = ["Corpus", "Found", "State"]

Floats = NDArray[np.float64]
State = Literal["off", "missing", "loading", "ready"]
_BATCH = 64
_YEAR = re.compile(r"(1[5-9]|20|21)\d\d([-/]\d\d){0,2}")
_SIGN = re.compile(r"[\W_]")
_DIGITS = re.compile(r"\d+")
# Share of the temporal part in [temporal ; semantic]: enough to part two readings of one text by their age.
_TEMPORAL_WEIGHT = 0.1
# A question asks for a predicate if it says at least this share of its words.
_LEAST_SPOKEN = 0.51  # weighted share of the plain words of a question that a fact must say: most of them
_SPACED = re.compile(r"\b([^\W\d_]+) +(\w*\d[\w-]*)\b")
_LEAST_SHARE = 0.3
# Capitalised words that name a time, not a thing.
_CALENDAR = frozenset(
    document_terms(
        "January February March April May June July August September October November December "
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Q1 Q2 Q3 Q4"
    )
)
# What a question says that asks for whatever is known.
_GENERAL = frozenset(
    document_terms(
        "know known say said mean happen happened information info detail details describe explain summary "
        "summarise summarize overview fact facts anything everything something"
    )
)


@dataclass(frozen=True, slots=True)
class Found:
    """What a question finds, for each row of the table.

    Attributes:
        coverage, bm25, named: float64[n], from the words; `named` is None where it names nothing.
        meaning: float32[n], cosine of the texts, NaN where a text has no vector yet; None without any.
        entities: float64[e], the weight of each entity that the question names, by `entity_codes`.
        entity_codes: int64[e], canonical pool codes.
        asked: bool[n], whether the row's predicate is one that the question asks for; None where it says the
            words of none.
        speaks: bool[n], whether the row says most of the words of the question that are no names; None where
            there is none but such as ask for whatever is known.
        foreign: bool[n], whether the row is about another identifier of the same family as one in the
            question: a statement about CVE-2020-2 that mentions CVE-2020-1 does not answer for it.
        dated: whether the question speaks of a year, month or day of the week.
    """

    coverage: Floats
    bm25: Floats
    named: Floats | None
    meaning: NDArray[np.float32] | None
    entities: Floats
    entity_codes: NDArray[np.int64]
    asked: NDArray[np.bool_] | None
    speaks: NDArray[np.bool_] | None
    foreign: NDArray[np.bool_]
    dated: bool


@dataclass(frozen=True, slots=True)
class _Identifiers:
    """Entities that are identifiers, such as CVE-2020-1 and patient:17.

    Attributes:
        entity: the entities of each identifier, as a question says it.
        families: the numbers of the families ("cve").
        signs: what stands between the name of each family and the rest: "-" in CVE-2020-1, ":" in patient:17.
        family: int64[e], the family of each entity, -1 for no identifier.
        subject, linked: int64[n], the subject and the object of each row among the entities, -1 for none.
    """

    entity: Mapping[str, list[int]]
    families: Mapping[str, int]
    signs: Mapping[str, str]
    family: NDArray[np.int64]
    subject: NDArray[np.int64]
    linked: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Index:
    table: FactTable
    texts: Documents
    words: LexicalIndex
    names: NameIndex
    entity_codes: NDArray[np.int64]
    predicate: NDArray[np.int64]
    predicate_terms: tuple[frozenset[str], ...]
    identifiers: _Identifiers


class Corpus:
    """Words and vectors of one table at a time; thread safe.

    Args:
        folder: of the cache of vectors.
        embedder: "minilm", or "none" for words and graph only.
    """

    def __init__(self, folder: Path, embedder: str) -> None:
        self._folder = folder
        self._model = MiniLM() if embedder == "minilm" else None
        self._embedder: CachedEmbedder | None = None
        self._missing = False
        self._lock = threading.Lock()
        self._index: _Index | None = None
        self._vectors: VectorIndex | None = None
        self._known: NDArray[np.bool_] = np.zeros(0, dtype=bool)

    def sibling(self) -> Corpus:
        """Return a corpus for another table, with the same model and cache of vectors."""
        other = Corpus(self._folder, "none")
        other._model = self._model
        return other

    @property
    def state(self) -> State:
        """Whether vectors are off, cannot be had, are being made, or are there for every text."""
        if self._model is None:
            return "off"
        if self._missing:
            return "missing"
        return "ready" if self._model.loaded and bool(self._known.all()) else "loading"

    def update(self, table: FactTable) -> None:
        """Follow a table: index its words, and take the vectors that the cache has for its texts."""
        with self._lock:
            self._follow(table)

    def _follow(self, table: FactTable) -> _Index:
        if self._index is not None and self._index.table is table:
            return self._index
        self._index = _index_of(table)
        if self._model is not None:
            embedder = self._cached()
            vectors, self._known = embedder.known(self._index.texts.texts)
            self._vectors = VectorIndex(embedder.dimensions)
            self._vectors.add(vectors)
        return self._index

    @property
    def pending(self) -> int:
        """Number of texts that have no vector yet."""
        return 0 if self._model is None else int((~self._known).sum())

    def embed(self, on_progress: Callable[[str, int, int | None], None] | None = None) -> None:
        """Load the model and give a vector to every text that has none, newest text first.

        Without the model's packages nothing happens but that `state` says so.
        """
        if self._model is None:
            return
        try:
            self._model.load()
        except EmbedderMissingError:
            self._missing = True
            return
        while True:
            with self._lock:
                index, vectors = self._index, self._vectors
                todo = np.flatnonzero(~self._known)[::-1][:_BATCH]
                total, done = len(self._known), int(self._known.sum())
            if on_progress is not None:
                on_progress("embed", done, total)
            if not len(todo) or index is None or vectors is None:
                return
            encoded = self._cached().encode([index.texts.texts[i] for i in todo.tolist()])
            with self._lock:
                if index is self._index:
                    vectors.set(todo, encoded)
                    self._known[todo] = True

    def search(self, question: str, table: FactTable) -> Found:
        """Score every row of a table by a question; the table is followed from here on, if it was not."""
        with self._lock:
            index = self._follow(table)
            vectors, known = self._vectors, self._known.copy()
        question = _joined(question, index.identifiers)
        units = query_units(question)
        mentions = index.names.find(question)
        called = {u.whole for u in units if u.name and not u.strict and u.whole not in _CALENDAR}
        matches = index.words.score(question, mentions.terms | called)
        meaning = None
        asked = self._question(question)
        if asked is not None and vectors is not None and known.any():
            cosine = vectors.cosines(asked)[0]
            meaning = np.where(known, cosine, np.float32(np.nan))[index.texts.vector_of]
        return Found(
            coverage=matches.coverage,
            bm25=matches.bm25,
            named=matches.named,
            meaning=meaning,
            entities=mentions.weights,
            entity_codes=index.entity_codes,
            asked=_asked(index, units),
            speaks=_speaks(index, units, mentions.terms | called, mentions.weights > 0),
            foreign=_foreign(index.identifiers, units),
            dated=any(u.whole in _CALENDAR or (u.number and _YEAR.fullmatch(u.whole)) for u in units),
        )

    def _question(self, question: str) -> NDArray[np.float32] | None:
        """Return the vector of a question, float32[1, d], unless the model is still being loaded."""
        if self._model is None or self._missing:
            return None
        if self._model.loaded:
            return self._cached().encode([question])
        vector, known = self._cached().known([question])
        return vector if known[0] else None

    def _cached(self) -> CachedEmbedder:
        if self._embedder is None:
            assert self._model is not None
            cache = EmbeddingCache(self._folder, self._model.model, self._model.dimensions)
            self._embedder = CachedEmbedder(self._model, cache)
        return self._embedder


def _index_of(table: FactTable) -> _Index:
    texts = documents(table)
    canonical = table.pool.canonical
    subject, linked = canonical(table.subject), canonical(table.object)
    codes = np.unique(np.concatenate([subject, linked]))
    codes = codes[codes >= 0].astype(np.int64)
    names = [table.pool[code] for code in codes.tolist()]
    predicates, predicate = np.unique(canonical(table.predicate), return_inverse=True)
    return _Index(
        table=table,
        texts=texts,
        words=LexicalIndex.build(texts.pieces, texts.parts, texts.vector_of),
        names=NameIndex(names),
        entity_codes=codes,
        predicate=predicate,
        predicate_terms=tuple(
            frozenset(document_terms(predicate_words(table.pool[code]))) for code in predicates.tolist()
        ),
        identifiers=_identifiers(
            names,
            np.searchsorted(codes, subject),
            np.where(linked >= 0, np.searchsorted(codes, linked), -1),
        ),
    )


def _identifiers(names: Sequence[str], subject: NDArray[np.int64], linked: NDArray[np.int64]) -> _Identifiers:
    entity: dict[str, list[int]] = {}
    families: dict[str, int] = {}
    signs: dict[str, str] = {}
    family = np.full(len(names), -1, dtype=np.int64)
    for number, name in enumerate(names):
        units = query_units(name) if any(c.isdigit() for c in name) else []
        if len(units) == 1 and units[0].strict:
            entity.setdefault(units[0].whole, []).append(number)
            head = _family(units[0].whole)
            family[number] = families.setdefault(head, len(families))
            if head.isalpha():
                signs.setdefault(head, units[0].whole[len(head) : len(head) + 1])
    return _Identifiers(entity, families, signs, family, subject, linked)


def _joined(question: str, identifiers: _Identifiers) -> str:
    """Return a question in which "patient 17" is written patient:17, as the entities are."""

    def join(match: re.Match[str]) -> str:
        sign = identifiers.signs.get(match[1].casefold())
        return f"{match[1]}{sign}{match[2]}" if sign else match[0]

    return _SPACED.sub(join, question)


def _family(identifier: str) -> str:
    """Return what identifiers of one kind share: what stands before the first sign, or how they are built."""
    head = _SIGN.split(identifier, maxsplit=1)[0]
    return head if head.isalpha() else _DIGITS.sub("0", identifier)


def _asked(index: _Index, units: Sequence[Unit]) -> NDArray[np.bool_] | None:
    """Return bool[n]: whether a row's predicate is the one of which the question says most, if it says any.

    Within one entity the predicate tells its facts apart, however common the word is in the corpus. Of an
    identifier the parts say nothing: "CVE-2024-1" does not ask for weekly_cves.
    """
    said = {term for unit in units for term in (unit.whole, *(() if unit.strict else unit.parts))}
    share = np.asarray([len(said & terms) / max(len(terms), 1) for terms in index.predicate_terms])
    best = float(share.max(initial=0.0))
    if best < _LEAST_SHARE:
        return None
    asked: NDArray[np.bool_] = (share >= best * (1 - 1e-9))[index.predicate]
    return asked


def _speaks(
    index: _Index, units: Sequence[Unit], names: frozenset[str], mentioned: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Return bool[n]: whether a row says most of the plain words of the question, by their rarity."""
    plain = [
        u.whole
        for u in units
        if not u.strict and not u.number and u.whole not in _GENERAL | _CALENDAR
        and not names.intersection((u.whole, *u.parts))
    ]  # fmt: skip
    if not plain:
        return None
    spoken: NDArray[np.bool_] = index.words.score(" ".join(plain)).coverage >= _LEAST_SPOKEN
    # A row that links two entities of the question says what it is about, in whatever words.
    linked = index.identifiers.linked
    return spoken | (mentioned[index.identifiers.subject] & (linked >= 0) & mentioned[linked])


def _foreign(identifiers: _Identifiers, units: Sequence[Unit]) -> NDArray[np.bool_]:
    """Return bool[n]: whether a row is about another identifier of the family of one that is asked."""
    asked = [unit.whole for unit in units if unit.strict]
    entities = np.asarray([e for name in asked for e in identifiers.entity.get(name, ())], dtype=np.int64)
    families = [identifiers.families.get(_family(name), -2) for name in asked]
    same = np.isin(identifiers.family[identifiers.subject], families)
    meant = np.isin(identifiers.subject, entities) | np.isin(identifiers.linked, entities)
    foreign: NDArray[np.bool_] = same & ~meant
    return foreign


def likeness(meaning: NDArray[np.float32], observed_at: NDArray[np.int64], at: int) -> NDArray[np.float32]:
    """Return the dot products of [temporal ; semantic] vectors with that of a question asked at `at`.

    A fact of the same instant keeps (1 - w) of its cosine; the further away in time, the less it keeps. The
    constant w that equal instants share is taken off, so that unrelated texts stay near 0.

    Args:
        meaning: float32[n], cosines of the semantic parts; NaN stays NaN.
        observed_at: int64[n] microseconds.
        at: microseconds.
    """
    one = np.ones((len(meaning), 1), dtype=np.float32)
    facts = join(encode_times(observed_at), np.nan_to_num(meaning)[:, None] * one, _TEMPORAL_WEIGHT)
    asked = join(encode_times(np.asarray([at])), one[:1], _TEMPORAL_WEIGHT)[0]
    joined: NDArray[np.float32] = facts @ asked - np.float32(_TEMPORAL_WEIGHT)
    return np.where(np.isnan(meaning), np.float32(np.nan), joined)
