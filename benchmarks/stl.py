"""Speed of the spec language: prints one JSON object, seconds of CPU time.

    python benchmarks/stl.py [--samples 1000000] [--repeat 5] [--online 20000] [--rtamt]

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
from functools import partial
from typing import Any

import numpy as np
from rtamt_peer import ask, interpreter

from chronofy_kg.spec import Formula, Monitor, Trace, parse_formula, robustness

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
ONLINE = [
    "H[0,10] x > 0",
    "H[0,1000] x > 0",
    "G[0,1000] x > 0",
    "x > 0 U[0,1000] y > 0",
    "x > 0 S[0,10] y > 0",
    "x > mean[0,1000](x)",
    "(let a = x > 2 or (prev a and x > -1))",
]
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


def peer(samples: int, repeat: int) -> dict[str, Any]:
    """RTAMT on the bounds of 10, and how many times as long as ours it takes on as many samples."""
    trace = Trace({name: np.random.default_rng(seed).normal(size=samples) for seed, name in enumerate("xy")})
    python = interpreter(make=True)
    assert python is not None
    signals = {name: {"normal": samples, "seed": seed} for seed, name in enumerate("xy")}
    out: dict[str, Any] = {"samples": samples}
    for name, text in PEER.items():
        (answer,) = ask(python, [{"text": text, "signals": signals, "repeat": 1}])
        seconds = float(str(answer["seconds"]))
        formula = parse_formula(SHAPES[name].replace("{}", BOUNDS["10"]))
        ours = least(partial(robustness, formula, trace), repeat)
        out[name] = {"seconds": round(seconds, 3), "ours": ours, "ratio": round(seconds / ours, 1)}
    return out


def batch(repeat: int) -> dict[str, float]:
    """10,000 series of 200 samples at once."""
    series = np.random.default_rng(2).normal(size=(10_000, 200))
    trace = Trace({"x": series})
    texts = ["G[0,10] x > 0", "G[0,10] (x > 0 -> F[0,5] x > 1)"]
    return {text: least(partial(robustness, parse_formula(text), trace), repeat) for text in texts}


def statistics(trace: Trace, repeat: int) -> dict[str, float]:
    """Statistics over windows, and a let that refers to itself, over all samples."""
    texts = [
        f"x > {name}[0,{width}](x)" for name in ("mean", "std", "median", "highest") for width in (10, 1000)
    ]
    texts.append("(let a = x > 2 or (prev a and x > -1))")
    return {text: least(partial(robustness, parse_formula(text), trace), repeat) for text in texts}


def online(samples: int) -> dict[str, dict[str, float]]:
    """Microseconds of CPU time per sample, fed one at a time and in blocks of 1,000."""
    values = np.random.default_rng(3).normal(size=samples)
    ones = [{"x": one, "y": -one} for one in values.tolist()]
    out = {}
    for text in ONLINE:
        monitor = Monitor(parse_formula(text))
        monitor.feed({"x": values[:1], "y": values[:1]})
        start = time.process_time()
        for one in ones:
            monitor.feed(one)
        middle = time.process_time()
        for at in range(0, samples, 1000):
            monitor.feed({"x": values[at : at + 1000], "y": values[at : at + 1000]})
        end = time.process_time()
        out[text] = {
            "one_at_a_time_us": round((middle - start) / samples * 1e6, 2),
            "in_blocks_us": round((end - middle) / samples * 1e6, 2),
        }
    return out


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
    parser.add_argument("--online", type=int, default=20_000, help="samples fed one at a time")
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
    out["statistics"] = statistics(trace, options.repeat)
    out["online"] = online(options.online)
    if options.rtamt:
        out["rtamt"] = peer(options.peer_samples or options.samples, options.repeat)
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
