"""Prints `req statusline`, the client's status line about requirements, from the owner, else from Python.

`status --line`: the session's state from brief.bin before it. Twin of ext/launcher/src/statusline.rs. Pure:
no event, nothing spooled, no owner started. Whatever fails is a short line, never an error.
"""

from __future__ import annotations

import os
import time

from context_graph import __version__
from context_graph.errors import ContextGraphError
from context_graph.front import brief, client, gate, paths
from context_graph.front.client import Client, NoAnswer
from context_graph.front.paths import session_id, travelling
from context_graph.front.trouble import JUST_NOW, Silence
from context_graph.system.streams import LATE, Deadline, read_to_end, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from context_graph.front.paths import Places

_OWNER_MS = 150
"""The client asks some times a second at most, and shows the old line until it has the new one."""
_WITHIN_MS = 2_000
_STDIN_MS = 1_000
_INPUT_MAX = 4 * 1024 * 1024
_UNGOVERNED = b"no requirements here\n"
"""What a project without requirements is told; nothing that a line about the whole session needs."""


def run(env: Mapping[str, str], with_state: bool) -> None:
    """Print the line about requirements.

    With the session's state before it if ``with_state``; there it is left out where no requirements hold.
    """
    started = time.monotonic()
    try:
        places = paths.locate(env)
    except ContextGraphError as error:
        text = f"context-graph: {error}\n" if with_state else f"requirements ? ({error})\n"
        write_all(1, text.encode("utf-8", "replace"))
        return
    body = _body(started)
    state = _state(env, places, body) if with_state else b""
    told = _from_owner(env, places, body) or _from_python(env, places, body, started) or b"requirements ?\n"
    if with_state:
        told = state + b"\n" if told == _UNGOVERNED else state + b"  " + told
    write_all(1, told)


def _body(started: float) -> bytes:
    """The client's JSON as it came; nothing from a terminal."""
    if os.isatty(0):
        return b""
    body, stop = read_to_end(0, _INPUT_MAX, Deadline(_STDIN_MS, started))
    return body if stop == LATE or len(body) <= _INPUT_MAX else b""


def _state(env: Mapping[str, str], places: Places, body: bytes) -> bytes:
    """The brief of the session that the client's JSON names, else the environment's, else the newest."""
    from context_graph.front.document import top_text

    session = top_text(body, "session_id") or session_id(env) or None
    return brief.line(brief.lookup(f"{places.store}/brief.bin", session)).encode()


def _from_owner(env: Mapping[str, str], places: Places, body: bytes) -> bytes:
    if Silence(places.root).heard() == JUST_NOW:
        return b""
    deadline = Deadline(_OWNER_MS)
    fields = (
        ("verb", b"req.statusline"),
        ("body", body),
        ("session_env", os.fsencode(session_id(env))),
        ("cwd", os.fsencode(places.cwd)),
        ("env", travelling(env)),
        ("at_ms", (time.time_ns() // 1_000_000).to_bytes(8, "little")),
        ("version", __version__.encode()),
    )
    try:
        said = client.ask(Client(places.root).connect(deadline), fields, deadline)
    except NoAnswer:
        return b""
    # An owner of before the status line has another answer to this verb.
    return said.stdout if said.exit_code == 0 else b""


def _from_python(env: Mapping[str, str], places: Places, body: bytes, started: float) -> bytes:
    at_ms = str(time.time_ns() // 1_000_000)
    question = ("statusline", places.root, places.cwd, session_id(env), "", at_ms, str(os.getppid()), "", "")
    try:
        return gate.ask(env, places.cwd, question, body, Deadline(_WITHIN_MS, started))[1]
    except gate.GateError:
        return b""
