"""grammar/README.md, the EBNF and the examples say what is implemented."""

import re

import pytest

from chronofy_kg.resources import data_folder, data_text
from chronofy_kg.spec import Trace, parse_formula, parse_spec, robustness
from chronofy_kg.spec.operators import table

README = data_text("grammar", "README.md")
SIGNALS = {"x": [3.0, 1.0, 4.0, -1.0, 5.0], "y": [-2.0, -1.0, 0.0, 7.0, -3.0]}


def rows(last_columns):
    """The rows of the tables whose header ends with some columns, as lists of cells."""
    found, inside = [], False
    for line in README.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[-len(last_columns) :] == last_columns:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(line) <= set("|-"):
            found.append(cells)
    return found


FORMULAS = rows(["example", "value"])
ITEMS = rows(["meaning", "example"])


@pytest.mark.parametrize("cells", FORMULAS, ids=lambda cells: cells[0])
def test_each_example_has_the_value_it_says(cells):
    text = cells[-2].strip("`").replace("\\|", "|")
    assert robustness(parse_formula(text), Trace(SIGNALS)).values[2] == float(cells[-1])


@pytest.mark.parametrize("cells", ITEMS, ids=lambda cells: cells[0])
def test_each_item_parses(cells):
    parse_spec(cells[-1].strip("`"), loader=lambda path: "")


def test_the_attributes_parse():
    shown = re.findall(r"^\| (`[^|]*`) \|[^|]*\|$", README, re.MULTILINE)
    words = [word for cell in shown for word in re.findall(r"`([^`]*)`", cell)]
    attributes = [
        word
        for word in words
        if "=" in word or word in ("numeric", "event", "one", "many", "fitted", "static")
    ]
    assert len(attributes) >= 9
    for word in attributes:
        parse_spec(f"facttype t: {word}")


def test_every_operator_function_item_and_unit_is_in_the_reference_and_the_ebnf():
    ebnf = data_text("grammar", "chronofy.ebnf")
    words = table()
    spellings = {one for level in words.levels for op in level.operators for one in op.spellings}
    for word in {*spellings, *words.functions, *words.items, *words.units}:
        assert f'"{word}"' in ebnf
        assert re.search(rf"(?<!\w){re.escape(word)}(?!\w)", README.replace("\\|", "|")), word


def test_each_operator_has_an_example():
    text = " ".join(cells[1] for cells in FORMULAS if len(cells) == 5).replace("\\|", "|")
    named = set(re.findall(r"`([^`]*)`", text))
    for level in table().levels[:8]:
        for operator in level.operators:
            assert set(operator.spellings) <= named


def test_spec_blocks_parse():
    blocks = re.findall(r"```spec\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        assert str(parse_spec(block).formula("answer_valid")) == "G validity >= 0.5"


EXAMPLES = sorted(one.name for one in data_folder("grammar").joinpath("examples").iterdir())


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_parse_and_every_formula_prints_and_parses_back(name):
    pack = parse_spec(data_text("grammar", "examples", name), name)
    for one in (*pack.specs, *pack.labels):
        formula = pack.formula(one)
        assert parse_formula(str(formula)) == formula


def test_the_answers_example_judges_a_trace():
    pack = parse_spec(data_text("grammar", "examples", "answers.spec"))
    trace = Trace({"validity": [0.9, 0.75, 0.6]})
    assert robustness(pack.formula("answer_valid"), trace).values[0] == pytest.approx(0.1)
    assert robustness(pack.formula("answer_valid", {"gamma": 0.7}), trace).values[0] == pytest.approx(-0.1)


def test_the_monitoring_example_in_its_step():
    pack = parse_spec(data_text("grammar", "examples", "monitoring.spec"))
    trace = Trace({"spo2": [95.0, 88.0, 89.0, 93.0], "heart_rate": [90.0] * 4}, step="15m")
    assert robustness(pack.formula("recovers"), trace).values[0] == 3.0
    assert robustness(pack.formula("recovers", {"grace": "15 m"}), trace).values[0] == -1.0
