"""Files by their ending: plain and compressed, damaged, empty, unknown."""

import gzip
import json
import zlib

import pytest

from chronofy_kg.errors import FileEncodingError, InputError
from chronofy_kg.facts.readers import ReadOptions, read_rows, read_table

ROW = {"subject": "s", "predicate": "p", "value": 1, "valid_from": "2024-01-01"}
HEADER = "subject,predicate,value,valid_from\n"


def line(**changes):
    return json.dumps({name: value for name, value in {**ROW, **changes}.items() if value is not ...})


def test_read_table_by_ending(tmp_path):
    text = f"{line()}\n{line(value=2, subject='t')}\nbad\n"
    files = {
        "a.jsonl": text.encode(),
        "b.ndjson": text.encode(),
        "c.jsonl.gz": gzip.compress(text.encode()),
        "d.JSONL": text.encode(),
    }
    for name, raw in files.items():
        path = tmp_path / name
        path.write_bytes(raw)
        result = read_table(path, tenant="x")
        assert [result.table.value(row) for row in range(2)] == [1, 2]
        assert {result.table.pool[code] for code in result.table.tenant} == {"x"}
        (error,) = result.errors
        assert str(error).startswith(f"{path}:3:1: not valid JSON")


def test_read_table_of_csv_and_tsv(tmp_path):
    text = f"{HEADER}s,p,1,2024\ns,p,2,bad\n"
    for name, raw in {
        "a.csv": text.encode(),
        "b.tsv": text.replace(",", "\t").encode(),
        "c.csv.gz": gzip.compress(text.encode()),
        "d.CSV.GZ": gzip.compress(text.encode()),
    }.items():
        path = tmp_path / name
        path.write_bytes(raw)
        result = read_table(path)
        assert len(result.table) == 1
        assert [str(error)[: len(f"{path}:3:7:")] for error in result.errors] == [f"{path}:3:7:"]


def test_a_late_bad_line_of_a_compressed_file(tmp_path):
    # typesense#568
    path = tmp_path / "big.jsonl.gz"
    good = line().encode() + b"\n"
    path.write_bytes(gzip.compress(good * 7_000 + b'{"subject": oops}\n' + good))
    seen = []
    result = read_table(path, on_row=lambda rows, about: seen.append((rows, about)))
    assert len(result.table) == 7_001
    assert str(result.errors[0]).startswith(f"{path}:7001:13: not valid JSON")
    assert result.errors[0].raw == b'{"subject": oops}\n'
    assert [rows for rows, _ in seen] == [1_000 * n for n in range(1, 8)]
    assert all(about is not None and about >= rows for rows, about in seen)


def test_read_rows_passes_zone_and_encoding_on(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(HEADER.encode() + b"Zo\xeb,p,1,2024-07-15T12:00\n")
    (row,) = read_rows(path, ReadOptions(zone="Europe/Amsterdam", encoding="cp1252"))
    assert row.subject == "Zoë"
    assert row.valid_from == 1_721_037_600_000_000
    with pytest.raises(FileEncodingError, match="at byte 37"):
        read_table(path)


def test_files_that_cannot_be_read(tmp_path):
    whole = gzip.compress(line().encode() * 1_000)
    damaged = whole[:10] + bytes(byte ^ 0xFF for byte in whole[10:30]) + whole[30:]
    with pytest.raises(zlib.error):
        gzip.decompress(damaged)
    cases = {
        "missing.csv": None,
        "cut.jsonl.gz": whole[:-20],
        "plain.jsonl.gz": line().encode(),
        "damaged.jsonl.gz": damaged,
        "wrong-sum.jsonl.gz": whole[:-8] + bytes(8),
    }
    for name, raw in cases.items():
        path = tmp_path / name
        if raw is not None:
            path.write_bytes(raw)
        with pytest.raises(InputError, match=f"{name}: cannot be read: .+"):
            read_table(path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "folder.csv")
    for name in ("a.txt", "a", "a.gz", "a.csv.zip"):
        with pytest.raises(InputError, match="unknown ending"):
            read_table(tmp_path / name)


def test_empty_files(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    assert len(read_table(tmp_path / "a.jsonl").table) == 0
    (tmp_path / "a.csv").write_bytes(b"")
    with pytest.raises(InputError, match="is empty; the first line must name the columns"):
        read_table(tmp_path / "a.csv")
