"""What changes between two versions of a file, and declarations as text that parses back."""

import pytest

from chronofy_kg.spec import parse_spec
from chronofy_kg.spec.compare import compare_files, declaration_text

OLD = """\
param gamma in [0, 1] = 0.5
signal validity, age_days
let fresh = validity >= gamma
facttype egfr: numeric, half_life = 90 d
spec ok: G fresh
spec old: age_days <= 9
label aged priority 2 when age_days > 30
rule r: p(?a) <- q(?a)
"""
NEW = """\
# comments and layout are no change
param gamma in [0,1] = 0.7
signal validity, age_days
let fresh = (validity>=gamma)
facttype egfr: numeric, half_life = 45 d
spec ok: G (fresh)
spec fine (on_fail = flag): validity > 0
label aged priority 2 when age_days>30
rule r: p(?a) <- q(?a), not s(?a)
"""


def test_items_are_compared_by_meaning():
    found = [(one.kind, one.name, one.change) for one in compare_files(parse_spec(OLD), parse_spec(NEW))]
    assert found == [
        ("param", "gamma", "changed"),
        ("facttype", "egfr", "changed"),
        ("spec", "old", "removed"),
        ("spec", "ok", "affected"),
        ("spec", "fine", "added"),
        ("rule", "r", "changed"),
    ]


def test_the_same_file_has_no_changes_and_the_first_is_all_added():
    assert compare_files(parse_spec(OLD), parse_spec(OLD)) == ()
    first = compare_files(None, parse_spec(OLD))
    assert {one.change for one in first} == {"added"}
    assert len(first) == 9
    assert all(one.before is None and one.after for one in first)


@pytest.mark.parametrize(
    "text",
    [
        "param gamma in [0, 1] = 0.5",
        "param w = 3d",
        "signal x step 15m",
        "facttype egfr: numeric, one, beta = 0.2 / d, tolerance = 0.3, quality = 0.9",
        'facttype "blood pressure": event',
        "facttype egfr: numeric, half_life = 90d",
        "facttype pulse: half_life = 3h",
        "facttype blink: half_life = 1.5s",
        "facttype still: beta = 0 / d",
        "facttype office: decay = weibull(shape = 2, scale = 30 d)",
        "facttype news: many, decay = linear(rate = 0.1 / d)",
        "facttype a: fitted",
        "let fresh = validity >= 0.5",
        "let ema = 0.5 * x + 0.5 * mean[1,1](ema)",
        "spec ok: G validity >= 0.5",
        'spec ok (severity = "very high", on_fail = flag, eval = each): G validity >= 0.5',
        "label rising priority 2 when x > 0",
        "label other when true",
        'rule r (weight = 0.9): p(?a) <- not O[0,30d] "has part"(?a, "x"), q(?a) as ?t, ?t before "2025"',
    ],
)
def test_declarations_print_and_parse_back(text):
    file = parse_spec(text)
    kinds = (file.params, file.signals, file.facttypes, file.lets, file.specs, file.labels, file.rules)
    (decl,) = [one for kind in kinds for one in kind.values()]
    assert declaration_text(decl) == text
