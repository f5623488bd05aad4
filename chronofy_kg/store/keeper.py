"""The keeper: a detached process that owns one embedded engine (ArcadeDB) on one folder.

Run as ``python -m chronofy_kg.store.keeper DIR LINGER`` by `chronofy_kg.store.embedded`, never by hand. It
holds an exclusive flock on ``engine.lock``: that lock, not a process id, says that an engine is alive. Users
hold a shared flock on ``users.lock``; when the keeper gets that one exclusively for LINGER seconds, it
ends the engine and goes. A crashed engine is started again on the same ports, so that drivers recover by
themselves. Standard library only: it must start fast.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib.util
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

__all__ = [
    "DATABASE",
    "ENDPOINT_FILE",
    "ENGINE_LOCK",
    "ENGINE_LOG",
    "ENGINE_PACKAGE",
    "PASSWORD_FILE",
    "STATEMENT_TIMEOUT_MS",
    "USERS_LOCK",
    "keep",
]

DATABASE = "chronofy"
ENGINE_PACKAGE = "arcadedb_embedded"
ENDPOINT_FILE = "endpoint.json"
ENGINE_LOCK, USERS_LOCK = "engine.lock", "users.lock"
ENGINE_LOG = "engine.log"
PASSWORD_FILE = "root.pw"  # noqa: S105 - the name of a file
STATEMENT_TIMEOUT_MS = 30_000
_HEAP = "768m"
_POLL_S = 0.2
_LISTEN_S = 40.0  # an engine that does not listen by then met a busy port, and never will
_STOP_S = 20.0
_STEADY_S = 60.0  # a crash later than this after its start does not count towards giving up
_STARTS = 3
_LOG_LIMIT = 10_000_000
_PR_SET_PDEATHSIG = 1


def engine_root() -> Path:
    """Return the folder of the installed engine package; ModuleNotFoundError without it."""
    found = importlib.util.find_spec(ENGINE_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(ENGINE_PACKAGE)
    return Path(next(iter(found.submodule_search_locations)))


def engine_command(folder: Path, http: int, bolt: int) -> list[str]:
    """Return the command line of the engine: loopback only, fsync at commit, bounded heap and statements."""
    root = engine_root()
    options: dict[str, Any] = {
        "server.rootPath": folder,
        "server.rootPasswordPath": folder / PASSWORD_FILE,  # an argument would be visible in ps
        "server.mode": "development",  # production hides error texts; what it hardens is set here by name
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": http,
        "bolt.host": "127.0.0.1",
        "bolt.port": bolt,
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "server.defaultDatabases": f"{DATABASE}[root]",
        "txWalFlush": 2,
        "command.timeout": STATEMENT_TIMEOUT_MS,
    }
    return [
        str(root / "jre" / "bin" / "java"),
        "--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED",
        f"-Xmx{_HEAP}", "-XX:+UseSerialGC", "-cp", f"{root / 'jars'}/*",
        *(f"-Darcadedb.{key}={value}" for key, value in options.items()),
        "com.arcadedb.server.ArcadeDBServer",
    ]  # fmt: skip


def free_port() -> int:
    """Return a port that is free on 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listens(port: int) -> bool:
    """Whether something accepts connections on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _die_with_keeper() -> None:
    # Safe here only because the keeper has one thread: the signal comes when the *thread* that forked ends.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class _Engine:
    """One engine process, its ports and its restarts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.starts = 0
        log = folder / ENGINE_LOG
        if log.exists() and log.stat().st_size > _LOG_LIMIT:
            log.replace(log.with_suffix(".log.1"))
        self._log: IO[bytes] = log.open("ab")
        self.choose_ports()
        self.start()

    def choose_ports(self) -> None:
        self.http, self.bolt = free_port(), free_port()

    def start(self) -> None:
        self.starts += 1
        self.started = time.monotonic()
        self.serves = False
        self.process = subprocess.Popen(  # noqa: S603 - the installed engine
            engine_command(self.folder, self.http, self.bolt),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            preexec_fn=_die_with_keeper,
        )
        self.publish()

    def publish(self) -> None:
        """Write the endpoint file in one step, so that a reader never sees half of it."""
        told = {
            "keeper": os.getpid(),
            "engine": self.process.pid,
            "bolt": self.bolt,
            "http": self.http,
            "password_file": str(self.folder / PASSWORD_FILE),
        }
        draft = self.folder / (ENDPOINT_FILE + ".tmp")
        draft.write_text(json.dumps(told), encoding="utf-8")
        draft.replace(self.folder / ENDPOINT_FILE)

    def watch(self) -> bool:
        """Start a crashed or deaf engine again; return False when it is not worth another try."""
        age = time.monotonic() - self.started
        if self.process.poll() is None:
            self.serves = self.serves or listens(self.bolt)
            if self.serves or age < _LISTEN_S:
                return True
            self.stop()
            self.choose_ports()
        elif age > _STEADY_S:
            self.starts = 0
        if self.starts >= _STARTS:
            return False
        self.start()
        return True

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _write_password(folder: Path) -> None:
    file, draft = folder / PASSWORD_FILE, folder / (PASSWORD_FILE + ".tmp")
    if not file.exists():
        # A full disk must not leave an empty file: the password counts at the engine's first start only.
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(secrets.token_urlsafe(24))
        draft.replace(file)


def _owns(folder: Path, lock: IO[str]) -> bool:
    """Whether the folder is still the one that was locked: others may have removed it and made it anew."""
    try:
        there = (folder / ENGINE_LOCK).stat()
    except OSError:
        return False
    ours = os.fstat(lock.fileno())
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def keep(folder: Path, linger: float) -> None:
    """Own the engine of a folder until nobody has used it for `linger` seconds."""
    with (folder / ENGINE_LOCK).open("a") as lock, (folder / USERS_LOCK).open("a") as users:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another keeper won the race
        endpoint = folder / ENDPOINT_FILE
        endpoint.unlink(missing_ok=True)  # we hold the lock: whatever is there is stale
        _write_password(folder)
        stopping: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _frame: stopping.append(number))
        engine = _Engine(folder)
        idle_since: float | None = None
        while not stopping and _owns(folder, lock) and engine.watch():
            time.sleep(_POLL_S)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)  # granted only if nobody holds it shared
            except BlockingIOError:
                idle_since = None
                continue
            idle_since = idle_since or time.monotonic()
            if time.monotonic() - idle_since >= linger:
                break  # users.lock stays ours: newcomers wait for our exit, then start another keeper
            fcntl.flock(users, fcntl.LOCK_UN)
        engine.stop()
        if _owns(folder, lock):
            endpoint.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """Detach from the caller, then keep."""
    folder, linger = Path(arguments[0]), float(arguments[1])
    if os.fork():  # the caller waits for this one only: the keeper is nobody's child, and leaves no zombie
        return 0
    keep(folder, linger)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
