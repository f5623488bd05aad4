from __future__ import annotations

import io

import pytest
from rich.console import Console

from chronofy_kg.cli.render import days, number, render_answer, render_rows


def drawn(draw, *args, width: int = 80) -> str:
    stream = io.StringIO()
    draw(Console(file=stream, width=width, markup=False, emoji=False, highlight=False), *args)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (1.0, "1"),
        (0.99951, "1"),
        (0.0000123, "1.23e-05"),
        (1234.5, "1234"),
        (-0.25, "-0.25"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0 s"),
        (1 / 1440, "1 min"),
        (1 / 24, "1 h"),
        (1.0, "1 d"),
        (730.0, "730 d"),
        (731.0, "2 y"),
    ],
)
def test_days(value, text):
    assert days(value) == text


ANSWER = {
    "id": "ans_1", "at": "2024-05-17T00:00:00Z", "known_at": "2024-05-17T00:00:00Z", "verdict": "supported",
    "withheld": False, "partial": False, "answer": "a b c", "confidence": 0.9, "valid_until": None,
    "steps": [], "facts": [], "context": [], "bound": None, "robustness": None, "reacquire": [],
    "notes": [], "excluded": {},
    "provenance": "/v1/answers/ans_1/provenance",
}  # fmt: skip


def test_an_answer_of_http_is_drawn_from_its_json_alone():
    assert drawn(render_answer, ANSWER).splitlines() == [
        "supported: confidence at most 0.9",
        "  a b c",
        "",
        "at          2024-05-17T00:00:00Z, as known at 2024-05-17T00:00:00Z",
        "answer id   ans_1",
    ]


def test_figures_are_not_wrapped_so_that_ids_can_be_copied():
    long = "f_" + "e" * 32
    target = {"fact": long, "about": "s " * 60 + "p", "step": 0, "sources": [], "needed_validity": 0.5,
              "gain": 0.1, "reachable": True, "reason": None}  # fmt: skip
    out = drawn(render_answer, ANSWER | {"reacquire": [target]})
    assert f"     {long}" in out.splitlines()


def test_a_long_cell_wraps_and_nothing_is_cut():
    out = drawn(render_rows, ["a", "b"], [["x" * 200, "é" * 100]])
    assert (out.count("x"), out.count("é")) == (200, 100)
    assert max(map(len, out.splitlines())) <= 80


def test_cells_are_written_as_json_writes_them():
    out = drawn(render_rows, ["a", "b", "c", "d", "e"], [[True, None, {"k": ["é"]}, 1.5, "plain"]])
    assert out.splitlines()[-1].split("  ") == ["true", "-", '{"k": ["é"]}', "1.5", "plain"]


def test_no_rows():
    assert drawn(render_rows, ["a", "b"], []).split()[:2] == ["a", "b"]
