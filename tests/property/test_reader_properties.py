"""Readers: whatever bytes come in, each line is a row, an error that holds it verbatim, or blank."""

import csv
import io
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from chronofy_kg.errors import InputError
from chronofy_kg.facts import Assertion
from chronofy_kg.facts.readers import RowError, read_csv, read_jsonl
from chronofy_kg.facts.rows import FIELDS, check_row
from chronofy_kg.facts.strict_json import JsonError, decode_json, escape_pointer, locate

GOOD = b'{"subject": "s", "predicate": "p", "value": 1, "valid_from": "2024"}'
HEADER = b"subject,predicate,value,valid_from\n"
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab/~"\\é', max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)
json_lines = st.one_of(
    st.just(GOOD),
    st.just(b""),
    st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b"")),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.tuples(st.integers(0, len(GOOD) - 1), st.binary(min_size=1, max_size=2)).map(
        lambda cut: GOOD[: cut[0]] + cut[1].replace(b"\n", b"") + GOOD[cut[0] + 1 :]
    ),
)


@given(st.lists(json_lines, max_size=6), st.sampled_from([b"\n", b"\r\n"]))
@settings(max_examples=150, deadline=None)
def test_jsonl_loses_no_line(lines, end):
    lines = [line + end for line in lines]
    results = list(read_jsonl(lines, "f"))
    filled = [
        number
        for number, line in enumerate(lines, 1)
        if line.removeprefix(b"\xef\xbb\xbf" * (number == 1)).strip()
    ]
    assert len(results) == len(filled)
    for number, result in zip(filled, results, strict=True):
        if isinstance(result, RowError):
            assert (result.file, result.line, result.raw) == ("f", number, lines[number - 1])
            assert 1 <= result.column <= len(lines[number - 1]) + 1
            assert result.message
        else:
            assert isinstance(result, Assertion)


cells = st.text('s"1a,;\n\r é', max_size=4)
records = st.one_of(
    st.sampled_from(
        [
            b"s,p,1,2024\n",
            b"\n",
            b's,p,"x\ny",2024\n',
            b's,p,"x,2024\n',
            b'"s"t,p,1,2024\n',
            b's,p,"",2024\r\n',
        ]
    ),
    st.lists(cells, min_size=1, max_size=5).map(lambda row: (",".join(row) + "\n").encode()),
)


@given(st.lists(records, max_size=8), st.booleans())
@settings(max_examples=300, deadline=None)
def test_csv_loses_no_byte(parts, last_end):
    body = b"".join(parts)
    body = body if last_end else body.removesuffix(b"\n")
    lines = io.BytesIO(HEADER + body).readlines()
    errors, rows = [], 0
    for result in read_csv(lines, "f"):
        if isinstance(result, RowError):
            errors.append(result)
        else:
            rows += 1
    # What is in no error is rows and blank lines: take the errors out, and the rest reads without one.
    rest = list(lines)
    for error in reversed(errors):
        taken = (
            error.raw.splitlines(keepends=True)
            if b"\r" not in error.raw
            else io.BytesIO(error.raw).readlines()
        )
        assert rest[error.line - 1 : error.line - 1 + len(taken)] == taken
        assert error.line <= (error.place_line or error.line) < error.line + len(taken)
        assert error.column >= 1
        del rest[error.line - 1 : error.line - 1 + len(taken)]
    again = list(read_csv(rest, "f"))
    assert all(isinstance(result, Assertion) for result in again)
    assert len(again) == rows


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8)


@given(st.lists(st.tuples(texts.filter(str.strip), texts), max_size=5), st.sampled_from(",;\t"))
@settings(max_examples=100, deadline=None)
def test_csv_reads_what_the_csv_module_writes(pairs, delimiter):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["subject", "predicate", "value", "valid_from", "datatype"])
    writer.writerows([subject, "p", text, "2024", "string"] for subject, text in pairs)
    results = list(read_csv(io.BytesIO(stream.getvalue().encode()).readlines(), "f"))
    assert [(row.subject, row.value) for row in results] == pairs


@given(json_values)
@settings(max_examples=150, deadline=None)
def test_decode_json_agrees_with_json(value):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert decode_json(text) == value
        assert decode_json(text.encode()) == value


def pointers(value, pointer=""):
    if isinstance(value, dict):
        for key, item in value.items():
            below = f"{pointer}/{escape_pointer(key)}"
            yield below, key
            yield from pointers(item, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from pointers(item, f"{pointer}/{index}")


@given(json_values)
@settings(max_examples=150, deadline=None)
def test_locate_finds_every_key(value):
    text = json.dumps(value, ensure_ascii=False)
    places = [locate(text, pointer) for pointer, _ in pointers(value)]
    assert places == sorted(set(places))
    for place, (_, key) in zip(places, pointers(value), strict=True):
        assert text.startswith(json.dumps(key, ensure_ascii=False) + ":", place)


@given(
    st.one_of(
        st.text(max_size=30), st.binary(max_size=30), st.text('[]{}",:0123eE.-+NaInfty\\u ', max_size=30)
    )
)
@settings(max_examples=200, deadline=None)
def test_any_input_is_json_or_a_json_error(raw):
    try:
        decode_json(raw)
    except JsonError as error:
        assert str(error).encode()  # noqa: PT017


@given(st.dictionaries(st.sampled_from([*FIELDS, "x"]), json_values))
@settings(max_examples=150, deadline=None)
def test_any_fields_are_a_row_or_an_input_error(fields):
    try:
        told = check_row(fields)
    except InputError as error:
        assert str(error.pointer).startswith("/")  # noqa: PT017
    else:
        assert told.valid_from < told.valid_to
