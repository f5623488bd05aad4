"""How fast facts go stale: validity at an age, decay rates learned from histories, the table of fact types.

`validity`, `families` and `facttypes` are light and load at once. `fit_decay` brings scipy, and numba at the
first fit with noise, so it loads when first used. No clock, no randomness, no storage here; ages are
arguments.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from chronofy_kg.decay.facttypes import (
    FactType,
    Priors,
    from_declaration,
    from_fit,
    undeclared,
)
from chronofy_kg.decay.families import Decay, Exponential, Linear, PowerLaw, Weibull
from chronofy_kg.decay.result import DecayFit
from chronofy_kg.decay.validity import half_life, log_validity, rate_from_half_life, validity

if TYPE_CHECKING:
    from chronofy_kg.decay.fit import fit_decay

__all__ = [
    "Decay",
    "DecayFit",
    "Exponential",
    "FactType",
    "Linear",
    "PowerLaw",
    "Priors",
    "Weibull",
    "fit_decay",
    "from_declaration",
    "from_fit",
    "half_life",
    "log_validity",
    "rate_from_half_life",
    "undeclared",
    "validity",
]


def __getattr__(name: str) -> Any:
    """Load `fit_decay` when first used (PEP 562)."""
    if name == "fit_decay":
        return import_module("chronofy_kg.decay.fit").fit_decay
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
