"""A server that starts before its store: it is live, it is not ready, and it asks the store again and again.

Nothing of the application is there yet, so nothing is told but that the store does not answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chronofy_kg.api.encode import JsonReply
from chronofy_kg.api.problems import ProblemError, problem_reply
from chronofy_kg.errors import StoreUnavailableError
from chronofy_kg.kb import KnowledgeBase

__all__ = ["StoreWatch", "waiting_app"]

_PAUSE_S = 1.0
_LIVE = "/healthz/live"


class StoreWatch:
    """Opens a knowledge base as soon as its store answers, in a thread of its own.

    Args:
        open_base: opens it, or raises StoreUnavailableError; any other error ends the watch.
        problem: the error of the first try.
    """

    def __init__(self, open_base: Callable[[], KnowledgeBase], problem: StoreUnavailableError) -> None:
        self._open, self.problem = open_base, problem
        self._error: Exception | None = None
        self._found: KnowledgeBase | None = None
        self._left = threading.Event()
        #: Set once there is nothing more to wait for.
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chronofy-kg-store", daemon=True)
        self._thread.start()

    def result(self) -> KnowledgeBase | None:
        """Leave off, and return what was opened, None if nothing was; raises what ended the watch."""
        self._left.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found

    def _run(self) -> None:
        try:
            while self._found is None and not self._left.wait(_PAUSE_S):
                try:
                    self._found = self._open()
                except StoreUnavailableError as problem:
                    self.problem = problem
        except Exception as error:  # told by `result`
            self._error = error
        finally:
            self.ended.set()


def waiting_app(watch: StoreWatch) -> Callable[[Scope, Receive, Send], Any]:
    """Return the application that answers meanwhile: 200 for being live, 503 for all else."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reply: Response = JsonReply({"status": "ok"})
        if Request(scope).url.path != _LIVE:
            problem = ProblemError("store-unavailable", str(watch.problem), headers={"Retry-After": "1"})
            reply = problem_reply(problem, None)
        await reply(scope, receive, send)

    return app
