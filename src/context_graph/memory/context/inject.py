"""Injects what the store knows about a query, within a budget of tokens (inject_context, REQ-CORE-016)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.memory.context.distill import Candidate, Mode, distilled, fold, raw_text
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.evidence import TOOL_S, Verdict
from context_graph.memory.filters import RecallFilters
from context_graph.memory.metrics.insights import INSIGHTS, Insights
from context_graph.memory.metrics.metrics import Metrics
from context_graph.memory.metrics.review_tasks import Reader
from context_graph.memory.recall import Recall, Recalled, between, by_evidence, check_query
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MIN_RELEVANCE, MemoryNode

MIN_TOKENS: Final = 100
MAX_TOKENS: Final = 8192


@dataclass(frozen=True, slots=True)
class _Reach:
    """The effect of a priority."""

    candidates: int
    """Memories looked at, at most."""
    floor: float
    """Share of the best memory's relevance that another must have."""
    least: float
    """Relevance that every memory must have."""
    share: float
    """Share of max_tokens that may be used."""


_REACH: Final = {
    "low": _Reach(8, 0.7, 0.3, 0.5),
    "normal": _Reach(24, 0.5, 0.0, 1.0),
    "high": _Reach(48, 0.3, 0.0, 1.0),
    "critical": _Reach(96, 0.0, 0.0, 1.0),
}


class Store(Reader, Protocol):
    """The methods of Memex that an injection needs."""

    def recall(
        self, query: str, *, top_k: int, filters: RecallFilters, floor: float, looks_up: bool
    ) -> Recall: ...

    def verdicts(
        self, nodes: Iterable[MemoryNode], folder: str | None, *, within_s: float
    ) -> Sequence[Verdict | None]: ...

    def embedding(self, node_id: UUID, /) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Injection:
    """The answer. Token counts are of the store's embedder (WordPiece)."""

    context: str
    tokens_used: int
    tokens_before: int
    """What the found memories would take in full."""
    mode: Mode
    """The form used; never auto."""
    compression_ratio: float
    """1 - used / before, in [0, 1]: the share of tokens saved."""
    nodes: tuple[MemoryNode, ...]
    """The memories quoted in the context, in order of first mention."""
    utl_metrics: Metrics
    """Metrics of all memories found."""
    metadata: dict[str, list[dict[str, Any]]]
    """What `include` asked for."""
    insights: Insights = field(compare=False, repr=False)
    """For more of that."""
    followed: tuple[GraphEdge, ...] = field(default=(), compare=False, repr=False)
    """Edges that were followed from one of `nodes` to another."""

    @property
    def node_ids(self) -> tuple[UUID, ...]:
        """Ids of `nodes`."""
        return tuple(node.id for node in self.nodes)


def inject(
    store: Store,
    tokenizer: EmbeddingProvider,
    pack: Callable[[bytes], bytes | None],
    query: str,
    *,
    max_tokens: int = 2048,
    mode: str = Mode.AUTO,
    priority: str = "normal",
    include: Iterable[str] = (),
    filters: RecallFilters,
    folder: str | None = None,
    beside: Sequence[Recalled] = (),
) -> Injection:
    """Find what fits ``query`` and render it in at most ``max_tokens`` tokens, as `Reading.inject` says.

    Args:
        pack: Embeddings in the form that the metrics compare (`StoreMetrics.pack`).

    Raises InvalidParamsError: Names the parameter and its limit (EC-CORE-006).
    """
    check_query(query)
    reach, how, names = _checked(max_tokens, mode, priority, include)
    floor = MIN_RELEVANCE if reach.least or reach.floor else 0.0
    recalled = store.recall(query, top_k=reach.candidates, filters=filters, floor=floor, looks_up=True)
    rows = [*recalled.nodes, *beside]
    least = max(reach.least, reach.floor * max((row.score for row in rows), default=0.0))
    candidates = _with_verdicts(store, [row for row in rows if row.score >= least], folder)
    nodes = [candidate.node for candidate in candidates]
    packed = packed_vectors(store, pack, nodes)
    budget = max(1, int(max_tokens * reach.share))
    distillate = distilled(query, fold(candidates), budget, how, tokenizer)
    by_id = {node.id: node for node in nodes}
    shown = tuple(by_id[node_id] for node_id in distillate.node_ids)
    used = tokenizer.count_tokens(distillate.text)
    before = sum(tokenizer.count_tokens(raw_text(candidate)) for candidate in candidates)
    insights = Insights(shown, store, packed)
    return Injection(
        context=distillate.text,
        tokens_used=used,
        tokens_before=before,
        mode=distillate.mode,
        compression_ratio=max(0.0, 1.0 - used / before) if before else 0.0,
        nodes=shown,
        utl_metrics=Insights(nodes, store, packed).metrics(),
        metadata=insights.named(names),
        insights=insights,
        followed=tuple(between(recalled.followed, by_id.keys() & distillate.node_ids)),
    )


def _with_verdicts(store: Store, rows: Sequence[Recalled], folder: str | None) -> list[Candidate]:
    """Return what was found with how its evidence stands, ordered by relevance times what is left of that."""
    verdicts = store.verdicts([row.node for row in rows], folder, within_s=TOOL_S)
    by_id = {row.node.id: verdict for row, verdict in zip(rows, verdicts, strict=True) if verdict}
    return [
        Candidate(row.node, row.score, evidence=by_id[row.node.id].text() if row.node.id in by_id else "")
        for row in by_evidence(rows, by_id)
    ]


def _checked(
    max_tokens: object, mode: str, priority: str, include: Iterable[str]
) -> tuple[_Reach, Mode, Sequence[str]]:
    if type(max_tokens) is not int or not MIN_TOKENS <= max_tokens <= MAX_TOKENS:
        raise InvalidParamsError(
            f"max_tokens must be between {MIN_TOKENS} and {MAX_TOKENS}", parameter="max_tokens"
        )
    if mode not in set(Mode):
        raise InvalidParamsError.of("distillation_mode", f"is {mode!r}, must be one of {', '.join(Mode)}")
    if priority not in _REACH:
        raise InvalidParamsError.of("priority", f"is {priority!r}, must be one of {', '.join(_REACH)}")
    names = list(include)
    for name in names:
        if name not in INSIGHTS:
            raise InvalidParamsError.of(
                "include_metadata", f"names {name!r}, the known ones are {', '.join(INSIGHTS)}"
            )
    return _REACH[priority], Mode(mode), names


def packed_vectors(
    store: Store, pack: Callable[[bytes], bytes | None], nodes: Iterable[MemoryNode]
) -> dict[UUID, bytes]:
    """Return the vectors of memories in the form that the metrics compare, without empty ones."""
    vectors = {}
    for node in nodes:
        embedding = store.embedding(node.id)
        vector = None if embedding is None else pack(embedding)
        if vector is not None:
            vectors[node.id] = vector
    return vectors
