"""Reads one spec file: cuts it into items, parses each, and checks the whole.

Items go through three stages: `_split` (where each starts and ends), `_read` (grammar and declarations) and
`_check` (names, types, order of lets). Imports are read by another `FileReader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from chronofy_kg.errors import SpecError
from chronofy_kg.spec.ast import Name, Node, Number, is_number
from chronofy_kg.spec.check import FORMULA, NUMBER, UNKNOWN, Scope, Type, check_tree
from chronofy_kg.spec.clauses import RuleDecl, Text
from chronofy_kg.spec.declare import declare_facttype, declare_param, declare_rule, declare_signals, read_options
from chronofy_kg.spec.diagnostics import MOST_ERRORS, Report, Source, Span, did_you_mean
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.items import Option, Priority
from chronofy_kg.spec.model import FactTypeDecl, LabelDecl, LetDecl, ParamDecl, SignalDecl, SpecDecl
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.parser import parser
from chronofy_kg.spec.resolve import order_lets
from chronofy_kg.spec.rulecheck import check_rules
from chronofy_kg.spec.scan import MOST_FILE_TOKENS, Token, scan
from chronofy_kg.spec.specfile import SpecFile
from chronofy_kg.spec.steps import check_steps

__all__ = ["FileReader"]

MOST_FILE_CHARACTERS = 1024 * 1024
_MOST_IMPORTS_DEEP = 10

Loader = Callable[[str], str]


class _Item(NamedTuple):
    first: int
    last: int
    end: int


@dataclass(slots=True)
class _Let:
    name: Name
    root: Node


class FileReader:
    """Reads one file; `trail` holds the imports that lead to it, `loaded` the files that were read."""

    def __init__(
        self,
        text: str,
        path: str,
        loader: Loader | None,
        trail: tuple[str, ...] = (),
        loaded: dict[str, SpecFile | SpecError] | None = None,
    ) -> None:
        self.source = Source(text.removeprefix("\ufeff"), path)
        self.report = Report(self.source)
        self.table = table()
        self.loader, self.trail = loader, (*trail, path)
        # Each file is read once, however many ways lead to it.
        self.loaded: dict[str, SpecFile | SpecError] = {} if loaded is None else loaded
        self.params: dict[str, ParamDecl] = {}
        self.signals: dict[str, SignalDecl] = {}
        self.facttypes: dict[str, FactTypeDecl] = {}
        self.lets: dict[str, _Let] = {}
        self.specs: dict[str, SpecDecl] = {}
        self.labels: dict[str, LabelDecl] = {}
        self.rules: dict[str, RuleDecl] = {}
        self.imports: dict[str, SpecFile] = {}
        self.unknown: set[str] = set()
        self.places: dict[tuple[str, str], Span] = {}
        self.signals_failed = False

    def read(self) -> SpecFile:
        """Return what the file declares, or raise all its errors."""
        if not self._too_large():
            self.scan = scan(self.source, self.report, self.table)
            if len(self.scan.tokens) > MOST_FILE_TOKENS:
                span = self.scan.tokens[MOST_FILE_TOKENS].span
                message = f"a file has at most {MOST_FILE_TOKENS} words and signs"
                self.report.error(span, "limit", message, hint="split it and import the parts")
            else:
                self._read_items()
                # With that many errors the rest was not read, so its names are not known.
                if len(self.report.diagnostics) < MOST_ERRORS:
                    self._check()
        self.report.check()
        return self._file()

    def _too_large(self) -> bool:
        if len(self.source.text) <= MOST_FILE_CHARACTERS:
            return False
        span = Span(MOST_FILE_CHARACTERS, MOST_FILE_CHARACTERS + 1)
        self.report.error(span, "limit", f"a file has at most {MOST_FILE_CHARACTERS} characters")
        return True

    def _split(self) -> Iterator[_Item]:
        """Yield the items: each starts at an item word or after a semicolon."""
        tokens, first = self.scan.tokens, 0
        for at, token in enumerate(tokens):
            starts = token.kind == "word" and self._starts_item(at)
            if starts or token.text == ";":
                if at > first:
                    yield _Item(first, at, token.start)
                elif not starts and (at == 0 or tokens[at - 1].text == ";"):
                    yield _Item(at, at + 1, token.end)
                first = at if starts else at + 1
        if first < len(tokens):
            yield _Item(first, len(tokens), len(self.source.text))

    def _starts_item(self, at: int) -> bool:
        """Whether an item starts at a word: an item word, or one misspelt at the start of a line."""
        tokens, word = self.scan.tokens, self.scan.tokens[at].text
        if word in self.table.items:
            return True
        if word in self.table.reserved or at == 0 or at + 1 == len(tokens):
            return False
        if "\n" not in self.scan.masked[tokens[at - 1].end : tokens[at].start]:
            return False
        after = tokens[at + 1]
        named = after.kind == "string" or (after.kind == "word" and after.text not in self.table.reserved)
        return named and did_you_mean(word, self.table.items) is not None

    def _read_items(self) -> None:
        skip = -1
        for item in self._split():
            opener = self.scan.tokens[item.first]
            if item.first == skip:
                continue
            if len(self.report.diagnostics) >= MOST_ERRORS:
                return
            if opener.text not in self.table.items:
                self._no_item(opener)
                continue
            errors = len(self.report.diagnostics)
            spoiled = self.scan.spoiled(opener.start, item.end)
            header = None
            if not spoiled:
                header = parser().header(opener.text, self.scan, self.report, opener.start, item.end)
            if header is None:
                self._forget(item)
                skip = self._cut_short(item, errors)
                continue
            body: Node | None = None
            if header.body is not None:
                body = parser().formula(self.scan, self.report, header.body, item.end)
            _READERS[opener.text](self, header.parts, body)

    def _no_item(self, token: Token) -> None:
        meant = did_you_mean(token.text, self.table.items) if token.kind == "word" else None
        self.report.error(
            token.span,
            "syntax",
            f"{token.text[:40]!r} starts no item",
            expected=self.table.items,
            hint=f"did you mean {meant}?" if meant else None,
        )

    def _forget(self, item: _Item) -> None:
        """Keep the names of an item with errors, so that their uses are not errors too."""
        tokens = self.scan.tokens[item.first : item.last]
        words = [token.text for token in tokens[1:] if token.kind == "word"]
        if tokens[0].text == "signal":
            self.signals_failed = True
            self.unknown.update(words)
        elif tokens[0].text == "import":
            self.unknown.update(words)
        elif tokens[0].text in ("param", "let"):
            self.unknown.update(words[:1])

    def _cut_short(self, item: _Item, errors: int) -> int:
        """The next item's first token if that is an item word used as a name here, else -1."""
        tokens = self.scan.tokens
        if item.last >= len(tokens) or len(self.report.diagnostics) == errors:
            return -1
        error, nearest = self.report.diagnostics[-1], tokens[item.last]
        same_line = self.source.place(nearest.start) == (error.line, error.column)
        return item.last if same_line and self.source.place(tokens[item.first].start)[0] == error.line else -1

    def _declare(self, space: str, name: str, span: Span) -> bool:
        """Whether a name is new in its space; reports it if not."""
        before = self.places.setdefault((space, name), span)
        if before is span:
            return True
        line = self.source.place(before.start)[0]
        self.report.error(span, "name", f"{name!r} is already declared in line {line}")
        return False

    def _param(self, parts: list[Any], body: Node | None) -> None:
        decl = declare_param(parts, self.report, self.table)
        if self._declare("value", decl.name, decl.span):
            self.params[decl.name] = decl

    def _signal(self, parts: list[Any], body: Node | None) -> None:
        for decl in declare_signals(parts, self.report):
            if self._declare("value", decl.name, decl.span):
                self.signals[decl.name] = decl

    def _facttype(self, parts: list[Any], body: Node | None) -> None:
        decl = declare_facttype(parts, self.report, self.table)
        if self._declare("fact type", decl.name, decl.span):
            self.facttypes[decl.name] = decl

    def _let(self, parts: list[Any], body: Node | None) -> None:
        name: Name = parts[0]
        if body is None:
            self.unknown.add(name.name)
        if self._declare("value", name.name, name.span) and body is not None:
            self.lets[name.name] = _Let(name, body)

    def _spec(self, parts: list[Any], body: Node | None) -> None:
        name: Name = parts[0]
        options = read_options([one for one in parts if isinstance(one, Option)], self.report)
        if self._declare("spec", name.name, name.span) and body is not None:
            self.specs[name.name] = SpecDecl(name.name, Formula(body, self.source), span=name.span, **options)

    def _label(self, parts: list[Any], body: Node | None) -> None:
        name: Name = parts[0]
        priority = parts[1].value if len(parts) > 1 and isinstance(parts[1], Priority) else None
        if self._declare("spec", name.name, name.span) and body is not None:
            self.labels[name.name] = LabelDecl(name.name, Formula(body, self.source), priority, name.span)

    def _rule(self, parts: list[Any], body: Node | None) -> None:
        decl = declare_rule(parts, self.report)
        if self._declare("rule", decl.name, decl.span):
            self.rules[decl.name] = decl

    def _import(self, parts: list[Any], body: Node | None) -> None:
        path: Text = parts[0]
        alias = (
            parts[1].name
            if len(parts) > 1
            else path.value.replace("\\", "/").rsplit("/", 1)[-1].split(".")[0]
        )
        span = parts[1].span if len(parts) > 1 else path.span
        if not alias.isidentifier() or alias in self.table.reserved:
            self.report.error(
                path.span, "import", "this import needs a name", hint=f'import "{path.value}" as NAME'
            )
        elif self._declare("import", alias, span):
            self._load(path, alias)

    def _load(self, path: Text, alias: str) -> None:
        def refuse(message: str, hint: str | None = None) -> None:
            self.unknown.add(alias)
            self.report.error(path.span, "import", message, hint=hint)

        if self.loader is None:
            return refuse("nothing can be imported here", "imports need a loader")
        if path.value in self.trail:
            return refuse(f"this import leads back to itself: {' -> '.join((*self.trail, path.value))}")
        if len(self.trail) > _MOST_IMPORTS_DEEP:
            return refuse(f"imports are more than {_MOST_IMPORTS_DEEP} deep")
        if path.value not in self.loaded:
            try:
                text = self.loader(path.value)
            except (OSError, LookupError, ValueError) as error:
                return refuse(f"{path.value!r} cannot be read: {error}")
            self.loaded[path.value] = self._read_import(text, path.value)
        file = self.loaded[path.value]
        if isinstance(file, SpecError):
            self.unknown.add(alias)
            return self.report.extend(file.diagnostics)
        self.imports[alias] = file
        for name, decl in file.facttypes.items():
            if self.facttypes.get(name) != decl and self._declare("fact type", name, path.span):
                self.facttypes[name] = decl
        return None

    def _read_import(self, text: str, path: str) -> SpecFile | SpecError:
        try:
            return FileReader(text, path, self.loader, self.trail, self.loaded).read()
        except SpecError as error:
            return error

    def _types(self) -> dict[str, Type]:
        types: dict[str, Type] = dict.fromkeys(self.unknown, UNKNOWN)
        types.update(dict.fromkeys(self.signals, NUMBER))
        types.update((name, _param_type(decl.default)) for name, decl in self.params.items())
        for alias, file in self.imports.items():
            types.update((f"{alias}.{name}", kind) for name, kind in _exported(file).items())
        return types

    def _bounds(self) -> dict[str, Number]:
        bounds = {name: decl.default for name, decl in self.params.items()}
        for alias, file in self.imports.items():
            bounds.update((f"{alias}.{name}", decl.default) for name, decl in file.params.items())
        return bounds

    def _check(self) -> None:
        types = self._types()
        specs = dict.fromkeys(self.specs, "a spec") | dict.fromkeys(self.labels, "a label")
        others = {name: what for name, what in specs.items() if name not in types}
        # Where no signal is declared any name is one; where a declaration failed, it may have been any name.
        scope = Scope(types, self._bounds(), self.signals_failed or not self.signals, others, self.imports)
        self._check_lets(scope, types)
        roots = [spec.formula.root for spec in self.specs.values()]
        roots += [label.formula.root for label in self.labels.values()]
        for root in roots:
            check_tree(root, scope, self.report, self.table)
        check_steps(
            [*roots, *(let.root for let in self.lets.values())], self.signals, self.report, self.table
        )
        check_rules(self.rules, _rules_of(self.imports.values()), scope, self.report, self.table)

    def _check_lets(self, scope: Scope, types: dict[str, Type]) -> None:
        least = {name: decl.low.value for name, decl in self.params.items() if decl.low is not None}
        order = order_lets({name: let.root for name, let in self.lets.items()}, least)
        for name, (span, why) in order.unguarded.items():
            self.report.error(
                span, "name", f"{name} refers to itself {why}",
                hint=f"refer to its past: prev {name}, or O[1,...] {name}",
            )  # fmt: skip
        for name, (span, circle) in order.cyclic.items():
            way = " -> ".join(circle)
            self.report.error(span, "name", f"{name} refers to itself through other lets: {way}")
        types.update(dict.fromkeys(order.cyclic, UNKNOWN))
        self.recursive = order.recursive
        for name in order.names:
            root = self.lets[name].root
            if name in order.recursive:
                types[name] = NUMBER if is_number(root) else FORMULA
            types[name] = check_tree(root, scope, self.report, self.table, number=True)
        self.let_types = {name: types[name] for name in order.names}

    def _file(self) -> SpecFile:
        lets = {
            name: LetDecl(
                name,
                Formula(self.lets[name].root, self.source),
                self.let_types[name].kind == "number",
                name in self.recursive,
                self.lets[name].name.span,
            )
            for name in self.let_types
        }
        return SpecFile(
            params=self.params,
            signals=self.signals,
            facttypes=self.facttypes,
            lets=lets,
            specs=self.specs,
            labels=self.labels,
            rules=self.rules,
            imports=self.imports,
            source=self.source,
        )


def _param_type(default: Number) -> Type:
    return Type("number", "time" if default.unit else "plain")


def _rules_of(files: Iterable[SpecFile]) -> list[RuleDecl]:
    return [rule for file in files for rule in (*file.rules.values(), *_rules_of(file.imports.values()))]


def _exported(file: SpecFile) -> dict[str, Type]:
    types: dict[str, Type] = dict.fromkeys(file.signals, NUMBER)
    types.update((name, _param_type(decl.default)) for name, decl in file.params.items())
    types.update((name, NUMBER if let.is_number else FORMULA) for name, let in file.lets.items())
    for alias, inner in file.imports.items():
        types.update((f"{alias}.{name}", kind) for name, kind in _exported(inner).items())
    return types


_READERS: dict[str, Callable[[FileReader, list[Any], Node | None], None]] = {
    "import": FileReader._import,
    "param": FileReader._param,
    "signal": FileReader._signal,
    "facttype": FileReader._facttype,
    "let": FileReader._let,
    "spec": FileReader._spec,
    "label": FileReader._label,
    "rule": FileReader._rule,
}
