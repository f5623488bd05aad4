"""Parquet: the fields of an assertion as typed columns, one row group a part, through pyarrow.

A value is in `value_number` or `value_text`; `value_kind` says what it is. Times are timestamps in UTC with
microseconds, absent where open; `meta` is JSON text. Imported only when such a file is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import OPEN_US
from chronofy_kg.facts.writers.rows import KINDS

__all__ = ["write_parquet"]

_GROUP = 65_536
_TEXTS = ("subject", "predicate", "object", "unit", "datatype", "lang", "type", "content", "meta", "source")
_TIMES = ("valid_from", "valid_to", "observed_at", "recorded_at", "retired_at")
_INSTANT = pa.timestamp("us", tz="UTC")
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("subject", "predicate", "object")),
        ("value_kind", pa.string()), ("value_number", pa.float64()), ("value_text", pa.string()),
        *((name, pa.string()) for name in ("unit", "datatype", "lang", "type", "content", "meta")),
        *((name, _INSTANT) for name in ("valid_from", "valid_to", "observed_at")),
        ("source", pa.string()), ("quality", pa.float64()),
        *((name, _INSTANT) for name in ("recorded_at", "retired_at")),
    ]
)  # fmt: skip


def write_parquet(table: FactTable, stream: IO[bytes], on_row: Callable[[int], None] | None = None) -> None:
    """Write a table as Parquet; integers are doubles in `value_number`, exact as they are in the table."""
    with pq.ParquetWriter(stream, _SCHEMA, compression="zstd") as writer:
        for start in range(0, len(table), _GROUP):
            rows = np.arange(start, min(start + _GROUP, len(table)))
            writer.write_table(_group(table.take(rows)))
            if on_row is not None:
                on_row(int(rows[-1]) + 1)


def _group(part: FactTable) -> pa.Table:
    columns: dict[str, Any] = {name: _texts(part, getattr(part, name)) for name in _TEXTS}
    columns["value_text"] = _texts(part, part.text)
    columns["value_kind"] = pa.array([KINDS[kind] for kind in part.kind.tolist()], pa.string())
    columns["value_number"] = pa.array(part.number, mask=np.isnan(part.number))
    columns["quality"] = pa.array(part.quality, mask=np.isnan(part.quality))
    for name in _TIMES:
        times = getattr(part, name)
        columns[name] = pa.array(times, mask=times >= OPEN_US).cast(_INSTANT)
    return pa.table([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)


def _texts(part: FactTable, codes: np.ndarray[Any, np.dtype[np.int32]]) -> pa.Array:
    """Return a column of strings; each distinct one is looked up once."""
    used, index = np.unique(codes, return_inverse=True)
    texts = pa.array([part.pool.get(code) for code in used.tolist()], pa.string())
    return texts.take(pa.array(index))
