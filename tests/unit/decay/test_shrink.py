"""Few rows borrow from the other types of their kind, and say so."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from chronofy_kg.decay import DecayFit, FactType, Priors, from_fit, undeclared
from chronofy_kg.decay.facttypes import KindPrior
from chronofy_kg.decay.shrink import learn_prior


def fitted(name: str, beta: float, error: float, **more: Any) -> FactType:
    spread = math.exp(1.959963984540054 * error)
    row = replace(
        undeclared(name, "numeric"), beta=beta, beta_low=beta / spread, beta_high=beta * spread,
        beta_from="fitted", status="ok", n=200,
    )  # fmt: skip
    return replace(row, **more)


def a_fit(**values: Any) -> DecayFit:
    base: dict[str, Any] = {
        "beta": 2.0, "ci": (0.2, 20.0), "theta": 1.0, "q": 1.0, "noise_ratio": 0.0, "status": "ok",
        "method": "reml+noise", "origin": "fitted", "unit": "d", "n": 12, "subjects": 1, "span": 90.0,
        "beta_raw": 2.0, "beta_corrected": 2.0, "ci_raw": (0.2, 20.0),
    }  # fmt: skip
    return DecayFit(**(base | values))


def test_a_prior_is_learned_from_three_types_or_none() -> None:
    rows = [fitted(name, 0.01, 0.2) for name in "ab"]
    assert learn_prior(rows, "numeric", Priors()) is None
    found = learn_prior([*rows, fitted("c", 0.01, 0.2)], "numeric", Priors())
    assert found is not None
    assert (found.types, found.beta) == (3, pytest.approx(0.01))
    # types that agree say little of the spread; the declared one stays in it
    assert found.log_sd == pytest.approx(math.sqrt(1.15**2 / 2 + (1.15**2 / 2 + 0.04) / 3))


def test_mean_and_spread_are_those_that_the_types_were_drawn_from() -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(50):
        truth = rng.normal(-4.0, 0.8, 30)
        seen = truth + 0.3 * rng.normal(size=30)
        rows = [fitted(f"t{i}", math.exp(log), 0.3) for i, log in enumerate(seen)]
        found.append(learn_prior(rows, "numeric", Priors()))
    assert np.mean([math.log(prior.beta) for prior in found if prior]) == pytest.approx(-4.0, abs=0.1)
    assert np.mean([prior.log_sd for prior in found if prior]) == pytest.approx(0.85, abs=0.08)


def test_what_is_not_known_well_tells_nothing() -> None:
    rows = [fitted(name, 0.01, 0.2) for name in "abc"]
    weak = [
        fitted("few", 9.0, 0.2, n=19), fitted("walk", 9.0, 0.2, status="unit_root"),
        fitted("prior", 9.0, 0.2, beta_from="prior"), fitted("told", 9.0, 0.2, beta_from="declared"),
        fitted("bound", 9.0, 0.2, beta_high=math.inf), fitted("low", 9.0, 0.2, beta_low=0.0),
        fitted("state", 9.0, 0.2, kind="categorical"),
    ]  # fmt: skip
    assert learn_prior([*weak, *rows], "numeric", Priors()) == learn_prior(rows, "numeric", Priors())
    assert learn_prior(rows, "categorical", Priors()) is None
    assert learn_prior(rows[::-1], "numeric", Priors()) == learn_prior(rows, "numeric", Priors())


def test_few_rows_are_drawn_to_the_types_and_it_is_said() -> None:
    learned = KindPrior(0.02, 0.5, 7)
    row = from_fit(a_fit(), undeclared("x", "numeric"), learned=learned)
    error = math.log(20.0 / 2.0) / 1.959963984540054
    share = 1 / (1 + (error / 0.5) ** 2)
    assert math.log(row.beta) == pytest.approx(share * math.log(2.0) + (1 - share) * math.log(0.02))
    assert "prior-informed: drawn to the prior of numeric facts learned from 7 types" in row.method
    assert row.beta_low <= row.beta <= row.beta_high
    many = from_fit(a_fit(n=20), undeclared("x", "numeric"), learned=learned)
    assert (many.beta, "prior" in many.method) == (2.0, False)


def test_an_interval_that_reaches_0_is_drawn_too() -> None:
    walk = a_fit(
        status="unit_root", ci=(0.0, 20.0), ci_raw=(0.0, 20.0), method="reml, unit root not rejected"
    )
    row = from_fit(walk, undeclared("x", "numeric"), learned=KindPrior(0.02, 0.5, 7))
    assert 0.02 < row.beta < 2.0
    assert "prior-informed" in row.method
    diffusion = replace(walk, origin="diffusion")
    assert from_fit(diffusion, undeclared("x", "numeric")).beta == 2.0


def test_a_fit_that_falls_back_takes_the_learned_prior_and_says_so() -> None:
    nothing = a_fit(
        status="insufficient", origin="prior", ci=(0.0, math.inf), ci_raw=(0.0, math.inf), method="prior"
    )
    row = from_fit(nothing, undeclared("x", "numeric"), learned=KindPrior(0.02, 0.5, 7))
    assert (row.beta, row.beta_from) == (0.02, "prior")
    assert row.method == "prior (prior-informed: prior of numeric facts learned from 7 types)"
    alone = from_fit(nothing, undeclared("x", "numeric"))
    assert (alone.beta, alone.method) == (Priors().beta("numeric"), "prior")


def test_borrowing_lowers_the_error() -> None:
    rng = np.random.default_rng(2)
    prior = KindPrior(0.02, 0.5, 20)
    alone, drawn = [], []
    for _ in range(300):
        truth = math.log(0.02) + 0.5 * rng.normal()
        seen = math.exp(truth + 0.8 * rng.normal())
        spread = math.exp(1.96 * 0.8)
        fit = a_fit(beta=seen, beta_raw=seen, beta_corrected=seen, ci=(seen / spread, seen * spread))
        alone.append((math.log(seen) - truth) ** 2)
        drawn.append((math.log(from_fit(fit, undeclared("x", "numeric"), learned=prior).beta) - truth) ** 2)
    assert np.mean(drawn) < 0.45 * np.mean(alone)
