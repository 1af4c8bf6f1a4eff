"""A plan worked out to the byte: what a commit has to write, made beside the store, read in its process."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from context_graph.dream.plan import Plan
from context_graph.store.collector import collected_later
from context_graph.store.edits import Group, Write

__all__ = ["KINDS", "Prepared", "reduced"]

KINDS: Final = {"merge": "merges", "prune": "prunes", "link": "links", "reweight": "reweights"}
"""Kind of an item -> the plan's field that holds those."""
_HEAD: Final = struct.Struct("<4sI")
_MAGIC: Final = b"CGP\x01"


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """What one run is to change in the store it was made from."""

    uid: bytes
    """Whose (GraphStore.uid)."""
    plan: Plan
    """What of the plan can be done; a dry run tells this."""
    groups: Sequence[Group]
    records: Sequence[Write] = ()
    """Facts about the store that are written with it."""

    @property
    def memories_after(self) -> int:
        """Live memories there will be, if no other change comes in between."""
        return self.plan.memories - sum(len(one.losers) for one in self.plan.merges) - len(self.plan.prunes)

    def to_bytes(self) -> bytes:
        """For `from_bytes`; some 3 KB for each merge."""
        body = _ENCODER.encode(self)
        return _HEAD.pack(_MAGIC, zlib.crc32(body)) + body

    @classmethod
    def from_bytes(cls, packed: bytes) -> Prepared:
        """What `to_bytes` wrote.

        Raises:
            ValueError: Other bytes, or damaged ones.

        Cost: some 20 us for each merge.
        """
        body = memoryview(packed)[_HEAD.size :]
        if len(packed) < _HEAD.size or _HEAD.unpack_from(packed) != (_MAGIC, zlib.crc32(body)):
            raise ValueError(
                "not the bytes of a prepared consolidation: cut short, damaged or of another version"
            )
        try:
            with collected_later():
                return _DECODER.decode(body)
        except msgspec.DecodeError as error:
            raise ValueError(f"not the bytes of a prepared consolidation: {error}") from error


def reduced(plan: Plan, items: Iterable[tuple[str, int]]) -> Plan:
    """``plan`` with those of its changes alone, in its order."""
    kept: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for kind, number in items:
        kept[kind].add(number)
    changes: dict[str, Any] = {
        name: tuple(one for number, one in enumerate(getattr(plan, name)) if number in kept[kind])
        for kind, name in KINDS.items()
    }
    return replace(plan, **changes)


_ENCODER: Final = msgspec.msgpack.Encoder(uuid_format="bytes")
_DECODER: Final = msgspec.msgpack.Decoder(Prepared)
