"""A source of rows made by hand, of any size, for tests of renderers; the owner's is tested with a store."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from context_graph.errors import OwnerUnavailableError
from context_graph.view import rows
from context_graph.view.source import Replaced

HOSTILE = (
    "[red]x[/red] \x1b[31mred\x1b]52;c;aGk=\x07 \u202edesrever "
    "[@click=app.quit]quit[/] <script>alert(1)</script>"
)
"""What a memory may say to a terminal, to Textual's and Rich's markup, and to a browser."""
HOUR_MS = 3_600_000
SUCCESSOR = "5ac0e550-0000-4000-8000-000000000000"
KINDS = ("verified", "unchecked", "changed", "gone", "superseded", "")


def memory_row(number: int, now_ms: int, text: str = "") -> rows.MemoryRow:
    """One memory; an older one has a higher number."""
    kind = KINDS[number % len(KINDS)]
    return rows.MemoryRow(
        id=f"{number:08x}-0000-4000-8000-000000000000",
        text=text or f"Memory {number}: the rate limiter counts per key in region {number % 97}.",
        created_ms=now_ms - number * HOUR_MS,
        source=("tool", "capture", "import", "cli")[number % 4],
        importance=(number % 100) / 100,
        recalled=number % 7,
        shown=number % 5,
        used=number % 3,
        standing=f"{kind} since: a.py" if kind == "changed" else kind,
        standing_kind=kind,
        tags=("limits",) if number % 2 else (),
        session_id=session_id(number % 9),
        is_pinned=number % 50 == 3,
    )


def session_id(number: int) -> str:
    return f"5e55{number:04x}-0000-4000-8000-000000000000"


@dataclass
class RowsSource:
    """Implements `view.source.Source` over lists; it notes what it was asked and told."""

    memory_rows: list[rows.MemoryRow] = field(default_factory=list)
    shown: list[rows.Shown] = field(default_factory=list)
    days: list[rows.Day] = field(default_factory=list)
    session_rows: list[rows.SessionRow] = field(default_factory=list)
    run_rows: list[rows.RunRow] = field(default_factory=list)
    found_gates: rows.Gates = field(default_factory=lambda: rows.Gates(rows=(), states=()))
    found_map: rows.Map = field(default_factory=rows.Map)
    found_effect: rows.Effect = field(default_factory=lambda: rows.Effect(weeks=(), broken=()))
    sentence: str = "Working: last event 3 s ago."
    broken: dict[str, Exception] = field(default_factory=dict)
    """What each method raises instead of answering."""
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    done: list[tuple[str, ...]] = field(default_factory=list)
    slow: dict[str, threading.Event] = field(default_factory=dict)
    """Searches that wait for their event before they answer."""

    def __post_init__(self) -> None:
        self._changes: queue.Queue[Sequence[str] | None] = queue.Queue()
        self.alive = True
        self.follows = 0

    # Source

    def _note(self, name: str, *words: Any) -> None:
        self.asked.append((name, *words))
        if not self.alive:
            raise OwnerUnavailableError("no owner listens")
        if name in self.broken:
            raise self.broken[name]

    def health(self) -> rows.Health:
        self._note("health")
        lines = (rows.Line("captured", "a session, 3 h ago"), rows.Line("problem", "the disk is full", True))
        return rows.Health(project="/home/ann/gateway", works=True, sentence=self.sentence, lines=lines)

    def memories(
        self,
        *,
        query: str = "",
        forgotten: bool = False,
        cursor: str = "",
        limit: int = 200,
        chars: int = 160,
    ) -> rows.MemoryPage:
        self._note("memories", query, forgotten, cursor, limit)
        if query in self.slow:
            assert self.slow[query].wait(200)
        found = [one for one in self.memory_rows if query in one.text and one.is_forgotten == forgotten]
        begin = int(cursor or 0)
        end = begin + limit
        return rows.MemoryPage(
            rows=found[begin:end], total=len(found), next_cursor=str(end) if end < len(found) else ""
        )

    def memory(self, memory_id: str, *, as_of_ms: int | None = None) -> rows.MemoryDetail:
        self._note("memory", memory_id, as_of_ms)
        row = next(one for one in self.memory_rows if one.id == memory_id)
        other = self.memory_rows[(self.memory_rows.index(row) + 1) % len(self.memory_rows)]
        change = rows.Change(
            at_ms=row.created_ms,
            what="changed",
            fields=(rows.FieldChange("importance", "0.50", "0.70"),),
            reason="used again",
            run="abcdef0123",
        )
        return rows.MemoryDetail(
            row=row,
            content=f"{row.text}\nIn full." if as_of_ms is None else f"{row.text}\nAs it was.",
            rationale="decided in review",
            facts=(rows.Line("files", "src/gateway/limits.py"),),
            links=(
                rows.Link(
                    id="l1",
                    relation="because",
                    is_outgoing=True,
                    other_id=other.id,
                    other_text=other.text,
                    weight=0.8,
                ),
            ),
            changes=(change,),
            as_of_ms=as_of_ms,
        )

    def ledger(self, *, limit: int = 500, session_id: str = "") -> rows.Ledger:
        self._note("ledger", limit, session_id)
        return rows.Ledger(rows=self.shown[:limit], days=self.days)

    def sessions(self, *, cursor: str = "", limit: int = 200) -> rows.SessionPage:
        self._note("sessions", cursor, limit)
        return rows.SessionPage(rows=self.session_rows[:limit], total=len(self.session_rows))

    def session(self, session_id: str) -> rows.SessionDetail:
        self._note("session", session_id)
        row = next(one for one in self.session_rows if one.id == session_id)
        at = row.last_ms - 100_000
        points = [rows.Point(at + 1000 * step, 1 - step / 60) for step in range(60)]
        marks = [
            rows.Mark(at, "start", "startup"),
            rows.Mark(at + 5_000, "prompt", "fix the limiter"),
            rows.Mark(at + 20_000, "failure", "pytest"),
            rows.Mark(at + 40_000, "compaction", "auto"),
            rows.Mark(at + 50_000, "gate", "commit_plan refused Edit"),
            rows.Mark(at + 25_000, "edit", "src/gateway/limits.py"),
            rows.Mark(at + 30_000, "red", "pytest -q"),
            rows.Mark(at + 45_000, "green", "pytest -q"),
            rows.Mark(at + 6_000, "used", "1 memory told, 1 used: the limiter"),
        ]
        events = [
            *(rows.EventRow(at_ms=point.at_ms, kind="PostToolUse", tool="Read") for point in points[::-1]),
            rows.EventRow(
                at_ms=at + 20_000, kind="PostToolUseFailure", tool="Bash", text="pytest -q", failed=True
            ),
            rows.EventRow(at_ms=at + 5_000, kind="UserPromptSubmit", text="fix the limiter"),
        ]
        chain = [row, *[one for one in self.session_rows if one.id == row.previous_id]]
        return rows.SessionDetail(
            row=row,
            facts=(),
            points=points,
            marks=marks,
            chain=chain,
            chain_end="missing" if len(chain) > 1 else "start",
            events=events,
            damage=row.damage,
        )

    def runs(self, *, limit: int = 100) -> Sequence[rows.RunRow]:
        self._note("runs", limit)
        return self.run_rows[:limit]

    def run(self, token: str, *, limit: int = 200) -> rows.RunDetail:
        self._note("run", token, limit)
        row = next(one for one in self.run_rows if one.token == token)
        return rows.RunDetail(row=row, changes=self._changes_of(), total=5)

    def _changes_of(self) -> list[rows.RunChange]:
        one, two, *_ = self.memory_rows
        return [
            rows.RunChange(
                kind="merged",
                id=one.id,
                text=one.text,
                reason="says the same",
                into_id=two.id,
                into_text=two.text,
            ),
            rows.RunChange(kind="pruned", id=two.id, text=two.text, reason="unused for 90 days"),
        ]

    def gates(self, *, limit: int = 500) -> rows.Gates:
        self._note("gates", limit)
        return self.found_gates

    def map(self) -> rows.Map:
        self._note("map")
        return self.found_map

    def effect(self) -> rows.Effect:
        self._note("effect")
        return self.found_effect

    def follow(self) -> Iterator[Sequence[str]]:
        self.follows += 1
        if not self.alive:
            raise OwnerUnavailableError("no owner listens")
        yield rows.PARTS
        while (parts := self._changes.get()) is not None:
            yield parts

    def close(self) -> None:
        self._changes.put(None)

    # What the tests do to it

    def change(self, *parts: str) -> None:
        """The owner says that these changed."""
        self._changes.put(parts)

    def die(self) -> None:
        """The owner ends: nothing is answered, and `follow` ends."""
        self.alive = False
        self._changes.put(None)

    def revive(self) -> None:
        """Another owner is there."""
        self.alive = True

    # Actions

    def _did(self, *words: str) -> str:
        self._note(words[0])
        self.done.append(words)
        return f"Done: {words[0]}."

    def confirm(self, memory_id: str) -> str:
        return self._did("confirm", memory_id)

    def take_back(self, memory_id: str) -> str:
        return self._did("take_back", memory_id)

    def supersede(self, memory_id: str, text: str) -> Replaced:
        return Replaced(self._did("supersede", memory_id, text), SUCCESSOR)

    def forget(self, memory_id: str) -> str:
        said = self._did("forget", memory_id)
        self._set_forgotten(memory_id, True)
        return said

    def restore(self, memory_id: str) -> str:
        said = self._did("restore", memory_id)
        self._set_forgotten(memory_id, False)
        return said

    def _set_forgotten(self, memory_id: str, forgotten: bool) -> None:
        self.memory_rows = [
            msgspec.structs.replace(one, is_forgotten=forgotten) if one.id == memory_id else one
            for one in self.memory_rows
        ]

    def undo(self, token: str) -> str:
        return self._did("undo", token)

    def dry_run(self, mode: str) -> rows.RunDetail:
        self._note("dry_run", mode)
        row = rows.RunRow(
            token="", at_ms=int(time.time() * 1000), mode=mode, counts={"merged": 2, "pruned": 1}
        )
        return rows.RunDetail(row=row, changes=self._changes_of(), total=2, is_dry=True)

    def consolidate(self, mode: str) -> str:
        return self._did("consolidate", mode)


def filled(memories: int = 300) -> RowsSource:
    """A store with ``memories`` memories and some of everything else; the third memory is hostile."""
    now = int(time.time() * 1000)
    found = [memory_row(number, now, HOSTILE if number == 2 else "") for number in range(memories)]
    shown = [
        rows.Shown(
            memory_id=one.id,
            at_ms=now - at * 60_000,
            cause=("prompt", "startup")[at % 2],
            relevance=0.9 if at % 2 == 0 else 0.0,
            tokens=40 + at,
            used="told again" if at % 3 == 0 else "",
            text=one.text,
            is_forgotten=False,
            session_id=session_id(at % 9),
            parts={"meaning": 2.1, "terms": 0.7, "age": -0.4} if at % 2 == 0 else {},
            about="how are requests limited?" if at % 2 == 0 else "",
            near={memory_row(at + 1, now, "").id: 0.3} if at % 2 == 0 else {},
        )
        for at, one in enumerate(found[:60])
    ]
    sessions = [
        rows.SessionRow(
            id=session_id(at),
            last_ms=now - at * HOUR_MS,
            events=20 + at,
            goal=f"Goal {at}: fix the limiter",
            ic=0.9 - at / 10,
            ic_level="steady",
            previous_id=session_id(at + 1) if at < 8 else "",
            relation=("continues", "new work")[at % 2] if at < 8 else "",
            cross_session_ic=0.91 if at < 8 else None,
            damage="checksum is wrong" if at == 5 else "",
        )
        for at in range(9)
    ]
    runs = [
        rows.RunRow(
            token=f"feed{at:04x}",
            at_ms=now - at * HOUR_MS,
            mode=("light", "deep", "rem")[at % 3],
            trigger="asked for",
            counts={"merged": 3, "pruned": at, "links": 12},
            undone_by="feed9999" if at == 2 else "",
        )
        for at in range(4)
    ]
    gates = rows.Gates(
        rows=[
            rows.GateRow(
                at_ms=now - at * 60_000,
                kind="denied" if at % 2 else "satisfied",
                requirements=("commit_plan",),
                session_id=session_id(0),
                branch="feature/limits",
                tool="Edit",
                by="" if at % 2 else "a person",
                detail="limits.py",
            )
            for at in range(12)
        ],
        states=[
            rows.GateState(
                requirement="commit_plan",
                branch="feature/limits",
                is_satisfied=True,
                text="by a person",
                refused=6,
            ),
            rows.GateState(
                requirement="commit_plan", branch="main", is_satisfied=False, text="waits for a plan"
            ),
        ],
    )
    return RowsSource(
        memory_rows=found,
        shown=shown,
        days=[rows.Day(f"2026-11-{at + 1:02}", 100 * at, at, at // 2) for at in range(7)],
        session_rows=sessions,
        run_rows=runs,
        found_gates=gates,
        found_map=_map(found, now),
        found_effect=some_effect(found[0].id if found else "", now),
    )


def some_effect(rule_id: str, now_ms: int) -> rows.Effect:
    """Three weeks, and a rule that was broken again in the last."""
    weeks = [
        rows.Week(
            begin=begin, memories=count, used=count // 2, tokens=30 * count, rules=6, broken=at, solved=at
        )
        for at, (begin, count) in enumerate((("2026-11-02", 20), ("2026-11-09", 8), ("2026-11-16", 31)))
    ]
    broken = rows.Broken(
        memory_id=rule_id,
        at_ms=now_ms,
        session_id=session_id(0),
        text="Never sleep in tests",
        how="it had been told, and was said again",
    )
    return rows.Effect(weeks=weeks, broken=(broken,))


def _map(found: Sequence[rows.MemoryRow], now: int) -> rows.Map:
    sessions = [
        rows.MapSession(
            id=session_id(at),
            memory_id=found[at % len(found)].id if found else "",
            at_ms=now - at * HOUR_MS,
            goal=f"Goal {at}: fix the limiter",
            files={"src/gateway/limits.py": 1 + at % 4, **({"tests/test_limits.py": 1} if at % 2 else {})},
        )
        for at in reversed(range(9))
    ]
    notes = [
        rows.MapNote(
            id=one.id,
            kind=("rule", "decision", "lesson")[at % 3],
            at_ms=one.created_ms,
            text=one.text,
            session_id=session_id(at % 9),
            files=("src/gateway/limits.py",) if at % 2 else (),
            replaced_by=found[at - 3].id if at in (3, 7) else "",
        )
        for at, one in reversed(list(enumerate(found[:12])))
    ]
    return rows.Map(
        sessions=sessions,
        notes=notes,
        at_ms=now - HOUR_MS,
        clusters=[
            rows.Group(label=label, memories=len(found) // 3, coherence=0.8)
            for label in ("limits of the gateway", "billing", "bread")
        ],
        goals=[
            rows.GoalRow(id="g1", text="limit fairly", level="project", confidence=0.9, memories=30),
            rows.GoalRow(id="g2", text="count per key", level="task", confidence=0.8, memories=9),
        ],
        patterns=[rows.Recurring(text="tests run after each edit", memories=12, confidence=0.9)],
        drift=[
            rows.Measured(at_ms=now - at * 720 * HOUR_MS, similarity=0.9 - at / 10, level="steady")
            for at in reversed(range(4))
        ],
    )
