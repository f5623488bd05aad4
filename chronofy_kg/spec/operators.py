"""The table of operators, functions, units and reserved words, read from `grammar/operators.json`.

The grammar, the printer and the checks are all built from this one table, so that a new spelling is one line
of data. It holds words and levels only; what an operator means is in `monitor`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from chronofy_kg.resources import data_text

__all__ = ["Arity", "Level", "Operator", "Table", "table"]


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: its canonical name and text, all its spellings, and whether it takes an interval."""

    operator: str
    text: str
    spellings: tuple[str, ...]
    interval: bool = False


@dataclass(frozen=True, slots=True)
class Level:
    """Operators that bind equally tight.

    `form` is left, right (chains), single (no chain), chain (comparisons) or prefix; `node` names what is
    built.
    """

    name: str
    form: str
    node: str
    operators: tuple[Operator, ...]

    @property
    def by_spelling(self) -> Mapping[str, Operator]:
        """Each spelling of the level with its operator."""
        return {spelling: operator for operator in self.operators for spelling in operator.spellings}


@dataclass(frozen=True, slots=True)
class Arity:
    """How many arguments a function takes; `most` None is any number."""

    least: int
    most: int | None

    def __str__(self) -> str:
        if self.most == self.least:
            return f"{self.least} argument{'s' if self.least != 1 else ''}"
        return f"at least {self.least} arguments"


@dataclass(frozen=True, slots=True)
class Table:
    """The whole table.

    `levels` are loosest first, `windows` say whether a level stands before the interval (quantile),
    `relations` give the inverse of each relation of two periods, units are in microseconds. The hints about
    units and characters, and the synonyms of words, are from `grammar/mistakes.json`.
    """

    levels: tuple[Level, ...]
    functions: Mapping[str, Arity]
    windows: Mapping[str, bool]
    relations: Mapping[str, str]
    items: tuple[str, ...]
    units: Mapping[str, int]
    unit_hints: Mapping[str, str]
    lookalikes: Mapping[str, str]
    characters: Mapping[str, str]
    synonyms: Mapping[str, str]
    reserved: frozenset[str]
    operator_words: frozenset[str]
    ranks: Mapping[str, int]
    texts: Mapping[str, str]


@cache
def table() -> Table:
    """Return the operator table (read once)."""
    data: dict[str, Any] = json.loads(data_text("grammar", "operators.json"))
    mistakes: dict[str, Any] = json.loads(data_text("grammar", "mistakes.json"))
    levels = tuple(
        Level(level["name"], level["form"], level["node"], tuple(map(_operator, level["operators"])))
        for level in data["levels"]
    )
    operators = [(rank, operator) for rank, level in enumerate(levels) for operator in level.operators]
    words = {word for _, operator in operators for word in operator.spellings if word.isidentifier()}
    functions = {row["name"]: Arity(row["least"], row["most"]) for row in data["functions"]}
    windows = {row["name"]: row.get("level", False) for row in data["windows"]}
    reserved = {*words, *functions, *windows, *data["items"], *data["constants"]}
    return Table(
        levels=levels,
        functions=MappingProxyType(functions),
        windows=MappingProxyType(windows),
        relations=MappingProxyType({row["name"]: row["inverse"] for row in data["relations"]}),
        items=tuple(data["items"]),
        units=MappingProxyType(data["units"]),
        unit_hints=MappingProxyType(mistakes["unit_hints"]),
        lookalikes=MappingProxyType(mistakes["lookalikes"]),
        characters=MappingProxyType(mistakes["characters"]),
        synonyms=MappingProxyType(mistakes["synonyms"]),
        reserved=frozenset(reserved),
        operator_words=frozenset(words),
        ranks=MappingProxyType({operator.operator: rank for rank, operator in operators}),
        texts=MappingProxyType({operator.operator: operator.text for _, operator in operators}),
    )


def _operator(row: dict[str, Any]) -> Operator:
    return Operator(row["operator"], row["text"], tuple(row["spellings"]), row.get("interval", False))
