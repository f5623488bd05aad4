"""Fact types: rates, qualities and what is refused."""

import math

import numpy as np
import pytest

from chronofy_kg import decay
from chronofy_kg.decay.declared import decay_text, make_decay
from chronofy_kg.errors import SpecError, SpecTypeError
from chronofy_kg.spec import parse_spec


def declared(attributes, name="egfr"):
    return next(iter(parse_spec(f"facttype {name}: {attributes}").facttypes.values()))


@pytest.mark.parametrize(
    ("attributes", "beta"),
    [
        ("half_life = 3 h", math.log(2) * 8),
        ("half_life = 90 d", math.log(2) / 90),
        ("half_life = 2w", math.log(2) / 14),
        ("beta = 0.2 / d", 0.2),
        ("beta = 0.2/h", 4.8),
        ("beta = 0.7 / w", 0.1),
        ("beta = 0.3", 0.3),
        ("beta = 0 / d", 0.0),
        ("numeric", None),
    ],
)
def test_rates_are_per_day(attributes, beta):
    found = declared(attributes).beta_per_day
    assert found == (None if beta is None else pytest.approx(beta, rel=1e-12))


def test_all_attributes():
    found = declared("numeric, one, fitted, tolerance = 0.3, quality = 0.9", '"blood pressure"')
    assert (found.name, found.kind, found.cardinality) == ("blood pressure", "numeric", "one")
    assert (found.fitted, found.tolerance, found.quality, found.beta_per_day) == (True, 0.3, 0.9, None)
    bare = declared("event")
    assert (bare.kind, bare.cardinality, bare.fitted, bare.quality) == ("event", None, False, None)
    assert declared("quality = 1").quality == 1.0
    assert declared("static, beta = 0").beta_per_day == 0.0


@pytest.mark.parametrize(
    ("attributes", "column", "code"),
    [
        ("quality = 0", 26, "value"),
        ("quality = 1.1", 26, "value"),
        ("quality = -0.5", 26, "value"),
        ("quality = 1 d", 26, "unit"),
        ("beta = -0.1 / d", 23, "value"),
        ("beta = 0.1 / y", 29, "unit"),
        ("beta = 0.1 d", 23, "unit"),
        ("half_life = 0 h", 28, "value"),
        ("half_life = -3 h", 28, "value"),
        ("half_life = 3", 28, "unit"),
        ("half_life = 3 h / d", 34, "unit"),
        ("half_life", 16, "value"),
        ("numeric = 3", 16, "value"),
        ("tolerance = 0", 28, "value"),
        ("half_life = 3 h, beta = 0.1", 33, "name"),
        ("numeric, event", 25, "name"),
        ("one, many", 21, "name"),
        ("numeric, numeric", 25, "name"),
        ("static, beta = 0.1", 24, "value"),
        ("numric", 16, "name"),
    ],
)
def test_what_is_refused_and_where(attributes, column, code):
    with pytest.raises(SpecTypeError) as caught:
        declared(attributes)
    (found,) = caught.value.diagnostics
    assert (found.line, found.column, found.code) == (1, column, code)


def test_duplicates_name_the_first_line():
    with pytest.raises(SpecTypeError, match="'egfr' is already declared in line 1"):
        parse_spec('facttype egfr: numeric\nfacttype "egfr": numeric')


def test_names_are_as_in_the_data():
    pack = parse_spec('facttype "numeric \\u00e9": event\nfacttype d: event\nfacttype lab.egfr: event')
    assert list(pack.facttypes) == ["numeric é", "d", "lab.egfr"]


def test_families_of_decay():
    pack = parse_spec(
        "facttype office: one, decay = weibull(shape = 2, scale = 30 d)\n"
        "facttype news: decay = linear(rate = 0.7 / w)\nfacttype law: decay = power(alpha = 1.5)"
    )
    found = {name: (one.decay.family, one.decay.arguments) for name, one in pack.facttypes.items()}
    assert found == {
        "office": ("weibull", {"shape": 2.0, "scale": 30.0}),
        "news": ("linear", {"rate": pytest.approx(0.1)}),
        "law": ("power", {"alpha": 1.5}),
    }
    for one in pack.facttypes.values():
        assert make_decay(one.decay.family, one.decay.arguments).log_survival(np.array([0.0]))[0] == 0


def test_every_family_of_the_table_can_be_declared():
    pack = parse_spec(
        "facttype a: decay = half_life(days = 2 w)\n"
        "facttype b: decay = onset(location = -1 d, spread = 5 d, skew = -0.5)"
    )
    made = [make_decay(one.decay.family, one.decay.arguments) for one in pack.facttypes.values()]
    assert made == [decay.HalfLife(14.0), decay.DelayedOnset(-1.0, 5.0, -0.5)]
    assert [decay_text(one) for one in made] == [
        "half_life(days = 14 d)",
        "onset(location = -1 d, spread = 5 d, skew = -0.5)",
    ]


@pytest.mark.parametrize(
    ("attribute", "column", "code"),
    [
        ("decay", 13, "value"),
        ("decay = 3", 13, "value"),
        ("decay = weibul(shape=2)", 21, "name"),
        ("decay = weibull(shape=2)", 21, "arity"),
        ("decay = weibull(shape=2, shape=2, scale=3 d)", 21, "arity"),
        ("decay = weibull(shap=2, scale=3 d)", 29, "name"),
        ("decay = weibull(shape=2, scale=3)", 44, "unit"),
        ("decay = weibull(shape=2 d, scale=3 d)", 35, "unit"),
        ("decay = weibull(shape=0, scale=3 d)", 35, "value"),
        ("decay = linear(rate = 1 / month)", 39, "unit"),
        ("decay = weibull()", 29, "syntax"),
        ("half_life = 3 d, decay = power(alpha=1)", 30, "name"),
        ("static, decay = power(alpha=1)", 21, "value"),
        ("beta = power(alpha=1)", 13, "value"),
    ],
)
def test_families_of_decay_that_are_wrong(attribute, column, code):
    with pytest.raises(SpecError) as caught:
        parse_spec(f"facttype a: {attribute}")
    (found,) = caught.value.diagnostics
    assert (found.column, found.code) == (column, code)
