"""A server that starts before its Neo4j: live at once, ready as soon as the store answers, not restarted."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from support.cli import environment, start_cli
from support.engine import end_engine

from chronofy_kg.store import GraphStore, StoreAddress

pytestmark = pytest.mark.engine


def get(url: str) -> tuple[int, str, dict[str, Any]]:
    try:
        with urllib.request.urlopen(url, timeout=30) as reply:
            return reply.status, reply.headers["content-type"], json.load(reply)
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers["content-type"], json.load(refused)


def pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


def forward(server: socket.socket, port: int, kept: ExitStack) -> None:
    """Connect each client of a port with another port."""
    while True:
        try:
            peer = kept.enter_context(server.accept()[0])
        except OSError:
            return
        engine = kept.enter_context(socket.create_connection(("127.0.0.1", port)))
        for pair in ((peer, engine), (engine, peer)):
            threading.Thread(target=pass_on, args=pair, daemon=True).start()


def test_row_46_the_server_may_start_before_its_store(tmp_path: Path) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(GraphStore.open(StoreAddress(data_dir=tmp_path / "engine")))
        lease = store._connection.embedded
        assert lease is not None
        port = int(lease.uri.rpartition(":")[2])
        with socket.create_server(("127.0.0.1", 0)) as free:
            later = free.getsockname()[1]
        uri = f"bolt://127.0.0.1:{later}"
        login = {"USER": lease.user, "PASSWORD": lease.password, "DATABASE": lease.database}
        env = environment(**{f"CHRONOFY_KG_{name}": value for name, value in login.items()})
        command = ["--uri", uri, "--data", str(tmp_path / "caches"), "serve", "--port", "0"]
        server = stack.enter_context(start_cli(command, env))
        note = _line(server, "; waiting for it at ")
        assert note.startswith(f"the graph store at {uri} cannot be reached: ")
        url = note.rpartition("waiting for it at ")[2].strip()
        assert get(f"{url}/healthz/live") == (200, "application/json", {"status": "ok"})
        for path in ("/healthz/ready", "/v1/facts", "/nowhere"):
            status, form, problem = get(url + path)
            assert (status, form) == (503, "application/problem+json")
            assert problem["type"] == "/problems/store-unavailable"
            assert uri in problem["detail"]
        # Now the store comes up, under the address that it was to have.
        kept = stack.enter_context(ExitStack())
        door = stack.enter_context(socket.create_server(("127.0.0.1", later)))
        threading.Thread(target=forward, args=(door, port, kept), daemon=True).start()
        url = _line(server, "serving tenant ").rpartition(" at ")[2].partition(",")[0]
        assert get(f"{url}/healthz/ready")[0] == 200
        assert get(f"{url}/v1/facts")[2] == {"items": [], "next": None}
        assert server.poll() is None
        server.terminate()
        assert server.wait(60) == 0
    end_engine(tmp_path / "engine")


def _line(server: Any, words: str) -> str:
    """Return the next line on stderr that has these words; the server's log stands there too."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        line: str = server.stderr.readline()
        if words in line:
            return line
    raise AssertionError(f"no line with {words!r}")


def test_a_store_that_refuses_the_user_is_not_waited_for(tmp_path: Path) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(GraphStore.open(StoreAddress(data_dir=tmp_path / "engine")))
        lease = store._connection.embedded
        assert lease is not None
        env = environment(CHRONOFY_KG_USER=lease.user, CHRONOFY_KG_PASSWORD="not-the-password")
        command = ["--uri", lease.uri, "--data", str(tmp_path / "caches"), "serve", "--port", "0"]
        server = stack.enter_context(start_cli(command, env))
        assert server.wait(60) == 3
    end_engine(tmp_path / "engine")


def test_waiting_ends_with_a_signal(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        uri = f"bolt://127.0.0.1:{free.getsockname()[1]}"
    command = ["--uri", uri, "--data", str(tmp_path), "serve", "--port", "0"]
    with start_cli(command, environment()) as server:
        _line(server, "waiting for it at http://127.0.0.1:")
        server.terminate()
        assert server.wait(60) == 0
