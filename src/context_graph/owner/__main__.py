"""Starts the owner: `python -m context_graph.owner --root ROOT [--lock-fd N] [--foreground]`.

Installed as `context-graph-owner`, too. Runs until it is told to leave, or nobody has needed it for
``idle_s``. It never forks: to have it in the background, start it there, with the lock in descriptor N.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import getopt
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from context_graph.config import load_settings
from context_graph.errors import ContextGraphError
from context_graph.owner.lock import StartRefusedError, lock_root, prepare_folders
from context_graph.system.processes import dump_no_core, take_files
from context_graph.wire.environment import owner_environment
from context_graph.wire.run_folder import begin_crash_note, read_work

EXIT_USAGE: Final = 64
EXIT_FAILED: Final = 70
_USAGE: Final = "usage: context-graph-owner --root ROOT [--lock-fd N] [--foreground]"
_STDERR: Final = 2


# mallopt(3): parameter numbers and what we set them to, bytes. A 16 MiB frame must not leave the heap
# that much larger, and RocksDB's threads need no arena each.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_KEEP_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Options:
    root: Path
    lock_fd: int | None
    foreground: bool


def main(argv: list[str] | None = None) -> int:
    """Run the owner; its exit code. 0 left as asked, 64 usage, 70 failed, 73, 75 and 77 as in ``lock``."""
    try:
        options = _options(sys.argv[1:] if argv is None else argv)
    except ValueError as error:
        print(f"context-graph-owner: {error}\n{_USAGE}", file=sys.stderr)
        return EXIT_USAGE
    _settle_process(options)
    gc.disable()  # nothing of what a start makes is garbage; Owner.run turns it on again
    try:
        return _run(options)
    except StartRefusedError as error:
        print(f"context-graph-owner: {error}", file=sys.stderr)
        return error.exit_status
    except ContextGraphError as error:
        print(f"context-graph-owner: {error}", file=sys.stderr)
        return EXIT_FAILED


def _run(options: _Options) -> int:
    prepare_folders(options.root)
    lock = lock_root(options.root, options.lock_fd)
    last = read_work(options.root)
    settings = load_settings(None)
    _import_asyncio()
    # After the lock: a start that is refused should not have cost the imports.
    from context_graph.owner.chores import count_interrupted
    from context_graph.owner.lifecycle import Owner, open_log
    from context_graph.owner.service import build_service

    log = open_log(options.root, settings, foreground=options.foreground)
    crashed = begin_crash_note(options.root)
    if last is not None and last.pid != os.getpid():
        count_interrupted(last, time.time_ns() // 1_000_000, log, crashed=crashed)
    try:
        owner = Owner(options.root, lock, build_service(options.root, settings, log), settings, log)
        return owner.run(ready=None if options.lock_fd is None or options.foreground else _STDERR)
    except ContextGraphError as error:
        log.error("start failed: %s", error)
        raise
    except Exception as error:
        log.exception("start failed")
        print(f"context-graph-owner: {type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_FAILED


def _options(words: list[str]) -> _Options:
    try:
        pairs, rest = getopt.getopt(words, "", ["root=", "lock-fd=", "foreground"])
    except getopt.GetoptError as error:
        raise ValueError(str(error)) from error
    options = dict(pairs)
    root = options.get("--root", "")
    if rest or not root.startswith("/"):
        raise ValueError(f"{rest[0]!r} is not an option" if rest else "--root must be an absolute path")
    lock_fd = int(options["--lock-fd"]) if "--lock-fd" in options else None
    if lock_fd is not None and lock_fd <= _STDERR:
        raise ValueError(f"--lock-fd {lock_fd} is not the file descriptor of a lock")
    return _Options(Path(os.path.normpath(root)), lock_fd, "--foreground" in options)


def _settle_process(options: _Options) -> None:
    """Make this a process of its own: no descriptor, folder or variable of whoever started it."""
    os.umask(0o077)
    os.chdir("/")
    if options.lock_fd is not None:
        with contextlib.suppress(OSError):  # the starter may have done it already
            os.setsid()
        os.closerange(_STDERR + 1, options.lock_fd)
        os.closerange(options.lock_fd + 1, os.sysconf("SC_OPEN_MAX"))
    kept = owner_environment(os.environ)  # whoever started it by hand has not chosen
    for name in [name for name in os.environ if name not in kept]:
        del os.environ[name]
    take_files()
    dump_no_core()
    _limit_malloc()


def _limit_malloc() -> None:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # not glibc
    mallopt(_ARENA_MAX, 2)
    mallopt(_MMAP_THRESHOLD, _KEEP_BYTES)
    mallopt(_TRIM_THRESHOLD, _KEEP_BYTES)


def _import_asyncio() -> None:
    """Import asyncio without ssl, which it can do without: 4 MiB and 20 ms for sockets we never open."""
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # what the import system takes for "not there"
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]


if __name__ == "__main__":
    sys.exit(main())
