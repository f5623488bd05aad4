"""The table of fact types: priors, declarations, fits, and the way to JSON and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from chronofy_kg.decay import DecayFit, FactType, Priors, fit_decay, from_declaration, from_fit, undeclared
from chronofy_kg.errors import InputError


def made_up(**values: Any) -> DecayFit:
    base: dict[str, Any] = {
        "beta": 0.2, "ci": (0.1, 0.4), "theta": 0.1, "q": 0.8, "noise_ratio": 0.25, "status": "ok",
        "method": "reml+noise", "origin": "fitted", "unit": "d", "n": 500, "subjects": 4, "span": 900.0,
        "beta_raw": 0.2, "beta_corrected": 0.19, "ci_raw": (0.1, 0.4), "lr_noise": 30.0,
    }  # fmt: skip
    return DecayFit(**(base | values))


class TestDefaults:
    @pytest.mark.parametrize(
        ("kind", "half_life", "origin", "cardinality"),
        [("numeric", 90.0, "prior", "one"), ("categorical", 365.0, "prior", "many"),
         ("event", None, "none", "many"), ("static", None, "none", "one")],
    )  # fmt: skip
    def test_by_kind(self, kind: Any, half_life: float | None, origin: str, cardinality: str) -> None:
        row = undeclared("x", kind)
        assert row.half_life_days == (None if half_life is None else pytest.approx(half_life))
        assert (row.beta_from, row.cardinality, row.declared) == (origin, cardinality, False)
        assert row.beta_low <= row.beta <= row.beta_high
        assert row.status == "unfitted"

    def test_priors_are_settings(self) -> None:
        row = undeclared("x", "numeric", "many", Priors(numeric_half_life_days=10.0))
        assert row.half_life_days == pytest.approx(10.0)
        assert row.cardinality == "many"
        with pytest.raises(InputError, match="numeric_half_life_days"):
            Priors(numeric_half_life_days=0.0)


class TestDeclarations:
    def test_a_rate_or_a_half_life(self) -> None:
        row = from_declaration("hr", "numeric", beta=0.2, quality=0.9, tolerance=5.0)
        assert (row.beta, row.beta_low, row.beta_high) == (0.2, 0.2, 0.2)
        assert (row.beta_from, row.status, row.declared) == ("declared", "declared", True)
        assert (row.quality, row.tolerance, row.q_noise) == (0.9, 5.0, 1.0)
        assert from_declaration("hr", "numeric", half_life_days=2.0).beta == pytest.approx(math.log(2) / 2)
        assert from_declaration("hr", "event", beta=0.5).beta == 0.5

    @pytest.mark.parametrize(
        "values",
        [
            {"beta": 1.0, "half_life_days": 1.0},
            {"beta": -1.0},
            {"beta": math.nan},
            {"beta": math.inf},
            {"half_life_days": 0.0},
            {"quality": 0.0},
            {"quality": 1.5},
            {"tolerance": -1.0},
            {"cardinality": "few"},
        ],
    )
    def test_bad_values_are_refused(self, values: dict[str, Any]) -> None:
        with pytest.raises(InputError):
            from_declaration("hr", "numeric", **values)
        with pytest.raises(InputError, match="kind"):
            from_declaration("hr", "number")  # type: ignore[arg-type]


class TestFits:
    def test_a_resolved_fit_counts_with_its_bias_taken_off(self) -> None:
        row = from_fit(made_up(), undeclared("x", "numeric"))
        assert (row.beta, row.beta_low, row.beta_high) == (0.19, 0.1, 0.4)
        assert (row.beta_from, row.status, row.q_noise) == ("fitted", "ok", 0.8)
        assert (row.n, row.subjects, row.span_days, row.version) == (500, 4, 900.0, 1)

    def test_units_become_days(self) -> None:
        row = from_fit(made_up(unit="h"), undeclared("x", "numeric"))
        assert row.beta == pytest.approx(0.19 * 24)
        assert row.span_days == pytest.approx(900 / 24)

    def test_a_declared_rate_overrides_a_fit(self) -> None:
        row = from_fit(made_up(), from_declaration("x", "numeric", beta=0.01))
        assert (row.beta, row.beta_from, row.n, row.q_noise) == (0.01, "declared", 500, 0.8)
        assert "declared rate holds" in row.warnings[-1]

    def test_a_declaration_without_a_rate_is_fitted(self) -> None:
        row = from_fit(made_up(), from_declaration("x", "numeric", quality=0.9))
        assert (row.beta_from, row.quality, row.declared) == ("fitted", 0.9, True)

    def test_noise_that_was_not_shown_does_not_cost_quality(self) -> None:
        assert from_fit(made_up(lr_noise=1.0), undeclared("x", "numeric")).q_noise == 1.0
        assert from_fit(made_up(lr_noise=None), undeclared("x", "numeric")).q_noise == 1.0

    def test_few_rows_are_drawn_to_the_prior(self) -> None:
        row = from_fit(made_up(n=12, beta_corrected=0.2), undeclared("x", "numeric"))
        prior = Priors().beta("numeric")
        assert prior < row.beta < 0.2
        assert "prior-informed: drawn to the prior of numeric facts" in row.method
        wide = from_fit(made_up(n=12, beta_corrected=0.2, ci=(1e-4, 400.0)), undeclared("x", "numeric"))
        assert wide.beta < row.beta

    def test_a_fallback_to_the_prior_takes_the_prior_of_the_table(self) -> None:
        fit = made_up(
            status="insufficient", origin="prior", beta=0.5, ci=(0.0, math.inf), ci_raw=(0.0, math.inf)
        )
        row = from_fit(fit, undeclared("x", "numeric"), Priors(numeric_half_life_days=30.0))
        assert row.half_life_days == pytest.approx(30.0)
        assert (row.beta_from, row.status, row.q_noise) == ("prior", "insufficient", 1.0)
        assert math.isfinite(row.beta_high)

    def test_a_random_walk_keeps_its_status_visible(self) -> None:
        walk = np.cumsum(np.random.default_rng(1).normal(size=100))
        fit = fit_decay(np.arange(100.0), walk, tolerance=3.0)
        row = from_fit(fit, from_declaration("price", "numeric", tolerance=3.0))
        assert row.status == "unit_root"
        assert row.beta > 0.0
        assert "diffusion against tolerance" in row.method
        assert row.beta_low <= row.beta <= row.beta_high

    def test_constant_numbers_do_not_decay_and_constant_states_do_a_little(self) -> None:
        number = from_fit(fit_decay([0.0, 50.0], [1.0, 1.0]), undeclared("x", "numeric"))
        assert (number.beta, number.half_life_days) == (0.0, None)
        assert number.beta_high == pytest.approx(-math.log(0.025) / 50)
        state = from_fit(
            fit_decay([0.0, 50.0], ["a", "a"], kind="categorical"), undeclared("x", "categorical")
        )
        # hardly watched: the prior holds, lowered by what was seen
        weight = 1 / math.expm1(Priors().log_sd ** 2)
        assert state.beta == pytest.approx(weight / (50 + weight / Priors().beta("categorical")))
        assert "prior-informed" in state.method
        long = fit_decay(range(100), ["a"] * 100, kind="categorical")
        assert from_fit(long, undeclared("x", "categorical")).beta == pytest.approx(0.5 / 99)

    def test_events_do_not_decay(self) -> None:
        row = from_fit(fit_decay([0.0, 1.0, 2.0], kind="event"), undeclared("x", "event"))
        assert (row.beta, row.beta_from, row.half_life_days) == (0.0, "none", None)


class TestRoundTrip:
    def test_json_and_back(self) -> None:
        fit = made_up(status="unresolved_fast", ci=(0.1, math.inf), ci_raw=(0.1, math.inf), warnings=("w",))
        for row in (
            from_fit(fit, undeclared("x", "numeric")),
            undeclared("y", "event"),
            from_declaration("z", "static", quality=0.5),
        ):
            text = json.dumps(row.to_dict(), allow_nan=False)
            assert FactType.from_dict(json.loads(text)) == row
        assert json.loads(text)["half_life_days"] is None

    def test_an_infinite_bound_is_null(self) -> None:
        row = replace(undeclared("x", "numeric"), beta_high=math.inf)
        assert row.to_dict()["beta_high"] is None

    @pytest.mark.parametrize("change", [{"colour": "red"}, {"beta": None}, {"name": ...}])
    def test_what_is_no_row_is_refused(self, change: dict[str, Any]) -> None:
        row = undeclared("x", "numeric").to_dict() | change
        with pytest.raises(InputError):
            FactType.from_dict({name: value for name, value in row.items() if value is not ...})
