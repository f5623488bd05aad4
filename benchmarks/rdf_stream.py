"""Reading RDF in bounded memory: prints one JSON object, statements a second and peak memory.

    python benchmarks/rdf_stream.py [--statements 1000000] [--kind plain|reified] [--keep FILE]

`plain` is N-Quads of one statement a line with a malformed line in the middle, read with a constant
valid_from; `reified` is what `export` writes, eight statements for each assertion. Peak memory is that of the
process, with the table that the file becomes. There is no peer in this run: rdflib holds a whole graph.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from chronofy_kg.facts.readers import ReadOptions, as_mapping, read_table

XSD = "http://www.w3.org/2001/XMLSchema#"
CK = "urn:chronofy-kg:"
BAD = "<http://example.org/entity/1> <http://example.org/p1> nonsense .\n"


def plain(n: int) -> str:
    """One statement about one of 200,000 entities."""
    subject, graph = f"<http://example.org/entity/{n % 200_000}>", f"<http://example.org/source/{n % 50}>"
    return f'{subject} <http://example.org/p{n % 37}> "{n}"^^<{XSD}integer> {graph} .\n'


def reified(n: int) -> str:
    """One assertion as eight statements."""
    told = f'<http://example.org/entity/{n % 20_000}> <http://example.org/p{n % 37}> "{n}"^^<{XSD}integer>'
    node = f"<{CK}assertion:{n:032x}>"
    notes = {
        "validFrom": f'"2024-01-01T00:{n % 60:02d}:00Z"^^<{XSD}dateTime>',
        "observedAt": f'"2024-01-02T00:{n % 60:02d}:00Z"^^<{XSD}dateTime>',
        "confidence": f'"0.9"^^<{XSD}double>',
        "source": f"<http://example.org/source/{n % 50}>",
        "unit": '"mg"',
        "type": '"dose"',
    }
    reifies = f"{node} <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( {told} )>> .\n"
    return f"{told} .\n{reifies}" + "".join(f"{node} <{CK}{term}> {text} .\n" for term, text in notes.items())


def write(path: Path, kind: str, statements: int) -> int:
    """Write the file; return the line of the malformed statement."""
    make, count = (plain, statements) if kind == "plain" else (reified, statements // 8)
    lines = 0
    with path.open("w", encoding="utf-8") as stream:
        for n in range(count):
            text = make(n)
            stream.write(text)
            lines += text.count("\n")
            if n == count // 2:
                stream.write(BAD)
                bad = lines = lines + 1
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=["plain", "reified"], default="plain")
    parser.add_argument("--keep", type=Path, help="where to keep the file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder) / "statements.nq"
        bad = write(path, options.kind, options.statements)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        constants = {"constants": {"valid_from": "2024-01-01"}} if options.kind == "plain" else None
        wall, cpu, calls = time.perf_counter(), time.process_time(), 0

        def tell(rows: int, about: int | None) -> None:
            nonlocal calls
            calls += 1

        result = read_table(path, ReadOptions(mapping=as_mapping(constants)), on_row=tell)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            json.dumps(
                {
                    "kind": options.kind,
                    "statements": options.statements,
                    "file_mb": round(path.stat().st_size / 1e6),
                    "assertions": len(result.table),
                    "errors": [str(error).rpartition("/")[2] for error in result.errors],
                    "malformed_line": bad,
                    "progress_calls": calls,
                    "seconds": round(wall, 1),
                    "statements_per_second": round(options.statements / wall),
                    "statements_per_cpu_second": round(options.statements / cpu),
                    "base_mb": base // 1024,
                    "peak_mb": peak // 1024,
                },
                indent=2,
            )
        )


if __name__ == "__main__":
    main()
