"""Snapshots saved beside the store: a start from a file says the same as a start from the store alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chronofy_kg.facts import OPEN_US, FactTable, TableBuilder
from chronofy_kg.facts.plan import plan_load
from chronofy_kg.store import GraphStore, Snapshot, StoreAddress, snapshot
from chronofy_kg.store.facts import Position
from chronofy_kg.store.saved import SavedSnapshot

Open = Callable[[], Snapshot]


class Reads:
    """Counts how often everything was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        read_at = GraphStore.read_at

        def counted(store: GraphStore, *given: Any) -> Any:
            self.count += 1
            return read_at(store, *given)

        monkeypatch.setattr(GraphStore, "read_at", counted)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    monkeypatch.setattr(snapshot, "_LEAST_CHANGED", 1)
    return Reads(monkeypatch)


@pytest.fixture
def reopen(store: GraphStore, tenant: str, tmp_path: Path) -> Open:
    (tmp_path / "data").mkdir()
    return lambda: Snapshot(store, tenant, tmp_path / "data" / "snapshots")


def _files(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "data" / "snapshots").iterdir())


def _rows(table: FactTable) -> list[tuple[Any, ...]]:
    return [
        (table.id_of(row), table.assertion(row), int(table.recorded_at[row]), int(table.retired_at[row]))
        for row in range(len(table))
    ]


def _same(opened: Snapshot, ledger: Any) -> None:
    """The table is that of the ledger and that of the store, row by row."""
    table, recorded_at = opened.current()
    assert opened.sequence == ledger.sequence
    assert recorded_at == ledger.store.sequence(ledger.tenant)[1]
    assert _rows(table) == _rows(ledger.table) == _rows(ledger.store.read(ledger.tenant)[0])


@pytest.mark.engine
def test_a_second_start_reads_the_file(ledger: Any, told: Any, reopen: Open, reads: Reads) -> None:
    ledger.load(told(value="a", source="s"), told(object="cafe\u0301"), told(value=-0.0, valid_from=3))
    _same(reopen(), ledger)
    before = reads.count
    opened = reopen()
    assert reads.count == before
    _same(opened, ledger)


@pytest.mark.engine
def test_a_start_catches_up_with_changes_and_retirements(
    ledger: Any, random_rows: Any, reopen: Open, reads: Reads
) -> None:
    rng = np.random.default_rng(3)
    ledger.load(*random_rows(rng, 5), now=1)
    reopen()
    for now in range(2, 14):
        alive = np.flatnonzero(ledger.table.retired_at == OPEN_US)
        if len(alive) and now % 3 == 0:
            ledger.retract(rng.choice(alive, size=1).tolist(), now=now)
        else:
            ledger.load(*random_rows(rng, 2), now=now)
        before = reads.count
        opened = reopen()
        assert reads.count == before
        _same(opened, ledger)
        if now % 5 == 0:
            opened.close()  # saves: later starts catch up from here


@pytest.mark.engine
def test_what_the_last_saved_change_wrote_can_be_retired_later(
    ledger: Any, told: Any, reopen: Open, reads: Reads
) -> None:
    ledger.load(told(value="a", source="s"), told(value="b", source="t"), now=1)
    reopen()
    ledger.load(told(value="c", source="s"), now=2)  # retires "a"
    before = reads.count
    opened = reopen()
    assert reads.count == before
    _same(opened, ledger)
    opened.close()
    ledger.retract([1], now=3)
    ledger.retract([2], now=4)
    _same(reopen(), ledger)


@pytest.mark.engine
def test_writes_of_its_own_are_saved_on_close(
    store: GraphStore, tenant: str, told: Any, many: Any, make_ledger: Any, reopen: Open, reads: Reads
) -> None:
    opened = reopen()  # a new tenant: there is nothing to save yet
    source = make_ledger(store, tenant)
    incoming = _built(tenant, told(value="a"), told(value="b", valid_from=5))
    opened.write(lambda known: plan_load(known, incoming, many(incoming)), many, lambda: 50)
    opened.close()
    source.table, source.sequence = store.read(tenant)
    before = reads.count
    again = reopen()
    assert reads.count == before
    _same(again, source)


def _built(tenant: str, *rows: Any) -> FactTable:
    builder = TableBuilder(tenant)
    builder.extend(rows)
    return builder.build()


@pytest.mark.engine
def test_a_data_folder_that_is_gone_is_not_made_again_on_close(
    store: GraphStore, ledger: Any, told: Any, many: Any, reopen: Open, reads: Reads, tmp_path: Path
) -> None:
    opened = reopen()
    incoming = _built(ledger.tenant, told(value="a"))
    opened.write(lambda known: plan_load(known, incoming, many(incoming)), many, lambda: 50)
    (tmp_path / "data").rmdir()
    opened.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.engine
@pytest.mark.parametrize("spoil", ["cut", "flip", "foreign", "empty", "folder"])
def test_a_damaged_file_is_passed_over_and_replaced(
    spoil: str, ledger: Any, told: Any, reopen: Open, reads: Reads, tmp_path: Path
) -> None:
    ledger.load(told(value="a"), told(value="b", valid_from=5))
    reopen()
    (path,) = _files(tmp_path)
    whole = path.read_bytes()
    if spoil == "folder":
        path.unlink()
        path.mkdir()
    else:
        flipped = whole[:-60] + bytes([whole[-60] ^ 1]) + whole[-59:]
        text = {"cut": whole[:-7], "flip": flipped, "foreign": b"SQLite format 3\x00" * 9, "empty": b""}
        path.write_bytes(text[spoil])
    before = reads.count
    _same(reopen(), ledger)
    assert reads.count > before
    if spoil != "folder":
        assert path.read_bytes() == whole
    assert [left for left in _files(tmp_path) if left != path] == []


@pytest.mark.engine
def test_the_file_of_another_store_is_passed_over(
    ledger: Any, told: Any, reopen: Open, reads: Reads, tmp_path: Path
) -> None:
    ledger.load(told(value="a"), now=7)
    at = ledger.store.position(ledger.tenant)
    assert (len(at.identity), at.rows, at.recorded_at) == (32, 1, 7)
    other = _built(ledger.tenant, told(value="of another store"))
    saved = SavedSnapshot(tmp_path / "data" / "snapshots", ledger.store.address, ledger.tenant)
    assert saved.save(other, Position(1, 7, 1, "0" * 32))
    _same(reopen(), ledger)
    assert reads.count > 0
    # Nothing belongs to a tenant that was never written to.
    assert saved.load("") is None


@pytest.mark.engine
@pytest.mark.parametrize("at", [(5, 9, 1), (1, 8, 1), (2, 9, 1), (2, 9, 2), (1, 9, 2), (1, 9, 1)])
def test_a_state_that_the_store_never_had_is_passed_over(
    at: tuple[int, int, int], ledger: Any, told: Any, reopen: Open, tmp_path: Path
) -> None:
    """The store went back to a backup: the saved state is ahead, or has its numbers for other changes."""
    ledger.load(told(value="a"), now=10)
    ledger.load(told(value="b", valid_from=5), now=20)
    ledger.load(told(value="c", valid_from=6), now=30)
    identity = ledger.store.position(ledger.tenant).identity
    rows = [told(value=f"lost {number}", valid_from=number) for number in range(at[2])]
    saved = SavedSnapshot(tmp_path / "data" / "snapshots", ledger.store.address, ledger.tenant)
    assert saved.save(_built(ledger.tenant, *rows), Position(at[0], at[1], at[2], identity))
    _same(reopen(), ledger)


@pytest.mark.engine
def test_equal_times_of_other_rows_are_noticed_too(
    ledger: Any, told: Any, reopen: Open, tmp_path: Path
) -> None:
    ledger.load(told(value="a"), now=10)
    ledger.load(told(value="b", valid_from=5), now=20)
    identity = ledger.store.position(ledger.tenant).identity
    saved = SavedSnapshot(tmp_path / "data" / "snapshots", ledger.store.address, ledger.tenant)
    assert saved.save(_built(ledger.tenant, told(value="x")), Position(1, 10, 1, identity))
    _same(reopen(), ledger)


@pytest.mark.engine
def test_two_snapshots_save_one_after_the_other(
    ledger: Any, told: Any, reopen: Open, tmp_path: Path, reads: Reads
) -> None:
    ledger.load(told(value="a"), now=1)
    older = reopen()
    ledger.load(told(value="b", valid_from=5), now=2)
    newer = reopen()
    newer.close()
    older.close()
    assert len(_files(tmp_path)) == 1
    _same(reopen(), ledger)


@pytest.mark.engine
def test_a_store_wiped_under_a_running_process_is_read_anew(
    ledger: Any, told: Any, reopen: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.load(told(value="a"))
    opened = reopen()
    position = GraphStore.position
    monkeypatch.setattr(
        GraphStore,
        "position",
        lambda store, tenant: Position(0, 0, 0, "other" + position(store, tenant).identity),
    )
    monkeypatch.setattr(GraphStore, "read_at", lambda *_: (FactTable.empty(), Position(0, 0, 0, "other")))
    assert len(opened.current()[0]) == 0


@pytest.mark.engine
def test_the_identity_stays(ledger: Any, told: Any) -> None:
    assert ledger.store.position(ledger.tenant) == Position()
    first = ledger.load(told(value="a")).identity
    assert ledger.load(told(value="b", valid_from=4)).identity == first
    assert ledger.store.position(ledger.tenant).identity == first


def test_a_disk_that_refuses_is_no_error(tmp_path: Path, told: Any) -> None:
    saved = SavedSnapshot(tmp_path / "file" / "snapshots", StoreAddress(), "t")
    (tmp_path / "file").write_text("not a folder")
    table = _built("t", told(value="a"))
    assert saved.save(table, Position(1, 1, 1, "i")) is False
    assert saved.load("i") is None


def test_files_are_apart_by_address_database_and_tenant(tmp_path: Path) -> None:
    addresses = [StoreAddress(), StoreAddress("bolt://a"), StoreAddress("bolt://a", database="d")]
    paths = {SavedSnapshot(tmp_path, address, name).path for address in addresses for name in ("t", "../u")}
    assert len(paths) == 6
    assert {path.parent for path in paths} == {tmp_path}


def test_only_what_a_killed_process_left_is_swept(tmp_path: Path, told: Any) -> None:
    saved = SavedSnapshot(tmp_path, StoreAddress(), "t")
    young, old = (tmp_path / f"{saved.path.stem}.{name}.tmp" for name in ("young", "old"))
    for path in (young, old):
        path.write_text("x")
    os.utime(old, (time.time() - 7_200,) * 2)
    assert saved.save(_built("t", told(value="a")), Position(1, 1, 1, "i"))
    assert sorted(tmp_path.iterdir()) == sorted([saved.path, young])
    assert saved.path.stat().st_mode & 0o077 == 0


_WRITER = """
import sys
from pathlib import Path
from chronofy_kg.facts import OPEN_US, Assertion, TableBuilder
from chronofy_kg.store import StoreAddress
from chronofy_kg.store.facts import Position
from chronofy_kg.store.saved import SavedSnapshot
folder, number = Path(sys.argv[1]), int(sys.argv[2])
builder = TableBuilder("t")
for row in range(2_000 * number):
    builder.add(Assertion(subject=str(row), predicate="p", value=number, valid_from=0, valid_to=OPEN_US,
                          observed_at=0))
table = builder.build()
saved = SavedSnapshot(folder, StoreAddress(), "t")
for _ in range(30):
    assert saved.save(table, Position(number, number, len(table), "i"))
    found = saved.load("i")
    assert found is not None and len(found[0]) == 2_000 * found[1].sequence
"""


def test_processes_that_save_at_once_never_leave_half_a_file(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), str(number)]) for number in (1, 2)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(list(tmp_path.iterdir())) == 1
