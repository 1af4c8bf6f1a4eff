"""`backup` on the owner's side: a checkpoint of the store's database, which the command then copies.

A checkpoint is hard links and takes milliseconds, so hooks don't wait for a copy. It lies in the store's
folder until the command, whose pid its name begins with, has copied it and removes it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from context_graph import __version__
from context_graph.dream import checkpoint
from context_graph.dream.messages import DATABASE
from context_graph.owner.call import Call
from context_graph.owner.memory_call import answer, arguments
from context_graph.wire.frames import Reply

__all__ = ["HANDLERS"]

PREFIX: Final = "checkpoint-"
_PID_MAX: Final = 1 << 30


def _checkpoint(call: Call) -> Reply:
    """Take one for the process ``pid``; where it is, and what it is of."""
    given = arguments(call)
    pid = given.between("pid", 1, _PID_MAX, os.getpid())
    given.finish()
    store = call.context.folder
    for left in _leftovers(store):
        checkpoint.discard(left)
    call.context.checkpoint()
    folder = store / f"{PREFIX}{pid}-{secrets.token_hex(8)}"
    with call.context.memory.core.turn("checkpoint", writes=True) as core:
        checkpoint.take(core.store, folder)
        seq = core.store.counters.seq
    return answer(
        {
            "folder": str(folder),
            "database": str(folder / DATABASE),
            "store": str(store),
            "project": str(call.request.project or ""),
            "version": __version__,
            "memories": call.context.memory_count(),
            "sessions": call.context.store.count(),
            "last_commit": seq,
        }
    )


def _leftovers(store: Path) -> list[Path]:
    """Checkpoints of commands that are gone."""
    found = sorted(store.glob(f"{PREFIX}*-*"))
    return [path for path in found if not _lives(path.name.removeprefix(PREFIX).partition("-")[0])]


def _lives(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


HANDLERS: dict[str, Callable[[Call], Reply]] = {"backup.checkpoint": _checkpoint}
