"""Changes of a store that must be whole or not at all, each in a process of its own, for test_atomic.py.

    python -m tests.support.store_changes NAME STORE CONTROL AT KILLS

It opens the store, arms the fault, makes the change, disarms, and says as JSON what came of it. A change that
failed is made once more with the fault gone, in the same process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.writes import Writes
from tests.support.consolidation import Merge, NewLink, Prune, prepared_of
from tests.support.memories import WHY, open_memex
from tests.support.store import START_MS, event, snapshot

from context_graph.consolidation.commit import commit
from context_graph.errors import StoreError
from context_graph.memory.memex import Memex
from context_graph.store.sessions.sessions import SessionStore

__all__ = ["CHANGES", "SESSION", "TEXTS", "Change", "build"]

TEXTS = tuple(f"{word} is kept in building {number}" for number, word in enumerate("abcdefgh"))
SESSION = "one"


@dataclass(frozen=True)
class Change:
    """A change, and how to see that it was made."""

    make: Callable[[Memex, SessionStore], None]
    made: Callable[[Memex, SessionStore], bool]


def build(folder: Path) -> None:
    """A store with memories, links, a forgotten one, a consolidation, and a session with an event."""
    with SessionStore.open(folder / "db") as sessions:
        made = event(SESSION, 1)
        sessions.commit_event(
            snapshot(SESSION, 1), event=made, seq=1, dedupe_key=made.dedupe_key(), runtime=b"1"
        )
    with open_memex(folder) as memex:
        nodes = [memex.store(text, rationale=WHY) for text in TEXTS]
        memex.link(nodes[0].id, nodes[1].id)
        memex.link(nodes[1].id, nodes[2].id)
        memex.forget(nodes[7].id, reason="by hand")
        run = prepared_of(memex, merges=[Merge(nodes[4].id, (nodes[5].id,), 0.97)])
        commit(memex, run)
        memex.touch([node.id for node in nodes[:3]])


def _named(memex: Memex, place: int) -> object:
    return next(one.node.id for one in memex.stored_after() if one.node.content == TEXTS[place])


def _has(memex: Memex, place: int) -> bool:
    return any(one.node.content == TEXTS[place] and not one.deleted for one in memex.stored_after())


def _store(memex: Memex, _: SessionStore) -> None:
    memex.store("a ninth, with a link", rationale=WHY, link_to=[_named(memex, 0)], tags=["ninth"])  # type: ignore[list-item]


def _stored(memex: Memex, _: SessionStore) -> bool:
    return any(one.node.content == "a ninth, with a link" for one in memex.stored_after())


def _store_many(memex: Memex, _: SessionStore) -> None:
    memex.store_many([{"content": f"one of many, {n}", "rationale": WHY} for n in range(5)])


def _stored_many(memex: Memex, _: SessionStore) -> bool:
    found = [one for one in memex.stored_after() if one.node.content.startswith("one of many")]
    assert len(found) in (0, 5), "some of them"
    return len(found) == 5


def _forget(memex: Memex, _: SessionStore) -> None:
    memex.forget(_named(memex, 1), reason="no longer so")  # type: ignore[arg-type]


def _restore(memex: Memex, _: SessionStore) -> None:
    memex.restore(_named(memex, 7))  # type: ignore[arg-type]


def _delete(memex: Memex, _: SessionStore) -> None:
    """The survivor of a merge: its twin goes too."""
    memex.forget(_named(memex, 4), soft=False, reason="user_requested")  # type: ignore[arg-type]


def _deleted(memex: Memex, _: SessionStore) -> bool:
    texts = {one.node.content for one in memex.stored_after()}
    assert (TEXTS[4] in texts) == (TEXTS[5] in texts), "one of two twins"
    return TEXTS[4] not in texts


def _consolidate(memex: Memex, _: SessionStore) -> None:
    a, b, c, d, g = (_named(memex, place) for place in (0, 1, 2, 3, 6))
    plan = prepared_of(
        memex,
        facts={"goals": {"names": ["one"]}},
        merges=[Merge(a, (b,), 0.97)],  # type: ignore[arg-type]
        prunes=[Prune(c, 0.1)],  # type: ignore[arg-type]
        links=[NewLink(d, g, "causes", 0.5, 0.5, "test")],  # type: ignore[arg-type]
    )
    assert commit(memex, plan).undo_token is not None


def _consolidated(memex: Memex, _: SessionStore) -> bool:
    return len(memex.runs()) == 2


def _undo(memex: Memex, _: SessionStore) -> None:
    memex.undo()


def _undone(memex: Memex, _: SessionStore) -> bool:
    return _has(memex, 5)


_EXPORT = Path("export.jsonl")


def _import(memex: Memex, _: SessionStore) -> None:
    folder = memex.core.folder
    with open(folder.parent / _EXPORT, "rb") as source:
        memex.import_(source)


def _imported(memex: Memex, _: SessionStore) -> bool:
    return any(one.node.content == "from elsewhere 1" for one in memex.stored_after())


def _append(_: Memex, sessions: SessionStore) -> None:
    """What one hook writes before its answer."""
    made = event(SESSION, 2)
    sessions.event_log.append(SESSION, event=made, seq=2, dedupe_key=made.dedupe_key(), capture=True)


def _appended(_: Memex, sessions: SessionStore) -> bool:
    return any(one.event_id == event(SESSION, 2).event_id for one in sessions.event_log.after(SESSION, 1))


def _settle(_: Memex, sessions: SessionStore) -> None:
    """What it writes behind the answer."""
    sessions.save_state(
        snapshot(SESSION, 2, "zero"),
        runtime=b"2",
        goals=(2, b"goals 2"),
        dream={"session_id": SESSION, "ic": 0.2, "at_ms": START_MS},
    )


def _settled(_: Memex, sessions: SessionStore) -> bool:
    return sessions.load_snapshot(SESSION) == snapshot(SESSION, 2, "zero")


def _start(_: Memex, sessions: SessionStore) -> None:
    """A session's first event."""
    made = event("two", 1)
    sessions.commit_event(
        snapshot("two", 1, SESSION),
        event=made, seq=1, dedupe_key=made.dedupe_key(), runtime=b"1", goals=(1, b"goals 1"),
    )  # fmt: skip


def _started(_: Memex, sessions: SessionStore) -> bool:
    return any(row.session_id == "two" for row in sessions.list_sessions()[0])


CHANGES = {
    "store": Change(_store, _stored),
    "store many": Change(_store_many, _stored_many),
    "forget": Change(_forget, lambda memex, _: not _has(memex, 1)),
    "restore": Change(_restore, lambda memex, _: _has(memex, 7)),
    "delete": Change(_delete, _deleted),
    "consolidate": Change(_consolidate, _consolidated),
    "undo": Change(_undo, _undone),
    "import": Change(_import, _imported),
    "event": Change(_append, _appended),
    "settle": Change(_settle, _settled),
    "start": Change(_start, _started),
}


OF_SESSIONS = ("event", "settle", "start")
"""They know nothing of memory."""


def main() -> None:
    """See the module."""
    name, folder, control, at, kills = sys.argv[1:]
    writes = Writes(Path(), Path(control))
    change = CHANGES[name]
    with open_memex(Path(folder)) as memex:
        sessions = SessionStore(memex.core.store.engine)
        memex.core.load_derived()
        writes.arm(int(at), kills=bool(int(kills)))
        told: dict[str, object] = {"failed": ""}
        try:
            change.make(memex, sessions)
        except StoreError as error:
            told["failed"] = f"{type(error).__name__}: {error}"
        told["writes"] = writes.seen
        writes.arm(0, kills=False)
        if told["failed"]:
            if name in OF_SESSIONS:  # as the owner does it; memory does so itself at the next write
                memex.core.store.reopen()
            change.make(memex, sessions)
            told["again"] = change.made(memex, sessions)
        elif 0 < int(at) <= int(str(told["writes"])):  # a write failed that the change could do without
            memex.store("written after the fault", rationale=WHY)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
