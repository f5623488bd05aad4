"""What the README says is true: its folders, commands and settings exist, and its curl has that answer."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from chronofy_kg.answer.shape import answer_as_json
from chronofy_kg.cli.app import app
from chronofy_kg.demo import PACKS, demo_assertions
from chronofy_kg.facts import TableBuilder
from chronofy_kg.facts.rows import check_row
from chronofy_kg.facts.strict_json import decode_json
from chronofy_kg.facts.time import parse_instant
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.resources import data_text
from chronofy_kg.retrieval.documents import documents
from chronofy_kg.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


def test_every_folder_and_link_exists() -> None:
    named = re.findall(r"^\| `([\w/.]+)` \|", README, re.MULTILINE) + re.findall(r"\]\(([\w/.]+)\)", README)
    assert len(named) > 10
    missing = [name for name in named if not (ROOT / name).exists()]
    assert missing == []


def test_every_command_and_option_exists() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    lines = [line for _, block in BLOCKS for line in block.splitlines() if line.startswith("chronofy-kg ")]
    assert len(lines) > 8
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        command = commands[words[0]]
        if hasattr(command, "commands"):
            command = command.commands[words[1]]
        known = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([\w-]+)", README)) <= targets


def test_every_setting_exists() -> None:
    known = {f"CHRONOFY_KG_{name.upper()}" for name in type(load_settings()).model_fields}
    assert set(re.findall(r"CHRONOFY_KG_[A-Z_]+", README)) <= known


def test_the_fact_of_the_readme_is_one() -> None:
    (line,) = [block for kind, block in BLOCKS if kind == "json" and '"patient:17"' in block]
    assert check_row(decode_json(line)).value == 52.0


def test_short_and_without_gaps() -> None:
    assert len(README.splitlines()) <= 200
    assert "@" not in README.replace("cypher @NAME", "")


@pytest.mark.engine
def test_the_curl_and_the_python_have_those_answers(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (python,) = [block for kind, block in BLOCKS if kind == "python"]
    (curl,) = [block for _, block in BLOCKS if block.startswith("curl ")]
    asked = json.loads(shlex.split(curl.replace("\\\n", " "))[-1])
    (shown,) = [json.loads(block) for kind, block in BLOCKS if kind == "json" and '"verdict"' in block]
    settings = load_settings(data=tmp_path_factory.mktemp("readme"), embedder="none")
    with KnowledgeBase.open(settings=settings) as kb:
        for pack in PACKS:
            kb.put_spec(pack, data_text("rules", f"{pack}.spec"))
        kb.load(demo_assertions())
        monkeypatch.setenv("CHRONOFY_KG_EMBEDDER", "none")
        exec(compile(python.replace("chronofy-data", str(settings.data)), "README.md", "exec"), {})
        told = capsys.readouterr().out
        answer = answer_as_json(kb.query(asked["question"], at=parse_instant(asked["at"]).us))
    assert told.startswith("supported 0.")
    assert "US unemployment_rate: 7.3 % (seen 1984-12-31" in told
    assert told.endswith("reacquire\n")  # the trace is judged now, decades later
    assert {name: answer[name] for name in ("verdict", "answer", "valid_until")} == {
        name: shown[name] for name in ("verdict", "answer", "valid_until")
    }
    assert answer["confidence"] == pytest.approx(shown["confidence"], abs=5e-5)
    assert answer["robustness"]["value"] == pytest.approx(shown["robustness"]["value"], abs=5e-5)
    assert answer["robustness"]["failing_steps"] == shown["robustness"]["failing_steps"]


def test_the_number_of_embedded_texts_is_counted() -> None:
    builder = TableBuilder()
    builder.extend(demo_assertions())
    assert f"embedding {len(documents(builder.build()).texts)} texts" in README
