"""Where output goes: results on stdout, notes on stderr, one JSON document, and text that is safe to print.

Nothing here knows what is printed; that is `render`.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path
from typing import IO, Any, NoReturn

from rich.console import Console
from rich.text import Text

__all__ = ["Output", "on_one_line", "plain", "prepare_streams"]

# Controls act on the terminal, direction marks reorder what is read, lone surrogates cannot be written.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def prepare_streams() -> None:
    """Let stdout and stderr write any text; what their encoding cannot say is escaped."""
    # A stream that was closed before the start is None.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def plain(text: object) -> str:
    """Return text without characters that would act on a terminal.

    >>> plain("a\\x1b[31mb")
    'a\ufffd[31mb'
    """
    return _UNSAFE.sub("\ufffd", str(text).replace("\r\n", "\n"))


def on_one_line(text: object) -> str:
    """Return text as one printable line.

    >>> on_one_line("a\\n  b")
    'a b'
    """
    return " ".join(plain(text).split())


class _Console(Console):
    """A console that leaves a broken pipe to the caller."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def _console(stream: IO[str]) -> Console:
    # Data may look like markup or emoji codes; NO_COLOR asks for no codes at all, bold included.
    bare = bool(os.environ.get("NO_COLOR"))
    return _Console(
        file=stream, markup=False, emoji=False, highlight=False, color_system=None if bare else "auto"
    )


class Output:
    """The two streams of one command.

    Attributes:
        results: console on stdout.
        notes: console on stderr.
    """

    def __init__(self) -> None:
        self.results, self.notes = _console(sys.stdout), _console(sys.stderr)

    def say(self, text: str, style: str = "") -> None:
        """Print a line of the result; it is not wrapped, so that it can be cut out whole."""
        self.results.print(Text(plain(text), style), soft_wrap=True)

    def note(self, text: str, style: str = "") -> None:
        """Print a line on stderr."""
        self.notes.print(Text(plain(text), style), soft_wrap=True)

    def document(self, value: Any) -> None:
        """Print the one JSON document of a command."""
        utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
        text = json.dumps(value, ensure_ascii=not utf8, allow_nan=False, indent=2)
        sys.stdout.write(text + "\n")

    def verbatim(self, text: str) -> None:
        """Print a stored text as it is."""
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
