"""Seeded personalised PageRank over entities and facts, in which decay lowers rank instead of cancelling.

A walk goes entity -> fact -> entity, and over rule nodes where rule edges are given. A step to a fact has
the weight w = q * c * exp(-beta * age), but the weights of a row are divided by their undecayed sum (q * c):
what decay takes away is lost and goes back to the seeds. The graph's shape is prepared once; weights come
with each query. Scores and gates are not here: see `chronofy_kg.retrieval.rank`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["RuleEdges", "Walk", "WalkGraph", "walk"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class RuleEdges:
    """Rule nodes and the implications between them.

    Attributes:
        nodes: number of rule nodes, r.
        of_fact: int64[m], the rule node that each fact is an instance of, -1 for none.
        source, target: int64[k], the edges.
        undecayed, decayed: float64[k], c of each edge, and c * exp(-beta * age) by the edge's own beta.
    """

    nodes: int
    of_fact: Ints
    source: Ints
    target: Ints
    undecayed: Floats
    decayed: Floats


@dataclass(frozen=True, slots=True)
class Walk:
    """Ranks of one walk; together (rule nodes included) they sum to 1, or to 0 where there are no seeds.

    Attributes:
        entity_rank: float64[n].
        fact_rank: float64[m]; exactly 0 for a fact that was cut.
        rule_rank: float64[r], empty without rule edges.
        iterations: rounds entity -> fact -> entity that were made.
        converged: whether the rest that was left out is below `tol`.
    """

    entity_rank: Floats
    fact_rank: Floats
    rule_rank: Floats
    iterations: int
    converged: bool


class WalkGraph:
    """The shape of a graph of n entities and m facts, ready for any number of walks.

    Args:
        entities: n.
        subject: int64[m], the subject of each fact, 0 <= subject < n.
        object: int64[m], the object of each fact, -1 where it states a literal.

    Raises:
        ValueError: an index lies outside the graph, or the arrays differ in length.
    """

    __slots__ = ("_back", "_degree", "_forth", "entities", "facts")

    def __init__(self, entities: int, subject: Ints, object: Ints) -> None:  # noqa: A002 - the word of the model
        subject, target = np.asarray(subject, dtype=np.int64), np.asarray(object, dtype=np.int64)
        if subject.ndim != 1 or subject.shape != target.shape:
            raise ValueError("subject and object must be arrays of one length")
        if len(subject) and (subject.min() < 0 or target.min() < -1):
            raise ValueError("a subject is negative, or an object is below -1")
        if len(subject) and max(subject.max(), target.max()) >= entities:
            raise ValueError(f"an entity index is {entities} or more, but there are {entities} entities")
        facts = np.arange(len(subject))
        linked = target >= 0
        rows, columns = np.concatenate([facts, facts[linked]]), np.concatenate([subject, target[linked]])
        ends = sparse.csr_array(
            (np.ones(len(rows)), (rows, columns)), shape=(len(subject), entities), dtype=np.float64
        )
        self.entities, self.facts = entities, len(subject)
        self._forth = ends  # m x n: a fact gathers from its entities
        self._back = sparse.csr_array(ends.T)  # n x m: an entity gathers from its facts
        self._degree = 1.0 + linked

    def walk(
        self,
        undecayed: Floats,
        decayed: Floats,
        keep: NDArray[np.bool_] | None = None,
        *,
        seed_entities: Floats | None = None,
        seed_facts: Floats | None = None,
        restart: float = 0.2,
        tol: float = 1e-6,
        max_iter: int = 200,
        rules: RuleEdges | None = None,
    ) -> Walk:
        """Rank entities and facts by a walk that restarts at the seeds.

        With P the transition matrix (rows sum to 1 or less) and s the seeds, the walk in which lost mass
        returns to s has the stationary distribution y / sum(y), y = s + (1 - restart) P' y: the expected
        visits between two restarts (Page et al., The PageRank Citation Ranking, section 6, for a P with
        rows below 1). The series is summed until its rest is below `tol`.

        Args:
            undecayed: float64[m], q * c of each fact. 0 takes a fact out of the graph (not in force at `at`).
            decayed: float64[m], q * c * exp(-beta * age), at most `undecayed`.
            keep: bool[m], False cuts a fact (V below tau): it gets no rank, and its share of a row is lost
                rather than given to its neighbours. None keeps all.
            seed_entities: float64[n], where the walk starts; scaled to sum to 1 together with seed_facts.
            seed_facts: float64[m]. A fact is a seed to the degree decayed / undecayed; the rest of
                its share starts at its entities.
            restart: chance of a restart per step, in (0, 1).
            tol: bound on the summed rank that is left out.
            max_iter: most rounds.
            rules: rule nodes and edges, if any.

        Raises:
            ValueError: shapes differ, a number is NaN, infinite or negative, or decay would add weight.

        >>> graph = WalkGraph(2, np.array([0, 0]), np.array([1, -1]))
        >>> weights = np.array([1.0, 1.0]), np.array([1.0, 0.5])
        >>> graph.walk(*weights, seed_entities=np.array([1.0, 0.0])).fact_rank.round(3).tolist()
        [0.291, 0.099]
        """
        if not 0.0 < restart < 1.0:
            raise ValueError(f"restart must lie between 0 and 1, not {restart}")
        undecayed = _checked(undecayed, self.facts, "undecayed")
        decayed = _checked(decayed, self.facts, "decayed")
        if np.any(decayed > undecayed * (1 + 1e-9)):
            raise ValueError("decayed weight above the undecayed one")
        weight = np.minimum(decayed, undecayed)
        if keep is not None:
            weight = np.where(keep, weight, 0.0)
        seeds = self._seeds(seed_entities, seed_facts, undecayed, weight)
        hop = _RuleHop(rules, self.facts, weight, undecayed) if rules is not None else None
        if seeds is None:
            nothing = np.zeros(hop.nodes if hop else 0)
            return Walk(np.zeros(self.entities), np.zeros(self.facts), nothing, 0, True)
        return self._sum_visits(
            seeds, weight, _inverse(self._back @ undecayed), hop, 1.0 - restart, tol, max_iter
        )

    def _sum_visits(
        self,
        seeds: tuple[Floats, Floats],
        weight: Floats,
        row_scale: Floats,
        hop: _RuleHop | None,
        stay: float,
        tol: float,
        max_iter: int,
    ) -> Walk:
        """Add up the visits, one round entity -> fact -> entity at a time, and scale them to ranks."""
        entity, fact = seeds[0], seeds[1]
        rule = np.zeros(hop.nodes if hop else 0)
        share = stay / (self._degree + (hop.linked if hop else 0.0))
        row_scale = stay * row_scale
        converged, iterations = False, 0
        while not converged and iterations < max_iter:
            iterations += 1
            fact = seeds[1] + weight * (self._forth @ (entity * row_scale))
            if hop:
                fact += stay * hop.to_facts(rule)
            carried = fact * share
            reached = seeds[0] + self._back @ carried
            moved = float(np.abs(reached - entity).sum())
            entity = reached
            if hop:
                after = hop.to_rules(carried) + stay * hop.to_rules_from_rules(rule)
                moved += float(np.abs(after - rule).sum())
                rule = after
            # One more round shrinks what is missing by at least `stay` (by its square without rule edges).
            converged = moved * stay / (1.0 - stay) <= tol * float(entity.sum())
        total = float(entity.sum() + fact.sum() + rule.sum())
        return Walk(entity / total, fact / total, rule / total, iterations, converged)

    def _seeds(
        self, entities: Floats | None, facts: Floats | None, undecayed: Floats, weight: Floats
    ) -> tuple[Floats, Floats] | None:
        """Return the start shares of entities and facts, summing to 1; None where there is no seed."""
        start = np.zeros(self.entities)
        fact_start = np.zeros(self.facts)
        if entities is not None:
            start = _checked(entities, self.entities, "seed_entities")
        if facts is not None:
            told = np.where(undecayed > _LEAST, _checked(facts, self.facts, "seed_facts"), 0.0)
            fact_start = told * weight * _inverse(undecayed)
            start = start + self._back @ ((told - fact_start) / self._degree)
        with np.errstate(over="ignore"):  # refused below
            total = float(start.sum() + fact_start.sum())
        if not np.isfinite(total):
            raise ValueError("the seeds sum to more than a number holds")
        return (start / total, fact_start / total) if total > _LEAST else None


class _RuleHop:
    """The steps fact -> rule node -> fact and rule node -> rule node of one walk.

    From a rule node half of the mass goes to its facts and half along its edges; all to the one if the other
    is missing. Both halves are divided by their undecayed sums.
    """

    __slots__ = ("_edges", "_fact_scale", "_of_fact", "linked", "nodes")

    def __init__(self, rules: RuleEdges, facts: int, weight: Floats, undecayed: Floats) -> None:
        count, of_fact = rules.nodes, np.asarray(rules.of_fact, dtype=np.int64)
        told = _checked(rules.undecayed, len(rules.source), "rule undecayed")
        aged = _checked(rules.decayed, len(rules.source), "rule decayed")
        if np.any(aged > told * (1 + 1e-9)):
            raise ValueError("decayed weight above the undecayed one, of a rule edge")
        if of_fact.shape != (facts,) or len(rules.source) != len(rules.target):
            raise ValueError("one rule node for each fact is needed, and a source and a target for each edge")
        for nodes, least in ((of_fact, -1), (rules.source, 0), (rules.target, 0)):
            if len(nodes) and not least <= int(nodes.min()) <= int(nodes.max()) < count:
                raise ValueError(f"a rule node outside {least} to {count - 1}")
        self.nodes, self.linked = count, (of_fact >= 0).astype(np.float64)
        self._of_fact = np.where(of_fact < 0, count, of_fact)  # slot `count` takes what has no rule node
        fact_mass = _sums(self._of_fact, undecayed, count + 1)[:count]
        edge_mass = _sums(rules.source, told, count)
        both = np.where((fact_mass > 0) & (edge_mass > 0), 0.5, 1.0)
        per_node = np.append(both * _inverse(fact_mass), 0.0)
        self._fact_scale = weight * per_node[self._of_fact]
        flow = np.minimum(aged, told) * (both * _inverse(edge_mass))[rules.source]
        self._edges = sparse.csr_array((flow, (rules.target, rules.source)), shape=(count, count))

    def to_facts(self, rule: Floats) -> Floats:
        flow: Floats = self._fact_scale * np.append(rule, 0.0)[self._of_fact]
        return flow

    def to_rules(self, carried: Floats) -> Floats:
        return _sums(self._of_fact, carried, self.nodes + 1)[: self.nodes]

    def to_rules_from_rules(self, rule: Floats) -> Floats:
        flow: Floats = self._edges @ rule
        return flow


def walk(
    entities: int,
    subject: Ints,
    object: Ints,  # noqa: A002 - the word of the model
    undecayed: Floats,
    decayed: Floats,
    keep: NDArray[np.bool_] | None = None,
    *,
    seed_entities: Floats | None = None,
    seed_facts: Floats | None = None,
    restart: float = 0.2,
    tol: float = 1e-6,
    max_iter: int = 200,
    rules: RuleEdges | None = None,
) -> Walk:
    """Prepare a graph and walk it once; see `WalkGraph` and `WalkGraph.walk` for the arguments."""
    return WalkGraph(entities, subject, object).walk(
        undecayed,
        decayed,
        keep,
        seed_entities=seed_entities,
        seed_facts=seed_facts,
        restart=restart,
        tol=tol,
        max_iter=max_iter,
        rules=rules,
    )


def _checked(values: Floats, count: int, name: str) -> Floats:
    """Return an array as float64 after refusing what no weight can be."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (count,):
        raise ValueError(f"{name} must have {count} entries, not {array.shape}")
    if not np.all(np.isfinite(array)) or (count and array.min() < 0):
        raise ValueError(f"{name} holds a negative, infinite or NaN number at {_first_bad(array)}")
    return array


def _sums(groups: Ints, values: Floats, count: int) -> Floats:
    """Return float64[count], the sum of the values of each group."""
    sums: Floats = np.bincount(groups, values, minlength=count).astype(np.float64)
    return sums


def _first_bad(array: Floats) -> int:
    return int(np.flatnonzero(~np.isfinite(array) | (array < 0))[0])


def _inverse(values: Floats) -> Floats:
    """Return 1 / values, 0 where the value is 0 or too small to divide by."""
    inverse: Floats = np.divide(1.0, values, out=np.zeros(values.shape), where=values > _LEAST)
    return inverse
