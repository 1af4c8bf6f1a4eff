"""Drains a spool into a real RocksDB, dying by SIGKILL at a named step; a program for the spool's tests.

argv: store folder, number of the step at which to die (0: never). A step is each moment between
two effects: before and after a record is applied, around each rename, unlink and rejection.
The store: `d:{id}` marks an applied record, `e:{n}` lists ids in the order they were applied.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rocksdict import Options, Rdict, WriteBatch

from context_graph.errors import InvalidInputError
from context_graph.owner.sessions import spool
from context_graph.owner.sessions.spool import SpoolRecord


def open_store(folder: Path) -> Rdict:
    """The test's database."""
    return Rdict(str(folder / "db"), Options(raw_mode=True))


def applied(folder: Path) -> list[str]:
    """Ids in the order in which they were applied."""
    store = open_store(folder)
    found = [value.decode() for key, value in store.items() if key.startswith(b"e:")]
    store.close()
    return found


def main() -> int:
    folder, die_at = Path(sys.argv[1]), int(sys.argv[2])
    store = open_store(folder)
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            step()
            result = real(*args, **options)
            step()
            return result

        return call

    def apply(record: SpoolRecord) -> None:
        step()
        mark = b"d:" + record.id.encode()
        if record.verb == "hooks.refused":
            raise InvalidInputError("this one never will")
        if record.verb == "hooks.bug":
            raise ZeroDivisionError("a bug, on purpose")
        if record.verb == "hooks.bug":
            raise ZeroDivisionError("a bug, on purpose")
        if mark not in store:
            batch = WriteBatch(raw_mode=True)
            batch.put(mark, b"")
            count = sum(1 for key, _ in store.items() if key.startswith(b"e:"))
            batch.put(b"e:%020d" % count, record.id.encode())
            store.write(batch)
        step()

    os.rename = around(os.rename)
    os.unlink = around(os.unlink)
    spool._keep = around(spool._keep)
    report = spool.drain(folder, apply)
    store.close()
    print(report.applied, report.rejected, report.deferred, steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
