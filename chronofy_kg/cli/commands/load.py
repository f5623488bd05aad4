"""`load`: files of assertions into the store, with every bad row named and, if asked for, kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import typer

from chronofy_kg.cli.output import on_one_line
from chronofy_kg.cli.progress import progress
from chronofy_kg.cli.session import PROGRAM, Exit, Session
from chronofy_kg.errors import InputError

if TYPE_CHECKING:
    from chronofy_kg.kb import LoadReport

__all__ = ["load"]

_MOST_SHOWN = 20


def load(
    session: Session,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True,
                       help="Files to load: .jsonl, .ndjson, .csv, .tsv, .parquet, .ttl, .trig, .nt, .nq or "
                            ".jsonld; text also as .gz."),
    ],
    mapping: Annotated[
        Path | None,
        typer.Option("--map", metavar="FILE", exists=True, dir_okay=False, readable=True,
                     help="Which column is which field: a TOML or JSON file."),
    ] = None,
    on_error: Annotated[
        Literal["abort", "skip"],
        typer.Option("--on-error", help="At a bad row: store nothing of its file and stop, or skip it."),
    ] = "abort",
    reject: Annotated[
        Path | None,
        typer.Option("--reject", metavar="FILE", dir_okay=False, help="Write the bad rows here, verbatim."),
    ] = None,
    encoding: Annotated[
        str, typer.Option("--encoding", metavar="NAME", help="Encoding of CSV and TSV files.")
    ] = "utf-8",
    restore: Annotated[
        bool,
        typer.Option("--restore", help="Keep the transaction times of an export; the tenant must be empty."),
    ] = False,
) -> int:  # fmt: skip
    """Load files of assertions; once or twice is the same.

    Exit code 1 says that a row was bad, with --on-error skip too.
    """
    from chronofy_kg.facts.readers import as_mapping

    if restore and len(files) > 1:
        raise typer.BadParameter("one export at a time can be restored", param_hint="--restore")
    # Checked before the store is opened: a mistake in it concerns every file.
    columns = as_mapping(mapping)
    with _reject_file(reject, files) as rejects, session.knowledge_base() as kb:
        tally = _Tally(session)
        for file in files:
            try:
                with progress(session, file.name) as tell:
                    report = kb.load(
                        file, on_error=on_error, encoding=encoding, mapping=columns, restore=restore,
                        on_progress=tell,
                    )  # fmt: skip
            except InputError as error:
                tally.refuse(file, error)
                break
            tally.add(file, report)
            if rejects is not None:
                _keep_rows(rejects, report)
            if not report.written:
                break
    tally.close(files)
    return tally.code


class _Tally:
    """Tells what became of each file, as it happens, and keeps it for the document."""

    def __init__(self, session: Session) -> None:
        self._session, self._started = session, time.monotonic()
        self._files: list[dict[str, Any]] = []
        self._bad = 0
        self.code = Exit.WELL

    def add(self, file: Path, report: LoadReport) -> None:
        for error in report.errors[: max(_MOST_SHOWN - self._bad, 0)]:
            self._session.output.note(f"{error}\n    {error.excerpt}")
        self._bad += len(report.errors)
        if report.errors:
            self.code = Exit.INPUT
        self._files.append(_as_json(file, report))
        if not self._session.as_json:
            self._session.output.say(_in_words(file, report))

    def refuse(self, file: Path, error: InputError) -> None:
        """Record a file that cannot be read at all; those before it stay stored."""
        self.code = Exit.INPUT
        self._session.output.note(f"{PROGRAM}: {on_one_line(error)}", "red")
        self._files.append({"file": str(file), "rows": 0, "written": False, "error": str(error)})

    def close(self, files: list[Path]) -> None:
        """Tell the rate and what was not loaded, and print the document."""
        note = self._session.output.note
        if self._bad > _MOST_SHOWN:
            note(f"... and {self._bad - _MOST_SHOWN:,} more bad rows")
        rows, seconds = sum(one["rows"] for one in self._files), time.monotonic() - self._started
        note(f"{rows:,} rows in {seconds:.1f} s, {rows / max(seconds, 1e-3):,.0f} rows/s")
        rest = [str(file) for file in files[len(self._files) :]]
        for file in rest:
            note(f"not loaded: {file}")
        if self._session.as_json:
            self._session.output.document({"files": self._files, "not_loaded": rest})


@contextmanager
def _reject_file(path: Path | None, files: list[Path]) -> Iterator[IO[bytes] | None]:
    """Open the reject file before anything is stored, so that a path that cannot be written stops all."""
    if path is None:
        yield None
        return
    if path.exists() and any(path.samefile(file) for file in files):
        raise typer.BadParameter(f"{path} is one of the files to load", param_hint="--reject")
    try:
        stream = path.open("wb")
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}", param_hint="--reject") from None
    with stream:
        yield stream


def _keep_rows(rejects: IO[bytes], report: LoadReport) -> None:
    for error in report.errors:
        # The last row of a file may lack its line end; the next row must not run into it.
        rejects.write(error.raw if error.raw.endswith(b"\n") else error.raw + b"\n")


def _in_words(file: Path, report: LoadReport) -> str:
    bad = len(report.errors)
    rows = f"{bad:,} bad {'row' if bad == 1 else 'rows'}"
    if not report.written:
        return f"{file}: {report.rows:,} rows, {rows}: nothing stored"
    done = f"{report.added:,} added, {report.unchanged:,} unchanged, {report.corrected:,} corrected"
    return f"{file}: {report.rows:,} rows: {done}" + (f", {rows} skipped" if bad else "")


def _as_json(file: Path, report: LoadReport) -> dict[str, Any]:
    return {
        "file": str(file),
        "rows": report.rows,
        "added": report.added,
        "unchanged": report.unchanged,
        "corrected": report.corrected,
        "written": report.written,
        "sequence": report.sequence,
        "errors": [
            {e.place: e.place_line or e.line, "column": e.column, "message": e.message} for e in report.errors
        ],
    }
