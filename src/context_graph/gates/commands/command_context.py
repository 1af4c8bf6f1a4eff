"""Finds what a user's command applies to: project, branch, session, and who gave it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping
from typing import Any

from context_graph.errors import UsageError
from context_graph.gates.config.config import load_rules
from context_graph.gates.decide.evaluation import EvaluationContext
from context_graph.gates.event import claude_dir_of
from context_graph.gates.human_only import of_any_session
from context_graph.gates.rules import GateCache, Rules
from context_graph.gates.state import journal
from context_graph.gates.state.project import Project, find_project
from context_graph.gates.state.registry import Registry, started_by_agent
from context_graph.gates.state.session_ids import begun_by, candidates, problem
from context_graph.gates.state.state_files import StateFiles, read_document
from context_graph.git.repository import Head, Repo, find_repo
from context_graph.system.processes import ancestors

_CURES = {
    errno.EACCES: "make it writable for you",
    errno.EPERM: "make it writable for you",
    errno.EROFS: "its file system is read-only; work in a copy that can be written",
    errno.ENOSPC: "free some space on its disk",
    errno.EDQUOT: "free some space on its disk",
    errno.ENOTDIR: "a file stands where a folder must be; move it away",
    errno.EEXIST: "a file stands where a folder must be; move it away",
    errno.EISDIR: "a folder stands where a file must be; move it away",
}


def unwritable(what: str, error: OSError, path: str = "") -> UsageError:
    """Return the error for ``what`` that failed with ``error``; ``path`` where the error names none."""
    where = error.filename or path
    named = f" ({where})" if where and str(where) not in what else ""
    cure = _CURES.get(error.errno or 0, "")
    return UsageError(f"{what}: {error.strerror or error}{named}{'; ' + cure if cure else ''}")


_SHOWN = 10


class CommandContext:
    """A folder with its repository, its project's rules and the caller.

    Args:
        cwd: The folder the command was given in.
        env: HOME, CLAUDE_CONFIG_DIR, CLAUDE_PROJECT_DIR, CLAUDE_CODE_SESSION_ID and CLAUDECODE are
            read.
        cache_dir: Folder of compiled configurations; "" for none.
        pid: A process of the caller's, whose ancestors tell the session and whether an agent is behind it.
        terminal: Whether a person's terminal is at the other end.
        session: The session meant, if the command names one: outside any project it tells which is.

    Raises:
        UsageError: Outside any git repository.
    """

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        *,
        cache_dir: str = "",
        pid: int = 0,
        terminal: bool = False,
        now: float | None = None,
        session: str = "",
    ) -> None:
        self.env, self.cache_dir, self.pid, self.terminal = env, cache_dir, pid, terminal
        self.claude_dir = claude_dir_of(env)
        self.now = time.time() if now is None else now
        self.cwd = os.path.realpath(cwd)
        self.cache = GateCache()
        self.registry = Registry(self.claude_dir, self.cache)
        self.project = self._project(session)
        repo = self.project.repo
        if repo is None:
            raise UsageError(f"{self.cwd} is in no git repository; requirements belong to a branch")
        self.repo: Repo = repo
        self.governed = os.path.lexists(self.project.root + "/.claude/requirements.yaml")
        rules = load_rules(self.project.root, self.claude_dir, self.cache)
        self.rules: Rules = of_any_session(rules, self.project.root, cache_dir)
        self.head: Head = self.project.head()
        self.files = StateFiles(self.repo.common_dir, self.project.work, self.cache)

    def _project(self, session: str) -> Project:
        hint = self.env.get("CLAUDE_PROJECT_DIR", "")
        project = find_project(self.cwd, hint, claude_dir=self.claude_dir)
        if project is not None:
            return project
        # A client that was started above its repositories: where its session was last seen at work.
        for folder in self.registry.folders(session or self.env.get("CLAUDE_CODE_SESSION_ID", "")):
            seen = find_project(folder, "", claude_dir=self.claude_dir)
            if seen is not None and seen.repo is not None:
                return seen
        repo = find_repo(self.cwd) or (find_repo(os.path.realpath(hint)) if hint.startswith("/") else None)
        return Project(repo.top if repo else self.cwd, repo)

    @property
    def is_agent(self) -> bool:
        """Whether a tool call of a client is behind the command."""
        return started_by_agent(self.pid, self.env, self.registry.clients())

    def branch(self, named: str = "") -> str:
        """Return the branch meant: ``named``, else the one that is checked out.

        Raises:
            UsageError: If HEAD names none.
        """
        if named:
            return named
        if not self.head.branch:
            raise UsageError("HEAD names no branch (detached); check one out, or name one with --branch")
        return self.head.branch

    def evaluation(self, branch: str, session_id: str, *, may_run: bool = True) -> EvaluationContext:
        """Return what an evaluation for that branch and session looks at."""
        return EvaluationContext(
            self.project,
            self.rules,
            branch=branch,
            session_id=session_id,
            now=self.now,
            claude_dir=self.claude_dir,
            cache_dir=self.cache_dir,
            cache=self.cache,
            may_run=may_run,
            checked_out=branch == self.head.branch,
        )

    def session(self, session_id: str = "") -> str:
        """Return the full id of the session meant: ``session_id`` (full or short), else
        CLAUDE_CODE_SESSION_ID, else the registered session whose process is an ancestor of ours, else the
        only one in this project or the one of them that was refused something last.

        Raises:
            UsageError: If none can be told, or a short id fits several; the message lists them.
        """
        typed = bool(session_id)
        session_id = session_id or self.env.get("CLAUDE_CODE_SESSION_ID", "")
        if not session_id:
            return self._session_by_process()
        why = problem(session_id)
        if why:
            raise UsageError(f"--session: {why}")
        known = self._known_sessions()
        matches = candidates(session_id, known) or (begun_by(session_id, known) if typed else [])
        if len(matches) > 1:
            shown = ", ".join(matches[:_SHOWN])
            raise UsageError(f"--session {session_id} fits several sessions; give one in full: {shown}")
        return matches[0] if matches else session_id

    def session_or_none(self, session_id: str = "") -> str:
        """As ``session``, but empty where none can be told. An ambiguous id is still an error."""
        if not session_id and not self.env.get("CLAUDE_CODE_SESSION_ID", ""):
            return (self._by_process() or [""])[0]
        return self.session(session_id)

    def _session_by_process(self) -> str:
        sessions = self._by_process()
        if sessions:
            return sessions[0]
        live = [
            f"{key} ({entry.get('project_dir', '?')})" for key, entry in self.registry.live(self.now).items()
        ]
        hint = f"live sessions: {', '.join(live[:_SHOWN])}" if live else "no live session is known"
        here = self._sessions_here()
        if here:
            return here[0]
        raise UsageError(
            f"which session? Give --session ID, or --branch NAME for all sessions of a branch; {hint}"
        )

    def _sessions_here(self) -> list[str]:
        """Return the only live session of this project, or those that were refused something, last first."""
        folders = (self.project.work, self.project.root)
        live = self.registry.live(self.now).items()
        here = [key for key, entry in live if entry.get("project_dir") in folders]
        if len(here) < 2:
            return here
        records: list[dict[str, Any]] = journal.read(self.repo.common_dir)[::-1]
        refused = [entry.get("session_id") for entry in records if entry.get("kind") in ("denied", "blocked")]
        return sorted((key for key in here if key in refused), key=refused.index)

    def _by_process(self) -> list[str]:
        if self.pid <= 0:
            return []
        line = ancestors(self.pid)
        session_by_pid = {entry.get("ppid"): key for key, entry in self.registry.live(self.now).items()}
        return [session_by_pid[pid] for pid in line if pid in session_by_pid]

    def _known_sessions(self) -> set[str]:
        known = set(self.registry.sessions())
        for path in self.files.paths():
            document = read_document(path)
            for entry in document["requirements"].values() if document else ():
                records = entry.get("sessions") if isinstance(entry, dict) else None
                known.update(records if isinstance(records, dict) else ())
        return known
