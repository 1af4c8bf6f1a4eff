"""Uses a store's memory for its hooks: captures sessions, injects what is relevant, keeps the ledger.

A prompt is answered from the index in memory. Everything that writes comes later, in `tidy`: a capture is
announced durably with the event that asks for it, so that an interrupted one is completed when the store is
next opened. A store without memories loads no index and no embedder for any of this.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from context_graph.claude.hooks.origin import own_words
from context_graph.config import Settings
from context_graph.config.paths import client_dir
from context_graph.errors import ContextGraphError
from context_graph.model import EventKind, HookEvent
from context_graph.store.sessions.sessions import SessionStore

if TYPE_CHECKING:
    from context_graph.memory.context.ledger import Ledger
    from context_graph.memory.context.quoting import Quote
    from context_graph.memory.memex import Memex
    from context_graph.memory.recall import Recall
    from context_graph.model.edge import GraphEdge
    from context_graph.model.memory import MemoryNode
    from context_graph.owner.chores import Chores

T = TypeVar("T")

CAPTURING: Final = frozenset({EventKind.STOP, EventKind.PRE_COMPACT, EventKind.SESSION_END})
"""Events after which the session's summary is refreshed. Stop among them: an end may never come."""
_SHOWN_EVENTS: Final = frozenset({EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE, EventKind.STOP})
_RECALLED: Final = 10
"""Candidates for a prompt: as many as have a relevance of their own."""
_SHOWN: Final = 3
"""Of those above the floor, if the budget holds them; of sessions' summaries only the best."""


class MemoryHooks:
    """The memory side of one open store. Not thread-safe: the owner serves one request at a time.

    Args:
        memex: Opens the store's memory at its first call.
        has_memory: Whether there is any memory in the store; must be cheap.
        chores: Runs the background work.
    """

    def __init__(
        self,
        store: SessionStore,
        memex: Callable[[], Memex],
        has_memory: Callable[[], bool],
        chores: Chores,
        *,
        project: str | None,
        settings: Settings,
        log: logging.Logger,
    ) -> None:
        self._store = store
        self._memex = memex
        self._has_memory = has_memory
        self._chores = chores
        self._project = project
        self._settings = settings
        self._log = log
        self._made_ledger: Ledger | None = None
        self._evidence: list[HookEvent] = []
        self._ended: list[str] = []
        self._used: list[tuple[list[str], Sequence[GraphEdge]]] = []
        """Of each answer: what it showed, the best first, and the edges that were followed for it."""
        self._to_ask: tuple[list[MemoryNode], str] | None = None
        """Memories last shown, and where: git is to be asked whether their branches were merged."""
        self._warm = False
        self._due: dict[str, int | None] = {
            one: None for one in store.event_log.captures_due() if not chores.aside.holds(_capture_key(one))
        }
        """Sessions whose summary is to be refreshed, with the time of a PreCompact that seals it."""

    @property
    def has_work(self) -> bool:
        """Whether `tidy` has anything to do."""
        return bool(self._due or self._evidence or self._ended or self._used or self._to_ask or self._warm)

    # What events leave behind

    def wants_capture(self, event: HookEvent) -> bool:
        """Whether the session is to be captured after this event; the event then announces it."""
        return event.kind in CAPTURING and not event.agent_id and self._settings.memory_capture

    def noted(self, event: HookEvent) -> None:
        """Note a durable event. Cost: a look-up or two."""
        if self.wants_capture(event) and not self._chores.aside.holds(_capture_key(event.session_id)):
            sealed = event.at_ms if event.kind is EventKind.PRE_COMPACT else None
            self._due[event.session_id] = sealed or self._due.get(event.session_id)
        ledger = None if event.agent_id else self._made_ledger
        if ledger is not None and ledger.awaits(event.session_id):
            if event.kind in _SHOWN_EVENTS:
                self._evidence.append(event)
            elif event.kind is EventKind.SESSION_END:
                self._ended.append(event.session_id)

    def tidy(self) -> None:
        """Write captures, ledger and accesses that are due; open the memory if a prompt is near.

        Raises TookTooLong if one of these was ended; see `Chores.do`.
        """
        for session_id in list(self._due):
            sealed = self._due.pop(session_id)
            what = f"the summary of session {session_id}"
            self._chores.do(_capture_key(session_id), what, self._capture, session_id, sealed)
        if self._evidence or self._ended or self._used:
            self._chores.do("ledger", "the ledger of what was brought", self._write_ledger)
        if self._to_ask:
            (nodes, folder), self._to_ask = self._to_ask, None
            self._chores.do("evidence", "asking git what was merged", self._ask_git, nodes, folder)
        if self._warm:
            self._warm = False
            self._chores.do("warming", "the opening of the memories", self._prepare_for_prompts)

    def _ask_git(self, nodes: Sequence[MemoryNode], folder: str) -> None:
        from context_graph.memory.evidence import TOOL_S

        self._memex().standing(nodes, folder, within_s=TOOL_S, asks_git=True)

    def _prepare_for_prompts(self) -> None:
        from context_graph.memory import relevance  # noqa: F401
        from context_graph.memory.context import ledger, quoting  # noqa: F401
        from context_graph.text import phrases  # noqa: F401

        self._memex().warm()

    # What goes into contexts

    def for_prompt(self, event: HookEvent, settings: Settings) -> str:
        """The fenced memories for a prompt; "" when none is relevant enough, new and wanted."""
        budget = settings.memory_inject_tokens if settings.memory_inject else 0
        if not budget or not self._has_memory():
            return ""
        from context_graph.text.phrases import is_small_talk

        asked = own_words(event.input_text) if event.is_prompt else ""
        if not asked or is_small_talk(asked):
            return ""
        return self._guarded("recall", self._recalled, event, asked, budget, settings.memory_floor) or ""

    def for_start(self, event: HookEvent, previous: Callable[[], Sequence[str]], settings: Settings) -> str:
        """The summary for a session's start; after a clear only a line that says where to find it.

        Args:
            previous: Gives the ids of the sessions before this one, the last first; they are looked through
                for a summary when this session has none of its own to go on with.
        """
        self._warm = self._warm or (settings.memory_inject and self._has_memory())
        budget = settings.memory_inject_tokens if settings.memory_inject else 0
        return (self._guarded("summary", self._summary, event, previous, budget) or "") if budget else ""

    # For commands

    @property
    def ledger(self) -> Ledger:
        """The store's injection ledger."""
        if self._made_ledger is None:
            from context_graph.memory.context.ledger import Ledger
            from context_graph.store.graph.tables import InjectionRecords

            if not self._has_memory():
                self._memex()  # it makes the ledger's family in a store that has none
            self._made_ledger = Ledger(InjectionRecords(self._store.engine), self._is_common)
        return self._made_ledger

    def stats(self) -> dict[str, Any]:
        """The captures due, and the ledger's totals if there is a memory."""
        found: dict[str, Any] = {"captures_due": len(self._due)}
        if self._has_memory():
            found.update(self.ledger.totals())
        return found

    def _recalled(self, event: HookEvent, prompt: str, budget: int, floor: float) -> str:
        from context_graph.memory.recall import MAX_QUERY_CHARS
        from context_graph.memory.relevance import Kind, floor_unasked, kind_of

        memex, known = self._memex(), self.ledger.shown(event.session_id)
        asked = prompt[:MAX_QUERY_CHARS]
        found = memex.recall(asked, top_k=_RECALLED)
        likely: list[tuple[MemoryNode, float]] = []
        kinds: list[Kind] = []
        for one in found.nodes:
            node = one.node
            if node.session_id == event.session_id or str(node.id) in known:
                continue
            kind = kind_of(node.content)
            if one.score >= floor_unasked(floor, kind) and not (kind is Kind.SUMMARY and kind in kinds):
                likely.append((node, one.score))
                kinds.append(kind)
        return self._shown(event, "prompt", self._quotes(likely, event.cwd)[:_SHOWN], budget, asked, found)

    def _quotes(self, likely: Sequence[tuple[MemoryNode, float]], folder: str) -> list[Quote]:
        """(memory, relevance) as quotes, best first, with how what each rests on is today.

        What another memory superseded is left out; git is asked later what was merged.
        """
        from context_graph.memory.context.quoting import Quote
        from context_graph.memory.evidence import HOOK_S, Standing

        nodes = [node for node, _ in likely]
        verdicts = self._memex().standing(nodes, folder, within_s=HOOK_S)
        quotes = []
        for (node, score), verdict in zip(likely, verdicts, strict=True):
            if verdict is None:
                quotes.append(Quote(str(node.id), node.content, node.source, node.created_at_ms, score))
            elif verdict.standing is not Standing.SUPERSEDED:
                weighed, text = score * verdict.weight, verdict.text()
                quotes.append(
                    Quote(str(node.id), node.content, node.source, node.created_at_ms, weighed, text)
                )
        if any(verdict is not None for verdict in verdicts):
            self._to_ask = (nodes, folder)
        return sorted(quotes, key=lambda quote: -(quote.relevance or 0.0))

    def _is_common(self, path: str) -> bool:
        from context_graph.memory.context.ledger import is_common

        memex = self._memex()
        return is_common(memex.names_file(path), memex.count())

    def _summary(self, event: HookEvent, previous: Callable[[], Sequence[str]], budget: int) -> str:
        if event.source == "compact" and self._has_memory():
            self.ledger.forget_context(event.session_id, at_ms=event.at_ms)
        own = [event.session_id] if event.source in ("compact", "resume") else []
        may_have = own or self._due or self._has_memory()
        for session_id in [*own, *previous()] if may_have else ():
            quote = self._quote(session_id, event)
            if quote is not None and event.source == "clear":
                return _pointer(quote, event.at_ms)
            if quote is not None:
                return self._shown(event, event.source or "startup", [quote], budget, "")
        return ""

    def _quote(self, session_id: str, event: HookEvent) -> Quote | None:
        own = session_id == event.session_id
        if not (own or session_id in self._due or self._has_memory()):
            return None
        from context_graph.memory.capture import SOURCE, capture_id, work_of
        from context_graph.memory.context.quoting import Quote

        node_id = capture_id(session_id)
        stored = self._memex().stored(node_id) if self._has_memory() else None
        if stored is not None and stored.deleted:
            return None
        work = work_of(stored.node if stored else None)
        since = self._store.event_log.numbered_after(session_id, work.last_event)
        work.absorb(since, self._client_s_own_files())
        text, source = work.text(), "checkpoint" if own else SOURCE
        return Quote(str(node_id), text, source, work.ended_ms, whole=True) if text else None

    def _shown(
        self,
        event: HookEvent,
        what: str,
        quotes: Sequence[Quote],
        budget: int,
        query: str,
        found: Recall | None = None,
    ) -> str:
        from context_graph.memory.context.ledger import Injected
        from context_graph.memory.context.quoting import fenced
        from context_graph.memory.embed import default_provider

        counter = default_provider()
        shown = fenced(
            quotes,
            query=query,
            budget=budget,
            now_ms=event.at_ms,
            count=counter.count_tokens,
            cut=counter.cut_tokens,
        )
        if shown.text and self._has_memory():
            by_id = {quote.node_id: quote for quote in quotes}
            led = _led_to(found) if found is not None else {}
            memories = [
                Injected(
                    node_id,
                    by_id[node_id].relevance or 0.0,
                    tokens,
                    by_id[node_id].content,
                    tuple(led.get(node_id, ())),
                )
                for node_id, tokens in shown.shown
            ]
            self.ledger.record(
                event.session_id,
                what,
                memories,
                at_ms=event.at_ms,
                prompt_id=event.prompt_id,
                asked=query,
                tokens=shown.tokens,
            )
            self._used.append(([one.node_id for one in memories], found.followed if found else ()))
        return shown.text

    def _capture(self, session_id: str, sealed: int | None) -> None:
        """Refresh the session's summary, then remove the announcement; if it fails the announcement stays."""
        from context_graph.memory.capture import capture

        capture(
            self._memex(),
            session_id,
            partial(self._store.event_log.numbered_after, session_id),
            project=self._project,
            sealed_at_ms=sealed,
            leaves_out=self._client_s_own_files(),
            evidence=self._memex().evidence,
        )
        self._store.event_log.captured(session_id)

    def _client_s_own_files(self) -> Callable[[str], bool]:
        """Whether a path is in the client's own memory, which summaries leave out."""
        from context_graph.gates.decide.exemptions import (
            chosen_folders,
            is_client_memory,
            looks_like_client_memory,
        )

        folder, tops = os.fspath(client_dir(os.environ)), [self._project] if self._project else []
        chosen = chosen_folders(folder, self._project or "")

        def is_own(path: str) -> bool:
            return looks_like_client_memory(path) or is_client_memory(path, folder, tops=tops, chosen=chosen)

        return is_own

    def _write_ledger(self) -> None:
        evidence, self._evidence = self._evidence, []
        for event in evidence:
            self.ledger.observe(event)
        ended, self._ended = self._ended, []
        for session_id in ended:
            self.ledger.ended(session_id)
        used, self._used = self._used, []
        self.ledger.flush()
        for shown, followed in used:
            self._memex().touch(shown, followed)
        worth = self.ledger.worth_of_edges()
        if worth:
            self._memex().reward(worth)

    def _guarded(self, what: str, work: Callable[..., T], *args: Any) -> T | None:
        """The result of ``work``; None if it failed, which is logged: a hook goes on without its memory."""
        try:
            return work(*args)
        except (ContextGraphError, OSError) as error:
            self._log.error("memory %s: %s", what, error)
            return None


def _led_to(found: Recall) -> dict[str, list[UUID]]:
    """Memory -> the edges followed to it: of an edge's two ends the one that answers the prompt less."""
    place = {one.node.id: number for number, one in enumerate(found.nodes)}
    led: dict[str, list[UUID]] = {}
    for edge in found.followed:
        end = max(edge.source_id, edge.target_id, key=place.__getitem__)
        led.setdefault(str(end), []).append(edge.id)
    return led


def _capture_key(session_id: str) -> str:
    return f"capture:{session_id}"


def _pointer(quote: Quote, now_ms: int) -> str:
    """One line that says where the summary is: whoever cleared the context wants it clear."""
    from context_graph.memory.context.quoting import age_text

    age = age_text(quote.created_at_ms, now_ms)
    return f"The session before the clear is memory {quote.node_id[:8]} ({age})."
