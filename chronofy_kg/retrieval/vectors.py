"""Vectors of texts: a cache on disk, so that no text is embedded twice, and an index in memory, for cosines.

The cache is a folder of append-only segments. Every process writes segments of its own, so that no lock is
needed; a record that a crash left half written is ignored. Which texts are embedded is decided by
`chronofy_kg.retrieval.documents`.
"""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.retrieval.embed import Embedder

__all__ = ["CachedEmbedder", "EmbeddingCache", "VectorIndex"]

_MAGIC = b"CKGVEC1\n"
_KEY_BYTES = 32
# Rows turned to float32 at a time: 1.5 MB at 384 dimensions, which stays in the processor's cache.
_BLOCK = 1024
# numpy turns float16 to float32 several times slower than it multiplies. Moved by 13 bits, with the copies of
# the sign bit masked out, a finite float16 is bit for bit a float32 that is 2 ** -112 times as large.
_HALF_MASK = np.int32(-0x7000_0001)
_HALF_SCALE = np.float32(2.0**112)


class EmbeddingCache:
    """Vectors on disk, by sha256 of model id and text.

    Safe between threads, and between processes that share the folder: each sees what the others have written
    when it next misses. A segment is a header and records of one size: key, float16 vector, CRC-32.

    Args:
        folder: made if it is missing.
        model: id of model and weights.
        dimensions: length of a vector.
    """

    def __init__(self, folder: Path, model: str, dimensions: int) -> None:
        name = hashlib.sha256(model.encode()).hexdigest()[:16]
        self._folder = Path(folder) / f"{name}-{dimensions}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._model, self.dimensions = model, dimensions
        self._record = np.dtype([("key", "V32"), ("vector", "<f2", (dimensions,)), ("crc", "<u4")])
        self._where: dict[bytes, tuple[Path, int]] = {}
        self._read_until: dict[Path, int] = {}
        self._mine: Path | None = None
        self._writer = os.getpid()
        self._lock = threading.Lock()
        self._refresh()

    def __len__(self) -> int:
        return len(self._where)

    def key(self, text: str) -> bytes:
        """Return the 32-byte key of a text."""
        return hashlib.sha256(f"{self._model}\x00{text}".encode("utf-8", "surrogatepass")).digest()

    def get(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the vectors float32[n, d] of texts, zero where missing, and bool[n]: which were found."""
        keys = [self.key(text) for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        found = np.zeros(len(texts), dtype=np.bool_)
        with self._lock:
            if any(key not in self._where for key in keys):
                self._refresh()
            wanted: dict[Path, list[tuple[int, int]]] = {}
            for row, key in enumerate(keys):
                place = self._where.get(key)
                if place is not None:
                    wanted.setdefault(place[0], []).append((row, place[1]))
        for path, pairs in wanted.items():
            rows, records = np.asarray(pairs, dtype=np.int64).T
            stored = np.memmap(path, dtype=np.uint8, mode="r")
            size = self._record.itemsize
            whole = (len(stored) - len(_MAGIC)) // size
            body = stored[len(_MAGIC) : len(_MAGIC) + whole * size].view(self._record)
            vectors[rows] = body["vector"][records]
            found[rows] = True
        return vectors, found

    def put(self, texts: Sequence[str], vectors: NDArray[np.floating]) -> None:
        """Append the vectors of texts that are not there yet, and write them through to the disk.

        Raises:
            ValueError: the shape is not (n, d), or a vector holds a number that is not finite.
        """
        array = np.asarray(vectors)
        if array.shape != (len(texts), self.dimensions):
            raise ValueError(f"{len(texts)} texts need vectors of shape ({len(texts)}, {self.dimensions})")
        if not np.all(np.isfinite(array)):
            raise ValueError("a vector holds NaN or infinity")
        keys = [self.key(text) for text in texts]
        with self._lock:
            new = {key: row for row, key in enumerate(keys) if key not in self._where}
            if not new:
                return
            records = np.zeros(len(new), dtype=self._record)
            records["key"] = np.frombuffer(b"".join(new), dtype="V32")
            records["vector"] = array[list(new.values())]
            records["crc"] = self._checksums(records)
            self._append(records.tobytes())
            self._refresh()

    def _append(self, body: bytes) -> None:
        # A forked process must not write into its parent's segment.
        if self._mine is None or self._writer != os.getpid():
            self._mine, self._writer = self._new_segment(), os.getpid()
        with self._mine.open("ab") as stream:
            # After a write that failed half-way (a full disk) records would no longer line up.
            if (stream.tell() - len(_MAGIC)) % self._record.itemsize:
                self._mine = self._new_segment()
                with self._mine.open("ab") as fresh:
                    _write_through(fresh.fileno(), body)
                return
            _write_through(stream.fileno(), body)

    def _new_segment(self) -> Path:
        """Make the first free segment; making it fails where another process was faster."""
        number = len(list(self._folder.glob("*.vec")))
        while True:
            path = self._folder / f"{number:06d}.vec"
            try:
                with path.open("xb") as stream:
                    stream.write(_MAGIC)
            except FileExistsError:
                number += 1
            else:
                return path

    def _refresh(self) -> None:
        """Read the whole records that were added to any segment since the last time."""
        size = self._record.itemsize
        for path in sorted(self._folder.glob("*.vec")):
            start = self._read_until.get(path, len(_MAGIC))
            if path.stat().st_size < start + size:
                continue
            with path.open("rb") as stream:
                if stream.read(len(_MAGIC)) != _MAGIC:
                    continue
                stream.seek(start)
                body = stream.read()
            records = np.frombuffer(body, dtype=self._record, count=len(body) // size)
            first = (start - len(_MAGIC)) // size
            whole = self._checksums(records) == records["crc"]
            for row in np.flatnonzero(whole):
                self._where.setdefault(records["key"][row].tobytes(), (path, first + int(row)))
            self._read_until[path] = start + len(records) * size

    def _checksums(self, records: NDArray[np.void]) -> NDArray[np.uint32]:
        body, size = records.tobytes(), self._record.itemsize
        ends = range(size - 4, len(body), size)
        sums = [zlib.crc32(body[end - size + 4 : end]) for end in ends]
        return np.asarray(sums, dtype=np.uint32)


def _write_through(descriptor: int, body: bytes) -> None:
    view = memoryview(body)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


class CachedEmbedder:
    """An embedder that asks the cache first; each distinct text is embedded once.

    Args:
        inner: the model.
        cache: a cache for the same model and dimensions.
        batch: texts that are embedded between two writes to the cache.
    """

    def __init__(self, inner: Embedder, cache: EmbeddingCache, batch: int = 256) -> None:
        self._inner, self._cache, self._batch = inner, cache, batch

    @property
    def model(self) -> str:
        """Id of the model behind the cache."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._inner.dimensions

    def known(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return what is there without the model: vectors float32[n, d] and the mask bool[n] of the found."""
        return self._cache.get(texts)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, d]; texts that are not in the cache are embedded and stored, batch by batch."""
        vectors, found = self._cache.get(texts)
        absent: list[int] = np.flatnonzero(~found).tolist()
        missing = list(dict.fromkeys(texts[row] for row in absent))
        if not missing:
            return vectors
        fresh: dict[str, NDArray[np.float32]] = {}
        for low in range(0, len(missing), self._batch):
            part = missing[low : low + self._batch]
            encoded = self._inner.encode(part)
            self._cache.put(part, encoded)
            fresh.update(zip(part, encoded.astype(np.float16).astype(np.float32), strict=True))
        for row in absent:
            vectors[row] = fresh[texts[row]]
        return vectors


class VectorIndex:
    """Vectors in memory as float16, compared by cosine in float32, block by block.

    Rows that are not ready hold zeros, and have the cosine 0 to everything. One thread may write while others
    read: a reader sees the rows that were there when it began. Exact: every row is compared.

    Args:
        dimensions: length of a vector.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._state: tuple[NDArray[np.float16], int] = (np.zeros((0, dimensions), dtype=np.float16), 0)

    def __len__(self) -> int:
        return self._state[1]

    def add(self, vectors: NDArray[np.floating]) -> range:
        """Add unit or zero rows and return their numbers.

        Raises:
            ValueError: the shape is not (n, d), or a number is not finite.
        """
        array = self._checked(vectors)
        matrix, count = self._state
        total = count + len(array)
        if total > len(matrix):
            grown = np.zeros((max(total, 2 * len(matrix)), self.dimensions), dtype=np.float16)
            grown[:count] = matrix[:count]
            matrix = grown
        matrix[count:total] = array
        self._state = (matrix, total)
        return range(count, total)

    def set(self, rows: NDArray[np.int64], vectors: NDArray[np.floating]) -> None:
        """Replace rows, e.g. zeros by vectors that became ready."""
        array, (matrix, count) = self._checked(vectors), self._state
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < count:
            raise ValueError(f"a row outside 0 to {count - 1}")
        matrix[rows] = array

    def cosines(self, queries: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return float32[m, n]: the cosine of each query (unit rows, float[m, d]) to each row."""
        wanted = np.ascontiguousarray(self._checked(queries).astype(np.float32).T) * _HALF_SCALE
        matrix, count = self._state
        out = np.empty((count, wanted.shape[1]), dtype=np.float32)
        block = np.empty((_BLOCK, self.dimensions), dtype=np.int32)
        for low in range(0, count, _BLOCK):
            high = min(low + _BLOCK, count)
            bits = block[: high - low]
            np.copyto(bits, matrix[low:high].view(np.int16))
            np.left_shift(bits, 13, out=bits)
            np.bitwise_and(bits, _HALF_MASK, out=bits)
            np.matmul(bits.view(np.float32), wanted, out=out[low:high])
        return out.T

    def top(
        self, queries: NDArray[np.floating], k: int, keep: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the k nearest rows of each query, best first; equal cosines by row number.

        Args:
            queries: float[m, d], unit rows.
            k: how many; fewer come back where fewer rows are kept.
            keep: bool[n], the rows that may come back; None for all.

        Returns:
            cosines float32[m, k'] and rows int64[m, k'].
        """
        cosines = self.cosines(queries)
        rows = np.arange(cosines.shape[1]) if keep is None else np.flatnonzero(keep[: cosines.shape[1]])
        k = max(0, min(k, len(rows)))
        best = np.empty((len(cosines), k), dtype=np.int64)
        for query, row in enumerate(cosines):
            best[query] = rows[_largest(row[rows], k)]
        return np.take_along_axis(cosines, best, axis=1), best

    def _checked(self, vectors: NDArray[np.floating]) -> NDArray[np.floating]:
        array = np.asarray(vectors)
        if array.ndim != 2 or array.shape[1] != self.dimensions:
            raise ValueError(f"vectors must have the shape (n, {self.dimensions}), not {array.shape}")
        if not np.all(np.isfinite(array)):
            raise ValueError("a vector holds NaN or infinity")
        if np.abs(array).max(initial=0.0) > 1.01:
            raise ValueError("vectors must have unit length, or be zero")
        return array


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the places of the k largest values, largest first; of equal ones the first."""
    if not k:
        return np.zeros(0, dtype=np.int64)
    least = np.partition(values, len(values) - k)[len(values) - k]
    places = np.flatnonzero(values >= least)
    return places[np.argsort(-values[places], kind="stable")[:k]]
