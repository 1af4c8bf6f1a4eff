"""Golden records of memories: a third, independent statement of their layouts (docs/dev/formats.md).

Imported by tools/golden/make.py; imports nothing of the package.
"""

from __future__ import annotations

import struct
import zlib

__all__ = ["FILES", "NODE_ID"]

NODE_ID = bytes.fromhex("550e8400e29b41d4a716446655440000")
CLUSTER = bytes.fromhex("6ba7b8109dad11d180b400c04fd430c8")
CONTENT = "Tokens expire after 24 hours, see “auth”".encode()
RATIONALE = b"security rule of the project"
METADATA = b'{"file":"src/auth.py","lines":[3,9],"nested":{"ok":true,"none":null}}'
CREATED, ACCESSED, SEQ = 1_763_761_000_123, 1_763_761_900_456, 258


def record(version: int, payload: bytes, key: bytes = NODE_ID) -> bytes:
    """The envelope: version, length, payload, CRC-32 over key and all before it."""
    body = struct.pack("<BI", version, len(payload)) + payload
    return body + struct.pack("<I", zlib.crc32(key + body))


def node_v1() -> bytes:
    """Seed 003's fields alone; reals are float32."""
    head = struct.pack("<QqqI", SEQ, CREATED, ACCESSED, 7)
    reals = struct.pack("<5f", 0.8, 0.25, 0.7, 1.1, 0.5)
    flags_quadrant = bytes((4, 1))  # has a cluster; blind
    agent = b"agent-7"
    lengths = struct.pack("<HHI", len(agent), len(RATIONALE), len(CONTENT))
    texts = CLUSTER + agent + RATIONALE + CONTENT + METADATA
    return record(1, head + reals + flags_quadrant + lengths + texts)


def node_v2() -> bytes:
    """What is written today."""
    agent, session, source, tags = b"agent-7", "sitzung-ä".encode(), b"tool", b"auth\0rules"
    head = struct.pack("<Qqq5d", SEQ, CREATED, ACCESSED, 0.8, 0.25, 0.7, 1.1, 0.5)
    small = bytes((1 | 2 | 4, 1, 0, 2))  # deleted, pinned, has a cluster; blind; text; two tags
    lengths = struct.pack(
        "<6H2I",
        *(len(RATIONALE), len(agent), len(session), 0xFFFF, len(source), len(tags)),
        *(len(METADATA), len(CONTENT)),
    )
    texts = RATIONALE + agent + session + source + tags + METADATA + CONTENT
    return record(2, head + small + CLUSTER + lengths + texts)


def change_v2() -> bytes:
    """The change log's entry: that memory was forgotten."""
    return record(2, struct.pack("<B16sq", 3, NODE_ID, ACCESSED), struct.pack(">Q", SEQ))


def history_v1() -> bytes:
    """What an edge's change overwrote: its record, and none in another place."""
    key, was = b"e:" + CLUSTER, b"a record as it was"
    head = struct.pack("<qB16s2B", ACCESSED, 9, CLUSTER, 2, 2)
    one = struct.pack("<BHI", 4, len(key), len(was) + 1) + key + was
    other = struct.pack("<BHI", 3, len(NODE_ID), 0) + NODE_ID
    return record(1, head + NODE_ID + CLUSTER + one + other, b"c:" + struct.pack(">Q", SEQ))


FILES = {
    "memory_v1.bin": node_v1,
    "memory_v2.bin": node_v2,
    "memory_change_v2.bin": change_v2,
    "memory_history_v1.bin": history_v1,
}
