"""The rule graph: event classes <subject category, predicate, object category> and what follows what.

`mine_rules` ties the stages together: events, categories, instances of nodes, pairs, edges. The graph is
plain data with ids that do not change with the order of rows; the store writes its maps as they are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts import DAY_US, FactTable
from chronofy_kg.rules.categories import Categories, Category, mine_categories
from chronofy_kg.rules.edges import NodeCounts, ScoredEdges, exposure_by_bin, score_edges
from chronofy_kg.rules.events import Events, collect_events
from chronofy_kg.rules.mdl import GAP_MODELS, gap_bounds
from chronofy_kg.rules.options import MiningOptions
from chronofy_kg.rules.pairs import ROLES, Instances, count_pairs

__all__ = ["InstanceMap", "RuleEdge", "RuleGraph", "RuleNode", "mine_rules"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RuleNode:
    """A class of events.

    Attributes:
        id: hash of the triple below, "r_…".
        subject_category: name of the category of the subject; "any" where none describes it.
        predicate: the predicate.
        object_category: name of the category of the object, or the value class of a literal.
        support: distinct events of the class.
    """

    id: str
    subject_category: str
    predicate: str
    object_category: str
    support: int


@dataclass(frozen=True, slots=True)
class RuleEdge:
    """A temporal implication: events of `target` follow those of `source` in the same binding.

    Attributes:
        source, target: ids of rule nodes; equal for a recurrence.
        roles: what the two events share: "same pair", "swapped pair", "shared subject" or "shared object".
        support: distinct later events that the edge explains.
        confidence: share of the events of `source` that one of `target` follows next.
        lag: median gap in days.
        gap_histogram: later events by bin of their gap; the borders are `RuleGraph.gap_bounds`.
        bits: bits saved per later event.
        delta_length: change of the description length in bits, below 0.
        beta: decay of the confidence by gap, per day, at least 0.
        last_seen_us: valid_from of the last later event.
        gap_model: "geometric", "two-geometric" or "histogram".
    """

    source: str
    target: str
    roles: str
    support: int
    confidence: float
    lag: float
    gap_histogram: tuple[int, ...]
    bits: float
    delta_length: float
    beta: float
    last_seen_us: int
    gap_model: str

    @property
    def id(self) -> str:
        """Hash of source, target and roles, "e_…"."""
        return _hash("e_", self.source, self.target, self.roles)


@dataclass(frozen=True, slots=True)
class InstanceMap:
    """Which assertion rows are instances of which nodes: two int64[i], ordered by row and then by node.

    Attributes:
        rows: rows of the table that was mined.
        nodes: indexes into `RuleGraph.nodes`.
    """

    rows: Ints
    nodes: Ints


@dataclass(frozen=True, slots=True)
class RuleGraph:
    """Rule nodes, rule edges and the instances of the nodes.

    Attributes:
        nodes: ordered by subject category, predicate, object category.
        edges: ordered by source node, target node, roles.
        instances: the nodes of each assertion row.
        categories: the categories of entities behind the nodes, the catch-all first.
        gap_bounds: borders of the gap bins in steps: bin i holds the gaps from b[i] to b[i+1] - 1.
        step_us: microseconds in a step.
        events: number of distinct events.
        steps: number of distinct steps of time with events.
        skipped: pairs of neighbouring steps left out because one of them was too busy.
    """

    nodes: tuple[RuleNode, ...]
    edges: tuple[RuleEdge, ...]
    instances: InstanceMap
    categories: tuple[Category, ...]
    gap_bounds: tuple[int, ...]
    step_us: int
    events: int
    steps: int
    skipped: int

    def nodes_of(self, row: int) -> tuple[RuleNode, ...]:
        """Return the nodes that an assertion row is an instance of; none for a row that was not mined."""
        low, high = np.searchsorted(self.instances.rows, [row, row + 1])
        return tuple(self.nodes[node] for node in self.instances.nodes[low:high].tolist())

    def nodes_as_maps(self) -> list[dict[str, Any]]:
        """Return the nodes as flat maps of JSON scalars, ready to be written as properties."""
        return [
            {
                "id": node.id,
                "subject_category": node.subject_category,
                "predicate": node.predicate,
                "object_category": node.object_category,
                "support": node.support,
            }
            for node in self.nodes
        ]

    def edges_as_maps(self) -> list[dict[str, Any]]:
        """Return the edges as flat maps of JSON scalars and lists of numbers; gaps in them are in days."""
        bounds = [bound * self.step_us / DAY_US for bound in self.gap_bounds]
        return [
            {
                "id": edge.id,
                "source": edge.source,
                "target": edge.target,
                "roles": edge.roles,
                "support": edge.support,
                "confidence": edge.confidence,
                "lag": edge.lag,
                "gap_histogram": list(edge.gap_histogram),
                "gap_bounds": bounds,
                "bits": edge.bits,
                "delta_length": edge.delta_length,
                "beta": edge.beta,
                "last_seen_us": edge.last_seen_us,
                "gap_model": edge.gap_model,
            }
            for edge in self.edges
        ]


@dataclass(frozen=True, slots=True)
class _Classified:
    """Nodes in their final order, and the events under them."""

    nodes: tuple[RuleNode, ...]
    instances: Instances
    event: Ints


def mine_rules(table: FactTable, rows: Ints, options: MiningOptions | None = None) -> RuleGraph:
    """Mine the rule graph of one tenant. Pure: the same statements give the same graph, in any order of rows.

    Args:
        table: the assertions.
        rows: int64[k], the rows to mine, of one tenant and believed (`believed_rows`).
        options: settings; None for the defaults.

    Raises:
        InputError: the rows belong to several tenants.
        LimitError: a bound of the options would be passed; the message says which and by how much.
        ChronofyError: mlxtend or pandas is not installed.
    """
    options = options if options is not None else MiningOptions()
    events = collect_events(table, rows, options)
    categories = mine_categories(events, options)
    classified = _classify(events, categories)
    span = int(events.step.max() - events.step.min()) if len(events) else 0
    bounds = gap_bounds(span)
    pairs = count_pairs(classified.instances, options)
    counts = _node_counts(classified, len(events), len(np.unique(events.step)), bounds)
    scored = score_edges(pairs, counts)
    return RuleGraph(
        nodes=classified.nodes,
        edges=_edges(scored, classified.nodes, options.step_us / DAY_US),
        instances=_instance_map(events, classified),
        categories=categories.categories,
        gap_bounds=tuple(bounds.tolist()),
        step_us=options.step_us,
        events=len(events),
        steps=counts.steps,
        skipped=pairs.skipped,
    )


def _classify(events: Events, categories: Categories) -> _Classified:
    """Give every event the nodes of the combinations of its subject's and object's categories.

    Most combinations are rare and say what a common one says, so a node is kept only where it is the most
    common one of some event; every event keeps at least that one.
    """
    first = len(categories.categories)
    subject = categories.of(events.subject)
    target = np.full((len(events), subject.shape[1]), -1, dtype=np.int64)
    linked = events.object >= 0
    target[linked] = categories.of(events.object[linked])
    target[~linked, 0] = first + events.value_class[~linked]
    event, left, right = np.nonzero((subject[:, :, None] >= 0) & (target[:, None, :] >= 0))
    s, p, o = subject[event, left], events.predicate[event], target[event, right]
    names = [*(category.name for category in categories.categories), *events.class_names]
    width = len(names)
    keys, key, many = np.unique((p * first + s) * width + o, return_inverse=True, return_counts=True)
    triples = [
        (names[k // width % first], events.pool[k // width // first], names[k % width]) for k in keys.tolist()
    ]
    by_name = np.asarray(sorted(range(len(triples)), key=triples.__getitem__), dtype=np.int64)
    chosen = by_name[_common(event, np.argsort(by_name)[key], many[by_name])]
    place = np.full(len(keys), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    nodes = tuple(_node(triples[old], int(many[old])) for old in chosen.tolist())
    rows = np.flatnonzero(place[key] >= 0)
    event = event[rows]
    instances = Instances(
        node=place[key[rows]],
        subject=events.subject[event],
        object=events.object[event],
        subject_category=s[rows],
        object_category=o[rows],
        step=events.step[event],
        at_us=events.at_us[event],
    )
    return _Classified(nodes, instances, event)


def _node(triple: tuple[str, str, str], support: int) -> RuleNode:
    subject_category, predicate, object_category = triple
    return RuleNode(_hash("r_", *triple), subject_category, predicate, object_category, support)


def _common(event: Ints, node: Ints, support: Ints) -> Ints:
    """Return the nodes, ascending, that are some event's most common one; of equals the first counts."""
    order = np.lexsort((node, -support[node], event))
    first = np.flatnonzero(np.diff(event[order], prepend=-1))
    chosen: Ints = np.unique(node[order[first]])
    return chosen


def _hash(prefix: str, *parts: str) -> str:
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return prefix + hashlib.blake2b(text, digest_size=16).hexdigest()


def _node_counts(classified: _Classified, facts: int, steps: int, bounds: Ints) -> NodeCounts:
    instances, count = classified.instances, len(classified.nodes)
    return NodeCounts(
        support=np.bincount(instances.node, minlength=count).astype(np.int64),
        facts=facts,
        steps=steps,
        exposure=exposure_by_bin(instances.node, instances.step, count, bounds),
        bounds=bounds,
    )


def _edges(scored: ScoredEdges, nodes: tuple[RuleNode, ...], days: float) -> tuple[RuleEdge, ...]:
    """Build the row views; `days` is the length of a step."""
    columns = zip(
        scored.source.tolist(), scored.target.tolist(), scored.role.tolist(), scored.support.tolist(),
        scored.followed.tolist(), scored.lag.tolist(), scored.histogram.tolist(), scored.delta.tolist(),
        scored.beta.tolist(), scored.last_us.tolist(), scored.gap_model.tolist(), strict=True,
    )  # fmt: skip
    return tuple(
        RuleEdge(
            source=nodes[source].id,
            target=nodes[target].id,
            roles=ROLES[role],
            support=support,
            confidence=followed / nodes[source].support,
            lag=lag * days,
            gap_histogram=tuple(histogram),
            bits=-delta / support,
            delta_length=delta,
            beta=beta / days,
            last_seen_us=last_us,
            gap_model=GAP_MODELS[model],
        )
        for source, target, role, support, followed, lag, histogram, delta, beta, last_us, model in columns
    )


def _instance_map(events: Events, classified: _Classified) -> InstanceMap:
    """Spread the nodes of each event over the assertion rows that state it."""
    # The instances are ordered by event, so those of one event stand in one run.
    start = np.searchsorted(classified.event, events.row_event, side="left")
    many = np.searchsorted(classified.event, events.row_event, side="right") - start
    owner = np.repeat(np.arange(len(events.rows)), many)
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
    nodes = classified.instances.node[start[owner] + inside]
    rows = events.rows[owner]
    order = np.lexsort((nodes, rows))
    return InstanceMap(rows[order], nodes[order])
