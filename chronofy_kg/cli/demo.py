"""The demo: real facts, learned rates, mined rules, a server, and three questions asked over HTTP.

Loading what is loaded already changes nothing, so the demo can be run again at any time, in seconds.
"""

from __future__ import annotations

import json
import shlex
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from chronofy_kg.api import serve
from chronofy_kg.cli.render import render_answer, render_rules, render_types
from chronofy_kg.demo import PACKS, QUESTIONS, DemoQuestion, demo_assertions
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.resources import data_text
from chronofy_kg.settings import Settings

__all__ = ["prepare_demo", "run_demo"]

_TIMEOUT_S = 60


def run_demo(settings: Settings, *, once: bool, console: Console) -> int:
    """Run the demo; with `once` exit after the answers, else serve until Ctrl-C.

    Args:
        settings: of the store; the server takes a free port where the one set is taken.
        once: exit after the answers.
        console: where the answers are shown; progress goes to stderr.
    """
    notes = Console(stderr=True)
    where = settings.data if settings.uri == "embedded:" else settings.uri
    notes.print(f"Opening the graph store ({where})", markup=False, highlight=False)
    with KnowledgeBase.open(settings=settings) as kb:
        prepare_demo(kb, console, notes)
        tour = _Tour(console, once=once)
        port = 0 if once or _is_taken(settings) else settings.port
        serve(kb, settings.host, port, tour.start, stop=tour.stop)
        return tour.result()


def prepare_demo(kb: KnowledgeBase, console: Console, notes: Console, *, embed: bool = True) -> None:
    """Load the demo's facts into a knowledge base, learn their rates, mine their rules, embed their texts."""
    for pack in PACKS:
        kb.put_spec(pack, data_text("rules", f"{pack}.spec"))
    with _watched(notes, "Loading facts") as tell:
        report = kb.load(demo_assertions(), on_progress=tell)
    console.print(
        f"Facts: {report.rows:,} assertions read, {report.added:,} new, {report.unchanged:,} known already"
    )
    with _watched(notes, "Learning decay rates") as tell:
        kb.fit(on_progress=tell)
    render_types(console, kb.fact_types())
    with notes.status("Mining temporal rules"):
        mined = kb.mine()
    render_rules(console, {"nodes": mined.nodes, "edges": mined.edges, "top": list(mined.top[:3])})
    if embed:
        with _watched(notes, "Embedding texts") as tell:
            kb.warm(tell, only_pending=True)


def _is_taken(settings: Settings) -> bool:
    """Return whether something listens on the port of the settings already."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((settings.host, settings.port)) == 0


class _Tour:
    """Asks the questions from a thread of its own as soon as the server is up."""

    def __init__(self, console: Console, *, once: bool) -> None:
        self.stop = threading.Event()
        self._console, self._once = console, once
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self, url: str) -> None:
        """Begin; called by the server with its address."""
        self._thread = threading.Thread(target=self._run, args=(url,), name="demo-tour")
        self._thread.start()

    def result(self) -> int:
        """Return the exit code once the server has ended; raises what went wrong in the tour."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return 0

    def _run(self, url: str) -> None:
        try:
            for question in QUESTIONS:
                _show(self._console, url, question)
            if not self._once:
                _invite(self._console, url)
        except Exception as error:
            self._error = error
        if self._once or self._error is not None:
            self.stop.set()


def _show(console: Console, url: str, question: DemoQuestion) -> None:
    """Ask one question over HTTP and show the answer."""
    body = {"question": question.question, "at": question.at}
    request = urllib.request.Request(  # noqa: S310 - our own server on the loopback address
        f"{url}/v1/query", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:  # noqa: S310
        answer: dict[str, Any] = json.load(reply)
    took = (time.monotonic() - began) * 1000
    console.rule(question.title)
    console.print(f"{question.question}  (as of {question.at})", markup=False, highlight=False, style="bold")
    render_answer(console, answer)
    console.print(f"over HTTP in {took:.0f} ms", style="dim", highlight=False)


def _invite(console: Console, url: str) -> None:
    """Say where the server is and how to ask it."""
    body = json.dumps({"question": QUESTIONS[0].question, "at": QUESTIONS[0].at})
    console.rule("The server is up")
    for line in (
        f"API page:   {url}/docs",
        f"Try:        curl -s {url}/v1/query -H 'Content-Type: application/json' -d {shlex.quote(body)}",
        "Ctrl-C ends it.",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _watched(notes: Console, title: str) -> Iterator[Any]:
    """Show a progress bar; yields the callback that moves it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def tell(_: str, done: int, total: int | None) -> None:
            progress.update(task, completed=done, total=total)

        yield tell
