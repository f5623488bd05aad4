"""Serves the application over HTTP until a signal or a caller ends it. It prints nothing itself.

uvicorn does the work; kept here is what it leaves open: the bound port before the start, requests that are
no HTTP, and an end that returns to the caller instead of killing the process.
"""

from __future__ import annotations

import ipaddress
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from chronofy_kg.api.access import KeyRing
from chronofy_kg.api.app import create_app
from chronofy_kg.api.problems import PROBLEM_TYPE, ProblemError, problem_reply
from chronofy_kg.api.waiting import StoreWatch, waiting_app
from chronofy_kg.errors import InputError, StoreUnavailableError
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import Settings
from chronofy_kg.store import StoreAddress

__all__ = ["serve", "serve_from"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_S = 10
_LINGER_S = 2
#: Longer request heads are answered by the parser, without a look at the rest.
_MOST_HEAD_BYTES = 262_144


def serve(
    kb: KnowledgeBase,
    host: str | None = None,
    port: int | None = None,
    on_ready: Callable[[str], None] | None = None,
    *,
    stop: threading.Event | None = None,
) -> None:
    """Serve until SIGTERM, Ctrl-C or `stop`; requests in progress are finished first.

    Args:
        kb: an open knowledge base; the caller closes it.
        host: the address to bind to, the settings' by default; one of loopback as long as there are no keys.
        port: the settings' by default; 0 takes a free one.
        on_ready: called with the URL once connections are accepted.
        stop: ends the server when it is set, for callers in another thread than the main one.

    Raises:
        InputError: the host is no address, or not loopback though there are no keys, or the port is taken.
    """
    address, closed = _address(kb, kb.settings.host if host is None else host)
    with _listen(address, kb.settings.port if port is None else port) as listener:
        bound = listener.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        # Without keys a web page could reach the server through a name that resolves to 127.0.0.1.
        hosts = None if closed else frozenset({"localhost", "127.0.0.1", "::1", address})
        ring = KeyRing(lambda: kb.store.keys.all(), lambda: time.time_ns() // 1_000, required=closed)
        app = create_app(kb, hosts=hosts, ring=ring)
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            lifespan="on",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
            h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
        )
        _Server(config, f"http://{shown}:{bound}", on_ready, stop).run(sockets=[listener])


def serve_from(
    open_base: Callable[[], KnowledgeBase],
    settings: Settings,
    on_ready: Callable[[str], None] | None = None,
    on_wait: Callable[[str, str], None] | None = None,
    *,
    stop: threading.Event | None = None,
) -> None:
    """Serve as `serve` does, also where the store is a server that does not answer yet.

    Until it does, `/healthz/live` answers 200 and all else 503. A store that refuses the user, or an
    embedded one that cannot start, is not waited for.

    Args:
        open_base: opens the knowledge base, which is closed at the end.
        settings: those that it is opened with.
        on_ready: as of `serve`.
        on_wait: called with the URL and the reason where the store is to be waited for.
        stop: as of `serve`.

    Raises:
        StoreError: there is nothing to wait for.
        InputError: as of `serve`.
    """
    try:
        kb: KnowledgeBase | None = open_base()
    except StoreUnavailableError as problem:
        address = StoreAddress(settings.uri)
        if address.is_embedded:
            raise
        address.check()
        kb = _waited(open_base, settings, problem, on_wait, stop)
    if kb is not None:
        with kb:
            serve(kb, on_ready=on_ready, stop=stop)


def _waited(
    open_base: Callable[[], KnowledgeBase],
    settings: Settings,
    problem: StoreUnavailableError,
    on_wait: Callable[[str, str], None] | None,
    stop: threading.Event | None,
) -> KnowledgeBase | None:
    """Return the knowledge base once its store answers; None where a signal or `stop` came first."""
    address = _ip_address(settings.host)
    with _listen(str(address), settings.port) as listener:
        shown = f"[{address}]" if address.version == 6 else str(address)
        watch = StoreWatch(open_base, problem)

        def tell(url: str) -> None:
            if on_wait is not None:
                on_wait(url, str(problem))

        config = uvicorn.Config(
            waiting_app(watch), http=_Protocol, ws="none", lifespan="off", loop="asyncio", log_config=None,
            access_log=False, server_header=False, proxy_headers=False,
        )  # fmt: skip
        url = f"http://{shown}:{listener.getsockname()[1]}"
        _Server(config, url, tell, watch.ended, stop).run(sockets=[listener])
    return watch.result()


def _address(kb: KnowledgeBase, host: str) -> tuple[str, bool]:
    """Return the address to bind to, and whether requests need a key."""
    address = _ip_address(host)
    now = time.time_ns() // 1_000
    closed = any(key.is_good(now) for key in kb.store.keys.all())
    if not closed and not address.is_loopback:
        raise InputError(
            f"will not bind to {host!r}: without access keys the server is for this machine only; use "
            "127.0.0.1, ::1 or localhost, or make a key first: chronofy-kg keys create"
        )
    return str(address), closed


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address("127.0.0.1" if host.lower() == "localhost" else host.strip("[]"))
    except ValueError:
        raise InputError(
            f"will not bind to {host!r}: it is no IP address; use 127.0.0.1 for this machine only"
        ) from None


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    # A port that the last server just left is free at once.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(2_048)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot bind to {address}:{port}: {reason}; "
            "choose another port with CHRONOFY_KG_PORT, or 0 for a free one"
        ) from None
    return listener


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        url: str,
        on_ready: Callable[[str], None] | None,
        *stops: threading.Event | None,
    ) -> None:
        super().__init__(config)
        self._url, self._on_ready = url, on_ready
        self._stops = [stop for stop in stops if stop is not None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            self._on_ready(self._url)

    async def on_tick(self, counter: int) -> bool:
        if any(stop.is_set() for stop in self._stops):
            self.should_exit = True
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals, but do not raise them again at the end: the caller has a store to close."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Protocol(H11Protocol):
    """The HTTP protocol, with problem+json where a request is no HTTP."""

    _refused = False

    def data_received(self, data: bytes) -> None:
        """Parse what arrives; after a refusal read it away."""
        if not self._refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed, and hang up."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        detail = "this is no HTTP request, or its head is too long"
        reply = problem_reply(ProblemError("bad-request", detail), None)
        headers: list[Any] = [(b"content-type", PROBLEM_TYPE.encode()), (b"connection", b"close"),
                              (b"content-length", str(len(reply.body)).encode())]  # fmt: skip
        parts = (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(reply.body)),
            h11.EndOfMessage(),
        )
        for part in parts:
            self.transport.write(self.conn.send(part) or b"")
        # Closing at once, with unread bytes, would reset the connection and lose the answer on its way.
        self._refused = True
        self.transport.write_eof()
        self.loop.call_later(_LINGER_S, self.transport.close)
