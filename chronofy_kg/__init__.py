"""chronofy_kg: a knowledge graph for facts that go stale.

The public names are listed in `__all__` and are loaded when first used, so that importing the package
stays light: a spec can be checked without a store, a rate fitted without a model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chronofy_kg.answer.model import Pattern
    from chronofy_kg.answer.shelf import SpecChoice
    from chronofy_kg.answer.verify import GivenStep
    from chronofy_kg.decay import DecayFit, fit_decay, validity
    from chronofy_kg.facts import Assertion, Fact, FactTable
    from chronofy_kg.kb import KnowledgeBase
    from chronofy_kg.spec import Monitor, Trace, check_spec, explain, parse_formula, parse_spec, robustness

__version__ = "0.1.0"

_HOMES = {
    "Assertion": "chronofy_kg.facts",
    "DecayFit": "chronofy_kg.decay",
    "Fact": "chronofy_kg.facts",
    "FactTable": "chronofy_kg.facts",
    "GivenStep": "chronofy_kg.answer.verify",
    "KnowledgeBase": "chronofy_kg.kb",
    "Monitor": "chronofy_kg.spec",
    "Pattern": "chronofy_kg.answer.model",
    "SpecChoice": "chronofy_kg.answer.shelf",
    "Trace": "chronofy_kg.spec",
    "check_spec": "chronofy_kg.spec",
    "explain": "chronofy_kg.spec",
    "fit_decay": "chronofy_kg.decay",
    "parse_formula": "chronofy_kg.spec",
    "parse_spec": "chronofy_kg.spec",
    "robustness": "chronofy_kg.spec",
    "validity": "chronofy_kg.decay",
}

__all__ = [
    "Assertion",
    "DecayFit",
    "Fact",
    "FactTable",
    "GivenStep",
    "KnowledgeBase",
    "Monitor",
    "Pattern",
    "SpecChoice",
    "Trace",
    "__version__",
    "check_spec",
    "explain",
    "fit_decay",
    "parse_formula",
    "parse_spec",
    "robustness",
    "validity",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
