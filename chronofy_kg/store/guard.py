"""The door for read-only Cypher: refuses what a rollback could not undo, before anything runs. Pure.

The text is cut into tokens, so that strings, comments and names in backticks are never mistaken for clauses.
`chronofy_kg.store.query` runs what passes, in a transaction that is always rolled back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from chronofy_kg.errors import QueryError, ReadOnlyError

__all__ = ["READ_PROCEDURES", "check_read_only", "tokens"]

#: The procedures that a query may call: they read, on Neo4j and on the embedded engine.
READ_PROCEDURES = frozenset(
    {
        "db.index.fulltext.querynodes",
        "db.index.fulltext.queryrelationships",
        "db.index.vector.querynodes",
        "db.index.vector.queryrelationships",
        "db.labels",
        "db.propertykeys",
        "db.relationshiptypes",
    }
)
_FIRST = ("CALL", "MATCH", "OPTIONAL", "RETURN", "UNWIND", "WITH")
_WRITES = frozenset(
    {"CREATE", "DELETE", "DETACH", "DROP", "FOREACH", "INSERT", "LOAD", "MERGE", "REMOVE", "SET", "USE"}
)

TokenKind = Literal["word", "name", "text", "number", "sign"]


@dataclass(frozen=True, slots=True)
class Token:
    """One token: a bare word, a name in backticks, a quoted text, a digit or any other sign."""

    kind: TokenKind
    text: str

    def is_word(self, *words: str) -> bool:
        """Whether this is one of these bare words, in capitals."""
        return self.kind == "word" and self.text.upper() in words


_TOKEN = re.compile(
    r"""
      (?P<space>\s+ | //[^\n\r]* | /\*.*?\*/)
    | (?P<name>`(?:[^`]|``)*`)
    | (?P<text>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<word>[^\W\d]\w*)
    | (?P<number>\d)
    | (?P<open>/\* | ['"`])
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\u+([0-9a-fA-F]{4})")


def tokens(text: str) -> list[Token]:
    """Cut a query into tokens, without blanks and comments.

    Raises:
        QueryError: a string, a name or a comment is not closed.
    """
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            what = {"/*": "comment", "`": "name"}.get(match.group(), "string")
            raise QueryError(f"the {what} that begins with {match.group()} is not closed")
        if kind != "space":
            found.append(Token(kind, match.group()))  # type: ignore[arg-type]
    return found


def check_read_only(text: str) -> None:
    """Refuse a query that is not one reading statement.

    Raises:
        ReadOnlyError: it writes, changes the schema, administers, loads files, calls a procedure that is
        not in
            READ_PROCEDURES, opens transactions of its own, or is more than one statement.
        QueryError: it is empty, or something in it is not closed.
    """
    _check(tokens(text))
    # Neo4j 5 decodes \uXXXX before it looks for tokens: a quote or a clause may hide in one.
    decoded = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), text)
    if decoded != text:
        _check(tokens(decoded))


def _check(query: list[Token]) -> None:
    while query and query[-1].text == ";":
        query = query[:-1]
    if not query:
        raise QueryError("the query is empty")
    if any(token.kind == "sign" and token.text == ";" for token in query):
        raise ReadOnlyError("only one statement can be run at a time")
    if not query[0].is_word(*_FIRST):
        raise ReadOnlyError(
            f"a reading query begins with {', '.join(_FIRST[:-1])} or {_FIRST[-1]}, not {query[0].text!r}"
        )
    for index, token in enumerate(query):
        if token.kind == "word" and not _is_name(query, index):
            _check_clause(query, index)


def _is_name(query: list[Token], index: int) -> bool:
    """Whether a word is a property, label, type, parameter or map key, and so no clause."""
    before = query[index - 1] if index else None
    after = query[index + 1] if index + 1 < len(query) else None
    if before is not None and before.text in (":", "$") and before.kind == "sign":
        return True
    if after is not None and after.text == ":" and before is not None and before.text in ("{", ","):
        return True
    if before is None or before.text != "." or index < 2:
        return False
    # `1.SET` is a number before a clause, not a property as in n.set, list[0].set or n {.set}.
    return query[index - 2].kind in ("word", "name") or query[index - 2].text in (")", "]", "}", "{", ",")


def _check_clause(query: list[Token], index: int) -> None:
    word = query[index].text.upper()
    if word in _WRITES:
        raise ReadOnlyError(f"{word} is refused: this door only reads (as a name, put it in backticks)")
    if word == "CALL":
        _check_call(query, index + 1)
    following = query[index + 1 : index + 5]
    opens = any(token.is_word("TRANSACTIONS", "TRANSACTION") for token in following)
    if word == "IN" and query[index - 1].text == "}" and opens:
        raise ReadOnlyError("CALL … IN TRANSACTIONS is refused: this door only reads")


def _check_call(query: list[Token], index: int) -> None:
    """Look at what follows CALL: a procedure's dotted name must be allowed."""
    name = ""
    while index < len(query) and query[index].kind in ("word", "name"):
        name += query[index].text.strip("`")
        if index + 1 >= len(query) or query[index + 1].text != ".":
            break
        name, index = name + ".", index + 2
    # Without a name it is a subquery, CALL { … } or CALL (x) { … }: its clauses are looked at one by one.
    if name and name.lower() not in READ_PROCEDURES:
        raise ReadOnlyError(
            f"procedure {name} is refused here; allowed: {', '.join(sorted(READ_PROCEDURES))}"
        )
