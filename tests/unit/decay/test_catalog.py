from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.facts import table_of, told

from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import FactType, Priors, from_declaration, undeclared
from chronofy_kg.facts.model import ValueKind

NUMBER, TEXT, OBJECT = (
    told("p", "x", 5, "2026-01-01"),
    told("p", "x", "five", "2026-01-02"),
    told("p", "x", None, "2026-01-03", object="five"),
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ValueKind.NUMBER, ("numeric", "one")),
        (ValueKind.INTEGER, ("numeric", "one")),
        (ValueKind.TEXT, ("categorical", "one")),
        (ValueKind.BOOLEAN, ("categorical", "one")),
        (ValueKind.OBJECT, ("categorical", "many")),
    ],
)
def test_an_undeclared_type_takes_the_defaults_of_the_value(
    kind: ValueKind, expected: tuple[str, str]
) -> None:
    found = TypeCatalog().type_of("x", kind)
    assert (found.kind, found.cardinality) == expected
    assert (found.declared, found.beta_from) == (False, "prior")


@pytest.mark.parametrize(
    "noted",
    [
        undeclared("x", "categorical", "one"),
        undeclared("x", "categorical", "many"),
        undeclared("x", "numeric", "one"),
    ],
)
def test_what_turned_up_first_does_not_decide_what_later_values_mean(noted: FactType) -> None:
    rows = table_of(NUMBER, TEXT, OBJECT)
    fresh, later = TypeCatalog(), TypeCatalog.of([noted])
    assert later.many(rows).tolist() == fresh.many(rows).tolist() == [False, False, True]
    assert later.rates(rows).beta.tolist() == fresh.rates(rows).beta.tolist()


def test_a_declaration_speaks_for_every_value() -> None:
    catalog = TypeCatalog.of([from_declaration("x", "categorical", "many", half_life_days=3.0)])
    rows = table_of(NUMBER, TEXT, OBJECT)
    assert catalog.many(rows).tolist() == [True, True, True]
    assert catalog.rates(rows).beta.tolist() == [np.log(2) / 3] * 3


def test_a_fitted_rate_counts_for_values_of_its_kind_only() -> None:
    fitted = FactType(
        name="x",
        kind="numeric",
        cardinality="one",
        beta=0.5,
        beta_low=0.1,
        beta_high=np.inf,
        beta_from="fitted",
    )
    rates = TypeCatalog.of([fitted]).rates(table_of(NUMBER, TEXT))
    assert rates.beta.tolist() == [0.5, Priors().beta("categorical")]
    assert rates.high[0] == np.inf


@pytest.mark.parametrize(
    ("stated", "of_type", "noise", "quality"),
    [
        (None, None, 1.0, 1.0),
        (0.9, None, 1.0, 0.9),
        (None, 0.8, 1.0, 0.8),
        (0.9, 0.8, 1.0, 0.9),
        (0.9, 0.8, 0.5, 0.45),
    ],
)
def test_stated_quality_counts_before_that_of_the_type_and_noise_takes_its_part(
    stated: float | None, of_type: float | None, noise: float, quality: float
) -> None:
    row = FactType(
        name="x", kind="numeric", cardinality="one", beta=0.1, beta_low=0.1, beta_high=0.1,
        beta_from="fitted", quality=of_type, q_noise=noise,
    )  # fmt: skip
    table = table_of(told("p", "x", 5, "2026-01-01", quality=stated))
    assert TypeCatalog.of([row]).rates(table).quality.tolist() == [quality]


def test_a_type_has_one_name_however_its_letters_are_composed() -> None:
    catalog = TypeCatalog.of([from_declaration("caf\u00e9", "numeric", half_life_days=7.0)])
    rows = table_of(*(told("p", "x", 5, "2026-01-01", type=name) for name in ("caf\u00e9", "cafe\u0301")))
    assert catalog.rates(rows).beta.tolist() == [np.log(2) / 7] * 2


def test_no_rows() -> None:
    empty = table_of()
    assert TypeCatalog().many(empty).tolist() == []
    assert TypeCatalog().rates(empty).beta.tolist() == []


@pytest.mark.parametrize("order", list(itertools.permutations([NUMBER, TEXT, OBJECT])))
def test_mixed_values_in_any_order(order: tuple[object, ...]) -> None:
    table = table_of(*order)  # type: ignore[arg-type]
    assert TypeCatalog().many(table).tolist() == [row is OBJECT for row in order]
