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
    host: Host, memex: Memex, wanted: UUID, given: Forget, source: str
) -> tuple[Forgotten, dict[str, Any]]:
    """Forget ``wanted`` of ``memex``; what else went or stays, as JSON, without what is empty.

    All of it is undone as one, but for what is deleted for good. Raises as `Memex.forget_with_twins`;
    nothing is changed then.
    """
    if not given.soft_delete:
        return _forget(host, memex, wanted, given)
    act = new_act("forget", source, host.store_name)
    with ExitStack() as acting:
        for place in _places(host, memex):
            acting.enter_context(place.acting(Act(act.run)))
        return _forget(host, memex, wanted, given)


def _places(host: Host, memex: Memex) -> list[Memex]:
    """Where the words of a memory of ``memex`` may stand, itself first."""
    places = [one for one in (memex, host.memory(), host.of_user()) if one is not None]
    return list({id(one): one for one in places}.values())


def _forget(host: Host, memex: Memex, wanted: UUID, given: Forget) -> tuple[Forgotten, dict[str, Any]]:
    stored = memex.stored(wanted)
    node = stored.node if stored is not None else None
    if node is None or node.source == CAPTURED:
        told = memex.forget_with_twins(wanted, soft=given.soft_delete, reason=given.reason)
        return told, _of_summary(memex, node, given) if node is not None else {}
    found = {id(one): (one, traces_of(one, node)) for one in _places(host, memex)}
    told = _forgotten(memex, wanted, given, found[id(memex)][1])
    for place, traces in found.values():
        for one in traces.same:
            _forgotten(place, one.id, given, traces)
        if place is not memex or given.soft_delete:
            place.put_many(traces.quoting)
    return told, _elsewhere(host, node, given, [traces for _, traces in found.values()])


def _forgotten(memex: Memex, wanted: UUID, given: Forget, traces: Traces) -> Forgotten:
    """Forget one memory; for good after what quotes it was written without it."""
    if given.soft_delete:
        return memex.forget_with_twins(wanted, reason=given.reason)
    memex.put_many(traces.quoting)
    ids = [one.id for one in traces.quoting]
    return memex.forget_with_twins(wanted, soft=False, reason=given.reason, quoting=ids)


def _elsewhere(host: Host, node: MemoryNode, given: Forget, traces: Sequence[Traces]) -> dict[str, Any]:
    quoting = [one for some in traces for one in some.quoting]
    same = [one for some in traces for one in some.same]
    sessions = host.recorded(Words(node.content), erase=not given.soft_delete)
    recorded = {"sessions": sessions, "cure": "forget it with --permanent"} if given.soft_delete else {}
    found: dict[str, Any] = {
        "also_forgotten": [str(one.id) for one in same],
        "taken_out_of": [str(one.id) for one in quoting],
        "erased_in_sessions": [] if given.soft_delete else sessions,
        "recorded_in": recorded if sessions else {},
        "may_say_the_same": [named_view(one) for some in traces for one in some.alike],
    }
    return {name: value for name, value in found.items() if value}


def _of_summary(memex: Memex, summary: MemoryNode, given: Forget) -> dict[str, Any]:
    """The notes of a session whose summary is forgotten: they go too where that is wanted, or are named."""
    ids = summary.metadata.get(_NOTES)
    notes = [memex.stored(one) for one in ids] if isinstance(ids, list) else []
    live = [one.node for one in notes if one is not None and not one.deleted]
    if not live:
        return {}
    if not given.notes:
        return {"notes_left": [named_view(one) for one in live]}
    for one in live:
        memex.forget_with_twins(one.id, soft=given.soft_delete, reason=given.reason)
    return {"also_forgotten": [str(one.id) for one in live]}
