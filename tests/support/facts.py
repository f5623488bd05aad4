"""Short ways to write assertions, tables and fact types in tests."""

from __future__ import annotations

import numpy as np

from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import from_declaration
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.table import FactTable, TableBuilder
from chronofy_kg.facts.time import OPEN_US, parse_instant

__all__ = ["catalog_of", "same_rows", "table_of", "told", "us"]


def us(text: str) -> int:
    return parse_instant(text).us


def told(
    subject: str, predicate: str, value: object = None, at: str = "2026-01-01", **more: object
) -> Assertion:
    fields: dict[str, object] = {"object": more.pop("object", None), "value": value}
    start = us(at)
    end = more.pop("until", None)
    seen = more.pop("seen", None)
    return Assertion(
        subject=subject,
        predicate=predicate,
        valid_from=start,
        valid_to=OPEN_US if end is None else us(str(end)),
        observed_at=start if seen is None else us(str(seen)),
        **fields,  # type: ignore[arg-type]
        **more,  # type: ignore[arg-type]
    )


def table_of(
    *rows: Assertion, retired: dict[int, str] | None = None, recorded: str = "2020-01-01"
) -> FactTable:
    builder = TableBuilder()
    for number, row in enumerate(rows):
        gone = (retired or {}).get(number)
        builder.add(row, recorded_at=us(recorded), retired_at=OPEN_US if gone is None else us(gone))
    return builder.build()


def catalog_of(**half_lives: float) -> TypeCatalog:
    return TypeCatalog.of(
        from_declaration(name, "numeric", "one", half_life_days=days) for name, days in half_lives.items()
    )


def same_rows(left: FactTable, right: FactTable) -> bool:
    """Whether two tables say the same bit for bit, in the same order."""
    numbers = ("kind", "valid_from", "valid_to", "observed_at", "recorded_at", "retired_at", "ids")
    strings = (
        "tenant",
        "subject",
        "predicate",
        "object",
        "text",
        "unit",
        "datatype",
        "lang",
        "type",
        "source",
    )
    return (
        all(np.array_equal(getattr(left, name), getattr(right, name)) for name in numbers)
        and all(
            np.array_equal(getattr(left, name).view(np.int64), getattr(right, name).view(np.int64))
            for name in ("number", "quality")
        )
        and all(
            [left.pool.get(code) for code in getattr(left, name)]
            == [right.pool.get(code) for code in getattr(right, name)]
            for name in (*strings, "content", "meta")
        )
    )
