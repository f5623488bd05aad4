"""Answers in the graph, with the facts that they used.

Answers that are written at the same time share a transaction: while one is being committed others gather, and
the next commit takes them all. Each writer still waits until its own answer is stored.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neo4j import ManagedTransaction

from chronofy_kg.store.connection import Connection, run, run_all
from chronofy_kg.store.rows import Columns

__all__ = ["AnswerWriter", "read_answer"]

_MOST = 64


@dataclass(slots=True, eq=False)
class _Entry:
    tenant: str
    answer: str
    body: str
    used: Sequence[tuple[str, float]]
    is_done: bool = False
    error: BaseException | None = None


class AnswerWriter:
    """Writes answers; thread safe.

    Args:
        connection: the open store.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._changed, self._is_busy = threading.Condition(), False
        self._waiting: list[_Entry] = []

    def write(
        self, tenant: str, answer: str, body: Mapping[str, Any], used: Sequence[tuple[str, float]]
    ) -> None:
        """Store an answer with the facts that it used; the same id again replaces it.

        Args:
            tenant: whose answer it is.
            answer: its id.
            body: its JSON form.
            used: (fact id, validity) of each fact.
        """
        mine = _Entry(tenant, answer, json.dumps(body, ensure_ascii=False, allow_nan=False), used)
        with self._changed:
            self._waiting.append(mine)
        while batch := self._turn(mine):
            try:
                self._commit(batch)
            finally:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()
        if mine.error is not None:
            raise mine.error

    def _turn(self, mine: _Entry) -> Sequence[_Entry]:
        """Wait until an entry is stored, or until it is its writer's turn: then return what to commit."""
        with self._changed:
            self._changed.wait_for(lambda: mine.is_done or not self._is_busy)
            if mine.is_done:
                return []
            self._is_busy = True
            batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            return batch

    def _commit(self, batch: Sequence[_Entry]) -> None:
        try:
            self._connection.write(lambda tx: _write(tx, batch))
        except BaseException as error:
            # One that cannot be stored must not take the others with it.
            if len(batch) == 1:
                batch[0].error = error
            else:
                for entry in batch:
                    self._commit([entry])
        for entry in batch:
            entry.is_done = True


def _write(tx: ManagedTransaction, batch: Sequence[_Entry]) -> None:
    # The same question at the same instant is one answer, of which the last one stays.
    last = list({(entry.tenant, entry.answer): entry for entry in batch}.values())
    answers: Columns = {
        "tenant": [entry.tenant for entry in last],
        "id": [entry.answer for entry in last],
        "body": [entry.body for entry in last],
    }
    links = [(entry.tenant, entry.answer, fact, share) for entry in last for fact, share in entry.used]
    columns = ("tenant", "answer", "id", "validity")
    run_all(tx, "answers_write", answers)
    run_all(tx, "answers_use", {name: [link[n] for link in links] for n, name in enumerate(columns)})


def read_answer(connection: Connection, tenant: str, answer: str) -> dict[str, Any] | None:
    """Return the JSON form of an answer, None for an unknown id."""
    for record in connection.read(lambda tx: run(tx, "answers_read", tenant=tenant, id=answer)):
        body: dict[str, Any] = json.loads(record["body"])
        return body
    return None
