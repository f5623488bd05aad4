"""Word search over texts: BM25, and the share of the question that a text covers, weighted by rarity.

Coverage is the better gate for relevance: it says how much of what was asked a fact speaks of, and does not
grow with repetition. How text becomes terms is in `chronofy_kg.retrieval.tokens`; how scores are combined, in
`chronofy_kg.retrieval.rank`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from chronofy_kg.retrieval.tokens import Unit, document_terms, name_terms, query_units

__all__ = ["LexicalIndex", "Matches", "Mentions", "NameIndex"]

_K1 = 1.2
_B = 0.75
# A name decides more than a word of the same rarity: a fact about another CVE does not answer the question.
_NAME_WEIGHT = 2.0
# A plain word that no text holds ("prescribed") says less than a name that none holds.
_UNKNOWN_WEIGHT = 0.5
_LEAST_WEIGHT = 0.05


@dataclass(frozen=True, slots=True)
class Matches:
    """What a question matches in n texts.

    Attributes:
        bm25: float64[n], >= 0.
        coverage: float64[n] in [0, 1], the weighted share of the question that each text covers.
        asked: the terms that the question was read as.
        unknown: those of them that no text holds.
        named: float64[n] in [0, 1], coverage of only that part of the question that names entities or
            gives identifiers, known or not; None where there is no such part.
    """

    bm25: NDArray[np.float64]
    coverage: NDArray[np.float64]
    asked: tuple[str, ...]
    unknown: tuple[str, ...]
    named: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class Mentions:
    """Which of n names a question mentions.

    Attributes:
        weights: float64[n], the summed idf of the terms of each name of which the question says every term,
            else 0: the seeds of a walk.
        terms: the terms of those names.
    """

    weights: NDArray[np.float64]
    terms: frozenset[str]


class NameIndex:
    """Finds the names that a question mentions: the seeds of a walk.

    Args:
        names: n names of entities. A name such as `drug:metformin` is also found without its prefix;
            an identifier such as `CVE-2024-1234` or `patient:17` must be said as it is.
    """

    __slots__ = ("_counts", "_holders", "_lengths", "_terms")

    def __init__(self, names: Sequence[str]) -> None:
        self._terms: dict[str, int] = {}
        codes = [[self._terms.setdefault(t, len(self._terms)) for t in name_terms(name)] for name in names]
        flat = np.asarray([code for row in codes for code in row], dtype=np.int64)
        self._lengths = np.asarray([len(row) for row in codes], dtype=np.int64)
        owners = np.repeat(np.arange(len(names)), self._lengths)
        shape = (len(names), len(self._terms))
        self._holders = sparse.csc_array((np.ones(len(flat)), (owners, flat)), shape=shape)
        self._counts = np.bincount(flat, minlength=len(self._terms)).astype(np.int64)

    def find(self, question: str) -> Mentions:
        """Return the names that a question mentions; "Fortinet FortiNAC" outweighs "Fortinet".

        >>> mentions = NameIndex(["drug:metformin", "drug:insulin"]).find("Who takes metformin?")
        >>> mentions.weights.round(2).tolist(), sorted(mentions.terms)
        ([0.69, 0.0], ['metformin'])
        """
        said: dict[str, None] = {}
        for unit in query_units(question):
            said.update(dict.fromkeys(_searched(unit)))
        known = [(term, self._terms[term]) for term in said if term in self._terms]
        found, weights = np.zeros(len(self._lengths)), np.zeros(len(self._lengths))
        for _, code in known:
            rows = self._rows(code)
            found[rows] += 1.0
            weights[rows] += float(_idf(int(self._counts[code]), len(self._lengths)))
        whole = (self._lengths > 0) & (found >= self._lengths)
        terms = frozenset(term for term, code in known if whole[self._rows(code)].any())
        return Mentions(np.where(whole, weights, 0.0), terms)

    def _rows(self, code: int) -> NDArray[np.int32]:
        rows: NDArray[np.int32] = self._holders.indices[
            self._holders.indptr[code] : self._holders.indptr[code + 1]
        ]
        return rows


class LexicalIndex:
    """Terms of n texts; made by `build`, never changed after."""

    __slots__ = ("_columns", "_counts", "_groups", "_terms", "texts")

    def __init__(
        self,
        terms: dict[str, int],
        weights: sparse.csc_array,
        counts: NDArray[np.int64],
        groups: int,
    ) -> None:
        self._terms, self._columns, self._counts, self._groups = terms, weights, counts, groups
        self.texts: int = weights.shape[0]

    @staticmethod
    def build(
        texts: Sequence[str],
        parts: NDArray[np.int64] | None = None,
        groups: NDArray[np.int64] | None = None,
    ) -> LexicalIndex:
        """Read texts and count their terms.

        Args:
            texts: the distinct pieces of text; each is read once.
            parts: int64[n, k], the pieces that each of n documents consists of, -1 for none. Without it
                every text is a document.
            groups: int64[n]. Documents of one group, such as the readings of one series, count once in how
                rare a term is. Without it each counts.
        """
        terms: dict[str, int] = {}
        pieces = _piece_terms(texts, terms)
        frequency = pieces if parts is None else _compose(parts, len(texts)) @ pieces
        frequency = sparse.csr_array(frequency)
        frequency.sum_duplicates()
        counts, total = _document_counts(frequency, groups)
        return LexicalIndex(terms, _bm25_weights(frequency, counts, total), counts, total)

    def score(self, question: str, names: frozenset[str] = frozenset()) -> Matches:
        """Score every text by a question; any characters are safe, none is an operator.

        Args:
            question: what is asked.
            names: terms of the entities that it mentions, from `NameIndex.find`.

        BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, eq. 3.15, k1 1.2, b 0.75) with
        idf(t) = ln(1 + (N - n_t + 0.5) / (n_t + 0.5)); coverage = sum of the idf of what is asked and found
        over the sum of the idf of what is asked; identifiers count double, unknown plain words half.

        >>> index = LexicalIndex.build(["US unemployment_rate 3.7", "US gdp_growth 2.1", "DE gdp_growth 0.3"])
        >>> index.score("What was US unemployment?").coverage.round(2).tolist()
        [1.0, 0.32, 0.0]
        """
        units = [unit for unit in query_units(question) if not unit.number or self._count(unit.whole)]
        bm25, covered, named = np.zeros(self.texts), np.zeros(self.texts), np.zeros(self.texts)
        whole = whole_named = 0.0
        for unit in units:
            weight = self._weight(unit)
            whole += weight
            found = weight * self._presence(unit)
            covered += found
            if unit.strict or names.intersection(_searched(unit)):
                whole_named += weight
                named += found
        for term in dict.fromkeys(term for unit in units for term in _searched(unit)):
            rows, scores = self._column(term)
            bm25[rows] += scores
        coverage = np.minimum(covered / whole, 1.0) if whole > 0 else covered
        unknown = tuple(unit.whole for unit in units if not self._known(unit))
        asked = tuple(unit.whole for unit in units)
        return Matches(
            bm25, coverage, asked, unknown, np.minimum(named / whole_named, 1.0) if whole_named > 0 else None
        )

    def _presence(self, unit: Unit) -> NDArray[np.float64]:
        """Return float64[n] in [0, 1]: whether each text holds a unit, or what share of its parts."""
        present = np.zeros(self.texts)
        if unit.parts and not unit.strict:
            idf = [max(float(self._idf(self._count(part))), _LEAST_WEIGHT) for part in unit.parts]
            for part, share in zip(unit.parts, idf, strict=True):
                present[self._column(part)[0]] += share / sum(idf)
        present[self._column(unit.whole)[0]] = 1.0
        return np.minimum(present, 1.0)

    def _weight(self, unit: Unit) -> float:
        """Return how much a unit counts in coverage."""
        if self._count(unit.whole) or unit.strict or not unit.parts:
            weight = float(self._idf(self._count(unit.whole)))
        else:
            weight = max(float(self._idf(self._count(part))) for part in unit.parts)
        if unit.strict:
            weight *= _NAME_WEIGHT
        elif not unit.name and not self._known(unit):
            weight *= _UNKNOWN_WEIGHT
        return max(weight, _LEAST_WEIGHT)

    def _known(self, unit: Unit) -> bool:
        parts = () if unit.strict else unit.parts
        return any(self._count(term) for term in (unit.whole, *parts))

    def _count(self, term: str) -> int:
        code = self._terms.get(term)
        return 0 if code is None else int(self._counts[code])

    def _idf(self, counts: NDArray[np.int64] | int) -> NDArray[np.float64]:
        return _idf(counts, self._groups)

    def _column(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the rows that hold a term, and what it adds to their BM25."""
        code = self._terms.get(term)
        columns = self._columns
        low, high = (0, 0) if code is None else (columns.indptr[code], columns.indptr[code + 1])
        return columns.indices[low:high], columns.data[low:high]


def _searched(unit: Unit) -> tuple[str, ...]:
    return (unit.whole,) if unit.strict else (unit.whole, *unit.parts)


def _piece_terms(texts: Sequence[str], terms: dict[str, int]) -> sparse.csr_array:
    """Return the pieces x terms matrix of counts, and enter new terms in the vocabulary."""
    codes: list[int] = []
    ends = [0]
    for text in texts:
        codes.extend(terms.setdefault(term, len(terms)) for term in document_terms(text))
        ends.append(len(codes))
    matrix = sparse.csr_array(
        (np.ones(len(codes)), np.asarray(codes, dtype=np.int64), np.asarray(ends, dtype=np.int64)),
        shape=(len(texts), len(terms)),
    )
    matrix.sum_duplicates()
    return matrix


def _compose(parts: NDArray[np.int64], pieces: int) -> sparse.csr_array:
    """Return the documents x pieces matrix of how often a document holds each piece."""
    rows, columns = np.nonzero(parts >= 0)
    shape = (len(parts), pieces)
    return sparse.csr_array((np.ones(len(rows)), (rows, parts[rows, columns])), shape=shape)


def _document_counts(
    frequency: sparse.csr_array, groups: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], int]:
    """Return in how many groups of documents each term occurs, and the number of groups."""
    documents, width = frequency.shape
    if groups is None:
        return np.bincount(frequency.indices, minlength=width).astype(np.int64), documents
    numbers, group = np.unique(groups, return_inverse=True)
    pairs = np.repeat(group, np.diff(frequency.indptr)) * np.int64(width) + frequency.indices
    counted = np.bincount(np.unique(pairs) % max(width, 1), minlength=width)
    return counted.astype(np.int64), len(numbers)


def _idf(counts: NDArray[np.int64] | int, total: int) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.log1p((total - np.asarray(counts) + 0.5) / (np.asarray(counts) + 0.5))
    return weights


def _bm25_weights(frequency: sparse.csr_array, counts: NDArray[np.int64], total: int) -> sparse.csc_array:
    """Return documents x terms: what each term adds to the BM25 of each document."""
    length = np.asarray(frequency.sum(axis=1)).ravel()
    mean = float(length.mean()) if len(length) else 0.0
    norm = _K1 * (1.0 - _B + _B * length / mean) if mean > 0 else np.full(len(length), _K1)
    each = np.repeat(norm, np.diff(frequency.indptr))
    data = _idf(counts, total)[frequency.indices] * frequency.data * (_K1 + 1.0) / (frequency.data + each)
    return sparse.csc_array(sparse.csr_array((data, frequency.indices, frequency.indptr), frequency.shape))
