"""Random formulas as neutral trees, their text in the spec language and in that of RTAMT, and traces."""

from __future__ import annotations

INTERVALS = ("G", "F", "H", "O", "U", "R", "W", "S", "T")
WORDS = {"implies": "->", "iff": "<->", "next": "X", "prev": "Y"}
SPELLED = {
    "and": ["and", "&&", "&"], "or": ["or", "||", "|"], "implies": ["->", "implies"], "iff": ["<->", "iff"],
    "not": ["not ", "!"], "next": ["X ", "next "], "prev": ["Y ", "prev "], "G": ["G", "always", "globally"],
    "F": ["F", "eventually", "finally"], "H": ["H", "historically"], "O": ["O", "once"],
    "U": ["U", "until"], "R": ["R", "release"], "W": ["W", "unless"], "S": ["S", "since"],
    "T": ["T", "trigger"],
}  # fmt: skip


def leaf(op, **keys):
    return {"op": op, "args": [], **keys}


def random_number(draw, depth, names="xy"):
    if depth == 0 or draw.random() < 0.5:
        if draw.random() < 0.7:
            return leaf("var", name=draw.choice(names))
        return leaf("const", value=float(draw.randint(-4, 4)))
    op = draw.choice(["+", "-", "*", "neg", "abs", "min", "max"])
    count = 1 if op in ("neg", "abs") else 2
    return {"op": op, "args": [random_number(draw, depth - 1, names) for _ in range(count)]}


def random_statistic(draw, value, where=None, earliest=0):
    """A statistic over a window of the past; the window starts `earliest` samples back or more."""
    op = draw.choice(["mean", "median", "std", "sum", "count", "lowest", "highest", "quantile"])
    low = earliest + draw.randint(0, 2)
    tree = {
        "op": op,
        "args": [value] if where is None else [value, where],
        "interval": [low, None] if draw.random() < 0.15 else [low, low + draw.randint(0, 4)],
        "least": draw.choice([None, 1, 2, 3]),
    }
    return tree | {"by": draw.choice([0.0, 0.25, 0.9, 1.0])} if op == "quantile" else tree


def random_with_statistics(draw, depth):
    """A formula some of whose numbers are statistics."""
    if depth == 0 or draw.random() < 0.15:
        where = random_with_statistics(draw, 0) if depth and draw.random() < 0.5 else None
        where = random_formula(draw, 2) if draw.random() < 0.2 else where
        number = random_statistic(draw, random_number(draw, 1), where)
        if draw.random() < 0.3:
            number = {"op": draw.choice(["+", "-", "max", "min"]), "args": [number, random_number(draw, 1)]}
        return {
            "op": draw.choice([">", "<", ">=", "<=", "==", "!="]),
            "args": [random_number(draw, 1), number],
        }
    op = draw.choice(["and", "or", "xor", "implies", "not", "prev", "next", *INTERVALS])
    count = 1 if op in ("not", "prev", "next", "G", "F", "H", "O") else 2
    tree = {"op": op, "args": [random_with_statistics(draw, depth - 1) for _ in range(count)]}
    return tree | {"interval": random_interval(draw)} if op in INTERVALS else tree


def random_recursion(draw, name="a"):
    """A let that refers to its own past, as a formula or as a number."""
    own = leaf("var", name=name)
    if draw.random() < 0.3:
        past = random_statistic(draw, own, draw.choice([None, random_formula(draw, 1)]), earliest=1)
        half = {"op": "*", "args": [leaf("const", value=0.5), past]}
        return {"op": "let", "name": name, "args": [{"op": "+", "args": [half, random_number(draw, 1)]}]}
    body = random_own_past(draw, own)
    for _ in range(draw.randint(1, 3)):
        other = (
            random_own_past(draw, own) if draw.random() < 0.4 else random_formula(draw, draw.randint(0, 2))
        )
        body = {"op": draw.choice(["and", "or", "xor", "implies"]), "args": draw.sample([body, other], 2)}
    return {"op": "let", "name": name, "args": [body]}


def random_own_past(draw, own):
    """A formula of a let's own past."""
    kind = draw.choice(["prev", "wprev", "H", "O", "S", "T", "not", "statistic"])
    if kind == "not":
        return {"op": "not", "args": [random_own_past(draw, own)]}
    if kind == "statistic":
        number = random_statistic(draw, random_number(draw, 1), own, earliest=1)
        return {
            "op": draw.choice([">", "<"]),
            "args": [number, leaf("const", value=float(draw.randint(-2, 4)))],
        }
    if kind in ("prev", "wprev"):
        return {"op": kind, "args": [own]}
    low = draw.randint(1, 3)
    interval = [low, None] if draw.random() < 0.2 else [low, low + draw.randint(0, 3)]
    args = [own] if kind in "HO" else [random_formula(draw, 1), own]
    return {"op": kind, "args": args, "interval": interval}


def random_interval(draw, widest=4, latest=3):
    kind = draw.random()
    if kind < 0.25:
        return None
    low = draw.randint(0, latest)
    return [low, None] if kind < 0.4 else [low, low + draw.randint(0, widest)]


def random_formula(draw, depth, *, ops=None, names="xy"):
    """A formula of at most some depth; `ops` limits the operators above comparisons."""
    if depth == 0 or draw.random() < 0.1:
        if ops is None and draw.random() < 0.05:
            return leaf(draw.choice(["true", "false"]))
        op = draw.choice([">", "<", ">=", "<=", "==", "!="])
        return {"op": op, "args": [random_number(draw, 2, names), random_number(draw, 1, names)]}
    kinds = ops or [
        "and", "or", "xor", "implies", "iff", "not", "next", "prev", "wnext", "wprev", *INTERVALS, *INTERVALS,
    ]  # fmt: skip
    op = draw.choice(kinds)
    count = 1 if op in ("not", "next", "prev", "wnext", "wprev", "G", "F", "H", "O") else 2
    tree = {
        "op": op,
        "args": [random_formula(draw, depth - 1, ops=ops, names=names) for _ in range(count)],
    }
    if op in INTERVALS:
        tree["interval"] = random_interval(draw)
    return tree


def random_signals(draw, n, names="xy"):
    return {name: [float(draw.randint(-6, 6)) for _ in range(n)] for name in names}


def text_of(tree, draw=None):
    """The text of a tree, each operand in brackets; `draw` chooses among spellings."""
    op, args = tree["op"], [text_of(one, draw) for one in tree["args"]]
    if op == "var":
        return tree["name"]
    if op == "const":
        return f"({tree['value']:g})" if tree["value"] < 0 else f"{tree['value']:g}"
    if op in ("true", "false"):
        return op
    if op in ("abs", "min", "max", "sqrt", "exp", "ln", "pow"):
        return f"{op}({', '.join(args)})"
    if op == "let":
        return f"(let {tree['name']} = {args[0]})"
    if op in ("mean", "median", "std", "sum", "count", "lowest", "highest", "quantile"):
        low, high = tree["interval"]
        name = f"quantile({tree['by']})" if op == "quantile" else op
        where = f" where {args[1]}" if len(args) > 1 else ""
        least = f", least {tree['least']}" if tree["least"] is not None else ""
        return f"{name}[{low},{'inf' if high is None else high}]({args[0]}{where}{least})"
    word = draw.choice(SPELLED[op]) if draw and op in SPELLED else WORDS.get(op, op)
    if op in INTERVALS and tree.get("interval") is not None:
        low, high = tree["interval"]
        comma = "," if draw is None else draw.choice([",", ":", " , "])
        word = f"{word}[{low}{comma}{'inf' if high is None else high}]"
    if len(args) == 1:
        return f"{'-' if op == 'neg' else word} ({args[0]})"
    return f"({args[0]}) {word} ({args[1]})"


RTAMT_OPS = ["and", "or", "implies", "not", "G", "F", "H", "O", "U", "S"]
RTAMT_WORDS = {
    "and": "and", "or": "or", "implies": "->", "not": "not", "G": "always", "F": "eventually",
    "H": "historically", "O": "once", "U": "until", "S": "since",
}  # fmt: skip


def rtamt_text(tree):
    """The text of a tree of `RTAMT_OPS` in RTAMT's language, None where it has no such form."""
    op = tree["op"]
    args = [rtamt_text(one) for one in tree["args"]]
    if None in args or op in ("min", "max", "!=", "true", "false"):
        return None
    if op == "var":
        return tree["name"]
    if op == "const":
        return f"({tree['value']:g})" if tree["value"] >= 0 else f"(0-{-tree['value']:g})"
    if op in ("neg", "abs"):
        return f"(0-({args[0]}))" if op == "neg" else f"abs({args[0]})"
    word = RTAMT_WORDS.get(op, op)
    if op in INTERVALS and tree.get("interval") is not None:
        low, high = tree["interval"]
        if high is None:
            return None
        word = f"{word}[{low}:{high}]"
    return f"{word}({args[0]})" if len(args) == 1 else f"(({args[0]}) {word} ({args[1]}))"


def past_reach(tree):
    """How many samples after a change of its signals a tree's past operators can take to settle."""
    inner = max((past_reach(one) for one in tree["args"]), default=0)
    if tree["op"] in ("prev", "wprev"):
        return inner + 1
    if tree["op"] in ("H", "O", "S", "T") or "least" in tree:
        low, high = tree["interval"] or (0, None)
        return inner + (high if high is not None else low + 1)
    return inner


def grid_of(signals, times):
    """Signals that hold, on a grid of distance 1; and where the samples are on it."""
    steps = range(times[0], times[-1] + 1)
    index = [max(at for at, time in enumerate(times) if time <= step) for step in steps]
    held = {name: [values[at] for at in index] for name, values in signals.items()}
    return held, [time - times[0] for time in times]
