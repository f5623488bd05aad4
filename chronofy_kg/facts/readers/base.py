"""What every reader shares: the error of one row, with its place and its text verbatim."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RowError"]


@dataclass(frozen=True, slots=True)
class RowError:
    """A row that is no assertion.

    Attributes:
        file: name of the file or stream.
        line: 1-based line on which the row begins.
        column: 1-based character in `place_line` at which the wrong part begins.
        message: what is wrong.
        raw: the row as it stood in the file, with its line end.
        place_line: 1-based line of the wrong part, for rows that span lines.
    """

    file: str
    line: int
    column: int
    message: str
    raw: bytes
    place_line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.place_line or self.line}:{self.column}: {self.message}"
