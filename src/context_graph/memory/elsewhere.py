"""Ranks memories of other places for a question, as if they were in this store.

How rare a word is, and how far a score is from the usual, are this store's: what it and the others hold is
written by the same people about the same things. So their relevance can be compared with its own memories'.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from context_graph.kernels import ranking
from context_graph.memory import relevance
from context_graph.memory.asked import SEMANTIC, Asked, nearest
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.filters import RecallFilters
from context_graph.memory.index import blend as blending
from context_graph.memory.index.blend import DEFAULT, Blend, Scores, Wanted
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.recall import Recalled
from context_graph.memory.writing import text_to_embed
from context_graph.model.memory import MemoryNode

LEAST_HERE: Final = 64
"""Memories that a store needs to tell what is usual; before, the others themselves do."""
MOST: Final = 50
"""Memories whose relevance is judged: those with the highest scores."""
_NONE: Final = 1e-9
"""A deviation below this is none."""


class Sought(NamedTuple):
    """A question as an index elsewhere is asked."""

    provider: str
    """Digest of what made terms and vector."""
    terms: list[int]
    """Hashes, uint64, the rarest in this store first."""
    weights: list[float]
    """How rare each is: its idf."""
    vector: list[float]
    """Semantic slice of the question; all zeros where it has no meaning."""


def sought(index: MemoryIndex, provider: EmbeddingProvider, query: str) -> Sought:
    """Return ``query`` for others. Cost: as embedding it."""
    with index.lock:
        wanted = blending.read(query, provider, index.piece_counts, index.pieces, DEFAULT)
        idfs = index.postings.idfs(wanted.terms, index.rows.live)
    rare = sorted(zip(idfs, wanted.terms, strict=True), reverse=True)
    return Sought(provider.digest, [term for _, term in rare], [idf for idf, _ in rare], list(wanted.dense))


def ranked(
    index: MemoryIndex,
    provider: EmbeddingProvider,
    query: str,
    nodes: Sequence[MemoryNode],
    filters: RecallFilters,
) -> list[Recalled]:
    """Return the likeliest of ``nodes`` that pass the filters and are not here, at most MOST."""
    others, by_row = MemoryIndex(index.digest, provider.vocabulary_size), []
    for node in nodes:
        if node.id not in index:
            others.add(node, provider.encode(text_to_embed(node)))
            by_row.append(node)
    with index.lock:
        usual = index if len(index) >= LEAST_HERE else others
        wanted = blending.read(query, provider, usual.piece_counts, usual.pieces, DEFAULT)
        if not by_row or not (wanted.terms or any(wanted.dense)):
            return []
        scores, margins = _scored(usual, others, wanted, DEFAULT)
        mask = filters.mask(others.rows, others.rows.live)
        best = ranking.top(scores.base, mask, MOST)
        live = usual.rows.live
        asked = Asked(
            query, provider, lambda terms: usual.postings.idfs(terms, live), len(usual), looks_up=False
        )
        rows = []
        for row in best:
            cosine = max(-1.0, min(1.0, scores.dense[row] / SEMANTIC))
            content = by_row[row].content
            passage = nearest(provider, content, wanted.dense)
            signs = asked.signs(content, margins[row], cosine, passage)
            likely = relevance.probability(relevance.kind_of_memory(by_row[row]), signs)
            rows.append(Recalled(by_row[row], likely, {"cosine": cosine, **signs}))
    return sorted(rows, key=lambda row: -row.score)


def _scored(
    usual: MemoryIndex, others: MemoryIndex, wanted: Wanted, blend: Blend
) -> tuple[Scores, list[float]]:
    """Scores of the others' rows, and how many of the usual deviations each is above the usual mean."""
    here, live = Scores(), usual.rows.live
    blending.rank(usual, wanted, live, blend, here)
    scores, rows = Scores(), others.rows.live
    scores.fit(len(rows))
    scores.zeros("lexical")
    others.vectors.scan(wanted.dense, rows, scores.dense)
    if wanted.terms:
        _score_words(usual, others, wanted, blend, scores)
    parts = []
    for name, weight in (
        ("lexical", blend.lexical_plain if wanted.plain else blend.lexical),
        ("dense", blend.dense_plain if wanted.plain else blend.dense),
    ):
        _, mean, deviation = ranking.moments(getattr(here, name), live)
        if deviation < _NONE:  # no memory here has any of it
            _, mean, deviation = ranking.moments(getattr(scores, name), rows)
        parts.append((getattr(scores, name), mean, deviation, weight, False))
    ranking.blend(parts, others.rows.flags, array("f", [0.0, blend.question]), scores.base)
    _, mean, deviation = ranking.moments(here.total, live)
    if deviation < _NONE:
        _, mean, deviation = ranking.moments(scores.base, rows)
    margins = [(score - mean) / deviation if deviation >= _NONE else 0.0 for score in scores.base]
    return scores, margins


def _score_words(
    usual: MemoryIndex, others: MemoryIndex, wanted: Wanted, blend: Blend, scores: Scores
) -> None:
    """BM25 of the others with the rarity and the mean length that are usual."""
    count, length = usual.postings.totals(usual.rows.live)
    if not count:
        return
    rarity = usual.postings.idfs(wanted.terms, usual.rows.live)
    own = others.postings.idfs(wanted.terms, others.rows.live)
    factors = [a / b for a, b in zip(rarity, own, strict=True)]
    weights = array("f", [weight * factor for weight, factor in zip(wanted.weights, factors, strict=True)])
    rows, b = float(len(others)), blend.b_plain if wanted.plain else blend.b
    live = others.rows.live
    others.postings.score(wanted.terms, weights, live, rows, length / count, blend.k1, b, scores.lexical)
