"""The ratios that `make bench-compare` holds a run to: one table, to be read beside benches/README.md.

Both sides of a ratio are measured in the same rounds, so the table holds on any machine; it is for the small
sizes of a smoke run. ``measured`` is the ratio on two virtual x86-64 cores, the median of three quiet runs.
``most`` is 1.7 to 5.9 times that, and well above runs beside three busy loops or two builds. It bounds what a
path may cost after many small changes; what one commit makes slower, the parent measured beside it shows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["LIMITS", "Limit"]


class Limit(NamedTuple):
    """What one case may cost, as a multiple of its workload's limit."""

    measured: float
    most: float
    why: str
    """Of the width: what moves the ratio though our code is the same."""


_CACHE: Final = "the vectors fit the cache or not, as neighbours leave it: memcpy moves by 2"
_VNNI: Final = "a processor without VNNI takes 3 times as long for our products, for BLAS's less"
_BLAS: Final = "a product of 1 ms is cut short or not by a neighbour: 11 beside busy loops"
_SHORT: Final = "steady: both sides are one loop of microseconds"
_CALL: Final = "both sides are one call of less than a microsecond"
_DISK: Final = "the log's page is in the cache or not; 2 times between runs"
_START: Final = "a start is some 200 page faults: 1.25 beside busy loops; twice the start is caught"
_WAKE: Final = "two processes take turns, and each turn waits for a core: 5.8 beside busy loops"
_SPAWN: Final = "it starts a program beside itself, which wants a core too: 9.4 beside two builds"
_PIPE: Final = "the echo is 17 to 60 us, nearly all of it waiting to be woken, as the machine has it that day"

LIMITS: Final[dict[str, Limit]] = {
    "scan of 2,000 embeddings / Vectors.scan": Limit(1.7, 6, _VNNI),
    "close pairs among 2,048 rows / closeness.groups": Limit(1.04, 5, _VNNI),
    "salience of 1,024 rows, 20 centres / salience.score": Limit(5.2, 16, _BLAS),
    "features of an event, 2 + 2 KB / EventFeatures.scan": Limit(11.8, 24, _SHORT),
    "embedding of 60 tokens, 13 spaces / encode": Limit(3.2, 8, _SHORT),
    "50 steps of 13 oscillators / kuramoto_steps": Limit(0.74, 1.5, _SHORT),
    "kuramoto_order of one event / kuramoto_order": Limit(4.6, 9, _CALL),
    "cosine13 of one event / cosine13": Limit(2.2, 4.4, _CALL),
    "identity_continuity of one event / identity_continuity": Limit(2.0, 4, _CALL),
    "store a memory of 60 tokens / Memex.store": Limit(6.6, 15, _DISK),
    "read one of 1,000 memories / Memex.get": Limit(5.0, 12, _SHORT),
    "commit one event with its effects / SessionStore.commit_event": Limit(3.1, 8, _DISK),
    "recall among 1,000 memories / recall": Limit(62, 125, _CACHE),
    "consolidation of 1,000 memories / light": Limit(
        2.5, 6, "three rounds, each a Python's start on both sides"
    ),
    "process from start to exit / brief, cold": Limit(1.07, 1.8, _START),
    "process from start to exit / brief, warm": Limit(1.09, 1.8, _START),
    "process from start to exit / hooks post-tool": Limit(1.6, 5, _SPAWN),
    "process from start to exit / hooks pre-tool": Limit(1.2, 3, _SPAWN),
    "process from start to exit / hooks post-tool-failure": Limit(4.9, 12, _WAKE),
    "process from start to exit / hooks prompt-submit": Limit(4.9, 10, _WAKE),
    "process from start to exit / hooks session-end": Limit(1.5, 5, _SPAWN),
    "process from start to exit / hooks stop": Limit(1.7, 5, _SPAWN),
    "process from start to exit / owner dead: post-tool": Limit(2.7, 16, _SPAWN),
    "git commit / an agent's": Limit(2.0, 5, _WAKE),
    "git commit / without a session": Limit(1.5, 4, _START),
    "MCP: spawn to tools/list / context-graph": Limit(1.7, 6, _WAKE),
    "MCP: search among 1,000 memories / context-graph": Limit(77, 160, _PIPE),
    "MCP: store beside 1,000 memories / context-graph": Limit(22, 75, _PIPE),
}
"""Every case of ours in a smoke run."""
