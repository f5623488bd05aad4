"""Hostile texts: a located limit error in under 2 s and 500 MB, never a crash; in a process of its own."""

import json
import resource
import subprocess
import sys

import pytest

from chronofy_kg.errors import SpecError
from chronofy_kg.spec import check_spec, parse_formula, parse_spec

RUN = """
import json, re, sys, time
from pathlib import Path
from chronofy_kg.errors import SpecError
from chronofy_kg.spec import check_spec, parse_formula, parse_spec
parse_formula("x > 0")
text, start = eval(sys.argv[2]), time.process_time()
try:
    {"formula": parse_formula, "file": parse_spec, "check": check_spec}[sys.argv[1]](text)
    errors = []
except SpecError as error:
    errors = [(one.line, one.column, one.code) for one in error.diagnostics]
    said = str(error)
    assert len(said) < 40_000
took = time.process_time() - start
# Not ru_maxrss: that of a child begins with the memory of the process that forked it.
most = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
print(json.dumps([errors, took, most / 1024]))
"""


def limit_memory():
    # Address space is a good deal more than what is used: numpy and the allocator reserve some.
    resource.setrlimit(resource.RLIMIT_AS, (2 * 1024**3, 2 * 1024**3))


def run(kind, expression):
    argv = [sys.executable, "-c", RUN, kind, expression]
    environment = {"OPENBLAS_NUM_THREADS": "1", "PATH": ""}
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=120, preexec_fn=limit_memory, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    errors, took, most = json.loads(done.stdout)
    assert took < 2
    assert most < 500
    return [tuple(one) for one in errors]


@pytest.mark.parametrize(
    ("kind", "expression", "first"),
    [
        ("formula", "'(' * 100_000 + 'x > 0' + ')' * 100_000", (1, 1, "limit")),
        ("formula", "'(' * 30_000", (1, 20_001, "limit")),
        ("formula", "'x' * 10_000_000", (1, 1, "limit")),
        ("formula", "' and '.join('x > %d' % i for i in range(1_000_000))", (1, 1, "limit")),
        ("formula", "'\\n' * 10_000_000", (1, 1, "syntax")),
        ("formula", "'not ' * 16_000 + 'x > 0'", (1, 401, "limit")),
        ("formula", "'G[0,1] (' * 90 + 'x > 0' + ')' * 90 + ' and y > 0' * 4_000", None),
        ("formula", "'mean[0,1](' * 101 + 'x'", (1, 1010, "limit")),
        ("formula", "'\\u202e' * 60_000", (1, 1, "lex")),
        ("formula", "'\\u2265 x ' * 10_000", (1, 1, "lex")),
        ("file", "'spec a: ' + '(' * 100_000 + 'x > 0'", (1, 8 + 32_000 - 3 + 1, "limit")),
        ("file", "'x' * 10_000_000", (1, 1024 * 1024 + 1, "limit")),
        ("file", "'spec a: ' + ' and '.join('x > %d' % i for i in range(10**6))", (1, 2**20 + 1, "limit")),
        ("file", "'\\n' * 10_000_000", (1024 * 1024 + 1, 1, "limit")),
        ("file", "'(' * 1_000_000", (1, 32_001, "limit")),
        ("file", "'# ' + 'y' * 10_000_000", (1, 1024 * 1024 + 1, "limit")),
        ("file", "'\\u2265 ' * 500_000", (1, 1, "lex")),
        ("file", "'rule r: p(?a) <- ' + ', '.join('q%d(?a)' % i for i in range(5_000))", None),
        ("file", "'rule r: p(' + '?a, ' * 15_000", (1, 60_010, "syntax")),
        ("file", "'\\n'.join('rule r%d: p%d(?a) <- p%d(?a)' % (i, i, i + 1) for i in range(1_600))", None),
        ("file", "';'.join(f'let a{i} = a{i + 1} or x > 0' for i in range(99)) + ';let a99 = y > 0'", None),
        ("check", "';'.join(f'label l{i} when x > {i} and (y > 0 or z > 9)' for i in range(700))", None),
    ],
)  # fmt: skip
def test_hostile_texts(kind, expression, first):
    errors = run(kind, expression)
    assert (errors[0] if errors else None) == first
    assert len(errors) <= 20


def test_a_thousand_terms_parse_quickly():
    run("formula", "' and '.join('x > %d' % i for i in range(1_000))")
    code = (
        "import time; from chronofy_kg.spec import parse_formula; parse_formula('x > 0');"
        "text = ' and '.join('x > %d' % i for i in range(1_000)); start = time.process_time();"
        "parse_formula(text); print(time.process_time() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 0.3


def place_of(text, parse=parse_spec, **options):
    with pytest.raises(SpecError) as caught:
        parse(text, **options)
    found = caught.value.diagnostics[0]
    return found.line, found.column, found.code


def test_deep_and_wide_imports_are_refused_where_they_are_named():
    deep = {f"f{i}": f'import "f{i + 1}" as n\nspec s: x > 0' for i in range(10_000)}
    assert place_of('import "f0" as n', loader=deep.__getitem__) == (1, 8, "import")
    wide = "\n".join(f'import "w{i}" as w{i}' for i in range(1000))
    assert place_of(wide, loader=lambda path: "let a = x > 0") == (201, 8, "import")
    assert place_of('import "a" as a', loader=lambda path: '\n'.join(
        f'import "{path}{i}" as n{i}' for i in range(50)
    ))[2] == "import"  # fmt: skip
    ladder = {f"l{i}": "\n".join(f'import "l{i + 1}" as n{j}' for j in range(30)) for i in range(9)}
    ladder["l9"] = "\n".join(f"let a{i} = x > 0" for i in range(300))
    with pytest.raises(SpecError) as caught:
        parse_spec('import "l0" as n', loader=ladder.__getitem__)
    assert caught.value.diagnostics[0].message == "imports bring more than 20000 names"
    heavy = "\n".join(f"let a{i} = x > 0 and y > 0 and z > 0" for i in range(2_000))
    assert place_of('import "h1" as a; import "h2" as b', loader=lambda path: heavy)[2] == "limit"


@pytest.mark.parametrize("character", ["\u202a", "\u202e", "\u2066", "\u2069"])
def test_characters_that_turn_the_text_round_are_refused_everywhere(character):
    assert place_of(f"spec a: x > 0 # see {character} here") == (1, 21, "lex")
    assert place_of(f'facttype "a{character}b": event') == (1, 12, "lex")
    assert place_of(f"spec a{character}b: x > 0") == (1, 7, "lex")
    assert place_of(f"x {character}> 0", parse_formula) == (1, 3, "lex")
    escaped = f'facttype "a\\u{ord(character):04x}b": event'
    assert list(parse_spec(escaped).facttypes) == [f"a{character}b"]


@pytest.mark.parametrize(
    "character", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u00a0", "\x00", "\x1b"]
)
def test_characters_without_width_stand_in_no_name(character):
    assert place_of(f"spec ab{character}c: x > 0") == (1, 8, "lex")
    (found,) = [one for one in check_spec(f"spec ab{character}c: x > 0") if one.code == "lex"]
    assert character not in str(found)
    (found,) = [one for one in check_spec("spec ab\u0301c: x > 0") if one.code == "lex"]
    assert found.message == "'U+0301' has no meaning here"


def test_texts_that_are_no_unicode_are_refused():
    assert place_of('facttype "\\ud800": event') == (1, 10, "lex")
    assert place_of("spec a\ud800: x > 0") == (1, 7, "lex")


def test_a_long_name_makes_no_long_message():
    with pytest.raises(SpecError) as caught:
        parse_formula("x" * 60_000 + " > 0", signals=["y"])
    assert len(str(caught.value)) < 2_000
