"""A read that callers at the same time share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["SharedRead"]

T = TypeVar("T")


class SharedRead(Generic[T]):
    """Reads for all who ask at the same time; thread safe.

    Each caller gets the result of a read that began after it asked, so it sees all that was written before.
    While a read is under way those who ask wait for the next one, which serves all of them.

    Args:
        read: what to do; its errors are raised in every caller that it served.
    """

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._changed, self._is_busy = threading.Condition(), False
        self._begun = self._ended = 0
        self._found: list[T] = []
        self._error: BaseException | None = None

    def __call__(self) -> T:
        """Return the result of a read that begins from now on."""
        with self._changed:
            asked = self._begun
            self._changed.wait_for(lambda: self._ended > asked or not self._is_busy)
            if self._ended > asked:
                return self._result()
            self._is_busy = True
            self._begun += 1
            mine = self._begun
        found: list[T] = []
        error: BaseException | None = None
        try:
            found = [self._read()]
        except BaseException as problem:
            error = problem
        with self._changed:
            self._is_busy, self._ended, self._found, self._error = False, mine, found, error
            self._changed.notify_all()
            return self._result()

    def _result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._found[0]
