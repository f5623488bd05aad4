"""Fuzzed requests on every operation of the OpenAPI document, each reply held against the document.

    python benchmarks/http_fuzz.py [--requests 20000] [--engines embedded neo4j] [--seed 1]

Half of the requests come from schemathesis (good and bad ones by the schemas, judged by all of its checks);
the other half are good bodies and query strings with bytes changed, cut, doubled or put in. No reply may be a
5xx, have a status that the document does not name, or a body that is no JSON where it says that it is. The
application runs in this process, over a real store, with a key. Prints one JSON object; exit code 1 where
something was found.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.core.failures import FailureGroup
from starlette.testclient import TestClient

from chronofy_kg.api import create_app
from chronofy_kg.api.access import KeyRing
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
TIMES_AND_NAMES = [
    "2024-05-17T08:30:00Z",
    "2024",
    "9999-12-31",
    "%00",
    "%ff",
    "",
    "-1",
    "1e9",
    "é",
    "x" * 3_000,
]
# No schema can say what an instant or the text of a spec is (422), nor which query writes (403). A name that
# is too long makes a path that is too long (414).
CONFIG = schemathesis.Config.from_dict(
    {
        "checks": {
            "positive_data_acceptance": {"expected-statuses": ["2XX", "403", "404", "409", "422"]},
            "negative_data_rejection": {
                "expected-statuses": ["401", "400", "404", "405", "413", "414", "415", "422"]
            },
        }
    }
)
Failures = dict[str, list[str]]


def now_us() -> int:
    return time.time_ns() // 1_000


@contextmanager
def engine(name: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the settings that reach an engine."""
    if name == "embedded":
        yield {"data": folder}
        return
    spec = importlib.util.spec_from_file_location("fuzz_deploy", ROOT / "deploy" / "neo4j_server.py")
    assert spec is not None
    assert spec.loader is not None
    deploy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = deploy
    spec.loader.exec_module(deploy)
    server = deploy.start(folder)
    try:
        yield {"uri": server.uri, "user": deploy.USER, "password": server.password, "data": folder / "caches"}
    finally:
        deploy.stop(folder)


@contextmanager
def served(kb: KnowledgeBase) -> Iterator[tuple[TestClient, Any, dict[str, str]]]:
    """Yield a client of the application, the application, and the header with a key."""
    _, text = kb.store.keys.create("fuzz", ["admin"], "fuzz", now_us())
    app = create_app(kb, ring=KeyRing(kb.store.keys.all, now_us, required=True))
    with TestClient(app, raise_server_exceptions=False, follow_redirects=False) as client:
        yield client, app, {"Authorization": f"Bearer {text}"}


def judge(reply: Any, operation: dict[str, Any]) -> list[str]:
    """Return what is wrong with a reply by itself."""
    found = []
    status, kind = reply.status_code, reply.headers.get("content-type", "")
    if status >= 500:
        found.append(f"status {status}")
    elif str(status) not in operation["responses"]:
        found.append(f"status {status} is not documented")
    if "json" in kind and "ndjson" not in kind:
        try:
            json.loads(reply.content, parse_constant=lambda word: found.append(f"the body has {word}"))
        except ValueError:
            found.append("the body is no JSON")
    return found


def by_schema(app: Any, headers: dict[str, str], examples: int, number: int) -> tuple[int, Failures]:
    """Send requests made from the document; return how many, and what failed by operation."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=CONFIG)
    failures: Failures = {}
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @seed(number)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=_both(operation))
        def one(case: Any) -> None:
            nonlocal sent
            sent += 1
            label = case.operation.label
            # What stands in the place of a key is replaced by one; a request without stays without.
            if str((case.headers or {}).get("Authorization", "")).startswith("Bearer "):
                case.headers["Authorization"] = headers["Authorization"]
            try:
                case.call_and_validate()
            except FailureGroup as group:
                told = failures.setdefault(label, [])
                for failure in group.exceptions:
                    text = f"{type(failure).__name__}: {str(failure)[:400]} | {_shown(case)}"
                    if len(told) < 5:
                        told.append(text)

        one()
    return sent, failures


def _both(operation: Any) -> Any:
    modes = schemathesis.GenerationMode
    good = operation.as_strategy(generation_mode=modes.POSITIVE)
    return good | operation.as_strategy(generation_mode=modes.NEGATIVE)


def _shown(case: Any) -> str:
    return repr(
        {"path": case.path_parameters, "query": case.query, "body": case.body, "headers": case.headers}
    )[:600]


def by_bytes(
    client: TestClient, document: dict[str, Any], headers: dict[str, str], count: int, rng: random.Random
) -> tuple[int, Failures, Counter[int]]:
    """Send good bodies and query strings with bytes changed."""
    operations = [(m, p, o) for p, found in document["paths"].items() for m, o in found.items()]
    failures: Failures = {}
    statuses: Counter[int] = Counter()
    for number in range(count):
        method, path, operation = operations[number % len(operations)]
        url = path.format(
            **dict.fromkeys(("fact_id", "answer_id", "job_id", "name"), quote(_word(rng), safe=""))
        )
        query = _query(operation, rng)
        body, kind = _body(operation, document, rng)
        told = {"content-type": kind} if body is not None else {}
        try:
            reply = client.request(
                method.upper(), f"{url}?{query}" if query else url, content=body, headers=headers | told
            )
        except Exception as error:
            failures.setdefault(f"{method} {path}", []).append(f"{error!r} | {url}?{query} {body!r}"[:600])
            continue
        statuses[reply.status_code] += 1
        for wrong in judge(reply, operation):
            told_of = failures.setdefault(f"{method} {path}", [])
            if len(told_of) < 5:
                told_of.append(f"{wrong} | {url}?{query} {body!r} -> {reply.text[:300]}"[:900])
    return count, failures, statuses


def _word(rng: random.Random) -> str:
    return rng.choice(
        ["f_" + "0" * 32, "a_1", "egfr", "j_1", "é", "a/b", "x" * rng.randrange(1, 100), " ", "'\"\\", "\0"]
    )


def _query(operation: dict[str, Any], rng: random.Random) -> str:
    names = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query"] or ["nope"]
    if rng.random() < 0.5:
        return ""
    pairs = [f"{rng.choice(names)}={rng.choice(TIMES_AND_NAMES)}" for _ in range(rng.randrange(1, 3))]
    return (
        quote(_mutated("&".join(pairs).encode(), rng), safe="=&%")
        if rng.random() < 0.3
        else "&".join(quote(pair, safe="=%") for pair in pairs)
    )


def _body(
    operation: dict[str, Any], document: dict[str, Any], rng: random.Random
) -> tuple[bytes | None, str]:
    if "requestBody" not in operation:
        return None, ""
    content = operation["requestBody"]["content"]
    kind = rng.choice(sorted(content))
    found = [example["value"] for example in content["application/json"].get("examples", {}).values()]
    reference = content["application/json"]["schema"].get("$ref", "").rpartition("/")[2]
    found += document["components"]["schemas"].get(reference, {}).get("examples", [])
    raw = json.dumps(rng.choice(found)).encode()
    return (_mutated(raw, rng) if rng.random() < 0.8 else raw), kind


_PIECES = [b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"NaN", b"1e999", b"-0", b"\x00", b"\xff",
           b"\\ud800", b"\\u0000", b"true", b"9" * 30,
           b'"":', b"2024-02-30", b"\xef\xbb\xbf", b"\n"]  # fmt: skip


def _mutated(raw: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randrange(1, 4)):
        low = rng.randrange(len(raw) + 1)
        high = min(len(raw), low + rng.randrange(0, 12))
        raw = rng.choice(
            [
                raw[:low] + raw[high:],
                raw[:low] + rng.choice(_PIECES) + raw[low:],
                raw[:low] + rng.choice(_PIECES) + raw[high:],
                raw[:high] + raw[low:],
                raw[:low] + bytes([rng.randrange(256)]) + raw[low + 1 :],
            ]
        )
    return raw


def fuzz(kb: KnowledgeBase, requests: int, number: int) -> dict[str, Any]:
    """Fuzz one store; return what was sent and what was found."""
    with served(kb) as (client, app, headers):
        document = app.openapi()
        operations = sum(map(len, document["paths"].values()))
        began = time.monotonic()
        sent, by_check = by_schema(app, headers, max(1, requests // 2 // operations), number)
        raw, by_reply, statuses = by_bytes(
            client, document, headers, max(operations, requests - sent), random.Random(number)
        )
    return {
        "operations": operations, "by_schema": sent, "by_bytes": raw,
        "seconds": round(time.monotonic() - began, 1),
        "statuses": dict(sorted(statuses.items())), "failures": {"checks": by_check, "replies": by_reply},
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--engines", nargs="+", choices=["embedded", "neo4j"], default=["embedded", "neo4j"])
    parser.add_argument("--seed", type=int, default=1)
    given_args = parser.parse_args()
    report: dict[str, Any] = {}
    for name in given_args.engines:
        with tempfile.TemporaryDirectory() as folder, engine(name, Path(folder)) as reach:
            chosen = Settings(**reach, embedder="none", tenant="fuzz", default_zone="UTC")
            with KnowledgeBase.open(settings=chosen) as kb:
                report[name] = fuzz(kb, given_args.requests, given_args.seed)
    found = any(one for engine_report in report.values() for one in engine_report["failures"].values())
    print(json.dumps(report | {"failed": found}, indent=2))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
