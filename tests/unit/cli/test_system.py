from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from chronofy_kg.errors import ReadOnlyError


def result(columns=("name", "n"), rows=(("a", 1), (None, 2)), truncated=False) -> SimpleNamespace:
    return SimpleNamespace(columns=list(columns), rows=[list(row) for row in rows], truncated=truncated)


def test_cypher_prints_a_table(run, kb):
    kb.replies["cypher"] = result()
    ran = run("cypher", "MATCH (n) RETURN n.name AS name, $n AS n", "--param", "n=2", "--param", "s=two")
    assert ran.code == 0
    assert kb.calls == [("cypher", ("MATCH (n) RETURN n.name AS name, $n AS n", {"n": 2, "s": "two"}), {})]
    assert next(line.split() for line in ran.out.splitlines() if line.strip()) == ["name", "n"]
    assert ["a", "1"] in [line.split() for line in ran.out.splitlines()]
    assert ["-", "2"] in [line.split() for line in ran.out.splitlines()]
    assert ran.err == "2 rows\n"


def test_cypher_values_are_json_or_text(run, kb):
    kb.replies["cypher"] = result()
    run("cypher", "x", "--param", 'a="17"', "--param", "b=[1, true]", "--param", "c=007", "--param", "d=a=b")
    assert kb.calls[0][1][1] == {"a": "17", "b": [1, True], "c": "007", "d": "a=b"}


def test_named_queries_start_with_an_at_sign(run, kb):
    kb.replies["named"] = result(truncated=True)
    ran = run("cypher", "@stale_facts", "--param", "days=30", "--json")
    assert kb.calls == [("named", ("stale_facts", {"days": 30}), {})]
    assert ran.json == {"columns": ["name", "n"], "rows": [["a", 1], [None, 2]], "truncated": True}
    assert "only the first 2 are shown" in ran.err


def test_a_write_is_refused(run, kb):
    kb.replies["cypher"] = ReadOnlyError("CREATE writes; only reading is allowed here")
    ran = run("cypher", "CREATE (n)")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "chronofy-kg: CREATE writes; only reading is allowed here\n"


def test_config_names_where_each_setting_comes_from(run, monkeypatch, tmp_path):
    (tmp_path / "settings.env").write_text("CHRONOFY_KG_LAG_WINDOW=5\n")
    monkeypatch.setenv("CHRONOFY_KG_CONFIG", str(tmp_path / "settings.env"))
    monkeypatch.setenv("CHRONOFY_KG_GAMMA", "0.6")
    monkeypatch.setenv("CHRONOFY_KG_PASSWORD", "s3cret")
    monkeypatch.setenv("CHRONOFY_KG_URI", "bolt://neo:s3cret@db:7687")
    ran = run("config", "--tenant", "north", "--json")
    assert ran.code == 0
    assert "s3cret" not in ran.out
    shown = {name: (one["value"], one["from"]) for name, one in ran.json.items()}
    assert shown["tenant"] == ("north", "flag")
    assert shown["gamma"] == (0.6, "environment")
    assert shown["lag_window"] == (5, "file")
    assert shown["port"] == (8765, "default")
    assert shown["password"] == ("********", "environment")
    assert shown["uri"] == ("bolt://neo:********@db:7687", "environment")
    assert shown["user"] == (None, "default")
    assert shown["data"] == (str(tmp_path / "chronofy-data"), "default")
    ran = run("config")
    assert "s3cret" not in ran.out + ran.err
    assert ["gamma", "0.6", "environment"] in [line.split() for line in ran.out.splitlines()]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CHRONOFY_KG_GAMA", "1", "unknown setting CHRONOFY_KG_GAMA"),
        ("CHRONOFY_KG_GAMMA", "7", "setting gamma"),
        ("CHRONOFY_KG_CONFIG", "nowhere.env", "nowhere.env"),
    ],
)
def test_wrong_settings_are_wrong_use(run, monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    ran = run("config")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_demo_is_run_with_the_settings(run, monkeypatch):
    seen = {}

    def run_demo(settings, *, once, console):
        seen.update(tenant=settings.tenant, once=once)
        console.print("the tour")
        return 0

    module = ModuleType("chronofy_kg.cli.demo")
    module.run_demo = run_demo
    monkeypatch.setitem(sys.modules, "chronofy_kg.cli.demo", module)
    ran = run("--tenant", "t", "demo", "--once")
    assert (ran.code, ran.out, seen) == (0, "the tour\n", {"tenant": "t", "once": True})


def serving(monkeypatch, act) -> None:
    """Put `act` in the place of the server."""
    module = ModuleType("chronofy_kg.api")
    module.serve_from, module.configure_logs = act, lambda level: None
    monkeypatch.setitem(sys.modules, "chronofy_kg.api", module)


def test_serve_announces_its_address_and_says_when_it_stopped(run, kb, monkeypatch):
    def serve(open_base, settings, on_ready, on_wait):
        with open_base() as opened:
            assert (opened, settings) == (kb, kb.settings)
            on_ready("http://127.0.0.1:9999")

    serving(monkeypatch, serve)
    ran = run("serve", "--host", "localhost", "--port", "0")
    assert (ran.code, ran.out) == (0, "")
    lines = ran.err.splitlines()
    assert lines[0] == "serving tenant default at http://127.0.0.1:9999, stop with Ctrl-C"
    assert lines[1] == "API page: http://127.0.0.1:9999/docs"
    assert "curl http://127.0.0.1:9999/v1/query" in lines[2]
    assert lines[3] == "stopped"
    assert (kb.settings.host, kb.settings.port) == ("localhost", 0)
    assert run("serve", "--json").json == {"url": "http://127.0.0.1:9999"}
    assert kb.closed


def test_serve_without_its_extra_says_what_to_install(run, kb, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for name in [name for name in sys.modules if name.split(".")[:2] == ["chronofy_kg", "api"]]:
        monkeypatch.delitem(sys.modules, name)
    ran = run("serve")
    assert (ran.code, ran.out) == (1, "")
    assert "chronofy-kg[server]" in ran.err
    assert kb.settings is None


def test_a_port_that_is_no_port_is_wrong_use(run, kb):
    assert run("serve", "--port", "70000").code == 2
