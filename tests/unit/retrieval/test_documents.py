"""Texts of facts: words see all, vectors see meaning once."""

import numpy as np

from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.table import FactTable, TableBuilder
from chronofy_kg.facts.time import OPEN_US
from chronofy_kg.retrieval.documents import documents


def table(*rows):
    builder = TableBuilder()
    builder.extend(Assertion(valid_from=0, valid_to=OPEN_US, observed_at=0, **row) for row in rows)
    return builder.build()


ROWS = [
    {"subject": "US", "predicate": "unemployment_rate", "value": 3.7, "unit": "percent"},
    {"subject": "US", "predicate": "unemployment_rate", "value": 4, "unit": "percent"},
    {"subject": "patient:17", "predicate": "takesDrug", "object": "drug:metformin"},
    {"subject": "CVE-1", "predicate": "exploited", "value": True},
    {
        "subject": "CVE-1",
        "predicate": "summary",
        "value": "heap overflow",
        "content": "CVE-1 is a heap overflow",
    },
    {"subject": "CVE-2", "predicate": "summary", "value": "heap overflow"},
    {"subject": "US", "predicate": "unemployment_rate", "value": 4.0, "unit": "percent"},
]


def test_words_see_everything_that_was_stated():
    got = documents(table(*ROWS))
    assert [got.words(row) for row in range(7)] == [
        "US unemployment_rate 3.7 percent",
        "US unemployment_rate 4 percent",
        "patient:17 takesDrug drug:metformin",
        "CVE-1 exploited true",
        "CVE-1 summary heap overflow CVE-1 is a heap overflow",
        "CVE-2 summary heap overflow",
        "US unemployment_rate 4 percent",
    ]
    assert len(set(got.pieces)) == len(got.pieces)


def test_vectors_see_no_numbers_and_each_text_once():
    got = documents(table(*ROWS))
    assert [got.texts[i] for i in got.vector_of] == [
        "US unemployment rate",
        "US unemployment rate",
        "patient:17 takes Drug drug:metformin",
        "CVE-1 exploited",
        "CVE-1 is a heap overflow",
        "CVE-2 summary heap overflow",
        "US unemployment rate",
    ]
    assert len(got.texts) == 5


def test_a_thousand_readings_share_one_vector():
    series = [{"subject": "a", "predicate": "p", "value": i / 7} for i in range(1000)]
    got = documents(table(*series))
    assert got.texts == ("a p",)
    assert got.vector_of.tolist() == [0] * 1000


def test_one_and_true_are_different_words():
    got = documents(
        table(
            {"subject": "a", "predicate": "p", "value": True}, {"subject": "a", "predicate": "p", "value": 1}
        )
    )
    assert [got.words(row) for row in range(2)] == ["a p true", "a p 1"]


def test_rows_choose_and_order():
    got = documents(table(*ROWS), np.array([4, 2]))
    assert [got.texts[i] for i in got.vector_of] == [
        "CVE-1 is a heap overflow",
        "patient:17 takes Drug drug:metformin",
    ]
    assert got.words(1) == "patient:17 takesDrug drug:metformin"


def test_an_empty_table():
    got = documents(FactTable.empty())
    assert (got.pieces, got.texts) == ((), ())
    assert got.parts.shape == (0, 6)
    assert got.vector_of.shape == (0,)
