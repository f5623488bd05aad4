"""Crash rounds: kill -9 in the middle of acknowledged writes, then count what is lost, torn or doubled.

    python benchmarks/crash_rounds.py [--rounds 20] [--engines embedded neo4j] [--seed 1]

In each round a process loads a file in slices of one transaction each and notes every slice that was
acknowledged. Rounds kill the loading process and the engine in turn. Then the store is opened again: every
acknowledged fact must be there (lost), a slice must be there whole or not at all, with its facts linked
(torn), and the same file loaded again must complete it without repeating anything (duplicates). Prints one
JSON object; exit code 1 where a count is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from chronofy_kg.facts.rows import check_row
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
SLICE, SLICES = 40, 60
PATIENCE_S = 120.0


def deploy() -> Any:
    spec = importlib.util.spec_from_file_location("crash_deploy", ROOT / "deploy" / "neo4j_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class EmbeddedEngine:
    """The embedded engine on a folder; it comes back by itself."""

    name = "embedded"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def settings(self, tenant: str) -> dict[str, Any]:
        return {"data": str(self.folder), "tenant": tenant, "embedder": "none"}

    def kill(self) -> None:
        told = json.loads(next(self.folder.rglob("endpoint.json")).read_text())
        os.kill(told["engine"], signal.SIGKILL)

    def revive(self) -> None: ...

    def stop(self) -> None: ...


class Neo4jEngine:
    """A Neo4j server of its own, started again after each kill."""

    name = "neo4j"

    def __init__(self, folder: Path) -> None:
        self.folder, self.deploy = folder, deploy()
        self.server = self.deploy.start(folder)

    def settings(self, tenant: str) -> dict[str, Any]:
        return {
            "uri": self.server.uri, "user": self.deploy.USER, "password": self.server.password,
            "data": str(self.folder / "caches"), "tenant": tenant, "embedder": "none",
        }  # fmt: skip

    def kill(self) -> None:
        """Kill the server and wait until it is gone: its port stays open while memory is given back."""
        os.kill(self.server.pid, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_S
        while self.deploy.is_alive(self.server):
            if time.monotonic() > deadline:
                raise RuntimeError(f"process {self.server.pid} does not end")
            time.sleep(0.01)

    def revive(self) -> None:
        if not self.deploy.is_alive(self.server):
            self.server = self.deploy.start(self.folder)

    def stop(self) -> None:
        self.deploy.stop(self.folder)


def rows_of(file: Path) -> list[Any]:
    return [check_row(json.loads(line)) for line in file.read_text().splitlines()]


def write_file(file: Path) -> None:
    with file.open("w") as out:
        for number in range(SLICE * SLICES):
            row = {"subject": f"s{number}", "predicate": "p", "value": number, "observed_at": "2024-01-01"}
            out.write(json.dumps(row | {"source": "crash"}) + "\n")


def load_slices(settings: dict[str, Any], file: Path, notes: Path) -> None:
    """Load slice by slice, and note each once it is acknowledged: what the killed process does."""
    rows = rows_of(file)
    with KnowledgeBase.open(settings=Settings(**settings)) as kb, notes.open("a") as out:
        for number in range(SLICES):
            kb.load(rows[number * SLICE : (number + 1) * SLICE])
            out.write(f"{number}\n")
            out.flush()
            os.fsync(out.fileno())


def acknowledged(notes: Path) -> int:
    return notes.read_text().count("\n") if notes.exists() else 0


def crash(
    engine: Any, settings: dict[str, Any], file: Path, notes: Path, rng: random.Random, what: str
) -> int:
    """Start a load, kill the process or the engine in the middle; return the slices acknowledged."""
    given = json.dumps(settings)
    command = [sys.executable, __file__, "--child", given, str(file), str(notes)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wanted, deadline = rng.randint(1, SLICES // 3), time.monotonic() + PATIENCE_S
        while acknowledged(notes) < wanted:
            if child.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the loading process did not get to slice {wanted}: {child.poll()}")
            time.sleep(0.002)
        time.sleep(rng.random() * 0.05)
        if what == "engine":
            engine.kill()
            time.sleep(0.2)
    finally:
        child.kill()
        child.wait()
    return acknowledged(notes)


def graph_facts(kb: KnowledgeBase) -> int:
    """How many facts hang whole in the graph: on their subject and type, with an assertion."""
    text = (
        "MATCH (f:Fact {tenant: $tenant})-[:SUBJECT]->(:Entity) MATCH (f)-[:OF_TYPE]->(:FactType) "
        "MATCH (f)-[:ASSERTED_BY]->(:Source) RETURN count(f)"
    )
    return int(kb.cypher(text, {"tenant": kb.tenant}).rows[0][0])


def all_facts(kb: KnowledgeBase) -> int:
    return int(
        kb.cypher("MATCH (f:Fact {tenant: $tenant}) RETURN count(f)", {"tenant": kb.tenant}).rows[0][0]
    )


def subjects(kb: KnowledgeBase, folder: Path) -> list[int]:
    """Numbers of the subjects of every stored assertion, as an export tells them."""
    kb.export(folder / "out.jsonl")
    return [int(json.loads(line)["subject"][1:]) for line in (folder / "out.jsonl").read_text().splitlines()]


def one_round(engine: Any, number: int, folder: Path, rng: random.Random) -> dict[str, int]:
    file, notes, settings = folder / "in.jsonl", folder / f"acks-{number}", engine.settings(f"round-{number}")
    write_file(file)
    acks = crash(engine, settings, file, notes, rng, "engine" if number % 2 else "loader")
    engine.revive()
    with KnowledgeBase.open(settings=Settings(**engine.settings(f"round-{number}"))) as kb:
        there = subjects(kb, folder)
        lost = len(set(range(acks * SLICE)) - set(there))
        torn = sum(0 < len(s) < SLICE for s in ({n for n in there if n // SLICE == k} for k in range(SLICES)))
        torn += abs(all_facts(kb) - len(there)) + abs(graph_facts(kb) - len(there))
        kb.load(file)
        again = subjects(kb, folder)
        missing = SLICE * SLICES - len(set(again))
        doubled = len(again) - len(set(again)) + max(0, all_facts(kb) - SLICE * SLICES)
    return {
        "acknowledged": acks * SLICE,
        "lost": lost,
        "torn": torn,
        "duplicates": doubled,
        "missing": missing,
    }


@contextlib.contextmanager
def running(name: str, folder: Path) -> Iterator[Any]:
    engine = (EmbeddedEngine if name == "embedded" else Neo4jEngine)(folder)
    try:
        yield engine
    finally:
        engine.stop()


def measure(name: str, rounds: int, seed: int) -> dict[str, Any]:
    rng, begun = random.Random(seed), time.monotonic()
    total = dict.fromkeys(("acknowledged", "lost", "torn", "duplicates", "missing"), 0)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder, home = Path(scratch) / "files", Path(scratch) / "engine"
        folder.mkdir()
        home.mkdir()
        with running(name, home) as engine:
            for number in range(rounds):
                for key, count in one_round(engine, number, folder, rng).items():
                    total[key] += count
    return {"rounds": rounds, **total, "seconds": round(time.monotonic() - begun, 1)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="kill -9 in the middle of acknowledged writes")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--engines", nargs="+", choices=["embedded", "neo4j"], default=["embedded", "neo4j"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", nargs=3, metavar=("SETTINGS", "FILE", "NOTES"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        settings, file, notes = options.child
        load_slices(json.loads(settings), Path(file), Path(notes))
        return 0
    found = {name: measure(name, options.rounds, options.seed) for name in options.engines}
    print(json.dumps(found))
    return int(any(run[key] for run in found.values() for key in ("lost", "torn", "duplicates", "missing")))


if __name__ == "__main__":
    sys.exit(main())
