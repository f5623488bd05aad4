"""Words: rarity, coverage, questions full of signs, names that a question mentions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofy_kg.retrieval.lexical import LexicalIndex, NameIndex

FACTS = [
    "CVE-2024-1234 affects Fortinet FortiNAC",
    "CVE-2024-1234 exploitation_status active",
    "CVE-2024-9999 affects Fortinet FortiOS",
    "CVE-2024-9999 exploitation_status none",
    "US unemployment_rate 3.7 percent",
    "US gdp_growth 2.1 percent",
    "DE unemployment_rate 3.0 percent",
    "patient:17 takes drug:metformin",
]


@pytest.fixture(scope="module")
def index():
    return LexicalIndex.build(FACTS)


def best(index, question):
    return np.flatnonzero(index.score(question).coverage == index.score(question).coverage.max()).tolist()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Is CVE-2024-1234 exploited?", [1]),
        ("is cve-2024-1234 EXPLOITED", [1]),
        ("What was US unemployment?", [4]),
        ("Which CVEs affect Fortinet FortiNAC?", [0]),
        ("which CVEs affect fortinet fortinac", [0]),
        ("Does patient:17 take metformin?", [7]),
        ("unemployment rate of DE", [6]),
        ("gdpGrowth", [5]),
    ],
)
def test_the_right_fact_covers_the_question_best(index, question, expected):
    assert best(index, question) == expected
    assert index.score(question).coverage.max() > 0.95


def test_another_identifier_does_not_count(index):
    got = index.score("Is CVE-2024-9999 exploited?")
    assert got.coverage[3] == pytest.approx(1.0)
    assert got.coverage[1] < 0.35
    unknown = index.score("Is CVE-2020-1 exploited?")
    assert unknown.unknown == ("cve-2020-1",)
    assert unknown.coverage.max() < 0.35
    assert unknown.named.max() == 0.0


def test_an_unknown_name_outweighs_what_is_known(index):
    got = index.score("Which CVEs affect Zyxel?")
    assert got.unknown == ("zyxel",)
    assert got.coverage.max() < 0.7


def test_years_that_no_fact_holds_are_not_asked_for(index):
    plain = index.score("What was US unemployment?").coverage
    for question in ("What was US unemployment on 2031-05-17?", "What was US unemployment in 2031?"):
        np.testing.assert_array_equal(index.score(question).coverage, plain)


@pytest.mark.parametrize(
    "question", ["", "   ", "what is it?", "?!*~^[](){}\\/\"'+-&&||", "\x00", "NOT AND OR"]
)
def test_questions_without_a_word_match_nothing(index, question):
    got = index.score(question)
    assert not got.coverage.any()
    assert not got.bm25.any()
    assert (got.asked, got.named) == ((), None)


@given(st.text(max_size=80))
def test_any_question_is_safe(question):
    got = LexicalIndex.build(FACTS).score(question)
    assert np.isfinite(got.bm25).all()
    assert (got.bm25 >= 0).all()
    assert ((got.coverage >= 0) & (got.coverage <= 1)).all()


def test_signs_of_query_languages_change_nothing(index):
    plain = index.score("fortinac exploitation status")
    signed = index.score('+(fortinac*) OR "exploitation~2 status"^3 [a TO b] .* \\')
    np.testing.assert_array_equal(signed.bm25 > 0, plain.bm25 > 0)


def test_bm25_is_the_formula():
    index = LexicalIndex.build(["alpha beta", "alpha alpha gamma delta", "beta"])
    idf, length, mean = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)), 4, 7 / 3
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * length / mean))
    assert index.score("alpha").bm25[1] == pytest.approx(expected)


def test_documents_are_composed_of_pieces():
    pieces = ["US", "unemployment_rate", "3.7", "gdp_growth"]
    parts = np.array([[0, 1, 2], [0, 3, -1]])
    composed = LexicalIndex.build(pieces, parts).score("US unemployment")
    plain = LexicalIndex.build(["US unemployment_rate 3.7", "US gdp_growth"]).score("US unemployment")
    np.testing.assert_allclose(composed.bm25, plain.bm25)
    np.testing.assert_allclose(composed.coverage, plain.coverage)


def test_a_long_series_is_counted_once():
    """Otherwise `us` would weigh nothing beside the unknown word, and the series would not be found."""
    pieces = ["US", "unemployment_rate", *(f"{value}.5" for value in range(500)), "DE gdp"]
    parts = np.array([[0, 1, 2 + i] for i in range(500)] + [[502, -1, -1]])
    groups = np.array([0] * 500 + [1])
    question = "US unemployment prognosis"
    counted = LexicalIndex.build(pieces, parts, groups).score(question).coverage[0]
    assert counted > 0.55
    assert counted > 2 * LexicalIndex.build(pieces, parts).score(question).coverage[0]


def test_an_empty_index():
    got = LexicalIndex.build([]).score("anything")
    assert got.coverage.shape == got.bm25.shape == (0,)
    assert LexicalIndex.build([""]).score("anything").coverage.tolist() == [0.0]
    assert NameIndex([]).find("anything").weights.shape == (0,)


def test_names_in_a_question():
    names = [
        "Fortinet",
        "Fortinet FortiNAC",
        "CVE-2024-1234",
        "CVE-2024-1",
        "patient:17",
        "17",
        "drug:metformin",
        "",
    ]
    index = NameIndex(names)

    def found(question):
        mentions = index.find(question)
        return [name for name, weight in zip(names, mentions.weights, strict=True) if weight > 0]

    assert found("Which CVEs affect Fortinet FortiNAC?") == ["Fortinet", "Fortinet FortiNAC"]
    weights = index.find("Which CVEs affect Fortinet FortiNAC?").weights
    assert weights[1] > weights[0]
    assert found("is CVE-2024-1234 exploited") == ["CVE-2024-1234"]
    assert found("What does patient:17 take?") == ["patient:17"]
    assert found("who takes Metformin") == ["drug:metformin"]
    assert found("nothing of this") == []
    assert index.find("Fortinet").terms == {"fortinet"}


def test_named_is_the_part_that_names_entities():
    index = LexicalIndex.build(FACTS)
    names = NameIndex(["US", "DE"]).find("What was US unemployment?")
    named = index.score("What was US unemployment?", names.terms).named
    assert named.tolist() == [0, 0, 0, 0, 1, 1, 0, 0]
    assert index.score("What was unemployment?").named is None
