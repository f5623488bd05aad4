"""The spec language: text to checked formulas, their robustness over traces, and what is to blame for it.

Reading: `parse_spec`, `parse_formula`; `check_spec` gives errors and warnings. Meaning: `robustness`,
`explain` over a `Trace`, `Monitor` for samples that come one at a time. The reference of the language is
`grammar/README.md`. Stored specs and the answers judged by them are in `store` and `answer`.
"""

from __future__ import annotations

from chronofy_kg.spec.clauses import RuleDecl
from chronofy_kg.spec.diagnostics import Diagnostic
from chronofy_kg.spec.explain import Blame, explain, explain_text
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.model import (
    DecayDecl,
    FactTypeDecl,
    LabelDecl,
    LetDecl,
    ParamDecl,
    SignalDecl,
    SpecDecl,
)
from chronofy_kg.spec.monitor import Robustness, horizon, robustness
from chronofy_kg.spec.online import Monitor
from chronofy_kg.spec.parse import check_spec, parse_formula, parse_spec
from chronofy_kg.spec.smooth import smooth_gradient
from chronofy_kg.spec.specfile import SpecFile
from chronofy_kg.spec.trace import Trace, TraceError

__all__ = [
    "Blame",
    "DecayDecl",
    "Diagnostic",
    "FactTypeDecl",
    "Formula",
    "LabelDecl",
    "LetDecl",
    "Monitor",
    "ParamDecl",
    "Robustness",
    "RuleDecl",
    "SignalDecl",
    "SpecDecl",
    "SpecFile",
    "Trace",
    "TraceError",
    "check_spec",
    "explain",
    "explain_text",
    "horizon",
    "parse_formula",
    "parse_spec",
    "robustness",
    "smooth_gradient",
]
