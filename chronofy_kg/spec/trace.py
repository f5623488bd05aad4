"""`Trace`: sampled signals, with how time runs over the samples.

Inputs are checked here (shapes, NaN, times) and never changed. What formulas mean over a trace is in
`monitor`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronofy_kg.errors import InputError
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.terminals import NUMBER, WORD

__all__ = ["Floats", "Sampling", "Trace", "TraceError"]

Floats: TypeAlias = NDArray[np.float64]
Sampling: TypeAlias = Literal["uniform", "pointwise", "hold"]
_STEP = re.compile(rf"\s*({NUMBER})\s*({WORD})\s*")


class TraceError(InputError):
    """Signals over which no formula can be evaluated; the message names the signal and the index."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Signals sampled at the same instants.

    Args:
        signals: arrays of shape [n], or [b, n] for a batch of b traces (axis 1 is time); both may be mixed.
        times: the n instants, increasing, as numbers in `unit`, or datetime64 (then `unit` is d if not
            named).
        step: the distance of samples, in place of times: a number, or text such as "15m".
        unit: the unit of times (or of a number step): us ms s m h d w. Bounds without a unit are in this
            unit; where the step is a text or nothing is said, they count samples.
        sampling: uniform (equal distances), pointwise (only the samples exist, at any distances) or hold
            (each sample holds until the next; evaluated on the finest common grid, read at the samples).

    Raises:
        TraceError: no samples, shapes that differ, NaN, or times that do not increase or are not uniform.

    >>> Trace({"x": [3.0, 1.0]}, step="15m").step_micros
    900000000.0
    """

    signals: Mapping[str, ArrayLike]
    times: ArrayLike | None = None
    step: float | str | None = None
    unit: str | None = None
    sampling: Sampling = "uniform"
    arrays: Mapping[str, Floats] = field(init=False, repr=False)
    instants: Floats | None = field(init=False, repr=False)
    length: int = field(init=False)
    step_size: float = field(init=False)
    step_micros: float | None = field(init=False)

    def __post_init__(self) -> None:
        if self.sampling not in ("uniform", "pointwise", "hold"):
            raise TraceError(f"sampling is uniform, pointwise or hold, not {self.sampling!r}")
        if self.unit is not None and self.unit not in table().units:
            raise TraceError(f"{self.unit!r} is no unit of time; the units are {', '.join(table().units)}")
        arrays = {name: _array(name, value) for name, value in self.signals.items()}
        instants, unit = _instants(self.times, self.unit)
        lengths = {name: array.shape[-1] for name, array in arrays.items()}
        if instants is not None:
            lengths["times"] = len(instants)
        if not lengths or 0 in lengths.values():
            raise TraceError("a trace has at least one sample")
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise TraceError(f"signals have different numbers of samples: {shown}")
        batches = {array.shape[0] for array in arrays.values() if array.ndim == 2}
        if len(batches) > 1:
            raise TraceError(f"batches have different numbers of traces: {sorted(batches)}")
        size, micros = self._step(instants, unit)
        for name, value in (
            ("arrays", arrays), ("instants", instants), ("length", next(iter(lengths.values()))),
            ("step_size", size), ("step_micros", micros), ("unit", unit),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of results: [n], or [b, n] if any signal is a batch."""
        return np.broadcast_shapes((self.length,), *(array.shape for array in self.arrays.values()))

    def row(self, row: int | None) -> Trace:
        """Return one trace of a batch; a trace that is none is returned as it is."""
        if len(self.shape) == 1:
            if row is not None:
                raise TraceError("row was given, but the trace is no batch")
            return self
        if row is None or not -self.shape[0] <= row < self.shape[0]:
            raise TraceError(f"row is one of 0..{self.shape[0] - 1} of the batch, not {row}")
        signals = {name: array[row] if array.ndim == 2 else array for name, array in self.arrays.items()}
        return Trace(signals, self.times, self.step, self.unit, self.sampling)

    def part(self, start: int) -> Trace:
        """Return the samples from one on, of a trace with equal distances."""
        if start == 0:
            return self
        arrays = {name: array[..., start:] for name, array in self.arrays.items()}
        times = None if self.instants is None else self.instants[start:]
        return Trace(arrays or {"": np.zeros(self.length - start)}, times, unit=self.unit)

    def _step(self, instants: Floats | None, unit: str | None) -> tuple[float, float | None]:
        units = table().units
        micros: float | None
        if instants is not None and self.step is not None:
            raise TraceError("give times or a step, not both")
        if isinstance(self.step, str):
            match = _STEP.fullmatch(self.step)
            if match is None or match.group(2) not in units or float(match.group(1)) <= 0:
                raise TraceError(f"step {self.step!r} is no positive number with a unit ({', '.join(units)})")
            size, micros = 1.0, float(match.group(1)) * units[match.group(2)]
            if unit is not None:
                size = micros / units[unit]
        else:
            micros = None
            size = 1.0 if self.step is None else float(self.step)
            if self.step is None and instants is not None and len(instants) > 1:
                size = float(instants[-1] - instants[0]) / (len(instants) - 1)
            if unit is not None:
                micros = size * units[unit]
        if not 0 < size < float("inf"):
            raise TraceError(f"step is a positive number, not {self.step!r}")
        if instants is None:
            if self.sampling != "uniform":
                raise TraceError(f"sampling {self.sampling!r} needs times")
        elif self.sampling == "uniform":
            _check_uniform(instants, size)
        return size, micros


def _array(name: str, value: ArrayLike) -> Floats:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TraceError(f"signal {name!r} is no array of numbers: {error}") from error
    if array.ndim not in (1, 2):
        raise TraceError(f"signal {name!r} has {array.ndim} axes; 1 or 2 (a batch) are needed")
    missing = np.isnan(array)
    if missing.any():
        index = [int(one) for one in np.argwhere(missing)[0]]
        place = f"index {index[0]}" if array.ndim == 1 else f"row {index[0]}, index {index[1]}"
        raise TraceError(f"signal {name!r} is NaN at {place}; leave the sample out or fill it in")
    return array


def _instants(times: Any, unit: str | None) -> tuple[Floats | None, str | None]:
    if times is None:
        return None, unit
    array = np.asarray(times)
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise TraceError(f"times has no instant at index {int(np.flatnonzero(np.isnat(array))[0])}")
        micros = array.astype("datetime64[us]").astype(np.int64)
        # Counted from the first sample: microseconds since 1970 would lose digits as float64.
        unit = unit or "d"
        array = (micros - micros[:1]) / table().units[unit]
    instants = _array("times", array)
    if instants.ndim != 1:
        raise TraceError("times has one axis")
    late = np.flatnonzero(~(np.diff(instants) > 0))
    if late.size:
        raise TraceError(f"times do not increase at index {int(late[0]) + 1}")
    return instants, unit


def _check_uniform(instants: Floats, size: float) -> None:
    off = np.flatnonzero(np.abs(np.diff(instants) - size) > 1e-6 * size)
    if off.size:
        raise TraceError(
            f"times are not uniform at index {int(off[0]) + 1}; use sampling='pointwise' or sampling='hold'"
        )
