"""The moving line on stderr of commands that go through many rows: bar, rows, rate and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chronofy_kg.cli.session import Session

__all__ = ["Progress", "progress"]

Progress = Callable[[str, int, int | None], None]


@contextmanager
def progress(session: Session, name: str) -> Iterator[Progress | None]:
    """Show how far a file has come, where stderr is a terminal; yields what to tell it with, else None.

    Each phase (reading, writing) has a bar of its own: their rates differ.
    """
    if not session.output.notes.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    counted = TextColumn("{task.completed:,.0f} rows, {task.fields[rate]}")
    columns = (
        TextColumn("{task.description}"), BarColumn(20), counted, TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=session.output.notes, transient=True) as bars:
        phases = {"": bars.add_task(name, total=None, rate="")}

        def tell(doing: str, done: int, total: int | None) -> None:
            if doing not in phases:
                for task in phases.values():
                    bars.remove_task(task)
                phases.clear()
                phases[doing] = bars.add_task(f"{name}: {doing}", total=total, rate="")
            speed = bars.tasks[0].finished_speed or bars.tasks[0].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bars.update(phases[doing], completed=done, total=total, rate=rate)

        yield tell
