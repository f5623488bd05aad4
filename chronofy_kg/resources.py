"""Finds the folders of data (cypher, grammar, rules), in a wheel as in a checkout."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

__all__ = ["data_folder", "data_text"]

Kind = Literal["cypher", "grammar", "rules"]


def data_folder(kind: Kind) -> Traversable:
    """Return the folder of one kind of data.

    In a wheel it lies inside the package, in an editable install beside pyproject.toml.
    """
    inside = files("chronofy_kg") / "_data" / kind
    return inside if inside.is_dir() else Path(__file__).resolve().parent.parent / kind


def data_text(kind: Kind, *names: str) -> str:
    """Return the text of one data file, e.g. ``data_text("rules", "security.spec")``."""
    return data_folder(kind).joinpath(*names).read_text(encoding="utf-8")
