"""Checks what was read of a file: names, types, the order of lets, steps, rules; and makes the `SpecFile`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chronofy_kg.spec.ast import Name, Node, Number, is_number, postorder
from chronofy_kg.spec.check import FORMULA, NUMBER, UNKNOWN, Scope, Type, check_tree
from chronofy_kg.spec.clauses import RuleDecl
from chronofy_kg.spec.declare import micros
from chronofy_kg.spec.draft import Draft
from chronofy_kg.spec.format import quantity_text
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.model import LetDecl
from chronofy_kg.spec.operators import Table
from chronofy_kg.spec.resolve import order_lets
from chronofy_kg.spec.rulecheck import check_rules
from chronofy_kg.spec.specfile import SpecFile
from chronofy_kg.spec.steps import timed_nodes, whole_steps

__all__ = ["check_draft", "count_exported"]


def check_draft(draft: Draft, table: Table) -> SpecFile:
    """Report all errors of names and types in a file, and return what is declared well."""
    types = _types(draft)
    specs = dict.fromkeys(draft.specs, "a spec") | dict.fromkeys(draft.labels, "a label")
    others = {name: what for name, what in specs.items() if name not in types}
    bounds = _bounds(draft)
    # Where no signal is declared any name is one; where a declaration failed, it may have been any name.
    scope = Scope(types, bounds, draft.signals_failed or not draft.signals, others, draft.imports)
    lets = _check_lets(draft, scope, types, table)
    roots = [spec.formula.root for spec in draft.specs.values()]
    roots += [label.formula.root for label in draft.labels.values()]
    for root in roots:
        check_tree(root, scope, draft.report, table)
    _check_steps(draft, roots, list(lets), bounds, table)
    check_rules(draft.rules, _rules_of(draft.imports.values()), scope, draft.report, table)
    return SpecFile(
        params=draft.params,
        signals=draft.signals,
        facttypes=draft.facttypes,
        lets=lets,
        specs=draft.specs,
        labels=draft.labels,
        rules=draft.rules,
        imports=draft.imports,
        source=draft.source,
    )


def _types(draft: Draft) -> dict[str, Type]:
    types: dict[str, Type] = dict.fromkeys(draft.unknown, UNKNOWN)
    types.update(dict.fromkeys(draft.signals, NUMBER))
    types.update((name, _param_type(decl.default)) for name, decl in draft.params.items())
    for alias, file in draft.imports.items():
        types.update((f"{alias}.{name}", kind) for name, kind in _exported(file).items())
    return types


def _bounds(draft: Draft) -> dict[str, Number]:
    bounds = {name: decl.default for name, decl in draft.params.items()}
    for alias, file in draft.imports.items():
        bounds.update((f"{alias}.{name}", decl.default) for name, decl in file.params.items())
    return bounds


def _check_lets(draft: Draft, scope: Scope, types: dict[str, Type], table: Table) -> dict[str, LetDecl]:
    """Check the lets, each after those it refers to; adds their types."""
    report = draft.report
    least = {name: decl.low.value for name, decl in draft.params.items() if decl.low is not None}
    order = order_lets({name: let.root for name, let in draft.lets.items()}, least)
    for name, (span, why) in order.unguarded.items():
        report.error(
            span, "name", f"{name} refers to itself {why}",
            hint=f"refer to its past: prev {name}, or O[1,...] {name}",
        )  # fmt: skip
    for name, (span, circle) in order.cyclic.items():
        way = " -> ".join(circle)
        report.error(span, "name", f"{name} refers to itself through other lets: {way}")
    types.update(dict.fromkeys(draft.lets.keys() - set(order.names), UNKNOWN))
    lets: dict[str, LetDecl] = {}
    for name in order.names:
        let = draft.lets[name]
        if name in order.unguarded:
            types[name] = UNKNOWN
        elif name in order.recursive:
            types[name] = NUMBER if is_number(let.root) else FORMULA
        found = types[name] = check_tree(let.root, scope, report, table, number=True)
        formula = Formula(let.root, draft.source)
        lets[name] = LetDecl(name, formula, found.kind == "number", name in order.recursive, let.name.span)
    return lets


def _check_steps(
    draft: Draft, roots: list[Node], order: list[str], bounds: Mapping[str, Number], table: Table
) -> None:
    """Report bounds that are no multiple of the declared step of a signal that is read under them."""
    steps = {
        name: decl.step for name, decl in draft.signals.items() if decl.step is not None and decl.step.unit
    }
    for alias, file in draft.imports.items():
        steps.update(
            (f"{alias}.{name}", decl.step)
            for name, decl in file.signals.items()
            if decl.step is not None and decl.step.unit
        )
    if not steps:
        return
    for name in order:
        root = draft.lets[name].root
        found = _check_steps_under(root, steps, bounds, draft, table)
        if found is not None:
            steps[name] = found
    for root in roots:
        _check_steps_under(root, steps, bounds, draft, table)


def _check_steps_under(
    root: Node, steps: Mapping[str, Number], bounds: Mapping[str, Number], draft: Draft, table: Table
) -> Number | None:
    """Check the bounds of one tree and return the step that is read in it, if there is one."""
    under: dict[int, Number | None] = {}
    for node in postorder(root):
        found = (
            [steps.get(node.name)] if isinstance(node, Name) else [under[id(one)] for one in node.children]
        )
        under[id(node)] = next((one for one in found if one is not None), None)
    for node in timed_nodes(root):
        step = under[id(node)]
        assert node.interval is not None
        for bound in (node.interval.low, node.interval.high):
            value = bounds.get(bound.name) if isinstance(bound, Name) else bound
            if step is None or value is None or value.unit is None:
                continue
            if whole_steps(micros(value, table), micros(step, table)) is None:
                text, whole = (quantity_text(one.value, one.unit) for one in (value, step))
                shown = f"{bound.name} = {text}" if isinstance(bound, Name) else text
                draft.report.error(bound.span, "unit", f"bound {shown} is not a multiple of the step {whole}")
    return under[id(root)]


def _param_type(default: Number) -> Type:
    return Type("number", "time" if default.unit else "plain")


def _rules_of(files: Iterable[SpecFile]) -> list[RuleDecl]:
    """The rules of imports and of theirs, each file's once."""
    rules: list[RuleDecl] = []
    seen: set[int] = set()
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if id(file) not in seen:
            seen.add(id(file))
            rules.extend(file.rules.values())
            waiting.extend(file.imports.values())
    return rules


def count_exported(file: SpecFile, counted: dict[int, int] | None = None) -> int:
    """Return how many names an import brings, those of its own imports under each of their aliases too."""
    counted = {} if counted is None else counted
    if id(file) not in counted:
        own = len(file.signals) + len(file.params) + len(file.lets)
        counted[id(file)] = own + sum(count_exported(one, counted) for one in file.imports.values())
    return counted[id(file)]


def _exported(file: SpecFile) -> dict[str, Type]:
    types: dict[str, Type] = dict.fromkeys(file.signals, NUMBER)
    types.update((name, _param_type(decl.default)) for name, decl in file.params.items())
    types.update((name, NUMBER if let.is_number else FORMULA) for name, let in file.lets.items())
    for alias, inner in file.imports.items():
        types.update((f"{alias}.{name}", kind) for name, kind in _exported(inner).items())
    return types
