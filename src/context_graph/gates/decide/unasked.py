"""Finds what no gate was asked about: edits that no edit tool made, and commits past git's hooks.

Before the first command of a turn that may change files the working tree is looked at; before Stop and in
git's commit hook it is compared, by git's own status. A change arms what Edit and Write would have armed.

HEAD is looked at around each call that may commit. A commit past git's hooks, by a library that does not run
git or by plumbing, is told, and left open for Stop. What git moves without making a commit of its own does
not count: a checkout, a reset, a fast-forward, a rebase.
"""

from __future__ import annotations

import os
from typing import Any

from context_graph.gates.decide.call_outcomes import only_mentions
from context_graph.gates.decide.decision import Decision, active_here
from context_graph.gates.decide.evaluation import EvaluationContext, Verdict, unmet
from context_graph.gates.decide.exemptions import is_exempt_file
from context_graph.gates.decide.messages import stop_block
from context_graph.gates.decide.tool_call import Part, acted_on, command_of, project_of
from context_graph.gates.rules import FILE_TOOLS, Requirement, Rules
from context_graph.gates.state.project import Project
from context_graph.gates.state.session_ids import own_name
from context_graph.gates.state.under_way import UnderWay
from context_graph.git.repository import changed_since, keeps_reftable, snapshot, tip_of
from context_graph.system.small_files import read_object, write_json

SUFFIX = ".tree"
_BYTES = 1 << 20


def asked_at_edits(rules: Rules) -> list[Requirement]:
    """Return the active requirements that edits by any means trigger."""
    return [
        entry for entry in rules.active if entry.edits == "any" and any(map(entry.names_tool, FILE_TOOLS))
    ]


def before_command(decision: Decision, project: Project) -> None:
    """Look at the working tree before the first command of a turn that may change it. Never raises.

    Cost: one stat call; for the first such command one run of git's status.
    """
    event, path = decision.event, _path(decision, project)
    runs = command_of(event.hook.tool_input) or event.hook.tool_name.startswith("mcp__")
    if not path or not runs or os.path.exists(path) or not asked_at_edits(decision.rules(project)):
        return
    if only_mentions(event) or project.repo is None or project.repo.bare:
        return
    now = snapshot(project.repo)
    if now is not None:
        _write(path, {**now, "git_dir": project.repo.git_dir})


def turn_begins(decision: Decision, project: Project) -> None:
    """Forget how the tree was: the next command looks at it again. Cost: one system call."""
    path = _path(decision, project)
    if path and os.path.exists(path):
        os.unlink(path)


def has_edited(decision: Decision, project: Project) -> bool:
    """Return whether commands of this turn have changed files that are no plans and no memory of the
    client's.

    Cost: one stat call where no command ran; else one run of git's status.
    """
    path, repo = _path(decision, project), project.repo
    if not path or repo is None or not os.path.exists(path):
        return False
    before = read_object(path, _BYTES)
    now = snapshot(repo) if before.get("git_dir") == repo.git_dir else None
    if now is None:
        return False
    changed = changed_since(repo, before, now)
    return changed is None or any(
        not is_exempt_file(f"{repo.top}/{name}", decision.event, project) for name in changed
    )


def arm_edits(decision: Decision, context: EvaluationContext, project: Project) -> list[Requirement]:
    """Arm what edits by commands of this turn trigger; the requirements, or [] if there were none.

    Raises:
        OSError: If the state can't be written.
    """
    asked = asked_at_edits(context.rules) if context.branch else []
    if not asked or not has_edited(decision, project):
        return []
    context.files.arm(context.branch, asked, decision.event.session_id, decision.event.at)
    context.state = context.files.load(context.branch, decision.event.at)
    return asked


def _path(decision: Decision, project: Project) -> str:
    session = decision.event.session_id
    if project.repo is None or not session:
        return ""
    return f"{decision.files(project).folder}/sessions/{own_name(session)}{SUFFIX}"


def _write(path: str, tree: dict[str, Any]) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_json(path, tree, sync=False)
    except (OSError, ValueError):
        return  # edits by commands of this turn are not seen then


_COMMIT = frozenset(("commit",))


def git_call_begins(decision: Decision) -> None:
    """Note where HEAD is before a call that may commit."""
    project = project_of(decision.event) if _may_commit(decision) else None
    if project is not None and project.repo is not None and _wanted(decision, project):
        try:
            UnderWay(decision.files(project), decision.event.session_id).look(project.repo)
        except OSError as error:
            decision.tell_failure("where HEAD is can't be noted", error)


def git_call_ended(decision: Decision, *, well: bool) -> None:
    """Use up what a call's commits and pushes have used, pushes if it went ``well``.

    A commit that nobody was asked about is told to model and user.
    """
    if not _may_commit(decision):
        return
    for project in decision.session_projects():
        under_way = UnderWay(decision.files(project), decision.event.session_id)
        kept = under_way.calls or under_way.section("heads")
        context = decision.context(project, detached=True) if kept else None
        if context is None:
            continue
        try:
            decision.keep_used(context, under_way.settle(pushes=well))
            wanted = _wanted(decision, project)
            if wanted and under_way.look(context.repo):
                _unasked(decision, context, under_way, _judged_by_text(decision, project, wanted))
        except OSError as error:
            decision.tell_failure("what git has done can't be noted", error)


def _may_commit(decision: Decision) -> bool:
    hook = decision.event.hook
    runs = bool(command_of(hook.tool_input)) or hook.tool_name.startswith("mcp__")
    return runs and bool(decision.event.session_id)


def _wanted(decision: Decision, project: Project) -> list[Requirement]:
    """Return the requirements that a commit is asked for; none where only git could tell its tips."""
    if project.repo is None or not decision.rules(project).readable or keeps_reftable(project.repo):
        return []
    return [entry for entry in decision.rules(project).active if entry.names_git(_COMMIT)]


def _judged_by_text(decision: Decision, project: Project, wanted: list[Requirement]) -> list[Requirement]:
    """Return those of ``wanted`` that PreToolUse has not asked for, as it does where the text is plain."""
    event, rules = decision.event, decision.rules(project)
    parts = [part for part in acted_on(event) if part.project.is_same(project)] or [Part(project)]
    asked = [entry for part in parts for entry in part.triggered(rules, event)]
    return [entry for entry in wanted if entry not in asked]


def _unasked(
    decision: Decision, context: EvaluationContext, under_way: UnderWay, wanted: list[Requirement]
) -> None:
    event, branch = decision.event, context.branch
    context.state = context.files.load(branch, event.at)
    verdicts = unmet(active_here(wanted, context), context)
    met = {e.name for e in wanted if e.scope == "single_use"} - {v.requirement.name for v in verdicts}
    used = [name for name in met if context.files.use_up(branch, name, event.session_id, event.at)]
    if used:
        decision.keep(context, "consumed", used)
    if verdicts:
        _tell(decision, context, under_way, verdicts)


def _tell(
    decision: Decision, context: EvaluationContext, under_way: UnderWay, verdicts: list[Verdict]
) -> None:
    event, branch = decision.event, context.branch
    entries = [verdict.requirement for verdict in verdicts]
    context.files.arm(branch, entries, event.session_id, event.at)
    names = [entry.name for entry in entries]
    under_way.change(lambda kept: kept["open"].update({name: {"branch": branch} for name in names}))
    tip = str(tip_of(context.repo)["tip"])[:8]
    what = f"commit {tip} on {branch} was made past git's hooks, so {', '.join(names)} was not asked for"
    decision.keep(context, "bypassed", names, detail=what)
    decision.result.tell_user(what)
    decision.result.tell_model(f"{what[:1].upper()}{what[1:]}.\n{stop_block(verdicts, context)}")
