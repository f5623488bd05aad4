"""A FactTable as one stream of bytes and back, bit for bit. Pure: streams come from the caller.

It is a cache beside the store, not a form of exchange (that is `chronofy_kg.facts.writers`): columns as they
lie in memory, the strings of the pool, a checksum at the end. What cannot be read for any reason (damaged,
of another version, of a machine with another byte order) is no table, and never an error.
"""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.table import FactTable, StringPool

__all__ = ["read_archive", "write_archive"]

_MAGIC = b"chronofy-kg facts 1\n"
_DIGEST = 32
_LENGTH = 8
_MOST_HEADER = 1 << 20


def write_archive(table: FactTable, notes: dict[str, Any], stream: IO[bytes]) -> None:
    """Write a table and some notes.

    Args:
        table: any table.
        notes: a JSON map that `read_archive` gives back.
        stream: where to write.
    """
    digest = hashlib.blake2b(digest_size=_DIGEST)

    def put(part: bytes | NDArray[Any]) -> None:
        data: bytes | memoryview = part if isinstance(part, bytes) else _bytes_of(part)
        digest.update(data)
        stream.write(data)

    # The pool is taken once: it may grow while another thread adds to it.
    strings = table.pool.strings[:]
    codes = np.arange(len(strings), dtype=np.int32)
    text = "".join(strings).encode("utf-8", "surrogatepass")
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    columns = table.columns()
    head = {
        "notes": notes,
        "rows": len(table),
        "strings": len(strings),
        "bytes": len(text),
        "columns": [[name, column.dtype.str] for name, column in columns.items()],
    }
    header = json.dumps(head).encode()
    put(_MAGIC)
    put(len(header).to_bytes(_LENGTH, "little"))
    put(header)
    for column in columns.values():
        put(column)
    put(table.pool.canonical(codes))
    put(lengths)
    put(text)
    stream.write(digest.digest())


def _bytes_of(column: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(column).reshape(-1).view(np.uint8).data


def read_archive(stream: IO[bytes]) -> tuple[FactTable, dict[str, Any]] | None:
    """Return the table and the notes of a stream, None if it does not hold a whole table of this version."""
    try:
        return _Reader(stream).read()
    except (ValueError, KeyError, TypeError, OverflowError, MemoryError):
        # UnicodeDecodeError and JSONDecodeError are ValueErrors.
        return None


class _Reader:
    """Reads the parts of an archive in order and keeps the checksum; ValueError where a part is missing."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.digest = hashlib.blake2b(digest_size=_DIGEST)

    def read(self) -> tuple[FactTable, dict[str, Any]]:
        if self.take(len(_MAGIC)).tobytes() != _MAGIC:
            raise ValueError("another format")
        size = int.from_bytes(self.take(_LENGTH).tobytes(), "little")
        if size > _MOST_HEADER:
            raise ValueError("no header")
        head = json.loads(self.take(size).tobytes())
        model = FactTable.empty().columns()
        if head["columns"] != [[name, column.dtype.str] for name, column in model.items()]:
            raise ValueError("other columns")
        rows, count = head["rows"], head["strings"]
        self._check_size(model, rows, count, head["bytes"])
        columns = {name: self.column(column, rows) for name, column in model.items()}
        canonical = self.take(count * 4).view(np.int32)
        lengths = self.take(count * 8).view(np.int64)
        raw = self.take(head["bytes"])
        if self.stream.read(_DIGEST + 1) != self.digest.digest():
            raise ValueError("damaged")
        pool = StringPool.restored(_strings(raw, lengths), canonical)
        return FactTable(pool=pool, **columns), head["notes"]

    def take(self, size: int) -> NDArray[np.uint8]:
        part = np.empty(size, dtype=np.uint8)
        if self.stream.readinto(part.data) != size:  # type: ignore[attr-defined]
            raise ValueError("cut off")
        self.digest.update(part.data)
        return part

    def column(self, model: NDArray[Any], rows: int) -> Any:
        shape = (rows, *model.shape[1:])
        size = int(np.prod(shape)) * model.dtype.itemsize
        return self.take(size).view(model.dtype).reshape(shape)

    def _check_size(self, model: dict[str, NDArray[Any]], rows: int, strings: int, text: int) -> None:
        """Refuse sizes that the stream does not have, before room is made for them."""
        width = sum(int(np.prod(column.shape[1:])) * column.dtype.itemsize for column in model.values())
        here = self.stream.tell()
        end = self.stream.seek(0, 2)
        self.stream.seek(here)
        if min(rows, strings, text) < 0 or end - here != rows * width + strings * 12 + text + _DIGEST:
            raise ValueError("another size")


def _strings(raw: NDArray[np.uint8], lengths: NDArray[np.int64]) -> list[str]:
    text = raw.tobytes().decode("utf-8", "surrogatepass")
    borders = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)]).tolist()
    if borders[-1] != len(text):
        raise ValueError("other strings")
    return [text[low:high] for low, high in pairwise(borders)]
