"""A small real filesystem that can be filled up, and made larger again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["SmallDisk", "small_disk"]


class SmallDisk:
    """A mounted tmpfs of some megabytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Take every byte that is left."""
        with self._filler.open("wb", buffering=0) as out:
            for size in (1 << 20, 1 << 12):
                try:
                    while out.write(b"\0" * size) == size:
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        """Give back what `fill` took."""
        self._filler.unlink()

    def grow(self, megabytes: int) -> None:
        """Make the filesystem larger."""
        subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(self.path)], check=True)


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a small disk; the test is skipped where mounting is not permitted."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "chronofy-test", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount command on this machine")
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        # Lazily: a process that is still ending may hold a file open.
        subprocess.run(["umount", "--lazy", str(path)], check=True)
