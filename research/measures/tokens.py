"""What a session's hooks put into its context, by event and kind of line, in tokens: memories apart.

Sessions are replayed one after the other through the owner's own service, a project into a store of its own,
with what the client sends around the recorded events: a start, a call before each result, a stop after each
turn, an end. Every character of an answer is counted that the model or the user sees.
"""

from __future__ import annotations

import json
import logging
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from research.measures.report import Data, Table, quantiles
from research.measures.sessions import hook_bodies

from context_graph.claude.events import EVENT_OF_VERB
from context_graph.config import Settings
from context_graph.memory.embed import default_provider
from context_graph.owner.service import OwnerService, build_service
from context_graph.text.quoting import FENCE_CLOSE, FENCE_OPEN
from context_graph.wire.frames import Request

BUDGET: Final = 600
"""Tokens, besides memories, of a session of CALLS calls and PROMPTS prompts that does not drift."""
CALLS: Final = 100
PROMPTS: Final = 20
BEGAN_MS: Final = 1_700_000_000_000
STEP_MS: Final = 10_000
MEMORIES: Final = "memories"
_KINDS: Final = (
    ("[C:", "the brief"),
    ("State: ", "a change of state"),
    ("Identity continuity ", "a change of the IC level"),
    ("IC ", "an alarm"),
    ("The last ", "an alarm"),
    ("New session", "whether the session goes on"),
    ("Fresh session", "whether the session goes on"),
    ("Identity restored", "whether the session goes on"),
    ("No requirement", "requirements"),
    ("Requirement", "requirements"),
    ("Once met", "requirements"),
)
_AROUND: Final = "the client's words before a context"
_VERBS: Final = {name: verb for verb, name in EVENT_OF_VERB.items()}
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Played:
    """A session: its project, and the bodies of its hooks in order, with the client's names of the events."""

    project: str
    source: str
    bodies: Sequence[Body]


@dataclass(slots=True)
class Told:
    """Tokens that one session was told."""

    source: str
    calls: int
    prompts: int
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By (event, kind of line)."""

    @property
    def besides_memories(self) -> int:
        return sum(n for (_, kind), n in self.tokens.items() if kind != MEMORIES)

    @property
    def of_budget(self) -> float:
        """Tokens besides memories over what a session of as many calls and prompts may cost."""
        size = max(self.calls / CALLS, self.prompts / PROMPTS)
        return self.besides_memories / (BUDGET * max(size, 1.0))


def tables(data: Data) -> list[Table]:
    """By session and by kind of line."""
    sessions = [told for project, group in _projects(data) for told in _replayed(project, list(group))]
    if not sessions:
        return []
    by_source = {
        name: [one for one in sessions if one.source == name] for name in {s.source: 0 for s in sessions}
    }
    return [_by_session(by_source), _by_line(by_source)]


def _by_session(by_source: dict[str, list[Told]]) -> Table:
    rows: list[Sequence[object]] = []
    for name, found in by_source.items():
        low, high = quantiles([float(one.besides_memories) for one in found], (0.5, 0.95))
        rows.append(
            (
                name,
                len(found),
                sum(one.calls for one in found),
                sum(one.prompts for one in found),
                sum(one.besides_memories for one in found) / len(found),
                low,
                high,
                max(one.of_budget for one in found),
                sum(sum(one.tokens.values()) - one.besides_memories for one in found) / len(found),
            )
        )
    return Table(
        number="tokens: what hooks tell a session",
        source=f"every session; limit {BUDGET} besides memories for {CALLS} calls and {PROMPTS} prompts",
        columns=(
            *("sessions of", "sessions", "calls", "prompts", "mean", "p50", "p95"),
            *("worst / limit", "memories, mean"),
        ),
        rows=rows,
    )


def _by_line(by_source: dict[str, list[Told]]) -> Table:
    rows: list[Sequence[object]] = []
    for name, found in by_source.items():
        summed: Counter[tuple[str, str]] = Counter()
        for one in found:
            summed.update(one.tokens)
        per = 100 / max(1, sum(one.calls for one in found))
        rows += [(name, event, kind, n, n * per) for (event, kind), n in summed.most_common()]
    return Table(
        number="tokens: by event and kind of line",
        source="the same sessions",
        columns=("sessions of", "event", "kind", "tokens", "per 100 calls"),
        rows=rows,
    )


def _projects(data: Data) -> Iterator[tuple[str, Iterator[Played]]]:
    played = [Played(f"{source} {project}", source, bodies) for source, project, bodies in hook_bodies(data)]
    played += [Played("made up", "made up, no drift", list(_steady(number))) for number in range(3)]
    return groupby(sorted(played, key=lambda one: one.project), key=lambda one: one.project)


def _steady(number: int) -> Iterator[Body]:
    """A session that stays with one piece of work: 20 prompts, each with five calls on the same files."""
    files = [f"src/limits/{name}.py" for name in ("bucket", "window", "store", "config", "errors")]
    asks = ("count a limit", "reset a window", "test the bucket", "name an error", "read the configuration")
    for turn in range(PROMPTS):
        file = files[turn % len(files)]
        ask = asks[(turn + number) % len(asks)]
        yield {
            "hook_event_name": "UserPromptSubmit",
            "prompt": f"In {file}, {ask} (step {turn} of the rate limiter)",
        }
        for tool, given, result in (
            ("Read", {"file_path": file}, f"class Limit{turn}:\n    def allow(self, key): ..."),
            ("Grep", {"pattern": f"allow_{turn}", "path": "src/limits"}, f"{file}:12: def allow_{turn}"),
            (
                "Edit",
                {"file_path": file, "old_string": f"limit_{turn}", "new_string": f"rate_{turn}"},
                "done",
            ),
            ("Bash", {"command": f"pytest tests/limits -k step{turn}"}, f"{turn + 3} passed in 0.4{turn}s"),
            ("Read", {"file_path": f"tests/limits/test_{turn % 4}.py"}, f"def test_limit_{turn}(): ..."),
        ):
            yield {
                "hook_event_name": "PostToolUse",
                "tool_name": tool,
                "tool_input": given,
                "tool_response": {"stdout": result},
            }


def _replayed(project: str, sessions: Sequence[Played]) -> list[Told]:
    """The sessions of one project, one after the other, in a store and a git repository of their own."""
    log = logging.getLogger("tokens")
    with tempfile.TemporaryDirectory() as name:
        root, work = Path(name) / "root", Path(name) / "project"
        work.mkdir()
        subprocess.run(["git", "init", "-q", str(work)], check=True)
        service = build_service(root, Settings(), log)
        try:
            return [
                _session(service, root, work, f"session-{number}", one, number * len(sessions) * 10_000)
                for number, one in enumerate(sessions)
            ]
        finally:
            service.close()


def _session(
    service: OwnerService, root: Path, work: Path, session_id: str, played: Played, began: int
) -> Told:
    bodies = list(_whole(played.bodies))
    names = Counter(body["hook_event_name"] for body in bodies)
    told = Told(played.source, names["PreToolUse"], names["UserPromptSubmit"])
    count = default_provider().count_tokens
    for place, body in enumerate(bodies):
        event = body["hook_event_name"]
        body |= {"session_id": session_id, "cwd": str(work)}
        request = Request(
            f"hooks.{_VERBS[event]}",
            f"{began + place:032x}",
            {"format": "claude"},
            json.dumps(body).encode(),
            store=root / "stores" / "project-1",
            project=work,
            cwd=work,
            at_ms=BEGAN_MS + STEP_MS * (began + place),
        )
        answer = json.loads(service.handle(request).stdout or b"{}")
        service.settle()
        while service.tidy():
            pass
        for kind, text in _lines(answer):
            told.tokens[event, kind] += count(text)
    return told


def _whole(bodies: Sequence[Body]) -> Iterator[Body]:
    """What the client would send: a start, each call before its result, a stop after each turn, an end."""
    yield {"hook_event_name": "SessionStart", "source": "startup"}
    turns = 0
    for place, body in enumerate(bodies):
        if body["hook_event_name"] == "UserPromptSubmit":
            if turns:
                yield {"hook_event_name": "Stop"}
            turns += 1
        elif "tool_name" in body:
            called = {"tool_use_id": f"toolu_{place:06d}"}
            own = {key: body[key] for key in ("tool_name", "tool_input", "agent_id") if key in body}
            yield {"hook_event_name": "PreToolUse", **own, **called}
            body = {**body, **called}
        yield dict(body)
    yield {"hook_event_name": "Stop"}
    yield {"hook_event_name": "SessionEnd", "reason": "exit"}


def _lines(answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, text) of what an answer puts into the context or shows."""
    own = answer.get("hookSpecificOutput", {})
    if "systemMessage" in answer:
        yield "a message to the user", answer["systemMessage"]
    for name in ("permissionDecisionReason",):
        if name in own:
            yield "a refusal", own[name]
    if "reason" in answer:
        yield "a refusal", answer["reason"]
    context, fenced = own.get("additionalContext", ""), False
    if context:
        yield _AROUND, f"{own['hookEventName']} hook additional context:"
    for line in context.splitlines():
        fenced = fenced or line.startswith(FENCE_OPEN)
        yield (MEMORIES if fenced else _kind(line)), line
        fenced = fenced and not line.endswith(FENCE_CLOSE)


def _kind(line: str) -> str:
    return next((kind for start, kind in _KINDS if line.startswith(start)), f"other: {line[:40]}")
