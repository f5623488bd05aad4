"""The one check of a row: every field's errors, each with its pointer."""

import pytest

from chronofy_kg.errors import FactFormatError
from chronofy_kg.facts.rows import FIELDS, check_row
from chronofy_kg.facts.time import OPEN_US, parse_instant

GOOD = {"subject": "s", "predicate": "p", "value": 1, "valid_from": "2024-01-01"}
START = parse_instant("2024-01-01").us


def row(**changes):
    fields = {**GOOD, **changes}
    return {name: value for name, value in fields.items() if value is not ...}


def test_the_least_row():
    told = check_row(GOOD)
    assert (told.subject, told.predicate, told.object, told.value) == ("s", "p", None, 1)
    assert (told.valid_from, told.valid_to, told.observed_at) == (START, OPEN_US, START)
    assert (told.unit, told.datatype, told.lang, told.type, told.content, told.source) == (None,) * 6
    assert (told.quality, told.meta) == (None, {})


def test_the_whole_row():
    told = check_row(
        {
            "subject": "patient:17",
            "predicate": "egfr",
            "value": 52.0,
            "unit": "mL/min",
            "datatype": "d",
            "lang": "nl",
            "type": "egfr",
            "content": "",
            "meta": {"a": {"b": [1]}},
            "valid_from": "2024-01-01T00:00:00+01:00",
            "valid_to": "2025",
            "observed_at": "2024-06",
            "source": "lab:3",
            "quality": 1,
        }
    )
    assert told.valid_from == START - 3_600_000_000
    assert told.valid_to == parse_instant("2025-01-01").us
    assert told.observed_at == parse_instant("2024-06-01").us
    assert (told.unit, told.datatype, told.lang, told.type) == ("mL/min", "d", "nl", "egfr")
    assert (told.content, told.source, told.meta) == ("", "lab:3", {"a": {"b": [1]}})
    assert told.quality == 1.0
    assert isinstance(told.quality, float)


def test_none_counts_as_absent():
    assert check_row(dict.fromkeys(FIELDS) | GOOD) == check_row(GOOD)


def test_valid_from_and_observed_at_stand_in_for_one_another():
    told = check_row(row(valid_from=..., observed_at="2024-01-01"))
    assert (told.valid_from, told.observed_at) == (START, START)
    told = check_row(row(observed_at="2023-01-01"))
    assert told.observed_at < told.valid_from


def test_times_without_offset_are_in_the_zone():
    told = check_row(
        row(valid_from="2024-07-15T12:00", valid_to="2024-07-15T13:00Z"), zone="Europe/Amsterdam"
    )
    assert told.valid_from == parse_instant("2024-07-15T10:00Z").us
    assert told.valid_to == parse_instant("2024-07-15T13:00Z").us


@pytest.mark.parametrize(
    "value", [0, -1, 2**53, -(2**53), 1e300, 5e-324, True, False, "", "x", "52", "NaN", "é" * 1_000_000]
)
def test_values_that_are_taken(value):
    told = check_row(row(value=value))
    assert told.value == value
    assert type(told.value) is type(value)


def test_an_object():
    assert check_row(row(value=..., object="drug:1")).object == "drug:1"


BAD = [
    ({"subject": ...}, "/subject", "subject is missing"),
    ({"predicate": ...}, "/predicate", "predicate is missing"),
    ({"subject": None}, "/subject", "subject is missing"),
    ({"subject": ""}, "/subject", "subject is empty"),
    ({"subject": " \t"}, "/subject", "subject is empty"),
    ({"subject": 5}, "/subject", "must be text, not a number"),
    ({"subject": True}, "/subject", "must be text, not a boolean"),
    ({"subject": ["s"]}, "/subject", "must be text, not a list"),
    ({"subject": {"id": "s"}}, "/subject", "must be text, not a map"),
    ({"subject": "a\x00b"}, "/subject", "NUL"),
    ({"subject": "x" * 2_001}, "/subject", "longer than 2,000"),
    ({"predicate": ""}, "/predicate", "predicate is empty"),
    ({"predicate": 1.5}, "/predicate", "must be text"),
    ({"value": ...}, "/value", "neither object nor value"),
    ({"value": None}, "/value", "neither object nor value"),
    ({"object": "o"}, "/object", "both object and value"),
    ({"object": "", "value": ...}, "/object", "object is empty"),
    ({"object": 5, "value": ...}, "/object", "must be text"),
    ({"object": "o", "value": False}, "/object", "both object and value"),
    ({"value": 2**53 + 1}, "/value", "beyond 2^53"),
    ({"value": -(2**53) - 1}, "/value", "beyond 2^53"),
    ({"value": 2**63}, "/value", "beyond 2^53"),
    ({"value": float("nan")}, "/value", "only finite"),
    ({"value": float("inf")}, "/value", "only finite"),
    ({"value": [1]}, "/value", "not a list"),
    ({"value": {"a": 1}}, "/value", "not a map"),
    ({"value": "a\x00"}, "/value", "NUL"),
    ({"value": "x" * 1_000_001}, "/value", "longer than 1,000,000"),
    *[
        ({name: ""}, f"/{name}", f"{name} is empty")
        for name in ("unit", "datatype", "lang", "type", "source")
    ],
    *[
        ({name: 7}, f"/{name}", f"{name} must be text")
        for name in ("unit", "datatype", "lang", "type", "source", "content")
    ],
    *[
        ({name: "a\x00b"}, f"/{name}", "NUL")
        for name in ("unit", "datatype", "lang", "type", "source", "content")
    ],
    ({"content": "x" * 1_000_001}, "/content", "longer than"),
    ({"meta": "x"}, "/meta", "meta must be a map, not text"),
    ({"meta": [1]}, "/meta", "meta must be a map, not a list"),
    ({"quality": 0}, "/quality", "(0, 1]"),
    ({"quality": 0.0}, "/quality", "(0, 1]"),
    ({"quality": -0.5}, "/quality", "(0, 1]"),
    ({"quality": 1.0000001}, "/quality", "(0, 1]"),
    ({"quality": float("nan")}, "/quality", "(0, 1]"),
    ({"quality": 10**300}, "/quality", "(0, 1]"),
    ({"quality": True}, "/quality", "not a boolean"),
    ({"quality": "0.5"}, "/quality", "not text"),
    ({"valid_from": ...}, "/valid_from", "valid_from is missing, and there is no observed_at"),
    ({"valid_from": "yesterday"}, "/valid_from", "valid_from: 'yesterday' is no time"),
    ({"valid_from": 2024}, "/valid_from", "bare number"),
    ({"valid_from": True}, "/valid_from", "must be text, not a boolean"),
    ({"valid_from": ["2024"]}, "/valid_from", "must be text, not a list"),
    ({"valid_from": ""}, "/valid_from", "empty time"),
    ({"valid_from": "9999-12-31"}, "/valid_from", "the open end of time"),
    ({"observed_at": "9999-12-31"}, "/observed_at", "the open end of time"),
    ({"observed_at": "27.08"}, "/observed_at", "observed_at: '27.08' is a bare number"),
    ({"valid_to": "2016-12-31T23:59:60Z"}, "/valid_to", "leap second"),
    ({"valid_to": "2024-01-01"}, "/valid_to", "half-open"),
    ({"valid_to": "2024"}, "/valid_to", "half-open"),
    ({"valid_to": "2023-12-31T23:59:59.999999Z"}, "/valid_to", "half-open"),
    ({"valid_to": "2024-01-01T02:00+02:00"}, "/valid_to", "half-open"),
    ({"subjekt": "s"}, "/subjekt", "unknown field 'subjekt'; did you mean 'subject'?"),
    ({"valid_form": "2024"}, "/valid_form", "did you mean 'valid_from'?"),
    ({"zzz": 1}, "/zzz", "unknown field 'zzz'"),
    ({"a/b~c": 1}, "/a~1b~0c", "unknown field 'a/b~c'"),
    ({"x" * 1_000_000: 1}, "/" + "x" * 1_000_000, "unknown field"),
    ({"id": "f_1"}, "/id", "given by the store"),
    ({"recorded_at": "2024"}, "/recorded_at", "given by the store"),
    ({"retired_at": "2024"}, "/retired_at", "given by the store"),
]


@pytest.mark.parametrize(("changes", "pointer", "part"), BAD, ids=[f"{p[:20]} {m}" for _, p, m in BAD])
def test_what_is_refused(changes, pointer, part):
    with pytest.raises(FactFormatError) as caught:
        check_row(row(**changes))
    assert caught.value.pointer == pointer
    assert part in caught.value.message
    assert len(caught.value.message) < 1_000


def test_no_suggestion_where_nothing_is_near():
    with pytest.raises(FactFormatError) as caught:
        check_row(row(zzz=1))
    assert "did you mean" not in caught.value.message


def test_every_field_is_known():
    assert set(FIELDS) == {
        "subject",
        "predicate",
        "object",
        "value",
        "unit",
        "datatype",
        "lang",
        "type",
        "content",
        "meta",
        "valid_from",
        "valid_to",
        "observed_at",
        "source",
        "quality",
    }
