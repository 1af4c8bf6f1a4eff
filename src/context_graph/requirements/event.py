"""What a decision is asked about, and what it answers. Both ends of ``hooks.decide``."""

from __future__ import annotations

from context_graph.requirements.session_ids import MAX_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["GateEvent", "GateResult"]


class GateEvent:
    """One hook call. Texts are empty where unknown, and not redacted: none is stored whole.

    ``name`` is the client's name of the event; ``at`` is in Unix seconds with CONTEXT_GRAPH_CLOCK_OFFSET
    added, the only clock of a decision; ``pid`` is the client's process (0 unknown); ``cache_dir`` is the
    folder of compiled configurations ("" for none); ``command_name`` is the skill that the user typed;
    ``background`` is (type, id) of what runs on when a session wants to stop. A subclass may work out
    ``pid``, ``tool_input`` and ``prompt`` when they are first read: an untriggered tool reads none of
    them.
    """

    def __init__(
        self,
        name: str,
        *,
        session_id: str = "",
        cwd: str = "",
        project_dir: str = "",
        home: str = "",
        config_dir: str = "",
        tool_name: str = "",
        tool_input: object = None,
        tool_use_id: str = "",
        success: bool | None = None,
        prompt: str = "",
        source: str = "",
        reason: str = "",
        stop_hook_active: bool = False,
        interrupted: bool = False,
        agent_id: str = "",
        command_name: str = "",
        background: list[tuple[str, str]] | None = None,
        env: Mapping[str, str] | None = None,
        at: float = 0.0,
        pid: int = 0,
        cache_dir: str = "",
    ) -> None:
        self.name, self.session_id = name, session_id[:MAX_ID]
        self.cwd, self.project_dir = cwd, project_dir
        self.home, self.config_dir, self.tool_name = home, config_dir, tool_name
        self.tool_use_id, self.success, self.source, self.reason = tool_use_id, success, source, reason
        self.stop_hook_active, self.interrupted, self.agent_id = stop_hook_active, interrupted, agent_id
        self.env: Mapping[str, str] = {} if env is None else env
        self.command_name, self.background = command_name, background or []
        self.at, self.cache_dir = at, cache_dir
        self._set_lazy(tool_input, prompt, pid)

    def _set_lazy(self, tool_input: object, prompt: str, pid: int) -> None:
        """The three that a subclass may hold back."""
        self.tool_input, self.prompt, self.pid = tool_input, prompt, pid

    @property
    def claude_dir(self) -> str:
        """The client's configuration folder: CLAUDE_CONFIG_DIR, else ~/.claude."""
        return self.config_dir or (self.home.rstrip("/") + "/.claude" if self.home else "")


class GateResult:
    """What to say and what to record.

    ``decision`` is "" (nothing), "deny" (PreToolUse, PermissionRequest) or "block" (Stop); ``reason`` goes
    with it. ``context`` is for the model, ``system_message`` for the user. ``records`` are the refusals and
    satisfactions of this call, as in the journal (docs/requirements.md). ``deferred`` means that the
    decision needs a process and ``may_run`` was false: nothing was changed, ask again where it may run.
    """

    __slots__ = (
        "branch",
        "context",
        "decision",
        "deferred",
        "project",
        "reason",
        "records",
        "requirements",
        "system_message",
    )

    def __init__(self, decision: str = "", reason: str = "") -> None:
        self.decision, self.reason = decision, reason
        self.context = self.system_message = self.project = self.branch = ""
        self.records: list[dict[str, Any]] = []
        self.requirements: list[str] = []
        self.deferred = False
