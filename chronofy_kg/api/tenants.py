"""The knowledge bases of one server: its own, and one for each tenant whose key has asked for something.

All stand on the same open store. A tenant's is opened at its first request and kept: there are only as many
as there are tenants with keys.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from chronofy_kg.api.access import Caller
from chronofy_kg.api.jobs import Jobs
from chronofy_kg.api.warm import Warmer
from chronofy_kg.kb import KnowledgeBase

__all__ = ["Seat", "Tenants", "seat_of"]


@dataclass(frozen=True, slots=True)
class Seat:
    """A tenant's knowledge base, the thread that embeds its texts, and its jobs."""

    kb: KnowledgeBase
    warmer: Warmer
    jobs: Jobs


class Tenants:
    """The seats; thread safe.

    Args:
        kb: the server's own, which its opener closes.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.own = Seat(kb, Warmer(kb), Jobs(kb))
        self._lock = threading.Lock()
        self._others: dict[str, Seat] = {}
        self._ended = False

    def start(self) -> None:
        """Begin to embed."""
        self.own.warmer.start()

    def stop(self) -> None:
        """End the threads, and close what was opened here."""
        with self._lock:
            self._ended, others = True, list(self._others.values())
        for seat in (self.own, *others):
            seat.jobs.stop()
            seat.warmer.stop()
        for seat in others:
            seat.kb.close()

    def opened(self, tenant: str | None) -> Seat | None:
        """Return a seat that is there already."""
        if tenant is None or tenant == self.own.kb.tenant:
            return self.own
        return self._others.get(tenant)

    def seat(self, tenant: str | None) -> Seat:
        """Return the seat of a tenant; the first time this reads the tenant's facts."""
        with self._lock:
            found = self.opened(tenant)
            if found is not None or tenant is None:
                return self.own if found is None else found
            kb = self.own.kb.of_tenant(tenant)
            seat = Seat(kb, Warmer(kb), Jobs(kb))
            self._others[tenant] = seat
            if not self._ended:
                seat.warmer.start()
            return seat


async def seat_of(request: Request) -> Seat:
    """Return the seat of whoever asks."""
    tenants: Tenants = request.app.state.tenants
    caller: Caller = request.state.caller
    found = tenants.opened(caller.tenant)
    return found if found is not None else await run_in_threadpool(tenants.seat, caller.tenant)
