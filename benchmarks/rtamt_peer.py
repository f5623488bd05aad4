"""RTAMT as a peer: an environment of its own, and a program that runs in it.

RTAMT pins antlr4 4.7, so it never shares an environment with the package. `interpreter()` makes one (pinned
in rtamt.txt) or finds it; `ask(interpreter, jobs)` runs jobs there. With `--make` the program makes the
environment; else it reads a list of jobs as JSON from stdin, each {"text", "signals", "repeat"}, and prints
for each {"values"} or {"error"}, or the least "seconds" of CPU time where it was asked to repeat. Signals are
lists, or {"normal": n, "seed": s}.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
HOME = HERE.parents[1] / ".rtamt"


def interpreter(make: bool = False) -> str | None:
    """Return the interpreter of the environment that has RTAMT; None where there is none and none is made."""
    python = HOME / "bin" / "python"
    if not python.exists() and make:
        uv = Path(sys.executable).parent / "uv"
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, HOME], check=True)
        pins = HERE.with_name("rtamt.txt")
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, "-r", pins], check=True)
    return str(python) if python.exists() else None


def ask(python: str, jobs: list[dict[str, object]]) -> list[dict[str, object]]:
    """Run jobs in RTAMT's environment."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        [python, str(HERE)],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    answers: list[dict[str, object]] = json.loads(done.stdout)
    return answers


def _signal(given: object) -> list[float]:
    if isinstance(given, dict):
        draw = random.Random(given["seed"])
        return [draw.gauss(0.0, 1.0) for _ in range(given["normal"])]
    return [float(one) for one in given]


def _run(job: dict[str, object]) -> dict[str, object]:
    import rtamt  # only in its own environment

    signals = {name: _signal(values) for name, values in job["signals"].items()}
    length = len(next(iter(signals.values())))
    best = math.inf
    try:
        for _ in range(int(job.get("repeat", 1))):
            spec = rtamt.StlDiscreteTimeSpecification()
            for name in signals:
                spec.declare_var(name, "float")
            spec.spec = job["text"]
            spec.parse()
            data = {"time": list(range(length))} | {name: list(values) for name, values in signals.items()}
            start = time.process_time()
            found = spec.evaluate(data)
            best = min(best, time.process_time() - start)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    if "repeat" in job:
        return {"seconds": best}
    return {"values": [str(float(value)) for _, value in found]}


def main() -> None:
    if sys.argv[1:] == ["--make"]:
        print(interpreter(make=True))
        return
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        answers = [_run(job) for job in jobs]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
