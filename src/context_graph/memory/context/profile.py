"""Keeps what a project's sessions have in common: how tests are run, where the work is, what always fails.

Everything is counted from the summaries of sessions: added when a session is captured, and counted anew from
all of them when a store has no profile yet (an older build's), or one that can't be read. A line is told once
enough sessions agree, so a young project has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from context_graph.memory.context.quoting import age_text, fence, quoted
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.context.ways import Way, ways_of_counts
from context_graph.notes.command_lines import KINDS
from context_graph.store.graph.tables import ProfileTable
from context_graph.text.sentences import shortened

VERSION: Final = 1
MAX_TOKENS: Final = 250
"""Of what a session's start is told, whatever the settings allow beyond."""
LEAST_SESSIONS: Final = {"test": 2, "build": 3, "lint": 3, "run": 3}
"""In which a command worked, before it is told how something is done here: what tested twice tests the third
time as well, which can't be said of what built or ran."""
LEAST_FAILED: Final = 3
"""Sessions in which a command failed and none in which it worked, before it is told as failing always."""

_MAX_FORMS: Final = 64
_MAX_OPTIONS: Final = 12
_TOLD: Final = {"test": 3, "build": 1, "lint": 2, "run": 1}
"""Different commands of a kind that are told."""
_FAILING_TOLD: Final = 2
_USUAL: Final = 0.5
"""The share of a command's runs from which an option belongs to it."""
_FADES: Final = 10
"""Sessions without a command after which it counts half: a project may have changed its ways."""
_NAMES: Final = {
    "test": "tests were run with",
    "build": "built or installed with",
    "lint": "checked with",
    "run": "run with",
}


@dataclass(slots=True)
class Profile:
    """The counts of one project's sessions. Bounded; its texts are redacted, as the events are."""

    sessions: int = 0
    ways: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Form of a command -> as `ways.Way`, with ``sessions`` in which it worked, ``failed_sessions``, ``nth``
    (the session that ran it last, counted from 1) and ``at_ms``."""

    def add(self, after: SessionWork, before: SessionWork | None = None) -> None:
        """Count what a session did; of one counted ``before``, only what is new. Cost: some 50 us."""
        before = before if before is not None and before.last_event else None
        self.sessions += before is None
        known = _ways_of(before) if before is not None else {}
        for form, way in _ways_of(after).items():
            self._add_way(form, way, known.get(form), after.ended_ms)

    def with_(self, after: SessionWork, before: SessionWork) -> Profile:
        """A copy to which this was added."""
        made = Profile(**asdict(self))
        made.add(after, before)
        return made

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values, for from_json."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, state: object) -> Profile | None:
        """The profile that to_json gave; None for anything else, which is then counted anew."""
        if not isinstance(state, dict) or state.get("version") != VERSION:
            return None
        names = {item.name for item in fields(cls)}
        try:
            return cls(**{name: value for name, value in state.items() if name in names})
        except TypeError:
            return None

    @classmethod
    def of(cls, works: Iterable[SessionWork]) -> Profile:
        """The profile of sessions, the oldest first."""
        made = cls()
        for work in works:
            made.add(work)
        return made

    def lines(self, now_ms: int) -> list[str]:
        """What is told of the project, the most useful first; [] for a young one."""
        told = [*self._ways_told("test", now_ms), *self._failing_told()]
        for kind in KINDS[1:]:
            told += self._ways_told(kind, now_ms)
        return told

    def usual(self, kind: str) -> list[tuple[str, str]]:
        """(form, key) of the commands by which ``kind`` is done here, the most usual first."""
        by_key: dict[str, list[str]] = {}
        for form, way in self.ways.items():
            if way["kind"] == kind and way["ok"]:
                by_key.setdefault(way["key"], []).append(form)
        known = {
            key: max(forms, key=self._weight)
            for key, forms in by_key.items()
            if sum(self.ways[form]["sessions"] for form in forms) >= LEAST_SESSIONS[kind]
        }
        order = sorted(known, key=lambda key: -sum(map(self._weight, by_key[key])))
        return [(known[key], key) for key in order[: _TOLD[kind]]]

    def _weight(self, form: str) -> float:
        way = self.ways[form]
        return float(way["sessions"] * 0.5 ** ((self.sessions - way["nth"]) / _FADES))

    def _add_way(self, form: str, way: Way, known: Way | None, at_ms: int) -> None:
        ok, failed = (max(0, way[name] - (known[name] if known else 0)) for name in ("ok", "failed"))
        if not ok and not failed:
            return
        sum_ = self.ways.setdefault(
            form,
            {
                "ok": 0,
                "failed": 0,
                "options": {},
                "sessions": 0,
                "failed_sessions": 0,
                "example": "",
                "then": "",
            },
        )
        sum_ |= {"kind": way["kind"], "key": way["key"], "nth": self.sessions, "at_ms": at_ms}
        sum_ |= {name: way[name] for name in ("example", "then") if way[name]}
        if way["error"]:
            sum_["error"] = way["error"]
        sum_["ok"] += ok
        sum_["failed"] += failed
        sum_["sessions"] += bool(ok and not (known and known["ok"]))
        sum_["failed_sessions"] += bool(failed and not (known and known["failed"]))
        options = Counter(sum_["options"])
        options.update(way["options"])
        options.subtract(known["options"] if known else {})
        sum_["options"] = dict((+options).most_common(_MAX_OPTIONS))
        if len(self.ways) > _MAX_FORMS:
            del self.ways[min(self.ways, key=self._worth_keeping)]

    def _worth_keeping(self, form: str) -> tuple[bool, float]:
        way = self.ways[form]
        age = (self.sessions - way["nth"]) / _FADES
        return bool(way["kind"]), (way["sessions"] + way["failed_sessions"]) * 0.5**age

    def _ways_told(self, kind: str, now_ms: int) -> Iterator[str]:
        for form, _ in self.usual(kind):
            way = self.ways[form]
            runs, worked = way["ok"] + way["failed"], way["ok"]
            options = [name for name, count in way["options"].items() if count >= _USUAL * runs]
            usual = shortened(" ".join((form, *options)), 100)
            example = f", e.g. {quoted(way['example'])}" if way["example"] not in ("", usual) else ""
            age = age_text(way["at_ms"], now_ms).removesuffix(" old")
            went = f"{worked} of {runs} runs without failure" if worked < runs else _times(runs)
            when = f"in {way['sessions']} sessions, last {age} ago"
            yield f"{_NAMES[kind]} {quoted(usual)}{example} ({went}, {when})"

    def _failing_told(self) -> Iterator[str]:
        never = [
            form
            for form, way in self.ways.items()
            if not way["ok"] and way["failed_sessions"] >= LEAST_FAILED and way.get("error")
        ]
        never.sort(key=lambda form: -self.ways[form]["failed_sessions"])
        for form in never[:_FAILING_TOLD]:
            way = self.ways[form]
            worked = self._same(way) or way["then"]
            instead = f"; what worked: {quoted(worked)}" if worked else ""
            times = f"in {way['failed_sessions']} sessions"
            yield f"{quoted(form)} always failed ({times}): {quoted(way['error'])}{instead}"

    def _same(self, way: dict[str, Any]) -> str:
        """The form by which the same program did work; "" if none did."""
        forms = [form for form, one in self.ways.items() if one["key"] == way["key"] and one["ok"]]
        return max(forms, key=self._weight, default="")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _ways_of(work: SessionWork) -> dict[str, Way]:
    return work.ways or ways_of_counts(work.commands, work.failures, work.overcome)


class Profiles:
    """Reads and writes the profile of one store. Not thread-safe.

    Args:
        table: Where it is kept.
        works: The work of the store's sessions, the oldest first; asked for when there is no profile.
    """

    def __init__(self, table: ProfileTable, works: Callable[[], Iterable[SessionWork]]) -> None:
        self._table = table
        self._works = works
        self._known: Profile | None = None

    def current(self) -> Profile:
        """The profile; without any counts where none was made yet. Cost: one look-up the first time."""
        return self._read() or Profile()

    def learn(self, after: SessionWork, before: SessionWork) -> None:
        """Add what a session did since ``before``, and keep it."""
        profile = self._read()
        if profile is None:
            self.count_anew()  # the session's summary is written already, and counts with the others
            return
        profile.add(after, before)
        self._table.put(profile.to_json())

    def count_anew(self) -> None:
        """Count all that is there: what was forgotten no longer counts. Cost: 0.1 ms a session."""
        self._known = Profile.of(self._works())
        self._table.put(self._known.to_json())

    def _read(self) -> Profile | None:
        if self._known is None:
            self._known = Profile.from_json(self._table.get())
        return self._known


def fitting(lines: Iterable[str], budget: int, count: Callable[[str], int]) -> list[str]:
    """As many of ``lines`` as fit ``budget`` tokens, in order, the fence included."""
    kept: list[str] = []
    used = count(fence(()))
    for line in lines:
        tokens = count(f"- {line}\n")
        if used + tokens <= budget:
            kept.append(f"- {line}")
            used += tokens
    return kept
