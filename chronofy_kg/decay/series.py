"""From what a caller has (times, values, subjects) to clean, sorted, scaled columns for the likelihoods.

Times are differenced as they come (integers exactly) and only then become floats, so that epoch seconds keep
their gaps. What was dropped or merged is said in `warnings`. No statistics here: see `likelihood` and
`kalman`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.hashing import hash_rows
from chronofy_kg.decay.result import unit_in_days
from chronofy_kg.errors import InputError

__all__ = [
    "FARTHEST",
    "LEAST_GAP",
    "Rows",
    "Series",
    "Ticks",
    "as_array",
    "read_codes",
    "read_names",
    "read_rows",
    "read_ticks",
    "read_values",
    "series_of",
    "without_specks",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_MICROSECONDS_A_DAY = 86_400e6
FARTHEST = 1e100  # further from 0 there are no times, only mistakes; rates and squares stay within range
LEAST_GAP = 1e-100
_LEAST_SHARE = 1e-30  # of the longest gap: squares of what is shorter would be lost, it is one instant


@dataclass(frozen=True, slots=True)
class Ticks:
    """Instants as numbers: `values` (int64 or float64) may be subtracted; `length` of a tick in the unit."""

    values: NDArray[Any]
    length: float
    missing: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rows:
    """Clean rows, sorted by subject, time and value; no missing ones, no row twice.

    `gaps` (in units of time) is 0 at the first row of each subject; `starts` (length subjects + 1) delimits
    them. `digest` is the hash of the rows as `read_rows` found them.
    """

    gaps: Floats
    values: Floats
    starts: Ints
    warnings: tuple[str, ...]
    digest: str = ""

    @property
    def sizes(self) -> Ints:
        """Number of rows of each subject."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Ints:
        """Index of the subject of each row."""
        return np.repeat(np.arange(self.starts.size - 1), self.sizes)

    def select(self, keep: NDArray[np.bool_]) -> Rows:
        """The rows marked in `keep`; the gaps to dropped rows are added to the next one."""
        elapsed = np.cumsum(self.gaps)[keep]
        owners = self.owners[keep]
        return _assemble(np.diff(elapsed, prepend=0.0), self.values[keep], owners, self.warnings)

    def merge_ties(self) -> Rows:
        """Rows of one subject at one instant become one, with the mean of their values."""
        first = self.gaps > 0.0
        first[self.starts[:-1]] = True
        if bool(np.all(first)):
            return self
        heads = np.flatnonzero(first)
        counts = np.diff(np.append(heads, first.size))
        means = np.add.reduceat(self.values, heads) / counts
        return _assemble(self.gaps[heads], means, self.owners[heads], self.warnings)


@dataclass(frozen=True, slots=True)
class Series:
    """What a likelihood sees: gaps in units of the mean gap, values centred and scaled per subject.

    Only subjects with the least number of rows are kept. Times in `step`, values in `scales` (one a subject).
    """

    gaps: Floats
    values: Floats
    starts: Ints
    scales: Floats
    step: float
    own_scale: bool

    @property
    def sizes(self) -> Ints:
        """Number of rows of each subject."""
        return np.diff(self.starts)

    @property
    def longest(self) -> float:
        """The longest time that one subject was followed, in steps."""
        return float(np.max(np.add.reduceat(self.gaps, self.starts[:-1])))

    @property
    def degrees(self) -> int:
        """Rows less one mean a subject: the restricted likelihood's degrees of freedom."""
        return int(self.values.size - self.sizes.size)


def as_array(what: str, items: Any) -> NDArray[Any]:
    """Anything that numpy makes an array of.

    Raises:
        InputError: rows of different lengths, or nothing of the kind.
    """
    try:
        return np.asarray(items)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} are no column: {error}") from None


def read_ticks(times: Any, unit: str) -> Ticks:
    """Instants of any accepted form.

    Args:
        times: datetime64 array, or datetimes (naive ones are UTC), or numbers in `unit` (integers stay
            exact).
        unit: the unit of numbers, and of all results.

    Raises:
        InputError: not one-dimensional, infinite, or not times at all.
    """
    days = unit_in_days(unit)
    array = as_array("times", times)
    if array.ndim != 1:
        raise InputError(f"times must be one-dimensional, got shape {array.shape}")
    if array.dtype == object and array.size:
        array = _from_objects(array)
    if array.dtype.kind == "M":
        missing = np.isnat(array)
        micros = np.where(missing, 0, array.astype("datetime64[us]").astype(np.int64))
        return Ticks(micros, 1.0 / (_MICROSECONDS_A_DAY * days), missing)
    if array.dtype.kind in "iub" and _fits_int64(array):
        return Ticks(array.astype(np.int64), 1.0, np.zeros(array.size, dtype=np.bool_))
    numbers = _floats("times", array)
    far = np.flatnonzero(np.abs(numbers) > FARTHEST)
    if far.size:
        raise InputError(f"times hold {numbers[far[0]]} at index {int(far[0])}, beyond {FARTHEST:g}")
    return Ticks(numbers, 1.0, np.isnan(numbers))


def read_values(values: Any, size: int) -> Floats:
    """Measured values as float64; NaN where missing.

    Raises:
        InputError: another length than `size`, infinite, or not numbers.
    """
    numbers = _floats("values", as_array("values", values))
    if numbers.shape != (size,):
        raise InputError(f"values have shape {numbers.shape}, times {(size,)}")
    return numbers


def read_codes(subjects: Any, size: int) -> Ints:
    """Index of each row's subject, 0 for all where there are none; see `read_names`."""
    return read_names(subjects, size, "subjects")[0]


def read_names(names: Any, size: int, what: str) -> tuple[Ints, list[Any]]:
    """Index of each row's name and the names themselves; one name, None, where there are none.

    Names are numbered in their own order, so the order of the rows does not matter.

    Args:
        names: n names of any kind that can be hashed, or None.
        size: n.
        what: for errors: subjects or values.

    Raises:
        InputError: another length than `size`.
    """
    if names is None:
        return np.zeros(size, dtype=np.int64), [None]
    array = as_array(what, names)
    if array.shape != (size,):
        raise InputError(f"{what} have shape {array.shape}, times {(size,)}")
    try:
        found, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.int64).reshape(size), found.tolist()
    except TypeError:  # names of several types do not compare: by type, then as they are written
        items = array.tolist()
        try:
            ranked = sorted(set(items), key=lambda name: (type(name).__name__, repr(name)))
        except TypeError as error:
            raise InputError(f"{what} must be names, numbers or other single values: {error}") from None
        place = {name: i for i, name in enumerate(ranked)}
        return np.array([place[name] for name in items], dtype=np.int64), ranked


def read_rows(times: Any, values: Any, subjects: Any, unit: str) -> Rows:
    """Sorted, clean rows of a numeric series.

    Rows without time or value are dropped, and so are rows told twice (the same subject, time and value).

    Args:
        times: see `read_ticks`.
        values: numbers; NaN is missing.
        subjects: names of any kind, or None for one subject.
        unit: time unit of the gaps.

    Raises:
        InputError: lengths differ, infinities, or not numbers.
    """
    ticks = read_ticks(times, unit)
    size = ticks.values.size
    numbers, codes = read_values(values, size), read_codes(subjects, size)
    warnings: list[str] = []
    missing = ticks.missing | np.isnan(numbers)
    if bool(np.any(missing)):
        warnings.append(f"{int(missing.sum())} row(s) with a NaN (missing) time or value were dropped")
    clock, numbers, codes = ticks.values[~missing], numbers[~missing], codes[~missing]
    order = np.lexsort((numbers, clock, codes))
    clock, numbers, codes = clock[order], numbers[order], codes[order]
    told = np.ones(clock.size, dtype=np.bool_)
    told[1:] = (codes[1:] != codes[:-1]) | (clock[1:] != clock[:-1]) | (numbers[1:] != numbers[:-1])
    if not bool(np.all(told)):
        warnings.append(f"{int(np.sum(~told))} row(s) that repeat another one exactly were dropped")
        clock, numbers, codes = clock[told], numbers[told], codes[told]
    gaps = np.zeros(clock.size)
    gaps[1:] = np.where(codes[1:] == codes[:-1], _differences(clock) * ticks.length, 0.0)
    gaps = without_specks(gaps)
    rows = _assemble(gaps, numbers, codes, tuple(warnings))
    ties = int(np.sum(rows.gaps == 0.0)) - (rows.starts.size - 1)
    if ties > 0:
        note = f"{ties} row(s) give another value for the same time: measurement noise or a contradiction"
        rows = replace(rows, warnings=(*rows.warnings, note))
    return replace(rows, digest=hash_rows(numbers, clock, codes, ordered=True))


def series_of(rows: Rows, *, own_scale: bool, step: float) -> Series:
    """The columns of the likelihood, of the subjects with at least 3 rows (own scale) or 2 (shared scale).

    Args:
        rows: clean rows.
        own_scale: each subject has a variance of its own; subjects that never change are then left out.
        step: unit of the gaps, in units of time.
    """
    sizes = rows.sizes
    first = rows.starts[:-1]
    low, high = np.minimum.reduceat(rows.values, first), np.maximum.reduceat(rows.values, first)
    peak = max(float(np.max(np.abs(rows.values))), 1e-300)
    # scaled before it is centred, so that values near the largest float do not overflow
    centred = rows.values / peak - np.repeat(low / peak, sizes)
    centred -= np.repeat(np.add.reduceat(centred, first) / sizes, sizes)
    moving = (high / peak - low / peak) > 8 * np.finfo(float).eps * np.maximum(
        np.abs(high), np.abs(low)
    ) / peak
    use = (sizes >= 3) & moving if own_scale else sizes >= 2
    squares = np.add.reduceat(centred**2, first)
    if own_scale:
        scales = np.sqrt(squares / np.maximum(sizes - 1, 1))[use]
    else:
        pooled = float(squares[use].sum() / max(int((sizes[use] - 1).sum()), 1))
        scales = np.full(int(use.sum()), np.sqrt(pooled))
    keep = np.repeat(use, sizes)
    kept = sizes[use]
    return Series(
        gaps=rows.gaps[keep] / step,
        values=centred[keep] / np.repeat(np.maximum(scales, 1e-300), kept),
        starts=np.concatenate(([0], np.cumsum(kept))).astype(np.int64),
        scales=scales * peak,
        step=step,
        own_scale=own_scale,
    )


def without_specks(gaps: Floats) -> Floats:
    """The gaps, with 0 for those too short to be told from none."""
    least = max(_LEAST_SHARE * float(gaps.max(initial=0.0)), LEAST_GAP)
    return np.where(gaps < least, 0.0, gaps)


def _assemble(gaps: Floats, values: Floats, codes: Ints, warnings: tuple[str, ...]) -> Rows:
    """Rows from columns that are sorted already; gaps across subjects are set to 0."""
    fresh = np.ones(codes.size, dtype=np.bool_)
    fresh[1:] = codes[1:] != codes[:-1]
    starts = np.append(np.flatnonzero(fresh), codes.size).astype(np.int64)
    return Rows(np.where(fresh, 0.0, gaps), values, starts, warnings)


def _differences(clock: NDArray[Any]) -> Floats:
    if clock.dtype.kind == "i" and clock.size and float(clock.max()) - float(clock.min()) > 2.0**62:
        clock = clock.astype(np.float64)  # the difference of two far int64 would wrap round
    gaps = np.diff(clock).astype(np.float64)
    if clock.dtype.kind == "f" and clock.size:
        # two sums of decimals that mean one instant differ in the last digits only
        gaps[np.abs(gaps) <= 4 * np.finfo(float).eps * np.abs(clock[1:])] = 0.0
    return gaps


def _fits_int64(array: NDArray[Any]) -> bool:
    return array.dtype.kind != "u" or not array.size or int(array.max()) <= np.iinfo(np.int64).max


def _from_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Columns of Python datetimes or of numbers with None."""
    items: Sequence[Any] = array.tolist()
    if any(hasattr(item, "utcoffset") for item in items):
        try:
            plain = [_naive(item) for item in items]
            return np.array(plain, dtype="datetime64[us]")
        except (AttributeError, TypeError, ValueError) as error:
            raise InputError(f"times are neither datetimes nor numbers throughout: {error}") from None
    return array


def _naive(item: Any) -> Any:
    if item is None:
        return np.datetime64("NaT")
    offset = item.utcoffset()
    return np.datetime64((item - offset).replace(tzinfo=None) if offset is not None else item, "us")


def _floats(name: str, array: NDArray[Any]) -> Floats:
    if array.dtype.kind in "SUMm":
        raise InputError(f"{name} are text or dates where numbers were expected (dtype {array.dtype})")
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} are not numbers: {error}") from None
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise InputError(f"{name} hold an infinity at index {int(infinite[0])}; drop or correct that row")
    return numbers
