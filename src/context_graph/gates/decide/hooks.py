"""Decides what the gates answer to each event of the client, and where git itself asks: ``decide``.

Decisions depend only on files, the event and its clock. Deciding twice on one event changes nothing more. A
commit or push is judged in the repository, branch and index that git works on. Another repository than the
project's is nobody's business there; a submodule belongs to its project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace

from context_graph.claude.hooks import hook_output
from context_graph.claude.hooks.hook_input import HookInput
from context_graph.claude.hooks.origin import is_canary
from context_graph.errors import InvalidInputError
from context_graph.gates.decide.after_tool import after_expansion, after_tool
from context_graph.gates.decide.before_tool import before_tool, judge
from context_graph.gates.decide.decision import Decision, active_here
from context_graph.gates.decide.evaluation import EvaluationContext
from context_graph.gates.decide.lifecycle import pre_compact, prompt_submit, session_end, session_start
from context_graph.gates.decide.permission import at_the_dialog
from context_graph.gates.decide.stop import before_stop
from context_graph.gates.decide.unasked import arm_edits, asked_at_edits
from context_graph.gates.decide.watch import at_config_change
from context_graph.gates.event import SKIP, GateEvent, GateResult, GitHook
from context_graph.gates.rules import GateCache, Requirement
from context_graph.gates.state import journal
from context_graph.gates.state.project import Project
from context_graph.gates.state.registry import session_above
from context_graph.gates.state.under_way import UnderWay
from context_graph.git.repository import Repo, find_repo, repo_of_git_dir
from context_graph.model import EventKind

PUSH = "pre-push"
_VERBS = {PUSH: ("push",), "pre-applypatch": ("commit", "am"), "pre-merge-commit": ("commit", "merge")}
_UNDER_WAY = {"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert"}
"""Files in git's folder while it makes a commit of another one's changes, and the verb that it does so by."""


def before_git(decision: Decision) -> None:
    """Deny with every unmet requirement that the commit or push triggers, or let it pass and arm them."""
    event, hook = decision.event, decision.event.git
    assert hook is not None, "the event of a git hook has one"
    event.session_id = event.session_id or session_above(decision.registry, hook.pid, event.at)
    if not event.session_id:
        return  # a person
    place = event.projects.resolved(event.cwd)
    repo = repo_of_git_dir(hook.git_dir, place) if hook.git_dir else find_repo(place)
    project = _project(event, repo) if repo is not None else None
    if repo is None or project is None or not decision.rules(project).readable:
        return
    decision.result.project = project.root
    verbs = verbs_of(hook, repo)
    rules = decision.rules(project)
    asked = [entry for entry in rules.active if entry.names_git(verbs)]
    at_edits = asked_at_edits(rules) if "commit" in verbs else []
    context = decision.context(project, may_run=True) if asked or at_edits else None
    if asked and context is None:  # HEAD names no branch: what only a person may satisfy holds on
        asked = [entry for entry in asked if entry.human_only]
        context = decision.context(project, branch=event.seen.branch(project.root))
    if context is None:
        return
    context.index = hook.index
    decision.result.branch = context.branch
    if at_edits:
        arm_edits(decision, context, project)
        asked += [entry for entry in at_edits if entry not in asked and _is_open(entry, context)]
    asked = active_here(asked, context)
    if asked:
        _judge(decision, context, asked, repo)


def _is_open(entry: Requirement, context: EvaluationContext) -> bool:
    """Return whether edits of this session have armed the requirement, so that a commit asks for it."""
    armed = context.state.is_armed(entry.name, context.session_id, per_session=entry.per_session)
    return armed and not entry.stop_only and entry.scope != "single_use"


def _judge(decision: Decision, context: EvaluationContext, asked: list[Requirement], repo: Repo) -> None:
    event, hook = decision.event, decision.event.git
    assert hook is not None
    judge(decision, context, asked)
    if not decision.result.decision:
        uses = [(context.branch, e.name) for e in asked if e.scope == "single_use" and e.type == "blocking"]
        under_way = UnderWay(context.files, event.session_id)
        under_way.add_git(repo, hook.pid, uses, event.at, is_push=hook.name == PUSH)


def verbs_of(hook: GitHook, repo: Repo) -> frozenset[str]:
    """git's verbs that the hook stands for: `commit` for whatever makes one, and what makes it."""
    known = _VERBS.get(hook.name)
    if known is not None:
        return frozenset(known)
    under_way = (verb for name, verb in _UNDER_WAY.items() if os.path.exists(f"{repo.git_dir}/{name}"))
    source = ("merge",) if hook.args[1:2] == ["merge"] else ()
    return frozenset(("commit", *under_way, *source))


def _project(event: GateEvent, repo: Repo) -> Project | None:
    """Return the project that the repository belongs to, in the checkout that git works in, if any."""
    for place in (repo.top, repo.common_dir):
        project = event.projects.find(place, event.project_dir)
        if project is None or project.repo is None:
            continue
        if project.repo.common_dir == repo.common_dir:
            return replace(project, repo=repo)
        if repo.common_dir.startswith(f"{project.repo.common_dir}/modules/"):
            return project
    return None


# What the launcher sends and reads


def git_event(
    body: object, env: Mapping[str, str], *, session_id: str, cwd: str, at_ms: int, pid: int, root: str
) -> GateEvent:
    """Return the event of the hook that the launcher's JSON object describes; ``pid`` is git's process.

    Raises:
        InvalidInputError: If it names no hook.
    """
    name = body.get("name") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(name, str):
        raise InvalidInputError("name: missing; give the name of git's hook, such as pre-push")
    args = body.get("args")
    git_dir, index = (body[key] if isinstance(body.get(key), str) else "" for key in ("git_dir", "index"))
    words = [word for word in args if isinstance(word, str)] if isinstance(args, list) else []
    verb = "push" if name == PUSH else "commit"
    hook = HookInput(EventKind.PRE_TOOL, tool_name=f"git {verb}", cwd=cwd)
    event = GateEvent.of_hook(
        hook, env, session_id=session_id, cwd=cwd, at_ms=at_ms, parent_pid=pid, root=root
    )
    event.git = GitHook(name, words, git_dir, index, pid)
    return event


def git_answer(event: GateEvent, result: GateResult) -> bytes:
    """Return a line with what to record (or an empty one), one that says pass or deny, and what is told."""
    common = {
        "session_id": event.session_id,
        "event": event.git.name if event.git else "",
        "tool": event.hook.tool_name,
        "project": result.project,
        "branch": result.branch,
    }
    records = [{**common, **record} for record in result.records]
    line = json.dumps({"records": records}) if records else ""
    texts = "".join(f"{part}\n" for part in (result.reason, result.system_message) if part)
    word = "deny" if result.decision == "deny" else "pass"
    return f"{line}\n{word}\n{texts}".encode("utf-8", "replace")


_STILL = ("SessionStart", "SessionEnd")
"""These go on when requirements are skipped: one says so, the other tidies up."""


def decide(event: GateEvent, cache: GateCache) -> GateResult:
    """Decide on ``event``. Never raises: if we fail, the call passes and the answer says so.

    Args:
        event: The hook call.
        cache: What a long-lived process remembers of files.

    Cost: without a requirements file a few stat calls; about 0.2 ms with six requirements met.
    At most one state file is written; a dynamic requirement takes up to its ``timeout``, all together 0.8 s.
    """
    try:
        handler = _HANDLERS.get(event.name)
        if handler is None or (event.env.get(SKIP) and event.name not in _STILL):
            return GateResult()
        if is_canary(event.session_id, event.hook.tool_name):
            return GateResult()
        decision = Decision(event, cache)
        handler(decision)
        return _sayable(decision.result)
    except Exception as error:  # whatever it is: a defect here must not stop the user's work, nor be silent
        return _failed(event, error)


def rendered(event_name: str, result: GateResult, *, context: str = "", message: str = "") -> bytes:
    """Return the client's document: the text of other features, then the result."""
    return hook_output.render(
        event_name,
        context="\n".join(part for part in (context, result.context) if part),
        system_message="\n".join(part for part in (message, result.system_message) if part),
        refusal=result.reason if result.decision in ("deny", "block") else "",
    )


_HANDLERS: dict[str, Callable[[Decision], None]] = {
    "PreToolUse": before_tool,
    "PostToolUse": after_tool,
    "PostToolUseFailure": after_tool,
    "PermissionDenied": after_tool,
    "PermissionRequest": at_the_dialog,
    "UserPromptExpansion": after_expansion,
    "Stop": before_stop,
    "SessionStart": session_start,
    "SessionEnd": session_end,
    "UserPromptSubmit": prompt_submit,
    "PreCompact": pre_compact,
    "ConfigChange": at_config_change,
    "git": before_git,
}


def _sayable(result: GateResult) -> GateResult:
    """Return the result with lone surrogates removed: names of files and ids may hold them, JSON may not."""
    for name in ("reason", "context", "system_message"):
        text = getattr(result, name)
        if not text.isascii():
            setattr(result, name, text.encode("utf-8", "replace").decode())
    return result


def _failed(event: GateEvent, error: Exception) -> GateResult:
    what = f"{type(error).__name__}: {error}"[:200]
    result = GateResult(
        system_message=f"context-graph: requirements were NOT checked for this {event.name}: internal "
        f"failure ({what}); `context-graph-cli req doctor` tells more"
    )
    if event.name == "PreToolUse":
        result.context = "The requirements of this project were not checked for this call (internal failure)."
    record = journal.record(
        "error", [], at=event.at, session_id=event.session_id, tool=event.hook.tool_name, detail=what
    )
    result.records.append(record)
    result.failed = True
    return result
