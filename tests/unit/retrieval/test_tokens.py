"""How text is cut to terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofy_kg.retrieval.tokens import document_terms, name_terms, query_units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("CVE-2024-1234", ["cve-2024-1234", "cve", "2024", "1234"]),
        ("CWE-79", ["cwe-79", "cwe", "79"]),
        ("drug:metformin", ["drug:metformin", "drug", "metformin"]),
        ("unemployment_rate", ["unemployment_rate", "unemployment", "rat"]),
        ("FortiNAC", ["fortinac", "forti", "nac"]),
        ("isTreatedWith", ["istreatedwith", "is", "treat", "with"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("3.7 percent", ["3.7", "percent"]),
        ("Straße ΣΊΣΥΦΟΣ", ["strass", "σίσυφοσ"]),
        ("cafe\u0301", ["café"]),
        ("Fortinet's (SQL) *injection*", ["fortinet", "sql", "injection"]),
        ("東京の天気", ["東京", "京の", "の天", "天気"]),
        ("mL/min", ["ml/min", "ml", "m", "l", "min"]),
    ],
)
def test_document_terms(text, expected):
    assert document_terms(text) == expected


def test_forms_of_a_word_meet():
    for words in (
        "affects affected affecting affect",
        "exploitation exploited exploits",
        "vulnerabilities vulnerability",
        "CVEs CVE",
        "stopped stops stopping",
        "rates rate",
    ):
        assert len(set(document_terms(words))) == 1, words
    for words in ("status", "class", "diagnosis", "bus"):
        assert document_terms(words) == [words]


def test_units_of_questions():
    units = query_units("Which CVEs affect Fortinet FortiNAC?")
    assert [(u.whole, u.name) for u in units] == [
        ("cve", True),
        ("affect", False),
        ("fortinet", True),
        ("fortinac", True),
    ]
    (unit,) = query_units("Is CVE-2024-1234 still?")
    assert (unit.whole, unit.strict, unit.name) == ("cve-2024-1234", True, True)
    assert [u.whole for u in query_units("What was US unemployment?")] == ["us", "unemployment"]
    assert [u.whole for u in query_units("Does IT serve WHO, or does it?")] == ["it", "serv", "who"]
    assert query_units("WHO IS IT?") == []  # all in capitals: nothing stands out
    assert query_units("   ") == query_units("what is the latest of these?") == []


def test_names():
    assert name_terms("Fortinet FortiNAC") == ["fortinet", "fortinac"]
    assert name_terms("http://example.org/x") == ["exampl", "org", "x"]
    assert name_terms("2024") == ["2024"]
    assert name_terms("") == []


@given(st.text(max_size=200))
def test_any_text_is_safe_and_idempotent(text):
    terms = document_terms(text)
    assert all(term and not term.isspace() for term in terms)
    units = query_units(text)
    assert len({unit.whole for unit in units}) == len(units)
    assert {unit.whole for unit in units} <= set(terms)
