"""What loads and retractions leave believed, row by row as the rules say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from chronofy_kg.facts import OPEN_US, Assertion, FactTable, History, TableBuilder
from chronofy_kg.facts.model import fact_id

__all__ = ["Believed", "rests_on"]


@dataclass
class _Told:
    row: Assertion
    statement: tuple[str, ...]
    believed: bool = True


@dataclass
class Believed:
    """The assertions of a tenant by id, and whether each is believed.

    Attributes:
        tenant: its name, which is part of the ids.
        many: whether the fact type of a row has cardinality `many` now.
    """

    tenant: str
    many: Callable[[Assertion], bool]
    _told: dict[str, _Told] = field(default_factory=dict)

    def load(self, rows: Iterable[Assertion]) -> None:
        """Take rows in order: a known one changes nothing, a new one may take back what its source said."""
        for row in rows:
            builder = TableBuilder(self.tenant)
            builder.add(row)
            table = builder.build()
            name, told = table.id_of(0), _Told(row, table.statement(0))
            if name in self._told:
                continue
            for other in self._told.values():
                if self._corrects(told, other):
                    other.believed = False
            self._told[name] = told

    def _corrects(self, new: _Told, old: _Told) -> bool:
        if new.row.source is None or new.row.source != old.row.source:
            return False
        if new.statement[:3] != old.statement[:3] or new.row.valid_from != old.row.valid_from:
            return False
        if self.many(new.row) and new.statement != old.statement:
            return False
        return (new.statement, new.row.valid_to) != (old.statement, old.row.valid_to)

    def retract(self, names: Iterable[str]) -> None:
        """Stop believing some assertions."""
        for name in names:
            self._told[name].believed = False

    def states(self) -> dict[str, bool]:
        """Return whether each assertion is believed, by id."""
        return {name: told.believed for name, told in self._told.items()}


def rests_on(history: History, fact: str, source: str | None) -> list[int]:
    """Return the believed rows that a fact rests on, in force or not; those of one source only, if given.

    Args:
        history: the fold of all believed rows.
        fact: a fact id.
        source: who told them.
    """
    table: FactTable = history.table
    rows = [row for row in history.rows.tolist() if table.retired_at[row] == OPEN_US]
    for index in range(len(history)):
        if history.id(index) == fact:
            statement = table.statement(int(history.winner[index]))
            start, end = int(history.start[index]), int(history.end[index])
            rows = [
                row
                for row in rows
                if table.statement(row) == statement
                and table.valid_from[row] <= start
                and end <= table.valid_to[row]
            ]
            break
    else:
        rows = [row for row in rows if fact_id(table.statement(row), int(table.valid_from[row])) == fact]
    return [row for row in rows if source is None or table.assertion(row).source == source]
