"""Parquet: types of columns, and rows that are refused by their number."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.reading import us

from chronofy_kg.errors import InputError
from chronofy_kg.facts.readers import Meter, ReadOptions, RowError, as_mapping, read_rows, read_table

BASE = {"subject": ["s"], "predicate": ["p"], "value": [1], "valid_from": ["2024"]}


def write(tmp_path, **columns):
    count = max(len(column) for column in columns.values())
    whole = {name: cells * count for name, cells in BASE.items() if name not in columns} | columns
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({name: cells for name, cells in whole.items() if cells is not None}), path)
    return path


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Amsterdam"])
def test_timestamps_of_any_unit(tmp_path, unit, zone):
    moment = datetime(2024, 7, 15, 12, 30, 5, tzinfo=UTC if zone else None)
    path = write(
        tmp_path, valid_from=pa.array([moment, None], pa.timestamp(unit, zone)), observed_at=["2024"] * 2
    )
    result = read_table(path, ReadOptions(zone="Europe/Amsterdam"))
    assert result.errors == ()
    # Without a zone of its own the time is local; a zone of the column is only how it is shown.
    wanted = "2024-07-15T12:30:05Z" if zone else "2024-07-15T10:30:05Z"
    assert result.table.valid_from[0] == us(wanted)


def test_dates_are_days_in_the_zone(tmp_path):
    for kind in (pa.date32(), pa.date64()):
        path = write(tmp_path, valid_from=pa.array([date(2024, 7, 15)], kind))
        result = read_table(path, ReadOptions(zone="Europe/Amsterdam"))
        assert result.table.valid_from.tolist() == [us("2024-07-14T22:00:00Z")]


def test_values_by_type(tmp_path):
    for column, wanted in (
        (pa.array([5], pa.int8()), 5),
        (pa.array([5], pa.uint64()), 5),
        (pa.array([0.5], pa.float32()), 0.5),
        (pa.array([True]), True),
        (pa.array(["52"]), "52"),
        (pa.array(["x"]).dictionary_encode(), "x"),
        (pa.array([Decimal("52.50")]), 52.5),
        (pa.array([Decimal("52")], pa.decimal128(5, 0)), 52),
    ):
        result = read_table(write(tmp_path, value=column))
        assert result.errors == (), column
        value = result.table.value(0)
        assert (value, type(value)) == (wanted, type(wanted))


def test_what_no_double_holds_is_refused_by_the_row(tmp_path):
    for column, part in (
        (pa.array([1, 2**53 + 1], pa.int64()), "beyond 2^53"),
        (pa.array([1, 2**64 - 1], pa.uint64()), "beyond 2^53"),
        (
            pa.array([Decimal("1.5"), Decimal("0.1234567890123456789")]),
            "more digits than a number here holds",
        ),
        (pa.array([Decimal(1), Decimal(2**53 + 1)], pa.decimal128(20, 0)), "beyond 2^53"),
        (pa.array([1.0, float("nan")]), "value is nan"),
        (pa.array([b"a", b"b"]), "must be a number, boolean or text"),
    ):
        path = write(tmp_path, value=column)
        result = read_table(path)
        error = result.errors[-1]
        assert str(error).startswith(f"{path}:row 2: "), column
        assert part in error.message
        assert json.loads(error.raw)["subject"] == "s"


def test_rows_are_numbered_over_row_groups(tmp_path):
    count = 20_000
    path = tmp_path / "a.parquet"
    values = [float(n) for n in range(count)]
    values[17_345] = float("inf")
    table = pa.table({name: cells * count for name, cells in BASE.items()} | {"value": values})
    pq.write_table(table, path, row_group_size=5_000)
    meter = Meter()
    rows = read_rows(path, meter=meter)
    next(rows)
    assert meter.share() == 1 / count
    (error,) = (row for row in rows if isinstance(row, RowError))
    assert error.line == 17_346
    assert meter.share() == 1.0


def test_meta_of_any_shape(tmp_path):
    for column in (
        pa.array([{"a": 1, "b": ["x"]}]),
        pa.array(['{"a": 1, "b": ["x"]}']),
    ):
        assert read_table(write(tmp_path, meta=column)).table.meta_of(0) == {"a": 1, "b": ["x"]}
    pairs = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    assert read_table(write(tmp_path, meta=pairs)).table.meta_of(0) == {"a": 1}
    columns = {"meta.a": pa.array([1]), "meta.b": pa.array([None], pa.string())}
    assert read_table(write(tmp_path, **columns)).table.meta_of(0) == {"a": 1}


def test_bare_numbers_as_times_need_a_unit(tmp_path):
    path = write(tmp_path, valid_from=[1_714_521_600])
    assert "bare number" in read_table(path).errors[0].message
    mapping = as_mapping({"units": {"valid_from": "s"}})
    assert read_table(path, ReadOptions(mapping=mapping)).table.valid_from.tolist() == [us("2024-05-01")]


def test_files_and_columns_that_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"unknown column 'extra'.*--map"):
        read_table(write(tmp_path, extra=[1]))
    with pytest.raises(InputError, match=r"unknown column 'recorded_at'; a restore takes it"):
        read_table(write(tmp_path, recorded_at=["2024"]))
    (tmp_path / "b.parquet").write_bytes(b"PAR1 this is none")
    with pytest.raises(InputError, match=r"b.parquet: cannot be read as Parquet"):
        read_table(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_table(tmp_path / "nowhere.parquet")
    with pytest.raises(InputError, match="unknown ending"):
        read_table(tmp_path / "a.parquet.gz")
