"""Runs an owner with a defect that some work meets.

`stuck_owner.py -P -m context_graph.owner …`: work for a session named `stuck-…` backtracks
without end, and for one named `deadly-…` the process crashes, as long as the file that
$CONTEXT_GRAPH_FAULT_DEFECT names says so: its words are the places that have it (capture, event,
recall; dream and commit, whatever the session: a process, and a thread, that compute for ever).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def defect(place: str, name: str) -> None:
    """Do not come back, if this place has the defect now and the name calls for it."""
    file = Path(os.environ["CONTEXT_GRAPH_FAULT_DEFECT"])
    if place not in file.read_text().split():
        return
    with open(file.with_suffix(".met"), "a") as sink:
        sink.write(f"{place} {name}\n")
    if name.startswith("deadly"):
        os.abort()
    if name.startswith("stuck"):
        re.match(r"(a|a)+$", "a" * 64 + "b")


def around(place: str, function: Callable[..., Any], name_of: Callable[..., str]) -> Callable[..., Any]:
    """``function`` behind the defect."""

    def behind(*args: Any, **more: Any) -> Any:
        defect(place, name_of(*args, **more))
        return function(*args, **more)

    return behind


def main() -> None:
    """Be the owner."""
    at = sys.argv.index("context_graph.owner")
    from context_graph.consolidation import messages
    from context_graph.identity.live import LiveSession
    from context_graph.memory import capture
    from context_graph.memory.memex import Memex
    from context_graph.owner.__main__ import main as owner
    from context_graph.owner.consolidations import run as dream_run

    def arguments(folder: Path) -> list[str]:
        spins = "dream" in Path(os.environ["CONTEXT_GRAPH_FAULT_DEFECT"]).read_text().split()
        return [sys.executable, "-c", "while True: pass"] if spins else computed(folder)

    def committed(*args: Any, **more: Any) -> Any:
        while "commit" in Path(os.environ["CONTEXT_GRAPH_FAULT_DEFECT"]).read_text().split():
            pass
        return commit(*args, **more)

    computed, messages.arguments = messages.arguments, arguments
    commit, dream_run.commit = dream_run.commit, committed
    capture.capture = around("capture", capture.capture, lambda memex, session, *_a, **_m: session)
    LiveSession.apply = around("event", LiveSession.apply, lambda _live, event: event.session_id)  # type: ignore[method-assign]
    Memex.recall = around("recall", Memex.recall, lambda _memex, query, **_m: query)  # type: ignore[method-assign]
    sys.exit(owner(sys.argv[at + 1 :]))


if __name__ == "__main__":
    main()
