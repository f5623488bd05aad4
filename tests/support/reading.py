"""Short ways to read a text as a file of some form in tests."""

from __future__ import annotations

import json
from pathlib import Path

from chronofy_kg.facts import parse_instant
from chronofy_kg.facts.readers import ReadOptions, ReadResult, as_mapping, read_table

__all__ = ["PREFIXES", "SINCE_2024", "XSD", "line", "read", "turtle", "us", "values"]

XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = f"""@prefix ex: <http://e/> . @prefix ck: <urn:chronofy-kg:> . @prefix xsd: <{XSD}> .
@prefix prov: <http://www.w3.org/ns/prov#> . @prefix time: <http://www.w3.org/2006/time#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
"""
SINCE_2024 = ReadOptions(mapping=as_mapping({"constants": {"valid_from": "2024-01-01"}}))


def us(text: str) -> int:
    return parse_instant(text).us


def read(path: Path, text: str | bytes, options: ReadOptions | None = None) -> ReadResult:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, options or ReadOptions())


def turtle(tmp_path: Path, text: str, options: ReadOptions | None = None) -> ReadResult:
    return read(tmp_path / "a.ttl", PREFIXES + text, options)


def values(result: ReadResult) -> list[object]:
    return [result.table.value(row) for row in range(len(result.table))]


def line(**changes: object) -> str:
    fields = {"subject": "s", "predicate": "p", "value": 1, "valid_from": "2024-01-01", **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ...})
