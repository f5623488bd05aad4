"""Cases from reports against other products, for files and times; the number is the row of that list."""

from __future__ import annotations

import gzip
import json
import zoneinfo
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.reading import PREFIXES, SINCE_2024, line, read, turtle, us

from chronofy_kg.errors import FileEncodingError, TimeFormatError
from chronofy_kg.facts import OPEN_US, format_instant, parse_instant
from chronofy_kg.facts.readers import ReadOptions, as_mapping, read_table
from chronofy_kg.facts.time import find_zone, parse_period
from chronofy_kg.facts.writers import write_file


def test_row_29_a_year_and_month_is_that_month_on_any_day():
    for text, days in (("2004-11", 30), ("2011-02", 28), ("2024-02", 29)):
        period = parse_period(text)
        assert (period.start, period.end - period.start) == (us(f"{text}-01"), days * 86_400_000_000)
        assert period.precision == "month"
    with pytest.raises(TimeFormatError, match="is no time"):
        parse_period("Feb 2011")


@pytest.mark.parametrize("text", ["27.08", "1A2B", "03-01-05", "3/4/2024"])
def test_row_30_nothing_is_guessed(tmp_path, text):
    for name, body in (
        ("a.jsonl", line(valid_from=text)),
        ("a.csv", f"subject,predicate,value,valid_from\ns,p,1,{text}\n"),
        ("a.ttl", f'{PREFIXES} ex:a ex:p 1 {{| ck:validFrom "{text}" |}} .'),
    ):
        result = read(tmp_path / name, body)
        assert len(result.table) == 0
        assert result.errors[0].message.startswith(f"valid_from: {text!r} is ")


def test_row_31_partial_dates_keep_their_length_and_are_exported_as_written(tmp_path):
    text = "who,onset\na,2020\nb,2020-05\nc,2020-05-17\nd,2020/2022-05\ne,2020/..\n"
    mapping = as_mapping(
        {
            "fields": {"subject": "who", "value": "onset", "during": "onset"},
            "constants": {"predicate": "onset", "datatype": "xsd:string"},
        }
    )
    result = read(tmp_path / "a.csv", text, ReadOptions(mapping=mapping))
    assert result.errors == ()
    ends = [format_instant(t) for t in result.table.valid_to.tolist()]
    assert ends == ["2021-01-01T00:00:00Z", "2020-06-01T00:00:00Z", "2020-05-18T00:00:00Z",
                    "2022-06-01T00:00:00Z", None]  # fmt: skip
    write_file(result.table, tmp_path / "out.csv")
    written = (tmp_path / "out.csv").read_text()
    for told in ("2020", "2020-05", "2020-05-17", "2020/2022-05", "2020/.."):
        assert f",{told},text," in written


def test_row_32_a_bare_number_needs_its_unit(tmp_path):
    rows = f"{line(valid_from=19_999_999_999)}\n{line(valid_from=20_000_000_001, subject='t')}\n"
    result = read(tmp_path / "a.jsonl", rows)
    assert ["bare number" in error.message for error in result.errors] == [True, True]
    for unit, years in (("s", ["2603", "2603"]), ("ms", ["1970", "1970"])):
        mapping = as_mapping({"units": {"valid_from": unit}})
        result = read(tmp_path / "a.jsonl", rows, ReadOptions(mapping=mapping))
        assert result.errors == ()
        assert [str(format_instant(t))[:4] for t in result.table.valid_from.tolist()] == years
    # As text 2024 is a year, unless a unit is declared.
    assert read(tmp_path / "a.jsonl", line(valid_from="2024")).table.valid_from.tolist() == [us("2024-01-01")]


def test_row_33_seven_digits_are_cut_and_keep_their_order(tmp_path):
    texts = [f"2024-01-01T00:00:06.192616{digit}+00:00" for digit in (9, 1)]
    table = read(tmp_path / "a.jsonl", "\n".join(line(valid_from=text) for text in texts)).table
    assert [format_instant(t) for t in table.valid_from.tolist()] == ["2024-01-01T00:00:06.192616Z"] * 2
    assert parse_instant(texts[0]).cut


def test_row_34_a_leap_second_is_a_row_error(tmp_path):
    result = read(tmp_path / "a.jsonl", line(valid_from="2016-12-31T23:59:60Z") + "\n" + line())
    assert len(result.table) == 1
    assert "leap second" in result.errors[0].message


def test_row_35_valid_for_ever_loads_from_any_form(tmp_path):
    result = read(
        tmp_path / "a.csv",
        "subject,predicate,value,valid_from,valid_to\ns,p,1,2024,9999-12-31\ns,q,1,2024,2262-04-12\n",
    )
    assert result.table.valid_to.tolist() == [OPEN_US, us("2262-04-12")]
    nanoseconds = pa.array([us("2024-05-01T00:00:00.123456Z") * 1_000 + 789, None], pa.timestamp("ns", "UTC"))
    columns = {
        "subject": ["s", "t"],
        "predicate": ["p", "p"],
        "value": [1, 2],
        "valid_from": nanoseconds,
        "observed_at": pa.array([date(2262, 4, 12)] * 2),
        "valid_to": pa.array([None, date(9999, 12, 31)]),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    result = read_table(tmp_path / "a.parquet")
    assert result.errors == ()
    assert format_instant(int(result.table.valid_from[0])) == "2024-05-01T00:00:00.123456Z"
    assert result.table.valid_to.tolist() == [OPEN_US, OPEN_US]
    assert result.table.observed_at.tolist() == [us("2262-04-12")] * 2


def test_row_36_a_local_time_that_does_not_exist_is_a_row_error(tmp_path):
    options = ReadOptions(mapping=as_mapping({"zone": "Europe/London"}))
    rows = "\n".join(line(valid_from=f"2024-03-31T0{hour}:30") for hour in (0, 1, 2))
    result = read(tmp_path / "a.jsonl", rows, options)
    assert len(result.table) == 2
    assert "does not exist in Europe/London" in result.errors[0].message


def test_row_37_a_zone_is_found_without_the_system_s_files():
    paths = zoneinfo.TZPATH
    try:
        zoneinfo.reset_tzpath(to=[])
        zoneinfo.ZoneInfo.clear_cache()
        find_zone.cache_clear()
        assert parse_instant("2024-07-15T12:00:01", zone="Europe/Amsterdam").us == us("2024-07-15T10:00:01Z")
    finally:
        zoneinfo.reset_tzpath(to=paths)
        zoneinfo.ZoneInfo.clear_cache()
        find_zone.cache_clear()


def test_row_38_times_of_the_nvd_get_their_zone_and_are_exported_with_it(tmp_path):
    text = json.dumps({"id": "CVE-2024-1", "lastModified": "2024-11-21T08:47:13.723", "score": 9.8})
    mapping = as_mapping(
        {
            "zone": "UTC",
            "fields": {"subject": "id", "value": "score", "valid_from": "lastModified"},
            "constants": {"predicate": "cvss"},
        }
    )
    result = read(tmp_path / "a.jsonl", text, ReadOptions(zone="Asia/Tokyo", mapping=mapping))
    assert result.errors == ()
    write_file(result.table, tmp_path / "out.jsonl")
    written = json.loads((tmp_path / "out.jsonl").read_text())
    assert written["valid_from"] == "2024-11-21T08:47:13.723000Z"


def test_row_40_byte_order_mark_quoted_header_crlf_semicolons_and_cp1252(tmp_path):
    text = '\ufeff"subject";"predicate";"value";"valid_from"\r\n"Zoë";p;1;2024\r\n'
    assert read(tmp_path / "a.csv", text).table.assertion(0).subject == "Zoë"
    raw = text.removeprefix("\ufeff").encode("cp1252")
    with pytest.raises(FileEncodingError, match=rf"at byte {raw.index(0xEB)} .*--encoding"):
        read(tmp_path / "a.csv", raw)
    assert read(tmp_path / "a.csv", raw, ReadOptions(encoding="cp1252")).table.assertion(0).subject == "Zoë"


def test_row_41_a_late_bad_line_has_file_line_column_and_its_beginning(tmp_path):
    path = tmp_path / "big.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" * 70_000 + b'{"subject": oops' + b"x" * 200 + b"}\n"))
    (error,) = read_table(path).errors
    assert str(error).startswith(f"{path}:70001:13: not valid JSON")
    assert error.excerpt == '{"subject": oops' + "x" * 64


def test_row_42_a_duplicate_key_is_a_row_error(tmp_path):
    result = read(tmp_path / "a.jsonl", '{"subject": "s", "object": "a", "object": "b"}')
    assert "duplicate key at /object" in result.errors[0].message


def test_row_43_one_entity_in_nfc_and_nfd_and_both_texts_kept(tmp_path):
    composed, split = "Zo\u00eb", "Zoe\u0308"
    result = read(tmp_path / "a.jsonl", f"{line(subject=composed)}\n{line(subject=split)}\n".encode())
    table = result.table
    assert [table.assertion(row).subject for row in range(2)] == [composed, split]
    assert table.statement(0) == table.statement(1)
    for ending in (".jsonl", ".csv", ".parquet", ".ttl"):
        write_file(table, tmp_path / f"out{ending}")
        again = read_table(tmp_path / f"out{ending}", ReadOptions(restore=True)).table
        assert [again.assertion(row).subject for row in range(2)] == [composed, split]


def test_row_44_nul_and_lone_surrogates_are_row_errors(tmp_path):
    result = read(tmp_path / "a.jsonl", line(subject="a\x00b") + "\n" + line(subject="\ud800"))
    assert ["NUL" in result.errors[0].message, "lone surrogate" in result.errors[1].message] == [True, True]
    assert "NUL" in turtle(tmp_path, 'ex:a ex:p "a\\u0000b" .', SINCE_2024).errors[0].message


def test_row_45_an_integer_that_is_not_exact_is_a_row_error(tmp_path):
    big = 9_223_372_036_854_775_808
    pq.write_table(
        pa.table(
            {
                "subject": ["s"],
                "predicate": ["p"],
                "value": pa.array([big], pa.uint64()),
                "valid_from": ["2024"],
            }
        ),
        tmp_path / "a.parquet",
    )
    for result in (
        read(tmp_path / "a.jsonl", line(value=big)),
        read(tmp_path / "a.csv", f"subject,predicate,value,valid_from\ns,p,{big},2024\n"),
        turtle(tmp_path, f"ex:a ex:p {big} .", SINCE_2024),
        read_table(tmp_path / "a.parquet"),
    ):
        assert len(result.table) == 0
        assert "beyond 2^53" in result.errors[0].message
