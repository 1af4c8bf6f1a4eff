"""Looks in what a user said of all his work beside what a project's store holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from context_graph.memory.evidence import HOOK_S, EvidenceState
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.memory.recall import Recalled
from context_graph.model.memory import MemoryNode


def memory_in(places: Iterable[Memex | None], node_id: UUID | str) -> MemoryNode | None:
    """Return the memory of that id in the first of ``places`` that has it; None for none."""
    return next((node for place in places if place is not None and (node := place.get(node_id))), None)


def recalled_of_user(
    project: Memex, of_user: Memex, query: str, most: int, filters: RecallFilters | None = None
) -> Sequence[Recalled]:
    """Return what ``of_user`` has for ``query`` and still holds, judged as if it were the project's."""
    filters = filters or RecallFilters()
    nodes = [row.node for row in of_user.recall(query, top_k=most, filters=filters).nodes]
    verdicts = of_user.verdicts(nodes, None, within_s=HOOK_S)
    valid = [
        node
        for node, verdict in zip(nodes, verdicts, strict=True)
        if verdict is None or verdict.state is not EvidenceState.SUPERSEDED
    ]
    return project.ranked(query, valid, filters)
