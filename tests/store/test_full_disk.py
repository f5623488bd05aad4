"""A full disk: told in one line, nothing acknowledged is lost, and all goes on once there is space."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.disk import SmallDisk, small_disk
from support.engine import end_engine, endpoint
from support.facts import same_rows, table_of, told

from chronofy_kg.cli import main
from chronofy_kg.errors import StoreUnavailableError
from chronofy_kg.store import GraphStore, StoreAddress
from chronofy_kg.store.facts import Position
from chronofy_kg.store.saved import SavedSnapshot

ROWS = 1_500


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    """A small disk for a data folder, whose engine is ended afterwards."""
    monkeypatch.setenv("CHRONOFY_KG_EMBEDDER", "none")
    with small_disk(tmp_path / "disk", 24) as mounted:
        yield mounted
        end_engine(mounted.path / "data")


def write_file(folder: Path, number: int) -> tuple[str, set[str]]:
    """Write a file of some megabytes; return its path and its subjects."""
    subjects = [f"s{number}-{row}" for row in range(ROWS)]
    rows = (
        {"subject": name, "predicate": "p", "value": "v" * 1_500, "valid_from": "2024"} for name in subjects
    )
    path = folder / f"{number}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path), set(subjects)


@pytest.mark.engine
def test_a_disk_that_fills_up_during_loads(
    disk: SmallDisk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = disk.path / "data"

    def run(*argv: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["--data", str(data), *argv])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    def stored() -> set[str]:
        code, out, err = run("export")
        assert code == 0, err
        subjects = [json.loads(line)["subject"] for line in out.splitlines()]
        assert len(subjects) == len(set(subjects))
        return set(subjects)

    acknowledged: set[str] = set()
    for number in range(30):
        file, subjects = write_file(tmp_path, number)
        code, _, err = run("load", file)
        if code:
            break
        acknowledged |= subjects
    assert code == 3
    assert acknowledged
    full = rf"the disk of {re.escape(str(data))} is full \(\d\.\d MB left\)"
    what = "free some space and do it again; what was stored so far is kept"
    assert re.fullmatch(f"chronofy-kg: {full}: {what}\n", err), err
    assert stored() == acknowledged  # a full disk can still be read from
    # The worst moment for a crash: what was acknowledged is in the log of the engine only.
    os.kill(endpoint(data)["engine"], signal.SIGKILL)
    time.sleep(1.0)
    disk.grow(200)
    assert stored() == acknowledged
    assert run("load", file)[0] == 0
    assert stored() == acknowledged | subjects


@pytest.mark.engine
def test_a_store_that_cannot_start_on_a_full_disk_starts_when_there_is_space(disk: SmallDisk) -> None:
    disk.fill()
    address = StoreAddress(data_dir=disk.path / "data", linger=1.0)
    begin = time.monotonic()
    with pytest.raises(
        StoreUnavailableError, match=r"the disk of .* is full \(0\.0 MB left\): free"
    ) as refused:
        GraphStore.open(address)
    assert "\n" not in str(refused.value)
    assert time.monotonic() - begin < 30.0
    disk.free()
    with GraphStore.open(address) as store:
        assert store.write_spec("t", "after", "text", 1) == 1


def test_a_snapshot_that_finds_no_space_leaves_the_old_one(disk: SmallDisk) -> None:
    folder = disk.path / "data" / "snapshots"
    saved = SavedSnapshot(folder, StoreAddress(data_dir=folder.parent), "t")
    old = table_of(told("s", "p", 1.0))
    new = table_of(told("s", "p", "v" * 500_000, content="c" * 500_000))
    at = Position(1, 5, 1, "identity")
    assert saved.save(old, at)
    disk.fill()
    assert not saved.save(new, Position(2, 6, 1, "identity"))
    assert [path.name for path in folder.iterdir()] == [saved.path.name]  # and no half of the other
    found = saved.load("identity")
    assert found is not None
    assert same_rows(found[0], old)
    assert found[1] == at
    disk.free()
    assert saved.save(new, Position(2, 6, 1, "identity"))
    found = saved.load("identity")
    assert found is not None
    assert same_rows(found[0], new)
