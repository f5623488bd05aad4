"""Cases from reports against other products, for what was known when; the number is the row of that list."""

from __future__ import annotations

import numpy as np
from support.facts import us

from chronofy_kg.facts import OPEN_US, Assertion, TableBuilder, fold
from chronofy_kg.facts.history import believed_rows


def test_row_39_a_later_statement_is_not_known_before_it_was_recorded():
    published, added = us("2023-08-21"), us("2023-09-20")
    told = [
        ("published", "cve list", published, published),
        ("affects", "cpe:2.3:a:x", published, added),  # holds since it was published, told a month later
    ]
    builder = TableBuilder()
    for predicate, value, since, recorded in told:
        row = Assertion(
            subject="CVE-2023-1", predicate=predicate, object=value,
            valid_from=since, valid_to=OPEN_US, observed_at=since,
        )  # fmt: skip
        builder.add(row, recorded_at=recorded)
    table = builder.build()

    def known(at: str, known_at: str) -> list[str]:
        rows = believed_rows(table, us(known_at))
        history = fold(table, rows, np.ones(len(rows), dtype=bool))
        return sorted(table.assertion(int(history.winner[i])).predicate for i in history.holding(us(at)))

    for at in ("2023-09-01", "2023-10-01"):
        assert known(at, "2023-09-01") == ["published"]
        assert known(at, "2023-10-01") == ["affects", "published"]
