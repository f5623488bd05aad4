"""Files by their ending: opened, decompressed, streamed to the reader of their form, and metered.

`open_lines` gives the lines of a file and says how far it has come, so that a progress display can tell the
time left.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from chronofy_kg.errors import InputError

__all__ = ["Meter", "missing_extra", "open_bytes", "plain_ending", "reading"]


class Meter:
    """How far a file has been read: `share()` lies in [0, 1], or is None where nobody knows."""

    def __init__(self) -> None:
        self.share: Callable[[], float | None] = lambda: None


def plain_ending(path: Path) -> str:
    """Return the ending of a file in lower case, without .gz.

    >>> plain_ending(Path("a/facts.NQ.gz"))
    '.nq'
    """
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return plain.suffix.lower()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is read into an InputError that names it."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read: {reason}") from None


@contextmanager
def open_bytes(path: Path, meter: Meter | None = None) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed if it ends in .gz; the meter follows the file on disk."""
    with path.open("rb") as raw:
        size = path.stat().st_size
        if meter is not None:
            meter.share = lambda: min(raw.tell() / size, 1.0) if size else None
        if path.suffix.lower() == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="rb") as unpacked:
                yield cast("IO[bytes]", io.BufferedReader(unpacked, 1 << 16))
        else:
            yield raw
        if meter is not None:
            meter.share = lambda: 1.0


def missing_extra(what: str, extra: str, error: ImportError) -> InputError:
    """Return the error for a form whose library is not installed."""
    return InputError(f"{what} needs {error.name}; install it with: pip install 'chronofy-kg[{extra}]'")
