"""Known mistakes, read from `grammar/mistakes.json`: which one an error is, and what to say about it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from chronofy_kg.resources import data_text
from chronofy_kg.spec.operators import Table
from chronofy_kg.spec.scan import Token

__all__ = ["KnownMistake", "Place", "find_mistake", "known_mistakes", "mistake_data"]


@dataclass(frozen=True, slots=True)
class KnownMistake:
    """One entry: its conditions (empty: any), and its hint with `{found}` and `{item}` to fill in."""

    found: frozenset[str]
    before: frozenset[str]
    next: frozenset[str]
    expected: frozenset[str]
    items: frozenset[str]
    opener: frozenset[str]
    hint: str


@dataclass(frozen=True, slots=True)
class Place:
    """A syntax error: the token at which nothing fits, what is around it, and what was tried.

    Args:
        found: the token.
        before: the token before it in the item or formula, or None.
        next: the token after it, if no blank is between them, or None.
        tried: names of terminals, and of what they make up (a formula, an expression).
        item: the word of the item, or empty for a formula on its own.
        opener: the token before the innermost open bracket, or None.
        table: the operator table.
    """

    found: Token
    before: Token | None
    next: Token | None
    tried: Collection[str]
    item: str
    opener: Token | None
    table: Table


@cache
def mistake_data() -> Mapping[str, Any]:
    """Return the data file (read once)."""
    return MappingProxyType(json.loads(data_text("grammar", "mistakes.json")))


@cache
def known_mistakes() -> tuple[KnownMistake, ...]:
    """Return the entries in their order."""
    conditions = ("found", "before", "next", "expected", "items", "opener")
    return tuple(
        KnownMistake(**{key: frozenset(row.get(key, ())) for key in conditions}, hint=row["hint"])
        for row in mistake_data()["mistakes"]
    )


def find_mistake(place: Place) -> str | None:
    """Return the hint of the first entry whose conditions all hold, or None."""
    for one in known_mistakes():
        tokens = (
            (one.found, place.found),
            (one.before, place.before),
            (one.next, place.next),
            (one.opener, place.opener),
        )
        if not all(_matches(wanted, token, place.table) for wanted, token in tokens):
            continue
        if (one.items and place.item not in one.items) or (
            one.expected and not one.expected & set(place.tried)
        ):
            continue
        shown = place.found.text if len(place.found.text) <= 40 else place.found.text[:37] + "..."
        return (
            one.hint.replace("{found!r}", repr(shown)).replace("{found}", shown).replace("{item}", place.item)
        )
    return None


def _matches(wanted: frozenset[str], token: Token | None, table: Table) -> bool:
    if not wanted:
        return True
    if token is None:
        return False
    return token.text in wanted or f"*{_kind(token, table)}" in wanted


def _kind(token: Token, table: Table) -> str:
    """The kind of a token: binary, prefix or comparison for operators, reserved for other such words."""
    for level in table.levels:
        if token.text in level.by_spelling:
            joins = level.node in ("logic", "pair")
            return "binary" if joins else "prefix" if level.node == "prefix" else level.node
    return "reserved" if token.text in table.reserved else token.kind
