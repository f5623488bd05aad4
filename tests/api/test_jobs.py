"""Background jobs: started, watched, cancelled, listed, and never lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api.jobs import Jobs
from chronofy_kg.errors import FitError, LimitError

Check = Callable[..., dict[str, Any]]


def wait_for(ask: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = 30.0) -> Any:
    deadline = time.monotonic() + seconds
    while not wanted(found := ask()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def ended(client: TestClient, job: dict[str, Any]) -> dict[str, Any]:
    path = f"/v1/jobs/{job['id']}"
    found: dict[str, Any] = wait_for(lambda: client.get(path).json(), lambda j: j["ended_at"] is not None)
    return found


@pytest.fixture
def jobs(kb: Any) -> Iterator[Jobs]:
    made = Jobs(kb.of_tenant(f"jobs-{time.time_ns()}"), beat_s=0.05, silent_s=5.0)
    yield made
    made.stop()


def test_a_load_then_a_fit_then_rules(client: TestClient) -> None:
    rows = [
        {"subject": f"j{n % 3}", "predicate": "level", "value": float(n % 7),
         "observed_at": f"2024-{1 + n // 28:02d}-{1 + n % 28:02d}"}
        for n in range(60)
    ]  # fmt: skip
    reply = client.post("/v1/jobs", json={"kind": "load", "facts": rows})
    assert reply.status_code == 202
    assert reply.headers["location"] == f"/v1/jobs/{reply.json()['id']}"
    load = ended(client, reply.json())
    assert (load["status"], load["kind"], load["error"]) == ("done", "load", None)
    assert load["request"] == {"kind": "load", "rows": 60, "on_error": "abort"}
    assert (load["result"]["added"], load["result"]["unchanged"], load["result"]["errors"]) == (60, 0, [])
    assert load["progress"] == {"stage": "write", "done": 60, "total": 60}
    assert load["created_at"] <= load["started_at"] <= load["ended_at"]
    fit = ended(client, client.post("/v1/jobs", json={"kind": "fit", "types": ["level"]}).json())
    assert fit["status"] == "done", fit
    assert [row["name"] for row in fit["result"]["fitted"]] == ["level"]
    assert client.get("/v1/fact-types/level").json()["beta"] == fit["result"]["fitted"][0]["beta"]
    mined = ended(client, client.post("/v1/jobs", json={"kind": "mine"}).json())
    assert mined["status"] == "done", mined
    assert set(mined["result"]) == {"nodes", "edges"}
    listed = client.get("/v1/jobs", params={"status": "done", "limit": "2"}).json()
    assert [job["id"] for job in listed["items"]] == [mined["id"], fit["id"]]
    rest = client.get("/v1/jobs", params={"status": "done", "cursor": listed["next"]}).json()
    assert rest["items"][0]["id"] == load["id"]
    assert client.get("/v1/jobs", params={"kind": "mine"}).json()["items"][0]["id"] == mined["id"]


def test_a_fit_that_cannot_be_made_is_failed_with_its_reason(client: TestClient) -> None:
    job = ended(client, client.post("/v1/jobs", json={"kind": "fit", "types": ["no such type"]}).json())
    assert (job["status"], job["result"]) == ("failed", None)
    assert job["error"]["type"] == "/problems/invalid-query"
    assert "no such type" in job["error"]["detail"]


def test_bad_rows_start_no_job(client: TestClient, assert_problem: Check) -> None:
    rows = [{"subject": "s"}, {"subject": "s", "predicate": "p", "value": 1, "observed_at": "2024-01-01"}]
    before = len(client.get("/v1/jobs", params={"limit": "1000"}).json()["items"])
    body = assert_problem(client.post("/v1/jobs", json={"kind": "load", "facts": rows}), 422, "invalid-facts")
    assert {place["pointer"].split("/")[2] for place in body["errors"]} == {"0"}
    assert len(client.get("/v1/jobs", params={"limit": "1000"}).json()["items"]) == before
    skipped = ended(
        client, client.post("/v1/jobs", json={"kind": "load", "facts": rows, "on_error": "skip"}).json()
    )
    assert skipped["result"]["added"] == 1
    assert len(skipped["result"]["errors"]) == 1


@pytest.mark.parametrize(
    "body", [{}, {"kind": "label"}, {"kind": "load"}, {"kind": "fit", "facts": []},
             {"kind": "mine", "types": ["a"]}, {"kind": "fit", "types": [""]}, {"kind": "load", "facts": {}}],
)  # fmt: skip
def test_bodies_that_are_no_job(client: TestClient, assert_problem: Check, body: dict[str, Any]) -> None:
    assert_problem(client.post("/v1/jobs", json=body), 422, "invalid-body")


def test_bad_names_and_cursors(client: TestClient, assert_problem: Check) -> None:
    assert_problem(client.get("/v1/jobs/nope"), 404, "not-found")
    assert_problem(client.post("/v1/jobs/nope/cancel"), 404, "not-found")
    for cursor in ("x", "W10", "eyJhIjoxfQ", "WzEsMl0", "é"):
        body = assert_problem(client.get("/v1/jobs", params={"cursor": cursor}), 422, "invalid-parameter")
        assert body["errors"][0]["name"] == "cursor"


def test_progress_and_the_end_that_was_asked_for(jobs: Jobs) -> None:
    go = threading.Event()

    def work(tell: Any) -> dict[str, Any]:
        tell("count", 1, 3)
        assert go.wait(10)
        tell("count", 2, 3)
        return {"never": "reached"}

    running, waiting = jobs.submit("fit", {}, work), jobs.submit("mine", {}, lambda tell: {"ran": True})
    shown = wait_for(lambda: jobs.one(running.id), lambda job: job.stage == "count")
    assert (shown.status, shown.done, shown.total) == ("running", 1, 3)
    assert jobs.cancel(waiting.id).status == "cancelled"
    assert jobs.cancel(running.id).cancel
    go.set()
    stopped = wait_for(lambda: jobs.one(running.id), lambda job: job.ended_at_us is not None)
    assert (stopped.status, stopped.result) == ("cancelled", None)
    assert jobs.cancel(running.id).status == "cancelled"
    assert jobs.cancel("nope") is None


def test_another_worker_may_ask_for_the_end(jobs: Jobs, kb: Any) -> None:
    other = Jobs(jobs._kb)
    forever = threading.Event()

    def work(tell: Any) -> dict[str, Any]:
        for number in range(1_000):
            tell("count", number, None)
            forever.wait(0.02)
        return {}

    job = jobs.submit("fit", {}, work)
    wait_for(lambda: other.one(job.id), lambda found: found.status == "running")
    assert other.cancel(job.id).cancel
    assert wait_for(lambda: other.one(job.id), lambda found: found.ended_at_us).status == "cancelled"


def test_errors_have_their_reason_and_do_not_stop_the_next(jobs: Jobs) -> None:
    def broken(tell: Any) -> dict[str, Any]:
        raise FitError("the series is flat")

    def buggy(tell: Any) -> dict[str, Any]:
        raise RuntimeError("secret-user")

    first, second = jobs.submit("fit", {}, broken), jobs.submit("fit", {}, buggy)
    third = jobs.submit("mine", {}, lambda tell: {"ran": True})
    done = wait_for(lambda: jobs.one(third.id), lambda job: job.ended_at_us)
    assert (done.status, done.result) == ("done", {"ran": True})
    assert jobs.one(first.id).error["detail"] == "the series is flat"
    assert jobs.one(first.id).error["type"] == "/problems/fit-impossible"
    assert jobs.one(second.id).error["type"] == "/problems/internal-error"
    assert "secret-user" not in str(jobs.one(second.id).error)


def test_what_a_stopped_server_ran_is_failed_and_not_lost(jobs: Jobs) -> None:
    go = threading.Event()
    running = jobs.submit("fit", {}, lambda tell: {"late": go.wait(10)})
    waiting = jobs.submit("mine", {}, lambda tell: {})
    wait_for(lambda: jobs.one(running.id), lambda job: job.status == "running")
    jobs.stop(0.1)
    for name in (running.id, waiting.id):
        job = jobs.one(name)
        assert (job.status, job.error["detail"]) == ("failed", "the server was stopped")
    go.set()
    time.sleep(0.2)
    assert jobs.one(running.id).status == "failed"  # a late end changes nothing
    with pytest.raises(LimitError):
        jobs.submit("mine", {}, lambda tell: {})


def test_what_a_killed_server_ran_is_failed_and_not_lost(jobs: Jobs) -> None:
    """A process that was killed says nothing: its jobs fall silent."""
    jobs._records.create("j_new", "fit", {}, time.time_ns() // 1_000)
    jobs._records.create("j_dead", "fit", {}, time.time_ns() // 1_000 - 6_000_000)
    alive = jobs.submit("mine", {}, lambda tell: {"slept": time.sleep(1.0)})
    found = {job.id: job for job in jobs.all()}
    assert found["j_new"].status == "queued"
    assert found["j_dead"].status == "failed"
    assert found["j_dead"].error["detail"] == "the server that ran it has ended"
    assert found[alive.id].status in ("queued", "running")
    assert wait_for(lambda: jobs.one(alive.id), lambda job: job.ended_at_us).status == "done"


def test_the_queue_is_bounded(jobs: Jobs) -> None:
    go = threading.Event()
    jobs.submit("mine", {}, lambda tell: {"went": go.wait(30)})
    wait_for(lambda: len(jobs._queue), lambda waiting: waiting == 0)
    for _ in range(20):
        jobs.submit("mine", {}, lambda tell: {})
    with pytest.raises(LimitError, match="20 jobs are waiting"):
        jobs.submit("mine", {}, lambda tell: {})
    go.set()
