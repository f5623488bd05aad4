"""`Formula`: a checked tree together with the text it came from."""

from __future__ import annotations

from dataclasses import dataclass, field

from chronofy_kg.spec.ast import Name, Node, Recursive, postorder
from chronofy_kg.spec.diagnostics import Source
from chronofy_kg.spec.format import node_text

__all__ = ["Formula"]


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula; equality compares trees, `str()` is canonical text that parses back.

    Where a let was put in, its nodes have their places in the let's text: `source` is the text of the whole
    file.
    """

    root: Node
    source: Source = field(default=Source(""), compare=False, repr=False)

    def __str__(self) -> str:
        return node_text(self.root)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the formula reads, sorted: its signals, once parameters and lets were put in."""
        nodes = list(postorder(self.root))
        own = {node.name for node in nodes if isinstance(node, Recursive)}
        return tuple(sorted({node.name for node in nodes if isinstance(node, Name)} - own))
