"""The style and the saved queries in the real Neo4j Browser, driven through Debian's chromium."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chronofy_kg.demo import demo_assertions
from chronofy_kg.facts.time import parse_instant
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import load_settings
from chronofy_kg.store import GraphStore, StoreAddress

pytestmark = [pytest.mark.engine, pytest.mark.browser]

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = Path("/usr/bin/chromium")
FOLDER = ROOT / "cypher" / "browser"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Neo4j with a year of the demo's facts and one mined edge."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM}: apt-get install chromium")
    spec = importlib.util.spec_from_file_location("browser_neo4j", ROOT / "deploy" / "neo4j_server.py")
    assert spec is not None
    assert spec.loader is not None
    deploy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = deploy
    spec.loader.exec_module(deploy)
    if (reason := deploy.missing()) is not None:
        pytest.skip(reason)
    home = tmp_path_factory.mktemp("neo4j")
    running = deploy.start(home)
    try:
        _fill(running, deploy.USER, home)
        yield running
    finally:
        deploy.stop(home)


def _fill(running: Any, user: str, home: Path) -> None:
    begin, end = parse_instant("1985-01-01").us, parse_instant("1986-01-01").us
    rows = [
        row
        for row in demo_assertions()
        if row.predicate == "unemployment_rate" and begin <= row.valid_from < end
    ]
    settings = load_settings(
        uri=running.uri, user=user, password=running.password, data=home / "d", embedder="none"
    )
    with KnowledgeBase.open(settings=settings) as kb:
        kb.load(rows)
    with GraphStore.open(StoreAddress(running.uri, user, running.password)) as store:
        nodes = [{"id": name, "predicate": name} for name in ("inflation", "unemployment")]
        edge = {"source": "inflation", "target": "unemployment", "bits": 12.5}
        store.write_rule_graph("default", nodes, [edge], [])


def test_the_demo_graph_is_drawn_in_the_style(server: Any, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    style = " ".join((FOLDER / "style.grass").read_text(encoding="utf-8").split())
    saved = (FOLDER / "saved_queries.cypher").read_text(encoding="utf-8").split(";\n")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=options)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(40_000)
        page.goto(server.browser)
        page.fill("input[type=password]", server.password)
        page.keyboard.press("Enter")
        page.wait_for_selector("input[type=password]", state="detached")

        def run(text: str) -> None:
            page.locator(".monaco-editor").first.click()
            page.keyboard.press("Control+a")
            page.keyboard.insert_text(text)
            page.keyboard.press("Control+Enter")

        run(f":style {style}")
        page.wait_for_timeout(1_500)
        run(saved[0])
        entity = page.locator("svg g.node", has_text="US").filter(has=page.locator('circle[fill="#2F6DB5"]'))
        entity.first.wait_for()
        drawn = {text.strip() for text in page.locator("svg g.node").all_text_contents()}
        page.screenshot(path=tmp_path / "entity.png")
        run(saved[2])
        page.locator("svg g.relationship", has_text="12.5").first.wait_for()
        page.screenshot(path=tmp_path / "rules.png")
        browser.close()
    assert "US" in drawn
    # A long predicate is cut to what fits into the circle.
    assert any(text.startswith("unem") for text in drawn), drawn
