"""Queries and verifications, end to end: each verdict with its values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api.replies import AnswerOut

pytestmark = pytest.mark.engine
Check = Callable[..., Any]
NONE_EXCLUDED = dict.fromkeys(
    ("retracted", "not_yet_observed", "not_yet_valid", "superseded", "expired", "below_tau"), 0
)


@pytest.fixture(scope="module")
def ids(load: Check) -> dict[str, str]:
    """Two readings of one patient and a drug; rates are those of the priors (90 and 365 days half-life)."""
    loaded = load(
        {"subject": "ans:17", "predicate": "egfr", "value": 60, "unit": "mL/min", "source": "lab:3",
         "observed_at": "2023-06-01T00:00:00Z", "quality": 0.9},
        {"subject": "ans:17", "predicate": "egfr", "value": 52, "unit": "mL/min", "source": "lab:3",
         "observed_at": "2024-05-17T00:00:00Z", "quality": 0.97},
        {"subject": "ans:17", "predicate": "takes", "object": "drug:metformin", "source": "clinic",
         "observed_at": "2024-05-17T00:00:00Z"},
    )  # fmt: skip
    return dict(zip(("old", "new", "drug"), loaded["facts"], strict=True))


@pytest.fixture
def ask(client: TestClient, assert_documented: Check) -> Check:
    def post(at: str, **body: Any) -> dict[str, Any]:
        if "question" not in body:
            body.setdefault("pattern", {"subject": "ans:17", "predicate": "egfr"})
        reply = client.post("/v1/query", json=body | {"at": at})
        assert reply.status_code == 200, reply.text
        answer: dict[str, Any] = reply.json()
        assert_documented(answer, AnswerOut)
        return answer

    return post


def validity(quality: float, age_days: float, half_life_days: float = 90) -> float:
    return quality * math.exp(-math.log(2) / half_life_days * age_days)


def test_supported(client: TestClient, ids: dict[str, str], ask: Check) -> None:
    answer = ask("2024-05-27T00:00:00Z")
    value = validity(0.97, 10)
    assert (answer["verdict"], answer["withheld"], answer["partial"]) == ("supported", False, False)
    assert answer["at"] == "2024-05-27T00:00:00Z"
    assert "ans:17 egfr: 52 mL/min" in answer["answer"]
    assert [fact["id"] for fact in answer["facts"]] == [ids["new"]]
    assert answer["facts"][0]["value"] == 52
    assert answer["confidence"] == answer["bound"]["value"] == pytest.approx(value)
    assert answer["bound"]["weakest"] == ids["new"]
    assert answer["robustness"]["value"] == pytest.approx(value - 0.5)
    assert answer["robustness"]["failing_steps"] == []
    assert answer["steps"][0]["facts"] == [ids["new"]]
    assert answer["steps"][0]["validity"]["value"] == pytest.approx(value)
    assert answer["reacquire"] == []
    # 0.97 falls to 0.5 after 90 * log2(0.97 / 0.5) = 86.04 days.
    assert answer["valid_until"].startswith("2024-08-11")
    assert client.get(answer["provenance"]).status_code == 200


def test_too_old(ids: dict[str, str], ask: Check) -> None:
    answer = ask("2024-12-01T00:00:00Z")
    value = validity(0.97, 198)
    assert (answer["verdict"], answer["withheld"], answer["answer"]) == ("reacquire", True, None)
    assert answer["robustness"]["value"] == pytest.approx(value - 0.5)
    assert answer["robustness"]["failing_steps"] == [0]
    (target,) = answer["reacquire"]
    assert (target["fact"], target["reachable"], target["sources"]) == (ids["new"], True, ["lab:3"])
    assert target["needed_validity"] == pytest.approx(0.5)
    assert target["about"] == "ans:17 egfr"
    assert "mL/min" not in str(answer)
    assert answer["steps"][0]["text"] == "ans:17 egfr"
    assert set().union(*answer["facts"]) <= {"id", "subject", "predicate"}


def test_too_old_but_flagged(ids: dict[str, str], ask: Check) -> None:
    answer = ask("2024-12-01T00:00:00Z", on_fail="flag")
    assert (answer["verdict"], answer["withheld"]) == ("reacquire", False)
    assert "52" in answer["answer"]
    assert [fact["id"] for fact in answer["facts"]] == [ids["new"]]


def test_partly_too_old(load: Check, ask: Check) -> None:
    loaded = load(
        {
            "subject": "ans:19",
            "predicate": "egfr",
            "value": 60,
            "unit": "mL/min",
            "observed_at": "2024-01-01",
        },
        {"subject": "ans:19", "predicate": "takes", "object": "drug:2", "observed_at": "2024-05-17"},
    )
    answer = ask("2024-05-27", pattern={"subject": "ans:19"})
    assert (answer["verdict"], answer["withheld"], answer["partial"]) == ("supported", False, True)
    assert "drug:2" in answer["answer"]
    assert "mL/min" not in answer["answer"]
    assert [fact["id"] for fact in answer["facts"]] == [loaded["facts"][1]]
    assert [target["fact"] for target in answer["reacquire"]] == [loaded["facts"][0]]
    assert answer["confidence"] == pytest.approx(validity(1, 10, 365))


def test_below_tau(ids: dict[str, str], ask: Check) -> None:
    answer = ask("2026-05-17T00:00:00Z")
    assert (answer["verdict"], answer["withheld"], answer["answer"]) == ("reacquire", True, None)
    assert answer["excluded"]["below_tau"] == 1
    assert [target["fact"] for target in answer["reacquire"]] == [ids["new"]]
    assert ask("2026-05-17T00:00:00Z", tau=0)["excluded"]["below_tau"] == 0


def test_as_of_a_past_date(ids: dict[str, str], ask: Check) -> None:
    answer = ask("2023-06-11")
    assert answer["at"] == "2023-06-11T00:00:00Z"
    assert answer["verdict"] == "supported"
    assert [fact["id"] for fact in answer["facts"]] == [ids["old"]]
    assert answer["facts"][0]["value"] == 60
    assert answer["confidence"] == pytest.approx(validity(0.9, 10))


def test_nothing_matches(ask: Check) -> None:
    answer = ask("2024-05-27", pattern={"subject": "ans:18"})
    assert (answer["verdict"], answer["withheld"], answer["answer"]) == ("insufficient_evidence", True, None)
    assert (answer["bound"], answer["robustness"], answer["confidence"]) == (None, None, None)
    assert (answer["facts"], answer["steps"], answer["reacquire"]) == ([], [], [])
    assert answer["excluded"] == NONE_EXCLUDED


def test_before_anything_was_seen(ids: dict[str, str], ask: Check) -> None:
    answer = ask("2020-01-01")
    assert answer["verdict"] == "insufficient_evidence"
    assert answer["excluded"]["not_yet_observed"] == 2
    assert ids["old"] not in str(answer["facts"])


def test_before_anything_was_known(ids: dict[str, str], ask: Check) -> None:
    assert ids
    answer = ask("2024-05-27", known_at="2020-01-01T00:00:00Z")
    assert answer["verdict"] == "insufficient_evidence"
    assert answer["known_at"] == "2020-01-01T00:00:00Z"


def test_params_and_specs_decide(ids: dict[str, str], ask: Check) -> None:
    assert ids
    assert ask("2024-05-27", params={"gamma": 0.95})["verdict"] == "reacquire"
    lenient = ask("2024-12-01", spec={"text": "spec lenient: G validity >= 0.2"})
    assert lenient["verdict"] == "supported"
    assert lenient["robustness"]["spec"] == {"name": "lenient", "version": None}
    assert lenient["robustness"]["value"] == pytest.approx(validity(0.97, 198) - 0.2)


def test_a_param_may_be_a_time(
    client: TestClient, ids: dict[str, str], ask: Check, assert_problem: Check
) -> None:
    assert ids
    spec = {"text": "param longest in [0 d, 1000 d] = 1 d\nspec recent: G age_days <= longest"}
    assert ask("2024-06-27", spec=spec)["verdict"] == "reacquire"
    assert ask("2024-06-27", spec=spec, params={"longest": "900 d"})["verdict"] == "supported"
    body = {"pattern": {"subject": "ans:17"}, "spec": spec}
    for wrong in ("900", "900 months", "9000 d"):
        assert_problem(client.post("/v1/query", json=body | {"params": {"longest": wrong}}), 422)


def test_a_question_in_words(ids: dict[str, str], ask: Check) -> None:
    answer = ask("2024-05-27", question="which egfr does ans:17 have?")
    assert answer["verdict"] == "supported"
    assert ids["new"] in [fact["id"] for fact in answer["facts"]]


@pytest.mark.parametrize("at", ["0001-01-01", "1969-12-31T23:59:59.999999Z", "9999-12-30T23:59:59Z"])
def test_the_ends_of_time(client: TestClient, ids: dict[str, str], ask: Check, at: str) -> None:
    assert ids
    assert ask(at)["verdict"] in ("insufficient_evidence", "reacquire")
    assert ask("2024-05-27", known_at=at)["verdict"]
    for params in ({"at": at}, {"known_at": at}, {"at": at, "known_at": at, "history": "true"}):
        assert client.get("/v1/facts", params=params).status_code == 200


@pytest.mark.parametrize("question", ['CVE-2024/1 (RCE)? ~"x', "*:*", "[", "a AND", "\\", "!", "😀"])
def test_questions_with_signs(ask: Check, question: str) -> None:
    assert ask("2024-05-27", question=question)["verdict"]


def test_specs_that_are_wrong(client: TestClient, assert_problem: Check) -> None:
    body = {"pattern": {"subject": "s"}, "spec": {"text": "spec a: G validty >= 0.5\nspec b: F (\n"}}
    problem = assert_problem(client.post("/v1/query", json=body), 422, "invalid-spec")
    assert problem["errors"]
    for place in problem["errors"]:
        assert place["pointer"] == "/spec/text"
        assert place["line"] >= 1
        assert place["code"]
    body["spec"] = {"name": "nobody-stored-this"}
    assert_problem(client.post("/v1/query", json=body), 422, "invalid-query")
    assert_problem(client.post("/v1/query", json={"pattern": {"subject": "s"}, "params": {"x": 1}}), 422)


def test_answers_are_kept(client: TestClient, ids: dict[str, str], ask: Check, assert_problem: Check) -> None:
    answer = ask("2024-05-27T00:00:00Z")
    assert client.get(f"/v1/answers/{answer['id']}").json() == answer
    reply = client.get(answer["provenance"])
    assert reply.headers["content-type"] == "application/ld+json"
    assert ids["new"] in reply.text
    assert "@context" in reply.json()
    for path in ("/v1/answers/nope", "/v1/answers/nope/provenance"):
        assert_problem(client.get(path), 404, "not-found")


@pytest.fixture
def check_trace(client: TestClient, assert_documented: Check) -> Check:
    def post(*steps: dict[str, Any], at: str = "2024-05-27T00:00:00Z", **body: Any) -> dict[str, Any]:
        reply = client.post("/v1/verify", json={"steps": list(steps), "at": at} | body)
        assert reply.status_code == 200, reply.text
        answer: dict[str, Any] = reply.json()
        assert_documented(answer, AnswerOut)
        return answer

    return post


def test_a_good_trace(ids: dict[str, str], check_trace: Check) -> None:
    answer = check_trace(
        {"text": "eGFR is 52", "facts": [ids["new"]]},
        {"text": "she takes metformin", "facts": [ids["drug"]]},
        {"text": "so the dose is halved", "uses": [0, 1]},
    )
    assert answer["verdict"] == "supported"
    assert answer["bound"]["value"] == pytest.approx(validity(0.97, 10))
    assert answer["bound"]["weakest"] == ids["new"]
    assert [step["status"] for step in answer["steps"]] == ["in_force", "in_force", "derived"]
    assert answer["steps"][2]["uses"] == [0, 1]
    assert answer["steps"][2]["validity"]["value"] == pytest.approx(validity(0.97, 10))


def test_an_unknown_fact_fails(ids: dict[str, str], check_trace: Check) -> None:
    answer = check_trace({"text": "a", "facts": [ids["new"]]}, {"text": "b", "facts": ["f_invented"]})
    assert (answer["verdict"], answer["withheld"], answer["answer"]) == ("reacquire", True, None)
    assert answer["robustness"]["value"] == pytest.approx(-0.5)
    assert answer["steps"][1]["status"] == "unknown"
    assert answer["steps"][1]["validity"]["value"] == 0
    assert 1 in answer["robustness"]["failing_steps"]


def test_a_superseded_fact_fails(ids: dict[str, str], check_trace: Check) -> None:
    answer = check_trace({"text": "eGFR is 60", "facts": [ids["old"]]})
    assert answer["verdict"] == "reacquire"
    assert answer["steps"][0]["status"] == "superseded"
    assert check_trace({"text": "a", "facts": [ids["old"]]}, at="2023-06-11")["verdict"] == "supported"


def test_traces_without_evidence(check_trace: Check) -> None:
    empty = check_trace()
    assert (empty["verdict"], empty["bound"], empty["confidence"]) == ("insufficient_evidence", None, None)
    bare = check_trace({"text": "trust me"})
    assert bare["verdict"] in ("insufficient_evidence", "reacquire")
    assert bare["withheld"] is True
    assert bare["steps"][0]["status"] == "no_evidence"


def test_a_step_may_use_earlier_steps_only(client: TestClient, assert_problem: Check) -> None:
    for uses in ([0], [1], [9_999]):
        body = {"steps": [{"text": "a", "uses": uses}]}
        assert_problem(client.post("/v1/verify", json=body), 422, "invalid-query")
