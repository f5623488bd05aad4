"""Speed of the walk over a graph of facts: prints one JSON object, milliseconds per query.

    python benchmarks/pagerank.py [--facts 100000] [--entities 20000] [--repeat 20] [--peer-python PYTHON]

Each query gets new weights (another `at`) and new seeds over a graph that was prepared once; its time
includes the decay of all facts. Entities are drawn with a Zipf-like skew, a tenth of the facts state
literals, tau is 0.05. The peer is `TemporalRuleGraph.query_pagerank` of `chronofy` over as many rule edges
and only 1,000 triples, since its time grows with both. It pins numpy < 2: give the interpreter of an
environment of its own, with chronofy==0.1.9, networkx and scipy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from chronofy_kg.retrieval import RuleEdges, WalkGraph


def draw(facts: int, entities: int, seed: int) -> dict[str, np.ndarray]:
    """Subjects, objects, weights and ages of random facts."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, entities + 1) ** 0.7
    popularity /= popularity.sum()
    ends = rng.choice(entities, size=(2, facts), p=popularity)
    target = np.where(rng.random(facts) < 0.1, -1, ends[1])
    return {
        "subject": ends[0],
        "object": target,
        "quality": rng.uniform(0.5, 1.0, facts),
        "beta": rng.choice([0.0, 0.001, 0.01, 0.1], facts),
        "age": rng.exponential(60.0, facts),
    }


def best_ms(run: Callable[[int], Any], repeat: int) -> dict[str, float]:
    """Least and median wall time of a call, in milliseconds."""
    times = []
    for i in range(repeat):
        start = time.perf_counter()
        run(i)
        times.append((time.perf_counter() - start) * 1e3)
    return {"least_ms": round(min(times), 2), "median_ms": round(float(np.median(times)), 2)}


def ours(options: argparse.Namespace) -> dict[str, Any]:
    """Build once, then query with weights, cut and seeds of its own each time."""
    drawn = draw(options.facts, options.entities, 1)
    start = time.perf_counter()
    graph = WalkGraph(options.entities, drawn["subject"], drawn["object"])
    build = (time.perf_counter() - start) * 1e3
    rng = np.random.default_rng(2)
    rules = RuleEdges(
        nodes=50,
        of_fact=rng.integers(0, 50, options.facts),
        source=rng.integers(0, 50, 500),
        target=rng.integers(0, 50, 500),
        undecayed=np.full(500, 0.8),
        decayed=np.full(500, 0.8) * np.exp(-rng.exponential(0.5, 500)),
    )
    last = {}

    def query(i: int, with_rules: bool = False) -> None:
        share = np.exp(-drawn["beta"] * (drawn["age"] + i))
        seeds = np.zeros(options.entities)
        seeds[rng.integers(0, options.entities, 3)] = 1.0
        decayed = drawn["quality"] * share
        got = graph.walk(
            drawn["quality"],
            decayed,
            decayed >= 0.05,
            seed_entities=seeds,
            rules=rules if with_rules else None,
        )
        assert got.converged
        assert (got.fact_rank[decayed < 0.05] == 0).all()
        last.update(iterations=got.iterations, cut=int((decayed < 0.05).sum()))

    out: dict[str, Any] = {"build_ms": round(build, 2), "query": best_ms(query, options.repeat), **last}
    out["query_with_rules"] = best_ms(lambda i: query(i, True), options.repeat) | last
    return out


PEER = """
import json, random, sys, time
from datetime import datetime, timedelta, timezone
from chronofy.decay.exponential import ExponentialDecay
from chronofy.retrieval.graph import TemporalRuleGraph
from chronofy.retrieval.rules import TemporalRule
from chronofy.retrieval.triples import TemporalKnowledgeGraph, TemporalTriple

edges, triples, relations = int(sys.argv[1]), 1000, 50
rng, now = random.Random(3), datetime(2026, 1, 1, tzinfo=timezone.utc)
def entity(): return f"e{rng.randrange(50)}"
def relation(): return f"r{rng.randrange(relations)}"
def when(): return now - timedelta(days=rng.expovariate(1 / 60))
known = TemporalKnowledgeGraph()
for _ in range(triples):
    known.add_triple(TemporalTriple(subject=entity(), relation=relation(), object=entity(), timestamp=when()))
rules = [TemporalRule(head_relation=relation(), body_relations=[relation()], confidence=0.8, support=5)
         for _ in range(round((edges * relations) ** 0.5))]
graph = TemporalRuleGraph(rules, ExponentialDecay(), knowledge_graph=known)
start = time.perf_counter()
graph.query_pagerank("e1", now)
print(json.dumps({"edges": graph.num_edges, "triples": triples,
                  "median_ms": round((time.perf_counter() - start) * 1e3, 2)}))
"""


def peer(options: argparse.Namespace) -> dict[str, Any] | None:
    """One query over the same number of edges in `chronofy`, or None without an interpreter that has it."""
    if options.peer_python is None:
        return None
    command = [options.peer_python, "-c", PEER, str(options.facts)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--peer-python", help="interpreter of an environment with chronofy==0.1.9")
    options = parser.parse_args()
    mine, theirs = ours(options), peer(options)
    ratio = round(theirs["median_ms"] / mine["query"]["median_ms"], 1) if theirs else None
    out = {"facts": options.facts, "bar_ms": 50.0, "ours": mine, "peer": theirs, "ratio": ratio}
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
