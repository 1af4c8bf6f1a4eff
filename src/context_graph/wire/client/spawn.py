"""Starts, awaits and stops the owner's process; finds the executables of this installation.

Nothing here deletes a file or judges by the pid whether an owner is alive: the lock decides.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from context_graph.config import lock_path, log_dir, socket_path
from context_graph.errors import ConfigError, DeadlineExceededError, OwnerUnavailableError
from context_graph.wire import run_folder
from context_graph.wire.client.connection import connect, exchange
from context_graph.wire.client.silent import Silent, look_at
from context_graph.wire.environment import kept_environment
from context_graph.wire.frames import Request, encode_request

_SAID_BYTES: Final = 4096
_KILLED_S: Final = 5.0
"""How long a killed process may take to be gone: the kernel may have its memory to give back."""
_SHORT_S: Final = 0.002
_LONG_S: Final = 0.02


class Starting:
    """An owner that was just started, or (``pid`` 0) one for which somebody else holds the lock.

    Its stderr comes here until it is ready and closes it, so end of file means that it is ready or has
    failed.
    """

    def __init__(self, pid: int = 0, output: int = -1) -> None:
        self.pid = pid
        self._said = output
        self._text = b""

    def wait(self, seconds: float) -> bool:
        """Wait for the end of its start, good or bad; whether it came."""
        if self._said < 0:
            return False
        poll = select.poll()
        poll.register(self._said, select.POLLIN)
        end = time.monotonic() + seconds
        while poll.poll(max(0.0, (end - time.monotonic()) * 1000.0)):
            data = os.read(self._said, _SAID_BYTES)
            if not data:
                return True
            self._text = (self._text + data)[-_SAID_BYTES:]
        return False

    @property
    def text(self) -> str:
        """Its output so far, on one line."""
        return " ".join(self._text.decode("utf-8", "replace").split())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._said >= 0:
            os.close(self._said)
            self._said = -1


def start_owner(root: Path, env: Mapping[str, str] | None = None) -> Starting:
    """Start the owner of ``root`` detached, unless somebody holds its lock; does not wait for it. Raises
    OwnerUnavailableError if the root can't be written or no owner can be executed.
    """
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        os.makedirs(lock_path(root).parent, mode=0o700, exist_ok=True)
        lock = run_folder.take_lock(lock_path(root))
    except OSError as error:
        raise OwnerUnavailableError(
            f"data root {root} can't be written: {error.strerror}: {error.filename}; "
            "make it writable or name another with CONTEXT_GRAPH_HOME"
        ) from error
    if lock is None:
        return Starting()
    output = says = -1
    try:
        lock = _above_standard(lock)
        words = [*find_owner_command(env), "--root", os.fspath(root)]
        output, says = _pipe()
        pid = _spawn_detached(words, lock, says)
    except OSError as error:
        if output >= 0:
            os.close(output)
        raise OwnerUnavailableError(f"{words[0]} can't be started: {error.strerror}") from error
    finally:
        os.close(lock)
        if says >= 0:
            os.close(says)
    return Starting(pid, output)


def wait_ready(root: Path, end: float, starting: Starting) -> None:
    """Wait until an owner answers at ``root``, or, where another process was to start it, has given up.

    ``starting`` is what ``start_owner`` returned. OwnerUnavailableError: the owner ended, or none answers
    until the monotonic time ``end``.
    """
    for seconds in _pauses(end):
        ended = starting.wait(seconds)
        connection = connect(root, end)
        if connection is not None:
            connection.close()
            return
        if ended:
            raise OwnerUnavailableError(
                f"the owner (pid {starting.pid}) ended at its start: {starting.text or 'it said nothing'}; "
                f"{log_dir(root) / 'owner.log'} may say more"
            )
        if not starting.pid:
            if not _held(root):
                return
            time.sleep(seconds)
    seen = look_at(root)
    raise OwnerUnavailableError(
        f"no owner answered at {socket_path(root)} in time; "
        f"{seen.text() if seen else 'no process holds its lock'}; "
        f"see {log_dir(root) / 'owner.log'}, or try `context-graph-cli owner restart`"
    )


def wait_free(root: Path, end: float) -> None:
    """Wait until nobody holds the lock of ``root``; OwnerUnavailableError at the monotonic time ``end``."""
    for seconds in _pauses(end):
        if not _held(root):
            return
        time.sleep(seconds)
    seen = look_at(root)
    if seen is None:
        return
    raise OwnerUnavailableError(f"the owner of {root} has not ended in time: {seen.text()}; {seen.cure()}")


def stop_owner(root: Path, timeout_s: float = 10.0) -> int | None:
    """Make the owner of ``root`` leave and wait until it is gone; its pid, or None if there was none.

    It is asked, told by SIGTERM after half of the time, which ends what it has in hand, and killed at the
    end: what it has acknowledged is on the disk. One that is stopped is let go on first. docs/operations.md.

    Raises:
        OwnerUnavailableError: If it is still there ``_KILLED_S`` after that, or the lock is no owner's.
    """
    began = time.monotonic()
    end = began + timeout_s
    half = began + timeout_s / 2
    seen = look_at(root)
    if seen is None:
        return None
    pid, reached = seen.pid, False
    for seconds in _pauses(half):
        # One that is just being started can't be asked nor signalled yet: so again until it can.
        reached = reached or _ask_to_leave(root, seen, half) or _terminate(root, seen)
        time.sleep(seconds)
        seen = look_at(root)
        if seen is None:
            return pid
        pid = seen.pid or pid  # one that is going has closed its files before its lock is free
    _terminate(root, seen)
    if _is_free_by(root, end):
        return seen.pid
    again = look_at(root)
    if again is not None and again.pid == seen.pid:
        _signal(root, again, signal.SIGKILL)
    wait_free(root, time.monotonic() + _KILLED_S)
    return seen.pid


def _ask_to_leave(root: Path, seen: Silent, end: float) -> bool:
    """Return whether an owner took the request to leave."""
    if seen.state.startswith("stopped"):
        _signal(root, seen, signal.SIGCONT)
    try:
        connection = connect(root, end)
        if connection is None:
            return False  # it holds the lock and does not listen: still starting, or already leaving
        with connection:
            exchange(connection, encode_request(Request(verb="owner.stop")), end)
    except (ConnectionError, DeadlineExceededError, OwnerUnavailableError):
        return False
    return True


def _is_free_by(root: Path, end: float) -> bool:
    for seconds in _pauses(end):
        if not _held(root):
            return True
        time.sleep(seconds)
    return False


def _terminate(root: Path, seen: Silent) -> bool:
    """Send SIGTERM, and SIGCONT behind it: an owner that was stopped since we looked hears it then.

    Returns whether there was an owner to send it to.
    """
    sent = _signal(root, seen, signal.SIGTERM)
    _signal(root, seen, signal.SIGCONT)
    return sent


def _signal(root: Path, seen: Silent, number: signal.Signals) -> bool:
    """Send a signal to the owner of ``root``, to nobody else; whether it was sent."""
    if not (seen.pid and seen.is_owner and run_folder.has_open(seen.pid, lock_path(root))):
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(seen.pid, number)
    return True


def restart_owner(root: Path, timeout_s: float = 15.0) -> int:
    """Stop the owner of ``root``, if any, start a new one; its pid. Raises as the two functions do."""
    end = time.monotonic() + timeout_s
    stop_owner(root, timeout_s)
    with start_owner(root) as starting:
        wait_ready(root, end, starting)
    holder = run_folder.read_holder(lock_path(root))
    return holder.pid if holder is not None else starting.pid


def find_owner_command(env: Mapping[str, str] | None = None) -> list[str]:
    """Return how to execute the owner: $CONTEXT_GRAPH_PYTHON, else this interpreter, else the console script.
    OwnerUnavailableError lists where it looked.
    """
    env = os.environ if env is None else env
    # -P: a module of the folder we happen to be in must never be imported as one of ours.
    as_module = ["-P", "-m", "context_graph.owner"]
    named = env.get("CONTEXT_GRAPH_PYTHON", "")
    for python in (named, sys.executable or ""):
        if python and os.access(python, os.X_OK):
            return [python, *as_module]
    places = [Path(named or "$CONTEXT_GRAPH_PYTHON"), *_script_places("context-graph-owner", env)]
    script = _first_executable(places)
    if script is None:
        raise OwnerUnavailableError(f"the owner was not found; looked at {_listed(places)}")
    return [os.fspath(script)]


def find_launcher(env: Mapping[str, str] | None = None) -> Path:
    """Return the native launcher of this installation, else of the user's or of PATH. Raises ConfigError."""
    env = os.environ if env is None else env
    places = _script_places("context-graph-cli", env)
    launcher = _first_executable(places)
    if launcher is None:
        raise ConfigError(f"the launcher context-graph-cli was not found; looked at {_listed(places)}")
    return launcher


def _script_places(name: str, env: Mapping[str, str]) -> list[Path]:
    folders = [os.path.dirname(sys.executable or ""), os.path.join(sys.prefix, "bin")]
    if env.get("HOME", "").startswith("/"):
        folders.append(os.path.join(env["HOME"], ".local", "bin"))
    folders += env.get("PATH", "").split(":")
    return [Path(folder, name) for folder in dict.fromkeys(folders) if folder.startswith("/")]


def _first_executable(places: list[Path]) -> Path | None:
    return next((place for place in places if place.is_file() and os.access(place, os.X_OK)), None)


def _listed(places: list[Path]) -> str:
    return ", ".join(map(str, places)) + "; `pip install context-graph` puts it there"


def _held(root: Path) -> bool:
    try:
        return run_folder.is_locked(lock_path(root))
    except OSError as error:
        raise OwnerUnavailableError(f"lock file {lock_path(root)} can't be read: {error.strerror}") from error


def _pauses(end: float) -> Iterator[float]:
    """Growing pauses until the monotonic time ``end``, at least one."""
    seconds = _SHORT_S
    while True:
        yield seconds
        if time.monotonic() >= end:
            return
        seconds = min(seconds * 1.5, _LONG_S)


def _spawn_detached(command: list[str], lock: int, says: int) -> int:
    """Execute ``command`` with ``--lock-fd`` appended, detached from this process; its pid. OSError: no
    shell.

    A hook's caller waits for its children and its open outputs, so the owner must be neither, and a program
    that goes on must not be left with a zombie. The shell in between does the second fork: Python 3.12 warns
    about forking a process that may have threads.
    """
    report, reports = _pipe()
    handed = max(lock, says, reports) + 1  # none of ours, so no dup2 below overwrites what a later one needs
    # In `/`: it must hold no folder that somebody may want to remove.
    place = "cd / && " if command[0].startswith("/") else ""
    line = f'{place}{{ "$@" >/dev/null & echo $!; }}'
    words = ["/bin/sh", "-c", line, "sh", *command, "--lock-fd", str(handed)]
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, reports, 1),
        (os.POSIX_SPAWN_DUP2, says, 2),
        (os.POSIX_SPAWN_DUP2, lock, handed),
    ]
    try:
        shell = _in_own_session(words, actions)
        os.close(reports)
        reports = -1
        with open(report, "rb", closefd=False) as source:
            answer = source.read().strip()
        os.waitpid(shell, 0)
    finally:
        os.close(report)
        if reports >= 0:
            os.close(reports)
    if not answer.isdigit():
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), command[0])
    return int(answer)


def _in_own_session(words: list[str], actions: list[tuple[str | int, ...]]) -> int:
    """Execute ``words`` with what an owner may keep of the environment; its pid.

    In a session of its own, so that nothing reaches it that is meant for the client's; where the system can't
    do that in one call, the owner leaves that session itself.
    """
    env = kept_environment(os.environ)
    ignored_here = (signal.SIGPIPE, signal.SIGXFSZ)

    def spawn(setsid: bool) -> int:
        return os.posix_spawn(
            words[0], words, env, file_actions=actions, setsid=setsid, setsigmask=(), setsigdef=ignored_here
        )

    try:
        return spawn(setsid=True)
    except NotImplementedError:
        return spawn(setsid=False)


def _pipe() -> tuple[int, int]:
    """Return a pipe clear of the standard descriptors, which the child opens anew."""
    return tuple(map(_above_standard, os.pipe()))  # type: ignore[return-value]  # two in, two out


def _above_standard(handle: int) -> int:
    if handle > 2:
        return handle
    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(handle)
    return moved
