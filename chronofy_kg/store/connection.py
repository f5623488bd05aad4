"""One open store: the driver, the lease on an embedded engine, and transactions with retries.

Every module beside this one runs its statements through a `Connection`; none makes a driver of its own.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from neo4j import Driver, GraphDatabase, ManagedTransaction, NotificationMinimumSeverity, Session
from neo4j.exceptions import ClientError, ConstraintError, DriverError, Neo4jError

from chronofy_kg.errors import StoreUnavailableError
from chronofy_kg.store.address import StoreAddress
from chronofy_kg.store.embedded import Embedded, is_kept, open_embedded
from chronofy_kg.store.errors import engine_message, is_passing, told_errors
from chronofy_kg.store.rows import Columns
from chronofy_kg.store.statements import chunks, statement

__all__ = ["Connection", "Records", "run", "run_all"]

T = TypeVar("T")
Records = list[dict[str, Any]]

_CONNECT_S = 5.0
_GREET_PAUSE_S = 0.1
_RETRY_S = 15.0
_CONSTRAINT_TRIES = 5

# The driver reports each retry on its logger; without a handler Python would print that on stderr.
logging.getLogger("neo4j").addHandler(logging.NullHandler())


def run(tx: ManagedTransaction, name: str, /, **parameters: Any) -> Records:
    """Run one statement of ``cypher/store`` in a transaction and return its records."""
    result = tx.run(statement(name), parameters)
    names = result.keys()
    return [dict(zip(names, record.values(), strict=True)) for record in result]


def run_all(tx: ManagedTransaction, name: str, columns: Columns, /, **parameters: Any) -> Records:
    """Run one statement over columns of any length, in as many pieces as the message size asks for."""
    records: Records = []
    if not next(iter(columns.values())):
        return records
    for piece in chunks(columns):
        records += run(tx, name, **piece, **parameters)
    return records


class Connection:
    """An open driver on one database.

    Args:
        address: where the store is.

    Raises:
        StoreUnavailableError, StoreAuthError: it cannot be reached, or refuses the user.
    """

    def __init__(self, address: StoreAddress) -> None:
        address.check()
        self.address = address
        self.embedded: Embedded | None = None
        self._revival = threading.Lock()
        self._connect()

    def _connect(self) -> None:
        address = self.address
        if address.is_embedded:
            self.embedded = open_embedded(self._folder, address.linger)
            uri, login = self.embedded.uri, (self.embedded.user, self.embedded.password)
            self.database = self.embedded.database
        else:
            uri, login = address.uri, (address.user or "", address.password or "")
            self.database = address.database or "neo4j"
        try:
            with told_errors(address):
                self.driver = self._open(uri, login)
        except BaseException:
            self._release()
            raise

    @property
    def _folder(self) -> Path:
        return self.address.data_dir / "engine"

    def session(self, **options: Any) -> Session:
        """Return a session; an embedded engine whose keeper has died is started anew first."""
        if self.embedded is not None and not is_kept(self._folder):
            with self._revival:
                self._revive()
        return self.driver.session(database=self.database, **options)

    def _revive(self) -> None:
        if is_kept(self._folder):
            return  # another thread was first
        if not (self._folder / "databases").is_dir():
            raise StoreUnavailableError(f"the data folder {self.address.data_dir} is gone; start again")
        self.driver.close()
        self._release()
        self._connect()

    def _open(self, uri: str, login: tuple[str, str]) -> Driver:
        driver = GraphDatabase.driver(
            uri,
            auth=login if any(login) else None,
            connection_timeout=_CONNECT_S,
            connection_acquisition_timeout=30.0,
            max_transaction_retry_time=_RETRY_S,
            notifications_min_severity=NotificationMinimumSeverity.OFF,
        )
        try:
            self._greet(driver)
        except BaseException:
            driver.close()
            raise
        return driver

    def _greet(self, driver: Driver) -> None:
        """Wait for a first answer; a server that starts or ends drops connections, so try again."""
        deadline = time.monotonic() + _CONNECT_S
        while True:
            try:
                # Outside of a managed transaction, so that it fails at once where nothing answers.
                with driver.session(database=self.database) as session:
                    session.run("RETURN 1").consume()
            except (DriverError, Neo4jError) as problem:
                if not is_passing(problem):
                    raise
                if time.monotonic() > deadline:
                    raise StoreUnavailableError(
                        f"the graph store at {self.address.shown} takes connections and does not serve them "
                        f"(tried for {_CONNECT_S:g} s): {engine_message(problem)}"
                    ) from None
            else:
                return
            time.sleep(_GREET_PAUSE_S)

    def close(self) -> None:
        """Close the driver and give back the lease."""
        self.driver.close()
        self._release()

    def _release(self) -> None:
        if self.embedded is not None:
            self.embedded.close()

    def read(self, work: Callable[[ManagedTransaction], T]) -> T:
        """Run a unit of reads; it may run more than once."""
        with told_errors(self.address), self.session() as session:
            return session.execute_read(work)

    def write(self, work: Callable[[ManagedTransaction], T]) -> T:
        """Run a unit of writes, all or nothing; it may run more than once.

        The driver repeats it after a deadlock or a lost connection. Two writers that make the same element
        at the same time are a ConstraintError on the embedded engine, which is repeated here.
        """
        for attempt in range(1, _CONSTRAINT_TRIES + 1):
            try:
                with told_errors(self.address, writing=True), self.session() as session:
                    return self._write_once(session, work)
            except _MetAnother as met:
                if attempt == _CONSTRAINT_TRIES:
                    with told_errors(self.address):
                        raise met.problem from None
                time.sleep(random.uniform(0.01, 0.05) * 2**attempt)  # noqa: S311 - jitter
        raise AssertionError("unreachable")

    @staticmethod
    def _write_once(session: Any, work: Callable[[ManagedTransaction], T]) -> T:
        try:
            result: T = session.execute_write(work)
        except ClientError as problem:
            # At commit the embedded engine tells the same clash in words of its own.
            if isinstance(problem, ConstraintError) or "Duplicated key" in str(problem.message):
                raise _MetAnother(problem) from None
            raise
        return result

    def run_schema(self, text: str) -> None:
        """Run one schema statement in a transaction of its own, as engines ask for."""
        with told_errors(self.address, writing=True), self.session() as session:
            session.run(text).consume()


class _MetAnother(Exception):  # noqa: N818 - a signal between two functions here
    def __init__(self, problem: ClientError) -> None:
        self.problem = problem
        super().__init__()
