"""Cases from reports against other products, for RDF; the number is the row of that list."""

from __future__ import annotations

import json
import socket
import tracemalloc
from itertools import islice

import pytest
from rdflib import Graph
from support.reading import PREFIXES, SINCE_2024, XSD, read, turtle, us, values

from chronofy_kg.errors import InputError
from chronofy_kg.facts import OPEN_US, Assertion, TableBuilder, format_instant
from chronofy_kg.facts.readers import Meter, ReadOptions, RowError, read_rows, read_table
from chronofy_kg.facts.time import parse_period
from chronofy_kg.facts.writers import write_file


def test_row_20_naive_and_zoned_times_have_one_order(tmp_path):
    rows = "\n".join(
        f'ex:a ex:p {n} {{| ck:validFrom "{text}"^^xsd:dateTime |}} .'
        for n, text in enumerate(["2016-01-01T00:00:00", "2016-01-01T00:00:00Z", "2016-01-01T00:00:00+01:00"])
    )
    table = turtle(tmp_path, rows).table
    assert [format_instant(t) for t in table.valid_from.tolist()] == [
        "2016-01-01T00:00:00Z",
        "2016-01-01T00:00:00Z",
        "2015-12-31T23:00:00Z",
    ]


def test_row_21_date_time_stamp_is_an_aware_time(tmp_path):
    stamp = '"2024-05-01T08:00:00+02:00"^^xsd:dateTimeStamp'
    result = turtle(tmp_path, f"ex:a ex:seen {stamp} {{| ck:validFrom {stamp} |}} .")
    assert result.errors == ()
    assert result.table.valid_from.tolist() == [us("2024-05-01T06:00:00Z")]
    assert values(result) == ["2024-05-01T08:00:00+02:00"]
    result = turtle(tmp_path, 'ex:a ex:seen 1 {| ck:validFrom "2024-05-01T08:00:00"^^xsd:dateTimeStamp |} .')
    assert "is no xsd:dateTimeStamp" in result.errors[0].message


def test_row_22_gyear_is_a_period(tmp_path):
    result = turtle(
        tmp_path,
        'ex:a ex:born "2002"^^xsd:gYear {| ck:during "2002"^^xsd:gYear |} .\n'
        'ex:a ex:moved "2002-11"^^xsd:gYearMonth {| ck:during "2002-11"^^xsd:gYearMonth |} .\n'
        'ex:a ex:had 1 {| ck:during "2002Z"^^xsd:gYear |} .\n'
        'ex:a ex:has 1 {| ck:during "2002+02:00"^^xsd:gYear |} .',
    )
    assert result.errors == ()
    shown = [tuple(map(format_instant, pair)) for pair in zip(
        result.table.valid_from.tolist(), result.table.valid_to.tolist(), strict=True)]  # fmt: skip
    assert shown == [
        ("2002-01-01T00:00:00Z", "2003-01-01T00:00:00Z"),
        ("2002-11-01T00:00:00Z", "2002-12-01T00:00:00Z"),
        ("2002-01-01T00:00:00Z", "2003-01-01T00:00:00Z"),
        ("2001-12-31T22:00:00Z", "2002-12-31T22:00:00Z"),
    ]
    assert parse_period("2002").precision == "year"
    for profile in ("star", "plain"):
        write_file(result.table, tmp_path / "out.nq", profile=profile)
        text = (tmp_path / "out.nq").read_text()
        assert f'<http://e/born> "2002"^^<{XSD}gYear> .' in text
        assert f'<urn:chronofy-kg:during> "2002"^^<{XSD}gYear> .' in text
        assert f'<urn:chronofy-kg:during> "2002-11"^^<{XSD}gYearMonth> .' in text


def test_row_23_bce_is_a_row_error_that_names_the_range(tmp_path):
    result = turtle(
        tmp_path,
        'ex:a ex:died "-0012-11-29"^^xsd:date {| ck:validFrom "2024" |} .\n'
        'ex:a ex:died 1 {| ck:validFrom "-0012-11-29"^^xsd:date |} .\n'
        'ex:a ex:died 2 {| ck:validFrom "2024"^^xsd:gYear |} .',
    )
    assert values(result) == [2]
    assert [error.line for error in result.errors] == [4, 5]
    assert all("outside the years 1 to 9999" in error.message for error in result.errors)


def test_row_24_lexical_forms_are_kept_apart(tmp_path):
    text = (
        'ex:a ex:at "2024-01-01T00:00:00Z"^^xsd:dateTime .\n'
        'ex:a ex:at "2024-01-01T00:00:00+00:00"^^xsd:dateTime .'
    )
    result = turtle(tmp_path, text, SINCE_2024)
    assert values(result) == ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00+00:00"]
    write_file(result.table, tmp_path / "out.ttl")
    again = read_table(tmp_path / "out.ttl", ReadOptions(restore=True))
    assert values(again) == values(result)


def test_row_25_a_time_typed_as_a_date_is_a_row_error(tmp_path):
    result = turtle(tmp_path, 'ex:a ex:at "2026-08-16T12:05:34Z"^^xsd:date .\nex:a ex:at "x" .', SINCE_2024)
    assert values(result) == ["x"]
    assert str(result.errors[0]) == f"{tmp_path}/a.ttl:4:1: '2026-08-16T12:05:34Z' is no xsd:date"


ANNOTATED = [
    'ex:a ex:p ex:b {| ck:validFrom "2024" ; ck:source ex:s ; ck:confidence 0.5 |} .',
    'ex:a ex:p ex:b ~ ex:r . ex:r ck:validFrom "2024" ; ck:source ex:s ; ck:confidence 0.5 .',
    '<< ex:a ex:p ex:b >> ck:validFrom "2024" ; ck:source ex:s ; ck:confidence 0.5 .',
    'ex:r rdf:reifies <<( ex:a ex:p ex:b )>> ; ck:validFrom "2024" ; ck:source ex:s ; ck:confidence 0.5 .',
    """ex:r ck:validFrom "2024" ; ck:source ex:s ; ck:confidence 0.5 .
       ex:r rdf:reifies <<( ex:a ex:p ex:b )>> .""",
    """[] a rdf:Statement ; rdf:subject ex:a ; rdf:predicate ex:p ; rdf:object ex:b ;
       ck:validFrom "2024" ; ck:source ex:s ; ck:confidence 0.5 . ex:a ex:p ex:b .""",
    """ex:a ex:p ex:b {| time:hasTime [ a time:Interval ;
       time:hasBeginning [ time:inXSDgYear "2024"^^xsd:gYear ] ] ;
       prov:wasAttributedTo ex:s ; ck:confidence 0.5 |} .""",
    """ex:a ex:p ex:b {| prov:generatedAtTime "2024-01-01T00:00:00Z"^^xsd:dateTime ;
       prov:hadPrimarySource ex:s ; ck:confidence 0.5e0 |} .""",
]


@pytest.mark.parametrize("text", ANNOTATED)
@pytest.mark.parametrize("ending", [".ttl", ".trig"])
def test_row_26_annotations_of_rdf_12_are_read(tmp_path, text, ending):
    result = read(tmp_path / f"a{ending}", PREFIXES + text)
    assert result.errors == ()
    (told,) = (result.table.assertion(row) for row in range(len(result.table)))
    assert (told.subject, told.predicate, told.object) == ("http://e/a", "http://e/p", "http://e/b")
    assert (told.valid_from, told.valid_to, told.observed_at) == (us("2024"), OPEN_US, us("2024"))
    assert (told.source, told.quality, told.meta) == ("http://e/s", 0.5, {})


def test_row_27_n_quads_stream_and_a_malformed_line_is_named(tmp_path):
    count = 40_000
    path = tmp_path / "big.nq"
    with path.open("w") as stream:
        for n in range(count):
            stream.write(f'<http://e/{n % 100}> <http://e/p> "{n}"^^<{XSD}integer> <http://e/g{n % 5}> .\n')
            if n == 30_000:
                stream.write("<http://e/1> <http://e/p> nonsense .\n")
    meter = Meter()
    rows = read_rows(path, SINCE_2024, meter=meter)
    tracemalloc.start()
    first = list(islice(rows, 1_000))
    assert meter.share() < 0.2
    good, bad = sum(isinstance(row, Assertion) for row in first), []
    for row in rows:
        if isinstance(row, RowError):
            bad.append(row)
        else:
            good += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (good, len(bad)) == (count, 1)
    assert str(bad[0]).startswith(f"{path}:30002:27: not valid RDF: ")
    assert bad[0].raw == b"<http://e/1> <http://e/p> nonsense .\n"
    assert peak < 8_000_000  # of a file of 3 MB whose statements would take five times that
    told = []
    read_table(path, SINCE_2024, on_row=lambda done, about: told.append((done, about)))
    assert len(told) == 40
    assert all(about is not None and 25_000 < about < 60_000 for _, about in told[5:])


@pytest.mark.parametrize(
    "context", ['"https://schema.org/"', '["https://schema.org/"]', '{"@import": "c.jsonld"}', '"c.jsonld"']
)
def test_row_28_a_remote_context_is_refused_and_no_socket_opened(tmp_path, monkeypatch, context):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    inside = f'{{"@graph": [{{"@id": "http://e/a", "http://e/p": {{"@context": {context}}}}}]}}'
    for text in (f'{{"@context": {context}, "@id": "http://e/a"}}', inside):
        with pytest.raises(InputError, match="is elsewhere and is not fetched"):
            read(tmp_path / "a.jsonld", text)


def test_row_28_a_context_in_the_file_is_used(tmp_path):
    text = json.dumps(
        {
            "@context": {"p": "http://e/p", "ck": "urn:chronofy-kg:"},
            "@graph": [{"@id": "http://e/a", "p": [1, 2.5, True, "x", {"@value": "y", "@language": "en"}]}],
        }
    )
    result = read(tmp_path / "a.jsonld", text, SINCE_2024)
    assert values(result) == [1, 2.5, True, "x", "y"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
def test_the_plain_profile_is_read_by_a_tool_of_rdf_11(tmp_path):
    """An independent reader finds the statement, its period, source and confidence."""
    builder = TableBuilder()
    told = Assertion(
        subject="http://e/a",
        predicate="http://e/p",
        value=0.1,
        valid_from=us("2024-05-01T08:00:00Z"),
        valid_to=OPEN_US,
        observed_at=us("2024-05-02"),
        source="lab 3",
        quality=0.9,
    )
    builder.add(told, recorded_at=us("2024-06"))
    table = builder.build()
    query = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX ck: <urn:chronofy-kg:>
        SELECT ?o ?from ?source ?q WHERE { <http://e/a> <http://e/p> ?o . ?r a rdf:Statement ;
        rdf:subject <http://e/a> ; rdf:predicate <http://e/p> ; rdf:object ?o ; ck:validFrom ?from ;
        ck:source ?source ; ck:confidence ?q }"""
    for ending, form in ((".ttl", "turtle"), (".nt", "nt"), (".jsonld", "json-ld")):
        path = tmp_path / f"out{ending}"
        write_file(table, path, profile="plain")
        graph = Graph()
        graph.parse(path, format=form)
        ((value, start, source, quality),) = graph.query(query)
        assert (value.toPython(), quality.toPython()) == (0.1, 0.9)
        assert start.toPython().isoformat() == "2024-05-01T08:00:00+00:00"
        assert str(source) == "urn:chronofy-kg:name:lab%203"
