"""The text of a fact as search sees it: one for words, one for vectors, each distinct text once.

Words see everything that was stated. Vectors see meaning and no bare numbers, so that a thousand readings of
one series share one vector and are embedded once. Reading the words is in `chronofy_kg.retrieval.lexical`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.model import ValueKind
from chronofy_kg.facts.table import FactTable, StringPool, show_value

__all__ = ["Documents", "documents", "predicate_words"]

Codes = NDArray[np.int64]
_SPLIT = re.compile(r"[_\W]+|(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Documents:
    """Texts of n facts.

    Attributes:
        pieces: distinct pieces of text for words.
        parts: int64[n, 6], the pieces of each fact: subject, predicate, object, value, unit, content;
            -1 for none. For `LexicalIndex.build(pieces, parts, vector_of)`.
        texts: distinct texts for vectors.
        vector_of: int64[n], which of `texts` stands for each fact.
    """

    pieces: tuple[str, ...]
    parts: Codes
    texts: tuple[str, ...]
    vector_of: Codes

    def words(self, row: int) -> str:
        """Return the whole text of a fact for words, as one line."""
        return " ".join(self.pieces[part] for part in self.parts[row] if part >= 0)


def documents(table: FactTable, rows: NDArray[np.int64] | None = None) -> Documents:
    """Return the texts of the facts that rows of a table state.

    Args:
        table: assertions.
        rows: int64[n], the rows of interest, e.g. `History.winner`; None for all.

    Returns:
        Texts in the order of `rows`.
    """
    part = table if rows is None else table.take(rows)
    pool = table.pool
    strings: list[Codes] = [
        column.astype(np.int64)
        for column in (part.subject, part.predicate, part.object, part.text, part.unit, part.content)
    ]
    subject, predicate, linked, text, unit, content = strings
    values, value_of = _numbers(part)
    text = np.where(value_of >= 0, len(pool) + value_of, text)
    columns = np.stack([subject, predicate, linked, text, unit, content], axis=1).reshape(len(part), 6)
    used, parts = np.unique(columns, return_inverse=True)
    has_absent = len(used) > 0 and used[0] < 0
    pieces = tuple(_piece(int(code), pool, values) for code in used[int(has_absent) :])
    spoken = np.where(value_of >= 0, -1, text)
    texts, vector_of = _vector_texts(pool, np.stack([subject, predicate, linked, spoken, content], axis=1))
    return Documents(pieces, parts.reshape(columns.shape) - int(has_absent), texts, vector_of)


def predicate_words(predicate: str) -> str:
    """Return a predicate as words.

    >>> predicate_words("unemployment_rate"), predicate_words("isTreatedWith")
    ('unemployment rate', 'is Treated With')
    """
    return " ".join(word for word in _SPLIT.split(predicate) if word)


def _numbers(part: FactTable) -> tuple[Sequence[str], Codes]:
    """Return the distinct values that are no text, as people write them, and int64[n]: which, or -1."""
    spoken = (part.kind != ValueKind.OBJECT) & (part.kind != ValueKind.TEXT)
    value_of = np.full(len(part), -1, dtype=np.int64)
    boolean = part.kind[spoken] == ValueKind.BOOLEAN
    keys = np.stack([boolean.astype(np.float64), part.number[spoken] + 0.0], axis=1)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    value_of[spoken] = inverse.reshape(-1)
    shown = [show_value(bool(number) if flag else float(number)) for flag, number in distinct]
    return shown, value_of


def _piece(code: int, pool: StringPool, values: Sequence[str]) -> str:
    return pool[code] if code < len(pool) else values[code - len(pool)]


def _vector_texts(pool: StringPool, columns: Codes) -> tuple[tuple[str, ...], Codes]:
    """Return the distinct texts of (subject, predicate, object, text, content) codes, and int64[n]."""
    stated = columns[:, 4] >= 0
    columns[stated, :4] = -1
    distinct, inverse = np.unique(columns, axis=0, return_inverse=True)
    numbers: dict[str, int] = {}
    number_of = np.empty(len(distinct), dtype=np.int64)
    for row, (subject, predicate, linked, text, content) in enumerate(distinct.tolist()):
        if content >= 0:
            shown = pool[content]
        else:
            words = (pool.get(subject), predicate_words(pool[predicate]), pool.get(linked), pool.get(text))
            shown = " ".join(word for word in words if word)
        number_of[row] = numbers.setdefault(shown, len(numbers))
    return tuple(numbers), number_of[inverse.reshape(-1)]
