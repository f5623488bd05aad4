"""The Cypher of this package, read from ``cypher/``, and how long lists of parameters are cut into pieces.

No statement is ever put together from data: a file's text goes to the engine as it is, values are parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from chronofy_kg.errors import InputError
from chronofy_kg.resources import data_text
from chronofy_kg.store.rows import Columns

__all__ = ["MAX_ROWS", "chunks", "statement"]

MAX_ROWS = 2_500
# A Bolt message of the embedded engine may have 16 MB; a value that is no text takes at most 9 bytes.
_MAX_BYTES = 4_000_000
_LARGEST_BYTES = 15_000_000
_VALUE_BYTES = 9
_PLAIN = {int, float, bool, type(None)}
_TEXTS = {str, type(None)}


@lru_cache(maxsize=256)
def statement(name: str) -> str:
    """Return the text of ``cypher/store/NAME.cypher`` without its comments at the top."""
    lines = data_text("cypher", "store", name + ".cypher").splitlines()
    return "\n".join(line for line in lines if not line.startswith("//"))


def chunks(columns: Columns) -> Iterator[dict[str, list[Any] | None]]:
    """Cut columns of one length into pieces that fit into a message.

    Raises:
        InputError: one row alone is too large.
    """
    count = len(next(iter(columns.values())))
    for low in range(0, count, MAX_ROWS):
        high = min(low + MAX_ROWS, count)
        if sum(_total(column[low:high]) for column in columns.values()) <= _MAX_BYTES:
            yield _piece(columns, low, high)
        else:
            yield from _small_pieces(columns, low, high)


def _small_pieces(columns: Columns, begin: int, end: int) -> Iterator[dict[str, list[Any] | None]]:
    """Cut rows that are too many bytes for one message."""
    size = 0
    for row in range(begin, end):
        weight = sum(_weight(column[row]) for column in columns.values())
        if weight > _LARGEST_BYTES:
            raise InputError(f"a row of {weight} bytes is too large: the store takes {_LARGEST_BYTES}")
        if row > begin and size + weight > _MAX_BYTES:
            yield _piece(columns, begin, row)
            begin, size = row, 0
        size += weight
    yield _piece(columns, begin, end)


def _piece(columns: Columns, begin: int, end: int) -> dict[str, list[Any] | None]:
    """Return some rows; a column without any value is sent as null, since ``null[i]`` is null too."""
    piece = {name: column[begin:end] for name, column in columns.items()}
    return {name: column if any(v is not None for v in column) else None for name, column in piece.items()}


def _total(column: list[Any]) -> int:
    """Return the weight of a column, or somewhat more, mostly without a look at each value."""
    kinds = set(map(type, column))
    if kinds <= _PLAIN:
        return _VALUE_BYTES * len(column)
    if kinds <= _TEXTS:
        return _VALUE_BYTES * len(column) + _weight("".join(filter(None, column)))
    return sum(map(_weight, column))


def _weight(value: Any) -> int:
    if isinstance(value, str):
        # Cheap and never too small: a character takes at most four bytes in UTF-8.
        return _VALUE_BYTES + len(value) * (1 if value.isascii() else 4)
    if isinstance(value, list):
        return _VALUE_BYTES + sum(_weight(item) for item in value)
    return _VALUE_BYTES
