"""`SpecFile`: all that one file declares, and any of its formulas put together into a plain one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from chronofy_kg.spec.ast import Call, Name, Node, Number, Recursive
from chronofy_kg.spec.check import Scope, check_tree
from chronofy_kg.spec.clauses import RuleDecl
from chronofy_kg.spec.declare import range_problem
from chronofy_kg.spec.diagnostics import Diagnostic, Report, Source, Span, did_you_mean, raise_diagnostics
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.model import FactTypeDecl, LabelDecl, LetDecl, ParamDecl, SignalDecl, SpecDecl
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.resolve import MOST_NODES, Extent, extent, names_in, place_at, quantity_of, substitute
from chronofy_kg.spec.scan import MOST_BRACKETS

__all__ = ["SpecFile"]


@dataclass(frozen=True, slots=True)
class SpecFile:
    """All that a spec file declares, each kind by name in the order of the text.

    `lets` are in an order in which each stands after those it refers to. `facttypes` holds those of imports
    too, under their own names; other names of an import are reached as `alias.name`.
    """

    params: Mapping[str, ParamDecl]
    signals: Mapping[str, SignalDecl]
    facttypes: Mapping[str, FactTypeDecl]
    lets: Mapping[str, LetDecl]
    specs: Mapping[str, SpecDecl]
    labels: Mapping[str, LabelDecl]
    rules: Mapping[str, RuleDecl] = field(default_factory=dict)
    imports: Mapping[str, SpecFile] = field(default_factory=dict)
    source: Source = field(default=Source(""), compare=False, repr=False)

    def formula(self, name: str, params: Mapping[str, float | str] | None = None) -> Formula:
        """Return a spec, label or let as one plain formula: lets put in, parameters as numbers.

        Args:
            name: of a spec, label or let; `alias.name` for one of an import.
            params: values in place of the defaults: numbers, or text with a unit such as "3 d".

        Raises:
            SpecTypeError: no such name, no such parameter, a value out of its range, or an interval that the
                values turn round.

        >>> from chronofy_kg.spec import parse_spec
        >>> pack = parse_spec("param gamma in [0, 1] = 0.5; spec valid: G validity >= gamma")
        >>> str(pack.formula("valid")), str(pack.formula("valid", {"gamma": 0.3}))
        ('G validity >= 0.5', 'G validity >= 0.3')
        """
        values = dict(params or {})
        owner, _, rest = name.partition(".")
        if rest and owner in self.imports:
            prefix = f"{owner}."
            for one in values:
                if not one.startswith(prefix):
                    self._no_such(
                        "parameter", one, [prefix + known for known in self.imports[owner].parameter_names()]
                    )
            return self.imports[owner].formula(
                rest, {one.removeprefix(prefix): values[one] for one in values}
            )
        return Formula(self._resolved(name, values), self.source)

    def values(self) -> dict[str, Node]:
        """Return the trees of all lets, of those of imports that are used, and the parameters' defaults.

        They can be put in any part of the file's formulas by `substitute`.

        Raises:
            SpecError: one of them is too large with its lets put in.
        """
        used = [let.formula.root for let in self.lets.values()]
        used += [spec.formula.root for spec in self.specs.values()]
        used += [label.formula.root for label in self.labels.values()]
        names = {name for root in used for name in names_in(root)} | self.lets.keys()
        return self._values(Call("", tuple(map(Name, sorted(names)))), {})[0]

    def _resolved(self, name: str, params: dict[str, float | str]) -> Node:
        """The tree of a spec, label or let with everything put in, checked again with the values in place."""
        decl = self.specs.get(name) or self.labels.get(name) or self.lets.get(name)
        if decl is None:
            self._no_such("spec, label or let", name, [*self.specs, *self.labels, *self.lets])
        if isinstance(decl, LetDecl) and decl.is_number:
            self._refuse(decl.span, "type", f"{name} is a number, not a formula")
        recursive = isinstance(decl, LetDecl) and decl.recursive
        tree: Node = Name(name) if recursive else decl.formula.root
        values, extents = self._values(tree, params)
        self._refuse_large(name, decl.span, extent(tree, extents))
        root = substitute(tree, values)
        report = Report(self.source)
        check_tree(root, Scope(), report, table())
        report.check()
        return root

    def parameter_names(self) -> list[str]:
        """The names of all parameters, those of imports too."""
        inner = [f"{alias}.{name}" for alias, file in self.imports.items() for name in file.parameter_names()]
        return [*self.params, *inner]

    def _values(
        self, root: Node, params: dict[str, float | str]
    ) -> tuple[dict[str, Node], dict[str, Extent]]:
        """The trees for the names that a tree needs, and how large they are."""
        known = set(self.parameter_names())
        for name in params:
            if name not in known:
                self._no_such("parameter", name, known)
        values: dict[str, Node] = {}
        for name, decl in self.params.items():
            values[name] = self._param(decl, params[name]) if name in params else decl.default
        needed = self._needed(root)
        for name in sorted(needed):
            owner, _, rest = name.partition(".")
            if rest and owner in self.imports:
                values[name] = self._imported(owner, rest, params)
        extents = {name: extent(value, {}) for name, value in values.items()}
        for name, let in self.lets.items():
            if name not in needed:
                continue
            extents[name] = extent(let.formula.root, extents)
            self._refuse_large(name, let.span, extents[name])
            body = substitute(let.formula.root, values)
            values[name] = Recursive(name, body, span=body.span) if let.recursive else body
        return values, extents

    def _refuse_large(self, name: str, span: Span, found: Extent) -> None:
        if found.size > MOST_NODES:
            self._refuse(span, "limit", f"{name} has more than {MOST_NODES} parts with its lets put in")
        if found.depth > MOST_BRACKETS:
            self._refuse(
                span, "limit", f"{name} is more than {MOST_BRACKETS} operators deep with its lets put in"
            )

    def _needed(self, root: Node) -> set[str]:
        needed: set[str] = set()
        waiting = list(names_in(root))
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting.extend(names_in(self.lets[name].formula.root) if name in self.lets else ())
        return needed

    def _imported(self, alias: str, name: str, params: dict[str, float | str]) -> Node:
        other, prefix = self.imports[alias], f"{alias}."
        inner = {one.removeprefix(prefix): value for one, value in params.items() if one.startswith(prefix)}
        if name in other.params or name in other.lets or "." in name:
            root = Name(name)
            value = substitute(root, other._values(root, inner)[0])
            # Places in the other file mean nothing in this one's text.
            return place_at(value, Span(0, 0), prefix)
        return Name(name)

    def _param(self, decl: ParamDecl, value: float | str) -> Number:
        number = quantity_of(decl.name, value, table())
        if isinstance(number, Diagnostic):
            raise_diagnostics([number])
        if bool(number.unit) != bool(decl.unit) and number.value != 0:
            what = "a time with a unit" if decl.unit else "a plain number"
            self._refuse(decl.span, "unit", f"parameter {decl.name} is {what}")
        if problem := range_problem(decl, number, table()):
            self._refuse(decl.span, "value", problem)
        return number

    def _refuse(self, span: Span, code: str, message: str) -> NoReturn:
        raise_diagnostics([self.source.diagnostic(span, code, message)])

    def _no_such(self, what: str, name: str, known: Iterable[str]) -> NoReturn:
        names = sorted(known)
        meant = did_you_mean(name, names)
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(names)}" if names else None
        message = f"{self.source.file} has no {what} {name!r}"
        raise_diagnostics([Diagnostic(1, 1, 2, "name", message, (), hint, self.source.file)])
