"""The stored spec files: put, listed, and turned into the judge that a query asks for.

A spec in the store may import stored ones only. The usual spec, G validity >= gamma, is always there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chronofy_kg.answer.judge import Judge, default_judge, judge_from
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.declared import make_decay
from chronofy_kg.decay.facttypes import FactKind, FactType, Priors, from_declaration
from chronofy_kg.errors import InputError, QueryError
from chronofy_kg.facts.time import format_instant
from chronofy_kg.spec import Diagnostic, FactTypeDecl, SpecFile, check_spec, parse_spec
from chronofy_kg.store import GraphStore

__all__ = [
    "SpecChoice",
    "SpecShelf",
    "SpecVersion",
    "declared_changes",
    "declared_type",
    "same_declaration",
]


@dataclass(frozen=True, slots=True)
class SpecChoice:
    """The spec of a query: a stored file by name ("pack" or "pack.spec") and version, or a text."""

    name: str | None = None
    version: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class SpecVersion:
    """One version of a stored spec file: text, SHA-256 of that, who put it, and when (microseconds)."""

    name: str
    version: int
    hash: str
    text: str
    author: str | None = None
    recorded_at: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-safe map."""
        told = None if self.recorded_at is None else format_instant(self.recorded_at)
        return {
            "name": self.name,
            "version": self.version,
            "hash": self.hash,
            "author": self.author,
            "recorded_at": told,
            "text": self.text,
        }


class SpecShelf:
    """The spec files of one tenant.

    Args:
        store: an open store.
        tenant: the tenant.
        gamma: threshold of the usual spec.
    """

    def __init__(self, store: GraphStore, tenant: str, gamma: float) -> None:
        self._store, self._tenant, self._gamma = store, tenant, gamma

    def all(self) -> list[SpecVersion]:
        """Return every version of every file, by name and version."""
        rows = self._store.read_specs(self._tenant)
        found = [
            SpecVersion(r["name"], int(r["version"]), r["hash"], r["text"], r["author"], r["recorded_at_us"])
            for r in rows
        ]
        return sorted(found, key=lambda s: (s.name, s.version))

    def put(self, name: str, text: str, now: int, author: str | None = None) -> tuple[SpecVersion, SpecFile]:
        """Check and store a file; the same text again is the same version.

        Raises:
            SpecError: the text has errors; nothing was stored.
        """
        file = self.acceptable(name, text)
        self._store.write_spec(self._tenant, name, text, now, author)
        return self.newest(name), file

    def acceptable(self, name: str, text: str) -> SpecFile:
        """Return the file that a text declares if it may be stored; raises SpecError as `put` does."""
        return self.parse(text, name)

    def warnings(self, name: str, text: str) -> tuple[Diagnostic, ...]:
        """Return the warnings about a text that may be stored."""
        return tuple(one for one in check_spec(text, name, self._text) if one.severity == "warning")

    def parse(self, text: str, path: str = "spec") -> SpecFile:
        """Parse a text whose imports name stored files."""
        return parse_spec(text, path, loader=self._text)

    def judge(self, choice: SpecChoice | None, params: Mapping[str, float | str] | None) -> Judge:
        """Return the judge that a query asks for.

        Raises:
            QueryError: no such spec or param is there.
            SpecError: the text has errors.
        """
        if choice is None:
            return default_judge(_gamma(params, self._gamma))
        if choice.text is not None:
            return judge_from(self.parse(choice.text), None, params)
        pack, _, item = (choice.name or "").partition(".")
        stored = self.newest(pack, choice.version)
        return judge_from(self.parse(stored.text, pack), item or None, params, stored.version)

    def newest(self, name: str, version: int | None = None) -> SpecVersion:
        """Return a stored file, its newest version where none is named.

        Raises:
            QueryError: there is none.
        """
        stored = [s for s in self.all() if s.name == name and version in (None, s.version)]
        if not stored:
            which = "" if version is None else f" version {version}"
            raise QueryError(
                f"no spec {name!r}{which} is stored; put it with: chronofy-kg specs put NAME FILE"
            )
        return stored[-1]

    def _text(self, path: str) -> str:
        """The text of an import: the newest version of a stored file, or the one that `name@2` asks for."""
        name, _, wanted = path.partition("@")
        stored = [s for s in self.all() if s.name == name.removesuffix(".spec")]
        if wanted:
            stored = [s for s in stored if str(s.version) == wanted]
        if not stored:
            raise InputError(f"no spec {path!r} is stored; a spec in the store may import stored ones only")
        return stored[-1].text


def _gamma(params: Mapping[str, float | str] | None, usual: float) -> float:
    unknown = sorted(set(params or {}) - {"gamma"})
    if unknown:
        raise QueryError(f"the default spec has no param {unknown[0]!r}; it has gamma")
    gamma = (params or {}).get("gamma", usual)
    if isinstance(gamma, str):
        raise QueryError(f"gamma is {gamma!r}; it must be a number in [0, 1]")
    if not 0 <= gamma <= 1:
        raise QueryError(f"gamma is {gamma}; it must lie in [0, 1]")
    return gamma


def declared_changes(file: SpecFile, catalog: TypeCatalog, priors: Priors) -> list[FactType]:
    """Return the fact types that a file declares in another way than they are in force."""
    known = catalog.types
    rows = [declared_type(d, known.get(d.name), priors) for d in file.facttypes.values()]
    return [row for row in rows if not same_declaration(row, known.get(row.name))]


def declared_type(declared: FactTypeDecl, known: FactType | None, priors: Priors) -> FactType:
    """Return the row of a declared fact type; a kind left open is that of its facts so far."""
    guessed: FactKind = "categorical" if declared.tolerance is None else "numeric"
    return from_declaration(
        declared.name,
        declared.kind or (known.kind if known else guessed),
        declared.cardinality,
        beta=declared.beta_per_day,
        decay=None if declared.decay is None else make_decay(declared.decay.family, declared.decay.arguments),
        quality=declared.quality,
        tolerance=declared.tolerance,
        priors=priors,
    )


def same_declaration(row: FactType, known: FactType | None) -> bool:
    """Return whether a type in force was declared just so; what a fit added does not matter."""
    if known is None or not known.declared:
        return False
    names = ("kind", "cardinality", "quality", "tolerance", "decay")
    same = all(getattr(row, name) == getattr(known, name) for name in names)
    rate = row.beta if row.beta_from == "declared" else None
    return same and rate == (known.beta if known.beta_from == "declared" else None)
