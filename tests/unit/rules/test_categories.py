import sys
import time
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from chronofy_kg.errors import ChronofyError, LimitError
from chronofy_kg.rules.categories import Category, frequent_item_sets, mine_categories
from chronofy_kg.rules.events import collect_events
from chronofy_kg.rules.options import MiningOptions


def matrix(baskets, items):
    holds = np.zeros((len(baskets), items), dtype=np.int64)
    for row, basket in enumerate(baskets):
        holds[row, list(basket)] = 1
    return sparse.csr_matrix(holds)


def mine(table, **settings):
    options = MiningOptions(**settings)
    return mine_categories(collect_events(table, np.arange(len(table)), options), options)


def names_of(categories, table, entity):
    code = table.pool.find(entity)
    members = categories.of(np.array([code]))[0]
    return [categories.categories[number].name for number in members.tolist() if number >= 0]


@pytest.mark.parametrize(
    ("n", "share", "least"), [(100, 0.07, 7), (100, 0.29, 29), (300, 0.01, 3), (49, 1 / 49, 2)]
)
def test_a_set_exactly_at_the_threshold_is_found_and_one_below_is_not(n, share, least):
    baskets = [{0, 1}] * least + [{2, 3}] * (least - 1) + [set()] * (n - 2 * least + 1)
    options = MiningOptions(category_support=share)
    found = frequent_item_sets(matrix(baskets, 4), options)
    assert found == [(least, (0,)), (least, (0, 1)), (least, (1,))]


@pytest.mark.parametrize("seed", range(5))
def test_supports_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, items, least = 60, 8, 9
    baskets = [set(np.flatnonzero(rng.random(items) < 0.4).tolist()) for _ in range(n)]
    expected = {}
    for size in (1, 2, 3):
        for own in combinations(range(items), size):
            support = sum(set(own) <= basket for basket in baskets)
            if support >= least:
                expected[own] = support
    found = frequent_item_sets(matrix(baskets, items), MiningOptions(category_support=0.15))
    assert {own: support for support, own in found} == expected


def test_near_constant_items_take_no_part():
    baskets = [{0, 1, 2}] * 10 + [{0}] * 10
    found = frequent_item_sets(matrix(baskets, 3), MiningOptions())
    assert [own for _, own in found] == [(1,), (1, 2), (2,)]


def test_hubs_with_sixty_items_finish_fast_and_still_belong():
    rng = np.random.default_rng(1)
    baskets = [set(range(60)) for _ in range(6)]
    baskets += [set(rng.choice(60, size=2, replace=False).tolist()) for _ in range(300)]
    begin = time.perf_counter()
    found = frequent_item_sets(matrix(baskets, 60), MiningOptions(category_floor=3))
    assert time.perf_counter() - begin < 5.0
    assert len(found) <= 60 + 1770 + 19_600  # C(60, 2) pairs; triples of the 50 items that hubs count with


def test_an_explosion_is_refused_before_the_search():
    baskets = [set(range(40)) for _ in range(5)] + [set() for _ in range(100)]
    with pytest.raises(
        LimitError, match=r"at least \d+ item sets .* max_itemsets = 1000; raise category_support"
    ):
        frequent_item_sets(matrix(baskets, 40), MiningOptions(hub_items=40, max_itemsets=1000))
    with pytest.raises(LimitError, match="at least 820 item sets"):  # 40 items and 780 pairs are enough
        frequent_item_sets(matrix(baskets, 40), MiningOptions(hub_items=40, max_itemsets=819))
    with pytest.raises(LimitError, match="200 cells, more than max_cells = 199"):
        frequent_item_sets(matrix(baskets, 40), MiningOptions(hub_items=40, max_cells=199))


def test_the_estimate_counts_candidates_exactly():
    baskets = [set(range(6)) for _ in range(5)] + [set() for _ in range(100)]
    candidates = 6 + 15 + 20
    assert len(frequent_item_sets(matrix(baskets, 6), MiningOptions(max_itemsets=candidates))) == candidates
    with pytest.raises(LimitError, match=f"at least {candidates} item sets"):
        frequent_item_sets(matrix(baskets, 6), MiningOptions(max_itemsets=candidates - 1))


def test_nothing_frequent_leaves_the_catch_all_alone(build):
    table = build([("a", "p", "@b", 1.0), ("c", "q", "@d", 2.0)])
    found = mine(table)
    assert found.categories == (Category((), 4),)
    assert found.members.tolist() == [[0, -1, -1]] * 4


def test_no_events_at_all(build):
    found = mine(build([]))
    assert found.categories == (Category((), 0),)
    assert found.members.shape == (0, 3)


def test_a_missing_extra_is_named(build, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.frequent_patterns", None)
    table = build([(f"s{i}", "p", f"@o{i}", 1.0) for i in range(4)])
    with pytest.raises(ChronofyError, match=r"pip install 'chronofy-kg\[rules\]'"):
        mine(table)


def test_categories_are_maximal_and_describe_both_ends(build):
    rows = [
        (f"cve{i}", predicate, f"@{predicate}{i}", 1.0) for i in range(5) for predicate in ("affects", "weak")
    ]
    table = build(rows)
    found = mine(table)
    assert [(category.name, category.support) for category in found.categories] == [
        ("any", 0),
        ("subject:affects & subject:weak", 5),
        ("object:affects", 5),
        ("object:weak", 5),
    ]
    assert names_of(found, table, "cve3") == ["subject:affects & subject:weak"]
    assert names_of(found, table, "weak3") == ["object:weak"]


def test_an_entity_has_at_most_three_categories_that_share_no_item(build):
    rows = [(f"s{i}", f"p{k}", f"@x{i}-{k}", 1.0) for i in range(6) for k in range(12)]
    rows += [(f"t{i}", "p0", f"@y{i}", 1.0) for i in range(6)]
    table = build(rows)
    found = mine(table)
    own = [
        found.categories[k].items for k in found.of(np.array([table.pool.find("s2")]))[0].tolist() if k >= 0
    ]
    assert len(own) == 3
    assert len({item for items in own for item in items}) == 9


def test_a_hub_counts_with_all_its_items_in_the_support(build):
    rows = [(f"s{i}", predicate, "@z", 1.0) for i in range(4) for predicate in ("p", "q")]
    rows += [("hub", predicate, "@z", 1.0) for predicate in ("p", "q", "r", "s", "t")]
    rows += [(f"u{i}", predicate, "@z", 1.0) for i in range(9) for predicate in ("r", "s", "t")]
    found = mine(build(rows), hub_items=3)
    assert {category.name: category.support for category in found.categories}["subject:p & subject:q"] == 5


def test_names_of_different_item_sets_differ():
    one = Category((("subject", "a & subject:b"),), 1)
    two = Category((("subject", "a"), ("subject", "b")), 1)
    assert one.name == "subject:a && subject:b"
    assert two.name == "subject:a & subject:b"
