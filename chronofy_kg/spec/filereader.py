"""Reads one spec file: each of its items to a declaration, its imports by another `FileReader`.

Where items start and end is decided in `splitter`; what was read is checked in `filecheck`, and looked
through for warnings in `lint`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from chronofy_kg.errors import InputError, SpecError
from chronofy_kg.spec.ast import Name, Node
from chronofy_kg.spec.clauses import Text
from chronofy_kg.spec.declare import (
    declare_facttype,
    declare_param,
    declare_rule,
    declare_signals,
    read_options,
)
from chronofy_kg.spec.diagnostics import MOST_ERRORS, Report, Source, Span, did_you_mean
from chronofy_kg.spec.draft import Draft, ReadLet
from chronofy_kg.spec.filecheck import check_draft, count_exported
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.items import Option, Priority
from chronofy_kg.spec.model import LabelDecl, SpecDecl
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.parser import parser
from chronofy_kg.spec.scan import MOST_FILE_TOKENS, Scan, Token, scan
from chronofy_kg.spec.specfile import SpecFile
from chronofy_kg.spec.splitter import Item, split_items

__all__ = ["FileReader", "Loader"]

MOST_FILE_CHARACTERS = 1024 * 1024
_MOST_IMPORTS_DEEP = 10
_MOST_FILES = 200
_MOST_IMPORTED_NAMES = 20_000

Loader = Callable[[str], str]


@dataclass(slots=True)
class Budget:
    """What a file and all its imports share: the words and signs that may still be read, and the files read
    so far.

    Each file is read once, however many ways lead to it.
    """

    tokens: int = MOST_FILE_TOKENS
    loaded: dict[str, SpecFile | SpecError] = field(default_factory=dict)


class FileReader:
    """Reads one file; `trail` holds the imports that lead to it."""

    def __init__(
        self,
        text: str,
        path: str,
        loader: Loader | None,
        trail: tuple[str, ...] = (),
        budget: Budget | None = None,
    ) -> None:
        self.report = Report(Source(text.removeprefix("\ufeff"), path))
        self.draft = Draft(self.report)
        self.table = table()
        self.imported_names = 0
        self.loader, self.trail = loader, (*trail, path)
        self.budget = Budget() if budget is None else budget

    def read(self) -> SpecFile:
        """Return what the file declares, or raise all its errors."""
        file = self.read_with_errors()
        self.report.check()
        assert file is not None
        return file

    def read_with_errors(self) -> SpecFile | None:
        """Return what the file declares well, its errors in `report`; None: they leave too much unknown."""
        source = self.draft.source
        if len(source.text) > MOST_FILE_CHARACTERS:
            span = Span(MOST_FILE_CHARACTERS, MOST_FILE_CHARACTERS + 1)
            self.report.error(span, "limit", f"a file has at most {MOST_FILE_CHARACTERS} characters")
            return None
        scanned = scan(source, self.report, self.table, self.budget.tokens)
        self.budget.tokens -= len(scanned.tokens)
        if scanned.cut:
            return None
        self._read_items(scanned)
        # With that many errors the rest was not read, so its names are not known.
        return check_draft(self.draft, self.table) if len(self.report.diagnostics) < MOST_ERRORS else None

    def _read_items(self, scanned: Scan) -> None:
        skip = -1
        for item in split_items(scanned, self.table):
            opener = scanned.tokens[item.first]
            if item.first == skip:
                continue
            if len(self.report.diagnostics) >= MOST_ERRORS:
                return
            if opener.text not in self.table.items:
                self._no_item(opener)
                self._forget(scanned, item)
                continue
            errors = len(self.report.diagnostics)
            header = None
            if not scanned.spoiled(opener.start, item.end):
                header = parser().header(opener.text, scanned, self.report, opener.start, item.end)
            if header is None:
                self._forget(scanned, item)
                skip = self._cut_short(scanned, item, errors)
                continue
            body: Node | None = None
            if header.body is not None:
                body = parser().formula(scanned, self.report, header.body, item.end)
                if body is None:
                    self._mention(scanned, item)
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

    def _mention(self, scanned: Scan, item: Item) -> list[str]:
        words = [one.text for one in scanned.tokens[item.first + 1 : item.last] if one.kind == "word"]
        self.draft.mentioned.update(words)
        return words

    def _forget(self, scanned: Scan, item: Item) -> None:
        """Keep the names of an item with errors, so that their uses are not errors too."""
        words, opener = self._mention(scanned, item), scanned.tokens[item.first].text
        if opener == "signal":
            self.draft.signals_failed = True
            self.draft.unknown.update(words)
        elif opener == "import":
            self.draft.unknown.update(words)
        elif opener in ("param", "let"):
            self.draft.unknown.update(words[:1])

    def _cut_short(self, scanned: Scan, item: Item, errors: int) -> int:
        """The next item's first token if that is an item word used as a name here, else -1."""
        tokens, source = scanned.tokens, self.draft.source
        if item.last >= len(tokens) or len(self.report.diagnostics) == errors:
            return -1
        error, nearest = self.report.diagnostics[-1], tokens[item.last]
        same_line = source.place(nearest.start) == (error.line, error.column)
        return item.last if same_line and source.place(tokens[item.first].start)[0] == error.line else -1

    def _param(self, parts: list[Any], body: Node | None) -> None:
        decl = declare_param(parts, self.report, self.table)
        if self.draft.declare("value", decl.name, decl.span):
            self.draft.params[decl.name] = decl

    def _signal(self, parts: list[Any], body: Node | None) -> None:
        for decl in declare_signals(parts, self.report):
            if self.draft.declare("value", decl.name, decl.span):
                self.draft.signals[decl.name] = decl

    def _facttype(self, parts: list[Any], body: Node | None) -> None:
        decl = declare_facttype(parts, self.report, self.table)
        if self.draft.declare("fact type", decl.name, decl.span):
            self.draft.facttypes[decl.name] = decl

    def _let(self, parts: list[Any], body: Node | None) -> None:
        name: Name = parts[0]
        if body is None:
            self.draft.unknown.add(name.name)
        if self.draft.declare("value", name.name, name.span) and body is not None:
            self.draft.lets[name.name] = ReadLet(name, body)

    def _spec(self, parts: list[Any], body: Node | None) -> None:
        name: Name = parts[0]
        options = read_options([one for one in parts if isinstance(one, Option)], self.report)
        if self.draft.declare("spec", name.name, name.span) and body is not None:
            formula = Formula(body, self.draft.source)
            self.draft.specs[name.name] = SpecDecl(name.name, formula, span=name.span, **options)

    def _label(self, parts: list[Any], body: Node | None) -> None:
        name: Name = parts[0]
        priority = parts[1].value if len(parts) > 1 and isinstance(parts[1], Priority) else None
        if self.draft.declare("spec", name.name, name.span) and body is not None:
            formula = Formula(body, self.draft.source)
            self.draft.labels[name.name] = LabelDecl(name.name, formula, priority, name.span)

    def _rule(self, parts: list[Any], body: Node | None) -> None:
        decl = declare_rule(parts, self.report)
        if self.draft.declare("rule", decl.name, decl.span):
            self.draft.rules[decl.name] = decl

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
        elif self.draft.declare("import", alias, span):
            self._load(path, alias, span)

    def _load(self, path: Text, alias: str, span: Span) -> None:
        draft = self.draft

        def refuse(message: str, hint: str | None = None) -> None:
            draft.unknown.add(alias)
            self.report.error(path.span, "import", message, hint=hint)

        if self.loader is None:
            return refuse("nothing can be imported here", "imports need a loader")
        if path.value in self.trail:
            return refuse(f"this import leads back to itself: {' -> '.join((*self.trail, path.value))}")
        if len(self.trail) > _MOST_IMPORTS_DEEP:
            return refuse(f"imports are more than {_MOST_IMPORTS_DEEP} deep")
        if path.value not in self.budget.loaded:
            if len(self.budget.loaded) >= _MOST_FILES:
                return refuse(f"a file imports at most {_MOST_FILES} others, theirs included")
            try:
                text = self.loader(path.value)
            except (OSError, LookupError, ValueError, InputError) as error:
                return refuse(f"{path.value!r} cannot be read: {error}")
            self.budget.loaded[path.value] = self._read_import(text, path.value)
        file = self.budget.loaded[path.value]
        if isinstance(file, SpecError):
            draft.unknown.add(alias)
            return self.report.extend(file.diagnostics)
        self.imported_names += count_exported(file)
        if self.imported_names > _MOST_IMPORTED_NAMES:
            draft.unknown.add(alias)
            message = f"imports bring more than {_MOST_IMPORTED_NAMES} names"
            return self.report.error(path.span, "limit", message)
        draft.imports[alias] = file
        draft.import_spans[alias] = span
        for name, decl in file.facttypes.items():
            if draft.facttypes.get(name) != decl and draft.declare("fact type", name, path.span):
                draft.facttypes[name] = decl
        return None

    def _read_import(self, text: str, path: str) -> SpecFile | SpecError:
        try:
            return FileReader(text, path, self.loader, self.trail, self.budget).read()
        except SpecError as error:
            return error


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
