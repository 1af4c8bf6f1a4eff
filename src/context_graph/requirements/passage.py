"""What a call that was let through does to requirements once it is known how it ended.

It arms them; a call that failed, or that the user refused, arms nothing. It uses single_use satisfactions
up: when it succeeded, or when something was committed meanwhile, whatever the client says of it, and if it
says nothing at all.
"""

from __future__ import annotations

import os

from context_graph.requirements.calls import Calls, digest
from context_graph.requirements.git import Repo
from context_graph.requirements.state import arming, disarming, use
from context_graph.requirements.state_files import StateFiles
from context_graph.requirements.tips import has_moved, tip_of
from context_graph.requirements.triggers import command_of, matching, targets_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.event import GateEvent
    from context_graph.requirements.rules import Requirement
    from context_graph.requirements.scene import Scene

    _Call = dict[str, Any]

__all__ = ["asked_for", "ended", "let_through", "settle", "turn_over"]

_IN_USE_S = 600.0
"""How long a call without an end keeps others from its satisfaction: no command may run longer by itself."""

_MOVERS = ("commit -m x", "merge x", "cherry-pick x", "revert x", "rebase x", "am x", "pull")
"""What moves a branch's tip: a requirement that such a command triggers is used up when the tip moves."""


def let_through(event: GateEvent, scene: Scene, armed: list[tuple[str, Requirement]]) -> list[str]:
    """Arm what the call triggered ((branch, requirement) each), and keep what it uses from other calls.

    Returns:
        The single_use requirements whose satisfaction another call is about to use: if any, nothing was done.

    Raises:
        OSError: If neither the state nor the list of calls can be written.
    """
    calls = Calls(scene.repo.common_dir, event.session_id, scene.files.cache)
    uses = [
        (branch, entry) for branch, entry in armed if entry.scope == "single_use" and entry.type == "blocking"
    ]
    open_calls = calls.all()
    unproven = {tuple(one) for call in open_calls.values() for one in call.get("arms", ())}
    fresh = [
        (branch, entry) for branch, entry in armed if not _is_armed(scene, branch, entry, event.session_id)
    ]
    arms = [(branch, e) for branch, e in armed if (branch, e.name) in unproven or (branch, e) in fresh]
    if not (arms or uses):
        return []
    taken: list[str] = []
    if event.tool_use_id:

        def keep(found: dict[str, _Call]) -> None:
            taken.extend(name for name in _taken(event, scene, uses, found) if name not in taken)
            if not taken:
                _add(event, scene, arms, uses, found)

        calls.change(keep)
    if not taken:
        for branch in dict.fromkeys(branch for branch, _ in fresh):
            notes = [_arming(entry, event) for at, entry in fresh if at == branch]
            scene.files.note(branch, event.at, notes)
    return taken


def _is_armed(scene: Scene, branch: str, entry: Requirement, session: str) -> bool:
    state = scene.state if branch == scene.branch else scene.files.load(branch, scene.now)
    return state.record(entry.name, session).get("triggered") is True


def _arming(entry: Requirement, event: GateEvent) -> dict[str, Any]:
    return arming(entry.name, event.session_id, scope=entry.scope, now=event.at, type=entry.type)


def _taken(
    event: GateEvent, scene: Scene, uses: list[tuple[str, Requirement]], calls: dict[str, _Call]
) -> list[str]:
    """Of ``uses`` those that an earlier call, which has not ended, is about to use up."""
    mark, found = digest(event), []
    for branch, entry in uses:
        record = scene.files.load(branch, scene.now).record(entry.name, event.session_id)
        satisfied_at = record.get("satisfied_at")
        if record.get("satisfied") is not True or not isinstance(satisfied_at, (int, float)):
            continue  # met for every session: such a satisfaction is not used up
        for key, call in calls.items():
            again = key == event.tool_use_id or call.get("digest") == mark
            refused = call.get("asked") and call.get("agent", "") == event.agent_id
            over = again or refused or call.get("over") or not 0 <= event.at - call.get("at", 0) <= _IN_USE_S
            used = [branch, entry.name] in [one[:2] for one in call.get("uses", ())]
            if used and not over and satisfied_at <= call.get("at", 0):
                found.append(entry.name)
                break
    return found


def _add(
    event: GateEvent,
    scene: Scene,
    arms: list[tuple[str, Requirement]],
    uses: list[tuple[str, Requirement]],
    calls: dict[str, _Call],
) -> None:
    call = calls.setdefault(event.tool_use_id, {"at": event.at, "tool": event.tool_name})
    call["digest"], call["agent"] = digest(event), event.agent_id
    if not command_of(event.tool_input):
        call["files"] = [os.path.join(event.cwd, path) for path in targets_of(event.tool_input)][:20]
    call["arms"] = _joined(call.get("arms"), [[branch, entry.name] for branch, entry in arms])
    used = [[branch, entry.name, _moves_tips(entry, event, scene)] for branch, entry in uses]
    call["uses"] = _joined(call.get("uses"), used)
    if any(one[2] for one in used):
        call.setdefault("tips", {})[scene.repo.git_dir] = tip_of(scene.repo)


def _joined(old: object, new: list[list[Any]]) -> list[list[Any]]:
    kept = old if isinstance(old, list) else []
    return kept + [one for one in new if one not in kept]


def _moves_tips(entry: Requirement, event: GateEvent, scene: Scene) -> bool:
    return bool(command_of(event.tool_input)) and any(
        entry in matching(scene.rules, event.tool_name, {"command": f"git {words}"}) for words in _MOVERS
    )


def settle(event: GateEvent, scene: Scene) -> list[str]:
    """Use up what calls used that committed something and of whose end nothing was heard; the names."""
    calls = Calls(scene.repo.common_dir, event.session_id, scene.files.cache)
    done: list[str] = []
    moved = {
        key for key, call in calls.all().items() if key != event.tool_use_id and _committed(call, scene.repo)
    }
    if not moved:
        return done

    def apply(found: dict[str, _Call]) -> None:
        for key in moved & found.keys():
            done.extend(_use_up(scene.files, event.session_id, found[key], found[key]["at"], tips_only=True))
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
        if (moves or not tips_only) and files.load(branch, at).is_spent(name, session, at):
            files.note(branch, at, [use(name, session, now=at)])
            done.append(name)
    return done


def ended(
    event: GateEvent, repo: Repo, files: StateFiles, cache: GateCache | None, *, success: bool
) -> list[tuple[str, str]] | None:
    """Apply the end of a call: (branch, name) of what it used up; None if nothing is known of the call."""
    calls = Calls(repo.common_dir, event.session_id, cache)
    key = _key_of(event, calls.all())
    call = calls.all().get(key)
    if call is None:
        return None
    committed = _committed(call, repo)
    used: list[str] = []
    if committed or (success and not _only_mentions(event)):
        used = _use_up(files, event.session_id, call, call["at"], tips_only=not success)
    # A command that failed has run all the same; what else failed has changed nothing.
    changed = success or bool(command_of(event.tool_input))

    def apply(found: dict[str, _Call]) -> None:
        _close(event, files, found, key, changed=changed)

    calls.change(apply)
    return [(branch, name) for branch, name, _ in call.get("uses", ()) if name in used]


def _key_of(event: GateEvent, calls: dict[str, _Call]) -> str:
    """The call's id, or that of the oldest call of the same words where the client has given it another."""
    if event.tool_use_id in calls or not calls:
        return event.tool_use_id
    mark = digest(event)
    return next((key for key, call in calls.items() if call.get("digest") == mark), event.tool_use_id)


def _only_mentions(event: GateEvent) -> bool:
    from context_graph.requirements.readers import only_reads

    command = command_of(event.tool_input)
    return bool(command) and only_reads(command)


def _close(event: GateEvent, files: StateFiles, calls: dict[str, _Call], key: str, *, changed: bool) -> None:
    """Take the call out: what it armed stays armed if it ``changed`` anything, or another may have."""
    arms = calls.pop(key, {}).get("arms", [])
    if changed:
        for call in calls.values():
            call["arms"] = [one for one in call.get("arms", ()) if one not in arms]
        return
    others = [one for call in calls.values() for one in call.get("arms", ())]
    for branch, name in arms:
        if [branch, name] not in others:
            files.note(branch, event.at, [disarming(name, event.session_id, now=event.at)])


def asked_for(event: GateEvent, repo: Repo, cache: GateCache | None) -> None:
    """The permission dialog shows for a call: without an end of it, it was refused."""
    calls, mark = Calls(repo.common_dir, event.session_id, cache), digest(event)
    if any(call.get("digest") == mark and not call.get("asked") for call in calls.all().values()):
        calls.change(
            lambda found: [call.update(asked=True) for call in found.values() if call.get("digest") == mark]
        )


def turn_over(event: GateEvent, repo: Repo, files: StateFiles, cache: GateCache | None) -> None:
    """The turn has ended or a new one begins: the main agent's calls have ended, those asked for were
    refused.

    A file that changed since such a call was asked for says that the call ran and that its end was lost.
    """
    calls = Calls(repo.common_dir, event.session_id, cache)
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
