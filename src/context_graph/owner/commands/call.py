"""Holds one request on its way through the owner, with everything that a handler needs beside it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from logging import Logger
from typing import Protocol

from context_graph.config import Settings
from context_graph.errors import InvalidInputError
from context_graph.owner.consolidations.queue import Consolidations
from context_graph.owner.sessions.hook_call import Gates
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.redact import TextRedactor
from context_graph.wire.frames import Reply, Request


class Service(Protocol):
    """The methods of the owner's service that handlers use."""

    log: Logger
    dreams: Consolidations

    def open_store(self, request: Request) -> StoreContext: ...
    def drop_store(self, request: Request) -> None: ...
    def clean_id(self, text: str | None) -> str | None: ...
    def problems(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A request with its open store, the settings that hold for it and the time it began."""

    request: Request
    store: StoreContext | None
    """None for a verb that needs none."""
    settings: Settings
    redactor: TextRedactor
    gates: Gates
    service: Service
    began_ms: int

    @property
    def context(self) -> StoreContext:
        """The request's store."""
        assert self.store is not None, f"{self.request.verb} needs a store"
        return self.store

    def option(self, name: str, default: str = "") -> str:
        """Return the text of option ``--name``; a non-text value is an error that names it."""
        value = self.request.params.get(name, default)
        if not isinstance(value, str):
            raise InvalidInputError(f"--{name} must be text, not {type(value).__name__}")
        return value

    def count(self, name: str, default: int, most: int) -> int:
        """Return the number of option ``--name``: digits, from 1 to ``most`` (below 10 ** 9)."""
        text = self.option(name, str(default))
        if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
            raise InvalidInputError(f"--{name} {text[:60]!r} must be a number from 1 to {most}")
        return int(text)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return the truth of option ``--name``: a JSON boolean, or the words true and false."""
        value = self.request.params.get(name, default)
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise InvalidInputError(f"--{name} must be true or false, not {value!r}")

    def elapsed_ms(self) -> int:
        """Milliseconds since the hook's process started, as far as clocks tell."""
        began = self.request.at_ms or self.began_ms
        return max(0, time.time_ns() // 1_000_000 - began)


def reply(stdout: str | bytes = b"", *, stderr: str = "", exit_code: int = 0, flags: int = 0) -> Reply:
    """Return a reply from texts; each text gets a final newline if it lacks one."""
    out = stdout.encode() if isinstance(stdout, str) else stdout
    if out and not out.endswith(b"\n"):
        out += b"\n"
    err = stderr + "\n" if stderr and not stderr.endswith("\n") else stderr
    return Reply(exit_code=exit_code, flags=flags, stdout=out, stderr=err.encode())
