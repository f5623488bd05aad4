"""chronofy_kg: a knowledge graph for facts that go stale.

The public names are listed in `__all__` and are loaded when first used, so that importing the package
stays light: a spec can be checked without a store, a rate fitted without a model.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, str] = {}

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
