"""Identity of values and statements, and the columns: nothing told is lost or mixed up."""

import dataclasses
import hashlib
import math
import threading
import types
import unicodedata

import numpy as np
import pytest

from chronofy_kg.facts import Assertion, FactTable, StringPool, TableBuilder, ValueKind
from chronofy_kg.facts.model import assertion_id, fact_id, nfc
from chronofy_kg.facts.time import OPEN_US

NFC, NFD = "Zoë", unicodedata.normalize("NFD", "Zoë")


def told(value=None, *, subject="s", predicate="p", start=0, end=OPEN_US, seen=None, **more):
    return Assertion(
        subject=subject,
        predicate=predicate,
        value=value,
        valid_from=start,
        valid_to=end,
        observed_at=start if seen is None else seen,
        **more,
    )


def table_of(*rows, pool=None, tenant="default"):
    builder = TableBuilder(tenant, pool)
    builder.extend(rows)
    return builder.build()


def same_statement(one, other):
    """Whether two rows state the same value, by the columns and by the identity text alike."""
    table = table_of(one, other)
    by_columns = all(column[0] == column[1] for column in table.value_columns())
    assert by_columns == (table.statement(0) == table.statement(1))
    assert by_columns == (fact_id(table.statement(0), 7) == fact_id(table.statement(1), 7))
    return by_columns


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (told(52), told(52.0)),
        (told(-0.0), told(0.0)),
        (told(0), told(-0.0)),
        (told(2**53), told(float(2**53))),
        (told(NFC), told(NFD)),
        (told(object=NFC), told(object=NFD)),
        (told(5.0, unit="\u212b"), told(5.0, unit="\u00c5")),
        (told("a", lang="nl"), told("a", lang="nl", source="x", content="y", type="z", quality=0.5)),
        (told(1.0, start=0), told(1.0, start=5, end=9)),
    ],
)
def test_one_value(one, other):
    assert same_statement(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (told(52), told("52")),
        (told(52.0), told("52.0")),
        (told(1), told(True)),
        (told(0.0), told(False)),
        (told("true"), told(True)),
        (told("x"), told(object="x")),
        (told(52.0), told(52.00000000000001)),
        (told(5.0, unit="mg"), told(5.0, unit="g")),
        (told(5.0), told(5.0, unit="mg")),
        (told("a", datatype="xsd:string"), told("a", datatype="xsd:token")),
        (told("a", lang="nl"), told("a", lang="en")),
        (told("a", lang="nl"), told("a", unit="nl")),
        (told("ﬁ"), told("fi")),  # NFC, not NFKC
        (told("A"), told("a")),
    ],
)
def test_two_values(one, other):
    assert not same_statement(one, other)


def test_statements_with_the_separator_inside_do_not_meet():
    for sign in ("\x1f", "\x1e", "\x1e0", "\x1e1", "\x1f\x1f"):
        one = told(1, subject=f"a{sign}b", predicate="c")
        other = told(1, subject="a", predicate=f"b{sign}c")
        table = table_of(
            one, other, told(1, subject=f"a{sign}", predicate="c"), told(1, subject="a", predicate=f"{sign}c")
        )
        assert len({fact_id(table.statement(row), 0) for row in range(4)}) == 4
        assert len({table.id_of(row) for row in range(4)}) == 4
    assert fact_id(("a\x1e1b",), 0) != fact_id(("a\x1fb",), 0)


def test_ids_have_a_stable_form():
    # Ids are stored and cited: a change of their recipe orphans every store.
    table = table_of(told(52.0, unit="mL/min", source="lab:3"))
    statement = ("default", "s", "p", "n52.0", "mL/min", "", "")
    assert table.statement(0) == statement
    fact = hashlib.blake2b("\x1f".join([*statement, "0"]).encode(), digest_size=16).hexdigest()
    assert fact_id(statement, 0) == f"f_{fact}" == "f_95fe9f6ceaa011cf6bbd096e1d86d021"
    rest = ("p", "lab:3", "", "", "0", str(OPEN_US), "0", "nan")
    assertion = hashlib.blake2b("\x1f".join([*statement[1:], *rest]).encode(), digest_size=16).hexdigest()
    assert table.id_of(0) == f"a_{assertion}"


def test_fact_id_depends_on_the_start_only_of_the_times():
    table = table_of(told(1, start=0, end=9), told(1, start=0, end=10, seen=5))
    assert fact_id(table.statement(0), 0) == fact_id(table.statement(1), 0)
    assert fact_id(table.statement(0), 0) != fact_id(table.statement(0), 1)


def test_the_tenant_is_part_of_the_id_of_a_fact_and_decides_no_tie():
    mine, theirs = table_of(told(1), tenant="a"), table_of(told(1), tenant="b")
    assert fact_id(mine.statement(0), 0) != fact_id(theirs.statement(0), 0)
    assert mine.id_of(0) == theirs.id_of(0)


@pytest.mark.parametrize(
    "change",
    [
        {"value": 2},
        {"unit": "mg"},
        {"datatype": "d"},
        {"lang": "nl"},
        {"type": "t"},
        {"content": "c"},
        {"meta": {"k": 1}},
        {"valid_from": 1},
        {"valid_to": 9},
        {"observed_at": 1},
        {"source": "x"},
        {"quality": 0.5},
        {"subject": "s2"},
        {"predicate": "p2"},
    ],
)
def test_everything_told_is_in_the_assertion_id(change):
    row = told(1)
    table = table_of(row, dataclasses.replace(row, **change), row)
    assert table.id_of(0) != table.id_of(1)
    assert table.id_of(0) == table.id_of(2)


def test_what_is_left_out_of_the_assertion_id():
    builder = TableBuilder()
    builder.add(told(1), recorded_at=1, retired_at=2)
    builder.add(told(1.0, type="p", meta={}))  # the type defaults to the predicate
    builder.add(told(1))
    table = builder.build()
    assert len({table.id_of(row) for row in range(3)}) == 1
    composed = table_of(
        told(NFC, subject=NFC, source=NFC, content=NFC), told(NFD, subject=NFD, source=NFD, content=NFD)
    )
    assert composed.id_of(0) == composed.id_of(1)
    assert (composed.pool[composed.subject[0]], composed.pool[composed.subject[1]]) == (NFC, NFD)


def test_ids_of_columns_equal_ids_of_rows(monkeypatch):
    # The columns are hashed in chunks; here against the rows one by one.
    monkeypatch.setattr("chronofy_kg.facts.table._CHUNK", 3)
    rows = [
        told(v, unit=u, quality=q)
        for v in (1, 1.5, True, "", "52", NFD)
        for u in (None, "mg")
        for q in (None, 0.5)
    ]
    rows += [told(object="o", meta={"b": 1, "a": [NFC]}, content="c", source="s", lang="nl", datatype="d")]
    table = table_of(*rows)
    for row in range(len(table)):
        texts = [
            nfc(table.pool.get(getattr(table, name)[row]) or "")
            for name in ("type", "source", "content", "meta")
        ]
        times = [str(int(getattr(table, name)[row])) for name in ("valid_from", "valid_to", "observed_at")]
        rest = (*texts, *times, repr(float(table.quality[row])))
        assert table.ids[row].tobytes() == assertion_id(table.statement(row)[1:], rest)


@pytest.mark.parametrize(
    "value",
    [
        0.1,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        1 / 3,
        2**53,
        -(2**53),
        0,
        True,
        False,
        "",
        "52",
        "true",
        NFD,
        "\x00",
    ],
)
def test_a_value_comes_back_as_it_was_told(value):
    back = table_of(told(value)).assertion(0).value
    assert type(back) is type(value)
    assert back == value
    if isinstance(value, float):
        assert math.copysign(1, back) == math.copysign(1, value)


def test_doubles_are_kept_bit_for_bit():
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**63, 500, dtype=np.int64).view(np.float64)
    numbers = bits[np.isfinite(bits)]
    table = table_of(*(told(float(number)) for number in numbers))
    assert (table.number.view(np.int64) == numbers.view(np.int64)).all()


def test_an_assertion_comes_back_whole():
    row = told(
        3.2,
        unit="mg",
        datatype="xsd:decimal",
        lang="nl",
        type="dose",
        content="a dose",
        source="lab:3",
        quality=0.97,
        meta={"a": {"2023": "97709"}, "b": [1, {"c": None}], "ü": "\x00"},
        start=5,
        end=9,
        seen=7,
    )
    assert table_of(row).assertion(0) == row
    related = told(object="drug:1")
    assert table_of(related).assertion(0) == dataclasses.replace(related, type="p")


def test_a_read_only_meta_is_taken():
    assert table_of(told(1, meta=types.MappingProxyType({"k": 1}))).meta_of(0) == {"k": 1}


def test_quality_that_nobody_stated_is_nan():
    table = table_of(told(1), told(1, quality=1.0))
    assert np.isnan(table.quality[0])
    assert table.assertion(0).quality is None
    assert table.assertion(1).quality == 1.0


def test_an_assertion_states_something():
    with pytest.raises(ValueError, match="states an object or a value"):
        table_of(told(None))


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (told(52.0, unit="mL/min"), "s p 52 mL/min"),
        (told(3.25), "s p 3.25"),
        (told(True), "s p true"),
        (told("open"), "s p open"),
        (told(object="o"), "s p o"),
        (told(1e300), "s p 1e+300"),
        (told(-0.0), "s p 0"),
        (told(7, content="seven"), "seven"),
    ],
)
def test_content(row, text):
    assert table_of(row).content_of(0) == text


def test_columns_have_their_types():
    table = table_of(told(1), told(object="o"), told("t"), told(False), told(2.5))
    assert table.kind.tolist() == [
        ValueKind.INTEGER,
        ValueKind.OBJECT,
        ValueKind.TEXT,
        ValueKind.BOOLEAN,
        ValueKind.NUMBER,
    ]
    assert np.isnan(table.number).tolist() == [False, True, True, False, False]
    for name, column in table.columns().items():
        assert len(column) == 5, name
        assert column.flags.c_contiguous, name
    assert {table.subject.dtype, table.meta.dtype} == {np.dtype(np.int32)}
    assert {table.valid_from.dtype, table.retired_at.dtype} == {np.dtype(np.int64)}
    assert (table.kind.dtype, table.quality.dtype, table.ids.shape) == (np.uint8, np.float64, (5, 16))


def test_a_table_without_rows():
    table = FactTable.empty()
    assert len(table) == 0
    assert table.ids.shape == (0, 16)
    assert len(table.append(table_of(told(1)))) == 1
    assert len(table_of(told(1)).append(table)) == 1


def test_a_builder_goes_on_after_build():
    builder = TableBuilder()
    builder.add(told(1))
    first = builder.build()
    builder.add(told(2))
    second = builder.build()
    assert (len(first), len(second), len(builder)) == (1, 2, 2)
    assert [second.value(row) for row in range(2)] == [1, 2]
    assert first.value(0) == 1


def test_take_by_index_and_mask():
    table = table_of(*(told(i, subject=f"s{i}") for i in range(4)))
    assert [table.take(np.array([3, 1, 1])).value(row) for row in range(3)] == [3, 1, 1]
    masked = table.take(table.number > 1)
    assert [masked.value(row) for row in range(len(masked))] == [2, 3]
    assert masked.pool is table.pool
    assert masked.id_of(0) == table.id_of(2)


def test_append_over_two_pools_keeps_every_string():
    one = table_of(told(object="o1", source="a"), told("text"))
    other = table_of(
        told(object="o2", subject="z", unit="mg", lang="nl", meta={"k": "v"}, content="c", type="t"),
        told(NFD, subject="text", source="b"),
        tenant="other",
    )
    expected = [table.assertion(row) for table in (one, other) for row in range(2)]
    ids = [table.id_of(row) for table in (one, other) for row in range(2)]
    both = one.append(other)
    assert [both.assertion(row) for row in range(4)] == expected
    assert [both.id_of(row) for row in range(4)] == ids
    assert both.pool is one.pool
    assert [both.pool[code] for code in both.tenant] == ["default", "default", "other", "other"]
    assert [other.assertion(row) for row in range(2)] == expected[2:]
    again = one.append(table_of(told(5), pool=one.pool))
    assert again.value(2) == 5


def test_string_pool():
    pool = StringPool(["a", NFD, "a"])
    assert pool.strings == ["a", NFD, NFC]
    assert pool.add(None) == -1
    assert pool.get(-1) is None
    assert pool.find(NFD) == pool.find(NFC) == 2
    assert pool.find("b") == pool.find(None) == -1
    assert pool.canonical(np.array([0, 1, 2, -1], dtype=np.int32)).tolist() == [0, 2, 2, -1]
    assert StringPool().canonical(np.array([-1, -1], dtype=np.int32)).tolist() == [-1, -1]
    assert len(pool) == 3


@pytest.mark.parametrize("name", ["unit", "datatype", "lang", "source"])
def test_an_empty_qualifier_is_an_absent_one(name):
    builder = TableBuilder()
    for given in ("", None):
        builder.add(dataclasses.replace(told("a"), **{name: given}))
    table = builder.build()
    assert table.ids[0].tolist() == table.ids[1].tolist()
    assert getattr(table, name).tolist() == [-1, -1]


def test_a_pool_may_be_read_while_it_grows() -> None:
    """An array that is being read cannot grow: a load beside queries failed, and left the pool torn."""
    pool = StringPool(f"s{n}" for n in range(50_000))
    codes, stop = np.arange(50_000, dtype=np.int32), threading.Event()
    errors: list[Exception] = []

    def read() -> None:
        while not stop.is_set():
            try:
                assert (pool.canonical(codes) == codes).all()
            except Exception as error:
                errors.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        added = [pool.add(f"t{n}") for n in range(20_000)]
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert errors == []
    assert added == list(range(50_000, 70_000))
    assert len(pool) == 70_000
