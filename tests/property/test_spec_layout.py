"""The formatter and the printer: what they write means the same, and formatting twice is formatting once.

`make soak` takes 10,000 formulas (SOAK_FORMULAS); here a hundred.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from support.formulas import random_formula, random_recursion, random_with_statistics, text_of

from chronofy_kg.spec import parse_formula, parse_spec
from chronofy_kg.spec.layout import format_spec

COUNT = int(os.environ.get("SOAK_FORMULAS", "100"))
ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "rules").glob("*.spec"), *(ROOT / "grammar" / "examples").glob("*.spec")])


def formulas(seed):
    draw = random.Random(seed)
    for at in range(COUNT):
        if at % 4 == 0:
            yield draw, random_with_statistics(draw, draw.randint(0, 3))
        elif at % 16 == 1:
            tree = random_recursion(draw)
            own = tree["args"][0]["op"] == "+"
            zero = {"op": "const", "args": [], "value": 0.0}
            yield draw, {"op": ">", "args": [tree, zero]} if own else tree
        else:
            yield draw, random_formula(draw, draw.randint(0, 5))


def test_a_printed_formula_parses_to_the_same_tree():
    for draw, tree in formulas(41):
        formula = parse_formula(text_of(tree, draw))
        assert parse_formula(str(formula)) == formula, str(formula)
        assert str(parse_formula(str(formula))) == str(formula)


def test_formatting_keeps_the_meaning_and_formatting_again_changes_nothing():
    for draw, tree in formulas(42):
        if "(let " in text_of(tree):
            continue  # the form of the printer, for one formula
        bare = str(parse_formula(text_of(tree)))
        text = untidy(draw, f"spec one: {bare}\nlabel two when {text_of(tree, draw)}")
        once = format_spec(text)
        assert parse_spec(once).specs["one"] == parse_spec(text).specs["one"]
        assert format_spec(once) == once, text


def untidy(draw, text):
    """The text with blanks, line ends and comments thrown in, where they do not matter."""
    parts = text.split(" ")
    joins = [draw.choice([" ", " ", "  ", "\n", " # note\n", "\n\n  # own line\n "]) for _ in parts[:-1]]
    return "".join(part + join for part, join in zip(parts, [*joins, ""], strict=True))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_shipped_files_are_formatted(path):
    text = path.read_text(encoding="utf-8")
    assert format_spec(text, path.name, loader=lambda name: (path.parent / name).read_text("utf-8")) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("spec a: G x > 0 -> y > 0", "spec a: (G x > 0) -> y > 0"),
        ("spec a: x>0 and y>0 or x<1", "spec a: (x > 0 and y > 0) or x < 1"),
        ("spec a: x>0 U y>0 and x<1", "spec a: (x > 0 U y > 0) and x < 1"),
        ("spec a: not x>0 U y>0", "spec a: (not x > 0) U y > 0"),
        ("spec a: (G x > 0)->y>0", "spec a: (G x > 0) -> y > 0"),
        ("spec a: 0<=x<=1 or y>0", "spec a: 0 <= x <= 1 or y > 0"),
        ("spec a:G[ 0 ,30 m ]x>-1", "spec a: G[0,30m] x > -1"),
        ("spec a: x - -1 < 2*-y", "spec a: x - -1 < 2 * -y"),
        ("spec a(severity = low , eval = last):x>0", "spec a (severity=low, eval=last): x > 0"),
        ("let m=quantile( .9 )[0,4]( x where y>0 , least 3 )",
         "let m = quantile(.9)[0,4](x where y > 0, least 3)"),
        ("param p in[0,1]=.5", "param p in [0, 1] = .5"),
        ("facttype f:numeric,half_life=3h", "facttype f: numeric, half_life = 3 h"),
        ("facttype f:beta=0.2/d", "facttype f: beta = 0.2 / d"),
        ('rule r(weight=.5):"has part"(?a,?b)<-part(?b,?a),not O[0,3d] gone(?a,?b)',
         'rule r (weight=.5): "has part"(?a, ?b) <- part(?b, ?a), not O[0,3d] gone(?a, ?b)'),
        ("rule r: p(?a) <- q(?a, ?n), ?n<3, r(?a, -1)", "rule r: p(?a) <- q(?a, ?n), ?n < 3, r(?a, -1)"),
        ("# a\n\n\n\n# b\nlet a=x>0;let b=x>1 #c\n\n\n", "# a\n\n# b\nlet a = x > 0\nlet b = x > 1  #c\n"),
        ("let a = x > 0 and  # first\n\n # second\ny > 0",
         "let a = x > 0 and  # first\n    # second\n    y > 0"),
    ],
)  # fmt: skip
def test_how_it_writes(before, after):
    assert format_spec(before).rstrip("\n") == after.rstrip("\n")
    assert format_spec(format_spec(before)) == format_spec(before)
