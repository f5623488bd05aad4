"""Background jobs of one tenant: fit, mine and load, one after the other in a thread of this process.

What is known of a job is kept in the store (`chronofy_kg.store.jobs`), so that every worker shows it, any of
them can ask for its end, and one whose process died is failed and not lost. A job ends at its next report of
progress: between types of a fit, before the rules of a mining are written, between transactions of a load.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chronofy_kg.api.problems import KINDS, problem_from
from chronofy_kg.errors import LimitError
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.store.jobs import JobRecord, JobRecords
from chronofy_kg.store.loading import Progress

__all__ = ["Jobs", "Work"]

_LOG = logging.getLogger(__name__)
_MOST_WAITING = 20
#: What does a job: it is given the callback to report progress to, and returns its result.
Work = Callable[[Progress], Mapping[str, Any]]


@dataclass(slots=True)
class _Job:
    id: str
    work: Work
    started_at_us: int = 0
    ends: threading.Event = field(default_factory=threading.Event)
    said: tuple[str, int, int | None] = ("", 0, None)


class _EndedError(Exception):
    """Raised inside a job's work where it is to end."""


class Jobs:
    """The jobs of a tenant; thread safe. The thread begins with the first job.

    Args:
        kb: whose jobs they are.
        beat_s: seconds between two signs of life, which also carry progress.
        silent_s: seconds without a sign of life after which a job counts as failed.
    """

    def __init__(self, kb: KnowledgeBase, *, beat_s: float = 2.0, silent_s: float = 15.0) -> None:
        self._kb, self._beat_s, self._silent_s = kb, beat_s, silent_s
        self._mine: dict[str, _Job] = {}
        self._queue: deque[_Job] = deque()
        self._changed, self._stopped = threading.Condition(), False
        self._threads: list[threading.Thread] = []

    @property
    def _records(self) -> JobRecords:
        return self._kb.store.jobs(self._kb.tenant)

    def submit(self, kind: str, request: Mapping[str, Any], work: Work) -> JobRecord:
        """Queue a job.

        Args:
            kind: of the job.
            request: what was asked, as it is shown; nothing large.
            work: does it.

        Raises:
            LimitError: too many jobs wait.
        """
        job = _Job(f"j_{secrets.token_hex(8)}", work)
        with self._changed:
            if self._stopped or len(self._queue) >= _MOST_WAITING:
                raise LimitError(f"{_MOST_WAITING} jobs are waiting; try again when some have ended")
            self._records.create(job.id, kind, request, _now())
            self._mine[job.id] = job
            self._queue.append(job)
            if not self._threads:
                for target in (self._run, self._beat):
                    thread = threading.Thread(
                        target=target, name=f"chronofy-kg-jobs{target.__name__}", daemon=True
                    )
                    self._threads.append(thread)
                    thread.start()
            self._changed.notify_all()
        found = self.one(job.id)
        assert found is not None
        return found

    def all(self) -> list[JobRecord]:
        """Return every job of the tenant, newest first."""
        found = self._records.all()
        return self._records.all() if self._fail_silent(found) else found

    def one(self, job_id: str) -> JobRecord | None:
        """Return a job, None for an unknown id."""
        found = self._records.one(job_id)
        if found is not None and self._fail_silent([found]):
            found = self._records.one(job_id)
        return found

    def cancel(self, job_id: str) -> JobRecord | None:
        """Ask for the end of a job, in whichever process it runs; one that has ended stays as it is."""
        self._records.cancel(job_id)
        with self._changed:
            job = self._mine.get(job_id)
            if job is not None:
                job.ends.set()
                if job in self._queue:
                    self._queue.remove(job)
                    self._forget(job, "cancelled")
        return self.one(job_id)

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread; what runs or waits is failed with its reason."""
        with self._changed:
            self._stopped = True
            jobs, threads = list(self._mine.values()), list(self._threads)
            self._queue.clear()
            self._changed.notify_all()
        for job in jobs:
            job.ends.set()
            try:
                self._records.end(job.id, "failed", _now(), error=_error("the server was stopped"))
            except Exception:  # the end of a process waits for nobody
                _LOG.exception("could not note the end of a job")
        deadline = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _fail_silent(self, found: Sequence[JobRecord]) -> bool:
        """Fail jobs whose process is gone; return whether there may be some."""
        now = _now()
        before = now - int(self._silent_s * 1_000_000)
        if not any(job.ended_at_us is None and job.beat_at_us < before for job in found):
            return False
        self._records.fail_silent(before, now, _error("the server that ran it has ended"))
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._stopped:
                    self._changed.wait()
                if self._stopped:
                    return
                job = self._queue.popleft()
            self._do(job)

    def _do(self, job: _Job) -> None:
        def tell(stage: str, done: int, total: int | None) -> None:
            job.said = (stage, done, total)
            if job.ends.is_set():
                raise _EndedError

        status, result, error = "done", None, None
        job.started_at_us = _now()
        try:
            self._records.progress(job.id, job.started_at_us, *job.said)
            tell("begin", 0, None)
            result = job.work(tell)
        except _EndedError:
            status = "cancelled"
        except Exception as problem:
            status, error = "failed", _told(problem)
            if error["status"] >= 500:
                _LOG.exception("job failed", extra={"job": job.id, "tenant": self._kb.tenant})
        with self._changed:
            self._forget(job, status, result, error)

    def _forget(
        self,
        job: _Job,
        status: Any,
        result: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        self._mine.pop(job.id, None)
        try:
            if job.said[0]:
                self._records.progress(job.id, job.started_at_us, *job.said)
            self._records.end(job.id, status, _now(), result, error)
        except Exception:  # it will be failed as silent
            _LOG.exception("could not note the end of a job", extra={"job": job.id})

    def _beat(self) -> None:
        """Give signs of life and say the progress; learn which jobs others want to end."""
        while not self._stopped:
            time.sleep(self._beat_s)
            with self._changed:
                jobs = list(self._mine.values())
            try:
                ended = self._records.beat([job.id for job in jobs], _now()) if jobs else set()
                for job in jobs:
                    if job.id in ended:
                        job.ends.set()
                    elif job.started_at_us:
                        self._records.progress(job.id, job.started_at_us, *job.said)
            except Exception:  # the store is away; the next beat may reach it
                _LOG.warning("could not give a sign of life of %d jobs", len(jobs))


def _now() -> int:
    return time.time_ns() // 1_000


def _told(problem: Exception) -> dict[str, Any]:
    told = problem_from(problem)
    kind = KINDS[told.slug]
    return {"type": kind.uri, "title": kind.title, "status": kind.status, "detail": told.detail}


def _error(detail: str) -> dict[str, Any]:
    kind = KINDS["job-ended"]
    return {"type": kind.uri, "title": kind.title, "status": kind.status, "detail": detail}
