"""Puts lines and memories into contexts, marked as data; the ledger has what was shown and used."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from context_graph.model import EventKind, HookEvent
from context_graph.store.sessions.sessions import SessionStore

if TYPE_CHECKING:
    from context_graph.memory.context.ledger import Injected, Ledger
    from context_graph.memory.context.told_lines import Fenced, Quote
    from context_graph.memory.memex import Memex
    from context_graph.memory.recall import Recall
    from context_graph.model.edge import GraphEdge
    from context_graph.text.quoting import Line

_NEAR: Final = 3
"""Most memories that the ledger keeps as near misses."""
SESSION_TOKENS: Final = 450
"""Most tokens that a session is shown and does not use."""
_SHOWN_EVENTS: Final = frozenset({EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE, EventKind.STOP})
_LAST_EVENTS: Final = frozenset({EventKind.SESSION_END, EventKind.SUBAGENT_STOP})


class Injections:
    """Of one store; ``of_user`` opens the memory of what the user said of all his work. Not thread-safe."""

    def __init__(
        self,
        store: SessionStore,
        memex: Callable[[], Memex],
        has_memory: Callable[[], bool],
        of_user: Callable[[], Memex | None],
    ) -> None:
        self._store, self._memex, self._has_memory, self._of_user = store, memex, has_memory, of_user
        self.is_awaited: Callable[[], bool] = lambda: True
        """Whether the one who asks still waits: what nobody reads was not shown, and is told later."""
        self._made: Ledger | None = None
        self._evidence: list[HookEvent] = []
        self._ended: list[str] = []
        self._shown: list[tuple[list[str], Sequence[GraphEdge], str]] = []
        """Of each answer: what it showed, the best first, the edges that were followed for it, the folder."""

    @property
    def ledger(self) -> Ledger:
        """The store's ledger."""
        if self._made is None:
            from context_graph.memory.context.ledger import Ledger
            from context_graph.store.graph.tables import InjectionRecords

            if not self._has_memory():
                self._memex()  # it makes the ledger's family in a store that has none
            self._made = Ledger(InjectionRecords(self._store.engine), self._is_common)
        return self._made

    def left(self, context: str) -> int:
        """Return the tokens that a context may still get; what it used does not count, nor do rules."""
        return max(0, SESSION_TOKENS - self.ledger.unused(context))

    @property
    def has_work(self) -> bool:
        """Whether `write` has anything to do."""
        return bool(self._evidence or self._ended or self._shown)

    def noted(self, event: HookEvent, context: str) -> None:
        """Note a durable event of a context: it may show that something was used. Cost: a look-up."""
        if self._made is not None and self._made.awaits(context):
            if event.kind in _SHOWN_EVENTS:
                self._evidence.append(replace(event, session_id=context))
            elif event.kind in _LAST_EVENTS:
                self._ended.append(context)

    def show(
        self,
        event: HookEvent,
        what: str,
        *,
        lines: Sequence[Line] = (),
        quotes: Sequence[Quote] = (),
        budget: int = 0,
        query: str = "",
        recall: Recall | None = None,
        label: bool = True,
    ) -> str:
        """Return the fenced text of ``lines``, and of ``quotes`` as far as the budget goes; "" for nothing to
        tell.

        Args:
            what: The ledger's name of the occasion.
            recall: Where the quotes come from.
            label: Whether the text says what it is; else the tags alone do.
        """
        if not (lines or quotes):
            return ""
        now_ms, followed = event.at_ms, recall.followed if recall else ()
        shown, memories = composed(lines, quotes, now_ms, budget, query=query, recall=recall, label=label)
        if not self.is_awaited():
            return ""
        near = _near(recall, {memory.node_id for memory in memories}) if recall else ()
        self.record(event, what, memories, query=query, tokens=shown.tokens, followed=followed, near=near)
        return shown.text

    def record(
        self,
        event: HookEvent,
        what: str,
        memories: Sequence[Injected],
        *,
        query: str = "",
        tokens: int = 0,
        followed: Sequence[GraphEdge] = (),
        near: Sequence[tuple[str, float]] = (),
    ) -> None:
        """Note in the ledger that ``memories`` were shown."""
        if not memories:
            return
        self.ledger.record(
            event.session_id,
            what,
            memories,
            at_ms=event.at_ms,
            prompt_id=event.prompt_id,
            asked=query,
            tokens=tokens,
            near=near,
            call=event.tool_use_id,
        )
        self._shown.append(([memory.node_id for memory in memories], followed, event.cwd))

    def write(self) -> None:
        """Write what was shown and used since."""
        evidence, self._evidence = self._evidence, []
        for event in evidence:
            self.ledger.observe(event)
        ended, self._ended = self._ended, []
        for session_id in ended:
            self.ledger.ended(session_id)
        answers, self._shown = self._shown, []
        self.ledger.flush()
        uses, worth = self.ledger.uses(), self.ledger.worth_of_edges()
        if not (answers or uses or worth):
            return
        memex, of_user = self._memex(), self._of_user()
        for each in (memex, of_user):
            if each is not None:
                each.use_told(uses)
                for shown, followed, folder in answers:
                    each.touch(shown, followed)
                    each.tell(shown, folder)
        if worth:
            memex.reward(worth)

    def _is_common(self, path: str) -> bool:
        from context_graph.memory.context.ledger import is_common

        memex = self._memex()
        return is_common(memex.names_file(path), memex.count())


def composed(
    lines: Sequence[Line],
    quotes: Sequence[Quote],
    now_ms: int,
    budget: int,
    *,
    query: str = "",
    recall: Recall | None = None,
    label: bool = True,
) -> tuple[Fenced, list[Injected]]:
    """Return the fenced text of `Injections.show`, and the memories in it."""
    from context_graph.memory.asked import closeness
    from context_graph.memory.context.told_lines import fenced
    from context_graph.memory.embed import default_provider
    from context_graph.text.phrases import is_question

    counter = default_provider()
    # Of work that resembles the task the files are shown, of a memory that answers a question the answer.
    dense = recall.dense if recall is not None and is_question(query) else None
    shown = fenced(
        quotes,
        query=query,
        budget=budget,
        now_ms=now_ms,
        count=counter.count_tokens,
        lines=lines,
        label=label,
        near=closeness(counter, dense) if dense is not None else None,
    )
    return shown, [*_of_lines(lines, counter.count_tokens), *_of_quotes(shown, quotes, recall)]


def _near(recall: Recall, shown: Container[str]) -> list[tuple[str, float]]:
    """Return the best of what was recalled and not shown."""
    rest = ((str(row.node.id), row.score) for row in recall.nodes)
    return [row for row in rest if row[0] not in shown][:_NEAR]


def _of_lines(lines: Sequence[Line], count: Callable[[str], int]) -> Iterator[Injected]:
    from context_graph.memory.context.ledger import Injected

    for line in lines:
        if line.node_id:
            yield Injected(line.node_id, 0.0, count(line.text), line.text)


def _of_quotes(shown: Fenced, quotes: Sequence[Quote], recall: Recall | None) -> Iterator[Injected]:
    from context_graph.memory.context.ledger import Injected

    by_id = {quote.node_id: quote for quote in quotes}
    led = recall.led_to() if recall is not None else {}
    why = recall.worth({quote.node_id for quote in shown.shown}) if recall is not None else {}
    for quote in shown.shown:
        relevance = by_id[quote.node_id].relevance or 0.0
        edges = tuple(led.get(quote.node_id, ()))
        yield Injected(quote.node_id, relevance, quote.tokens, quote.text, edges, why.get(quote.node_id, {}))


def context_of(event: HookEvent) -> str:
    """Names the context that an event belongs to: its session's, or its subagent's own."""
    return f"{event.session_id}/{event.agent_id}" if event.agent_id else event.session_id
