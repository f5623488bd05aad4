"""Formulas as programs that run sample by sample: for lets that refer to themselves, and for `online`.

A program is a table of nodes, operands first. A node that looks ahead gives its values late: `delay`
samples after its operands have theirs; every node reads its operands by index, so delays need no alignment.
What the compiled interpreter does with the table is in `_kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.spec.ast import (
    Arithmetic,
    Boolean,
    Call,
    Compare,
    Interval,
    Logic,
    Name,
    Negate,
    Node,
    Not,
    Number,
    Pair,
    Recursive,
    Step,
    Temporal,
    Timed,
    Window,
)
from chronofy_kg.spec.clocks import Clock, PointClock, UniformClock
from chronofy_kg.spec.numbers import number_value
from chronofy_kg.spec.recursion import evaluation_order, operands_of, own_parts
from chronofy_kg.spec.statistics import MOMENTS, least_of, level_of
from chronofy_kg.spec.trace import Floats

__all__ = ["Offsets", "Planes", "Program", "State", "compile_tree", "run_recursion"]

INFINITY = float("inf")
Offsets = Callable[[Interval | None], "tuple[int, int | None]"]
_INPUT, _CONST = 0, 1
_SIGNS = {"+": 2, "-": 3, "*": 4, "/": 5}
_FUNCTIONS = {"abs": 7, "sqrt": 8, "exp": 9, "ln": 10, "pow": 11, "min": 12, "max": 13}
_COMPARE = {">=": 14, ">": 14, "<=": 15, "<": 15, "==": 16, "!=": 17}
_NEGATE, _NOT, _AND, _OR, _SHIFT, _EXTREME, _REACH, _JOIN, _MOMENTS, _RANK = 6, *range(18, 27)
_LOWEST, _PAST = 1, 2
_PASTS = frozenset({"H", "O", "S", "Y", "wprev"})


@dataclass(frozen=True, slots=True)
class Planes:
    """Which of a machine's planes hold what; -1: none. All others hold plain values.

    `lower` and `upper` ends; values in which `empty` windows count as 0; those in which a missing number
    counts for (`better`) or against (`worse`) whatever compares it. `missing` is its count on all others.
    """

    count: int
    lower: int = -1
    upper: int = -1
    empty: int = -1
    better: int = -1
    worse: int = -1
    missing: float = 0.0

    @property
    def margins(self) -> Floats:
        """What a comparison with a missing number gives on each plane."""
        found = np.full(self.count, self.missing)
        for plane, value in ((self.better, 1.0), (self.worse, -1.0)):
            if plane >= 0:
                found[plane] = value
        return found


@dataclass(slots=True)
class _Row:
    """A node: its code, operands, delay, window, flags and constants; how far back its operands are read."""

    code: int
    one: int = -1
    two: int = -1
    delay: int = 0
    low: int = 0
    high: int = 0
    flag: int = 0
    number: float = 0.0
    level: float = 0.0
    back: int = 0
    room: int = 0
    row: int = -1


@dataclass(frozen=True, slots=True)
class Program:
    """A table of nodes for the interpreter, with the sizes of the state that it needs."""

    table: NDArray[np.int64]
    numbers: Floats
    order: NDArray[np.int64]
    root: int
    ranges: NDArray[np.int64]
    rings: int
    queues: int

    @property
    def delay(self) -> int:
        """How many samples after its own a value is known."""
        return int(self.table[self.root, 3])


class State:
    """A program with what it remembers.

    Args:
        program: what runs.
        planes: what the planes of inputs and results are.
    """

    def __init__(self, program: Program, planes: Planes) -> None:
        self.program, self.planes = program, planes
        count, nodes = planes.count, len(program.table)
        self.rings = np.zeros((count, program.rings))
        self.marks = np.zeros((count + 1, nodes, 6), dtype=np.int64)
        self.queue = np.zeros((count, program.queues), dtype=np.int64)
        self.held = np.zeros((count, program.queues))
        self.stacks = np.zeros((count, program.queues, 3))
        self._roles = np.asarray([planes.lower, planes.upper, planes.empty], dtype=np.int64)
        self._margins = planes.margins
        self.ticks = 0

    def copy(self) -> State:
        """Return the same, to be run on its own."""
        other = object.__new__(State)
        other.program, other.planes, other.ticks = self.program, self.planes, self.ticks
        other._roles, other._margins = self._roles, self._margins
        for name in ("rings", "marks", "queue", "held", "stacks"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def feed(self, inputs: Floats, end: int = -1) -> Floats:
        """Run over samples and return the root's values, each `delay` samples late.

        Args:
            inputs: float64[planes, slots, ticks].
            end: how many samples there are in all, once no more will come; then ticks go beyond them.

        Returns:
            float64[planes, ticks]; 0 where a tick gives no value.
        """
        from chronofy_kg.spec._kernels import run  # numba loads when the first machine runs

        program = self.program
        out = np.zeros((self.planes.count, inputs.shape[-1]))
        run(
            program.table, program.numbers, self.rings, self.marks, self.queue, self.held, self.stacks,
            self._roles, self._margins, program.ranges, program.order, program.root, inputs, out,
            self.ticks, end,
        )  # fmt: skip
        self.ticks += inputs.shape[-1]
        return out


def run_recursion(
    node: Recursive, operands: Sequence[Sequence[Floats]], clock: Clock, length: int, planes: Planes
) -> tuple[Floats, ...]:
    """Return the values of a let that refers to itself, over a whole trace.

    Args:
        node: the let.
        operands: the values of `operands_of(node)` on each plane, each float64[length] or [b, length].
        clock: the windows.
        length: how many samples.
        planes: what the planes are.
    """
    outer = operands_of(node)
    slots = {id(one): slot for slot, one in enumerate(outer)}
    ranges = clock.past_ranges if isinstance(clock, PointClock) else None
    offsets = clock.offset if isinstance(clock, UniformClock) else _no_offsets
    program = compile_tree(node, slots, offsets, ranges, length)
    shape = np.broadcast_shapes((length,), *(one.shape for planes_of in operands for one in planes_of))
    inputs = np.zeros((*shape[:-1], planes.count, max(len(outer), 1), length))
    for slot, found in enumerate(operands):
        for plane, values in enumerate(found):
            inputs[..., plane, slot, :] = values
    results = np.empty((planes.count, *shape))
    for row in np.ndindex(shape[:-1]):
        results[(slice(None), *row)] = State(program, planes).feed(inputs[row])
    return tuple(results)


def _no_offsets(interval: Interval | None) -> tuple[int, int | None]:
    raise AssertionError("windows are given by index")


def compile_tree(
    root: Node,
    slots: Mapping[int, int],
    offsets: Offsets,
    ranges: Callable[[Interval | None], tuple[NDArray[np.intp], NDArray[np.intp]]] | None = None,
    length: int | None = None,
) -> Program:
    """Return the program of a core tree.

    Args:
        root: the tree.
        slots: the input that gives the values of a node, by the node's id.
        offsets: the first and last offset of an interval in samples; None: no end.
        ranges: the windows of the past by index, in place of offsets.
        length: how many samples will come, where that is known; windows need no more room.
    """
    builder = _Builder(slots, offsets, ranges, length)
    # What is below an input is not a part of the program.
    for node in evaluation_order(root, lambda node: () if id(node) in slots else node.children):
        builder.add(node)
    return builder.program(builder.places[id(root)])


class _Builder:
    """Lowers nodes to rows. A row can be read `back` samples before its own index."""

    def __init__(
        self,
        slots: Mapping[int, int],
        offsets: Offsets,
        ranges: Callable[[Interval | None], tuple[NDArray[np.intp], NDArray[np.intp]]] | None,
        length: int | None,
    ) -> None:
        self.slots, self.offsets, self.index_ranges, self.length = slots, offsets, ranges, length
        self.rows: list[_Row] = []
        self.places: dict[int, int] = {}
        self.ranges: list[NDArray[np.int64]] = []
        self.made: dict[int, range] = {}
        self.order: list[int] = []
        self.late: set[int] = set()
        self.pending: dict[str, int] = {}

    def add(self, node: Node) -> None:
        """Append the rows of a node, whose operands are there."""
        start = len(self.rows)
        if id(node) in self.slots:
            self.places[id(node)] = self._row(_Row(_INPUT, flag=self.slots[id(node)]))
        elif isinstance(node, Recursive):
            self.places[id(node)] = self._close(node)
        elif isinstance(node, Name):
            # A let within itself: which row it is is known when the body ends.
            self.places[id(node)] = self.pending.setdefault(node.name, -2 - len(self.pending))
        else:
            self.places[id(node)] = self._lower(node, [self.places[id(child)] for child in node.children])
        self.made[id(node)] = made = range(start, len(self.rows))
        if self._is_late(node):
            self.late.add(id(node))
        else:
            self.order.extend(made)

    def _is_late(self, node: Node) -> bool:
        """Whether a node has its value only after the let that it is part of: it stands below a guard."""
        if id(node) in self.slots or isinstance(node, Recursive):
            return False
        starts = node.interval.low if isinstance(node, Timed) and node.interval is not None else None
        past = isinstance(node, Window) or (
            isinstance(node, Temporal | Pair | Step) and node.operator in _PASTS
        )
        if past and (isinstance(node, Step) or (isinstance(starts, Number) and starts.value > 0)):
            return False
        return isinstance(node, Name) or any(id(child) in self.late for child in node.children)

    def _row(self, row: _Row, ahead: int = 0) -> int:
        row.delay = ahead + max((self.rows[one].delay for one in (row.one, row.two) if one >= 0), default=0)
        self.rows.append(row)
        return len(self.rows) - 1

    def _close(self, node: Recursive) -> int:
        """Let a body's references to itself read its root, and let all that depends on them wait for it."""
        root, waiting = self.places[id(node.body)], self.pending.get(node.name)
        if waiting is None:
            return root
        for row in self.rows:
            row.one, row.two = (root if one == waiting else one for one in (row.one, row.two))
        own = [at for one in own_parts(node) for at in self.made[one]]
        delay = max(self.rows[at].delay for at in own)
        for at in own:
            self.rows[at].delay = delay
        self.order.extend(at for one in own_parts(node) if one in self.late for at in self.made[one])
        return root

    def _lower(self, node: Node, places: list[int]) -> int:
        match node:
            case Boolean(value):
                return self._row(_Row(_CONST, number=INFINITY if value else -INFINITY))
            case Logic(operator):
                return self._chain([_AND if operator == "and" else _OR] * (len(places) - 1), places)
            case Not():
                return self._row(_Row(_NOT, places[0]))
            case Compare(operator):
                return self._row(_Row(_COMPARE[operator], *places))
            case Step(operator):
                past, weak = operator in ("Y", "wprev"), operator in ("wnext", "wprev")
                row = _Row(
                    _SHIFT, places[0], flag=_PAST * past, number=INFINITY if weak else -INFINITY, back=past
                )
                return self._row(row, 0 if past else 1)
            case Temporal(operator, _, interval):
                lowest = operator in "GH"
                return self._extreme(places[0], self._window(interval, operator in "HO"), lowest)
            case Pair(operator, _, _, interval):
                return self._pair(places, self._window(interval, operator == "S"))
            case _:
                return self._lower_number(node, places)

    def _lower_number(self, node: Node, places: list[int]) -> int:
        match node:
            case Number():
                return self._row(_Row(_CONST, number=float(number_value(node, [], {}))))
            case Arithmetic(operators):
                return self._chain([_SIGNS[sign] for sign in operators], places)
            case Negate():
                return self._row(_Row(_NEGATE, places[0]))
            case Call(function):
                code = _FUNCTIONS[function]
                if len(places) == 1:
                    return self._row(_Row(code, places[0]))
                return self._chain([code] * (len(places) - 1), places)
            case Window():
                return self._statistic(node, places)
            case _:
                raise TypeError(f"{type(node).__name__} is no node of a program")

    def _chain(self, codes: list[int], places: list[int]) -> int:
        whole = places[0]
        for code, place in zip(codes, places[1:], strict=True):
            whole = self._row(_Row(code, whole, place))
        return whole

    def _window(self, interval: Interval | None, past: bool) -> _Row:
        """A row with the window of an interval."""
        if self.index_ranges is not None:
            row = _Row(0, flag=_PAST, row=len(self.ranges))
            self.ranges.append(np.stack(self.index_ranges(interval)).astype(np.int64))
            return row
        low, high = self.offsets(interval)
        return _Row(0, low=low, high=-1 if high is None else high, flag=_PAST if past else 0)

    def _room(self, row: _Row) -> int:
        wide = row.high - row.low + 2 if row.high >= 0 and row.row < 0 else 2
        return wide if self.length is None else min(max(wide, self.length * (row.row >= 0)), self.length) + 1

    def _extreme(self, place: int, window: _Row, lowest: bool, identity: bool = False) -> int:
        past = bool(window.flag & _PAST)
        window.code, window.one, window.room = _EXTREME, place, self._room(window)
        window.flag |= _LOWEST * lowest + 4 * identity
        window.number = INFINITY if lowest else -INFINITY
        window.back = window.low if past else 0
        return self._row(window, 0 if past else max(window.high, 0))

    def _pair(self, places: list[int], window: _Row) -> int:
        left, right = places
        past, ahead = bool(window.flag & _PAST), 0 if window.flag & _PAST else max(window.high, 0)
        back = (window.high + 1 if window.high >= 0 else window.low) if past else 0
        reached = self._row(
            replace(
                window, code=_REACH, one=left, two=right, number=-INFINITY, room=self._room(window), back=back
            ),
            ahead,
        )
        if window.row < 0 and window.low == 0:
            return reached
        held = replace(window, low=0, high=window.low - 1)
        if window.row >= 0:
            last = self.ranges[window.row][1]
            held = replace(held, row=len(self.ranges))
            self.ranges.append(np.stack([last, np.arange(1, len(last) + 1)]))
        holds = self._extreme(left, held, True, identity=True)
        return self._row(replace(window, code=_JOIN, one=reached, two=holds, number=-INFINITY))

    def _statistic(self, node: Window, places: list[int]) -> int:
        row = self._window(node.interval, True)
        row.one, row.two = places[0], places[1] if len(places) > 1 else -1
        row.number, row.level = float(least_of(node)), level_of(node)
        row.code, row.room = _MOMENTS if node.function in MOMENTS else _RANK, self._room(row)
        row.flag |= MOMENTS.get(node.function, 0) << 2
        row.back = row.high + 2 if row.high >= 0 else row.low + 1
        if row.code == _RANK and row.high < 0 and self.length is not None:
            row.room = self.length + 1
        return self._row(row)

    def program(self, root: int) -> Program:
        """Return the table, with a ring for each node as long as its readers look back."""
        sizes = [1] * len(self.rows)
        for row in self.rows:
            for one in (row.one, row.two):
                if one >= 0:
                    sizes[one] = max(sizes[one], row.delay - self.rows[one].delay + row.back + 1)
        if self.length is not None:
            sizes = [self.length if self.ranges else min(size, self.length) for size in sizes]
        # Powers of two, so that an index is wrapped by a mask.
        sizes = [1 << (size - 1).bit_length() for size in sizes]
        rooms = [1 << max(row.room - 1, 0).bit_length() for row in self.rows]
        rings, queues = np.cumsum([0, *sizes]), np.cumsum([0, *(room + 1 for room in rooms)])
        table = [
            (row.code, row.flag if row.code == _INPUT else row.one, row.two, row.delay, row.low, row.high,
             row.flag, int(rings[at]), sizes[at] - 1, int(queues[at]), rooms[at] - 1, row.row)
            for at, row in enumerate(self.rows)
        ]  # fmt: skip
        return Program(
            table=np.asarray(table, dtype=np.int64),
            numbers=np.asarray([(row.number, row.level) for row in self.rows]),
            order=np.asarray(self.order, dtype=np.int64),
            root=root,
            ranges=np.stack(self.ranges) if self.ranges else np.zeros((1, 2, 1), dtype=np.int64),
            rings=int(rings[-1]),
            queues=int(queues[-1]),
        )
