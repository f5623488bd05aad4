"""What goes wrong between a command and its store is one line that says where and what next."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.cli import environment, start_cli
from support.engine import end_engine

from chronofy_kg.cli import main
from chronofy_kg.store import GraphStore, connection

SECRET = "not-the-password"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command that must print nothing but one line on stderr; return its exit code and that line."""
    monkeypatch.setenv("CHRONOFY_KG_EMBEDDER", "none")
    monkeypatch.setenv("CHRONOFY_KG_PASSWORD", SECRET)

    def run_main(*argv: str) -> tuple[int, str]:
        capfd.readouterr()
        code = main(["--data", str(tmp_path / "data"), *argv])
        shown = capfd.readouterr()
        assert shown.out == ""
        assert shown.err.endswith("\n")
        assert shown.err.count("\n") == 1, shown.err
        assert SECRET not in shown.err
        return code, shown.err.removesuffix("\n")

    return run_main


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("bolt://127.0.0.1:1", "the graph store at bolt://127.0.0.1:1 cannot be reached: "),
        ("neo4j://127.0.0.1:1", "the graph store at neo4j://127.0.0.1:1 cannot be reached: "),
        ("bolt://nowhere.invalid:7687", "the graph store at bolt://nowhere.invalid:7687 cannot be reached: "),
        (
            "http://127.0.0.1:7474",
            "'http://127.0.0.1:7474' is no store address: it must be embedded: or begin",
        ),
        (
            "bolt://127.0.0.1:70000",
            "'bolt://127.0.0.1:70000' is no store address: its port is no number up to",
        ),
    ],
)
@pytest.mark.parametrize(
    "command", [["fit", "--show"], ["export"], ["query", "--subject", "s"]], ids=lambda c: c[0]
)
def test_a_wrong_address(run: Run, command: list[str], uri: str, told: str) -> None:
    code, line = run("--uri", uri, *command)
    assert code == 3
    assert line.startswith(f"chronofy-kg: {told}")


@contextmanager
def listener(reply: bytes) -> Iterator[int]:
    """Something else listens on the port, and answers with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with ExitStack() as kept:
                while True:
                    try:
                        peer = kept.enter_context(server.accept()[0])
                        peer.recv(1_024)
                        peer.sendall(reply)
                        peer.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        return

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"no\n"], ids=["http", "garbage"])
def test_something_else_answers_at_the_address(run: Run, reply: bytes) -> None:
    with listener(reply) as port:
        code, line = run("--uri", f"bolt://127.0.0.1:{port}", "fit", "--show")
    assert code == 3
    assert line.startswith(f"chronofy-kg: the graph store at bolt://127.0.0.1:{port} cannot be reached: ")


def test_a_server_that_drops_every_connection_is_tried_for_a_while(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_CONNECT_S", 0.5)
    with listener(b"") as port:
        begun = time.monotonic()
        code, line = run("--uri", f"bolt://127.0.0.1:{port}", "fit", "--show")
    assert code == 3
    assert line.startswith(
        f"chronofy-kg: the graph store at bolt://127.0.0.1:{port} takes connections and does not serve them "
        "(tried for 0.5 s): "
    )
    assert time.monotonic() - begun >= 0.5


@pytest.mark.engine
@pytest.mark.newest
def test_row_47_a_wrong_password(run: Run, store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = store._connection.embedded
    uri, user = (lease.uri, lease.user) if lease else (store.address.uri, store.address.user)
    monkeypatch.setenv("CHRONOFY_KG_USER", str(user))
    code, line = run("--uri", uri, "fit", "--show")
    assert code == 3
    assert line == (
        f"chronofy-kg: {uri} refuses user {user!r}: check user and password "
        "(CHRONOFY_KG_USER, CHRONOFY_KG_PASSWORD)"
    )


@pytest.mark.engine
def test_a_port_that_is_taken(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = run("serve", "--port", str(port))
    assert code == 1
    assert line == (
        f"chronofy-kg: cannot bind to 127.0.0.1:{port}: Address already in use; "
        "choose another port with CHRONOFY_KG_PORT, or 0 for a free one"
    )
    end_engine(tmp_path / "data")


def ask(url: str, body: bytes | None = None) -> dict[str, object]:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        answer: dict[str, object] = json.load(reply)
        return answer


@pytest.mark.engine
def test_a_second_server_on_the_same_folder_serves_the_same_store(tmp_path: Path) -> None:
    serve = ["--data", str(tmp_path / "data"), "--json", "serve", "--port", "0"]
    fact = {"subject": "s", "predicate": "p", "value": 1, "valid_from": "2024-01-01"}
    with ExitStack() as stack:
        servers = [stack.enter_context(start_cli(serve, environment())) for _ in range(2)]
        urls = []
        for server in servers:
            assert server.stdout is not None
            urls.append(json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["url"])
        assert urls[0] != urls[1]
        for number, url in enumerate(urls):
            ask(f"{url}/v1/facts", json.dumps({"facts": [fact | {"subject": f"s{number}"}]}).encode())
        for url in urls:
            items = ask(f"{url}/v1/facts?predicate=p")["items"]
            assert isinstance(items, list)
            assert sorted(item["subject"] for item in items) == ["s0", "s1"]
        for server in servers:
            server.terminate()
        assert [server.wait(60) for server in servers] == [0, 0]
    end_engine(tmp_path / "data")
