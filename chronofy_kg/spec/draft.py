"""`Draft`: what was read of a file before its names and types are checked.

It is filled by `filereader`, checked by `filecheck`, and becomes a `SpecFile`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from chronofy_kg.spec.ast import Name, Node
from chronofy_kg.spec.clauses import RuleDecl
from chronofy_kg.spec.diagnostics import Report, Source, Span
from chronofy_kg.spec.model import FactTypeDecl, LabelDecl, ParamDecl, SignalDecl, SpecDecl
from chronofy_kg.spec.specfile import SpecFile

__all__ = ["Draft", "ReadLet"]


@dataclass(slots=True)
class ReadLet:
    """A let as it was read; its type is not known yet."""

    name: Name
    root: Node


@dataclass(slots=True)
class Draft:
    """The declarations of one file by kind and name, and what its errors leave unknown.

    Args:
        report: the errors so far, and the text.
        unknown: names whose declaration has errors: their uses are no further errors.
        mentioned: words of items with errors: they may be uses of any name.
        places: where each name was declared, by space and name.
        signals_failed: whether a declaration of signals has errors, so that any name may be a signal.
        import_spans: where each import is named.
    """

    report: Report
    params: dict[str, ParamDecl] = field(default_factory=dict)
    signals: dict[str, SignalDecl] = field(default_factory=dict)
    facttypes: dict[str, FactTypeDecl] = field(default_factory=dict)
    lets: dict[str, ReadLet] = field(default_factory=dict)
    specs: dict[str, SpecDecl] = field(default_factory=dict)
    labels: dict[str, LabelDecl] = field(default_factory=dict)
    rules: dict[str, RuleDecl] = field(default_factory=dict)
    imports: dict[str, SpecFile] = field(default_factory=dict)
    import_spans: dict[str, Span] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    places: dict[tuple[str, str], Span] = field(default_factory=dict)
    signals_failed: bool = False

    @property
    def source(self) -> Source:
        """The text that was read."""
        return self.report.source

    def declare(self, space: str, name: str, span: Span) -> bool:
        """Whether a name is new in its space; reports it if not."""
        before = self.places.setdefault((space, name), span)
        if before is span:
            return True
        line = self.source.place(before.start)[0]
        self.report.error(span, "name", f"{name!r} is already declared in line {line}")
        return False
