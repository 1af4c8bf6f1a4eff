"""The process that computes a consolidation, as the owner sees it: started, listened to, ended.

It talks as `dream.messages` says. Its words are read on the event loop; nothing here waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from context_graph.dream import messages
from context_graph.errors import ContextGraphError, OwnerError

__all__ = ["Child"]

_RECV_BYTES: Final = 64 * 1024
_LINE_MAX: Final = 64 * 1024
"""Bytes of one line; an update has some hundred."""
_REAP_S: Final = 0.005
"""Between two looks at a process that has closed its output and is about to be gone."""
_GONE_S: Final = 2.0
_LOOKS: Final = 4
"""Looks at a process within the time it may be silent."""
_TOLD_CHARS: Final = 300
_ERRORS: Final = "stderr"


class Child:
    """One such process, working in ``folder``.

    Args:
        task: Its line of standard input (`messages.write_line` of a Task).
        limit_s: Processor seconds that it may use without a word.
        on_line: Gets all it says but its last word.
        on_end: Gets its last word, or why there is none, once it is gone; not called after `kill`.

    Raises:
        OSError: It can't be started.
    """

    def __init__(
        self,
        folder: Path,
        task: bytes,
        loop: asyncio.AbstractEventLoop,
        *,
        limit_s: float,
        on_line: Callable[[messages.Update], None],
        on_end: Callable[[messages.Ready | ContextGraphError], None],
    ) -> None:
        self._folder = folder
        self._loop = loop
        self._on_line = on_line
        self._on_end = on_end
        self._held = b""
        self._limit_s = limit_s
        self._cpu_s = 0.0
        """The processor time it had used when it last said something."""
        self._watch: asyncio.TimerHandle | None = None
        self._last: messages.Ready | ContextGraphError | None = None
        self._killed = self._gone = False
        self._then: Callable[[], None] = _nothing
        with open(folder / _ERRORS, "wb") as errors:
            self._process = subprocess.Popen(
                messages.arguments(folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd="/",
                bufsize=0,
                start_new_session=True,  # a terminal's Ctrl-C is for the owner to decide about
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        with contextlib.suppress(OSError):  # it died at once: the end of its output tells
            self._stdin.write(task)
        os.set_blocking(self._stdout.fileno(), False)
        loop.add_reader(self._stdout.fileno(), self._on_readable)
        self._arm()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def kill(self, then: Callable[[], None]) -> None:
        """End it at once; nothing it did stays but its folder. ``then`` is called when it is gone."""
        self._killed = True
        self._then = then
        self._process.kill()
        self._hang_up()
        self._reap()

    def wait(self) -> None:
        """Block until a killed process is gone, a few seconds at most: for an owner that leaves."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GONE_S)

    def _arm(self) -> None:
        self._watch = self._loop.call_later(self._limit_s / _LOOKS, self._look)

    def _look(self) -> None:
        """End a process that computes and computes: by its processor time, for others go before it."""
        used = processor_s(self.pid) - self._cpu_s
        if used < self._limit_s:
            self._arm()
            return
        self._watch = None
        self._last = OwnerError(
            f"the consolidation's process was ended: it used {used:.0f} s of processor time without getting "
            "anywhere; nothing was changed: ask again"
        )
        self._process.kill()
        self._hang_up()
        self._reap()

    def _on_readable(self) -> None:
        try:
            data = os.read(self._stdout.fileno(), _RECV_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            self._reap()
            return
        self._cpu_s = processor_s(self.pid)
        *lines, self._held = (self._held + data).split(b"\n")
        try:
            if len(self._held) > _LINE_MAX:
                raise OwnerError("the consolidation's process sent a line without end")
            for line in lines:
                self._take(messages.read_line(line))
        except OwnerError as error:
            self._last = error
            self._process.kill()
            self._hang_up()
            self._reap()

    def _take(self, line: messages.Line) -> None:
        if isinstance(line, messages.Ready):
            self._last = line
        elif isinstance(line, messages.Failed):
            self._last = line.error()
        elif not self._killed:
            self._on_line(line)

    def _hang_up(self) -> None:
        """Close both pipes; a process that still runs ends by that."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._stdout.closed:
            return
        self._loop.remove_reader(self._stdout.fileno())
        self._stdout.close()
        self._stdin.close()

    def _reap(self) -> None:
        code = self._process.poll()
        if self._gone or code is None:
            if not self._gone:
                self._loop.call_later(_REAP_S, self._reap)
            return
        self._gone = True
        if self._killed:
            self._then()
            return
        last = self._last
        if last is None or (code != 0 and isinstance(last, messages.Ready)):
            last = OwnerError(f"the consolidation's process {_how(code)}; nothing was changed: ask again")
            if told := self._told():  # for the log: a traceback is nothing for a client
                last.add_note(told)
        self._on_end(last)

    def _told(self) -> str:
        """The end of what it wrote to stderr."""
        with contextlib.suppress(OSError):
            return (self._folder / _ERRORS).read_text("utf-8", "replace").strip()[-_TOLD_CHARS:]
        return ""


def processor_s(pid: int) -> float:
    """Processor seconds that a process has used; 0 if that can't be told."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))
    except (OSError, IndexError, ValueError):
        return 0.0


def _how(code: int) -> str:
    """How a process ended without a last word."""
    if code >= 0:
        return f"ended with code {code}, and log/owner.log has what it said"
    if code == -signal.SIGKILL:
        return "was killed by signal 9, as the system does when memory is short"
    return f"was killed by signal {-code}"


def _nothing() -> None:
    """Nobody waits."""
