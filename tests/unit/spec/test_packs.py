"""The packs of rules/: each is checked without a warning, says how to use it, and judges as it says."""

import pytest

from chronofy_kg.answer.judge import judge_from
from chronofy_kg.resources import data_folder, data_text
from chronofy_kg.spec import Trace, check_spec, parse_spec, robustness

PACKS = sorted(one.name for one in data_folder("rules").iterdir() if one.name.endswith(".spec"))
ANSWERS = [name for name in PACKS if name != "topics.spec"]


def test_the_packs_are_there():
    assert PACKS == ["clinical.spec", "finance.spec", "legal.spec", "security.spec", "topics.spec"]


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_has_neither_errors_nor_warnings_and_is_commented(name):
    text = data_text("rules", name)
    assert check_spec(text, name) == ()
    lines = text.splitlines()
    assert sum(line.lstrip().startswith("#") for line in lines) * 5 >= len(lines)
    assert "Copy this file and edit it." in lines[0]
    # No engine runs rule items yet; a pack must not look as if one did.
    assert not parse_spec(text).rules


@pytest.mark.parametrize("name", ANSWERS)
def test_every_spec_of_a_pack_for_answers_can_judge_one(name):
    pack = parse_spec(data_text("rules", name), name)
    for spec in pack.specs:
        judge_from(pack, spec)
    stem = name.removesuffix(".spec")
    assert f"chronofy-kg specs put {stem} {name}" in data_text("rules", name)


def test_clinical_prescribing_asks_for_strong_recent_and_good_evidence():
    formula = parse_spec(data_text("rules", "clinical.spec")).formula("prescribing")
    trace = Trace({"validity": [[0.9, 0.95], [0.9, 0.7], [0.9, 0.9], [0.9, 0.9]],
                   "age_days": [[1, 2], [1, 2], [1, 91], [1, 2]],
                   "quality": [[0.95, 0.97], [0.95, 0.97], [0.95, 0.97], [0.95, 0.5]]})  # fmt: skip
    assert (robustness(formula, trace).values[:, 0] > 0).tolist() == [True, False, False, False]


def test_legal_conclusion_rests_on_all_steps_before_it():
    formula = parse_spec(data_text("rules", "legal.spec")).formula("conclusion_founded")
    trace = Trace({"validity": [0.9, 0.6, 0.8], "age_days": [1, 1, 1], "quality": [0.9, 0.9, 0.9]})
    assert robustness(formula, trace).values[-1] == pytest.approx(0.1)


def test_topics_has_its_labels_in_order_with_the_last_for_all_else():
    pack = parse_spec(data_text("rules", "topics.spec"))
    order = sorted(pack.labels.values(), key=lambda label: label.priority)
    assert [label.name for label in order] == ["emergence", "drift", "growth", "decay", "stable"]
    assert str(order[-1].formula) == "true"
    assert pack.lets["onset"].recursive
    weeks = {"age": [5.0, 6, 7, 8, 9], "born_late": [0.0] * 5, "shift": [0.0] * 5,
             "ratio": [1.0, 1.5, 2.0, 2.1, 1.0], "z": [0.0, 0.5, 3.0, 3.0, 0.0]}  # fmt: skip
    growth = robustness(pack.formula("growth"), Trace(weeks)).values
    assert (growth > 0).tolist() == [False, True, True, True, False]
    spike = {**weeks, "ratio": [1.0, 1.0, 3.0, 1.0, 1.0], "z": [0.0, 0.0, 5.0, 0.0, 0.0]}
    assert not (robustness(pack.formula("growth"), Trace(spike)).values > 0).any()
