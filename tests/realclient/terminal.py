"""A pseudo-terminal for an interactive client: keys are typed when a text is on its screen.

The screen is pyte's: a client sends only the characters that change, so its bytes hold no text in one piece.
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

import pyte

__all__ = ["Terminal"]

_ROWS, _COLUMNS = 50, 140
_UNKNOWN = re.compile(rb"\x1b\[[<=>?][0-9;]*[ -/]*[@-gi-km-~]")
"""Private sequences that change no text, such as questions about the keyboard; pyte fails at some of them."""
_KEY_S = 0.02
_SETTLE_S = 0.4
"""Between a text's coming and the first key: a dialog takes no keys while it is being drawn."""


class Terminal:
    """Starts ``command`` as leader of a session on a terminal of its own.

    Args:
        keys: Steps ``(text, keys)``, in order: when ``text`` (blanks don't count) is on the screen, ``keys``
            are typed, one by one.
        log: Takes what the screen shows, each time it has changed; a form feed ends each.
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
        self._screen = pyte.Screen(_COLUMNS, _ROWS)
        self._shown = ""
        self._changed = threading.Condition()
        self.typed = 0
        """How many steps were gone."""
        threading.Thread(target=self._read, args=(log,), daemon=True).start()
        threading.Thread(target=self._type, args=(list(keys),), daemon=True).start()

    def _read(self, log: Path) -> None:
        stream = pyte.ByteStream(self._screen)
        with log.open("w", encoding="utf-8", buffering=1) as out:
            while True:
                try:
                    data = os.read(self._master, 65536)
                except OSError:  # the last process on the terminal is gone
                    return
                stream.feed(_UNKNOWN.sub(b"", data))
                shown = "\n".join(line.rstrip() for line in self._screen.display)
                if shown == self._shown:
                    continue
                out.write(f"{shown}\n\f")
                with self._changed:
                    self._shown = shown
                    self._changed.notify_all()

    def _type(self, steps: list[tuple[str, str]]) -> None:
        for text, keys in steps:
            wanted = "".join(text.split())
            with self._changed:
                while wanted not in "".join(self._shown.split()):
                    self._changed.wait()
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
