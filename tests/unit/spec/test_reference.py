"""grammar/README.md, the EBNF and the examples say what is implemented."""

import re
from pathlib import Path

import pytest

from chronofy_kg import spec as package
from chronofy_kg.resources import data_folder, data_text
from chronofy_kg.spec import Trace, check_spec, parse_formula, parse_spec, robustness
from chronofy_kg.spec.operators import table

SPEC = Path(package.__file__).parent
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
RULES = rows(["part", "meaning", "rule"])
ERRORS = rows(["code", "an error because", "example"])
WARNINGS = rows(["code", "a warning because", "example"])


@pytest.mark.parametrize("cells", FORMULAS, ids=lambda cells: cells[0])
def test_each_example_has_the_value_it_says(cells):
    text = cells[-2].strip("`").replace("\\|", "|")
    assert robustness(parse_formula(text), Trace(SIGNALS)).values[2] == float(cells[-1])


@pytest.mark.parametrize("cells", ITEMS, ids=lambda cells: cells[0])
def test_each_item_parses(cells):
    parse_spec(cells[-1].strip("`"), loader=lambda path: "")


@pytest.mark.parametrize("cells", RULES, ids=lambda cells: cells[0])
def test_each_rule_parses(cells):
    assert len(parse_spec(cells[-1].strip("`")).rules) == 1


@pytest.mark.parametrize("cells", [*ERRORS, *WARNINGS], ids=lambda cells: cells[0])
def test_each_code_has_an_example_that_gives_it(cells):
    severity = "error" if cells in ERRORS else "warning"
    found = check_spec(cells[-1].strip("`"))
    assert [(one.code, one.severity) for one in found] == [(cells[0].strip("`"), severity)]


def test_every_code_of_the_checker_is_listed():
    listed = {cells[0].strip("`") for cells in (*ERRORS, *WARNINGS)}
    for file in (
        "lint",
        "check",
        "filecheck",
        "rulecheck",
        "declare",
        "filereader",
        "scan",
        "parser",
        "mistakes",
    ):
        text = Path(f"{SPEC}/{file}.py").read_text(encoding="utf-8")
        reports = re.findall(r'(?:error|warn)\(\s*[^"]*?"([a-z]+)",', text)
        assert set(reports) <= listed, file


def test_the_relations_are_those_of_the_table():
    listed = {
        cells[0].strip("`"): cells[-1].strip("`") for cells in rows(["relation", "holds if", "inverse"])
    }
    assert listed | {inverse: name for name, inverse in listed.items()} == dict(table().relations)


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
    for word in {*spellings, *words.functions, *words.windows, *words.relations, *words.items, *words.units}:
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


def test_lets_that_refer_to_their_past_have_the_values_that_are_said():
    pack = parse_spec(
        "let onset = x > 0 and not O[1,2] onset; let smooth = 0.5 * x + 0.5 * mean[1,1](smooth)"
    )
    assert robustness(pack.formula("onset"), Trace({"x": [1.0, 1, 1, 1, 1]})).values.tolist() == [
        1,
        -1,
        -1,
        1,
        -1,
    ]


EXAMPLES = sorted(one.name for one in data_folder("grammar").joinpath("examples").iterdir())


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_parse_and_every_formula_prints_and_parses_back(name):
    pack = parse_spec(data_text("grammar", "examples", name), name)
    assert check_spec(data_text("grammar", "examples", name), name) == ()
    for one in (*pack.specs, *pack.labels):
        formula = pack.formula(one)
        assert parse_formula(str(formula)) == formula


def test_the_answers_example_judges_a_trace():
    pack = parse_spec(data_text("grammar", "examples", "answers.spec"))
    trace = Trace({"validity": [0.9, 0.75, 0.6]})
    assert robustness(pack.formula("answer_valid"), trace).values[0] == pytest.approx(0.1)
    assert robustness(pack.formula("answer_valid", {"gamma": 0.7}), trace).values[0] == pytest.approx(-0.1)


def test_the_statistics_example_finds_the_first_rise():
    pack = parse_spec(data_text("grammar", "examples", "statistics.spec"))
    volume = [4.0, 5, 6, 5, 4, 5, 20, 5, 30, 5]
    for label, expected in (("fresh_rise", 6), ("high_again", 6)):
        values = robustness(pack.formula(label), Trace({"volume": volume}, step="1w")).values
        assert next(i for i, value in enumerate(values) if value > 0) == expected
    fresh = robustness(pack.formula("fresh_rise"), Trace({"volume": volume}, step="1w")).values
    assert (fresh > 0).sum() == 1


def test_the_rules_example_has_no_cycle_and_its_parts():
    pack = parse_spec(data_text("grammar", "examples", "rules.spec"))
    assert [(name, len(rule.body), rule.weight) for name, rule in pack.rules.items()] == [
        ("exposed", 3, 0.95), ("urgent", 5, 1.0), ("direct", 1, 1.0), ("far", 2, 1.0),
    ]  # fmt: skip


def test_the_monitoring_example_in_its_step():
    pack = parse_spec(data_text("grammar", "examples", "monitoring.spec"))
    trace = Trace({"spo2": [95.0, 88.0, 89.0, 93.0], "heart_rate": [90.0] * 4}, step="15m")
    assert robustness(pack.formula("recovers"), trace).values[0] == 3.0
    assert robustness(pack.formula("recovers", {"grace": "15 m"}), trace).values[0] == -1.0
