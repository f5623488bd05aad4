"""The id of an answer: a hash of what was asked, of the instants, the spec and the rates in force."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from chronofy_kg.answer.judge import Judge
from chronofy_kg.answer.view import Moment
from chronofy_kg.decay.catalog import TypeCatalog

__all__ = ["request_id"]


def request_id(
    tenant: str, request: Mapping[str, Any], moment: Moment, judge: Judge, catalog: TypeCatalog
) -> str:
    """Return the id: the same question on the same state has the same answer, under the same id."""
    types = [catalog.types[name].to_dict() for name in sorted(catalog.types)]
    spec = [judge.name, judge.version, str(judge.formula), judge.evaluate, judge.on_fail]
    parts = [tenant, dict(request), asdict(moment), spec, types, asdict(catalog.priors)]
    text = json.dumps(parts, sort_keys=True, default=_plain)
    return "ans_" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
