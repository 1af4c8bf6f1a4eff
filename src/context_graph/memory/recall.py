"""Recalls the memories that fit a query best, each with the reasons (REQ-CORE-015).

The search is exact at every size: scanning all vectors takes 0.6 ms at 100,000 memories, 12 ms at a million
(docs/dev/adr/0010-recall-index.md).
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.kernels import ranking
from context_graph.memory import relevance
from context_graph.memory.asked import SEMANTIC, Asked, joins_words, nearest
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.evidence import EvidenceState, Verdict
from context_graph.memory.filters import RecallFilters
from context_graph.memory.index import blend as blending
from context_graph.memory.index.blend import (
    NEAR,
    Blend,
    Scores,
    Wanted,
    asks_nothing,
    asks_when,
    has_known_word,
    hashes,
    read,
)
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.index.order import (
    MAX_DEPTH,
    Judged,
    Order,
    Spread,
    cursor_of,
    end_of_evidence,
    key_of,
    read_cursor,
    spread,
    without_notes,
)
from context_graph.memory.index.second_vectors import SecondVectors
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, check_unit

MAX_QUERY_CHARS: Final = 4096
MAX_TOP_K: Final = 100
_LISTS_KEPT: Final = 16
_EXPANDED: Final = 10
"""Best memories whose edges are followed."""
_JUDGED_BY_LETTERS: Final = 40
"""Memories that are judged where words are inflected and joined: the index knows whole words, and of most of
them English stems."""
_JUDGED: Final = 24
"""Memories that are judged else: one sentence of a long one may answer, of which its mean says little."""
_HOPS: Final = 3
"""How far they are followed."""
_EXPANDED_ON: Final = 1
"""Memories that a hop reached whose edges are followed on; edges are read from the disk."""
MAX_EDGES: Final = 32
"""Edges of one answer whose traversal is counted, the strongest."""
TIMES: Final = (
    "yesterday today tomorrow tonight last next ago week weekend month year day morning evening night "
    "recently soon since january february march april may june july august september october november "
    "december monday tuesday wednesday thursday friday saturday sunday spring summer autumn fall winter"
)


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory of an answer."""

    node: MemoryNode
    score: float
    """relevance_score in [0, 1]: how likely it is what was asked for (`relevance`); beyond those judged it
    only falls with the rank."""
    parts: dict[str, float] = field(compare=False)
    """Why: ``cosine`` of the vectors, [-1, 1]; ``terms``, the idf-weighted share of the query's terms that it
    has, [0, 1]; ``bm25``; ``own`` and ``others``, its own score and what neighbours, session and edges add.
    Those judged also have what their score is made of, `asked.NAMES`, and `second`, the cosine of second
    vectors, where there are some."""


@dataclass(frozen=True, slots=True)
class Recall:
    """An answer: at most top_k memories, best first; none is not an error (EC-CORE-004)."""

    nodes: list[Recalled]
    total: int
    """Memories that pass the filters."""
    next_cursor: str | None = None
    """None when there is no next page."""
    followed: tuple[GraphEdge, ...] = field(default=(), compare=False)
    """Edges that were followed from one of these memories to another."""
    dense: memoryview[float] | None = field(default=None, compare=False, repr=False)
    """The meaning of what was asked, as it was compared; None where nothing was."""

    def led_to(self) -> dict[str, list[UUID]]:
        """Memory -> the edges followed to it: of an edge's two ends the one that answers less."""
        place = {row.node.id: number for number, row in enumerate(self.nodes)}
        led: dict[str, list[UUID]] = {}
        for edge in self.followed:
            end = max(edge.source_id, edge.target_id, key=place.__getitem__)
            led.setdefault(str(end), []).append(edge.id)
        return led

    def worth(self, node_ids: Container[str]) -> dict[str, dict[str, float]]:
        """Memory -> what its relevance is made of, in log-odds (`relevance.worth`), of the named."""
        return {
            str(row.node.id): relevance.worth(relevance.kind_of_memory(row.node), row.parts)
            for row in self.nodes
            if str(row.node.id) in node_ids
        }


def by_evidence(rows: Sequence[Recalled], verdicts: Mapping[UUID, Verdict]) -> list[Recalled]:
    """Ordered by relevance times what is left of each memory's evidence; what was superseded comes last."""
    weighed = [
        replace(row, score=row.score * verdicts[row.node.id].weight) if row.node.id in verdicts else row
        for row in rows
    ]
    last = {key for key, verdict in verdicts.items() if verdict.state is EvidenceState.SUPERSEDED}
    return sorted(weighed, key=lambda row: (row.node.id in last, -row.score))


def between(edges: Iterable[GraphEdge], nodes: Iterable[UUID]) -> list[GraphEdge]:
    """Return those of ``edges`` with both ends among ``nodes``, each once; MAX_EDGES, strongest first."""
    here = set(nodes)
    edges_by_id = {edge.id: edge for edge in edges if edge.source_id in here and edge.target_id in here}
    return sorted(edges_by_id.values(), key=lambda edge: (-edge.effective_weight(), edge.id))[:MAX_EDGES]


def check_query(query: object) -> str:
    """Check that it is a text of 1 to 4,096 characters; InvalidParamsError if not."""
    if not isinstance(query, str):
        raise InvalidParamsError.of("query", f"must be a string, is {type(query).__name__}")
    if not 1 <= len(query) <= MAX_QUERY_CHARS:
        raise InvalidParamsError.of("query", f"must have 1 to {MAX_QUERY_CHARS} characters, has {len(query)}")
    return query


def check_top_k(top_k: object) -> int:
    """Check that it is 1 to 100 (EC-CORE-005); InvalidParamsError if not."""
    if type(top_k) is not int or not 1 <= top_k <= MAX_TOP_K:
        raise InvalidParamsError(f"top_k must be between 1 and {MAX_TOP_K}", parameter="top_k")
    return top_k


class Recaller:
    """Answers queries over one index. Thread-safe.

    Args:
        provider: Encodes queries; the one that encoded the memories.
        node_of: The live memory of an id, or None.
        edges_of: Edges from and to a memory; None if the store has no edges.
        extra: The provider of second vectors, if there is one.
        now_ms: The clock, for recency.
    """

    def __init__(
        self,
        index: MemoryIndex,
        provider: EmbeddingProvider,
        node_of: Callable[[UUID], MemoryNode | None],
        edges_of: Callable[[UUID], Iterable[GraphEdge]] | None = None,
        *,
        extra: SecondVectors | None = None,
        blend: Blend = blending.DEFAULT,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.index, self.provider, self.extra = index, provider, extra
        self._node_of, self._edges_of, self._now_ms = node_of, edges_of, now_ms
        self._blend = blend
        self._scores = Scores()
        self._times: array[int] | None = None
        self._orders: OrderedDict[bytes, Order] = OrderedDict()

    def recall(
        self,
        query: str,
        *,
        top_k: int = 10,
        filters: RecallFilters | None = None,
        recency: float = 0.0,
        cursor: str | None = None,
        floor: float = 0.0,
        looks_up: bool = False,
        alike: Mapping[str, float] | None = None,
        by_query: bool = False,
    ) -> Recall:
        """Return the ``top_k`` memories that fit best, or those after a cursor; arguments as
        `Reading.recall`'s.

        It finds whatever was stored before the call. A cursor keeps the order of its first page, without what
        was deleted since. Raises InvalidParamsError: Names the parameter and its limit.
        """
        check_query(query)
        check_top_k(top_k)
        check_unit("recency", recency)
        check_unit("min_relevance", floor)
        filters = filters or RecallFilters()
        key = key_of(query, filters.key(), recency)
        start, watermark = read_cursor(cursor, key)
        second = self._second(query)
        with self.index.lock:
            known = self._known(watermark)
            live = self._live(known)
            mask = filters.mask(self.index.rows, live)
            total = ranking.count(mask)
            if not total:
                return Recall([], 0)
            wanted = self._wanted(query, known, second)
            if not wanted.terms and not any(wanted.dense):
                return Recall([], 0)
            if asks_nothing(query):
                return Recall([], total)
            ranked, followed = self._rank(wanted, live, mask, recency)
            judged = _JUDGED_BY_LETTERS if joins_words(query) else _JUDGED
            shown = spread(ranked, self.index.rows, self._node_of, judged)
            if not self._has_evidence(wanted, mask, ranked[0]):
                return Recall([], total)
            watermark = self.index.commit_seq if watermark is None else watermark
            order = self._order(
                key + bytes([looks_up]),
                *(watermark, wanted, live, shown, followed),
                aged=recency > 0.0,
                first=start == 0,
                looks_up=looks_up,
                alike=alike,
                by_query=by_query,
            )
            if order.likeliest < floor:
                return Recall([], total)
            page, after = self._page(order, start, top_k, mask)
            parts = self._parts(wanted, live, [row for _, row, _ in page], order.signs)
            if looks_up and (ends := end_of_evidence(parts)) < len(page):
                page, parts, after = page[:ends], parts[:ends], len(order.rows)
        nodes = self._nodes(page, parts)
        cursor = cursor_of(after, watermark, key) if after < len(order.rows) else None
        edges = tuple(between(followed, (row.node.id for row in nodes)))
        return Recall(nodes, total, cursor, edges, wanted.dense)

    def nearest(self, text: str, most: int) -> list[MemoryNode]:
        """Return the live memories that words and meaning bring nearest to ``text``, unjudged."""
        check_query(text)
        with self.index.lock:
            rows = self.index.rows
            wanted = self._wanted(text, len(rows), None)
            blending.rank(self.index, wanted, rows.live, self._blend, self._scores)
            best = ranking.top(self._scores.total, rows.live, most)
            ids = [UUID(bytes=rows.id_of(row)) for row in best]
        return [node for node in map(self._node_of, ids) if node is not None]

    def _known(self, watermark: int | None) -> int:
        """Return how many rows there were at the commit that a cursor names."""
        rows = self.index.rows
        return len(rows) if watermark is None else bisect_right(rows.commit, watermark)

    def _live(self, known: int) -> bytearray:
        """Return the live rows among those that a cursor knows."""
        live = self.index.rows.live
        return live if known == len(live) else live[:known] + bytes(len(live) - known)

    def _second(self, query: str) -> bytes | None:
        """Return the query's second vector or None. It takes milliseconds, so not under the index's lock."""
        second = self.index.extra
        if self.extra is None or not second:
            return None
        enough = self._blend.extra_from * len(self.index)
        return self.extra.encode_query(query) if second.filled >= enough else None

    def _wanted(self, query: str, known: int, second: bytes | None) -> Wanted:
        index = self.index
        counts, total = index.piece_counts, index.pieces
        if known < len(index.rows):
            counts, total = index.counted_before(known)
        if self._times is None:
            self._times = hashes(self.provider.encode(TIMES).terms)
        wanted = read(query, self.provider, counts, total, self._blend)
        return replace(wanted, extra=second, times=self._times if asks_when(query) else None)

    def _rank(
        self, wanted: Wanted, live: bytearray, mask: bytearray, recency: float
    ) -> tuple[list[int], list[GraphEdge]]:
        """Score all memories; the best, as many as a cursor can reach, and the edges that were followed."""
        scores, rows = self._scores, self.index.rows
        blending.rank(self.index, wanted, live, self._blend, scores)
        if recency > 0.0:
            # Ages are counted from the newest memory: a store that slept a year still knows new from old.
            now = min(self._now_ms(), rows.newest)
            weight = recency * self._blend.recency
            ranking.add_by_age(rows.created, now, self._blend.half_life_ms, weight, scores.total)
        best = ranking.top(scores.total, mask, MAX_DEPTH)
        return (best, []) if self._edges_of is None else self._follow_edges(self._edges_of, mask, best)

    def _has_evidence(self, wanted: Wanted, mask: bytearray, best: int) -> bool:
        """Return whether a memory shares a word or meaning with the query; else the best are chance."""
        scores = self._scores
        # Nearly always the best row has a word: only without one are all looked at.
        if wanted.terms and (scores.lexical[best] > 0.0 or self._best(scores.lexical, mask) > 0.0):
            return True
        near = self._best(scores.dense, mask) / SEMANTIC
        if wanted.extra is not None:
            near = max(near, self._best(scores.extra, mask))
        return near >= NEAR and has_known_word(wanted.text, self.provider)

    @staticmethod
    def _best(scores: array[float], mask: bytearray) -> float:
        return max((scores[row] for row in ranking.top(scores, mask, 1)), default=0.0)

    def _follow_edges(
        self, edges_of: Callable[[UUID], Iterable[GraphEdge]], mask: bytearray, best: list[int]
    ) -> tuple[list[int], list[GraphEdge]]:
        """Pass part of the best scores along their edges; returns the best then, and the edges."""
        total, gains, followed = self._scores.total, dict[int, float](), list[GraphEdge]()
        level = {row: total[row] for row in best[:_EXPANDED] if total[row] > 0.0}
        passed = set[int]()
        for _ in range(_HOPS):
            passed |= level.keys()
            lifted = dict[int, float]()
            for row, passes in level.items():
                for edge, target in self._edges_from(row, edges_of, mask):
                    gain = self._blend.edge * edge.effective_weight() * passes
                    if gain <= 0.0:
                        continue
                    gains[target] = max(gains.get(target, 0.0), gain)
                    lifted[target] = max(lifted.get(target, 0.0), gain)
                    followed.append(edge)
            reached = sorted((gain, row) for row, gain in lifted.items() if row not in passed)
            level = {row: gain for gain, row in reached[-_EXPANDED_ON:]}
        for target, gain in gains.items():
            total[target] += gain
        if gains:  # these alone rose, so that nothing else can be among the best
            best = sorted(gains.keys() | best, key=lambda row: (total[row], row), reverse=True)[:MAX_DEPTH]
        return best, followed

    def _edges_from(
        self, row: int, edges_of: Callable[[UUID], Iterable[GraphEdge]], mask: bytearray
    ) -> Iterator[tuple[GraphEdge, int]]:
        """Yield the edges of a memory in both directions, with the row at the other end."""
        node_id = UUID(bytes=self.index.rows.id_of(row))
        for edge in edges_of(node_id):
            other = self.index.row_of(edge.target_id if edge.source_id == node_id else edge.source_id)
            if other is not None and mask[other] and other != row:
                yield edge, other

    def _order(
        self,
        key: bytes,
        watermark: int,
        wanted: Wanted,
        live: bytearray,
        shown: Spread,
        followed: Iterable[GraphEdge],
        *,
        aged: bool,
        first: bool,
        looks_up: bool,
        alike: Mapping[str, float] | None,
        by_query: bool,
    ) -> Order:
        """Return the order of the first page, or today's: the best by their relevance, unless aged."""
        best = shown.rows
        name = key + watermark.to_bytes(8, "little")
        order = self._orders.pop(name, None)
        seconds = -1 if wanted.extra is None else self.index.extra_done
        outdated = order is not None and (
            order.sweeps != self.index.sweeps
            or (first and (order.seconds != seconds or bool(alike) or order.knows_work))
        )
        if order is None or outdated:
            total = self._scores.total
            scores = array("f", [total[row] for row in best])
            judged, stored = self._judged(shown, wanted, live, looks_up=looks_up)
            judged = self._led_on(self._like_work(judged, alike or {}, by_query=by_query), followed)
            if not aged:
                judged.sort(key=lambda row: -row[1])
                if looks_up:
                    judged = relevance.in_ranked_order(judged, stored)
            best[: len(judged)] = [row for row, _, _ in judged]
            falling = list(accumulate((likely for _, likely, _ in judged), min))
            likeliest = max(likely for _, likely, _ in judged)
            signs = {row: marks for row, _, marks in judged}
            sweeps = self.index.sweeps
            order = Order(best, scores, falling, likeliest, signs, sweeps, seconds, bool(alike))
        self._orders[name] = order
        while len(self._orders) > _LISTS_KEPT:
            self._orders.popitem(last=False)
        return order

    def _judged(
        self, shown: Spread, wanted: Wanted, live: bytearray, *, looks_up: bool
    ) -> tuple[list[Judged], list[int]]:
        """Return these rows, as ranked, and those that somebody stored; no average counts notes."""
        stored, live = ranking.count(live), without_notes(live, self.index.rows)
        _, mean, deviation = ranking.moments(self._scores.total, live)
        postings = self.index.postings
        asked = Asked(
            wanted.text,
            self.provider,
            lambda terms: postings.idfs(terms, live),
            memories := ranking.count(live),
            notes=stored - memories,
            looks_up=looks_up,
        )
        judged, kept = list[Judged](), list[int]()
        for row in shown.rows[: shown.distinct]:
            node, basis = self._node_at(row), shown.stood_for.get(row, row)
            own = content = "" if node is None else asked.answers_in(node.content)
            if basis != row and (summary := self._node_at(basis)) is not None:
                content = f"{content}\n{asked.answers_in(summary.content)}"  # found by it, judged with it
            margin = (self._scores.total[basis] - mean) / deviation if deviation > 0.0 else 0.0
            passage = nearest(self.provider, own, wanted.dense)
            signs = asked.signs(content, margin, max(self._cosine(row), self._cosine(basis)), passage)
            if wanted.extra is not None and (second := self._scores.extra[row]):  # it may have none yet
                signs[relevance.SECOND] = second
            likely = relevance.of_memory(node, signs, asks=asked.asks, looks_up=looks_up)
            judged.append((row, likely, signs))
            if node is None or node.source not in relevance.LEFT:
                kept.append(row)
        return judged, kept

    def _like_work(self, judged: list[Judged], alike: Mapping[str, float], *, by_query: bool) -> list[Judged]:
        """Return the same, with what the work of their sessions says for them."""
        if not alike:
            return judged
        nodes = (self._node_at(row) for row, _, _ in judged)
        sessions = [node.session_id if node is not None and node.session_id else "" for node in nodes]
        if by_query:  # it says which of the likely ones first
            best = sorted(range(len(judged)), key=lambda at: -judged[at][1])[:_EXPANDED]
            sessions = [name if at in best else "" for at, name in enumerate(sessions)]
        likely = relevance.with_like_work(
            [likely for _, likely, _ in judged], sessions, alike, by_query=by_query
        )
        return [(row, relevance, signs) for (row, _, signs), relevance in zip(judged, likely, strict=True)]

    def _node_at(self, row: int) -> MemoryNode | None:
        return self._node_of(UUID(bytes=self.index.rows.id_of(row)))

    def _led_on(self, judged: list[Judged], followed: Iterable[GraphEdge]) -> list[Judged]:
        """Return the same; an edge passes relevance on as it does the score."""
        likely = {row: likely for row, likely, _ in judged}
        for edge in followed:
            ends = (self.index.row_of(edge.source_id), self.index.row_of(edge.target_id))
            low, high = sorted(ends, key=lambda row: likely.get(-1 if row is None else row, -1.0))
            if low in likely and high in likely:
                passed = self._blend.edge * edge.effective_weight() * likely[high]
                likely[low] = min(likely[high], max(likely[low], passed))
        return [(row, likely[row], signs) for row, _, signs in judged]

    def _cosine(self, row: int) -> float:
        return max(-1.0, min(1.0, self._scores.dense[row] / SEMANTIC))

    def _page(
        self, order: Order, start: int, top_k: int, mask: bytearray
    ) -> tuple[list[tuple[UUID, int, float]], int]:
        """((id, row, relevance) of the next memories that still exist, where to go on)"""
        page: list[tuple[UUID, int, float]] = []
        at = start
        while at < len(order.rows) and len(page) < top_k:
            row = order.rows[at]
            if mask[row]:
                page.append((UUID(bytes=self.index.rows.id_of(row)), row, order.relevance(at)))
            at += 1
        return page, at

    def _parts(
        self, wanted: Wanted, live: bytearray, page: list[int], signs: Mapping[int, dict[str, float]]
    ) -> list[dict[str, float]]:
        scores = self._scores
        shares = self.index.postings.shares(wanted.terms, live, array("I", page))
        return [
            {
                "cosine": self._cosine(row),
                "terms": share,
                "bm25": scores.lexical[row],
                "own": scores.base[row],
                "others": scores.total[row] - scores.base[row],
                **signs.get(row, {}),
            }
            for row, share in zip(page, shares, strict=True)
        ]

    def _nodes(self, page: list[tuple[UUID, int, float]], parts: list[dict[str, float]]) -> list[Recalled]:
        rows = []
        for (node_id, _, likely), why in zip(page, parts, strict=True):
            node = self._node_of(node_id)
            if node is not None:  # else deleted since the ranking
                rows.append(Recalled(node, likely, why))
        return rows
