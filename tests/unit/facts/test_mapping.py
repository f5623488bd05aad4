"""Column mappings: what they do to a row, and where a mistake in them is."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.reading import read, us

from chronofy_kg.errors import FactFormatError, InputError
from chronofy_kg.facts.readers import ReadOptions, as_mapping, load_mapping, read_table

TOML = """\
zone = "Europe/Amsterdam"   # of times without an offset

[fields]
subject = "patient_id"
value = "egfr"
valid_from = "taken"
observed_at = "seen_ms"
[prefixes]
subject = "patient:"
[constants]
predicate = "egfr"
unit = "mL/min"
[units]
observed_at = "ms"
[meta]
ward = "ward_no"
"""
AS_MAP = {
    "zone": "Europe/Amsterdam",
    "fields": {"subject": "patient_id", "value": "egfr", "valid_from": "taken", "observed_at": "seen_ms"},
    "prefixes": {"subject": "patient:"},
    "constants": {"predicate": "egfr", "unit": "mL/min"},
    "units": {"observed_at": "ms"},
    "meta": {"ward": "ward_no"},
}
SEEN = us("2024-05-01T06:30:00Z") // 1_000


def write_rows(tmp_path, form):
    """One row, with a column that nobody asked for."""
    row = {"patient_id": 17, "egfr": 52.5, "taken": "2024-05-01T08:00", "seen_ms": SEEN, "ward_no": "B2",
           "junk": "x", "source": "lab:3"}  # fmt: skip
    path = tmp_path / f"rows{form}"
    if form == ".jsonl":
        path.write_text(json.dumps(row) + "\n")
    elif form == ".parquet":
        pq.write_table(pa.table({name: [cell] for name, cell in row.items()}), path)
    else:
        delimiter = "\t" if form == ".tsv" else ","
        path.write_text(delimiter.join(row) + "\n" + delimiter.join(map(str, row.values())) + "\n")
    return path


@pytest.mark.parametrize("form", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("kind", ["toml", "json", "map"])
def test_one_mapping_for_every_form(tmp_path, form, kind):
    (tmp_path / "m.toml").write_text(TOML)
    (tmp_path / "m.json").write_text(json.dumps(AS_MAP))
    given = AS_MAP if kind == "map" else tmp_path / f"m.{kind}"
    result = read_table(write_rows(tmp_path, form), ReadOptions(mapping=as_mapping(given)))
    assert result.errors == ()
    told = result.table.assertion(0)
    assert (told.subject, told.predicate, told.value, told.unit) == ("patient:17", "egfr", 52.5, "mL/min")
    assert (told.valid_from, told.observed_at) == (us("2024-05-01T06:00:00Z"), SEEN * 1_000)
    assert (told.source, told.meta) == ("lab:3", {"ward": "B2"})


def test_a_column_that_is_mapped_away_is_not_read_under_its_own_name(tmp_path):
    mapping = as_mapping({"fields": {"subject": "object", "value": "subject"}})
    result = read(
        tmp_path / "a.csv", "object,subject,predicate,valid_from\na,5,p,2024\n", ReadOptions(mapping=mapping)
    )
    told = result.table.assertion(0)
    assert (told.subject, told.object, told.value) == ("a", None, 5)


def test_a_bad_cell_is_found_under_the_name_of_its_column(tmp_path):
    options = ReadOptions(mapping=as_mapping({"fields": {"valid_from": "when"}}))
    result = read(tmp_path / "a.csv", "subject,predicate,value,when\ns,p,1,27.08\n", options)
    assert str(result.errors[0]).startswith(f"{tmp_path}/a.csv:2:7: valid_from: '27.08'")
    row = '{"subject": "s", "predicate": "p", "value": 1, "when": "27.08"}'
    result = read(tmp_path / "a.jsonl", row, options)
    column = row.index('"when"') + 1
    assert str(result.errors[0]).startswith(f"{tmp_path}/a.jsonl:1:{column}: valid_from: '27.08'")


BAD = [
    ("[fields]\nsubjct = 'a'\n", "2:1: unknown field 'subjct'; did you mean 'subject'?"),
    ("[field]\nsubject = 'a'\n", "1:2: unknown section 'field'; did you mean 'fields'?"),
    ("zone = 'Mars'\n", "1:1: unknown time zone 'Mars'"),
    ("[fields]\nsubject = 5\n", "2:1: fields.subject must be the name of a column"),
    ("[units]\nvalid_from = 'minutes'\n", "2:1: unknown unit 'minutes'; it is one of s, ms, us"),
    ("[units]\nvalue = 's'\n", "2:1: unknown time field 'value'"),
    ("[prefixes]\nvalue = 's'\n", "2:1: unknown name field 'value'"),
    ("[constants]\nvalid_from = '27.08'\n", "2:1: valid_from: '27.08' is a bare number"),
    ("[constants]\nvalid_from = 2024\n", "2:1: valid_from: a time must be text"),
    ("[constants]\nunit = ['a']\n", "2:1: unit must be text, a number or a boolean"),
    ("[fields]\nunit = 'u'\n[constants]\n  unit = 'mg'\n", "4:3: unit has a column and a constant"),
    ("fields = 5\n", "1:1: fields must be a table of entries"),
    ("fields = {subject = 'a', subjekt = 'b'}\n", "1:26: unknown field 'subjekt'; did you mean 'subject'?"),
    ("[fields]\nsubject = \n", "2:11: not valid TOML: invalid value"),
    ("[fields]\nsubject = 'a'\nsubject = 'b'\n", "not valid TOML: cannot overwrite a value"),
    ("[fields]\na = 'a'\nb = 'b'\n", "2:1: unknown field 'a' (and 1 more)"),
    ("[fields]\nsubject = 'a", "not valid TOML"),
]


@pytest.mark.parametrize(("text", "part"), BAD, ids=[part for _, part in BAD])
def test_a_mistake_is_located(tmp_path, text, part):
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(FactFormatError) as caught:
        load_mapping(path)
    assert str(caught.value).startswith(f"{path}:")
    assert part in str(caught.value)
    assert caught.value.line is not None


BAD_JSON = [
    ('{\n  "fields": {"subjct": "a"}\n}', "2:14: unknown field 'subjct'; did you mean 'subject'?"),
    ('{"zone": "Mars"}', "1:2: unknown time zone"),
    ('{"fields": {"subject": "a",\n"subject": "b"}}', "2:1: duplicate key at /fields/subject"),
    ("[1]", "1:1: a mapping must be a JSON object"),
    ('{"a": }', "1:7: not valid JSON"),
]


@pytest.mark.parametrize(("text", "part"), BAD_JSON, ids=[part for _, part in BAD_JSON])
def test_a_mistake_in_json_is_located(tmp_path, text, part):
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(FactFormatError) as caught:
        load_mapping(path)
    assert str(caught.value).startswith(f"{path}:{part}")


@pytest.mark.parametrize("form", [".csv", ".parquet"])
def test_a_column_that_the_file_lacks_is_named_in_the_mapping(tmp_path, form):
    path = tmp_path / "m.toml"
    path.write_text("[fields]\nsubject = 'patient_ids'\n")
    with pytest.raises(FactFormatError) as caught:
        read_table(write_rows(tmp_path, form), ReadOptions(mapping=load_mapping(path)))
    wanted = f"{path}:2:1: the file has no column 'patient_ids'; did you mean 'patient_id'?"
    assert str(caught.value) == wanted


def test_rdf_has_no_columns(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text("zone = 'UTC'\n[meta]\na = 'b'\n")
    with pytest.raises(FactFormatError, match=r"m.toml:3:1: RDF has no columns"):
        read(tmp_path / "a.ttl", "", ReadOptions(mapping=load_mapping(path)))


def test_a_map_in_python_names_its_entries():
    with pytest.raises(FactFormatError, match=r"mapping: fields\.subjct: unknown field 'subjct'"):
        as_mapping({"fields": {"subjct": "a"}})
    assert not as_mapping(None)


def test_mapping_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_mapping(tmp_path / "nowhere.toml")
    (tmp_path / "m.toml").write_bytes(b"a = '\xe9'")
    with pytest.raises(InputError, match="not UTF-8 at byte 5"):
        load_mapping(tmp_path / "m.toml")


def test_constants_take_dates_of_toml(tmp_path):
    (tmp_path / "m.toml").write_text(
        "[constants]\nvalid_from = 2024-05-01\nvalid_to = 2024-06-01T00:00:00Z\n"
    )
    options = ReadOptions(mapping=load_mapping(tmp_path / "m.toml"))
    told = read(tmp_path / "a.csv", "subject,predicate,value\ns,p,1\n", options).table.assertion(0)
    assert (told.valid_from, told.valid_to) == (us("2024-05-01"), us("2024-06-01"))
