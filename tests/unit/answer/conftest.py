from __future__ import annotations

from collections.abc import Callable

import pytest
from support.facts import us

from chronofy_kg.answer.compose import compose
from chronofy_kg.answer.judge import Judge, default_judge
from chronofy_kg.answer.model import Answer, Pattern
from chronofy_kg.answer.select import found_by_pattern
from chronofy_kg.answer.view import Moment
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.facts.table import FactTable

Ask = Callable[..., Answer]


@pytest.fixture
def ask() -> Ask:
    def run(
        table: FactTable,
        catalog: TypeCatalog,
        at: str,
        *,
        known_at: str = "2026-12-01",
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        gamma: float = 0.5,
        tau: float = 0.05,
        on_fail: str | None = None,
        history: bool = False,
        skew_s: int = 300,
        judge: Judge | None = None,
    ) -> Answer:
        moment = Moment(us(at), us(known_at), skew_s * 1_000_000)
        found = found_by_pattern(
            table, catalog, Pattern(subject, predicate, object), moment, tau=tau, limit=10, history=history
        )
        return compose(
            found, judge or default_judge(gamma), answer_id="ans_x", at=moment.at, known_at=moment.known_at,
            lag=3, on_fail=on_fail,  # type: ignore[arg-type]
        )  # fmt: skip

    return run
