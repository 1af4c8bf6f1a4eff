"""Describes one hook call: its facts, and the two forms in which they leave the process.

Twin of ext/launcher/src/event.rs.
"""

from __future__ import annotations

import os

from context_graph import __version__
from context_graph.front.options import SWITCH, TEXT
from context_graph.front.paths import session_id, travelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_graph.front.copy import Copier
    from context_graph.front.options import Options
    from context_graph.front.paths import Places

_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:,;@%+=()[]{}<>!?*#&|~^$'"
)


def fresh_id() -> str:
    """32 lower-case hexadecimal digits nobody else has."""
    return os.urandom(16).hex()


def quoted(text: str) -> str:
    """``text`` as a JSON string; what is not UTF-8 in it is replaced."""
    if _PLAIN.issuperset(text):
        return f'"{text}"'
    import json  # 4 ms: rare characters alone pay them

    return json.dumps(os.fsencode(text).decode("utf-8", "replace"))


class Event:
    """Everything that is known of one call.

    Attributes:
        id: The same in a retry and in the spool: the owner applies an id once.
        at_ms: Unix milliseconds at which the hook started.
        body: Standard input as read; None if it was not.
    """

    __slots__ = ("at_ms", "body", "env", "id", "options", "places")

    def __init__(
        self, options: Options, env: Mapping[str, str], places: Places, at_ms: int, body: bytes | None
    ) -> None:
        self.options, self.env, self.places = options, env, places
        self.id, self.at_ms, self.body = fresh_id(), at_ms, body

    def params(self) -> bytes:
        """The command's options as a JSON object."""
        pairs = [
            f'"{name}":{value if takes == SWITCH else quoted(value)}'
            for name, takes, value in self.options.given()
        ]
        # No option: settings and a plugin may bring the owner one event each, and it takes it once.
        if self.env.get("CLAUDE_PLUGIN_ROOT"):
            pairs.append('"plugin":true')
        return ("{" + ",".join(pairs) + "}").encode()

    def session_id(self) -> str:
        """The session as the owner will determine it (D1.5): the client's, the input's, the option's."""
        named = session_id(self.env)
        if not named and self.body:
            from context_graph.front.document import top_text

            named = top_text(self.body, "session_id")
        return named or self.options.session_id or ""

    def request(self, deadline_ms: int) -> Iterator[tuple[str, bytes]]:
        """The fields of the request for the owner, in the order of their tags."""
        yield "verb", f"hooks.{self.options.kind}".encode()
        yield "event_id", self.id.encode()
        yield "params", self.params()
        yield "body", self.body or b""
        yield "store", os.fsencode(self.places.store)
        yield "project", os.fsencode(self.places.top)
        yield "session_env", os.fsencode(session_id(self.env))
        yield "cwd", os.fsencode(self.places.cwd)
        yield "env", travelling(self.env)
        yield "deadline_ms", min(deadline_ms, 0xFFFFFFFF).to_bytes(4, "little")
        yield "at_ms", self.at_ms.to_bytes(8, "little")
        yield "version", __version__.encode()
        yield "parent_pid", os.getppid().to_bytes(4, "little")

    def spool_json(self, copier: Copier) -> bytes:
        """The spool's JSON, redacted.

        Raises:
            Fault: The body is no JSON object.
        """
        params: dict[str, object] = {}
        for name, takes, value in self.options.given():
            masked = copier.text(os.fsencode(value).decode("utf-8", "replace"), identity=takes != TEXT)
            params[name] = value == "true" if takes == SWITCH else masked
        if self.env.get("CLAUDE_PLUGIN_ROOT"):
            params["plugin"] = True
        return self._record(self.id, f"hooks.{self.options.kind}", params, self.body, copier)

    def decision_json(self, record: bytes, copier: Copier) -> bytes:
        """The spool's JSON for what a gate decided about this event; ``record`` must be a JSON object.

        Raises:
            Fault: It is none.
        """
        # An id of its own: the event's may be in the spool as well.
        return self._record(fresh_id(), "req.record", {}, record, copier)

    def _record(
        self, event_id: str, verb: str, params: dict[str, object], body: bytes | None, copier: Copier
    ) -> bytes:
        import json

        from context_graph.front.document import parse

        session = os.fsencode(session_id(self.env)).decode("utf-8", "replace")
        value = {
            "v": 1,
            "id": event_id,
            "verb": verb,
            "session": copier.text(session, identity=True),
            "at_ms": self.at_ms,
            "project": self.places.top,
            "cwd": self.places.cwd,
            "params": params,
            "body": None if body is None else copier.value(parse(body)),
        }
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        try:
            return text.encode()
        except UnicodeEncodeError:
            # A path may hold bytes that are not UTF-8: surrogates here, which only an escape can carry.
            return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
