"""What is said to the model: short, every unmet requirement named, the way out as the last line."""

from __future__ import annotations

from context_graph.requirements.scene import Scene
from context_graph.requirements.verdict import Verdict

__all__ = [
    "PROGRAM",
    "briefing",
    "denial",
    "escape",
    "guidance",
    "held_denial",
    "human_only_denial",
    "one_line",
    "shell_word",
    "stop_block",
]

PROGRAM = "context-graph-cli"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@+")
_MESSAGE = 1200
_ITEMS = 12
_LINE = 200
_ROOM = 6000
"""Characters for all texts together: the client cuts what is too long, and the way out comes last."""
_SHOWN = 20


def denial(verdicts: list[Verdict], scene: Scene) -> str:
    """The reason of a refused tool call; the last line holds the command that satisfies all of them."""
    count = len(verdicts)
    head = f"Blocked by {'a requirement' if count == 1 else f'{count} requirements'} on {scene.branch}:"
    return "\n".join([head, *_items(verdicts, scene), *_way_out(verdicts, scene)])


def human_only_denial(why: str, names: list[str], scene: Scene) -> str:
    """The reason of a call that might do what only a person may; ``why`` "own": by our own program."""
    one = len(names) == 1
    listed = ", ".join(names)
    head = f"Only a person may satisfy, clear or switch off {listed} (human_only)"
    if why == "own":
        return f"{head}.\nAsk the user to run, in a terminal of their own: `{escape(names, scene)}`"
    return (
        f"{head}: {why}. Reading it is fine. If you mean other files, name them in a simple command.\n"
        f"If {'it is' if one else 'they are'} met, ask the user to run, in a terminal of their own: "
        f"`{escape(names, scene)}`"
    )


def held_denial(why: str, names: list[str], session_id: str) -> str:
    """The reason of a call held by human_only requirements that the session has seen, their file away."""
    one = len(names) == 1
    command = f"{PROGRAM} req satisfy {' '.join(map(shell_word, names))} --session {shell_word(session_id)}"
    return (
        f"Blocked: {why}. {', '.join(names)}, which only a person may satisfy (human_only), still "
        f"{'holds' if one else 'hold'} for this session.\n"
        "Ask the user to put things back, or to go on in a new session if it was meant so.\n"
        f"Once it is back, a person may run: `{command}`"
    )


def stop_block(verdicts: list[Verdict], scene: Scene) -> str:
    """The reason of a Stop that is held back."""
    count = len(verdicts)
    head = f"Before stopping, meet {'this requirement' if count == 1 else f'these {count} requirements'}:"
    return "\n".join([head, *_items(verdicts, scene), *_way_out(verdicts, scene)])


def _items(verdicts: list[Verdict], scene: Scene) -> list[str]:
    lines: list[str] = []
    room = _ROOM
    for verdict in verdicts[:_SHOWN]:
        item = _item(verdict, scene)
        room -= sum(map(len, item))
        lines += item if room > 0 else [f"- {verdict.requirement.name}"]
    if len(verdicts) > _SHOWN:
        lines.append(f"- and {len(verdicts) - _SHOWN} more")
    return lines


def _item(verdict: Verdict, scene: Scene) -> list[str]:
    requirement = verdict.requirement
    text = _text(verdict, scene)
    said = "" if verdict.why == "not satisfied" else verdict.why
    where = f" (on {verdict.branch})" if verdict.branch and verdict.branch != scene.branch else ""
    line = f"- {requirement.name}{where}: " + "; ".join(part for part in (text, said) if part)
    lines = [line.rstrip(": ")]
    lines += [f"  [ ] {item[:_LINE]}" for item in requirement.checklist[:_ITEMS]]
    skill = requirement.auto_resolve_skill or "".join(requirement.satisfied_by_skill[:1])
    if skill and not requirement.human_only and skill not in text:
        lines.append(f"  met by the skill {skill}")
    return lines


def _text(verdict: Verdict, scene: Scene) -> str:
    requirement = verdict.requirement
    given = requirement.templates.get("blocking_message") or requirement.message
    if requirement.type == "dynamic":
        given = requirement.templates.get("blocking_message") or requirement.blocking_message or given
    text = _fill(given or requirement.description or requirement.short_message, verdict, scene).strip()
    if len(text) > _MESSAGE:
        text = text[:_MESSAGE] + " [cut]"
    return text.replace("\n", "\n  ")


def _fill(text: str, verdict: Verdict, scene: Scene) -> str:
    """``text`` with its placeholders; a brace that is none of them stays as it is."""
    if "{" not in text:
        return text
    requirement = verdict.requirement
    values = {
        "session_id": scene.session_id,
        "auto_resolve_skill": requirement.auto_resolve_skill,
        "branch": scene.branch,
        "project_dir": scene.root,
        "name": requirement.name,
        "req_name": requirement.name,
        "value": _number(verdict.value),
        "total": _number(verdict.value),
        "warn_threshold": _number(requirement.warn),
        "block_threshold": _number(requirement.block),
    }
    for key, value in values.items():
        text = text.replace("{" + key + "}", value)
    return text


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _way_out(verdicts: list[Verdict], scene: Scene) -> list[str]:
    names = list(dict.fromkeys(verdict.requirement.name for verdict in verdicts))
    humans = [v.requirement.name for v in verdicts if v.requirement.human_only]
    lines = []
    if humans:
        lines.append(
            f"Only a person may satisfy {', '.join(dict.fromkeys(humans))}, in a terminal of their own."
        )
    lines.append(f"Once met: `{escape(names, scene)}`")
    return lines


def escape(names: list[str], scene: Scene) -> str:
    """The command that satisfies ``names``: for this session or, without one, for the branch."""
    words = " ".join(shell_word(name) for name in names)
    if scene.session_id:
        return f"{PROGRAM} req satisfy {words} --session {shell_word(scene.session_id)}"
    return f"{PROGRAM} req satisfy {words} --branch {shell_word(scene.branch)}"


def shell_word(text: str) -> str:
    """``text`` as one word of a shell command."""
    if text and _PLAIN.issuperset(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def one_line(verdict: Verdict) -> str:
    """What a list says of one requirement."""
    requirement = verdict.requirement
    text = requirement.templates.get("short_message") or requirement.short_message or requirement.description
    return " ".join((text or verdict.why).split())[:120]


def briefing(verdicts: list[Verdict], scene: Scene, *, standard: bool) -> list[str]:
    """The short status of SessionStart: what is open and how to close it; one line each if ``standard``."""
    total = len(verdicts)
    pending = [verdict for verdict in verdicts if not verdict.met]
    if not pending:
        return [f"Requirements on {scene.branch}: all {total} met."]
    names = [verdict.requirement.name for verdict in pending]
    if not standard:
        shown = ", ".join(names[:_SHOWN])
        lines = [f"Requirements on {scene.branch}: {len(pending)} of {total} open: {shown}."]
    else:
        lines = [f"Requirements on {scene.branch}: {len(pending)} of {total} open:"]
        lines += [f"- {v.requirement.name}: {one_line(v)}" for v in pending[:_SHOWN]]
    lines.append(f"Once met: `{escape(names[:_SHOWN], scene)}`")
    return lines


def guidance(tool: str, failures: int, verdicts: list[Verdict], scene: Scene) -> list[str]:
    """What is said when a tool has failed that many times in a row."""
    head = (
        f"{tool} has failed {failures} times in a row: its error says why; look before the next try. "
        "A failed call meets no requirement."
    )
    return [head, *(briefing(verdicts, scene, standard=False) if verdicts else [])]
