"""Robustness: against its definition on random formulas, at the ends of traces, and on batches."""

import random
import time

import numpy as np
import pytest

from chronofy_kg.errors import SpecTypeError
from chronofy_kg.spec import Trace, TraceError, horizon, parse_formula, robustness
from chronofy_kg.spec.ast import Boolean, Compare, Logic, Name, Not, Number, Pair, Step, Temporal

INF = float("inf")


def brute(node, signals, n):
    """The robustness by definition, one sample and one window at a time."""
    match node:
        case Number(value):
            return [value] * n
        case Name(name):
            return list(signals[name])
        case Boolean(value):
            return [INF if value else -INF] * n
        case Compare(operator, left, right):
            a, b = brute(left, signals, n), brute(right, signals, n)
            sign = 1 if operator in (">", ">=") else -1
            return [sign * (p - q) for p, q in zip(a, b, strict=True)]
        case Not(operand):
            return [-r for r in brute(operand, signals, n)]
        case Logic(operator, operands):
            parts = [brute(one, signals, n) for one in operands]
            result = parts.pop() if operator == "implies" else parts.pop(0)
            while parts:
                other = parts.pop() if operator == "implies" else parts.pop(0)
                result = [logic(operator, a, b) for a, b in zip(result, other, strict=True)]
            return result
        case Step(operator, operand):
            r = brute(operand, signals, n)
            by, end = (1 if operator in ("X", "wnext") else -1), (INF if operator[0] == "w" else -INF)
            return [r[t + by] if 0 <= t + by < n else end for t in range(n)]
        case Temporal(operator, operand, interval):
            r = brute(operand, signals, n)
            pick, end = (min, INF) if operator in "GH" else (max, -INF)
            return [pick((r[u] for u in inside(operator, interval, t, n)), default=end) for t in range(n)]
        case Pair(operator, left, right, interval):
            return pair(operator, brute(left, signals, n), brute(right, signals, n), interval, n)


def logic(operator, a, b):
    match operator:
        case "and":
            return min(a, b)
        case "or":
            return max(a, b)
        case "implies":
            return max(-b, a)
        case "xor":
            return max(min(a, -b), min(-a, b))
        case "iff":
            return min(max(-a, b), max(a, -b))


def inside(operator, interval, t, n):
    low, high = (0, INF) if interval is None else (interval.low.value, interval.high.value)
    sign = -1 if operator in "HOST" else 1
    return [u for u in range(n) if low <= sign * (u - t) <= high]


def pair(operator, left, right, interval, n):
    if operator in "RT":
        dual = pair({"R": "U", "T": "S"}[operator], [-r for r in left], [-r for r in right], interval, n)
        return [-r for r in dual]
    values = []
    for t in range(n):
        reached = [-INF]
        for u in inside(operator, interval, t, n):
            between = left[u + 1 : t + 1] if operator == "S" else left[t:u]
            reached.append(min([right[u], *between]))
        whole = [left[u] for u in range(t, n) if interval is None or u - t <= interval.high.value]
        values.append(max(reached) if operator != "W" else max(*reached, min(whole, default=INF)))
    return values


def random_formula(draw, depth):
    if depth == 0 or draw.random() < 0.1:
        left, right = draw.choice("xy"), draw.choice(["x", "y", str(draw.randint(-4, 4))])
        return f"{left} {draw.choice(['>', '<', '>=', '<='])} {right}"
    low = draw.randint(0, 3)
    interval = draw.choice(["", f"[{low},{low + draw.randint(0, 4)}]", f"[{low},inf]"])
    one, two = random_formula(draw, depth - 1), random_formula(draw, depth - 1)
    kind = draw.random()
    if kind < 0.35:
        return f"({one}) {draw.choice(['and', 'or', 'xor', '->', '<->'])} ({two})"
    if kind < 0.65:
        return f"({one}) {draw.choice('URWST')}{interval} ({two})"
    if kind < 0.9:
        return f"{draw.choice('GFHO')}{interval} ({one})"
    return f"{draw.choice(['not', 'X', 'Y', 'wnext', 'wprev'])} ({one})"


def cases(count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        n = draw.choice([1, 2, 3, 7, 12])
        signals = {name: [float(draw.randint(-6, 6)) for _ in range(n)] for name in "xy"}
        yield draw, random_formula(draw, draw.randint(1, 4)), signals, n


def test_random_formulas_equal_their_definition():
    for _, text, signals, n in cases(400, 1):
        formula = parse_formula(text)
        found = robustness(formula, Trace(signals)).values
        assert found.tolist() == brute(formula.root, signals, n), text


def test_random_futures_stay_between_lower_and_upper():
    tight = 0
    for draw, text, signals, n in cases(250, 2):
        formula = parse_formula(text)
        result = robustness(formula, Trace(signals))
        sizes = [1.0, 30.0, 1000.0] * 4
        longer = {
            name: [signals[name] + [draw.choice([-size, size, 0.5]) for _ in range(40)] for size in sizes]
            for name in "xy"
        }
        values = robustness(formula, Trace(longer)).values[:, :n]
        values = np.where(np.abs(values) >= 500, np.copysign(INF, values), values)
        low, high = values.min(axis=0), values.max(axis=0)
        assert (result.lower <= low).all(), text
        assert (high <= result.upper).all(), text
        tight += bool((result.lower == low).all() and (result.upper == high).all())
    # Most bounds are reached by some of these few futures, so they are not merely wide.
    assert tight > 120


def test_pointwise_samples_equal_their_definition():
    times = [0.0, 0.5, 3.0, 4.0, 4.5, 9.0, 12.0]
    signals = {"x": [3.0, -1.0, 4.0, 2.0, -5.0, 6.0, 1.0], "y": [1.0, 0.0, -2.0, 5.0, 5.0, -1.0, 2.0]}
    trace = Trace(signals, times=times, sampling="pointwise")
    for low, high in [(0, 3), (0.5, 4), (2, 2), (1, INF)]:
        span = f"[{low},{'inf' if high == INF else high}]"
        for operator, sign in (("U", 1), ("S", -1)):
            found = robustness(parse_formula(f"x > 0 {operator}{span} y > 0"), trace).values
            for t, now in enumerate(times):
                reached = [-INF]
                for u, then in enumerate(times):
                    if low <= sign * (then - now) <= high:
                        between = signals["x"][t:u] if sign == 1 else signals["x"][u + 1 : t + 1]
                        reached.append(min([signals["y"][u], *between]))
                assert found[t] == max(reached)
        found = robustness(parse_formula(f"O{span} x > 0"), trace).values
        for t, now in enumerate(times):
            held = [signals["x"][u] for u, then in enumerate(times) if low <= now - then <= high]
            assert found[t] == max(held, default=-INF)


def test_pointwise_windows_past_the_end_are_open():
    trace = Trace({"x": [1.0, 2.0, -3.0]}, times=[0.0, 1.0, 5.0], sampling="pointwise")
    result = robustness(parse_formula("F[0,2] x > 0"), trace)
    assert (result.lower.tolist(), result.upper.tolist()) == ([2.0, 2.0, -3.0], [2.0, 2.0, INF])
    result = robustness(parse_formula("x > 0 U[0,2] x > 4"), trace)
    assert (result.lower.tolist(), result.upper.tolist()) == ([-2.0, -2.0, -7.0], [-2.0, -2.0, -3.0])


def test_next_has_no_meaning_where_samples_hold():
    trace = Trace({"x": [1.0, 2.0]}, times=[0.0, 1.5], sampling="hold")
    with pytest.raises(SpecTypeError, match="X has no meaning"):
        robustness(parse_formula("X x > 0"), trace)
    assert robustness(parse_formula("F[0,0.5] x > 0"), trace).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "values", "vacuous"),
    [
        ("G[2,3] x > 0", [3.0, INF, INF], [False, True, True]),
        ("F[2,3] x > 0", [3.0, -INF, -INF], [False, True, True]),
        ("not G[2,3] x > 0", [-3.0, -INF, -INF], [False, True, True]),
        ("G[2,3] x > 0 and x > 0", [1.0, 2.0, 3.0], [False, False, False]),
        ("F[0,1] G[2,3] x > 0", [INF, INF, INF], [True, True, True]),
        ("X x > 0", [2.0, 3.0, -INF], [False, False, True]),
        ("true", [INF, INF, INF], [False, False, False]),
        ("H[1,1] x > 0 or true", [INF, INF, INF], [False, False, False]),
        ("x > 0 S[3,4] x > 0", [-INF, -INF, -INF], [True, True, True]),
        ("G x < inf_signal", [INF, INF, INF], [False, False, False]),
    ],
)
def test_empty_windows_are_flagged(text, values, vacuous):
    trace = Trace({"x": [1.0, 2.0, 3.0], "inf_signal": [INF, INF, INF]})
    result = robustness(parse_formula(text), trace)
    assert result.values.tolist() == values
    assert result.vacuous.tolist() == vacuous


@pytest.mark.parametrize(
    ("text", "lower", "upper", "verdicts"),
    [
        ("x >= 1", [0.0, 2.0], [0.0, 2.0], ["unknown", "true"]),
        ("G x > 0", [-INF, -INF], [1.0, 3.0], ["unknown", "unknown"]),
        ("F x > 5", [-2.0, -2.0], [INF, INF], ["unknown", "unknown"]),
        ("G x < 0", [-INF, -INF], [-3.0, -3.0], ["false", "false"]),
        ("F[1,2] abs(x) >= 0", [3.0, 0.0], [INF, INF], ["true", "unknown"]),
        ("F[1,1] x != 2", [1.0, 0.0], [1.0, INF], ["true", "unknown"]),
        ("F[1,1] x == 3", [0.0, -INF], [0.0, 0.0], ["unknown", "unknown"]),
        ("F[1,1] max(x, 1) > 0", [3.0, 1.0], [3.0, INF], ["true", "true"]),
        ("F[9,9] 2 > 1", [1.0, 1.0], [1.0, 1.0], ["true", "true"]),
        ("wnext x > 0", [3.0, -INF], [3.0, INF], ["true", "unknown"]),
        ("F[0,1000000000] H[0,5] x > 0", [1.0, 1.0], [INF, INF], ["true", "true"]),
    ],
)
def test_what_the_future_can_bring(text, lower, upper, verdicts):
    result = robustness(parse_formula(text), Trace({"x": [1.0, 3.0]}))
    assert (result.lower.tolist(), result.upper.tolist()) == (lower, upper)
    assert result.verdicts.tolist() == verdicts


def test_times_in_arithmetic_are_days():
    result = robustness(
        parse_formula("age > 36 h and age < 1 w and 2 * 12h >= 1d"), Trace({"age": [2.0, 1.0]})
    )
    assert result.values.tolist() == [0.0, -0.5]


@pytest.mark.parametrize("text", ["sqrt(x) > 1", "x / y > 1", "ln(x) > 0", "pow(x, 0.5) > 0"])
def test_an_expression_without_a_value_is_refused(text):
    with pytest.raises(TraceError, match="has no value at index 1"):
        robustness(
            parse_formula(text), Trace({"x": [1.0, -1.0 if "y" not in text else 0.0], "y": [1.0, 0.0]})
        )


def test_a_name_that_the_trace_has_not_is_located():
    with pytest.raises(SpecTypeError) as caught:
        robustness(parse_formula("x > 0 and validty > 0"), Trace({"x": [1.0], "validity": [1.0]}))
    (found,) = caught.value.diagnostics
    assert (found.column, found.hint) == (11, "did you mean validity?")


def test_a_batch_equals_its_rows_and_inputs_stay():
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(5, 30)), draw.normal(size=30)
    x.flags.writeable = y.flags.writeable = False
    formula = parse_formula("G[0,3] (x > 0 -> F[0,2] y > x) or (x > 0 S[1,4] y > 0)")
    whole = robustness(formula, Trace({"x": x, "y": y}))
    assert whole.values.shape == (5, 30)
    for row in range(5):
        alone = robustness(formula, Trace({"x": x[row], "y": y}))
        for name in ("values", "lower", "upper", "vacuous", "verdicts"):
            assert getattr(whole, name)[row].tolist() == getattr(alone, name).tolist()


def test_a_result_can_be_written_to():
    x = np.array([1.0, 2.0])
    result = robustness(parse_formula("x > 0"), Trace({"x": x}))
    result.values[0] = 9.0
    assert x.tolist() == [1.0, 2.0]


def test_a_formula_that_looks_too_far_ahead_is_refused():
    with pytest.raises(TraceError, match="shorten its intervals"):
        robustness(parse_formula("F[0,1000000000] O[0,1000000000] x > 0"), Trace({"x": [1.0]}))


def test_long_traces_take_little_time_whatever_the_bound():
    trace = Trace({"x": np.random.default_rng(0).normal(size=200_000)})
    for text in ("G[0,10] x > 0", "F[0,100000] x > 0", "G[0,1000] F[0,1000] x > 0"):
        formula = parse_formula(text)
        start = time.process_time()
        robustness(formula, trace)
        assert time.process_time() - start < 0.25


@pytest.mark.parametrize(
    ("text", "ahead"),
    [
        ("F[0,2] (H[0,9] x > 0 U[1,3] x > 1)", 5),
        ("X wnext x > 0", 2),
        ("x > mean[0,9](x)", 0),
        ("G[0,inf] x > 0", None),
        ("F[0,2] (let a = x > 0 and wprev a)", 2),
    ],
)
def test_the_horizon(text, ahead):
    trace = Trace({"x": [1.0] * 20})
    assert horizon(parse_formula(text), trace) == ahead
    provisional = robustness(parse_formula(text), trace).provisional.tolist()
    assert not any(provisional[: 20 - (20 if ahead is None else ahead)])
    with pytest.raises(TraceError, match="any instants"):
        horizon(parse_formula("x > 0"), Trace({"x": [1.0]}, times=[0.0], sampling="pointwise"))


def test_statistics_are_stable_and_say_where_they_have_no_value():
    x = 1e9 + np.random.default_rng(0).normal(size=2_000)
    result = robustness(parse_formula("std[0,499](x, least 100) > 0"), Trace({"x": x}))
    assert result.values[:99].tolist() == [0.0] * 99
    assert result.vacuous.tolist() == [True] * 99 + [False] * 1901
    assert result.verdicts[:99].tolist() == ["unknown"] * 99
    # The spread of numbers near 1e9, each known to 1e-7.
    expected = [np.std(x[t - 499 : t + 1] - 1e9) for t in range(499, 2_000)]
    assert np.abs(result.values[499:] - expected).max() < 1e-6


def test_a_statistic_in_a_batch_and_its_inputs_stay():
    x = np.random.default_rng(1).normal(size=(3, 40))
    x.flags.writeable = False
    for text in (
        "median[0,5](x where x > 0) < 1",
        "mean[1,4](x) > x",
        "(let a = x > 1 or (prev a and x > -1))",
    ):
        formula = parse_formula(text)
        whole = robustness(formula, Trace({"x": x}))
        for row in range(3):
            alone = robustness(formula, Trace({"x": x[row]}))
            for part in ("values", "lower", "upper", "vacuous"):
                assert getattr(whole, part)[row].tolist() == getattr(alone, part).tolist()


@pytest.mark.parametrize(
    "text", ["G count[0,inf](x) < 1000", "G[0,50000] sum[0,inf](1) < 1000", "not F mean[0,inf](x) > 9"]
)
def test_a_statistic_of_all_the_past_may_drift_for_ever(text):
    result = robustness(parse_formula(text), Trace({"x": [1.0, 2.0, 3.0]}))
    assert result.lower.tolist() == [-INF] * 3
    assert result.verdicts.tolist() == ["unknown"] * 3


def test_what_drifts_is_followed_as_far_as_a_formula_looks():
    result = robustness(parse_formula("G[0,5000] sum[0,inf](1) < 1000"), Trace({"x": [1.0, 2.0, 3.0]}))
    assert (result.lower.tolist(), result.upper.tolist()) == ([-4001.0, -4002.0, -4003.0],) * 2
