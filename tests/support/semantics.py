"""Robustness by its definition, one sample and one window at a time, on neutral trees.

Written from the textbook (Donzé, Maler 2010, Robust Satisfaction of Temporal Logic over Real-Valued Signals;
Deshmukh et al. 2017, Robust Online Monitoring of STL, for what the future may bring) and from nothing else:
it imports nothing of the package. A tree is {"op", "args", "interval", "name", "value", "by"} as in
tests/cases/stl_cases.json; an interval [a, None] has no end. Slow on purpose.
"""

from __future__ import annotations

import math

INF = math.inf
PAST = {"H", "O", "S", "T", "prev", "wprev"}
UNARY = {"G": (min, INF), "H": (min, INF), "F": (max, -INF), "O": (max, -INF)}
NUMBERS = {"+", "-", "*", "/", "neg", "abs", "exp", "sqrt", "ln", "pow", "min", "max", "var", "const"}
NOTHING = (None, None)
AGGREGATES = {"mean", "median", "std", "sum", "count", "lowest", "highest", "quantile"}


def calculate(op, values):
    """The value of a numeric operator."""
    if op == "neg":
        return -values[0]
    if op in ("abs", "exp", "sqrt", "ln"):
        return {"abs": abs, "exp": math.exp, "sqrt": math.sqrt, "ln": math.log}[op](values[0])
    if op in ("min", "max", "pow"):
        return {"min": min, "max": max, "pow": pow}[op](*values)
    left, right = values
    return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right,
            "/": lambda: left / right}[op]()  # fmt: skip


def compare(op, left, right):
    """How far a comparison is from changing."""
    if op in (">=", ">"):
        return left - right
    if op in ("<=", "<"):
        return right - left
    return -abs(left - right) if op == "==" else abs(left - right)


def aggregate(op, values, by=None):
    """A statistic of the values of a window, None where it has none."""
    if op == "count":
        return float(len(values))
    if op == "sum":
        return math.fsum(values)
    if not values:
        return None
    ordered, n = sorted(values), len(values)
    mean = math.fsum(values) / n
    if op == "mean":
        return mean
    if op == "std":
        return math.sqrt(math.fsum((one - mean) ** 2 for one in values) / n)
    if op in ("lowest", "highest"):
        return ordered[0] if op == "lowest" else ordered[-1]
    place = (by if op == "quantile" else 0.5) * (n - 1)
    low = int(place)
    high = min(low + 1, n - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class Definition:
    """Robustness of a tree over the samples there are.

    Args:
        signals: lists of n numbers.
        times: the instants of the samples; None: 0, 1, 2, ...
        empty: the value that an empty window gives in place of an infinite one.
        missing: the margin of a comparison of which a side has no value.
    """

    def __init__(self, signals, times=None, empty=None, missing=0.0):
        self.signals, self.empty, self.missing, self.lets = signals, empty, missing, {}
        self.n = len(next(iter(signals.values())))
        self.times = list(range(self.n)) if times is None else list(times)
        self.known = {}

    def values(self, tree):
        """The robustness at every sample."""
        return [self.at(tree, t) for t in range(self.n)]

    def at(self, tree, t):
        key = id(tree), t
        if key not in self.known:
            self.known[key] = self._at(tree, t)
        return self.known[key]

    def inside(self, interval, t, past):
        low, high = (0, INF) if interval is None else (interval[0], interval[1])
        high = INF if high is None else high
        sign = -1 if past else 1
        return [u for u in range(self.n) if low <= sign * (self.times[u] - self.times[t]) <= high]

    def nothing(self, value):
        return value if self.empty is None else self.empty

    def _at(self, tree, t):
        op, args = tree["op"], tree.get("args", [])
        if op == "let":
            self.lets[tree["name"]] = args[0]
            return self.at(args[0], t)
        if op == "var":
            name = tree["name"]
            return self.at(self.lets[name], t) if name in self.lets else self.signals[name][t]
        if op in AGGREGATES:
            return self._statistic(tree, t)
        if op == "const":
            return tree["value"]
        if op in ("true", "false"):
            return INF if op == "true" else -INF
        if op in NUMBERS:
            values = [self.at(one, t) for one in args]
            return None if None in values else calculate(op, values)
        if op in (">=", ">", "<=", "<", "==", "!="):
            values = [self.at(one, t) for one in args]
            return self.missing if None in values else compare(op, *values)
        if op in ("not", "and", "or", "xor", "implies", "iff"):
            return boolean(op, [self.at(one, t) for one in args])
        if op in ("next", "wnext", "prev", "wprev"):
            there = t - 1 if op in PAST else t + 1
            if 0 <= there < self.n:
                return self.at(args[0], there)
            return self.nothing(INF if op[0] == "w" else -INF)
        interval = tree.get("interval")
        if op in UNARY:
            pick, end = UNARY[op]
            held = [self.at(args[0], u) for u in self.inside(interval, t, op in PAST)]
            return pick(held) if held else self.nothing(end)
        return self._pair(op, args, interval, t)

    def _statistic(self, tree, t):
        value, *where = tree["args"]
        counted = []
        for u in self.inside(tree["interval"], t, True):
            number = self.at(value, u)
            if number is not None and (not where or self.at(where[0], u) > 0):
                counted.append(number)
        if tree.get("least") is not None and len(counted) < tree["least"]:
            return None
        return aggregate(tree["op"], counted, tree.get("by"))

    def _pair(self, op, args, interval, t):
        sign = -1 if op in "RT" else 1
        if op == "W":
            whole = None if interval is None else [0, interval[1]]
            held = [self.at(args[0], u) for u in self.inside(whole, t, False)]
            always = min(held) if held else self.nothing(INF)
            return max(always, self._pair("U", args, interval, t))
        past = op in PAST
        reached = []
        for u in self.inside(interval, t, past):
            between = range(u + 1, t + 1) if past else range(t, u)
            reached.append(min([sign * self.at(args[1], u), *(sign * self.at(args[0], s) for s in between)]))
        return sign * max(reached) if reached else sign * self.nothing(-INF)


def boolean(op, values):
    """The robustness of a Boolean operator of one or two formulas."""
    a = values[0]
    if op == "not":
        return -a
    b = values[1]
    return {
        "and": min(a, b),
        "or": max(a, b),
        "implies": max(-a, b),
        "xor": max(min(a, -b), min(-a, b)),
        "iff": min(max(-a, b), max(a, -b)),
    }[op]


class Future:
    """The interval of robustness once samples after the last can be anything; uniform samples.

    After the trace every signal is [-inf, inf] for ever. A window without an end is looked at until nothing
    can change any more, which `settled` samples after the trace is certain.
    """

    def __init__(self, signals, settled):
        self.signals, self.settled, self.lets = signals, settled, {}
        self.n = len(next(iter(signals.values())))
        self.known = {}

    def bounds(self, tree):
        """The pairs (lower, upper) at every sample of the trace."""
        return [self.at(tree, t) for t in range(self.n)]

    def at(self, tree, t):
        key = id(tree), t
        if key not in self.known:
            self.known[key] = self._at(tree, t)
        return self.known[key]

    def ahead(self, interval, t):
        low, high = (0, None) if interval is None else interval
        last = t + high if high is not None else max(t + low, self.n + self.settled)
        return range(t + low, last + 1)

    def behind(self, interval, t):
        low, high = (0, None) if interval is None else interval
        first = 0 if high is None else max(0, t - high)
        return range(first, t - low + 1)

    def window(self, op, interval, t):
        return self.behind(interval, t) if op in PAST else self.ahead(interval, t)

    def _at(self, tree, t):
        op, args = tree["op"], tree.get("args", [])
        if op == "let":
            self.lets[tree["name"]] = args[0]
            return self.at(args[0], t)
        if op == "var" and tree["name"] in self.lets:
            return self.at(self.lets[tree["name"]], t)
        if op == "var":
            return (self.signals[tree["name"]][t],) * 2 if t < self.n else (-INF, INF)
        if op in AGGREGATES:
            return self._statistic(tree, t)
        if op == "const":
            return (tree["value"],) * 2
        if op in ("true", "false"):
            return ((INF if op == "true" else -INF),) * 2
        if op in NUMBERS:
            ranges = [self.at(one, t) for one in args]
            return NOTHING if NOTHING in ranges else number_range(op, ranges)
        if op in (">=", ">", "<=", "<", "==", "!="):
            left, right = self.at(args[0], t), self.at(args[1], t)
            if NOTHING in (left, right):
                return margin_range(op, (-INF, INF), (-INF, INF))
            if left[0] == left[1] and right[0] == right[1]:
                return (compare(op, left[0], right[0]),) * 2
            return margin_range(op, left, right)
        if op in ("next", "wnext", "prev", "wprev"):
            if op in PAST and t == 0:
                return ((INF if op[0] == "w" else -INF),) * 2
            return self.at(args[0], t - 1 if op in PAST else t + 1)
        return self._formula(op, args, tree.get("interval"), t)

    def _statistic(self, tree, t):
        value, *where = tree["args"]
        counted, unsure = [], False
        for u in self.behind(tree["interval"], t):
            number = self.at(value, u)
            holds = self.at(where[0], u) if where else (INF, INF)
            if number == NOTHING or holds[1] <= 0:
                continue
            unsure = unsure or holds[0] <= 0 or number[0] != number[1]
            counted.append(number[0])
        if unsure:
            return (0.0 if tree["op"] in ("count", "std") else -INF), INF
        if tree.get("least") is not None and len(counted) < tree["least"]:
            return NOTHING
        found = aggregate(tree["op"], counted, tree.get("by"))
        return NOTHING if found is None else (found, found)

    def _formula(self, op, args, interval, t):
        if op in ("not", "and", "or", "xor", "implies", "iff"):
            pairs = [self.at(one, t) for one in args]
            if op == "not":
                return -pairs[0][1], -pairs[0][0]
            (a, b), (c, d) = pairs
            low = {"and": min(a, c), "or": max(a, c), "implies": max(-b, c),
                   "xor": max(min(a, -d), min(-b, c)), "iff": min(max(-b, c), max(a, -d))}[op]  # fmt: skip
            high = {"and": min(b, d), "or": max(b, d), "implies": max(-a, d),
                    "xor": max(min(b, -c), min(-a, d)), "iff": min(max(-a, d), max(b, -c))}[op]  # fmt: skip
            return low, high
        if op in UNARY:
            pick, end = UNARY[op]
            pairs = [self.at(args[0], u) for u in self.window(op, interval, t)]
            return tuple(pick((pair[side] for pair in pairs), default=end) for side in (0, 1))
        return tuple(self._pair(op, args, interval, t, side) for side in (0, 1))

    def _pair(self, op, args, interval, t, side):
        if op == "W":
            whole = None if interval is None else [0, interval[1]]
            always = min(self.at(args[0], u)[side] for u in self.window("G", whole, t))
            return max(always, self._pair("U", args, interval, t, side))
        sign, past = (-1 if op in "RT" else 1), op in PAST

        def end(one, u):
            return sign * self.at(one, u)[side]

        best = -INF
        for u in self.window(op, interval, t):
            between = range(u + 1, t + 1) if past else range(t, u)
            best = max(best, min([end(args[1], u), *(end(args[0], s) for s in between)]))
        return sign * best


def number_range(op, ranges):
    """The range of sums, differences, minus, abs, min and max by interval arithmetic."""
    (a, b), *rest = ranges
    if op == "neg":
        return -b, -a
    if op == "abs":
        return max(0.0, a, -b), max(abs(a), abs(b))
    if op in ("min", "max"):
        pick = {"min": min, "max": max}[op]
        return pick(one for one, _ in ranges), pick(other for _, other in ranges)
    c, d = rest[0]
    if op == "*" and a == b and c == d:
        return a * c, a * c
    if op == "*":
        return -INF, INF
    low, high = (a + c, b + d) if op == "+" else (a - d, b - c)
    return (-INF if math.isnan(low) else low), (INF if math.isnan(high) else high)


def margin_range(op, left, right):
    """The range of a comparison by interval arithmetic."""
    low, high = number_range("-", [left, right])
    if op in ("<=", "<"):
        low, high = -high, -low
    if op in (">=", ">", "<=", "<"):
        return low, high
    least, most = max(0.0, low, -high), max(abs(low), abs(high))
    return (-most, -least) if op == "==" else (least, most)
