"""Our hook entries merged into a settings file: all else in it stays byte for byte (REQ-SESSION-16)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from context_graph.errors import InvalidInputError
from context_graph.hooks_config.events import HookedEvent, command_line
from context_graph.hooks_config.json_text import Node, parse_json_text
from context_graph.hooks_config.schema import hook_problems

__all__ = ["merge_settings", "our_group"]

_VERBS: Final = (
    r"hooks (?:session-start|pre-tool|post-tool|post-tool-failure|prompt-submit|stop|pre-compact|session-end"
    r"|permission-request|subagent-stop)"
    r"|session (?:restore|persist)-identity|consciousness (?:brief|check-identity|inject-context)"
)
_CALL: Final = rf"context-graph(?:-cli)? (?:{_VERBS})(?: --(?:stdin|auto-dream|fast-path|format [a-z-]+))*"
_OURS: Final = re.compile(
    rf"(?:command -v context-graph(?:-cli)? >/dev/null 2>&1 && )?(?:exec )?{_CALL}(?: \|\| true|; exit 0)?"
)
"""Commands that we write, wrote, or seed 000 told people to write: these are brought up to date."""
_MENTIONS_US: Final = re.compile(rf"\bcontext-graph(?:-cli)?['\"]?\s+(?:{_VERBS})\b")
"""Commands that call us in a form of the user's own: left alone, and no second call is added."""
_DEFAULT_UNIT: Final = "  "


def our_group(event: HookedEvent, matcher: str | None = None) -> dict[str, Any]:
    """Our entry under ``event``: a matcher group with one command hook.

    Without ``matcher`` all tools count: what the identity is computed from is the whole of the work.
    """
    hook = {"type": "command", "command": command_line(event), "timeout": event.timeout_s}
    group: dict[str, Any] = {"hooks": [hook]}
    return {"matcher": matcher, **group} if event.for_tools and matcher else group


def merge_settings(text: str, events: Sequence[HookedEvent], matcher: str | None = None) -> str:
    """``text`` of a settings file with our entries for ``events``; empty text makes a new file.

    Entries of ours are updated in place (an old matcher of theirs stays unless ``matcher`` is given),
    missing ones appended; a second run changes nothing. Other bytes of the file stay as they are.

    Raises:
        InvalidInputError: If the text is no JSON object, or holds a hook entry that would make the
            client drop the whole file; the file must then be mended first.
    """
    if not text.strip():
        fresh = {"hooks": {event.name: [our_group(event, matcher)] for event in events}}
        return json.dumps(fresh, indent=2, ensure_ascii=False) + "\n"
    try:
        root = parse_json_text(text)
    except ValueError as error:
        raise InvalidInputError(
            f"settings are not JSON: {error}; mend the file, it was not touched"
        ) from error
    _refuse_problems(root.value, "the client would drop the whole file as it is; mend it first")
    merged = _Editor(text, root).merged(events, matcher)
    _refuse_problems(json.loads(merged), "the result would be dropped by the client; this is our defect")
    return merged


def _refuse_problems(settings: Any, consequence: str) -> None:
    problems = hook_problems(settings)
    if problems:
        raise InvalidInputError(f"{consequence}: {'; '.join(problems[:5])}")


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str


class _Editor:
    """Collects edits of one document, in its own indentation and line ends."""

    def __init__(self, text: str, root: Node) -> None:
        self._text = text
        self._root = root
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._unit = self._indent_unit()
        self._edits: list[_Edit] = []

    def merged(self, events: Sequence[HookedEvent], matcher: str | None) -> str:
        hooks = self._root.members.get("hooks")
        if hooks is None:
            value = {event.name: [our_group(event, matcher)] for event in events}
            self._append_members(self._root, {"hooks": value}, 1)
        else:
            missing = {}
            for event in events:
                groups = hooks.members.get(event.name)
                if groups is None:
                    missing[event.name] = [our_group(event, matcher)]
                else:
                    self._merge_groups(groups, event, matcher)
            self._append_members(hooks, missing, 2)
        return self._applied()

    def _merge_groups(self, groups: Node, event: HookedEvent, matcher: str | None) -> None:
        """Bring the list under one event up to date; unchanged groups keep their text."""
        pieces: list[Node | dict[str, Any]] = []
        found = False
        for node in groups.items:
            updated, found = _updated_group(node.value, event, matcher, found=found)
            if updated is not None:
                pieces.append(node if updated == node.value else updated)
        if not found:
            pieces.append(our_group(event, matcher))
        if pieces != groups.items:
            self._edits.append(_Edit(groups.start, groups.end, self._list_text(groups, pieces)))

    def _list_text(self, groups: Node, pieces: list[Node | dict[str, Any]]) -> str:
        inner = self._line_indent(groups.items[0].start) if groups.items else None
        inner = self._unit_times(3) if inner is None else inner
        texts = [
            self._text[piece.start : piece.end] if isinstance(piece, Node) else self._dumped(piece, inner)
            for piece in pieces
        ]
        if self._unit is None:
            return "[" + ", ".join(texts) + "]"
        outer = inner.removesuffix(self._unit)
        lines = f",{self._newline}{inner}".join(texts)
        return f"[{self._newline}{inner}{lines}{self._newline}{outer}]"

    def _append_members(self, node: Node, members: dict[str, Any], depth: int) -> None:
        if not members:
            return
        last = max(node.members.values(), key=lambda member: member.end, default=None)
        indent = self._line_indent(min(node.key_starts.values())) if node.key_starts else None
        indent = self._unit_times(depth) if indent is None else indent
        gap = ", " if self._unit is None else f",{self._newline}{indent}"
        text = gap.join(
            f"{json.dumps(key, ensure_ascii=False)}: {self._dumped(value, indent)}"
            for key, value in members.items()
        )
        if last is not None:
            self._edits.append(_Edit(last.end, last.end, gap + text))
        elif self._unit is None:
            self._edits.append(_Edit(node.start, node.end, "{" + text + "}"))
        else:
            outer = indent.removesuffix(self._unit)
            whole = f"{{{self._newline}{indent}{text}{self._newline}{outer}}}"
            self._edits.append(_Edit(node.start, node.end, whole))

    def _dumped(self, value: Any, indent: str) -> str:
        text = json.dumps(value, indent=self._unit, ensure_ascii=False)
        return text.replace("\n", self._newline + indent)

    def _indent_unit(self) -> str | None:
        """What one level is indented by; None for a document on one line that says something."""
        if not self._root.key_starts:
            return _DEFAULT_UNIT
        first = self._line_indent(min(self._root.key_starts.values()))
        if first is None and "\n" not in self._text.strip():
            return None
        return first or _DEFAULT_UNIT

    def _line_indent(self, at: int) -> str | None:
        """The white space before ``at`` if it is the first thing on its line."""
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        starts_line = self._text.rfind("\n", 0, at) >= 0
        return line if starts_line and not line.strip() else None

    def _unit_times(self, depth: int) -> str:
        return "" if self._unit is None else self._unit * depth

    def _applied(self) -> str:
        text = self._text
        for edit in sorted(self._edits, key=lambda edit: edit.start, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text


def _updated_group(
    group: dict[str, Any], event: HookedEvent, matcher: str | None, *, found: bool
) -> tuple[dict[str, Any] | None, bool]:
    """``group`` brought up to date (None: nothing is left of it) and whether we are called by now."""
    (ours,) = our_group(event)["hooks"]
    hooks: list[dict[str, Any]] = []
    for hook in group["hooks"]:
        role = _role(hook)
        if role == "ours" and found:
            continue  # a second one would run the event twice
        found = found or role != "other"
        hooks.append(ours if role == "ours" else hook)
    if not hooks and group["hooks"]:
        return None, found
    updated = {**group, "hooks": hooks}
    if matcher and event.for_tools and hooks == [ours]:
        updated = {"matcher": matcher, **{key: value for key, value in updated.items() if key != "matcher"}}
    return updated, found


def _role(hook: dict[str, Any]) -> str:
    """ours, theirs (the user's own way to call us) or other."""
    command = str(hook.get("command", "")).strip()
    arguments = hook.get("args")
    if isinstance(arguments, list) and os.path.basename(command).startswith("context-graph"):
        return "theirs"
    if hook.get("type") == "command" and _OURS.fullmatch(command):
        return "ours"
    return "theirs" if _MENTIONS_US.search(command) else "other"
