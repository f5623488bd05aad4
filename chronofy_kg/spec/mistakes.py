"""Words for syntax errors: what was found, what could have stood there, and one hint.

The place comes from the furthest failure of the grammar; this module turns the names of terminals into the
user's words. The usual mistakes and their hints are data (`known`); only what needs more than the
neighbouring tokens is decided here: a misspelt operator, an unclosed bracket.
"""

from __future__ import annotations

from collections.abc import Collection

from chronofy_kg.spec.diagnostics import Report, Span, did_you_mean
from chronofy_kg.spec.known import Place, find_mistake
from chronofy_kg.spec.operators import Table
from chronofy_kg.spec.scan import Group, Scan, Token
from chronofy_kg.spec.terminals import END, Failure

__all__ = ["report_failure"]

_EXPRESSION = frozenset({"a name", "a number", "a function", "'('", "'-'", "true or false"})
_TERM = frozenset({"a variable", "a text in double quotes", "a number", "'-'", "a parameter"})
_LITERAL = _TERM | {"a past operator"}
_MOST_EXPECTED = 6


def report_failure(
    failure: Failure,
    scan: Scan,
    report: Report,
    table: Table,
    *,
    start: int,
    end: int,
    whole: str = "item",
    groups: Collection[Group] = (),
) -> None:
    """Add the error for the place at which nothing fits.

    Args:
        failure: the furthest failure.
        scan: the tokens of the text.
        report: where the error goes.
        table: the operator table.
        start: where the item or formula starts.
        end: where it ends.
        whole: what ends there, for the words "the end of the ...".
        groups: the round brackets of the formula.
    """
    at = scan.index_at(failure.offset)
    token = scan.tokens[at] if at < len(scan.tokens) else None
    before = scan.tokens[at - 1] if at > 0 and scan.tokens[at - 1].start >= start else None
    expected = _expected(failure.tried, whole)
    if before is not None and _misspelt(before, token, end, failure, report, table):
        return
    if token is not None and before is not None and _is_unit(token, before, failure, table):
        hint = table.unit_hints[token.text]
        report.error(
            token.span, "unit", f"{token.text!r} is no unit of time", expected=list(table.units), hint=hint
        )
        return
    span = token.span if token else _after(scan)
    if token is None or (token.start >= end and _is_next(scan, before, token, table)):
        message = f"the {whole} ends too early"
    elif token.text in table.reserved and "a name" in failure.tried and "a formula" not in expected:
        message = f"{token.text!r} is a reserved word"
    else:
        message = f"unexpected {_shown(token)}"
    advice = _hint(token, before, failure, expected, scan, table, groups, start)
    report.error(span, "syntax", message, expected=expected, hint=advice)


def _is_next(scan: Scan, before: Token | None, token: Token, table: Table) -> bool:
    """Whether a token after the end begins another item, rather than being an item word taken for a name."""
    if token.text not in table.reserved:
        return True
    return before is not None and "\n" in scan.masked[before.end : token.start]


def _is_unit(token: Token, before: Token, failure: Failure, table: Table) -> bool:
    """Whether a word after a number was meant as a unit; a single letter in a formula is rather a signal."""
    if before.kind != "number" or token.text not in table.unit_hints:
        return False
    return len(token.text) > 1 or "an operator" not in failure.tried


def _after(scan: Scan) -> Span:
    end = scan.tokens[-1].end if scan.tokens else 0
    return Span(end, end + 1)


def _shown(token: Token) -> str:
    return repr(token.text if len(token.text) <= 40 else token.text[:37] + "...")


def _expected(tried: Collection[str], whole: str) -> list[str]:
    """The names of terminals in few and plain words."""
    words = set(tried)
    if "a formula" in words:
        words -= _EXPRESSION
    elif {"'('", "a number", "a name"} <= words:
        words = words - _EXPRESSION | {"an expression"}
    if {"an atom", "a variable"} <= words:
        words = words - _LITERAL | {"a comparison"}
    elif "a variable" in words:
        words = words - _TERM | {"a variable such as ?x, a text in quotes, a number or a parameter"}
    if END in words:
        words = words - {END} | {f"the end of the {whole}"}
    if "a parameter" in words:
        words -= {"'-'"}
    order = ["a formula", "an expression", "an interval", "a number", "an operator"]
    return sorted(words, key=lambda word: (order.index(word) if word in order else 9, word))[:_MOST_EXPECTED]


def _misspelt(
    before: Token, token: Token | None, end: int, failure: Failure, report: Report, table: Table
) -> bool:
    """Report a misspelt operator or function at its word, not at what follows it."""
    if before.kind != "word" or before.text in table.reserved or "an operator" not in failure.tried:
        return False
    if token is None or token.start >= end:
        return False
    called = token.text == "("
    if not (called or token.text == "[" or token.kind in ("word", "number")) or token.text in table.items:
        return False
    words = table.reserved - set(table.items)
    meant = table.synonyms.get(before.text) or did_you_mean(
        before.text, (word for word in words if len(word) > 2 or called)
    )
    if meant is None and not called:
        return False
    kind = "function" if called else "operator"
    hint = f"did you mean {meant}?" if meant else f"the functions are {', '.join(table.functions)}"
    report.error(
        before.span, "name", f"{before.text!r} is no {kind}", expected=[meant] if meant else [], hint=hint
    )
    return True


def _hint(
    token: Token | None,
    before: Token | None,
    failure: Failure,
    expected: list[str],
    scan: Scan,
    table: Table,
    groups: Collection[Group],
    start: int,
) -> str | None:
    unclosed = [group.open for group in groups if group.close is None and group.open < failure.offset]
    if "')'" in failure.tried and unclosed:
        line, column = scan.source.place(max(unclosed))
        return f"the bracket opened at {line}:{column} is not closed"
    if token is None:
        return None
    known = find_mistake(_place(token, before, failure, expected, scan, table, start))
    if known is not None:
        return known
    at = scan.index_at(token.start)
    if (
        token.text == ")"
        and not any(one.close == token.start for one in groups)
        and not _opener(scan, at, start)
    ):
        return "this bracket closes nothing"
    if token.kind == "word":
        words = {one.strip("'") for one in failure.tried if one.startswith("'")} | set(table.items)
        if "an operator" in expected:
            words |= table.operator_words
        if "a relation" in failure.tried:
            words |= set(table.relations)
        meant = table.synonyms.get(token.text) or did_you_mean(
            token.text, (word for word in words if len(word) > 1)
        )
        return f"did you mean {meant}?" if meant and meant in words else None
    return None


def _place(
    token: Token,
    before: Token | None,
    failure: Failure,
    expected: list[str],
    scan: Scan,
    table: Table,
    start: int,
) -> Place:
    at = scan.index_at(token.start)
    after = scan.tokens[at + 1] if at + 1 < len(scan.tokens) else None
    near = after if after is not None and after.start == token.end else None
    tried = {*failure.tried, *expected}
    return Place(token, before, near, tried, _item(scan, at, table), _opener(scan, at, start), table)


def _item(scan: Scan, at: int, table: Table) -> str:
    """The word of the item that a token stands in, or empty."""
    for token in reversed(scan.tokens[:at]):
        if token.text in table.items:
            return token.text
        if token.text == ";":
            return ""
    return ""


def _opener(scan: Scan, at: int, start: int) -> Token | None:
    """The token before the innermost round bracket that is open at a token."""
    depth = 0
    for index in range(at - 1, -1, -1):
        token = scan.tokens[index]
        if token.start < start:
            return None
        if token.text == ")":
            depth += 1
        elif token.text == "(":
            if not depth:
                return scan.tokens[index - 1] if index and scan.tokens[index - 1].start >= start else None
            depth -= 1
    return None
