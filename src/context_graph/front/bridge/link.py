"""Connects to the owner: starts one if there is none, and attaches. Twin of ext/launcher/src/bridge/link.rs.
Connects to the owner: starts one if there is none, and attaches. Twin of ext/launcher/src/bridge/link.rs."""

from __future__ import annotations

import os
import time

from context_graph import __version__
from context_graph.front import client
from context_graph.front.client import Client, NoAnswer
from context_graph.front.event import fresh_id
from context_graph.front.paths import session_id
from context_graph.front.programs import STARTED, Starter
from context_graph.front.trouble import JUST_NOW, Silence
from context_graph.system.streams import READ, Deadline, wait
from context_graph.wire.layout import YIELDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Mapping

    from context_graph.front.paths import Places

_UP_MS = 20_000
"""How long an owner may take to come up, and to answer the first frame."""
_SILENT_MS = 1_000
"""What one gets that was silent a moment ago."""
_PAUSE_MS = 5
_PING_MS = 5_000
"""How long an owner that has been silent may take for the least of answers."""
_UNWILLING_MS = 2_000
"""How long an owner that is there but will not is asked again: it may be serving too many others."""
_STARTS_MAX = 3
"""How many owners are started for one connection: one that ends at its start will end again."""


class LinkError(Exception):
    """Why there is no owner."""


class Link:
    """Makes connections that speak JSON-RPC to the owner of one data root."""

    def __init__(self, env: Mapping[str, str], places: Places) -> None:
        self._client, self._starter = Client(places.root), Starter(places)
        self._silence = Silence(places.root)
        self._env, self._places = env, places
        # Names this bridge in all its connections: together with a request's bytes it tells the owner a
        # request that is sent again from a new one.
        self._id = fresh_id()

    def open(self, stop: int) -> socket:
        """An attached connection; starts an owner where there is none.

        Args:
            stop: A descriptor that becomes readable when the client wants this process gone.

        Raises:
            LinkError
        """
        up_by, willing_by = Deadline(_UP_MS), Deadline(_UNWILLING_MS)
        starts = 0
        while True:
            try:
                return self._attach()
            except NoAnswer as error:
                why = error
            if why.why == client.REFUSED:
                raise LinkError(why.detail)
            starts = self._start(why, starts)
            if why.why == client.DECLINED and not why.flags & YIELDING and willing_by.left_ms() == 0:
                raise LinkError(f"{why.text()}; its log may say why")
            if why.why == client.TIMEOUT:
                self.note_silence()
                raise LinkError("it does not answer; context-graph-cli owner status says what it does")
            if up_by.left_ms() == 0:
                raise LinkError(why.text())
            if wait(((stop, READ),), _PAUSE_MS)[0]:
                raise LinkError("it was told to end")

    def _start(self, why: NoAnswer, starts: int) -> int:
        """Start an owner where that may help; how many were started for this connection."""
        if why.why in (client.ABSENT, client.DECLINED) and starts < _STARTS_MAX:
            how, reason = self._starter.start(self._env)
            if not how:
                raise LinkError(reason)
            return starts + (how == STARTED)
        if why.why == client.ABSENT and self._starter.is_free():
            raise LinkError("the owner ends at its start; its log says why")
        return starts

    def owner_answers(self) -> bool:
        """Whether the owner answers at all, asked beside what it is doing for us."""
        deadline = Deadline(_PING_MS)
        try:
            connection = self._client.connect(deadline)
        except NoAnswer:
            return False
        try:
            client.ask(connection, (("verb", b"owner.ping"), ("version", __version__.encode())), deadline)
        except NoAnswer:
            return False
        finally:
            connection.close()
        return True

    def was_silent(self) -> bool:
        """Whether an owner did not answer a moment ago: then nobody waits for it long."""
        return self._silence.heard() == JUST_NOW

    def note_silence(self) -> None:
        """It does not answer."""
        self._silence.note()

    def _attach(self) -> socket:
        deadline = Deadline(_SILENT_MS if self.was_silent() else _UP_MS)
        connection = self._client.connect(deadline)
        fields = (
            ("verb", b"mcp.attach"),
            ("event_id", self._id.encode()),
            ("store", os.fsencode(self._places.store)),
            ("project", os.fsencode(self._places.top)),
            ("session_env", os.fsencode(session_id(self._env))),
            ("cwd", os.fsencode(self._places.cwd)),
            ("at_ms", (time.time_ns() // 1_000_000).to_bytes(8, "little")),
            ("version", __version__.encode()),
        )
        try:
            said = client.ask(connection, fields, deadline)
            if said.exit_code:
                raise NoAnswer(client.REFUSED, said.stderr.decode("utf-8", "replace").strip())
        except BaseException:
            connection.close()
            raise
        return connection
