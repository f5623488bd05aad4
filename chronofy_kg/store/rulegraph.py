"""The mined rule graph of a tenant: nodes, edges and which facts are their instances.

A new graph is written beside the old one in bounded batches, then made the current one in a single step:
readers see the one or the other, never half of either. What is left of older ones is removed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neo4j import ManagedTransaction

from chronofy_kg.store.connection import Connection, run, run_all
from chronofy_kg.store.rows import Columns

__all__ = ["read_rule_graph", "write_rule_graph"]

_BATCH = 2_500


def write_rule_graph(
    connection: Connection,
    tenant: str,
    nodes: Sequence[Mapping[str, Any]],
    edges: Sequence[Mapping[str, Any]],
    instances: Iterable[tuple[str, str]],
) -> None:
    """Replace the rule graph of a tenant.

    Args:
        connection: the open store.
        tenant: whose rules they are.
        nodes: maps with an `id` and scalars or lists of them.
        edges: maps with `source` and `target` (ids of nodes) and scalars or lists of them.
        instances: (fact id, node id) pairs.
    """
    generation = connection.write(lambda tx: _next_generation(tx, tenant))
    there = {"tenant": tenant, "generation": generation}
    _in_batches(connection, "rule_nodes_create", _split(nodes, ("id",)), there)
    _in_batches(connection, "rule_edges_create", _split(edges, ("source", "target")), there)
    pairs = list(instances)
    linked: Columns = {"fact": [fact for fact, _ in pairs], "node": [node for _, node in pairs]}
    _in_batches(connection, "rule_instances_create", linked, there)
    connection.write(lambda tx: run(tx, "rules_switch", **there))
    for name in ("rule_instances_prune", "rule_edges_prune", "rule_nodes_prune"):
        while _prune(connection, name, there):
            pass


def _next_generation(tx: ManagedTransaction, tenant: str) -> int:
    generation: int = run(tx, "rules_next", tenant=tenant)[0]["generation"]
    return generation


def _split(rows: Sequence[Mapping[str, Any]], keys: tuple[str, ...]) -> Columns:
    """Return the keys as columns, and the rest of each map as one column of properties."""
    columns: Columns = {key: [row[key] for row in rows] for key in keys}
    rest = [{name: value for name, value in row.items() if name not in keys} for row in rows]
    return columns | {"properties": rest}


def _in_batches(connection: Connection, name: str, columns: Columns, there: dict[str, Any]) -> None:
    count = len(next(iter(columns.values())))
    for begin in range(0, count, _BATCH):
        piece = {key: column[begin : begin + _BATCH] for key, column in columns.items()}
        connection.write(lambda tx, piece=piece: run_all(tx, name, piece, **there))  # type: ignore[misc]


def _prune(connection: Connection, name: str, there: dict[str, Any]) -> int:
    removed: int = connection.write(lambda tx: run(tx, name, limit=_BATCH, **there))[0]["removed"]
    return removed


def read_rule_graph(
    connection: Connection, tenant: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, str]]]:
    """Return nodes, edges and (fact id, node id) pairs of the current rule graph, as they were written."""

    def work(tx: ManagedTransaction) -> Any:
        names = ("rule_nodes_read", "rule_edges_read", "rule_instances_read")
        return [run(tx, name, tenant=tenant) for name in names]

    nodes, edges, instances = connection.read(work)
    return (
        sorted(({"id": n["id"], **_told(n["properties"])} for n in nodes), key=lambda n: str(n["id"])),
        [{"source": e["source"], "target": e["target"], **_told(e["properties"])} for e in edges],
        sorted((pair["fact"], pair["node"]) for pair in instances),
    )


def _told(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if name not in ("tenant", "generation", "id")}
