"""JSON Lines: every line is a row, a located error or blank."""

import json

import pytest

from chronofy_kg.facts.readers import RowError, read_jsonl

ROW = {"subject": "s", "predicate": "p", "value": 1, "valid_from": "2024-01-01"}


def jsonl(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return list(read_jsonl(raw.splitlines(keepends=True), "f.jsonl"))


def place(error):
    assert isinstance(error, RowError), error
    return (error.line, error.place_line or error.line, error.column)


def line(**changes):
    return json.dumps({name: value for name, value in {**ROW, **changes}.items() if value is not ...})


def test_jsonl_rows_blank_lines_and_line_ends():
    rows = jsonl(f"{line()}\n\n   \r\n{line(value=2)}\r\n\t\n{line(value=3)}")
    assert [row.value for row in rows] == [1, 2, 3]


def test_jsonl_byte_order_mark_on_the_first_line_only():
    good = b"\xef\xbb\xbf" + line().encode() + b"\n"
    first, second = jsonl(good * 2)
    assert first.value == 1
    assert "byte order mark" in second.message
    assert place(second) == (2, 2, 1)
    assert second.raw == good


def test_jsonl_of_a_mark_alone_is_empty():
    assert jsonl(b"\xef\xbb\xbf") == jsonl("") == jsonl("\n\n") == []


BAD_LINES = [
    (line(valid_from="27.08"), '"valid_from"', "bare number"),
    (line(subject=...), None, "subject is missing"),
    (line(value=float("nan")), '"value"', "NaN is not JSON at /value"),
    (line(value=1e308)[:-1].replace("1e+308", "1e999") + "}", '"value"', "number out of range"),
    ('{"subject": "s", "subject": "t", "predicate": "p"}', '"subject": "t"', "duplicate key at /subject"),
    ('{"subject": "s", "meta": {"k": 1, "k": 2}}', '"k": 2', "duplicate key at /meta/k"),
    ('{"subject": "s", "a": 1, "a": 2, "a": 3}', '"a": 2', "duplicate key at /a"),
    ('{"meta": {"valid_from": "x"}, ' + line(valid_from="x")[1:], '"valid_from": "x"}', "is no time"),
    ('{"meta": {"subject": "x"}, "predicate": "p"}', None, "subject is missing"),
    (line(content='"value": NaN', value=[1]), '"value": [1]', "not a list"),
    (line(subjekt="x"), '"subjekt"', "did you mean 'subject'"),
    (line(**{"a/b": "x"}), '"a/b"', "unknown field 'a/b'"),
    (line(subject="Zoë", quality=2), '"quality"', "(0, 1]"),
    ('{"subject": "é", "value": }', "}", "not valid JSON: expecting value"),
    ('{"subject": "s"', None, "not valid JSON"),
    (line(object="o"), '"object"', "both object and value"),
    ('{"subject": "s", "meta": {"a": ["\\ud800"]}}', '"a"', "lone surrogate at /meta/a/0"),
    ("[1, 2]", None, "must be a JSON object"),
    ("17", None, "must be a JSON object"),
]


@pytest.mark.parametrize(("bad", "at", "part"), BAD_LINES, ids=[part for _, _, part in BAD_LINES])
def test_jsonl_errors_have_file_line_and_column(bad, at, part):
    before, error, after = jsonl(f"{line()}\n{bad}\n{line(value=2)}\n")
    assert (before.value, after.value) == (1, 2)
    assert part in error.message
    column = 1 if at is None else bad.rindex(at) + 1
    if bad == '{"subject": "s"':
        column = len(bad) + 1  # the end of the line, where the brace is missing
    assert place(error)[0] == 2
    assert error.column == column
    assert error.raw == bad.encode() + b"\n"
    assert str(error) == f"f.jsonl:2:{column}: {error.message}"


def test_jsonl_bytes_that_are_not_utf8():
    raw = '{"subject": "é'.encode() + b'\xe9"}\n'
    (error,) = jsonl(raw)
    assert error.message == "not UTF-8 at byte 15"
    assert place(error) == (1, 1, 15)
    assert error.raw == raw


def test_jsonl_deep_nesting_is_one_bad_line():
    error, good = jsonl("[" * 100_000 + f"\n{line()}\n")
    assert "nested too deeply" in error.message
    assert place(error) == (1, 1, 1)
    assert good.value == 1
