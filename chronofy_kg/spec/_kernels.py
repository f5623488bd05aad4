"""Formulas run sample by sample, compiled.

Imported on first use only (`machine` does it), because numba takes a second to load. numba carries no types
that mypy could check, so callers go through `machine`.

`run` is an interpreter of the programs that `machine` builds: each node writes its values to a ring that is
as long as its readers look back. Its work per sample is O(1), amortised: minimum and maximum over windows
keep a monotone deque (Lemire 2006, Streaming Maximum-Minimum Filter), until and sums a queue of two stacks,
as clamps and moments compose but cannot be taken back (Tangwongsan et al. 2015, General Incremental
Sliding-Window Aggregation). Median, quantile, lowest and highest of k numbers may move up to k of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chronofy_kg.spec._moments import COUNT, STD, between, compiled, merge, moment

__all__ = ["run"]

INF = np.inf


# What a node does; `machine` uses the same numbers.
INPUT, CONST, ADD, SUB, MUL, DIV, NEG, ABS, SQRT, EXP, LN, POW, LEAST, MOST = range(14)
GREATER, LESS, EQUAL, UNEQUAL, NOT, AND, OR, SHIFT, EXTREME, REACH, JOIN, MOMENTS, RANK = range(14, 27)
# Columns of the table of nodes.
CODE, ONE, TWO, DELAY, LOW, HIGH, FLAG, RING, SIZE, QUEUE, ROOM, ROW = range(12)
# Columns of a node's marks, for each plane.
HEAD, TAIL, NEXT, FRONT, SPLIT, DOUBT = range(6)


@compiled
def arithmetic(code: Any, a: Any, b: Any) -> Any:
    """The value of a numeric operator."""
    if code == ADD:
        return a + b
    if code == SUB:
        return a - b
    if code == MUL:
        return a * b
    if code == DIV:
        return a / b
    if code == NEG:
        return -a
    if code == ABS:
        return abs(a)
    if code == SQRT:
        return np.sqrt(a)
    if code == EXP:
        return np.exp(a)
    if code == LN:
        return np.log(a)
    if code == POW:
        return np.power(a, b)
    # As numpy has it: what has no value leaves no value.
    if np.isnan(a) or np.isnan(b):
        return np.nan
    return min(a, b) if code == LEAST else max(a, b)


@compiled
def arithmetic_range(code: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The range of a numeric operator over [a, b] and [c, d]; NaN where an operand has no value."""
    if np.isnan(a) or np.isnan(c):
        return np.nan, np.nan
    if a == b and c == d:
        value = arithmetic(code, a, c)
        if np.isnan(value):
            return -INF, INF
        return value, value
    low, high = -INF, INF
    if code == ADD:
        low, high = a + c, b + d
    elif code == SUB:
        low, high = a - d, b - c
    elif code == NEG:
        low, high = -b, -a
    elif code == ABS:
        low, high = max(0.0, a, -b), max(abs(a), abs(b))
    elif code == LEAST:
        low, high = min(a, c), min(b, d)
    elif code == MOST:
        low, high = max(a, c), max(b, d)
    elif code in (EXP, SQRT):
        low = 0.0
    return (-INF if np.isnan(low) else low), (INF if np.isnan(high) else high)


@compiled
def margin(code: Any, a: Any, b: Any, missing: Any) -> Any:
    """How far a comparison is from changing; `missing` where a side has no value."""
    value = b - a if code == LESS else a - b
    if np.isnan(a) or np.isnan(b):
        return missing
    if code == EQUAL:
        return -abs(value)
    return abs(value) if code == UNEQUAL else value


@compiled
def margin_range(code: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The range of a comparison of [a, b] with [c, d]."""
    if code == LESS:
        a, b, c, d = c, d, a, b
    low, high = a - d, b - c
    low = -INF if np.isnan(low) else low
    high = INF if np.isnan(high) else high
    if code in (GREATER, LESS):
        return low, high
    least, most = max(0.0, low, -high), max(abs(low), abs(high))
    return (-most, -least) if code == EQUAL else (least, most)


@compiled
def bounds(table: Any, node: Any, index: Any, ranges: Any, end: Any) -> Any:
    """The samples [first, last] of the window of a node at an index, clipped to the samples there are."""
    row = table[node, ROW]
    if row >= 0:
        first, last = ranges[row, 0, index], ranges[row, 1, index] - 1
    elif table[node, FLAG] & 2:
        last = index - table[node, LOW]
        first = index - table[node, HIGH] if table[node, HIGH] >= 0 else 0
    else:
        first = index + table[node, LOW]
        last = index + table[node, HIGH]
    if end >= 0:
        last = min(last, end - 1)
    return max(first, 0), last


@compiled
def extreme(
    table: Any, ring: Any, node: Any, first: Any, last: Any, mark: Any, queue: Any, held: Any, fill: Any
) -> Any:
    """Minimum or maximum over a window by a monotone deque; without an end behind, a running one."""
    sign = 1.0 if table[node, FLAG] & 1 else -1.0
    source, base, room = table[node, ONE], table[node, QUEUE], table[node, ROOM]
    ring_at, size = table[source, RING], table[source, SIZE]
    if table[node, HIGH] < 0 and table[node, ROW] < 0:
        while mark[NEXT] <= last:
            value = sign * ring[ring_at + (mark[NEXT] & size)]
            if mark[NEXT] == 0 or value < held[base]:
                held[base] = value
            mark[NEXT] += 1
        return sign * held[base] if mark[NEXT] > 0 else fill
    mark[NEXT] = max(mark[NEXT], first)
    while mark[NEXT] <= last:
        value = sign * ring[ring_at + (mark[NEXT] & size)]
        while mark[TAIL] > mark[HEAD] and held[base + ((mark[TAIL] - 1) & room)] >= value:
            mark[TAIL] -= 1
        queue[base + (mark[TAIL] & room)] = mark[NEXT]
        held[base + (mark[TAIL] & room)] = value
        mark[TAIL] += 1
        mark[NEXT] += 1
    while mark[TAIL] > mark[HEAD] and queue[base + (mark[HEAD] & room)] < first:
        mark[HEAD] += 1
    return sign * held[base + (mark[HEAD] & room)] if mark[TAIL] > mark[HEAD] else fill


@compiled
def reach(table: Any, ring: Any, node: Any, first: Any, last: Any, mark: Any, stacks: Any, fill: Any) -> Any:
    """Until (or since) over the samples of a window: clamps (R, L), composed by two stacks.

    Of until the earliest clamp is outermost, of since the latest.
    """
    past = table[node, FLAG] & 2
    left, right, base, room = table[node, ONE], table[node, TWO], table[node, QUEUE], table[node, ROOM]
    left_at, left_size, right_at, right_size = (
        table[left, RING],
        table[left, SIZE],
        table[right, RING],
        table[right, SIZE],
    )
    back = stacks[base]
    if table[node, HIGH] < 0 and table[node, ROW] < 0:
        while mark[NEXT] <= last:
            hold, goal = ring[left_at + (mark[NEXT] & left_size)], ring[right_at + (mark[NEXT] & right_size)]
            back[0] = goal if mark[NEXT] == 0 else max(goal, min(hold, back[0]))
            mark[NEXT] += 1
        return back[0] if mark[NEXT] > 0 else fill
    if mark[NEXT] <= first:  # what was held has all left the window
        mark[NEXT] = mark[SPLIT] = first
        back[0], back[1] = -INF, INF
    while mark[NEXT] <= last:
        hold, goal = ring[left_at + (mark[NEXT] & left_size)], ring[right_at + (mark[NEXT] & right_size)]
        if past:
            back[0], back[1] = max(goal, min(hold, back[0])), min(hold, back[1])
        else:
            back[0], back[1] = max(back[0], min(back[1], goal)), min(hold, back[1])
        mark[NEXT] += 1
    if first > last:
        return fill
    if first >= mark[SPLIT]:
        r2, l2 = -INF, INF
        for at in range(mark[NEXT] - 1, first - 1, -1):
            hold, goal = ring[left_at + (at & left_size)], ring[right_at + (at & right_size)]
            if past:
                r2, l2 = max(r2, min(l2, goal)), min(hold, l2)
            else:
                r2, l2 = max(goal, min(hold, r2)), min(hold, l2)
            stacks[base + 1 + (at & room), 0], stacks[base + 1 + (at & room), 1] = r2, l2
        mark[SPLIT] = mark[NEXT]
        back[0], back[1] = -INF, INF
    front = stacks[base + 1 + (first & room)]
    if past:
        return max(back[0], min(back[1], front[0]))
    return max(front[0], min(front[1], back[0]))


@compiled
def counts(table: Any, rings: Any, plane: Any, node: Any, at: Any) -> Any:
    """Whether a sample counts in a window of numbers: it has a value, and its condition holds."""
    source, where = table[node, ONE], table[node, TWO]
    if np.isnan(rings[plane, table[source, RING] + (at & table[source, SIZE])]):
        return False
    return where < 0 or rings[plane, table[where, RING] + (at & table[where, SIZE])] > 0.0


@compiled
def doubtful(table: Any, rings: Any, low: Any, high: Any, node: Any, at: Any) -> Any:
    """Whether a sample's number, or whether it counts, is not known yet."""
    source, where = table[node, ONE], table[node, TWO]
    value = table[source, RING] + (at & table[source, SIZE])
    if np.isnan(rings[low, value]):
        return False
    if where >= 0:
        place = table[where, RING] + (at & table[where, SIZE])
        if rings[low, place] <= 0.0 < rings[high, place]:
            return True
        if rings[high, place] <= 0.0:
            return False
    return rings[low, value] != rings[high, value]


@compiled
def add(table: Any, rings: Any, plane: Any, node: Any, at: Any, one: Any) -> None:
    """Put the sample at an index into `one` as a set of at most one number."""
    source = table[node, ONE]
    one[:] = 0.0
    if counts(table, rings, plane, node, at):
        one[0], one[1] = 1.0, rings[plane, table[source, RING] + (at & table[source, SIZE])]


@compiled
def moments(
    table: Any, rings: Any, plane: Any, node: Any, first: Any, last: Any, mark: Any, stacks: Any, least: Any
) -> Any:
    """Sum, count, mean or standard deviation over a window, by two stacks."""
    base, room = table[node, QUEUE], table[node, ROOM]
    back, one, whole = stacks[base], np.zeros(3), np.zeros(3)
    if mark[NEXT] <= first:
        mark[NEXT] = mark[SPLIT] = first
        back[:] = 0.0
    while mark[NEXT] <= last:
        add(table, rings, plane, node, mark[NEXT], one)
        merge(back, one, back)
        mark[NEXT] += 1
    if first > last or (table[node, HIGH] < 0 and table[node, ROW] < 0):
        return moment(table[node, FLAG] >> 2, back if first <= last else one * 0.0, least)
    if first >= mark[SPLIT]:
        for at in range(mark[NEXT] - 1, first - 1, -1):
            add(table, rings, plane, node, at, one)
            merge(one, whole, whole)
            stacks[base + 1 + (at & room)] = whole
        mark[SPLIT] = mark[NEXT]
        back[:] = 0.0
    merge(stacks[base + 1 + (first & room)], back, whole)
    return moment(table[node, FLAG] >> 2, whole, least)


@compiled
def rank(
    table: Any,
    rings: Any,
    plane: Any,
    node: Any,
    first: Any,
    last: Any,
    mark: Any,
    held: Any,
    level: Any,
    least: Any,
) -> Any:
    """A quantile over a window, whose numbers are kept in order."""
    source, base = table[node, ONE], table[node, QUEUE]
    ring_at, size = table[source, RING], table[source, SIZE]
    while mark[FRONT] < min(first, mark[NEXT]):
        if counts(table, rings, plane, node, mark[FRONT]):
            count = mark[TAIL]
            place = np.searchsorted(held[base : base + count], rings[plane, ring_at + (mark[FRONT] & size)])
            held[base + place : base + count - 1] = held[base + place + 1 : base + count].copy()
            mark[TAIL] -= 1
        mark[FRONT] += 1
    mark[FRONT] = max(mark[FRONT], first)
    mark[NEXT] = max(mark[NEXT], first)
    while mark[NEXT] <= last:
        if counts(table, rings, plane, node, mark[NEXT]):
            count = mark[TAIL]
            value = rings[plane, ring_at + (mark[NEXT] & size)]
            place = np.searchsorted(held[base : base + count], value)
            held[base + place + 1 : base + count + 1] = held[base + place : base + count].copy()
            held[base + place] = value
            mark[TAIL] += 1
        mark[NEXT] += 1
    if mark[TAIL] < max(least, 1.0):
        return np.nan
    return between(held[base : base + mark[TAIL]], mark[TAIL], level)


@compiled
def in_doubt(table: Any, rings: Any, low: Any, high: Any, node: Any, first: Any, last: Any, mark: Any) -> Any:
    """How many samples of a window are in doubt; kept up to date as the window moves."""
    while mark[FRONT] < min(first, mark[NEXT]):
        mark[DOUBT] -= 1 if doubtful(table, rings, low, high, node, mark[FRONT]) else 0
        mark[FRONT] += 1
    mark[FRONT] = max(mark[FRONT], first)
    mark[NEXT] = max(mark[NEXT], first)
    while mark[NEXT] <= last:
        mark[DOUBT] += 1 if doubtful(table, rings, low, high, node, mark[NEXT]) else 0
        mark[NEXT] += 1
    return mark[DOUBT] > 0


@compiled
def step(  # noqa: C901 (one branch a code)
    table: Any, number: Any, rings: Any, marks: Any, queue: Any, held: Any, stacks: Any, planes: Any,
    missing: Any, ranges: Any, node: Any, index: Any, end: Any,
) -> None:  # fmt: skip
    """Write the values of one node at one index, on all planes."""
    code, one, two = table[node, CODE], table[node, ONE], table[node, TWO]
    at = table[node, RING] + (index & table[node, SIZE])
    a_at = table[one, RING] + (index & table[one, SIZE]) if one >= 0 else 0
    b_at = table[two, RING] + (index & table[two, SIZE]) if two >= 0 else a_at
    low, high = planes[0], planes[1]
    first, last = index, index
    if code >= EXTREME:
        first, last = bounds(table, node, index, ranges, end)
    for plane in range(rings.shape[0]):
        a, b = rings[plane, a_at], rings[plane, b_at]
        mark = marks[plane, node]
        fill = number[node, 0]
        if plane == planes[2] and not (code == EXTREME and table[node, FLAG] & 4):
            fill = 0.0
        value = 0.0
        if code == CONST:
            value = number[node, 0]
        elif ADD <= code <= MOST:
            value = arithmetic(code, a, b)
        elif GREATER <= code <= UNEQUAL:
            value = margin(code, a, b, missing[plane])
        elif code == NOT:
            other = high if plane == low else low if plane == high else plane
            value = -rings[other, a_at]
        elif code == AND:
            value = min(a, b)
        elif code == OR:
            value = max(a, b)
        elif code == SHIFT:
            there = index - 1 if table[node, FLAG] & 2 else index + 1
            value = fill
            if there >= 0 and (end < 0 or there < end):
                value = rings[plane, table[one, RING] + (there & table[one, SIZE])]
        elif code == EXTREME:
            value = extreme(table, rings[plane], node, first, last, mark, queue[plane], held[plane], fill)
        elif code == REACH:
            value = reach(table, rings[plane], node, first, last, mark, stacks[plane], fill)
        elif code == JOIN:
            value = fill if first > last else min(a, b)
        elif code == MOMENTS:
            value = moments(table, rings, plane, node, first, last, mark, stacks[plane], number[node, 0])
        elif code == RANK:
            value = rank(
                table, rings, plane, node, first, last, mark, held[plane], number[node, 1], number[node, 0]
            )
        rings[plane, at] = value
    if low < 0:
        return
    if ADD <= code <= UNEQUAL:
        a, b, c, d = rings[low, a_at], rings[high, a_at], rings[low, b_at], rings[high, b_at]
        ranged = arithmetic_range(code, a, b, c, d) if code <= MOST else margin_range(code, a, b, c, d)
        rings[low, at], rings[high, at] = ranged[0], ranged[1]
    elif code >= MOMENTS:
        unknown = in_doubt(table, rings, low, high, node, first, last, marks[rings.shape[0], node])
        value = rings[low, at]
        if unknown:
            floor = table[node, FLAG] >> 2 == COUNT or table[node, FLAG] >> 2 == STD
            rings[low, at] = 0.0 if code == MOMENTS and floor else -INF
            rings[high, at] = INF
        else:
            rings[high, at] = value


@compiled
def run(
    table: Any, number: Any, rings: Any, marks: Any, queue: Any, held: Any, stacks: Any, planes: Any,
    missing: Any, ranges: Any, order: Any, root: Any, inputs: Any, out: Any, start: Any, end: Any,
) -> None:  # fmt: skip
    """Run a program over ticks `start`, `start + 1`, ...

    Args:
        table, number: the nodes and their constants.
        rings, marks, queue, held, stacks: the state; a plane each, marks one more for doubts.
        planes: the planes of the lower and upper ends, and of empty windows as 0; -1: there is none.
        missing: what a comparison with a number that has no value gives, on each plane.
        ranges: int64[rows, 2, n], windows [first, last) that are given by index.
        order: nodes, operands first.
        root: the node whose values are wanted.
        inputs: float64[planes, slots, ticks].
        out: float64[planes, ticks]: the root's values, at the index of the tick less its delay.
        start: the number of the first tick.
        end: how many samples there are, if no more will come, else -1.
    """
    for tick in range(out.shape[1]):
        now = start + tick
        for place in range(order.size):
            node = order[place]
            index = now - table[node, DELAY]
            if index < 0 or (0 <= end <= index):
                continue
            if table[node, CODE] == INPUT:
                at = table[node, RING] + (index & table[node, SIZE])
                for plane in range(rings.shape[0]):
                    rings[plane, at] = inputs[plane, table[node, ONE], tick]
            else:
                step(
                    table,
                    number,
                    rings,
                    marks,
                    queue,
                    held,
                    stacks,
                    planes,
                    missing,
                    ranges,
                    node,
                    index,
                    end,
                )
        index = now - table[root, DELAY]
        if index >= 0 and (end < 0 or index < end):
            at = table[root, RING] + (index & table[root, SIZE])
            for plane in range(rings.shape[0]):
                out[plane, tick] = rings[plane, at]
