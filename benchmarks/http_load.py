"""Load on one server: pattern queries over HTTP while facts are being written, and what it does to memory.

    python benchmarks/http_load.py [--facts 100000] [--seconds 30] [--connections 8] [--rate 0]

One server process (`chronofy-kg serve`) on the embedded engine, with a key, on loopback. The clients are
processes of their own: one keeps `connections` requests in flight (or, with --rate, starts so many a second
whatever the server does), one writes ten facts every 200 ms. Prints one JSON object: queries a second, the
percentiles of their time, errors, writes, and the resident memory of the server after warm-up and at the end.
Exit code 1 where there was an error, where a bar is missed (100 queries a second, 95 % of them within
100 ms), or where memory grew by more than 10 % after the first third.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from chronofy_kg.facts import OPEN_US, Assertion, TableBuilder
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import Settings

DAY_US = 86_400_000_000
PREDICATES = 10
LEAST_RATE, MOST_P95_MS, MOST_GROWTH = 100.0, 100.0, 0.10


def fill(folder: Path, facts: int) -> str:
    """Load the facts and return a key."""
    now = time.time_ns() // 1_000
    builder = TableBuilder("default")
    builder.extend(
        Assertion(
            subject=f"entity:{n // PREDICATES}", predicate=f"p{n % PREDICATES}", value=float(n % 97),
            valid_from=now - (n % 60 + 1) * DAY_US, valid_to=OPEN_US, observed_at=now - (n % 60 + 1) * DAY_US,
            source=f"s{n % 7}", quality=0.95,
        )
        for n in range(facts)
    )  # fmt: skip
    with KnowledgeBase.open(settings=Settings(data=folder, embedder="none")) as kb:
        kb.load(builder.build())
        return kb.store.keys.create("default", ["read", "write"], "load", now)[1]


class Connection:
    """One kept-alive connection; HTTP in the least that is needed."""

    def __init__(self, url: str, key: str) -> None:
        self._at, self._key = urlsplit(url), key
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: Any) -> tuple[int, bytes]:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self._at.hostname, self._at.port)
        assert self._reader is not None
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._at.netloc}\r\nAuthorization: Bearer {self._key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self._writer.write(head.encode() + data)
        told = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(told.split("content-length: ")[1].split("\r\n")[0])
        return int(told.split()[1]), await self._reader.readexactly(length)


async def query_all(
    url: str, key: str, facts: int, seconds: float, width: int, rate: float
) -> dict[str, Any]:
    rng, times, errors = random.Random(1), [], []
    began = time.perf_counter()
    turn = 0

    async def ask(connection: Connection) -> None:
        started = time.perf_counter()
        pattern = {
            "subject": f"entity:{rng.randrange(facts // PREDICATES)}",
            "predicate": f"p{rng.randrange(PREDICATES)}",
        }
        try:
            status, raw = await connection.post("/v1/query", {"pattern": pattern})
            answer = json.loads(raw)
            if status != 200 or answer["verdict"] != "supported":
                errors.append(f"{status} {raw[:200]!r}")
        except (OSError, ValueError, LookupError, asyncio.IncompleteReadError) as error:
            errors.append(repr(error))
        times.append((started - began, time.perf_counter() - started))

    async def client() -> None:
        nonlocal turn
        connection = Connection(url, key)
        while time.perf_counter() - began < seconds:
            if rate:
                due, turn = began + turn / rate, turn + 1
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await ask(connection)

    await asyncio.gather(*(client() for _ in range(width)))
    took = time.perf_counter() - began
    steady = sorted(spent for at, spent in times if at > min(5.0, seconds / 4))
    return {
        "queries": len(times), "errors": len(errors), "first_errors": errors[:3],
        "queries_per_s": round(len(times) / took, 1),
        **{f"p{n}_ms": round(1_000 * steady[int(len(steady) * n / 100)], 1) for n in (50, 95, 99)},
    }  # fmt: skip


async def write_all(url: str, key: str, seconds: float) -> dict[str, Any]:
    connection, began, writes, errors = Connection(url, key), time.perf_counter(), 0, []
    spent = []
    while time.perf_counter() - began < seconds:
        rows = [
            {"subject": f"written:{writes}", "predicate": f"p{n}", "value": n, "observed_at": "2026-11-01"}
            for n in range(10)
        ]
        started = time.perf_counter()
        status, raw = await connection.post("/v1/facts", {"facts": rows})
        spent.append(time.perf_counter() - started)
        writes += 1
        if status != 200:
            errors.append(f"{status} {raw[:200]!r}")
        await asyncio.sleep(max(0.0, 0.2 - spent[-1]))
    spent.sort()
    return {"writes": writes, "write_errors": len(errors), "first_write_errors": errors[:3],
            "write_p95_ms": round(1_000 * spent[int(len(spent) * 0.95)], 1)}  # fmt: skip


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(facts: int, seconds: float, width: int, rate: float, folder: Path) -> dict[str, Any]:
    key = fill(folder, facts)
    command = [
        sys.executable,
        "-m",
        "chronofy_kg.cli",
        "serve",
        "--port",
        "0",
        "--json",
        "--data",
        str(folder),
    ]
    environment = os.environ | {"CHRONOFY_KG_EMBEDDER": "none"}
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            url = ""
            while '"url"' not in url:
                line = server.stdout.readline()
                assert line, (folder / "server.log").read_text()[-2_000:]
                url = line
            url = url.split('"')[3]
            shared = ["--url", url, "--key", key, "--facts", str(facts), "--seconds", str(seconds)]
            me = [sys.executable, __file__, *shared]
            began_cpu = cpu_s(server.pid)
            asking = subprocess.Popen(
                [*me, "--connections", str(width), "--rate", str(rate), "--role", "ask"],
                stdout=subprocess.PIPE,
            )
            writing = subprocess.Popen([*me, "--role", "write"], stdout=subprocess.PIPE)
            memory = []
            while asking.poll() is None:
                memory.append(resident_mb(server.pid))
                time.sleep(1.0)
            told = json.loads(asking.communicate()[0]) | json.loads(writing.communicate()[0])
            spent = cpu_s(server.pid) - began_cpu
            server.send_signal(signal.SIGTERM)
            told["exit_code"] = server.wait(30)
        finally:
            server.kill()
    third = max(1, len(memory) // 3)
    return told | {
        "facts": facts, "connections": width, "rate": rate, "seconds": seconds, "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "server_cpu_ms_per_query": round(1_000 * spent / max(1, told["queries"]), 2),
        "memory_mb": {
            "after_warm_up": round(memory[third - 1], 1),
            "most_after": round(max(memory[third:]), 1),
            "end": round(memory[-1], 1),
        },
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.0)
    for name in ("--url", "--key", "--role"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.role == "ask":
        told = asyncio.run(
            query_all(asked.url, asked.key, asked.facts, asked.seconds, asked.connections, asked.rate)
        )
        print(json.dumps(told))
        return 0
    if asked.role == "write":
        print(json.dumps(asyncio.run(write_all(asked.url, asked.key, asked.seconds))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        report = run(asked.facts, asked.seconds, asked.connections, asked.rate, Path(folder))
    memory = report["memory_mb"]
    report["bars"] = {
        "no_errors": report["errors"] + report["write_errors"] + report["exit_code"] == 0,
        "queries_per_s": report["queries_per_s"] >= LEAST_RATE * 0.99,
        "p95_ms": report["p95_ms"] <= MOST_P95_MS,
        "memory": memory["most_after"] <= memory["after_warm_up"] * (1 + MOST_GROWTH),
    }
    print(json.dumps(report, indent=2))
    return 0 if all(report["bars"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
