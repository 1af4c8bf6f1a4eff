"""Writes what a store's next session reads at its start to a file, for the time without an owner."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from context_graph.claude.transcripts import MEMORY_INDEX, memory_of
from context_graph.config import load_settings
from context_graph.config.paths import client_dir
from context_graph.config.settings import setting_files
from context_graph.errors import ContextGraphError
from context_graph.git.repository import branch_of
from context_graph.model import EventKind, HookEvent
from context_graph.owner.jobs import LastRun
from context_graph.owner.sessions.identity_notices import ALARMS
from context_graph.owner.sessions.injections import composed
from context_graph.store.sessions.sessions import SessionStore
from context_graph.wire.store_folder import PreparedStart

if TYPE_CHECKING:
    from context_graph.owner.sessions.memory_hooks import MemoryHooks

SOURCE = "startup"
_STRIPPED = "`'\".,;:()"


class NextStart:
    """Of one store; ``left``: the memories in what the last owner left, with the tokens of each."""

    def __init__(
        self,
        folder: Path,
        project: Path | None,
        store: SessionStore,
        hooks: MemoryHooks,
        *,
        left: Sequence[tuple[str, int]],
        log: logging.Logger,
    ) -> None:
        self._folder, self._project = folder, project
        self._store, self._hooks = store, hooks
        self._left, self._log = left, log

    def leave(self) -> None:
        """Write what the next session reads, if anything; a failure is logged."""
        if self._project is None:
            return
        if LastRun(self._folder).is_to_be_told:
            return  # by an owner: what a hook finds without one is for the model, and this is for the user
        settings = load_settings(self._project)  # those of the next owner, which may be others than ours
        if not settings.memory_inject or settings.identity_lines != ALARMS:
            return
        try:
            self._leave(self._project, settings.memory_inject_tokens)
        except (ContextGraphError, OSError) as error:
            self._log.error("the next start: %s", error)

    def _leave(self, project: Path, tokens: int) -> None:
        from context_graph.memory.context.profile import MAX_TOKENS

        now_ms, budget = time.time_ns() // 1_000_000, min(tokens, MAX_TOKENS)
        event = HookEvent(EventKind.SESSION_START, "", "", now_ms, source=SOURCE, cwd=str(project))
        lines, quotes = self._hooks.start_parts(event, self._last_sessions, budget)
        if not (lines or quotes):
            return
        shown, memories = composed(lines, quotes, now_ms, budget)
        env = self._hooks.works.env
        PreparedStart(
            text=shown.text,
            branch=branch_of(str(project)),
            account=env.get("CLAUDE_CONFIG_DIR", ""),
            files=sorted(map(str, _rests_on(project, env, shown.text))),
            memories=[(memory.node_id, memory.tokens) for memory in memories],
        ).leave(self._folder)

    def _last_sessions(self) -> Sequence[str]:
        latest = self._store.load_latest()
        return [row.session_id for row in self._store.chain(latest.session_id).sessions] if latest else []

    def was_told(self, session_id: str, at_ms: int) -> None:
        """Record that a session was shown what the last owner wrote."""
        from context_graph.memory.context.ledger import Injected
        from context_graph.memory.of_user import memory_in

        places = self._hooks.memexes()
        memories = [
            Injected(memory_id, 0.0, tokens, node.content)
            for memory_id, tokens in self._left
            if (node := memory_in(places, memory_id)) is not None
        ]
        event = HookEvent(EventKind.SESSION_START, session_id, "", at_ms, source=SOURCE)
        total = sum(tokens for _, tokens in self._left)
        self._hooks.injections.record(event, SOURCE, memories, tokens=total)
        self._hooks.session_began()


def _rests_on(project: Path, env: Mapping[str, str], text: str) -> Iterable[Path]:
    """Yield the files without which, or with other words in which, ``text`` would be another."""
    yield from setting_files(project)
    for folder in (project, project / ".claude", client_dir(env)):
        yield folder / "CLAUDE.md"
    yield memory_of(project, env) / MEMORY_INDEX
    for word in {word.strip(_STRIPPED).split("::")[0] for word in text.split()}:
        if word and (project / word).is_file():
            yield project / word
