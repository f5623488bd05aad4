"""`check` and `specs`: spec files on disk, and those that the store keeps."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronofy_kg.cli.session import Exit, Session
from chronofy_kg.errors import FileEncodingError, QueryError, SpecError

if TYPE_CHECKING:
    from chronofy_kg.kb import SpecDryRun, SpecVersion

__all__ = ["check", "read_spec", "specs_dry_run", "specs_list", "specs_put", "specs_show"]


def check(
    session: Session,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="Spec files."),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")] = False,
) -> int:
    """Check spec files; needs no store.

    All errors and warnings are shown at once; warnings alone end well, unless --strict. Imports are read from
    the folder of the file.
    """
    results = [_check_file(file, strict) for file in files]
    errors = sum(result.count("error") for result in results)
    warnings = sum(result.count("warning") for result in results)
    if session.as_json:
        session.output.document({"files": [result.as_json() for result in results]})
    else:
        for result in results:
            for line in result.lines():
                session.output.say(line)
    counts = [_count(len(files), "file"), _count(errors, "error")]
    session.output.note(", ".join([*counts, _count(warnings, "warning")] if warnings else counts))
    return Exit.WELL if all(result.ok for result in results) else Exit.INPUT


def specs_put(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name to store it under.")],
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="The spec file."),
    ],
    author: Annotated[
        str | None, typer.Option("--author", metavar="NAME", help="Who puts it; the login name by default.")
    ] = None,
) -> None:
    """Check a spec file; store it under NAME.

    It becomes the next version; the fact types that it declares come into force.
    """
    text = read_spec(file)
    with session.knowledge_base() as kb, _errors_placed(name, file):
        stored = kb.put_spec(name, text, author or _login())
    if session.as_json:
        session.output.document(_as_json(stored))
    else:
        session.output.say(f"stored {stored.name}, version {stored.version}")


def specs_dry_run(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name it would be stored under.")],
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="The spec file."),
    ],
) -> None:
    """Say what storing a spec file under NAME would change.

    Nothing is written. Items are compared with the newest stored version; each fact that holds now is judged
    by the specs of both.
    """
    text = read_spec(file)
    with session.knowledge_base() as kb, _errors_placed(name, file):
        found = kb.dry_run_spec(name, text)
    if session.as_json:
        session.output.document(found.to_dict())
    else:
        for line in _dry_run_lines(found):
            session.output.say(line)


def specs_list(
    session: Session,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="List every version of this one.")
    ] = None,
) -> None:
    """List the stored specs, the newest version of each."""
    with session.knowledge_base() as kb:
        stored = [spec for spec in kb.specs() if name in (None, spec.name)]
    shown = stored if name is not None else list({spec.name: spec for spec in stored}.values())
    if name is not None and not shown:
        raise QueryError(f"no spec {name!r} is stored")
    if session.as_json:
        session.output.document({"items": [_as_json(spec) for spec in shown]})
    elif shown:
        from chronofy_kg.cli.render import render_rows

        rows = [
            [
                s.name,
                s.version,
                len(s.text.splitlines()),
                s.hash[:12],
                s.author or "",
                s.to_dict()["recorded_at"] or "",
            ]
            for s in shown
        ]
        render_rows(session.output.results, ["name", "version", "lines", "hash", "author", "stored"], rows)
    else:
        session.output.note("no specs are stored; store one with: chronofy-kg specs put NAME FILE")


def specs_show(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a stored spec.")],
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="An older version; the newest by default.")
    ] = None,
) -> None:
    """Print the text of a stored spec."""
    with session.knowledge_base() as kb:
        found = [s for s in kb.specs() if s.name == name and version in (None, s.version)]
    if not found:
        raise QueryError(f"no spec {name!r}" + (f" version {version}" if version else "") + " is stored")
    spec = max(found, key=lambda one: one.version)
    if session.as_json:
        session.output.document(_as_json(spec) | {"text": spec.text})
    else:
        session.output.verbatim(spec.text)


@contextmanager
def _errors_placed(name: str, file: Path) -> Iterator[None]:
    """Let errors of the text name the file that it was read from."""
    try:
        yield
    except SpecError as error:
        placed = [replace(d, file=str(file)) if d.file == name else d for d in error.diagnostics]
        raise type(error)(placed) from None


def _login() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None


_SIGNS = {"added": "+", "removed": "-", "changed": "~", "affected": "*"}


def _dry_run_lines(found: SpecDryRun) -> Iterator[str]:
    against = "no version is stored" if found.against is None else f"compared with version {found.against}"
    if found.same:
        yield f"{found.name}: the text is version {found.against}, nothing would be stored"
    else:
        yield f"{found.name}: would become version {found.version}; {against}"
    for item in found.items:
        yield f"  {_SIGNS[item.change]} {item.after or item.before}"
        if item.change == "changed":
            yield f"    before: {item.before}"
    if found.facttypes:
        yield f"fact types that would change: {', '.join(found.facttypes)}"
    if found.verdicts:
        facts = _count(found.facts, "fact")
        yield f"verdicts of the {facts} that hold now (supported / boundary / reacquire):"
    for one in found.verdicts:
        before, after = (
            "none" if c is None else " / ".join(map(str, c.values())) for c in (one.before, one.after)
        )
        changed = "" if one.changed is None else f", {one.changed} would change"
        yield f"  {one.spec}: {before} -> {after}{changed}"
    yield from map(str, found.warnings)


def _as_json(spec: SpecVersion) -> dict[str, Any]:
    shown = spec.to_dict()
    del shown["text"]
    return shown


def read_spec(file: Path) -> str:
    """Return the text of a spec file; other encodings than UTF-8 are refused with the byte."""
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileEncodingError(f"{file}: not UTF-8 at byte {error.start}") from None


_KINDS = {
    "specs": "spec",
    "labels": "label",
    "rules": "rule",
    "facttypes": "fact type",
    "params": "param",
    "lets": "let",
}


@dataclass(frozen=True, slots=True)
class _Checked:
    """What a file declares, by kind (nothing where it has errors), and what is to be said about it."""

    file: str
    ok: bool
    names: dict[str, list[str]] = field(default_factory=dict)
    diagnostics: tuple[dict[str, object], ...] = ()
    texts: tuple[str, ...] = ()

    def count(self, severity: str) -> int:
        return sum(one["severity"] == severity for one in self.diagnostics)

    def as_json(self) -> dict[str, Any]:
        return {"file": self.file, "ok": self.ok, "diagnostics": list(self.diagnostics)} | self.names

    def lines(self) -> Iterator[str]:
        yield from self.texts
        if self.ok:
            words = [_count(len(names), _KINDS[kind]) for kind, names in self.names.items() if names]
            yield f"{self.file}: ok, {', '.join(words) or 'declares nothing'}"


def _check_file(file: Path, strict: bool) -> _Checked:
    from chronofy_kg.spec import check_spec, parse_spec

    name = str(file)

    def load(path: str) -> str:
        return read_spec(file.parent / path)

    try:
        text = read_spec(file)
        found = check_spec(text, name, loader=load)
    except FileEncodingError as error:
        problem: dict[str, object] = {
            "file": name, "severity": "error", "code": "encoding", "message": str(error),
        }  # fmt: skip
        return _Checked(name, False, diagnostics=(problem,), texts=(str(error),))
    maps, texts = tuple(one.to_dict() for one in found), tuple(str(one) for one in found)
    if any(one.severity == "error" for one in found):
        return _Checked(name, False, diagnostics=maps, texts=texts)
    parsed = parse_spec(text, name, loader=load)
    return _Checked(
        name, not (strict and found), {kind: list(getattr(parsed, kind)) for kind in _KINDS}, maps, texts
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
