"""What of a session its context still has after a compaction: in a summary alone, and with what it is told.

The facts are read from the events by rules of their own, not by those of the product: the first prompt, each
edited file, each run of tests that failed and was not repeated with success, and each short sentence of the
user's with a word of command. Synthetic summaries are sentences of the session's first two fifths, which is
what a summary is worst at leaving out; two recorded sessions have a summary that the client really made.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from research.measures.report import Data, Table
from research.measures.sessions import sessions, set_of, transcripts

from context_graph.claude.hooks.origin import own_words
from context_graph.memory.context.after_compaction import MAX_TOKENS, facts_of, text_of
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.embed import default_provider
from context_graph.model import EventKind, HookEvent

KINDS: Final = ("goal", "file", "failing test", "decision")
LEAST_EVENTS: Final = 12
SUMMARY_CHARS: Final = 4000
EARLY: Final = 0.4
"""The share of the events that a synthetic summary is made of."""
AT: Final = 0.75
"""Where the context is compacted, as a share of the session's events."""
_TESTS: Final = re.compile(
    r"\b(?:pytest|runtests|unittest|jest|vitest|mix test|go test|cargo test|npm test|rspec|tox)\b"
)
_ASKS: Final = re.compile(r"\b(?:don't|do not|must|always|never|instead of|make sure|only)\b", re.IGNORECASE)
_WORDS: Final = re.compile(r"\w{4,}")
_SHORT: Final = 600
"""Of a longer prompt, which quotes a report, no sentence is taken for the user's word."""

Fact = tuple[str, str]


def tables(data: Data) -> list[Table]:
    """The share of each kind of fact, by set of sessions."""
    rows: list[Sequence[object]] = []
    sizes: list[int] = []
    by_set: dict[str, list[tuple[tuple[HookEvent, ...], str]]] = {}
    for session in sessions(data):
        events = session.events[: int(len(session.events) * AT)]
        if len(events) >= LEAST_EVENTS:
            by_set.setdefault(f"{set_of(session)}, extract", []).append((events, _extract(events)))
    for session in transcripts(data.folder):  # whole sessions, not pieces
        events = session.events[: int(len(session.events) * AT)]
        if session.split == "own" and len(events) >= LEAST_EVENTS:
            by_set.setdefault("transcripts, extract", []).append((events, _extract(events)))
    for events, summary in _recorded(data.folder):
        by_set.setdefault("cc, the client's own", []).append((events, summary))
    for name, cases in by_set.items():
        rows += _rows(name, cases, sizes)
    if not rows:
        return []
    return [
        Table(
            number="compaction: facts that the context still has",
            source=f"{sum(map(len, by_set.values()))} compactions of dev sessions; fitted to none of them",
            columns=("summaries", "compactions", "kind", "facts", "in the summary", "with what is told"),
            rows=rows,
            notes=[f"told: {sum(sizes) / len(sizes):.0f} tokens, at most {max(sizes)} (limit {MAX_TOKENS})"],
        )
    ]


def _rows(
    name: str, cases: Sequence[tuple[tuple[HookEvent, ...], str]], sizes: list[int]
) -> Iterator[Sequence[object]]:
    facts: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    after: Counter[str] = Counter()
    count = default_provider().count_tokens
    for events, summary in cases:
        work = SessionWork()
        work.absorb(enumerate(events, 1))
        told = text_of(facts_of(work), summary, budget=MAX_TOKENS, count=count)
        sizes.append(count(told) if told else 0)
        for kind, text in _facts(events):
            facts[kind] += 1
            alone[kind] += _has(summary, kind, text)
            after[kind] += _has(f"{summary}\n{told}", kind, text)
    for kind in (*KINDS, "all"):
        total, in_summary, in_context = (
            sum(counted.values()) if kind == "all" else counted[kind] for counted in (facts, alone, after)
        )
        if total:
            yield name, len(cases), kind, total, in_summary / total, in_context / total


def _facts(events: Sequence[HookEvent]) -> set[Fact]:
    prompts = [own_words(event.input_text) for event in events if event.is_prompt]
    found: set[Fact] = {("goal", prompts[0][:300])} if prompts else set()
    for prompt in prompts:
        if len(prompt) <= _SHORT:
            parts = re.split(r"[.!]\s+|\n+", prompt)
            found |= {("decision", part) for part in parts if _ASKS.search(part) and not part.endswith("?")}
    failing: dict[str, str] = {}
    for event in events:
        failed = event.kind is EventKind.POST_TOOL_FAILURE or event.success is False
        if event.tool_name in ("Edit", "Write", "MultiEdit") and not failed and event.input_text:
            found.add(("file", event.input_text.split()[0]))
        elif event.tool_name == "Bash" and not event.agent_id:
            command = event.input_text.splitlines()[0] if event.input_text else ""
            if _TESTS.search(command):
                failing.pop(command, None)
                if failed:
                    failing[command] = command
    return found | {("failing test", command) for command in failing}


def _has(text: str, kind: str, fact: str) -> bool:
    """Whether ``text`` has the file's name, or three fifths of the fact's longer words."""
    lower = text.lower()
    if kind == "file":
        return fact.rsplit("/", 1)[-1].lower() in lower
    words = set(_WORDS.findall(fact.lower())[:30])
    return not words or sum(word in lower for word in words) >= 0.6 * len(words)


def _extract(events: Sequence[HookEvent]) -> str:
    """Sentences of the session's first events: of prompts the first three, of a call its first line."""
    parts: list[str] = []
    for event in events[: int(len(events) * EARLY)]:
        if event.is_prompt:
            parts += re.split(r"(?<=[.!?])\s+", own_words(event.input_text))[:3]
        elif event.input_text:
            parts.append(f"{event.tool_name}: {event.input_text.splitlines()[0][:120]}")
    return "\n".join(parts)[:SUMMARY_CHARS]


def _recorded(folder: Path) -> Iterator[tuple[tuple[HookEvent, ...], str]]:
    """(events before it, summary) of each compaction in the transcripts below ``folder``."""
    for path in sorted(folder.rglob("*.jsonl")):
        summaries = [line for line in _lines(path) if line.get("isCompactSummary")]
        if not summaries:
            continue
        at = str(summaries[0].get("timestamp") or "")
        content = summaries[0].get("message", {}).get("content")
        session = next((one for one in transcripts(path.parent) if one.name == path.stem), None)
        if session is None or not isinstance(content, str) or not at:
            continue
        before = _before(at)
        events = tuple(event for event in session.events if event.at_ms < before)
        if len(events) >= LEAST_EVENTS:
            yield events, content


def _before(timestamp: str) -> int:
    from datetime import datetime

    return int(datetime.fromisoformat(timestamp).timestamp() * 1000)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            if "isCompactSummary" in text:
                line = json.loads(text)
                if isinstance(line, dict):
                    yield line
