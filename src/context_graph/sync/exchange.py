"""One store's side of an exchange: makes lines of what changed here, and merges lines of others.

Every call is a slice; the caller goes on with the next. Nothing here reads files or a network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from uuid import UUID

from context_graph.errors import InvalidInputError, InvalidParamsError
from context_graph.memory import editing
from context_graph.memory.core import Core
from context_graph.memory.memex import Memex
from context_graph.model.memory import TOLD_BY, USER_REQUESTED, plain_login
from context_graph.store.graph.tables import SyncTable
from context_graph.sync import values
from context_graph.sync.applying import apply_queued
from context_graph.sync.change import (
    KEPT,
    MEMORY,
    VERSION,
    Change,
    Register,
    decode,
    digest,
    encode,
    is_ahead,
    value_digest,
)
from context_graph.sync.notes import Place, SyncNotes
from context_graph.sync.side import CLOCK, Kept, Known, Lacking, Merged, Outgoing, Stamped, Stretch, without
from context_graph.sync.stamping import SLICE, Stamping, now_ms
from context_graph.sync.transport import PAGE_BYTES, PAGE_LINES, Head, Refusal

_USES: Final = "uses "
_MAX_GAPS: Final = 256
"""Gaps of one log that are noted."""
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Exchange:
    """The exchange of one store. Use each call within one operation of the memory's core."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._store = core.store
        self._table = SyncTable(core.store.engine)
        self.notes = SyncNotes(self._table, core.folder)
        self.stamping = Stamping(core, self.notes)

    def machine(self) -> str:
        """Return the id by which the others know this store."""
        return self.notes.machine.id

    def stamp(self, cursor: str) -> str | None:
        """As `Side.stamp`: the clock is looked at first, then what was changed, then what was used."""
        if not cursor and self.stamping.is_ahead():
            return CLOCK
        if cursor.startswith(CLOCK):
            last = self.stamping.stamp_anew(cursor.removeprefix(CLOCK))
            return "" if last is None else CLOCK + last
        if not cursor:
            return "" if self.stamping.stamp() else _USES
        after = self.stamping.stamp_uses(bytes.fromhex(cursor.removeprefix(_USES)))
        return None if after is None else _USES + after.hex()

    # Telling

    def outgoing(self, name: str, head: Head | None) -> Outgoing:
        """Return the next lines for a place whose end of our log is ``head``.

        Everything must have been stamped. `pushed` must follow once they are there.
        """
        notes = self.notes
        place = self._settled(name, head)
        page = _Lines(notes.machine.id, place.told)
        version, more = place.version, False
        for register in notes.after(place.version):
            if page.is_full:
                more = True
                break
            page.add(register, self._changes(register, *register.untold(place.version, name)))
            version = register.version
        if not page.lines:
            place.version = version
        return self._sent(name, place, page, version, more)

    def again(self, name: str, head: Head | None, lacking: Sequence[Lacking]) -> tuple[Outgoing, int]:
        """As `outgoing`, of what the place lacks whoever told it; and how many of ``lacking`` are in it."""
        notes = self.notes
        place = self._settled(name, head)
        page, count = _Lines(notes.machine.id, place.told), 0
        for kind, subject, names, users in lacking:
            if page.is_full:
                break
            register, count = notes.register(kind, subject), count + 1
            users = [machine for machine in users if machine in register.uses]
            page.add(register, self._changes(register, register.groups(names), users))
        return self._sent(name, place, page, place.version, False), count

    def _sent(self, name: str, place: Place, page: _Lines, version: int, more: bool) -> Outgoing:
        if page.lines:
            place.intent = (place.told + len(page.lines), digest(page.lines[-1]), version)
        self.notes.keep_place(name, place)
        self.notes.commit()
        return Outgoing(self.notes.machine.id, page.lines, more, page.unfit)

    def pushed(self, name: str) -> None:
        """Note that the lines which `outgoing` gave are there."""
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
        notes.keep_place(name, Place(machine, *there, version=notes.machine.version, read=read))
        self.notes.commit()

    def _settled(self, name: str, head: Head | None) -> Place:
        """Return what that place has of us. If it is not what we have written, this store takes a new id."""
        place = self.notes.place(name)
        there = (0, "") if head is None else tuple(head)
        if place.intent is not None and there == place.intent[:2]:
            place.told, place.digest, place.version = place.intent
        place.intent = None
        if there != (place.told, place.digest):
            self.notes.take_new_id()
            return self.notes.place(name)
        return place

    def _changes(
        self, register: Register, groups: Mapping[tuple[int, str], list[str]], users: Sequence[str]
    ) -> Iterable[tuple[Any, ...]]:
        """Yield (clock, by, kind, subject, fields, uses) for each of these stamps."""
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
        """Return the values of its fields as they are here; None for what must not leave."""
        known: dict[str, Any] = {}
        if register.removed:
            return register.values
        if register.kind == MEMORY:
            stored = self._store.read(UUID(register.subject).bytes)
            if stored is not None:
                if values.is_private(stored.node):
                    return None
                known = values.node_values(stored.node, self._core.redactor)
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

    def merge(self, name: str, part: Stretch) -> Merged:
        """Take lines of another machine's log; what is not taken is told and passed over."""
        notes, now, machine = self.notes, now_ms(), part.machine
        place = notes.place(name)
        before = place.read.get(machine, 0)
        after = before if part.after is None else part.after
        read, new, refused = after, 0, list[Refusal]()
        waits = False
        for line in part.lines:
            try:
                change = decode(line)
                if change.machine != machine:
                    raise InvalidInputError("a change of another machine's log")
                if change.seq <= read:
                    continue
                if is_ahead(change.clock, now):
                    waits = True
                    break
                read = change.seq
                values.check(change)
            except (InvalidInputError, InvalidParamsError) as error:
                refused.append(Refusal(f"{part.author or machine} after line {read}", str(error)))
                continue
            notes.machine.clock = max(notes.machine.clock, change.clock)
            register = notes.register(change.kind, change.subject)
            if register.take(change, notes.origin(name)):
                new += 1
                _sign(register, change, part.author)
                notes.keep(register)
                notes.queue(register)
        read = read if waits else max(read, part.upto)
        gaps = without(place.gaps.pop(machine, []), after, read)
        if gaps := sorted([*gaps, *((a, min(b, read)) for a, b in part.missing if a <= read)])[:_MAX_GAPS]:
            place.gaps[machine] = gaps
        if read >= before:
            place.read[machine], place.marks[machine] = read, "" if waits else part.mark
        notes.keep_place(name, place)
        notes.commit()
        return Merged(new, read, refused, waits, self.apply())

    def apply(self) -> bool:
        """Write some of what was taken and can be written; whether there is more."""
        return apply_queued(self._core, self.notes)

    def known(self, name: str) -> Known:
        """Return what was read at that place, and what has to be seen to there."""
        place = self.notes.place(name)
        changed = list(islice(self.notes.removed_after(place.purged), SLICE))
        return Known(
            *(place.read, place.marks, {machine: [*gaps] for machine, gaps in place.gaps.items()}),
            *(place.wanted, place.former, self.notes.machine.earlier),
            [subject for _, subject in changed if subject],
            place.purged,
            changed[-1][0] if changed else place.purged,
            len(changed) == SLICE,
        )

    def keep(self, name: str, kept: Kept) -> None:
        """Note what was seen to."""
        place = self.notes.place(name)
        if kept.read is not None:
            place.read, place.marks = dict(kept.read), dict(kept.marks)
            place.gaps = {machine: gaps for machine, gaps in place.gaps.items() if machine in kept.read}
        if kept.wanted is not None:
            place.wanted = kept.wanted
        if kept.purged is not None:
            place.purged = kept.purged
        place.former = [subject for subject in place.former if subject not in kept.withdrawn]
        self.notes.keep_place(name, place)
        self.notes.commit()

    def stamps(self, after_name: str) -> tuple[list[Stamped], str | None]:
        """Return what is known of SLICE memories and links, and where to go on, None at the end."""
        page = list(islice(self.notes.registers_after(after_name), SLICE))
        rows = list[Stamped]()
        for _, register in page:
            groups = [(clock, by, names) for (clock, by), names in register.groups(register.stamps).items()]
            uses = {user: times for user, (times, _) in register.uses.items()}
            rows.append((register.kind, register.subject, groups, uses))
        return rows, page[-1][0] if len(page) == SLICE else None

    # Leaving

    def forget_told(self, name: str) -> int:
        """Delete SLICE memories that were heard at a place, here alone; how many, 0 when none is left.

        What is known of them goes first: a deletion of what nobody knows is told to nobody.
        """
        place = self.notes.place(name)
        place.read.clear()  # who joins again hears them again
        place.marks.clear()
        place.gaps.clear()
        place.wanted = None
        self.notes.keep_place(name, place)
        heard = list(
            islice((register for register in self.notes.registers() if _heard_at(register, name)), SLICE)
        )
        ids = [UUID(register.subject) for register in heard]
        for register, node_id in zip(heard, ids, strict=True):
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
        """Return what all machines agree on once they have heard of each other, by subject."""
        states = []
        for register in self.notes.registers():
            known = self._values(register)
            if known is not None:
                states.append(register.agreed(known))
        return sorted(states, key=lambda state: (state["kind"], state["subject"]))


def _heard_at(register: Register, place: str) -> bool:
    origin = register.origins.get("content")
    return register.kind == MEMORY and origin is not None and origin.source == place


def _sign(register: Register, change: Change, author: str) -> None:
    """Note who told a memory's text, if ``change`` did."""
    stamp = register.stamps.get("content")
    if "content" in change.fields and stamp is not None and stamp[:2] == (change.clock, change.by):
        plain = plain_login(author)
        register.values[TOLD_BY] = {"machine": change.by, **({"author": plain} if plain else {})}


class _Lines:
    """Lines of one log, as many as make a page."""

    def __init__(self, machine: str, count: int) -> None:
        self._machine, self._told = machine, count
        self.lines: list[bytes] = []
        self.unfit: list[Refusal] = []
        self._size = 0

    @property
    def is_full(self) -> bool:
        return self._size >= PAGE_BYTES or len(self.lines) >= PAGE_LINES

    def add(self, register: Register, changes: Iterable[tuple[Any, ...]]) -> None:
        """Add a line of each; what is too long to be told is listed."""
        for change in changes:
            try:
                line = encode(Change(VERSION, self._machine, self._told + len(self.lines) + 1, *change))
            except InvalidInputError as error:
                self.unfit.append(Refusal(f"{register.kind} {register.subject}", str(error)))
                continue
            self.lines.append(line)
            self._size += len(line)


def _slice(
    act: Callable[Concatenate[Exchange, _P], _T], *, writes: bool = True
) -> Callable[Concatenate[OpenStore, _P], _T]:
    """Return ``act`` as a method of a store that is open, within one operation of its memory."""

    @wraps(act)
    def call(side: OpenStore, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with side.core.operation("sync", writes=writes) as core:
            return act(Exchange(core), *args, **kwargs)

    return call


class OpenStore:
    """The side of a store that is open in this process."""

    def __init__(self, memex: Memex) -> None:
        self.core = memex.core

    machine = _slice(Exchange.machine)
    stamp = _slice(Exchange.stamp)
    stamps = _slice(Exchange.stamps, writes=False)
    outgoing = _slice(Exchange.outgoing)
    again = _slice(Exchange.again)
    pushed = _slice(Exchange.pushed)
    speak_as = _slice(Exchange.speak_as)
    known = _slice(Exchange.known, writes=False)
    keep = _slice(Exchange.keep)
    merge = _slice(Exchange.merge)
    apply = _slice(Exchange.apply)
    forget_told = _slice(Exchange.forget_told)
