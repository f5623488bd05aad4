"""`serve`, `demo`, `cypher` and `config`: the server, the tour, the graph itself, and the settings."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronofy_kg.cli.options import Params, cypher_values
from chronofy_kg.cli.session import Session
from chronofy_kg.errors import InputError, QueryError
from chronofy_kg.resources import data_text

if TYPE_CHECKING:
    from chronofy_kg.kb import KnowledgeBase
    from chronofy_kg.settings import Settings
    from chronofy_kg.store import CypherResult

__all__ = ["config", "cypher", "demo", "serve"]

_MASK = "********"


def cypher(
    session: Session,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|@NAME", help="A read-only Cypher query, or @ and the name of a stored one."
        ),
    ],
    param: Params = None,
) -> None:
    """Run a read-only Cypher query.

    A free query sees the whole store, a named one this tenant only.
    """
    values = cypher_values(param)
    with session.knowledge_base() as kb:
        result = _named(kb, text[1:], values) if text.startswith("@") else kb.cypher(text, values)
    if session.as_json:
        shown = {"columns": list(result.columns), "rows": [list(row) for row in result.rows]}
        session.output.document(shown | {"truncated": result.truncated})
    else:
        from chronofy_kg.cli.render import render_rows

        render_rows(session.output.results, list(result.columns), [list(row) for row in result.rows])
        session.output.note(f"{len(result.rows):,} rows")
    if result.truncated:
        session.output.note(f"more rows match; only the first {len(result.rows):,} are shown")


def _named(kb: KnowledgeBase, name: str, values: dict[str, Any]) -> CypherResult:
    """Run a named query; a refusal shows the head of its file, which has its parameters and an example."""
    try:
        return kb.named(name, values)
    except QueryError as error:
        try:
            text = data_text("cypher", "queries", f"{name}.cypher")
        except OSError:
            raise error from None
        head = [line.removeprefix("//").strip() for line in text.splitlines() if line.startswith("//")]
        raise QueryError("\n".join([str(error), *head])) from None


def config(session: Session) -> None:
    """Show the effective settings, secrets masked."""
    settings = session.settings
    shown = {
        name: {
            "value": _shown(settings, name),
            "from": _origin(session, settings, name),
            "help": field.description,
        }
        for name, field in type(settings).model_fields.items()
    }
    if session.as_json:
        session.output.document(shown)
        return
    from chronofy_kg.cli.render import render_rows

    rows = [[name, one["value"], one["from"]] for name, one in shown.items()]
    render_rows(session.output.results, ["setting", "value", "from"], rows)
    session.output.note(
        "set them as CHRONOFY_KG_<NAME>, or in a file of such lines named by CHRONOFY_KG_CONFIG"
    )


def _shown(settings: Settings, name: str) -> Any:
    value = getattr(settings, name)
    if name == "password":
        return None if value is None else _MASK
    if name == "uri":
        return re.sub(r"(//[^/@:]*):[^/@]*@", rf"\1:{_MASK}@", value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _origin(session: Session, settings: Settings, name: str) -> str:
    if session.flags.get(name) is not None:
        return "flag"
    if f"CHRONOFY_KG_{name.upper()}" in {key.upper() for key in os.environ}:
        return "environment"
    return "file" if name in settings.model_fields_set else "default"


def demo(
    session: Session,
    once: Annotated[
        bool, typer.Option("--once", help="Answer the questions of the tour, then exit.")
    ] = False,
) -> int:
    """Load a small example and answer from it.

    Keeps serving it until Ctrl-C, unless --once is given.
    """
    from chronofy_kg.cli.demo import run_demo

    return run_demo(session.settings, once=once, console=session.output.results)


def serve(
    session: Session,
    host: Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="Address to bind to.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")
    ] = None,
) -> None:
    """Serve the HTTP API until Ctrl-C.

    Prints its address on stderr when it is ready, with --json on stdout, and logs each request as a line of
    JSON on stderr. Questions are answered by words and graph while the model is still loading. A Neo4j that
    does not answer yet is waited for, and told as 503 meanwhile.
    """
    session.flags |= {"host": host, "port": port}
    run_server, configure_logs = _server()
    configure_logs(session.settings.log_level)
    run_server(
        session.opened,
        session.settings,
        lambda url: _announce(session, url),
        lambda url, why: session.output.note(f"{why}; waiting for it at {url}"),
    )
    session.output.note("stopped")


def _server() -> tuple[Callable[..., None], Callable[[str], object]]:
    """Return the server's entry and that of its logs.

    It is an extra, so that those who only use the store need not have it.
    """
    try:
        from chronofy_kg.api import configure_logs
        from chronofy_kg.api import serve_from as run_server
    except ModuleNotFoundError as error:
        if error.name in ("fastapi", "starlette", "uvicorn", "h11", "prometheus_client"):
            raise InputError(
                f"the server needs {error.name}, install it with: pip install 'chronofy-kg[server]'"
            ) from None
        raise
    return run_server, configure_logs


def _announce(session: Session, url: str) -> None:
    body = '{"question": "which facts are fresh?"}'
    session.output.note(f"serving tenant {session.settings.tenant} at {url}, stop with Ctrl-C")
    session.output.note(f"API page: {url}/docs")
    session.output.note(f"try: curl {url}/v1/query -H 'Content-Type: application/json' -d '{body}'")
    if session.as_json:
        session.output.document({"url": url})
        sys.stdout.flush()
