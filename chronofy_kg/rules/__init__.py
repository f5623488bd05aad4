"""Rules: categories of entities, classes of events, and temporal implications between them.

Mining is pure and deterministic over a FactTable. Needs the extra ``chronofy-kg[rules]``.
"""

from chronofy_kg.rules.graph import RuleEdge, RuleGraph, RuleNode, mine_rules
from chronofy_kg.rules.options import MiningOptions

__all__ = ["MiningOptions", "RuleEdge", "RuleGraph", "RuleNode", "mine_rules"]
