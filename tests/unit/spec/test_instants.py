"""The one table of instants through the spec language: a quoted instant of a rule."""

import json
from contextlib import suppress

import pytest
from support.instants import case_id, load_cases

from chronofy_kg.errors import TimeFormatError
from chronofy_kg.facts.time import parse_period
from chronofy_kg.spec import check_spec

CASES = [case for case in load_cases() if case.unit is None and case.zone == "UTC"]


@pytest.mark.parametrize("case", CASES, ids=map(case_id, CASES))
def test_quoted_instants_of_rules_follow_the_table(case):
    period = False
    with suppress(TimeFormatError):  # a rule compares periods too
        period = parse_period(case.text) is not None
    text = f"rule r: p(?a) <- q(?a) as ?t, {json.dumps(case.text)} before ?t"
    errors = [one for one in check_spec(text) if one.severity == "error"]
    if case.error is None or period:
        assert errors == []
        return
    assert [one.line for one in errors] == [1]
    assert errors[0].column == 31
    if errors[0].code == "value":
        assert errors[0].hint
