"""Text to declarations: `parse_spec` and `parse_formula`, and `check_spec` for all that is to be said about a
text.

A file is cut into items at the item words, so that one error does not hide the next; each item is parsed on
its own, then names, types and intervals are checked over the whole file. Only `SpecError` comes out, with all
errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from chronofy_kg.spec.ast import Node, Number
from chronofy_kg.spec.check import NUMBER, Scope, Type, check_tree
from chronofy_kg.spec.diagnostics import Diagnostic, Report, Source, Span, in_order, raise_diagnostics
from chronofy_kg.spec.filereader import FileReader
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.lint import lint_file
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.parser import parser
from chronofy_kg.spec.resolve import quantity_of, substitute
from chronofy_kg.spec.scan import MOST_CHARACTERS, MOST_FORMULA_TOKENS, scan
from chronofy_kg.spec.specfile import SpecFile

__all__ = ["check_spec", "parse_formula", "parse_spec"]


def parse_spec(text: str, path: str = "<string>", loader: Callable[[str], str] | None = None) -> SpecFile:
    """Parse and check a spec file.

    Args:
        text: the file's text.
        path: its name, for messages.
        loader: gives the text of an import by the path written in it; without one an import is an error.

    Returns:
        What the file declares.

    Raises:
        SpecError: with all errors of the text and its imports, at most 20, in `.diagnostics`:
            `SpecSyntaxError` if all are lexical or syntactic, `SpecTypeError` if all are semantic.

    >>> pack = parse_spec("facttype egfr: half_life = 90 d; param gamma = 0.5; spec ok: G v >= gamma")
    >>> round(pack.facttypes["egfr"].beta_per_day, 6), list(pack.specs)
    (0.007702, ['ok'])
    """
    return FileReader(text, path, loader).read()


def check_spec(
    text: str, path: str = "<string>", loader: Callable[[str], str] | None = None
) -> tuple[Diagnostic, ...]:
    """Return all errors of a spec file and of its imports, and the warnings about it; raises nothing.

    Args:
        text: the file's text.
        path: its name, for messages.
        loader: gives the text of an import by the path written in it.

    Returns:
        At most 20 errors in order of place, then at most 20 warnings.

    >>> [str(one).splitlines()[0] for one in check_spec("param gamma = 0.5; spec ok: validity >= 0.7")]
    ['<string>:1:7: warning[unused]: nothing uses the parameter gamma']
    """
    reader = FileReader(text, path, loader)
    file = reader.read_with_errors()
    if file is not None:
        lint_file(file, reader.draft, table())
    return (*in_order(reader.report.diagnostics), *in_order(reader.report.warnings))


def parse_formula(
    text: str, params: Mapping[str, float | str] | None = None, signals: Iterable[str] | None = None
) -> Formula:
    """Parse and check one formula.

    Args:
        text: the formula.
        params: values of parameters, numbers or text with a unit such as "3 d"; they are put in the formula.
        signals: the names that may be used; None: any name is a signal.

    Returns:
        The formula, without parameters.

    Raises:
        SpecError: as `parse_spec`.

    >>> str(parse_formula("always(validity>=gamma)", params={"gamma": 0.5}))
    'G validity >= 0.5'
    >>> parse_formula("!a>0 & b>0") == parse_formula("(not (a > 0)) and (b > 0)")
    True
    """
    source = Source(text.removeprefix("\ufeff"), "<formula>")
    report = Report(source)
    values = _params(params or {})
    root = _root(source, report)
    if root is not None:
        types = dict.fromkeys(signals or (), NUMBER)
        types.update(
            (name, Type("number", "time" if value.unit else "plain")) for name, value in values.items()
        )
        check_tree(root, Scope(types, values, open=signals is None), report, table())
    report.check()
    assert root is not None
    return Formula(substitute(root, dict[str, Node](values)) if values else root, source)


def _root(source: Source, report: Report) -> Node | None:
    """The tree of a formula, before its names are checked."""
    text = source.text
    start = len(text) - len(text.lstrip())
    if len(text.rstrip()) - start > MOST_CHARACTERS:
        message = f"a formula has at most {MOST_CHARACTERS} characters"
        report.error(Span(start, start + 1), "limit", message, hint="name parts of it by let")
        return None
    scanned = scan(source, report, table(), MOST_FORMULA_TOKENS)
    return None if scanned.cut else parser().formula(scanned, report, 0, len(text))


def _params(params: Mapping[str, float | str]) -> dict[str, Number]:
    values: dict[str, Number] = {}
    bad: list[Diagnostic] = []
    for name, value in params.items():
        number = quantity_of(name, value, table())
        if isinstance(number, Diagnostic):
            bad.append(number)
        else:
            values[name] = number
    if bad:
        raise_diagnostics(bad)
    return values
