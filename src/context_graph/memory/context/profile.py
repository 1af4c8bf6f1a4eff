"""Keeps what a project's sessions have in common: how tests are run, where the work is, what always fails.

Everything is counted from the summaries of sessions: added when a session is captured, and counted anew from
all of them when a store has no profile yet, or one that can't be read. A line is told once
enough sessions agree, so a young project has none.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from typing import Any, Final

from context_graph.memory.context.summary import SessionWork
from context_graph.memory.context.ways import Way
from context_graph.memory.evidence import top_of
from context_graph.store.graph.tables import ProfileTable
from context_graph.text.destroying import destroys
from context_graph.text.patterns import linear
from context_graph.text.quoting import Line, day_text, quoted
from context_graph.text.sentences import shortened

VERSION: Final = 2
MAX_TOKENS: Final = 300
"""Tokens that a session's start is told of the profile, whatever the settings allow beyond."""
LEAST_SESSIONS: Final = {"test": 2, "build": 3, "lint": 3}
"""Sessions in which a command worked, before it is told how something is done here: what tested twice tests
the third time as well, which can't be said of what built or ran."""
LEAST_FAILED: Final = 3
"""Sessions in which a command failed and none in which it worked, before it is told as failing always."""

_MAX_FORMS: Final = 64
_WORDS: Final = 40
_FILE: Final = linear(
    r"(?:\./)?[\w.@+-]+(?:/[\w.@+-]+)+|[\w-]+\.(?:py|sh|js|mjs|cjs|ts|rb|pl|php|toml|cfg|ini)"
)
"""A script or a file as a command names it; a bare word is a program or a target."""
_MAX_OPTIONS: Final = 12
_MAX_VARIANTS: Final = 8
_TOLD: Final = {"test": 2, "lint": 2, "build": 1}
"""Different commands of a kind that are told."""
_USUAL: Final = 0.5
"""The share of a command's sessions above which an option belongs to it: two such options met in one."""
_FADES: Final = 10
"""Sessions without a command after which it counts half: a project may have changed its ways."""
_NAMES: Final = {
    "test": "tests were run with",
    "build": "built or installed with",
    "lint": "checked with",
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
        known = before.ways if before is not None else {}
        for form, way in after.ways.items():
            self._add_way(form, way, known.get(form), after.ended_ms)

    def with_(self, after: SessionWork, before: SessionWork) -> Profile:
        """Return a copy to which this was added."""
        made = Profile(**asdict(self))
        made.add(after, before)
        return made

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values, for from_json."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, state: object) -> Profile | None:
        """Return the profile that to_json gave; None for anything else, which is then counted anew."""
        if not isinstance(state, dict) or state.get("version") != VERSION:
            return None
        names = {item.name for item in fields(cls)}
        try:
            return cls(**{name: value for name, value in state.items() if name in names})
        except TypeError:
            return None

    @classmethod
    def of(cls, works: Iterable[SessionWork]) -> Profile:
        """Return the profile of sessions, the oldest first."""
        made = cls()
        for work in works:
            made.add(work)
        return made

    def lines(self, now_ms: int, is_there: Callable[[str], bool]) -> list[str]:
        """Return how tests, builds and checks are run here, the most useful first; [] for a young project.

        Args:
            is_there: Whether the files that a command names are still there.
        """
        return [line for kind in _TOLD for line in self._ways_told(kind, now_ms, is_there)]

    def never_worked(self) -> dict[str, str]:
        """Form of a command that always failed -> a line that says so, and what worked instead."""
        never = [
            form
            for form, way in self.ways.items()
            if not way["ok"] and way["failed_sessions"] >= LEAST_FAILED and way.get("error")
        ]
        return {form: self._failing_line(form) for form in never}

    def usual(self, kind: str) -> list[tuple[str, str]]:
        """Return (form, key) of the commands by which ``kind`` is done here, the most usual first."""
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
        counts = dict.fromkeys(("ok", "failed", "sessions", "failed_sessions"), 0)
        sum_ = self.ways.setdefault(
            form, {**counts, "options": {}, "variants": {}, "example": "", "then": ""}
        )
        sum_ |= {"kind": way["kind"], "key": way["key"], "nth": self.sessions, "at_ms": at_ms}
        sum_ |= {name: way[name] for name in ("example", "then") if way[name]}
        is_new = bool(ok and not (known and known["ok"]))
        if is_new and way["kind"]:
            _count_variant(sum_["variants"], way["example"], form)
        if way["error"]:
            sum_["error"] = way["error"]
        sum_["ok"] += ok
        sum_["failed"] += failed
        sum_["sessions"] += is_new
        sum_["failed_sessions"] += bool(failed and not (known and known["failed"]))
        options = Counter(sum_["options"])
        options.update(set(way["options"]).difference(known["options"] if known else ()))
        sum_["options"] = dict((+options).most_common(_MAX_OPTIONS))
        if len(self.ways) > _MAX_FORMS:
            del self.ways[min(self.ways, key=self._worth_keeping)]

    def _worth_keeping(self, form: str) -> tuple[bool, float]:
        way = self.ways[form]
        age = (self.sessions - way["nth"]) / _FADES
        return bool(way["kind"]), (way["sessions"] + way["failed_sessions"]) * 0.5**age

    def _ways_told(self, kind: str, now_ms: int, is_there: Callable[[str], bool]) -> Iterator[str]:
        for form, _ in self.usual(kind):
            way = self.ways[form]
            count = way["sessions"]
            options = [name for name, times in way["options"].items() if times > _USUAL * count]
            usual = shortened(" ".join((form, *options)), 100)
            more, (sessions, example) = max(
                way["variants"].items(), key=lambda row: row[1][0], default=("", (0, ""))
            )
            if more and sessions >= LEAST_SESSIONS[kind]:
                usual, count = example, sessions  # its options alone are not how it was called
            if not is_there(usual) or destroys(usual):
                continue
            tells = kind == "test" and way["example"] not in ("", usual) and is_there(way["example"])
            example = f", e.g. {quoted(way['example'])}" if tells else ""
            times = f"in {count} sessions, last on {day_text(way['at_ms'], now_ms)}"
            yield f"{_NAMES[kind]} {quoted(usual)}{example} ({times})"

    def _failing_line(self, form: str) -> str:
        way = self.ways[form]
        worked = self._same(way) or way["then"]
        instead = f"; what worked: {quoted(worked)}" if worked else ""
        return f"{quoted(form)} always failed here (in {way['failed_sessions']} sessions){instead}"

    def _same(self, way: dict[str, Any]) -> str:
        """Return the form by which the same program did work; "" if none did."""
        forms = [form for form, known in self.ways.items() if known["key"] == way["key"] and known["ok"]]
        return max(forms, key=self._weight, default="")


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
        """Return the profile; without any counts where none was made yet."""
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


def _count_variant(variants: dict[str, list[Any]], example: str, form: str) -> None:
    """Count the session of a run by what the run says beyond its form; bounded."""
    more = _more(example, form)
    variants[more] = [variants.pop(more, [0])[0] + 1, example]
    if len(variants) > _MAX_VARIANTS:
        del variants[min(variants, key=lambda name: variants[name][0])]


def _more(example: str, form: str) -> str:
    """Return the words of a run that its form lacks; files, tests, options and a folder aside."""
    if example.startswith("cd "):
        return ""
    known, words = set(form.split()), example.split()
    return " ".join(
        word
        for before, word in pairwise(["", *words])
        if word not in known
        and not word.startswith("-")
        and not before.startswith("-")
        and not _FILE.fullmatch(word.split("::")[0])
    )


def fitting(lines: Iterable[str], budget: int, count: Callable[[str], int]) -> list[Line]:
    """Return as many of ``lines`` as fit ``budget`` tokens, in order."""
    kept: list[Line] = []
    for line in lines:
        tokens = count(f"- {line}\n")
        if tokens <= budget:
            kept.append(Line(line))
            budget -= tokens
    return kept


def files_are_there(folder: str) -> Callable[[str], bool]:
    """Tells of a command line whether the files that it names are there, in the project of ``folder``.

    A project without a file of its own has them elsewhere, in a container for example: nothing is gone there.
    """
    top = top_of(folder)
    with contextlib.suppress(OSError):
        if all(name.startswith(".") for name in os.listdir(top)):
            return lambda _: True

    def is_there(command: str) -> bool:
        words = [word.split("::")[0] for word in command.split()[:_WORDS] if not word.startswith("-")]
        named = [word for word in words if _FILE.fullmatch(word)]
        return all(os.path.exists(os.path.join(top, word)) for word in named)

    return is_there
