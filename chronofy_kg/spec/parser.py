"""One formula or one item header from text to tree, with its errors reported.

A `Parser` holds the built grammar and belongs to one thread: `parser()` builds it when a thread first parses.
"""

from __future__ import annotations

import threading

from chronofy_kg.spec.ast import Node
from chronofy_kg.spec.diagnostics import Report, Span
from chronofy_kg.spec.grammar import FormulaGrammar
from chronofy_kg.spec.items import Header, ItemGrammar
from chronofy_kg.spec.mistakes import report_failure
from chronofy_kg.spec.operators import Table, table
from chronofy_kg.spec.scan import MOST_BRACKETS, MOST_CHARACTERS, MOST_FORMULA_TOKENS, Scan, find_groups

__all__ = ["Parser", "parser"]

_THREAD = threading.local()


class Parser:
    """The grammar of one thread."""

    def __init__(self) -> None:
        self.table: Table = table()
        self._formulas = FormulaGrammar(self.table)
        self._items = ItemGrammar(self._formulas.terminals)

    def formula(self, scan: Scan, report: Report, start: int, end: int) -> Node | None:
        """Parse the formula in [start, end) of a text, or report why it is none and return None."""
        tokens = scan.between(start, end)
        if scan.spoiled(start, end):
            return None
        first, last = (tokens[0].start, tokens[-1].end) if tokens else (start, start)
        if last - first > MOST_CHARACTERS:
            message = f"a formula has at most {MOST_CHARACTERS} characters, this one has {last - first}"
            report.error(Span(first, first + 1), "limit", message, hint="name parts of it by let")
            return None
        if len(tokens) > MOST_FORMULA_TOKENS:
            message = f"a formula has at most {MOST_FORMULA_TOKENS} words and signs"
            report.error(tokens[MOST_FORMULA_TOKENS].span, "limit", message, hint="name parts of it by let")
            return None
        groups, deep = find_groups(tokens, last, self.table)
        if deep is not None:
            report.error(deep.span, "limit", f"brackets are nested more than {MOST_BRACKETS} deep")
            return None
        node, failure = self._formulas.parse(scan.masked, first, max(first, last), groups)
        if failure is not None:
            report_failure(
                failure, scan, report, self.table, start=start, end=end, whole="formula", groups=groups
            )
            return None
        return None if self._problems(report) else node

    def header(self, keyword: str, scan: Scan, report: Report, start: int, end: int) -> Header | None:
        """Parse an item up to its formula, or report why it is none and return None."""
        header, failure = self._items.parse(keyword, scan.masked[start:end], start)
        if failure is not None:
            report_failure(failure, scan, report, self.table, start=start, end=end)
            return None
        return None if self._problems(report) else header

    def _problems(self, report: Report) -> bool:
        problems = self._formulas.terminals.problems
        for problem in problems.values():
            report.error(problem.span, problem.code, problem.message, hint=problem.hint)
        return bool(problems)


def parser() -> Parser:
    """Return the parser of this thread."""
    found: Parser | None = getattr(_THREAD, "parser", None)
    if found is None:
        found = _THREAD.parser = Parser()
    return found
