"""`fit` and `mine`: learn rates and rules from the facts that are stored."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from chronofy_kg.cli.session import Session
from chronofy_kg.errors import InputError

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
    explain: Annotated[
        bool, typer.Option("--explain", help="Show one fact type: its versions, and its history by age.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Hide the future at some instants of the past, fit what is left, and compare: was what had "
            "validity V true in a share V of the cases? Changes nothing.",
        ),
    ] = False,
    cuts: Annotated[int, typer.Option(help="With --calibrate: at how many instants.", min=1, max=100)] = 5,
    again: Annotated[
        bool, typer.Option("--again", help="With --calibrate: a value that came back counts as true.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="With --explain or --calibrate: write a picture, .png or .svg.", dir_okay=False),
    ] = None,
) -> None:
    """Learn how fast each fact type goes stale.

    Prints the table of fact types: beta is the decay coefficient, V = q * exp(-beta * age). A type whose
    facts are those of its last fit stays as it is, and so does a declared rate.
    """
    if show + explain + calibrate > 1:
        raise typer.BadParameter("choose one of --show, --explain and --calibrate")
    if plot is not None:
        if not (explain or calibrate):
            raise typer.BadParameter("--plot goes with --explain or --calibrate")
        from chronofy_kg.answer.plot import picture_form

        picture_form(str(plot))  # before the work, not after it
    if explain:
        _explain(session, names or [], plot)
    elif calibrate:
        _calibrate(session, names or None, cuts, again, plot)
    else:
        _fit(session, names or None, show)


def _fit(session: Session, names: list[str] | None, show: bool) -> None:
    with session.knowledge_base() as kb:
        if not show:
            session.output.note("fitting...")
            rows = kb.fit(names)
            same = [row["name"] for row in rows if not row.get("changed", True) and row["n"]]
            if same:
                session.output.note(f"as before, for their facts have not changed: {', '.join(same)}")
        else:
            rows = [kb.fact_type(name) for name in names] if names else kb.fact_types()
    if session.as_json:
        session.output.document({"items": rows})
    elif rows:
        from chronofy_kg.cli.render import render_types

        render_types(session.output.results, rows)
    else:
        session.output.note("there are no fact types yet; load facts first")


def _explain(session: Session, names: list[str], plot: Path | None) -> None:
    if len(names) != 1:
        raise typer.BadParameter("--explain shows one fact type; name it")
    with session.knowledge_base() as kb:
        row, curve = kb.explain_type(names[0])
    if plot is not None and curve is None:
        raise InputError(f"{names[0]} has no history that could be drawn")
    if session.as_json:
        session.output.document(row | {"curve": None if curve is None else curve.to_dict()})
    else:
        from chronofy_kg.cli.render import render_explained

        render_explained(session.output.results, row, None if curve is None else curve.to_dict())
    if plot is not None and curve is not None:
        from chronofy_kg.answer.plot import draw_curve, picture_form

        _write(session, plot, draw_curve(row, curve, picture_form(str(plot))))


def _calibrate(session: Session, names: list[str] | None, cuts: int, again: bool, plot: Path | None) -> None:
    with session.knowledge_base() as kb:
        tables = kb.calibrate(
            names, cuts=cuts, again=again,
            on_progress=lambda number, total: session.output.note(f"past {number} of {total}..."),
        )  # fmt: skip
    if session.as_json:
        session.output.document({"items": [asdict(table) for table in tables]})
    elif tables[0].count:
        from chronofy_kg.cli.render import render_calibration

        render_calibration(session.output.results, [asdict(table) for table in tables])
    else:
        session.output.note("nothing was claimed that the history could confirm or refute")
    if plot is not None and tables[0].count:
        from chronofy_kg.answer.plot import draw_calibration, picture_form

        _write(session, plot, draw_calibration(tables, picture_form(str(plot))))


def _write(session: Session, path: Path, picture: bytes) -> None:
    try:
        path.write_bytes(picture)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    session.output.note(f"wrote {path}")


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
