"""The searchable texts of a FactTable: words at once, vectors as they become ready.

One corpus follows one table. `update` reads the words of what was added; `embed` gives vectors to texts that
have none yet, each distinct text once, and may run in the background: questions are answered meanwhile by
words and graph. Ranking is `chronofy_kg.retrieval.rank`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
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
from chronofy_kg.retrieval.tokens import document_terms, query_units
from chronofy_kg.retrieval.vectors import CachedEmbedder, EmbeddingCache, VectorIndex

__all__ = ["Corpus", "Found", "State"]

Floats = NDArray[np.float64]
State = Literal["off", "missing", "loading", "ready"]
_BATCH = 64
# Share of the temporal part in [temporal ; semantic]: enough to part two readings of one text by their age.
_TEMPORAL_WEIGHT = 0.1
# A question asks for a predicate if it says at least this share of its words.
_LEAST_SHARE = 0.3


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
    """

    coverage: Floats
    bm25: Floats
    named: Floats | None
    meaning: NDArray[np.float32] | None
    entities: Floats
    entity_codes: NDArray[np.int64]
    asked: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class _Index:
    table: FactTable
    texts: Documents
    words: LexicalIndex
    names: NameIndex
    entity_codes: NDArray[np.int64]
    predicate: NDArray[np.int64]
    predicate_terms: tuple[frozenset[str], ...]


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
            if self._index is not None and self._index.table is table:
                return
            texts = documents(table)
            canonical = table.pool.canonical
            codes = np.unique(np.concatenate([canonical(table.subject), canonical(table.object)]))
            codes = codes[codes >= 0].astype(np.int64)
            predicates, predicate = np.unique(canonical(table.predicate), return_inverse=True)
            self._index = _Index(
                table=table,
                texts=texts,
                words=LexicalIndex.build(texts.pieces, texts.parts, texts.vector_of),
                names=NameIndex([table.pool[code] for code in codes.tolist()]),
                entity_codes=codes,
                predicate=predicate,
                predicate_terms=tuple(
                    frozenset(document_terms(predicate_words(table.pool[code])))
                    for code in predicates.tolist()
                ),
            )
            if self._model is not None:
                embedder = self._cached()
                vectors, self._known = embedder.known(texts.texts)
                self._vectors = VectorIndex(embedder.dimensions)
                self._vectors.add(vectors)

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

    def search(self, question: str) -> Found:
        """Score every row of the table by a question; `update` must have been called."""
        with self._lock:
            index, vectors, known = self._index, self._vectors, self._known.copy()
        if index is None:
            raise RuntimeError("the corpus follows no table yet")
        mentions = index.names.find(question)
        matches = index.words.score(question, mentions.terms)
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
            asked=_asked(index, question),
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


def _asked(index: _Index, question: str) -> NDArray[np.bool_] | None:
    """Return bool[n]: whether a row's predicate is the one of which the question says most, if it says any.

    Within one entity the predicate tells its facts apart, however common the word is in the corpus.
    """
    said = {term for unit in query_units(question) for term in (unit.whole, *unit.parts)}
    share = np.asarray([len(said & terms) / max(len(terms), 1) for terms in index.predicate_terms])
    best = float(share.max(initial=0.0))
    if best < _LEAST_SHARE:
        return None
    asked: NDArray[np.bool_] = (share >= best * (1 - 1e-9))[index.predicate]
    return asked


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
