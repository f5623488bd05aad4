"""The one table of instants through the options of the command line."""

import pytest
from support.instants import case_id, load_cases

from chronofy_kg.errors import QueryError
from chronofy_kg.facts import OPEN_US

CASES = [case for case in load_cases() if case.unit is None]


@pytest.mark.parametrize("case", CASES, ids=map(case_id, CASES))
@pytest.mark.parametrize(("option", "name"), [("--at", "at"), ("--known-at", "known_at")])
def test_options_follow_the_table(run, kb, monkeypatch, option, name, case):
    monkeypatch.setenv("CHRONOFY_KG_DEFAULT_ZONE", case.zone)
    kb.replies["query"] = QueryError("asked")
    ran = run("query", "what?", f"{option}={case.text}")
    if case.error is None and case.us != OPEN_US:
        assert ran.code == 1
        ((_, _, asked),) = kb.calls
        assert asked[name] == case.us
        return
    assert kb.calls == []
    assert ran.code in (1, 2)
    told = " ".join(ran.err.split())
    assert (case.error or "is the open end of time") in told or "\0" in case.text
