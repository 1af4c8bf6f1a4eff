"""Texts about planted topics, and snapshots of them with real embeddings."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from benches.consolidation.snapshots import of_memories

from context_graph.consolidation.snapshot import Snapshot
from context_graph.memory.embed import default_provider
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode

__all__ = ["TOPICS", "memory", "node_id", "snapshot_of", "talk", "texts_on"]

TOPICS: Mapping[str, str] = {
    "billing": "invoice ledger refund surcharge payment tariff receipt customer quarter voucher",
    "parsing": "parser grammar token lexer syntax comment newline parenthesis macro identifier",
    "shaders": "shader texture vertex mipmap viewport lighting polygon renderer framebuffer gamma",
    "gardening": "tomato compost seedling greenhouse watering pruning harvest mulch trellis orchard",
    "backups": "backup snapshot replica restore archive bucket retention tape checksum bandwidth",
    "sailing": "keel rudder anchor harbour mainsail compass rigging spinnaker buoy tide",
    "hiring": "candidate interview recruiter salary resume referral onboarding headcount offer role",
    "weather": "barometer humidity thunderstorm forecast drizzle hurricane isobar frost gust visibility",
}
"""Topic -> words of its own."""

_FRAMES = (
    "The {0} and the {1} of a {2}, with its {3}, {4} and {5}",
    "We want the {0} to have a {1}: {2}, {3} or {4}, then {5}",
    "{0}, {1} and {2} for every {3}, then the {4} and its {5}",
    "Is the {0} of the {1} in the {2}, or {3}, {4} and {5}?",
    "You need a {0} before the {1}; {2} and {3} are with the {4} of the {5}",
)
"""Hardly a word of their own: what two texts share is their topic."""
_TALK = (
    "it was so nice to see you all, have a lovely {day}!",
    "thanks, that looks good to me, see you {day}",
    "ok, sounds great, thank you very much, bye until {day}",
    "good morning, how are you this {day}?",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def texts_on(topic: str, count: int, *, seed: int = 0) -> list[str]:
    """``count`` sentences about one topic, each with some of its words."""
    draw = random.Random(f"{topic} {seed}")
    words = TOPICS[topic].split()
    return [draw.choice(_FRAMES).format(*draw.sample(words, 6)) for _ in range(count)]


def talk(count: int) -> list[str]:
    """Texts about nothing in particular."""
    return [_TALK[at % len(_TALK)].format(day=_DAYS[at % len(_DAYS)]) for at in range(count)]


def node_id(row: int) -> UUID:
    """The id of the memory in that row of a snapshot made here."""
    return UUID(int=(row + 1) << 64 | 1)


def memory(row: int, content: str, **fields: object) -> MemoryNode:
    """A memory with its embedding, stored a minute after the row before."""
    made = {
        "id": node_id(row),
        "content": content,
        "rationale": "planted for a test",
        "created_at_ms": 60_000 * row,
        "last_accessed_ms": 60_000 * row,
        "embedding": default_provider().encode(content).embedding,
        "commit_seq": row + 1,
        **fields,
    }
    return MemoryNode(**made)  # type: ignore[arg-type]


def snapshot_of(texts: Iterable[str], edges: Sequence[GraphEdge] = ()) -> Snapshot:
    """A snapshot of these texts, row by row."""
    return of_memories([memory(row, text) for row, text in enumerate(texts)], edges)
