"""One store's side of an exchange: stamps what changed here, makes lines of it, and merges lines of others.

Every call is a slice; the caller goes on with the next. Nothing here reads files or a network.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from context_graph.errors import InvalidInputError
from context_graph.memory import editing
from context_graph.memory.core import Core
from context_graph.memory.memex import Memex
from context_graph.model.memory import TOLD_BY, USER_REQUESTED, plain_login
from context_graph.store.graph.node_records import StoredNode
from context_graph.store.graph.records import Op
from context_graph.store.graph.sync_table import SyncTable
from context_graph.sync import values
from context_graph.sync.applying import apply_waiting
from context_graph.sync.change import LINK, MEMORY, VERSION, Change, decode, digest, encode
from context_graph.sync.clock import after, is_ahead
from context_graph.sync.notes import Place, SyncNotes
from context_graph.sync.register import GONE, KEPT, REMOVED, TOMBSTONE, Register, Stamp, value_digest
from context_graph.sync.run import Merged, Outgoing
from context_graph.sync.transport import PAGE_BYTES, PAGE_LINES, Head, Refusal

SLICE: Final = 256
"""Commits, uses or registers that one call looks at."""
_USES: Final = "uses "
_PURGED: Final = "its retention ended"


class Exchange:
    """The exchange of one store. Use each call within one operation of the memory's core."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._store = core.store
        self._table = SyncTable(core.store.engine)
        self.notes = SyncNotes(self._table, core.folder)

    # Own changes

    def stamp(self) -> bool:
        """Stamp what was changed here since the last time; whether there is more to look at."""
        apply_waiting(self._core, self.notes)
        machine, ops = self.notes.machine, dict[bytes, list[tuple[int, int]]]()
        count = 0
        for change in self._store.changes_after(machine.seq):
            machine.seq, count = change.seq, count + 1
            ops.setdefault(change.subject, []).append((change.op, change.at_ms))
            if count == SLICE:
                break
        for subject, done in ops.items():
            self._stamp_one(subject, done)
        self.notes.commit()
        return count == SLICE

    def stamp_uses(self, after_id: bytes = b"") -> bytes | None:
        """Stamp this machine's own uses of SLICE memories; the id to go on after, None at the end."""
        last, count = after_id, 0
        me = self.notes.machine.id
        for node_id, access in self._table.accesses(after_id, SLICE):
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
        found = self._store.read(node_id)
        register = self.notes.register(MEMORY, str(UUID(bytes=node_id)))
        if found is None:
            self._stamp_gone(register, node_id, ops, at_ms)
        elif not values.is_private(found.node):
            told = values.node_values(found.node, self._core.redactor)
            told[TOMBSTONE] = self._stone(found)
            back = register.buried and told[TOMBSTONE] is None
            self._set(register, told, at_ms, anew=back)

    def _stone(self, found: StoredNode) -> dict[str, Any] | None:
        if not found.deleted:
            return None
        stone = self._store.tombstone(found.node.id.bytes)
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
            register = self.notes.link_of(name)
            if register is not None and register.stamps.get("id", ("", "", ""))[2] == value_digest(name):
                self._set(register, {GONE: True}, at_ms)
            return
        ends = [self._store.read(one.bytes) for one in (edge.source_id, edge.target_id)]
        if any(one is None or values.is_private(one.node) for one in ends):
            return
        subject = values.link_subject(edge.source_id, edge.target_id, edge.relationship_type)
        register = self.notes.register(LINK, subject)
        told = values.edge_values(edge, self._core.redactor)
        self._set(register, told, at_ms, anew=register.buried)
        self.notes.keep_link(name, register)

    def _set(self, register: Register, told: dict[str, Any], at_ms: int, *, anew: bool = False) -> None:
        """Stamp the fields whose values are not those that are known; all of them if ``anew``."""
        machine = self.notes.machine
        differing = {
            name: value
            for name, value in told.items()
            if anew
            or (
                value_digest(value) != register.stamps[name].digest
                if name in register.stamps
                else value is not None or name != TOMBSTONE
            )
        }
        if not differing:
            return
        machine.clock = after(machine.clock, at_ms)
        origin = self.notes.origin()
        for name, value in differing.items():
            register.set(name, Stamp(machine.clock, machine.id, value_digest(value)), value, origin)
        register.forget_values()
        self.notes.keep(register)

    # Telling

    def outgoing(self, name: str, head: Head | None) -> Outgoing:
        """The next lines for a place whose end of our log is ``head``.

        Everything must have been stamped. `pushed` must follow once they are there.
        """
        notes = self.notes
        place = self._settled(name, head)
        lines: list[bytes] = []
        unfit: list[Refusal] = []
        size, version, more = 0, place.version, False
        for register in notes.after(place.version):
            if size >= PAGE_BYTES or len(lines) >= PAGE_LINES:
                more = True
                break
            for change in self._changes(register, place.version, name):
                try:
                    line = encode(Change(VERSION, notes.machine.id, place.told + len(lines) + 1, *change))
                except InvalidInputError as error:
                    unfit.append(Refusal(f"{register.kind} {register.subject}", str(error)))
                    continue
                lines.append(line)
                size += len(line)
            version = register.version
        if lines:
            place.intent = (place.told + len(lines), digest(lines[-1]), version)
        else:
            place.version = version
        notes.keep_place(name, place)
        notes.commit()
        return Outgoing(notes.machine.id, lines, more, unfit)

    def pushed(self, name: str) -> None:
        """The lines that `outgoing` gave are there."""
        place = self.notes.place(name)
        if place.intent is not None:
            place.told, place.digest, place.version = place.intent
            place.intent = None
            self.notes.keep_place(name, place)
            self.notes.commit()

    def speak_as(self, machine: str, name: str, head: Head | None) -> None:
        """Go on with a log that ends at ``head`` there; all that is in the store so far counts as told."""
        notes, there = self.notes, head or Head(0, "")
        read = notes.place(name).read
        notes.machine.id, notes.machine.seq = machine, self._store.counters.seq
        notes.keep_place(name, Place(machine, *there, notes.machine.version, read=read))
        self.notes.commit()

    def _settled(self, name: str, head: Head | None) -> Place:
        """What that place has of us. If it is not what we have written, this store takes a new id."""
        place = self.notes.place(name)
        there = (0, "") if head is None else tuple(head)
        if place.intent is not None and there == place.intent[:2]:
            place.told, place.digest, place.version = place.intent
        place.intent = None
        if there != (place.told, place.digest):
            self.notes.take_new_id()
            return self.notes.place(name)
        return place

    def _changes(self, register: Register, version: int, place: str) -> Iterable[tuple[Any, ...]]:
        """(clock, by, kind, subject, fields, uses) for each stamp that ``place`` was not told."""
        groups, users = register.untold(version, place)
        known = self._values(register)
        if known is None:
            return
        uses = {machine: register.uses[machine] for machine in users}
        for (clock, by), names in groups.items():
            fields = {name: known[name] for name in sorted(names) if name in known}
            if fields:
                yield clock, by, register.kind, register.subject, fields, uses
                uses = {}
        if uses and register.stamps:
            clock, by = max(stamp[:2] for stamp in register.stamps.values())
            yield clock, by, register.kind, register.subject, {}, uses

    def _values(self, register: Register) -> dict[str, Any] | None:
        """The values of its fields as they are here; None for what must not leave."""
        known: dict[str, Any] = {}
        if register.removed:
            return register.values
        if register.kind == MEMORY:
            found = self._store.read(UUID(register.subject).bytes)
            if found is not None:
                if values.is_private(found.node):
                    return None
                known = values.node_values(found.node, self._core.redactor)
        else:
            source, target, relationship = values.ends_of(register.subject)
            edge = self._store.edges.find(source.bytes, target.bytes, relationship)
            if edge is not None:
                known = values.edge_values(edge, self._core.redactor)
        return {
            name: value
            for name, value in {**known, **register.values}.items()
            if name in register.stamps
            and (name in KEPT or register.stamps[name].digest == value_digest(value))
        }

    # Hearing

    def merge(self, name: str, machine: str, lines: Sequence[bytes], upto: int, author: str = "") -> Merged:
        """Take a page of another machine's log; what is not taken is told and passed over.

        Args:
            author: Whose log it is, if the place vouches for that.
        """
        notes, now_ms = self.notes, time.time_ns() // 1_000_000
        place = notes.place(name)
        read, new, refused = place.read.get(machine, 0), 0, list[Refusal]()
        waits = False
        for line in lines:
            try:
                change = decode(line)
                if change.machine != machine:
                    raise InvalidInputError("a change of another machine's log")
                if change.seq <= read:
                    continue
                if is_ahead(change.clock, now_ms):
                    waits = True
                    break
                read = change.seq
                values.check(change)
            except InvalidInputError as error:
                refused.append(Refusal(f"after line {read}", str(error)))
                continue
            notes.machine.clock = max(notes.machine.clock, change.clock)
            register = notes.register(change.kind, change.subject)
            if register.take(change, notes.origin(name)):
                new += 1
                _sign(register, change, author)
                notes.keep(register)
                notes.wait(register)
        place.read[machine] = read if waits else max(read, upto)
        notes.keep_place(name, place)
        notes.commit()
        apply_waiting(self._core, notes)
        return Merged(new, place.read[machine], refused, waits)

    # Leaving

    def forget_told(self, name: str) -> int:
        """Delete SLICE memories that were heard at a place, here alone; how many, 0 when none is left.

        What is known of them goes first: a deletion of what nobody knows is told to nobody.
        """
        place = self.notes.place(name)
        place.read.clear()  # who joins again hears them again
        self.notes.keep_place(name, place)
        found = list(islice((one for one in self.notes.registers() if _heard_at(one, name)), SLICE))
        ids = [UUID(one.subject) for one in found]
        for register, node_id in zip(found, ids, strict=True):
            self.notes.drop(register)
            for edge in self._store.edges.of(node_id.bytes):
                link = self.notes.link_of(str(edge.id))
                if link is not None:
                    self.notes.drop(link)
        self.notes.commit()
        for node_id in ids:
            if self._store.read(node_id.bytes) is not None:
                editing.forget(self._core, node_id, soft=False, reason=USER_REQUESTED)
        return len(ids)

    # Looking

    def state(self) -> list[dict[str, Any]]:
        """What all machines agree on once they have heard of each other, by subject."""
        found = []
        for register in self.notes.registers():
            known = self._values(register)
            if known is not None:
                found.append(register.agreed(known))
        return sorted(found, key=lambda one: (one["kind"], one["subject"]))


def _heard_at(register: Register, place: str) -> bool:
    origin = register.origins.get("content")
    return register.kind == MEMORY and origin is not None and origin.source == place


def _sign(register: Register, change: Change, author: str) -> None:
    """Note who told a memory's text, if ``change`` did."""
    stamp = register.stamps.get("content")
    if "content" in change.fields and stamp is not None and stamp[:2] == (change.clock, change.by):
        plain = plain_login(author)
        register.values[TOLD_BY] = {"machine": change.by, **({"author": plain} if plain else {})}


class OpenStore:
    """The side of a store that is open in this process."""

    def __init__(self, memex: Memex) -> None:
        self._core = memex.core

    def stamp(self, cursor: str) -> str | None:
        with self._core.operation("sync", writes=True) as core:
            work = Exchange(core)
            if not cursor:
                return "" if work.stamp() else _USES
            after = work.stamp_uses(bytes.fromhex(cursor.removeprefix(_USES)))
            return None if after is None else _USES + after.hex()

    def machine(self) -> str:
        with self._core.operation("sync", writes=True) as core:
            return Exchange(core).notes.machine.id

    def outgoing(self, place: str, head: Head | None) -> Outgoing:
        with self._core.operation("sync", writes=True) as core:
            return Exchange(core).outgoing(place, head)

    def pushed(self, place: str) -> None:
        with self._core.operation("sync", writes=True) as core:
            Exchange(core).pushed(place)

    def speak_as(self, machine: str, place: str, head: Head | None) -> None:
        """As `Exchange.speak_as`."""
        with self._core.operation("sync", writes=True) as core:
            Exchange(core).speak_as(machine, place, head)

    def read(self, place: str) -> dict[str, int]:
        with self._core.operation("sync") as core:
            return dict(Exchange(core).notes.place(place).read)

    def merge(self, place: str, machine: str, lines: Sequence[bytes], upto: int, author: str = "") -> Merged:
        with self._core.operation("sync", writes=True) as core:
            return Exchange(core).merge(place, machine, lines, upto, author)

    def forget_told(self, place: str) -> int:
        """As `Exchange.forget_told`."""
        with self._core.operation("sync", writes=True) as core:
            return Exchange(core).forget_told(place)
