from __future__ import annotations

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
