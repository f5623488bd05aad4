from __future__ import annotations

import numpy as np

from chronofy_kg.answer.reliability import Bin, Calibration
from chronofy_kg.decay.curves import Curve
from chronofy_kg.errors import QueryError
from chronofy_kg.kb import MineReport

EGFR = {
    "name": "egfr", "kind": "numeric", "cardinality": "one", "beta": 0.0152, "beta_low": 0.0121,
    "beta_high": 0.0194, "beta_from": "fitted", "status": "ok", "method": "REML", "quality": None,
    "q_noise": 0.93, "n": 12345, "subjects": 20, "span_days": 900.0, "warnings": ["few subjects"],
    "version": 2, "declared": True, "tolerance": None, "half_life_days": 45.6,
}  # fmt: skip
SEX = EGFR | {
    "name": "sex", "kind": "static", "beta": 0.0, "beta_low": 0.0, "beta_high": None, "beta_from": "none",
    "status": "unfitted", "half_life_days": None, "n": 0, "warnings": [],
}  # fmt: skip


def test_fit_prints_the_table(run, kb):
    kb.replies["fit"] = [EGFR, SEX]
    ran = run("fit", "egfr", "sex")
    assert ran.code == 0
    assert kb.calls[0][1] == (["egfr", "sex"],)
    lines = ran.out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("egfr "))
    assert lines[at].split() == ["egfr", "numeric", "0.0152", "45.6", "d", "fitted", "12,345"]
    assert lines[at + 1].split() == ["[0.0121,", "0.0194]", "ok"]
    at = next(index for index, line in enumerate(lines) if line.startswith("sex "))
    assert lines[at].split() == ["sex", "static", "0", "-", "none", "0"]
    assert lines[at + 1].split() == ["[0,", "inf]", "unfitted"]
    assert "egfr: few subjects" in lines
    assert max(map(len, lines)) <= 80


def test_a_wide_terminal_has_one_line_for_each_type(run, kb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    kb.replies["fit"] = [EGFR]
    lines = run("fit").out.splitlines()
    header = ["fact", "type", "kind", "beta/day", "interval", "half-life", "from", "status", "n"]
    assert lines[0].split() == header
    row = "egfr numeric 0.0152 [0.0121, 0.0194] 45.6 d fitted ok 12,345"
    assert " ".join(lines[2].split()) == row


def test_fit_without_names_fits_all(run, kb):
    kb.replies["fit"] = [EGFR]
    assert run("fit").code == 0
    assert kb.calls[0][1] == (None,)


def test_show_fits_nothing(run, kb):
    kb.replies |= {"fact_types": [EGFR, SEX], "fact_type": SEX}
    assert run("fit", "--show", "--json").json == {"items": [EGFR, SEX]}
    assert run("fit", "--show", "sex", "--json").json == {"items": [SEX]}
    assert [name for name, *_ in kb.calls] == ["fact_types", "fact_type"]


CURVE = Curve(
    "survival", "d", np.array([10.0, 20.0]), np.array([0.9, 0.8]), np.array([0.85, 0.7]),
    np.array([0.95, 0.9]), np.array([40, 30]), np.linspace(0, 20, 3), np.array([1.0, 0.91, 0.83]),
    np.array([1.0, 0.88, 0.78]), np.array([1.0, 0.94, 0.88]),
)  # fmt: skip
SHOWN = EGFR | {"versions": [EGFR | {"recorded_at": "2026-01-02T03:04:05Z"}]}


def test_explain_shows_versions_points_and_draws(run, kb, tmp_path):
    kb.replies["explain_type"] = (SHOWN, CURVE)
    ran = run("fit", "--explain", "egfr", "--plot", str(tmp_path / "e.svg"))
    assert ran.code == 0
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "rate: fitted, REML" in lines
    assert "2 2026-01-02T03:04:05Z 0.0152 [0.0121, 0.0194] fitted 12345" in lines
    assert "20 0.8 [0.7, 0.9] 0.83 30" in lines
    assert "egfr (numeric, ok)" in (tmp_path / "e.svg").read_text()
    assert run("fit", "--explain", "egfr", "--json").json["curve"]["points"][1]["seen"] == 0.8
    kb.replies["explain_type"] = (SHOWN, None)
    assert "no history" in run("fit", "--explain", "egfr").out
    assert run("fit", "--explain", "egfr", "--plot", str(tmp_path / "f.png")).code == 1


def test_calibrate_prints_the_reliability_table(run, kb, tmp_path):
    table = Calibration("all", 30, 0.0333, (Bin(0.1, 0.2, 10, 0.15, 0.2), Bin(0.9, 1.0, 20, 0.95, 0.925)))
    kb.replies["calibrate"] = (table,)
    ran = run("fit", "--calibrate", "egfr", "--cuts", "3", "--again", "--plot", str(tmp_path / "c.png"))
    assert ran.code == 0
    (_, names, options) = kb.calls[0]
    assert (names, options["cuts"], options["again"]) == ((["egfr"],), 3, True)
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "all 30 0.0333" in lines
    assert "0.9-1.0 20 0.95 0.925" in lines
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert run("fit", "--calibrate", "--json").json["items"][0]["bins"][0]["count"] == 10


def test_what_does_not_go_together_is_said_before_any_work(run, kb):
    for words in (["--show", "--explain"], ["--plot", "x.png"], ["--explain"]):
        assert run("fit", *words).code == 2
    assert run("fit", "--calibrate", "--plot", "x.pdf").code == 1
    assert kb.calls == []


def test_types_whose_facts_have_not_changed_are_named(run, kb):
    kb.replies["fit"] = [EGFR | {"changed": False}, SEX | {"changed": False}]
    assert "facts have not changed: egfr\n" in run("fit").err


def test_unknown_type_and_empty_store(run, kb):
    kb.replies |= {"fit": QueryError("no fact has type 'x'; there are egfr"), "fact_types": []}
    ran = run("fit", "x")
    assert (ran.code, ran.out) == (1, "")
    assert "chronofy-kg: no fact has type 'x'; there are egfr\n" in ran.err
    ran = run("fit", "--show")
    assert (ran.code, ran.out) == (0, "")
    assert "load facts first" in ran.err


def test_mine_prints_size_and_strongest_edges(run, kb):
    edge = {"source": "r_1", "target": "r_2", "if": "<host, scanned, port>",
            "then": "<host, breached, host>", "support": 31.5,
            "confidence": 0.412, "lag": 3.0, "bits": 2.5}  # fmt: skip
    kb.replies["mine"] = MineReport(4, 1, (edge,))
    ran = run("mine")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "4 rule nodes, 1 rule edges"
    for shown in ("<host, scanned,", "31.5", "0.412", "3 d", "2.5"):
        assert shown in ran.out
    assert run("mine", "--json").json == {"nodes": 4, "edges": 1, "top": [edge]}


def test_mine_of_nothing(run, kb):
    kb.replies["mine"] = MineReport(0, 0, ())
    assert run("mine").out == "0 rule nodes, 0 rule edges\n"
