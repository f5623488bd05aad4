"""Facts: the model, one parser of instants, the fold of assertions into facts, and readers.

Nothing here knows the store, a clock or a network: `at` and `known_at` are arguments.
"""

from chronofy_kg.facts.history import History, believed_rows, fold
from chronofy_kg.facts.model import Assertion, Fact, Source, Validity, ValueKind
from chronofy_kg.facts.table import FactTable, StringPool, TableBuilder
from chronofy_kg.facts.time import DAY_US, OPEN_US, format_instant, parse_instant

__all__ = [
    "DAY_US",
    "OPEN_US",
    "Assertion",
    "Fact",
    "FactTable",
    "History",
    "Source",
    "StringPool",
    "TableBuilder",
    "Validity",
    "ValueKind",
    "believed_rows",
    "fold",
    "format_instant",
    "parse_instant",
]
