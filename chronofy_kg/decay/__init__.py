"""How fast facts go stale: validity at an age, decay rates learned from histories, the table of fact types.

`validity`, `families` and `facttypes` are light and load at once. `fit_decay`, `fit_labels` and the curves
bring scipy, and numba at the first fit with noise, so they load when first used. No clock, no randomness,
no storage here; ages are arguments.
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
from chronofy_kg.decay.families import (
    Decay,
    DelayedOnset,
    Exponential,
    HalfLife,
    Linear,
    PowerLaw,
    Weibull,
)
from chronofy_kg.decay.result import DecayFit, StateRate
from chronofy_kg.decay.validity import (
    half_life,
    log_validity,
    rate_from_half_life,
    validity,
    validity_interval,
)

if TYPE_CHECKING:
    from chronofy_kg.decay.curves import Curve, curve_of_labels, curve_of_series
    from chronofy_kg.decay.event import fit_event_tally, tally_events
    from chronofy_kg.decay.fit import fit_decay, prepare
    from chronofy_kg.decay.labels import fit_labels
    from chronofy_kg.decay.spells import fit_spell_tally, tally_spells
    from chronofy_kg.decay.tally import EventTally, SpellTally

_LATE = {
    "Curve": "curves",
    "EventTally": "tally",
    "SpellTally": "tally",
    "curve_of_labels": "curves",
    "curve_of_series": "curves",
    "fit_decay": "fit",
    "fit_event_tally": "event",
    "fit_labels": "labels",
    "fit_spell_tally": "spells",
    "prepare": "fit",
    "tally_events": "event",
    "tally_spells": "spells",
}

__all__ = [
    "Curve",
    "Decay",
    "DecayFit",
    "DelayedOnset",
    "EventTally",
    "Exponential",
    "FactType",
    "HalfLife",
    "Linear",
    "PowerLaw",
    "Priors",
    "SpellTally",
    "StateRate",
    "Weibull",
    "curve_of_labels",
    "curve_of_series",
    "fit_decay",
    "fit_event_tally",
    "fit_labels",
    "fit_spell_tally",
    "from_declaration",
    "from_fit",
    "half_life",
    "log_validity",
    "prepare",
    "rate_from_half_life",
    "tally_events",
    "tally_spells",
    "undeclared",
    "validity",
    "validity_interval",
]


def __getattr__(name: str) -> Any:
    """Load what brings scipy when first used (PEP 562)."""
    home = _LATE.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"chronofy_kg.decay.{home}"), name)
