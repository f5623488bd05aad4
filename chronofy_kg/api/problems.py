"""Every error of the HTTP interface as RFC 9457 problem+json, from one table.

`KINDS` lists the problem types: slug, status and what to do. `BY_CLASS` maps the errors of
`chronofy_kg.errors` to them; the nearest base class decides. A problem's `type` is /problems/<slug>, a page
that `pages` serves.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chronofy_kg.api.encode import encode_json
from chronofy_kg.errors import (
    ChronofyError,
    ConflictError,
    CursorError,
    FactFormatError,
    FitError,
    InputError,
    LimitError,
    QueryError,
    ReadOnlyError,
    SpecError,
    StoreError,
    StoreUnavailableError,
    TimeFormatError,
    UnknownFactError,
    UnknownNameError,
)
from chronofy_kg.facts.strict_json import JsonError

__all__ = [
    "BY_CLASS",
    "KINDS",
    "MOST_ERRORS",
    "PROBLEM_TYPE",
    "Kind",
    "ProblemError",
    "add_documented",
    "documented",
    "kind_of",
    "on_error",
    "problem_from",
    "problem_reply",
    "spec_errors_at",
]

_LOG = logging.getLogger(__name__)
PROBLEM_TYPE = "application/problem+json"
#: A body of many bad rows is answered with the first of them; the detail says how many there are.
MOST_ERRORS = 1_000
_RETRY_AFTER_S = 2


@dataclass(frozen=True, slots=True)
class Kind:
    """One problem type: its slug, status and title, and what a caller does about it."""

    slug: str
    status: int
    title: str
    help: str

    @property
    def uri(self) -> str:
        """The stable `type` of the problem."""
        return f"/problems/{self.slug}"


_TABLE = (
    Kind("bad-request", 400, "Bad request", "Send HTTP/1.1 with a path in UTF-8, without NUL."),
    Kind("invalid-json", 400, "Invalid JSON",
         "Send one JSON text (RFC 8259) in UTF-8; no duplicate keys, NaN, byte order mark or surrogates."),
    Kind("missing-key", 401, "Missing key",
         "Send Authorization: Bearer with a key in force; chronofy-kg keys create makes one."),
    Kind("missing-scope", 403, "Missing scope", "Use a key with the scope that the detail names."),
    Kind("read-only", 403, "Read only",
         "Queries through /v1/cypher may not write; load facts with POST /v1/facts."),
    Kind("not-found", 404, "Not found", "Nothing has this name or path; /docs lists the paths."),
    Kind("unknown-fact", 404, "Unknown fact", "The store knows no fact of this id at that moment."),
    Kind("method-not-allowed", 405, "Method not allowed", "The Allow header lists the methods of this path."),
    Kind("request-timeout", 408, "Request timeout",
         "The body did not arrive in time; the setting request_timeout_s is the limit."),
    Kind("conflict", 409, "Conflict", "The store holds something else under this name."),
    Kind("idempotency-pending", 409, "Idempotency key in use",
         "The first request with this Idempotency-Key is still worked on; try again."),
    Kind("job-ended", 409, "Job ended", "The job did not come to its end; start it again."),
    Kind("precondition-failed", 412, "Precondition failed",
         "Somebody else has stored another version; read it, and try again with its ETag."),
    Kind("body-too-large", 413, "Body too large",
         "Send less at once; the setting max_body_bytes is the limit."),
    Kind("uri-too-long", 414, "URI too long", "Shorten the path or the query string."),
    Kind("unsupported-media-type", 415, "Unsupported media type",
         "The Accept header lists what this path takes."),
    Kind("misdirected", 421, "Misdirected request", "Address this server by the host it binds to."),
    Kind("invalid-body", 422, "Invalid body",
         "Each of `errors` has the JSON pointer of a field that is wrong."),
    Kind("idempotency-mismatch", 422, "Idempotency key of another request",
         "Take a fresh Idempotency-Key for each new request."),
    Kind("invalid-parameter", 422, "Invalid parameter", "Each of `errors` names a parameter that is wrong."),
    Kind("invalid-facts", 422, "Invalid facts",
         "Nothing was stored. Each of `errors` has the pointer or line of a bad row; "
         "?on_error=skip stores the others."),
    Kind("invalid-instant", 422, "Invalid instant",
         "Write times like 2024-05-17T08:30:00Z, 2024-05-17, 2024-05 or 2024."),
    Kind("invalid-input", 422, "Invalid input", "The detail says what was expected."),
    Kind("invalid-spec", 422, "Invalid spec",
         "Each of `errors` has the line, column and code of an error of the text."),
    Kind("invalid-query", 422, "Invalid query",
         "The query cannot be answered as asked; the detail says why."),
    Kind("limit-exceeded", 422, "Limit exceeded", "Ask for less: fewer rows, less time or less text."),
    Kind("fit-impossible", 422, "Fit impossible", "The facts do not determine what was asked for."),
    Kind("internal-error", 500, "Internal error", "A fault of the server; its log has the request id."),
    Kind("store-error", 503, "Store error", "The graph store refuses to work; the server's log says why."),
    Kind("store-unavailable", 503, "Store unavailable", "The graph store cannot be reached; try again."),
    Kind("timed-out", 504, "Timed out",
         "It took too long and may still be carried out; ask for less, or send a load as a job."),
)  # fmt: skip
KINDS: Mapping[str, Kind] = {kind.slug: kind for kind in _TABLE}

BY_CLASS: Mapping[type[ChronofyError], str] = {
    ChronofyError: "internal-error",
    InputError: "invalid-input",
    JsonError: "invalid-json",
    FactFormatError: "invalid-facts",
    TimeFormatError: "invalid-instant",
    SpecError: "invalid-spec",
    QueryError: "invalid-query",
    UnknownFactError: "unknown-fact",
    UnknownNameError: "not-found",
    CursorError: "invalid-parameter",
    ReadOnlyError: "read-only",
    LimitError: "limit-exceeded",
    ConflictError: "conflict",
    FitError: "fit-impossible",
    StoreError: "store-error",
    StoreUnavailableError: "store-unavailable",
}
#: HTTP errors that the framework raises by itself.
_BY_STATUS = {
    404: "not-found",
    405: "method-not-allowed",
    413: "body-too-large",
    415: "unsupported-media-type",
}


class ProblemError(HTTPException):
    """A problem raised by the interface itself.

    Args:
        slug: one of `KINDS`.
        detail: what is wrong here, and what to do.
        errors: the places that are wrong, or None.
        headers: of the reply.
    """

    def __init__(
        self,
        slug: str,
        detail: str,
        *,
        errors: Sequence[Mapping[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.slug, self.errors = slug, errors
        super().__init__(KINDS[slug].status, detail, headers)


def kind_of(error: ChronofyError) -> Kind:
    """Return the kind of an error: that of its nearest class in the table."""
    return next(KINDS[BY_CLASS[base]] for base in type(error).__mro__ if base in BY_CLASS)


def problem_from(error: Exception) -> ProblemError:
    """Return the problem of any error; what it does not know is an internal error without detail."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, HTTPException):
        slug = _BY_STATUS.get(
            error.status_code, "bad-request" if error.status_code < 500 else "internal-error"
        )
        return ProblemError(slug, KINDS[slug].help, headers=error.headers)
    if not isinstance(error, ChronofyError):
        return ProblemError("internal-error", KINDS["internal-error"].help)
    kind = kind_of(error)
    if kind.slug in ("internal-error", "store-error"):
        # Their messages may name users and files of the server.
        return ProblemError(kind.slug, kind.help)
    headers = {"Retry-After": str(_RETRY_AFTER_S)} if kind.status == 503 else None
    return ProblemError(kind.slug, _first_line(error), errors=_places(error), headers=headers)


def _first_line(error: ChronofyError) -> str:
    if isinstance(error, SpecError):
        return f"the spec has {len(error.diagnostics)} error(s)"
    return str(error)


def _places(error: ChronofyError) -> list[dict[str, Any]] | None:
    if isinstance(error, JsonError):
        if error.problems:
            return [{"pointer": pointer, "detail": detail} for pointer, detail in error.problems]
        if error.line is not None:
            return [{"line": error.line, "column": error.column, "detail": error.message}]
    if isinstance(error, FactFormatError) and error.pointer is not None:
        return [{"pointer": error.pointer, "detail": error.message}]
    if isinstance(error, CursorError):
        return [{"in": "query", "name": "cursor", "detail": str(error)}]
    if isinstance(error, SpecError):
        return list(_diagnosed(error, None))
    return None


def _diagnosed(error: SpecError, pointer: str | None) -> Iterator[dict[str, Any]]:
    for diagnostic in error.diagnostics:
        place = {} if pointer is None else {"pointer": pointer}
        fields = diagnostic.to_dict()
        yield place | {"detail": fields.pop("message")} | fields


@contextmanager
def spec_errors_at(pointer: str) -> Iterator[None]:
    """Give the errors of a spec text the JSON pointer at which the body holds that text."""
    try:
        yield
    except SpecError as error:
        problem = problem_from(error)
        problem.errors = list(_diagnosed(error, pointer))
        raise problem from error


def problem_reply(problem: ProblemError, request_id: str | None) -> Response:
    """Return the reply of a problem."""
    kind = KINDS[problem.slug]
    detail, errors = problem.detail, problem.errors
    if errors is not None and len(errors) > MOST_ERRORS:
        detail = f"{detail} (the first {MOST_ERRORS:,} of {len(errors):,} errors are listed)"
        errors = errors[:MOST_ERRORS]
    body: dict[str, Any] = {"type": kind.uri, "title": kind.title, "status": kind.status, "detail": detail}
    if errors is not None:
        body["errors"] = list(errors)
    if request_id is not None:
        body["request_id"] = request_id
    return Response(encode_json(body), kind.status, problem.headers, PROBLEM_TYPE)


async def on_error(request: Request, error: Exception) -> Response:
    """Handle an error of a route; the log has what the reply keeps back."""
    problem, request_id = problem_from(error), getattr(request.state, "request_id", None)
    if problem.status_code >= 500:
        _LOG.error("request %s failed: %s: %s", request_id, type(error).__name__, error)
    return problem_reply(problem, request_id)


def documented(*slugs: str) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route: the problems it may answer with, and the rest as default."""
    by_status: dict[int, list[Kind]] = {}
    for slug in slugs:
        by_status.setdefault(KINDS[slug].status, []).append(KINDS[slug])
    described: dict[int | str, dict[str, Any]] = {
        status: _response("; ".join(k.title for k in kinds), kinds)
        for status, kinds in sorted(by_status.items())
    }
    return described | {"default": _response("Any other error", [KINDS["internal-error"]])}


def add_documented(responses: dict[str, Any], *slugs: str) -> None:
    """Add problems to the responses of an operation of the document, in place."""
    for slug in slugs:
        kind = KINDS[slug]
        fresh = _response(kind.title, [kind])
        found = responses.setdefault(str(kind.status), fresh)
        if found is not fresh and kind.slug not in found["content"][PROBLEM_TYPE]["examples"]:
            found["description"] += f"; {kind.title}"
            found["content"][PROBLEM_TYPE]["examples"] |= fresh["content"][PROBLEM_TYPE]["examples"]


def _response(description: str, kinds: Iterable[Kind]) -> dict[str, Any]:
    examples = {
        kind.slug: {
            "value": {"type": kind.uri, "title": kind.title, "status": kind.status, "detail": kind.help}
        }
        for kind in kinds
    }
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {PROBLEM_TYPE: {"schema": schema, "examples": examples}}}
