"""Carries lines between the client and the owner. Twin of ext/launcher/src/bridge/mod.rs."""

from __future__ import annotations

import os
import signal

from context_graph.front.bridge import message
from context_graph.front.bridge.flight import Flights, failure
from context_graph.front.bridge.link import LinkError
from context_graph.front.bridge.message import id_json
from context_graph.system.streams import READ, WRITE, Deadline, above_standard, wait, write_some

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

    from context_graph.front.bridge.link import Link

_MESSAGE_MAX = 2 * 1024 * 1024
"""What the owner takes as one message (owner/socket/lines.py, LINE_MAX)."""
_LINE_MAX = 64 * 1024 * 1024
"""What is read of a longer one, to find whose it is; beyond that a client is sending something else."""
_FLYING_MAX = 256
_HELD_MAX = 16 * 1024 * 1024
"""Beyond these nothing more is read of the client."""
_LAST_ANSWERS_MS = 120_000
"""After the client's last word: how long answers are waited for that are still due."""
_SILENT_MS = 15_000
"""How long an owner may be silent while requests wait, before it is asked whether it answers anybody. Those
that take their time leave it free to say so."""
_KNOWN_MS = 1_000
"""The same, for one that did not answer somebody a moment ago."""
_READ = 64 * 1024
_STUCK = (
    "it is stopped or hangs (context-graph-cli owner status says what it does, owner restart gives a new "
    "one); what was asked may yet be done"
)


def signals_as_input() -> int:
    """From now on SIGINT and SIGTERM end nothing; they make the returned descriptor readable."""
    reading, writing = (above_standard(handle) for handle in os.pipe())
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reading


class Lines:
    """Bytes on their way, of which whole lines are taken."""

    def __init__(self) -> None:
        self._held = bytearray()

    def __len__(self) -> int:
        return len(self._held)

    def clear(self) -> None:
        """Forget what is held of a line."""
        self._held.clear()

    def take(self, data: bytes) -> list[bytes]:
        """Put ``data`` behind what is held; out come the lines that are whole now, each with its newline."""
        end = data.rfind(b"\n")
        if end < 0:
            self._held += data
            return []
        whole = bytes(self._held) + data[: end + 1]
        self._held = bytearray(data[end + 1 :])
        return [line + b"\n" for line in whole.split(b"\n")[:-1]]


class Bridge:
    """One client's conversation."""

    def __init__(self, link: Link, stop: int) -> None:
        self._link, self._stop = link, stop
        self._owner: socket | None = None
        self._flights = Flights()
        self._from_client, self._from_owner = Lines(), Lines()
        self._to_owner, self._to_client = bytearray(), bytearray()
        self._client_ended = False
        self._ended_by = Deadline(_LAST_ANSWERS_MS)
        self._skipping = False  # a line that never ends is being passed over
        self._why = ""
        self._silent_by = Deadline(
            _SILENT_MS
        )  # when to ask whether the owner lives; counts while requests wait

    def run(self) -> None:
        """Carry until the client has gone and has had its answers, or sends a signal."""
        # At once: an owner that has to be started comes up while the client is still talking itself in.
        self._connect()
        while not self._is_over():
            last_answers = self._ended_by.left_ms() if self._client_ended else None
            limits = [limit for limit in (self._silence_left(), last_answers) if limit is not None]
            client, answers, owner, told = wait(self._watches(), min(limits) if limits else None)
            if told:
                # What the client has said is handed on; its answers have nobody left to read them.
                if self._to_owner:
                    self._write_owner()
                return
            if not (client or answers or owner) and last_answers == 0:
                return
            if answers and not self._write_client():
                return
            self._serve_owner(owner)
            if self._silence_left() == 0:
                self._probe_owner()
            if client:
                self._read_client()

    def _silence_left(self) -> int | None:
        """Milliseconds for which the owner may go on being silent; None if it owes us nothing."""
        owes = self._owner is not None and self._flights.count > 0
        return self._silent_by.left_ms() if owes else None

    def _probe_owner(self) -> None:
        """An owner that is stopped or hangs would leave the client waiting for ever: its requests are
        answered here.
        """
        if not self._link.owner_answers():
            self._link.note_silence()
            self._to_client += self._flights.abandon(_STUCK)
        self._silent_by = Deadline(_SILENT_MS)

    def _is_over(self) -> bool:
        told = not self._to_client and not self._to_owner
        return self._client_ended and told and self._flights.count == 0

    def _watches(self) -> list[tuple[int, int]]:
        """The client's words, its answers, the owner, the signal: each with what is wanted of it."""
        room = self._flights.count < _FLYING_MAX and self._flights.held + len(self._to_owner) < _HELD_MAX
        owner = (READ if len(self._to_client) < _HELD_MAX else 0) | (WRITE if self._to_owner else 0)
        return [
            (0, READ if room and not self._client_ended else 0),
            (1, WRITE if self._to_client else 0),
            (-1 if self._owner is None else self._owner.fileno(), owner),
            (self._stop, READ),
        ]

    def _connect(self) -> None:
        try:
            self._owner = self._link.open(self._stop)
        except LinkError as error:
            self._why = str(error)
            self._give_up()
            return
        self._to_owner = bytearray(self._flights.replay())

    def _give_up(self) -> None:
        self._to_client += self._flights.give_up(self._why)

    def _serve_owner(self, ready: int) -> None:
        if self._owner is None:
            return
        there = True
        if ready & READ:
            self._silent_by = Deadline(_SILENT_MS)
            try:
                data = self._owner.recv(_READ)
                there = bool(data)
                self._take_answers(data)
            except (BlockingIOError, InterruptedError):
                pass  # nothing yet
            except OSError:
                there = False
        if there and ready & WRITE:
            there = self._write_owner()
        if not there:
            self._owner_gone()

    def _write_owner(self) -> bool:
        """Send what waits; False if nobody takes it any more."""
        if self._owner is None:
            return False
        try:
            del self._to_owner[: self._owner.send(memoryview(self._to_owner)[:_READ].tobytes())]
        except (BlockingIOError, InterruptedError):
            pass  # it takes nothing yet
        except OSError:
            # Its last answers may still be there to read; the end of file behind them says the rest.
            return bool(wait(((self._owner.fileno(), READ),), 0)[0])
        return True

    def _owner_gone(self) -> None:
        if self._owner is not None:
            self._owner.close()
        self._owner = None
        self._from_owner.clear()
        self._to_owner.clear()
        self._to_client += self._flights.lost_owner()
        # With nothing on its way there is no hurry: the owner may have left because nobody should run now.
        if self._flights.count:
            self._connect()

    def _take_answers(self, data: bytes) -> None:
        for line in self._from_owner.take(data):
            if self._flights.got(line):
                self._to_client += line

    def _write_client(self) -> bool:
        """Write what the client takes now; False if it takes no more."""
        try:
            del self._to_client[: write_some(1, memoryview(self._to_client)[:_READ].tobytes())]
        except (BlockingIOError, InterruptedError):
            pass  # it takes nothing yet
        except OSError:
            return False
        return True

    def _read_client(self) -> None:
        try:
            data = os.read(0, _READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self._take_lines(data)
            return
        # The end; a last line without its newline counts too.
        self._client_ended = True
        self._ended_by = Deadline(_LAST_ANSWERS_MS)
        if self._from_client:
            self._take_lines(b"\n")

    def _take_lines(self, data: bytes) -> None:
        for line in self._from_client.take(data):
            skipping, self._skipping = self._skipping, False
            if not skipping and line.strip():
                self._take_line(line)
        if len(self._from_client) > _LINE_MAX:
            self._refuse(b"null")
            self._from_client.clear()
            self._skipping = True

    def _take_line(self, line: bytes) -> None:
        if len(line) > _MESSAGE_MAX:
            kind, key, _ = message.sent(line.strip())
            self._refuse(id_json(key) if kind == message.REQUEST else b"null")
            return
        if self._owner is None:
            self._connect()
        if self._flights.count == 0:
            self._silent_by = Deadline(_KNOWN_MS if self._link.was_silent() else _SILENT_MS)
        self._flights.sent(line)
        if self._owner is not None:
            self._to_owner += line
        else:
            self._give_up()

    def _refuse(self, key: bytes) -> None:
        text = f"Invalid Request: a message may have {_MESSAGE_MAX} bytes; send less in one call"
        self._to_client += failure(key, -32600, text, text) + b"\n"
