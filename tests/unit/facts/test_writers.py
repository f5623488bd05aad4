"""Writers: the text of each form, whole files only, and what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys

import pyarrow.parquet as pq
import pytest
from support.facts import told
from support.reading import us

from chronofy_kg.errors import FactFormatError, InputError
from chronofy_kg.facts import TableBuilder
from chronofy_kg.facts.readers import ReadOptions, read_table
from chronofy_kg.facts.writers import ENDINGS, write_file, write_table

RECORDED, RETIRED = us("2026-03-01T10:00:00.000001Z"), us("2026-04-01")


@pytest.fixture
def table():
    builder = TableBuilder()
    builder.add(
        told("patient:17", "egfr", 52.0, "2026-01-05T08:00:00Z", unit="mL/min", source="lab 3", quality=0.97,
             meta={"b": [1], "a": None}, seen="2026-01-06"),
        recorded_at=RECORDED,
    )  # fmt: skip
    builder.add(told("Zoë", "takes", object="drug:x", until="2027", type="drug"), recorded_at=RECORDED,
                retired_at=RETIRED)  # fmt: skip
    builder.add(told("s", "says", "", lang="en", content="", datatype="d"), recorded_at=RECORDED)
    return builder.build()


def written(table, tmp_path, ending, **options):
    write_file(table, tmp_path / f"out{ending}", **options)
    return (tmp_path / f"out{ending}").read_bytes()


def test_jsonl_is_the_shape_that_goes_in(table, tmp_path):
    first, second, third = map(json.loads, written(table, tmp_path, ".jsonl").splitlines())
    assert first == {
        "subject": "patient:17", "predicate": "egfr", "value": 52.0, "unit": "mL/min",
        "meta": {"a": None, "b": [1]}, "valid_from": "2026-01-05T08:00:00Z",
        "observed_at": "2026-01-06T00:00:00Z", "source": "lab 3", "quality": 0.97,
        "recorded_at": "2026-03-01T10:00:00.000001Z",
    }  # fmt: skip
    assert isinstance(first["value"], float)
    assert list(second) == ["subject", "predicate", "object", "type", "valid_from", "valid_to", "observed_at",
                            "recorded_at", "retired_at"]  # fmt: skip
    assert (second["valid_to"], second["retired_at"]) == ("2027-01-01T00:00:00Z", "2026-04-01T00:00:00Z")
    assert (third["value"], third["content"], third["lang"]) == ("", "", "en")
    assert "Zoë".encode() in written(table, tmp_path, ".jsonl")


def test_csv_says_the_kind_of_each_value(table, tmp_path):
    text = written(table, tmp_path, ".csv").decode()
    first, second, third = csv.DictReader(io.StringIO(text, newline=""))
    assert (first["value"], first["value_kind"], first["meta"]) == ("52.0", "number", '{"a": null, "b": [1]}')
    assert (second["value"], second["value_kind"], second["object"]) == ("", "object", "drug:x")
    assert (third["value"], third["value_kind"], third["content"]) == ("", "text", "")
    assert written(table, tmp_path, ".tsv").startswith(b"subject\tpredicate\tobject\tvalue\tvalue_kind\t")


def test_parquet_has_types(table, tmp_path):
    written(table, tmp_path, ".parquet")
    schema = pq.read_schema(tmp_path / "out.parquet")
    assert str(schema.field("value_number").type) == "double"
    assert str(schema.field("valid_from").type) == "timestamp[us, tz=UTC]"
    columns = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert columns["value_kind"] == ["number", "object", "text"]
    assert columns["valid_to"][0] is None
    assert columns["value_number"] == [52.0, None, None]


def test_rdf_star_reifies_and_only_what_is_believed_stands_by_itself(table, tmp_path):
    lines = written(table, tmp_path, ".nq").decode().splitlines()
    xsd = "http://www.w3.org/2001/XMLSchema#"
    statement = f'<patient:17> <urn:chronofy-kg:name:egfr> "52.0"^^<{xsd}double>'
    assert f"{statement} ." in lines
    node = f"<urn:chronofy-kg:assertion:{table.id_of(0)[2:]}>"
    assert f"{node} <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( {statement} )>> ." in lines
    assert f'{node} <urn:chronofy-kg:confidence> "0.97"^^<{xsd}double> .' in lines
    assert f"{node} <urn:chronofy-kg:source> <urn:chronofy-kg:name:lab%203> ." in lines
    assert f'{node} <urn:chronofy-kg:validFrom> "2026-01-05T08:00:00Z"^^<{xsd}dateTime> .' in lines
    retired = "<urn:chronofy-kg:name:Zo%C3%AB> <urn:chronofy-kg:name:takes> <drug:x>"
    assert f"{retired} ." not in lines
    assert any(f"<<( {retired} )>>" in line for line in lines)
    assert any(line.endswith(f'<urn:chronofy-kg:during> "2026"^^<{xsd}gYear> .') for line in lines)
    plain = written(table, tmp_path, ".nt", profile="plain").decode()
    assert "reifies" not in plain
    assert plain.count("rdf-syntax-ns#Statement>") == 3


def test_text_may_be_packed_and_the_same_table_gives_the_same_bytes(table, tmp_path):
    packed = written(table, tmp_path, ".jsonl.gz")
    assert gzip.decompress(packed) == written(table, tmp_path, ".jsonl")
    (tmp_path / "other").mkdir()
    assert written(table, tmp_path / "other", ".jsonl.gz") == packed


def test_a_file_appears_when_it_is_whole(table, tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("before")

    def stop(rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(table, path, on_row=stop)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["out.jsonl"]


def test_an_empty_table(tmp_path):
    empty = TableBuilder().build()
    for ending in ENDINGS:
        write_file(empty, tmp_path / f"out{ending}")
        result = read_table(tmp_path / f"out{ending}", ReadOptions(restore=True))
        assert (len(result.table), result.errors) == (0, ()), ending


def test_progress_is_told(table, tmp_path):
    rows = table.take([0] * 20_000)
    for ending in (".jsonl", ".csv", ".nt", ".parquet"):
        done = []
        write_file(rows, tmp_path / f"out{ending}", on_row=done.append)
        assert done[-1] == 20_000
        assert done == sorted(done)


def test_what_is_refused(table, tmp_path):
    for name, profile, part in (
        ("out.xlsx", None, "unknown ending .xlsx; use one of .jsonl"),
        ("out.parquet.gz", None, "unknown ending"),
        ("out", None, r"unknown ending \(none\)"),
        ("out.csv", "plain", "an RDF profile applies to RDF only"),
        ("out.jsonld", "star", "JSON-LD has no reifiers"),
        ("nowhere/out.csv", None, "cannot be written: No such file"),
    ):
        with pytest.raises(InputError, match=part):
            write_file(table, tmp_path / name, profile=profile)


def test_without_restore_transaction_times_are_refused(table, tmp_path):
    for ending in (".jsonl", ".nq", ".jsonld"):
        write_file(table, tmp_path / f"out{ending}")
        result = read_table(tmp_path / f"out{ending}")
        assert len(result.table) == 0
        assert all(
            "is given by the store; leave it out, or use --restore" in e.message for e in result.errors
        )
    for ending in (".csv", ".parquet"):
        write_file(table, tmp_path / f"out{ending}")
        with pytest.raises(InputError, match="a restore takes it, with --restore"):
            read_table(tmp_path / f"out{ending}")


def test_a_restore_needs_its_times(tmp_path):
    path = tmp_path / "a.jsonl"
    row = {"subject": "s", "predicate": "p", "value": 1, "valid_from": "2024"}
    rows = [row, row | {"recorded_at": "2024-02", "retired_at": "2024-01"}, row | {"recorded_at": "x"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    messages = [error.message for error in read_table(path, ReadOptions(restore=True)).errors]
    assert "recorded_at is missing" in messages[0]
    assert "retired_at is before recorded_at" in messages[1]
    assert messages[2].startswith("recorded_at: 'x' is no time")


@pytest.mark.parametrize(
    ("library", "endings", "extra"),
    [("pyarrow", [".parquet"], "parquet"), ("pyoxigraph", [".ttl", ".nt", ".nq", ".trig", ".jsonld"], "rdf")],
)
def test_a_missing_library_names_its_extra(monkeypatch, tmp_path, table, library, endings, extra):
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("readers.parquet", "readers.rdf", "readers.rdf_rows", "writers.parquet", "writers.rdf"):
        monkeypatch.delitem(sys.modules, f"chronofy_kg.facts.{name}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    for ending in endings:
        (tmp_path / f"a{ending}").write_bytes(b"")
        for act in (lambda p: read_table(p), lambda p: write_file(table, p)):
            with pytest.raises(
                InputError, match=rf"needs {library}; install it with: pip install .*\[{extra}\]"
            ):
                act(tmp_path / f"a{ending}")
    read_table_of_text = read_table(write_text(tmp_path))
    assert len(read_table_of_text.table) == 1


def write_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("subject,predicate,value,valid_from\ns,p,1,2024\n")
    return path


def test_a_stream_is_left_open(table):
    stream = io.BytesIO()
    write_table(table, stream, ".jsonl")
    assert stream.getvalue().count(b"\n") == 3


def test_value_kind_must_fit(tmp_path):
    head = "subject,predicate,value,value_kind,valid_from\n"
    (tmp_path / "a.csv").write_text(head + "s,p,x,number,2024\ns,p,1.5,integer,2024\ns,p,1,colour,2024\n")
    errors = read_table(tmp_path / "a.csv").errors
    assert ["no number" in errors[0].message, "does not fit" in errors[1].message] == [True, True]
    assert "'colour' does not fit" in errors[2].message
    assert [error.column for error in errors] == [5, 9, 7]
    assert not isinstance(errors[0], FactFormatError)
