"""A table as bytes and back: bit for bit, and nothing at all from bytes that are not whole."""

from __future__ import annotations

import io

import numpy as np
import pytest

from chronofy_kg.facts import OPEN_US, Assertion, FactTable, TableBuilder
from chronofy_kg.facts.archive import read_archive, write_archive

NOTES = {"sequence": 3, "identity": "é"}


def _table() -> FactTable:
    builder = TableBuilder("t")
    what: list[dict[str, object]] = [
        {"value": -0.0}, {"value": 5e-324, "quality": 0.1 + 0.2}, {"value": 2**53}, {"value": True},
        {"value": ""}, {"value": "a\u0000b\x1f", "lang": "nl"}, {"value": "cafe\u0301", "source": "café"},
        {"object": "\U0001f600", "content": "…", "meta": {"b": [1, None], "a": "\u2028"}},
        {"value": "\ud800"},
    ]  # fmt: skip
    for number, fields in enumerate(what):
        row = {"subject": "x", "predicate": "p", "valid_from": number, "valid_to": OPEN_US, "observed_at": -1}
        builder.add(Assertion(**(row | fields)), recorded_at=number, retired_at=OPEN_US - number)  # type: ignore[arg-type]
    return builder.build()


def _bytes(table: FactTable) -> bytes:
    stream = io.BytesIO()
    write_archive(table, NOTES, stream)
    return stream.getvalue()


def test_a_table_comes_back_bit_for_bit_with_its_pool() -> None:
    table = _table()
    found = read_archive(io.BytesIO(_bytes(table)))
    assert found is not None
    again, notes = found
    assert notes == NOTES
    for name, column in table.columns().items():
        other = again.columns()[name]
        assert (other.dtype, other.shape) == (column.dtype, column.shape)
        assert other.tobytes() == column.tobytes(), name
    assert again.pool.strings == table.pool.strings
    codes = np.arange(-1, len(table.pool), dtype=np.int32)
    assert np.array_equal(again.pool.canonical(codes), table.pool.canonical(codes))
    # The pool lives on: what it knows keeps its code, what is new gets the next.
    assert again.pool.add("café") == table.pool.add("café")
    assert again.pool.add("new") == table.pool.add("new") == len(table.pool) - 1
    assert again.append(again.take(np.arange(2))).value(1) == 5e-324


def test_a_table_without_rows_comes_back() -> None:
    found = read_archive(io.BytesIO(_bytes(FactTable.empty())))
    assert found is not None
    assert (len(found[0]), found[0].ids.shape) == (0, (0, 16))


def test_no_changed_bit_goes_unseen() -> None:
    whole = _bytes(_table())
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        assert read_archive(io.BytesIO(bytes(changed))) is None, place


@pytest.mark.parametrize("size", [0, 5, 20, 28, 100, -33, -32, -1])
def test_a_cut_file_is_no_table(size: int) -> None:
    assert read_archive(io.BytesIO(_bytes(_table())[:size])) is None


def test_what_follows_a_table_is_noticed() -> None:
    assert read_archive(io.BytesIO(_bytes(_table()) + b"x")) is None


@pytest.mark.parametrize("text", [b"", b"\x00" * 200, b'{"a": 1}' * 30, b"PK\x03\x04" * 50])
def test_a_foreign_file_is_no_table(text: bytes) -> None:
    assert read_archive(io.BytesIO(text)) is None


def test_an_older_version_is_no_table() -> None:
    whole = _bytes(_table())
    assert read_archive(io.BytesIO(whole.replace(b"facts 1\n", b"facts 0\n", 1))) is None
