"""Rows of the map: which session changed which file, and what was decided, solved and replaced there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from uuid import UUID

from context_graph.consolidation.plan import Goal, StoreMap, decode_goals, decode_map
from context_graph.memory.capture import CAPTURE_TAG, NOTES, work_of
from context_graph.memory.context.at_file import FileMemories
from context_graph.memory.evidence import KEY as EVIDENCE
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode
from context_graph.model.note import NOTE, NoteKind, kind_of_memory
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.view.memories import one_line
from context_graph.store.layout import GOALS_FACT, MAP_FACT
from context_graph.view.rows import GoalRow, Map, MapNote, MapSession

_SESSIONS: Final = 200
_RULES: Final = 200
_CHARS: Final = 600
"""Of a note: what solved a failure stands behind the failure."""
_SHOWN: Final = frozenset({NoteKind.RULE, NoteKind.DECISION, NoteKind.LESSON})


def map_of(context: StoreContext) -> Map:
    """Return the newest sessions with the files they changed, the rules, decisions and solved failures, and
    what the last deep or rem consolidation found.

    Cost: a read for each of the sessions' notes, and one look at all memories for the rules: some 0.1 s for
    5,000.
    """
    if not context.uses_memory():
        return Map()
    memex, inside = context.memory, FileMemories().inside
    with memex.uncounted():
        with memex.core.operation("get") as core:
            drawn = decode_map(core.store.meta(MAP_FACT))
            goals = decode_goals(core.store.meta(GOALS_FACT))
        summaries = memex.list(limit=_SESSIONS, filters=RecallFilters(tags=(CAPTURE_TAG,))).nodes
        drawn = drawn or StoreMap(at_ms=0)
        return Map(
            at_ms=drawn.at_ms or None,
            clusters=drawn.clusters,
            patterns=drawn.patterns,
            drift=drawn.drift,
            sessions=[_session(node, inside) for node in reversed(summaries)],
            notes=list(_notes(memex, summaries)),
            goals=_goals(goals),
        )


def _session(node: MemoryNode, inside: Callable[[str, str], str]) -> MapSession:
    work = work_of(node)
    files = {
        inside(work.root, path): count for path, count in work.changed.items() if not work.is_scratch(path)
    }
    return MapSession(
        id=node.session_id or "",
        memory_id=str(node.id),
        at_ms=work.ended_ms or node.created_at_ms,
        goal=one_line(work.prompts[0] if work.prompts else node.content),
        files=files,
    )


def _notes(memex: Memex, summaries: Iterable[MemoryNode]) -> Iterator[MapNote]:
    """Yield the rules, and what the sessions decided and solved, the oldest first."""
    rules = memex.list(limit=_RULES, filters=RecallFilters(kind=NoteKind.RULE)).nodes
    nodes = {node.id: node for node in rules}
    for summary in summaries:
        for named in summary.metadata.get(NOTES) or ():
            node = memex.get(UUID(named))
            if node is not None and kind_of_memory(node.metadata) in _SHOWN:
                nodes[node.id] = node
    replaced = memex.superseded(nodes.values())
    for node in sorted(nodes.values(), key=lambda node: node.created_at_ms):
        yield MapNote(
            id=str(node.id),
            kind=str(kind_of_memory(node.metadata)),
            at_ms=node.created_at_ms,
            text=one_line(node.content, _CHARS),
            session_id=node.session_id or "",
            files=_files(node),
            replaced_by=str(replaced.get(node.id, "")),
        )


def _files(node: MemoryNode) -> list[str]:
    for key in (EVIDENCE, NOTE):
        record = node.metadata.get(key)
        files = record.get("files") if isinstance(record, dict) else None
        if files:
            return [path for path in files if isinstance(path, str)]
    return []


def _goals(goals: Sequence[Goal]) -> list[GoalRow]:
    return [
        GoalRow(
            id=str(goal.goal_id),
            text=goal.description,
            level=goal.level.value,
            confidence=round(goal.confidence, 4),
            memories=len(goal.members),
        )
        for goal in goals
    ]
