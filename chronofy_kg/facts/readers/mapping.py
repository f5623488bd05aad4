"""Column mapping: which column of a file is which field of an assertion, from a small TOML or JSON file.

    zone = "Europe/Amsterdam"       # of times without an offset
    [fields]                        # field = column; columns that carry a field's name need no entry
    subject = "patient_id"
    value = "egfr"
    valid_from = "taken"
    [prefixes]                      # put before what the column holds
    subject = "patient:"
    [constants]                     # field = the same for every row
    predicate = "egfr"
    [units]                         # unit of times that are bare numbers: s, ms or us
    valid_from = "ms"
    [meta]                          # key of meta = column
    ward = "ward_no"

With a mapping, columns that it does not name and that carry no field's name are passed over. Errors name the
line and column of the mapping file.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from chronofy_kg.errors import FactFormatError, InputError
from chronofy_kg.facts.readers.base import HELPERS
from chronofy_kg.facts.rows import FILE_FIELDS, STORED_FIELDS, TIME_FIELDS
from chronofy_kg.facts.strict_json import JsonError, decode_json, locate
from chronofy_kg.facts.time import TimeUnit, find_zone, parse_instant, parse_period

__all__ = ["NO_MAPPING", "ColumnMapping", "as_mapping", "load_mapping"]

_SECTIONS = ("fields", "prefixes", "constants", "units", "meta")
_UNITS = ("s", "ms", "us")
_MAPPABLE = (*FILE_FIELDS, *STORED_FIELDS)
_NAMES = ("subject", "predicate", "object", "unit", "datatype", "lang", "type", "source")
_TOML_ERROR = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """A checked mapping.

    Attributes:
        fields: column by field.
        prefixes: text put before the column's, by field.
        constants: value by field, the same for every row.
        units: unit of bare numbers, by time field.
        meta: column by key of meta.
        zone: zone of times without an offset, or None.
        origin: name of the mapping file, for errors.
        places: (line, column) of an entry in that file, by "section.key".
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, TimeUnit] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    zone: str | None = None
    origin: str = "mapping"
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.fields or self.prefixes or self.constants or self.units or self.meta)

    def column_of(self, name: str) -> str:
        """Return the column that a field is read from."""
        return self.fields.get(name, name)

    def cells(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the cells of a row under the names of fields, with the constants."""
        taken = {*self.fields.values(), *self.meta.values()}
        cells = {
            name: cell
            for name, cell in row.items()
            if name not in taken and (name in _MAPPABLE or name in HELPERS or name.startswith("meta."))
        }
        for name, column in self.fields.items():
            cells[name] = _as_name(row.get(column)) if name in _NAMES else row.get(column)
        for name, prefix in self.prefixes.items():
            stated = _as_name(cells.get(name))
            cells[name] = prefix + stated if isinstance(stated, str) else stated
        for key, column in self.meta.items():
            cells[f"meta.{key}"] = row.get(column)
        return cells | dict(self.constants)

    def check_columns(self, present: Sequence[str]) -> None:
        """Refuse a mapping that names a column which the file does not have.

        Raises:
            FactFormatError: with the place in the mapping file.
        """
        for section, entries in (("fields", self.fields), ("meta", self.meta)):
            for key, column in entries.items():
                if column not in present:
                    raise self._error(
                        f"{section}.{key}", f"the file has no column {column!r}", column, present
                    )

    def refuse_columns(self, form: str) -> None:
        """Refuse entries that make no sense for a form without columns.

        Raises:
            FactFormatError: with the place in the mapping file.
        """
        for section in ("fields", "prefixes", "units", "meta"):
            for key in getattr(self, section):
                raise self._error(
                    f"{section}.{key}", f"{form} has no columns; only zone and constants apply to it"
                )

    def _error(self, path: str, message: str, wrong: str = "", known: Iterable[str] = ()) -> FactFormatError:
        line, column = self.places.get(path, (None, None))
        text = message + _meant(wrong, known)
        return FactFormatError(
            text if line else f"{path}: {text}", file=self.origin, line=line, column=column
        )


NO_MAPPING = ColumnMapping()


def load_mapping(path: Path) -> ColumnMapping:
    """Read and check a mapping file: TOML, or JSON by its ending.

    Raises:
        InputError: the file cannot be read.
        FactFormatError: it is not well-formed, or an entry is wrong; the place is named.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from None
    if path.suffix.lower() == ".json":
        return _checked(_json(text, str(path)), str(path), lambda *keys: _json_place(text, keys))
    return _checked(_toml(text, str(path)), str(path), lambda *keys: _toml_place(text, keys))


def as_mapping(mapping: ColumnMapping | Mapping[str, Any] | str | Path | None) -> ColumnMapping:
    """Return a mapping from what a caller gave: a file's path, its content as a map, or nothing.

    Raises:
        InputError: as for `load_mapping`.
    """
    if mapping is None:
        return NO_MAPPING
    if isinstance(mapping, ColumnMapping):
        return mapping
    if isinstance(mapping, str | Path):
        return load_mapping(Path(mapping))
    return _checked(dict(mapping), "mapping", lambda *_: (None, None))


def _toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_ERROR.fullmatch(str(error))
        message = found[1] if found else str(error)
        lines = text.splitlines() or [""]
        place = (len(lines), len(lines[-1]) + 1)
        if found and found[2]:
            place = (int(found[2]), int(found[3]))
        raise FactFormatError(
            f"not valid TOML: {message[0].lower()}{message[1:]}", file=name, line=place[0], column=place[1]
        ) from None


def _json(text: str, name: str) -> dict[str, Any]:
    try:
        value = decode_json(text)
    except JsonError as error:
        line, column = error.line, error.column
        if error.problems:
            line, column = _at(text, locate(text, error.problems[0][0], occurrence=1))
        raise FactFormatError(error.message, file=name, line=line, column=column) from None
    if not isinstance(value, dict):
        raise FactFormatError("a mapping must be a JSON object", file=name, line=1, column=1)
    return value


def _json_place(text: str, keys: Sequence[str]) -> tuple[int, int]:
    return _at(text, locate(text, "".join(f"/{key}" for key in keys)))


def _at(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _toml_place(text: str, keys: Sequence[str]) -> tuple[int, int]:
    """Return the place of an entry in a TOML text, the nearest one above where it is written otherwise."""
    section, found = "", (1, 1)
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*(?P<name>[^\]]+?)\s*\]", line)
        entry = re.match(r"\s*(?P<quote>[\"']?)(?P<name>[^\"'=]+?)(?P=quote)\s*=", line)
        if header:
            section = header["name"].strip("\"'")
            if section == keys[0]:
                found = (number, header.start("name") + 1)
        elif entry:
            path = [*([section] if section else []), *entry["name"].split(".", 1 if not section else 0)]
            if list(keys) == path:
                return number, entry.start("name") + 1
            inline = re.search(rf"[{{,]\s*[\"']?({re.escape(keys[-1])})[\"']?\s*=", line)
            if path == list(keys[:1]):
                found = (number, (inline.start(1) if inline else entry.start("name")) + 1)
    return found


class _Checker:
    """Collects what is wrong in a mapping, with places."""

    def __init__(self, origin: str, place: Any) -> None:
        self.origin, self._place = origin, place
        self.errors: list[FactFormatError] = []
        self.places: dict[str, tuple[int, int]] = {}

    def note(self, *keys: str) -> None:
        line, column = self._place(*keys)
        if line is not None:
            self.places[".".join(keys)] = (line, column)

    def refuse(self, keys: Sequence[str], message: str) -> None:
        line, column = self._place(*keys)
        text = message if line is not None else f"{'.'.join(keys)}: {message}"
        self.errors.append(FactFormatError(text, file=self.origin, line=line, column=column))

    def finish(self) -> None:
        """Raise the first error by place, and say how many more there are."""
        if self.errors:
            first = min(self.errors, key=lambda error: (error.line or 0, error.column or 0))
            more = len(self.errors) - 1
            message = first.message + (f" (and {more} more)" if more else "")
            raise FactFormatError(message, file=first.file, line=first.line, column=first.column)


def _checked(data: dict[str, Any], origin: str, place: Any) -> ColumnMapping:
    checker = _Checker(origin, place)
    for name in data:
        if name not in (*_SECTIONS, "zone"):
            checker.refuse([name], f"unknown section {name!r}" + _meant(name, (*_SECTIONS, "zone")))
    sections = {name: _section(data, name, checker) for name in _SECTIONS}
    zone = _zone(data.get("zone"), checker)
    for name in ("fields", "prefixes", "meta"):
        _check_texts(sections[name], name, checker)
    _check_units(sections["units"], checker)
    constants = _constants(sections, zone or "UTC", checker)
    checker.finish()
    return ColumnMapping(
        sections["fields"], sections["prefixes"], constants, sections["units"], sections["meta"],
        zone, origin, checker.places,
    )  # fmt: skip


def _section(data: Mapping[str, Any], name: str, checker: _Checker) -> dict[str, Any]:
    section = data.get(name, {})
    if not isinstance(section, dict):
        checker.refuse([name], f"{name} must be a table of entries")
        return {}
    known = {"units": TIME_FIELDS, "prefixes": _NAMES}.get(name, _MAPPABLE)
    for key in section:
        checker.note(name, key)
        if name != "meta" and key not in known:
            what = {"units": "time field", "prefixes": "name field"}.get(name, "field")
            checker.refuse([name, key], f"unknown {what} {key!r}" + _meant(key, known))
    return section


def _zone(zone: Any, checker: _Checker) -> str | None:
    if zone is None:
        return None
    try:
        find_zone(str(zone))
    except InputError as error:
        checker.refuse(["zone"], str(error))
    return str(zone)


def _check_texts(section: Mapping[str, Any], name: str, checker: _Checker) -> None:
    for key, text in section.items():
        if not isinstance(text, str) or not text:
            what = "text" if name == "prefixes" else "the name of a column"
            checker.refuse([name, key], f"{name}.{key} must be {what}")


def _check_units(units: Mapping[str, Any], checker: _Checker) -> None:
    for key, unit in units.items():
        if unit not in _UNITS:
            checker.refuse(["units", key], f"unknown unit {unit!r}; it is one of {', '.join(_UNITS)}")


def _constants(sections: Mapping[str, Any], zone: str, checker: _Checker) -> dict[str, Any]:
    """Return the constants, with dates of TOML as text, and refuse those that no row could have."""
    constants: dict[str, Any] = {}
    for key, value in sections["constants"].items():
        path = ["constants", key]
        constants[key] = value.isoformat() if isinstance(value, date | datetime) else value
        if key in sections["fields"]:
            checker.refuse(path, f"{key} has a column and a constant; give one of them")
        if key in TIME_FIELDS or key == "during":
            try:
                (parse_period if key == "during" else parse_instant)(constants[key], zone=zone)
            except (InputError, AttributeError) as error:
                checker.refuse(path, f"{key}: {error}")
        elif not isinstance(value, str | bool | int | float) and key != "meta":
            checker.refuse(path, f"{key} must be text, a number or a boolean")
    return constants


def _as_name(value: Any) -> Any:
    """Return a whole number as the text that a name must be; ids often are numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _meant(wrong: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(wrong)[:60], list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
