"""Applies a call's outcome to requirements once it is known how a call that was let through ended.

A success arms them; a call that failed, or that the user refused, arms nothing. Single_use satisfactions are
used up by success, and by a commit made meanwhile, whatever the client reports, even if it reports nothing.

Calls in progress are kept in one small file per session, beside the state: the requirements that a call
armed, the single_use satisfactions it is about to use (so that a second call does not pass on the same one),
and where HEAD was (so that a commit is noticed however the call ends).
"""

from __future__ import annotations

import binascii
import copy
import json
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from context_graph.gates.decide.evaluation import EvaluationContext
from context_graph.gates.decide.git_calls import git_call
from context_graph.gates.decide.tool_call import command_of, matching, targets_of
from context_graph.gates.event import GateEvent
from context_graph.gates.files import Locked, number, read_object, read_through, write_json
from context_graph.gates.rules import Requirement
from context_graph.gates.state.session_ids import own_name
from context_graph.gates.state.state import BranchState
from context_graph.gates.state.state_files import StateFiles
from context_graph.git.repository import Repo, has_moved, tip_of
from context_graph.text.shell_lines import ShellCommand, read_line

_Call = dict[str, Any]

SUFFIX = ".calls"
_BYTES = 1 << 20
_MOST = 50
_WAIT_S = 0.3
_FORGOTTEN_S = 86_400.0
"""After a day nobody waits for a call's end any more; a background command may take hours."""


_PRINTING = frozenset(("cat", "cd", "echo", "egrep", "grep", "head", "ls", "printf", "rg", "tail", "wc"))
_PRINTED_BY_GIT = frozenset(("diff", "grep", "log", "show", "status"))


class OpenCalls:
    """A session's open calls in one repository by tool use id, oldest first; a damaged file has none."""

    def __init__(self, files: StateFiles, session_id: str) -> None:
        self._cache = files.cache
        self._path = f"{files.folder}/sessions/{own_name(session_id)}{SUFFIX}" if session_id else ""

    def all(self) -> dict[str, _Call]:
        """Every call that has not ended; not to be changed. Cost: one stat call if there is none."""
        if not self._path or not os.path.exists(self._path):
            return {}
        return read_through(self._cache, self._path, _read_calls)

    def change(self, apply: Callable[[dict[str, _Call]], object]) -> None:
        """Apply it under the session's lock; an empty file is removed.

        Raises:
            OSError: If the file can't be written.
        """
        if not self._path:
            return
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with Locked(os.path.dirname(self._path) + "/calls.lock", _WAIT_S):
            calls = _read_calls(self._path)
            before = copy.deepcopy(calls)
            apply(calls)
            newest = max((number(call.get("at")) for call in calls.values()), default=0.0)
            for key in [key for key, call in calls.items() if newest - number(call.get("at")) > _FORGOTTEN_S]:
                del calls[key]
            while len(calls) > _MOST:
                del calls[next(iter(calls))]
            if calls == before:
                return
            if calls:
                write_json(self._path, calls, sync=False)
            elif os.path.exists(self._path):
                os.unlink(self._path)
            if self._cache is not None:
                self._cache.forget_document(self._path)


def digest(event: GateEvent) -> str:
    """Identifies a call among others of its tool, for an event without an id (the permission dialog)."""
    try:
        text = json.dumps(event.hook.tool_input, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = ""
    return f"{event.hook.tool_name}.{binascii.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _read_calls(path: str) -> dict[str, _Call]:
    return {key: call for key, call in read_object(path, _BYTES).items() if isinstance(call, dict)}


_IN_USE_S = 600.0
"""How long a call without an end keeps others from its satisfaction: no command may run longer by itself."""

_MOVERS = ("commit -m x", "merge x", "cherry-pick x", "revert x", "rebase x", "am x", "pull")
"""What moves a branch's tip: a requirement that such a command triggers is used up when the tip moves."""


def let_through(
    event: GateEvent, context: EvaluationContext, armed: list[tuple[str, Requirement]]
) -> list[str]:
    """Arm what the call triggered ((branch, requirement) each), and reserve what it uses against other calls.

    Returns:
        The single_use requirements whose satisfaction another call is about to use: if any, nothing was done.

    Raises:
        OSError: If neither the state nor the list of calls can be written.
    """
    calls = OpenCalls(context.files, event.session_id)
    uses = [
        (branch, entry) for branch, entry in armed if entry.scope == "single_use" and entry.type == "blocking"
    ]
    open_calls = calls.all()
    unproven = {tuple(one) for call in open_calls.values() for one in call.get("arms", ())}
    fresh = [
        (branch, entry) for branch, entry in armed if not _is_armed(context, branch, entry, event.session_id)
    ]
    arms = [(branch, e) for branch, e in armed if (branch, e.name) in unproven or (branch, e) in fresh]
    if not (arms or uses):
        return []
    taken: list[str] = []
    if event.hook.tool_use_id:

        def keep(found: dict[str, _Call]) -> None:
            taken.extend(name for name in _taken(event, context, uses, found) if name not in taken)
            if not taken:
                _add(event, context, arms, uses, found)

        calls.change(keep)
    if not taken:
        for branch in dict.fromkeys(branch for branch, _ in fresh):
            entries = [entry for at, entry in fresh if at == branch]
            context.files.arm(branch, entries, event.session_id, event.at)
    return taken


def _is_armed(context: EvaluationContext, branch: str, entry: Requirement, session: str) -> bool:
    state = context.state if branch == context.branch else context.files.load(branch, context.now)
    return state.record(entry.name, session).get("triggered") is True


def _taken(
    event: GateEvent, context: EvaluationContext, uses: list[tuple[str, Requirement]], calls: dict[str, _Call]
) -> list[str]:
    """Those of ``uses`` that an earlier open call is about to use up."""
    mark, found = digest(event), []
    for branch, entry in uses:
        record = context.files.load(branch, context.now).record(entry.name, event.session_id)
        satisfied_at = record.get("satisfied_at")
        if record.get("satisfied") is not True or not isinstance(satisfied_at, (int, float)):
            continue  # met for every session: such a satisfaction is not used up
        for key, call in calls.items():
            again = key == event.hook.tool_use_id or call.get("digest") == mark
            refused = call.get("asked") and call.get("agent", "") == event.hook.agent_id
            over = again or refused or call.get("over") or not 0 <= event.at - call.get("at", 0) <= _IN_USE_S
            used = [branch, entry.name] in [one[:2] for one in call.get("uses", ())]
            if used and not over and satisfied_at <= call.get("at", 0):
                found.append(entry.name)
                break
    return found


def _add(
    event: GateEvent,
    context: EvaluationContext,
    arms: list[tuple[str, Requirement]],
    uses: list[tuple[str, Requirement]],
    calls: dict[str, _Call],
) -> None:
    call = calls.setdefault(event.hook.tool_use_id, {"at": event.at, "tool": event.hook.tool_name})
    call["digest"], call["agent"] = digest(event), event.hook.agent_id
    if not command_of(event.hook.tool_input):
        call["files"] = [os.path.join(event.cwd, path) for path in targets_of(event.hook.tool_input)][:20]
    call["arms"] = _joined(call.get("arms"), [[branch, entry.name] for branch, entry in arms])
    used = [[branch, entry.name, _moves_tips(entry, event, context)] for branch, entry in uses]
    call["uses"] = _joined(call.get("uses"), used)
    if any(one[2] for one in used):
        call.setdefault("tips", {})[context.repo.git_dir] = tip_of(context.repo)


def _joined(old: object, new: list[list[Any]]) -> list[list[Any]]:
    kept = old if isinstance(old, list) else []
    return kept + [one for one in new if one not in kept]


def _moves_tips(entry: Requirement, event: GateEvent, context: EvaluationContext) -> bool:
    return bool(command_of(event.hook.tool_input)) and any(
        entry in matching(context.rules, event.hook.tool_name, {"command": f"git {words}"})
        for words in _MOVERS
    )


def settle(event: GateEvent, context: EvaluationContext) -> list[str]:
    """Use up satisfactions of calls that committed something and never reported their end; the names."""
    calls = OpenCalls(context.files, event.session_id)
    done: list[str] = []
    moved = {
        key
        for key, call in calls.all().items()
        if key != event.hook.tool_use_id and _committed(call, context.repo)
    }
    if not moved:
        return done

    def apply(found: dict[str, _Call]) -> None:
        for key in moved & found.keys():
            done.extend(
                _use_up(context.files, event.session_id, found[key], found[key]["at"], tips_only=True)
            )
            found[key]["uses"] = [one for one in found[key]["uses"] if not one[2]]

    calls.change(apply)
    return done


def _committed(call: _Call, repo: Repo) -> bool:
    if not any(one[2] for one in call.get("uses", ())):
        return False
    tips = call.get("tips")
    return isinstance(tips, dict) and any(
        has_moved(Repo(repo.top, git_dir, repo.common_dir), before) for git_dir, before in tips.items()
    )


def _use_up(files: StateFiles, session: str, call: _Call, at: float, *, tips_only: bool = False) -> list[str]:
    done = []
    for branch, name, moves in call.get("uses", ()):
        if (moves or not tips_only) and files.use_up(branch, name, session, at):
            done.append(name)
    return done


def call_ended(
    event: GateEvent, repo: Repo, files: StateFiles, *, success: bool
) -> list[tuple[str, str]] | None:
    """Apply the end of a call: (branch, name) of what it used up; None if nothing is known of the call."""
    calls = OpenCalls(files, event.session_id)
    key = _key_of(event, calls.all())
    call = calls.all().get(key)
    if call is None:
        return None
    committed = _committed(call, repo)
    used: list[str] = []
    if committed or (success and not only_mentions(event)):
        used = _use_up(files, event.session_id, call, call["at"], tips_only=not success)
    # A command that failed has run all the same; what else failed has changed nothing.
    changed = success or bool(command_of(event.hook.tool_input))

    def apply(found: dict[str, _Call]) -> None:
        _close(event, files, found, key, changed=changed)

    calls.change(apply)
    return [(branch, name) for branch, name, _ in call.get("uses", ()) if name in used]


def _key_of(event: GateEvent, calls: dict[str, _Call]) -> str:
    """The call's id; if the client has changed it, that of the oldest call with the same words."""
    if event.hook.tool_use_id in calls or not calls:
        return event.hook.tool_use_id
    mark = digest(event)
    return next((key for key, call in calls.items() if call.get("digest") == mark), event.hook.tool_use_id)


def only_mentions(event: GateEvent) -> bool:
    """Whether the call's command only prints or searches: a pattern that finds it there is no use of it."""
    line = read_line(command_of(event.hook.tool_input))
    return line.whole and bool(line.commands) and all(map(_only_prints, line.commands))


def _only_prints(command: ShellCommand) -> bool:
    if any(path != "/dev/null" for path in command.writes):
        return False
    call = git_call(command)
    return command.program in _PRINTING if call is None else call.verb in _PRINTED_BY_GIT


def _close(event: GateEvent, files: StateFiles, calls: dict[str, _Call], key: str, *, changed: bool) -> None:
    """Remove the call: what it armed stays armed if it ``changed`` anything, or another call may have."""
    arms = calls.pop(key, {}).get("arms", [])
    if changed:
        for call in calls.values():
            call["arms"] = [one for one in call.get("arms", ()) if one not in arms]
        return
    others = [one for call in calls.values() for one in call.get("arms", ())]
    for branch, name in arms:
        if [branch, name] not in others:
            files.change(branch, event.at, partial(_disarm, name=name, event=event))


def _disarm(state: BranchState, *, name: str, event: GateEvent) -> None:
    state.disarm(name, event.session_id, event.at)


def asked_for(event: GateEvent, files: StateFiles) -> None:
    """Record that the permission dialog shows for a call: if it never ends, it was refused."""
    calls, mark = OpenCalls(files, event.session_id), digest(event)
    if any(call.get("digest") == mark and not call.get("asked") for call in calls.all().values()):
        calls.change(
            lambda found: [call.update(asked=True) for call in found.values() if call.get("digest") == mark]
        )


def turn_over(event: GateEvent, repo: Repo, files: StateFiles) -> None:
    """Close the main agent's calls where a turn ends or begins: those asked for were refused.

    If a file changed since such a call was asked for, the call ran and its end was lost.
    """
    calls = OpenCalls(files, event.session_id)
    if not any(not call.get("over") and not call.get("agent") for call in calls.all().values()):
        return

    def apply(found: dict[str, _Call]) -> None:
        for key, call in list(found.items()):
            if call.get("agent"):
                continue
            call["over"] = True
            if call.get("asked") and not _changed(call) and not _committed(call, repo):
                _close(event, files, found, key, changed=False)

    calls.change(apply)


def _changed(call: _Call) -> bool:
    for path in call.get("files", ()):
        try:
            if os.stat(path).st_ctime >= call["at"]:
                return True
        except (OSError, ValueError):
            continue
    return False
