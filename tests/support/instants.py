"""The one table of instants, tests/cases/instants.txt, for every door through which times come in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from chronofy_kg.facts.time import OPEN_US

__all__ = ["Case", "case_id", "load_cases"]

_LINE = re.compile(r'(?P<options>(?:\w+=\S+ )*)(?P<text>"(?:[^"\\]|\\.)*") => (?P<result>.+)')


@dataclass(frozen=True)
class Case:
    text: str
    zone: str
    unit: str | None
    us: int
    precision: str
    cut: bool
    error: str | None


def load_cases() -> list[Case]:
    path = Path(__file__).parents[1] / "cases" / "instants.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_case(line) for line in lines if line.strip() and not line.startswith("#")]


def _case(line: str) -> Case:
    match = _LINE.fullmatch(line)
    assert match, f"not a case: {line}"
    options = dict(option.split("=", 1) for option in match["options"].split())
    text, zone, unit = json.loads(match["text"]), options.get("zone", "UTC"), options.get("unit")
    if match["result"].startswith("error: "):
        return Case(text, zone, unit, 0, "", False, match["result"].removeprefix("error: "))
    us, precision, *cut = match["result"].split()
    assert cut in ([], ["cut"]), line
    return Case(text, zone, unit, OPEN_US if us == "open" else int(us), precision, bool(cut), None)


def case_id(case: Case) -> str:
    """Return the name of a case among a test's parameters."""
    return f"{case.zone} {case.text!a}"
