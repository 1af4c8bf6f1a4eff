"""Says where renderers get their rows from, and what a person can have done there.

`cli/view.py` asks the owner. Nothing else is known to a renderer: it shows rows, and asks again when `follow`
names a part that changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Final, NamedTuple, Protocol, TypeVar

from context_graph.view import rows

Found = TypeVar("Found")
ASKS: Final = "asks"
"""Name of a thread that asks the owner."""


def in_thread(call: Callable[[], Found]) -> Future[Found]:
    """Run ``call`` in a thread that nobody waits for when the view ends.

    Threads of a pool would be: a person who quits while a consolidation runs would wait for it.
    """
    answer: Future[Found] = Future()
    answer.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer.set_result(call())
        except Exception as error:  # told to whoever waits for the answer
            answer.set_exception(error)

    threading.Thread(target=run, name=ASKS, daemon=True).start()
    return answer


class Replaced(NamedTuple):
    """What storing a text in the place of another came to."""

    message: str
    """A sentence for the person, with how to undo it."""
    memory_id: str
    """Of the new memory."""


class Source(Protocol):
    """One project's store. Every method may raise ContextGraphError, whose text says what is wrong."""

    def health(self, *, as_of_ms: int | None = None) -> rows.Health:
        """With ``as_of_ms`` ages and counts end there, and what belongs to this moment, as free space, is
        left out; whether it works is judged now.
        """
        ...

    def memories(
        self,
        *,
        query: str = "",
        forgotten: bool = False,
        cursor: str = "",
        limit: int = 200,
        chars: int = rows.TEXT_CHARS,
    ) -> rows.MemoryPage:
        """Return memories, newest first or those nearest to ``query``; with ``forgotten`` soft-deleted ones.

        ``chars`` of each text, up to WHOLE_CHARS.
        """
        ...

    def memory(self, memory_id: str, *, as_of_ms: int | None = None) -> rows.MemoryDetail: ...

    def ledger(self, *, limit: int = 500, session_id: str = "") -> rows.Ledger: ...

    def sessions(self, *, cursor: str = "", limit: int = 200) -> rows.SessionPage: ...

    def session(self, session_id: str) -> rows.SessionDetail: ...

    def runs(self, *, limit: int = 100) -> Sequence[rows.RunRow]: ...

    def run(self, token: str, *, limit: int = 200) -> rows.RunDetail: ...

    def gates(self, *, limit: int = 500) -> rows.Gates: ...

    def map(self) -> rows.Map: ...

    def effect(self) -> rows.Effect: ...

    def follow(self) -> Iterator[Sequence[str]]:
        """Return the parts (`rows.PARTS`) that changed: at once all, then each time the owner says so.

        Ends, or raises, when the owner is gone. Starts none.
        """
        ...

    def close(self) -> None:
        """End `follow`, from any thread."""
        ...

    # What a person can change; each can be undone, and returns a sentence that says how.

    def confirm(self, memory_id: str) -> str:
        """It still holds: what it rests on is noted as it is now."""
        ...

    def take_back(self, memory_id: str) -> str:
        """Undo the last `confirm`."""
        ...

    def supersede(self, memory_id: str, text: str) -> Replaced:
        """Store ``text`` in its place. Forgetting the new memory undoes it."""
        ...

    def forget(self, memory_id: str) -> str: ...

    def restore(self, memory_id: str) -> str: ...

    def undo(self, token: str) -> str:
        """Undo a consolidation."""
        ...

    def dry_run(self, mode: str) -> rows.RunDetail:
        """Return what a consolidation would do now."""
        ...

    def consolidate(self, mode: str) -> str: ...
