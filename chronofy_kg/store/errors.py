"""What the driver raises, told as this package's errors: one line, with the address, never a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from neo4j.exceptions import (
    AuthError,
    ClientError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from chronofy_kg.errors import ChronofyError, StoreAuthError, StoreError, StoreUnavailableError
from chronofy_kg.store.address import StoreAddress
from chronofy_kg.store.disk import full_disk

__all__ = ["StaleSnapshotError", "engine_message", "is_passing", "told_errors"]


_LONGEST = 400
_NO_MEMORY = ("OutOfMemory", "MemoryPool")  # of a server's codes for a transaction that is too large


class StaleSnapshotError(StoreError):
    """The store moved on since the caller's snapshot: refresh it and plan the write again.

    Attributes:
        expected: the sequence number that the caller knew.
        current: the sequence number of the store.
    """

    def __init__(self, tenant: str, expected: int, current: int) -> None:
        self.expected, self.current = expected, current
        super().__init__(
            f"tenant {tenant!r} is at change {current}, the snapshot at {expected}: refresh it and plan again"
        )


def engine_message(problem: Exception) -> str:
    """Return what the engine said, in one line of bounded length (it may repeat the query)."""
    text = " ".join(str(getattr(problem, "message", None) or problem).split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def is_passing(problem: Exception) -> bool:
    """Whether a first answer failed as it does while a server starts or ends, and not for a wrong address.

    A killed server's port stays open until the kernel has taken its memory back: the connection is taken,
    then dropped. Where it is closed without an error the driver has no class for that, only words.
    """
    if isinstance(problem, TransientError):
        return True
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
            return True
        cause = cause.__cause__
    return isinstance(problem, ServiceUnavailable | SessionExpired) and any(
        words in str(problem) for words in ("incomplete handshake", "defunct connection")
    )


@contextmanager
def told_errors(address: StoreAddress, *, writing: bool = False) -> Iterator[None]:
    """Raise what the driver raises as this package's errors; a write may have met a full disk."""
    try:
        with _told_disk(address) if writing and address.is_embedded else nullcontext():
            yield
    except ChronofyError:
        raise
    except AuthError:
        who = f"user {address.user!r}" if address.user else "a login without a user"
        raise StoreAuthError(
            f"{address.shown} refuses {who}: check user and password (CHRONOFY_KG_USER, CHRONOFY_KG_PASSWORD)"
        ) from None
    except (ServiceUnavailable, SessionExpired, OSError) as problem:
        raise StoreUnavailableError(
            f"the graph store at {address.shown} cannot be reached: {engine_message(problem)}"
        ) from None
    except ClientError as problem:
        if "DatabaseNotFound" in (problem.code or ""):
            raise StoreUnavailableError(
                f"the graph store at {address.shown} has no database {address.database!r}"
            ) from None
        raise StoreError(
            f"the graph store at {address.shown} refused: {engine_message(problem)}"
        ) from problem
    except (DriverError, Neo4jError) as problem:
        hint = ""
        if any(word in (getattr(problem, "code", None) or "") for word in _NO_MEMORY):
            hint = "; write less in one transaction: set CHRONOFY_KG_LOAD_BATCH lower"
        raise StoreError(
            f"the graph store at {address.shown} failed: {engine_message(problem)}{hint}"
        ) from problem


@contextmanager
def _told_disk(address: StoreAddress) -> Iterator[None]:
    """Tell of the full disk where the engine failed for want of space: it says "error on commit" only."""
    try:
        yield
    except (DriverError, Neo4jError) as problem:
        full = full_disk(address.data_dir)
        if full is None:
            raise
        raise StoreError(full) from problem
