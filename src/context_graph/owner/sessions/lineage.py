"""Finds what the client tells only in part: a subagent's task, and the session that a fork was made from.

SubagentStart names the agent's kind and not its task, which was in the call that had it work. A fork's start
names no parent: it is the session that the same client had before, or the one that the client was told to
resume.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from context_graph.model import HookEvent, cut_session_id
from context_graph.system.processes import arguments, client_pid

_SESSIONS: Final = 64
_TASKS: Final = 32
_CLIENTS: Final = 64
_ARGUMENT_BYTES: Final = 1 << 16
_RESUMES: Final = ("--resume", "-r")


@dataclass(frozen=True, slots=True)
class _Task:
    tool_use_id: str
    prompt_id: str
    agent_type: str
    text: str


class Lineage:
    """Of one store's sessions. In memory only: an owner that was replaced meanwhile brings a subagent
    nothing, and a fork then follows the session that its client was told to resume, or the latest."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, list[_Task]] = OrderedDict()
        self._by_client: OrderedDict[int, str] = OrderedDict()

    def delegates(self, event: HookEvent, agent_type: str, text: str) -> None:
        """Note a call that has a subagent work; ``text`` is its task, redacted."""
        tasks = [
            task for task in self._tasks.pop(event.session_id, []) if task.tool_use_id != event.tool_use_id
        ]
        tasks.append(_Task(event.tool_use_id, event.prompt_id, agent_type, text))
        self._tasks[event.session_id] = tasks[-_TASKS:]
        while len(self._tasks) > _SESSIONS:
            self._tasks.popitem(last=False)

    def task_of(self, event: HookEvent, agent_type: str) -> str:
        """Return the task of the subagent that begins: the oldest of its kind under the same prompt that none
        has taken. "" if there is none."""
        tasks = self._tasks.get(event.session_id, [])
        for task in tasks:
            if task.prompt_id == event.prompt_id and agent_type in (task.agent_type or agent_type, ""):
                tasks.remove(task)
                return task.text
        return ""

    def starts(self, event: HookEvent, parent: int, is_known: Callable[[str], bool]) -> None:
        """Note a session's start; a fork continues the session that it was made from, where that is known.

        Args:
            parent: The process that started the hook's.
            is_known: Whether the store has a session.
        """
        client = client_pid(parent)
        if event.source == "fork" and not event.previous_session_id:
            before = cut_session_id(self.forked_from(client))
            if before and before != event.session_id and is_known(before):
                event.previous_session_id = before
        self.began(event.session_id, client)

    def began(self, session_id: str, client: int) -> None:
        """Note that a session began in the client's process ``client``; 0 is no process."""
        if client > 0:
            self._by_client.pop(client, None)
            self._by_client[client] = session_id
            while len(self._by_client) > _CLIENTS:
                self._by_client.popitem(last=False)

    def forked_from(self, client: int) -> str:
        """Return the session that a fork in this client came from, "" if that is unknown. Cost: a read of
        /proc, or a ps."""
        return self._by_client.get(client) or _resumed(client)


def _resumed(client: int) -> str:
    """Return the session that the client was started to resume."""
    words = arguments(client) if client > 0 else []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in _RESUMES:
            return value if equals else following
    return ""
