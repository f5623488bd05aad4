"""One strict parser of instants, for readers, API, command line and spec language alike.

Inside, an instant is an int: microseconds since 1970-01-01T00:00:00Z. Text is ISO 8601, extended or basic.
A date, year-month or year is a period; as an instant it is the start of that period. Nothing is guessed:
a bare number is refused unless its unit is declared, and day and month are never swapped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from chronofy_kg.errors import AmbiguousTimeError, InputError, TimeFormatError

__all__ = [
    "DAY_US",
    "OPEN_US",
    "Instant",
    "Period",
    "Precision",
    "TimeUnit",
    "find_zone",
    "format_instant",
    "instant_from_datetime",
    "parse_instant",
    "parse_period",
]

DAY_US = 86_400_000_000
#: The open end: 9999-12-31 and later, or no end at all.
OPEN_US = 253_402_300_799_999_999
_OPEN_DAY_US = 253_402_214_400_000_000  # 9999-12-31T00:00:00Z
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_DAY = datetime(9999, 12, 31)  # noqa: DTZ001 - this day means open in every zone

Precision = Literal["year", "month", "day", "minute", "second", "microsecond"]
TimeUnit = Literal["s", "ms", "us"]
_UNIT_DIGITS: dict[str, int] = {"s": 6, "ms": 3, "us": 0}  # decimals down to a microsecond

_DATE = r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?|(?P<bmonth>\d\d)(?P<bday>\d\d))?"
_CLOCK = (
    r"(?P<hour>\d\d)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
    r"|(?P<bminute>\d\d)(?:(?P<bsecond>\d\d)(?:[.,](?P<bfraction>\d+))?)?)"
)
# The '+' of an offset arrives as a blank where a query string was not escaped.
_OFFSET = r"(?P<zulu>[Zz])|(?P<sign>[+\-− ])(?P<ohour>\d\d)(?::?(?P<ominute>\d\d))?"
_INSTANT = re.compile(rf"{_DATE}(?:[Tt ]{_CLOCK}(?:{_OFFSET})?)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)

_LONGEST = 100  # characters; far more than any instant has
_FORMS = "write it like 2024-05-17T08:30:00Z, 2024-05-17, 2024-05 or 2024"


@dataclass(frozen=True, slots=True)
class Instant:
    """A parsed time.

    Attributes:
        us: microseconds since 1970-01-01T00:00:00Z; for a date, month or year its first microsecond.
        precision: how finely the text said it.
        cut: whether digits finer than a microsecond were cut off.
    """

    us: int
    precision: Precision
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open period [start, end) in microseconds since 1970, with the precision of its text."""

    start: int
    end: int
    precision: Precision


def parse_instant(text: str, *, zone: str = "UTC", unit: TimeUnit | None = None) -> Instant:
    """Parse one instant strictly.

    Args:
        text: ISO 8601, extended or basic, with Z or an offset; without one it is local time in `zone`.
        zone: IANA name of the zone for times without an offset.
        unit: unit of a bare number since 1970 (s, ms or us); None refuses bare numbers.

    Raises:
        TimeFormatError: the text is no such time, or lies outside years 1 to 9999.
        AmbiguousTimeError: the local time does not exist in `zone`, or exists twice.

    >>> parse_instant("2024-02-29T12:00:00+02:00").us
    1709200800000000
    >>> parse_instant("2024").precision, parse_instant("2024").us == parse_instant("2024-01-01").us
    ('year', True)
    """
    if not isinstance(text, str):
        raise TimeFormatError(f"a time must be text, not {type(text).__name__}; {_FORMS}")
    return _parse(text.strip(), zone, unit)


@lru_cache(maxsize=65_536)
def parse_moment(text: str, *, zone: str = "UTC") -> int:
    """Return an instant to ask about, in microseconds since 1970: as `parse_instant`, but not the open end.

    Raises:
        TimeFormatError: the text is no instant, or means the open end of time.
    """
    moment = parse_instant(text, zone=zone).us
    if moment >= OPEN_US:
        raise TimeFormatError(f"{text!r} is the open end of time; leave it out for now")
    return moment


def _parse(text: str, zone: str, unit: TimeUnit | None) -> Instant:
    if len(text) > _LONGEST:
        raise TimeFormatError(f"{text[:60]!r}… is no time: it has {len(text):,} characters")
    if unit is not None and _NUMBER.fullmatch(text):
        return _from_number(text, unit)
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise TimeFormatError(_refusal(text))
    parts = match.groupdict()
    year, month, day = int(parts["year"]), parts["month"] or parts["bmonth"], parts["day"] or parts["bday"]
    if parts["hour"] is None:
        moment = _build(text, year, int(month or 1), int(day or 1))
        precision: Precision = "day" if day else "month" if month else "year"
        return Instant(_day_start(moment, zone, text), precision)
    if day is None:
        raise TimeFormatError(f"{text!r} has a clock time but no day; {_FORMS}")
    return _with_clock(text, parts, _build(text, year, int(month or 1), int(day)), zone)


def parse_period(text: str, *, zone: str = "UTC") -> Period:
    """Parse a period: a year, month or day, or two times with a slash between; ".." leaves an end open.

    Args:
        text: 2024, 2024-05, 2024-05-17, 2022/2024-05, or 2022/.. for one without an end; a year, month or day
            after the slash is in the period.
        zone: IANA name of the zone for times without an offset.

    Raises:
        TimeFormatError: the text is no period, or ends before it begins.
        AmbiguousTimeError: a local time does not exist in `zone`, or exists twice.

    >>> period = parse_period("2002")
    >>> format_instant(period.start), format_instant(period.end), period.precision
    ('2002-01-01T00:00:00Z', '2003-01-01T00:00:00Z', 'year')
    """
    first, slash, last = text.strip().partition("/")
    begin = parse_instant(first, zone=zone)
    if slash and last.strip() in ("", ".."):
        return Period(begin.us, OPEN_US, begin.precision)
    final = parse_instant(last, zone=zone) if slash else begin
    if not slash and final.precision not in ("year", "month", "day"):
        raise TimeFormatError(f"{text!r} is an instant, not a period; write a day, month or year, or FROM/TO")
    end = _end_of(last.strip() if slash else first, final, zone)
    if end <= begin.us:
        raise TimeFormatError(f"{text!r} ends before it begins")
    return Period(begin.us, end, final.precision)


def _end_of(text: str, instant: Instant, zone: str) -> int:
    """Return the first microsecond after a year, month or day; an instant is its own end."""
    if instant.precision not in ("year", "month", "day") or instant.us >= OPEN_US:
        return instant.us
    digits = text.replace("-", "")
    year, month, day = int(digits[:4]), int(digits[4:6] or 1), int(digits[6:8] or 1)
    try:
        if instant.precision == "day":
            after = datetime(year, month, day) + timedelta(days=1)  # noqa: DTZ001 - the zone follows
        else:
            months = 12 if instant.precision == "year" else 1
            after = datetime(year + (month - 1 + months) // 12, (month - 1 + months) % 12 + 1, 1)  # noqa: DTZ001
    except (ValueError, OverflowError):
        return OPEN_US
    return _day_start(after, zone, text)


def _with_clock(text: str, parts: dict[str, str | None], date: datetime, zone: str) -> Instant:
    """Add the clock time and offset of a match to its date."""
    minute, second = parts["minute"] or parts["bminute"], parts["second"] or parts["bsecond"]
    fraction = parts["fraction"] or parts["bfraction"] or ""
    hour, minutes, seconds = int(parts["hour"] or 0), int(minute or 0), int(second or 0)
    if seconds == 60:
        raise TimeFormatError(f"{text!r} is a leap second, which clocks here do not have; write :59")
    whole_day = hour == 24 and not minutes and not seconds and not fraction.strip("0")
    if (hour > 23 and not whole_day) or minutes > 59 or seconds > 59:
        raise TimeFormatError(f"{text!r} is no time of day; {_FORMS}")
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    precision: Precision = "microsecond" if fraction else "second" if second else "minute"
    cut, offset = bool(fraction[6:].strip("0")), _offset(parts, text)
    if date == _LAST_DAY:
        return Instant(OPEN_US, precision, cut)
    local = date + timedelta(hours=hour, minutes=minutes, seconds=seconds, microseconds=micros)
    try:
        moment = _localise(local, zone, text) if offset is None else (local - offset).replace(tzinfo=UTC)
    except OverflowError:
        raise TimeFormatError(f"{text!r} is outside the years 1 to 9999") from None
    return Instant(_to_us(moment), precision, cut)


def _offset(parts: dict[str, str | None], text: str) -> timedelta | None:
    """Return the written offset from UTC, None for a local time."""
    if parts["zulu"]:
        return timedelta(0)
    if parts["sign"] is None:
        return None
    hours, minutes = int(parts["ohour"] or 0), int(parts["ominute"] or 0)
    if hours > 23 or minutes > 59:
        raise TimeFormatError(f"{text!r} has no valid offset; write it like +02:00")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if parts["sign"] in "-−" else offset


def _day_start(date: datetime, zone: str, text: str) -> int:
    """Return the first microsecond of a local day, also where the clocks change at its midnight."""
    if date == _LAST_DAY:
        return OPEN_US
    if zone == "UTC":
        return _to_us(date.replace(tzinfo=UTC))
    place = find_zone(zone)
    try:
        moment = date.replace(tzinfo=place).astimezone(UTC)
    except OverflowError:
        raise TimeFormatError(f"{text!r} is outside the years 1 to 9999") from None
    if moment.astimezone(place).date() != date.date():
        raise AmbiguousTimeError(f"{text!r} does not exist in {zone}, where that day was left out")
    return _to_us(moment)


def _localise(local: datetime, zone: str, text: str) -> datetime:
    """Place a time without offset in its zone; refuse what does not exist there or exists twice."""
    if zone == "UTC":
        return local.replace(tzinfo=UTC)
    place = find_zone(zone)
    first, second = local.replace(tzinfo=place, fold=0), local.replace(tzinfo=place, fold=1)
    if first.utcoffset() != second.utcoffset():
        exists = first.astimezone(UTC).astimezone(place).replace(tzinfo=None) == local
        problem = "exists twice" if exists else "does not exist"
        raise AmbiguousTimeError(f"{text!r} {problem} in {zone}; add its offset, like +02:00")
    return first.astimezone(UTC)


@lru_cache(maxsize=64)
def find_zone(zone: str) -> tzinfo:
    """Return the zone of an IANA name, e.g. Europe/Amsterdam; InputError for an unknown one."""
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(f"unknown time zone {zone!r}; give an IANA name such as Europe/Amsterdam") from None


def _build(text: str, year: int, month: int, day: int) -> datetime:
    try:
        return datetime(year, month, day)  # noqa: DTZ001 - the zone is added by the caller
    except ValueError:
        if year == 0:
            raise TimeFormatError(f"{text!r} is outside the years 1 to 9999") from None
        raise TimeFormatError(f"{text!r} is no date: there is no such day") from None


def _from_number(text: str, unit: TimeUnit) -> Instant:
    whole, _, fraction = text.lstrip("+-").partition(".")
    digits = _UNIT_DIGITS[unit]
    us, finer = int(whole + fraction[:digits].ljust(digits, "0")), bool(fraction[digits:].strip("0"))
    if text.startswith("-"):
        us = -us - finer
    if not -62_135_596_800_000_000 <= us <= OPEN_US:
        raise TimeFormatError(f"{text!r} {unit} since 1970 is outside the years 1 to 9999")
    return Instant(_open(us), "second" if unit == "s" and not fraction else "microsecond", finer)


def _to_us(moment: datetime) -> int:
    delta = moment - _EPOCH
    return _open((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds)


def _open(us: int) -> int:
    return OPEN_US if us >= _OPEN_DAY_US else us


def _refusal(text: str) -> str:
    if not text:
        return f"an empty time; {_FORMS}"
    if _NUMBER.fullmatch(text):
        return f"{text!r} is a bare number: declare its unit (s, ms or us), or {_FORMS}"
    if re.fullmatch(r"\d{1,4}[./-]\d{1,2}([./-]\d{1,4})?|\d{1,2}[./-]\d{4}", text, re.ASCII):
        return f"{text!r} is ambiguous: day and month are never guessed; {_FORMS}"
    if re.match(r"[-−]\d{4}", text):
        return f"{text!r} is outside the years 1 to 9999"
    return f"{text[:60]!r} is no time; {_FORMS}"


def instant_from_datetime(moment: datetime, *, zone: str = "UTC") -> int:
    """Return the microseconds since 1970 of a datetime; a naive one is local time in `zone`.

    Raises:
        TimeFormatError: it lies outside years 1 to 9999 in UTC.
        AmbiguousTimeError: the local time does not exist in `zone`, or exists twice.
    """
    if moment.replace(tzinfo=None) >= _LAST_DAY:
        return OPEN_US
    try:
        if moment.tzinfo is None:
            moment = _localise(moment, zone, moment.isoformat())
        return _to_us(moment.astimezone(UTC))
    except OverflowError:
        raise TimeFormatError(f"{moment.isoformat()!r} is outside the years 1 to 9999") from None


def format_instant(us: int) -> str | None:
    """Return an instant as RFC 3339 text in UTC, or None for the open end.

    >>> format_instant(1709200800000000)
    '2024-02-29T10:00:00Z'
    """
    if us >= _OPEN_DAY_US:
        return None
    moment = _EPOCH + timedelta(microseconds=int(us))
    return moment.isoformat(timespec="microseconds" if moment.microsecond else "seconds").replace(
        "+00:00", "Z"
    )
