"""Reading times, values and subjects: what is dropped, merged, refused, and how gaps keep their digits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from chronofy_kg.decay.series import read_rows, series_of
from chronofy_kg.errors import InputError


def test_rows_are_sorted_by_subject_and_time_and_told_once() -> None:
    rows = read_rows([3, 1, 1, 2, 1], [30.0, 10.0, 10.0, 5.0, 11.0], ["b", "b", "b", "a", "b"], "d")
    assert rows.values.tolist() == [5.0, 10.0, 11.0, 30.0]
    assert rows.gaps.tolist() == [0.0, 0.0, 0.0, 2.0]
    assert rows.starts.tolist() == [0, 1, 4]
    assert any("repeat another one exactly" in text for text in rows.warnings)
    assert any("another value for the same time" in text for text in rows.warnings)
    merged = rows.merge_ties()
    assert merged.values.tolist() == [5.0, 10.5, 30.0]
    assert merged.gaps.tolist() == [0.0, 0.0, 2.0]


def test_a_dropped_row_leaves_its_gap_to_the_next() -> None:
    rows = read_rows([0, 1, 3, 7], [1.0, 2.0, 3.0, 4.0], None, "d")
    kept = rows.select(np.array([True, False, True, True]))
    assert kept.gaps.tolist() == [0.0, 3.0, 4.0]
    assert rows.select(np.array([False, False, True, True])).gaps.tolist() == [0.0, 4.0]


def test_integers_are_differenced_before_they_become_floats() -> None:
    base = 2**62
    rows = read_rows(np.array([base + 1, base, base + 4]), [2.0, 1.0, 3.0], None, "us")
    assert rows.gaps.tolist() == [0.0, 1.0, 3.0]


def test_int64_at_both_ends_do_not_wrap_round() -> None:
    rows = read_rows(np.array([-(2**63), 2**63 - 1]), [1.0, 2.0], None, "us")
    assert rows.gaps[1] == pytest.approx(2.0**64)


def test_dates_come_out_in_the_unit_asked_for() -> None:
    dates = np.array(["2026-01-01", "2026-01-03", "NaT"], dtype="datetime64[D]")
    days = read_rows(dates, [1.0, 2.0, 3.0], None, "d")
    assert days.gaps.tolist() == [0.0, 2.0]
    assert "1 row(s) with a NaN" in days.warnings[0]
    assert read_rows(dates, [1.0, 2.0, 3.0], None, "h").gaps.tolist() == [0.0, 48.0]


def test_datetimes_with_zones_are_instants() -> None:
    noon = datetime(2026, 3, 15, 12, tzinfo=UTC)
    east = datetime(2026, 3, 15, 12, tzinfo=timezone(timedelta(hours=12)))
    rows = read_rows([noon, east], [1.0, 2.0], None, "h")
    assert rows.values.tolist() == [2.0, 1.0]
    assert rows.gaps[1] == pytest.approx(12.0)


def test_sums_of_decimals_that_mean_one_instant_are_ties() -> None:
    rows = read_rows([0.1 + 0.2, 0.3, 1.0], [1.0, 2.0, 3.0], None, "d")
    assert rows.gaps[1] == 0.0


@pytest.mark.parametrize(
    ("times", "values", "subjects", "message"),
    [
        ([0.0, 1.0], [1.0], None, "shape"),
        ([0.0, 1.0], [1.0, 2.0], ["a"], "shape"),
        ([[0.0, 1.0]], [1.0, 2.0], None, "one-dimensional"),
        ([0.0, np.inf], [1.0, 2.0], None, "times hold an infinity at index 1"),
        ([0.0, 1.0], [-np.inf, 2.0], None, "values hold an infinity at index 0"),
        (["2026-01-01", "2026-01-02"], [1.0, 2.0], None, "text"),
        ([0.0, 1.0], ["high", "low"], None, "text"),
        ([datetime(2026, 1, 1), 3.0], [1.0, 2.0], None, "neither datetimes nor numbers"),  # noqa: DTZ001
    ],
)
def test_what_is_no_series_is_refused(times: object, values: object, subjects: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_rows(times, values, subjects, "d")


@pytest.mark.parametrize("unit", ["month", "y", "", "D"])
def test_units_without_a_fixed_length_are_refused(unit: str) -> None:
    with pytest.raises(InputError, match="unknown time unit"):
        read_rows([0.0, 1.0], [1.0, 2.0], None, unit)


def test_subjects_of_mixed_types_are_kept_apart() -> None:
    rows = read_rows([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], np.array([1, 1, "a", "a"], dtype=object), "d")
    assert rows.starts.tolist() == [0, 2, 4]


def test_columns_are_centred_and_scaled_per_subject() -> None:
    rows = read_rows([0, 1, 2, 0, 1, 2], [1.0, 2.0, 3.0, 100.0, 200.0, 300.0], list("aaabbb"), "d")
    own = series_of(rows, own_scale=True, step=1.0)
    assert own.values == pytest.approx([-1.0, 0.0, 1.0, -1.0, 0.0, 1.0], abs=1e-14)
    assert own.scales == pytest.approx([1.0, 100.0])
    shared = series_of(rows, own_scale=False, step=1.0)
    assert np.sum(shared.values**2) == pytest.approx(shared.degrees)
