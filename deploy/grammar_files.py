"""Writes the files of `grammar/` that follow from its data: the editor grammar and the railroad diagrams.

    python deploy/grammar_files.py [--check]

`chronofy.tmLanguage.json` (TextMate, as editors read it) comes from the operator table, `railroad.html` from
`chronofy.ebnf`. With `--check` nothing is written, and the exit code is 1 if a file is not up to date.
"""

from __future__ import annotations

import argparse
import html
import io
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import railroad

ROOT = Path(__file__).resolve().parents[1]
GRAMMAR = ROOT / "grammar"
_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
_EBNF = re.compile(
    r'\s*(?:\(\*(?P<note>.*?)\*\)|"(?P<text>[^"]*)"|\'(?P<quote>[^\']*)\'|(?P<name>\w+)|(?P<sign>[=;|{}\[\]()]))',
    re.DOTALL,
)


def _words(words: Iterable[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))})\b"


def textmate() -> dict[str, Any]:
    """Return the editor grammar, in the order in which its patterns are tried."""
    table = json.loads((GRAMMAR / "operators.json").read_text(encoding="utf-8"))
    spellings = [word for level in table["levels"] for one in level["operators"] for word in one["spellings"]]
    signs = sorted(
        (re.escape(one) for one in {*spellings, "<-"} if not one.isidentifier()),
        key=lambda one: (-len(one), one),
    )
    functions = [row["name"] for kind in ("functions", "windows") for row in table[kind]]
    units = "|".join(sorted(table["units"], key=lambda one: (-len(one), one)))
    patterns = [
        ("comment.line.number-sign", "#.*$"),
        ("string.quoted.double", r'"(?:[^"\\\n]|\\.)*"'),
        ("variable.parameter", r"\?[^\W\d]\w*"),
        ("keyword.declaration", _words(table["items"])),
        ("keyword.other", _words(["as", "step", "priority", "when", "where", "least"])),
        ("constant.language", _words(table["constants"])),
        ("support.function", _words(functions) + r"(?=\s*[(\[])"),
        ("keyword.other.relation", _words(row["name"] for row in table["relations"])),
        ("keyword.operator.word", _words(word for word in spellings if word.isidentifier())),
        ("constant.numeric", rf"{_NUMBER}(?:\s*(?:{units})\b)?"),
        ("keyword.operator", "|".join(signs)),
    ]  # fmt: skip
    return {
        "name": "Chronofy spec",
        "scopeName": "source.chronofy",
        "fileTypes": ["spec"],
        "patterns": [{"name": f"{name}.chronofy", "match": match} for name, match in patterns],
    }


class _Reader:
    """Reads the rules of an EBNF as diagrams."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while match := _EBNF.match(text, at):
            at = match.end()
            kind = str(match.lastgroup)
            if kind != "note":
                self.tokens.append(("text" if kind == "quote" else kind, match.group(kind)))
        if text[at:].strip():
            raise ValueError(f"not EBNF: {text[at : at + 40]!r}")
        self.at = 0

    def rules(self) -> list[tuple[str, railroad.Diagram]]:
        found = []
        while self.at < len(self.tokens):
            name = self._take()[1]
            self._take()
            found.append((name, railroad.Diagram(self._choice(";"), type="complex")))
        return found

    def _take(self) -> tuple[str, str]:
        self.at += 1
        return self.tokens[self.at - 1]

    def _choice(self, end: str) -> Any:
        options = [self._sequence(end)]
        while self.tokens[self.at - 1] == ("sign", "|"):
            options.append(self._sequence(end))
        return options[0] if len(options) == 1 else railroad.Choice(0, *options)

    def _sequence(self, end: str) -> Any:
        parts: list[tuple[str, Any]] = []
        while True:
            kind, text = self._take()
            if kind == "sign" and text in (end, "|"):
                break
            start = self.at - 1
            if (kind, text) == ("sign", "{"):
                repeated = self._choice("}")
                inner = self._key(start + 1, self.at - 1)
                # `x { sep x }` is drawn as a loop over x.
                if parts and inner.endswith(parts[-1][0]) and isinstance(repeated, railroad.Sequence):
                    between = repeated.items[:-1]
                    loop = railroad.OneOrMore(
                        parts[-1][1], between[0] if len(between) == 1 else railroad.Sequence(*between)
                    )
                    parts[-1] = ("", loop)
                else:
                    parts.append(("", railroad.ZeroOrMore(repeated)))
            elif (kind, text) == ("sign", "["):
                parts.append(("", railroad.Optional(self._choice("]"))))
            elif (kind, text) == ("sign", "("):
                parts.append(("", self._choice(")")))
            elif kind == "text":
                parts.append((f" {text!r}", railroad.Terminal(text)))
            else:
                link = None if text.isupper() or not text.islower() else f"#{text}"
                parts.append((f" {text}", railroad.NonTerminal(text, href=link)))
        items = [part for _, part in parts]
        return items[0] if len(items) == 1 else railroad.Sequence(*items)

    def _key(self, first: int, last: int) -> str:
        return "".join(
            f" {text!r}" if kind == "text" else f" {text}" for kind, text in self.tokens[first:last]
        )


def diagrams() -> str:
    """Return the railroad diagrams of all rules as one page."""
    rules = _Reader((GRAMMAR / "chronofy.ebnf").read_text(encoding="utf-8")).rules()
    out = io.StringIO()
    style = railroad.DEFAULT_STYLE.replace("hsl(30,20%,95%)", "#ffffff")
    out.write(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Grammar of the spec language</title>\n'
    )
    out.write(f"<style>{style}\nbody {{ font-family: sans-serif; margin: 2em; }}</style>\n</head>\n<body>\n")
    out.write("<h1>Grammar of the spec language</h1>\n")
    out.write(
        "<p>Drawn from <code>chronofy.ebnf</code>; the meaning of each construct is in <code>README.md</code>.</p>\n"
    )
    for name, diagram in rules:
        out.write(f'<h2 id="{html.escape(name)}">{html.escape(name)}</h2>\n')
        diagram.writeSvg(out.write)
        out.write("\n")
    out.write("</body>\n</html>\n")
    return out.getvalue()


def files() -> dict[str, str]:
    """Return the files by name, as they should be."""
    editor = json.dumps(textmate(), indent=2, ensure_ascii=False) + "\n"
    return {"chronofy.tmLanguage.json": editor, "railroad.html": diagrams()}


def main() -> int:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    stale = 0
    for name, text in files().items():
        path = GRAMMAR / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if not options.check:
            path.write_text(text, encoding="utf-8")
        print(f"grammar/{name}: {'not up to date' if options.check else 'written'}")  # noqa: T201
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
