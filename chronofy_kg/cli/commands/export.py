"""`export`: every assertion with its transaction times, to a file or to stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from chronofy_kg.cli.progress import progress
from chronofy_kg.cli.session import Session
from chronofy_kg.errors import InputError

__all__ = ["export"]


def export(
    session: Session,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", dir_okay=False,
                     help="File to write: .jsonl, .csv, .tsv, .parquet, .ttl, .trig, .nt, .nq or .jsonld; "
                          "text also as .gz. Without it, JSON Lines go to stdout."),
    ] = None,
    profile: Annotated[
        Literal["star", "plain"] | None,
        typer.Option("--rdf-profile", help="How RDF says what is known of a statement: with reifiers of RDF "
                                           "1.2 (star, but for JSON-LD), or with rdf:Statement (plain)."),
    ] = None,
) -> None:  # fmt: skip
    """Write every assertion with its times, for load --restore."""
    from chronofy_kg.facts.writers import check_form

    if output is None and session.as_json:
        raise typer.BadParameter("stdout takes the rows; name a file with --output", param_hint="--json")
    try:
        check_form(output if output is not None else Path("stdout.jsonl"), profile)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from None
    name = output.name if output is not None else "stdout"
    with session.knowledge_base() as kb, progress(session, name) as tell:
        if output is None:
            sys.stdout.flush()
            rows = kb.export(sys.stdout.buffer, on_progress=tell)
            sys.stdout.buffer.flush()
        else:
            rows = kb.export(output, profile=profile, on_progress=tell)
    if session.as_json:
        session.output.document({"file": str(output), "rows": rows})
    else:
        session.output.note(f"{name}: {rows:,} assertions written")
