"""Records injections: which memories entered which context, when, at what cost, and whether they were used.

`Used` is an estimate. A memory counts as used in a session when, after it was shown there,
- a tool was called with its id,
- a tool's input or the model's own words contain a path that it names and few other memories do, or a number
  of three digits or an identifier that the line has and the prompt had not, or
- they contain enough of its distinctive words: a name in code or a path gives two points, another word one;
  three points are needed, and of a long text three tenths of all its points,
within USE_WINDOW events; the call at which it was shown proves nothing. Distinctive words are those that
were shown and that the prompt did not have.

What was used, and what was not, is also what the edges were worth that a recall followed to it.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final
from uuid import UUID

import orjson

from context_graph.errors import StoreError
from context_graph.model import SHELLS, EventKind, HookEvent
from context_graph.model.memory import iso_time
from context_graph.store.graph.tables import InjectionRecords
from context_graph.text.flattening import relative_paths, root_of

USE_WINDOW: Final = 40
"""Events after an injection in which it may still be used."""
USED_POINTS: Final = 3
USED_SHARE: Final = 0.3
"""Share of all points of a memory's words that proves its use: a long text has three of them in any work on
the same program."""
JUDGED: Final = 60
"""Memories last shown at one kind of event, by which it is judged."""
_ENOUGH: Final = 40
"""Memories shown at least: fewer say nothing."""
_HARDLY_USED: Final = 0.05
_OFTEN_USED: Final = 0.5
_HELD_BACK: Final = 0.3
"""Where what is shown is hardly ever used, the floor rises by this share of what is above it."""
_LET_THROUGH: Final = 0.25
"""Where most of it is, the floor falls by this share."""
_DAY_MS: Final = 86_400_000
_DAYS: Final = 30
_FEW_NAME: Final = 2
_MOST_SHARE: Final = 0.2
SHOWN_ID_CHARS: Final = 8
"""Characters of a memory's id, in the context and in tables; commands take any unique prefix."""
_MAX_SESSIONS: Final = 64
_MAX_SHOWN: Final = 512
"""Memories of one session that are not shown to it again."""
_MAX_WORDS: Final = 48
_TOKEN: Final = re.compile(r"[\w./\-]{3,64}")
_NAME_LIKE: Final = re.compile(r"[\d_./]|[a-z][A-Z]")
_JOINED: Final = re.compile(r"[^\W_]_[^\W_]|[a-z][A-Z]")
"""Where an identifier of several words is joined."""
_LONG_NUMBER: Final = 3
_COMMON: Final = frozenset(
    # Words of any work on a program: that they turn up again shows nothing.
    """about after again also always another because been before being between both could does doing done
    down each even every file files find first from goal have here into just know last later like line look
    made make many might more most much must need never next only open other over please project really same
    session shall should since some still such sure take tell test tests than that their them then there
    these they thing this those through time under until used user using very want well were what when where
    which while will with within without work worked works would write your ended changed decided
    failed""".split()  # noqa: SIM905 - a list of them would take a hundred lines
)


@dataclass(frozen=True, slots=True)
class Injected:
    """One memory of one injection."""

    node_id: str
    score: float
    tokens: int
    text: str = ""
    """What was shown of it; only its distinctive words are kept."""
    edges: tuple[UUID, ...] = ()
    """Edges that the recall followed to it."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """What its relevance was made of (`relevance.worth`); {} where a rule chose it."""


@dataclass(slots=True)
class _Waiting:
    """A memory that was shown and may still be used."""

    number: int
    node_id: str
    text: str
    asked: str
    event: str
    edges: tuple[UUID, ...] = ()
    call: str = ""
    """The tool call at which it was shown."""
    events: int = USE_WINDOW
    seen: set[str] = field(default_factory=set)
    known: dict[str, int] | None = None

    @property
    def words(self) -> dict[str, int]:
        """Distinctive word -> points; computed at the first event, so that no prompt waits for it."""
        if self.known is None:
            self.known = distinctive_words(self.text, self.asked)
        return self.known

    def proof(self, words: set[str], common: Callable[[str], bool]) -> bool:
        """Return whether these words of an event, with those before, show that it was used."""
        new = (words & self.words.keys()) - self.seen
        self.seen |= new
        if any((_is_path(word) and not common(word)) or self.words[word] >= USED_POINTS for word in new):
            return True
        needed = max(USED_POINTS, USED_SHARE * sum(self.words.values()))
        return bool(new) and sum(self.words[word] for word in self.seen) >= needed


@dataclass(slots=True)
class _Session:
    shown: OrderedDict[str, None] = field(default_factory=OrderedDict)
    waiting: list[_Waiting] = field(default_factory=list)
    unused: int = 0
    """Tokens that it was told and has not used."""


class Ledger:
    """The ledger of one store. `flush` writes, after the answer. Not thread-safe.

    Args:
        common: Whether a path is named by so many of the store's memories that it tells none of them.
    """

    def __init__(self, records: InjectionRecords, common: Callable[[str], bool] = lambda path: False) -> None:
        self._records = records
        self._common = common
        self._worth: list[tuple[UUID, float]] = []
        self._uses: list[str] = []
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._unwritten: dict[int, dict[str, Any]] = {}
        self._totals: Counter[str] | None = None
        self._outcomes: dict[str, deque[bool]] | None = None
        """Kind of event -> whether each memory shown last was used, the newest first."""

    def shown(self, session_id: str) -> set[str]:
        """Ids of the memories that the session's context holds already."""
        return set(self._session(session_id).shown)

    def unused(self, session_id: str) -> int:
        """Tokens that the session's context was told, but for the memories that it has used."""
        return self._session(session_id).unused

    def told_at(self, session_id: str, event: str) -> set[str]:
        """Ids of the memories that the session was told at such an event. Cost: as `report`."""
        return {memory["id"] for entry in self._at(session_id, event) for memory in entry["memories"]}

    def knows(self, session_id: str, event: str) -> bool:
        """Whether such an event of the session was recorded, with or without memories. Cost: as `report`."""
        return any(True for _ in self._at(session_id, event))

    def _at(self, session_id: str, event: str) -> Iterator[dict[str, Any]]:
        wanted = session_id, event
        return (entry for entry in self._entries() if (entry["session_id"], entry["event"]) == wanted)

    def record(
        self,
        session_id: str,
        event: str,
        memories: Sequence[Injected],
        *,
        at_ms: int,
        prompt_id: str = "",
        asked: str = "",
        tokens: int = 0,
        near: Sequence[tuple[str, float]] = (),
        call: str = "",
    ) -> None:
        """Record an injection.

        Args:
            event: Its cause: prompt, startup, resume, clear, compact.
            asked: The prompt; its words are no evidence of use.
            tokens: Of everything that was injected, fence included.
            near: What came next and was not shown: ids and relevance, the best first.
            call: The tool call that brought it; what the model had asked for there it did not take from this.
        """
        session = self._session(session_id)
        totals = self._all_totals()
        totals["number"] += 1
        number = totals["number"]
        entry = {
            "at_ms": at_ms,
            "session_id": session_id,
            "event": event,
            "prompt_id": prompt_id,
            "tokens": tokens,
            "memories": [_entry_of(memory) for memory in memories],
        }
        if near:
            entry["near"] = [[node_id, round(score, 4)] for node_id, score in near]
        self._unwritten[number] = entry
        totals["injections"] += 1
        totals["memories"] += len(memories)
        totals["tokens"] += tokens
        session.unused += tokens
        for memory in memories:
            session.shown[memory.node_id] = None
            session.shown.move_to_end(memory.node_id)
            waiting = _Waiting(number, memory.node_id, memory.text, asked, event, memory.edges, call)
            session.waiting.append(waiting)
        while len(session.shown) > _MAX_SHOWN:
            session.shown.popitem(last=False)

    def forget_context(self, session_id: str, *, at_ms: int) -> None:
        """Note that the session's context was compacted: memories shown before may be shown again."""
        if self._session(session_id).shown:
            self.record(session_id, "compacted", (), at_ms=at_ms)
            self._sessions[session_id] = _Session()

    def ended(self, session_id: str) -> None:
        """Stop waiting for uses in a session that has ended."""
        session = self._sessions.get(session_id)
        if session is not None:
            for waiting in session.waiting:
                self._judge(waiting, 0.0)
            session.waiting.clear()

    def awaits(self, session_id: str) -> bool:
        """Return whether an event of the session could still show a use. Cost: one look-up."""
        session = self._sessions.get(session_id)
        return session is not None and bool(session.waiting)

    def observe(self, event: HookEvent) -> None:
        """Look for uses of shown memories in a tool call or in the model's last words."""
        session = self._sessions.get(event.session_id)
        if session is None or not session.waiting:
            return
        text, ids = _evidence(event)
        if not text:
            return
        words = set(_words(text))
        left = []
        for waiting in session.waiting:
            if waiting.call and waiting.call == event.tool_use_id:
                left.append(waiting)
                continue
            waiting.events -= 1
            if ids and waiting.node_id[:SHOWN_ID_CHARS] in text:
                session.unused -= self._mark(waiting, "asked for by its id")
            elif waiting.proof(words, self._common):
                session.unused -= self._mark(waiting, "words: " + ", ".join(sorted(waiting.seen)[:5]))
            elif waiting.events > 0:
                left.append(waiting)
            else:
                self._judge(waiting, 0.0)
        session.waiting = left

    def worth_of_edges(self) -> list[tuple[UUID, float]]:
        """Return what edges were worth since the last call: 1 where they led to a use, else 0."""
        worth, self._worth = self._worth, []
        return worth

    def uses(self) -> list[str]:
        """Return the ids of memories that were seen to be used since the last call."""
        uses, self._uses = self._uses, []
        return uses

    def flush(self) -> None:
        """Write what is new; after a StoreError it is written with the next flush."""
        if self._unwritten:
            records = {number: orjson.dumps(entry) for number, entry in self._unwritten.items()}
            self._records.write(records, orjson.dumps(dict(self._all_totals())))
            self._unwritten.clear()

    def totals(self) -> dict[str, int]:
        """Injections, memories in them, tokens and memories used since the store's beginning."""
        names = ("injections", "memories", "tokens", "used")
        return {name: self._all_totals()[name] for name in names}

    def report(self, now_ms: int) -> dict[str, Any]:
        """Return memories, uses and tokens of the kept entries by kind of event, and by day of the last 30.

        Cost: a read of at most 2,048 entries, some 5 ms.
        """
        by_kind = self._sums(lambda entry: entry["event"])
        less = [kind for kind in by_kind if self.hardly_used(kind)]
        return {"by_event": by_kind, "days": self.by_day(now_ms - _DAYS * _DAY_MS), "shown_less": less}

    def by_day(self, after_ms: int = -1) -> list[dict[str, Any]]:
        """Tokens, memories and uses of each day (UTC) of the kept entries later than that, oldest first."""
        days = self._sums(lambda entry: iso_time(entry["at_ms"])[:10], after_ms)
        return [{"day": day, **days[day]} for day in sorted(days)]

    def _sums(self, key: Callable[[dict[str, Any]], str], after_ms: int = -1) -> dict[str, dict[str, int]]:
        sums: dict[str, Counter[str]] = {}
        for entry in self._entries():
            if entry["memories"] and entry["at_ms"] > after_ms:
                used = sum(bool(memory["used"]) for memory in entry["memories"])
                counts = sums.setdefault(key(entry), Counter(tokens=0, memories=0, used=0))
                counts.update(tokens=entry["tokens"], memories=len(entry["memories"]), used=used)
        return {name: dict(counts) for name, counts in sums.items()}

    def hardly_used(self, event: str) -> bool:
        """Return whether of the last memories shown at such events fewer than one in twenty was used."""
        if self._outcomes is None:
            self.learn()
        seen = (self._outcomes or {}).get(event, ())
        return len(seen) >= _ENOUGH and sum(seen) < _HARDLY_USED * len(seen)

    def moved(self, floor: float, event: str) -> float:
        """Return ``floor`` as such outcomes move it: up if hardly any was used, down if most was."""
        if self.hardly_used(event):
            return floor + _HELD_BACK * (1.0 - floor)
        seen = (self._outcomes or {}).get(event, ())
        often = len(seen) >= _ENOUGH and sum(seen) > _OFTEN_USED * len(seen)
        return floor * (1.0 - _LET_THROUGH) if often else floor

    def learn(self) -> None:
        """Read how often what was shown was used; else the first call of `hardly_used` does it."""
        self._outcomes = {}
        for entry in self._entries():
            if entry["session_id"] in self._sessions and self._sessions[entry["session_id"]].waiting:
                continue  # it may still be used
            seen = self._outcomes.setdefault(entry["event"], deque(maxlen=JUDGED))
            for memory in entry["memories"]:
                if len(seen) < JUDGED:
                    seen.append(bool(memory["used"]))

    def recent(self, limit: int = 50) -> list[dict[str, Any]]:
        """Return the newest entries that show memories, newest first."""
        return list(islice((entry for entry in self._entries() if entry["memories"]), limit))

    def by_memory(self) -> dict[str, dict[str, int]]:
        """Per memory in the kept entries: times injected, times used, time of the last injection."""
        counts_of: dict[str, dict[str, int]] = {}
        for entry in self._entries():
            for memory in entry["memories"]:
                counts = counts_of.setdefault(
                    memory["id"], {"injected": 0, "used": 0, "last_ms": entry["at_ms"]}
                )
                counts["injected"] += 1
                counts["used"] += bool(memory["used"])
        return counts_of

    def _judge(self, waiting: _Waiting, worth: float) -> None:
        if self._outcomes is not None:
            seen = self._outcomes.setdefault(waiting.event, deque(maxlen=JUDGED))
            seen.appendleft(worth > 0.0)
        self._worth += [(edge, worth) for edge in waiting.edges]

    def _mark(self, waiting: _Waiting, how: str) -> int:
        """Note a use; the tokens of the memory."""
        self._judge(waiting, 1.0)
        self._uses.append(waiting.node_id)
        entry, tokens = self._entry(waiting.number), 0
        for memory in entry["memories"] if entry else ():
            if memory["id"] == waiting.node_id and not memory["used"]:
                memory["used"] = how
                tokens += memory["tokens"]
                self._all_totals()["used"] += 1
                self._unwritten[waiting.number] = entry or {}
        return tokens

    def _entry(self, number: int) -> dict[str, Any] | None:
        if number in self._unwritten:
            return self._unwritten[number]
        return next((entry for at, entry in self._stored() if at == number), None)

    def _entries(self) -> Iterable[dict[str, Any]]:
        for number in sorted(self._unwritten, reverse=True):
            yield self._unwritten[number]
        for number, entry in self._stored():
            if number not in self._unwritten:
                yield entry

    def _stored(self) -> Iterable[tuple[int, dict[str, Any]]]:
        for number, payload in self._records.newest():
            yield number, orjson.loads(payload)

    def _session(self, session_id: str) -> _Session:
        """Return what is known of the session; read from the records if this owner has not seen it yet."""
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = self._remembered(session_id)
            while len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session_id)
        return session

    def _remembered(self, session_id: str) -> _Session:
        session = _Session()
        named = orjson.dumps(session_id)
        try:
            for _, payload in self._records.newest():
                if named not in payload:
                    continue
                entry = orjson.loads(payload)
                if entry["session_id"] != session_id:
                    continue
                if entry["event"] == "compacted":
                    break
                session.unused += entry["tokens"]
                for memory in entry["memories"]:
                    session.shown.setdefault(memory["id"])
                    session.unused -= memory["tokens"] if memory["used"] else 0
        except StoreError:
            return session  # showing a memory twice does no harm
        return session

    def _all_totals(self) -> Counter[str]:
        if self._totals is None:
            stored = self._records.totals()
            self._totals = Counter(orjson.loads(stored) if stored else {})
        return self._totals


def _entry_of(memory: Injected) -> dict[str, Any]:
    entry = {"id": memory.node_id, "score": round(memory.score, 4), "tokens": memory.tokens, "used": ""}
    return {**entry, "parts": dict(memory.parts)} if memory.parts else entry


def distinctive_words(text: str, asked: str) -> dict[str, int]:
    """Return the words of ``text`` that prove its use, each with its points."""
    asked_for = set(_words(asked))
    points_of: dict[str, int] = {}
    for raw in _TOKEN.findall(text):
        word = raw.strip("./-").lower()
        if len(word) < _least(word) or word in asked_for or word in _COMMON:
            continue
        bare = raw.strip("./-")
        points = USED_POINTS if _says_enough(bare) else 2 if _NAME_LIKE.search(bare) else 1
        points_of.setdefault(word, points)
    # Names first: they tell most, and the number of words is bounded.
    ranked = sorted(points_of.items(), key=lambda item: -item[1])
    return dict(ranked[:_MAX_WORDS])


def is_common(naming: int, memories: int) -> bool:
    """Return whether a path that so many of all memories name tells none of them, as the test runner's."""
    return naming > max(_FEW_NAME, _MOST_SHARE * memories)


def _is_path(word: str) -> bool:
    """Return a file in a folder: of a bare name there are many."""
    folder, _, name = word.rpartition("/")
    return bool(folder) and "." in name


def _words(text: str) -> Iterator[str]:
    """Yield the words of ``text``, lower case; of a path or address its parts and endings too."""
    for raw in _TOKEN.findall(text):
        word = raw.strip("./-").lower()
        parts = word.split("/")
        for part in {*parts, *("/".join(parts[at:]) for at in range(len(parts)))}:
            if len(part) >= _least(part):
                yield part


def _least(word: str) -> int:
    return 3 if word.isdigit() else 4


def _evidence(event: HookEvent) -> tuple[str, bool]:
    """Return (what the model itself produced in this event, whether ids in it name memories)."""
    if event.kind in (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE):
        text = relative_paths(event.input_text, root_of(event.cwd))
        return text, event.tool_name.startswith("mcp__") or event.tool_name in SHELLS
    if event.kind is EventKind.STOP:
        return event.output_text, False
    return "", False


def _says_enough(word: str) -> bool:
    """Return whether it is a number, or an identifier of several words: nobody comes upon it by chance."""
    if word.isdigit():
        return len(word) >= _LONG_NUMBER
    return word.replace("_", "a").isalnum() and _JOINED.search(word) is not None
