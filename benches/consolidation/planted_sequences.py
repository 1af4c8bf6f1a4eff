"""Memories with action sequences planted among unrelated ones, and how well a search finds them (F1).

A workflow is a list of actions in an order of its own. It is told in the words of a person (prose, a numbered
list), as names of tools (arrows, calls), or as one memory an action in a session. Around them stand memories
that must not be taken for it: facts without action, actions at random, and the same actions in other orders.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from context_graph.memory.embed import default_provider
from context_graph.model.memory import MemoryNode

__all__ = ["Planted", "Score", "planted", "score"]

Phrase = tuple[str, ...]
SAYINGS: Final[dict[str, Phrase]] = {
    "search": ("searched for {x}", "grepped for {x}", "looked for {x}", "found {x} by searching"),
    "read": ("read {x}", "opened {x}", "looked at {x}"),
    "edit": ("edited {x}", "changed {x}", "modified {x}", "updated {x}"),
    "create": ("wrote {x}", "created {x}", "generated {x}"),
    "test": ("ran the tests", "tested {x}", "checked {x}", "verified {x}", "executed the test suite"),
    "commit": ("committed {x}", "pushed {x}", "saved {x} to the main branch"),
    "deploy": ("deployed {x}", "launched {x}", "started {x}"),
    "remove": ("removed {x}", "deleted {x}", "cleared {x}"),
    "install": ("installed {x}", "upgraded {x}", "downloaded {x}"),
    "fix": ("fixed {x}", "repaired {x}", "patched {x}", "resolved {x}"),
    "ask": ("asked about {x}", "discussed {x}", "talked to the team about {x}"),
    "plan": ("planned {x}", "thought about {x}", "decided on {x}"),
}
TOOLS: Final[dict[str, Phrase]] = {
    "search": ("Grep", "Glob"),
    "read": ("Read",),
    "edit": ("Edit", "MultiEdit"),
    "create": ("Write",),
    "test": ("Bash(pytest -q)", "Bash(npm test)", "pytest"),
    "commit": ("git commit", "Bash(git push)"),
    "deploy": ("Bash", "kubectl"),
    "remove": ("Bash(rm -r {x})",),
    "install": ("pip install {x}", "npm install"),
    "fix": ("git revert {x}",),
    "ask": (),
    "plan": ("TodoWrite",),
}
WORKFLOWS: Final[tuple[tuple[str, ...], ...]] = (
    ("search", "read", "edit", "test", "commit"),
    ("ask", "plan", "create", "test"),
    ("install", "test", "deploy"),
    ("fix", "test", "deploy", "ask"),
    ("remove", "install", "test", "commit", "deploy"),
    ("plan", "ask", "remove", "create"),
    ("deploy", "test", "fix", "deploy", "ask"),
    ("create", "edit", "remove", "commit"),
)
THINGS: Final = (
    *("the parser", "config.yaml", "the login page", "api/routes.py", "the retry loop", "the schema"),
    *("the billing job", "src/cache.rs", "the release notes", "the queue worker", "the index", "db.sql"),
    *("the invoice template", "the landing page", "auth.ts", "the cron job", "the docker image"),
)
FACTS: Final = (
    "{x} depends on the {n} service",
    "The owner of {x} is team {n}",
    "Port {n} belongs to {x}",
    "{x} is slow because of {n} nested joins",
    "Users dislike {x} when latency is above {n} ms",
    "In {x} all amounts are in cents, limit {n}",
    "{x} has {n} open questions",
    "Version {n} of {x} is the stable one",
)
STYLES: Final = ("prose", "prose", "list", "tools", "session")
BETWEEN: Final = (", then ", ", ", " and then ", "; next ", ". After that I ", ", and ")


@dataclass(slots=True)
class Planted:
    """A set of memories, and what was planted in it."""

    nodes: list[MemoryNode] = field(default_factory=list)
    workflows: dict[tuple[str, ...], set[UUID]] = field(default_factory=dict)
    """Each with the memories that tell it."""


@dataclass(frozen=True, slots=True)
class Score:
    """Of memories found in some pattern, each compared with the workflow that it shares most with."""

    precision: float
    recall: float
    workflows_found: int
    patterns: int

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def planted(
    seed: int,
    *,
    members: int = 20,
    unrelated: int = 1000,
    workflows: Sequence[tuple[str, ...]] = WORKFLOWS,
    shuffled: float = 0.1,
    foreign: float = 0.2,
    styles: Sequence[str] = STYLES,
) -> Planted:
    """A set from a seed.

    Args:
        members: Memories (or sessions) of each workflow.
        unrelated: Other memories.
        shuffled: Share of those that tell a workflow's actions in another order.
        foreign: Share of the members that tell one more action somewhere.
        styles: How the members tell it, each as often as it is named: prose, list, tools, session.
    """
    draw = random.Random(seed)
    items: list[tuple[str, str | None, tuple[str, ...] | None]] = []
    for flow in workflows:
        for _ in range(members):
            items += _told(draw, flow, foreign, styles)
    for _ in range(unrelated):
        items.append((_unrelated(draw, workflows, shuffled), None, None))
    order = list(range(len(items)))
    draw.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    made = Planted()
    encode = default_provider().encode
    for number, (text, session, flow) in enumerate(items):
        at = number if session is not None else place[number]  # a session's memories stay in order
        node = MemoryNode(
            id=UUID(int=draw.getrandbits(128)),
            content=text,
            rationale="planted by a bench",
            created_at_ms=1_700_000_000_000 + 60_000 * at,
            last_accessed_ms=1_700_000_000_000,
            session_id=session,
            embedding=encode(text).embedding,
        )
        made.nodes.append(node)
        if flow is not None:
            made.workflows.setdefault(flow, set()).add(node.id)
    return made


def _told(
    draw: random.Random, flow: tuple[str, ...], foreign: float, styles: Sequence[str]
) -> list[tuple[str, str | None, tuple[str, ...] | None]]:
    steps = list(flow)
    if draw.random() < foreign:
        steps.insert(draw.randrange(1, len(steps)), draw.choice(sorted(SAYINGS)))
    style = draw.choice(styles)
    if style == "tools" and all(TOOLS[step] for step in steps):
        names = [_say(draw, TOOLS[step]) for step in steps]
        return [(draw.choice((" -> ", " → ", ", ")).join(names), None, flow)]
    said = [_say(draw, SAYINGS[step]) for step in steps]
    if style == "session":
        session = f"session-{draw.getrandbits(48):012x}"
        return [(draw.choice(("I ", "", "We ")) + text, session, flow) for text in said]
    if style == "list":
        return [
            ("\n".join(f"{at}. {text[0].upper()}{text[1:]}" for at, text in enumerate(said, 1)), None, flow)
        ]
    return [(_sentence(draw, said), None, flow)]


def _sentence(draw: random.Random, said: Sequence[str]) -> str:
    text = draw.choice(("I ", "We ", "First I ", "The agent ", "Today I ")) + said[0]
    for part in said[1:]:
        text += draw.choice(BETWEEN) + part
    return text + "."


def _say(draw: random.Random, sayings: Phrase) -> str:
    return draw.choice(sayings).replace("{x}", draw.choice(THINGS))


def _unrelated(draw: random.Random, workflows: Sequence[tuple[str, ...]], shuffled: float) -> str:
    kind = draw.random()
    if kind < shuffled:
        steps = list(draw.choice(workflows))
        while tuple(steps) in workflows:
            draw.shuffle(steps)
        return _sentence(draw, [_say(draw, SAYINGS[step]) for step in steps])
    if kind < 0.4:
        steps = [draw.choice(sorted(SAYINGS)) for _ in range(draw.randint(1, 5))]
        return _sentence(draw, [_say(draw, SAYINGS[step]) for step in steps])
    text = draw.choice(FACTS).replace("{n}", str(draw.randrange(2, 900))).replace("{x}", draw.choice(THINGS))
    return text[0].upper() + text[1:]


def score(found: Sequence[Sequence[UUID]], truth: Planted) -> Score:
    """How well these patterns' members are the planted workflows'."""
    right = named = 0
    recovered = set()
    for members in found:
        here = set(members)
        flow, shared = max(
            ((flow, len(here & ids)) for flow, ids in truth.workflows.items()), key=lambda one: one[1]
        )
        named += len(here)
        right += shared
        if shared >= 0.5 * len(truth.workflows[flow]):
            recovered.add(flow)
    wanted = sum(map(len, truth.workflows.values()))
    covered = 0
    for ids in truth.workflows.values():
        covered += max((len(ids & set(members)) for members in found), default=0)
    return Score(right / named if named else 1.0, covered / wanted, len(recovered), len(found))
