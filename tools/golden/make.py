"""Write the golden files that hold the launcher and the Python side to one layout (docs/dev/formats.md).

A third, independent statement of the formats: standard library only, no import of context_graph, plain
enough to be read instead of the two implementations. The files never change for a format version;
`--check` says whether what is on disk is what this script writes. The tables of paths are in
paths.py, memories in memory.py. In all tables bytes outside of printable ASCII, and `%`,
stand as %XX; `-` is empty.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.golden.memory import FILES as MEMORY_FILES
from tools.golden.paths import TABLES, fnv1a64, quoted, table

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"

SESSION = "0ae1c2d3-1111-4222-8333-444455556666"
EVENT_ID = "00112233445566778899aabbccddeeff"


# --- frames

REQUEST_FIELDS: list[tuple[int, str, bytes]] = [
    (1, "verb", b"hooks.post-tool"),
    (2, "event_id", EVENT_ID.encode()),
    (3, "params", b'{"format":"claude","session-id":"abc","success":"true","stdin":true}'),
    (4, "body", '{"session_id":"s","tool_name":"Bash","tool_input":{"command":"echo \\"é\\""}}\n'.encode()),
    (5, "store", b"/home/u/.local/share/context-graph/stores/proj-0123456789abcdef"),
    (6, "project", "/home/u/projé".encode()),
    (7, "session_env", SESSION.encode()),
    (8, "cwd", b"/home/u/proj/src"),
    (9, "env", b"CONTEXT_GRAPH_IDENTITY_LINES=changes\0CONTEXT_GRAPH_AUTO_DREAM=false"),
    (10, "deadline_ms", struct.pack("<I", 3000)),
    (11, "at_ms", struct.pack("<q", 1_800_000_000_123)),
    (12, "version", b"0.1.0"),
]


# What came after the first release: a request of that time has none of it, and its file never changes.
LATER_FIELDS: list[tuple[int, str, bytes]] = [
    (1, "verb", b"hooks.permission-request"),
    (
        9,
        "env",
        b"CLAUDE_CONFIG_DIR=/home/u/.claude\0CLAUDE_SKIP_REQUIREMENTS=1\0CLAUDE_PROJECT_DIR=/home/u/p",
    ),
    (13, "parent", struct.pack("<I", 4321)),
]


def frame(magic: bytes, payload: bytes) -> bytes:
    """4 magic bytes, u32 length, payload."""
    return magic + struct.pack("<I", len(payload)) + payload


def request(fields: list[tuple[int, str, bytes]]) -> bytes:
    """Each field: u8 tag, u32 length, bytes; in the order of the tags."""
    return frame(b"CGQ1", b"".join(struct.pack("<BI", tag, len(value)) + value for tag, _, value in fields))


def request_parts(fields: list[tuple[int, str, bytes]]) -> bytes:
    return table("tag name value", ((str(tag), name, quoted(value)) for tag, name, value in fields))


RESPONSE_STDOUT = (
    b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"[C:CON r=0.97 IC=0.95]"}}\n'
)
RESPONSE_STDERR = "crisis: é\n".encode()


def response() -> bytes:
    """u8 exit code, u8 flags, u16 zero, then stdout and stderr, each with its u32 length."""
    payload = struct.pack("<BBH", 6, 1, 0)
    for output in (RESPONSE_STDOUT, RESPONSE_STDERR):
        payload += struct.pack("<I", len(output)) + output
    return frame(b"CGR1", payload)


def response_parts() -> bytes:
    parts = (("exit_code", b"6"), ("flags", b"1"), ("stdout", RESPONSE_STDOUT), ("stderr", RESPONSE_STDERR))
    return table("name value", ((name, quoted(value)) for name, value in parts))


# --- event log


def log_line(event_id: str, value: object) -> bytes:
    """Newline, E1, CRC-32 and length in hex, the id and the JSON that both are of, newline."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    text = event_id.encode() + b" " + text
    return b"\nE1 %08x %08x %b\n" % (zlib.crc32(text), len(text), text)


def event_value(params: dict[str, object], body: object, project: str = "/home/u/proj") -> dict[str, object]:
    return {
        "verb": "hooks.post-tool", "session": SESSION, "at_ms": 1_800_000_000_123,
        "project": project, "cwd": "/home/u/proj/src", "parent": 4711, "params": params, "body": body,
    }  # fmt: skip


EVENT_BODY = {
    "session_id": SESSION,
    "tool_name": "Bash",
    "tool_input": {"command": 'echo "é"\n\t\\ \u0001'},
    "n": [1, -2.5],
}
EVENT_PARAMS: dict[str, object] = {
    "format": "claude", "session-id": "abc", "success": "true", "stdin": True,
}  # fmt: skip


def log_parts() -> list[tuple[str, bytes]]:
    """The file's parts in their order: name (`bad-…`: no reader may take it) and bytes."""
    torn = log_line("1" * 32, event_value(EVENT_PARAMS, EVENT_BODY))
    changed = log_line("2" * 32, event_value({}, None)).replace(b'"at_ms":18', b'"at_ms":19')
    later = log_line("5" * 32, event_value({}, None)).replace(b"\nE1 ", b"\nE2 ")
    longer = re.sub(rb"^(\nE1 \w+) \w+", rb"\1 00000001", log_line("6" * 32, event_value({}, None)))
    return [
        ("whole", log_line(EVENT_ID, event_value(EVENT_PARAMS, EVENT_BODY))),
        ("bad-torn", torn[: len(torn) // 2]),
        ("no-body", log_line("3" * 32, event_value({"format": "json"}, None, project="/home/u/projé"))),
        ("bad-checksum", changed),
        ("bad-version", later),
        ("bad-length", longer),
        ("last", log_line("4" * 32, event_value({}, {}))),
    ]


# --- brief cache

HEADER_BYTES, FILTER_BYTES, SLOT_BYTES, HOME_SLOTS, WINDOW = 4096, 16_384, 1024, 128, 8
SLOTS_AT = HEADER_BYTES + FILTER_BYTES


def slot(
    session: bytes,
    line: bytes,
    updated_ms: int,
    state: int = 3,
    numbers: tuple[float, ...] = (),
    flags: int = 0,
    done: tuple[str, ...] = (),
) -> bytes:
    """One slot. Numbers: consciousness, r, reflection, differentiation, IC, crisis threshold.

    Flags: 1 something is due, 2 nothing more is told about files. Done: the files of which that is so.
    """
    head = struct.pack("<IIBBHq", 0x31424743, 7, state, len(line), len(session), updated_ms)
    measures = struct.pack("<6f", *(numbers or (0.625, 0.96875, 0.5, 0.25, 0.9375, 0.5)))
    told = struct.pack("<I", flags) + b"".join(struct.pack("<I", thing(path) >> 32) for path in done)
    data = (head + measures + line.ljust(64, b"\0") + session.ljust(400, b"\0") + told).ljust(
        SLOT_BYTES - 4, b"\0"
    )
    return struct.pack("<I", zlib.crc32(data)) + data


def thing(path: str) -> int:
    """A file in the filter: by its folder's name and its own."""
    hashed = fnv1a64("/".join(path.split("/")[-2:]).encode())
    return hashed ^ hashed >> 32


TOLD = ("src/told.py", "README.md", "/elsewhere/lib/other.rs")
"""Files about which there is something to tell."""


def filter_bytes() -> bytes:
    """The four bits of each file, in the part of 64 bytes that its last byte names."""
    data = bytearray(FILTER_BYTES)
    for key in map(thing, TOLD):
        for number in range(4):
            bit = key >> (8 + 9 * number) & 0x1FF
            data[(key & 0xFF) * 64 + bit // 8] |= 1 << bit % 8
    return bytes(data)


def neighbour(session: bytes, wanted: int) -> bytes:
    """The ``wanted``-th other id (from 1) with the same home slot."""
    home = fnv1a64(session) % HOME_SLOTS
    names = (b"neighbour-%d" % number for number in itertools.count())
    same_home = (name for name in names if fnv1a64(name) % HOME_SLOTS == home)
    return next(itertools.islice(same_home, wanted - 1, None))


def long_id() -> str:
    return "ä" * 60 + "x" * 70


def brief_slots() -> list[tuple[int, bytes, bytes, bytes]]:
    """Place in the probe window, bytes in the file, session id as asked for, line expected."""
    one, torn, accents = SESSION.encode(), b"torn-session", "séance".encode()
    second, third = neighbour(one, 1), neighbour(one, 2)
    cold = b"[C:? r=? IC=?]"
    con, dor, hyp = b"[C:CON r=0.97 IC=0.95]", b"[C:DOR r=0.10 IC=0.41]", b"[C:HYP r=1.00 IC=1.00]"
    emg, frg, last = b"[C:EMG r=0.50 IC=0.80]", b"[C:FRG r=0.40 IC=0.70]", b"[C:CON r=0.88 IC=0.91]"
    damaged = bytearray(slot(torn, con, 9_000))
    damaged[50] ^= 1
    return [
        (0, slot(one, con, 5_000), one, con),
        (3, slot(second, dor, 4_000, 0, (0.125, 0.0, 0.0, 0.0, 0.40625, 0.5)), second, dor),
        (7, slot(third, hyp, 4_500, 4), third, hyp),
        (0, bytes(damaged), torn, cold),
        (0, slot(b"cold-session", con, 1, 255), b"cold-session", cold),
        (0, slot(b"no-line", b"", 2), b"no-line", cold),
        (0, slot(accents, emg, 3, 2, flags=1), accents, emg),
        (0, slot(long_id()[:100].encode(), frg, 4, 1, flags=2), long_id().encode(), frg),
        (0, slot(b"unknown-state", con, 8_000, 9), b"unknown-state", cold),
        (0, slot(b"newest", last, 6_000, done=TOLD[:1]), b"newest", last),
    ]


def brief_file() -> bytes:
    header = struct.pack("<8sIIII", b"CGBRIEF2", 2, SLOT_BYTES, HOME_SLOTS, WINDOW)
    data = bytearray(SLOTS_AT + (HOME_SLOTS + WINDOW - 1) * SLOT_BYTES)
    data[: len(header)] = header
    data[HEADER_BYTES:SLOTS_AT] = filter_bytes()
    for place, raw, _, _ in brief_slots():
        length = struct.unpack_from("<H", raw, 14)[0]
        at = SLOTS_AT + (fnv1a64(raw[112 : 112 + length]) % HOME_SLOTS + place) * SLOT_BYTES
        assert not any(data[at : at + SLOT_BYTES]), "two golden slots want one place"
        data[at : at + SLOT_BYTES] = raw
    return bytes(data)


def brief_expected() -> bytes:
    """Session id asked for (`-`: none) and the line that must print."""
    rows = [(quoted(asked), quoted(line)) for _, _, asked, line in brief_slots()]
    rows += [("", "[C:CON r=0.88 IC=0.91]")]  # of whichever session was updated last
    rows += [(name, "[C:? r=? IC=?]") for name in ("nobody", SESSION[:-1], SESSION + "x", "newest ")]
    return table("session line", rows)


def quiet_expected() -> bytes:
    """Session, the file that its call touches (`-`: none), and whether the owner has nothing to tell then."""
    rows = [
        *((SESSION, "-", 1), (SESSION, "/w/app/src/told.py", 0), (SESSION, "/w/app/README.md", 0)),
        *((SESSION, "/w/app/src/new.py", 1), (SESSION, "/elsewhere/lib/other.rs", 0)),
        *(("newest", "/w/app/src/told.py", 1), ("newest", "/w/app/README.md", 0)),
        *(("séance", "-", 0), ("séance", "/w/app/src/new.py", 0), (long_id(), "/w/app/src/told.py", 1)),
        *(("nobody", "-", 0), ("torn-session", "-", 0), (SESSION[:-1], "-", 0), (SESSION + "x", "-", 0)),
    ]
    return table("session file quiet", [(quoted(a.encode()), quoted(b.encode()), str(c)) for a, b, c in rows])


FILES: dict[str, Callable[[], bytes]] = {
    **TABLES,
    **MEMORY_FILES,
    "request_v1.bin": lambda: request(REQUEST_FIELDS),
    "request_v1.tsv": lambda: request_parts(REQUEST_FIELDS),
    "request_v1_later.bin": lambda: request(LATER_FIELDS),
    "request_v1_later.tsv": lambda: request_parts(LATER_FIELDS),
    "response_v1.bin": response,
    "response_v1.tsv": response_parts,
    "event_log_v1.log": lambda: b"".join(raw for _, raw in log_parts()),
    "event_log_v1.tsv": lambda: table("part bytes", ((name, quoted(raw)) for name, raw in log_parts())),
    "brief_v2.bin": brief_file,
    "brief_v2.tsv": brief_expected,
    "brief_v2_quiet.tsv": quiet_expected,
}


def main() -> int:
    """Write the files, or with --check only compare; 1 if one differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    GOLDEN.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name, make in FILES.items():
        path, data = GOLDEN / name, make()
        if check and (not path.exists() or path.read_bytes() != data):
            print(f"{name} is not what tools/golden/make.py writes", file=sys.stderr)
            wrong += 1
        elif not check:
            path.write_bytes(data)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
