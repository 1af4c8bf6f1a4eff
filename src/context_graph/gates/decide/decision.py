"""Holds one decision in progress, and does what every handler of an event needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from context_graph.gates.config.config import load_rules
from context_graph.gates.decide.evaluation import EvaluationContext
from context_graph.gates.decide.tool_call import project_of
from context_graph.gates.event import SKIP, GateEvent, GateResult
from context_graph.gates.rules import GateCache, Requirement, Rules
from context_graph.gates.state import journal
from context_graph.gates.state.project import CONFIG, Project
from context_graph.gates.state.registry import Registry
from context_graph.gates.state.state_files import StateFiles, paused
from context_graph.system.small_files import LockTimeoutError

_CHARS = 300
_SHOWN = 3
_ONE_SIDED = "user: "
"""Before what only the user was told, at an event that tells the model nothing."""


class Decision:
    """One event, the files cached for it, and the answer so far."""

    def __init__(self, event: GateEvent, cache: GateCache) -> None:
        self.event, self.cache, self.result = event, cache, GateResult()

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.event.claude_dir, self.cache)

    def files(self, project: Project) -> StateFiles:
        """Return the state of the project, which has a repository."""
        assert project.repo is not None
        return StateFiles(project.repo.common_dir, project.work, self.cache)

    def rules(self, project: Project) -> Rules:
        """Return what is in force in the project, read once per call."""
        if project.rules is None:
            rules = load_rules(project.root, self.event.claude_dir, self.cache)
            project.rules = self.event.seen.in_force(rules, project.root)
        return project.rules

    def remember(self, project: Project) -> None:
        """Keep what is in force of what only a person may satisfy: nothing but a person's word lifts it."""
        branch = project.head().branch or self.event.seen.branch(project.root)
        self.event.seen.remember(project.root, branch, self.rules(project), self.event.at)

    def governed(self) -> Project | None:
        """Return the working folder's project, noted in the result; None without a repository."""
        project = project_of(self.event)
        if project is None or project.repo is None:
            return None
        self.result.project = project.root
        return project

    def session_projects(self) -> list[Project]:
        """Return the projects that the session works in: the working folder's, then those it was seen in."""
        event = self.event
        folders = self.registry.folders(event.session_id)
        seen = map(event.projects.find, folders)
        projects: list[Project] = []
        for project in (project_of(event), *seen):
            if project is not None and project.repo is not None and not any(map(project.is_same, projects)):
                projects.append(project)
        return projects

    def context(
        self, project: Project, *, may_run: bool = False, detached: bool = False, branch: str = ""
    ) -> EvaluationContext | None:
        """Return what the project's requirements are judged in; None without a repository or a branch.

        With ``detached`` HEAD need not name a branch; the context then has none. ``branch`` is used in place
        of HEAD's, in which case the working tree tells nothing about it.
        """
        head, event = project.head(), self.event
        if project.repo is None or not (head.branch or detached or branch):
            return None
        return EvaluationContext(
            project,
            self.rules(project),
            branch=branch or head.branch,
            session_id=event.session_id,
            now=event.at,
            claude_dir=event.claude_dir,
            cache_dir=event.cache_dir,
            cache=self.cache,
            may_run=may_run,
            checked_out=bool(head.branch) and not branch,
        )

    def keep(
        self, context: EvaluationContext, kind: str, names: list[str], *, by: str = "", detail: str = ""
    ) -> None:
        """Add one record to the result and the journal."""
        event, common_dir = self.event, context.repo.common_dir
        entry = journal.record(
            kind,
            names,
            at=event.at,
            session_id=event.session_id,
            branch=context.branch,
            tool=event.hook.tool_name,
            by=by,
            detail=detail,
        )
        self.result.records.append(entry)
        self.numbers(common_dir).noted(entry)
        try:
            journal.append(common_dir, [entry])
        except OSError as error:
            self.tell_failure("the journal can't be written", error)

    def keep_used(self, context: EvaluationContext, used: list[tuple[str, str]]) -> None:
        """Record that (branch, requirement) of each was used up."""
        for branch, name in used:
            self.keep(context.at_branch(context.files.load(branch, self.event.at)), "consumed", [name])

    def numbers(self, common_dir: str) -> journal.SessionNumbers:
        """Return what is counted of the session in that repository."""
        return journal.SessionNumbers(common_dir, self.event.session_id, self.event.at, self.cache)

    def tell_failure(self, what: str, error: OSError) -> None:
        """Tell the user what went wrong beside the decision."""
        self.result.tell_user(f"{what} ({error.strerror or error})")

    def enter_registry(self, context: EvaluationContext, *, warning: str | None = None) -> None:
        """Record that the session works here, if that is new, and the warning that it was given, if any."""
        session, now = self.event.session_id, self.event.at
        if not session or self.event.git:  # git's process is not the client's
            return
        known = warning is None or self.registry.last_warning(session, context.root) == warning
        if known and not self.registry.needs(session, context.root, context.branch, now):
            return
        try:
            self._enter(context.root, context.branch, warning)
        except LockTimeoutError:
            return  # the next call enters it
        except OSError as error:
            self.tell_failure("the session registry can't be written", error)

    def _enter(self, folder: str, branch: str, warning: str | None) -> None:
        event = self.event
        self.registry.enter(
            event.session_id, project=folder, branch=branch, pid=event.client, now=event.at, warning=warning
        )

    def configuration_changed(self, project: Project) -> None:
        """Report what is wrong with the configuration, or that it holds again, if that is news."""
        if not self.event.session_id:
            return
        wrong = what_is_wrong(self.rules(project))
        if self.registry.last_warning(self.event.session_id, project.work) != wrong:
            self._say_once(project.work, project.head().branch, wrong)

    def configuration_gone(self) -> None:
        """Report once that the file of a project that governed this session is gone."""
        session = self.event.session_id
        for folder in self.registry.folders(session) if session else ():
            if self.event.projects.find(folder) is not None:
                continue
            wrong = f"no requirement is enforced any more: {folder}{CONFIG} is gone"[:_CHARS]
            if self.registry.last_warning(session, folder) != wrong:
                branch = self.registry.sessions().get(session, {}).get("branch", "")
                self._say_once(folder, str(branch), wrong)
            return

    def _say_once(self, folder: str, branch: str, wrong: str) -> None:
        event = self.event
        before = self.registry.last_warning(event.session_id, folder)
        warning = f"{_ONE_SIDED}{wrong}" if wrong and event.name == "Stop" else wrong
        if warning == before:
            return
        text = wrong or "the requirements of this project are enforced again"
        try:
            self._enter(folder, branch, warning)
        except OSError:
            # What can't be noted would be said with every call; a process that lives longer remembers it.
            if not self.cache.first_time(f"{event.session_id} {text}", event.at):
                return
        self.tell_both(text, user=before.removeprefix(_ONE_SIDED) != wrong)

    def tell_both(self, text: str, *, user: bool = True) -> None:
        """Tell model and user."""
        if user:
            self.result.tell_user(text)
        self.result.tell_model(f"{text[:1].upper()}{text[1:]}.")


def what_is_wrong(rules: Rules) -> str:
    """Return why the configuration, or a part of it, is not enforced as written; empty if it is."""
    errors = rules.problem_texts("error")
    if rules.retained:
        count = len(rules.retained)
        kept = ", ".join(rules.retained[:_SHOWN]) + (f" and {count - _SHOWN} more" if count > _SHOWN else "")
        holds = "holds as it was" if count == 1 else "hold as they were"
        return (
            f"the requirements ask for less than this session has seen; {kept} {holds}. If the "
            "change is meant, ask the user to run `context-graph-cli req accept`"
        )[:_CHARS]
    if not rules.readable:
        return f"no requirement is enforced in this project: {(errors or ['its file is gone'])[0]}"[:_CHARS]
    if not errors:
        return ""
    more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
    return f"the requirements are not enforced as written: {'; '.join(errors[:_SHOWN])}{more}"[:_CHARS]


def why_off(project: Project, rules: Rules, env: Mapping[str, str]) -> str:
    """Return why nothing is enforced in a project with a requirements file; empty if something is."""
    if env.get(SKIP):
        return f"{SKIP} is set"
    if not rules.readable:
        return ".claude/requirements.yaml can't be used"
    if not rules.active:
        return "no requirement is enabled" if rules.enabled else "enabled is false"
    if project.repo is None:
        return "this project is in no git repository, so it has no branch"
    return "" if project.head().branch else "HEAD is detached; it begins once a branch is checked out"


def active_here(requirements: list[Requirement], context: EvaluationContext) -> list[Requirement]:
    """Return the requirements that the session's pause does not lift: an agent's no human_only ones."""
    marker = paused(context.repo.common_dir, context.session_id) if context.session_id else None
    if marker is None:
        return requirements
    return [] if marker.get("by") == "user" else [entry for entry in requirements if entry.human_only]
