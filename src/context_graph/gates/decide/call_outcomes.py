"""Applies a call's outcome to requirements once it is known how a call that was let through ended.

A success arms them; a call that failed, or that the user refused, arms nothing. Single_use satisfactions are
used up by success, and by a commit made meanwhile, whatever the client reports, even if it reports nothing.
"""

from __future__ import annotations

import binascii
import json
import os
from operator import methodcaller
from typing import Any

from context_graph.gates.decide.evaluation import EvaluationContext
from context_graph.gates.decide.tool_call import command_of, git_call, matching, targets_of
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import Requirement
from context_graph.gates.state.state_files import StateFiles
from context_graph.gates.state.under_way import Entry, Kept, UnderWay, has_committed, tips_of
from context_graph.system.small_files import number
from context_graph.text.shell_lines import ShellCommand, read_line

_PRINTING = frozenset(("cat", "cd", "echo", "egrep", "grep", "head", "ls", "printf", "rg", "tail", "wc"))
_PRINTED_BY_GIT = frozenset(("diff", "grep", "log", "show", "status"))

_IN_USE_S = 600.0
"""How long a call without an end keeps others from its satisfaction: no command may run longer by itself."""

_MOVERS = ("commit -m x", "merge x", "cherry-pick x", "revert x", "rebase x", "am x", "pull")
"""What moves a branch's tip: a requirement that such a command triggers is used up when the tip moves."""

_FILES = 20


def digest(event: GateEvent) -> str:
    """Identifies a call by its words: for an event without an id, such as the permission dialog's."""
    try:
        text = json.dumps(event.hook.tool_input, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = ""
    return f"{event.hook.tool_name}.{binascii.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def key_of(event: GateEvent) -> str:
    """Return what the call is kept under."""
    return event.hook.tool_use_id or digest(event)


def let_through(
    event: GateEvent, context: EvaluationContext, armed: list[tuple[str, Requirement]]
) -> list[str]:
    """Arm what the call triggered ((branch, requirement) each), and reserve what it uses against other calls.

    Returns:
        The single_use requirements whose satisfaction another call is about to use: if any, nothing was done.

    Raises:
        OSError: If neither the state nor the list of calls can be written.
    """
    under_way = UnderWay(context.files, event.session_id)
    uses = [(branch, e) for branch, e in armed if e.scope == "single_use" and e.type == "blocking"]
    unproven = {tuple(pair) for call in under_way.calls.values() for pair in call.get("arms", ())}
    fresh = [(branch, e) for branch, e in armed if not _is_armed(context, branch, e, event.session_id)]
    arms = [(branch, e) for branch, e in armed if (branch, e.name) in unproven or (branch, e) in fresh]
    taken: list[str] = []

    def keep(kept: Kept) -> None:
        taken.extend(name for name in _taken(event, context, uses, kept["calls"]) if name not in taken)
        if not taken:
            _add(event, context, arms, uses, kept["calls"])

    if (arms or uses) and not event.git:
        under_way.change(keep)
    if not taken:
        for branch in dict.fromkeys(branch for branch, _ in fresh):
            entries = [entry for at, entry in fresh if at == branch]
            context.files.arm(branch, entries, event.session_id, event.at)
    return taken


def _is_armed(context: EvaluationContext, branch: str, entry: Requirement, session: str) -> bool:
    state = context.state if branch == context.branch else context.files.load(branch, context.now)
    return state.record(entry.name, session).get("triggered") is True


def _taken(
    event: GateEvent, context: EvaluationContext, uses: list[tuple[str, Requirement]], calls: dict[str, Entry]
) -> list[str]:
    """Return those of ``uses`` that an earlier call, still under way, is about to use up."""
    taken = []
    for branch, entry in uses:
        record = context.files.load(branch, context.now).record(entry.name, event.session_id)
        at = number(record.get("satisfied_at"))
        if (
            record.get("satisfied") is True
            and at
            and any(  # one for every session is not used up
                at <= call["at"] and [branch, entry.name] in [use[:2] for use in call["uses"]]
                for key, call in calls.items()
                if not _is_over(key, call, event)
            )
        ):
            taken.append(entry.name)
    return taken


def _is_over(key: str, call: Entry, event: GateEvent) -> bool:
    """Return whether the call keeps nothing from ``event``'s: the same, refused, given up, or git's own."""
    again = key == key_of(event) or call.get("digest") == digest(event)
    refused = call.get("asked") and call.get("agent", "") == event.hook.agent_id
    late = not 0 <= event.at - call["at"] <= _IN_USE_S
    return bool(again or refused or call.get("over") or late or "pid" in call)


def _add(
    event: GateEvent,
    context: EvaluationContext,
    arms: list[tuple[str, Requirement]],
    uses: list[tuple[str, Requirement]],
    calls: dict[str, Entry],
) -> None:
    call = calls.get(key_of(event))
    if call is None or call["at"] != event.at:  # else it acts on another checkout of the repository as well
        call = calls[key_of(event)] = {"at": event.at, "uses": [], "tips": {}, "arms": []}
    call["digest"], call["agent"] = digest(event), event.hook.agent_id
    if not command_of(event.hook.tool_input):
        targets = targets_of(event.hook.tool_input)
        call["files"] = [os.path.join(event.cwd, path) for path in targets][:_FILES]
    used = [[branch, entry.name, _moves_tips(entry, event, context)] for branch, entry in uses]
    call["arms"] += [pair for branch, e in arms if (pair := [branch, e.name]) not in call["arms"]]
    call["uses"] += [use for use in used if use not in call["uses"]]
    if any(use[2] for use in used):
        call["tips"].update(tips_of(context.repo))


def _moves_tips(entry: Requirement, event: GateEvent, context: EvaluationContext) -> bool:
    return bool(command_of(event.hook.tool_input)) and any(
        entry in matching(context.rules, event.hook.tool_name, {"command": f"git {move}"}) for move in _MOVERS
    )


def call_ended(event: GateEvent, files: StateFiles, *, success: bool) -> list[tuple[str, str]] | None:
    """Apply the end of a call: (branch, name) of what it used up; None if nothing is known of the call.

    Raises:
        OSError: If the state can't be written.
    """
    under_way = UnderWay(files, event.session_id)
    key, call = _call_of(event, under_way.calls)
    if call is None:
        return None
    used: list[tuple[str, str]] = []
    if has_committed(call) or (success and not only_mentions(event)):
        used = under_way.use_up(call, commits_only=not success)
    # A command that failed has run all the same; what else failed has changed nothing.
    changed = success or bool(command_of(event.hook.tool_input))
    under_way.change(lambda kept: _close(event, files, kept["calls"], key, changed=changed))
    return used


def _call_of(event: GateEvent, calls: dict[str, Entry]) -> tuple[str, Entry | None]:
    """Return the call by its id; if the client has changed that, the oldest one with the same words."""
    if key_of(event) in calls:
        return key_of(event), calls[key_of(event)]
    mark = digest(event)
    return next(((key, call) for key, call in calls.items() if call.get("digest") == mark), ("", None))


def only_mentions(event: GateEvent) -> bool:
    """Return whether the call's command only prints or searches: to be found there is no use."""
    line = read_line(command_of(event.hook.tool_input))
    return line.whole and bool(line.commands) and all(map(_only_prints, line.commands))


def _only_prints(command: ShellCommand) -> bool:
    if any(path != "/dev/null" for path in command.writes):
        return False
    call = git_call(command)
    return command.program in _PRINTING if call is None else call.verb in _PRINTED_BY_GIT


def _close(event: GateEvent, files: StateFiles, calls: dict[str, Entry], key: str, *, changed: bool) -> None:
    """Remove the call: what it armed stays armed if it ``changed`` anything, or another call may have."""
    arms = calls.pop(key, {}).get("arms", [])
    if changed:
        for call in calls.values():
            call["arms"] = [pair for pair in call.get("arms", ()) if pair not in arms]
        return
    others = [pair for call in calls.values() for pair in call.get("arms", ())]
    for branch, name in arms:
        if [branch, name] not in others:
            disarm = methodcaller("disarm", name, event.session_id, event.at)
            files.change(branch, event.at, disarm)


def asked_for(event: GateEvent, files: StateFiles) -> None:
    """Record that the permission dialog shows for a call: if it never ends, it was refused."""
    under_way, mark = UnderWay(files, event.session_id), digest(event)

    def apply(kept: dict[str, Any]) -> None:
        for call in kept["calls"].values():
            if call.get("digest") == mark:
                call["asked"] = True

    if any(call.get("digest") == mark and not call.get("asked") for call in under_way.calls.values()):
        under_way.change(apply)


def turn_over(event: GateEvent, files: StateFiles) -> None:
    """Close the main agent's calls where a turn ends or begins: those asked for were refused.

    If a file changed since such a call was asked for, the call ran and its end was lost.
    """
    under_way = UnderWay(files, event.session_id)

    def is_meant(call: Entry) -> bool:
        return not call.get("agent") and "pid" not in call

    def apply(kept: Kept) -> None:
        for key, call in list(kept["calls"].items()):
            if is_meant(call):
                call["over"] = True
                if call.get("asked") and not _changed(call) and not has_committed(call):
                    _close(event, files, kept["calls"], key, changed=False)

    if any(is_meant(call) and not call.get("over") for call in under_way.calls.values()):
        under_way.change(apply)


def _changed(call: Entry) -> bool:
    for path in call.get("files", ()):
        try:
            if os.stat(path).st_ctime >= call["at"]:
                return True
        except (OSError, ValueError):
            continue
    return False
