"""What the fits of spells and of visits share: a result without data, and do the states differ?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import chdtrc

from chronofy_kg.decay.result import DecayFit, Kind

__all__ = ["differ", "insufficient", "states_warning"]

_LEAST_EXPECTED = 5.0  # exits that a state must lead one to expect, for the test's chi-square to hold
_LEVEL = 0.01
_FAR = 1.5  # ratio of the extreme rates below which a difference does not matter, however significant


def insufficient(
    prior: float,
    changes: int,
    span: float,
    n: int,
    subjects: int,
    unit: str,
    notes: Sequence[str],
    kind: Kind = "categorical",
) -> DecayFit:
    """The result where nothing was observed: the prior."""
    return DecayFit(
        beta=prior,
        ci=(0.0, math.inf),
        theta=prior / 2.0,
        q=1.0,
        noise_ratio=0.0,
        status="insufficient",
        method="prior",
        origin="prior",
        unit=unit,
        n=n,
        subjects=subjects,
        span=span,
        warnings=(*notes, "insufficient data to learn a rate: beta is the prior"),
        beta_raw=prior,
        beta_corrected=prior,
        ci_raw=(0.0, math.inf),
        kind=kind,
        changes=changes,
    )


def states_warning(amounts: Sequence[tuple[int, float]]) -> list[str]:
    """A warning where the exit rates of states are not one rate.

    Likelihood ratio 2 sum d_i log(r_i / r) over the states with 5 exits or more to expect.

    Args:
        amounts: exits and exposure of each state.

    >>> states_warning([(50, 100.0), (50, 1000.0)])[0]
    'exit rates differ between states (0.05 to 0.5, chi-square 110.7): one rate is a compromise'
    >>> states_warning([(50, 100.0), (55, 100.0)])
    []
    """
    overall = sum(d for d, _ in amounts) / max(sum(e for _, e in amounts), 1e-300)
    ample = [(d, e) for d, e in amounts if overall * e >= _LEAST_EXPECTED]
    if len(ample) < 2:
        return []
    rate = sum(d for d, _ in ample) / sum(e for _, e in ample)
    ratio = 2.0 * sum(d * math.log(d / e / rate) for d, e in ample if d)
    return differ(ratio, len(ample) - 1, [d / e for d, e in ample])


def differ(ratio: float, freedom: int, rates: Sequence[float]) -> list[str]:
    """The warning, if the chi-square and the rates themselves call for it."""
    low, high = min(rates), max(rates)
    if not (high > _FAR * low and chdtrc(freedom, ratio) < _LEVEL):
        return []
    spread = f"{low:.3g} to {high:.3g}, chi-square {ratio:.1f}"
    return [f"exit rates differ between states ({spread}): one rate is a compromise"]
