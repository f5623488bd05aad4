"""What changes from one version of a spec file to the next, item by item.

Items are compared by meaning: layout, comments and brackets that say nothing are no change. A spec or label
whose own text is the same, but not what it uses, is `affected`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from chronofy_kg.errors import SpecError
from chronofy_kg.spec.ast import Node, Number
from chronofy_kg.spec.clauses import RuleDecl
from chronofy_kg.spec.declare import MICROS_PER_DAY, micros
from chronofy_kg.spec.format import name_text, number_text, quantity_text, quoted
from chronofy_kg.spec.model import FactTypeDecl, LabelDecl, LetDecl, ParamDecl, SignalDecl, SpecDecl
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.specfile import SpecFile

__all__ = ["Change", "ItemChange", "compare_files", "declaration_text"]

Change: TypeAlias = Literal["added", "removed", "changed", "affected"]
Declaration: TypeAlias = ParamDecl | SignalDecl | FactTypeDecl | LetDecl | SpecDecl | LabelDecl | RuleDecl

_KINDS = ("param", "signal", "facttype", "let", "spec", "label", "rule")


@dataclass(frozen=True, slots=True)
class ItemChange:
    """One item that differs: its canonical text before and after, None where it is not there."""

    kind: str
    name: str
    change: Change
    before: str | None
    after: str | None


def compare_files(old: SpecFile | None, new: SpecFile) -> tuple[ItemChange, ...]:
    """Return the items that differ, by kind and in the order of the files; all are added where there was no
    file.

    >>> from chronofy_kg.spec import parse_spec
    >>> old = parse_spec("param gamma = 0.5; spec ok: G validity >= gamma")
    >>> new = parse_spec("param gamma = 0.7; spec ok: G (validity>=gamma)")
    >>> [(one.kind, one.name, one.change, one.after) for one in compare_files(old, new)][0]
    ('param', 'gamma', 'changed', 'param gamma = 0.7')
    >>> [(one.name, one.change) for one in compare_files(old, new)]
    [('gamma', 'changed'), ('ok', 'affected')]
    """
    return tuple(change for kind in _KINDS for change in _compare_kind(kind, old, new))


def _compare_kind(kind: str, old: SpecFile | None, new: SpecFile) -> Iterator[ItemChange]:
    before: Mapping[str, Declaration] = getattr(old, f"{kind}s") if old is not None else {}
    after: Mapping[str, Declaration] = getattr(new, f"{kind}s")
    for name, decl in before.items():
        if name not in after:
            yield ItemChange(kind, name, "removed", declaration_text(decl), None)
    for name, decl in after.items():
        known = before.get(name)
        text = declaration_text(decl)
        if known is None:
            yield ItemChange(kind, name, "added", None, text)
        elif known != decl:
            yield ItemChange(kind, name, "changed", declaration_text(known), text)
        elif (
            old is not None
            and isinstance(decl, SpecDecl | LabelDecl)
            and _meaning(old, name) != _meaning(new, name)
        ):
            yield ItemChange(kind, name, "affected", text, text)


def _meaning(file: SpecFile, name: str) -> Node | None:
    try:
        return file.formula(name).root
    except SpecError:
        return None


def declaration_text(decl: Declaration) -> str:
    """Return an item in canonical text, which parses back to an equal declaration.

    Raises:
        TypeError: not a declaration.
    """
    match decl:
        case ParamDecl(name, default, low, high):
            limits = f" in [{_number(low)}, {_number(high)}]" if low is not None and high is not None else ""
            return f"param {name}{limits} = {_number(default)}"
        case SignalDecl(name, step):
            return f"signal {name}" + (f" step {_number(step)}" if step is not None else "")
        case FactTypeDecl():
            attributes = list(_attributes(decl)) or ["fitted"]
            return f"facttype {name_text(decl.name)}: {', '.join(attributes)}"
        case LetDecl(name, formula):
            return f"let {name} = {formula}"
        case SpecDecl(name, formula):
            options = [f"severity = {_word(decl.severity)}"] if decl.severity is not None else []
            options += [f"on_fail = {decl.on_fail}"] if decl.on_fail != "withhold" else []
            options += [f"eval = {decl.evaluate}"] if decl.evaluate != "first" else []
            shown = f" ({', '.join(options)})" if options else ""
            return f"spec {name}{shown}: {formula}"
        case LabelDecl(name, formula, priority):
            return f"label {name}{f' priority {priority}' if priority is not None else ''} when {formula}"
        case RuleDecl(name):
            weight = f" (weight = {number_text(decl.weight)})" if decl.weight != 1 else ""
            return f"rule {name}{weight}: {decl}"
        case _:
            raise TypeError(f"{type(decl).__name__} is no declaration")


def _number(value: Any) -> str:
    return quantity_text(value.value, value.unit)


def _word(text: str) -> str:
    return name_text(text) if "." not in text else quoted(text)


def _rate(beta: float) -> str:
    """A rate as the half-life that it was written as, if a short one gives just this rate, else as itself."""
    for unit in ("d", "h", "m", "s") if beta > 0 else ():
        days = table().units[unit] / MICROS_PER_DAY
        value = float(f"{math.log(2) / beta / days:.6g}")
        if value >= 1 and math.log(2) / (micros(Number(value, unit), table()) / MICROS_PER_DAY) == beta:
            return f"half_life = {quantity_text(value, unit)}"
    return f"beta = {number_text(beta)} / d"


def _attributes(decl: FactTypeDecl) -> Iterator[str]:
    yield from (one for one in (decl.kind, decl.cardinality) if one is not None)
    if decl.beta_per_day is not None:
        yield _rate(decl.beta_per_day)
    if decl.decay is not None:
        units = {"scale": " d", "rate": " / d"}
        values = (
            f"{name} = {number_text(value)}{units.get(name, '')}"
            for name, value in decl.decay.arguments.items()
        )
        yield f"decay = {decl.decay.family}({', '.join(values)})"
    if decl.fitted:
        yield "fitted"
    if decl.tolerance is not None:
        yield f"tolerance = {number_text(decl.tolerance)}"
    if decl.quality is not None:
        yield f"quality = {number_text(decl.quality)}"
