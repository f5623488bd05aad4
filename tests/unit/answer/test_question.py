"""Questions in words, without vectors: what is asked is what is answered, or nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.facts import table_of, told, us

from chronofy_kg.answer.compose import compose
from chronofy_kg.answer.judge import default_judge
from chronofy_kg.answer.model import Answer
from chronofy_kg.answer.select import found_by_question
from chronofy_kg.answer.shape import answer_as_json
from chronofy_kg.answer.view import Moment
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import from_declaration
from chronofy_kg.errors import QueryError
from chronofy_kg.facts.model import Assertion, Fact
from chronofy_kg.facts.table import FactTable
from chronofy_kg.retrieval.corpus import Corpus
from chronofy_kg.retrieval.rank import Mode

TYPES = TypeCatalog.of(
    [
        from_declaration("exploitation", "categorical", "one", half_life_days=30),
        from_declaration("severity_score", "numeric", "one", half_life_days=365),
        from_declaration("affects", "categorical", "many", half_life_days=730),
        from_declaration("weakness", "static", "many"),
        from_declaration("unemployment_rate", "numeric", "one", half_life_days=300),
        from_declaration("inflation_rate", "numeric", "one", half_life_days=300),
        from_declaration("log_weekly_cves", "numeric", "one", half_life_days=30),
    ]
)
ABOUT = {
    "CVE-2024-1111": "A remote code execution flaw in the login page of Acme Gateway.",
    "CVE-2024-2222": "Privilege escalation in Acme Gateway, other than CVE-2024-1111 and CVE-2024-9999.",
    "CVE-2024-3333": "A heap overflow in the parser of Umbrella Mail lets attackers run code.",
}


def cve(name: str, seen: str, **statements: object) -> list[Assertion]:
    shared = {"content": ABOUT[name], "seen": seen, "source": "cna:test"}
    rows = [told(name, "weakness", at="2024-01-01", object="CWE-79", **shared)]
    for predicate, value in statements.items():
        if predicate == "affects":
            rows.append(told(name, predicate, at="2024-01-01", object=value, **shared))
        else:
            rows.append(told(name, predicate, value, "2024-01-01", **shared))
    return rows


def quarters(subject: str, predicate: str, values: list[float], year: int = 1983) -> list[Assertion]:
    days = [f"{year + i // 4}-{(3, 6, 9, 12)[i % 4]:02d}-28" for i in range(len(values))]
    return [told(subject, predicate, v, d, unit="%") for v, d in zip(values, days, strict=True)]


def demo() -> FactTable:
    gateway, mail = "product:Acme Gateway", "product:Umbrella Mail"
    return table_of(
        *cve("CVE-2024-1111", "2024-10-01", exploitation="active", severity_score=9.8, affects=gateway),
        *cve("CVE-2024-2222", "2024-10-01", severity_score=7.2, affects=gateway, exploitation="poc"),
        *cve("CVE-2024-3333", "2024-10-01", severity_score=8.1, affects=mail),
        *quarters("US", "unemployment_rate", [10.4, 10.1, 9.4, 8.5, 7.9, 7.4, 7.4, 7.3]),
        *quarters("US", "inflation_rate", [0.8, 4.6, 4.4, 4.4, 5.3, 3.9, 3.7, 3.5]),
        *(told("cna:acme", "log_weekly_cves", 3.0 + i, f"2024-0{i + 1}-01") for i in range(8)),
        recorded="1970-01-01",
    )


TABLE = demo()


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path, "none")


def asked(
    corpus: Corpus, question: str, at: str = "2024-10-10", table: FactTable = TABLE, *,
    mode: Mode = "balanced", tau: float = 0.05, limit: int = 10, gamma: float = 0.5, history: bool = False,
) -> Answer:  # fmt: skip
    moment = Moment(us(at), us("2030-01-01"))
    found = found_by_question(
        table, TYPES, question, corpus, moment, tau=tau, gate=0.35, mode=mode, limit=limit, history=history
    )
    return compose(
        found, default_judge(gamma), answer_id="ans_q", at=moment.at, known_at=moment.known_at, lag=3
    )


def said(answer: Answer) -> list[tuple[object, ...]]:
    facts = [fact for fact in answer.facts if isinstance(fact, Fact)]
    return [(f.subject, f.predicate, f.value if f.object is None else f.object) for f in facts]


@pytest.mark.parametrize("mode", ["fresh", "balanced", "relevant", "fused"])
@pytest.mark.parametrize(
    ("question", "at", "facts"),
    [
        (
            "Is CVE-2024-1111 being exploited?",
            "2024-10-10",
            [("CVE-2024-1111", "exploitation", "active")],
        ),
        ("is cve-2024-2222 exploited?", "2024-10-10", [("CVE-2024-2222", "exploitation", "poc")]),
        (
            "What is the severity of CVE-2024-3333?",
            "2024-10-10",
            [("CVE-2024-3333", "severity_score", 8.1)],
        ),
        (
            "Which product does CVE-2024-2222 affect?",
            "2024-10-10",
            [("CVE-2024-2222", "affects", "product:Acme Gateway")],
        ),
        ("What was the US unemployment rate?", "1984-01-15", [("US", "unemployment_rate", 8.5)]),
        ("What was the US unemployment rate?", "1985-01-15", [("US", "unemployment_rate", 7.3)]),
        ("How high is inflation in the US?", "1985-01-15", [("US", "inflation_rate", 3.5)]),
    ],
)
def test_the_predicate_asked_for_is_answered_as_of_the_instant(
    corpus: Corpus, question: str, at: str, facts: list[tuple[object, ...]], mode: Mode
) -> None:
    answer = asked(corpus, question, at, mode=mode)
    assert said(answer) == facts
    assert (answer.verdict, answer.partial) == ("supported", False)


@pytest.mark.parametrize("mode", ["fresh", "balanced", "relevant", "fused"])
@pytest.mark.parametrize(
    "question",
    [
        "Is CVE-2024-3333 being exploited?",  # nobody assessed it
        "Is CVE-2024-9999 being exploited?",  # only mentioned in another's text
        "Is CVE-2031-0001 being exploited?",  # never heard of
        "What is the severity of CVE-2024-9999?",
        "What was the unemployment rate of Atlantis?",
        "What was the unemployment rate in Germany?",
        "What is the blood type of CVE-2024-1111?",
        "Who is the mother of cna:acme?",
        "quantum llamas",
        "?",
        "",
    ],
)
def test_what_is_not_known_is_not_answered_by_something_else(
    corpus: Corpus, question: str, mode: Mode
) -> None:
    answer = asked(corpus, question, "1985-01-15" if "unemployment" in question else "2024-10-10", mode=mode)
    assert (answer.verdict, answer.withheld, answer.text) == ("insufficient_evidence", True, None)
    assert (answer.facts, answer.steps, answer.reacquire) == ((), (), ())


def test_an_identifier_alone_asks_for_all_that_is_known_of_it(corpus: Corpus) -> None:
    for question in ("CVE-2024-1111", "Tell me about CVE-2024-1111", "What do you know about CVE-2024-1111?"):
        answer = asked(corpus, question)
        assert {fact[0] for fact in said(answer)} == {"CVE-2024-1111"}
        assert {fact[1] for fact in said(answer)} == {"exploitation", "severity_score", "affects", "weakness"}


def test_words_of_the_text_answer_where_no_predicate_is_said(corpus: Corpus) -> None:
    answer = asked(corpus, "Is CVE-2024-1111 a remote code execution?")
    assert {fact[0] for fact in said(answer)} == {"CVE-2024-1111"}


def test_a_question_from_the_object_side(corpus: Corpus) -> None:
    answer = asked(corpus, "What affects the Acme Gateway?")
    assert sorted(said(answer)) == [
        ("CVE-2024-1111", "affects", "product:Acme Gateway"),
        ("CVE-2024-2222", "affects", "product:Acme Gateway"),
    ]


def test_what_tau_removed_is_asked_for_again_and_not_replaced_by_a_fresh_fact(corpus: Corpus) -> None:
    answer = asked(corpus, "Is CVE-2024-1111 being exploited?", "2025-06-01")
    assert (answer.verdict, answer.withheld, answer.facts) == ("reacquire", True, ())
    assert answer.excluded["below_tau"] == 1
    (target,) = answer.reacquire
    assert target.fact == answer.steps[0].facts[0]
    assert target.sources == ("cna:test",)
    shown = answer_as_json(answer)
    assert shown["reacquire"][0]["about"] == "CVE-2024-1111 exploitation"
    assert "active" not in str(shown)
    assert "login page" not in str(shown)
    assert target.fact not in answer.context


def test_above_tau_but_below_gamma_it_is_withheld(corpus: Corpus) -> None:
    answer = asked(corpus, "Is CVE-2024-1111 being exploited?", "2024-12-01")
    assert (answer.verdict, answer.withheld) == ("reacquire", True)
    assert answer.rho is not None
    assert answer.rho.value == pytest.approx(2 ** (-61 / 30) - 0.5)
    assert "active" not in str(answer_as_json(answer))


def test_superseded_readings_are_counted_and_shown_only_as_history(corpus: Corpus) -> None:
    answer = asked(corpus, "What was the US unemployment rate?", "1985-01-15")
    assert {name: n for name, n in answer.excluded.items() if n} == {"superseded": 7}
    past = asked(corpus, "What was the US unemployment rate?", "1984-01-15", history=True)
    assert [fact[2] for fact in said(past)] == [8.5, 9.4, 10.1, 10.4]
    assert {name: n for name, n in past.excluded.items() if n} == {"not_yet_observed": 4, "superseded": 3}


def test_the_order_of_loading_decides_nothing(corpus: Corpus, tmp_path: Path) -> None:
    rows = [told(f"patient:{i}", "takes", at="2024-10-01", object="drug:metformin") for i in range(6)]
    answers = []
    for order in (rows, rows[::-1], rows[3:] + rows[:3]):
        own = Corpus(tmp_path / "x", "none")
        table = table_of(*order, recorded="1970-01-01")
        answers.append(asked(own, "Who takes metformin?", table=table, limit=4))
    assert len(said(answers[0])) == 4
    assert said(answers[0]) == said(answers[1]) == said(answers[2])
    assert answers[0].context == answers[1].context == answers[2].context


@pytest.mark.parametrize(("tau", "limit"), [(float("nan"), 10), (-0.1, 10), (1.1, 10), (0.05, 0), (0.05, -1)])
def test_numbers_that_would_open_the_filter_are_refused(corpus: Corpus, tau: float, limit: int) -> None:
    with pytest.raises(QueryError):
        asked(corpus, "Is CVE-2024-1111 being exploited?", tau=tau, limit=limit)


def test_the_corpus_follows_the_table_that_is_asked(corpus: Corpus) -> None:
    row = told("patient:1", "takes", at="2024-10-01", object="drug:aspirin")
    small = asked(corpus, "Who takes aspirin?", table=table_of(row, recorded="1970-01-01"))
    assert said(small) == [("patient:1", "takes", "drug:aspirin")]
    large = asked(corpus, "Is CVE-2024-1111 being exploited?")
    assert said(large) == [("CVE-2024-1111", "exploitation", "active")]
