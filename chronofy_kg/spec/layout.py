"""The formatter of spec files: one way to set blanks and lines, and brackets where precedence surprises.

Words, comments and line breaks stay the author's; what surprises is decided in `surprises`. The text of a
single tree, without an author, is in `format`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from chronofy_kg.spec.ast import postorder
from chronofy_kg.spec.diagnostics import Report, Source
from chronofy_kg.spec.filereader import FileReader
from chronofy_kg.spec.operators import Table, table
from chronofy_kg.spec.scan import MOST_FILE_TOKENS, Token, scan
from chronofy_kg.spec.specfile import SpecFile
from chronofy_kg.spec.splitter import split_items
from chronofy_kg.spec.surprises import is_bracketed, surprise

__all__ = ["format_spec"]

_INDENT = "    "


def format_spec(text: str, path: str = "<string>", loader: Callable[[str], str] | None = None) -> str:
    """Return the text of a spec file as it should be written; formatting that again changes nothing.

    Args:
        text: the file's text.
        path: its name, for messages.
        loader: gives the text of an import by the path written in it.

    Raises:
        SpecError: the text has errors.

    >>> print(format_spec("let a=x>0;spec b :G a->F[0 : 2]   x<-1 # why"), end="")
    let a = x > 0
    spec b: (G a) -> F[0:2] x < -1  # why
    """
    file = FileReader(text, path, loader).read()
    source = file.source.text.replace("\r\n", "\n")
    if source != file.source.text:
        file = FileReader(source, path, loader).read()
    result = _Layout(source, _brackets(file), table()).text()
    if FileReader(result, path, loader).read() != file:
        raise AssertionError(f"{path}: formatting would change what the file means")
    return result


def _brackets(file: SpecFile) -> tuple[Counter[int], Counter[int]]:
    """How many brackets to open before and to close after each offset."""
    opening: Counter[int] = Counter()
    closing: Counter[int] = Counter()
    formulas = [
        *(let.formula for let in file.lets.values()),
        *(spec.formula for spec in file.specs.values()),
        *(label.formula for label in file.labels.values()),
    ]
    for formula in formulas:
        for node in postorder(formula.root):
            for at, child in enumerate(node.children):
                if is_bracketed(child, file.source.text):
                    continue
                if surprise(node, at, child) is not None:
                    opening[child.span.start] += 1
                    closing[child.span.end] += 1
    return opening, closing


class _Layout:
    """Writes the tokens of one text."""

    def __init__(self, source: str, brackets: tuple[Counter[int], Counter[int]], words: Table) -> None:
        self.source, self.words = source, words
        report = Report(Source(source))
        scanned = scan(report.source, report, words, MOST_FILE_TOKENS)
        self.starts = {scanned.tokens[item.first].start for item in split_items(scanned, words)}
        self.tokens = list(_with_brackets([one for one in scanned.tokens if one.text != ";"], *brackets))
        self.lines: list[str] = []
        self.line = ""

    def text(self) -> str:
        """Return the whole text, with an end of line."""
        before: Token | None = None
        item = _Item("", self.words)
        started: set[int] = set()
        for token in self.tokens:
            gap = self._gap(before.end if before else 0, token.start)
            if token.start in self.starts and token.start not in started:
                started.add(token.start)
                self._break(gap, "", top=True)
                item = _Item(token.text, self.words)
            elif "\n" in gap or "#" in gap:
                self._break(gap, _INDENT, top=False)
            else:
                self.line += item.blank(before, token)
            item.pass_over(before, token)
            self.line += token.text
            before = token
        self._break(self._gap(before.end if before else 0, len(self.source)), "", top=True)
        while self.lines and not self.lines[-1]:
            self.lines.pop()
        return "".join(f"{line}\n" for line in self.lines)

    def _gap(self, start: int, end: int) -> str:
        """What stands between two tokens; semicolons of ended items go."""
        lines = self.source[start:end].split("\n")
        kept = (line.partition("#") for line in lines)
        return "\n".join(before.replace(";", " ") + sign + comment for before, sign, comment in kept)

    def _break(self, gap: str, indent: str, *, top: bool) -> None:
        """End the line, and write the comments (and at the top one blank line) that stand in a gap."""
        here, *following = gap.split("\n")
        if here.strip():
            self.line += ("  " if self.line else "") + here.strip()
        if self.line:
            self.lines.append(self.line)
        for line in following[:-1] if following else ():
            if line.strip():
                self.lines.append(indent + line.strip())
            elif top and self.lines and self.lines[-1]:
                self.lines.append("")
        if following and following[-1].strip():
            self.lines.append(indent + following[-1].strip())
        self.line = indent


def _with_brackets(tokens: list[Token], opening: Counter[int], closing: Counter[int]) -> Iterator[Token]:
    for token in tokens:
        for _ in range(opening[token.start]):
            yield Token("symbol", "(", token.start, token.start)
        yield token
        for _ in range(closing[token.end]):
            yield Token("symbol", ")", token.end, token.end)


class _Item:
    """Where in an item we are, which decides about blanks."""

    def __init__(self, keyword: str, words: Table) -> None:
        self.keyword, self.words = keyword, words
        self.open: list[str] = []
        self.count = 0
        self.closed_window = False
        self.sign_before = False
        self.arrow = keyword != "rule"
        self.in_arrow = False

    def pass_over(self, before: Token | None, token: Token) -> None:
        """Take note of a token, after its blank was decided."""
        self.in_arrow = False
        if token.text == "-" and self._is_arrow(before, token):
            self.arrow = self.in_arrow = True
        self.sign_before = token.text == "-" and not self.in_arrow and self._is_unary(before)
        self.closed_window = False
        if token.text == "(":
            self.open.append("call" if self._is_call(before) or self.count == 2 else "group")
        elif token.text == "[":
            window = before is not None and (before.text in self.words.windows or before.text == ")")
            self.open.append(
                "window" if window else "range" if before and before.text == "in" else "interval"
            )
        elif token.text in ")]" and self.open:
            self.closed_window = self.open.pop() == "window"
        self.count += 1

    def blank(self, before: Token | None, token: Token) -> str:
        """Return what stands between two tokens of a line."""
        if before is None:
            return ""
        old, new = before.text, token.text
        inside = self.open[-1] if self.open else ""
        tight = (
            old in ("(", "[", "!")
            or new in (")", "]", ",", ":")
            or (new == "(" and self._is_call(before))
            or (new == "[" and old != "in")
            or ("=" in (old, new) and inside == "call")
            or self.sign_before
            or self._is_arrow(before, token)
        )  # fmt: skip
        if inside in ("interval", "window"):
            unit = before.kind == "number" and token.kind == "word"
            tight = tight or old in (",", ":") or unit
        return "" if tight else " "

    def _is_call(self, before: Token | None) -> bool:
        """Whether a bracket after a token belongs to it: arguments, not a group."""
        if before is None:
            return False
        if before.text == "]":
            return self.closed_window
        if before.text in self.words.functions or before.text in self.words.windows:
            return True
        named = before.kind == "string" or (before.kind == "word" and before.text not in self.words.reserved)
        return named and self.keyword in ("rule", "facttype") and self.count != 2

    def _is_arrow(self, before: Token | None, token: Token) -> bool:
        """Whether `<` and `-` are the arrow of a rule."""
        joined = before is not None and before.text == "<" and token.text == "-" and before.end == token.start
        return joined and not self.arrow

    def _is_unary(self, before: Token | None) -> bool:
        if before is None or before.kind == "symbol":
            return before is None or before.text != ")"
        return before.kind == "word" and before.text in self.words.reserved and before.text != "inf"
