from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from chronofy_kg.answer.judge import Bound, Rho
from chronofy_kg.answer.model import Answer, AnswerStep, Pattern
from chronofy_kg.answer.reacquire import Target
from chronofy_kg.answer.verify import GivenStep
from chronofy_kg.facts.model import Contradiction, Fact, Source, Validity
from chronofy_kg.facts.time import OPEN_US, parse_instant
from chronofy_kg.kb import SpecChoice

ID, OTHER = "f_" + "0123456789abcdef" * 2, "f_" + "f" * 32


def us(text: str) -> int:
    return parse_instant(text).us


def fact(**changes) -> Fact:
    values = {
        "id": ID, "subject": "patient:17", "predicate": "egfr", "object": None, "value": 52.0,
        "unit": "mL/min",
        "datatype": None, "lang": None, "type": "egfr", "content": "patient:17 egfr 52", "meta": {},
        "valid_from": us("2024-05-01"), "valid_to": OPEN_US, "observed_at": us("2024-05-02"),
        "recorded_at": us("2024-05-03"), "quality": 0.97,
        "sources": (Source("lab:3", us("2024-05-02"), 0.97, "a1"),), "superseded_by": None, "contradicts": (),
        "age_days": 15.0, "beta_per_day": 0.0077016, "beta_from": "prior", "type_declared": False,
        "validity": Validity(0.864, 0.31, 0.955),
    } | changes  # fmt: skip
    return Fact(**values)


def answer(**changes) -> Answer:
    values = {
        "id": "ans_1", "at": us("2024-05-17"), "known_at": us("2024-05-18"), "verdict": "supported",
        "withheld": False, "partial": False, "text": "patient:17 egfr: 52 mL/min (seen 2024-05-02)",
        "confidence": 0.864, "valid_until": us("2024-07-26"),
        "steps": (AnswerStep("patient:17 egfr: 52", (ID,), Validity(0.864, 0.31, 0.955), "supported"),),
        "facts": (fact(),), "context": ("f_1", "f_2"), "bound": Bound(0.864, 0.31, 0.955, ID),
        "rho": Rho(0.364, -0.19, 0.455, (), vacuous=False), "spec": "answer_valid", "spec_version": None,
        "reacquire": (),
    } | changes  # fmt: skip
    return Answer(**values)


WITHHELD = {
    "verdict": "reacquire",
    "withheld": True,
    "text": None,
    "confidence": 0.0,
    "valid_until": None,
    "steps": (AnswerStep("patient:17 egfr", (ID,), Validity(0.2, 0.1, 0.3), "fails"),),
    "facts": (),
    "bound": Bound(0.2, 0.1, 0.3, ID),
    "rho": Rho(-0.3, -0.4, -0.2, (0,), vacuous=False),
    "reacquire": (
        Target(ID, 0, ("lab:3", "lab:4"), 0.5, 0.47, reachable=True),
        Target(OTHER, 0, (), 0.5, 0.47, reachable=False),
    ),
    "excluded": {"below_tau": 2, "superseded": 1, "expired": 0},
    "named": {ID: "patient:17 egfr"},
}


def test_shows_verdict_answer_evidence_bound_and_rho(run, kb):
    kb.replies["query"] = answer()
    ran = run("query", "kidney function of patient 17")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "supported: confidence at most 0.864"
    assert lines[1] == "  patient:17 egfr: 52 mL/min (seen 2024-05-02)"
    assert f"bound       0.864 [0.31, 0.955], weakest link patient:17 egfr ({ID})" in lines
    assert "rho         +0.364 [-0.19, +0.455] by spec answer_valid" in lines
    assert "at          2024-05-17T00:00:00Z, as known at 2024-05-18T00:00:00Z" in lines
    assert "holds until 2024-07-26T00:00:00Z, if nothing new is learned" in lines
    assert "context     2 more facts" in lines
    for shown in (
        "patient:17 egfr: 52 mL/min",
        ID,
        "15 d",
        "0.0077",
        "prior",
        "lab:3",
        "seen 2024-05-02T00:00:00Z",
    ):
        assert shown in ran.out
    assert max(len(line) for line in lines if "weakest link" not in line) <= 80


def test_tells_why_an_answer_is_withheld_and_what_to_do(run, kb):
    kb.replies["query"] = answer(**WITHHELD)
    ran = run("query", "kidney function of patient 17")
    assert ran.code == 4
    lines = ran.out.splitlines()
    assert lines[0] == "reacquire: the answer is withheld, its evidence is too old"
    assert "52" not in ran.out
    assert "rho         -0.3 [-0.4, -0.2] by spec answer_valid; failing steps (from 0): 0" in lines
    assert "left out    2 too old to use (below tau), 1 superseded" in lines
    at = lines.index("To re-acquire:")
    told = "observe again, with a validity of 0.5 or more; rho then gains +0.47"
    assert lines[at + 1] == f"  1. patient:17 egfr from lab:3, lab:4: {told}"
    assert lines[at + 2] == f"     {ID}"
    assert "cannot help" in lines[at + 3]


def test_flagged_answers_are_answers(run, kb):
    kb.replies["query"] = answer(
        **WITHHELD | {"withheld": False, "text": "x [fails the spec]", "confidence": 0.2}
    )
    ran = run("query", "x", "--on-fail", "flag")
    assert ran.code == 0
    assert ran.out.startswith("reacquire: fails the spec; confidence at most 0.2\n  x [fails the spec]\n")
    assert kb.calls[0][2]["on_fail"] == "flag"


def test_boundary_and_partial_are_said(run, kb):
    kb.replies["query"] = answer(verdict="boundary", partial=True)
    headline = run("query", "x").out.splitlines()[0]
    assert headline.startswith("boundary, just on the threshold: confidence at most 0.864")
    assert headline.endswith("partial: some of what matches is left out")


def test_no_evidence_is_exit_code_4(run, kb):
    nothing = {"steps": (), "facts": (), "context": (), "bound": None, "rho": None, "confidence": None}
    kb.replies["query"] = answer(
        verdict="insufficient_evidence", withheld=True, text=None, valid_until=None, **nothing
    )
    ran = run("query", "x")
    assert (ran.code, ran.out.splitlines()[0]) == (
        4,
        "insufficient_evidence: nothing that is known answers this",
    )
    ran = run("query", "x", "--json")
    assert (ran.code, ran.json["robustness"], ran.json["confidence"]) == (4, None, None)


def test_json_is_the_shape_of_http(run, kb):
    kb.replies["query"] = answer()
    ran = run("query", "x", "--json")
    assert ran.code == 0
    assert ran.json["facts"][0]["id"] == ID
    assert ran.json["bound"] == {"value": 0.864, "low": 0.31, "high": 0.955, "weakest": ID}
    assert ran.json["valid_until"] == "2024-07-26T00:00:00Z"
    assert ran.err == ""


def test_contradictions_and_ended_periods_are_shown(run, kb):
    other = Contradiction(OTHER, "drug:y", ("gp:9",))
    ended = fact(valid_to=us("2024-05-10"), contradicts=(other,), object="drug:x", value=None, unit=None)
    kb.replies["query"] = answer(facts=(ended,))
    out = run("query", "x", "--history").out
    assert "contradicted by gp:9: drug:y" in " ".join(out.split())
    assert "to   2024-05-10T00:00:00Z" in out
    assert "patient:17 egfr: drug:x" in out


def test_hostile_data_is_neither_markup_nor_control(run, kb):
    kb.replies["query"] = answer(facts=(fact(subject="[red]a[/red]\x1b[2J:smile:", id=ID),))
    out = run("query", "x").out
    assert "[red]a[/red]\ufffd[2J:smile:" in "".join(out.split())
    assert "\x1b" not in out


def test_all_options_reach_the_knowledge_base(run, kb):
    kb.replies["query"] = answer()
    ran = run(
        "query", "--subject", "patient:17", "--predicate", "egfr", "--object", "o", "--at", "2024-05",
        "--known-at", "2024-06-01T02:00:00+02:00", "--spec", "clinical.fresh", "--param", "gamma=0.4",
        "--param", "days=3", "--tau", "0.1", "--mode", "fresh", "--limit", "3", "--history", "--hindsight",
    )  # fmt: skip
    assert ran.code == 0
    name, args, keywords = kb.calls[0]
    assert (name, args) == ("query", (None,))
    assert keywords == {
        "pattern": Pattern("patient:17", "egfr", "o"), "at": us("2024-05-01"), "known_at": us("2024-06-01"),
        "spec": SpecChoice(name="clinical.fresh"), "params": {"gamma": 0.4, "days": 3.0}, "tau": 0.1,
        "mode": "fresh", "limit": 3, "on_fail": None, "history": True, "hindsight": True,
    }  # fmt: skip


def test_a_time_without_offset_is_in_the_default_zone(run, kb, monkeypatch):
    monkeypatch.setenv("CHRONOFY_KG_DEFAULT_ZONE", "Europe/Amsterdam")
    kb.replies["query"] = answer()
    assert run("query", "x", "--at", "2024-07-01T12:00:00").code == 0
    assert kb.calls[0][2]["at"] == us("2024-07-01T10:00:00Z")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "give a question or a pattern"),
        (["x", "--subject", "s"], "not both"),
        (["x", "--at", "yesterday"], "Invalid value for --at: 'yesterday' is no time"),
        (["x", "--known-at", "1714521600"], "bare number"),
        (["x", "--at", "03/04/2024"], "--at"),
        (["x", "--param", "gamma"], "not of the form K=V"),
        (["x", "--param", "gamma=high"], "gamma is 'high', not a number"),
        (["x", "--param", "gamma=nan"], "not a number"),
        (["x", "--spec", "pack@new"], "'new' is no version"),
        (["x", "--spec", "pack@0"], "no version"),
        (["x", "--param", "a=1", "--param", "a=2"], "given twice"),
        (["x", "--tau", "1.5"], "--tau"),
        (["x", "--limit", "0"], "--limit"),
        (["x", "--mode", "newest"], "--mode"),
        (["x", "--on-fail", "hide"], "--on-fail"),
        (["x", "y"], "unexpected extra argument"),
        (["x", "--spce", "a"], "No such option"),
        (["bad \udcff bytes"], "not valid UTF-8"),
    ],
)
def test_wrong_use_of_query(run, kb, argv, said):
    ran = run("query", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
    assert kb.settings is None, "the store was opened"


def test_a_version_of_a_spec_and_times_as_parameters(run, kb):
    kb.replies["query"] = answer()
    run(
        "query",
        "x",
        "--spec",
        "pack.fresh@2",
        "--param",
        "longest=30 d",
        "--param",
        "k=1e-3",
        "--param",
        "w=-1.5h",
    )
    asked = kb.calls[0][2]
    assert asked["spec"] == SpecChoice(name="pack.fresh", version=2)
    assert asked["params"] == {"longest": "30 d", "k": 0.001, "w": "-1.5h"}


STEPS = [{"text": "kidneys are weak", "facts": [ID]}, {"text": "so reduce", "uses": [0]}]


@pytest.mark.parametrize("form", [STEPS, {"steps": STEPS}])
def test_verify_reads_both_forms(run, kb, form):
    kb.replies["verify"] = answer()
    Path("steps.json").write_text(json.dumps(form))
    ran = run("verify", "steps.json", "--at", "2024-05-17", "--spec", "pack", "--param", "gamma=0.4")
    assert ran.code == 0
    _, args, keywords = kb.calls[0]
    assert args == ([GivenStep("kidneys are weak", (ID,), ()), GivenStep("so reduce", (), (0,))],)
    assert keywords == {
        "at": us("2024-05-17"), "known_at": None, "spec": SpecChoice(name="pack"), "params": {"gamma": 0.4},
    }  # fmt: skip


def test_verify_reads_stdin(run, kb, monkeypatch):
    kb.replies["verify"] = answer()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(STEPS).encode())))
    assert run("verify", "-").code == 0
    assert len(kb.calls[0][1][0]) == 2


def test_verify_shows_the_status_of_each_step(run, kb):
    steps = (
        AnswerStep("weak kidneys", (ID,), Validity(0.9, 0.8, 1.0), "in_force"),
        AnswerStep("so reduce", (OTHER,), Validity(0.0, 0.0, 0.0), "not_yet_observed", (0,)),
    )
    kb.replies["verify"] = answer(**WITHHELD | {"withheld": False, "steps": steps})
    Path("steps.json").write_text("[]")
    ran = run("verify", "steps.json")
    assert ran.code == 0
    for shown in ("weak kidneys", "in force", "not yet", "uses step 0", ID, OTHER):
        assert shown in ran.out
    assert max(map(len, ran.out.splitlines()[:10])) <= 80


@pytest.mark.parametrize("text", ['{"steps": []', '{"a": 1, "a": 2}', "[NaN]", "\ufeff[]", "nothing"])
def test_verify_refuses_what_is_no_strict_json(run, kb, text):
    Path("steps.json").write_text(text)
    ran = run("verify", "steps.json")
    assert (ran.code, ran.out, kb.calls) == (1, "", [])
    assert ran.err.startswith("chronofy-kg: steps.json")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("x", 'expected a list of steps, or {"steps": [...]}'),
        ({}, "expected a list of steps"),
        ({"steps": [], "at": "2024"}, "/at: unknown field; known are steps"),
        (["a"], "/0: a step is a map"),
        ({"steps": [{"text": 1}]}, "/steps/0/text: must be text"),
        ([{"facts": ID}], "/0/facts: must be a list of fact ids"),
        ([{"facts": [1]}], "/0/facts: must be a list of fact ids"),
        ([{}, {"uses": [True]}], "/1/uses: must be a list of numbers"),
        ([{"fact": []}], "/0/fact: unknown field; known are text, facts, uses"),
    ],
)
def test_verify_names_the_place_of_a_wrong_step(run, kb, given, said):
    Path("steps.json").write_text(json.dumps(given))
    ran = run("verify", "steps.json")
    assert (ran.code, ran.out) == (1, "")
    assert f"steps.json: {said}" in ran.err


def test_verify_withheld_is_exit_code_4(run, kb):
    kb.replies["verify"] = answer(**WITHHELD)
    Path("steps.json").write_text("[]")
    assert run("verify", "steps.json").code == 4
    ran = run("verify", "nowhere.json")
    assert (ran.code, ran.out) == (2, "")
    assert "nowhere.json: No such file" in ran.err
