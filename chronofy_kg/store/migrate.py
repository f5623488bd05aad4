"""Schema migrations: the files of ``cypher/migrations``, each applied once and recorded in the graph."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from neo4j import ManagedTransaction

from chronofy_kg.errors import MigrationError
from chronofy_kg.resources import data_folder
from chronofy_kg.store.connection import Connection, Records, run

__all__ = ["Migration", "known_migrations", "migrate", "statements_of"]


@dataclass(frozen=True, slots=True)
class Migration:
    """One file NNNN_name.cypher."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """Hash of its statements; comments and blanks do not count."""
        return hashlib.sha256("\n".join(statements_of(self.text)).encode()).hexdigest()


def known_migrations() -> list[Migration]:
    """Return the migrations of this version of the package, in order."""
    folder = data_folder("cypher").joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".cypher"))
    found = []
    for name in names:
        number, _, title = name.removesuffix(".cypher").partition("_")
        found.append(Migration(int(number), title, folder.joinpath(name).read_text(encoding="utf-8")))
    return found


def statements_of(text: str) -> list[str]:
    """Return the statements of a file: each ends with a semicolon at the end of a line."""
    lines = [line.strip() for line in text.splitlines()]
    body = "\n".join(line for line in lines if line and not line.startswith("//"))
    return [part.strip() for part in (body + "\n").split(";\n") if part.strip()]


def migrate(connection: Connection, migrations: list[Migration] | None = None) -> list[Migration]:
    """Apply what is missing, and return it.

    Raises:
        MigrationError: the store has a newer schema, or one of its migrations was another text.
    """
    known = known_migrations() if migrations is None else migrations
    applied = {record["version"]: record for record in connection.read(_applied)}
    for version, record in sorted(applied.items()):
        _check(version, record["checksum"], known, connection.address.shown)
    missing = [migration for migration in known if migration.version not in applied]
    for migration in missing:
        # Engines take one schema statement per transaction; IF NOT EXISTS makes a second run harmless.
        for text in statements_of(migration.text):
            connection.run_schema(text)
        connection.write(lambda tx, this=migration: _record(tx, this))  # type: ignore[misc]
    return missing


def _check(version: int, checksum: str, known: list[Migration], address: str) -> None:
    ours = next((migration for migration in known if migration.version == version), None)
    if ours is None:
        newest = max((migration.version for migration in known), default=0)
        raise MigrationError(
            f"the store at {address} has schema {version}, this version knows {newest}: upgrade chronofy-kg"
        )
    if ours.checksum != checksum:
        raise MigrationError(
            f"migration {version:04d}_{ours.name} of the store at {address} was another text: "
            "a released migration was edited; restore its file"
        )


def _applied(tx: ManagedTransaction) -> Records:
    return run(tx, "migrations_read")


def _record(tx: ManagedTransaction, migration: Migration) -> None:
    run(tx, "migrations_record", version=migration.version, name=migration.name, checksum=migration.checksum)
