"""Stamps what was changed in a store since its last exchange, from the store's own log of changes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from context_graph.memory.core import Core
from context_graph.store.graph.node_records import StoredNode
from context_graph.store.graph.records import Op
from context_graph.sync import values
from context_graph.sync.applying import apply_queued
from context_graph.sync.change import (
    GONE,
    LINK,
    MEMORY,
    REMOVED,
    TOMBSTONE,
    Register,
    Stamp,
    after,
    is_ahead,
    latest,
    packed,
    value_digest,
)
from context_graph.sync.notes import SyncNotes

SLICE: Final = 256
"""Commits, uses or registers that one call looks at."""
_MAX_FORMER: Final = 8
_PURGED: Final = "its retention ended"


def now_ms() -> int:
    """Unix milliseconds by this machine's clock."""
    return time.time_ns() // 1_000_000


class Stamping:
    """The stamps of one store's own changes. Use each call within one operation of the memory's core."""

    def __init__(self, core: Core, notes: SyncNotes) -> None:
        self._core, self._store, self.notes = core, core.store, notes

    def is_ahead(self) -> bool:
        """Return whether what is noted is later than the clock says: it, or an earlier one, was wrong."""
        return is_ahead(self.notes.machine.clock, now_ms())

    def stamp_anew(self, after_name: str) -> str | None:
        """Stamp anew, with now, what is later than now in SLICE registers; where to go on, None at the end.

        It is told under a new id. Whatever the clock was, values stay; of others' stamps the right ones come
        back as their logs are read once more.
        """
        notes, now = self.notes, now_ms()
        if not after_name:
            former = notes.machine.id
            notes.take_new_id()
            for name in notes.places():
                place = notes.place(name)
                place.former = [*place.former, former][-_MAX_FORMER:]
                place.read.clear()
                place.marks.clear()
                notes.keep_place(name, place)
        rows = list(islice(notes.registers_after(after_name), SLICE))
        for _, register in rows:
            names = register.ahead(latest(now))
            origin = notes.origin() if names else None
            for name in names:
                assert origin is not None
                register.stamps[name] = Stamp(packed(now), notes.machine.id, register.stamps[name].digest)
                register.origins[name], register.version = origin, origin.version
            if names:
                notes.keep(register)
        is_done = len(rows) < SLICE
        if is_done:
            notes.machine.clock = packed(now)
        notes.commit()
        return None if is_done else rows[-1][0]

    def stamp(self) -> bool:
        """Stamp what was changed here since the last time; whether there is more to look at."""
        if apply_queued(self._core, self.notes):
            return True
        ops = dict[bytes, list[tuple[int, int]]]()
        changes = list(islice(self._store.changes_after(self.notes.machine.seq), SLICE))
        for change in changes:
            ops.setdefault(change.subject, []).append((change.op, change.at_ms))
        if self._is_any_awaited(ops):
            return True
        for subject, done in ops.items():
            self._stamp_one(subject, done)
        if changes:
            self.notes.machine.seq = changes[-1].seq
        self.notes.commit()
        return len(changes) == SLICE

    def _is_any_awaited(self, ids: Iterable[bytes]) -> bool:
        """Note which of these memories, imported perhaps, something waits for: what others told is written
        before what was done here is stamped."""
        names = [(node_id, str(UUID(bytes=node_id))) for node_id in ids if len(node_id) == 16]
        come = [name for node_id, name in names if self.notes.is_awaited(name) and self._store.read(node_id)]
        for name in come:
            self.notes.come(name)
        if come:
            self.notes.commit()
        return bool(come)

    def stamp_uses(self, after_id: bytes = b"") -> bytes | None:
        """Stamp this machine's own uses of SLICE memories; the id to go on after, None at the end."""
        last, count = after_id, 0
        me = self.notes.machine.id
        for node_id, access in self.notes.table.accesses(after_id, SLICE):
            last, count = node_id, count + 1
            register = self.notes.register(MEMORY, str(UUID(bytes=node_id)))
            if not register.stamps or register.removed:
                continue
            others = sum(times for machine, (times, _) in register.uses.items() if machine != me)
            own = access.times - others
            if own > register.uses.get(me, (0, 0))[0] and register.used(
                me, (own, access.last_ms), self.notes.origin()
            ):
                self.notes.keep(register)
        self.notes.commit()
        return last if count == SLICE else None

    def _stamp_one(self, subject: bytes, done: Sequence[tuple[int, int]]) -> None:
        ops, at_ms = {op for op, _ in done}, done[-1][1]
        if ops & {Op.LINK, Op.UNLINK, Op.RELINK}:
            self._stamp_link(subject, at_ms)
        elif Op.RUN not in ops and len(subject) == 16:
            self._stamp_memory(subject, ops, at_ms)

    def _stamp_memory(self, node_id: bytes, ops: set[int], at_ms: int) -> None:
        stored = self._store.read(node_id)
        register = self.notes.register(MEMORY, str(UUID(bytes=node_id)))
        if stored is None:
            self._stamp_gone(register, node_id, ops, at_ms)
        elif not values.is_private(stored.node):
            fields = values.node_values(stored.node, self._core.redactor)
            fields[TOMBSTONE] = self._stone(stored)
            back = register.buried and fields[TOMBSTONE] is None
            self._set(register, fields, at_ms, anew=back)

    def _stone(self, stored: StoredNode) -> dict[str, Any] | None:
        if not stored.deleted:
            return None
        stone = self._store.tombstone(stored.node.id.bytes)
        return None if stone is None else values.stone_value(stone, self._core.redactor)

    def _stamp_gone(self, register: Register, node_id: bytes, ops: set[int], at_ms: int) -> None:
        stone = self._store.tombstone(node_id)
        if register.removed or not register.stamps:
            return
        if stone is not None and not stone.soft:
            self._set(register, {REMOVED: True}, at_ms)
        elif register.buried or Op.FORGET in ops:  # its retention ended here; nobody else needs to know
            if not register.buried:
                self._set(register, {TOMBSTONE: {"at_ms": at_ms, "reason": _PURGED}}, at_ms)
        else:
            self._set(register, {REMOVED: True}, at_ms)

    def _stamp_link(self, edge_id: bytes, at_ms: int) -> None:
        name, edge = str(UUID(bytes=edge_id)), self._store.edges.get(edge_id)
        if edge is None:
            self.notes.come(name)
            register = self.notes.link_of(name)
            if register is not None and register.stamps.get("id", ("", "", ""))[2] == value_digest(name):
                self._set(register, {GONE: True}, at_ms)
            return
        ends = [self._store.read(node_id.bytes) for node_id in (edge.source_id, edge.target_id)]
        if any(end is None or values.is_private(end.node) for end in ends):
            return
        subject = values.link_subject(edge.source_id, edge.target_id, edge.relationship_type)
        register = self.notes.register(LINK, subject)
        fields = values.edge_values(edge, self._core.redactor)
        self._set(register, fields, at_ms, anew=register.buried)
        self.notes.keep_link(name, register)

    def _set(self, register: Register, fields: dict[str, Any], at_ms: int, *, anew: bool = False) -> None:
        """Stamp the fields whose values are not those that are known; all of them if ``anew``."""
        machine = self.notes.machine
        at_ms = min(at_ms, now_ms())  # a clock that was ahead may be right again
        differing = {
            name: value
            for name, value in fields.items()
            if anew
            or (
                value_digest(value) != register.stamps[name].digest
                if name in register.stamps
                else value is not None or name != TOMBSTONE
            )
        }
        if not differing:
            return
        # What is set here was set after what it replaces, also where a clock that went back has stamped anew.
        replaced = [register.stamps[name].clock for name in differing if name in register.stamps]
        machine.clock = after(max([machine.clock, *replaced]), at_ms)
        origin = self.notes.origin()
        for name, value in differing.items():
            register.set(name, Stamp(machine.clock, machine.id, value_digest(value)), value, origin)
        register.forget_values()
        self.notes.keep(register)
