"""The strict decoder: what is refused, where, and in what time."""

import json
import time

import pytest

from chronofy_kg.facts.strict_json import JsonError, decode_json, escape_pointer, locate


def refused(raw):
    with pytest.raises(JsonError) as caught:
        decode_json(raw)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, -2.5e3, true, null, "é\\u00e9\\ud83d\\ude00"]}',
        "[]",
        "{}",
        '""',
        "0",
        " \t\r\n1 ",
        '"\\u0000"',
        "-0.0",
        "1e308",
    ],
)
def test_what_json_has(text):
    assert decode_json(text) == decode_json(text.encode()) == json.loads(text)


def test_integers_are_exact():
    assert decode_json(str(10**300)) == 10**300
    assert decode_json("-9007199254740993") == -9007199254740993


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ('{"a": 1, "a": 2}', [("/a", "duplicate key")]),
        ('{"a": 1, "a": 1}', [("/a", "duplicate key")]),
        ('{"a": 1, "\\u0061": 1}', [("/a", "duplicate key")]),
        ('{"m": {"b": 1, "b": 2}}', [("/m/b", "duplicate key")]),
        ('[{"b": 1}, {"c": [{"d": 1, "d": 2, "d": 3}]}]', [("/1/c/0/d", "duplicate key")]),
        ('{"a": NaN}', [("/a", "NaN is not JSON")]),
        ("NaN", [("", "NaN is not JSON")]),
        (
            '{"a": [1, Infinity, -Infinity]}',
            [("/a/1", "Infinity is not JSON"), ("/a/2", "-Infinity is not JSON")],
        ),
        ('{"a": 1e999}', [("/a", "number out of range")]),
        ('{"a": -1e999, "b": 1}', [("/a", "number out of range")]),
        ("[" + "9" * 400 + "]", [("/0", "number out of range")]),
        ("[" + "9" * 10_000 + "]", [("/0", "number out of range")]),
        ("[" + "9" * 10_000 + ".5]", [("/0", "number out of range")]),
        ('{"a": "\\ud800"}', [("/a", "lone surrogate")]),
        ('{"a": "x\\udfffy"}', [("/a", "lone surrogate")]),
        ('{"a": "\\ude00\\ud83d"}', [("/a", "lone surrogate")]),
        ('{"\\ud800": 1}', [("", "lone surrogate")]),
        ('{"a/b": {"~": NaN}}', [("/a~1b/~0", "NaN is not JSON")]),
        ('{"a": NaN, "b": {"c": Infinity}}', [("/a", "NaN is not JSON"), ("/b/c", "Infinity is not JSON")]),
    ],
)
def test_refused_values_with_their_pointer(text, problems):
    error = refused(text)
    assert list(error.problems) == problems
    pointer, reason = problems[0]
    assert str(error) == f"{reason} at {pointer or 'the top'}"


def test_a_pointer_over_a_lone_surrogate_can_be_written_out():
    error = refused('{"\\ud800": {"a": NaN}}')
    assert ("/\\ud800/a", "NaN is not JSON") in error.problems
    assert all(pointer.encode() is not None for pointer, _ in error.problems)
    assert str(error).encode()


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("", 1, 1, "expecting value"),
        ('{"a": }', 1, 7, "expecting value"),
        ('{"a": 1,}', 1, 9, ""),
        ("{'a': 1}", 1, 2, "expecting property name"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "expecting ',' delimiter"),
        ('{"a": 1} x', 1, 10, "extra data"),
        ('{"a": "x\ty"}', 1, 9, "invalid control character"),
        ('{"a": "x', 1, 7, "unterminated string"),
        ('{"a": 01}', 1, 8, ""),
        ('{"a": +1}', 1, 7, "expecting value"),
        ('{"a": .5}', 1, 7, "expecting value"),
        ('{"a": 1} // c', 1, 10, "extra data"),
        ("nan", 1, 1, "expecting value"),
    ],
)
def test_bad_syntax_with_its_place(text, line, column, part):
    for raw in (text, text.encode()):
        error = refused(raw)
        assert (error.line, error.column) == (line, column)
        assert "not valid JSON" in error.message
        assert part in error.message
        assert str(error) == f"{error.message} (line {line}, column {column})"
        assert error.problems == ()


@pytest.mark.parametrize(
    ("raw", "line", "column", "message"),
    [
        (b"\xef\xbb\xbf{}", 1, 1, "byte order mark"),
        ("{}".encode("utf-16"), 1, 1, "not UTF-8 at byte 0"),
        (b'{"a": "\xe9"}', 1, 8, "not UTF-8 at byte 7"),
        ('{"é": 1,\n"b": "é'.encode() + b'\xff"}', 2, 8, "not UTF-8 at byte 18"),
        (b'"\xed\xa0\x80"', 1, 2, "not UTF-8 at byte 1"),  # a surrogate in UTF-8
        (b'"\xc0\x80"', 1, 2, "not UTF-8 at byte 1"),  # an overlong NUL
    ],
)
def test_bytes_that_are_not_plain_utf8(raw, line, column, message):
    error = refused(raw)
    assert message in error.message
    assert (error.line, error.column) == (line, column)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_wide_encodings_without_a_mark(encoding):
    assert "not valid JSON" in refused('{"a": 1}'.encode(encoding)).message


def test_a_mark_in_text():
    assert "not valid JSON" in refused("\ufeff{}").message


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_deep_nesting_is_refused_fast(opening):
    begun = time.process_time()
    error = refused(opening * 100_000)
    assert "nested too deeply" in error.message
    closed = "[" * 100_000 + "]" * 100_000
    assert "nested too deeply" in refused(closed).message
    assert time.process_time() - begun < 1


def test_the_depth_that_is_taken():
    assert decode_json("[" * 100 + "]" * 100)
    assert "more than 100 levels" in refused("[" * 102 + "]" * 102).message


def test_many_values_take_no_long_time():
    begun = time.process_time()
    assert len(decode_json(json.dumps(["ü" * 1_000] * 1_000, ensure_ascii=False))) == 1_000
    assert time.process_time() - begun < 1


def test_escape_pointer():
    assert escape_pointer("a/b~c") == "a~1b~0c"
    assert escape_pointer("\ud800é") == "\\ud800é"


@pytest.mark.parametrize(
    ("text", "pointer", "offset"),
    [
        ('{"a": 1, "b": 2}', "/b", 9),
        ('{"m": {"b": 1}, "b": 2}', "/b", 16),
        ('{"m": {"b": 1}, "b": 2}', "/m/b", 7),
        ('{"x": "\\"b\\": 3", "b": 2}', "/b", 18),
        ('{"m": [{"b": 0}, [1, {"c": 2}]], "b": 3}', "/m/1/1/c", 22),
        ('{"m": [{"b": 0}, [1, {"c": 2}]], "b": 3}', "/b", 33),
        ('{"m": [1, 2]}', "/m/1", 1),
        ('{"a": 1}', "/zzz", 0),
        ('{"a": 1}', "", 0),
        ('[{"a": 1}, {"a": 2}]', "/1/a", 12),
        ('{"\\u0061": 1}', "/a", 1),
        ('{"a/b": {"~": 1}}', "/a~1b/~0", 9),
        ('{"m": {}, "b": [], "c": 1}', "/c", 19),
    ],
)
def test_locate(text, pointer, offset):
    assert locate(text, pointer) == offset


def test_locate_the_second_of_two():
    text = '{"a": 1, "a": 2, "a": 3}'
    assert [locate(text, "/a", occurrence=n) for n in range(4)] == [1, 9, 17, 17]
