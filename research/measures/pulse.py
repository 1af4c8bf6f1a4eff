"""Measures the pulse where sessions work, whether it foretells a use, and memory's Johari; nothing is fitted.

The sessions of handover_dev work through an owner's service in this process, each project's in their order.
Before each telling stand the store's entropy and coherence, the session's R, and what is compared with them;
after it the ledger says which of the memories were used.
"""

from __future__ import annotations

import gzip
import json
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from research.measures.files import Host, Told
from research.measures.report import Data, Table, auc, interval, quantiles
from research.measures.summaries import handover_sessions

from context_graph.consolidation.consolidate import consolidate
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.memex import Memex
from context_graph.model import EventKind
from context_graph.model.memory import MemoryNode
from context_graph.owner.sessions.hook_call import event_of, input_of_request
from context_graph.redact import Redactor
from context_graph.wire.frames import Request

WHY: Final = "kept to be measured"
_KINDS: Final = {
    "UserPromptSubmit": EventKind.PROMPT_SUBMIT,
    "PostToolUse": EventKind.POST_TOOL,
    "PostToolUseFailure": EventKind.POST_TOOL_FAILURE,
}


class Before(NamedTuple):
    """What stood before an event."""

    entropy: float
    coherence: float
    action: str
    reflection: float
    """R of the session; 0.5 before any forecast."""


class Shown(NamedTuple):
    """One memory that was told."""

    session: str
    event: str
    used: bool
    before: Before
    kind_before: float
    """Share of what was told before at such events that was used; the baseline."""


@dataclass(frozen=True, slots=True)
class Item:
    """One memory to be stored."""

    text: str
    session: str
    needed: bool
    """A question is answered by it, or a later session changes a file that its own session changed."""


Stores = dict[str, list[Item]]


def tables(data: Data) -> list[Table]:
    worked = {name: _worked(sessions) for name, sessions in handover_sessions(data.handover).items()}
    tables = [_numbers(worked), _foretold(worked)] if worked else []
    talk = _talk(data.locomo) if data.locomo.exists() else {}
    summaries = _summaries(data.handover) if data.handover.exists() else {}
    if talk or summaries:
        tables.append(_johari({"talk": list(talk.values()), "summaries": list(summaries.values())}))
    return tables


# Sessions at work


class _Host(Host):
    """Notes what stands before each event."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.before: dict[int, Before] = {}

    def told(self, name: str, event: str, is_early: bool, **body: Any) -> Iterator[Told]:
        """As `Host.told`."""
        context = self.context
        pulse = context.memory.pulse()
        live = context.sessions.get(name)
        reflection = live.metrics.reflection if live is not None else 0.5
        before = Before(pulse.entropy, pulse.coherence, pulse.suggested_action.value, reflection)
        rows = list(super().told(name, event, is_early, **body))
        self.before[self.at_ms] = before
        return iter(rows)

    def shown(self) -> list[Shown]:
        """What was told, in order."""
        rows, kinds = list[Shown](), defaultdict[str, list[bool]](list)
        for entry in reversed(self.context.memory_hooks.ledger.recent(1 << 20)):
            earlier = kinds[entry["event"]]
            share = (sum(earlier[-60:]) + 1) / (len(earlier[-60:]) + 2)
            uses = [bool(memory["used"]) for memory in entry["memories"]]
            of = entry["session_id"], entry["event"]
            rows += [Shown(*of, used, self.before[entry["at_ms"]], share) for used in uses]
            earlier += uses
        return rows


class Worked(NamedTuple):
    """One project."""

    before: list[Before]
    shown: list[Shown]


def _worked(sessions: Sequence[dict[str, Any]]) -> Worked:
    with tempfile.TemporaryDirectory() as folder:
        host = _Host(Path(folder))
        for number, session in enumerate(sessions):
            list(host.work(f"s{number}", number, session))
        worked = Worked(list(host.before.values()), host.shown())
        host.close()
    return worked


def _numbers(worked: dict[str, Worked]) -> Table:
    rows = []
    for name, one in worked.items():
        used = sum(row.used for row in one.shown) / len(one.shown)
        actions = Counter(row.action for row in one.before).most_common()
        entropy = quantiles([row.entropy for row in one.before], (0.05, 0.5, 0.95))
        coherence = quantiles([row.coherence for row in one.before], (0.05, 0.5, 0.95))
        shares = ", ".join(f"{action} {count / len(one.before):.0%}" for action, count in actions)
        rows.append([name, len(one.before), len(one.shown), used, *entropy, *coherence, shares])
    spread = [f"{number} {share}" for number in ("entropy", "coherence") for share in ("5%", "50%", "95%")]
    return Table(
        "pulse: entropy, coherence and what is suggested before each event",
        f"{len(worked)} projects, sessions in order through the hooks",
        ("project", "events", "told", "used", *spread, "actions"),
        rows,
    )


_SIGNALS: Final[dict[str, Callable[[Shown], float]]] = {
    "coherence": lambda row: row.before.coherence,
    "1 - entropy": lambda row: 1.0 - row.before.entropy,
    "R": lambda row: row.before.reflection,
    "kind of event, its last 60": lambda row: row.kind_before,
}


def _foretold(worked: dict[str, Worked]) -> Table:
    """AUC over all projects; over events of one kind; and the mean of it within a project."""
    whole = [row for one in worked.values() for row in one.shown]
    kinds = [kind for kind, count in Counter(row.event for row in whole).most_common() if count >= 100]
    rows = []
    for name, signal in _SIGNALS.items():
        by_kind = [_auc_of([row for row in whole if row.event == kind], signal) for kind in kinds]
        rows.append([name, *_auc(worked, signal), *by_kind])
    return Table(
        "pulse: does it foretell that a memory which is told is used?",
        f"{len(whole)} tellings, {sum(row.used for row in whole)} used; intervals over sessions",
        ("number", "all", "low", "high", "mean within a project", *(f"at {kind}" for kind in kinds)),
        rows,
        ("Nothing was fitted; R is the session's, all else the store's.",),
    )


def _auc(worked: dict[str, Worked], signal: Callable[[Shown], float]) -> tuple[float, float, float, float]:
    by_session = defaultdict[tuple[str, str], list[Shown]](list)
    for name, one in worked.items():
        for row in one.shown:
            by_session[name, row.session].append(row)

    def value(groups: Sequence[list[Shown]]) -> float:
        return _auc_of([row for group in groups for row in group], signal)

    groups = list(by_session.values())
    within = statistics.fmean(_auc_of(one.shown, signal) for one in worked.values())
    return (value(groups), *interval(groups, value), within)


def _auc_of(rows: Sequence[Shown], signal: Callable[[Shown], float]) -> float:
    sides = [[signal(row) for row in rows if row.used is used] for used in (True, False)]
    return auc(*sides) if all(sides) else float("nan")


def _talk(path: Path) -> Stores:
    stores: Stores = {}
    for one in json.loads(path.read_text(encoding="utf-8")):
        evidence = " ".join(ref for asked in one["qa"] for ref in asked.get("evidence", ()))
        gold = set(evidence.replace(";", " ").split())
        number, talk = 1, one["conversation"]
        items = stores.setdefault(one["sample_id"], [])
        while f"session_{number}" in talk:
            items += [
                Item(f"{turn['speaker']}: {turn['text']}", f"s{number}", turn["dia_id"] in gold)
                for turn in talk[f"session_{number}"]
            ]
            number += 1
    return stores


def _summaries(path: Path) -> Stores:
    """The summary that the product keeps of each session, in order, by project."""
    redactor = Redactor()
    sessions: dict[str, list[tuple[str, str, set[str]]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as source:
        for line in source:
            raw = json.loads(line)
            work, name = SessionWork(), str(raw["num"])
            work.absorb((at + 1, _event(name, at, one, redactor)) for at, one in enumerate(raw["events"]))
            if text := work.text():
                sessions[raw["project"]].append((text, name, set(raw["files"])))
    return {
        project: [
            Item(text, name, any(files & later for _, _, later in found[at + 1 :]))
            for at, (text, name, files) in enumerate(found)
        ]
        for project, found in sessions.items()
    }


def _event(session: str, at: int, raw: dict[str, Any], redactor: Redactor) -> Any:
    body = {name: value for name, value in raw.items() if name != "event"}
    body |= {"hook_event_name": raw["event"], "session_id": session, "cwd": "/project"}
    if "tool_name" in raw:
        body["tool_use_id"] = f"toolu_{at}"
    request = Request(
        f"hooks.{_KINDS[raw['event']].value}",
        f"{at:032x}",
        body=json.dumps(body).encode(),
        at_ms=1_700_000_000_000 + 10_000 * at,
    )
    return event_of(request, input_of_request(request), redactor)


def _store(memex: Memex, item: Item) -> MemoryNode:
    return memex.store(item.text, rationale=WHY, session_id=item.session)


def _opened(folder: str) -> Memex:
    return Memex.open(folder, redactor=Redactor())


# Memory's Johari


def _johari(kinds: dict[str, list[list[Item]]]) -> Table:
    rows = []
    for kind, stores in kinds.items():
        now: list[tuple[list[MemoryNode], list[Item]]] = []
        then: list[list[MemoryNode]] = []
        for items in stores:
            with tempfile.TemporaryDirectory() as folder, _opened(folder) as memex:
                stored = [_store(memex, item) for item in items]
                then.append(stored)
                consolidate(memex, "light", salience_threshold=0.0)
                kept = [(memex.get(node.id), item) for node, item in zip(stored, items, strict=True)]
                pairs = [(node, item) for node, item in kept if node is not None]
                now.append(([node for node, _ in pairs], [item for _, item in pairs]))
        if not stores:
            continue
        rows.append(_quadrants(f"{kind}, when stored", list(zip(then, stores, strict=True))))
        rows.append(_quadrants(f"{kind}, after light", now))
    return Table(
        "Johari of a memory",
        "needed: a question's evidence (talk), or a later session changes a file of this one's (summaries); "
        "AUC within a store, mean over stores; nothing fitted to it",
        (
            *("memories", "n", "open", "blind", "hidden", "unknown", "corr", "dC 5%", "dC 50%", "dC 95%"),
            *("AUC dC", "AUC dS", "AUC length", "needed: open", "blind", "hidden", "unknown"),
        ),
        rows,
    )


def _quadrants(name: str, stores: Sequence[tuple[list[MemoryNode], list[Item]]]) -> list[object]:
    pairs = [(node, item) for nodes, items in stores for node, item in zip(nodes, items, strict=True)]
    counts = Counter(node.johari_quadrant.value for node, _ in pairs)
    needed = Counter(node.johari_quadrant.value for node, item in pairs if item.needed)
    words = ("open", "blind", "hidden", "unknown")
    spread = quantiles([node.utl_state.delta_c for node, _ in pairs], (0.05, 0.5, 0.95))
    measured = [(node.utl_state.delta_s, node.utl_state.delta_c) for nodes, _ in stores for node in nodes[1:]]
    aucs = list(_aucs(stores))
    return [
        name,
        len(pairs),
        *(counts[word] / len(pairs) for word in words),
        statistics.correlation(*map(list, zip(*measured, strict=True))),
        *spread,
        *(statistics.fmean(one[at] for one in aucs) for at in range(3)),
        *(needed[word] / counts[word] if counts[word] else "-" for word in words),
    ]


def _aucs(stores: Sequence[tuple[list[MemoryNode], list[Item]]]) -> Iterator[tuple[float, float, float]]:
    """By store how well delta_c, delta_s and the mere length tell what is needed later."""
    for nodes, items in stores:
        values = [(node.utl_state.delta_c, node.utl_state.delta_s, len(node.content)) for node in nodes]
        sides = [
            [value for value, item in zip(values, items, strict=True) if item.needed is wanted]
            for wanted in (True, False)
        ]
        if all(sides):
            yield tuple(auc([v[at] for v in sides[0]], [v[at] for v in sides[1]]) for at in range(3))  # type: ignore[misc]
