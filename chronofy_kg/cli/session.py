"""What every command shares: the global options, the settings, the knowledge base, and how errors end.

`command` turns a function of a `Session` into one that Typer can register: it adds the global options and
maps errors to exit codes.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronofy_kg.cli.output import Output, on_one_line
from chronofy_kg.errors import ChronofyError, SpecError, StoreError, TimeFormatError

if TYPE_CHECKING:
    from chronofy_kg.kb import KnowledgeBase
    from chronofy_kg.settings import Settings

__all__ = [
    "PROGRAM",
    "AsJson",
    "Data",
    "Debug",
    "Exit",
    "Session",
    "Tenant",
    "Uri",
    "command",
    "open_kb",
    "report",
]

PROGRAM = "chronofy-kg"


class Exit:
    """The exit codes."""

    WELL = 0
    INPUT = 1
    USE = 2
    STORE = 3
    NO_ANSWER = 4
    UNEXPECTED = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


Uri = Annotated[
    str | None,
    typer.Option(
        "--uri", metavar="URI", help="Graph store: embedded:, bolt://HOST:PORT or neo4j://HOST:PORT."
    ),
]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder of the embedded store and of caches.")
]
Tenant = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Tenant to work for.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
#: The options that stand before or after a command, by name of the parameter.
GLOBALS: dict[str, Any] = {"uri": Uri, "data": Data, "tenant": Tenant, "as_json": AsJson, "debug": Debug}


def open_kb(settings: Settings) -> KnowledgeBase:
    """Open the knowledge base that the settings name; the one place where the command line does so."""
    from chronofy_kg.kb import KnowledgeBase

    return KnowledgeBase.open(settings=settings)


@dataclass
class Session:
    """One run of one command.

    Attributes:
        flags: settings given on the command line, by name; None where not given.
        as_json: whether the result is to be one JSON document.
        debug: whether errors show their traceback.
        output: the streams.
    """

    flags: dict[str, Any]
    as_json: bool = False
    debug: bool = False
    output: Output = field(default_factory=Output)
    _settings: Settings | None = None

    @property
    def settings(self) -> Settings:
        """The effective settings.

        Raises:
            typer.BadParameter: a flag, the environment or the settings file is wrong.
        """
        if self._settings is None:
            from chronofy_kg.errors import InputError
            from chronofy_kg.settings import load_settings

            try:
                self._settings = load_settings(**self.flags)
            except InputError as error:
                raise typer.BadParameter(on_one_line(error)) from None
        return self._settings

    def opened(self) -> KnowledgeBase:
        """Open the knowledge base; whoever asked closes it."""
        settings, notes = self.settings, self.output.notes
        # The embedded engine takes seconds to start; a person should see that something happens.
        with notes.status("opening the graph store") if notes.is_terminal else nullcontext():
            return open_kb(settings)

    @contextmanager
    def knowledge_base(self) -> Iterator[KnowledgeBase]:
        """Open the knowledge base for the length of a block."""
        with self.opened() as kb:
            yield kb

    def instant(self, option: str, text: str | None) -> int | None:
        """Return the instant of an option in microseconds, None where it was not given.

        Raises:
            typer.BadParameter: the text is no instant.
        """
        if text is None:
            return None
        from chronofy_kg.facts.time import parse_moment

        try:
            return parse_moment(text, zone=self.settings.default_zone)
        except TimeFormatError as error:
            raise typer.BadParameter(str(error), param_hint=option) from None


def command(function: Callable[..., int | None]) -> Callable[..., None]:
    """Return a function for Typer from one that takes a Session first and may return an exit code."""
    own = inspect.signature(function, eval_str=True)
    parameters = list(own.parameters.values())[1:]

    def run(**values: Any) -> None:
        outer = typer.Context.find_root(values.pop("context")).obj or {}
        given = {name: values.pop(name) or outer.get(name) for name in GLOBALS}
        session = Session(
            {name: given[name] for name in ("uri", "data", "tenant")},
            bool(given["as_json"]),
            bool(given["debug"]),
        )
        raise typer.Exit(_guarded(session, function, values))

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=annotation,
            default=False if name in _FLAGS else None,
        )
        for name, annotation in GLOBALS.items()
    ]
    signature = inspect.Signature([context, *keywords, *shared])
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    return run


_FLAGS = ("as_json", "debug")


def _guarded(session: Session, function: Callable[..., int | None], values: dict[str, Any]) -> int:
    """Run a command and return its exit code; wrong use passes through to Typer, which words it."""
    try:
        _refuse_surrogates(values)
        code = function(session, **values) or Exit.WELL
        sys.stdout.flush()
    except (typer.BadParameter, typer.Exit):
        raise
    except (Exception, KeyboardInterrupt) as error:
        return report(error, debug=session.debug)
    return code


def _refuse_surrogates(values: dict[str, Any]) -> None:
    """Refuse arguments whose bytes are no text; names of files may be any bytes."""
    for value in values.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and any("\ud800" <= char <= "\udfff" for char in text):
                raise typer.BadParameter(f"{on_one_line(text)!r} is not valid UTF-8")


def report(error: BaseException, *, debug: bool = False) -> int:
    """Tell the user of an error on stderr and return the exit code that it means."""
    if isinstance(error, BrokenPipeError):
        # Python would complain about the unflushed rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE
    output = Output()
    if debug:
        output.note("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, KeyboardInterrupt):
        output.note("interrupted")
        return Exit.INTERRUPTED
    if isinstance(error, SpecError):
        output.note(str(error), "red")
        return Exit.INPUT
    if isinstance(error, ChronofyError):
        output.note(f"{PROGRAM}: {on_one_line(error)}", "red")
        return Exit.STORE if isinstance(error, StoreError) else Exit.INPUT
    if isinstance(error, OSError):
        output.note(f"{PROGRAM}: {on_one_line(error.strerror or error)}", "red")
        return Exit.INPUT
    hint = "" if debug else " (--debug shows where)"
    output.note(f"{PROGRAM}: unexpected {type(error).__name__}: {on_one_line(error)}{hint}", "red")
    return Exit.UNEXPECTED
