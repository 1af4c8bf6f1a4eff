"""Knows what one hook call is, and whether requirements may concern it."""

from __future__ import annotations

import time

from context_graph.front import gate
from context_graph.front.paths import is_debug
from context_graph.system.streams import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.front.event import Event


class Call:
    """One call, from its arguments to its end."""

    def __init__(self, event: Event, started: float) -> None:
        self.event = event
        self.started = started
        self.options = event.options
        self.is_claude = event.options.format == "claude"

    def debug(self, text: str) -> None:
        """Say on standard error what is done, if that is asked for."""
        if is_debug(self.event.env):
            write_all(2, f"context-graph-cli: debug: {text}\n".encode("utf-8", "replace"))

    def elapsed_ms(self) -> int:
        """Since the process began."""
        return int((time.monotonic() - self.started) * 1000)

    def is_governed_here(self) -> bool:
        """Whether the project has requirements that this event may concern, as far as that is told by
        folders.
        """
        places = self.event.places
        return gate.decides(self.options.kind, self.options.format) and (
            gate.is_governed((places.cwd, places.project, places.top)) or gate.holds(places.root)
        )

    def is_governed(self) -> bool:
        """The same, and the input looked into: its folder, the files that it names, its session."""
        if self.is_governed_here():
            return True
        if not gate.decides(self.options.kind, self.options.format) or not self.event.body:
            return False
        from context_graph.front.document import inner_texts, top_text

        event, body = self.event, self.event.body
        named = inner_texts(body, "tool_input", lambda name: name.lower().endswith("path"))
        files = (path if path.startswith("/") else f"{event.places.cwd}/{path}" for path in named)
        # A file is held to the requirements of the project that it lies in, wherever the client was started.
        return gate.is_governed((top_text(body, "cwd"), *files)) or gate.is_known(
            event.env, event.session_id()
        )

    def debug_start(self, how: str, why: str) -> None:
        """Say how an attempt to start an owner ended; see programs.Starter."""
        if not how:
            self.debug(f"the owner was not started: {why}")
        elif how == "started":
            self.debug("an owner was started")
