"""What routes read from query strings and bodies besides plain models: the knowledge base and instants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from pydantic import AfterValidator, BeforeValidator

from chronofy_kg.api.models import clean
from chronofy_kg.api.problems import ProblemError
from chronofy_kg.api.tenants import Seat, seat_of
from chronofy_kg.errors import TimeFormatError
from chronofy_kg.facts.time import parse_moment
from chronofy_kg.kb import KnowledgeBase

__all__ = ["AtQuery", "Flag", "Here", "Kb", "KnownAtQuery", "Limit", "NamePath", "NameQuery", "instants"]

_MOST_NAME = 2_000
_MOST_INSTANT = 64


async def _kb(request: Request) -> KnowledgeBase:
    return (await seat_of(request)).kb


Kb = Annotated[KnowledgeBase, Depends(_kb)]
Here = Annotated[Seat, Depends(seat_of)]


def _digits(text: Any) -> Any:
    """Let only plain digits through; the lenient parser would take " 5" and "1_0"."""
    if isinstance(text, str) and not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ValueError("must be a whole number")
    return text


def _flag(text: Any) -> Any:
    if isinstance(text, str):
        if text not in ("true", "false"):
            raise ValueError("must be true or false")
        return text == "true"
    return text


# The validator stands last: one before the bounds would keep them out of the document.
Limit = Annotated[int, Query(ge=1, le=1_000), BeforeValidator(_digits)]
Flag = Annotated[bool, BeforeValidator(_flag)]
NameQuery = Annotated[str | None, Query(min_length=1, max_length=_MOST_NAME), AfterValidator(clean)]
NamePath = Annotated[str, Path(min_length=1, max_length=_MOST_NAME)]
AtQuery = Annotated[
    str | None, Query(max_length=_MOST_INSTANT, description="as of this instant in the world")
]
KnownAtQuery = Annotated[
    str | None, Query(max_length=_MOST_INSTANT, description="as the store knew it at this instant")
]


def instants(
    kb: KnowledgeBase, texts: Mapping[str, str | None], *, in_body: bool = False
) -> dict[str, int | None]:
    """Parse the instants of a request by name; absent ones stay None.

    Raises:
        ProblemError: names every one that is no instant.
    """
    parsed: dict[str, int | None] = {}
    errors: list[dict[str, str]] = []
    for name, text in texts.items():
        try:
            parsed[name] = None if text is None else parse_moment(text, zone=kb.settings.default_zone)
        except TimeFormatError as error:
            place = {"pointer": f"/{name}"} if in_body else {"in": "query", "name": name}
            errors.append(place | {"detail": str(error)})
    if errors:
        raise ProblemError("invalid-instant", errors[0]["detail"], errors=errors)
    return parsed
