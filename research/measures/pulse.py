"""Measures the pulse's suggestions and memory's Johari on real stores, through the product's own API.

Stores are the ten LoCoMo conversations (cut to 20, 100 and 500 turns) and the session summaries of each
project of the handover data. None of the constants was fitted to a store. "Followed": what the pulse asks for
is done as docs/dev/memory-metrics.md says, up to ten times in a row, on a store that nothing else comes into.
"""

from __future__ import annotations

import gzip
import json
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from research.measures.report import Data, Table, auc, bits, quantiles

from context_graph.consolidation.consolidate import consolidate
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.memex import Memex
from context_graph.memory.metrics.pulse import Deed
from context_graph.memory.metrics.review_tasks import ReviewTask, TaskType
from context_graph.model import EventKind
from context_graph.model.memory import MemoryNode, SuggestedAction
from context_graph.owner.sessions.hook_call import HookCall
from context_graph.redact import Redactor
from context_graph.wire.frames import Request

WHY: Final = "kept to be measured"
SIZES: Final = (20, 100, 500)
STEPS: Final = 10
_MONTH_MS: Final = 30 * 86_400_000
_KINDS: Final = {
    "UserPromptSubmit": EventKind.PROMPT_SUBMIT,
    "PostToolUse": EventKind.POST_TOOL,
    "PostToolUseFailure": EventKind.POST_TOOL_FAILURE,
}
_ACTIONS: Final = list(SuggestedAction)


@dataclass(frozen=True, slots=True)
class Item:
    """One memory to be stored."""

    text: str
    session: str
    needed: bool
    """A question is answered by it, or a later session changes a file that its own session changed."""


Stores = dict[str, list[Item]]


def tables(data: Data) -> list[Table]:
    talk = _talk(data.locomo) if data.locomo.exists() else {}
    summaries = _summaries(data.handover) if data.handover.exists() else {}
    found = []
    if talk or summaries:
        grown = {**{f"talk {name}": items for name, items in talk.items()}, **summaries}
        sized = {
            f"talk {name}, {size}": items[:size]
            for name, items in talk.items()
            for size in SIZES
            if len(items) >= size
        }
        found.append(_suggested(grown))
        found.append(_followed({**sized, **summaries}))
        found.append(_johari({"talk": list(talk.values()), "summaries": list(summaries.values())}))
    return found


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
    return HookCall.parse(request, redactor).event


def _store(memex: Memex, item: Item) -> MemoryNode:
    return memex.store(item.text, rationale=WHY, session_id=item.session)


def _opened(folder: str) -> Memex:
    return Memex.open(folder, redactor=Redactor())


# What is suggested while a store grows


def _suggested(stores: Stores) -> Table:
    """After each memory: the old rule (cut points on the values), and the pulse, obeyed at once."""
    rows = []
    for kind in ("talk", "summaries"):
        old, new = Counter[SuggestedAction](), Counter[SuggestedAction]()
        for name, items in stores.items():
            if name.startswith("talk ") != (kind == "talk"):
                continue
            with tempfile.TemporaryDirectory() as folder, _opened(folder) as memex:
                for item in items:
                    _store(memex, item)
                    pulse = memex.pulse()
                    old[SuggestedAction.for_state(pulse.entropy, pulse.coherence)] += 1
                    new[pulse.suggested_action] += 1
                    for deed in Deed:  # as if all of it were done; a consolidation at each step takes hours
                        if pulse.suggested_action is not SuggestedAction.READY:
                            memex.did(deed)
        rows += [_shares(f"{kind}, cut points", old), _shares(f"{kind}, own past", new)]
    return Table(
        "pulse: suggested_action while a store grows",
        f"{len(stores)} stores, the pulse after each memory; review tasks come first in the second row",
        ("store, rule", "pulses", *(action.value for action in _ACTIONS), "bits"),
        rows,
    )


def _shares(name: str, counts: Counter[SuggestedAction]) -> list[object]:
    total = sum(counts.values())
    shares = [counts[action] / total if total else 0.0 for action in _ACTIONS]
    return [name, total, *shares, bits(counts.elements())]


# What becomes of an action that is followed


def _followed(stores: Stores) -> Table:
    """Each store is a month old, so that lone memories are orphans, and changes its subject last."""
    ended, steps, chains = Counter[SuggestedAction](), Counter[SuggestedAction](), []
    left = Counter[SuggestedAction]()
    names = list(stores)
    for at, name in enumerate(names):
        others = stores[names[(at + len(names) // 2) % len(names)]]
        items = [*stores[name], *others[: max(4, len(stores[name]) // 8)]]
        with tempfile.TemporaryDirectory() as folder:
            with _opened(folder) as memex:
                for item in items:
                    _store(memex, item)
            _age(folder)
            chain, last = _chain(folder, items, ended, steps)
            chains.append(chain)
            left[last] += 1
    rows: list[list[object]] = [
        [action.value, steps[action], ended[action], ended[action] / steps[action]]
        for action in _ACTIONS
        if steps[action]
    ]
    total = sum(steps.values())
    rows.append(["all", total, sum(ended.values()), sum(ended.values()) / total if total else 1.0])
    return Table(
        "pulse: an action that is followed changes or ends (goal: 1.0)",
        f"{len(stores)} stores of {min(SIZES)} to {max(SIZES)} memories, an eighth of another subject last; "
        f"up to {STEPS} steps each, the store closed and opened after each",
        ("action", "followed", "changed or ended", "share"),
        rows,
        (
            f"Steps until ready: {dict(sorted(Counter(chains).items()))}; "
            f"last answer: {dict(sorted((one.value, count) for one, count in left.items()))}",
        ),
    )


def _age(folder: str) -> None:
    """Make all memories a month older, as an import of them would."""
    with _opened(folder) as memex:
        nodes, cursor = [], None
        while True:
            page = memex.list(cursor, 1000)
            nodes += page.nodes
            cursor = page.next_cursor
            if cursor is None:
                break
        ids = [node.id for node in nodes]
        older = [
            replace(
                node,
                created_at_ms=node.created_at_ms - _MONTH_MS,
                last_accessed_ms=node.last_accessed_ms - _MONTH_MS,
                embedding=memex.embedding(one),
            )
            for node, one in zip(nodes, ids, strict=True)
        ]
        memex.put_many(older[::-1])


def _chain(
    folder: str, items: Sequence[Item], ended: Counter[SuggestedAction], steps: Counter[SuggestedAction]
) -> tuple[int, SuggestedAction]:
    """Follow what is asked, through a restart each time; (steps until ready, the last answer)."""
    asked, tasks = _asked(folder)
    for step in range(STEPS):
        if asked is SuggestedAction.READY:
            return step, asked
        with _opened(folder) as memex:
            _follow(memex, asked, tasks, items)
        again, left = _asked(folder)
        steps[asked] += 1
        old = {task.target_nodes for task in tasks}
        ended[asked] += again is not asked or not old & {task.target_nodes for task in left}
        asked, tasks = again, left
    return STEPS, asked


def _asked(folder: str) -> tuple[SuggestedAction, tuple[ReviewTask, ...]]:
    with _opened(folder) as memex:
        status = memex.status()
        return status.suggested_action, status.curation_tasks


def _follow(
    memex: Memex, action: SuggestedAction, tasks: Sequence[ReviewTask], items: Sequence[Item]
) -> None:
    if action is SuggestedAction.CURATE:
        for task in tasks:
            _review(memex, task)
    elif action in (SuggestedAction.CONSOLIDATE, SuggestedAction.TRIGGER_DREAM):
        consolidate(memex, "light" if action is SuggestedAction.CONSOLIDATE else "deep")
    elif action is SuggestedAction.CLARIFY:
        one, other = memex.list(limit=2).nodes
        memex.link(one.id, other.id)
    else:
        memex.recall(items[0].text[:200])
        memex.did(Deed.RECALLED)  # as the tools do


def _review(memex: Memex, task: ReviewTask) -> None:
    """End a task by the first tool that it names."""
    first, *rest = task.target_nodes
    if task.task_type is TaskType.ORPHAN:
        for node in task.target_nodes:
            memex.accept(node)
    elif task.task_type is TaskType.CONTRADICTION:
        memex.link(first, rest[0], "supersedes")
    else:
        for node in rest:
            memex.forget(node)


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
