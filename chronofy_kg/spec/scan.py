"""Splits a spec text into tokens, before the grammar sees it.

The scanner finds what the grammar should not have to: characters that belong nowhere, where an item starts
(so that parsing can go on there after an error), which bracket closes which, and the limits on size and
depth. It also blanks comments, keeping every offset. The grammar proper is in `grammar`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from chronofy_kg.spec.diagnostics import MOST_ERRORS, Report, Source, Span
from chronofy_kg.spec.operators import Table

__all__ = [
    "MOST_BRACKETS",
    "MOST_CHARACTERS",
    "MOST_FILE_TOKENS",
    "MOST_FORMULA_TOKENS",
    "Group",
    "Scan",
    "Token",
    "find_groups",
    "scan",
]

MOST_CHARACTERS = 64 * 1024
"""Characters of one formula."""

MOST_FORMULA_TOKENS = 20_000
MOST_FILE_TOKENS = 32_000
"""Words and signs of one formula and of one file, so that any text is read or refused within two seconds."""

MOST_BRACKETS = 100
"""Depth of brackets, and of operators within one another."""

_TOKENS = re.compile(
    r"""(?P<blank>[ \t\r\n]+)
    | (?P<comment>\#[^\n]*)
    | (?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
    | (?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<quoted>'[^'\n]*')
    | (?P<variable>\?[^\W\d]\w*)
    | (?P<open>"[^\n]*)
    | (?P<symbol><->|->|<=|>=|==|!=|&&|\|\||[-+*/<>=!&|,:;()\[\]])
    | (?P<bad>.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """One token: its kind (word, number, string, variable, symbol), text and place."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.start, self.end)


class Group(NamedTuple):
    """A pair of round brackets; `close` None: not closed.

    `kind` says what stands in it: a `formula`, the arguments of a `call`, the `level` of a quantile, what a
    `window` is taken over, or a `let` that refers to itself.
    """

    open: int
    close: int | None
    end: int
    kind: str


@dataclass(slots=True)
class Scan:
    """The tokens of a text, and the text with its comments blanked; `cut`: reading ended at a limit."""

    source: Source
    masked: str
    tokens: list[Token]
    bad: list[int] = field(default_factory=list)
    cut: bool = False
    _starts: list[int] = field(default_factory=list)

    def spoiled(self, start: int, end: int) -> bool:
        """Whether a character that belongs nowhere stands in [start, end)."""
        at = bisect_left(self.bad, start)
        return at < len(self.bad) and self.bad[at] < end

    def index_at(self, offset: int) -> int:
        """Return the index of the first token that starts at or after an offset."""
        if len(self._starts) != len(self.tokens):
            self._starts = [token.start for token in self.tokens]
        return bisect_left(self._starts, offset)

    def between(self, start: int, end: int) -> list[Token]:
        """Return the tokens that start in [start, end)."""
        return self.tokens[self.index_at(start) : self.index_at(end)]


def scan(source: Source, report: Report, table: Table, most: int) -> Scan:
    """Return the tokens of a text, at most so many; reports characters that belong nowhere and skips them."""
    text = source.text
    tokens: list[Token] = []
    bad: list[int] = []
    bad_end = -1
    masked: list[str] = []
    for match in _TOKENS.finditer(text):
        kind, start, end = match.lastgroup or "bad", match.start(), match.end()
        if kind in ("comment", "string") and (turned := _TURNING.search(text, start, end)):
            bad.append(start)
            _report_turning(turned, kind, report)
        if kind == "comment":
            masked.append(" " * (end - start))
            continue
        masked.append(match.group())
        if kind == "blank":
            continue
        if kind in ("bad", "open", "quoted"):
            if start != bad_end:  # a run of strange characters is one mistake
                bad.append(start)
                _report_bad(kind, match.group(), start, report, table)
            bad_end = end
        elif len(tokens) == most:
            message = f"a text has at most {most} words and signs, its imports' included"
            report.error(Span(start, end), "limit", message, hint="split it into smaller files")
            return Scan(source, "".join(masked), tokens, bad, cut=True)
        else:
            tokens.append(Token(kind, match.group(), start, end))
        if len(bad) > MOST_ERRORS:
            return Scan(source, "".join(masked), tokens, bad, cut=True)
    return Scan(source, "".join(masked), tokens, bad)


_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that change the order in which text is shown: it reads as what it is not (CVE-2021-42574)."""


def _report_turning(found: re.Match[str], kind: str, report: Report) -> None:
    code = f"U+{ord(found.group()):04X}"
    escape = (
        f"in a text in quotes write it as \\u{ord(found.group()):04x}" if kind == "string" else "leave it out"
    )
    message = f"{code} changes the order in which this text is shown"
    report.error(Span(found.start(), found.end()), "lex", message, hint=escape)


def _report_bad(kind: str, text: str, start: int, report: Report, table: Table) -> None:
    if kind == "open":
        report.error(
            Span(start, start + len(text.rstrip())), "lex", "this string is not closed", expected=["'\"'"]
        )
        return
    if kind == "quoted":
        message = "single quotes have no meaning here"
        report.error(Span(start, start + len(text)), "lex", message, hint=f'write "{text[1:-1]}"')
        return
    instead = table.lookalikes.get(text[0])
    hint = f"write {instead}" if instead else table.characters.get(text[0])
    alone = text[0].isprintable() and text[0] != " " and not unicodedata.combining(text[0])
    shown = text[0] if alone else f"U+{ord(text[0]):04X}"
    report.error(Span(start, start + 1), "lex", f"{shown!r} has no meaning here", hint=hint)


def find_groups(tokens: list[Token], end: int, table: Table) -> tuple[list[Group], Token | None]:
    """Pair the round brackets of one formula.

    Args:
        tokens: the tokens of the formula.
        end: where the formula ends, which is where an unclosed bracket ends too.
        table: the operator table.

    Returns:
        The groups, inner ones first, and the bracket that is too deep (then the groups are not complete), or
        None.
    """
    groups: list[Group] = []
    opened: list[tuple[int, str]] = []
    windowed = False
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        if token.text == "(":
            if len(opened) == MOST_BRACKETS:
                return groups, token
            named = at + 1 < len(tokens) and tokens[at + 1].text == "let"
            kind = "window" if windowed and before == "]" else "let" if named else "formula"
            kind = "call" if before in table.functions else "level" if table.windows.get(before) else kind
            opened.append((token.start, kind))
        elif token.text == ")" and opened:
            start, kind = opened.pop()
            groups.append(Group(start, token.start, token.end, kind))
        elif token.text == "[":
            # An interval follows a window's name, or the level in brackets of a quantile.
            levelled = before == ")" and groups and groups[-1].kind == "level"
            windowed = before in table.windows or bool(levelled)
    groups.extend(Group(start, None, end, kind) for start, kind in reversed(opened))
    return groups, None
