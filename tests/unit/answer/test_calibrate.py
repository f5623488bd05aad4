"""The backtest of validity: nothing of the future leaks, and what is well claimed is well calibrated."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from chronofy_kg.answer.calibrate import Claims, backtest, past_of, usual_cuts
from chronofy_kg.answer.plot import draw_calibration, picture_form
from chronofy_kg.answer.reliability import report
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import from_declaration
from chronofy_kg.errors import InputError, QueryError
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.table import FactTable, TableBuilder
from chronofy_kg.facts.time import DAY_US, OPEN_US


def row(subject: str, predicate: str, value: object, start: float, end: float | None = None,
        seen: float | None = None) -> Assertion:  # fmt: skip
    return Assertion(
        subject=subject, predicate=predicate, value=value,  # type: ignore[arg-type]
        valid_from=round(start * DAY_US), valid_to=OPEN_US if end is None else round(end * DAY_US),
        observed_at=round((start if seen is None else seen) * DAY_US), source="s",
    )  # fmt: skip


def table_of(rows: list[Assertion]) -> FactTable:
    builder = TableBuilder()
    builder.extend(rows)
    return builder.build()


def spells(rate: float = 0.02, subjects: int = 200, days: float = 1000.0) -> FactTable:
    """Spells that end at a constant rate, one after the other, watched all the time."""
    rng = np.random.default_rng(5)
    told = []
    for number in range(subjects):
        at, value = 0.0, 0
        while at < days:
            end = at + rng.exponential(1 / rate)
            told.append(
                row(f"p{number}", "status", f"v{value}", at, end if end < days else None, min(end, days))
            )
            at, value = end, value + 1
    return table_of(told)


def readings(theta: float = 0.02, subjects: int = 30, count: int = 80) -> FactTable:
    """An Ornstein-Uhlenbeck process without noise: beta is 2 theta."""
    rng = np.random.default_rng(6)
    told = []
    for number in range(subjects):
        at, value, mean = 0.0, rng.normal(), rng.normal() * 5
        for _ in range(count):
            told.append(row(f"p{number}", "level", float(mean + value), at))
            gap = rng.exponential(10.0)
            keep = math.exp(-theta * gap)
            at, value = at + gap, keep * value + math.sqrt(1 - keep**2) * rng.normal()
    return table_of(told)


def claimed(table: FactTable, cut: int, **options: object) -> list[tuple[float, ...]]:
    claims = backtest(table, np.arange(len(table)), TypeCatalog(), cuts=[cut], **options)  # type: ignore[arg-type]
    order = np.lexsort((claims.validity, claims.at))
    return list(zip(claims.at[order].tolist(), claims.validity[order].tolist(), strict=True))


def test_what_decays_at_a_constant_rate_is_calibrated() -> None:
    table = spells()
    found = report(backtest(table, np.arange(len(table)), TypeCatalog()), tau=0.05)
    assert [one.name for one in found] == ["all", "status"]
    assert found[0].count > 5_000
    assert found[0].error < 0.02
    assert all(abs(b.claimed - b.seen) < 0.06 for b in found[0].bins)


def test_a_wrong_declared_rate_is_found_out() -> None:
    table = spells()
    declared = TypeCatalog.of([from_declaration("status", "categorical", "one", beta=0.1)])
    claims = backtest(table, np.arange(len(table)), declared)
    np.testing.assert_allclose(claims.validity, np.exp(-0.1 * (claims.at - claims.cut) / DAY_US), rtol=1e-9)
    found = report(claims, tau=0.05)[0]
    assert found.error > 0.2
    assert all(b.seen > b.claimed for b in found.bins)


def test_a_reverting_number_explains_as_much_as_its_validity_says() -> None:
    table = readings(subjects=60, count=200)
    found = report(backtest(table, np.arange(len(table)), TypeCatalog()), tau=0.05)[0]
    assert found.error < 0.05


def test_a_value_that_came_back_counts_only_when_asked_for() -> None:
    visits = [row("p", "on", v, d) for d, v in ((0, "a"), (10, "a"), (20, "b"), (30, "a"), (40, "a"))]
    visits += [row("q", "on", "a", d) for d in (0, 10, 20, 30, 40)]
    table = table_of(visits)
    for again, kept in ((False, [0, 0, 0]), (True, [0, 1, 1])):
        claims = backtest(
            table, np.arange(len(table)), TypeCatalog(), cuts=[15 * DAY_US], again=again, names=["on"]
        )
        order = np.lexsort((claims.kept, claims.at))
        assert claims.at[order].tolist() == [d * DAY_US for d in (20, 20, 30, 30, 40, 40)]
        mine = claims.kept[order][::2].tolist() if not again else [claims.kept[order][0], 1, 1]
        assert mine == kept
        assert claims.kept.sum() == 3 + sum(kept)


@pytest.mark.parametrize("make", [spells, readings])
def test_nothing_of_the_future_leaks(make: object) -> None:
    table: FactTable = make()  # type: ignore[operator]
    cut = usual_cuts(table, np.arange(len(table)), 3)[1]
    past, origin = past_of(table, np.arange(len(table)), cut)
    assert int(past.valid_from.max()) <= cut
    assert int(past.observed_at.max()) <= cut
    assert set(past.valid_to[past.valid_to > cut].tolist()) <= {OPEN_US}
    # Another future: what is there after the cut ends and reads otherwise.
    later, goes_on = table.valid_from > cut, (table.valid_to > cut) & (table.valid_to < OPEN_US)
    ends = np.where(goes_on, cut + (table.valid_to - cut) // 7 + 1, table.valid_to)
    other = replace(
        table, number=np.where(later, table.number * 3 + 100, table.number), valid_to=ends,
        observed_at=np.where((table.observed_at > cut) & ~later, cut + 5 * DAY_US, table.observed_at),
    )  # fmt: skip
    changed, _ = past_of(other, np.arange(len(other)), cut)
    for name, column in past.columns().items():
        np.testing.assert_array_equal(column, changed.columns()[name], err_msg=name)
    assert len(origin) == len(past)
    # No claim of V depends on what is hidden: those about the same instant are the same.
    one, two = dict(claimed(table, cut)), dict(claimed(other, cut))
    common = one.keys() & two.keys()
    assert len(common) > 5
    if make is readings:
        assert one == two


def test_rates_that_were_learned_from_everything_are_forgotten_first() -> None:
    table = spells(subjects=40)
    usual = from_declaration("status", "categorical", "one", declared=False)
    fitted = replace(usual, beta=5.0, beta_low=4.0, beta_high=6.0, beta_from="fitted", status="ok", n=999)
    rows = np.arange(len(table))
    cuts = usual_cuts(table, rows, 2)
    with_it = backtest(table, rows, TypeCatalog.of([fitted]), cuts=cuts)
    without = backtest(table, rows, TypeCatalog(), cuts=cuts)
    np.testing.assert_array_equal(with_it.validity, without.validity)


def test_what_nobody_knows_is_no_claim() -> None:
    told = [row("p", "s", "a", 0, None, 52), row("q", "s", "a", 0, 80), row("r", "s", "a", 0, None, 100)]
    declared = TypeCatalog.of([from_declaration("s", "categorical", "one", beta=0.01)])
    claims = backtest(table_of(told), np.arange(3), declared, cuts=[45 * DAY_US])
    days = (claims.at - claims.cut) / DAY_US
    # p is not heard of after day 52, so only what is claimed of it up to then can be judged
    assert np.sort(days.round(1)).tolist() == [5.1, 5.1, 5.1, 16.3, 16.3, 28.8, 28.8, 43.1, 43.1]
    assert claims.kept[days < 35].min() == 1.0
    assert np.sort(claims.kept[days > 35]).tolist() == [0.0, 1.0]


def test_the_error_of_a_table_is_that_of_its_definition() -> None:
    zeros = np.zeros(4, dtype=np.int64)
    validity = np.array([0.95, 0.91, 0.12, 0.02])
    claims = Claims(
        zeros, ("t",), zeros, zeros, validity, validity, validity, np.array([1.0, 0, 0, 1]), np.ones(4)
    )
    whole, one = report(claims)
    assert (whole.name, one.name, whole.count) == ("all", "t", 4)
    assert whole.error == pytest.approx((2 * abs(0.93 - 0.5) + 0.12 + 0.98) / 4)
    assert [(b.low, b.high, b.count) for b in whole.bins] == [(0.0, 0.1, 1), (0.1, 0.2, 1), (0.9, 1.0, 2)]
    assert report(claims, tau=0.05)[0].count == 3
    assert report(claims.take(np.zeros(4, dtype=bool)))[0] == replace(whole, count=0, error=0.0, bins=())
    with pytest.raises(QueryError, match="0 bins"):
        report(claims, 0)


def test_cuts_lie_between_what_was_seen() -> None:
    table = table_of([row("p", "s", "a", d) for d in (0, 10, 20, 30)])
    assert usual_cuts(table, np.arange(4), 2) == [15 * DAY_US, 25 * DAY_US]
    assert usual_cuts(table, np.arange(1), 2) == []
    with pytest.raises(QueryError, match="0 cuts"):
        usual_cuts(table, np.arange(4), 0)
    assert len(backtest(table, np.arange(4), TypeCatalog(), cuts=[-DAY_US])) == 0


def test_a_picture_is_what_its_name_says() -> None:
    tables = report(backtest(spells(subjects=20), np.arange(50), TypeCatalog()))
    assert draw_calibration(tables, "png").startswith(b"\x89PNG")
    svg = draw_calibration(tables, "svg")
    assert b"status: error" in svg
    assert draw_calibration(tables, "svg") == svg
    assert picture_form("a/b.svg") == "svg"
    with pytest.raises(InputError, match=r"\.png or \.svg"):
        picture_form("a.pdf")
