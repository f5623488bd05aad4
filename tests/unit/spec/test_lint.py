"""Warnings: where they stand, what they say, and that plain files have none."""

import random
import time

import numpy as np
import pytest

from chronofy_kg.spec import Trace, check_spec, parse_formula, parse_spec, robustness
from chronofy_kg.spec.resolve import names_in
from chronofy_kg.spec.satisfy import Refuter


def warnings_of(text, **options):
    found = check_spec(text, **options)
    assert {one.severity for one in found} <= {"warning"}
    return [(one.line, one.column, one.code) for one in found]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("spec a: x > 3 and x < 2", [(1, 9, "constant")]),
        ("spec a: F (x > 2 and x < 1)", [(1, 12 - 1, "constant")]),
        ("spec a: x > 3 or x < 5", [(1, 9, "constant")]),
        ("spec a: 3 > 2 and x > 0", [(1, 9, "constant")]),
        ("spec a: true", [(1, 9, "constant")]),
        ("label other when true", []),
        ("spec a: x >= 3 and x <= 3", [(1, 9, "constant")]),
        ("spec a: x != 3", []),
        ("spec a: abs(x) >= 0", [(1, 9, "constant")]),
        ("spec a: (G[0,5] x > 3) and F[2,4] x < 3", [(1, 9, "constant")]),
        ("spec a: (G[0,5] x > 3) and F[2,6] x < 3", []),
        ("spec a: (G[0,5] x > 3) and F[0,3h] x < 3", []),
        ("spec a: (G[0,5] x > 3) and x < 2", [(1, 9, "constant")]),
        ("spec a: (G[1,5] x > 3) and x < 2", []),
        ("spec a: (X x > 0) and X x < 0", [(1, 9, "constant")]),
        ("spec a: x > 3 d and x < 48 h", [(1, 9, "constant")]),
        ("spec a: x > 3 and y < 2", []),
        ("spec a: x*y > 3 and -(x*y) > 1", [(1, 9, "constant")]),
        ("param k = 2\nspec a: x > 3 and x < k", [(2, 9, "constant")]),
        ("let a = x > 3\nspec b: a and not a", [(2, 9, "constant")]),
        ("spec a: x == 3", [(1, 9, "boundary")]),
        ("spec a: not x == 3", []),
        ("spec a: x == 3 -> y > 0", []),
        ("spec a: mean[0,3](x where y == 1) > 0", [(1, 27, "boundary")]),
        ("spec a: G x > 0 -> y > 0", [(1, 9, "precedence")]),
        ("spec a: (G x > 0) -> y > 0", []),
        ("spec a: G (x > 0) -> y > 0", []),
        ("spec a: x > 0 -> G y > 0", []),
        ("let l = x > 0\nspec a: F (prev l or next l)", []),
        ("let l = x > 0\nspec a: G l -> y > 0", [(2, 9, "precedence")]),
        ("spec a: F (prev x > 0 or next x > 0)", [(1, 12, "precedence")]),
        ("spec a: x > 0 and y > 0 U z > 0", [(1, 19, "precedence")]),
        ("spec a: x > 0 and y > 0 or z > 0", [(1, 9, "precedence")]),
        ("spec a: not x > 0 and y > 0", []),
        ("spec a: not x > 0 U y > 0", [(1, 9, "precedence")]),
        ("spec a: x <- y", [(1, 11, "precedence")]),
        ("spec a: x > 0 <- y > 0", [(1, 15, "precedence")]),
        ("spec a: x < -y and z <-3", []),
        ("param p = 3\nspec a: x > 0", [(1, 7, "unused")]),
        ("param _p = 3\nspec a: x > 0", []),
        ("param p = 3\nlet l = x > p", []),
        ("let l = x > 0\nspec a: x > 1", [(1, 5, "unused")]),
        ("let l = x > 0 or prev l\nspec a: x > 1", [(1, 5, "unused")]),
        ("signal x, y\nspec a: x > 1", [(1, 11, "unused")]),
        ("signal x, y", []),
        ("param w = 3 d\nspec a: G[0,w] x > 1", []),
        ("param w = 3 d\nrule r: p(?a) <- O[0,w] q(?a)", []),
        ("param w = 3\nrule r: p(?a) <- q(?a, w)", []),
        ("rule r: p(?a) <- q(?a, ?b)", [(1, 24, "unused")]),
        ("rule r: p(?a) <- q(?a, ?_)", []),
        ("rule r: p(?a) <- q(?a) as ?t", [(1, 27, "unused")]),
        ("label a priority 1 when x > 3\nlabel b priority 2 when x > 5", [(2, 7, "shadowed")]),
        ("label a priority 2 when x > 3\nlabel b priority 1 when x > 5", []),
        ("label a when x > 3\nlabel b when x < 4\nlabel c when y > 0", [(3, 7, "shadowed")]),
        ("label a when true\nlabel b when y > 0", [(2, 7, "shadowed")]),
    ],
)
def test_place_and_code_of_warnings(text, places):
    assert warnings_of(text) == places


def test_unused_imports():
    library = {"l": "let ok = x > 0", "t": "facttype a: event"}
    assert warnings_of('import "l" as l\nspec a: l.ok', loader=library.__getitem__) == []
    assert warnings_of('import "l" as l\nspec a: y > 0', loader=library.__getitem__) == [(1, 15, "unused")]
    assert warnings_of('import "t" as t\nspec a: y > 0', loader=library.__getitem__) == []


def test_warnings_never_fail_a_file_and_stand_beside_its_errors():
    parse_spec("param p = 3\nspec a: x > 3 and x < 2")
    found = check_spec("param p = 3\nspec a: x >\nspec b: G y > 0 -> z > 0\nspec c: G[3,1] y > 0")
    assert [(one.line, one.severity, one.code) for one in found] == [
        (3, "error", "syntax"), (4, "error", "interval"),
        (1, "warning", "unused"), (3, "warning", "precedence"),
    ]  # fmt: skip


def test_what_a_broken_item_mentions_counts_as_used():
    found = check_spec("param p = 3\nlet l = x > 0\nspec a: l and x > p >")
    assert [one.severity for one in found] == ["error"]


def test_a_warning_reads_as_one():
    (found,) = check_spec("label a when x > 3\nlabel b when x > 5", "pack.spec")
    assert str(found).splitlines() == [
        (
            "pack.spec:2:7: warning[shadowed]: b is never given: wherever it holds, a, which comes first, "
            "holds too"
        ),
        "    label b when x > 5",
        "          ^",
        "    hint: give it a smaller priority, or a formula of its own",
    ]
    assert found.to_dict()["severity"] == "warning"


def random_formula(draw, depth):
    if depth == 0:
        left = draw.choice(["x", "y", "x + y", "2*x - y", "abs(x)", "-x", "x*y"])
        return f"{left} {draw.choice(['>', '<', '>=', '<=', '!=', '=='])} {draw.randint(-2, 2)}"
    inner = [f"({random_formula(draw, depth - 1)})" for _ in range(2)]
    forms = "{} and {};{} or {};{} -> {};not {};G[{a},{b}] {};F[{a},{b}] {};H[{a},{b}] {};O {};X {};wnext {}"
    forms += ";prev {};{} U[{a},{b}] {};{} xor {};{} <-> {};{} S {};{} W[{a},{b}] {}"
    form = draw.choice(forms.split(";"))
    a = draw.randint(0, 2)
    return form.format(*inner, a=a, b=a + draw.randint(0, 2))


def test_what_is_said_to_hold_never_or_always_does_so_on_random_traces():
    """Soundness: no trace gives a refuted formula a robustness above 0, nor a certain one one below 0."""
    draw, rng = random.Random(5), np.random.default_rng(5)
    traces = [
        Trace({name: rng.integers(-3, 4, n) / 2 for name in "xy"}) for n in (1, 2, 6, 12) for _ in range(3)
    ]
    refuted = certain = 0
    for _ in range(800):
        formula = parse_formula(random_formula(draw, draw.randint(1, 3)))
        never, always = Refuter().never(formula.root), Refuter().always(formula.root)
        if not never and not always:
            continue
        refuted, certain = refuted + never, certain + always
        for trace in traces:
            values = robustness(formula, trace).values
            assert not (never and (values > 0).any()), str(formula)
            assert not (always and (values < 0).any()), str(formula)
    assert refuted > 8
    assert certain > 8


def test_warnings_of_a_large_file_take_little_time():
    lines = (
        f"let a{i} = x{i} > {i} and (y > {i} or z < {i})\nspec s{i}: G (a{i} -> F a{max(0, i - 1)})\n"
        f"label l{i} when a{i} and y > 3"
        for i in range(150)
    )
    start = time.process_time()
    check_spec("\n".join(lines))
    assert time.process_time() - start < 2


def test_names_in_leaves_out_the_names_that_a_recursion_binds():
    assert names_in(parse_formula("x > 0 and (let a = y > 0 or prev a)").root) == {"x", "y"}
