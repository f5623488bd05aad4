"""The server over a real socket: requests that are no HTTP, large ones, and its end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from chronofy_kg.api import serve
from chronofy_kg.errors import InputError
from chronofy_kg.settings import Settings
from chronofy_kg.store.keys import ApiKey, digest_of

NO_KEYS = SimpleNamespace(keys=SimpleNamespace(all=list))


class Slow:
    """A knowledge base whose readiness takes a while."""

    def __init__(self) -> None:
        self.settings = Settings(embedder="none", max_body_bytes=1_000_000)
        self.tenant, self.store = "default", NO_KEYS
        self.warmed, self.asked, self.go = threading.Event(), threading.Event(), threading.Event()

    def warm(self) -> None:
        self.warmed.set()

    def ready(self) -> dict[str, Any]:
        self.asked.set()
        assert self.go.wait(10)
        return {"store": "ok", "sequence": 0, "embedder": "off"}


class Running:
    def __init__(self, kb: Any, host: str = "127.0.0.1") -> None:
        self.stop, self._ready = threading.Event(), threading.Event()
        self.url = ""
        self.thread = threading.Thread(target=self._serve, args=(kb, host))
        self.thread.start()
        assert self._ready.wait(10)
        self.address = (urlsplit(self.url).hostname or "", urlsplit(self.url).port or 0)

    def _serve(self, kb: Any, host: str) -> None:
        serve(kb, host, 0, self._on_ready, stop=self.stop)

    def _on_ready(self, url: str) -> None:
        self.url = url
        self._ready.set()

    def end(self) -> None:
        self.stop.set()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def raw(self, data: bytes) -> bytes:
        with socket.create_connection(self.address, timeout=10) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            received = b""
            while chunk := connection.recv(65_536):
                received += chunk
        return received

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection(*self.address, timeout=10)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    server = Running(Slow())
    yield server
    server.end()


def test_it_answers_on_the_port_that_it_names(running: Running) -> None:
    assert running.url == f"http://127.0.0.1:{running.address[1]}"
    assert running.request("GET", "/healthz/live") == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "data",
    [b"what?\r\n\r\n", b"GET /\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
     b"GET /a b c HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
     b"GET /healthz/live?q=" + b"x" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ids=["words", "http 0.9", "tls", "blanks", "header", "no host", "endless"],
)  # fmt: skip
def test_what_is_no_http_is_a_problem_too(running: Running, data: bytes) -> None:
    head, _, body = running.raw(data).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head.lower()
    assert json.loads(body)["type"] == "/problems/bad-request"


def test_an_endless_query_is_a_problem(running: Running) -> None:
    status, body = running.request("GET", "/healthz/live?q=" + "x" * 60_000)
    assert (status, body["type"]) == (414, "/problems/uri-too-long")


def test_a_large_body_gets_its_answer_and_not_a_reset(running: Running) -> None:
    headers = {"Content-Type": "application/json"}
    for body in (b"x" * 3_000_000, (b"x" * 100_000 for _ in range(30))):
        status, problem = running.request("POST", "/v1/query", body, **headers)
        assert (status, problem["type"]) == (413, "/problems/body-too-large")


def test_a_body_that_does_not_arrive_is_a_problem() -> None:
    kb = Slow()
    kb.settings = Settings(embedder="none", request_timeout_s=0.3)
    server = Running(kb)
    try:
        with socket.create_connection(server.address, timeout=10) as connection:
            head = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 408 ")
    finally:
        server.end()


def test_a_foreign_host_is_refused(running: Running) -> None:
    status, body = running.request("GET", "/healthz/live", Host="evil.example")
    assert (status, body["type"]) == (421, "/problems/misdirected")


def test_a_request_in_progress_is_finished() -> None:
    kb = Slow()
    server = Running(kb)
    assert kb.warmed.wait(5)
    replies: list[tuple[int, dict[str, Any]]] = []
    asking = threading.Thread(target=lambda: replies.append(server.request("GET", "/healthz/ready")))
    asking.start()
    assert kb.asked.wait(5)
    server.stop.set()
    time.sleep(0.3)
    kb.go.set()
    asking.join(10)
    server.end()
    assert replies == [(200, {"store": "ok", "sequence": 0, "embedder": "off"})]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.address, timeout=1)


def test_ipv6() -> None:
    try:
        server = Running(Slow(), "::1")
    except AssertionError:
        pytest.skip("this machine has no IPv6 loopback")
    try:
        assert server.url == f"http://[::1]:{server.address[1]}"
        assert server.request("GET", "/healthz/live")[0] == 200
    finally:
        server.end()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", "", "127.0.0.1.evil"])
def test_without_keys_it_binds_to_loopback_only(host: str) -> None:
    with pytest.raises(InputError, match="this machine only"):
        serve(SimpleNamespace(settings=Settings(), store=NO_KEYS), host, 0)  # type: ignore[arg-type]


def test_with_a_key_it_binds_anywhere_and_answers_to_any_host_with_the_key_only() -> None:
    kb, secret = Slow(), "x" * 43
    key = ApiKey("0" * 12, "default", "", ("read",), digest_of(secret), 0)
    kb.store = SimpleNamespace(keys=SimpleNamespace(all=lambda: [key]))
    kb.fact_types = list  # type: ignore[attr-defined]
    server = Running(kb, "0.0.0.0")
    try:
        for headers, status in (({}, 401), ({"Authorization": f"Bearer ck_{key.id}_{secret}"}, 200)):
            assert server.request("GET", "/v1/fact-types", Host="any.example", **headers)[0] == status
        assert server.request("GET", "/metrics")[0] == 401
    finally:
        server.end()


def test_a_port_that_is_taken(running: Running) -> None:
    with pytest.raises(InputError, match="choose another port"):
        serve(SimpleNamespace(settings=Settings(), store=NO_KEYS), "localhost", running.address[1])  # type: ignore[arg-type]


_SCRIPT = """
from types import SimpleNamespace
from chronofy_kg.api import serve
from chronofy_kg.settings import Settings
store = SimpleNamespace(keys=SimpleNamespace(all=list))
kb = SimpleNamespace(settings=Settings(), warm=lambda: None, store=store)
for _ in range(2):
    serve(kb, "127.0.0.1", 0, lambda url: print(url, flush=True))
    print("returned", flush=True)
"""


def test_a_signal_ends_it_and_returns_to_the_caller(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CHRONOFY_KG_")}
    command, pipe = [sys.executable, "-W", "error", "-c", _SCRIPT], subprocess.PIPE
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, text=True, stdout=pipe, stderr=pipe
    ) as process:
        try:
            assert process.stdout is not None
            for number in (signal.SIGTERM, signal.SIGINT):
                url = urlsplit(process.stdout.readline().strip())
                with socket.create_connection((url.hostname or "", url.port or 0), timeout=10) as kept_alive:
                    kept_alive.sendall(b"GET /healthz/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert kept_alive.recv(100).startswith(b"HTTP/1.1 200 OK")
                    process.send_signal(number)
                    assert process.stdout.readline() == "returned\n"
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "", "")


def _is_refused(address: tuple[str, int], seconds: float = 9.0) -> bool:
    """Whether new connections come to be refused within some time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(address, timeout=1).close()
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.engine
def test_the_command_ends_with_0_after_the_request_in_progress_and_logs_lines_of_json(tmp_path: Path) -> None:
    pytest.importorskip("arcadedb_embedded")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CHRONOFY_KG_")}
    environment["CHRONOFY_KG_EMBEDDER"] = "none"
    command = [sys.executable, "-m", "chronofy_kg.cli", "serve", "--port", "0", "--json", "--data", "kb"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, text=True, stdout=pipe, stderr=pipe
    ) as process:
        try:
            assert process.stdout is not None
            told = "".join(iter(process.stdout.readline, "}\n")) + "}"
            url = urlsplit(json.loads(told)["url"])
            body = b'{"pattern": {"subject": "s"}}'
            with socket.create_connection((url.hostname or "", url.port or 0), timeout=30) as connection:
                head = f"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
                connection.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body[:5])
                time.sleep(0.3)
                process.send_signal(signal.SIGTERM)
                assert _is_refused((url.hostname or "", url.port or 0))
                connection.sendall(body[5:])
                assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, err
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line["message"] == "request"]
    assert (line["method"], line["route"], line["status"]) == ("POST", "/v1/query", 200)
