"""How right the decay fits are, by simulation: one JSON object with every cell and whether each bar holds.

    python benchmarks/decay.py [--repeats 1000] [--jobs 1] [--peer-python PYTHON]

Ornstein-Uhlenbeck series are simulated exactly, each subject with a mean of its own. A cell fits the same
series with a noise term (the default) and, where there is no noise in them, without one; the error is that of
`beta_corrected`, which the table of fact types uses. Compared in the same run, on the same series: the
regression of each reading on the one before (AR(1), subjects' means removed), and `BetaEstimator` of
`chronofy` 0.1.9, which knows labels only: a reading within one standard deviation of the one before it counts
as "still valid" at the age of the gap. The peer pins numpy < 2: give the interpreter of an environment of its
own, with chronofy==0.1.9. Errors are relative to the true beta; a random walk has none. Each cell is told on
stderr when it is done.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chronofy_kg.decay import DecayFit, fit_decay
from chronofy_kg.decay.bias import bias_of_theta

PEER_REPEATS = 200
KINDS = ("short", "pooled", "noisy", "walk", "reverting")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One setting: m subjects of n readings, gap h between them on average, noise as a standard deviation."""

    kind: str
    theta: float
    n: int
    h: float = 1.0
    m: int = 1
    irregular: bool = True
    noise: float = 0.0
    spread: float = 0.0
    barred: bool = True  # False: reported, but outside of what the bar speaks of

    @property
    def name(self) -> str:
        times = "irregular" if self.irregular else "regular"
        extra = (f" noise={self.noise}" if self.noise else "") + (" unequal" if self.spread else "")
        return f"{self.kind}: theta={self.theta} h={self.h} n={self.n} m={self.m} {times}{extra}"

    @property
    def total(self) -> float:
        """theta * T, summed over subjects."""
        return self.theta * self.h * (self.n - 1) * self.m


CELLS = [
    # one series, theta * T >= 10
    Cell(kind="short", theta=0.1, n=101, irregular=False),
    Cell(kind="short", theta=0.1, n=101),
    Cell(kind="short", theta=0.2, n=51, irregular=False),
    Cell(kind="short", theta=0.2, n=51),
    Cell(kind="short", theta=1.0, n=101, irregular=False),
    Cell(kind="short", theta=1.0, n=101),
    Cell(kind="short", theta=0.5, n=101, h=0.2),
    Cell(kind="short", theta=0.01, n=1001),
    # 20 rows that hardly remember one another: the mean is made by a few near-infinite estimates
    Cell(kind="short", theta=1.0, n=20, barred=False),
    Cell(kind="short", theta=1.0, n=20, irregular=False, barred=False),
    # many subjects, theta * T_total >= 100
    Cell(kind="pooled", theta=0.1, n=5, m=300),
    Cell(kind="pooled", theta=0.5, n=5, m=200),
    Cell(kind="pooled", theta=0.1, n=21, m=50, spread=0.7),
    Cell(kind="pooled", theta=1.0, n=10, m=50),
    Cell(kind="pooled", theta=0.1, n=21, m=50, irregular=False),
    # with measurement noise of a quarter of the variance
    Cell(kind="noisy", theta=0.1, n=101, noise=0.5),
    Cell(kind="noisy", theta=0.1, n=401, noise=0.5),
    Cell(kind="noisy", theta=1.0, n=101, noise=0.5),
    Cell(kind="noisy", theta=0.4, n=201, noise=0.5, irregular=False),
    Cell(kind="noisy", theta=0.2, n=8, m=100, noise=0.5),
    Cell(kind="noisy", theta=0.5, n=20, m=50, noise=0.5),
    # random walks
    Cell(kind="walk", theta=0.0, n=20),
    Cell(kind="walk", theta=0.0, n=50, irregular=False),
    Cell(kind="walk", theta=0.0, n=50),
    Cell(kind="walk", theta=0.0, n=200, irregular=False),
    Cell(kind="walk", theta=0.0, n=200),
    Cell(kind="walk", theta=0.0, n=100, noise=0.5),
    # reverting, theta * T >= 40
    Cell(kind="reverting", theta=0.4, n=101, irregular=False),
    Cell(kind="reverting", theta=0.4, n=101),
    Cell(kind="reverting", theta=0.2, n=201, irregular=False),
    Cell(kind="reverting", theta=0.05, n=801),
    Cell(kind="reverting", theta=2.0, n=101, h=0.2),
]


@dataclass(frozen=True)
class Draw:
    """Series of one cell: arrays [repeats, subjects, readings]."""

    times: np.ndarray
    values: np.ndarray


def simulate(cell: Cell, repeats: int, seed: int) -> Draw:
    """Exact Ornstein-Uhlenbeck series (a random walk where theta is 0) with subjects' means and noise."""
    rng = np.random.default_rng(seed)
    shape = (repeats, cell.m, cell.n)
    gaps = rng.exponential(cell.h, shape) if cell.irregular else np.full(shape, cell.h)
    shocks = rng.normal(size=shape)
    keep = np.exp(-cell.theta * gaps)
    step = np.sqrt(1.0 - keep**2) if cell.theta else np.sqrt(gaps)
    values = np.empty(shape)
    values[..., 0] = shocks[..., 0]
    for j in range(1, cell.n):
        values[..., j] = keep[..., j] * values[..., j - 1] + step[..., j] * shocks[..., j]
    values += cell.noise * rng.normal(size=shape)
    values *= np.exp(cell.spread * rng.normal(size=(repeats, cell.m, 1)))
    return Draw(np.cumsum(gaps, axis=2), values + 3.0 * rng.normal(size=(repeats, cell.m, 1)))


def autoregression(draw: Draw, h: float) -> np.ndarray:
    """beta of each repeat by regression on the reading before, means removed; NaN where undefined."""
    before = draw.values[..., :-1] - draw.values[..., :-1].mean(axis=2, keepdims=True)
    after = draw.values[..., 1:] - draw.values[..., 1:].mean(axis=2, keepdims=True)
    slope = (before * after).sum(axis=(1, 2)) / (before**2).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((slope > 0.0) & (slope < 1.0), -2.0 * np.log(slope) / h, np.nan)


PEER = """
import json, sys
import numpy as np
from chronofy.analysis.beta_estimator import BetaEstimator
drawn, found = np.load(sys.argv[1]), []
for times, values in zip(drawn["times"], drawn["values"]):
    ages = np.diff(times, axis=1).ravel()
    valid = np.abs(np.diff(values, axis=1)).ravel() <= values.std(axis=1).mean()
    found.append(BetaEstimator().fit(ages.tolist(), valid.tolist()).beta)
print(json.dumps(found))
"""


def peer(draw: Draw, python: str | None) -> np.ndarray | None:
    """beta of the first repeats by the peer, None without an interpreter that has it."""
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.npz"
        np.savez(path, times=draw.times[:PEER_REPEATS], values=draw.values[:PEER_REPEATS])
        done = subprocess.run([python, "-c", PEER, str(path)], stdout=subprocess.PIPE, text=True, check=True)
    return np.array(json.loads(done.stdout))


def errors(found: np.ndarray, truth: float) -> dict[str, Any]:
    """Mean, median and root mean square of the relative errors of the finite estimates."""
    finite = found[np.isfinite(found)]
    relative = finite / truth - 1.0
    return {
        "mean": round(float(relative.mean()), 4),
        "mean_error": round(float(relative.std() / math.sqrt(max(relative.size, 1))), 4),
        "median": round(float(np.median(relative)), 4),
        "rmse": round(float(np.sqrt((relative**2).mean())), 4),
        "undefined": round(1.0 - finite.size / found.size, 4),
    }


def fits_of(cell: Cell, draw: Draw, noise: Any) -> list[DecayFit]:
    """A fit of each repeat, all of them by the same call that a user makes."""
    names = np.repeat(np.arange(cell.m), cell.n)
    # a prior far away: an estimate that falls back to it would show
    return [
        fit_decay(times.ravel(), values.ravel(), names, noise=noise, prior=1e-9)
        for times, values in zip(draw.times, draw.values, strict=True)
    ]


def summary(cell: Cell, fits: list[DecayFit]) -> dict[str, Any]:
    """What one way of fitting made of a cell."""
    truth = 2.0 * cell.theta
    seen = [fit.status for fit in fits]
    share = {status: seen.count(status) / len(seen) for status in set(seen)}
    out: dict[str, Any] = {
        "status": {status: round(part, 4) for status, part in sorted(share.items())},
        "coverage": round(sum(f.ci_raw[0] <= truth <= f.ci_raw[1] for f in fits) / len(fits), 4),
    }
    if truth:
        out["fallbacks"] = round(sum(f.origin != "fitted" for f in fits) / len(fits), 4)
        out["corrected"] = errors(np.array([_own(cell, f) for f in fits]), truth)
        out["optimum"] = errors(np.array([f.beta_raw for f in fits]), truth)
    return out


def _own(cell: Cell, fit: DecayFit) -> float:
    """The corrected estimate, also of a fit whose rate in use is that of a fallback."""
    if not math.isfinite(fit.beta_raw) or fit.origin == "fitted":
        return fit.beta_corrected if math.isfinite(fit.beta_raw) else math.nan
    gap = fit.span / (cell.m * (cell.n - 1))
    return max(2.0 * (fit.theta - bias_of_theta(fit.theta, fit.span, gap)), 0.0)


def run(job: tuple[Cell, int, int, str | None]) -> dict[str, Any]:
    """All that is measured of one cell."""
    cell, repeats, seed, python = job
    start = time.perf_counter()
    draw = simulate(cell, repeats, seed)
    out: dict[str, Any] = {"cell": cell.name, "kind": cell.kind, "barred": cell.barred, "repeats": repeats}
    if cell.theta:
        out["theta_T"] = round(cell.total, 3)
    if not cell.noise:
        out["clean"] = summary(cell, fits_of(cell, draw, False))
    out["default"] = summary(cell, fits_of(cell, draw, "auto"))
    if cell.theta:
        out["ar1"] = errors(autoregression(draw, cell.h), 2.0 * cell.theta)
        theirs = peer(draw, python)
        out["chronofy"] = None if theirs is None else errors(theirs, 2.0 * cell.theta)
    out["seconds"] = round(time.perf_counter() - start, 1)
    print(json.dumps(out), file=sys.stderr, flush=True)
    return out


def bars(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each bar with the worst cell that it speaks of."""

    def of(way: str, *kinds: str) -> list[dict[str, Any]]:
        return [c for c in cells if c["barred"] and c["kind"] in kinds and way in c]

    def bar(what: str, rows: list[tuple[float, str]], low: float, high: float) -> dict[str, Any]:
        values = [value for value, _ in rows]
        worst = max(rows, key=lambda row: max(low - row[0], row[0] - high))
        return {
            "bar": what, "least": low, "most": high, "seen": [min(values), max(values)],
            "worst": worst[1], "holds": low <= min(values) and max(values) <= high,
        }  # fmt: skip

    def bias(way: str, *kinds: str) -> list[tuple[float, str]]:
        return [(c[way]["corrected"]["mean"], c["cell"]) for c in of(way, *kinds)]

    def cover(way: str, *kinds: str) -> list[tuple[float, str]]:
        return [(c[way]["coverage"], c["cell"]) for c in of(way, *kinds)]

    def walks(way: str, kind: str) -> list[tuple[float, str]]:
        return [(c[way]["status"].get("unit_root", 0.0), c["cell"]) for c in of(way, kind)]

    return [
        bar("mean bias, theta T >= 10, clean fit", bias("clean", "short"), -0.05, 0.05),
        bar("mean bias, theta T >= 10, default fit of clean data", bias("default", "short"), -0.05, 0.05),
        bar("mean bias, pooled, theta T_total >= 100, clean fit", bias("clean", "pooled"), -0.10, 0.10),
        bar("mean bias, pooled, default fit of clean data", bias("default", "pooled"), -0.10, 0.10),
        bar("coverage, clean fit", cover("clean", "short", "pooled", "reverting"), 0.93, 0.975),
        bar("coverage, default fit", cover("default", "short", "pooled", "noisy", "reverting"), 0.91, 0.99),
        bar("unit_root of random walks, clean fit", walks("clean", "walk"), 0.93, 1.0),
        bar("unit_root of random walks, default fit", walks("default", "walk"), 0.93, 1.0),
        bar(
            "unit_root of reverting series, theta T >= 40, clean fit", walks("clean", "reverting"), 0.0, 0.02
        ),
        bar("unit_root of reverting series, default fit", walks("default", "reverting"), 0.0, 0.02),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--peer-python", help="interpreter of an environment with chronofy==0.1.9")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    chosen = [(i, cell) for i, cell in enumerate(CELLS) if cell.kind in options.kinds]
    # the mean of a short series is spread so widely that it takes more repeats to see 5 %
    jobs = [
        (cell, options.repeats * (3 if cell.kind == "short" else 1), 100 + i, options.peer_python)
        for i, cell in chosen
    ]
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            cells = list(pool.map(run, jobs))
    else:
        cells = [run(job) for job in jobs]
    found = bars(cells) if set(options.kinds) == set(KINDS) else []
    print(json.dumps({"repeats": options.repeats, "bars": found, "cells": cells}, indent=1))


if __name__ == "__main__":
    main()
