"""Is what had validity V still true in a share V of the cases? A backtest on real histories, JSON out.

    python benchmarks/calibration.py [--data DIR] [--cuts 5] [--plot DIR]

At each cut the future is hidden and the rates are learned from the past alone. Categorical: expected
calibration error against "still true". Numeric: against 1 - squared error / variance. Claims below tau = 0.05
are left out, as from every answer. `any_rate` is the least error that one exponential rate a type could have
reached, had it been chosen knowing the future: what remains of it is the shape, not the estimate.

The histories of the demo are in the package. The others may not be shipped: --data names a folder with
series/pbcseq_states.csv, series/pbcseq_labs.csv, series/nafld_labs_sample.csv and tkg/yago/; without it they
are skipped, and the report says so.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from chronofy_kg.answer.calibrate import Claims, backtest, usual_cuts
from chronofy_kg.answer.plot import draw_calibration
from chronofy_kg.answer.reliability import report
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import from_declaration
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.table import FactTable, TableBuilder
from chronofy_kg.facts.time import DAY_US, OPEN_US, parse_instant

SHIPPED = Path(__file__).resolve().parent.parent / "chronofy_kg" / "demo" / "data"
TAU, BAR = 0.05, 0.05
YEAR_US = round(365.25 * DAY_US)
STATES = ("ascites", "hepato", "spiders", "edema", "stage")
LABS = ("bili", "albumin", "platelet", "protime", "alk.phos", "ast", "chol")
#: What happened stays true: of these YAGO lists the year in which it did.
EVENTS = ("wasBornIn", "diedIn", "hasWonPrize", "graduatedFrom", "created")


def seen(subject: str, predicate: str, value: Any, at: int) -> Assertion:
    """One visit: what was found then."""
    return Assertion(subject=subject, predicate=predicate, value=value, valid_from=at, valid_to=OPEN_US,
                     observed_at=at, source="history")  # fmt: skip


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)


def states(data: Path) -> Iterator[Assertion]:
    for row in rows_of(data / "series/pbcseq_states.csv"):
        for name in STATES:
            if row[name]:
                yield seen(f"p{row['id']}", name, f"s{row[name]}", round(float(row["day"]) * DAY_US))


def labs(data: Path) -> Iterator[Assertion]:
    for row in rows_of(data / "series/pbcseq_labs.csv"):
        for name in LABS:
            if row[name] not in ("", "NA", "nan"):
                value = math.log(float(row[name]))
                yield seen(f"p{row['id']}", name, value, round(float(row["day"]) * DAY_US))


def nafld(data: Path) -> Iterator[Assertion]:
    for row in rows_of(data / "series/nafld_labs_sample.csv"):
        yield seen(f"p{row['id']}", row["test"], float(row["value"]), round(float(row["days"]) * DAY_US))


def weekly(_: Path) -> Iterator[Assertion]:
    for row in rows_of(SHIPPED / "weekly_by_publisher.csv"):
        at = parse_instant(row["week_start"]).us
        yield seen(row["publisher"], "log_cves", float(row["log_cves"]), at)


def macro(_: Path) -> Iterator[Assertion]:
    for row in rows_of(SHIPPED / "macro_quarterly.csv"):
        at = parse_instant(f"{int(float(row['year']))}-{int(float(row['quarter'])) * 3 - 2:02d}-01").us
        for name in ("infl", "unemp", "tbilrate", "realgdp"):
            value = float(row[name])
            yield seen("US", name, math.log(value) if name == "realgdp" else value, at)


def yago(data: Path) -> Iterator[Assertion]:
    folder = data / "tkg/yago"
    parts = [
        np.loadtxt(folder / f"{part}.txt.gz", dtype=np.int64)[:, :4] for part in ("train", "valid", "test")
    ]
    quads = np.concatenate(parts)
    quads = quads[np.lexsort((quads[:, 3], quads[:, 2], quads[:, 1], quads[:, 0]))]
    with gzip.open(folder / "relation2id.txt.gz", "rt", encoding="utf-8") as stream:
        pairs = [line.rstrip("\n").rsplit("\t", 1) for line in stream if line.strip()]
    names = {int(number): name.strip("<>") for name, number in pairs}
    same = (quads[1:, :3] == quads[:-1, :3]).all(axis=1) & (quads[1:, 3] == quads[:-1, 3] + 1)
    heads = np.flatnonzero(np.concatenate([[True], ~same]))
    ends = np.append(heads[1:], len(quads)) - 1
    last = int(quads[:, 3].max())
    for head, end in zip(heads.tolist(), ends.tolist(), strict=True):
        subject, relation, target, first = quads[head].tolist()
        until = int(quads[end, 3])
        open_end = until == last  # the last year of all: nobody knows what came after it
        yield Assertion(
            subject=f"e{subject}", predicate=names[relation], object=f"e{target}", valid_from=first * YEAR_US,
            valid_to=OPEN_US if open_end else (until + 1) * YEAR_US,
            observed_at=(until + 1) * YEAR_US - 1 if open_end else until * YEAR_US, source="history",
        )  # fmt: skip


Reader = Callable[[Path], Iterator[Assertion]]
#: Name, reader, kind, whether it is shipped.
HISTORIES: tuple[tuple[str, Reader, str, bool], ...] = (
    ("pbc_states", states, "categorical", False),
    ("yago_spells", yago, "categorical", False),
    ("pbc_labs", labs, "numeric", False),
    ("nafld_labs", nafld, "numeric", False),
    ("macro_quarterly", macro, "numeric", True),
    ("weekly_cves", weekly, "numeric", True),
)


def table_of(rows: Iterator[Assertion]) -> FactTable:
    builder = TableBuilder()
    builder.extend(rows)
    return builder.build()


def any_rate(claims: Claims) -> dict[str, dict[str, float]]:
    """The least error of one rate a type, and how it compares with those that were fitted."""
    found = {}
    for number, name in enumerate(claims.types):
        own = claims.take(claims.type == number)
        powers = np.exp(np.linspace(-3.0, 1.5, 46))
        errors = [report(replace(own, validity=own.validity**p), tau=TAU)[0].error for p in powers]
        best = int(np.argmin(errors))
        found[name] = {"error": errors[best], "times_fitted": float(powers[best])}
    return found


def run(table: FactTable, cuts: int, kind: str) -> dict[str, Any]:
    declared = [from_declaration(name, "event") for name in EVENTS]
    catalog, rows = TypeCatalog.of(declared), np.arange(len(table))
    found: dict[str, Any] = {"rows": len(table)}
    for mode in ("still", "again") if kind == "categorical" else ("explained",):
        started = time.process_time()
        claims = backtest(table, rows, catalog, cuts=usual_cuts(table, rows, cuts), again=mode == "again")
        events = [number for number, name in enumerate(claims.types) if name in EVENTS]
        claims = claims.take(~np.isin(claims.type, events))
        tables = report(claims, tau=TAU)
        found[mode] = {
            "error": tables[0].error, "claims": tables[0].count, "within_bar": tables[0].error <= BAR,
            "cpu_s": round(time.process_time() - started, 2),
            "types": {t.name: {"error": t.error, "claims": t.count} for t in tables[1:]},
            "by_cut": [report(claims.take(claims.cut == c), tau=TAU)[0].error for c in np.unique(claims.cut)],
            "bins": [asdict(one) for one in tables[0].bins],
        }  # fmt: skip
        if mode == "still":
            found[mode]["any_rate"] = any_rate(claims)
        found.setdefault("tables", tables)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the histories that may not be shipped")
    parser.add_argument("--cuts", type=int, default=5)
    parser.add_argument("--plot", type=Path, help="folder for a reliability diagram of each history")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for name, read, kind, shipped in HISTORIES:
        if not shipped and options.data is None:
            results[name] = {"skipped": "its data may not be shipped; name their folder with --data"}
            continue
        try:
            table = table_of(read(options.data or SHIPPED))
        except OSError as error:
            results[name] = {"skipped": f"{error.filename} cannot be read: {error.strerror}"}
            continue
        results[name] = run(table, options.cuts, kind)
        tables = results[name].pop("tables")
        if options.plot is not None:
            options.plot.mkdir(parents=True, exist_ok=True)
            (options.plot / f"{name}.png").write_bytes(draw_calibration(tables, "png"))
    print(json.dumps({"tau": TAU, "bar": BAR, "cuts": options.cuts, "histories": results}, indent=1))


if __name__ == "__main__":
    main()
