"""A million facts in the embedded engine: prints one JSON object.

    python benchmarks/million.py [--facts 1000000] [--data DIR]

Loads facts from a JSONL file (a tenth as many subjects, ten predicates of one and of many, twenty sources),
then closes the store and measures, each in a process of its own: memory of the table over the process
without it, restart to the first answer, and pattern queries on the warm process. `load` counts the whole of
it: reading the file, planning, writing. CPU seconds of this process and of the engine stand beside the wall
time, since other jobs on the machine slow the one and not the others. There is no peer in this run.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from chronofy_kg import KnowledgeBase
from chronofy_kg.answer.model import Pattern
from chronofy_kg.settings import Settings

PREDICATES = 10
AT = "2026-03-01T00:00:00Z"


def row(n: int, subjects: int) -> dict[str, Any]:
    """One assertion; subject and predicate repeat rarely, so most of them are facts of their own."""
    subject, predicate = n % subjects, (n // subjects) % PREDICATES
    day, hour = 1 + n % 28, n % 24
    told: dict[str, Any] = {
        "subject": f"patient:{subject}",
        "predicate": f"p{predicate}",
        "valid_from": f"2026-0{1 + n % 2}-{day:02d}T{hour:02d}:00:00Z",
        "source": f"lab:{n % 20}",
        "quality": 0.9,
    }
    if predicate % 2:
        return told | {"object": f"drug:{(n * 7919) % 5_000}"}
    return told | {"value": round((n * 37 % 10_000) / 7, 3), "unit": "mg/L"}


def write(path: Path, facts: int) -> None:
    subjects = max(facts // PREDICATES, 1)
    with path.open("w", encoding="utf-8") as stream:
        for n in range(facts):
            stream.write(json.dumps(row(n, subjects)) + "\n")


def resident(pid: int | str = "self") -> int:
    """Resident memory of a process in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def engine_pid(data: Path) -> int:
    pid: int = json.loads(next(data.rglob("endpoint.json")).read_text())["engine"]
    return pid


def wait_for_the_end(pid: int) -> None:
    """Wait until the engine has ended, as it does some time after its last user."""
    deadline = time.monotonic() + 120
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, "the engine does not end"
        time.sleep(0.2)


def open_base(data: Path) -> KnowledgeBase:
    return KnowledgeBase.open(settings=Settings(data=data, embedder="none"))


def load(data: Path, source: Path, facts: int) -> dict[str, Any]:
    with open_base(data) as kb:
        engine = engine_pid(data)
        wall, mine, theirs = time.perf_counter(), time.process_time(), cpu_seconds(engine)
        report = kb.load(source)
        wall = time.perf_counter() - wall
        assert (report.added, report.errors) == (facts, ()), report
        return {
            "seconds": round(wall, 1),
            "facts_per_s": round(facts / wall),
            "cpu_s": round(time.process_time() - mine, 1),
            "engine_cpu_s": round(cpu_seconds(engine) - theirs, 1),
            "engine_resident_mb": round(resident(engine) / 1e6),
        }


def restart(data: Path, facts: int) -> dict[str, Any]:
    """Measure a start, the engine included, and answers, in this process, which must be a fresh one."""
    start = time.perf_counter()
    with open_base(data) as kb:
        opened = time.perf_counter() - start
        kb.query(pattern=Pattern("patient:7", "p0", None), at=AT)
        first = time.perf_counter() - start
        times = []
        for n in range(200):
            begin = time.perf_counter()
            answer = kb.query(pattern=Pattern(f"patient:{n * 31 % (facts // PREDICATES)}", None, None), at=AT)
            times.append((time.perf_counter() - begin) * 1e3)
            assert answer.facts
        times.sort()
        return {
            "open_s": round(opened, 2),
            "first_answer_s": round(first, 2),
            "pattern_ms": {"p50": round(times[100], 1), "p95": round(times[190], 1)},
        }


def memory(data: Path) -> dict[str, Any]:
    """Memory that the table takes, over the same process before it was read."""
    from chronofy_kg.facts.archive import read_archive  # the base is measured with everything imported

    saved = next((data / "snapshots").glob("*.facts"))
    gc.collect()
    base = resident()
    with saved.open("rb") as stream:
        found = read_archive(stream)
    assert found is not None
    gc.collect()
    return {"rows": len(found[0]), "table_mb": round((resident() - base) / 1e6, 1)}


def in_fresh_process(what: str, options: argparse.Namespace, data: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--facts", str(options.facts), "--data", str(data), "--part", what]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path, help="data folder, which is kept; a temporary one by default")
    parser.add_argument("--part", choices=["restart", "memory"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        part = restart(options.data, options.facts) if options.part == "restart" else memory(options.data)
        print(json.dumps(part))
        return
    with tempfile.TemporaryDirectory() as folder:
        data, source = options.data or Path(folder) / "data", Path(folder) / "facts.jsonl"
        write(source, options.facts)
        report: dict[str, Any] = {"facts": options.facts, "load": load(data, source, options.facts)}
        report["memory"] = in_fresh_process("memory", options, data)
        wait_for_the_end(engine_pid(data))  # so that the restart is one of the engine too
        report["restart"] = in_fresh_process("restart", options, data)
        print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
