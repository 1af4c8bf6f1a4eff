"""Renders the output of `req` commands as text, from the same data as `--json`. Decides nothing."""

from __future__ import annotations

import shlex
import time
from typing import Any

import yaml  # type: ignore[import-untyped]

from context_graph.gates.commands.command_context import CommandContext

_MARKS = {"error": "✗", "warning": "!", "note": "·", "ok": "✓"}
_CALL = "context-graph-cli req"


def git_hooks(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    done = "installed" if "installed" in found else "removed"
    lines = [f"{done} in {found['folder']}: {', '.join(found[done]) or 'nothing'}"]
    if found.get("kept"):
        lines.append(f"these were there and run after ours: {', '.join(found['kept'])}")
    if found.get("restored"):
        lines.append(f"back as they were: {', '.join(found['restored'])}")
    return "\n".join(lines)


def status(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    shown = {name: one for name, one in found["requirements"].items() if one["enabled"]}
    unmet = [name for name, one in shown.items() if not one["satisfied"]]
    if given.get("summary"):
        return _summary(found, shown, unmet)
    session = found["session_id"] or "no live session (--session ID names one)"
    lines = [f"{found['branch']} · {session} · {found['project']}"]
    if found["why"]:
        lines.append(f"! nothing is enforced: {found['why']}")
    if found["paused"]:
        lines.append(f"⏸ paused for this session; `{_CALL} resume` ends it")
    lines += [f"{_MARKS.get(level, '!')} {text}" for level, text in found["problems"]]
    width = max((len(name) for name in shown), default=0)
    lines += [_row(name, one, width, given, context) for name, one in shown.items()]
    if given.get("verbose"):
        off = [name for name, one in found["requirements"].items() if not one["enabled"]]
        lines += [f"· off: {', '.join(off)}"] if off else []
    if unmet and not found["why"]:
        where = "" if found["session_id"] else f" --branch {shlex.quote(found['branch'])}"
        lines += ["", f"When this is done: `{_CALL} satisfy {' '.join(unmet)}{where}`"]
    return "\n".join(lines)


def _summary(found: dict[str, Any], shown: dict[str, Any], unmet: list[str]) -> str:
    if found["why"]:
        return f"nothing is enforced: {found['why']}"
    paused = " (paused)" if found["paused"] else ""
    if not unmet:
        return f"all {len(shown)} requirements met on {found['branch']}{paused}"
    return f"{len(unmet)} of {len(shown)} requirements unmet on {found['branch']}: {', '.join(unmet)}{paused}"


def _row(name: str, one: dict[str, Any], width: int, given: dict[str, Any], context: CommandContext) -> str:
    mark = "✓" if one["satisfied"] else "✗"
    what = f"{one['type']}, {one['scope']}" if one["type"] != "blocking" else one["scope"]
    said = one["why"]
    if one["satisfied"] and one["satisfied_by"]:
        said = f"by {one['satisfied_by']}{_ago(one['satisfied_at'], context.now)}"
    notes = [said] if said else []
    if one["expires_at"]:
        notes.append(f"until {_when(float(one['expires_at']))}")
    notes += [word for word in ("stop_only", "human_only") if one[word]]
    if one["triggered"] and not one["satisfied"]:
        notes.append("armed: checked when the session stops")
    line = f"{mark} {name.ljust(width)}  {what}: {'; '.join(notes)}".rstrip(": ")
    if given.get("verbose"):
        line += f"\n    on {', '.join(one['triggers'])}"
        line += f"\n    {one['text'].strip()}" if one["text"] else ""
    return line


def satisfied(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    whose = f"session {found['session_id']}" if found["session_id"] else "every session"
    lines = [f"! {found['took']}"] if found["took"] else []
    lines += [f"✓ satisfied: {', '.join(found['satisfied'])} on {', '.join(found['branches'])} for {whose}"]
    for name, expires in found["expires_at"].items():
        if expires:
            lines.append(f"  {name} until {_when(float(expires))}")
    return "\n".join(lines)


def cleared(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    whose = f"session {found['session_id']}" if found["session_id"] else "every session"
    if not found["cleared"]:
        return f"nothing to clear on {found['branch']} for {whose}"
    return f"cleared: {', '.join(found['cleared'])} on {found['branch']} for {whose}"


def paused(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    text = f"⏸ requirements paused for session {found['session_id']}; `{_CALL} resume` ends it"
    kept = found["still_enforced"]
    return (
        f"{text}\n! still enforced, because only a person may lift them: {', '.join(kept)}" if kept else text
    )


def resumed(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    said = "requirements hold again for" if found["was_paused"] else "was not paused:"
    return f"{said} session {found['session_id']}"


def branches(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    rows = found["branches"]
    if not rows:
        return "no branch has any state yet"
    width = max(len(row["branch"]) for row in rows)
    lines = []
    for row in rows:
        gone = "" if row["exists"] is not False else f"  branch is gone, `{_CALL} prune` removes this"
        mark = "*" if row["current"] else " "
        lines.append(
            f"{mark} {row['branch'].ljust(width)}  {_count(row['satisfied'])} of "
            f"{_count(row['requirements'])} satisfied{_ago(row['updated_at'], context.now)}{gone}"
        )
    return "\n".join(lines)


def _count(value: Any) -> int:
    return len(value) if isinstance(value, (list, dict)) else int(value)


def pruned(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    verb = "would remove" if given.get("preview") else "removed"
    what = ", ".join(found["pruned"]) or "nothing: every branch with state exists"
    more = [
        f"{found[key]} {text}"
        for key, text in (("markers", "old pause markers"), ("sessions", "dead sessions"))
        if found[key]
    ]
    return "; ".join([f"{verb}: {what}", *more])


def accepted(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    lifted = ", ".join(found["accepted"])
    return (
        f"✓ accepted; no longer held as it was: {lifted}" if lifted else "nothing was held: the files decide"
    )


def sessions(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    rows = found["sessions"]
    if not rows:
        return "no live session is known"
    return "\n".join(
        f"{row['session_id']}  {row['branch'] or '-'}  {row['project_dir']}  pid {row['pid']}"
        f"{_ago(row['last_active'], context.now)}"
        for row in rows
    )


def switched(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    what = found["name"] or "requirements"
    return f"{what}: {'enabled' if found['enabled'] else 'disabled'} in {found['path']}"


def configuration(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    lines = [f"# {label}: {path} ({state})" for label, path, state in found["files"]]
    lines += [f"# {level}: {text}" for level, text in found["problems"]]
    sources = found.get("sources")
    if sources is not None:
        lines += [f"{key}  <- {label}" for key, label in sorted(sources.items())]
        return "\n".join(lines)
    # What people wrote is YAML, so they are shown that.
    return "\n".join([*lines, yaml.safe_dump(found["config"], sort_keys=False).rstrip()])


def initialised(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    if not found["written"]:
        return f"# {found['path']}\n{found['text'].rstrip()}"
    lines = [f"wrote {found['path']}; `{_CALL} status` shows what holds"]
    if found["missing_hooks"]:
        lines.append("! no hooks are registered, so nothing is enforced yet: run `context-graph-cli setup`")
    return "\n".join(lines)


def checked(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    if found["decision"] == "allow":
        return f"allow on {found['branch'] or 'no branch'}"
    return f"{found['decision']}: {', '.join(found['requirements'])}\n{found['reason']}"


def keys(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    lines = []
    for one in found["keys"]:
        about = "; ".join(
            part for part in (one["type"], f"default {one['default']}" * bool(one["default"])) if part
        )
        lines.append(f"{one['key']}{f'  ({about})' if about else ''}")
        lines.append(f"    {one['meaning']}")
    return "\n".join(lines)


def findings(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    lines = []
    for one in found["findings"]:
        lines.append(f"{_MARKS.get(one['level'], '!')} {one['what']}")
        if one["cure"]:
            lines.append(f"    {one['cure']}")
    return "\n".join(lines)


def entries(found: dict[str, Any], given: dict[str, Any], context: CommandContext) -> str:
    if not found["entries"]:
        return "nothing was refused or satisfied yet"
    return "\n".join(_entry(one) for one in found["entries"])


def _entry(one: dict[str, Any]) -> str:
    parts = [
        _when(one.get("at_ms", 0) / 1000, day=True),
        one.get("kind", "?").ljust(9),
        ", ".join(one.get("requirements", ())) or "-",
    ]
    about = [
        one.get("tool") or one.get("event") or "",
        f"by {one['by']}" if one.get("by") else "",
        one.get("branch", ""),
        (one.get("session_id") or "")[:8],
    ]
    line = "  ".join(parts) + "  (" + ", ".join(part for part in about if part) + ")"
    detail = one.get("detail")
    return f"{line}\n    {detail}" if detail else line


def _ago(at: Any, now: float) -> str:
    if not isinstance(at, (int, float)) or not at:
        return ""
    seconds = max(0, int(now - at))
    for size, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f", {seconds // size} {word} ago"
    return f", {seconds} s ago"


def _when(at: float, *, day: bool = False) -> str:
    form = "%Y-%m-%d %H:%M:%S" if day or abs(at - time.time()) > 43_200 else "%H:%M:%S"
    return time.strftime(form, time.localtime(at))
