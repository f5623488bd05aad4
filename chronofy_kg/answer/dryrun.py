"""What storing a spec file would change, with nothing written: items, and verdicts of the facts in force.

Every fact that holds now is judged as a query judges a single statement, by each spec that can judge one,
before and after: the fact types that the file declares count in the second. Parameters are at their defaults;
the filter tau plays no part.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.judge import judge_from
from chronofy_kg.answer.shelf import SpecShelf, declared_changes
from chronofy_kg.answer.trace import SIGNALS
from chronofy_kg.answer.view import Moment, View, build_view, weigh
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import Priors
from chronofy_kg.errors import QueryError, SpecError
from chronofy_kg.facts.table import FactTable
from chronofy_kg.spec import Diagnostic, SpecFile
from chronofy_kg.spec.compare import ItemChange, compare_files

__all__ = ["SpecDryRun", "VerdictChange", "dry_run"]

_SUPPORTED, _BOUNDARY, _REACQUIRE = range(3)
_VERDICTS = ("supported", "boundary", "reacquire")


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """How one spec judges the facts in force.

    Args:
        spec: its name.
        before, after: how many facts get each verdict; None where the file has no such spec.
        changed: how many get another verdict; None where the facts themselves would be others, because a
            declared cardinality changes, or where there is nothing to compare.
    """

    spec: str
    before: dict[str, int] | None
    after: dict[str, int] | None
    changed: int | None


@dataclass(frozen=True, slots=True)
class SpecDryRun:
    """What `put` would do.

    Args:
        name: of the file.
        version: that it would have.
        against: the newest stored version, None where there is none.
        hash: SHA-256 of the text.
        same: whether the text is just the one stored, so that nothing would be done.
        warnings: about the text.
        items: that would differ from the stored version.
        facttypes: names of the fact types that would come into force or change.
        facts: how many hold now.
        verdicts: of those facts, by spec.
    """

    name: str
    version: int
    against: int | None
    hash: str
    same: bool
    warnings: tuple[Diagnostic, ...]
    items: tuple[ItemChange, ...]
    facttypes: tuple[str, ...]
    facts: int
    verdicts: tuple[VerdictChange, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-safe map."""
        shown = asdict(self)
        shown["warnings"] = [one.to_dict() for one in self.warnings]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in shown.items()} | {
            "dry_run": True
        }


def dry_run(
    shelf: SpecShelf,
    name: str,
    text: str,
    table: FactTable,
    catalog: TypeCatalog,
    moment: Moment,
    priors: Priors,
) -> SpecDryRun:
    """Return what storing a text under a name would change.

    Raises:
        SpecError: it could not be stored.
    """
    new = shelf.acceptable(name, text)
    versions = [one for one in shelf.all() if one.name == name]
    stored = versions[-1] if versions else None
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
    same = stored is not None and stored.hash == digest
    old = None if stored is None else _readable(shelf, stored.text, name)
    changed = declared_changes(new, catalog, priors)
    now = build_view(table, catalog, moment)
    then, alike = now, True
    if changed:
        declared = catalog.with_types(changed)
        alike = np.array_equal(catalog.many(table), declared.many(table))
        then = (
            weigh(now.history, now.facts, declared, moment) if alike else build_view(table, declared, moment)
        )
    return SpecDryRun(
        name=name,
        version=1 if stored is None else stored.version + (not same),
        against=None if stored is None else stored.version,
        hash=digest,
        same=same,
        warnings=shelf.warnings(name, text),
        items=compare_files(old, new),
        facttypes=tuple(sorted(row.name for row in changed)),
        facts=len(now),
        verdicts=tuple(_verdicts(old, new, now, then, alike)),
    )


def _readable(shelf: SpecShelf, text: str, name: str) -> SpecFile | None:
    try:
        return shelf.parse(text, name)
    except SpecError:
        # A version stored under an older form of the language; all of the new one counts as added.
        return None


def _verdicts(old: SpecFile | None, new: SpecFile, now: View, then: View, alike: bool) -> list[VerdictChange]:
    names = dict.fromkeys([*(old.specs if old is not None else ()), *new.specs])
    found = []
    for name in names:
        before, after = _judged(old, name, now), _judged(new, name, then)
        if before is None and after is None:
            continue
        comparable = before is not None and after is not None and alike
        changed = int(np.count_nonzero(before != after)) if comparable else None
        found.append(VerdictChange(name, _counts(before), _counts(after), changed))
    return found


def _judged(file: SpecFile | None, name: str, view: View) -> NDArray[np.int8] | None:
    """The verdict on each fact as a number, int8[f]; None: no such spec, or one that judges no statements."""
    if file is None or name not in file.specs:
        return None
    try:
        judge = judge_from(file, name)
    except (QueryError, SpecError):
        return None
    if not set(judge.formula.names) & set(SIGNALS):
        return None
    columns = {"validity": view.validity, "age_days": view.age_days, "quality": view.rates.quality}
    rho = judge.values({signal: column[:, np.newaxis] for signal, column in columns.items()})
    boundary = (rho == 0) & (view.validity > 0)
    return np.where(rho > 0, _SUPPORTED, np.where(boundary, _BOUNDARY, _REACQUIRE)).astype(np.int8)


def _counts(verdicts: NDArray[np.int8] | None) -> dict[str, int] | None:
    if verdicts is None:
        return None
    counted = np.bincount(verdicts, minlength=len(_VERDICTS)).tolist()
    return dict(zip(_VERDICTS, counted, strict=True))
