"""Merges our hook entries into a settings file; all else in it stays byte for byte (REQ-SESSION-16)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any, Final

from context_graph.claude.events import EVENT_OF_VERB, REGISTERED, ClientEvent
from context_graph.claude.settings.edit import JsonEditor, Node, parse_json_text
from context_graph.claude.settings.hook_commands import GATED, SEARCH, command_line, exec_form, hook_problems
from context_graph.errors import InvalidInputError

_VERBS: Final = (
    rf"hooks (?:{'|'.join(EVENT_OF_VERB)})"
    r"|session (?:restore|persist)-identity|consciousness (?:brief|check-identity|inject-context)"
)
_CALL: Final = rf"context-graph(?:-cli)? (?:{_VERBS})(?: --(?:stdin|auto-dream|fast-path|format [a-z-]++))*+"
_FOUND: Final = r"command -v context-graph(?:-cli)? >/dev/null 2>&1"
_OURS: Final = re.compile(
    rf"(?:{re.escape(SEARCH)}; )?"
    rf"(?:(?:{_FOUND} && )?(?:exec )?{_CALL}(?: \|\| true|; exit 0"
    r"| \|\| \[ ! -e [^]]++\](?: \|\| \{ echo [^{}]++\})?)?"
    rf"|if {_FOUND}; then {_CALL}; else echo '[^']*+'; fi \|\| true)"
)
"""Commands that we write, wrote, or seed 000 told people to write: these are brought up to date."""
_MENTIONS_US: Final = re.compile(rf"(?<![\w.@+-])context-graph(?:-cli)?['\"]?\s++(?:{_VERBS})\b")
"""Commands that call us in a form of the user's own: left alone, and no second call is added."""


def our_group(
    event: ClientEvent, matcher: str | None = None, *, strict: bool = False, program: str = ""
) -> dict[str, Any]:
    """Return our entry under ``event``: a matcher group with one command hook.

    Without ``matcher`` all tools count: what the identity is computed from is the whole of the work. With
    ``strict`` the hook of the gates blocks the call where it fails. With ``program``, a path, a hook whose
    command the client quotes to its model has no shell line.
    """
    strict = strict and event.name == GATED
    call: dict[str, object] = {"command": command_line(event, strict=strict)}
    if program and event.quoted:
        call = exec_form(event, program)
    hook: dict[str, object] = {"type": "command", **call, "timeout": event.settings_s}
    if strict:
        hook["onFailure"] = "block"
    group: dict[str, Any] = {"hooks": [hook]}
    return {"matcher": matcher, **group} if event.tools and matcher else group


def merge_settings(
    text: str,
    events: Sequence[ClientEvent],
    matcher: str | None = None,
    *,
    strict: bool | None = None,
    program: str = "",
) -> str:
    """Return ``text`` of a settings file with our entries for ``events``; empty text makes a new file.

    Entries of ours are updated in place (an old matcher of theirs stays unless ``matcher`` is given),
    missing ones appended; a second run changes nothing. Other bytes of the file stay as they are.
    ``strict`` says whether the hook of the gates blocks where it fails; None leaves that as it is.
    ``program`` as in `our_group`.

    Raises:
        InvalidInputError: If the text is no JSON object, or holds a hook entry that would make the
            client drop the whole file; the file must then be mended first.
    """
    if not text.strip():
        groups = {
            event.name: [our_group(event, matcher, strict=bool(strict), program=program)] for event in events
        }
        fresh = {"hooks": groups}
        return json.dumps(fresh, indent=2, ensure_ascii=False) + "\n"
    try:
        root = parse_json_text(text)
    except ValueError as error:
        raise InvalidInputError(
            f"settings are not JSON: {error}; fix the file; it was not changed"
        ) from error
    _refuse_problems(root.value, "Claude Code would ignore the whole file as it is; fix it first")
    kept = is_strict(root.value) if strict is None else strict
    merged = _Editor(text, root, strict=kept, program=program).merged(events, matcher)
    _refuse_problems(json.loads(merged), "Claude Code would ignore the result; please report this")
    return merged


def _refuse_problems(settings: Any, consequence: str) -> None:
    problems = hook_problems(settings)
    if problems:
        raise InvalidInputError(f"{consequence}: {'; '.join(problems[:5])}")


def is_strict(settings: dict[str, Any]) -> bool:
    """Return whether the gates' hook blocks the call where it fails, in ``settings`` without problems."""
    groups = settings.get("hooks", {}).get(GATED, [])
    hooks = [hook for group in groups for hook in group["hooks"] if _role(hook) != "other"]
    return any(hook.get("onFailure") == "block" for hook in hooks)


class _Editor(JsonEditor):
    """Brings the hooks of one settings file up to date."""

    def __init__(self, text: str, root: Node, *, strict: bool, program: str) -> None:
        super().__init__(text, root)
        self._strict = strict
        self._program = program

    def _group(self, event: ClientEvent, matcher: str | None) -> dict[str, Any]:
        return our_group(event, matcher, strict=self._strict, program=self._program)

    def merged(self, events: Sequence[ClientEvent], matcher: str | None) -> str:
        hooks = self.root.members.get("hooks")
        if hooks is None:
            value = {event.name: [self._group(event, matcher)] for event in events}
            self.append_members(self.root, {"hooks": value}, 1)
        else:
            missing = {}
            for event in events:
                groups = hooks.members.get(event.name)
                if groups is None:
                    missing[event.name] = [self._group(event, matcher)]
                else:
                    self._merge_groups(groups, event, matcher)
            self.append_members(hooks, missing, 2)
        return self.applied()

    def _merge_groups(self, groups: Node, event: ClientEvent, matcher: str | None) -> None:
        """Bring the list under one event up to date; unchanged groups keep their text."""
        pieces: list[Node | dict[str, Any]] = []
        called = False
        (own,) = self._group(event, None)["hooks"]
        for node in groups.items:
            updated, called = _updated_group(node.value, event, matcher, own, called=called)
            if updated is not None:
                pieces.append(node if updated == node.value else updated)
        if not called:
            pieces.append(self._group(event, matcher))
        if groups.items and pieces[: len(groups.items)] == groups.items:
            self.append_items(groups, pieces[len(groups.items) :], 3)
        elif pieces != groups.items:
            self.replace_items(groups, pieces, 3)


def _updated_group(
    group: dict[str, Any], event: ClientEvent, matcher: str | None, own: dict[str, Any], *, called: bool
) -> tuple[dict[str, Any] | None, bool]:
    """Return ``group`` brought up to date (None: nothing is left of it) and whether we are called by now."""
    hooks: list[dict[str, Any]] = []
    for hook in group["hooks"]:
        role = _role(hook)
        if role == "ours" and called:
            continue  # a second one would run the event twice
        called = called or role != "other"
        hooks.append(own if role == "ours" else hook)
    if not hooks and group["hooks"]:
        return None, called
    updated = {**group, "hooks": hooks}
    if matcher and event.tools and hooks == [own]:
        updated = {"matcher": matcher, **{key: value for key, value in updated.items() if key != "matcher"}}
    return updated, called


def is_ours(hook: dict[str, Any]) -> bool:
    """Return whether a hook entry is one that we write, or wrote."""
    return _role(hook) == "ours"


def _is_exec(hook: dict[str, Any], event: ClientEvent) -> bool:
    """Return whether it is the form without a shell that we write for ``event``."""
    command = str(hook["command"])
    is_path = os.path.isabs(command) and os.path.basename(command) == "context-graph-cli"
    return is_path and event.quoted and hook["args"] == exec_form(event, command)["args"]


def _role(hook: dict[str, Any]) -> str:
    """ours, theirs (the user's own way to call us) or other."""
    command = str(hook.get("command", "")).strip()
    arguments = hook.get("args")
    if isinstance(arguments, list) and os.path.basename(command).startswith("context-graph"):
        return "ours" if any(_is_exec(hook, event) for event in REGISTERED) else "theirs"
    if hook.get("type") == "command" and _OURS.fullmatch(command):
        return "ours"
    return "theirs" if _MENTIONS_US.search(command) else "other"
