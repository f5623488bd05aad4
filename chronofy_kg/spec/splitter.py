"""Cuts a file into items at the item words, so that an error in one does not hide those of the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chronofy_kg.spec.diagnostics import did_you_mean
from chronofy_kg.spec.operators import Table
from chronofy_kg.spec.scan import Scan

__all__ = ["Item", "split_items"]


class Item(NamedTuple):
    """An item: its tokens [first, last), and the offset at which it ends."""

    first: int
    last: int
    end: int


def split_items(scan: Scan, table: Table) -> Iterator[Item]:
    """Yield the items: each starts at an item word or after a semicolon."""
    tokens, first = scan.tokens, 0
    for at, token in enumerate(tokens):
        starts = token.kind == "word" and _starts_item(scan, at, table)
        if starts or token.text == ";":
            if at > first:
                yield Item(first, at, token.start)
            elif not starts and (at == 0 or tokens[at - 1].text == ";"):
                yield Item(at, at + 1, token.end)
            first = at if starts else at + 1
    if first < len(tokens):
        yield Item(first, len(tokens), len(scan.source.text))


def _starts_item(scan: Scan, at: int, table: Table) -> bool:
    """Whether an item starts at a word: an item word, or one misspelt at the start of a line."""
    tokens, word = scan.tokens, scan.tokens[at].text
    if word in table.items:
        return True
    if word in table.reserved or at == 0 or at + 1 == len(tokens):
        return False
    if "\n" not in scan.masked[tokens[at - 1].end : tokens[at].start]:
        return False
    after = tokens[at + 1]
    named = after.kind == "string" or (after.kind == "word" and after.text not in table.reserved)
    return named and did_you_mean(word, table.items) is not None
