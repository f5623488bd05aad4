"""Values of numeric expressions over a trace, and what they can be where signals are unknown.

Durations are days, as all rates and ages of the package. A value that is no number (0/0, the root of -1) is
an error with its place; infinities pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from chronofy_kg.spec.ast import Arithmetic, Call, Name, Negate, Node, Number
from chronofy_kg.spec.declare import MICROS_PER_DAY, micros
from chronofy_kg.spec.format import node_text
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.trace import Floats, TraceError

__all__ = ["FUNCTIONS", "SIGNS", "Amount", "Range", "margin", "number_value", "unknown_range"]

Amount: TypeAlias = "float | Floats"
Range: TypeAlias = tuple[float, float]
EVERYTHING: Range = (-math.inf, math.inf)

SIGNS: dict[str, Callable[..., Any]] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "ln": np.log,
    "pow": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


def number_value(node: Node, operands: list[Amount], signals: Mapping[str, Floats]) -> Amount:
    """Return the value of a numeric node, given those of its operands: a number, or an array over the trace.

    Raises:
        TraceError: the value is NaN somewhere; the message names expression and index.
    """
    value: Amount
    with np.errstate(all="ignore"):
        match node:
            case Number():
                value = micros(node, table()) / MICROS_PER_DAY if node.unit else node.value
            case Name(name):
                return signals[name]
            case Negate():
                value = -operands[0]
            case Arithmetic(operators):
                value = operands[0]
                for sign, operand in zip(operators, operands[1:], strict=True):
                    value = SIGNS[sign](value, operand)
            case Call(function):
                value = (
                    FUNCTIONS[function](operands[0])
                    if len(operands) == 1
                    else reduce(FUNCTIONS[function], operands)
                )
            case _:
                raise TypeError(f"{type(node).__name__} is no number")
    _refuse_nan(value, node)
    return value


def margin(operator: str, left: Amount, right: Amount, node: Node) -> Amount:
    """Return how far a comparison is from failing, or, below 0, from holding."""
    with np.errstate(invalid="ignore"):
        value: Amount = _MARGINS[operator](left, right)
    _refuse_nan(value, node)
    return value


_MARGINS: dict[str, Callable[..., Any]] = {
    ">=": lambda left, right: left - right,
    ">": lambda left, right: left - right,
    "<=": lambda left, right: right - left,
    "<": lambda left, right: right - left,
    "==": lambda left, right: -np.abs(left - right),
    "!=": lambda left, right: np.abs(left - right),
}


def _refuse_nan(value: Amount, node: Node) -> None:
    # The sum is NaN if any part is, or if infinities of both signs meet: only then is it worth looking
    # closer.
    if not np.isnan(np.sum(value)):
        return
    missing = np.isnan(value)
    if np.any(missing):
        index = [int(one) for one in np.argwhere(missing)[0]] if np.ndim(value) else []
        place = f" at index {index[-1]}" + (f" of row {index[0]}" if len(index) > 1 else "") if index else ""
        raise TraceError(f"{node_text(node)} has no value{place}")


def unknown_range(node: Node, operands: list[Range], signals: Mapping[str, Floats]) -> Range:
    """Return the range of a numeric node where every signal can be anything."""
    match node:
        case Name():
            return EVERYTHING
        case Negate():
            return -operands[0][1], -operands[0][0]
        case Arithmetic(operators) if operators[0] in "+-":
            low, high = operands[0]
            for sign, (one, other) in zip(operators, operands[1:], strict=True):
                low, high = (low + one, high + other) if sign == "+" else (low - other, high - one)
            return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
        case Call("min" | "max" as function):
            pick = min if function == "min" else max
            return pick(low for low, _ in operands), pick(high for _, high in operands)
        case _ if all(low == high for low, high in operands):
            value = float(number_value(node, [low for low, _ in operands], signals))
            return value, value
        case Call("abs"):
            low, high = operands[0]
            return max(0.0, low, -high), max(abs(low), abs(high))
        case Call("exp" | "sqrt"):
            return 0.0, math.inf
        case _:
            return EVERYTHING
