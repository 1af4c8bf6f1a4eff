"""Explains why an owner does not answer: from its lock, its work file and the kernel."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_graph.config import lock_path
from context_graph.system import processes
from context_graph.wire import run_folder
from context_graph.wire.run_folder import process_state, read_work


@dataclass(frozen=True, slots=True)
class Silent:
    """An owner that does not answer, or another holder of its lock.

    Attributes:
        pid: 0 if that can't be told.
        state: What the kernel says, where it is not simply running.
        what: What it has been doing since ``since_ms``; "" if it waits for requests, or says nothing.
        where: The folder of the store that it does it for, or "".
        is_owner: Whether the process is an owner at all.
    """

    pid: int
    state: str
    what: str
    where: str
    since_ms: int
    is_owner: bool

    def text(self) -> str:
        """Return one sentence, without its full stop."""
        starts = "the owner, which is still starting or runs where its process is not seen from here,"
        who = f"the owner (pid {self.pid})" if self.pid else starts
        if not self.is_owner:
            return f"process {self.pid} holds the owner's lock but is not an owner"
        parts = [f"{who} does not answer"]
        if self.state:
            parts.append(f"it is {self.state}")
        if self.what:
            since = time.strftime("%H:%M:%S", time.localtime(self.since_ms / 1000))
            seconds = max(0.0, time.time() - self.since_ms / 1000)
            place = f" (store {Path(self.where).name})" if self.where else ""
            parts.append(f"since {since}, {seconds:.0f} s ago, it has been busy with: {self.what}{place}")
        return "; ".join(parts)

    def cure(self) -> str:
        """Return the advice for the user."""
        if not self.is_owner:
            return "find out what that process is; it was left alone"
        return "`context-graph-cli owner stop` ends it, and loses nothing that was acknowledged"

    def view(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "pid": self.pid,
            "is_owner": self.is_owner,
            "state": self.state,
            "doing": self.what,
            "store": self.where,
            "since_ms": self.since_ms,
        }


def look_at(root: Path) -> Silent | None:
    """Return the holder of the lock of ``root`` and what is known of it; None if there is none. Does not
    wait. Raises OSError if the lock file can't be read.
    """
    path = lock_path(root)
    if not run_folder.is_locked(path):
        return None
    holder = run_folder.read_holder(path)
    named = holder.pid if holder is not None and run_folder.has_open(holder.pid, path) else 0
    pid = named or processes.flock_holder(os.fspath(path))
    if not named and not run_folder.has_open(pid, path):
        pid = 0  # whoever took the lock has handed it over to one that starts
    work = read_work(root)
    doing = work if work is not None and work.pid == pid and work.what else None
    return Silent(
        pid=pid,
        state=process_state(pid) if pid else "",
        what=doing.what if doing else "",
        where=doing.where if doing else "",
        since_ms=doing.since_ms if doing else 0,
        is_owner=bool(named) or not pid,
    )
