"""What is wrong with a spec text, and where: `Diagnostic`, and the `Report` that gathers them.

A diagnostic has a severity, a place (1-based, in characters), a code, a message, what was expected in the
user's words and at most one hint. Warnings never make a text invalid. All errors of a text are gathered and
raised as one `SpecError`. Which errors there are is decided in `grammar`, `parse` and `check`; this module
only places, words and raises them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, NamedTuple, NoReturn, TypeAlias

from chronofy_kg.errors import SpecError, SpecSyntaxError, SpecTypeError

__all__ = [
    "MOST_ERRORS",
    "SYNTAX_CODES",
    "Diagnostic",
    "Report",
    "Source",
    "Span",
    "did_you_mean",
    "in_order",
    "raise_diagnostics",
]

SYNTAX_CODES = frozenset({"lex", "syntax", "limit"})
"""Codes of lexical and syntactic errors; every other code is semantic."""

MOST_ERRORS = 20
"""So many errors of one text are reported at most."""

_WIDEST_LINE = 160
_MOST_INDEXED = 4 * 1024 * 1024
"""Characters up to which the starts of lines are kept; a longer text is refused, with one error."""
_LONGEST_MESSAGE = 300

Severity: TypeAlias = Literal["error", "warning"]


class Span(NamedTuple):
    """A half-open range of characters of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error of a spec text, or a warning.

    Args:
        line: 1-based line.
        column: 1-based character in the line.
        end_column: the character just after the token, on the same line.
        code: `lex`, `syntax`, `limit`, or the semantic `name`, `type`, `interval`, `unit`, `arity`, `value`,
            `import`, `safety`, `cycle`; of warnings `unused`, `precedence`, `constant`, `shadowed`,
            `boundary`.
        message: what is wrong.
        expected: what could have stood there, in the user's words.
        hint: what to do about it, or None.
        file: name of the text.
        source_line: the line itself.
        severity: `error` or `warning`.
    """

    line: int
    column: int
    end_column: int
    code: str
    message: str
    expected: tuple[str, ...] = ()
    hint: str | None = None
    file: str = "<string>"
    source_line: str = ""
    severity: Severity = "error"

    def __str__(self) -> str:
        lines = [f"{self.file}:{self.line}:{self.column}: {self.severity}[{self.code}]: {self.message}"]
        text, before, width = self._window()
        lines.append(f"    {text}")
        blanks = "".join("\t" if char == "\t" else " " for char in text[:before])
        lines.append(f"    {blanks}{'^' * width}")
        if self.expected:
            lines.append(f"    expected: {_listed(self.expected)}")
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        return "\n".join(lines)

    def _window(self) -> tuple[str, int, int]:
        """The part of the source line to show, the characters before the caret, and the caret's width."""
        before = self.column - 1
        start = max(0, before - _WIDEST_LINE // 2) if len(self.source_line) > _WIDEST_LINE else 0
        shown = self.source_line[start : start + _WIDEST_LINE]
        # A control character would act on the reader's terminal.
        shown = "".join(char if char == "\t" or char.isprintable() else "\ufffd" for char in shown)
        before -= start
        return shown, before, max(1, min(self.end_column - self.column, max(1, len(shown) - before)))

    def to_dict(self) -> dict[str, object]:
        """Return the diagnostic as JSON-ready values."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "end_column": self.end_column,
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "expected": list(self.expected),
            "hint": self.hint,
        }


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@dataclass(frozen=True, slots=True)
class Source:
    """A text with its name; turns offsets into lines and columns."""

    text: str
    file: str = "<string>"
    _starts: list[int] = field(default_factory=list, repr=False, compare=False)

    def place(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of an offset."""
        if len(self.text) > _MOST_INDEXED:
            start = self.text.rfind("\n", 0, offset) + 1
            return self.text.count("\n", 0, offset) + 1, offset - start + 1
        if not self._starts:
            self._starts[:] = accumulate(map((1).__add__, map(len, self.text.split("\n"))), initial=0)
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_at(self, offset: int) -> str:
        """Return the text of the line that an offset is in, without its end."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def diagnostic(
        self,
        span: Span,
        code: str,
        message: str,
        *,
        expected: Iterable[str] = (),
        hint: str | None = None,
        severity: Severity = "error",
    ) -> Diagnostic:
        """Return a diagnostic placed at a span of this text."""
        line, column = self.place(span.start)
        end_line, end_column = self.place(max(span.start, span.end))
        text = self.line_at(span.start)
        if end_line != line:
            end_column = len(text) + 1
        end_column = max(column + 1, end_column)
        # A message may quote a name, and a name may have any length.
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[: _LONGEST_MESSAGE // 2]}...{message[-_LONGEST_MESSAGE // 2 :]}"
        hint = hint if hint is None or len(hint) <= _LONGEST_MESSAGE else None
        return Diagnostic(
            line, column, end_column, code, message, tuple(expected), hint, self.file, text, severity
        )


class Report:
    """Gathers the errors and warnings of one text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def error(
        self, span: Span, code: str, message: str, *, expected: Iterable[str] = (), hint: str | None = None
    ) -> None:
        """Add an error at a span of the text."""
        self.diagnostics.append(self.source.diagnostic(span, code, message, expected=expected, hint=hint))

    def warn(self, span: Span, code: str, message: str, *, hint: str | None = None) -> None:
        """Add a warning at a span of the text."""
        self.warnings.append(self.source.diagnostic(span, code, message, hint=hint, severity="warning"))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add errors that were found in another text (an import)."""
        self.diagnostics.extend(diagnostics)

    def check(self) -> None:
        """Raise what was gathered, if anything."""
        if self.diagnostics:
            raise_diagnostics(self.diagnostics)


def raise_diagnostics(diagnostics: Iterable[Diagnostic]) -> NoReturn:
    """Raise the error class that fits: all syntactic, all semantic, or mixed (the base class).

    Raises:
        SpecError: always; the first 20 in order of place are in `.diagnostics`.
    """
    ordered = in_order(diagnostics)
    kinds = {one.code in SYNTAX_CODES for one in ordered}
    if kinds == {True}:
        raise SpecSyntaxError(ordered)
    if kinds == {False}:
        raise SpecTypeError(ordered)
    raise SpecError(ordered)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the first 20 different diagnostics in order of place."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda one: (one.file, one.line, one.column))[:MOST_ERRORS]


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate nearest to a word, if it is at most two edits away and shorter than a new word.

    An edit inserts, drops or changes a character, or swaps two neighbours.

    >>> did_you_mean("alway", ["always", "abs"])
    'always'
    >>> did_you_mean("q", ["x", "y"]) is None
    True
    """
    best: tuple[int, str] | None = None
    for candidate in sorted(set(candidates)):
        if candidate != word and candidate.lower() == word.lower():
            return candidate
        most = min(2, (min(len(word), len(candidate)) + 1) // 2 - 1 if len(word) < 4 else 2)
        if most < 1 or abs(len(candidate) - len(word)) > most:
            continue
        distance = _edits(word, candidate)
        if 0 < distance <= most and (best is None or distance < best[0]):
            best = (distance, candidate)
    return best[1] if best else None


def _edits(left: str, right: str) -> int:
    """Optimal string alignment distance."""
    older: list[int] = []
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        current = [i]
        for j, b in enumerate(right, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            current.append(cost)
        older, previous = previous, current
    return previous[-1]
