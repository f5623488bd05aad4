"""Checks rules: safe variables, kinds of terms, windows, one arity a predicate, and no cycle through a
negation.

Safety after Abiteboul, Hull, Vianu, Foundations of Databases, section 5: every variable of the head, of a
negated atom and of a comparison is bound by an atom of the body that is not negated. A program without a
cycle through a negation is stratified: it can be computed stratum by stratum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chronofy_kg.errors import TimeFormatError
from chronofy_kg.facts.time import parse_instant, parse_period
from chronofy_kg.spec.ast import Name, Number
from chronofy_kg.spec.check import UNKNOWN, Scope, check_interval
from chronofy_kg.spec.clauses import (
    Atom,
    Comparison,
    Premise,
    Relation,
    RuleDecl,
    Term,
    Text,
    Variable,
    atoms_of,
)
from chronofy_kg.spec.diagnostics import Report, did_you_mean
from chronofy_kg.spec.operators import Table

__all__ = ["check_rules", "negation_cycle"]


def check_rules(
    rules: Mapping[str, RuleDecl], imported: Iterable[RuleDecl], scope: Scope, report: Report, table: Table
) -> None:
    """Report all that is wrong with the rules of a file; `imported` are those it is run together with."""
    others = list(imported)
    for rule in rules.values():
        _RuleChecker(rule, scope, report, table).check()
    _check_arities(list(rules.values()), others, report)
    cycle = negation_cycle([*rules.values(), *others])
    if cycle:
        own = {id(one) for rule in rules.values() for one in rule.premises}
        shown = " <- ".join(f"{'not ' if negated else ''}{name}" for name, negated, _ in cycle)
        premise = next((one for _, negated, one in cycle if negated and id(one) in own), None)
        premise = premise or next((one for _, _, one in cycle if id(one) in own), None)
        if premise is not None:
            report.error(
                premise.span, "cycle", f"{cycle[0][0]} depends on its own absence: {shown}",
                hint="break the circle: what a negation asks for may not rest on what it decides",
            )  # fmt: skip


class _RuleChecker:
    def __init__(self, rule: RuleDecl, scope: Scope, report: Report, table: Table) -> None:
        self.rule, self.scope, self.report, self.table = rule, scope, report, table
        positive = [one for one in rule.premises if not one.negated]
        self.bound = {term.name for one in positive for term in _variables(one.atom.terms)} - {"_"}
        self.periods: dict[str, Variable] = {}
        self.unsafe: set[str] = set()

    def check(self) -> None:
        for premise in self.rule.premises:
            self._period(premise)
        self._atom(self.rule.head)
        self._bound(self.rule.head.terms, "the head")
        for premise in self.rule.premises:
            self._atom(premise.atom)
            if premise.interval is not None:
                self._window(premise)
            if premise.negated:
                self._bound(premise.atom.terms, "a negated atom", anonymous=True)
        for literal in self.rule.body:
            if isinstance(literal, Comparison):
                self._comparison(literal)
            elif isinstance(literal, Relation):
                self._relation(literal)

    def _period(self, premise: Premise) -> None:
        period = premise.period
        if period is None:
            return
        if premise.negated:
            self.report.error(period.span, "type", "a fact that is not there has no period")
        elif period.name in self.bound:
            self.report.error(period.span, "type", f"{period} is a value and cannot stand for a period")
        elif period.name in self.periods:
            self.report.error(period.span, "name", f"{period} already stands for another period")
        if period.name != "_":
            self.periods.setdefault(period.name, period)

    def _atom(self, atom: Atom) -> None:
        if not atom.predicate:
            self.report.error(atom.span, "value", "an atom has a name")
        for term in atom.terms:
            if isinstance(term, Name):
                self._param(term)
            elif isinstance(term, Variable) and term.name in self.periods:
                self.report.error(
                    term.span, "type", f"{term} stands for a period and is no value of an atom",
                    hint="compare periods by before, meets, overlaps, during, ...",
                )  # fmt: skip

    def _param(self, term: Name) -> None:
        known = self.scope.types.get(term.name)
        if term.name in self.scope.params or UNKNOWN in (
            known,
            self.scope.types.get(term.name.partition(".")[0]),
        ):
            return
        meant = did_you_mean(term.name, self.scope.params)
        hint = f"did you mean {meant}?" if meant else f'a variable is ?{term.name}, a text "{term.name}"'
        self.report.error(term.span, "name", f"{term.name!r} is no parameter", hint=hint)

    def _bound(self, terms: Iterable[Term], where: str, anonymous: bool = False) -> None:
        for term in _variables(terms):
            free = term.name not in self.bound and term.name not in self.periods
            # One missing atom is one mistake, however often its variable stands.
            free = free and term.name not in self.unsafe
            if free and not (anonymous and term.name == "_"):
                self.unsafe |= {term.name} - {"_"}
                self.report.error(
                    term.span, "safety",
                    f"{term} in {where} is bound by no atom of the body that is not negated",
                    hint=self._meant(term),
                )  # fmt: skip

    def _meant(self, term: Variable) -> str | None:
        meant = did_you_mean(term.name, self.bound)
        return f"did you mean ?{meant}?" if meant else f"add an atom with {term} to the body"

    def _window(self, premise: Premise) -> None:
        assert premise.interval is not None
        check_interval(premise.interval, self.scope, self.report, self.table)
        for bound in (premise.interval.low, premise.interval.high):
            number = self.scope.params.get(bound.name) if isinstance(bound, Name) else bound
            if (
                number is not None
                and not number.unit
                and number.value - number.value == 0
                and number.value > 0
            ):
                self.report.error(
                    bound.span, "unit", "a window over facts is a time", expected=list(self.table.units),
                    hint="give it a unit, such as 30 d",
                )  # fmt: skip

    def _comparison(self, one: Comparison) -> None:
        self._bound((one.left, one.right), "a comparison")
        for term in (one.left, one.right):
            if isinstance(term, Name):
                self._param(term)
            elif isinstance(term, Variable) and term.name in self.periods:
                self.report.error(
                    term.span, "type", f"{term} stands for a period; {one.operator} compares values",
                    hint="compare periods by before, meets, overlaps, during, ...",
                )  # fmt: skip
        texts = [term for term in (one.left, one.right) if isinstance(term, Text)]
        numbers = [term for term in (one.left, one.right) if isinstance(term, Number | Name)]
        if texts and numbers:
            self.report.error(texts[0].span, "type", "a text meets a number")
        elif texts and one.operator not in ("==", "!="):
            self.report.error(
                texts[0].span, "type", f"{one.operator} compares numbers, and this is a text",
                hint="texts are compared by == and !=; periods by before, after, during, ...",
            )  # fmt: skip

    def _relation(self, one: Relation) -> None:
        for side in (one.left, one.right):
            if isinstance(side, Text):
                self._instant(side)
            elif side.name in self.bound:
                self.report.error(
                    side.span, "type", f"{side} is a value; {one.relation} compares periods",
                    hint="name the period of an atom: p(?x) as ?t",
                )  # fmt: skip
            elif side.name not in self.periods:
                meant = did_you_mean(side.name, self.periods)
                hint = f"did you mean ?{meant}?" if meant else f"name the period of an atom: p(?x) as {side}"
                self.report.error(side.span, "safety", f"{side} is the period of no atom", hint=hint)

    def _instant(self, text: Text) -> None:
        problem: TimeFormatError | None = None
        for parse in (parse_period, parse_instant):
            try:
                parse(text.value)
            except TimeFormatError as error:
                problem = error
            else:
                return
        self.report.error(text.span, "value", f"{text} is no instant or period", hint=str(problem))


def _variables(terms: Iterable[Term]) -> list[Variable]:
    return [term for term in terms if isinstance(term, Variable)]


def _check_arities(rules: list[RuleDecl], others: list[RuleDecl], report: Report) -> None:
    first: dict[str, tuple[Atom, bool]] = {}
    for rule in others:
        for atom in atoms_of(rule):
            first.setdefault(atom.predicate, (atom, False))
    for rule in rules:
        for atom in atoms_of(rule):
            before, own = first.setdefault(atom.predicate, (atom, True))
            if len(before.terms) == len(atom.terms):
                continue
            place = f"line {report.source.place(before.span.start)[0]}" if own else "an import"
            count = len(before.terms)
            report.error(
                atom.span, "arity",
                f"{atom.predicate} has {len(atom.terms)} term{'s' if len(atom.terms) != 1 else ''} here"
                f" and {count} in {place}",
                hint="?_ stands for a term that does not matter",
            )  # fmt: skip


Link = tuple[str, bool, Premise | None]


def negation_cycle(rules: Iterable[RuleDecl]) -> list[Link]:
    """Return a shortest cycle through a negation, or nothing.

    Returns:
        The predicates along the cycle, each with whether the one before asks for its absence and the premise
        that does; the first predicate stands at both ends.
    """
    needs: dict[str, list[tuple[str, bool, Premise]]] = {}
    for rule in rules:
        needs.setdefault(rule.head.predicate, []).extend(
            (one.atom.predicate, one.negated, one) for one in rule.premises
        )
    for name, links in needs.items():
        for to, negated, premise in links:
            if negated:
                way = _way(to, name, needs)
                if way is not None:
                    return [(name, False, None), (to, True, premise), *way]
    return []


def _way(start: str, goal: str, needs: Mapping[str, list[tuple[str, bool, Premise]]]) -> list[Link] | None:
    """The shortest chain of links from one predicate to another; empty if they are the same."""
    came: dict[str, tuple[str, bool, Premise]] = {}
    front = [start]
    seen = {start}
    while front and goal not in seen:
        found: list[str] = []
        for name in front:
            for to, negated, premise in needs.get(name, ()):
                if to not in seen:
                    seen.add(to)
                    came[to] = (name, negated, premise)
                    found.append(to)
        front = found
    if goal not in seen:
        return None
    way: list[Link] = []
    name = goal
    while name != start:
        before, negated, premise = came[name]
        way.append((name, negated, premise))
        name = before
    return way[::-1]
