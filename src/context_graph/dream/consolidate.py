"""Consolidation of a store that this process has open: for libraries, without an owner.

from context_graph import Memex
from context_graph.dream.consolidate import consolidate

with Memex.open("/path/to/store") as memex:
    result = consolidate(memex, "deep", dry_run=True)
    print(result.as_dict())
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from context_graph.dream import checkpoint, modes
from context_graph.dream.commit import Skipped, commit
from context_graph.dream.messages import DATABASE
from context_graph.dream.modes import Consciousness
from context_graph.dream.plan import Mode
from context_graph.dream.prepared import Prepared
from context_graph.dream.progress import Update
from context_graph.dream.request import DEFAULT_THRESHOLD, Request, mode_of
from context_graph.dream.result import Result
from context_graph.dream.run import prepared_run
from context_graph.memory.memex import Memex
from context_graph.store.graph import GraphStore

__all__ = ["consolidate"]


def consolidate(
    memex: Memex,
    mode: Mode | str = Mode.LIGHT,
    *,
    salience_threshold: float = DEFAULT_THRESHOLD,
    max_memories: int = 0,
    dry_run: bool = False,
    consciousness: Consciousness | None = None,
    strict: bool = False,
    progress: Callable[[Update], None] | None = None,
) -> Result:
    """Merge, forget and connect memories, in one change that `Memex.undo` takes back.

    The store is in use by others only for the moments of its checkpoint and of the change itself.

    Args:
        mode: light, deep or rem.
        salience_threshold: [0, 1]; memories below it are forgotten, to be restored for 30 days.
        max_memories: Look at the newest so many; 0 for all.
        dry_run: Change nothing; the result is what the same call without it would do.
        consciousness: If given, it gates the modes (D5.1): a mode that C does not allow becomes the most that
            it does. Without it the mode asked for runs.
        strict: Refuse instead.
        progress: Told how far it is; may raise `progress.Cancelled`, which ends it with nothing changed.

    Raises:
        InvalidParamsError: Names the argument.
        ModeNotAllowedError: ``strict``, and C does not allow the mode.
        StoreError: The store can't be read or written; nothing of it is done.

    Cost: benches/dream.py; light some 0.5 s for 10,000 memories.
    """
    began = time.monotonic()
    requested = mode_of(mode)
    gate = consciousness or modes.UNMEASURED
    chosen = modes.effective(requested, gate, strict=strict, any_state=consciousness is None)
    request = Request(mode=chosen, salience_threshold=salience_threshold, max_memories=max_memories)
    prepared = _prepare(memex, request, progress or _unheard)
    token: UUID | None = None
    skipped: tuple[Skipped, ...] = ()
    plan, memories = prepared.plan, prepared.memories_after
    if not dry_run:
        done = commit(memex, prepared, details={"requested_mode": requested.value, "trigger": "library"})
        plan, memories, token, skipped = done.plan, done.memories, done.token, done.skipped
    return Result(
        plan=plan,
        requested_mode=requested,
        consciousness=gate,
        dry_run=dry_run,
        final_memory_count=memories,
        duration_ms=round(1000 * (time.monotonic() - began)),
        undo_token=token,
        skipped=skipped,
    )


def _prepare(memex: Memex, request: Request, progress: Callable[[Update], None]) -> Prepared:
    folder = _folder(memex.core.folder)
    with memex.core.turn("checkpoint", writes=True) as core:
        checkpoint.take(core.store, folder)
    try:
        store = GraphStore.read_only(folder / DATABASE)
        try:
            return prepared_run(store, request, progress)
        finally:
            store.close()
    finally:
        checkpoint.discard(folder)


def _folder(store: Path) -> Path:
    """A new run's, without those that other processes left: the store is open here, so theirs have ended."""
    own = f"{os.getpid()}-"
    for folder in checkpoint.leftovers(store):
        if not folder.name.startswith(own):
            checkpoint.discard(folder)
    return checkpoint.run_folder(store, own + secrets.token_hex(8))


def _unheard(update: Update) -> None:
    """Where nobody asked to be told."""
