"""The user's side of the embedded engine: take a lease on a folder, wake its keeper, wait until it answers.

A lease is a shared flock on ``users.lock``, held as long as the store is open; the kernel drops it when the
process ends, however it ends. The other side is `chronofy_kg.store.keeper`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from neo4j import Driver, GraphDatabase
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from chronofy_kg.errors import StoreAuthError, StoreUnavailableError
from chronofy_kg.store.disk import full_disk

try:
    import fcntl

    from chronofy_kg.store import keeper
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Embedded", "is_kept", "open_embedded"]

READY_TIMEOUT_S = 60.0
_POLL_S = 0.05
_RESPAWN_S = 2.0
_USER = "root"


@dataclass(slots=True)
class Embedded:
    """A lease on a running embedded engine.

    Attributes:
        uri: its Bolt address.
        user, password: how to log in.
        database: the name of its database.
        engine_pid, keeper_pid: the two processes behind it.
    """

    uri: str
    user: str
    password: str = field(repr=False)
    database: str
    engine_pid: int
    keeper_pid: int
    _lease: IO[str]

    def close(self) -> None:
        """Give the lease back; the keeper ends the engine after its linger time if it was the last."""
        self._lease.close()


def open_embedded(folder: Path, linger: float, timeout: float = READY_TIMEOUT_S) -> Embedded:
    """Return a lease on the engine of a folder, starting it where it does not run.

    Args:
        folder: where the engine keeps its files; made if missing, for the owner only.
        linger: seconds that a newly started engine outlives its last user.
        timeout: seconds to wait until it answers.

    Raises:
        StoreUnavailableError: no engine package, folder not writable, not ready in time, or no Unix.
    """
    if fcntl is None:  # pragma: no cover - Windows
        raise StoreUnavailableError(
            "the embedded engine needs a Unix (file locks); give --uri bolt://… of a Neo4j server instead"
        )
    _require_package()
    folder = _prepare(folder)
    deadline = time.monotonic() + timeout
    lease = _lease(folder, deadline)
    try:
        return _wait_until_ready(folder, linger, deadline, lease)
    except BaseException:
        lease.close()
        raise


def _require_package() -> None:
    try:
        root = keeper.engine_root()
    except ModuleNotFoundError:
        raise StoreUnavailableError(
            "the embedded engine is not installed: pip install 'chronofy-kg[embedded]', "
            "or give --uri bolt://… of a Neo4j server"
        ) from None
    if not os.access(root / "jre" / "bin" / "java", os.X_OK):
        raise StoreUnavailableError(
            f"the embedded engine at {root} has no Java runtime for this machine; "
            "give --uri bolt://… of a Neo4j server instead"
        )


def _prepare(folder: Path) -> Path:
    try:
        folder = folder.expanduser().resolve()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / keeper.USERS_LOCK).open("a").close()
    except OSError as problem:
        raise StoreUnavailableError(
            f"the data folder {folder} cannot be written: {problem.strerror}; give another one with --data"
        ) from None
    return folder


def _lease(folder: Path, deadline: float) -> IO[str]:
    """Take the shared lock. It waits only while a keeper is on its way out."""
    lease = (folder / keeper.USERS_LOCK).open("a")
    while True:
        try:
            fcntl.flock(lease, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                lease.close()
                raise _not_ready(folder) from None
            time.sleep(_POLL_S)
        else:
            return lease


def _wait_until_ready(folder: Path, linger: float, deadline: float, lease: IO[str]) -> Embedded:
    spawned = 0.0
    while time.monotonic() < deadline:
        if not is_kept(folder) and time.monotonic() - spawned > _RESPAWN_S:
            if spawned and full_disk(folder):
                break  # another keeper would end as this one did
            _spawn_keeper(folder, linger)
            spawned = time.monotonic()
        try:
            told = json.loads((folder / keeper.ENDPOINT_FILE).read_text(encoding="utf-8"))
            password = Path(told["password_file"]).read_text(encoding="utf-8")
        except (OSError, ValueError, KeyError):
            time.sleep(_POLL_S)
            continue
        uri = f"bolt://127.0.0.1:{told['bolt']}"
        if keeper.listens(told["bolt"]) and _answers(uri, password, folder):
            return Embedded(uri, _USER, password, keeper.DATABASE, told["engine"], told["keeper"], lease)
        time.sleep(_POLL_S)
    raise _not_ready(folder)


def is_kept(folder: Path) -> bool:
    """Whether a keeper lives: only the kernel's lock tells, a process id may be somebody else's by now."""
    if not (folder / keeper.ENGINE_LOCK).exists():
        return False
    with (folder / keeper.ENGINE_LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _spawn_keeper(folder: Path, linger: float) -> None:
    """Start a keeper that shares nothing with this process: session, folder, streams, lifetime."""
    package_home = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    environment = os.environ | {
        "PYTHONPATH": package_home + (os.pathsep + inherited if inherited else ""),
    }
    with (folder / "keeper.log").open("ab") as log:
        starter = subprocess.Popen(  # noqa: S603 - this very interpreter and package
            [sys.executable, "-P", "-m", "chronofy_kg.store.keeper", str(folder), str(linger)],
            cwd="/",
            env=environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    if starter.wait():
        raise StoreUnavailableError(
            f"the embedded engine's keeper could not be started; see {folder / 'keeper.log'}"
        )


def _answers(uri: str, password: str, folder: Path) -> bool:
    """Whether the database answers; an open port comes a second earlier and does not count."""
    try:
        with _short_driver(uri, password) as driver:
            driver.execute_query("RETURN 1", database_=keeper.DATABASE)
    except AuthError:
        raise StoreAuthError(
            f"the embedded engine in {folder} refuses its own password file; end its users, remove "
            f"{folder / 'config' / 'server-users.jsonl'} and try again"
        ) from None
    except (DriverError, Neo4jError, OSError):
        return False
    return True


def _short_driver(uri: str, password: str) -> Driver:
    return GraphDatabase.driver(
        uri, auth=(_USER, password), connection_timeout=1.0, max_transaction_retry_time=0.0
    )


def _not_ready(folder: Path) -> StoreUnavailableError:
    return StoreUnavailableError(
        full_disk(folder)
        or f"the embedded engine in {folder} was not ready in time; see {folder / keeper.ENGINE_LOG}"
    )
