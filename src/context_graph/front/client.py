"""Sends one request to the owner: one connect, one send, one read, within the time budget.

Twin of ext/launcher/src/client.rs. ``wire.client`` is the same for commands, which have more time.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from context_graph.config import places
from context_graph.errors import FrameTooLargeError, WireError
from context_graph.system.peers import peer_uid
from context_graph.system.streams import READ, WRITE, Deadline, connect, wait
from context_graph.wire import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterable

ABSENT = "absent"
"""Nobody listens."""
DECLINED = "declined"
"""An owner that would not apply the event, or is leaving for a newer one."""
UNSTARTABLE = "unstartable"
"""No owner listens, and none can be started."""
FAILING = "failing"
"""An owner that could not apply it: its store fails, and will at once again. ``text`` is for the user."""
TIMEOUT = "timeout"
"""An owner is there and said nothing in time."""
SILENT = "silent"
"""It said nothing in time a moment ago, and was not asked."""
REFUSED = "refused"
"""It would not, and another attempt would be told the same."""
BROKEN = "broken"
"""It broke off, or what it said is no reply."""

_SAID = {
    ABSENT: "no owner: {}",
    DECLINED: "the owner declined (flags {})",
    UNSTARTABLE: "no owner can be started: {}",
    FAILING: "the owner can't use the store; its log says why",
    TIMEOUT: "the owner did not answer in time",
    SILENT: "the owner did not answer a moment ago, so it was not asked",
    REFUSED: "{}",
    BROKEN: "the owner's answer is unusable: {}",
}
_RECEIVE = 256 * 1024


class NoAnswer(Exception):
    """Why there is no answer: ``why`` is one of the words above; ``flags`` those of a reply that declined."""

    def __init__(self, why: str, detail: str = "", flags: int = 0) -> None:
        super().__init__(why, detail)
        self.why, self.detail, self.flags = why, detail, flags

    def text(self) -> str:
        """For the debug line."""
        return _SAID[self.why].format(self.detail or self.flags)


class Answer:
    """What the owner said."""

    __slots__ = ("exit_code", "flags", "stderr", "stdout")

    def __init__(self, exit_code: int, flags: int, stdout: bytes, stderr: bytes) -> None:
        self.exit_code, self.flags, self.stdout, self.stderr = exit_code, flags, stdout, stderr


class Client:
    """Connects only where it is safe to send what a hook says."""

    def __init__(self, root: str) -> None:
        self._path = places.socket_path(root)
        self._shared = os.path.dirname(self._path) if not self._path.startswith(f"{root}/") else ""
        self._uid = os.getuid()

    def connect(self, deadline: Deadline) -> socket:
        """Connect, waiting for a place in the owner's queue until ``deadline``.

        Raises:
            NoAnswer: ABSENT or TIMEOUT.
        """
        self._check_folder()
        while True:
            try:
                connection = connect(self._path)
            except OSError as error:
                if error.errno != errno.EAGAIN:
                    raise NoAnswer(ABSENT, error.strerror or str(error)) from error
                if deadline.left_ms() == 0:
                    raise NoAnswer(TIMEOUT) from error
                time.sleep(0.001)  # the owner's queue of clients is full: no poll waits for room in it
                continue
            try:
                if peer_uid(connection) == self._uid:
                    return connection
            except OSError:
                pass  # who can't be told is nobody we know
            connection.close()
            raise NoAnswer(ABSENT, "another user's process listens on the socket")

    def _check_folder(self) -> None:
        """A socket under /tmp counts only in a folder that nobody else can have made (invariant 4)."""
        if not self._shared:
            return
        try:
            found = os.lstat(self._shared)
        except OSError as error:
            raise NoAnswer(ABSENT, error.strerror or str(error)) from error
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != self._uid or found.st_mode & 0o077:
            raise NoAnswer(ABSENT, f"{self._shared} is not a private folder of ours")


def ask(connection: socket, fields: Iterable[tuple[str, bytes]], deadline: Deadline) -> Answer:
    """Send the request on ``connection`` and wait for the reply until ``deadline``.

    Raises:
        NoAnswer: DECLINED, FAILING, TIMEOUT or BROKEN.
    """
    try:
        frame = layout.request_frame(fields)
    except FrameTooLargeError as error:
        raise NoAnswer(BROKEN, "the request is above 16 MiB") from error
    _send(connection, frame, deadline)
    return _answer(*_receive(connection, deadline))


def _send(connection: socket, frame: bytes, deadline: Deadline) -> None:
    view = memoryview(frame)
    while view:
        try:
            view = view[connection.send(view) :]
        except OSError as error:
            if error.errno == errno.EAGAIN:
                _wait(connection, WRITE, deadline)
            elif wait(((connection.fileno(), READ),), 0)[0]:
                return  # it may have answered before it hung up (a frame it refuses): what there is decides
            else:
                raise NoAnswer(BROKEN, error.strerror or str(error)) from error


def _wait(connection: socket, event: int, deadline: Deadline) -> None:
    while not wait(((connection.fileno(), event),), deadline.left_ms())[0]:
        if deadline.left_ms() == 0:
            raise NoAnswer(TIMEOUT)


def _receive(connection: socket, deadline: Deadline) -> tuple[int, int, bytes, bytes]:
    data = b""
    length = -1
    try:
        while length < 0 or len(data) < layout.HEADER_BYTES + length:
            _wait(connection, READ, deadline)
            try:
                part = connection.recv(_RECEIVE)
            except BlockingIOError:
                continue
            if not part:
                raise NoAnswer(BROKEN, "it hung up")
            data += part
            if not layout.REPLY_MAGIC.startswith(data[:4]):
                raise NoAnswer(BROKEN, "no response frame")
            if length < 0 and len(data) >= layout.HEADER_BYTES:
                length = layout.payload_length(data, layout.REPLY_MAGIC)
        if len(data) > layout.HEADER_BYTES + length:
            raise NoAnswer(BROKEN, "bytes behind the response")
        return layout.reply_parts(data[layout.HEADER_BYTES :])
    except WireError as error:
        raise NoAnswer(BROKEN, str(error)) from error
    except OSError as error:
        raise NoAnswer(BROKEN, error.strerror or str(error)) from error


def _answer(exit_code: int, flags: int, stdout: bytes, stderr: bytes) -> Answer:
    """What the owner said, unless it declined."""
    if not flags & (layout.SPOOL_IT | layout.YIELDING):
        return Answer(exit_code, flags, stdout, stderr)
    # Only what a store says of itself is meant for the hook's caller.
    if flags & layout.YIELDING or not stdout:
        raise NoAnswer(DECLINED, flags=flags)
    from context_graph.front.document import top_text

    raise NoAnswer(FAILING, top_text(stdout, "systemMessage"))
