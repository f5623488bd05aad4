"""Writers and readers together: what is written comes back bit for bit, in every form."""

import csv as csv_module
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chronofy_kg.facts import Assertion, TableBuilder
from chronofy_kg.facts.model import nfc
from chronofy_kg.facts.readers import ReadOptions, read_table
from chronofy_kg.facts.time import OPEN_US
from chronofy_kg.facts.writers import write_file

FIRST, LAST = -62_135_596_800_000_000, OPEN_US - 86_400_000_000
DAY = 86_400_000_000

# NFD, direction marks, quotes, separators, astral planes, no NUL (refused at the door) and no surrogates.
texts = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from("é\u0301\u00e9'\"\\,;\t\n\r\u2028<>{}|^`%#: _"),
    ),
    max_size=8,
)
words = texts.filter(str.strip)
names = st.one_of(
    words,
    st.sampled_from(
        ["patient:17", "http://e/ü?x=1#y", "urn:chronofy-kg:name:a", "urn:chronofy-kg:validFrom", "US",
         "http://www.w3.org/1999/02/22-rdf-syntax-ns#subject", "a:b%zz", "http://[", "Zoe\u0308", "-",
         "_:b1", "a:%41"]
    ),
)  # fmt: skip
doubles = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(
    doubles,
    st.sampled_from([-0.0, 0.0, 5e-324, 0.1 + 0.2, 1e16, 1e22]),
    st.integers(-(2**53), 2**53),
    st.sampled_from([2**62, -(2**70)]),
    st.booleans(),
    texts,
    st.sampled_from(["52", "true", "1.0", "", "2002", "2024-05", "nan", "null"]),
)
datatypes = st.one_of(
    st.none(),
    st.sampled_from(
        ["string", "xsd:string", "xsd:gYear", "xsd:gYearMonth", "xsd:date", "xsd:integer", "xsd:decimal",
         "xsd:float", "xsd:int", "xsd:boolean", "http://e/t", "http://www.w3.org/2001/XMLSchema#date"]
    ),
    words,
)  # fmt: skip
langs = st.one_of(st.none(), st.sampled_from(["en", "nl", "en-GB", "ar--rtl", "x"]), words)
metas = st.dictionaries(
    st.text("ab.\u00e9", max_size=3),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**20), 10**20) | doubles | texts,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
        max_leaves=3,
    ),
    max_size=2,
)
instants = st.one_of(
    st.integers(FIRST, LAST - 1), st.integers(-700_000, 2_900_000).map(lambda day: day * DAY)
)


@st.composite
def rows(draw):
    start = draw(instants)
    end = draw(
        st.one_of(
            st.just(OPEN_US),
            st.integers(start + 1, LAST),
            st.sampled_from([1, DAY, 31 * DAY, 365 * DAY]).map(lambda more: min(start + more, LAST)),
        )
    )
    is_object = draw(st.booleans())
    told = Assertion(
        subject=draw(names),
        predicate=draw(names),
        object=draw(names) if is_object else None,
        value=None if is_object else draw(values),
        unit=draw(st.none() | words),
        datatype=draw(datatypes),
        lang=draw(langs),
        type=draw(st.none() | words),
        content=draw(st.none() | texts),
        meta=draw(metas),
        valid_from=start,
        valid_to=end,
        observed_at=draw(instants),
        source=draw(st.none() | names),
        quality=draw(st.none() | st.floats(0, 1, exclude_min=True)),
    )
    recorded = draw(instants)
    retired = draw(st.one_of(st.just(OPEN_US), st.integers(recorded, LAST)))
    return told, recorded, retired


def table_of(told):
    builder = TableBuilder()
    seen = set()
    for row, recorded, retired in told:
        builder.add(row, recorded_at=recorded, retired_at=retired)
    table = builder.build()
    keep = [i for i in range(len(table)) if not (table.id_of(i) in seen or seen.add(table.id_of(i)))]
    return table.take(np.asarray(keep, dtype=np.int64))


def shown(table):
    """Everything in a table, as text that is equal only for equal bits."""
    names_of = ("subject", "predicate", "object", "text", "unit", "datatype", "lang", "type", "source",
                "content", "meta")  # fmt: skip
    columns = [[table.pool.get(code) for code in getattr(table, name)] for name in names_of]
    numbers = [table.number.view(np.int64).tolist(), table.quality.view(np.int64).tolist()]
    times = ("kind", "valid_from", "valid_to", "observed_at", "recorded_at", "retired_at")
    rest = [getattr(table, name).tolist() for name in times]
    ids = [table.id_of(row) for row in range(len(table))]
    return list(zip(ids, *columns, *numbers, *rest, strict=True))


FORMS = [
    (".jsonl", None), (".jsonl.gz", None), (".parquet", None), (".ttl", "star"), (".ttl", "plain"),
    (".trig.gz", "star"), (".nq", "star"), (".nq", "plain"), (".nt", "star"), (".jsonld", None),
]  # fmt: skip


@pytest.mark.parametrize(("ending", "profile"), FORMS, ids=[f"{e}-{p}" for e, p in FORMS])
@given(told=st.lists(rows(), max_size=4))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_comes_back_bit_for_bit(tmp_path, ending, profile, told):
    table = table_of(told)
    path = tmp_path / f"out{ending}"
    write_file(table, path, profile=profile)
    result = read_table(path, ReadOptions(restore=True))
    assert [str(error) for error in result.errors] == []
    found, wanted = shown(result.table), shown(table)
    # JSON-LD is a set of nodes; the other forms keep the order.
    assert sorted(found, key=lambda row: row[0]) == sorted(wanted, key=lambda row: row[0])
    if ending != ".jsonld":
        assert found == wanted


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz"])
@given(told=st.lists(rows(), max_size=4))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_csv_comes_back_but_for_an_empty_content(tmp_path, ending, told):
    table = table_of(told)
    path = tmp_path / f"out{ending}"
    write_file(table, path)
    result = read_table(path, ReadOptions(restore=True))
    assert [str(error) for error in result.errors] == []
    # An empty content, and with it the id, is the one thing that a cell cannot say.
    wanted = [tuple(None if cell == "" and column == 10 else cell for column, cell in enumerate(row))[1:]
              for row in shown(table)]  # fmt: skip
    assert [row[1:] for row in shown(result.table)] == wanted


@given(told=st.lists(rows(), max_size=3))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_csv_is_what_the_csv_module_reads(tmp_path, told):
    table = table_of(told)
    write_file(table, tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_bytes().decode()
    records = list(csv_module.DictReader(io.StringIO(text, newline="")))
    assert [record["subject"] for record in records] == [table.pool[code] for code in table.subject]
    assert all(nfc(record["predicate"]) for record in records)
