"""Rows made by hand, for tests of what shows them: a source of as many of each as a test wants."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from tests.support.view.rows import some_effect

from context_graph.errors import GraphQueryError
from context_graph.view import rows

__all__ = ["DAY_MS", "END_MS", "HandSource", "memory", "some_rows"]

END_MS = 1_795_000_000_000
"""The newest thing in these rows: 2026-11-18 UTC."""
DAY_MS = 86_400_000
_SENTENCES = """the rate limiter counts requests per key and not per address because customers share
one address tests of the gateway need a fake clock retries back off by powers of two"""
_WORDS = _SENTENCES.split()


def identifier(kind: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind} {number}"))


def memory(number: int, text: str = "", **fields: Any) -> rows.MemoryRow:
    """The memory of that number; 0 is the newest."""
    words = [_WORDS[(number * 7 + at * (1 + number % 5)) % len(_WORDS)] for at in range(22)]
    standing = ("", "verified", "changed since: src/gateway/limits.py", "gone: src/old.py")[number % 4]
    given: dict[str, Any] = {
        "id": identifier("memory", number),
        "text": text or f"{number}: {' '.join(words)}"[: rows.TEXT_CHARS],
        "created_ms": END_MS - number * 1_800_000,
        "source": ("tool", "capture", "import", "cli")[number % 4],
        "importance": (number * 37 % 100) / 100,
        "recalled": number % 23,
        "shown": number % 11,
        "used": number % 3,
        "standing": standing,
        "standing_kind": standing.split(" ")[0].rstrip(":"),
        "tags": ("decision", "gateway") if number % 3 == 0 else (),
        "session_id": identifier("session", number // 20),
        "is_pinned": number % 50 == 1,
    }
    return rows.MemoryRow(**{**given, **fields})


@dataclass
class HandSource:
    """A `Source` of given rows, in pages."""

    seen_health: rows.Health
    live: Sequence[rows.MemoryRow] = ()
    forgotten: Sequence[rows.MemoryRow] = ()
    seen_ledger: rows.Ledger = field(default_factory=lambda: rows.Ledger(rows=(), days=()))
    seen_sessions: Sequence[rows.SessionDetail] = ()
    seen_runs: Sequence[rows.RunDetail] = ()
    seen_gates: rows.Gates = field(default_factory=lambda: rows.Gates(rows=(), states=()))
    seen_map: rows.Map = field(default_factory=rows.Map)
    seen_effect: rows.Effect = field(default_factory=lambda: rows.Effect(weeks=(), broken=()))
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Sessions and runs that can't be read, and why."""
    asked: list[str] = field(default_factory=list)
    as_of_ms: int | None = None
    """What the health was asked for last."""

    def health(self, *, as_of_ms: int | None = None) -> rows.Health:
        self.as_of_ms = as_of_ms
        return self.seen_health

    def memories(
        self,
        *,
        query: str = "",
        forgotten: bool = False,
        cursor: str = "",
        limit: int = 200,
        chars: int = 160,
    ) -> rows.MemoryPage:
        self.asked.append("memories")
        found = self.forgotten if forgotten else self.live
        at = int(cursor or 0)
        following = str(at + limit) if at + limit < len(found) else ""
        return rows.MemoryPage(rows=found[at : at + limit], total=len(found), next_cursor=following)

    def memory(self, memory_id: str, *, as_of_ms: int | None = None) -> rows.MemoryDetail:
        raise GraphQueryError(f"no memory {memory_id}")

    def ledger(self, *, limit: int = 500, session_id: str = "") -> rows.Ledger:
        return rows.Ledger(rows=self.seen_ledger.rows[:limit], days=self.seen_ledger.days)

    def sessions(self, *, cursor: str = "", limit: int = 200) -> rows.SessionPage:
        at = int(cursor or 0)
        found = [one.row for one in self.seen_sessions]
        following = str(at + limit) if at + limit < len(found) else ""
        return rows.SessionPage(rows=found[at : at + limit], total=len(found), next_cursor=following)

    def session(self, session_id: str) -> rows.SessionDetail:
        if session_id in self.unreadable:
            raise GraphQueryError(self.unreadable[session_id])
        return next(one for one in self.seen_sessions if one.row.id == session_id)

    def runs(self, *, limit: int = 100) -> Sequence[rows.RunRow]:
        return [one.row for one in self.seen_runs][:limit]

    def run(self, token: str, *, limit: int = 200) -> rows.RunDetail:
        if token in self.unreadable:
            raise GraphQueryError(self.unreadable[token])
        found = next(one for one in self.seen_runs if one.row.token == token)
        return msgspec.structs.replace(found, changes=found.changes[:limit])

    def gates(self, *, limit: int = 500) -> rows.Gates:
        return rows.Gates(rows=self.seen_gates.rows[:limit], states=self.seen_gates.states)

    def map(self) -> rows.Map:
        return self.seen_map

    def effect(self) -> rows.Effect:
        return self.seen_effect

    def follow(self) -> Iterator[Sequence[str]]:
        return iter(())

    def close(self) -> None:
        return


def some_rows(memories: int = 60) -> HandSource:
    """Something in every part."""
    return HandSource(
        seen_health=rows.Health(
            project="/home/user/gateway",
            works=True,
            sentence="Working: last event 4 min ago, 60 memories, 7 shown today.",
            lines=(
                rows.Line("captured", "a session, 2 h ago"),
                rows.Line("disk", "12.4 MiB"),
                rows.Line("problem", "the hook for Stop is not set up", True),
            ),
        ),
        live=[memory(number) for number in range(memories)],
        forgotten=[memory(memories + number, is_forgotten=True) for number in range(3)],
        seen_ledger=_ledger(),
        seen_sessions=[_session(number) for number in range(30)],
        seen_runs=[_run(number) for number in range(3)],
        seen_gates=_gates(),
        seen_map=_map(memories),
        seen_effect=some_effect(identifier("memory", 0), END_MS),
    )


def _ledger() -> rows.Ledger:
    shown = [
        rows.Shown(
            memory_id=identifier("memory", number % 40),
            at_ms=END_MS - number * 3_600_000,
            cause=("prompt", "startup", "file", "compact")[number % 4],
            relevance=(number % 10) / 10,
            tokens=20 + number % 60,
            used="its words came back" if number % 3 == 0 else "",
            text=memory(number % 40).text,
            is_forgotten=False,
            session_id=identifier("session", number // 12),
            parts={"similarity": 2.1, "files": 0.7, "age": -0.4} if number % 10 else {},
            about="" if number % 4 == 1 else f"Mend the limiter, part {number}",
        )
        for number in range(120)
    ]
    days = [
        rows.Day(f"2026-{month:02}-{day:02}", 300 + day * 137 % 900, 5 + day % 7, day % 4)
        for month in (10, 11)
        for day in range(1, 19)
        if day % 6
    ]
    return rows.Ledger(rows=shown, days=days)


def _session(number: int) -> rows.SessionDetail:
    begin = END_MS - number * 7_200_000 - 5_400_000
    row = rows.SessionRow(
        id=identifier("session", number),
        last_ms=END_MS - number * 7_200_000,
        events=120 + number,
        goal=f"Add a token bucket to the gateway, part {number}",
        ic=0.97 - (number % 10) / 12,
        ic_level=("healthy", "healthy", "warning", "crisis")[number % 4],
        previous_id=identifier("session", number + 1),
        relation="same work",
    )
    kinds = ("prompt", "injection", "failure", "edit", "red", "green", "gate", "compaction", "subagent")
    marks = [rows.Mark(begin, "start", "startup")]
    marks += [
        rows.Mark(begin + at * 150_000, kinds[at * 5 % 9], f"src/something_{at % 12}.py") for at in range(36)
    ]
    return rows.SessionDetail(
        row=row,
        facts=(rows.Line("events", "120: 14 prompts, 90 tool calls, 6 failed"), rows.Line("r", "0.93")),
        points=[rows.Point(begin + at * 60_000, round(0.95 - (at * at % 37) / 80, 4)) for at in range(90)],
        marks=marks,
        chain=(row, msgspec.structs.replace(row, id=identifier("session", number + 1))),
        chain_end="limit",
        events=[
            rows.EventRow(
                at_ms=END_MS - at * 60_000,
                kind="PostToolUse",
                tool="Edit",
                text=f"event {at}",
                failed=at == 2,
            )
            for at in range(60)
        ],
    )


def _run(number: int) -> rows.RunDetail:
    kinds = ("merged", "merged", "pruned", "linked", "changed")
    changes = [
        rows.RunChange(
            kind=kinds[at % 5],
            id=identifier("memory", at),
            text=memory(at).text,
            reason="salience 0.03 of 1" if kinds[at % 5] == "pruned" else "",
            into_id=identifier("memory", at + 1) if kinds[at % 5] in ("merged", "linked") else "",
            into_text=memory(at + 1).text if kinds[at % 5] in ("merged", "linked") else "",
        )
        for at in range(12)
    ]
    row = rows.RunRow(
        token=identifier("run", number),
        at_ms=END_MS - (number + 1) * DAY_MS,
        mode=("deep", "light", "rem")[number % 3],
        trigger="a session's end",
        counts={"merged": 5, "pruned": 2, "links": 3},
        undone_by=identifier("run", 99) if number == 1 else "",
    )
    return rows.RunDetail(row=row, changes=changes, total=40)


def _gates() -> rows.Gates:
    kinds = ("denied", "satisfied", "blocked", "carried_over")
    log = [
        rows.GateRow(
            at_ms=END_MS - number * 5_000_000,
            kind=kinds[number % 4],
            requirements=("commit_plan",),
            session_id=identifier("session", number // 4),
            branch="feature/limits",
            tool="Edit",
            by="the skill /plan" if number % 4 == 1 else "",
            detail="no plan is on record",
        )
        for number in range(40)
    ]
    states = [
        rows.GateState(
            requirement="commit_plan", branch="feature/limits", is_satisfied=True, text="by /plan", refused=3
        ),
        rows.GateState(
            requirement="review", branch="feature/limits", is_satisfied=False, text="no review yet"
        ),
    ]
    return rows.Gates(rows=log, states=states)


def _map(memories: int) -> rows.Map:
    names = ("rate limiter, bucket", "parser, comments", "retries, clock", "deploy, release")
    count = min(200, memories)
    sessions = [
        rows.MapSession(
            id=identifier("session", number),
            memory_id=identifier("memory", number),
            at_ms=END_MS - number * 7_200_000,
            goal=f"Add a token bucket to the gateway, part {number}",
            files={f"src/gateway/part_{(number * step) % 40:02}/limits.py": step for step in range(1, 4)},
        )
        for number in reversed(range(count))
    ]
    notes = [
        rows.MapNote(
            id=identifier("memory", number),
            kind=("rule", "decision", "lesson")[number % 3],
            at_ms=END_MS - number * 1_800_000,
            text=memory(number).text,
            session_id=identifier("session", number // 2),
            files=("src/gateway/part_00/limits.py",) if number % 2 else (),
            replaced_by=identifier("memory", number - 6) if number % 9 == 8 else "",
        )
        for number in reversed(range(min(120, memories)))
    ]
    clusters = [rows.Group(label=name, memories=memories // 4, coherence=0.8) for name in names]
    goal = identifier("goal", 0)
    return rows.Map(
        sessions=sessions,
        notes=notes,
        at_ms=END_MS - DAY_MS,
        clusters=clusters,
        goals=(
            rows.GoalRow(id=goal, text="Limit requests fairly", level="project", confidence=0.8, memories=30),
            rows.GoalRow(id="g2", text="Test with a fake clock", level="task", confidence=0.6, memories=9),
        ),
        patterns=(rows.Recurring(text="runs the tests after each edit", memories=22, confidence=0.9),),
        drift=[
            rows.Measured(
                at_ms=END_MS - (8 - at) * 14 * DAY_MS,
                similarity=0.9 - at * 0.05,
                level="low" if at < 6 else "medium",
            )
            for at in range(8)
        ],
    )
