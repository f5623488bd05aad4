"""Whether the disk of a folder is full: the engine tells of it in words that do not say so."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["full_disk"]

_LEAST_BYTES = 4_000_000  # less than a transaction of one batch takes


def full_disk(folder: Path) -> str | None:
    """Return in one line that the disk of a folder is full, None where it has room or cannot be asked."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return None
    if free >= _LEAST_BYTES:
        return None
    return (
        f"the disk of {folder} is full ({free / 1e6:.1f} MB left): free some space and do it again; "
        "what was stored so far is kept"
    )
