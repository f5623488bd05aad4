"""Every command against the embedded engine, in the order in which a user meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

HEADER = "subject,predicate,value,object,unit,valid_from,source,quality\n"
SPEC = """
facttype egfr: numeric, one, half_life = 90 d
param gamma in [0, 1] = 0.5
spec fresh: G validity >= gamma
"""


def rows() -> str:
    readings = [
        f"patient:{patient},egfr,{60 - patient + month},,mL/min,2024-0{month}-0{patient + 1}T08:00:00Z,lab:1,"
        for patient in range(1, 9)
        for month in range(1, 7)
    ]
    drugs = [
        f"patient:{patient},takes,,drug:metformin,,2024-03-0{patient},ehr,0.9" for patient in range(1, 9)
    ]
    return HEADER + "\n".join([*readings, *drugs]) + "\n"


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cli-data")


@pytest.fixture
def ask(run, data, monkeypatch):
    monkeypatch.setenv("CHRONOFY_KG_EMBEDDER", "none")
    return lambda *argv: run("--data", str(data), *argv)


@pytest.fixture
def loaded(ask, tmp_path):
    (tmp_path / "facts.csv").write_text(rows())
    ran = ask("load", "facts.csv")
    assert ran.code == 0, ran.err
    return ran


def test_a_bad_row_stores_nothing_and_skip_stores_the_others(ask, tmp_path):
    text = HEADER + "a,p,1,,,2024-01-01,s,\nb,p,2,,,01/02/2024,s,\nc,p,3,,,2024-01-03,s,1.5\n"
    (tmp_path / "bad.csv").write_text(text)
    ran = ask("--tenant", "bad-rows", "load", "bad.csv")
    assert (ran.code, ran.out) == (1, "bad.csv: 3 rows, 2 bad rows: nothing stored\n")
    assert "bad.csv:3:9: valid_from:" in ran.err
    assert "bad.csv:4:" in ran.err
    assert ask("--tenant", "bad-rows", "query", "--subject", "a").code == 4
    ran = ask("--tenant", "bad-rows", "load", "bad.csv", "--on-error", "skip", "--reject", "rejected.csv")
    assert (ran.code, ran.out) == (
        1,
        "bad.csv: 3 rows: 1 added, 0 unchanged, 0 corrected, 2 bad rows skipped\n",
    )
    assert (tmp_path / "rejected.csv").read_text() == "".join(text.splitlines(keepends=True)[2:])
    assert ask("--tenant", "bad-rows", "query", "--subject", "a", "--at", "2024-01-02").code == 0


def test_load_twice_changes_nothing(ask, loaded):
    assert ask("load", "facts.csv").out == "facts.csv: 56 rows: 0 added, 56 unchanged, 0 corrected\n"


def test_fit_shows_the_rates(ask, loaded):
    shown = {row["name"]: row for row in ask("fit", "--json").json["items"]}
    assert set(shown) >= {"egfr", "takes"}
    assert (shown["egfr"]["kind"], shown["egfr"]["n"]) == ("numeric", 48)
    ran = ask("fit", "--show")
    assert ran.code == 0
    assert any(line.startswith("egfr ") for line in ran.out.splitlines())
    ran = ask("fit", "nothing")
    assert (ran.code, ran.out) == (1, "")


def test_a_fresh_fact_answers_and_an_old_one_is_to_be_re_acquired(ask, loaded):
    pattern = ("query", "--subject", "patient:3", "--predicate", "takes")
    ran = ask(*pattern, "--at", "2024-04-01", "--json")
    assert ran.code == 0
    (fact,) = ran.json["facts"]
    assert (fact["object"], ran.json["verdict"]) == ("drug:metformin", "supported")
    ran = ask(*pattern, "--at", "2027-03-03", "--tau", "0")
    assert ran.code == 4
    assert ran.out.startswith("reacquire: the answer is withheld")
    assert "patient:3 takes from ehr" in ran.out
    assert fact["id"] in ran.out
    assert ask(*pattern, "--at", "2027-03-03", "--tau", "0", "--on-fail", "flag").code == 0
    assert ask("--tenant", "another", *pattern).code == 4


def test_a_question_in_words(ask, loaded):
    ran = ask("query", "what does patient:5 take? metformin", "--at", "2024-04-01")
    assert ran.code == 0
    assert "patient:5 takes drug:metformin" in ran.out


def test_verify_by_the_ids_that_query_prints(ask, loaded, tmp_path):
    found = ask(
        "query", "--subject", "patient:3", "--predicate", "takes", "--at", "2024-04-01", "--json"
    ).json
    steps = [{"text": "takes metformin", "facts": [found["facts"][0]["id"]]}, {"text": "so", "uses": [0]}]
    (tmp_path / "good.json").write_text(json.dumps(steps))
    ran = ask("verify", "good.json", "--at", "2024-04-01")
    assert ran.code == 0
    assert "in force" in ran.out
    (tmp_path / "bad.json").write_text(json.dumps({"steps": [*steps, {"text": "x", "facts": ["f_unknown"]}]}))
    ran = ask("verify", "bad.json", "--at", "2024-04-01", "--json")
    assert ran.code == 4
    assert [step["status"] for step in ran.json["steps"]] == ["in_force", "derived", "unknown"]


def test_specs_are_stored_and_judge(ask, loaded, tmp_path):
    (tmp_path / "kidney.spec").write_text(SPEC)
    assert ask("check", "kidney.spec").code == 0
    assert ask("specs", "put", "kidney", "kidney.spec").out == "stored kidney, version 1\n"
    assert ask("specs", "put", "kidney", "kidney.spec").out == "stored kidney, version 1\n"
    assert ask("specs", "show", "kidney").out == SPEC
    assert [item["name"] for item in ask("specs", "list", "--json").json["items"]] == ["kidney"]
    pattern = ("query", "--subject", "patient:2", "--predicate", "egfr", "--at", "2024-09-01", "--json")
    strict = ask(*pattern, "--spec", "kidney", "--param", "gamma=0.9")
    lenient = ask(*pattern, "--spec", "kidney.fresh", "--param", "gamma=0.1")
    assert (strict.code, lenient.code) == (4, 0)
    assert lenient.json["robustness"]["spec"] == {"name": "fresh", "version": 1}
    assert lenient.json["facts"][0]["beta_from"] == "declared"
    ran = ask(*pattern, "--spec", "nothing")
    assert (ran.code, ran.out) == (1, "")


def test_cypher_reads_and_does_not_write(ask, loaded):
    text = "MATCH (f:Fact) WHERE f.tenant = $tenant AND f.predicate = $predicate RETURN count(f) AS n"
    ran = ask("cypher", text, "--param", "tenant=default", "--param", "predicate=takes", "--json")
    assert ran.code == 0
    assert ran.json == {"columns": ["n"], "rows": [[8]], "truncated": False}
    ran = ask("cypher", "CREATE (n:Entity {id: 'x'})")
    assert (ran.code, ran.out) == (1, "")
    assert ask("cypher", "MATCH (").code == 1
    assert ask("cypher", "@nothing").code == 1


def test_mine_writes_the_rule_graph(ask, loaded):
    ran = ask("mine", "--json")
    assert ran.code == 0
    assert set(ran.json) == {"nodes", "edges", "top"}


def test_serve_answers_and_ends_with_ctrl_c(ask, loaded, data):
    server = subprocess.Popen(
        [sys.executable, "-m", "chronofy_kg.cli", "serve", "--port", "0", "--data", str(data), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "CHRONOFY_KG_EMBEDDER": "none"},
    )  # fmt: skip
    assert server.stdout is not None
    try:
        lines = ""
        while not lines.endswith("}\n"):
            line = server.stdout.readline()
            assert line, server.stderr and server.stderr.read()
            lines += line
        with urllib.request.urlopen(json.loads(lines)["url"] + "/healthz/ready", timeout=30) as reply:
            assert reply.status == 200
    finally:
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=60)
    assert (server.returncode, out) == (0, "")
    assert err.splitlines()[-1] == "stopped"
    assert "curl " in err
