"""Warnings: what a file says that is well-formed and most likely not meant.

Names that nothing uses, labels that can never be given, formulas that are always or never true, comparisons
by == (at most on the boundary), operators whose precedence surprises, rule variables that stand once. A
warning never makes a file invalid; each can be met by writing what is meant, or by a name that starts with
`_`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from chronofy_kg.errors import SpecError
from chronofy_kg.spec.ast import (
    Boolean,
    Compare,
    Logic,
    Name,
    Node,
    Not,
    Pair,
    Temporal,
    Window,
    postorder,
)
from chronofy_kg.spec.clauses import Comparison, Premise, Relation, RuleDecl, Variable
from chronofy_kg.spec.diagnostics import Report, Span
from chronofy_kg.spec.draft import Draft
from chronofy_kg.spec.format import node_text
from chronofy_kg.spec.operators import Table
from chronofy_kg.spec.resolve import names_in, substitute
from chronofy_kg.spec.satisfy import Refuter
from chronofy_kg.spec.specfile import SpecFile
from chronofy_kg.spec.surprises import is_plain, surprise

__all__ = ["lint_file"]

_MOST_NODES = 2_000
_MOST_PARTS = 200
_MOST_LABELS = 100
_MOST_PAIRED = 20


def lint_file(file: SpecFile, draft: Draft, table: Table) -> None:
    """Add the warnings about a file to its report; what its errors leave open is not warned of."""
    report = draft.report
    _unused(file, draft)
    for one in _roots(file):
        _precedence(one.root, report, table)
        _boundaries(one.root, report)
        _arrows(one.root, report)
    for rule in file.rules.values():
        _singletons(rule, report)
    if not report.diagnostics:
        _Constants(file, report).check()


class _Root(NamedTuple):
    """The formula of a let, spec or label; `let` and `label` name it where it is one."""

    root: Node
    let: str | None = None
    label: str | None = None


def _roots(file: SpecFile) -> Iterator[_Root]:
    yield from (_Root(one.formula.root, let=name) for name, one in file.lets.items())
    yield from (_Root(one.formula.root) for one in file.specs.values())
    yield from (_Root(one.formula.root, label=name) for name, one in file.labels.items())


def _used(file: SpecFile) -> set[str]:
    used: set[str] = set()
    for one in _roots(file):
        used |= names_in(one.root) - {one.let}
    for rule in file.rules.values():
        used |= {name.name for name in _params_of(rule)}
    return used


def _params_of(rule: RuleDecl) -> Iterator[Name]:
    for literal in rule.body:
        if isinstance(literal, Premise) and literal.interval is not None:
            bounds = (literal.interval.low, literal.interval.high)
            yield from (one for one in bounds if isinstance(one, Name))
    for term in _terms(rule):
        if isinstance(term, Name):
            yield term


def _terms(rule: RuleDecl) -> Iterator[object]:
    yield from rule.head.terms
    for literal in rule.body:
        match literal:
            case Premise(atom, period=period):
                yield from atom.terms
                yield period
            case Comparison(left, _, right) | Relation(left, _, right):
                yield left
                yield right


def _unused(file: SpecFile, draft: Draft) -> None:
    """Warn about names that the file declares for itself; a file of lets and params only is a library."""
    used = _used(file) | draft.mentioned
    report = draft.report
    for name, signal in file.signals.items():
        if not used & {name} and not name.startswith("_") and (file.lets or file.specs or file.labels):
            report.warn(signal.span, "unused", f"no formula reads the signal {name}", hint="leave it out")
    if not (file.specs or file.labels or file.rules or draft.mentioned):
        return
    named: dict[str, Span] = {name: decl.span for name, decl in file.params.items()}
    named |= {name: decl.span for name, decl in file.lets.items()}
    for name, span in named.items():
        if name not in used and not name.startswith("_"):
            what = "parameter" if name in file.params else "let"
            report.warn(
                span, "unused", f"nothing uses the {what} {name}", hint=f"leave it out, or call it _{name}"
            )
    owners = {name.partition(".")[0] for name in used}
    for alias, imported in file.imports.items():
        brings = imported.facttypes or imported.rules or imported.specs or imported.labels
        if alias not in owners and not brings:
            report.warn(
                draft.import_spans[alias], "unused", f"nothing uses the import {alias}", hint="leave it out"
            )


def _precedence(root: Node, report: Report, table: Table) -> None:
    text = report.source.text
    for node in postorder(root):
        for at, child in enumerate(node.children):
            why = surprise(node, at, child)
            if why is not None and not is_plain(child, text):
                shown = node_text(child)
                shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
                report.warn(
                    child.span,
                    "precedence",
                    f"{why}, here after ({shown})",
                    hint="put it in brackets, or what was meant",
                )


def _arrows(root: Node, report: Report) -> None:
    """Warn about `x <- y`, which reads as x < -y."""
    text = report.source.text
    for node in postorder(root):
        if isinstance(node, Compare) and node.operator == "<":
            at = node.right.span.start
            if text[at - 1 : at + 1] == "<-" and text[at + 1 : at + 2].isspace():
                report.warn(
                    Span(at - 1, at + 1), "precedence", "<- is an arrow in rules only; this reads as < and -",
                    hint="write -> to imply, or x < -y",
                )  # fmt: skip


def _boundaries(root: Node, report: Report) -> None:
    """Warn about == where it has to hold: its robustness is never above 0."""
    for node, positive in _polarity(root):
        if isinstance(node, Compare) and positive and node.operator == "==":
            report.warn(
                node.span, "boundary", "== never holds with a margin: its robustness is at most 0",
                hint="allow for a distance: abs(x - 3) <= 0.5",
            )  # fmt: skip


def _polarity(root: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the formulas in a tree with whether they help the whole to hold; iff and xor are left out."""
    stack = [(root, True)]
    while stack:
        node, positive = stack.pop()
        yield node, positive
        match node:
            case Logic("iff" | "xor"):
                continue
            case Logic("implies", operands):
                stack += [(one, not positive) for one in operands[:-1]]
                stack.append((operands[-1], positive))
            case Not(operand):
                stack.append((operand, not positive))
            case Window(where=where):
                stack += [(where, True)] if where is not None else []
            case Compare():
                stack += [(one, True) for one in node.children if not isinstance(one, Compare)]
            case _:
                stack += [(one, positive) for one in node.children]


def _singletons(rule: RuleDecl, report: Report) -> None:
    """Warn about variables that stand once in an atom or for a period; elsewhere they are errors."""
    counted = Counter(term.name for term in _terms(rule) if isinstance(term, Variable))
    for premise in rule.premises:
        for term in () if premise.negated else (*premise.atom.terms, premise.period):
            if isinstance(term, Variable) and counted[term.name] == 1 and not term.name.startswith("_"):
                report.warn(
                    term.span, "unused", f"{term} stands only once in this rule",
                    hint="write ?_ where a term does not matter",
                )  # fmt: skip


class _Constants:
    """Warns about formulas that always or never hold, parameters at their defaults, and shadowed labels."""

    def __init__(self, file: SpecFile, report: Report) -> None:
        self.file, self.report = file, report
        self.refuter = Refuter()

    def check(self) -> None:
        try:
            self.values = self.file.values()
        except SpecError:
            return
        whole: dict[str, Node] = {}
        for own, let, label in _roots(self.file):
            number = let is not None and self.file.lets[let].is_number
            root = None if number else self._put_in(own)
            if root is None:
                continue
            if not (label and isinstance(root, Boolean) and root.value):
                self._constant(own, root)
            if label:
                whole[label] = root
        self._shadowed(whole)

    def _put_in(self, own: Node) -> Node | None:
        """A formula with its lets put in; None: it is too large to look through."""
        root = substitute(own, self.values)
        return root if sum(1 for _ in postorder(root)) <= _MOST_NODES else None

    def _constant(self, own: Node, root: Node) -> None:
        """Warn about the smallest parts of a formula that are constant, else about the whole."""
        if not self._parts(own):
            said = self._said(root)
            if said:
                self.report.warn(own.span, "constant", said)

    def _parts(self, own: Node) -> bool:
        parts = [node for node in postorder(own) if isinstance(node, Compare | Logic | Temporal | Pair)]
        if len(parts) > _MOST_PARTS:
            return False
        found: set[int] = set()
        for node in postorder(own):
            if any(id(child) in found for child in node.children):
                found.add(id(node))
            elif isinstance(node, Compare | Logic | Temporal | Pair):
                said = self._said(substitute(node, self.values))
                if said:
                    found.add(id(node))
                    self.report.warn(node.span, "constant", said + self._why(node))
        return bool(found)

    def _said(self, root: Node) -> str | None:
        if self.refuter.never(root):
            return "this can never hold" if names_in(root) else "this is false: it reads no signal"
        if self.refuter.always(root):
            return "this can never fail" if names_in(root) else "this is true: it reads no signal"
        return None

    def _why(self, node: Node) -> str:
        if (
            not isinstance(node, Logic)
            or node.operator not in ("and", "or")
            or len(node.operands) > _MOST_PAIRED
        ):
            return ""
        operands = [substitute(one, self.values) for one in node.operands]
        for at, one in enumerate(operands):
            for other in operands[:at]:
                pair = (other, one) if node.operator == "and" else (Not(other), Not(one))
                if self.refuter.never(*pair):
                    words = "exclude one another" if node.operator == "and" else "leave nothing out"
                    return f": {node_text(other)} and {node_text(one)} {words}"
        return ""

    def _shadowed(self, labels: dict[str, Node]) -> None:
        """Warn about labels that one before them, or all before them together, always take the place of."""
        # Against each other only so many are worth the time.
        order = sorted(labels, key=lambda name: _rank(self.file.labels[name].priority))[:_MOST_LABELS]
        for at, name in enumerate(order):
            root = labels[name]
            if self.refuter.never(root):
                continue
            earlier = order[:at]
            one = next((it for it in earlier if self.refuter.never(root, Not(labels[it]))), None)
            if one is None and not (
                earlier and self.refuter.never(root, *(Not(labels[it]) for it in earlier))
            ):
                continue
            by = f"{one}, which comes first, holds" if one else f"one of {', '.join(earlier)} holds"
            self.report.warn(
                self.file.labels[name].span, "shadowed",
                f"{name} is never given: wherever it holds, {by} too",
                hint="give it a smaller priority, or a formula of its own",
            )  # fmt: skip


def _rank(priority: int | None) -> float:
    return float("inf") if priority is None else priority
