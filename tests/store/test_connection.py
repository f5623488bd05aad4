"""Opening a store: addresses, passwords, migrations. Errors are one line and never show a password."""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from chronofy_kg.errors import MigrationError, StoreAuthError, StoreUnavailableError
from chronofy_kg.store import GraphStore, StoreAddress, migrate
from chronofy_kg.store.connection import Connection, run

SECRET = "not-the-password"


@pytest.mark.parametrize("uri", ["bolt://127.0.0.1:1", "neo4j://127.0.0.1:1"])
def test_nothing_answers(uri: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(StoreUnavailableError, match=r"://127\.0\.0\.1:1 cannot be reached") as refused:
        GraphStore.open(StoreAddress(uri, "somebody", SECRET))
    assert "\n" not in str(refused.value)
    assert SECRET not in str(refused.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("localhost:7687", "must be embedded: or begin with bolt://, neo4j://"),
        ("http://127.0.0.1", "must be embedded: or begin with"),
        ("embedded", "must be embedded: or begin with"),
        ("", "must be embedded: or begin with"),
        ("bolt://127.0.0.1:port", "its port is no number"),
        ("bolt://127.0.0.1:70000", "its port is no number"),
        ("bolt://:7687", "names no host"),
        ("bolt://somebody:hidden-login@127.0.0.1:1", "a login does not belong in it"),
    ],
)
def test_no_address_at_all(uri: str, problem: str) -> None:
    with pytest.raises(StoreUnavailableError, match=f"is no store address: .*{problem}") as refused:
        GraphStore.open(StoreAddress(uri, "somebody", SECRET))
    assert "\n" not in str(refused.value)
    assert "hidden-login" not in str(refused.value)


def test_an_address_does_not_show_its_password() -> None:
    assert SECRET not in repr(StoreAddress("bolt://h", "u", SECRET))


def _server(store: GraphStore) -> StoreAddress:
    """Return the address of an engine as a server's, also of the embedded one."""
    lease = store._connection.embedded
    return StoreAddress(lease.uri, lease.user, lease.password, lease.database) if lease else store.address


@pytest.mark.engine
def test_a_wrong_password_is_refused_in_one_line(
    store: GraphStore, capfd: pytest.CaptureFixture[str]
) -> None:
    right = _server(store)
    with pytest.raises(StoreAuthError) as refused:
        GraphStore.open(replace(right, password=SECRET))
    assert f"{right.uri} refuses user {right.user!r}" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert SECRET not in str(refused.value)
    assert capfd.readouterr().err == ""


@pytest.mark.engine
def test_an_unknown_database_is_named(store: GraphStore) -> None:
    with pytest.raises(StoreUnavailableError, match="has no database 'nowhere'"):
        GraphStore.open(replace(_server(store), database="nowhere"))


@contextmanager
def dropping(port: int, first: int, *, reset: bool) -> Iterator[int]:
    """A port that drops its first connections, as a server does that starts or ends, then passes them on."""

    def serve(server: socket.socket, kept: ExitStack) -> None:
        for number in itertools.count():
            try:
                peer = kept.enter_context(server.accept()[0])
            except OSError:
                return
            if number < first:
                if reset:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    peer.recv(1_024)
                peer.close()
                continue
            engine = kept.enter_context(socket.create_connection(("127.0.0.1", port)))
            for one, other in ((peer, engine), (engine, peer)):
                threading.Thread(target=pass_on, args=(one, other), daemon=True).start()

    def pass_on(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    with ExitStack() as kept, socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server, kept))
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.engine
@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
def test_a_server_that_drops_the_first_connections_is_tried_again(store: GraphStore, reset: bool) -> None:
    right = _server(store)
    with (
        dropping(int(right.uri.rpartition(":")[2]), first=3, reset=reset) as port,
        GraphStore.open(replace(right, uri=f"bolt://127.0.0.1:{port}")) as opened,
    ):
        assert opened.cypher("RETURN 1", {}).rows == [[1]]


@pytest.fixture
def connection(store: GraphStore) -> Connection:
    return store._connection


@pytest.mark.engine
@pytest.mark.newest
def test_migrations_are_applied_once(connection: Connection) -> None:
    assert migrate.migrate(connection) == []
    applied = connection.read(lambda tx: run(tx, "migrations_read"))
    known = migrate.known_migrations()
    assert [(row["version"], row["name"]) for row in applied] == [(m.version, m.name) for m in known]
    # A run that broke off before it was recorded can be repeated.
    for text in migrate.statements_of(known[0].text):
        connection.run_schema(text)


@pytest.mark.engine
def test_a_newer_or_altered_schema_is_refused(connection: Connection) -> None:
    known = migrate.known_migrations()
    with pytest.raises(MigrationError, match="has schema 1, this version knows 0: upgrade"):
        migrate.migrate(connection, [])
    altered = [replace(known[0], text=known[0].text + "\nCREATE INDEX x FOR (n:X) ON (n.x);\n"), *known[1:]]
    with pytest.raises(MigrationError, match=r"0001_core .* was another text"):
        migrate.migrate(connection, altered)


def test_comments_do_not_count_in_a_checksum() -> None:
    text = "// one\nCREATE INDEX a FOR (n:A)\n  ON (n.a);\n\nCREATE INDEX b FOR (n:B) ON (n.b); \n"
    assert migrate.statements_of(text) == [
        "CREATE INDEX a FOR (n:A)\nON (n.a)",
        "CREATE INDEX b FOR (n:B) ON (n.b)",
    ]
    one = migrate.Migration(1, "x", text)
    assert one.checksum == replace(one, text=text.replace("// one", "// two")).checksum
    assert one.checksum != replace(one, text=text.replace("n.b", "n.c")).checksum


@pytest.mark.engine
@pytest.mark.newest
def test_constraints_hold(connection: Connection, store: GraphStore, ledger: Any, told: Any) -> None:
    from chronofy_kg.errors import StoreError

    ledger.load(told(value="a"))
    twice = {"id": ["x"], "name": ["x"]}
    with pytest.raises(StoreError):
        connection.write(lambda tx: run(tx, "entities_create", tenant=ledger.tenant, **twice))
