"""Gives operations access to a client's store: its memory, its sessions, its consolidations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from context_graph.errors import SessionNotFoundError
from context_graph.model import cut_session_id
from context_graph.operations.context import OnDone, OnProgress
from context_graph.wire.frames import Request

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.owner.consolidations.queue import Consolidations
    from context_graph.owner.jobs import Job
    from context_graph.owner.sessions.store_context import StoreContext


class StoreHost:
    """One client's `operations.context.Host`.

    Args:
        open_store: Gives the store that the request names, opened if need be.
        clean_id: Removes from an id what can only be a key, because ids are written down.
    """

    def __init__(
        self,
        request: Request,
        open_store: Callable[[], StoreContext],
        dreams: Consolidations,
        clean_id: Callable[[str | None], str | None],
    ) -> None:
        self._request = request
        self._open = open_store
        self._dreams = dreams
        self._clean_id = clean_id

    @property
    def store_name(self) -> str:
        return os.fspath(self._request.store or "")

    @property
    def project(self) -> str | None:
        project = self._request.project
        return None if project is None else os.fspath(project)

    def memory(self) -> Memex:
        """The store's memory, after everything that its hooks still have to write."""
        context = self._open()
        context.memory_hooks.tidy()
        return context.memory

    def session_of(self, tool_use_id: str | None) -> str | None:
        own = cut_session_id(self._request.session_env)
        if tool_use_id:
            known = self._open().session_of_tool_use(tool_use_id, own)
            if known is not None:
                return known
        return own or None

    def identity(self, session_id: str | None) -> Mapping[str, Any]:
        context = self._open()
        live = context.sessions.get(session_id) if session_id else context.sessions.latest()
        if live is None:
            raise SessionNotFoundError(session_id or "latest")
        snapshot, state, level = live.snapshot, live.measures, live.classification
        view: dict[str, Any] = {
            "session_id": snapshot.session_id,
            "previous_session_id": snapshot.previous_session_id,
            "events_applied": live.events_applied,
            "measured": live.has_evidence,
            "identity_continuity": round(level.value, 6),
            "level": level.level,
            "crisis": level.crisis_triggered,
        }
        if state is not None:
            view["state"] = live.metrics.state.name
            for name in ("consciousness", "integration", "reflection", "differentiation"):
                view[name] = round(getattr(state, name), 6)
            view["johari_quadrant"] = state.johari_quadrant
        return view

    def figures(self) -> dict[str, Any]:
        context = self._open()
        return {"injections": context.memory_hooks.stats(), "dreams": self._dreams.store_view(context)}

    def injections(self, limit: int) -> list[Any]:
        return self._open().memory_hooks.ledger.recent(limit)

    def uses(self, node_id: UUID) -> Any:
        return self._open().memory_hooks.ledger.by_memory().get(str(node_id))

    @property
    def dream_available(self) -> bool:
        store = self._request.store
        return store is not None and self._dreams.available(store)

    def consolidate(
        self,
        params: Mapping[str, Any],
        *,
        session_id: str | None,
        any_state: bool = False,
        on_progress: OnProgress | None = None,
        on_done: OnDone | None = None,
    ) -> Job:
        return self._dreams.consolidate(
            self._request,
            params,
            session_id=self._clean_id(session_id),
            any_state=any_state,
            on_progress=on_progress,
            on_done=on_done,
        )

    def discover_goals(
        self,
        params: Mapping[str, Any],
        *,
        session_id: str | None,
        on_progress: OnProgress | None = None,
        on_done: OnDone | None = None,
    ) -> Job:
        session_id = self._clean_id(session_id)
        return self._dreams.discover_goals(
            self._request, params, session_id=session_id, on_progress=on_progress, on_done=on_done
        )

    def job(self, job_id: str) -> Job:
        return self._dreams.job(job_id)

    def kept_goals(self, session_id: str | None) -> dict[str, Any]:
        from context_graph.owner.consolidations.aftermath import kept_view

        return kept_view(self._open(), session_id)

    def problems(self) -> list[str]:
        return []

    def failed(self, operation: str, error: Exception) -> None:
        self._open().log.error("%s: %s", operation, error)
