"""The Typer application: the global options, and which command is which function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from chronofy_kg import __version__
from chronofy_kg.cli.commands import ask, export, fmt, keys, learn, load, specs, system
from chronofy_kg.cli.output import prepare_streams
from chronofy_kg.cli.session import PROGRAM, AsJson, Data, Debug, Tenant, Uri, command, report

__all__ = ["app", "run"]

_EPILOG = (
    "Results go to stdout, progress and notes to stderr. Exit codes: 0 well, 1 the input has errors, 2 wrong "
    "use, 3 the store cannot be reached, 4 no answer (withheld, or insufficient evidence). Every setting can "
    "be given as CHRONOFY_KG_<NAME>; `chronofy-kg config` lists them."
)

# No markup: help and usage errors stay plain text, which costs no import of rich and reads well in a pipe.
app = typer.Typer(
    name=PROGRAM,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def _globals(
    context: typer.Context,
    uri: Uri = None,
    data: Data = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
    debug: Debug = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """A knowledge graph for facts that go stale: load, learn, ask, verify."""
    context.obj = {"uri": uri, "data": data, "tenant": tenant, "as_json": as_json, "debug": debug}


Function = Callable[..., int | None]
_COMMANDS: dict[str, Function] = {
    "load": load.load,
    "export": export.export,
    "fit": learn.fit,
    "mine": learn.mine,
    "query": ask.query,
    "verify": ask.verify,
    "explain": ask.explain,
    "check": specs.check,
    "fmt": fmt.fmt,
    "cypher": system.cypher,
    "serve": system.serve,
    "demo": system.demo,
    "config": system.config,
}
_SPECS: dict[str, Function] = {
    "put": specs.specs_put,
    "dry-run": specs.specs_dry_run,
    "list": specs.specs_list,
    "show": specs.specs_show,
}
_specs = typer.Typer(help="Store spec files and look at them.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(_specs, name="specs")
_KEYS: dict[str, Function] = {
    "create": keys.keys_create,
    "list": keys.keys_list,
    "rotate": keys.keys_rotate,
    "revoke": keys.keys_revoke,
}
_keys = typer.Typer(help="Make, rotate and end the keys of the HTTP API.", no_args_is_help=True,
                    rich_markup_mode=None)  # fmt: skip
app.add_typer(_keys, name="keys")
for _group, _functions in ((app, _COMMANDS), (_specs, _SPECS), (_keys, _KEYS)):
    for _name, _function in _functions.items():
        _group.command(_name)(command(_function))


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    prepare_streams()
    try:
        app(None if argv is None else list(argv), prog_name=PROGRAM)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            return report(end.__context__)
        return end.code if isinstance(end.code, int) else 0
    except (Exception, KeyboardInterrupt) as error:
        return report(error)
    return 0
