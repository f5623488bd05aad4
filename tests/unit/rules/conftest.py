from collections.abc import Callable, Iterable

import pytest

from chronofy_kg.facts import DAY_US, OPEN_US, Assertion, FactTable, TableBuilder

Row = tuple[str, str, object, float]  # subject, predicate, "@object" or value, day


@pytest.fixture
def build() -> Callable[..., FactTable]:
    """Build a table of (subject, predicate, target, day); text that begins with @ is an object."""

    def make(rows: Iterable[Row], source: str | None = None, unit: str | None = None) -> FactTable:
        builder = TableBuilder()
        for subject, predicate, target, day in rows:
            linked = isinstance(target, str) and target.startswith("@")
            at = round(day * DAY_US)
            builder.add(
                Assertion(
                    subject=subject, predicate=predicate, object=target[1:] if linked else None,
                    value=None if linked else target, unit=unit, source=source,
                    valid_from=at, valid_to=OPEN_US, observed_at=at,
                )
            )  # fmt: skip
        return builder.build()

    return make
