"""The background thread that loads the model and embeds new texts while the server answers."""

from __future__ import annotations

import logging
import threading

from chronofy_kg.errors import ChronofyError
from chronofy_kg.kb import KnowledgeBase

__all__ = ["Warmer"]

_LOG = logging.getLogger(__name__)


class Warmer:
    """Runs `KnowledgeBase.warm` once at the start and again after each `poke`; several pokes are one run."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._wake, self._ended = kb, threading.Event(), False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; from here on pokes have an effect."""
        # A daemon: an embedding run of hours must not hold up the end of the process.
        self._thread = threading.Thread(target=self._run, name="chronofy-kg-warm", daemon=True)
        self._wake.set()
        self._thread.start()

    def poke(self) -> None:
        """Say that there may be new texts."""
        self._wake.set()

    def stop(self, timeout: float = 5.0) -> None:
        """End after the run in progress, or leave it behind after `timeout` seconds."""
        self._ended = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._ended:
                return
            try:
                self._kb.warm()
            except ChronofyError as error:
                _LOG.warning("could not embed new texts, questions go by words and graph: %s", error)
            except Exception:  # questions still work by words, so the server goes on
                _LOG.exception("could not embed new texts, questions go by words and graph")
