"""A place for logs in this process: the plainest form of what a transport must do."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from context_graph.sync.change import digest
from context_graph.sync.transport import (
    PAGE_BYTES,
    PAGE_LINES,
    ConflictError,
    Head,
    LoggedChange,
    Page,
    Transport,
)


class InMemory(Transport):
    """Logs in this process."""

    def __init__(self, name: str = "memory") -> None:
        self._name = name
        self._logs: dict[str, list[LoggedChange]] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    def head(self, machine: str) -> Head | None:
        log = self._logs.get(machine)
        return Head(len(log), digest(log[-1].line)) if log else None

    def push(self, machine: str, told: Sequence[LoggedChange]) -> Head:
        with self._lock:
            log = list(self._logs.get(machine, ()))
            for one in told:
                at = one.change.seq
                if at > len(log) + 1 or (at <= len(log) and log[at - 1].line != one.line):
                    raise ConflictError(f"change {at} does not continue the log of {machine}")
                if at == len(log) + 1:
                    log.append(one)
            self._logs[machine] = log
            return Head(len(log), digest(log[-1].line) if log else "")

    def machines(self) -> Sequence[str]:
        return sorted(machine for machine, log in self._logs.items() if log)

    def pull(self, machine: str, after_seq: int, mark: str = "") -> Page:
        log = self._logs.get(machine, ())
        if after_seq > len(log) or (mark and mark != digest(log[after_seq - 1].line)):
            return Page(upto=after_seq, is_behind=True)
        rows = self._logs.get(machine, [])[after_seq : after_seq + PAGE_LINES]
        size = 0
        for number, one in enumerate(rows, 1):
            size += len(one.line)
            if size >= PAGE_BYTES:
                rows = rows[:number]
                break
        upto = rows[-1].change.seq if rows else after_seq
        return Page(rows, (), upto, upto < len(log), mark=digest(rows[-1].line) if rows else mark)

    def withdraw(self, machine: str) -> None:
        self._logs.pop(machine, None)
