"""An export restored into an empty tenant tells the same history, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chronofy_kg.errors import ConflictError, InputError
from chronofy_kg.facts import OPEN_US, format_instant
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import load_settings

pytestmark = pytest.mark.engine

START = 1_704_067_200_000_000
DAY = 86_400_000_000


def row(value: object, **more: object) -> str:
    fields = {"subject": "s", "predicate": "p", "value": value, "valid_from": "2023-01-01", "source": "a"}
    return json.dumps(fields | more)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("restore-data")


def open_kb(data: Path, tenant: str, now: int = START + 1_000 * DAY) -> KnowledgeBase:
    kb = KnowledgeBase.open(settings=load_settings(data=data, embedder="none", tenant=tenant))
    kb._now = lambda: now
    return kb


@pytest.fixture(scope="module")
def told(data, tmp_path_factory):
    """A tenant with corrections, a row corrected inside one load, contradictions and odd texts."""
    folder = tmp_path_factory.mktemp("told")
    loads = [
        [
            row(1),
            row(0.1 + 0.2, subject="Zoe\u0308", unit="mg", meta={"a": [1]}),
            row("x", source="b", quality=0.5),
        ],
        [row(2)],
        [row(3), row(4), row(5, valid_from="2023-06-01", valid_to="2023-07-01")],
        [row(None, predicate="takes", object="drug:x", quality=0.5, type="drug")],
    ]
    with open_kb(data, "told") as kb:
        for number, rows in enumerate(loads):
            kb._now = lambda number=number: START + number * DAY
            (folder / "rows.jsonl").write_text("\n".join(rows))
            report = kb.load(folder / "rows.jsonl")
            assert report.errors == ()
    return loads


def history(kb: KnowledgeBase) -> list[tuple[object, ...]]:
    table, _ = kb._snapshot.current()
    return [
        (table.assertion(r), int(table.recorded_at[r]), int(table.retired_at[r])) for r in range(len(table))
    ]


@pytest.mark.parametrize("ending", [".jsonl", ".csv.gz", ".parquet", ".ttl", ".nq", ".jsonld"])
def test_the_history_comes_back(told, data, tmp_path, ending):
    path = tmp_path / f"out{ending}"
    tenant = f"restored{ending}"
    with open_kb(data, "told") as kb:
        before = history(kb)
        assert kb.export(path) == len(before) == 8
    assert {retired for _, _, retired in before} == {START + DAY, START + 2 * DAY, OPEN_US}
    with open_kb(data, tenant) as kb:
        report = kb.load(path, restore=True)
        assert (report.rows, report.added, report.errors, report.sequence) == (8, 8, (), 4)
        if ending == ".jsonld":
            assert sorted(map(str, history(kb))) == sorted(map(str, before))
        else:
            assert history(kb) == before
        again = kb.load(path, restore=True)
        assert (again.added, again.unchanged, again.sequence) == (0, 8, 4)
    # What the store keeps is the same too, and so is what was known at each instant.
    with open_kb(data, tenant) as kb, open_kb(data, "told") as original:
        assert sorted(map(str, history(kb))) == sorted(map(str, before))
        for day in (0, 1, 2, 3):
            shown = [
                [(f.subject, f.value, f.object, f.valid_from, f.valid_to, f.recorded_at) for f in page.items]
                for page in (
                    one.facts(known_at=START + day * DAY, at=START, history=True) for one in (kb, original)
                )
            ]
            assert sorted(map(str, shown[0])) == sorted(map(str, shown[1]))
            assert shown[0] != []


def test_an_export_is_not_loaded_like_any_file(told, data, tmp_path):
    with open_kb(data, "told") as kb:
        kb.export(tmp_path / "out.jsonl")
        report = kb.load(tmp_path / "out.jsonl")
        assert (report.written, len(report.errors)) == (False, 8)


def test_a_restore_needs_an_empty_tenant_and_no_future(told, data, tmp_path):
    with open_kb(data, "told") as kb:
        kb.export(tmp_path / "out.jsonl")
    with open_kb(data, "other") as kb:
        (tmp_path / "rows.jsonl").write_text(row(9))
        kb.load(tmp_path / "rows.jsonl")
        with pytest.raises(ConflictError, match="empty tenant"):
            kb.load(tmp_path / "out.jsonl", restore=True)
        with pytest.raises(InputError, match="have no transaction times"):
            kb.load([], restore=True)
    with open_kb(data, "early", START + DAY) as kb, pytest.raises(InputError, match="lies in the future"):
        kb.load(tmp_path / "out.jsonl", restore=True)


def test_a_restore_never_records_at_another_instant_because_of_a_declaration(told, data, tmp_path):
    with open_kb(data, "told") as kb:
        kb.export(tmp_path / "out.jsonl")
        before = history(kb)
    with open_kb(data, "declared-first") as kb:
        kb.put_spec("types", "facttype p: categorical, many\n")
        with pytest.raises(ConflictError, match="then put its specs"):
            kb.load(tmp_path / "out.jsonl", restore=True)
        assert history(kb) == []
    with open_kb(data, "declared-later") as kb:
        kb.load(tmp_path / "out.jsonl", restore=True)
        kb.put_spec("types", "facttype p: categorical, many\n")
        assert history(kb) == before


def test_export_and_restore_from_the_command_line(told, data, run, tmp_path):
    store = ("--data", str(data))
    ran = run(*store, "--tenant", "told", "export")
    assert ran.code == 0
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert len(lines) == 8
    assert lines[0]["recorded_at"] == format_instant(START)
    (tmp_path / "out.jsonl").write_text(ran.out)
    ran = run(*store, "--tenant", "from-cli", "load", "out.jsonl")
    assert ran.code == 1
    assert "recorded_at is given by the store; leave it out, or use --restore" in ran.err
    ran = run(*store, "--tenant", "from-cli", "load", "out.jsonl", "--restore")
    assert (ran.code, ran.out) == (0, "out.jsonl: 8 rows: 8 added, 0 unchanged, 3 corrected\n")
    assert run(*store, "--tenant", "from-cli", "export").out == (tmp_path / "out.jsonl").read_text()
