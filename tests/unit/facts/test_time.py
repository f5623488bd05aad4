"""The parser of instants, against the table in tests/cases/instants.txt, and what no table can hold."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.instants import load_cases

from chronofy_kg.errors import AmbiguousTimeError, InputError, TimeFormatError
from chronofy_kg.facts.readers import ReadOptions, RowError, read_csv, read_jsonl, read_table
from chronofy_kg.facts.rows import RowRules
from chronofy_kg.facts.time import (
    DAY_US,
    OPEN_US,
    find_zone,
    format_instant,
    instant_from_datetime,
    parse_instant,
)


def test_parse_instant_follows_the_table(instant):
    if instant.error is None:
        parsed = parse_instant(instant.text, zone=instant.zone, unit=instant.unit)
        assert (parsed.us, parsed.precision, parsed.cut) == (instant.us, instant.precision, instant.cut)
        return
    with pytest.raises(InputError, match=instant.error) as caught:
        parse_instant(instant.text, zone=instant.zone, unit=instant.unit)
    is_zone = "unknown time zone" in instant.error
    assert isinstance(caught.value, TimeFormatError) is not is_zone
    local = "exist" in instant.error
    assert isinstance(caught.value, AmbiguousTimeError) is local


def _readers(case, field):
    """Return what JSONL and CSV make of an instant in a field."""
    times = {"valid_from": "1000-01-01T00:00:00Z", "observed_at": "1000-01-01T00:00:00Z", field: case.text}
    line = json.dumps({"subject": "s", "predicate": "p", "value": 1, **times}).encode()
    quoted = case.text.replace('"', '""')
    cells = ",".join(f'"{quoted}"' if name == field else "1000-01-01T00:00:00Z" for name in times)
    csv = [b"subject,predicate,value,valid_from,observed_at\n", f"s,p,1,{cells}\n".encode()]
    if field == "valid_to":
        csv = [b"subject,predicate,value,valid_from,observed_at,valid_to\n", f"s,p,1,{cells}\n".encode()]
    yield "jsonl", read_jsonl([line], "f.jsonl", rules=RowRules(case.zone))
    yield "csv", read_csv(csv, "f.csv", rules=RowRules(case.zone))


def test_parquet_follows_the_table(tmp_path):
    """All texts in one file: each row is what the table says of it."""
    cases = [
        case for case in load_cases() if case.unit is None and "unknown time zone" not in str(case.error)
    ]
    for zone in {case.zone for case in cases}:
        here = [case for case in cases if case.zone == zone]
        columns = {
            "subject": [f"s{number}" for number in range(len(here))],
            "predicate": ["p"] * len(here),
            "value": [1] * len(here),
            "valid_from": [case.text for case in here],
            "observed_at": ["2024-01-01T00:00:00Z"] * len(here),
        }
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        result = read_table(tmp_path / "a.parquet", ReadOptions(zone))
        table = result.table
        found = {table.assertion(row).subject: int(table.valid_from[row]) for row in range(len(table))}
        refused = {error.line: error.message for error in result.errors}
        for number, case in enumerate(here):
            if case.error is None and case.us != OPEN_US:
                assert found[f"s{number}"] == case.us
            else:
                told = refused[number + 1]
                assert case.error is None or f"valid_from: {case.error}" in told or case.error in told


def test_readers_follow_the_table(file_instant):
    instant = file_instant
    for form, rows in _readers(instant, "valid_to"):
        if instant.error is not None and "unknown time zone" in instant.error:
            with pytest.raises(InputError, match="unknown time zone"):
                list(rows)
            continue
        (row,) = rows
        if form == "csv" and instant.text == "":
            assert row.valid_to == OPEN_US  # an empty cell is absent
        elif instant.error is not None:
            assert isinstance(row, RowError)
            assert instant.error in row.message
            assert row.message.startswith("valid_to: ")
        elif instant.us <= parse_instant("1000-01-01").us:
            assert isinstance(row, RowError)
            assert "valid_to is not after valid_from" in row.message
        else:
            assert row.valid_to == instant.us


@pytest.mark.parametrize("value", [None, True, 2024, 1.5, b"2024", ["2024"]])
def test_a_time_must_be_text(value):
    with pytest.raises(TimeFormatError, match="a time must be text"):
        parse_instant(value)


@pytest.mark.parametrize("unit", [None, "s", "ms", "us"])
@pytest.mark.parametrize(
    "text", ["9" * 5_000, "9" * 400 + ".5", "2024-01-01T00:00:00." + "1" * 5_000, "x" * 10**6]
)
def test_very_long_text_is_refused_shortly(text, unit):
    with pytest.raises(TimeFormatError) as caught:
        parse_instant(text, unit=unit)
    assert len(str(caught.value)) < 300


def test_a_table_of_numbers_is_exact_at_the_microsecond():
    # 1e15 + 1e-6 s apart: a product of doubles would round.
    for us in (1_704_067_200_123_457, 8_640_000_000_000_001, -62_135_596_799_999_999):
        sign, digits = ("-", -us) if us < 0 else ("", us)
        text = f"{sign}{digits // 10**6}.{digits % 10**6:06d}"
        assert parse_instant(text, unit="s").us == us


@pytest.mark.parametrize(
    "zone", ["", ".", "Europe", "/etc/localtime", "Europe/Amsterdam\x00", "\ud800", "nowhere"]
)
def test_unknown_zones(zone):
    with pytest.raises(InputError, match="unknown time zone"):
        find_zone(zone)


def test_instant_from_datetime():
    assert instant_from_datetime(datetime(2024, 2, 29, 12, tzinfo=UTC)) == 1_709_208_000_000_000
    east = timezone(timedelta(hours=2))
    assert instant_from_datetime(datetime(2024, 2, 29, 12, tzinfo=east)) == 1_709_200_800_000_000
    naive = datetime(2024, 7, 15, 12)  # noqa: DTZ001
    assert instant_from_datetime(naive) == 1_721_044_800_000_000
    assert instant_from_datetime(naive, zone="Europe/Amsterdam") == 1_721_037_600_000_000
    with pytest.raises(AmbiguousTimeError, match="does not exist"):
        instant_from_datetime(datetime(2024, 3, 31, 2, 30), zone="Europe/Amsterdam")  # noqa: DTZ001
    with pytest.raises(AmbiguousTimeError, match="exists twice"):
        instant_from_datetime(datetime(2024, 10, 27, 2, 30), zone="Europe/Amsterdam")  # noqa: DTZ001


def test_instant_from_datetime_at_the_ends_of_time():
    assert instant_from_datetime(datetime.max) == OPEN_US  # noqa: DTZ901
    assert instant_from_datetime(datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))) == OPEN_US
    with pytest.raises(TimeFormatError, match="outside the years"):
        instant_from_datetime(datetime.min.replace(tzinfo=timezone(timedelta(hours=5))))
    with pytest.raises(TimeFormatError, match="outside the years"):
        instant_from_datetime(datetime.min, zone="Europe/Amsterdam")  # noqa: DTZ901


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (DAY_US, "1970-01-02T00:00:00Z"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00Z"),
        (OPEN_US, None),
        (OPEN_US - DAY_US, "9999-12-30T23:59:59.999999Z"),
    ],
)
def test_format_instant(us, text):
    assert format_instant(us) == text
