"""The embedded engine between processes: shared, ended with its last user, recovered after kill -9."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.engine import end_engine, is_kept, wait_until

from chronofy_kg.errors import StoreUnavailableError
from chronofy_kg.store import GraphStore, StoreAddress, embedded, keeper

USER = """
import sys, time
from pathlib import Path
from chronofy_kg.store import GraphStore, StoreAddress
store = GraphStore.open(StoreAddress(data_dir=Path(sys.argv[1]), linger=float(sys.argv[2])))
store.write_spec("t", "from-the-other", "text", 1)
print("ready", flush=True)
time.sleep(600)
"""


def is_running(pid: int) -> bool:
    """Whether a process runs; one that ended and waits to be reaped by init does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder, whose engine is ended afterwards."""
    yield tmp_path / "data"
    end_engine(tmp_path / "data")


@pytest.fixture
def other(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the store of the folder open."""
    process = subprocess.Popen(
        [sys.executable, "-c", USER, str(folder), "1.0"], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.engine
def test_two_processes_share_an_engine_that_ends_with_the_last(
    folder: Path, other: subprocess.Popen[str], make_ledger: Any, told: Any
) -> None:
    told_by_keeper = json.loads((folder / "engine" / keeper.ENDPOINT_FILE).read_text())
    engine, keeping = told_by_keeper["engine"], told_by_keeper["keeper"]
    begin = time.monotonic()
    with GraphStore.open(StoreAddress(data_dir=folder, linger=1.0)) as store:
        assert time.monotonic() - begin < 3.0
        assert store._connection.embedded is not None
        assert store._connection.embedded.engine_pid == engine
        assert [row["name"] for row in store.read_specs("t")] == ["from-the-other"]
        # The first user started the engine. That it dies must not be felt by the second.
        other.kill()
        other.wait()
        time.sleep(2.5)
        assert is_running(engine)
        make_ledger(store, "t").load(told(value="still here"))
        assert store.sequence("t")[0] == 1
    assert wait_until(lambda: not is_running(engine) and not is_running(keeping))
    assert not is_kept(folder)
    assert not (folder / "engine" / keeper.ENDPOINT_FILE).exists()


@pytest.mark.engine
def test_kill_9_loses_nothing_that_was_acknowledged(folder: Path, make_ledger: Any, told: Any) -> None:
    address = StoreAddress(data_dir=folder, linger=1.0)
    with GraphStore.open(address) as store:
        lease = store._connection.embedded
        assert lease is not None
        ledger = make_ledger(store, "t")
        for number in range(5):
            ledger.load(told(subject=f"s{number}", value=number, object=None))
        os.kill(lease.engine_pid, signal.SIGKILL)
        # The keeper starts it again on the same ports: this very driver works again by itself.
        assert wait_until(lambda: _sequence(store) == 5)
        ledger.load(told(subject="after", value=6))
        assert [ledger.store.read("t")[0].assertion(row).subject for row in (0, 5)] == ["s0", "after"]
        second = json.loads((folder / "engine" / keeper.ENDPOINT_FILE).read_text())
        assert second["engine"] != lease.engine_pid
        assert second["bolt"] == int(lease.uri.rpartition(":")[2])
    # Keeper and engine killed together leave a stale endpoint, which the next user replaces.
    os.kill(second["keeper"], signal.SIGKILL)
    os.kill(second["engine"], signal.SIGKILL)
    assert (folder / "engine" / keeper.ENDPOINT_FILE).exists()
    with GraphStore.open(address) as store:
        table, sequence = store.read("t")
        assert (len(table), sequence) == (6, 6)


def _sequence(store: GraphStore) -> int:
    try:
        return store.sequence("t")[0]
    except StoreUnavailableError:
        return -1


@pytest.mark.engine
def test_a_folder_that_is_removed_and_made_anew_is_another_store(folder: Path) -> None:
    with GraphStore.open(StoreAddress(data_dir=folder, linger=600.0)) as store:
        first = store._connection.embedded
        assert first is not None
        store.write_spec("t", "old", "text", 1)
    shutil.rmtree(folder)
    with GraphStore.open(StoreAddress(data_dir=folder, linger=1.0)) as store:
        assert store.read_specs("t") == []
        assert wait_until(lambda: not is_running(first.keeper_pid) and not is_running(first.engine_pid))
        # The old keeper went without touching what is not its own.
        assert (folder / "engine" / keeper.ENDPOINT_FILE).exists()


@pytest.mark.engine
def test_the_engine_listens_on_loopback_only_and_hides_its_password(folder: Path) -> None:
    with GraphStore.open(StoreAddress(data_dir=folder, linger=0.5)) as store:
        lease = store._connection.embedded
        assert lease is not None
        password = folder / "engine" / keeper.PASSWORD_FILE
        assert stat.S_IMODE(password.stat().st_mode) == 0o600
        assert stat.S_IMODE((folder / "engine").stat().st_mode) == 0o700
        assert lease.password not in Path(f"/proc/{lease.engine_pid}/cmdline").read_text()
        assert lease.password not in repr(lease)
        listening = _listening(lease.engine_pid)
        assert len(listening) == 2
        assert all(address in ("0100007F", "0000000000000000FFFF00000100007F") for address in listening)


def _listening(pid: int) -> list[str]:
    """Return the addresses on which a process listens, as /proc writes them."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(entry.readlink()))
        except FileNotFoundError:
            continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.append(fields[1].partition(":")[0])
    return found


def test_a_missing_engine_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "ENGINE_PACKAGE", "no_such_engine")
    with pytest.raises(StoreUnavailableError, match=r"pip install 'chronofy-kg\[embedded\]'"):
        GraphStore.open(StoreAddress(data_dir=tmp_path))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailableError, match=r"the data folder .*/file/data/engine cannot be written"):
        GraphStore.open(StoreAddress(data_dir=tmp_path / "file" / "data"))


@pytest.mark.engine
def test_an_engine_that_is_not_ready_in_time_names_its_log(folder: Path) -> None:
    with pytest.raises(StoreUnavailableError, match=r"was not ready in time; see .*/engine/engine\.log"):
        embedded.open_embedded(folder / "engine", linger=0.0, timeout=0.2)
    assert wait_until(lambda: not is_kept(folder))


def test_the_keeper_starts_without_the_driver_and_numpy() -> None:
    text = "import sys, chronofy_kg.store.keeper; print([m for m in ('neo4j', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_store_outlives_its_keeper(folder: Path) -> None:
    with GraphStore.open(StoreAddress(data_dir=folder, linger=1.0)) as store:
        assert store.write_spec("t", "kept", "text", 1) == 1
        os.kill(json.loads((folder / "engine" / keeper.ENDPOINT_FILE).read_text())["keeper"], signal.SIGKILL)
        assert wait_until(lambda: not is_kept(folder))
        assert [spec["name"] for spec in store.read_specs("t")] == ["kept"]
        assert store.write_spec("t", "kept", "another", 2) == 2
        assert store.cypher("RETURN 1").rows == [[1]]


def test_a_folder_that_is_gone_is_told_and_not_made_again(folder: Path) -> None:
    with GraphStore.open(StoreAddress(data_dir=folder, linger=1.0)) as store:
        told = json.loads((folder / "engine" / keeper.ENDPOINT_FILE).read_text())
        shutil.rmtree(folder)
        os.kill(told["keeper"], signal.SIGKILL)
        assert wait_until(lambda: not is_running(told["engine"]))
        with pytest.raises(StoreUnavailableError, match=r"data folder .* is gone"):
            store.read_specs("t")
        assert not folder.exists()
