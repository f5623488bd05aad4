from itertools import pairwise

import numpy as np
import pytest

from chronofy_kg.errors import LimitError
from chronofy_kg.rules.options import MiningOptions
from chronofy_kg.rules.pairs import ROLES, Instances, count_pairs


def instances(rows):
    """Build instances from (node, subject, object, day); every entity has category 0."""
    node, subject, target, day = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    none = np.zeros(len(node), dtype=np.int64)
    return Instances(node, subject, target, none, none, day, day * 10)


def edges(rows, role, **settings):
    """Return {(source, target): (support, followed, gaps)} of one role."""
    found = count_pairs(instances(rows), MiningOptions(**settings))
    out = {}
    for edge in np.flatnonzero(found.role == ROLES.index(role)):
        own = found.gaps.edge == edge
        gaps = np.repeat(found.gaps.gap[own], found.gaps.count[own]).tolist()
        out[int(found.source[edge]), int(found.target[edge])] = (
            int(found.support[edge]), int(found.followed[edge]), gaps,
        )  # fmt: skip
    return out


def test_ten_pairs_on_one_day_count_ten():
    rows = [(0, i, 100 + i, 1) for i in range(10)] + [(1, i, 100 + i, 4) for i in range(10)]
    assert edges(rows, "same pair") == {(0, 1): (10, 10, [3] * 10)}


def test_ten_objects_of_one_subject_on_one_day_count_ten():
    rows = [(0, 7, 100, 1)] + [(1, 7, 100 + i, 2) for i in range(10)]
    assert edges(rows, "shared subject") == {(0, 1): (10, 1, [1] * 10)}
    assert edges(rows, "same pair") == {(0, 1): (1, 1, [1])}


def test_recurrence_is_an_edge_and_only_neighbours_pair():
    rows = [(0, 1, 2, day) for day in (1, 3, 9)]
    assert edges(rows, "same pair") == {(0, 0): (2, 2, [2, 6])}


def test_the_nearest_earlier_event_gives_the_gap():
    rows = [(0, 1, 2, 0), (0, 1, 2, 89), (1, 1, 2, 90)]
    assert edges(rows, "same pair") == {(0, 0): (1, 1, [89]), (0, 1): (1, 1, [1])}


def test_events_of_one_day_do_not_follow_each_other():
    rows = [(0, 1, 2, 5), (1, 1, 2, 5)]
    assert edges(rows, "same pair") == {}
    rows += [(2, 1, 2, 6)]
    assert edges(rows, "same pair") == {(0, 2): (1, 1, [1]), (1, 2): (1, 1, [1])}


def test_the_swapped_pair_turns_round_and_the_same_pair_does_not():
    rows = [(0, 1, 2, 1), (1, 2, 1, 3), (0, 1, 2, 4)]
    assert edges(rows, "swapped pair") == {(0, 1): (1, 1, [2]), (1, 0): (1, 1, [1])}
    assert edges(rows, "same pair") == {(0, 0): (1, 1, [3])}


def test_an_entity_paired_with_itself_is_not_swapped():
    rows = [(0, 1, 1, 1), (1, 1, 1, 2)]
    assert edges(rows, "swapped pair") == {}
    assert edges(rows, "same pair") == {(0, 1): (1, 1, [1])}


def test_literals_bind_by_their_subject_alone():
    rows = [(0, 1, -1, 1), (1, 1, -1, 2), (0, 2, -1, 1)]
    assert edges(rows, "shared subject") == {(0, 1): (1, 1, [1])}
    for role in ("same pair", "swapped pair", "shared object"):
        assert edges(rows, role) == {}


def test_shared_object():
    rows = [(0, 1, 9, 1), (1, 2, 9, 2), (1, 3, 8, 2)]
    assert edges(rows, "shared object") == {(0, 1): (1, 1, [1])}


def test_bindings_hold_under_one_category_of_what_is_shared():
    rows = instances([(0, 1, 2, 1), (1, 1, 2, 2)])
    split = Instances(
        rows.node, rows.subject, rows.object, np.array([0, 1]), rows.object_category, rows.step, rows.at_us
    )
    found = count_pairs(split, MiningOptions())
    assert [ROLES[role] for role in found.role] == ["shared object"]


def test_last_seen_is_the_last_later_event():
    found = count_pairs(instances([(0, 1, 2, 1), (0, 1, 2, 5), (0, 1, 2, 7)]), MiningOptions())
    assert found.last_us.tolist() == [70, 70, 70]  # same pair, shared subject, shared object


def test_busy_steps_are_skipped_and_counted():
    rows = [(node, 1, 2, 1) for node in range(5)] + [(9, 1, 2, 2), (9, 1, 2, 3)]
    assert edges(rows, "same pair", busy_step=4) == {(9, 9): (1, 1, [1])}
    # Once in each of same pair, shared subject, shared object and the merged stream of both directions.
    assert count_pairs(instances(rows), MiningOptions(busy_step=4)).skipped == 4
    assert count_pairs(instances(rows), MiningOptions()).skipped == 0


def test_too_many_pairs_are_refused_before_they_are_built():
    rows = [(node, 1, 2, day) for day in (1, 2) for node in range(10)]
    with pytest.raises(
        LimitError, match="at least 100 pairs of neighbouring events, more than max_pairs = 99"
    ):
        count_pairs(instances(rows), MiningOptions(max_pairs=99))


def test_counts_agree_with_a_plain_loop(monkeypatch):
    monkeypatch.setattr("chronofy_kg.rules.pairs._CHUNK_PAIRS", 7)  # many chunks
    rng = np.random.default_rng(4)
    rows = sorted({tuple(int(x) for x in row) for row in zip(
        rng.integers(0, 4, 300), rng.integers(0, 5, 300), rng.integers(5, 9, 300), rng.integers(0, 30, 300),
        strict=True)})  # fmt: skip
    expected: dict[tuple[int, int], list[int]] = {}
    for subject in range(5):
        own = [row for row in rows if row[1] == subject]
        days = sorted({row[3] for row in own})
        for before, after in pairwise(days):
            sources = {row[0] for row in own if row[3] == before}
            for later in (row for row in own if row[3] == after):
                for source in sources:
                    expected.setdefault((source, later[0]), []).append(after - before)
    found = {key: sorted(gaps) for key, (_, _, gaps) in edges(rows, "shared subject").items()}
    assert found == {key: sorted(gaps) for key, gaps in expected.items()}


def test_nothing_to_pair():
    empty = np.zeros(0, dtype=np.int64)
    found = count_pairs(Instances(*[empty] * 7), MiningOptions())
    assert len(found.source) == found.gaps.edges == found.skipped == 0
