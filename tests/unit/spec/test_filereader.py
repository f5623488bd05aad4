"""Spec files: items, all errors at once, names over the whole file, imports."""

import time

import pytest

from chronofy_kg.errors import SpecError, SpecSyntaxError, SpecTypeError
from chronofy_kg.spec import parse_formula, parse_spec


def errors_of(text, **options):
    with pytest.raises(SpecError) as caught:
        parse_spec(text, **options)
    return [(one.line, one.column, one.code) for one in caught.value.diagnostics]


def first_of(text, **options):
    with pytest.raises(SpecError) as caught:
        parse_spec(text, **options)
    return caught.value.diagnostics[0]


FILE = """\
\ufeffparam gamma in [0, 1] = 0.5   # threshold
param window = 30 d;
signal validity, age step 1 d
facttype egfr : numeric, one, half_life = 90 d
let fresh = validity >= gamma ; let twice = gamma * 2
spec answer (severity=high, on_fail=flag, eval=each): G[0,window] fresh
label old priority 3 when age > 30
label any when true
"""


def test_all_items_of_a_file():
    pack = parse_spec(FILE, "pack.spec")
    assert [list(one) for one in (pack.params, pack.signals, pack.facttypes, pack.specs, pack.labels)] == [
        ["gamma", "window"], ["validity", "age"], ["egfr"], ["answer"], ["old", "any"],
    ]  # fmt: skip
    assert (pack.params["window"].value, pack.params["window"].unit) == (30.0, "d")
    assert (pack.params["gamma"].low.value, pack.params["gamma"].high.value) == (0.0, 1.0)
    assert (pack.signals["age"].step.value, pack.signals["age"].step.unit) == (1.0, "d")
    spec = pack.specs["answer"]
    assert (spec.severity, spec.on_fail, spec.evaluate) == ("high", "flag", "each")
    assert (pack.labels["old"].priority, pack.labels["any"].priority) == (3, None)
    assert {name: let.is_number for name, let in pack.lets.items()} == {"fresh": False, "twice": True}
    assert pack.labels["old"].formula == parse_formula("age > 30")
    assert dict(pack.rules) == {}


def test_empty_file_and_defaults():
    assert dict(parse_spec("# nothing\n").specs) == {}
    spec = parse_spec("spec a: x > 0").specs["a"]
    assert (spec.severity, spec.on_fail, spec.evaluate) == (None, "withhold", "first")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("spec a x > 0", [(1, 8, "syntax")]),
        ("spec a: x > 0\nspec b: (x > 0\nspec c: y >", [(3, 1, "syntax"), (3, 12, "syntax")]),
        ("param gamma = \nspec a: x > gamma", [(2, 1, "syntax")]),
        ("param gamma 3", [(1, 13, "syntax")]),
        ("param gamma = 3 4", [(1, 17, "syntax")]),
        ("param gamma = 3\nspecs a: x > gamma", [(2, 1, "syntax")]),
        ("x > 0", [(1, 1, "syntax")]),
        ("label a priority 1.5 when x > 0", [(1, 18, "syntax")]),
        ("label a x > 0", [(1, 9, "syntax")]),
        ("let label = x > 0", [(1, 5, "syntax")]),
        ("spec a: b\nspec b: x > 0", [(1, 9, "name")]),
        ("signal x\nspec a: y > 0", [(2, 9, "name")]),
        ("signal x\nsignal x", [(2, 8, "name")]),
        ("param x = 1; signal x", [(1, 21, "name")]),
        ("spec a: x > 0\nlabel a when x > 0", [(2, 7, "name")]),
        ("let a = b > 0; let b = a", [(1, 9, "name"), (1, 24, "name")]),
        ("let a = x > 0 or a", [(1, 18, "name")]),
        ("let a = a > 0", [(1, 9, "name")]),
        ("let a = x > 0 or G prev a", [(1, 25, "name")]),
        ("let a = x > 0 or X (y > 0 S[1,2] a)", [(1, 34, "name")]),
        ("let a = x + mean[0,3](a)", [(1, 23, "name")]),
        ("let a = x + mean[1,3](a)", None),
        ("param k in [1, 9] = 2\nlet a = x > 0 or O[k,9] a", None),
        ("param k in [0, 9] = 2\nlet a = x > 0 or O[k,9] a", [(2, 25, "name")]),
        ("param w = 10 d\nsignal x step 1 w\nspec a: G[0,w] x > 0", [(3, 13, "unit")]),
        ("signal x step 1 w\nlet l = x > 0\nspec a: G[0,10 d] l", [(3, 13, "unit")]),
        ("let a = x > 0 or a S[1,2] x > 0", [(1, 18, "name")]),
        ("let a = x > 0 or O[0,2] a", [(1, 25, "name")]),
        ("param g in [0,1] = 2", [(1, 20, "value")]),
        ("param g in [1,0] = 2", [(1, 15, "value")]),
        ("param g in [0,1 d] = 2", [(1, 15, "unit")]),
        ("param g = 30 d\nspec a: x > g + 1", [(2, 17, "unit")]),
        ("param g = -3\nspec a: G[0,g] x > 0", [(2, 13, "interval")]),
        ("signal x step 1 w\nspec a: G[0,10d] x > 0", [(2, 13, "unit")]),
        ("signal x step 0", [(1, 15, "value")]),
        ("spec a (on_fail=stop): x > 0", [(1, 17, "value")]),
        ("spec a (onfail=flag): x > 0", [(1, 9, "name")]),
        ("spec a (eval=first, eval=last): x > 0", [(1, 21, "name")]),
        ('import "x.spec"', [(1, 8, "import")]),
        ("spec a: c.ok", [(1, 9, "name")]),
        ('facttype "a\\q": event', [(1, 10, "lex")]),
    ],
)
def test_place_and_code_of_errors(text, places):
    if places is None:
        parse_spec(text)
    else:
        assert errors_of(text) == places


def test_all_errors_of_a_file_at_once_and_their_class():
    text = "param g = \nspec a: x ≥ 1\nspec b: x\nlet c = x > 0 and\nspec d: G[2,1] x > 0"
    assert errors_of(text) == [
        (2, 1, "syntax"), (2, 11, "lex"), (3, 9, "type"), (5, 1, "syntax"), (5, 13, "interval"),
    ]  # fmt: skip
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    assert type(caught.value) is SpecError
    with pytest.raises(SpecSyntaxError):
        parse_spec("spec a: x >\nspec b:")
    with pytest.raises(SpecTypeError):
        parse_spec("spec a: x\nspec b: G[2,1] x > 0")


def test_no_more_than_twenty_errors():
    assert len(errors_of("spec a: x >\n" * 50)) == 20


def test_names_with_errors_are_no_further_errors():
    assert errors_of("let a = x >\nparam p = \nspec s: a and x > p\nsignal x,") == [
        (2, 1, "syntax"), (3, 1, "syntax"), (4, 10, "syntax"),
    ]  # fmt: skip


def test_hints():
    assert first_of("specs a: x > 0").hint == "did you mean spec?"
    assert first_of("param gamma = 3\nspec a: x > 0\nlable b when x > 0").hint == "did you mean label?"
    assert first_of("signal validity\nspec a: validty > 0").hint == "did you mean validity?"
    assert first_of("spec a (severty=high): x > 0").hint == "did you mean severity?"
    assert first_of("spec a: x > 0\nspec a: x > 1").message == "'a' is already declared in line 1"
    assert first_of("spec and: x > 0").message == "'and' is a reserved word"
    assert first_of("spec a: b\nspec b: x > 0").message == "'b' is a spec and cannot stand in a formula"


def test_a_let_may_refer_to_its_own_past():
    pack = parse_spec("let latch = x > 0 or prev latch and not y > 0\nlet b = O[1,3] b or x > 0")
    assert [let.recursive for let in pack.lets.values()] == [True, True]


LIBRARY = {
    "core.spec": "param gamma = 0.5\nlet ok = validity >= gamma\nspec s: G ok\nfacttype egfr: numeric",
    "more.spec": 'import "core.spec"\nspec t: F core.ok',
    "broken.spec": "spec a: x >",
    "loop.spec": 'import "loop.spec" as again',
}


def test_imports_are_reached_by_their_alias():
    pack = parse_spec(
        'import "more.spec" as m; import "core.spec" as c\nspec a: G[0,3] m.core.ok',
        loader=LIBRARY.__getitem__,
    )
    assert str(pack.formula("a")) == "G[0,3] validity >= 0.5"
    assert str(pack.formula("a", {"m.core.gamma": 0.2})) == "G[0,3] validity >= 0.2"
    assert str(pack.formula("m.t")) == "F validity >= 0.5"
    assert str(pack.formula("m.core.s", {"m.core.gamma": 0.1})) == "G validity >= 0.1"
    assert list(pack.facttypes) == ["egfr"]


def test_errors_of_imports():
    load = LIBRARY.__getitem__
    found = first_of('import "broken.spec" as b\nspec z: b.anything', loader=load)
    assert (found.file, found.line, found.column) == ("broken.spec", 1, 12)
    assert errors_of('import "none.spec"', loader=load) == [(1, 8, "import")]
    assert "leads back to itself" in first_of('import "loop.spec" as l', loader=load).message
    assert errors_of('import "core.spec" as c; spec a: c.o', loader=load) == [(1, 34, "name")]
    assert errors_of('import "my rules.spec"', loader=load) == [(1, 8, "import")]


@pytest.mark.parametrize(
    "text",
    [
        "spec a: x > 0\n" * 100_000,
        "spec " * 30_000,
        ";" * 30_000,
        "\n" * 2_000_000,
        '"' * 50_000,
        "let a = b\n" * 7_000,
    ],
    ids=range(6),
)
def test_large_files_are_refused_in_two_seconds(text):
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    assert time.process_time() - start < 2
    assert 1 <= len(caught.value.diagnostics) <= 20
