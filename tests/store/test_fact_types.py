"""Fact types in time: known_at uses the rates of that time, a fit is recorded once, families count."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from chronofy_kg.answer.model import Pattern
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.time import DAY_US, OPEN_US
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import load_settings
from chronofy_kg.spec import parse_spec
from chronofy_kg.store import GraphStore

pytestmark = pytest.mark.engine
AT = 20_000 * DAY_US


@pytest.fixture
def open_kb(store: GraphStore, tenant: str, tmp_path: Path) -> Callable[[], KnowledgeBase]:
    clock = iter(range(AT + DAY_US, AT + 2 * DAY_US, 1_000_000))

    def opened() -> KnowledgeBase:
        settings = load_settings(tenant=tenant, data=tmp_path, embedder="none")
        return KnowledgeBase(store, settings, clock=lambda: next(clock))

    return opened


def visits(count: int = 40, *, first: int = 0) -> list[Assertion]:
    """A status that changes at every fifth visit."""
    return [
        Assertion(subject="p", predicate="status", value=f"v{n // 5 % 2}", valid_from=AT + (n - 60) * DAY_US,
                  valid_to=OPEN_US, observed_at=AT + (n - 60) * DAY_US, source="s")
        for n in range(first, first + count)
    ]  # fmt: skip


def rate(kb: KnowledgeBase, known_at: int | None = None) -> tuple[float, str, int]:
    answer = kb.query(pattern=Pattern("p", "status"), at=AT, known_at=known_at, tau=0.0, on_fail="flag")
    (fact,) = answer.facts
    return fact.beta_per_day, fact.beta_from, fact.type_version  # type: ignore[union-attr]


def test_known_at_uses_the_fact_types_of_that_time(open_kb: Callable[[], KnowledgeBase]) -> None:
    kb = open_kb()
    kb.load(visits())
    at_load = kb.ready()["sequence"], kb.query(pattern=Pattern("p"), at=AT, tau=0.0).known_at
    prior = (math.log(2) / 365, "prior", 0)
    assert rate(kb) == pytest.approx(prior[0]) or rate(kb)[1:] == prior[1:]
    (row,) = kb.fit()
    assert (row["version"], row["changed"], row["beta_from"]) == (1, True, "fitted")
    fitted = rate(kb)
    assert fitted == (row["beta"], "fitted", 1)
    after_fit = kb.query(pattern=Pattern("p"), at=AT, tau=0.0).known_at
    assert after_fit > at_load[1]
    kb.put_spec("pack", "facttype status: categorical, one, half_life = 3 d")
    assert rate(kb)[1:] == ("declared", 2)
    assert rate(kb, after_fit) == fitted
    assert rate(kb, at_load[1])[1:] == ("prior", 0)
    # The same question at the same instants is the same answer, whatever was declared since.
    then = kb.query(pattern=Pattern("p"), at=AT, known_at=after_fit, tau=0.0)
    kb.put_spec("pack", "facttype status: categorical, one, half_life = 5 d")
    assert kb.query(pattern=Pattern("p"), at=AT, known_at=after_fit, tau=0.0) == then
    shown = kb.fact_type("status")
    assert [(v["version"], v["beta_from"]) for v in shown["versions"]] == [
        (1, "fitted"), (2, "declared"), (3, "declared"),
    ]  # fmt: skip
    assert shown["versions"][0]["recorded_at"] < shown["versions"][1]["recorded_at"]
    # Another process reads the same.
    assert rate(open_kb(), after_fit) == fitted


def test_a_fit_is_recorded_once(open_kb: Callable[[], KnowledgeBase]) -> None:
    kb = open_kb()
    kb.load(visits())
    (first,) = kb.fit()
    sequence = kb.ready()["sequence"]
    (again,) = kb.fit()
    assert (again["version"], again["changed"]) == (1, False)
    assert again == first | {"changed": False}
    assert kb.ready()["sequence"] == sequence
    kb.load(visits(10, first=40))
    (more,) = kb.fit()
    assert (more["version"], more["changed"]) == (2, True)
    assert more["data_hash"] != first["data_hash"]
    assert [v["data_hash"] for v in kb.fact_type("status")["versions"]] == [
        first["data_hash"], more["data_hash"],
    ]  # fmt: skip


def test_a_saved_snapshot_survives_a_fit(open_kb: Callable[[], KnowledgeBase], tmp_path: Path) -> None:
    kb = open_kb()
    rows = [
        Assertion(subject=f"p{n}", predicate="level", value=float(n % 7), valid_from=AT + k * DAY_US,
                  valid_to=OPEN_US, observed_at=AT + k * DAY_US, source="s")
        for n in range(300) for k in range(-8, 0)
    ]  # fmt: skip
    kb.load(rows)
    kb.fit()
    kb._snapshot.close()
    kb.load(visits(3))
    other = open_kb()
    assert other._snapshot._from_file() is not None
    assert other.fact_type("level")["version"] == 1


def test_a_declared_family_reaches_validity_bound_and_valid_until(
    open_kb: Callable[[], KnowledgeBase],
) -> None:
    kb = open_kb()
    kb.load(visits(1, first=50))  # seen ten days before AT
    kb._types.declare(
        parse_spec("facttype status: categorical, one, decay = weibull(shape = 2, scale = 30 d)")
    )
    answer = kb.query(pattern=Pattern("p", "status"), at=AT)
    value = math.exp(-((10 / 30) ** 2))
    assert answer.bound is not None
    assert (answer.bound.value, answer.bound.low, answer.bound.high) == pytest.approx((value,) * 3)
    assert answer.rho is not None
    assert answer.rho.value == pytest.approx(value - 0.5)
    until = 30 * math.sqrt(math.log(2)) - 10
    assert answer.valid_until == pytest.approx(AT + until * DAY_US, abs=2)
    (fact,) = answer.facts
    assert fact.decay == "weibull(shape = 2, scale = 30 d)"  # type: ignore[union-attr]
    assert fact.beta_from == "declared"  # type: ignore[union-attr]
    late = kb.query(pattern=Pattern("p", "status"), at=AT + 20 * DAY_US)
    assert late.verdict == "reacquire"
    assert late.reacquire[0].needed_validity == pytest.approx(0.5)
    row = kb.fact_type("status")
    assert row["decay"] == "weibull(shape = 2, scale = 30 d)"
    assert row["half_life_days"] == pytest.approx(30 * math.sqrt(math.log(2)))
    kb.fit()
    assert kb.fact_type("status")["decay"] == row["decay"]


def test_explain_and_calibrate_read_the_store(open_kb: Callable[[], KnowledgeBase]) -> None:
    kb = open_kb()
    kb.load(visits(50))
    kb.fit()
    row, curve = kb.explain_type("status")
    assert curve is not None
    assert (curve.what, row["versions"][0]["version"]) == ("survival", 1)
    whole, one = kb.calibrate(["status"], cuts=3, tau=0.0)
    assert (whole.name, one.name) == ("all", "status")
    assert whole.count == one.count > 0
    assert 0 <= whole.error <= 1
    assert np.isfinite([b.seen for b in whole.bins]).all()
    assert [v["version"] for v in kb.fact_type("status")["versions"]] == [1]
