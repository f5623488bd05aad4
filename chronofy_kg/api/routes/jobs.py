"""Work that takes longer than a request: started, watched, listed and ended."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from chronofy_kg.api.batch import Batch, batch_from_rows, check_rows
from chronofy_kg.api.encode import JsonReply
from chronofy_kg.api.inputs import Here, Limit, NamePath
from chronofy_kg.api.jobs import Work
from chronofy_kg.api.models import JobBody
from chronofy_kg.api.problems import ProblemError, documented
from chronofy_kg.api.replies import JobList, JobOut
from chronofy_kg.api.strict import StrictRoute
from chronofy_kg.api.tenants import Seat
from chronofy_kg.errors import CursorError, UnknownNameError
from chronofy_kg.facts.time import format_instant
from chronofy_kg.store.jobs import JobRecord
from chronofy_kg.store.loading import Progress

router = APIRouter(route_class=StrictRoute, tags=["jobs"])


@router.post(
    "/v1/jobs",
    status_code=202,
    summary="Start a job",
    description="fit learns decay rates, mine finds temporal rules, load stores facts. A bad row refuses a "
    "load, unless on_error is skip. Jobs of a tenant run one after the other.",
    response_model=JobOut,
    responses=documented("invalid-json", "body-too-large", "unsupported-media-type", "invalid-body",
                         "invalid-facts", "limit-exceeded", "store-unavailable"),
)  # fmt: skip
def start_job(here: Here, body: JobBody) -> JsonReply:
    """Start a job."""
    request: dict[str, Any] = {"kind": body.kind}
    if body.kind == "load":
        batch = _checked(here, body)
        work: Work = _load(here, batch)
        request |= {"rows": len(batch.rows), "on_error": body.on_error}
    elif body.kind == "fit":
        work = _fit(here, body.types)
        request |= {"types": body.types}
    else:
        work = _mine(here)
    job = here.jobs.submit(body.kind, request, work)
    return JsonReply(job_as_json(job), 202, {"Location": f"/v1/jobs/{job.id}"})


@router.get(
    "/v1/jobs",
    summary="List jobs",
    description="Newest first, then by id.",
    response_model=JobList,
    responses=documented("invalid-parameter", "store-unavailable"),
)
def list_jobs(
    here: Here,
    status: Annotated[
        Literal["queued", "running", "done", "failed", "cancelled"] | None, Query(description="only these")
    ] = None,
    kind: Annotated[Literal["fit", "mine", "load"] | None, Query(description="only these")] = None,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(max_length=500, description="`next` of the page before")] = None,
) -> JsonReply:
    """List jobs."""
    after = None if cursor is None else _decode(cursor)
    found = [
        job
        for job in here.jobs.all()
        if status in (None, job.status)
        and kind in (None, job.kind)
        and (after is None or (-job.created_at_us, job.id) > after)
    ]
    page = found[:limit]
    following = _encode(page[-1]) if len(found) > limit else None
    return JsonReply({"items": [job_as_json(job) for job in page], "next": following})


@router.get(
    "/v1/jobs/{job_id}",
    summary="Show a job",
    response_model=JobOut,
    responses=documented("not-found", "invalid-parameter", "store-unavailable"),
)
def show_job(here: Here, job_id: NamePath) -> JsonReply:
    """Show a job, with its progress."""
    return JsonReply(job_as_json(_known(here.jobs.one(job_id), job_id)))


@router.post(
    "/v1/jobs/{job_id}/cancel",
    summary="Cancel a job",
    description="It ends at its next step; what a load has written stays. One that has ended stays as it is.",
    response_model=JobOut,
    responses=documented("not-found", "invalid-parameter", "store-unavailable"),
)
def cancel_job(here: Here, job_id: NamePath) -> JsonReply:
    """Cancel a job."""
    return JsonReply(job_as_json(_known(here.jobs.cancel(job_id), job_id)))


def job_as_json(job: JobRecord) -> dict[str, Any]:
    """Return the JSON form of a job."""
    times = {
        name: None if us is None else format_instant(us)
        for name, us in (
            ("created_at", job.created_at_us),
            ("started_at", job.started_at_us),
            ("ended_at", job.ended_at_us),
        )
    }  # fmt: skip
    progress = None if job.stage is None else {"stage": job.stage, "done": job.done, "total": job.total}
    return {
        "id": job.id, "kind": job.kind, "status": job.status,
        "cancelling": job.cancel and job.ended_at_us is None,
        "request": job.request, "progress": progress, "result": job.result, "error": job.error, **times,
    }  # fmt: skip


def _known(job: JobRecord | None, job_id: str) -> JobRecord:
    if job is None:
        raise UnknownNameError(f"no job {job_id!r} is known")
    return job


def _checked(here: Seat, body: JobBody) -> Batch:
    batch = batch_from_rows(body.facts or [], here.kb.settings.default_zone)
    check_rows(batch, here.kb.settings.max_rows)
    if batch.errors and body.on_error == "abort":
        raise ProblemError(
            "invalid-facts", f"{len(batch.errors):,} row(s) are no assertions; no job was started",
            errors=batch.errors,
        )  # fmt: skip
    return batch


def _load(here: Seat, batch: Batch) -> Work:
    def work(tell: Progress) -> dict[str, Any]:
        report = here.kb.load(batch.rows, on_progress=tell)
        here.warmer.poke()
        return {
            "added": report.added, "unchanged": report.unchanged, "corrected": report.corrected,
            "errors": batch.errors, "sequence": report.sequence,
        }  # fmt: skip

    return work


def _fit(here: Seat, types: list[str] | None) -> Work:
    def work(tell: Progress) -> dict[str, Any]:
        fitted = here.kb.fit(types, on_progress=tell)
        return {"fitted": [{n: t[n] for n in ("name", "beta", "beta_from", "status", "n")} for t in fitted]}

    return work


def _mine(here: Seat) -> Work:
    def work(tell: Progress) -> dict[str, Any]:
        found = asdict(here.kb.mine(on_progress=tell))
        return {"nodes": found["nodes"], "edges": found["edges"]}

    return work


def _encode(job: JobRecord) -> str:
    return base64.urlsafe_b64encode(json.dumps([-job.created_at_us, job.id]).encode()).decode().rstrip("=")


def _decode(cursor: str) -> tuple[int, str]:
    try:
        place = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        created, job_id = place
        if isinstance(created, int) and isinstance(job_id, str):
            return created, job_id
    except (ValueError, TypeError, binascii.Error):
        pass
    raise CursorError("the cursor is not one that this list gave out")
