"""`fit` and `mine`: learn rates and rules from the facts that are stored."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from chronofy_kg.cli.session import Session

__all__ = ["fit", "mine"]


def fit(
    session: Session,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="TYPE", help="Fact types; all of them where none is named."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="List the fact types as they are; fit nothing.")
    ] = False,
) -> None:
    """Learn how fast each fact type goes stale.

    Prints the table of fact types: beta is the decay coefficient, V = q * exp(-beta * age).
    """
    with session.knowledge_base() as kb:
        if not show:
            session.output.note("fitting...")
            rows = kb.fit(names or None)
        else:
            rows = [kb.fact_type(name) for name in names] if names else kb.fact_types()
    if session.as_json:
        session.output.document({"items": rows})
    elif rows:
        from chronofy_kg.cli.render import render_types

        render_types(session.output.results, rows)
    else:
        session.output.note("there are no fact types yet; load facts first")


def mine(session: Session) -> None:
    """Mine temporal rules; write the rule graph."""
    session.output.note("mining...")
    with session.knowledge_base() as kb:
        report = kb.mine()
    shown: dict[str, Any] = {"nodes": report.nodes, "edges": report.edges, "top": list(report.top)}
    if session.as_json:
        session.output.document(shown)
        return
    from chronofy_kg.cli.render import render_rules

    render_rules(session.output.results, shown)
