"""Turns the parts of items, as they were read, into declarations; checks their values.

Params, signals, fact types and the options of specs are decided here. Formulas and names are checked in
`check`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, get_args

from chronofy_kg.decay.declared import FAMILIES
from chronofy_kg.spec.ast import Name, Number
from chronofy_kg.spec.clauses import RuleDecl, Text
from chronofy_kg.spec.diagnostics import Report, Span, did_you_mean
from chronofy_kg.spec.items import Argument, Attribute, Option, Range, Step
from chronofy_kg.spec.model import (
    Cardinality,
    DecayDecl,
    Evaluate,
    FactTypeDecl,
    Kind,
    OnFail,
    ParamDecl,
    SignalDecl,
)
from chronofy_kg.spec.operators import Table

__all__ = [
    "declare_facttype",
    "declare_param",
    "declare_rule",
    "declare_signals",
    "micros",
    "range_problem",
    "read_options",
]

MICROS_PER_DAY = 86_400_000_000


def micros(number: Number, table: Table) -> float:
    """Return a quantity in microseconds; a number without unit as it is."""
    return number.value * table.units[number.unit] if number.unit else number.value


def declare_param(parts: list[Any], report: Report, table: Table) -> ParamDecl:
    """Return a parameter from `name, [Range], Number`."""
    name, default = parts[0], parts[-1]
    limits = parts[1] if isinstance(parts[1], Range) else None
    if limits is None:
        return ParamDecl(name.name, default, span=name.span)
    for bound in (limits.low, limits.high):
        if bool(bound.unit) != bool(default.unit) and bound.value != 0:
            report.error(
                bound.span, "unit", "the range and the value of a parameter need the same kind of unit",
                hint=f"the value is {'a time' if default.unit else 'a plain number'}",
            )  # fmt: skip
            return ParamDecl(name.name, default, span=name.span)
    decl = ParamDecl(name.name, default, limits.low, limits.high, name.span)
    if micros(limits.high, table) < micros(limits.low, table):
        report.error(limits.high.span, "value", "this range is empty: its end lies below its start")
    elif problem := range_problem(decl, default, table):
        report.error(default.span, "value", problem)
    return decl


def range_problem(decl: ParamDecl, value: Number, table: Table) -> str | None:
    """Return why a value is outside the declared range of a parameter, or None."""
    if decl.low is None or decl.high is None:
        return None
    if micros(decl.low, table) <= micros(value, table) <= micros(decl.high, table):
        return None
    low, high = (f"{one.value:g}{one.unit or ''}" for one in (decl.low, decl.high))
    return f"{decl.name} = {value.value:g}{value.unit or ''} is not within [{low}, {high}]"


def declare_signals(parts: list[Any], report: Report) -> list[SignalDecl]:
    """Return the signals of `name, name, ..., [Step]`."""
    step = parts[-1].value if isinstance(parts[-1], Step) else None
    if step is not None and step.value <= 0:
        report.error(step.span, "value", "a step is longer than 0")
        step = None
    return [SignalDecl(name.name, step, name.span) for name in parts if isinstance(name, Name)]


_WORDS: dict[str, tuple[str, str]] = {
    **{word: ("kind", word) for word in get_args(Kind)},
    **{word: ("cardinality", word) for word in get_args(Cardinality)},
    "fitted": ("fitted", "fitted"),
}
_VALUES = ("half_life", "beta", "decay", "tolerance", "quality")


def declare_facttype(parts: list[Any], report: Report, table: Table) -> FactTypeDecl:
    """Return a fact type from `name, Attribute, ...`."""
    name: Name | Text = parts[0]
    text = name.value if isinstance(name, Text) else name.name
    if not text:
        report.error(name.span, "value", "a fact type has a name")
    found: dict[str, tuple[Any, Span]] = {}
    for attribute in parts[1:]:
        field, value = _attribute(attribute, report, table)
        if field in found:
            first = report.source.place(found[field][1].start)[0]
            report.error(
                attribute.name.span, "name", f"the {_field_name(field)} is already given (line {first})"
            )
        elif field:
            found[field] = (value, attribute.name.span)
    values: dict[str, Any] = {field: value for field, (value, _) in found.items()}
    kind, beta = values.get("kind"), values.get("beta_per_day") or values.get("decay")
    if "decay" in values and "beta_per_day" in values:
        report.error(found["decay"][1], "name", "the rate is already given, by half_life or beta")
    if kind == "static" and beta:
        report.error(
            found["beta_per_day" if "beta_per_day" in found else "decay"][1],
            "value",
            "a static fact does not decay",
            hint="leave the rate out",
        )
    return FactTypeDecl(text, span=name.span, **{**values, "fitted": "fitted" in values})


def _field_name(field: str) -> str:
    return {"beta_per_day": "rate"}.get(field, field)


def _attribute(attribute: Attribute, report: Report, table: Table) -> tuple[str, Any]:
    """The field that an attribute sets and its value; an empty field after an error."""
    word, value, span = attribute.name.name, attribute.value, attribute.name.span
    if word in _WORDS and value is None:
        return _WORDS[word]
    if word in _WORDS:
        report.error(span, "value", f"{word} stands alone, without a value")
        return "", None
    if word not in _VALUES:
        known = (*_WORDS, *_VALUES)
        meant = did_you_mean(word, known)
        hint = f"did you mean {meant}?" if meant else f"the attributes are {', '.join(known)}"
        report.error(span, "name", f"{word!r} is no attribute of a fact type", hint=hint)
        return "", None
    if word == "decay" or attribute.family is not None:
        return _decay(attribute, report, table)
    if value is None:
        report.error(span, "value", f"{word} needs a value", hint=f"such as {_EXAMPLES[word]}")
        return "", None
    if attribute.per is not None and word != "beta":
        report.error(attribute.per.span, "unit", f"{word} is no rate")
        return "", None
    field, number = _VALUE_READERS[word](attribute, value, report, table)
    return ("", None) if number is None else (field, number)


_EXAMPLES = {"half_life": "half_life = 90 d", "beta": "beta = 0.2 / d", "tolerance": "tolerance = 0.3",
             "quality": "quality = 0.9"}  # fmt: skip


def _half_life(attribute: Attribute, value: Number, report: Report, table: Table) -> tuple[str, float | None]:
    if value.value <= 0:
        report.error(value.span, "value", "a half-life is longer than 0")
    elif value.unit is None:
        report.error(
            value.span, "unit", "a half-life needs a unit", expected=list(table.units), hint="such as 90 d"
        )
    else:
        return "beta_per_day", math.log(2) / (micros(value, table) / MICROS_PER_DAY)
    return "beta_per_day", None


def _beta(attribute: Attribute, value: Number, report: Report, table: Table) -> tuple[str, float | None]:
    per = attribute.per
    if value.unit is not None:
        report.error(value.span, "unit", "a rate is a number per time", hint="such as beta = 0.2 / d")
    elif value.value < 0:
        report.error(value.span, "value", "a decay rate is not negative")
    elif per is not None and per.text not in table.units:
        hint = table.unit_hints.get(per.text)
        report.error(
            per.span, "unit", f"{per.text!r} is no unit of time", expected=list(table.units), hint=hint
        )
    else:
        return "beta_per_day", value.value * (MICROS_PER_DAY / table.units[per.text] if per else 1.0)
    return "beta_per_day", None


_Argument: TypeAlias = Literal["number", "time", "rate"]
_KINDS: dict[str, _Argument] = {"number": "number", "days": "time", "per day": "rate"}
_FAMILIES: dict[str, dict[str, _Argument]] = {
    name: {argument: _KINDS[kind] for argument, kind in known.items()}
    for name, (_, known) in FAMILIES.items()
}
_OF_EITHER_SIGN = ("location", "skew")


def _decay(attribute: Attribute, report: Report, table: Table) -> tuple[str, DecayDecl | None]:
    """The family of decay of `decay = weibull(shape = 2, scale = 30 d)`."""
    family, word = attribute.family, attribute.name.name
    shown = "decay = weibull(shape = 2, scale = 30 d)"
    if word != "decay":
        report.error(
            attribute.name.span, "value", f"{word} is a number", hint=f"a family is given by {shown}"
        )
    elif family is None:
        report.error(attribute.name.span, "value", "decay needs a family", hint=f"such as {shown}")
    elif family.name.name not in _FAMILIES:
        meant = did_you_mean(family.name.name, _FAMILIES)
        hint = f"did you mean {meant}?" if meant else f"the families are {', '.join(_FAMILIES)}"
        report.error(family.name.span, "name", f"{family.name.name!r} is no family of decay", hint=hint)
    else:
        wanted = _FAMILIES[family.name.name]
        values = {one.name.name: _argument(one, wanted, report, table) for one in family.arguments}
        if values.keys() <= wanted.keys() and (
            values.keys() != wanted.keys() or len(values) < len(family.arguments)
        ):
            said = f"{family.name.name} takes {' and '.join(wanted)}, each once"
            report.error(
                family.name.span, "arity", said, hint=f"such as {shown}" if "shape" in wanted else None
            )
        numbers = {name: value for name, value in values.items() if value is not None}
        if numbers.keys() == wanted.keys() and len(values) == len(family.arguments):
            return "decay", DecayDecl(family.name.name, numbers)
    return "", None


def _argument(one: Argument, wanted: dict[str, _Argument], report: Report, table: Table) -> float | None:
    kind, value, name = wanted.get(one.name.name), one.value, one.name.name
    if kind is None:
        meant = did_you_mean(name, wanted)
        hint = f"did you mean {meant}?" if meant else f"it takes {' and '.join(wanted)}"
        report.error(one.name.span, "name", f"{name!r} is no argument of this family", hint=hint)
    elif not math.isfinite(value.value) or (value.value <= 0 and name not in _OF_EITHER_SIGN):
        report.error(value.span, "value", f"{name} is greater than 0")
    elif bool(value.unit) != (kind == "time") or (one.per is not None and kind != "rate"):
        example = {
            "time": "a time, such as 30 d",
            "number": "a plain number",
            "rate": "a rate, such as 0.1 / d",
        }[kind]
        report.error(value.span, "unit", f"{name} is {example}")
    elif one.per is not None and one.per.text not in table.units:
        report.error(one.per.span, "unit", f"{one.per.text!r} is no unit of time", expected=list(table.units))
    elif kind == "time":
        return micros(value, table) / MICROS_PER_DAY
    else:
        return value.value * (MICROS_PER_DAY / table.units[one.per.text] if one.per else 1.0)
    return None


def _plain(attribute: Attribute, value: Number, report: Report, table: Table) -> tuple[str, float | None]:
    word = attribute.name.name
    if value.unit is not None:
        report.error(value.span, "unit", f"{word} is a plain number")
    elif word == "quality" and not 0 < value.value <= 1:
        report.error(value.span, "value", "a quality lies in (0, 1]")
    elif word == "tolerance" and value.value <= 0:
        report.error(value.span, "value", "a tolerance is greater than 0")
    else:
        return word, value.value
    return word, None


_VALUE_READERS: dict[str, Callable[[Attribute, Number, Report, Table], tuple[str, float | None]]] = {
    "half_life": _half_life,
    "beta": _beta,
    "tolerance": _plain,
    "quality": _plain,
}


def declare_rule(parts: list[Any], report: Report) -> RuleDecl:
    """Return a rule from `name, Option, ..., Atom, Literal, ...`."""
    name: Name = parts[0]
    weight = 1.0
    options = [one for one in parts[1:] if isinstance(one, Option)]
    for at, option in enumerate(options):
        word, value = option.name.name, option.value
        if word != "weight":
            meant = did_you_mean(word, ["weight"])
            hint = "did you mean weight?" if meant else "the option of a rule is weight"
            report.error(option.name.span, "name", f"{word!r} is no option of a rule", hint=hint)
        elif at > 0:
            report.error(option.name.span, "name", "weight is given twice")
        elif not isinstance(value, Number) or value.unit or not 0 < value.value <= 1:
            report.error(value.span, "value", "a weight lies in (0, 1]", hint="such as weight = 0.9")
        else:
            weight = value.value
    head, *body = parts[1 + len(options) :]
    return RuleDecl(name.name, head, tuple(body), weight, name.span)


_OPTIONS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "severity": ("severity", None),
    "on_fail": ("on_fail", get_args(OnFail)),
    "eval": ("evaluate", get_args(Evaluate)),
}


def read_options(options: Iterable[Option], report: Report) -> dict[str, Any]:
    """Return the options of a spec as fields of `SpecDecl`."""
    values: dict[str, Any] = {}
    for option in options:
        word = option.name.name
        if word not in _OPTIONS:
            meant = did_you_mean(word, _OPTIONS)
            hint = f"did you mean {meant}?" if meant else f"the options are {', '.join(_OPTIONS)}"
            report.error(option.name.span, "name", f"{word!r} is no option of a spec", hint=hint)
            continue
        field, allowed = _OPTIONS[word]
        text = _option_text(option)
        if field in values:
            report.error(option.name.span, "name", f"{word} is given twice")
        elif allowed is not None and text not in allowed:
            report.error(
                option.value.span, "value", f"{word} is one of {', '.join(allowed)}", expected=allowed
            )
        values[field] = text
    return values


def _option_text(option: Option) -> str:
    match option.value:
        case Name(name):
            return name
        case Number(value, unit):
            return f"{value:g}{unit or ''}"
        case Text(value):
            return value
