"""Puts records into their envelope: the readable twin of ext/kernels/sealing.pyx. Standard library only.

Every record that is stored is sealed, some six for a memory, so each store and each hook pays for it.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

__all__ = ["seal"]

_HEAD: Final = struct.Struct("<BI")
_CRC: Final = struct.Struct("<I")


def seal(key: bytes, version: int, payload: bytes) -> bytes:
    """The envelope of ``payload`` as it is stored under ``key``; its CRC-32 covers key, head and payload."""
    if not 0 <= version <= 255 or len(payload) > 0xFFFFFFFF:
        raise ValueError(
            f"version must be in [0, 255] and payload below 4 GiB, got {version} and {len(payload)} bytes"
        )
    head = _HEAD.pack(version, len(payload))
    checksum = zlib.crc32(payload, zlib.crc32(head, zlib.crc32(key)))
    return b"".join((head, payload, _CRC.pack(checksum)))
