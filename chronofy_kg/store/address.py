"""Where a graph store is: the embedded engine on a folder, or a server over Bolt."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from chronofy_kg.errors import StoreUnavailableError

__all__ = ["EMBEDDED", "StoreAddress", "default_data_dir"]

EMBEDDED = "embedded:"
_SCHEMES = ("bolt", "neo4j", "bolt+s", "neo4j+s", "bolt+ssc", "neo4j+ssc")


def default_data_dir() -> Path:
    """Return the per-user data folder: $XDG_DATA_HOME/chronofy-kg, else ~/.local/share/chronofy-kg."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "chronofy-kg"


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """How to reach a graph store.

    Attributes:
        uri: ``embedded:``, or the bolt:// or neo4j:// address of a server.
        user, password: how to log in to a server; the embedded engine has its own.
        database: name of the database; None for the usual one (chronofy embedded, neo4j on a server).
        data_dir: folder of the embedded engine.
        linger: seconds that an embedded engine outlives its last user.
    """

    uri: str = EMBEDDED
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    data_dir: Path = field(default_factory=default_data_dir)
    linger: float = 15.0

    @property
    def is_embedded(self) -> bool:
        """Whether the store is the embedded engine."""
        return self.uri == EMBEDDED

    @property
    def shown(self) -> str:
        """The address as messages name it, without anything secret."""
        return f"{EMBEDDED}{self.data_dir}" if self.is_embedded else _without_login(self.uri)

    def check(self) -> None:
        """Refuse what no driver could use.

        Raises:
            StoreUnavailableError: an unknown scheme, no host, a port that is none, or a login inside.
        """
        if self.is_embedded:
            return
        scheme, separator, rest = self.uri.partition("://")
        problem = None
        if not separator or scheme not in _SCHEMES:
            problem = f"it must be {EMBEDDED} or begin with {', '.join(name + '://' for name in _SCHEMES)}"
        elif "@" in rest:
            problem = "a login does not belong in it; use user and password"
        else:
            try:
                parts = urlsplit(self.uri)
                problem = None if parts.hostname and parts.port != 0 else "it names no host"
            except ValueError:
                problem = "its port is no number up to 65535"
        if problem:
            raise StoreUnavailableError(f"{self.shown!r} is no store address: {problem}")


def _without_login(uri: str) -> str:
    scheme, separator, rest = uri.partition("://")
    host, slash, path = rest.partition("/")
    return scheme + separator + host.rpartition("@")[2] + slash + path
