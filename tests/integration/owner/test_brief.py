"""The brief cache beside a busy writer: readers see whole lines of their own session (invariant 8)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.owner.brief_reader import COLD_LINE, read_line

from context_graph.owner.sessions.brief_cache import HOME_SLOTS, first_slot

WRITER = """
import sys
from pathlib import Path
from context_graph.owner.sessions.brief_cache import BriefCache
from context_graph.owner.sessions.brief_cache import BriefSlot
cache = BriefCache(Path(sys.argv[1]))
names = sys.argv[2:]
print("ready", flush=True)
number = 0
while True:
    number += 1
    for at, name in enumerate(names):
        cache.write(BriefSlot(name, number % 5, f"[C:{name} n={number % 1000:03d}]", number * 10 + at))
"""


def _names_of_one_window(count: int) -> list[str]:
    found: list[str] = []
    number = 0
    while len(found) < count:
        if first_slot(b"s%d" % number) == HOME_SLOTS // 2:
            found.append(f"s{number}")
        number += 1
    return found


def test_readers_beside_a_busy_writer_never_see_a_torn_or_foreign_line(
    tmp_path: Path, rounds: Callable[[int], int]
) -> None:
    """Invariant 8: brief.bin never yields a torn or foreign line."""
    path = tmp_path / "brief.bin"
    names = _names_of_one_window(8)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), *names], stdout=subprocess.PIPE)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        seen: dict[str, set[str]] = {name: set() for name in names}
        for _ in range(100 * rounds(3)):
            for name in names:
                seen[name].add(read_line(tmp_path, name))
            newest = read_line(tmp_path, None)
            assert newest == COLD_LINE or newest.startswith(tuple(f"[C:{name} n=" for name in names))
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()
    for name in names:
        lines = seen[name] - {COLD_LINE}
        assert len(lines) > 10, "the writer did not write while we read"
        wrong = [line for line in lines if not (line.startswith(f"[C:{name} n=") and line.endswith("]"))]
        assert wrong == []
