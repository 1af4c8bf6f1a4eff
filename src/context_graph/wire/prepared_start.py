"""Leaves in a store what the start of its next session is told, for a hook that finds no owner.

Twin of ext/launcher/src/prepared.rs: tests/integration/owner/test_prepared_start.py has one read the other.
A heading with the checksum of all behind it; what the text rests on, a line each; an empty line; the text.
Only a store that is closed in order has one; whoever opens it takes it away, for it may become untrue.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from context_graph.system.small_files import read_bytes

NAME: Final = "start.txt"
_HEADING: Final = b"CGSTART1 "
_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class PreparedStart:
    """The text for the next session's start, and what it rests on.

    Attributes:
        branch: That was checked out; "" off any branch and outside repositories.
        account: CLAUDE_CONFIG_DIR of the client; "" if it had none.
        files: Paths whose time and size must be as they are now, or that must not be there.
        memories: Ids of the memories that the text quotes, with the tokens of each.
    """

    text: str
    branch: str
    account: str
    files: Sequence[str]
    memories: Sequence[tuple[str, int]]

    def to_bytes(self) -> bytes | None:
        """Return the file's bytes; None where it would be too long, or a path has a line's end."""
        facts = [
            f"branch {self.branch}",
            f"account {self.account}",
            *(f"memory {node_id} {tokens}" for node_id, tokens in self.memories),
            *(f"file {_seen(path)} {path}" for path in self.files),
        ]
        if any("\n" in fact for fact in facts):
            return None
        rest = os.fsencode("\n".join(facts)) + b"\n\n" + self.text.encode("utf-8", "replace")
        whole = b"%s%08x\n%s" % (_HEADING, zlib.crc32(rest), rest)
        return whole if len(whole) <= _MAX_BYTES else None

    def leave(self, store_dir: Path) -> None:
        """Write the file. Raises OSError."""
        whole = self.to_bytes()
        if whole is None:
            return
        partial = store_dir / f"{NAME}.new"
        partial.write_bytes(whole)
        os.replace(partial, store_dir / NAME)


def take(store_dir: Path) -> list[tuple[str, int]]:
    """Remove the file; the ids of the memories that it quotes, with the tokens of each."""
    path = store_dir / NAME
    try:
        whole = read_bytes(str(path), _MAX_BYTES)
        if not whole.startswith(_HEADING):  # a library's store may lie beside any file
            return []
        path.unlink()
    except (OSError, ValueError):
        return []
    facts = whole.partition(b"\n")[2].partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
    rows = (fact.split(" ") for fact in facts if fact.startswith("memory "))
    return [(row[1], int(row[2])) for row in rows if len(row) == 3 and row[2].isdigit()]


def take_all(stores_dir: Path) -> None:
    """Remove those of all stores: what they rest on has changed."""
    with contextlib.suppress(OSError):
        for path in stores_dir.glob(f"*/{NAME}"):
            path.unlink(missing_ok=True)


def _seen(path: str) -> str:
    try:
        stat = os.stat(path)
    except OSError:
        return "- -"
    seconds, rest = divmod(stat.st_mtime_ns, 1_000_000_000)
    return f"{seconds}.{rest:09d} {stat.st_size}"
