"""Instants: text and back, the order of instants, and no exception but ours from any text."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from chronofy_kg.errors import InputError
from chronofy_kg.facts.time import OPEN_US, format_instant, instant_from_datetime, parse_instant

FIRST = -62_135_596_800_000_000
LAST = OPEN_US - 86_400_000_000
instants = st.integers(FIRST, LAST)
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59)


@given(instants)
def test_format_then_parse_is_the_same_instant(us):
    parsed = parse_instant(format_instant(us))
    assert parsed.us == us
    assert not parsed.cut
    assert format_instant(np.int64(us)) == format_instant(us)


@given(instants.filter(lambda us: FIRST + 2 * 86_400_000_000 < us < LAST - 2 * 86_400_000_000), offsets)
def test_the_written_offset_does_not_change_the_instant(us, minutes):
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
    local = moment.astimezone(timezone(timedelta(minutes=minutes)))
    assert parse_instant(local.isoformat()).us == us
    assert parse_instant(local.isoformat().replace("+", " ")).us == us
    assert parse_instant(local.isoformat(" ")).us == us
    basic = local.strftime("%Y").zfill(4) + local.strftime("%m%dT%H%M%S.%f%z")
    assert parse_instant(basic).us == us
    assert instant_from_datetime(local) == us


@given(st.datetimes(timezones=st.just(UTC)), st.text("0123456789", min_size=7, max_size=12))
def test_cutting_digits_keeps_the_order(moment, digits):
    stem = moment.replace(microsecond=0, tzinfo=None).isoformat()
    assert parse_instant(f"{stem}.{digits}Z").us >= parse_instant(f"{stem}Z").us
    assert parse_instant(f"{stem}.{digits}Z").us == parse_instant(f"{stem}.{digits[:6]}Z").us


@given(
    st.one_of(
        st.text(), st.text("0123456789-:+.TZ −", max_size=30), st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*")
    ),
    st.sampled_from(["UTC", "Europe/Amsterdam", "Pacific/Apia", "America/St_Johns"]),
    st.sampled_from([None, "s", "ms", "us"]),
)
@example("0001-01-01", "Europe/Amsterdam", None)
@example("9" * 99, "UTC", "s")
def test_any_text_is_an_instant_or_an_input_error(text, zone, unit):
    try:
        parsed = parse_instant(text, zone=zone, unit=unit)
    except InputError as error:
        assert str(error)  # noqa: PT017
        return
    assert FIRST <= parsed.us <= OPEN_US
