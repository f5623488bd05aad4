"""What is kept of background jobs: for all workers, and beyond the end of the one that runs them.

A job is alive as long as its worker says so (`beat`). One that has gone silent is failed by whoever looks
next, so that no job is lost with its worker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from chronofy_kg.store.connection import Connection, run

__all__ = ["JobRecord", "JobRecords", "JobStatus"]

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job: what was asked, how far it is, and how it ended; times in microseconds."""

    id: str
    kind: str
    status: JobStatus
    request: Mapping[str, Any]
    created_at_us: int
    beat_at_us: int
    started_at_us: int | None = None
    ended_at_us: int | None = None
    stage: str | None = None
    done: int | None = None
    total: int | None = None
    cancel: bool = False
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


class JobRecords:
    """The jobs of a tenant.

    Args:
        connection: the open store.
        tenant: whose jobs they are.
    """

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection, self._tenant = connection, tenant

    def create(self, job: str, kind: str, request: Mapping[str, Any], now_us: int) -> None:
        """Note a job that waits."""
        self._write("jobs_create", id=job, kind=kind, request=json.dumps(dict(request)), now_us=now_us)

    def all(self) -> list[JobRecord]:
        """Return every job, newest first."""
        rows = self._connection.read(lambda tx: run(tx, "jobs_read", tenant=self._tenant))
        found = [_record(row["properties"]) for row in rows]
        return sorted(found, key=lambda job: (-job.created_at_us, job.id))

    def one(self, job: str) -> JobRecord | None:
        """Return a job, None for an unknown id."""
        rows = self._connection.read(lambda tx: run(tx, "jobs_one", tenant=self._tenant, id=job))
        return _record(rows[0]["properties"]) if rows else None

    def beat(self, jobs: Sequence[str], now_us: int) -> set[str]:
        """Say that jobs are alive; return which of them are to end: cancelled, or given up by others."""
        rows = self._write("jobs_beat", ids=list(jobs), now_us=now_us)
        alive = {row["id"] for row in rows if not row["cancel"]}
        return set(jobs) - alive

    def progress(self, job: str, started_at_us: int, stage: str, done: int, total: int | None) -> None:
        """Say how far a job is."""
        self._write("jobs_progress", id=job, started_at_us=started_at_us, stage=stage, done=done, total=total)

    def end(
        self,
        job: str,
        status: JobStatus,
        now_us: int,
        result: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        """Say how a job ended; one that has ended stays as it is."""
        self._write(
            "jobs_end", id=job, status=status, now_us=now_us, result=_text(result), error=_text(error)
        )

    def cancel(self, job: str) -> bool:
        """Ask for the end of a job; return whether it had not ended."""
        return bool(self._write("jobs_cancel", id=job))

    def fail_silent(self, before_us: int, now_us: int, error: Mapping[str, Any]) -> None:
        """Fail the jobs whose worker last said before an instant that they are alive."""
        self._write("jobs_orphans", before_us=before_us, now_us=now_us, error=_text(error))

    def _write(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        return self._connection.write(lambda tx: run(tx, name, tenant=self._tenant, **parameters))


def _text(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(dict(value))


def _record(properties: Mapping[str, Any]) -> JobRecord:
    row = {name: value for name, value in properties.items() if name != "tenant"}
    for name in ("request", "result", "error"):
        if row.get(name) is not None:
            row[name] = json.loads(row[name])
    return JobRecord(**row)
