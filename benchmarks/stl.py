"""Speed of the spec language: prints one JSON object, seconds of CPU time.

    python benchmarks/stl.py [--samples 1000000] [--repeat 5] [--rtamt] [--online 200000]

Robustness of G, F, G F, until and since with bounds of 10, 1,000 and 100,000 samples and without an end, each
with its lower and upper bounds, verdicts and vacuity; a batch of 10,000 series of 200 samples; window
statistics; a let that refers to itself; samples fed one at a time; a formula of 1,000 terms parsed anew. With
`--rtamt` the peer runs the bounds of 10 in an environment of its own, on the same number of samples
(`--peer-samples` for fewer).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rtamt_peer import ask, interpreter

from chronofy_kg.spec import Formula, Trace, parse_formula, robustness

SHAPES = {
    "G": "G{} x > 0",
    "F": "F{} x > 0",
    "GF": "G{} F{} x > 0",
    "until": "x > 0 U{} y > 0",
    "since": "x > 0 S{} y > 0",
}
PEER = {
    "G": "always[0:10](x > 0)",
    "F": "eventually[0:10](x > 0)",
    "GF": "always[0:10](eventually[0:10](x > 0))",
    "until": "(x > 0) until[0:10] (y > 0)",
    "since": "(x > 0) since[0:10] (y > 0)",
}
BOUNDS = {"10": "[0,10]", "1000": "[0,1000]", "100000": "[0,100000]", "all": ""}
BARS = {"G": 0.1, "F": 0.1, "GF": 0.1, "until": 0.5, "since": 0.5}


def least(run: Callable[[], Any], repeat: int) -> float:
    """The least CPU time of a call."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return round(best, 5)


def offline(trace: Trace, repeat: int) -> dict[str, Any]:
    """All shapes with all bounds."""
    out: dict[str, Any] = {}
    for name, shape in SHAPES.items():
        times = {}
        for bound, interval in BOUNDS.items():
            formula = parse_formula(shape.replace("{}", interval))
            times[bound] = least(lambda formula=formula: robustness(formula, trace), repeat)
        out[name] = times | {
            "bar": BARS[name],
            "widest_to_narrowest": round(times["100000"] / times["10"], 2),
        }
    return out


def peer(samples: int, ours: dict[str, Any]) -> dict[str, Any]:
    """RTAMT on the bounds of 10, and how many times as long it takes."""
    python = interpreter(make=True)
    assert python is not None
    signals = {name: {"normal": samples, "seed": seed} for seed, name in enumerate("xy")}
    out: dict[str, Any] = {"samples": samples}
    for name, text in PEER.items():
        (answer,) = ask(python, [{"text": text, "signals": signals, "repeat": 1}])
        seconds = float(str(answer["seconds"]))
        out[name] = {"seconds": round(seconds, 3), "ratio": round(seconds / ours[name]["10"], 1)}
    return out


def batch(repeat: int) -> dict[str, float]:
    """10,000 series of 200 samples at once."""
    series = np.random.default_rng(2).normal(size=(10_000, 200))
    trace = Trace({"x": series})
    texts = ["G[0,10] x > 0", "G[0,10] (x > 0 -> F[0,5] x > 1)"]
    return {text: least(lambda f=parse_formula(text): robustness(f, trace), repeat) for text in texts}


def parsing(repeat: int) -> dict[str, float]:
    """Formulas of 1,000 terms, another one each time."""
    count = iter(range(10_000))

    def parse() -> Formula:
        first = next(count)
        return parse_formula(" and ".join(f"x{first} > {i}" for i in range(1000)))

    return {"terms_1000": least(parse, repeat), "bar": 0.3}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--rtamt", action="store_true", help="run RTAMT too (its environment is made if needed)"
    )
    parser.add_argument("--peer-samples", type=int)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    trace = Trace({name: rng.normal(size=options.samples) for name in "xy"})
    out: dict[str, Any] = {"samples": options.samples, "offline": offline(trace, options.repeat)}
    out["batch"] = batch(options.repeat) | {"bar": 0.2}
    out["parse"] = parsing(options.repeat)
    if options.rtamt:
        out["rtamt"] = peer(options.peer_samples or options.samples, out["offline"])
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
