"""Describes the event that a decision is about, and the decision: input and output of
``decide.hooks.decide``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from context_graph.claude.hooks.claude import EVENT_OF_VERB
from context_graph.claude.hooks.hook_input import HookInput
from context_graph.gates.state.registry import client_pid
from context_graph.gates.state.session_ids import MAX_ID

CACHE_FOLDER = "cache/requirements"
"""Below the data root: what is kept between calls, and does not belong to the project."""


def claude_dir_of(env: Mapping[str, str]) -> str:
    """The client's configuration folder: CLAUDE_CONFIG_DIR, else ~/.claude; empty without a home."""
    home = env.get("HOME", "")
    return env.get("CLAUDE_CONFIG_DIR", "") or (home.rstrip("/") + "/.claude" if home else "")


def clock_offset(env: Mapping[str, str]) -> float:
    """Seconds that CONTEXT_GRAPH_CLOCK_OFFSET adds to the time; 0 for what is no number."""
    try:
        return float(env.get("CONTEXT_GRAPH_CLOCK_OFFSET", "") or 0)
    except ValueError:
        return 0.0


@dataclass
class GateEvent:
    """One hook call. Texts are empty where unknown, and not redacted: none is stored whole."""

    name: str
    """The client's name of the event."""
    session_id: str = ""
    cwd: str = ""
    project_dir: str = ""
    home: str = ""
    config_dir: str = ""
    tool_name: str = ""
    tool_input: Any = None
    tool_use_id: str = ""
    success: bool | None = None
    prompt: str = ""
    source: str = ""
    reason: str = ""
    stop_hook_active: bool = False
    interrupted: bool = False
    agent_id: str = ""
    command_name: str = ""
    """The skill that the user typed."""
    background: list[tuple[str, str]] = field(default_factory=list)
    """(type, id) of what runs on when a session wants to stop."""
    env: Mapping[str, str] = field(default_factory=dict)
    at: float = 0.0
    """Unix seconds with CONTEXT_GRAPH_CLOCK_OFFSET added: the only clock of a decision."""
    pid: int = 0
    """The client's process, if that is known."""
    parent_pid: int = 0
    """Else the hook's parent, which leads to it."""
    cache_dir: str = ""

    def __post_init__(self) -> None:
        self.session_id = self.session_id[:MAX_ID]

    @classmethod
    def of_hook(
        cls,
        given: HookInput,
        env: Mapping[str, str],
        *,
        session_id: str,
        cwd: str,
        at_ms: int,
        parent_pid: int,
        cache_dir: str,
    ) -> GateEvent:
        """The event that a hook's input and the client's environment make; ``cwd`` if the input has none."""
        return cls(
            EVENT_OF_VERB[given.kind.value],
            session_id=session_id,
            cwd=given.cwd or cwd,
            project_dir=env.get("CLAUDE_PROJECT_DIR", ""),
            home=os.environ.get("HOME", ""),
            config_dir=env.get("CLAUDE_CONFIG_DIR", ""),
            tool_name=given.tool_name,
            tool_input=given.tool_input,
            tool_use_id=given.tool_use_id,
            success=given.success,
            prompt=given.prompt,
            source=given.source,
            reason=given.reason,
            stop_hook_active=given.stop_hook_active,
            interrupted=given.interrupted,
            agent_id=given.agent_id,
            command_name=given.command_name,
            background=given.background,
            env=env,
            at=at_ms / 1000 + clock_offset(env),
            parent_pid=parent_pid,
            cache_dir=cache_dir,
        )

    @property
    def claude_dir(self) -> str:
        """The client's configuration folder."""
        return claude_dir_of({"HOME": self.home, "CLAUDE_CONFIG_DIR": self.config_dir})

    @cached_property
    def client(self) -> int:
        """The client's process; 0 if it can't be told. It is looked for only where it is asked for."""
        return self.pid or client_pid(self.parent_pid)


@dataclass(slots=True)
class GateResult:
    """The answer to give and the records to keep."""

    decision: str = ""
    """Empty (nothing), "deny" (PreToolUse, PermissionRequest) or "block" (Stop)."""
    reason: str = ""
    """Goes with the decision."""
    context: str = ""
    """For the model."""
    system_message: str = ""
    """For the user."""
    project: str = ""
    branch: str = ""
    records: list[dict[str, Any]] = field(default_factory=list)
    """The refusals and satisfactions of this call, as in the journal (docs/requirements.md)."""
    requirements: list[str] = field(default_factory=list)
    deferred: bool = False
    """The decision needs a process that may not run here: nothing was changed, ask again where it may."""

    def tell_user(self, text: str) -> None:
        """Add a line for the user."""
        more = f"context-graph: {text}"
        self.system_message = f"{self.system_message}\n{more}" if self.system_message else more
