"""Eight processes load one file at the same time: as if one had, and none has anything to complain of."""

from __future__ import annotations

import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cli import environment, run_cli, store_flags

from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import load_settings
from chronofy_kg.store import GraphStore, StoreAddress

pytestmark = pytest.mark.engine

PROCESSES = 8
_RATE = re.compile(r"[\d,]+ rows in [\d.]+ s, [\d,]+ rows/s")


def write_file(path: Path) -> int:
    """Write a file of more than one batch, whose rows repeat, correct and interrupt one another."""
    rows: list[dict[str, Any]] = []
    for number in range(5_400):
        row = {"subject": f"s{number % 2_700}", "predicate": "p", "value": number, "source": f"q{number % 7}"}
        rows.append(row | {"valid_from": f"20{10 + number // 2_700}-01-01", "meta": {"n": number}})
    rows += [row | {"value": row["value"] + 0.5} for row in rows[100:140]]  # the same source, another value
    rows += rows[:20]
    rows += [
        {"subject": f"s{number}", "predicate": "linked", "object": "hub", "valid_from": "2015"}
        for number in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return len(rows)


def exported(kb: KnowledgeBase) -> list[dict[str, Any]]:
    """Return the export of a tenant, without the instants at which it was loaded."""
    stream = io.BytesIO()
    kb.export(stream)
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    for row in rows:
        del row["recorded_at"]
        row["retired"] = row.pop("retired_at", None) is not None
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def test_row_49_eight_processes_load_one_file(
    address: StoreAddress, tenant: str, tmp_path: Path, graph_of: Any, make_ledger: Any
) -> None:
    if address.is_embedded:  # a folder of its own: the eight race for its engine too
        address = replace(address, data_dir=tmp_path / "data")
    count = write_file(tmp_path / "facts.jsonl")
    flags, env = store_flags(address, tmp_path / "caches"), environment(address)
    load = [*flags, "--tenant", tenant, "load", str(tmp_path / "facts.jsonl")]
    with ThreadPoolExecutor(PROCESSES) as pool:
        done = list(pool.map(lambda _: run_cli(load, env), range(PROCESSES)))
    assert [one.returncode for one in done] == [0] * PROCESSES, [one.stderr for one in done]
    for one in done:
        assert _RATE.fullmatch(one.stderr.strip()), one.stderr
    told = [re.search(r"([\d,]+) added, ([\d,]+) unchanged", one.stdout) for one in done]
    added = [int(found[1].replace(",", "")) for found in told if found]
    assert (len(added), sum(added)) == (PROCESSES, count - 20)
    alone = f"{tenant}-alone"
    with GraphStore.open(address) as store:
        kept = {
            name: KnowledgeBase(store, load_settings(data=tmp_path / "d", tenant=name, embedder="none"))
            for name in (tenant, alone)
        }
        assert kept[alone].load(tmp_path / "facts.jsonl").added == count - 20
        rows = exported(kept[tenant])
        assert rows == exported(kept[alone])
        assert (len(rows), sum(row["retired"] for row in rows)) == (count - 20, 40)
        # No element is there twice, though the facts of one load know nothing of the other seven.
        both = [graph_of(make_ledger(store, name)) for name in (tenant, alone)]
        assert [[len(part) for part in graph] for graph in both] == [[len(part) for part in both[1]]] * 2
        for label, key in (("Entity", "id"), ("Source", "id"), ("FactType", "name")):
            text = f"MATCH (n:{label} {{tenant: $tenant}}) RETURN n.{key} ORDER BY n.{key}"
            named = [store.cypher(text, {"tenant": name}, 10_000).rows for name in (tenant, alone)]
            assert named[0] == named[1]
            assert len({row[0] for row in named[0]}) == len(named[0])
