from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.facts import table_of, told

from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import FactType, Priors, from_declaration
from chronofy_kg.decay.fit import fit_decay
from chronofy_kg.decay.learn import learn_types, types_seen
from chronofy_kg.decay.numeric import fit_numeric
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.table import FactTable


def learn(table: FactTable, catalog: TypeCatalog | None = None, rows: object = None) -> dict[str, FactType]:
    chosen = np.arange(len(table)) if rows is None else np.asarray(rows)
    return {t.name: t for t in learn_types(table, chosen, catalog or TypeCatalog())}


def day(number: int) -> str:
    return str(np.datetime64("2020-01-01") + number)


def readings(subject: str, predicate: str, seed: int, count: int = 150, **more: object) -> list[Assertion]:
    """An Ornstein-Uhlenbeck path, one reading a day, theta 0.1 a day, so beta 0.2 a day."""
    rng = np.random.default_rng(seed)
    keep = np.exp(-0.1)
    value, rows = rng.normal(), []
    for number in range(count):
        rows.append(told(subject, predicate, float(value), day(number), **more))
        value = keep * value + np.sqrt(1 - keep**2) * rng.normal()
    return rows


def states(subject: str, changes: list[tuple[int, str]], **more: object) -> list[Assertion]:
    return [told(subject, "status", state, day(when), **more) for when, state in changes]


def test_nothing_is_learned_from_nothing() -> None:
    assert learn(table_of()) == {}


def test_numeric_readings_give_twice_the_rate_of_reversion() -> None:
    table = table_of(*(row for s in range(6) for row in readings(f"p{s}", "egfr", s)))
    found = learn(table)["egfr"]
    assert (found.kind, found.beta_from, found.n, found.subjects) == ("numeric", "fitted", 900, 6)
    assert found.beta_low < 0.2 < found.beta_high
    assert found.beta == pytest.approx(0.2, rel=0.35)


def test_predicates_and_units_that_share_a_type_are_series_of_their_own() -> None:
    shared = [*readings("p", "sodium", 1, type="lab"), *readings("p", "potassium", 2, type="lab")]
    units = [
        *readings("p", "sodium", 1, type="lab", unit="a"),
        *readings("p", "sodium", 2, type="lab", unit="b"),
    ]
    times = np.concatenate([np.arange(150), np.arange(150)]).astype(float)
    values = np.asarray([row.value for row in shared], dtype=float)
    alone = fit_decay(times, values, np.repeat([0, 1], 150), prior=Priors().beta("numeric"))
    for rows in (shared, units):
        found = learn(table_of(*rows))["lab"]
        assert found.subjects == 2
        assert (found.beta_low, found.beta_high) == pytest.approx(alone.ci, rel=1e-6)


def test_the_exit_rate_is_changes_over_the_time_that_was_watched() -> None:
    table = table_of(
        *states("p", [(0, "a"), (100, "b"), (150, "c")]),
        *states("q", [(0, "a")]),
        told("q", "status", "a", day(200)),
        *readings("z", "egfr", 1, count=2_000),
    )
    found = learn(table)["status"]
    fit = fit_decay(
        np.asarray([0.0, 100, 0]), kind="categorical", ends=np.asarray([100.0, 150, 200]),
        changed=[True, True, False], prior=Priors().beta("categorical"),
    )  # fmt: skip
    assert found.span_days == pytest.approx(350.0)
    assert found.n == 3  # what was stated once was not watched
    assert (found.beta_low, found.beta_high) == pytest.approx(fit.ci)


def test_the_same_value_again_is_exposure_and_no_change() -> None:
    apart = table_of(*states("p", [(0, "a"), (50, "a"), (100, "a"), (150, "b"), (200, "b")]))
    plain = table_of(*states("p", [(0, "a"), (150, "b")]), told("p", "status", "b", day(150), seen=day(200)))
    once, twice = learn(plain)["status"], learn(apart)["status"]
    assert once.span_days == twice.span_days == pytest.approx(200.0)
    assert (once.beta_low, once.beta_high) == pytest.approx((twice.beta_low, twice.beta_high))


def test_events_and_static_facts_do_not_decay_whatever_the_data() -> None:
    catalog = TypeCatalog.of([from_declaration("admitted", "event"), from_declaration("born", "static")])
    rows = [told("p", name, f"{n}", day(n)) for name in ("admitted", "born") for n in range(20)]
    found = learn(table_of(*rows), catalog)
    assert [(t.beta, t.beta_from) for t in found.values()] == [(0.0, "none"), (0.0, "none")]


def test_a_declared_rate_stays_and_the_fit_is_noted_beside_it() -> None:
    catalog = TypeCatalog.of([from_declaration("egfr", "numeric", half_life_days=5.0)])
    found = learn(table_of(*readings("p", "egfr", 1)), catalog)["egfr"]
    assert (found.beta, found.beta_from) == (np.log(2) / 5, "declared")
    assert any("the declared rate holds; a fit gives" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    "catalog",
    [
        TypeCatalog(),
        TypeCatalog.of([from_declaration("egfr", "numeric", half_life_days=5.0)]),
        TypeCatalog.of([from_declaration("egfr", "numeric", tolerance=0.3)]),
    ],
)
def test_fitting_again_on_the_same_rows_changes_nothing(catalog: TypeCatalog) -> None:
    table = table_of(
        *readings("p", "egfr", 1), *states("p", [(0, "a"), (10, "b")]), told("p", "takes", object="x")
    )
    first = learn(table, catalog)
    again = learn(table, TypeCatalog.of(first.values()))
    assert again == first
    assert {t.version for t in first.values()} <= {0, 1, 2}
    more = learn(table_of(*readings("p", "egfr", 1, count=170)), TypeCatalog.of(first.values()))
    assert more["egfr"].version == first["egfr"].version + 1


def test_a_name_seen_first_as_text_is_fitted_as_what_most_of_it_is() -> None:
    words = table_of(told("p", "egfr", "not done", day(0)))
    noted = {t.name: t for t in types_seen(words, np.arange(1), TypeCatalog())}
    assert noted["egfr"].kind == "categorical"
    table = table_of(told("p", "egfr", "not done", day(0)), *readings("p", "egfr", 1))
    found = learn(table, TypeCatalog.of(noted.values()))["egfr"]
    assert (found.kind, found.cardinality, found.beta_from, found.n) == ("numeric", "one", "fitted", 150)


def test_whole_and_broken_numbers_are_one_kind_of_value() -> None:
    rows = [told("p", "x", value, day(n)) for n, value in enumerate([1, 2, 3, 1.5, 2.5, 3.5])]
    words = [told("q", "x", "none", day(n)) for n in range(4)]
    (found,) = types_seen(table_of(*rows, *words), np.arange(10), TypeCatalog())
    assert found.kind == "numeric"


def test_rows_that_are_not_believed_do_not_count() -> None:
    table = table_of(*states("p", [(0, "a"), (10, "b"), (20, "c")]), told("p", "status", "c", day(100)))
    kept = learn(table, rows=[0, 3])["status"]
    assert kept.n == 1
    assert kept.span_days == pytest.approx(100.0)


def test_a_numeric_type_with_words_only_has_nothing_to_fit() -> None:
    catalog = TypeCatalog.of([from_declaration("egfr", "numeric")])
    found = learn(table_of(told("p", "egfr", "not done", day(0))), catalog)["egfr"]
    assert found == catalog.types["egfr"]


@pytest.mark.parametrize("count", [1, 2])
def test_few_readings_fall_back_to_the_prior_and_say_so(count: int) -> None:
    found = learn(table_of(*readings("p", "egfr", 1, count=count)))["egfr"]
    assert (found.beta_from, found.beta) == ("prior", Priors().beta("numeric"))
    assert found.status != "ok"


def test_names_and_progress() -> None:
    table = table_of(*readings("p", "a", 1, count=30), *readings("p", "b", 2, count=30))
    calls: list[tuple[str, int, int]] = []
    found = learn_types(
        table, np.arange(len(table)), TypeCatalog(), ["b"], on_type=lambda *call: calls.append(call)
    )
    assert ([t.name for t in found], calls) == (["b"], [("b", 1, 1)])


def test_the_row_type_of_two_spellings_is_one_type() -> None:
    rows = [
        *readings("p", "x", 1, count=40, type="caf\u00e9"),
        *readings("q", "x", 2, count=40, type="cafe\u0301"),
    ]
    found = learn(table_of(*rows))
    assert {name: row.n for name, row in found.items()} == {"caf\u00e9": 80}


def many(name: str, seed: int, subjects: int = 3) -> list[Assertion]:
    return [row for s in range(subjects) for row in readings(f"p{s}", name, 10 * seed + s)]


def test_a_type_with_few_rows_borrows_from_the_others_and_says_so() -> None:
    strong = [row for seed in range(4) for row in many(f"t{seed}", seed)]
    weak = readings("p", "weak", 99, count=15)
    alone, found = learn(table_of(*weak))["weak"], learn(table_of(*strong, *weak))
    assert {found[f"t{seed}"].status for seed in range(4)} == {"ok"}
    assert "learned from 4 types" in found["weak"].method
    assert "prior-informed" in found["weak"].method
    assert "learned from" not in alone.method
    # the others lie near 0.2 a day, the declared prior at 0.0077
    assert abs(math.log(found["weak"].beta / 0.2)) < abs(math.log(alone.beta / 0.2))
    assert not any("prior" in found[f"t{seed}"].method for seed in range(4))


def test_it_does_not_matter_which_types_are_fitted_together() -> None:
    table = table_of(
        *(row for seed in range(4) for row in many(f"t{seed}", seed)), *readings("p", "weak", 99, count=15)
    )
    rows = np.arange(len(table))
    together = learn(table)
    (later,) = learn_types(table, rows, TypeCatalog.of(together.values()), ["weak"])
    assert later == together["weak"]
    one_by_one = TypeCatalog()
    for name in ("t0", "t1", "t2", "t3", "weak"):
        one_by_one = one_by_one.with_types(learn_types(table, rows, one_by_one, [name]))
    assert one_by_one.types["weak"] == together["weak"]


def test_what_did_not_change_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[str] = []

    def noted(rows: object, options: object) -> object:
        fitted.append("fit")
        return fit_numeric(rows, options)  # type: ignore[arg-type]

    monkeypatch.setattr("chronofy_kg.decay.learn.fit_numeric", noted)
    table = table_of(*readings("p", "egfr", 1), *readings("p", "bun", 2))
    first = learn(table)
    assert (len(fitted), len(first["egfr"].data_hash)) == (2, 32)
    assert learn(table, TypeCatalog.of(first.values())) == first
    assert len(fitted) == 2
    again = learn(table, TypeCatalog.of(first.values()), rows=np.arange(len(table))[::-1])
    assert (again, len(fitted)) == (first, 2)
    more = table_of(*readings("p", "egfr", 1), *readings("p", "bun", 2, count=151))
    second = learn(more, TypeCatalog.of(first.values()))
    assert (second["egfr"], len(fitted)) == (first["egfr"], 3)
    assert second["bun"] == replace(learn(more)["bun"], version=first["bun"].version + 1)
    # another tolerance is another question
    declared = from_declaration("egfr", "numeric", tolerance=0.3)
    assert learn(table, TypeCatalog.of([declared]))["egfr"].data_hash != first["egfr"].data_hash
