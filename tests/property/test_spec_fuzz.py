"""Whatever the text, only SpecError comes out of the reading, with a place in the text, and soon.

Token soup, and examples with characters and tokens taken out, put in, doubled and swapped. `make soak` goes
on for 10 minutes (SOAK_MINUTES); here a few hundred texts.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from support.formulas import random_formula, random_recursion, random_with_statistics, text_of

from chronofy_kg.errors import SpecError
from chronofy_kg.spec import Trace, TraceError, check_spec, explain, parse_formula, parse_spec, robustness
from chronofy_kg.spec.layout import format_spec
from chronofy_kg.spec.operators import table

MINUTES = float(os.environ.get("SOAK_MINUTES", "0"))
COUNT = 300
ROOT = Path(__file__).parents[2]
FILES = [
    path.read_text(encoding="utf-8")
    for path in sorted([*(ROOT / "rules").glob("*.spec"), *(ROOT / "grammar" / "examples").glob("*.spec")])
]
ODD = [
    "\u202e",
    "\u200b",
    "\x00",
    "\ufeff",
    "é",
    "∞",
    "≥",
    "𝔊",
    "\t",
    "\r\n",
    "\u2028",
    "1e999",
    "0" * 400,
    "((",
    "\\",
    "'",
]


def words():
    known = table()
    spellings = [word for level in known.levels for one in level.operators for word in one.spellings]
    names = [
        "x",
        "y",
        "validity",
        "gamma",
        "a.b",
        "?x",
        "p",
        '"a b"',
        '"a',
        "1",
        "0.5",
        ".5",
        "3 d",
        "12h",
        "1e3",
    ]
    signs = [*"()[],:;=.#!?-+*/<>&|", "<-", "\n", " "]
    other = [
        "where",
        "least",
        "when",
        "priority",
        "step",
        "in",
        "inf",
        "as",
        "numeric",
        "half_life",
        "weibull",
    ]
    tables = [*known.functions, *known.windows, *known.items, *known.relations]
    return [*spellings, *tables, *names, *signs, *other, *ODD]


WORDS = words()


def soup(draw):
    joint = draw.choice([" ", " ", ""])
    start = draw.choice(["", "spec a: ", "let a = ", "rule r: p(?x) <- ", "label l when ", "facttype f: "])
    return start + joint.join(draw.choice(WORDS) for _ in range(draw.randint(0, 40)))


def example(draw):
    kind = draw.random()
    if kind < 0.5:
        return draw.choice(FILES)
    tree = draw.choice([random_formula, random_with_statistics])(draw, draw.randint(0, 4))
    if draw.random() < 0.2:
        tree = random_recursion(draw)
    text = text_of(tree, draw)
    return text if kind < 0.8 else f"let b = x > 0 and prev b\nspec a (severity=high): {text}\nlabel l when b"


def changed(draw, text):
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(text) + 1)
        far = min(len(text), at + draw.choice([1, 1, 2, 5, 30]))
        kind = draw.random()
        if kind < 0.3:
            text = text[:at] + text[far:]
        elif kind < 0.7:
            text = text[:at] + draw.choice([draw.choice(WORDS), f" {draw.choice(WORDS)} "]) + text[at:]
        elif kind < 0.8:
            text = text[:far] + text[at:far] * draw.choice([1, 2, 50]) + text[far:]
        else:
            other = draw.randrange(len(text) + 1)
            text = text[:at] + text[other : other + 20] + text[at:]
    return text


def check_error(error, text):
    assert error.diagnostics
    lines = text.removeprefix("\ufeff").split("\n")
    for one in error.diagnostics:
        assert one.message
        assert 1 <= one.line <= len(lines) + 1
        assert 1 <= one.column < one.end_column
        assert one.column <= len(lines[min(one.line, len(lines)) - 1]) + 2
        assert str(one)
        one.to_dict()


def try_formula(text, draw):
    try:
        formula = parse_formula(text)
    except SpecError as error:
        check_error(error, text)
        return
    assert parse_formula(str(formula)) == formula, text
    trace = Trace(
        {name: [draw.randint(-3, 3) for _ in range(4)] for name in formula.names} or {"x": [0.0] * 4}
    )
    try:
        robustness(formula, trace)
        explain(formula, trace, 3)
    except (SpecError, TraceError):
        pass


def try_file(text):
    found = check_spec(text, loader=lambda path: "let c = x > 0")
    try:
        file = parse_spec(text, loader=lambda path: "let c = x > 0")
    except SpecError as error:
        check_error(error, text)
        assert any(one.severity == "error" for one in found)
        return
    assert all(one.severity == "warning" for one in found)
    once = format_spec(text, loader=lambda path: "let c = x > 0")
    assert parse_spec(once, loader=lambda path: "let c = x > 0") == file
    assert format_spec(once, loader=lambda path: "let c = x > 0") == once, text


def test_only_located_errors_come_out():
    draw = random.Random(51)
    for text in ("median[0,2](x) > mean[0,2](x)", "(let a = x > 0 or prev a)"):
        try_formula(text, draw)  # what is compiled is compiled
    end, count, slowest, slow = time.monotonic() + 60 * MINUTES, 0, 0.0, ""
    while count < COUNT or time.monotonic() < end:
        text = soup(draw) if draw.random() < 0.4 else changed(draw, example(draw))
        start = time.process_time()
        try:
            try_formula(text, draw)
            try_file(text)
        except BaseException:
            print(repr(text))
            raise
        took = time.process_time() - start
        if took > slowest:
            slowest, slow = took, text
        count += 1
    print(f"{count} texts, the slowest took {slowest:.2f} s")
    assert slowest < 5, slow


@pytest.mark.parametrize("text", ["", " ", "\n", "#", ";", "\ufeff", "\ufeffspec a: x > 0", "\r", "\x00"])
def test_hardly_any_text(text):
    try_formula(text, random.Random(0))
    try_file(text)
