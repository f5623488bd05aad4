"""What a tenant declares and keeps beside its facts: fact types and versioned spec files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from neo4j import ManagedTransaction

from chronofy_kg.facts.model import nfc
from chronofy_kg.store.connection import Connection, Records, run, run_all
from chronofy_kg.store.rows import Columns

__all__ = [
    "put_fact_types",
    "read_fact_type_versions",
    "read_fact_types",
    "read_specs",
    "recorded_fact_types",
    "write_fact_types",
    "write_spec",
]


def write_fact_types(connection: Connection, tenant: str, types: Sequence[Mapping[str, Any]]) -> None:
    """Write fact types that nobody declared or fitted, so without a version; see `put_fact_types`."""
    connection.write(lambda tx: put_fact_types(tx, tenant, types))


def put_fact_types(
    tx: ManagedTransaction,
    tenant: str,
    types: Sequence[Mapping[str, Any]],
    recorded_at_us: int | None = None,
) -> None:
    """Write fact types: maps with a `name` and scalars or lists of them; None removes a property.

    A name that is not in a map keeps what it has. That something was said to be None is remembered, so
    that what is read is what was written. With `recorded_at_us` they are kept as versions too, and their
    `version` is the next number, whatever a map says.
    """
    rows = []
    for row in types:
        properties = {name: value for name, value in row.items() if name != "name"}
        nulls = sorted(name for name, value in properties.items() if value is None)
        rows.append({"name": nfc(str(row["name"])), "properties": properties, "nulls": nulls})
    names = [list(row["properties"]) for row in rows]
    columns: Columns = {key: [row[key] for row in rows] for key in ("name", "properties", "nulls")} | {
        "given": names
    }
    run_all(tx, "fact_types_write", columns, tenant=tenant)
    if recorded_at_us is not None:
        kept: Columns = {"name": columns["name"]}
        run_all(tx, "fact_types_version", kept, tenant=tenant, recorded_at_us=recorded_at_us)


def read_fact_types(connection: Connection, tenant: str) -> list[dict[str, Any]]:
    """Return the fact types that were written, by name; a type that was only seen on facts is left out."""
    records = connection.read(lambda tx: run(tx, "fact_types_read", tenant=tenant))
    return sorted((_as_written(record) for record in records), key=lambda row: row["name"])


def read_fact_type_versions(connection: Connection, tenant: str) -> list[dict[str, Any]]:
    """Return every version of every fact type, by name and version, each with its `recorded_at_us`."""
    records = connection.read(lambda tx: run(tx, "fact_types_versions", tenant=tenant))
    return sorted((_as_written(record) for record in records), key=lambda row: (row["name"], row["version"]))


def recorded_fact_types(connection: Connection, tenant: str, recorded_at_us: int) -> bool:
    """Return whether fact types were recorded at just this instant."""

    def work(tx: ManagedTransaction) -> bool:
        found = run(tx, "fact_types_recorded", tenant=tenant, recorded_at_us=recorded_at_us)
        return bool(found[0]["count"])

    return connection.read(work)


def _as_written(record: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(record["properties"])
    nulls = row.pop("nulls")
    row.pop("tenant")
    return {"name": row.pop("name"), **row, **dict.fromkeys(nulls)}


def write_spec(
    connection: Connection, tenant: str, name: str, text: str, now_us: int, author: str | None = None
) -> int:
    """Store a spec file and return its version; the newest text again is no new version."""
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()

    def work(tx: ManagedTransaction) -> int:
        newest = run(tx, "specs_newest", tenant=tenant, name=name)
        if newest and newest[0]["hash"] == digest:
            version: int = newest[0]["version"]
            return version
        version = newest[0]["version"] + 1 if newest else 1
        run(
            tx, "specs_create", tenant=tenant, name=name, version=version, hash=digest, text=text,
            author=author, recorded_at_us=now_us,
        )  # fmt: skip
        return version

    return connection.write(work)


def read_specs(connection: Connection, tenant: str) -> Records:
    """Return every version of every spec file: name, version, hash, text, author, recorded_at_us."""
    return connection.read(lambda tx: run(tx, "specs_read", tenant=tenant))
