"""Brings up the stand-alone Neo4j, loads the demo's facts into it, and says where to browse them.

    python deploy/neo4j_demo.py --home DIR [--line 5.26|2026.08]

Starting it again is safe: a server that runs is used, and facts that are loaded already change nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import neo4j_server
from rich.console import Console

from chronofy_kg.cli.demo import prepare_demo
from chronofy_kg.errors import ChronofyError
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import load_settings

_QUERY = "MATCH (f:Fact)-[:OF_TYPE]->(t) RETURN t.name, t.beta, count(f)"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="A stand-alone Neo4j with the demo's facts.")
    parser.add_argument("--home", type=Path, required=True, help="folder of data, logs and settings")
    parser.add_argument(
        "--line", choices=sorted(neo4j_server.RELEASES), default=neo4j_server.DEFAULT_LINE, help="of Neo4j"
    )
    options = parser.parse_args()
    home = options.home.expanduser().resolve()
    console, notes = Console(), Console(stderr=True)
    notes.print("Bringing up Neo4j; the first start fetches its jars from Maven Central (about 150 MB)")
    try:
        running = neo4j_server.read_state(home)
        alive = running is not None and neo4j_server.is_alive(running)
        server = running if alive else neo4j_server.start(home, line=options.line)
        settings = load_settings(
            uri=server.uri, user=neo4j_server.USER, password=server.password, data=home / "chronofy-data"
        )
        with KnowledgeBase.open(settings=settings) as kb:
            prepare_demo(kb, console, notes, embed=False)
    except (ChronofyError, neo4j_server.DeployError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    for line in (
        "",
        f"Neo4j Browser   {server.browser}",
        f"Login           user {neo4j_server.USER}, password {server.password}",
        f"Bolt            {server.uri}",
        f"Try             {_QUERY}",
        f"End it with     make neo4j-stop LINE={options.line}",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
