"""Every known mistake has an example that is placed where it says and gets its hint."""

import pytest

from chronofy_kg.errors import SpecError
from chronofy_kg.spec import parse_formula, parse_spec
from chronofy_kg.spec.known import mistake_data
from chronofy_kg.spec.operators import table

DATA = mistake_data()


@pytest.mark.parametrize("row", DATA["mistakes"], ids=lambda row: row["example"])
def test_each_example_is_placed_and_gets_its_hint(row):
    parse = parse_formula if row["level"] == "formula" else parse_spec
    with pytest.raises(SpecError) as caught:
        parse(row["example"])
    first = caught.value.diagnostics[0]
    assert [first.line, first.column] == row["at"]
    token = row["example"].splitlines()[first.line - 1][first.column - 1 : first.end_column - 1]
    item = row["example"].split()[0]
    hint = row["hint"].replace("{found!r}", repr(token)).replace("{found}", token).replace("{item}", item)
    assert first.hint == hint


def test_the_hints_are_short_and_the_words_of_the_conditions_exist():
    for row in DATA["mistakes"]:
        assert len(row["hint"]) <= 110
        assert set(row) <= {
            "found",
            "before",
            "next",
            "expected",
            "items",
            "opener",
            "hint",
            "level",
            "example",
            "at",
        }
        assert set(row.get("items", ())) <= set(table().items)


@pytest.mark.parametrize("character", [*DATA["characters"], *DATA["lookalikes"]])
def test_each_character_has_its_hint(character):
    with pytest.raises(SpecError) as caught:
        parse_formula(f"x > 0 {character} y > 0")
    first = caught.value.diagnostics[0]
    assert (first.column, first.code) == (7, "lex")
    instead = DATA["lookalikes"].get(character)
    assert first.hint == (f"write {instead}" if instead else DATA["characters"][character])


@pytest.mark.parametrize("word", DATA["unit_hints"])
def test_each_word_taken_for_a_unit_has_its_hint(word):
    with pytest.raises(SpecError) as caught:
        parse_formula(f"G[0,3{word}] x > 0")
    (found,) = caught.value.diagnostics
    assert (found.column, found.code, found.hint) == (6, "unit", DATA["unit_hints"][word])


@pytest.mark.parametrize(("word", "meant"), DATA["synonyms"].items())
def test_each_synonym_is_a_word_of_the_language(word, meant):
    assert meant in table().reserved
    assert word not in table().reserved


def test_synonyms_are_offered():
    with pytest.raises(SpecError) as caught:
        parse_formula("avg[0,5](x) > 0")
    (found,) = caught.value.diagnostics
    assert (found.column, found.code, found.hint) == (1, "name", "did you mean mean?")
    with pytest.raises(SpecError) as caught:
        parse_formula("G[0,1h30m] x > 0")
    assert caught.value.diagnostics[0].hint == "a time is one number with one unit: 90 m, not 1h30m"
    with pytest.raises(SpecError) as caught:
        parse_formula("x > 1_000")
    assert caught.value.diagnostics[0].hint == "numbers have no separators: 1000000"
