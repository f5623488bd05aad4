"""Decay fits: what must not matter, and no input that breaks them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chronofy_kg.decay import (
    DecayFit,
    DelayedOnset,
    Exponential,
    HalfLife,
    Linear,
    PowerLaw,
    Weibull,
    curve_of_labels,
    curve_of_series,
    fit_decay,
    fit_labels,
    from_fit,
    undeclared,
    validity,
    validity_interval,
)
from chronofy_kg.decay.facttypes import KindPrior
from chronofy_kg.errors import ChronofyError

Floats = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)
usual = settings(max_examples=20, deadline=None)


def series(seed: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """A reverting history of 1 to 4 subjects at irregular times, with a little noise."""
    rng = np.random.default_rng(seed)
    subjects, rows = int(rng.integers(1, 5)), int(rng.integers(25, 60))
    theta = float(rng.uniform(0.1, 1.0))
    gaps = np.maximum(rng.exponential(size=(subjects, rows)), 0.01)
    values = rng.normal(size=(subjects, rows))
    for j in range(1, rows):
        keep = np.exp(-theta * gaps[:, j])
        values[:, j] = keep * values[:, j - 1] + np.sqrt(1 - keep**2) * values[:, j]
    values += 0.3 * rng.normal(size=values.shape) + 2.0 * rng.normal(size=(subjects, 1))
    return np.cumsum(gaps, axis=1).ravel(), values.ravel(), np.repeat(np.arange(subjects), rows)


def same(one: DecayFit, two: DecayFit, factor: float = 1.0, rel: float = 1e-6) -> None:
    """Equal to 1e-6, with time in a unit `factor` times as long."""
    assert one.status == two.status
    assert one.origin == two.origin
    assert (one.n, one.subjects) == (two.n, two.subjects)
    for name in ("beta", "beta_raw", "beta_corrected"):
        assert getattr(one, name) * factor == pytest.approx(getattr(two, name), rel=rel, abs=1e-12 * factor)
    for name in ("ci", "ci_raw"):
        ends = [end * factor for end in getattr(one, name)]
        assert ends == pytest.approx(getattr(two, name), rel=rel, abs=1e-12 * factor)
    # near 0 a noise ratio is the difference of two deviances, and known less well
    assert one.q == pytest.approx(two.q, rel=rel, abs=1e-6)


class TestWhatMustNotMatter:
    @usual
    @given(seeds, st.sampled_from([False, "auto"]), st.sampled_from(["subject", "shared"]))
    def test_order_of_rows_is_nothing_at_all(self, seed: int, noise: Any, scale: Any) -> None:
        t, y, s = series(seed)
        order = np.random.default_rng(seed + 1).permutation(t.size)
        base = fit_decay(t, y, s, noise=noise, scale=scale)
        assert fit_decay(t[order], y[order], s[order], noise=noise, scale=scale) == base

    @usual
    @given(seeds, st.sampled_from([False, "auto"]))
    def test_the_same_rows_give_the_same_fit_bit_for_bit(self, seed: int, noise: Any) -> None:
        t, y, s = series(seed)
        assert fit_decay(t, y, s, noise=noise) == fit_decay(t.copy(), y.copy(), s.copy(), noise=noise)

    @usual
    @given(seeds, st.sampled_from([False, "auto"]), st.floats(-1e4, 1e4))
    def test_time_may_start_anywhere(self, seed: int, noise: Any, shift: float) -> None:
        t, y, s = series(seed)
        same(fit_decay(t, y, s, noise=noise), fit_decay(t + shift, y, s, noise=noise))

    @usual
    @given(seeds, st.sampled_from([False, "auto"]), st.sampled_from(["s", "h", "w"]))
    def test_time_may_have_any_unit(self, seed: int, noise: Any, unit: str) -> None:
        t, y, s = series(seed)
        days = {"s": 1 / 86_400, "h": 1 / 24, "w": 7.0}[unit]
        base, other = fit_decay(t, y, s, noise=noise), fit_decay(t / days, y, s, noise=noise, unit=unit)
        same(base, other, days)
        same(base, other.per_day())

    @usual
    @given(seeds, st.sampled_from([False, "auto"]), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3), st.booleans())
    def test_values_may_have_any_scale_and_origin(
        self, seed: int, noise: Any, slope: float, level: float, turned: bool
    ) -> None:
        t, y, s = series(seed)
        other = level * slope + (-slope if turned else slope) * y
        same(fit_decay(t, y, s, noise=noise), fit_decay(t, other, s, noise=noise))

    @usual
    @given(seeds, st.sampled_from([False, "auto"]), st.integers(1, 20))
    def test_a_row_told_twice_counts_once(self, seed: int, noise: Any, extra: int) -> None:
        t, y, s = series(seed)
        rows = np.append(np.arange(t.size), np.random.default_rng(seed).integers(0, t.size, extra))
        again = fit_decay(t[rows], y[rows], s[rows], noise=noise)
        base = fit_decay(t, y, s, noise=noise)
        assert again.beta == base.beta
        assert again.ci == base.ci
        assert again.data_hash == base.data_hash

    @usual
    @given(seeds, st.sampled_from([False, "auto"]))
    def test_time_may_run_backwards(self, seed: int, noise: Any) -> None:
        t, y, s = series(seed)
        same(fit_decay(t, y, s, noise=noise), fit_decay(-t, y, s, noise=noise))

    @usual
    @given(seeds)
    def test_states_at_visits(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        t, states = rng.exponential(size=50).cumsum(), rng.integers(0, 3, 50).repeat(2)[:50]
        owners = rng.integers(0, 3, 50)
        base = fit_decay(t, states, owners, kind="categorical")
        order = rng.permutation(50)
        assert fit_decay(t[order], states[order], owners[order], kind="categorical") == base
        turned = fit_decay(-t, states, owners, kind="categorical")
        assert turned.beta == pytest.approx(base.beta, rel=1e-6)
        named = fit_decay(t, np.array(["x", "y", "z"])[states], owners, kind="categorical")
        assert named.beta == pytest.approx(base.beta, rel=1e-9)


def sound(fit: DecayFit) -> None:
    """Never NaN, never negative, never without an interval and a status."""
    assert math.isfinite(fit.beta)
    assert fit.beta >= 0.0
    for low, high in (fit.ci, fit.ci_raw):
        assert 0.0 <= low <= high
    assert fit.ci[0] <= fit.beta <= fit.ci[1]
    assert fit.status in ("ok", "unit_root", "unresolved_fast", "constant", "insufficient")
    assert fit.method
    assert 0.0 < fit.q <= 1.0
    assert not math.isnan(fit.theta)
    assert not math.isnan(fit.beta_raw)
    assert math.isfinite(fit.beta_corrected)
    assert fit.beta_corrected >= 0.0
    assert fit.noise_ratio >= 0.0
    assert len(fit.data_hash) == 32
    for value in (
        fit.sigma2_w,
        fit.variance,
        fit.v_ref,
        fit.rate,
        fit.beta_robust,
        fit.shape,
        fit.dispersion,
    ):
        assert value is None or value >= 0.0
    for one in fit.by_state:
        assert one.ci[0] <= one.rate <= one.ci[1]
    kind: Any = "categorical" if fit.kind == "labels" else fit.kind
    for learned in (None, KindPrior(0.01, 0.7, 5)):
        row = from_fit(fit, undeclared("x", kind), learned=learned)
        assert 0.0 <= row.beta_low <= row.beta <= row.beta_high


SIZES = st.integers(1, 25)
WILD = st.floats(allow_nan=True, allow_infinity=False, width=64)
FAR = st.floats(-1e100, 1e100) | st.just(math.nan)
TAME = st.floats(-1e6, 1e6, allow_nan=False)
FEW = st.sampled_from([0.0, 1.0, 1.0 + 1e-12, -5.0, 1e308, -1e308, 5e-324])

FEW_TIMES = st.sampled_from([0.0, 1.0, 1.0 + 1e-12, -5.0, 1e100, -1e100, 5e-324])


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Any], list[float], list[int] | None]:
    size = draw(SIZES)
    times = draw(
        st.one_of(
            *(
                st.lists(kind, min_size=size, max_size=size)
                for kind in (TAME, FAR, FEW_TIMES, st.integers(0, 9))
            ),
            st.lists(st.integers(-(2**63), 2**63 - 1), min_size=size, max_size=size),
        )
    )
    values = draw(st.one_of(*(st.lists(kind, min_size=size, max_size=size) for kind in (TAME, WILD, FEW))))
    subjects = draw(st.none() | st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return times, values, subjects


class TestNoInputBreaksThem:
    @settings(max_examples=80, deadline=None)
    @given(
        histories(),
        st.sampled_from([False, True, "auto"]),
        st.sampled_from(["auto", "subject", "shared"]),
        st.none() | st.floats(1e-300, 1e300),
    )
    @example(([0, 1, 2, 3], [0.0, 1e308, -1e308, 1e308], None), "auto", "auto", None)
    def test_numbers(self, history: Any, noise: Any, scale: Any, tolerance: Any) -> None:
        times, values, subjects = history
        fit = fit_decay(times, values, subjects, noise=noise, scale=scale, tolerance=tolerance)
        sound(fit)

    @settings(max_examples=60, deadline=None)
    @given(histories(), st.booleans())
    def test_states(self, history: Any, reverting: bool) -> None:
        times, values, subjects = history
        states = [str(int(value) % 4) if math.isfinite(value) else None for value in values]
        fit = fit_decay(times, states, subjects, kind="categorical", reverting=reverting)
        sound(fit)

    @settings(max_examples=80, deadline=None)
    @given(
        st.lists(
            st.tuples(
                TAME, st.floats(0, 1e6), st.booleans(), st.integers(0, 2), st.sampled_from("abc")
            ),
            min_size=1,
            max_size=20,
        ),
        st.booleans(),
    )  # fmt: skip
    def test_spells(self, rows: Any, reverting: bool) -> None:
        start, lasted, changed, owner, state = zip(*rows, strict=True)
        ends = [begin + length for begin, length in zip(start, lasted, strict=True)]
        fit = fit_decay(
            start, state, owner, kind="categorical", ends=ends, changed=changed, reverting=reverting
        )
        sound(fit)
        curve_of_series(fit, start, state, owner, ends=ends, changed=changed)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.one_of(TAME, st.integers(-(10**12), 10**12)), max_size=40), st.booleans())
    def test_events(self, times: Any, recency: bool) -> None:
        fit = fit_decay(times, kind="event", recency=recency)
        sound(fit)
        curve_of_series(fit, times)

    @settings(max_examples=100, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.floats(0, 1e100) | st.just(math.nan) | st.floats(0, 1.0),
                st.sampled_from([True, False, None]),
            ),
            min_size=1,
            max_size=30,
        )
    )  # fmt: skip
    def test_labels(self, pairs: Any) -> None:
        ages, valid = zip(*pairs, strict=True)
        fit = fit_labels(ages, valid)
        sound(fit)
        curve_of_labels(fit, ages, valid)

    @usual
    @given(histories())
    def test_curves(self, history: Any) -> None:
        times, values, subjects = history
        curve = curve_of_series(fit_decay(times, values, subjects), times, values, subjects)
        assert np.all(np.diff(curve.age) > 0)

    @settings(max_examples=100, deadline=None)
    @given(
        st.lists(
            st.one_of(st.floats(), st.text(max_size=3), st.none(), st.lists(st.floats(), max_size=2)),
            max_size=6,
        )
    )
    def test_what_is_no_series_at_all_is_refused_by_our_own_error(self, rows: Any) -> None:
        for call in (
            lambda: fit_decay(rows, rows), lambda: fit_decay(rows, rows, rows, kind="categorical"),
            lambda: fit_decay(rows, kind="event"), lambda: fit_labels(rows, rows),
        ):  # fmt: skip
            try:
                sound(call())
            except ChronofyError as error:
                assert str(error)  # noqa: PT017


POSITIVE = st.floats(1e-6, 1e6)


@given(
    st.one_of(
        st.builds(Exponential, POSITIVE), st.builds(HalfLife, POSITIVE), st.builds(Linear, POSITIVE),
        st.builds(PowerLaw, POSITIVE), st.builds(Weibull, POSITIVE, st.floats(0.1, 10)),
        st.builds(DelayedOnset, st.floats(-100, 100), POSITIVE, st.floats(-20, 20)),
    ),
    st.lists(st.floats(0, 1e9), min_size=1, max_size=20),
    st.floats(0.01, 1.0),
)  # fmt: skip
def test_every_family_is_a_share_of_quality(family: Any, ages: list[float], q: float) -> None:
    found = validity(q, family, sorted(ages))
    assert np.all((found >= 0.0) & (found <= q))
    if isinstance(family, DelayedOnset):
        assert float(validity(q, family, family.peak)) == pytest.approx(q)
        after = found[np.array(sorted(ages)) >= family.peak]
        assert np.all(np.diff(after) <= 1e-12)
    else:
        assert float(validity(q, family, 0.0)) == q
        assert np.all(np.diff(found) <= 0.0)


@given(st.floats(0.01, 1), st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1e6))
def test_an_interval_of_beta_is_one_of_validity(q: float, a: float, b: float, c: float, age: float) -> None:
    low, beta, high = sorted((a, b, c))
    bottom, top = validity_interval(q, low, high, age)
    assert float(bottom) <= float(validity(q, beta, age)) <= float(top) <= q
