"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

import typer

__all__ = ["At", "KnownAt", "Params", "SpecName", "cypher_values", "pairs", "spec_name", "spec_params"]

_TIME = "ISO 8601, e.g. 2024-05-17T08:30:00Z or 2024-05"

At = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help=f"As of this instant in the world ({_TIME}).")
]
KnownAt = Annotated[
    str | None, typer.Option("--known-at", metavar="TIME", help="As the store knew it at this instant.")
]
SpecName = Annotated[
    str | None,
    typer.Option(
        "--spec",
        metavar="NAME",
        help="Stored spec to judge by: PACK, or PACK.SPEC of several; NAME@2 is version 2.",
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param", metavar="K=V", help="Value of a parameter: 0.7, or 30d; may be given several times."
    ),
]


def pairs(texts: list[str] | None) -> dict[str, str]:
    """Return the texts K=V as a map.

    Raises:
        typer.BadParameter: one has no "=" or no name, or a name stands twice.
    """
    found: dict[str, str] = {}
    for text in texts or []:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise typer.BadParameter(f"{text!r} is not of the form K=V", param_hint="--param")
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint="--param")
        found[name] = value
    return found


def spec_params(texts: list[str] | None) -> dict[str, float | str] | None:
    """Return the parameters of a spec: finite numbers, or texts such as "30 d"; None where none is given."""
    values: dict[str, float | str] = {}
    for name, text in pairs(texts).items():
        try:
            values[name] = float(text)
        except ValueError:
            # A number with a unit; the spec knows which units there are.
            if not re.fullmatch(r"\s*-?[0-9.eE+-]*[0-9.]\s*[A-Za-z]+\s*", text):
                raise typer.BadParameter(f"{name} is {text!r}, not a number", param_hint="--param") from None
            values[name] = text
        else:
            if not math.isfinite(float(text)):
                raise typer.BadParameter(f"{name} is {text!r}, not a number", param_hint="--param")
    return values or None


def spec_name(text: str) -> tuple[str, int | None]:
    """Return the name of a stored spec and the version that `NAME@2` asks for.

    >>> spec_name("security.triage@2"), spec_name("security")
    (('security.triage', 2), ('security', None))
    """
    name, at, version = text.partition("@")
    if at and not (version.isascii() and version.isdigit() and int(version[:9]) > 0 and len(version) < 10):
        raise typer.BadParameter(f"{version!r} is no version; write NAME@2", param_hint="--spec")
    return name, int(version) if at else None


def cypher_values(texts: list[str] | None) -> dict[str, Any]:
    """Return the parameters of a Cypher query: JSON where the text is JSON, else the text itself."""
    from chronofy_kg.facts.strict_json import JsonError, decode_json

    def value(text: str) -> Any:
        try:
            return decode_json(text)
        except JsonError:
            return text

    return {name: value(text) for name, text in pairs(texts).items()}
