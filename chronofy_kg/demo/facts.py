"""Turns the demo's raw records into assertions.

A CVE record was last seen to hold when it was last modified. Its products, score and weaknesses are stated
since its publication; its exploitation status since it was assessed. A weekly count and a quarterly figure
are known when their week or quarter is over, and hold until the next one.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from typing import Any

from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.time import OPEN_US, instant_from_datetime, parse_instant

__all__ = ["PACKS", "demo_assertions"]

#: The spec packs that declare the demo's fact types.
PACKS = ("security", "finance")
_LAST_DAYS = {1: (3, 31), 2: (6, 30), 3: (9, 30), 4: (12, 31)}
_MACRO = {"infl": "inflation_rate", "unemp": "unemployment_rate", "tbilrate": "treasury_bill_rate"}


def demo_assertions() -> Iterator[Assertion]:
    """Yield every assertion of the demo: CVE records, weekly counts, quarterly figures."""
    with (_data("cves.jsonl.gz")).open("rb") as raw, gzip.open(raw, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from _cve(json.loads(line))
    for row in _rows("weekly_by_publisher.csv"):
        yield _week(row)
    for row in _rows("macro_quarterly.csv"):
        yield from _quarter(row)


def _data(name: str) -> Any:
    return files("chronofy_kg.demo") / "data" / name


def _rows(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(io.StringIO(_data(name).read_text(encoding="utf-8")))


def _cve(record: dict[str, Any]) -> Iterator[Assertion]:
    published, modified = (parse_instant(record[name]).us for name in ("published", "modified"))
    publisher = f"cna:{record['cna']}"
    shared: dict[str, Any] = {
        "subject": record["id"],
        "content": record["description"],
        "meta": {"title": record["title"]} if "title" in record else {},
        "valid_to": OPEN_US,
        "observed_at": modified,
    }
    products = dict.fromkeys(f"product:{vendor} {product}" for vendor, product in record.get("affected", ()))
    for product in products:
        yield Assertion(predicate="affects", object=product, valid_from=published, source=publisher, **shared)
    for weakness in dict.fromkeys(record.get("cwe", ())):
        yield Assertion(
            predicate="weakness", object=weakness, valid_from=published, source=publisher, **shared
        )
    if "cvss" in record:
        score = float(record["cvss"])
        yield Assertion(
            predicate="severity_score", value=score, valid_from=published, source=publisher, **shared
        )
    if "exploitation" in record:
        status = record["exploitation"].lower()
        yield Assertion(
            predicate="exploitation", value=status, valid_from=modified, source="cisa:ssvc", **shared
        )


def _week(row: dict[str, str]) -> Assertion:
    over = date.fromisoformat(row["week_start"]) + timedelta(days=7)
    return _reading(
        f"cna:{row['publisher']}", "log_weekly_cves", float(row["log_cves"]), "ln(records)", over, "cve:list"
    )


def _quarter(row: dict[str, str]) -> Iterator[Assertion]:
    over = date(int(float(row["year"])), *_LAST_DAYS[int(float(row["quarter"]))])
    for column, predicate in _MACRO.items():
        yield _reading("US", predicate, float(row[column]), "%", over, "statsmodels:macrodata")
    gdp = math.log(float(row["realgdp"]))
    yield _reading("US", "log_real_gdp", gdp, "ln(billion USD of 2005)", over, "statsmodels:macrodata")


def _reading(subject: str, predicate: str, value: float, unit: str, day: date, source: str) -> Assertion:
    instant = instant_from_datetime(datetime(day.year, day.month, day.day, tzinfo=UTC))
    return Assertion(
        subject=subject, predicate=predicate, value=value, unit=unit, valid_from=instant, valid_to=OPEN_US,
        observed_at=instant, source=source,
    )  # fmt: skip
