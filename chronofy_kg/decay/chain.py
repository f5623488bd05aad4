"""Markov chains in continuous time: how fast a chain forgets its state, and its rates from visits only.

The generator Q has the rate i -> j at [i, j] and rows that add up to 0. The spectral gap kappa is the
least decay rate of its eigenvalues: P(same state after a) = pi + (1 - pi) exp(-kappa a) for two states, and
the last thing to be forgotten for more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from chronofy_kg.decay.poisson import exact_rate

__all__ = ["Gap", "Generator", "fit_generator", "gap_of_moves"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_Z = 1.959963984540054
_MOST_RATIO = 1e9  # of the longest gap to the shortest: beyond, powers of one matrix lose their digits


@dataclass(frozen=True, slots=True)
class Gap:
    """Spectral gap with its 95 % interval."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Generator:
    """Rates from visits: the generator, and the standard error of the logarithm of each exit rate."""

    matrix: Floats
    log_errors: Floats

    @property
    def exits(self) -> Floats:
        """Exit rate of each state."""
        return np.asarray(-np.diag(self.matrix), dtype=np.float64)


def gap_of_moves(moves: Floats, exits: Floats, exposure: Floats) -> Gap:
    """Spectral gap from counted moves, with an interval by the delta method on its logarithm.

    Args:
        moves: moves[i, j] from state i to j.
        exits: exits from each state, of which some may lead to a state that was not seen: spread evenly.
        exposure: time in each state, > 0.

    >>> found = gap_of_moves(np.array([[0.0, 30], [30, 0]]), np.array([30.0, 30]), np.array([100.0, 300]))
    >>> round(found.rate, 12)  # of two states: the sum of both rates
    0.4
    """
    size = exits.size
    unknown = np.maximum(exits - moves.sum(axis=1), 0.0) / (size - 1)
    counts = (moves + unknown[:, None]) * (1.0 - np.eye(size))
    rates = counts / exposure[:, None]
    generator = rates - np.diag(rates.sum(axis=1))
    values, right = np.linalg.eig(generator)
    second = int(np.argsort(-values.real, kind="stable")[1])
    rate = float(-values[second].real)
    pooled, low, high = (size / (size - 1) * x for x in exact_rate(int(exits.sum()), float(exposure.sum())))
    if rate <= 1e-12 * pooled:  # a part of the chain was never left: its memory may last for ever
        return Gap(0.0, 0.0, high)
    left = np.linalg.pinv(right)[second]
    slope = left[:, None] * (right[None, :, second] - right[:, None, second])
    error = float(np.sqrt(np.sum(slope.real**2 * counts / exposure[:, None] ** 2))) / rate
    # eigenvalues that fall together have no slope; the pooled interval is then the least to claim
    error = max(error, math.log(high / max(low, 1e-300)) / (2.0 * _Z)) if error > 3.0 else error
    return Gap(rate, rate * math.exp(-_Z * error), rate * math.exp(_Z * error))


def fit_generator(start: Ints, end: Ints, gaps: Floats, states: int) -> Generator | None:
    """Maximum likelihood generator from pairs of successive visits (Kalbfleisch & Lawless 1985).

    Moves between states that were never seen one after the other get the rate 0.

    Args:
        start: state at the first visit of each pair, 0 .. states - 1.
        end: state at the second.
        gaps: time between them, > 0.
        states: number of states.

    Returns:
        None where there was no change at all, gaps differ by more than 1e9, or the search did not settle.
    """
    if not gaps.size or float(gaps.max()) > _MOST_RATIO * float(gaps.min()):
        return None
    cells, weight = np.unique(np.stack((start, end, gaps)), axis=1, return_counts=True)
    start, end = cells[0].astype(np.int64), cells[1].astype(np.int64)
    data = _Pairs(start, end, cells[2], weight.astype(np.float64), states)
    counts = np.zeros((states, states))
    np.add.at(counts, (start, end), data.weight)
    exposure = np.bincount(start, data.weight * data.gaps, minlength=states)
    source, target = np.nonzero(counts * (1.0 - np.eye(states)))
    if not source.size:
        return None
    first = np.log(counts[source, target] / exposure[source])
    bounds = (math.log(1e-4 / float(exposure.sum())), math.log(50.0 / float(data.gaps.min())))
    # not L-BFGS-B: its matrices of a few rows go to all threads of the linear algebra, which takes far longer
    found = minimize(
        data.deviance, np.clip(first, *bounds), args=(source, target), jac=True, method="SLSQP",
        bounds=[bounds] * source.size, options={"maxiter": 200, "ftol": 1e-13},
    )  # fmt: skip
    if not math.isfinite(found.fun):
        return None
    matrix = _generator(found.x, source, target, states)
    return Generator(matrix, _log_errors(data, found.x, source, target, matrix))


@dataclass(frozen=True, slots=True)
class _Pairs:
    start: Ints
    end: Ints
    gaps: Floats
    weight: Floats
    states: int

    def deviance(self, logs: Floats, source: Ints, target: Ints) -> tuple[float, Floats]:
        """-2 log likelihood and its gradient in the logarithms of the rates."""
        matrix = _generator(logs, source, target, self.states)
        values, right, left = _eigen(matrix)
        # an eigenvalue is at most 0 but for a rounding
        values = np.minimum(values.real, 0.0) + 1j * values.imag
        powers = np.exp(np.maximum(values.real, -700.0 / self.gaps[:, None]) * self.gaps[:, None])
        powers = powers * np.exp(1j * values.imag * self.gaps[:, None])
        chance = ((right[self.start] * powers) * left[:, self.end].T).sum(axis=1).real
        chance = np.clip(chance, 1e-300, None)
        apart = values[:, None] - values[None, :]
        close = np.abs(apart) < 1e-9 * max(float(np.abs(values).max()), 1e-300)
        # (exp(a d) - exp(b d)) / (a - b), which is d exp(a d) where a and b fall together
        bend = (powers[:, :, None] - powers[:, None, :]) / np.where(close, 1.0, apart)
        bend = np.where(close, self.gaps[:, None, None] * powers[:, :, None], bend)
        near, far = right[self.start] * (self.weight / chance)[:, None], left[:, self.end].T
        pull = (near[:, :, None] * bend * far[:, None, :]).sum(axis=0)
        # d P = right (left dQ right * bend) left, with dQ = rate * (e_i e_j' - e_i e_i')
        slopes = np.array(
            [
                (np.outer(left[:, i], right[j] - right[i]) * pull).sum().real
                for i, j in zip(source, target, strict=True)
            ]
        )
        gradient = -2.0 * np.exp(logs) * slopes
        return -2.0 * float(np.dot(self.weight, np.log(chance))), gradient


def _generator(logs: Floats, source: Ints, target: Ints, states: int) -> Floats:
    matrix = np.zeros((states, states))
    matrix[source, target] = np.exp(logs)
    return matrix - np.diag(matrix.sum(axis=1))


def _eigen(matrix: Floats) -> tuple[Any, Any, Any]:
    """Eigenvalues, right vectors and their inverse; a matrix without a full set of them is nudged."""
    size = float(np.abs(matrix).max())
    for nudge in (0.0, 1e-9, 1e-7, 1e-5):
        values, right = np.linalg.eig(matrix + nudge * size * np.diag(np.arange(len(matrix))))
        if np.linalg.cond(right) < 1e10:
            break
    return values, right, np.linalg.pinv(right)


def _log_errors(data: _Pairs, logs: Floats, source: Ints, target: Ints, matrix: Floats) -> Floats:
    """Standard errors of the logarithm of each exit rate, from the curvature at the optimum."""
    reach = 1e-4
    rows = []
    for k in range(logs.size):
        step = np.zeros(logs.size)
        step[k] = reach
        up, down = (data.deviance(logs + sign * step, source, target)[1] for sign in (1.0, -1.0))
        rows.append((up - down) / (2.0 * reach))
    curvature = np.array(rows)
    covariance = 2.0 * np.linalg.pinv((curvature + curvature.T) / 2.0)
    errors = np.full(len(matrix), np.inf)
    for state in np.unique(source):
        share = np.where(source == state, np.exp(logs), 0.0) / -matrix[state, state]
        variance = float(share @ covariance @ share)
        errors[state] = math.sqrt(variance) if variance > 0.0 else math.inf
    return errors
