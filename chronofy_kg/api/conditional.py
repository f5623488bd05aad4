"""Conditional requests on specs: entity tags, and writes that only hold against the version that was seen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Header

from chronofy_kg.api.problems import ProblemError
from chronofy_kg.kb import KnowledgeBase, SpecVersion

__all__ = ["IfMatch", "IfNoneMatch", "alone", "check_precondition", "etag", "matches", "stored_spec"]

_SECOND_US = 1_000_000
_LEASE_S, _PATIENCE_S, _PAUSE_S = 10, 5.0, 0.05
_MOST = 1_000
IfMatch = Annotated[str | None, Header(max_length=_MOST, description="ETags of the version to replace, or *")]
IfNoneMatch = Annotated[str | None, Header(max_length=_MOST, description="ETags of versions known, or *")]


def stored_spec(kb: KnowledgeBase, name: str, version: int | None = None) -> SpecVersion | None:
    """Return a version of a stored spec, the newest by default; None where there is none."""
    found = [spec for spec in kb.specs() if spec.name == name and version in (None, spec.version)]
    return found[-1] if found else None


def etag(spec: SpecVersion) -> str:
    """Return the entity tag of a version: no other version has it, whatever its text."""
    return f'"{spec.version}-{spec.hash[:16]}"'


def matches(header: str | None, spec: SpecVersion | None) -> bool:
    """Whether a list of entity tags names a version; * names any."""
    if header is None or spec is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return "*" in tags or etag(spec) in tags


def check_precondition(spec: SpecVersion | None, if_match: str | None, if_none_match: str | None) -> None:
    """Refuse a write whose condition does not hold.

    Raises:
        ProblemError: it does not; nothing was stored.
    """
    now = "there is none" if spec is None else f"the newest is version {spec.version}, ETag {etag(spec)}"
    if if_match is not None and not matches(if_match, spec):
        raise ProblemError("precondition-failed", f"If-Match names another version; {now}")
    if matches(if_none_match, spec):
        raise ProblemError("precondition-failed", f"If-None-Match names what is stored; {now}")


@contextmanager
def alone(kb: KnowledgeBase, name: str) -> Iterator[None]:
    """Let one writer of a spec at a time check and write, in whichever worker.

    Raises:
        ProblemError: somebody else is at it for long.
    """
    log, key = kb.store.requests(kb.tenant), f"spec {name}"  # with a blank: no client's key
    keep = int(kb.settings.idempotency_hours * 3_600 * _SECOND_US)
    deadline = time.monotonic() + _PATIENCE_S
    while log.claim(key, "", time.time_ns() // 1_000, _LEASE_S * _SECOND_US, keep).outcome != "claimed":
        if time.monotonic() > deadline:
            raise ProblemError(
                "conflict", f"somebody else is storing spec {name!r}; try again", headers={"Retry-After": "1"}
            )
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        log.drop(key)
