"""Robustness against RTAMT (discrete, offline), in an environment of its own.

`make soak` makes that environment and compares 10,000 formulas; here a few, where it is there.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from support.formulas import RTAMT_OPS, random_formula, random_signals, rtamt_text, text_of

from chronofy_kg.spec import Trace, parse_formula, robustness

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from rtamt_peer import ask, interpreter

COUNT = int(os.environ.get("SOAK_FORMULAS", "100"))


def test_robustness_is_that_of_rtamt():
    python = interpreter()
    if python is None:
        pytest.skip("RTAMT has no environment; make soak makes one")
    draw = random.Random(31)
    trees, jobs = [], []
    while len(trees) < COUNT:
        tree = random_formula(draw, draw.randint(1, 3), ops=RTAMT_OPS)
        text = rtamt_text(tree)
        if text is not None:
            signals = random_signals(draw, draw.choice([2, 3, 5, 8, 13]))  # it crashes on one sample
            trees.append(tree)
            jobs.append({"text": text, "signals": signals})
    answers = ask(python, jobs)
    compared = 0
    for tree, job, answer in zip(trees, jobs, answers, strict=True):
        if "error" in answer:
            continue
        found = robustness(parse_formula(text_of(tree)), Trace(job["signals"]))
        assert found.values.tolist() == [float(one) for one in answer["values"]], job["text"]
        compared += 1
    print(f"{compared} of {COUNT} formulas ran in RTAMT")
    assert compared >= 0.8 * COUNT
