"""What was put into whose context, as numbered records in the `ledger` family. Bounded.

Keys: ``i:`` + 8 big-endian bytes (number) -> record, a JSON object; ``t`` -> totals since the store's
beginning, a JSON object. Records are the ledger's business (memory.ledger); here they are bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Final

from context_graph.store.engine import Engine
from context_graph.store.graph_layout import LEDGER
from context_graph.store.layout import after, unwrap, wrap
from context_graph.store.sessions import SessionStore

__all__ = ["RECORDS_KEPT", "InjectionRecords"]

RECORDS_KEPT: Final = 2048
"""Newest records that are kept; some 400 bytes each."""
RECORD_VERSION: Final = 1
_PREFIX: Final = b"i:"
_TOTALS: Final = b"t"
_BE64: Final = struct.Struct(">Q")


class InjectionRecords:
    """The ledger's records in one database. Not thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def beside(cls, sessions: SessionStore) -> InjectionRecords:
        """The ledger in the database of ``sessions``, once that has memories."""
        return cls(sessions.engine)

    def newest(self) -> Iterator[tuple[int, bytes]]:
        """(number, record) of all that are kept, newest first.

        Raises:
            CorruptedIdentityError: At a record that can't be read back; it names the record and the cure.
        """
        for key, record in self._engine.scan(LEDGER, after(_PREFIX), _PREFIX, reverse=True):
            yield _BE64.unpack_from(key, len(_PREFIX))[0], unwrap(key, record, RECORD_VERSION)

    def totals(self) -> bytes | None:
        """The totals that were written last, None before the first write."""
        record = self._engine.get(LEDGER, _TOTALS)
        return None if record is None else unwrap(_TOTALS, record, RECORD_VERSION)

    def write(self, records: Mapping[int, bytes], totals: bytes) -> None:
        """Add or replace records by their number and set the totals, as one batch; the oldest leave.

        Raises:
            StoreError: The write failed; nothing of it is stored.
        """
        batch = self._engine.batch()
        for number, payload in records.items():
            key = _key(number)
            batch.put(LEDGER, key, wrap(key, RECORD_VERSION, payload))
        if records and max(records) > RECORDS_KEPT:
            batch.delete_range(LEDGER, _PREFIX, _key(max(records) - RECORDS_KEPT + 1))
        batch.put(LEDGER, _TOTALS, wrap(_TOTALS, RECORD_VERSION, totals))
        self._engine.write(batch)


def _key(number: int) -> bytes:
    return _PREFIX + _BE64.pack(number)
