"""Finding the facts that a question is about: words, vectors, a walk over the graph, and their ranking.

Everything here is pure given arrays, but for the model in `embed` and the cache on disk in `vectors`. Decay
and tau come in as weights and masks; what is done with the facts found is in `chronofy_kg.answer`.
"""

from chronofy_kg.retrieval.documents import Documents, documents
from chronofy_kg.retrieval.embed import Embedder, EmbedderMissingError, MiniLM
from chronofy_kg.retrieval.lexical import LexicalIndex, Matches, Mentions, NameIndex
from chronofy_kg.retrieval.pagerank import RuleEdges, Walk, WalkGraph, walk
from chronofy_kg.retrieval.rank import Candidates, Mode, Ranking, RankSettings, Reason, rank_facts
from chronofy_kg.retrieval.temporal import TEMPORAL_DIMENSIONS, encode_times, join, truncate
from chronofy_kg.retrieval.vectors import CachedEmbedder, EmbeddingCache, VectorIndex

__all__ = [
    "TEMPORAL_DIMENSIONS",
    "CachedEmbedder",
    "Candidates",
    "Documents",
    "Embedder",
    "EmbedderMissingError",
    "EmbeddingCache",
    "LexicalIndex",
    "Matches",
    "Mentions",
    "MiniLM",
    "Mode",
    "NameIndex",
    "RankSettings",
    "Ranking",
    "Reason",
    "RuleEdges",
    "VectorIndex",
    "Walk",
    "WalkGraph",
    "documents",
    "encode_times",
    "join",
    "rank_facts",
    "truncate",
    "walk",
]
