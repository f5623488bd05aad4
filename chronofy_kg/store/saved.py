"""The saved snapshot of a tenant: one file in a folder beside the store, so that a start need not read all.

The store alone is the truth. A file that is damaged, of another store, or of a state that the store never
had (it went back to a backup) is passed over, and whatever the disk refuses leaves things as they were.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts import OPEN_US, FactTable
from chronofy_kg.facts.archive import read_archive, write_archive
from chronofy_kg.store.address import StoreAddress
from chronofy_kg.store.facts import Changes, Position

__all__ = ["SavedSnapshot", "advance"]

_FORGOTTEN_S = 3_600.0  # a temporary file this old belongs to a process that was killed


class SavedSnapshot:
    """The file of one tenant.

    Args:
        folder: where the files are; made when the first one is saved.
        address: the store that it belongs to.
        tenant: the tenant.
    """

    def __init__(self, folder: Path, address: StoreAddress, tenant: str) -> None:
        named = json.dumps([address.uri, address.database, tenant]).encode()
        self.path = folder / (hashlib.blake2b(named, digest_size=16).hexdigest() + ".facts")

    def load(self, identity: str) -> tuple[FactTable, Position] | None:
        """Return the saved table and its position; None if there is none of the tenant with this identity."""
        try:
            with self.path.open("rb") as stream:
                found = read_archive(stream)
        except OSError:
            return None
        if found is None:
            return None
        table, notes = found
        at = Position(notes["sequence"], notes["recorded_at"], len(table), notes["identity"])
        return (table, at) if identity and at.identity == identity else None

    def save(self, table: FactTable, at: Position) -> bool:
        """Save a table; the last of several writers wins, and a reader sees one whole file or another.

        Returns:
            Whether it was saved; a disk that refuses is no error.
        """
        notes = {"sequence": at.sequence, "recorded_at": at.recorded_at, "identity": at.identity}
        folder, made = self.path.parent, None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._sweep()
            handle, made = tempfile.mkstemp(".tmp", self.path.stem + ".", folder)
            with os.fdopen(handle, "wb") as stream:
                write_archive(table, notes, stream)
            Path(made).replace(self.path)
        except OSError:
            if made is not None:
                with suppress(OSError):
                    Path(made).unlink()
            return False
        return True

    def _sweep(self) -> None:
        """Remove what killed processes left."""
        for left in self.path.parent.glob(self.path.stem + ".*.tmp"):
            with suppress(OSError):  # somebody else was first
                if time.time() - left.stat().st_mtime > _FORGOTTEN_S:
                    left.unlink()


def advance(table: FactTable, at: Position, changes: Changes, *, beside: bool = False) -> FactTable | None:
    """Return a saved table brought up to date, None if the store never was at its position.

    Args:
        table: what was saved.
        at: its position.
        changes: what the store tells since *before* the last change of the saved table. That change must be
            among them, recorded at the same microsecond: a store that went back to a backup and moved on has
            the same numbers for other changes.
        beside: that change is known to be there though no assertion tells of it: it was one of fact types.
    """
    added = changes.added
    met = np.concatenate([added.recorded_at, added.retired_at, changes.retired_at])
    if not beside and at.recorded_at not in met:
        return None
    known = added.recorded_at <= at.recorded_at
    ended = known & (added.retired_at != OPEN_US)
    if not np.isin(_words(added.ids[known]), _words(table.ids)).all():
        return None
    rest = Changes(
        sequence=changes.sequence,
        recorded_at=changes.recorded_at,
        added=added.take(np.flatnonzero(~known)),
        retired_ids=np.concatenate([changes.retired_ids, added.ids[ended]]),
        retired_at=np.concatenate([changes.retired_at, added.retired_at[ended]]),
    )
    return rest.apply(table)


def _words(ids: NDArray[np.uint8]) -> NDArray[np.void]:
    words: NDArray[np.void] = np.ascontiguousarray(ids).view("V16").ravel()
    return words
