"""What a question finds in a table without vectors: names, predicates, words, and whose facts are foreign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.facts import table_of, told

from chronofy_kg.retrieval.corpus import Corpus, Found, likeness

ROWS = (
    told("CVE-2024-1", "exploitation", "active", "2024-01-01", content="Flaw in Acme Gateway."),
    told("CVE-2024-2", "exploitation", "none", "2024-01-01", content="Unlike CVE-2024-1 and CVE-2024-9."),
    told("CVE-2024-2", "duplicates", at="2024-01-01", object="CVE-2024-1"),
    told("patient:1", "takes", at="2024-01-01", object="drug:metformin"),
    told("patient:2", "takes", at="2024-01-01", object="drug:aspirin"),
    told("US", "unemployment_rate", 3.7, "2024-01-01"),
    told("cna:acme", "log_weekly_cves", 3.1, "2024-01-01"),
    told("note", "says", "see KB-77 in February", "2024-01-01"),
)
TABLE = table_of(*ROWS)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path, "none")


def rows(mask: np.ndarray | None) -> list[int] | None:
    return None if mask is None else np.flatnonzero(mask).tolist()


def search(corpus: Corpus, question: str) -> Found:
    return corpus.search(question, TABLE)


@pytest.mark.parametrize(
    ("question", "foreign"),
    [
        ("Is CVE-2024-1 exploited?", [1]),  # row 2 states CVE-2024-1 as its object
        ("Is cve-2024-9 exploited?", [0, 1, 2]),
        ("CVE-2024-2 and CVE-2024-1", []),
        ("What does patient:2 take?", [3]),
        ("Does patient:9 take aspirin?", [3, 4]),
        ("Who takes aspirin?", []),
        ("What says KB-77?", []),
        ("", []),
    ],
)
def test_statements_about_another_identifier_of_the_family_are_foreign(
    corpus: Corpus, question: str, foreign: list[int]
) -> None:
    assert rows(search(corpus, question).foreign) == foreign


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Is CVE-2024-1 being exploited?", [0, 1]),
        ("What is CVE-2024-1?", None),  # its parts do not ask for log_weekly_cves
        ("How many weekly CVEs?", [6]),
        ("unemployment rate", [5]),
        ("Who takes aspirin?", [3, 4]),
        ("good morning", None),
    ],
)
def test_the_predicate_of_which_the_question_says_most_is_asked(
    corpus: Corpus, question: str, asked: list[int] | None
) -> None:
    assert rows(search(corpus, question).asked) == asked


@pytest.mark.parametrize(
    ("question", "speaks"),
    [
        ("Tell me what you know about CVE-2024-1", None),
        ("Is CVE-2024-1 a flaw?", [0]),
        ("What is the blood type of patient:1?", []),
        ("What about CVE-2024-1 in February 2024?", None),
    ],
)
def test_rows_that_say_a_plain_word_of_the_question(
    corpus: Corpus, question: str, speaks: list[int] | None
) -> None:
    assert rows(search(corpus, question).speaks) == speaks


def test_a_name_that_nobody_has_counts_as_a_name(corpus: Corpus) -> None:
    atlantis, plain = (search(corpus, f"unemployment rate{more}") for more in (" of Atlantis", ""))
    assert atlantis.named is not None
    assert atlantis.named.max() == 0
    assert plain.named is None
    us = search(corpus, "the unemployment rate in the US, February")
    assert us.named is not None
    assert us.named.tolist() == [0, 0, 0, 0, 0, 1, 0, 0]


def test_entities_are_found_by_name(corpus: Corpus) -> None:
    found = search(corpus, "Does patient:1 take metformin?")
    names = [TABLE.pool[code] for code in found.entity_codes[found.entities > 0].tolist()]
    assert sorted(names) == ["drug:metformin", "patient:1"]


def test_a_search_follows_its_table_and_an_empty_one_finds_nothing(corpus: Corpus) -> None:
    assert len(search(corpus, "aspirin").coverage) == len(TABLE)
    other = table_of(told("x", "y", "z", "2024-01-01"))
    assert len(corpus.search("aspirin", other).coverage) == 1
    assert len(search(corpus, "aspirin").coverage) == len(TABLE)
    empty = corpus.search("Is CVE-2024-1 exploited?", table_of())
    assert (len(empty.coverage), len(empty.foreign), empty.asked) == (0, 0, None)


def test_without_a_model_there_are_no_vectors_and_nothing_is_pending(corpus: Corpus) -> None:
    corpus.update(TABLE)
    corpus.embed()
    assert (corpus.state, corpus.pending) == ("off", 0)
    assert search(corpus, "aspirin").meaning is None


def test_likeness_fades_with_distance_in_time_and_keeps_gaps() -> None:
    day = 86_400_000_000
    meaning = np.asarray([0.8, 0.8, 0.8, np.nan], dtype=np.float32)
    found = likeness(meaning, np.asarray([1000, 990, 500, 1000]) * day, 1000 * day)
    assert found[0] == pytest.approx(0.9 * 0.8, abs=2e-3)
    assert found[0] > found[1] > found[2] > 0.5
    assert np.isnan(found[3])
