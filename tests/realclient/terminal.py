"""A pseudo-terminal for an interactive client: keys are typed when a text is on its screen.

Standard library only.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Terminal"]

_ROWS, _COLUMNS = 50, 140
_CONTROL = re.compile(
    rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]|[\s\x00-\x1f]"
)
"""Escape sequences and white space: the client moves the cursor where a text has blanks."""
_KEY_S = 0.02
_SETTLE_S = 0.4
"""Between a text's coming and the first key: a dialog takes no keys while it is being drawn."""


class Terminal:
    """Starts ``command`` as leader of a session on a terminal of its own.

    Args:
        keys: Steps ``(text, keys)``, in order: when ``text`` (blanks don't count) has come to the screen
            since the step before, ``keys`` are typed, one by one.
        log: Takes the raw bytes of the screen.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        keys: Sequence[tuple[str, str]],
        log: Path,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**env, "TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            preexec_fn=_lead,
        )
        os.close(slave)
        self._screen = b""
        self._changed = threading.Condition()
        self.typed = 0
        """How many steps were gone."""
        threading.Thread(target=self._read, args=(log,), daemon=True).start()
        threading.Thread(target=self._type, args=(list(keys),), daemon=True).start()

    def _read(self, log: Path) -> None:
        with log.open("wb", buffering=0) as out:
            while True:
                try:
                    data = os.read(self._master, 65536)
                except OSError:  # the last process on the terminal is gone
                    return
                out.write(data)
                with self._changed:
                    self._screen += data
                    self._changed.notify_all()

    def _type(self, steps: list[tuple[str, str]]) -> None:
        seen = 0
        for text, keys in steps:
            wanted = _CONTROL.sub(b"", text.encode())
            with self._changed:
                while wanted not in _CONTROL.sub(b"", self._screen[seen:]):
                    self._changed.wait()
                seen = len(self._screen)
            time.sleep(_SETTLE_S)
            for key in [keys] if keys.startswith("\x1b") else keys:  # an arrow is one write
                try:
                    os.write(self._master, key.encode())
                except OSError:
                    return
                time.sleep(_KEY_S)
            self.typed += 1


def _lead() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
