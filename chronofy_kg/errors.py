"""The one tree of errors. A message says what, where and what to do next.

ChronofyError
├── InputError                 what was sent in is wrong
│   ├── FactFormatError        a row or a body; carries its place
│   ├── TimeFormatError        text that is no instant
│   │   └── AmbiguousTimeError a local time that does not exist or exists twice
│   └── FileEncodingError      a file is not in the encoding declared for it
├── SpecError                  a spec file; carries diagnostics
│   ├── SpecSyntaxError
│   └── SpecTypeError
├── QueryError                 a query that cannot be answered as asked
│   ├── UnknownFactError       a fact id that the store does not know
│   ├── UnknownNameError       a fact type, spec or answer that the store does not know
│   ├── CursorError            a cursor that this list did not give out
│   ├── ReadOnlyError          a write through the read-only door
│   └── LimitError             more than a limit allows
├── ConflictError              the store already holds something else
├── FitError                   a fit that was asked for cannot be made
└── StoreError                 the graph store
    ├── StoreUnavailableError  cannot be reached
    ├── StoreAuthError         refuses the user
    └── MigrationError         holds a schema that this version cannot serve

The spec language adds its kinds in `chronofy_kg.spec.diagnostics`, below SpecError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chronofy_kg.spec.diagnostics import Diagnostic

__all__ = [
    "AmbiguousTimeError",
    "ChronofyError",
    "ConflictError",
    "CursorError",
    "FactFormatError",
    "FileEncodingError",
    "FitError",
    "InputError",
    "LimitError",
    "MigrationError",
    "QueryError",
    "ReadOnlyError",
    "SpecError",
    "SpecSyntaxError",
    "SpecTypeError",
    "StoreAuthError",
    "StoreError",
    "StoreUnavailableError",
    "TimeFormatError",
    "UnknownFactError",
    "UnknownNameError",
]


class ChronofyError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(ChronofyError):
    """What was sent in is wrong; nothing of it was stored."""


class FactFormatError(InputError):
    """A row or body that is no assertion.

    Args:
        message: what is wrong and what was expected.
        file: name of the file or stream, if it came from one.
        line: 1-based line of the row, or None.
        column: 1-based character in the line, or None.
        pointer: JSON pointer of the field, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        pointer: str | None = None,
    ) -> None:
        self.message, self.file, self.line, self.column, self.pointer = message, file, line, column, pointer
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)


class TimeFormatError(InputError):
    """Text that is no instant by the rules of `chronofy_kg.facts.time`."""


class AmbiguousTimeError(TimeFormatError):
    """A local time that does not exist, or exists twice, in its zone."""


class FileEncodingError(InputError):
    """A file is not in the encoding declared for it; the message names the byte offset."""


class SpecError(ChronofyError):
    """A spec text with errors; `diagnostics` holds all of them, in order of their place."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))


class SpecSyntaxError(SpecError):
    """All errors of the text are lexical or syntactic."""


class SpecTypeError(SpecError):
    """The text parses, but its parts do not fit together: types, names, units, arity."""


class QueryError(ChronofyError):
    """A query that cannot be answered as asked."""


class UnknownFactError(QueryError):
    """A fact id that the store does not know."""


class UnknownNameError(QueryError):
    """A fact type, spec or answer that the store does not know."""


class CursorError(QueryError):
    """A cursor that this list did not give out."""


class ReadOnlyError(QueryError):
    """A query that writes, sent through the read-only door; nothing was changed."""


class LimitError(QueryError):
    """A query that asks for more than a limit allows: rows, time or size."""


class ConflictError(ChronofyError):
    """The store already holds something else under this name."""


class FitError(ChronofyError):
    """A fit that was asked for cannot be made."""


class StoreError(ChronofyError):
    """The graph store failed."""


class StoreUnavailableError(StoreError):
    """The graph store cannot be reached; the message names the address."""


class StoreAuthError(StoreError):
    """The graph store refuses the user; the message names address and user, never the password."""


class MigrationError(StoreError):
    """The store's schema does not fit this version."""
