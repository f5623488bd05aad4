"""What request bodies may hold: pydantic models, strict field by field, unknown fields refused.

Facts are the exception: `AssertionIn` only documents their fields, the one check of a row is
`chronofy_kg.facts.rows.check_row`, as for files. Replies are described in `replies`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

__all__ = [
    "AssertionIn",
    "CypherBody",
    "FactBatch",
    "JobBody",
    "PatternBody",
    "QueryBody",
    "RetractBody",
    "SpecBody",
    "SpecChoiceBody",
    "StepBody",
    "VerifyBody",
    "clean",
]

_MOST_NAME = 2_000
_MOST_TEXT = 100_000
_MOST_STEPS = 10_000
_MOST_EXACT_INTEGER = 2**53
_QUANTITY = re.compile(r"\s*-?\s*[0-9][0-9.eE+-]*\s*[a-z]+\s*")
_INTEGERS = range(-(2**63), 2**63)


def clean(text: str | None) -> str | None:
    """Refuse text that is blank or holds a NUL, which no store keeps."""
    if text is not None:
        if not text.strip():
            raise ValueError("is empty")
        if "\x00" in text:
            raise ValueError("contains a NUL character")
    return text


def _whole(number: Any) -> Any:
    """Let 10.0 pass as 10: JSON has one kind of number."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _param(value: Any) -> Any:
    """Let through what a param may be: a finite number, or a text with a unit; one message for all else."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    number = number and abs(value) <= sys.float_info.max
    quantity = isinstance(value, str) and len(value) <= 64 and _QUANTITY.fullmatch(value)
    if not number and not quantity:
        raise ValueError("must be a number, or a text of a number and a unit such as '30 d'")
    return value


Name = Annotated[str, Field(strict=True, min_length=1, max_length=_MOST_NAME), AfterValidator(clean)]
Text = Annotated[str, Field(strict=True, min_length=1, max_length=_MOST_TEXT), AfterValidator(clean)]
InstantText = Annotated[
    str,
    Field(strict=True, max_length=64, description="RFC 3339 or ISO 8601; a date, month or year is its start",
          examples=["2024-05-17T08:30:00Z"]),
]  # fmt: skip
# The validator stands last: one before the bounds would keep them out of the document.
Version = Annotated[int, Field(strict=True, ge=1, le=_MOST_EXACT_INTEGER), BeforeValidator(_whole)]
Limit = Annotated[int, Field(strict=True, ge=1, le=100), BeforeValidator(_whole)]
StepIndex = Annotated[int, Field(strict=True, ge=0, lt=_MOST_STEPS), BeforeValidator(_whole)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]
ParamValue = Annotated[float | str, BeforeValidator(_param)]
Params = Annotated[
    dict[Name, ParamValue],
    Field(max_length=100, description="params of the spec: numbers such as gamma, or times such as '30 d'"),
]


class Body(BaseModel):
    """Base of every body."""

    model_config = ConfigDict(extra="forbid")


class PatternBody(Body):
    """A statement; the parts left out match anything, but one must be given."""

    subject: Name | None = None
    predicate: Name | None = None
    object: Name | None = None

    @model_validator(mode="after")
    def _some_part(self) -> Self:
        if self.subject is None and self.predicate is None and self.object is None:
            raise ValueError("give at least one of subject, predicate and object")
        return self


class SpecChoiceBody(Body):
    """A stored spec by name ("pack" or "pack.spec") and version, or the text of one."""

    name: Name | None = None
    version: Version | None = None
    text: Text | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.name is None) == (self.text is None):
            raise ValueError("give either name or text")
        if self.version is not None and self.name is None:
            raise ValueError("a version belongs to a name")
        return self


class QueryBody(Body):
    """A question in words, or a pattern."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"pattern": {"subject": "patient:17", "predicate": "egfr"}, "at": "2024-06-01T00:00:00Z"},
                {"question": "which drugs does patient 17 take?", "mode": "fresh", "limit": 5},
            ]
        }
    )

    question: Annotated[Name, Field(description="words; either this or pattern")] | None = None
    pattern: PatternBody | None = None
    at: InstantText | None = None
    known_at: InstantText | None = None
    spec: SpecChoiceBody | None = None
    params: Params | None = None
    tau: Annotated[Number, Field(ge=0, lt=1, description="no fact with less validity is used")] | None = None
    mode: Literal["fresh", "balanced", "relevant", "fused"] = "balanced"
    limit: Limit = 10
    on_fail: Literal["withhold", "flag"] | None = None
    history: Flag = False
    hindsight: Flag = False

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.question is None) == (self.pattern is None):
            raise ValueError("give either question or pattern")
        return self


class StepBody(Body):
    """One step of a trace: what it says, the facts that it cites, and the earlier steps that it uses."""

    text: Annotated[str, Field(strict=True, max_length=_MOST_TEXT)] = ""
    facts: Annotated[list[Name], Field(max_length=1_000)] = []
    uses: Annotated[list[StepIndex], Field(max_length=1_000)] = []


class VerifyBody(Body):
    """A trace that other reasoning produced."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "steps": [
                        {"text": "eGFR is 52", "facts": ["f_6f1d0c6d6a3f0b1f2f3e4d5c6b7a8990"]},
                        {"text": "so metformin may go on", "uses": [0]},
                    ]
                }
            ]
        }
    )

    steps: Annotated[list[StepBody], Field(max_length=_MOST_STEPS)]
    at: InstantText | None = None
    known_at: InstantText | None = None
    spec: SpecChoiceBody | None = None
    params: Params | None = None


class RetractBody(Body):
    """What to retract of a fact: all that it rests on, or what one source states."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"source": "lab:3"}, {}]})

    source: Name | None = None


class JobBody(Body):
    """A job: fit (of `types`, or of all), mine, or load (of `facts`)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"kind": "fit"},
                {"kind": "load", "on_error": "skip",
                 "facts": [{"subject": "patient:17", "predicate": "egfr", "value": 52.0,
                            "observed_at": "2024-05-17"}]},
            ]
        }
    )  # fmt: skip

    kind: Literal["fit", "mine", "load"]
    types: Annotated[list[Name], Field(max_length=1_000, description="of a fit; all by default")] | None = (
        None
    )
    facts: (
        Annotated[
            list[Any],
            WithJsonSchema({"type": "array", "items": {"$ref": "#/components/schemas/AssertionIn"}}),
            Field(description="of a load"),
        ]
        | None
    ) = None
    on_error: Literal["abort", "skip"] = "abort"

    @model_validator(mode="after")
    def _what_belongs_to_its_kind(self) -> Self:
        if (self.facts is not None) != (self.kind == "load"):
            raise ValueError("facts belong to a load, and a load needs them")
        if self.types is not None and self.kind != "fit":
            raise ValueError("types belong to a fit")
        return self


class SpecBody(Body):
    """The text of a spec file, and who puts it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "param gamma = 0.5\nspec fresh: G validity >= gamma\n"}]}
    )

    text: Text
    author: Annotated[str, Field(strict=True, min_length=1, max_length=200), AfterValidator(clean)] | None = (
        None
    )


class CypherBody(Body):
    """A read-only Cypher query with its parameters."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "MATCH (f:Fact) WHERE f.predicate = $p RETURN f.content LIMIT 10",
                    "parameters": {"p": "egfr"},
                }
            ]
        }
    )

    query: Text
    parameters: Annotated[dict[Name, Any], Field(max_length=1_000)] = {}

    @model_validator(mode="after")
    def _fits_the_store(self) -> Self:
        for value in _leaves(self.parameters):
            if isinstance(value, int) and value not in _INTEGERS:
                raise ValueError("a parameter is an integer beyond 64 bits")
            if isinstance(value, str) and "\x00" in value:
                raise ValueError("a parameter contains a NUL character")
        return self


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value  # keys
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


class AssertionIn(Body):
    """What one source told: one of object and value, and at least one of valid_from and observed_at."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "subject": "patient:17", "predicate": "egfr", "value": 52.0, "unit": "mL/min",
                    "observed_at": "2024-05-17T08:30:00Z", "source": "lab:3", "quality": 0.97,
                }
            ]
        }
    )  # fmt: skip

    subject: Name
    predicate: Name
    object: Name | None = None
    value: float | bool | str | None = None
    unit: Name | None = None
    datatype: Name | None = None
    lang: Name | None = None
    type: Annotated[Name, Field(description="fact type; the predicate by default")] | None = None
    content: Annotated[str, Field(description="text form; made from the statement by default")] | None = None
    meta: Annotated[dict[str, Any], Field(description="a flat map, kept as it is")] | None = None
    valid_from: InstantText | None = None
    valid_to: (
        Annotated[InstantText, Field(description="end of the half-open period; open by default")] | None
    ) = None
    observed_at: Annotated[InstantText, Field(description="when it was last seen to hold")] | None = None
    source: Name | None = None
    quality: Annotated[float, Field(gt=0, le=1)] | None = None


class FactBatch(Body):
    """Assertions to load together."""

    facts: list[AssertionIn]
