"""Keeps beside a store what it knows of other machines: its own id, registers, and what each place was told.

All of it are notes (`store/graph/tables.py`): ``machine``; ``m:`` and ``l:`` registers of memories and
links; ``e:`` the link that an edge's id was; ``v:`` the register of each version; ``q:`` registers with
values that are to be written; ``w:`` those that wait for a memory, by its id; ``c:`` memories that have come
since and that something waited for; ``p:`` places.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from context_graph.store.graph.tables import SyncTable
from context_graph.sync.change import MEMORY, Origin, Register, digest
from context_graph.system.processes import machine_id

_MACHINE: Final = "machine"
_MAX_EARLIER: Final = 32


class Machine(msgspec.Struct):
    """This store as the others know it."""

    id: str
    lies_at: str
    """A digest of where the store is; another one means that it was copied or restored."""
    clock: int = 0
    """The last clock value that was given or seen."""
    seq: int = 0
    """The commit up to which the store's own changes have been stamped."""
    version: int = 0
    """The last version of any register."""
    earlier: list[str] = []
    """Its ids before, the last _MAX_EARLIER."""


class Place(msgspec.Struct):
    """What was told and read at one place."""

    machine: str
    """The id under which it was told."""
    told: int = 0
    """Number of the last line there."""
    digest: str = ""
    """Of that line."""
    version: int = 0
    """Registers up to this version have been told."""
    intent: tuple[int, str, int] | None = None
    """Number, digest and version after the push that is on its way."""
    read: dict[str, int] = {}
    """Machine -> number of the last line of its log that was read."""
    marks: dict[str, str] = {}
    """Machine -> by what the place tells that line from another of that number."""
    gaps: dict[str, list[tuple[int, int]]] = {}
    """Machine -> first and last number of lines that were not there; what follows was read."""
    wanted: str | None = None
    """What the place said last of what others look for (`Transport.wanted`)."""
    purged: int = 0
    """Up to this version, what was deleted for good is in no line that this machine wrote there."""
    former: list[str] = []
    """Ids under which this machine told with a clock that was wrong: their logs are to be withdrawn."""


def register_name(kind: str, subject: str) -> str:
    """Of the note of a memory's or link's register."""
    return f"m:{subject}" if kind == MEMORY else f"l:{digest(subject.encode())}"


class SyncNotes:
    """The notes of one store. What changes is written by `commit`, in one batch; not thread-safe."""

    def __init__(self, table: SyncTable, folder: Path) -> None:
        self.table = table
        self._batch = table.batch()
        self._changed: dict[str, Register] = {}
        note, lies_at = table.get(_MACHINE), _lies_at(folder)
        if note is None:
            self.machine = Machine(secrets.token_hex(16), lies_at)
        else:
            self.machine = msgspec.convert(note, Machine)
        if self.machine.lies_at != lies_at:
            self.machine.lies_at = lies_at
            self.take_new_id()

    def take_new_id(self) -> None:
        """Be another machine from now on: every place is told all once more."""
        self.machine.earlier = [*self.machine.earlier, self.machine.id][-_MAX_EARLIER:]
        self.machine.id = secrets.token_hex(16)

    def place(self, name: str) -> Place:
        """Return what is known of that place. One that was told under another id has been told nothing."""
        note = self.table.get(f"p:{name}")
        if note is None:
            return Place(self.machine.id)
        place = msgspec.convert(note, Place)
        if place.machine == self.machine.id:
            return place
        return msgspec.structs.replace(
            place, machine=self.machine.id, told=0, digest="", version=0, intent=None, purged=0
        )

    def places(self) -> list[str]:
        """Their names."""
        return [name.removeprefix("p:") for name, _ in self.table.scan("p:")]

    def keep_place(self, name: str, place: Place) -> None:
        """Note a place with the next commit."""
        self.table.put(self._batch, f"p:{name}", msgspec.to_builtins(place))

    def origin(self, source: str = "") -> Origin:
        """For what one change of a register sets."""
        self.machine.version += 1
        return Origin(self.machine.version, source)

    def register(self, kind: str, subject: str) -> Register:
        """Return what is known of a memory or link; empty if nothing is."""
        return self.named(register_name(kind, subject)) or Register(kind, subject)

    def named(self, name: str) -> Register | None:
        """Return the register of that note."""
        if name in self._changed:
            return self._changed[name]
        note = self.table.get(name)
        if note is None:
            return None
        return Register.of(note)

    def keep(self, register: Register) -> None:
        """Note a register with the next commit."""
        self._changed[register_name(register.kind, register.subject)] = register

    def drop(self, register: Register) -> None:
        """Forget with the next commit that it was ever told or heard."""
        name = register_name(register.kind, register.subject)
        self._changed.pop(name, None)
        for key in (name, _version(register.was), f"q:{name}"):
            self.table.remove(self._batch, key)

    def queue(self, register: Register) -> None:
        """Note that it has values that no record has yet."""
        self.table.put(self._batch, "q:" + register_name(register.kind, register.subject), {})

    def unqueue(self, register: Register, awaited: str = "") -> None:
        """Note that it was tried; what can't be written yet is once ``awaited`` has `come`, a memory's id."""
        name = register_name(register.kind, register.subject)
        self.table.remove(self._batch, f"q:{name}")
        if awaited:
            self.table.put(self._batch, f"w:{awaited}/{name}", {})

    def queued(self, kind: str, limit: int) -> list[Register]:
        """Return at most so many registers that are to be written, as of the last commit."""
        some = []
        for name, _ in [*self.table.scan("q:m:" if kind == MEMORY else "q:l:", limit=limit)]:
            register = self.named(name.removeprefix("q:"))
            if register is None:
                self.table.remove(self._batch, name)
            else:
                some.append(register)
        return some

    def is_awaited(self, node_id: str) -> bool:
        """Return whether anything waits for that memory."""
        return next(self.table.scan(f"w:{node_id}/", limit=1), None) is not None

    def come(self, node_id: str) -> None:
        """Note that a memory has come, if anything waits for it."""
        if self.is_awaited(node_id):
            self.table.put(self._batch, f"c:{node_id}", {})

    def queue_awaited(self, limit: int) -> None:
        """Queue at most so many registers whose memories have come, as of the last commit, and commit."""
        markers = [name for name, _ in self.table.scan("c:", limit=limit)]
        for marker in markers:
            some = [name for name, _ in self.table.scan(f"w:{marker.removeprefix('c:')}/", limit=limit)]
            for name in some:
                register = self.named(name.split("/", 1)[1])
                if register is not None and register.is_unwritten:
                    self.queue(register)
                self.table.remove(self._batch, name)
            if len(some) == limit:
                break
            self.table.remove(self._batch, marker)
            limit -= len(some)
        if markers:
            self.commit()

    def has_queued(self) -> bool:
        """Return whether anything can be written, as of the last commit."""
        return any(next(self.table.scan(prefix, limit=1), None) for prefix in ("q:", "c:"))

    def link_of(self, edge_id: str) -> Register | None:
        """Return the link that was told of an edge."""
        note = self.table.get(f"e:{edge_id}")
        return None if note is None else self.named(note["l"])

    def keep_link(self, edge_id: str, register: Register) -> None:
        """Remember which link an edge is: when it is gone, its ends are too."""
        self.table.put(self._batch, f"e:{edge_id}", {"l": register_name(register.kind, register.subject)})

    def after(self, version: int) -> Iterator[Register]:
        """Registers that changed after that version, in their order, as of the last commit.

        Builds before this one left a register's former versions there: they are passed over, or who goes on
        after such a one would leave out what lies between.
        """
        for name, note in self.table.scan("v:", _version(version)):
            register = self.named(note["r"])
            if register is not None and _version(register.version) == name:
                yield register

    def removed_after(self, version: int) -> Iterator[tuple[int, str]]:
        """(version, subject) of what changed after that version, "" for what was not deleted for good.

        Reads no register: each exchange looks at all that is new.
        """
        for name, note in self.table.scan("v:", _version(version)):
            yield int(name.removeprefix("v:"), 16), note["r"].removeprefix("m:") if note.get("x") else ""

    def registers(self) -> Iterator[Register]:
        """Return all of them."""
        return (register for _, register in self.registers_after(""))

    def registers_after(self, name: str) -> Iterator[tuple[str, Register]]:
        """Yield (name, register) from after that note's name on, those of links first."""
        for prefix in ("l:", "m:"):
            if name < prefix or name.startswith(prefix):
                for each, note in self.table.scan(prefix, name if name.startswith(prefix) else ""):
                    yield each, Register.of(note)

    def commit(self) -> None:
        """Write all that changed. Raises StoreError: then nothing of it is written."""
        for name, register in self._changed.items():
            self.table.put(self._batch, name, register.note())
            if register.was != register.version:
                if register.was:
                    self.table.remove(self._batch, _version(register.was))
                self.table.put(self._batch, _version(register.version), {"r": name, "x": register.removed})
        self.table.put(self._batch, _MACHINE, msgspec.to_builtins(self.machine))
        self.table.commit(self._batch)
        self._batch = self.table.batch()
        for register in self._changed.values():
            register.was = register.version
        self._changed.clear()


def _version(number: int) -> str:
    return f"v:{number:016x}"


def _lies_at(folder: Path) -> str:
    """Changes when the folder is copied, moved or restored, here or on another machine."""
    status = folder.stat()
    return digest(f"{machine_id()}\n{status.st_ino}\n{folder.resolve()}".encode())
