from dataclasses import replace

import numpy as np
import pytest

from chronofy_kg.errors import InputError
from chronofy_kg.rules.events import collect_events, number_levels
from chronofy_kg.rules.options import MiningOptions

OPTIONS = MiningOptions()


def classes(events):
    return [events.class_names[c] if c >= 0 else None for c in events.value_class.tolist()]


def by_row(table, options=OPTIONS):
    """Return the value class of each row of a table."""
    events = collect_events(table, np.arange(len(table)), options)
    shown = classes(events)
    return [shown[event] for event in events.row_event.tolist()]


def test_one_statement_of_two_sources_is_one_event(build):
    first = build([("a", "r", "@b", 1.0)], source="x")
    table = first.append(build([("a", "r", "@b", 1.0), ("a", "r", "@b", 2.0)], source="y"))
    events = collect_events(table, np.arange(3), OPTIONS)
    assert len(events) == 2
    assert events.row_event[0] == events.row_event[1] != events.row_event[2]


def test_strings_are_one_in_nfc(build):
    table = build([("é", "r", "@b", 1.0), ("é", "r", "@b", 1.0)])
    assert len(collect_events(table, np.arange(2), OPTIONS)) == 1


def test_only_the_rows_asked_for_take_part(build):
    table = build([("a", "r", "@b", 1.0), ("c", "r", "@d", 2.0), ("e", "r", "@f", 3.0)])
    events = collect_events(table, np.array([2, 0, 2]), OPTIONS)
    assert events.rows.tolist() == [0, 2]
    assert sorted(events.step.tolist()) == [1, 3]


def test_several_tenants_are_refused(build):
    table = build([("a", "r", "@b", 1.0), ("c", "r", "@d", 2.0)])
    table = replace(table, tenant=np.array([0, 1], dtype=np.int32))
    with pytest.raises(InputError, match="one tenant"):
        collect_events(table, np.arange(2), OPTIONS)


def test_steps_before_1970_go_down(build):
    table = build([("a", "r", "@b", -0.5), ("a", "r", "@b", 0.5)])
    assert sorted(collect_events(table, np.arange(2), OPTIONS).step.tolist()) == [-1, 0]


def test_literals_have_a_class_and_no_object(build):
    table = build([("a", "p", "poc", 1.0), ("a", "q", True, 1.0), ("a", "r", "@b", 1.0)])
    assert by_row(table) == ["value:poc", "value:true", None]
    assert sorted(collect_events(table, np.arange(3), OPTIONS).object.tolist())[:2] == [-1, -1]


def test_too_many_texts_of_one_predicate_are_one_class(build):
    rows = [("a", "many", f"t{i}", float(i)) for i in range(4)] + [("a", "few", "t1", 9.0)]
    options = MiningOptions(text_classes=3)
    assert by_row(build(rows), options) == ["text"] * 4 + ["value:t1"]
    assert by_row(build(rows[1:]), options) == ["value:t1", "value:t2", "value:t3", "value:t1"]


def test_a_long_text_is_no_class(build):
    assert by_row(build([("a", "note", "x" * 65, 1.0), ("a", "note", "short", 2.0)])) == ["text", "text"]


def test_integers_and_numbers_share_a_scale_and_units_do_not(build):
    grams = build([("a", "dose", 1, 1.0), ("a", "dose", 2.0, 2.0), ("a", "dose", 3, 3.0)], unit="g")
    table = grams.append(build([("a", "dose", 1000.0 * i, 3.0 + i) for i in (1, 2, 3)], unit="mg"))
    assert by_row(table) == ["level:low", "level:mid", "level:high"] * 2


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([5.0], [1]),
        ([1.0, 2.0], [0, 2]),
        ([0.0, 0, 0, 0, 1], [1, 1, 1, 1, 2]),
        ([9.0, 1, 5], [2, 0, 1]),
        ([1.0, 2, 3, 4], [0, 1, 1, 2]),
    ],
)
def test_levels_by_hand(values, levels):
    assert number_levels(np.array(values), np.zeros(len(values), dtype=np.int64)).tolist() == levels


def test_levels_agree_with_quantiles_of_each_scale():
    rng = np.random.default_rng(5)
    values, scale = rng.normal(size=500), rng.integers(0, 7, 500)
    expected = np.empty(500, dtype=np.int64)
    for own in range(7):
        low, high = np.quantile(values[scale == own], [1 / 3, 2 / 3])
        expected[scale == own] = 1 - (values[scale == own] < low) + (values[scale == own] > high)
    assert number_levels(values, scale).tolist() == expected.tolist()
