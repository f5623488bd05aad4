"""CSV and TSV: what a cell means, and where a record is wrong."""

import pytest

from chronofy_kg.errors import FileEncodingError, InputError
from chronofy_kg.facts import Assertion
from chronofy_kg.facts.readers import RowError, read_csv
from chronofy_kg.facts.time import OPEN_US

HEADER = "subject,predicate,value,valid_from\n"


def csv(text, **options):
    raw = text if isinstance(text, bytes) else text.encode()
    return list(read_csv(raw.splitlines(keepends=True), "f.csv", **options))


def place(error):
    assert isinstance(error, RowError), error
    return (error.line, error.place_line or error.line, error.column)


def test_csv_types_and_absence():
    rows = csv(
        "subject,predicate,object,value,unit,datatype,type,content,valid_from,valid_to,observed_at,source,quality,meta.a,meta.b\n"
        "s,p,,52,mL/min,,t,c,2024,2025,2024-02,lab,0.5,x,\n"
        "s,p,o,,,,,,2024,9999-12-31,,,1,,\n"
        "s,p,,52,,string,,,2024,,,,,,\n"
    )
    first, second, third = rows
    assert (first.value, first.unit, first.type, first.content, first.source) == (
        52,
        "mL/min",
        "t",
        "c",
        "lab",
    )
    assert (first.quality, first.meta) == (0.5, {"a": "x"})
    assert (second.object, second.value, second.valid_to, second.quality) == ("o", None, OPEN_US, 1.0)
    assert second.meta == {}
    assert (third.value, third.datatype) == ("52", "string")


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("0", 0),
        ("1.0", 1.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-2.5E-3", -0.0025),
        ("-0", 0),
        ("-0.0", -0.0),
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("007", "007"),
        ("1 000", "1 000"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("٣", "٣"),
        ("1e", "1e"),
        ("-", "-"),
        ("null", "null"),
        (" 1", " 1"),
        ("2024-01-01", "2024-01-01"),
        ("infinite", "infinite"),
    ],
)
def test_csv_value_cells(cell, value):
    (row,) = csv(f'{HEADER}s,p,"{cell}",2024\n')
    assert row.value == value
    assert type(row.value) is type(value)


@pytest.mark.parametrize(
    "cell", ["nan", "NaN", "inf", "-Infinity", "+inf", "1e999", "9" * 500, "9" * 5_000, "9007199254740993"]
)
def test_csv_numbers_that_are_refused(cell):
    error, good = csv(f"{HEADER}s,p,{cell},2024\ns,p,1,2024\n")
    assert place(error) == (2, 2, 5)
    assert "value" in error.message
    assert good.value == 1


BAD_RECORDS = [
    ("s,p,1,27.08", (1, 7), "valid_from: '27.08' is a bare number"),
    (",p,1,2024", (1, 1), "subject is missing"),
    ("s,,1,2024", (1, 3), "predicate is missing"),
    ("s,p,,2024", (1, 5), "neither object nor value"),
    ("s,p,nan,2024", (1, 5), "value is nan"),
    ("s,p,1", (1, 1), "has 3 cells, the header has 4"),
    ("s,p,1,2024,", (1, 1), "has 5 cells, the header has 4"),
    ("   ", (1, 1), "has 1 cells, the header has 4"),
    (",,,", (1, 1), "subject is missing"),
    ('"s,x",p,1,bad', (1, 11), "is no time"),
    ('"a ""b"", c",p,1,bad', (1, 18), "is no time"),
    ('5" disk,p,1,bad', (1, 13), "is no time"),
    ("Zoë 😀,p,1,bad", (1, 11), "is no time"),
    ('"s\nt",p,1,bad', (2, 8), "is no time"),
    ('s,"p\n\n",nan,2024', (3, 3), "value is nan"),
    ('s,p,"x\ny",bad', (2, 4), "is no time"),
    ('s,p,"1,2024', (1, 5), "this quote is never closed"),
    ('s,p,"1"2,2024', (1, 8), "text follows a closing quote"),
    ('s,p,"1" ,2024', (1, 8), "text follows a closing quote"),
    ("s,p,a\rb,2024", (1, 1), "not valid CSV: new-line character seen in unquoted field"),
    ("s,p,a\x00b,2024", (1, 5), "NUL"),
]


@pytest.mark.parametrize(("bad", "at", "part"), BAD_RECORDS, ids=[repr(bad) for bad, _, _ in BAD_RECORDS])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_errors_have_file_line_and_column(bad, at, part, end, delimiter):
    text = f"{HEADER}s,p,7,2024\n\n{bad}\ns,p,8,2024\n"
    raw = text.replace("\n", end).replace(",", delimiter).encode()
    lines = [line + b"\n" for line in raw.split(b"\n")[:-1]]
    before, error, after = read_csv(lines, "f.csv")
    assert (before.value, after.value) == (7, 8)
    assert part.replace("closing quote", "closing quote") in error.message
    down, column = at
    assert place(error) == (4, 3 + down, column)
    assert error.raw == f"{bad}\n".replace("\n", end).replace(",", delimiter).encode()
    assert str(error) == f"f.csv:{3 + down}:{column}: {error.message}"


def test_csv_a_stray_quote_swallows_no_row():
    rows = csv(f'{HEADER}s,p,1,2024\ns,p,"2,2024\ns,p,3,2024\n"s",p,4,2024\ns,p,5,2024\n')
    assert [row.value for row in rows if isinstance(row, Assertion)] == [1, 3, 4, 5]
    (error,) = (row for row in rows if isinstance(row, RowError))
    assert place(error) == (3, 3, 5)
    assert error.raw == b's,p,"2,2024\n'


def test_csv_an_unclosed_quote_in_the_last_line():
    good, error = csv(f'{HEADER}s,p,1,2024\ns,p,"2,2024')
    assert good.value == 1
    assert (place(error), error.raw) == ((3, 3, 5), b's,p,"2,2024')


def test_csv_the_byte_offset_is_right_after_a_stray_quote():
    raw = f'{HEADER}s,p,"2,2024\ns,p,3,2024\n"s",p,4,2024\n'.encode()
    with pytest.raises(FileEncodingError, match=rf"not utf-8 at byte {len(raw) + 1} \(line 5\)"):
        csv(raw + b"s\xe9,p,1,2024\n")


def test_csv_long_cells():
    text = "x" * 1_000_000
    (row,) = csv(f"{HEADER}s,p,{text},2024\n")
    assert row.value == text
    error, good = csv(f"{HEADER}s,p,{text}x,2024\ns,p,1,2024\n")
    assert "longer than 1,000,000" in error.message
    assert place(error) == (2, 2, 5)
    error, good = csv(f"{HEADER}s,p,{text}xx,2024\ns,p,1,2024\n")
    assert "field limit" in error.message
    assert good.value == 1


def test_csv_quoted_cells_over_lines():
    (row, other) = csv('subject,predicate,value,valid_from,content\ns,p,1,2024,"a\r\nb ""c"""\ns,p,2,2024,\n')
    assert row.content == 'a\r\nb "c"'
    assert other.value == 2


def test_csv_byte_order_mark_and_quoted_header():
    # dolthub/dolt#3790
    (row,) = csv(b'\xef\xbb\xbf"subject";"predicate";"value";"valid_from"\r\n"s";"p";"1";"2024"\r\n')
    assert (row.subject, row.value) == ("s", 1)
    for encoding in ("utf-8", "utf-8-sig"):
        assert csv(b"\xef\xbb\xbf" + HEADER.encode() + b"s,p,1,2024\n", encoding=encoding)[0].value == 1


def test_csv_cp1252_names_the_byte_and_reads_where_declared():
    raw = HEADER.encode() + b"s,p,1,2024\nZo\xeb,p,2,2024\n"
    offset = raw.index(b"\xeb")
    with pytest.raises(
        FileEncodingError, match=rf"^f.csv: not utf-8 at byte {offset} \(line 3\); name its encoding"
    ):
        csv(raw)
    assert csv(raw, encoding="cp1252")[1].subject == "Zoë"
    (error,) = csv(HEADER.encode() + b"Zo\xeb,p,2,x\n", encoding="cp1252")
    assert (error.column, error.raw) == (9, b"Zo\xeb,p,2,x\n")


@pytest.mark.parametrize(
    ("encoding", "part"),
    [
        ("nonsense", "unknown encoding"),
        ("hex", "unknown encoding"),
        ("utf-8\x00", "unknown encoding"),
        ("utf-16", "cannot be read line by line"),
        ("utf-16-le", "cannot be read line by line"),
        ("utf-32", "cannot be read line by line"),
        ("cp037", "cannot be read line by line"),
    ],
)
def test_csv_encodings_that_are_refused(encoding, part):
    with pytest.raises(InputError, match=part):
        csv(HEADER, encoding=encoding)


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("", "f.csv: is empty"),
        ("\n", "f.csv:1: is blank"),
        ("\r\ns,p,1,2024\n", "f.csv:1: is blank"),
        (
            "subject,predicate,wert\n",
            "f.csv:1: unknown column 'wert'; columns are subject, predicate, object",
        ),
        ("subject,predicate,\n", "f.csv:1: unknown column ''"),
        ("subject, predicate\n", "f.csv:1: unknown column ' predicate'"),
        ("subject,subject\n", "f.csv:1: column 'subject' stands twice"),
        ("subject,meta.a,meta.a\n", "f.csv:1: column 'meta.a' stands twice"),
        ("subject,metadata\n", "f.csv:1: unknown column 'metadata'"),
        ("subject,meta.\n", "f.csv:1: unknown column 'meta.'"),
        ("subject,id\n", "f.csv:1: unknown column 'id'"),
        ('"subject,predicate\n', "f.csv:1: the header is not valid CSV"),
        ('"subject"x,predicate\n', "f.csv:1: the header is not valid CSV"),
        ("subject,predicate\rs,p\r", "f.csv:1: the header is not valid CSV"),
    ],
)
def test_csv_header_errors(header, part):
    raw = header.encode()
    with pytest.raises(InputError) as caught:
        list(read_csv([part + b"\n" for part in raw.split(b"\n")[:-1]] or ([raw] if raw else []), "f.csv"))
    assert part in str(caught.value)


def test_csv_of_a_header_alone_has_no_rows():
    assert csv(HEADER) == csv(HEADER.strip()) == csv(HEADER + "\n\r\n") == []


def test_a_decimal_comma_is_asked_about_and_text_where_it_is_declared():
    lines = [b"subject;predicate;value;datatype;valid_from\n", b"a;b;4,4;;2024\n", b"a;b;4,4;string;2024\n"]
    first, second = read_csv(lines, "f.csv")
    assert (first.line, first.column) == (2, 5)
    assert "decimal comma" in first.message
    assert second.value == "4,4"
