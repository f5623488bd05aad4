"""`explain`: what a fact rests on and what ended it, in words and as JSON."""

from __future__ import annotations

from chronofy_kg.answer.account import Account
from chronofy_kg.errors import UnknownFactError

TOLD = {
    "id": "a_1", "source": "lab:3", "valid_from": "2024-01-01T00:00:00Z", "valid_to": None,
    "observed_at": "2024-01-02T00:00:00Z", "quality": 0.9, "recorded_at": "2024-01-03T00:00:00Z",
    "retired_at": "2024-01-04T00:00:00Z",
}  # fmt: skip
ACCOUNT = Account("f_1", "shadowed", None, "f_2", "higher quality: it holds", (TOLD,))


def test_words(run, kb):
    kb.replies["explain"] = ACCOUNT
    ran = run("explain", "f_1", "--known-at", "2024-05-01")
    assert ran.code == 0
    assert ran.out.splitlines()[:3] == [
        "shadowed: f_1",
        "held back by f_2",
        "rule         higher quality: it holds",
    ]
    assert "lab:3: 2024-01-01T00:00:00Z to open" in ran.out
    assert "quality 0.9" in ran.out
    assert "retired 2024-01-04T00:00:00Z" in ran.out
    assert kb.calls == [("explain", ("f_1",), {"at": None, "known_at": 1_714_521_600_000_000})]


def test_json(run, kb):
    kb.replies["explain"] = ACCOUNT
    assert run("explain", "f_1", "--json").json == ACCOUNT.to_dict()


def test_an_unknown_fact(run, kb):
    kb.replies["explain"] = UnknownFactError("no fact 'f_9' is known at that moment")
    ran = run("explain", "f_9")
    assert (ran.code, ran.out) == (1, "")
    assert "no fact 'f_9' is known" in ran.err
