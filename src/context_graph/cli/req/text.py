"""Renders the output of `req` commands as text, from the same data as `--json`. Decides nothing."""

from __future__ import annotations

import shlex
import time
from typing import Any

import yaml  # type: ignore[import-untyped]

from context_graph.gates.commands.command_context import CommandContext
from context_graph.text.units import ago

_MARKS = {"error": "✗", "warning": "!", "note": "·", "ok": "✓"}
_CALL = "context-graph-cli req"


def git_hooks(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    done = "installed" if "installed" in answer else "removed"
    lines = [f"{done} in {answer['folder']}: {', '.join(answer[done]) or 'nothing'}"]
    if answer.get("kept"):
        lines.append(f"these were there and run after ours: {', '.join(answer['kept'])}")
    if answer.get("restored"):
        lines.append(f"back as they were: {', '.join(answer['restored'])}")
    return "\n".join(lines)


def status(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    shown = {name: row for name, row in answer["requirements"].items() if row["enabled"]}
    unmet = [name for name, requirement in shown.items() if not requirement["satisfied"]]
    if options.get("summary"):
        return _summary(answer, shown, unmet)
    session = answer["session_id"] or "no live session (--session ID names one)"
    lines = [f"{answer['branch']} · {session} · {answer['project']}"]
    if answer["why"]:
        lines.append(f"! nothing is enforced: {answer['why']}")
    if answer["paused"]:
        lines.append(f"⏸ paused for this session; `{_CALL} resume` ends it")
    lines += [f"{_MARKS.get(level, '!')} {text}" for level, text in answer["problems"]]
    width = max((len(name) for name in shown), default=0)
    lines += [_row(name, requirement, width, options, context) for name, requirement in shown.items()]
    if options.get("verbose"):
        off = [name for name, requirement in answer["requirements"].items() if not requirement["enabled"]]
        lines += [f"· off: {', '.join(off)}"] if off else []
    if unmet and not answer["why"]:
        where = "" if answer["session_id"] else f" --branch {shlex.quote(answer['branch'])}"
        lines += ["", f"When this is done: `{_CALL} satisfy {' '.join(unmet)}{where}`"]
    return "\n".join(lines)


def _summary(answer: dict[str, Any], shown: dict[str, Any], unmet: list[str]) -> str:
    if answer["why"]:
        return f"nothing is enforced: {answer['why']}"
    paused = " (paused)" if answer["paused"] else ""
    if not unmet:
        return f"all {len(shown)} requirements met on {answer['branch']}{paused}"
    return (
        f"{len(unmet)} of {len(shown)} requirements unmet on {answer['branch']}: {', '.join(unmet)}{paused}"
    )


def _row(
    name: str, requirement: dict[str, Any], width: int, options: dict[str, Any], context: CommandContext
) -> str:
    mark = "✓" if requirement["satisfied"] else "✗"
    what = (
        f"{requirement['type']}, {requirement['scope']}"
        if requirement["type"] != "blocking"
        else requirement["scope"]
    )
    reason = requirement["why"]
    if requirement["satisfied"] and requirement["satisfied_by"]:
        reason = f"by {requirement['satisfied_by']}{_ago(requirement['satisfied_at'], context.now)}"
    notes = [reason] if reason else []
    if requirement["expires_at"]:
        notes.append(f"until {_when(float(requirement['expires_at']))}")
    notes += [word for word in ("stop_only", "human_only") if requirement[word]]
    if requirement["triggered"] and not requirement["satisfied"]:
        notes.append("armed: checked when the session stops")
    line = f"{mark} {name.ljust(width)}  {what}: {'; '.join(notes)}".rstrip(": ")
    if options.get("verbose"):
        line += f"\n    on {', '.join(requirement['triggers'])}"
        line += f"\n    {requirement['text'].strip()}" if requirement["text"] else ""
    return line


def satisfied(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    whose = f"session {answer['session_id']}" if answer["session_id"] else "every session"
    lines = [f"! {answer['took']}"] if answer["took"] else []
    lines += [f"✓ satisfied: {', '.join(answer['satisfied'])} on {', '.join(answer['branches'])} for {whose}"]
    for name, expires in answer["expires_at"].items():
        if expires:
            lines.append(f"  {name} until {_when(float(expires))}")
    return "\n".join(lines)


def cleared(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    whose = f"session {answer['session_id']}" if answer["session_id"] else "every session"
    if not answer["cleared"]:
        return f"nothing to clear on {answer['branch']} for {whose}"
    return f"cleared: {', '.join(answer['cleared'])} on {answer['branch']} for {whose}"


def paused(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    text = f"⏸ requirements paused for session {answer['session_id']}; `{_CALL} resume` ends it"
    kept = answer["still_enforced"]
    return (
        f"{text}\n! still enforced, because only a person may lift them: {', '.join(kept)}" if kept else text
    )


def resumed(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    outcome = "requirements hold again for" if answer["was_paused"] else "was not paused:"
    return f"{outcome} session {answer['session_id']}"


def branches(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    rows = answer["branches"]
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


def pruned(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    verb = "would remove" if options.get("preview") else "removed"
    what = ", ".join(answer["pruned"]) or "nothing: every branch with state exists"
    more = [
        f"{answer[key]} {text}"
        for key, text in (("markers", "old pause markers"), ("sessions", "dead sessions"))
        if answer[key]
    ]
    return "; ".join([f"{verb}: {what}", *more])


def accepted(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    lifted = ", ".join(answer["accepted"])
    return (
        f"✓ accepted; no longer held as it was: {lifted}" if lifted else "nothing was held: the files decide"
    )


def sessions(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    rows = answer["sessions"]
    if not rows:
        return "no live session is known"
    return "\n".join(
        f"{row['session_id']}  {row['branch'] or '-'}  {row['project_dir']}  pid {row['pid']}"
        f"{_ago(row['last_active'], context.now)}"
        for row in rows
    )


def switched(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    what = answer["name"] or "requirements"
    return f"{what}: {'enabled' if answer['enabled'] else 'disabled'} in {answer['path']}"


def configuration(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    lines = [f"# {label}: {path} ({state})" for label, path, state in answer["files"]]
    lines += [f"# {level}: {text}" for level, text in answer["problems"]]
    sources = answer.get("sources")
    if sources is not None:
        lines += [f"{key}  <- {label}" for key, label in sorted(sources.items())]
        return "\n".join(lines)
    # What people wrote is YAML, so they are shown that.
    return "\n".join([*lines, yaml.safe_dump(answer["config"], sort_keys=False).rstrip()])


def initialised(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    if not answer["written"]:
        return f"# {answer['path']}\n{answer['text'].rstrip()}"
    lines = [f"wrote {answer['path']}; `{_CALL} status` shows what holds"]
    if answer["missing_hooks"]:
        lines.append("! no hooks are registered, so nothing is enforced yet: run `context-graph-cli setup`")
    return "\n".join(lines)


def checked(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    if answer["decision"] == "allow":
        return f"allow on {answer['branch'] or 'no branch'}"
    return f"{answer['decision']}: {', '.join(answer['requirements'])}\n{answer['reason']}"


def keys(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    lines = []
    for key in answer["keys"]:
        about = "; ".join(
            part for part in (key["type"], f"default {key['default']}" * bool(key["default"])) if part
        )
        lines.append(f"{key['key']}{f'  ({about})' if about else ''}")
        lines.append(f"    {key['meaning']}")
    return "\n".join(lines)


def findings(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    lines = []
    for finding in answer["findings"]:
        lines.append(f"{_MARKS.get(finding['level'], '!')} {finding['what']}")
        if finding["cure"]:
            lines.append(f"    {finding['cure']}")
    return "\n".join(lines)


def entries(answer: dict[str, Any], options: dict[str, Any], context: CommandContext) -> str:
    if not answer["entries"]:
        return "nothing was refused or satisfied yet"
    return "\n".join(_entry(entry) for entry in answer["entries"])


def _entry(entry: dict[str, Any]) -> str:
    parts = [
        _when(entry.get("at_ms", 0) / 1000, day=True),
        entry.get("kind", "?").ljust(9),
        ", ".join(entry.get("requirements", ())) or "-",
    ]
    about = [
        entry.get("tool") or entry.get("event") or "",
        f"by {entry['by']}" if entry.get("by") else "",
        entry.get("branch", ""),
        (entry.get("session_id") or "")[:8],
    ]
    line = "  ".join(parts) + "  (" + ", ".join(part for part in about if part) + ")"
    detail = entry.get("detail")
    return f"{line}\n    {detail}" if detail else line


def _ago(at: Any, now: float) -> str:
    return f", {ago(at * 1000, now * 1000)} ago" if isinstance(at, (int, float)) and at else ""


def _when(at: float, *, day: bool = False) -> str:
    form = "%Y-%m-%d %H:%M:%S" if day or abs(at - time.time()) > 43_200 else "%H:%M:%S"
    return time.strftime(form, time.localtime(at))
