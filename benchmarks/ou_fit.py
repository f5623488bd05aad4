"""Speed of the Ornstein-Uhlenbeck fit: prints one JSON object, seconds per fit.

    python benchmarks/ou_fit.py [--rows 1000000] [--repeat 1]

Series are simulated exactly (theta = 0.2 per day, exponential gaps of one day); the noisy ones carry
measurement noise of a quarter of the stationary variance. There is no peer in this run: no package fits
pooled, irregular, noisy series.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from chronofy_kg.decay import DecayFit, fit_decay

THETA = 0.2


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


def timed(run: Callable[[], DecayFit], repeat: int) -> dict[str, object]:
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    out: dict[str, object] = {"true_beta": 2 * THETA, "true_q_noisy": 0.8}
    small = simulate(1_000, 1, 0.5, 1)
    out["noisy_1e3_first_call"] = timed(lambda: fit_decay(*small), 1)
    out["noisy_1e3"] = timed(lambda: fit_decay(*small), 10)
    out["clean_1e3"] = timed(lambda: fit_decay(*small, noise=False), 10)
    t, y, _ = simulate(options.rows, 1, 0.0, 2)
    out[f"clean_{options.rows}"] = timed(lambda: fit_decay(t, y, noise=False), options.repeat)
    t, y, _ = simulate(options.rows, 1, 0.5, 3)
    out[f"noisy_{options.rows}"] = timed(lambda: fit_decay(t, y), options.repeat)
    pooled = simulate(10, options.rows // 10, 0.5, 4)
    out[f"noisy_{options.rows // 10}_subjects_x_10"] = timed(lambda: fit_decay(*pooled), options.repeat)
    many = simulate(200, 1_000, 0.5, 5)
    columns = [column.reshape(1_000, 200) for column in many]
    for name, noise in (("clean", False), ("noisy", "auto")):
        start, used = time.perf_counter(), time.process_time()
        for i in range(1_000):
            fit_decay(columns[0][i], columns[1][i], noise=noise)
        out[f"{name}_1000_fits_x_200"] = {
            "seconds": round(time.perf_counter() - start, 3),
            "cpu_seconds": round(time.process_time() - used, 3),
        }
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
