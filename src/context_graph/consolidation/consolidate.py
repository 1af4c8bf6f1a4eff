"""Consolidates a store that this process has open, for programs that use the library without an owner.

from context_graph import Memex
from context_graph.consolidation.consolidate import consolidate

with Memex.open("/path/to/store") as memex:
    result = consolidate(memex, "deep", dry_run=True)
    print(result.as_dict())
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from context_graph.consolidation import messages
from context_graph.consolidation.commit import Prepared, Result, commit
from context_graph.consolidation.finders.closeness import Search
from context_graph.consolidation.messages import (
    DEFAULT_THRESHOLD,
    UNMEASURED,
    Consciousness,
    Request,
    allowed_mode,
    mode_of,
)
from context_graph.consolidation.plan import Mode
from context_graph.consolidation.progress import Update
from context_graph.consolidation.run import prepared_run
from context_graph.memory.memex import Memex
from context_graph.store.graph.graph import GraphStore


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
    search: Search | None = None,
) -> Result:
    """Merge, forget and connect memories in one change that `Memex.undo` undoes.

    The store is locked only for its checkpoint and for the change itself.

    Args:
        mode: light, deep or rem.
        salience_threshold: [0, 1]; memories below it are soft-deleted, to be restored for 30 days.
        max_memories: Consider only the newest; 0 for all.
        dry_run: Change nothing; the result shows what would be done.
        consciousness: If given, a mode that this C does not allow becomes the highest that it does (D5.1).
        strict: Refuse instead.
        progress: Called with updates; may raise `progress.Cancelled`, which ends the run with nothing
        changed.
        search: As `prepared_run`.

    Raises:
        InvalidParamsError: Names the argument.
        ModeNotAllowedError: ``strict``, and C does not allow the mode.
        StoreError: The store can't be read or written; nothing is changed.

    Cost: benches/consolidation/runs.py; light some 0.5 s for 10,000 memories.
    """
    began = time.monotonic()
    requested = mode_of(mode)
    gate = consciousness or UNMEASURED
    chosen = allowed_mode(requested, gate, strict=strict)
    request = Request(mode=chosen, salience_threshold=salience_threshold, max_memories=max_memories)
    prepared = _prepare(memex, request, progress or (lambda update: None), search)
    if dry_run:
        result = prepared.result()
    else:
        result = commit(memex, prepared, details={"requested_mode": requested.value, "trigger": "library"})
    return replace(
        result,
        requested_mode=requested,
        consciousness=gate,
        duration_ms=round(1000 * (time.monotonic() - began)),
    )


def _prepare(
    memex: Memex, request: Request, progress: Callable[[Update], None], search: Search | None
) -> Prepared:
    store_folder, own = memex.core.folder, f"{os.getpid()}-"
    for left in messages.leftovers(store_folder):
        if not left.name.startswith(own):  # the store is open here, so other processes' runs have ended
            messages.discard(left)
    folder = messages.run_folder(store_folder, own + secrets.token_hex(8))
    with memex.core.operation("checkpoint", writes=True) as core:
        messages.take_checkpoint(core.store, folder)
    try:
        store = GraphStore.read_only(folder / messages.DATABASE)
        try:
            return prepared_run(store, request, progress, search)
        finally:
            store.close()
    finally:
        messages.discard(folder)
