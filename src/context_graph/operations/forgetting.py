"""Forgets a memory wherever its words stand: in other memories, and in what was recorded of sessions.

What can't be taken out is told, with the command that does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final
from uuid import UUID

from context_graph.memory.editing import Forgotten
from context_graph.memory.memex import Memex
from context_graph.memory.runs import new_act
from context_graph.memory.traces import Traces, Words, traces_of
from context_graph.model.memory import CAPTURED, MemoryNode
from context_graph.operations.context import Host
from context_graph.operations.memories import Forget
from context_graph.operations.views import named_view
from context_graph.store.graph.history import Act

_NOTES: Final = "notes"


def forget_everywhere(
    host: Host, memex: Memex, wanted: UUID, arguments: Forget, source: str
) -> tuple[Forgotten, dict[str, Any]]:
    """Forget ``wanted`` of ``memex``; what else went or stays, as JSON, without what is empty.

    All of it is undone as one, but for what is deleted for good. Raises as `Memex.forget_with_merged`;
    nothing is changed then.
    """
    if not arguments.soft_delete:
        return _forget(host, memex, wanted, arguments)
    act = new_act("forget", source, host.store_name)
    with ExitStack() as acting:
        for place in _places(host, memex):
            acting.enter_context(place.acting(Act(act.run)))
        return _forget(host, memex, wanted, arguments)


def _places(host: Host, memex: Memex) -> list[Memex]:
    """Return where the words of a memory of ``memex`` may stand, itself first."""
    places = [place for place in (memex, host.memory(), host.of_user()) if place is not None]
    return list({id(place): place for place in places}.values())


def _forget(host: Host, memex: Memex, wanted: UUID, arguments: Forget) -> tuple[Forgotten, dict[str, Any]]:
    stored = memex.stored(wanted)
    node = stored.node if stored is not None else None
    if node is None or node.source == CAPTURED:
        forgotten = memex.forget_with_merged(wanted, soft=arguments.soft_delete, reason=arguments.reason)
        return forgotten, _of_summary(memex, node, arguments) if node is not None else {}
    traces_by_id = {id(place): (place, traces_of(place, node)) for place in _places(host, memex)}
    forgotten = _forgotten(memex, wanted, arguments, traces_by_id[id(memex)][1])
    for place, traces in traces_by_id.values():
        for copy in traces.same:
            _forgotten(place, copy.id, arguments, traces)
        if place is not memex or arguments.soft_delete:
            place.put_many(traces.quoting)
    return forgotten, _elsewhere(host, node, arguments, [traces for _, traces in traces_by_id.values()])


def _forgotten(memex: Memex, wanted: UUID, arguments: Forget, traces: Traces) -> Forgotten:
    """Forget one memory; for good after what quotes it was written without it."""
    if arguments.soft_delete:
        return memex.forget_with_merged(wanted, reason=arguments.reason)
    memex.put_many(traces.quoting)
    ids = [quote.id for quote in traces.quoting]
    return memex.forget_with_merged(wanted, soft=False, reason=arguments.reason, quoting=ids)


def _elsewhere(host: Host, node: MemoryNode, arguments: Forget, traces: Sequence[Traces]) -> dict[str, Any]:
    quoting = [quote for some in traces for quote in some.quoting]
    same = [copy for some in traces for copy in some.same]
    sessions = host.recorded(Words(node.content), erase=not arguments.soft_delete)
    recorded = {"sessions": sessions, "cure": "forget it with --permanent"} if arguments.soft_delete else {}
    report: dict[str, Any] = {
        "also_forgotten": [str(copy.id) for copy in same],
        "taken_out_of": [str(quote.id) for quote in quoting],
        "erased_in_sessions": [] if arguments.soft_delete else sessions,
        "recorded_in": recorded if sessions else {},
        "may_say_the_same": [named_view(other) for some in traces for other in some.alike],
    }
    return {name: value for name, value in report.items() if value}


def _of_summary(memex: Memex, summary: MemoryNode, arguments: Forget) -> dict[str, Any]:
    """Return the notes of a session whose summary is forgotten: they go too if wanted, or are named."""
    ids = summary.metadata.get(_NOTES)
    notes = [memex.stored(note_id) for note_id in ids] if isinstance(ids, list) else []
    live = [note.node for note in notes if note is not None and not note.deleted]
    if not live:
        return {}
    if not arguments.notes:
        return {"notes_left": [named_view(note) for note in live]}
    for note in live:
        memex.forget_with_merged(note.id, soft=arguments.soft_delete, reason=arguments.reason)
    return {"also_forgotten": [str(note.id) for note in live]}
