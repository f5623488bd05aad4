"""Rule items: their tree, and every way in which they can be wrong."""

import pytest

from chronofy_kg.errors import SpecError
from chronofy_kg.spec import parse_spec
from chronofy_kg.spec.ast import Interval, Name, Number
from chronofy_kg.spec.clauses import Atom, Comparison, Premise, Relation, Text, Variable


def rule_of(text):
    (rule,) = parse_spec(text).rules.values()
    return rule


def test_the_tree_of_a_rule():
    rule = rule_of(
        "param w = 30 d; param k = 7\n"
        'rule r (weight = 0.9): exposed(?h, ?c) <- "runs on"(?h, ?_), not once[0, w] patched(?h, ?c),'
        ' score(?c, ?s) as ?t, ?s >= k, ?t before "2025-01", H hit(?c, "yes", 3 d)'
    )
    h, c, s, t = (Variable(name) for name in "hcst")
    assert (rule.name, rule.weight) == ("r", 0.9)
    assert rule.head == Atom("exposed", (h, c))
    assert rule.body == (
        Premise(Atom("runs on", (h, Variable("_")))),
        Premise(Atom("patched", (h, c)), True, "O", Interval(Number(0.0), Name("w"))),
        Premise(Atom("score", (c, s)), period=t),
        Comparison(s, ">=", Name("k")),
        Relation(t, "before", Text("2025-01")),
        Premise(Atom("hit", (c, Text("yes"), Number(3.0, "d"))), operator="H"),
    )
    assert parse_spec(f"param w = 30 d; param k = 7; rule r: {rule}").rules["r"].body == rule.body


def test_spans_and_namespaces():
    text = "spec r: x > 0\nlet r = x > 0\nrule r: p(?a) <- q(?a), s(?a)"
    pack = parse_spec(text)
    rule = pack.rules["r"]
    assert [text[one.span.start : one.span.end] for one in rule.body] == ["q(?a)", "s(?a)"]
    assert text[rule.head.span.start : rule.head.span.end] == "p(?a)"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rule r: p(?a, ?b) <- q(?a)", (1, 15, "safety")),
        ("rule r: p(?a) <- not q(?a)", (1, 11, "safety")),
        ("rule r: p(?a) <- q(?a), not s(?b)", (1, 31, "safety")),
        ("rule r: p(?a) <- q(?a), not s(?_)", None),
        ("rule r: p(?_) <- q(?a)", (1, 11, "safety")),
        ("rule r: p(?a) <- q(?a), ?b > 3", (1, 25, "safety")),
        ("rule r: p(?a) <- q(?a), ?t before ?a", (1, 25, "safety")),
        ("rule r: p(?a) <- q(?a) as ?t, ?t before ?a", (1, 41, "type")),
        ("rule r: p(?a) <- q(?a) as ?a", (1, 11, "type")),
        ("rule r: p(?a, ?t) <- q(?a) as ?t", (1, 15, "type")),
        ("rule r: p(?a) <- q(?a) as ?t, ?t > 3", (1, 31, "type")),
        ("rule r: p(?a) <- q(?a), not s(?a) as ?t", (1, 38, "type")),
        ("rule r: p(?a) <- q(?a) as ?t, s(?a) as ?t", (1, 40, "name")),
        ('rule r: p(?a) <- q(?a) as ?t, ?t during "March"', (1, 41, "value")),
        ('rule r: p(?a) <- q(?a) as ?t, "2024-05-17T08:30Z" during ?t', None),
        ('rule r: p(?a) <- q(?a, ?x), ?x < "b"', (1, 34, "type")),
        ('rule r: p(?a) <- q(?a, ?x), "b" != ?x', None),
        ('rule r: p(?a) <- q(?a), "b" == 3', (1, 25, "type")),
        ("rule r: p(?a) <- q(?a, k)", (1, 24, "name")),
        ("rule r: p(?a) <- O[0,3] q(?a)", (1, 22, "unit")),
        ("rule r: p(?a) <- O[0,inf] q(?a)", None),
        ("param w = 3; rule r: p(?a) <- O[0,w] q(?a)", (1, 35, "unit")),
        ("rule r: p(?a) <- O[3 d,1 d] q(?a)", (1, 24, "interval")),
        ("rule r: p(?a) <- O[0,w] q(?a)", (1, 22, "name")),
        ("rule r: p(?a) <- q(?a), q(?a, ?_)", (1, 25, "arity")),
        ("rule r: p(?a) <- q(?a)\nrule s: p(?a, ?b) <- t(?a, ?b)", (2, 9, "arity")),
        ("rule r (weight = 0): p(?a) <- q(?a)", (1, 18, "value")),
        ("rule r (weight = high): p(?a) <- q(?a)", (1, 18, "value")),
        ("rule r (weight = 1, weight = 1): p(?a) <- q(?a)", (1, 21, "name")),
        ("rule r (severity = high): p(?a) <- q(?a)", (1, 9, "name")),
        ("rule r: p(?a) <- q(?a)\nrule r: p(?a) <- s(?a)", (2, 6, "name")),
        ('rule r: ""(?a) <- q(?a)', (1, 9, "value")),
        ("rule r: p(?a) <- q(?a), not p(?a)", (1, 25, "cycle")),
        ("rule r: p(?a) <- p(?a), q(?a)", None),
        ("spec a: x > 0 <- y > 0", None),
    ],
)
def test_place_and_code_of_errors(text, place):
    if place is None:
        parse_spec(text)
        return
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    found = caught.value.diagnostics[0]
    assert (found.line, found.column, found.code) == place


def test_a_cycle_through_a_negation_is_printed_the_whole_way():
    with pytest.raises(SpecError) as caught:
        parse_spec(
            "rule a: safe(?x) <- host(?x), not open(?x)\n"
            "rule b: open(?x) <- reached(?x)\n"
            "rule c: reached(?x) <- host(?x), safe(?x)\n"
            "rule d: other(?x) <- open(?x), not closed(?x)"
        )
    (found,) = caught.value.diagnostics
    assert (found.line, found.column, found.code) == (1, 31, "cycle")
    assert found.message == "safe depends on its own absence: safe <- not open <- reached <- safe"


def test_a_cycle_may_lead_through_an_import():
    library = {"base": "rule a: open(?x) <- host(?x), not safe(?x)"}
    with pytest.raises(SpecError) as caught:
        parse_spec(
            'import "base" as base\nrule b: safe(?x) <- host(?x), open(?x)', loader=library.__getitem__
        )
    (found,) = caught.value.diagnostics
    assert (found.line, found.column, found.code) == (2, 31, "cycle")


def test_one_missing_atom_is_one_error_and_all_rules_are_looked_at():
    with pytest.raises(SpecError) as caught:
        parse_spec("rule r: p(?a, ?b) <- q(?a), not s(?b), ?b > 3\nrule t: u(?c) <- not q(?c)")
    assert [(one.line, one.column) for one in caught.value.diagnostics] == [(1, 15), (2, 11)]
    assert caught.value.diagnostics[0].hint == "add an atom with ?b to the body"


def test_a_misspelt_variable_is_offered():
    with pytest.raises(SpecError) as caught:
        parse_spec("rule r: p(?product) <- q(?prodcut)")
    assert caught.value.diagnostics[0].hint == "did you mean ?prodcut?"
