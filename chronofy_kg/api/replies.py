"""What replies look like, for /openapi.json. The replies themselves are made by `chronofy_kg.answer.shape`.

More keys may be added to any of them; clients pass over keys that they do not know.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AnswerOut",
    "CypherOut",
    "FactList",
    "FactOut",
    "FactTypeList",
    "FactTypeOut",
    "FactTypeShown",
    "JobList",
    "JobOut",
    "LoadOut",
    "PeriodList",
    "Problem",
    "Ready",
    "RetractOut",
    "SpecDryRunOut",
    "SpecList",
    "SpecOut",
    "Up",
]


class Interval(BaseModel):
    """A number with the interval that comes from that of the decay rate."""

    value: float | None
    low: float | None
    high: float | None


class SourceOut(BaseModel):
    """Who stated a fact, and when they saw it."""

    id: str | None
    observed_at: str | None
    quality: float | None


class ContradictionOut(BaseModel):
    """Another value stated of the same key from the same instant on, which was not picked."""

    id: str
    said: str
    sources: list[str]


class FactOut(BaseModel):
    """A fact: one statement over one effective period, with its validity at the instant asked for."""

    id: str
    subject: str
    predicate: str
    object: str | None = Field(None, description="the related entity; either this or value")
    value: float | bool | str | None = None
    unit: str | None = None
    datatype: str | None = None
    lang: str | None = None
    type: str
    content: str
    meta: dict[str, Any]
    valid_from: str
    valid_to: str | None
    observed_at: str
    recorded_at: str
    quality: float | None
    superseded_by: str | None
    contradicts: list[str]
    contradictions: list[ContradictionOut]
    sources: list[SourceOut]
    age_days: float | None
    beta_per_day: float | None
    beta_from: Literal["fitted", "declared", "prior", "none"]
    decay: str | None = Field(description="the declared family of decay, null for the exponential one")
    type_version: int = Field(description="version of the fact type that was used; 0 for the defaults")
    validity: Interval


class NamedFact(BaseModel):
    """A fact of a withheld answer: which statement, not what it says."""

    id: str
    subject: str
    predicate: str


class FactList(BaseModel):
    """A page of facts, ordered by start and then by identity."""

    items: list[FactOut]
    next: str | None = Field(description="the cursor of the next page, or null")


class PeriodOut(FactOut):
    """One period of a key, and what ended it."""

    policy: str = Field(description="the rule by which it ended, in words")


class PeriodList(BaseModel):
    """All periods of a key, by start."""

    items: list[PeriodOut]
    next: None


class RetractOut(BaseModel):
    """The facts that a retraction changed, and how many assertions it retired."""

    changed: list[str]
    retired: int
    sequence: int


class LoadError(BaseModel):
    """A row that was left out, by its JSON pointer or its line."""

    pointer: str | None = None
    line: int | None = None
    column: int | None = None
    detail: str


class LoadOut(BaseModel):
    """What a load did. `facts` are the ids of the rows stored, in their order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"added": 1, "unchanged": 0, "corrected": 0, "errors": [],
                 "facts": ["f_6f1d0c6d6a3f0b1f2f3e4d5c6b7a8990"], "sequence": 7}
            ]
        }
    )  # fmt: skip

    added: int
    unchanged: int
    corrected: int
    errors: list[LoadError]
    facts: list[str]
    sequence: int


class StepOut(BaseModel):
    """A step of an answer."""

    text: str
    facts: list[str]
    validity: Interval
    status: str
    uses: list[int] | None = None


class BoundOut(Interval):
    """The weakest link: no answer from this trace may claim more."""

    weakest: str | None


class SpecRef(BaseModel):
    """Which spec judged; the version where it is a stored one."""

    name: str
    version: int | None


class ReasonOut(BaseModel):
    """A step that decides the robustness, and the fact that it leans on."""

    step: int
    signal: str
    derivative: float | None
    fact: str | None
    about: str | None
    status: str
    age_days: float | None
    half_life_days: float | None


class RobustnessOut(Interval):
    """How far the trace is above (or below) what the spec asks for."""

    spec: SpecRef
    failing_steps: list[int]
    because: str = Field("", description="the reasons in one sentence")
    blame: list[ReasonOut] = Field(default_factory=list, description="the heaviest first")


class TargetOut(BaseModel):
    """What to acquire anew, and what that would gain."""

    fact: str
    about: str | None
    step: int | None
    sources: list[str]
    needed_validity: float | None
    gain: float | None
    reachable: bool
    reason: str | None


class ExcludedOut(BaseModel):
    """How many matches were left out, each for the first reason that applies."""

    retracted: int
    not_yet_observed: int
    not_yet_valid: int
    superseded: int
    expired: int
    below_tau: int


class AnswerOut(BaseModel):
    """An answer with its evidence. Withheld: `answer` is null, and facts and steps only name statements."""

    id: str
    at: str
    known_at: str
    verdict: Literal["supported", "boundary", "reacquire", "insufficient_evidence"]
    withheld: bool
    partial: bool
    answer: str | None
    confidence: float | None
    valid_until: str | None
    steps: list[StepOut]
    facts: list[FactOut | NamedFact]
    context: list[str]
    bound: BoundOut | None
    robustness: RobustnessOut | None
    reacquire: list[TargetOut]
    notes: list[str] = Field(description="what to know of how the question was read")
    excluded: ExcludedOut
    provenance: str


class RatesOut(BaseModel):
    """How facts go stale; rates are per day."""

    kind: Literal["numeric", "categorical", "event", "static"]
    cardinality: Literal["one", "many"]
    beta: float
    beta_low: float | None
    beta_high: float | None
    half_life_days: float | None
    beta_from: Literal["fitted", "declared", "prior", "none"]
    status: str
    method: str
    n: int
    subjects: int
    span_days: float
    quality: float | None
    q_noise: float
    tolerance: float | None
    decay: str | None = Field(description="the declared family of decay, null for the exponential one")
    declared: bool
    data_hash: str = Field(
        description="of the rows and options of the fit behind it, empty where there was none"
    )
    warnings: list[str]
    version: int = Field(description="0 before the first fit or declaration")


class FactTypeOut(RatesOut):
    """How facts of one type go stale; rates are per day."""

    name: str


class FactTypeVersion(RatesOut):
    """A fact type as it was recorded by one fit or declaration."""

    recorded_at: str


class PointOut(BaseModel):
    """What the history shows at an age, with its 95 % interval and how much is behind it."""

    age: float
    seen: float | None
    low: float | None
    high: float | None
    count: int


class LineOut(BaseModel):
    """The fitted curve at an age, with the interval that comes from that of the rate."""

    age: float
    value: float | None
    low: float | None
    high: float | None


class CurveOut(BaseModel):
    """The history of a fact type by age (autocorrelation or survival), and the fitted curve."""

    what: str
    unit: str
    points: list[PointOut]
    line: list[LineOut]


class FactTypeShown(FactTypeOut):
    """A fact type with every version of it, oldest first."""

    versions: list[FactTypeVersion]
    curve: CurveOut | None = Field(None, description="only where it was asked for; null if nothing is fitted")


class FactTypeList(BaseModel):
    """All fact types, by name."""

    items: list[FactTypeOut]
    next: None


class SpecOut(BaseModel):
    """One version of a stored spec file."""

    name: str
    version: int
    hash: str
    author: str | None
    recorded_at: str | None
    text: str


class SpecWarning(BaseModel):
    """Something in a spec that is well-formed and most likely not meant."""

    file: str
    line: int
    column: int
    end_column: int
    severity: Literal["warning"]
    code: str
    message: str
    expected: list[str]
    hint: str | None


class SpecItemChange(BaseModel):
    """An item that differs from the stored version; affected: only what it uses does."""

    kind: Literal["param", "signal", "facttype", "let", "spec", "label", "rule"]
    name: str
    change: Literal["added", "removed", "changed", "affected"]
    before: str | None
    after: str | None


class VerdictCounts(BaseModel):
    """How many of the facts that hold now get each verdict."""

    supported: int
    boundary: int
    reacquire: int


class SpecVerdictChange(BaseModel):
    """How one spec judges the facts that hold now; changed: null if not comparable."""

    spec: str
    before: VerdictCounts | None
    after: VerdictCounts | None
    changed: int | None


class SpecDryRunOut(BaseModel):
    """What storing a spec file would change; nothing was written."""

    dry_run: Literal[True]
    name: str
    version: int
    against: int | None
    hash: str
    same: bool
    warnings: list[SpecWarning]
    items: list[SpecItemChange]
    facttypes: list[str]
    facts: int
    verdicts: list[SpecVerdictChange]


class SpecList(BaseModel):
    """Every version of every stored spec file, by name and version."""

    items: list[SpecOut]
    next: None


class JobProgress(BaseModel):
    """How far a job is; total is null where it cannot be known."""

    stage: str
    done: int | None
    total: int | None


class JobError(BaseModel):
    """Why a job failed, as a problem says it."""

    type: str
    title: str
    status: int
    detail: str


class JobOut(BaseModel):
    """A background job."""

    id: str
    kind: Literal["fit", "mine", "load"]
    status: Literal["queued", "running", "done", "failed", "cancelled"]
    cancelling: bool = Field(description="whether its end was asked for, and is still to come")
    request: dict[str, Any]
    progress: JobProgress | None
    result: dict[str, Any] | None = Field(description="what it did, where it is done")
    error: JobError | None
    created_at: str
    started_at: str | None
    ended_at: str | None


class JobList(BaseModel):
    """A page of jobs, newest first."""

    items: list[JobOut]
    next: str | None


class CypherOut(BaseModel):
    """Rows of a query; truncated where there were more than the server returns."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"columns": ["n"], "rows": [[3]], "truncated": False}]}
    )

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


class Up(BaseModel):
    """The process is up."""

    status: Literal["ok"]


class Ready(BaseModel):
    """The parts work."""

    store: str
    sequence: int | None = Field(description="of the server's tenant; null where keys are needed")
    embedder: str


class Place(BaseModel):
    """Where something is wrong: a pointer or line of the body, or a parameter; a spec's errors add theirs."""

    model_config = ConfigDict(extra="allow")

    detail: str
    pointer: str | None = None
    line: int | None = None
    column: int | None = None
    location: str | None = Field(None, alias="in")
    name: str | None = None


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Place] | None = None
    request_id: str | None = None
