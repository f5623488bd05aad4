"""The guard of read-only Cypher: what passes and what does not. No engine needed."""

from __future__ import annotations

import pytest

from chronofy_kg.errors import QueryError, ReadOnlyError
from chronofy_kg.store.guard import check_read_only, tokens

READS = [
    "MATCH (n) RETURN n",
    "match (n:Fact {set: 1}) where n.create = 'DELETE' return n.merge AS `drop`;",
    "RETURN 'CREATE (n)' AS a, \"; DROP INDEX x\" AS b // CREATE (n)",
    "/* CREATE (n); */ MATCH (n:`a``; CREATE`) RETURN n.`set`",
    "MATCH (n:Create|`Delete`)-[r:SET]->(m) RETURN $create, n {.set, .delete}",
    "RETURN 'it\\'s; CREATE' AS text",
    "UNWIND [1, 2] AS x WITH x WHERE x IN [1] RETURN x",
    "CALL db.labels() YIELD label RETURN label",
    "CALL `db`.`labels`() YIELD label RETURN label",
    "MATCH (n) CALL (n) { MATCH (n)--(m) RETURN count(m) AS c } RETURN c",
    "OPTIONAL MATCH (n) CALL { WITH n RETURN 1 AS one } RETURN n, one",
    "CALL db.index.fulltext.queryNodes('Entity[name]', 'x') YIELD node RETURN node",
    "RETURN CASE WHEN 1 IN [1] THEN {set: 2}.set END AS x",
    "RETURN '\\u0041' AS a;;",
    "MATCH (n) RETURN CALL",
]

WRITES = [
    "CREATE (n)",
    "MATCH (n) SET n.x = 1",
    "MATCH (n)SET n.x=1 RETURN n",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n) DELETE n",
    "MATCH (n) REMOVE n.x",
    "MERGE (n:X {id: 1}) RETURN n",
    "WITH 1 AS x CREATE (n)",
    "MATCH (n) FOREACH (x IN [1] | SET n.x = x)",
    "MATCH (n) CALL (n) { CREATE (m) RETURN m } RETURN m",
    "RETURN 1 /* \n */ CREATE (n)",
    "RETURN 1 // comment\nCREATE (n)",
    "RETURN '\\' AS x' CREATE (n)",
    'RETURN "a" CREATE (n)',
    "RETURN `a``b` CREATE (n)",
    "RETURN 1.SET n.x = 1",
    "CREATE INDEX x FOR (n:L) ON (n.a)",
    "CREATE CONSTRAINT x FOR (n:L) REQUIRE n.a IS UNIQUE",
    "DROP INDEX x",
    "DROP CONSTRAINT x IF EXISTS",
    "SHOW INDEXES",
    "SHOW USERS",
    "ALTER USER neo4j SET PASSWORD 'x'",
    "GRANT ROLE x TO y",
    "TERMINATE TRANSACTIONS 'x'",
    "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
    "WITH 1 AS x LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
    "USING PERIODIC COMMIT LOAD CSV FROM 'x' AS row RETURN row",
    "USE system MATCH (n) RETURN n",
    "CALL { USE system MATCH (n) RETURN n } RETURN n",
    "EXPLAIN MATCH (n) RETURN n",
    "PROFILE MATCH (n) RETURN n",
    "CYPHER 5 MATCH (n) RETURN n",
    "RETURN 1; RETURN 2",
    "RETURN 1; CREATE (n)",
    "MATCH (n) CALL (n) { RETURN 1 AS one } IN TRANSACTIONS RETURN one",
    "UNWIND [1] AS x CALL { RETURN 1 AS one } IN 3 CONCURRENT TRANSACTIONS RETURN one",
    "CALL dbms.components()",
    "CALL db.clearQueryCaches()",
    "CALL apoc.cypher.doIt('CREATE (n)', {})",
    "MATCH (n) CALL merge.relationship(n, 'X', {}, {}, n) YIELD rel RETURN rel",
    "CALL /* db.labels */ dbms.killQuery('x')",
    "OPTIONAL CALL dbms.listConfig() YIELD name RETURN name",
    # Neo4j decodes these before it reads on: the quote closes the string, the letters are a clause.
    "RETURN '\\u0027 CREATE (n) //'",
    "RETURN 1 \\u0043REATE (n)",
    "RETURN 1 AS x /\\u002a CREATE \\u002a/ \\u0043REATE (n)",
]


@pytest.mark.parametrize("text", READS)
def test_reads_pass(text: str) -> None:
    check_read_only(text)


@pytest.mark.parametrize("text", WRITES)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ReadOnlyError):
        check_read_only(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" ; // nothing\n", "empty"),
        ("RETURN 'open", "string that begins with '"),
        ("MATCH (n:`open) RETURN n", "name that begins with `"),
        ("RETURN 1 /* open", r"comment that begins with /\*"),
    ],
)
def test_what_is_not_closed_or_empty_is_no_query(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        check_read_only(text)


def test_refusals_say_what_is_refused() -> None:
    with pytest.raises(ReadOnlyError, match=r"begins with CALL, MATCH, .* not 'SHOW'"):
        check_read_only("SHOW INDEXES")
    with pytest.raises(ReadOnlyError, match=r"procedure dbms\.components is refused.*db\.labels"):
        check_read_only("CALL dbms.components()")
    with pytest.raises(ReadOnlyError, match="one statement"):
        check_read_only("RETURN 1; RETURN 2")


def test_tokens_keep_strings_names_and_comments_apart() -> None:
    found = tokens("RETURN 'a;b' AS `c d`, n.é1 /* x */ // y")
    assert [(token.kind, token.text) for token in found] == [
        ("word", "RETURN"),
        ("text", "'a;b'"),
        ("word", "AS"),
        ("name", "`c d`"),
        ("sign", ","),
        ("word", "n"),
        ("sign", "."),
        ("word", "é1"),
    ]
