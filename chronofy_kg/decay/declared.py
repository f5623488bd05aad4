"""Families of decay as they are declared and kept: by name and arguments, as text, and the text back.

The text is what a spec file says behind `decay =`, so it can be copied from a table into a file. What a
family does with an age is in `families`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Literal, TypeAlias

import numpy as np

from chronofy_kg.decay.families import Decay, DelayedOnset, HalfLife, Linear, PowerLaw, Weibull
from chronofy_kg.errors import InputError

__all__ = ["FAMILIES", "decay_text", "half_age", "make_decay", "parse_decay"]

Argument: TypeAlias = Literal["number", "days", "per day"]

#: Family by its name in spec files: its class, and what each argument is.
FAMILIES: dict[str, tuple[type[Decay], dict[str, Argument]]] = {
    "half_life": (HalfLife, {"days": "days"}),
    "linear": (Linear, {"rate": "per day"}),
    "onset": (DelayedOnset, {"location": "days", "spread": "days", "skew": "number"}),
    "power": (PowerLaw, {"alpha": "number"}),
    "weibull": (Weibull, {"shape": "number", "scale": "days"}),
}
_SUFFIX: dict[Argument, str] = {"number": "", "days": " d", "per day": " / d"}
_CALL = re.compile(r"(\w+)\((.*)\)")
_ARGUMENT = re.compile(r"(\w+) = (\S+)(?: d| / d)?")
_HALVINGS = 200


def make_decay(family: str, arguments: Mapping[str, float]) -> Decay:
    """Return a family of decay.

    Args:
        family: one of `FAMILIES`.
        arguments: its arguments; times in days, rates per day.

    Raises:
        InputError: no such family or argument, or one is missing or out of range.

    >>> make_decay("weibull", {"shape": 2, "scale": 30})
    Weibull(scale=30, shape=2)
    """
    if family not in FAMILIES:
        raise InputError(f"no family of decay {family!r}; there are {', '.join(FAMILIES)}")
    kind, known = FAMILIES[family]
    try:
        return kind(**arguments)
    except TypeError:
        raise InputError(
            f"{family} takes {', '.join(known)}; got {', '.join(arguments) or 'nothing'}"
        ) from None


def decay_text(decay: Decay) -> str:
    """Return a family as a spec file says it.

    Raises:
        InputError: it is none of `FAMILIES`.

    >>> decay_text(Weibull(scale=30.0, shape=1.5))
    'weibull(shape = 1.5, scale = 30 d)'
    """
    for name, (kind, known) in FAMILIES.items():
        if type(decay) is kind:
            given = {f.name: getattr(decay, f.name) for f in fields(decay) if f.init}  # type: ignore[arg-type]
            said = [f"{key} = {_shown(given[key])}{_SUFFIX[known[key]]}" for key in known]
            return f"{name}({', '.join(said)})"
    raise InputError(f"{decay!r} is no family that can be declared")


def parse_decay(text: str) -> Decay:
    """Return the family that `decay_text` wrote.

    Raises:
        InputError: it is no such text.

    >>> parse_decay("power(alpha = 1.5)")
    PowerLaw(alpha=1.5)
    """
    call = _CALL.fullmatch(text)
    parts = [_ARGUMENT.fullmatch(part) for part in call.group(2).split(", ")] if call else []
    if call is None or not all(parts):
        raise InputError(f"{text!r} is no family of decay with its arguments")
    try:
        given = {part.group(1): float(part.group(2)) for part in parts if part}
    except ValueError as error:
        raise InputError(f"{text!r} is no family of decay with its arguments: {error}") from None
    return make_decay(call.group(1), given)


def half_age(decay: Decay) -> float | None:
    """Return the age in days, after its best, at which half of the validity is left; None for never.

    >>> round(half_age(Weibull(scale=30.0, shape=2.0)), 6)
    24.976638
    >>> half_age(Linear(0.1))
    5.0
    >>> half_age(PowerLaw(0.0)) is None
    True
    """
    best = float(getattr(decay, "peak", 0.0))

    def gone(age: float) -> bool:
        return bool(decay.log_survival(np.array([age]))[0] <= np.log(0.5))

    low, high = best, max(best, 1.0)
    while not gone(high):
        low, high = high, 2.0 * high
        if high > 1e300:
            return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if gone(middle) else (middle, high)
    return high


def _shown(number: float) -> str:
    return repr(float(number)).removesuffix(".0")
