"""How answers, fact types and rows look on a terminal. Everything is drawn from the JSON forms.

So an answer looks the same whether it comes from the knowledge base or over HTTP. The store is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from chronofy_kg.cli.output import on_one_line, plain

__all__ = [
    "number",
    "render_account",
    "render_answer",
    "render_calibration",
    "render_explained",
    "render_rows",
    "render_rules",
    "render_types",
]

Map = Mapping[str, Any]
_STYLES = {"supported": "green", "boundary": "yellow", "reacquire": "red", "insufficient_evidence": "red"}
_EXCLUDED = {
    "retracted": "retracted",
    "not_yet_observed": "not observed yet at that instant",
    "not_yet_valid": "not valid yet",
    "superseded": "superseded",
    "expired": "expired",
    "below_tau": "too old to use (below tau)",
}
_WIDE = 100  # columns from which the table of fact types has one line a row
_FACT_ID = 34  # characters of a fact id: these are copied by hand, into `verify`


def number(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number in few significant digits, "-" for none.

    >>> number(0.016094), number(None), number(0.25, signed=True), number(12345.0)
    ('0.0161', '-', '+0.25', '12345')
    """
    if value is None:
        return "-"
    if abs(value) >= 10**digits:
        return f"{value:{'+' if signed else ''}.0f}"
    return f"{value:{'+' if signed else ''}.{digits}g}"


def interval(map_: Map, *, signed: bool = False) -> str:
    """Return "[low, high]" of a value with its interval."""
    return f"[{number(map_['low'], signed=signed)}, {number(map_['high'], signed=signed)}]"


def days(value: float | None) -> str:
    """Return a length of time in the unit that suits it, "-" for none.

    >>> days(0.5), days(90.0), days(1000.0), days(0.0001)
    ('12 h', '90 d', '2.74 y', '8.64 s')
    """
    if value is None:
        return "-"
    for size, unit in ((365.25 * 2, "y"), (1.0, "d"), (1 / 24, "h"), (1 / 1440, "min")):
        if value >= size:
            return f"{number(value / (365.25 if unit == 'y' else size))} {unit}"
    return f"{number(value * 86_400)} s"


def render_answer(console: Console, answer: Map) -> None:
    """Print an answer or a verdict, from its JSON form."""
    style = _STYLES.get(answer["verdict"], "")
    _line(console, _headline(answer), f"bold {style}")
    for line in (answer["answer"] or "").splitlines():
        _line(console, f"  {line}")
    shown = [fact for fact in answer["facts"] if "validity" in fact]
    tables = [_evidence(shown)] if shown else []
    if any(step["status"] != "supported" for step in answer["steps"]):
        tables.append(_steps(answer["steps"]))
    for table in tables:
        console.print()
        console.print(table)
    _line(console, "")
    for name, text in _figures(answer):
        _line(console, f"{name:<12}{text}")
    if answer["reacquire"]:
        _line(console, "\nTo re-acquire:", "bold")
        for place, target in enumerate(answer["reacquire"], start=1):
            _line(console, f"  {place}. {_wanted(target)}")
            _line(console, f"     {target['fact']}")


def render_account(console: Console, account: Map) -> None:
    """Print why a fact holds or what ended it, from its JSON form."""
    fact = account["fact"]
    _line(console, f"{account['state']}: {fact['content'] if fact else account['id']}", "bold")
    if fact:
        _line(console, f"{'period':<13}{fact['valid_from']} to {fact['valid_to'] or 'now on'}")
    ended = {"in_force": "ended by", "shadowed": "held back by"}.get(account["state"], "ended by")
    _line(console, f"{ended:<13}{account['ended_by'] or '-'}")
    _line(console, f"{'rule':<13}{account['policy']}")
    if account["assertions"]:
        _line(console, "\nIt was told:", "bold")
    for told in account["assertions"]:
        retired = f", retired {told['retired_at']}" if told["retired_at"] else ""
        quality = f", quality {number(told['quality'])}" if told["quality"] is not None else ""
        _line(console, f"  {told['source'] or 'no source'}: {told['valid_from']} to "
                       f"{told['valid_to'] or 'open'}, observed {told['observed_at']}{quality}, "
                       f"recorded {told['recorded_at']}{retired}")  # fmt: skip
        _line(console, f"    {told['id']}")


def _headline(answer: Map) -> str:
    verdict = answer["verdict"]
    if verdict == "insufficient_evidence":
        return f"{verdict}: nothing that is known answers this"
    if answer["withheld"]:
        return f"{verdict}: the answer is withheld, its evidence is too old"
    confidence = f"confidence at most {number(answer['confidence'])}"
    if verdict == "reacquire":
        return f"{verdict}: fails the spec; {confidence}"
    on = ", just on the threshold" if verdict == "boundary" else ""
    partial = "; partial: some of what matches is left out" if answer["partial"] else ""
    return f"{verdict}{on}: {confidence}{partial}"


def _figures(answer: Map) -> Iterator[tuple[str, str]]:
    """Yield the figures of an answer in words."""
    bound, rho = answer["bound"], answer["robustness"]
    if bound:
        weakest = f"{_name(answer, bound['weakest'])} ({bound['weakest']})"
        yield "bound", f"{number(bound['value'])} {interval(bound)}, weakest link {weakest}"
    if rho:
        spec = rho["spec"]
        version = f" version {spec['version']}" if spec["version"] is not None else ""
        failing = ", ".join(str(step) for step in rho["failing_steps"])
        value = f"{number(rho['value'], signed=True)} {interval(rho, signed=True)}"
        steps = f"; failing steps (from 0): {failing}" if failing else ""
        yield "rho", f"{value} by spec {spec['name']}{version}{steps}"
        if rho.get("blame"):
            yield "because", on_one_line(rho["because"].partition(" because ")[2])
    yield "at", f"{answer['at']}, as known at {answer['known_at']}"
    if answer["valid_until"]:
        yield "holds until", f"{_to_second(answer['valid_until'])}, if nothing new is learned"
    if answer["context"]:
        yield "context", f"{len(answer['context']):,} more facts"
    left = [f"{count:,} {_EXCLUDED.get(why, why)}" for why, count in answer["excluded"].items() if count]
    if left:
        yield "left out", ", ".join(left)
    for note in answer["notes"]:
        yield "note", note
    yield "answer id", answer["id"]


def _name(answer: Map, fact_id: str) -> str:
    """Return which statement a fact of an answer is about."""
    for fact in answer["facts"]:
        if fact["id"] == fact_id:
            return on_one_line(f"{fact['subject']} {fact['predicate']}")
    for target in answer["reacquire"]:
        if target["fact"] == fact_id and target["about"]:
            return on_one_line(target["about"])
    return "fact"


def _evidence(facts: Sequence[Map]) -> Table:
    table = _table("fact", "validity", "age", "beta/day", "source", leading=1)
    table.columns[0].min_width = _FACT_ID
    for fact in facts:
        known_by = ", ".join(str(source["id"]) for source in fact["sources"] if source["id"]) or "-"
        table.add_row(
            _cell("\n".join(_statement(fact))),
            _cell(f"{number(fact['validity']['value'])}\n{interval(fact['validity'])}"),
            _cell(days(fact["age_days"])),
            _cell(f"{number(fact['beta_per_day'])}\n{fact['beta_from']}"),
            _cell(known_by),
        )
    return table


def _statement(fact: Map) -> Iterator[str]:
    """Yield the lines of the first cell of a fact: what it says, its period, its id."""
    # Facts of an answer exist only where numpy is loaded already; help must not load it.
    from chronofy_kg.facts.table import show_value

    said = fact["object"] if "object" in fact else show_value(fact["value"])
    unit = f" {fact['unit']}" if fact.get("unit") else ""
    yield on_one_line(f"{fact['subject']} {fact['predicate']}: {said}{unit}")
    yield f"from {_to_second(fact['valid_from'])}"
    if fact["valid_to"] is not None:
        yield f"to   {_to_second(fact['valid_to'])}"
    if fact["observed_at"] != fact["valid_from"]:
        yield f"seen {_to_second(fact['observed_at'])}"
    yield fact["id"]
    if fact["contradicts"]:
        for other in fact["contradictions"]:
            by = ", ".join(other["sources"]) or "no source"
            yield on_one_line(f"contradicted by {by}: {other['said']}")


def _to_second(instant: str) -> str:
    """Return an instant without the fraction of its second; `--json` has it whole."""
    return f"{instant[:19]}Z"


def _steps(steps: Sequence[Map]) -> Table:
    table = _table("step", "what it states, what it cites", "validity", "status", leading=1)
    table.columns[1].min_width = _FACT_ID
    for place, step in enumerate(steps):
        uses = f"\nuses step {', '.join(str(used) for used in step['uses'])}" if step.get("uses") else ""
        lines = [on_one_line(step["text"]), *step["facts"]]
        table.add_row(
            str(place),
            _cell("\n".join(line for line in lines if line) + uses),
            _cell(f"{number(step['validity']['value'])}\n{interval(step['validity'])}"),
            _cell(step["status"].replace("_", " ")),
        )
    return table


def _wanted(target: Map) -> str:
    """Return one target of re-acquisition in words."""
    about = target.get("about") or "a fact"
    sources = f" from {', '.join(target['sources'])}" if target["sources"] else ""
    if not target["reachable"]:
        needed = number(target["needed_validity"])
        return f"{about}{sources}: cannot help, even fresh its validity is below the {needed} needed"
    gain, needed = number(target["gain"], signed=True), number(target["needed_validity"])
    return f"{about}{sources}: observe again, with a validity of {needed} or more; rho then gains {gain}"


def render_types(console: Console, rows: Sequence[Map]) -> None:
    """Print the table of fact types, from their JSON maps, and their warnings below it."""
    if console.width >= _WIDE:
        table = _table("fact type", "kind", "beta/day", "interval", "half-life", "from", "status", "n")
    else:
        table = _table("fact type", "kind", "beta/day\ninterval", "half-life", "from\nstatus", "n")
        table.padding = (0, 0, 0, 0)
    for column in table.columns[1:]:
        column.no_wrap = True
    for row in rows:
        span = interval({"low": row["beta_low"], "high": row["beta_high"]}).replace("-]", "inf]")
        beta, life, told = number(row["beta"]), days(row["half_life_days"]), (row["beta_from"], row["status"])
        names, n = (row["name"], row["kind"]), f"{row['n']:,}"
        if console.width >= _WIDE:
            cells = [*names, beta, span, life, *told, n]
        else:
            cells = [*names, f"{beta}\n{span}", life, "\n".join(told), n]
        table.add_row(*(_cell(cell) for cell in cells))
    console.print(table)
    for row in rows:
        for warning in row["warnings"]:
            _line(console, f"{row['name']}: {warning}", "yellow")


def render_explained(console: Console, row: Map, curve: Map | None) -> None:
    """Print a fact type with its versions, and what its history shows beside the fitted curve."""
    render_types(console, [row])
    _line(console, f"rate: {row['beta_from']}, {row['method'] or 'nothing fitted'}")
    if row["versions"]:
        table = _table("version", "recorded", "beta/day", "interval", "from", "n")
        for one in row["versions"]:
            span = interval({"low": one["beta_low"], "high": one["beta_high"]}).replace("-]", "inf]")
            cells = (
                one["version"],
                one["recorded_at"],
                number(one["beta"]),
                span,
                one["beta_from"],
                one["n"],
            )
            table.add_row(*(_cell(cell) for cell in cells))
        console.print(table)
    if curve is None or not curve["points"]:
        _line(console, "there is no history that could be compared with a curve")
        return
    table = _table(f"age, {curve['unit']}", f"{curve['what']} seen", "interval", "fitted", "behind it")
    line = curve["line"]
    for point in curve["points"]:
        place = round(point["age"] / (line[-1]["age"] or 1.0) * (len(line) - 1))
        shown = (number(point["age"]), number(point["seen"]), interval(point), number(line[place]["value"]))
        table.add_row(*(_cell(cell) for cell in (*shown, point["count"])))
    console.print(table)


def render_calibration(console: Console, tables: Sequence[Map]) -> None:
    """Print reliability tables: the error of each, and the bins of the first."""
    table = _table("fact type", "claims", "calibration error")
    for one in tables:
        table.add_row(_cell(one["name"]), f"{one['count']:,}", number(one["error"]))
    console.print(table)
    bins = _table("validity", "claims", "claimed", "seen")
    for b in tables[0]["bins"]:
        cells = (
            f"{b['low']:.1f}-{b['high']:.1f}",
            f"{b['count']:,}",
            number(b["claimed"]),
            number(b["seen"]),
        )
        bins.add_row(*cells)
    console.print(bins)


def render_rules(console: Console, report: Map) -> None:
    """Print the size of the rule graph and its strongest edges."""
    _line(console, f"{report['nodes']:,} rule nodes, {report['edges']:,} rule edges")
    if not report["top"]:
        return
    table = _table("if", "then", "support", "confidence", "lag", "bits")
    for edge in report["top"]:
        table.add_row(
            _cell(edge["if"]),
            _cell(edge["then"]),
            number(edge["support"], 6),
            number(edge["confidence"]),
            days(edge["lag"]),
            number(edge["bits"]),
        )
    console.print(table)


def render_rows(console: Console, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows as a table; long texts wrap."""
    table = _table(*(plain(column) for column in columns))
    for row in rows:
        table.add_row(*(_cell(_shown(value)) for value in row))
    console.print(table)


def _shown(value: Any) -> str:
    """Return a value of a row: texts as they are, none as "-", the rest as JSON writes it."""
    if value is None or isinstance(value, str):
        return "-" if value is None else value
    return json.dumps(value, ensure_ascii=False)


def _table(*headers: str, leading: int = 0) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), leading=leading,
                  header_style="bold")  # fmt: skip
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def _cell(value: object) -> Text:
    return Text(plain(value))


def _line(console: Console, text: str, style: str = "") -> None:
    """Print one line without wrapping it, so that ids in it can be copied."""
    console.print(Text(plain(text), style), soft_wrap=True)
