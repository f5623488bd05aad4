"""Speed of the decay fits: prints one JSON object, seconds per fit, and whether each bar holds.

    python benchmarks/ou_fit.py [--rows 1000000] [--repeat 1]

Series are simulated exactly (theta = 0.2 per day, exponential gaps of one day); the noisy ones carry
measurement noise of a quarter of the stationary variance. There is no peer in this run: no package fits
pooled, irregular, noisy series. The first fit with noise in a process loads numba; the first one of an
installation compiles as well: both are measured in processes of their own. Bars are on wall time, so they
mean little on a busy machine: compare with the processor time beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from chronofy_kg.decay import DecayFit, fit_decay

THETA = 0.2
BARS = {
    "noisy_1e3": 0.05,
    "clean_1e3": 0.05,
    "clean_1e6": 5.0,
    "noisy_1e6": 10.0,
    "noisy_1e5_subjects_x_10": 10.0,
    "clean_1000_fits_x_200": 6.0,
    "noisy_1000_fits_x_200": 30.0,
}


def simulate(rows: int, subjects: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, values and subjects of rows * subjects observations."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(1.0, (subjects, rows))
    shocks = rng.normal(size=(subjects, rows))
    keep = np.exp(-THETA * gaps)
    values = np.empty((subjects, rows))
    values[:, 0] = shocks[:, 0]
    for j in range(1, rows):
        values[:, j] = keep[:, j] * values[:, j - 1] + np.sqrt(1.0 - keep[:, j] ** 2) * shocks[:, j]
    values += noise * rng.normal(size=values.shape) + 3.0 * rng.normal(size=(subjects, 1))
    names = np.repeat(np.arange(subjects), rows)
    return np.cumsum(gaps, axis=1).ravel(), values.ravel(), names


def timed(run: Callable[[], DecayFit], repeat: int) -> dict[str, Any]:
    """Least wall and processor time of some runs (they differ on a busy machine), and what came out."""
    wall = cpu = float("inf")
    for _ in range(repeat):
        start, used = time.perf_counter(), time.process_time()
        fit = run()
        wall, cpu = min(wall, time.perf_counter() - start), min(cpu, time.process_time() - used)
    return {
        "seconds": round(wall, 4),
        "cpu_seconds": round(cpu, 4),
        "status": fit.status,
        "beta": fit.beta,
        "ci": fit.ci,
        "q": fit.q,
    }


FIRST = """
import time
from chronofy_kg.decay import fit_decay
import numpy as np
import chronofy_kg.decay.fit
start = time.perf_counter()
fit_decay(np.arange(200.0), np.random.default_rng(1).normal(size=200).cumsum())
print(time.perf_counter() - start)
"""


def first_call(fresh: bool) -> float:
    """Seconds of the first fit with noise of a process, with or without what numba kept on disk."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | ({"NUMBA_CACHE_DIR": folder} if fresh else {})
        command = [sys.executable, "-c", FIRST]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return round(float(done.stdout), 3)


def many_series(noise: Literal["auto"] | bool) -> dict[str, Any]:
    """1,000 separate fits of 200 readings."""
    columns = [column.reshape(1_000, 200) for column in simulate(200, 1_000, 0.5 if noise else 0.0, 5)]
    start, used = time.perf_counter(), time.process_time()
    for i in range(1_000):
        fit_decay(columns[0][i], columns[1][i], noise=noise)
    return {
        "seconds": round(time.perf_counter() - start, 3),
        "cpu_seconds": round(time.process_time() - used, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    rows, repeat = options.rows, options.repeat
    out: dict[str, Any] = {"true_beta": 2 * THETA, "true_q_noisy": 0.8}
    fit_decay(*simulate(50, 1, 0.5, 9))
    out["first_call_compiling"], out["first_call_in_a_process"] = first_call(True), first_call(False)
    small = simulate(1_000, 1, 0.5, 1)
    out["noisy_1e3"] = timed(lambda: fit_decay(*small), 10)
    out["clean_1e3"] = timed(lambda: fit_decay(*small, noise=False), 10)
    t, y, _ = simulate(rows, 1, 0.0, 2)
    out["clean_1e6"] = timed(lambda: fit_decay(t, y, noise=False), repeat)
    t, y, _ = simulate(rows, 1, 0.5, 3)
    out["noisy_1e6"] = timed(lambda: fit_decay(t, y), repeat)
    pooled = simulate(10, rows // 10, 0.5, 4)
    out["noisy_1e5_subjects_x_10"] = timed(lambda: fit_decay(*pooled), repeat)
    out["clean_1000_fits_x_200"], out["noisy_1000_fits_x_200"] = many_series(False), many_series("auto")
    out["bars"] = {
        name: {"most_seconds": most, "holds": out[name]["seconds"] <= most} for name, most in BARS.items()
    }
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
