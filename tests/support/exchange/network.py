"""A connection to a server that can be slow, hang, or be cut."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo


@dataclass
class Cable:
    """From a port of this machine to a PostgreSQL's own socket; what goes through can be changed any time."""

    address: str
    """Of the server, by its socket."""
    delay_s: float = 0.0
    """Of each portion that a client sends: of each query."""
    hangs: bool = False
    """Nothing goes through, in either direction, and nothing is closed."""
    refuses: bytes = b""
    """A parameter of a connection's start that is refused, as poolers do."""
    drops: bytes = b""
    """One that is taken out of it without a word, as poolers do that are set so."""
    port: int = 0
    _listener: socket.socket | None = None
    _ends: list[socket.socket] = field(default_factory=list)

    def plug(self) -> Cable:
        """Take connections."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._take, args=(self._listener,), daemon=True).start()
        return self

    def unplug(self) -> None:
        """Refuse connections, and cut those that there are."""
        if self._listener is not None:
            # A thread that waits in accept() keeps a closed socket open.
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.cut()

    def cut(self) -> None:
        """Cut the connections that there are."""
        for one in self._ends:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._ends.clear()

    def through(self, address: str) -> str:
        """``address`` of the same server, through here."""
        given = {**conninfo_to_dict(address), "host": "127.0.0.1", "port": str(self.port)}
        return make_conninfo("", **{name: str(value) for name, value in given.items()})

    def _take(self, listener: socket.socket) -> None:
        given = conninfo_to_dict(self.address)
        path = Path(str(given["host"])) / f".s.PGSQL.{given.get('port', 5432)}"
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str(path))
                except OSError:
                    client.close()
                    server.close()
                    continue
                self._ends += [client, server]
                for one, other, delayed in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._carry, args=(one, other, delayed), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, delayed: bool) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                if delayed and self.refuses and b"\0" + self.refuses + b"\0" in data[:1024]:
                    one.sendall(_refusal(self.refuses))
                    break
                if delayed and self.drops and b"\0" + self.drops + b"\0" in data[:1024]:
                    data = _without(data, self.drops)
                if delayed and self.delay_s:
                    time.sleep(self.delay_s)
                while self.hangs:
                    time.sleep(0.01)
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)
        one.close()  # the other direction closes the other end


def _without(start: bytes, parameter: bytes) -> bytes:
    """The message that begins a connection, without one of its parameters."""
    at = start.index(b"\0" + parameter + b"\0") + 1
    rest = start[4:at] + start[start.index(b"\0", at + len(parameter) + 1) + 1 :]
    return struct.pack("!I", len(rest) + 4) + rest


def _refusal(parameter: bytes) -> bytes:
    """PostgreSQL's message of an error at the start."""
    said = b"SFATAL\0C08P01\0Munsupported startup parameter: " + parameter + b"\0\0"
    return b"E" + struct.pack("!I", len(said) + 4) + said
