"""The graph store: assertions, facts, types, rules and answers in a graph, reached over Bolt.

`GraphStore` is the door. It opens the embedded engine or a Neo4j server with the same Cypher. Names are
loaded when first used: the keeper of the embedded engine lives in this package and must start without the
driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chronofy_kg.store.address import StoreAddress
    from chronofy_kg.store.errors import StaleSnapshotError
    from chronofy_kg.store.facts import Changes
    from chronofy_kg.store.graph import GraphStore
    from chronofy_kg.store.jobs import JobRecord, JobRecords
    from chronofy_kg.store.keys import ApiKey, KeyCabinet
    from chronofy_kg.store.loading import Loader
    from chronofy_kg.store.query import CypherResult, named_queries
    from chronofy_kg.store.requests import RequestLog
    from chronofy_kg.store.snapshot import Snapshot
    from chronofy_kg.store.writing import Written

__all__ = [
    "ApiKey",
    "Changes",
    "CypherResult",
    "GraphStore",
    "JobRecord",
    "JobRecords",
    "KeyCabinet",
    "Loader",
    "RequestLog",
    "Snapshot",
    "StaleSnapshotError",
    "StoreAddress",
    "Written",
    "named_queries",
]

_HOMES = {
    "ApiKey": "keys",
    "Changes": "facts",
    "CypherResult": "query",
    "GraphStore": "graph",
    "JobRecord": "jobs",
    "JobRecords": "jobs",
    "KeyCabinet": "keys",
    "Loader": "loading",
    "RequestLog": "requests",
    "Snapshot": "snapshot",
    "StaleSnapshotError": "errors",
    "StoreAddress": "address",
    "Written": "writing",
    "named_queries": "query",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
