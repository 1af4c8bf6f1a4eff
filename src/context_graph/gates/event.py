"""Describes the event that a decision is about, and the decision: input and output of
``decide.hooks.decide``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from context_graph.claude.events import EVENT_OF_VERB
from context_graph.claude.hooks.hook_input import HookInput
from context_graph.gates.state.session_ids import MAX_ID
from context_graph.system.processes import client_pid

if TYPE_CHECKING:
    from context_graph.gates.human_only import Seen
    from context_graph.gates.state.project import Projects

CACHE_FOLDER = "cache/requirements"
"""Below the data root: what is kept between calls, and does not belong to the project."""


SKIP = "CLAUDE_SKIP_REQUIREMENTS"
"""The variable that switches every requirement off for one client."""


def claude_dir_of(env: Mapping[str, str]) -> str:
    """Return the client's configuration folder: CLAUDE_CONFIG_DIR, else ~/.claude; empty without a home."""
    home = env.get("HOME", "")
    return env.get("CLAUDE_CONFIG_DIR", "") or (home.rstrip("/") + "/.claude" if home else "")


@dataclass(frozen=True, slots=True)
class GitHook:
    """One of git's own hooks that asks before a commit or a push."""

    name: str
    """git's name of it, such as prepare-commit-msg."""
    args: list[str]
    git_dir: str
    """$GIT_DIR, absolute; empty where the folder tells it."""
    index: str
    """$GIT_INDEX_FILE, absolute: what the commit is made of; empty for the usual one."""
    pid: int
    """git's process."""


@dataclass
class GateEvent:
    """One hook call: its input, and what only the process that called us knows."""

    hook: HookInput
    """Raw texts: none may be stored whole."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The client's environment, with our own HOME."""
    session_id: str = ""
    cwd: str = ""
    at: float = 0.0
    """Unix seconds: the only clock of a decision."""
    parent_pid: int = 0
    """The hook's parent: the client, or a shell that it started."""
    cache_dir: str = ""
    git: GitHook | None = None
    """Set where git asks, and not the client."""

    def __post_init__(self) -> None:
        self.session_id = self.session_id[:MAX_ID]

    @classmethod
    def of_hook(
        cls,
        hook: HookInput,
        env: Mapping[str, str],
        *,
        session_id: str,
        cwd: str,
        at_ms: int,
        parent_pid: int,
        root: str | os.PathLike[str],
    ) -> GateEvent:
        """Return the event of a hook's input; ``cwd`` where the input has none; ``root`` of the data."""
        return cls(
            hook,
            {**env, "HOME": os.environ.get("HOME", "")},
            session_id,
            hook.cwd or cwd,
            at_ms / 1000,
            parent_pid,
            f"{os.fspath(root)}/{CACHE_FOLDER}",
        )

    @property
    def name(self) -> str:
        """The client's name of the event; `git` where git asks."""
        return "git" if self.git else EVENT_OF_VERB[self.hook.kind.value]

    @property
    def home(self) -> str:
        return self.env.get("HOME", "")

    @property
    def project_dir(self) -> str:
        """The folder that the client was started in."""
        return self.env.get("CLAUDE_PROJECT_DIR", "")

    @cached_property
    def claude_dir(self) -> str:
        """The client's configuration folder."""
        return claude_dir_of(self.env)

    @cached_property
    def seen(self) -> Seen:
        """What the session has seen of human_only requirements."""
        from context_graph.gates.human_only import Seen

        return Seen(self.cache_dir, self.session_id)

    @cached_property
    def projects(self) -> Projects:
        """Finds the projects that this event is about."""
        from context_graph.gates.state.project import Projects  # an owner's start does without it

        return Projects(self.claude_dir, self.seen.projects)

    @cached_property
    def client(self) -> int:
        """The client's process; 0 if it can't be told. It is looked for only where it is asked for."""
        return client_pid(self.parent_pid)


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
    """The refusals and satisfactions of this call, as in the journal (docs/gates.md)."""
    requirements: list[str] = field(default_factory=list)
    failed: bool = False
    """An internal failure decided, not a requirement."""

    def tell_user(self, text: str) -> None:
        """Add a line for the user."""
        more = f"context-graph: {text}"
        self.system_message = f"{self.system_message}\n{more}" if self.system_message else more

    def tell_model(self, text: str) -> None:
        """Add lines for the model."""
        self.context = f"{self.context}\n{text}" if self.context else text

    def refuse(self, decision: str, reason: str, names: list[str], branch: str = "") -> None:
        """Make ``decision`` ("deny" or "block") the answer, because of the requirements ``names``."""
        self.decision, self.reason, self.requirements = decision, reason, names
        self.branch = branch or self.branch
