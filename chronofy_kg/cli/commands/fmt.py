"""`fmt`: spec files written as they should be."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from chronofy_kg.cli.commands.specs import read_spec
from chronofy_kg.cli.session import Exit, Session
from chronofy_kg.errors import FileEncodingError, SpecError

__all__ = ["fmt"]


def fmt(
    session: Session,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="Spec files."),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if a file would change.")
    ] = False,
) -> int:
    """Format spec files in place; needs no store.

    Blanks and lines are set one way, and brackets are put where precedence surprises; comments stay. A file
    with errors is left as it is. Imports are read from the folder of the file.
    """
    results = [_format(file, check) for file in files]
    if session.as_json:
        session.output.document({"files": [result.as_json() for result in results]})
    else:
        for result in results:
            for line in result.errors:
                session.output.say(line)
            if result.changed:
                session.output.say(f"{result.file}: {'would change' if check else 'formatted'}")
    changed, failed = (sum(bool(getattr(one, name)) for one in results) for name in ("changed", "errors"))
    verb = "would change" if check else "changed"
    session.output.note(f"{changed} of {len(files)} {verb}" + (f", {failed} with errors" if failed else ""))
    return Exit.INPUT if failed or (check and changed) else Exit.WELL


@dataclass(frozen=True, slots=True)
class _Formatted:
    file: str
    changed: bool = False
    errors: tuple[str, ...] = ()
    diagnostics: tuple[dict[str, object], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"file": self.file, "changed": self.changed, "diagnostics": list(self.diagnostics)}


def _format(file: Path, check: bool) -> _Formatted:
    from chronofy_kg.spec.layout import format_spec

    name = str(file)
    try:
        text = read_spec(file)
        result = format_spec(text, name, loader=lambda path: read_spec(file.parent / path))
    except SpecError as error:
        maps = tuple(diagnostic.to_dict() for diagnostic in error.diagnostics)
        return _Formatted(name, errors=tuple(str(one) for one in error.diagnostics), diagnostics=maps)
    except FileEncodingError as error:
        problem: dict[str, object] = {"file": name, "code": "encoding", "message": str(error)}
        return _Formatted(name, errors=(str(error),), diagnostics=(problem,))
    if "\r\n" in text:  # the line ends of the file stay
        result = result.replace("\n", "\r\n")
    if result == text:
        return _Formatted(name)
    if not check:
        _replace(file.resolve(), result)
    return _Formatted(name, changed=True)


def _replace(file: Path, text: str) -> None:
    """Write a file as a whole: whoever reads it meanwhile sees the old text or the new one."""
    handle, new = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(text)
        shutil.copymode(file, new)
        Path(new).replace(file)
    except BaseException:
        Path(new).unlink(missing_ok=True)
        raise
