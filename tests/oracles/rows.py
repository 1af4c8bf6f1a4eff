"""Finds rows of an index: the readable twin of ext/kernels/rows.pyx.

Standard library only. Ids have 16 bytes and stand in a column, one a row, that the caller holds and only
appends to.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

ID: Final = 16
_NONE: Final = 0xFFFFFFFF


class Ids:
    """Which row has an id. Not thread-safe. Compiled: some 8 bytes a row, 0.1 us a call."""

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, ids: Buffer, key: Buffer) -> int | None:
        """The row of this id, or None; ValueError for an id of another length."""
        return self._rows.get(_key(key))

    def put(self, ids: Buffer, row: int) -> None:
        """Let the id in this row of the column lead to it, whichever it led to before."""
        with memoryview(ids) as column:
            if (row + 1) * ID > column.nbytes:
                raise ValueError(f"ids must have {row + 1} values, got {column.nbytes // ID}")
            self._rows[bytes(column[row * ID : (row + 1) * ID])] = row

    def put_all(self, ids: Buffer, flags: Buffer, without: int) -> None:
        """As ``put``, for every row, in order, whose flags (uint32) have none of the bits ``without``."""
        flag = memoryview(flags)
        with memoryview(ids) as column:
            if len(flag) * ID > column.nbytes:
                raise ValueError(f"ids must have {len(flag)} values, got {column.nbytes // ID}")
        for row, bits in enumerate(flag):
            if not bits & without:
                self.put(ids, row)

    def drop(self, ids: Buffer, key: Buffer) -> int | None:
        """Forget an id; its row, or None."""
        return self._rows.pop(_key(key), None)

    def rows(self) -> array[int]:
        """The rows (uint32) that are found, in no order."""
        return array("I", self._rows.values())


def _key(key: Buffer) -> bytes:
    wanted = bytes(key)
    if len(wanted) != ID:
        raise ValueError(f"an id must have {ID} bytes, got {len(wanted)}")
    return wanted


def previous(groups: Buffer) -> tuple[array[int], array[int]]:
    """For each row the last one before it in its group, and for each group from 0 on its last row."""
    view = memoryview(groups)
    before, last = array("I"), array("I", [_NONE] * (max(view, default=0) + 1))
    for row, group in enumerate(view):
        before.append(last[group])
        if group:
            last[group] = row
    return before, last
