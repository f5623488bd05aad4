"""RDF beyond the reported cases: literals, nodes without a name, graphs, and what reifiers may say."""

from __future__ import annotations

import pytest
from support.reading import PREFIXES, SINCE_2024, read, turtle, us, values

from chronofy_kg.errors import FactFormatError
from chronofy_kg.facts import OPEN_US, format_instant
from chronofy_kg.facts.rdfterms import (
    XSD,
    iri_as_name,
    name_as_iri,
    period_text,
    time_text,
    value_of_literal,
    whole_period,
)
from chronofy_kg.facts.readers import ReadOptions, read_table
from chronofy_kg.facts.writers import write_file


@pytest.mark.parametrize(
    ("literal", "value", "datatype", "lang"),
    [
        ("5", 5, None, None),
        ('"+05"^^xsd:integer', 5, None, None),
        ('"5"^^xsd:int', 5, "xsd:int", None),
        ("5.50", 5.5, None, None),
        ("5e0", 5.0, None, None),
        ('"1.5"^^xsd:float', 1.5, "xsd:float", None),
        ("true", True, None, None),
        ('"0"^^xsd:boolean', False, None, None),
        ('"x"', "x", None, None),
        ('"x"^^xsd:string', "x", None, None),
        ('"x"@en', "x", None, "en"),
        ('"x"@ar--rtl', "x", None, "ar--rtl"),
        ('"52"', "52", None, None),
        ('"2024-05-01T08:00:00.5+02:00"^^xsd:dateTime', "2024-05-01T08:00:00.5+02:00", "xsd:dateTime", None),
        ('"2024-05-01"^^xsd:date', "2024-05-01", "xsd:date", None),
        ('"2024-05"^^xsd:gYearMonth', "2024-05", "xsd:gYearMonth", None),
        ('"P1D"^^xsd:duration', "P1D", "xsd:duration", None),
        ('"x"^^ex:t', "x", "http://e/t", None),
    ],
)
def test_literals(tmp_path, literal, value, datatype, lang):
    result = turtle(tmp_path, f"ex:a ex:p {literal} .", SINCE_2024)
    assert result.errors == ()
    told = result.table.assertion(0)
    assert (told.value, told.datatype, told.lang) == (value, datatype, lang)
    assert type(told.value) is type(value)
    write_file(result.table, tmp_path / "out.ttl")
    again = read_table(tmp_path / "out.ttl", ReadOptions(restore=True)).table.assertion(0)
    assert again == told


@pytest.mark.parametrize(
    ("literal", "part"),
    [
        ('"x"^^xsd:integer', "'x' is no xsd:integer"),
        ('"1.5"^^xsd:integer', "is no xsd:integer"),
        ('"yes"^^xsd:boolean', "is no xsd:boolean"),
        ('"1e5"^^xsd:decimal', "is no xsd:decimal"),
        ('"0.12345678901234567890"^^xsd:decimal', "more digits than a number here holds"),
        ('"NaN"^^xsd:double', "value is nan"),
        ('"-INF"^^xsd:double', "value is -inf"),
        ('"2024-02-30"^^xsd:date', "there is no such day"),
        ('"24"^^xsd:gYear', "is no xsd:gYear"),
        ('"12024"^^xsd:gYear', "is "),
    ],
)
def test_literals_that_are_refused(tmp_path, literal, part):
    result = turtle(tmp_path, f'ex:a ex:p {literal} . ex:a ex:p "good" .', SINCE_2024)
    assert values(result) == ["good"]
    assert part in result.errors[0].message


NODES = """ex:a ex:knows [ ex:name "x" ], _:b . _:b ex:name "y" .
[] ex:p 1 {| ck:validFrom "2025" |} .
[] rdf:reifies <<( _:b ex:q [] )>> ; ck:validFrom "2026" .
"""


def test_nodes_without_a_name_are_named_after_the_file_and_the_same_each_time(tmp_path):
    first = turtle(tmp_path, NODES, SINCE_2024)
    again = read_table(tmp_path / "a.ttl", SINCE_2024)
    assert first.errors == ()
    told = [first.table.assertion(row) for row in range(len(first.table))]
    assert told == [again.table.assertion(row) for row in range(len(again.table))]
    names = [name for one in told for name in (one.subject, one.object) if name and name.startswith("_:")]
    # 4 and 5 are reifiers.
    assert sorted(names) == [f"_:a.ttl.{n}" for n in (1, 1, 2, 2, 2, 3, 6)]
    assert len(told) == 6
    other = read(tmp_path / "b.ttl", PREFIXES + NODES, SINCE_2024)
    assert other.table.assertion(0).object == "_:b.ttl.1"


def test_a_statement_with_two_reifiers_is_told_twice_and_not_once_more(tmp_path):
    text = """ex:a ex:p 1 {| ck:validFrom "2024" ; ck:source ex:s |}
        {| ck:validFrom "2024" ; ck:source ex:t |} .
    ex:a ex:p 2 {| ck:validFrom "2025" |} ."""
    result = turtle(tmp_path, text)
    told = [result.table.assertion(row) for row in range(3)]
    assert [(one.value, one.source) for one in told] == [(1, "http://e/s"), (1, "http://e/t"), (2, None)]
    assert result.errors == ()


def test_a_named_graph_is_the_source_where_nothing_else_is(tmp_path):
    text = """GRAPH ex:g { ex:a ex:p 1 . ex:a ex:p 2 {| ck:source "lab" |} . ex:a ex:p 3 {| ex:x 1 |} }
        ex:a ex:p 4 ."""
    result = read(tmp_path / "a.trig", PREFIXES + text, SINCE_2024)
    told = [result.table.assertion(row) for row in range(4)]
    assert {one.value: one.source for one in told} == {1: "http://e/g", 2: "lab", 3: "http://e/g", 4: None}


def test_other_terms_go_to_meta(tmp_path):
    text = (
        """ex:a ex:p 1 {| ck:validFrom "2024" ; ex:n 5, 6 ; ex:by ex:bob ; ck:meta '{"k": [1, null]}' |} ."""
    )
    meta = turtle(tmp_path, text).table.meta_of(0)
    assert meta == {"http://e/n": [5, 6], "http://e/by": "http://e/bob", "k": [1, None]}


def test_ours_comes_before_what_others_say(tmp_path):
    text = """ex:a ex:p 1 {| ck:validFrom "2024" ; time:hasBeginning [ time:inXSDgYear "2020"^^xsd:gYear ] ;
        ck:source ex:s ; prov:wasAttributedTo ex:t |} ."""
    told = turtle(tmp_path, text).table.assertion(0)
    assert (told.valid_from, told.valid_to, told.source) == (us("2024"), OPEN_US, "http://e/s")


def test_time_nodes_of_the_data_are_statements(tmp_path):
    text = 'ex:visit time:hasBeginning ex:i . ex:i time:inXSDDate "2024-05-01"^^xsd:date .'
    result = turtle(tmp_path, text, SINCE_2024)
    assert result.errors == ()
    assert [result.table.assertion(row).subject for row in range(2)] == ["http://e/visit", "http://e/i"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            'ex:r a rdf:Statement ; rdf:subject ex:a ; rdf:object 1 ; ck:validFrom "2024" .',
            "rdf:Statement needs",
        ),
        ('ex:a ex:p 1 {| ck:validFrom "2024" ; ck:validFrom "2025" |} .', "gives two valid_from"),
        ('ex:a ex:p 1 {| ck:validFrom "2025" ; ck:validTo "2024" |} .', "valid_to is not after valid_from"),
        ('ex:a ex:p 1 {| ck:validFrom "2025" ; ck:during "2024" |} .', "gives both during and valid_from"),
        ('ex:a ex:p 1 {| ck:validFrom "2025" ; ck:confidence 2 |} .', "quality is 2"),
        ('ex:a ex:p 1 {| ck:validFrom "2025" ; ck:confidence "high" |} .', "quality must be a number"),
        ("ex:a ex:p 1 {| ck:validFrom ex:then |} .", "has no time:inXSD"),
        ('ex:a ex:p 1 {| ck:validFrom "2025" ; ck:meta "{" |} .', "meta: not valid JSON"),
        (
            'ex:a ex:p 1 {| ck:validFrom "2025" ; ck:recordedAt "2025" |} .',
            "recorded_at is given by the store",
        ),
        ("ex:a ex:p <<( ex:a ex:p 1 )>> .", "a triple term stands where a name must be"),
        ("ex:a ex:p 1 .", "annotate the statement, or give a constant"),
        ('ex:a ex:p "" {| ck:validFrom "" |} .', "an empty time"),
    ],
)
def test_rows_that_are_refused_do_not_stop_the_others(tmp_path, text, part):
    result = turtle(tmp_path, f'{text}\nex:b ex:p "good" {{| ck:validFrom "2024" |}} .')
    assert values(result) == ["good"]
    assert [part in error.message for error in result.errors] == [True]
    assert result.errors[0].line == 4


def test_syntax_errors_of_turtle_end_the_file_and_say_so(tmp_path):
    result = turtle(tmp_path, "ex:a ex:p 1 .\nex:a ex:p .\nex:a ex:p 2 .\n", SINCE_2024)
    assert values(result) == [1]
    assert str(result.errors[0]).startswith(f"{tmp_path}/a.ttl:5:11: not valid RDF: ")
    assert result.errors[0].message.endswith("what follows was not read")
    result = read(tmp_path / "b.ttl", "<#a> <#b> 1 .", SINCE_2024)
    assert "declare a @base" in result.errors[0].message


def test_line_forms_go_on_after_an_error_and_skip_what_states_nothing(tmp_path):
    text = '\ufeff# a comment\n\nVERSION "1.2"\n<http://a> <http://b> "x .\n<http://a> <http://b> _:n .\n<http://a'
    result = read(tmp_path / "a.nt", text.encode(), SINCE_2024)
    assert [error.line for error in result.errors] == [4, 6]
    assert result.table.assertion(0).object == "_:a.nt.n"


def test_names_and_iris():
    for name in (
        "patient:17",
        "http://e/ü",
        "US",
        "a b",
        "urn:chronofy-kg:x",
        "100%",
        "_:b",
        "ß\u0301",
        "a:%zz",
    ):
        assert iri_as_name(name_as_iri(name)) == name
    assert iri_as_name("urn:chronofy-kg:name:%FF") == "urn:chronofy-kg:name:%FF"


def test_periods_of_literals():
    for text, kind in (("2002", "gYear"), ("2002-11", "gYearMonth"), ("2002-11-30", "date")):
        assert period_text(text, XSD + kind) == text
    assert period_text("2002-11Z", XSD + "gYearMonth") == "2002-11-01T00:00:00Z/2002-12-01T00:00:00Z"
    assert time_text("2002-11-30-05:00", XSD + "date") == "2002-11-30T00:00:00-05:00"
    assert format_instant(us(time_text("2002-11-30-05:00", XSD + "date"))) == "2002-11-30T05:00:00Z"
    assert whole_period(us("2024-02"), us("2024-03")) == ("2024-02", XSD + "gYearMonth")
    assert whole_period(us("2024-02"), us("2024-04")) is None
    assert whole_period(us("2024-02"), OPEN_US) is None
    with pytest.raises(FactFormatError):
        value_of_literal("x", XSD + "date", None)
