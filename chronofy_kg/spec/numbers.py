"""Values of numeric expressions over a trace, and what they can be where signals are unknown.

Durations are days, as all rates and ages of the package. A value that is no number (0/0, the root of -1) is
an error with its place; infinities pass. What a window with too few samples leaves without a value is NaN, in
all that is reckoned from it, and no error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from chronofy_kg.spec.ast import Arithmetic, Call, Compare, Name, Negate, Node, Number
from chronofy_kg.spec.declare import MICROS_PER_DAY, micros
from chronofy_kg.spec.format import node_text
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.trace import Floats, TraceError

__all__ = ["Amount", "Span", "margin", "margin_range", "number_range", "number_value"]

Amount: TypeAlias = "float | Floats"
Span: TypeAlias = "tuple[Amount, Amount]"

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
            case _:
                value = _apply(node, operands)
    _refuse_nan(value, node, operands)
    return value


def margin(operator: str, left: Amount, right: Amount, node: Node, missing: float = 0.0) -> Amount:
    """Return how far a comparison is from failing, or, below 0, from holding.

    It is `missing` where a side has no value.
    """
    with np.errstate(invalid="ignore"):
        value: Amount = _MARGINS[operator](left, right)
    _refuse_nan(value, node, [left, right])
    if isinstance(node, Compare) and (np.isnan(np.sum(left)) or np.isnan(np.sum(right))):
        value = np.where(np.isnan(left) | np.isnan(right), missing, value)
    return value


def margin_range(operator: str, left: Span, right: Span) -> Span:
    """Return the range of a comparison of two ranges; everything where a side has no value."""
    (a, b), (c, d) = left, right
    if operator in ("<", "<="):
        (a, b), (c, d) = (c, d), (a, b)
    with np.errstate(invalid="ignore"):
        low, high = _or(a - d, -math.inf), _or(b - c, math.inf)
    if operator in ("==", "!="):
        least, most = np.maximum(np.maximum(0.0, low), -high), np.maximum(np.abs(low), np.abs(high))
        return (-most, -least) if operator == "==" else (least, most)
    return low, high


def _or(value: Amount, instead: float) -> Amount:
    """A value, with something else where it is none."""
    return np.where(np.isnan(value), instead, value) if np.isnan(np.sum(value)) else value


_MARGINS: dict[str, Callable[..., Any]] = {
    ">=": lambda left, right: left - right,
    ">": lambda left, right: left - right,
    "<=": lambda left, right: right - left,
    "<": lambda left, right: right - left,
    "==": lambda left, right: -np.abs(left - right),
    "!=": lambda left, right: np.abs(left - right),
}


def _refuse_nan(value: Amount, node: Node, operands: list[Amount]) -> None:
    # The sum is NaN if any part is, or if infinities of both signs meet: only then is it worth looking
    # closer.
    if not np.isnan(np.sum(value)):
        return
    missing = np.isnan(value)
    for one in operands:
        missing = missing & ~np.isnan(one)
    if np.any(missing):
        index = [int(one) for one in np.argwhere(missing)[0]] if np.ndim(value) else []
        place = f" at index {index[-1]}" + (f" of row {index[0]}" if len(index) > 1 else "") if index else ""
        raise TraceError(f"{node_text(node)} has no value{place}")


def number_range(node: Node, operands: list[Span]) -> Span:
    """Return the range of a numeric node over the ranges of its operands, by interval arithmetic.

    Functions and products are exact where their operands are, else anything is possible. NaN: no value.
    """
    lows, highs = [low for low, _ in operands], [high for _, high in operands]
    with np.errstate(all="ignore"):
        match node:
            case Number():
                value = number_value(node, [], {})
                return value, value
            case Negate():
                return -highs[0], -lows[0]
            case Arithmetic(operators) if operators[0] in "+-":
                low, high = lows[0], highs[0]
                for sign, one, other in zip(operators, lows[1:], highs[1:], strict=True):
                    low, high = (low + one, high + other) if sign == "+" else (low - other, high - one)
            case Call("min" | "max" as function):
                return reduce(FUNCTIONS[function], lows), reduce(FUNCTIONS[function], highs)
            case Call("abs"):
                low, high = (
                    np.maximum(np.maximum(0.0, lows[0]), -highs[0]),
                    np.maximum(np.abs(lows[0]), np.abs(highs[0])),
                )
            case _:
                exact = reduce(np.logical_and, [low == high for low, high in operands])
                value = _apply(node, lows)
                floor = 0.0 if isinstance(node, Call) and node.function in ("exp", "sqrt") else -math.inf
                low, high = np.where(exact, value, floor), np.where(exact, value, math.inf)
    missing = reduce(np.logical_or, [np.isnan(one) for one in lows])
    low, high = _or(low, -math.inf), _or(high, math.inf)
    return (
        (np.where(missing, math.nan, low), np.where(missing, math.nan, high))
        if np.any(missing)
        else (low, high)
    )


def _apply(node: Node, operands: list[Amount]) -> Amount:
    value: Amount = operands[0]
    match node:
        case Negate():
            return -value
        case Arithmetic(operators):
            for sign, operand in zip(operators, operands[1:], strict=True):
                value = SIGNS[sign](value, operand)
            return value
        case Call(function) if len(operands) == 1:
            return FUNCTIONS[function](value)  # type: ignore[no-any-return]
        case Call(function):
            return reduce(FUNCTIONS[function], operands)
        case _:
            raise TypeError(f"{type(node).__name__} is no number")
