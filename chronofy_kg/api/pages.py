"""Pages for people: the API page, drawn from the OpenAPI document, and the problem types.

Plain HTML without scripts or anything from another host, so that it works offline and under a policy that
allows nothing but its one style sheet.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from chronofy_kg.api.encode import JsonReply
from chronofy_kg.api.problems import KINDS, PROBLEM_TYPE, Kind, ProblemError
from chronofy_kg.api.strict import StrictRoute

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, include_in_schema=False)

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.1rem; margin-top: 2rem; text-transform: capitalize; }
details { border: 1px solid #8886; border-radius: .4rem; margin: .4rem 0; }
summary { cursor: pointer; padding: .5rem .8rem; } details > div { padding: 0 .8rem .6rem; }
code, pre { font: .9rem/1.4 ui-monospace, monospace; }
pre { overflow-x: auto; background: #8882; padding: .6rem; border-radius: .3rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .25rem .6rem .25rem 0; vertical-align: top; }
.method { display: inline-block; min-width: 3.5rem; font-weight: 700; }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@router.get("/")
async def root() -> RedirectResponse:
    """Lead to the API page."""
    return RedirectResponse("/docs")


@router.get("/openapi.json")
def document(request: Request) -> JsonReply:
    """Return the OpenAPI document."""
    return JsonReply(request.app.openapi())


@router.get("/docs")
def api_page(request: Request) -> Response:
    """Draw the API page."""
    found = request.app.openapi()
    by_tag: dict[str, list[str]] = {}
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            section = by_tag.setdefault(operation.get("tags", ["other"])[0], [])
            section.append(_operation(method.upper(), path, operation, found))
    parts = [f"<h1>{escape(found['info']['title'])} {escape(found['info']['version'])}</h1>"]
    parts.append(f"<p>{escape(found['info']['description'])}</p>")
    parts.append('<p><a href="/openapi.json">openapi.json</a> · <a href="/problems">problem types</a></p>')
    for tag, section in by_tag.items():
        parts.append(f"<h2>{escape(tag)}</h2>")
        parts.extend(section)
    return _page("API", parts)


@router.get("/problems")
async def problem_types() -> Response:
    """List the problem types."""
    rows = [
        [f'<a href="{kind.uri}">{kind.slug}</a>', str(kind.status), escape(kind.help)]
        for kind in KINDS.values()
    ]
    return _page("Problem types", ["<h1>Problem types</h1>", _table(["type", "status", "what to do"], rows)])


@router.get("/problems/{slug}")
async def problem_type(slug: str) -> Response:
    """Describe one problem type."""
    kind: Kind | None = KINDS.get(slug)
    if kind is None:
        raise ProblemError("not-found", "there is no such problem type; /problems lists them")
    parts = [f"<h1>{escape(kind.title)}</h1>", f"<p>Status {kind.status}.</p>", f"<p>{escape(kind.help)}</p>"]
    return _page(kind.title, [*parts, '<p><a href="/problems">All problem types</a></p>'])


def _operation(method: str, path: str, operation: dict[str, Any], found: dict[str, Any]) -> str:
    head = (
        f'<summary><span class="method">{method}</span> <code>{escape(path)}</code> '
        f"{escape(operation.get('summary', ''))}</summary>"
    )
    parts = [f"<p>{escape(operation['description'])}</p>"] if "description" in operation else []
    parameters = operation.get("parameters", [])
    if parameters:
        rows = [[f"<code>{escape(p['name'])}</code>", escape(p["in"]), escape(_about(p))] for p in parameters]
        parts.append(_table(["parameter", "in", ""], rows))
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        for example in _examples(content, found):
            shown = json.dumps(example, indent=2, ensure_ascii=False)
            parts.append(f"<p>Body, {escape(media_type)}:</p><pre>{escape(shown)}</pre>")
    replies = [
        [escape(status), escape(_reply(reply))] for status, reply in operation.get("responses", {}).items()
    ]
    parts.append(_table(["status", "reply"], replies))
    return f"<details>{head}<div>{''.join(parts)}</div></details>"


def _about(parameter: dict[str, Any]) -> str:
    schema = parameter.get("schema", {})
    words = [parameter.get("description", ""), " | ".join(map(str, schema.get("enum", [])))]
    if schema.get("default") is not None:
        words.append(f"default {json.dumps(schema['default'])}")
    if parameter.get("required"):
        words.append("required")
    return "; ".join(filter(None, words))


def _reply(reply: dict[str, Any]) -> str:
    kinds = reply.get("content", {}).get(PROBLEM_TYPE, {}).get("examples", {})
    return ", ".join(kinds) if kinds else str(reply.get("description", ""))


def _examples(content: dict[str, Any], found: dict[str, Any]) -> Iterator[Any]:
    for example in content.get("examples", {}).values():
        yield example["value"]
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    yield from found["components"]["schemas"].get(name, {}).get("examples", [])


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th>{head}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def _page(title: str, parts: Iterable[str]) -> HTMLResponse:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} - chronofy-kg</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>"
    )
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY})
