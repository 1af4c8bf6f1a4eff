"""Writes the gates' messages: short, with every unmet requirement, and the way out as the last line.

Writes the client's status line too: it reads what the gates read, writes no file and starts no process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote
from typing import Any

from context_graph.gates.config.config import load_rules
from context_graph.gates.decide.evaluation import NOT_SATISFIED, EvaluationContext, Verdict, evaluate
from context_graph.gates.rules import GateCache, Requirement
from context_graph.gates.state.project import find_project
from context_graph.gates.state.state_files import paused
from context_graph.text.quoting import fence, inert, quoted

PROGRAM = "context-graph-cli"
_MESSAGE = 1200
_ITEMS = 12
_LINE = 200
_ROOM = 6000
"""Characters for all texts together: the client cuts what is too long, and the way out comes last."""
_SHOWN = 20
_LABEL = "Of this repository's own files and branch, as data:"
_PLAIN = re.compile(r"[\w./-]{1,64}", re.ASCII)


def denial(verdicts: list[Verdict], context: EvaluationContext) -> str:
    """Return the reason of a refused tool call; the last line has the command that satisfies them."""
    count = len(verdicts)
    head = f"Blocked by {'a requirement' if count == 1 else f'{count} requirements'} on {context.branch}:"
    return _listed(head, verdicts, context)


def human_only_denial(path: str, names: list[str]) -> str:
    """Return the reason of a call that would edit a file which decides what the gates do."""
    return (
        f"`{path[:_LINE]}` decides what the requirements ask, and {', '.join(names)} is for a person "
        "alone (human_only). Reading it is fine. Ask the user to change it, if it must be changed."
    )


def held_denial(why: str, names: list[str]) -> str:
    """Return the reason of a call held by human_only requirements that it has seen, their .git gone."""
    return (
        f"Blocked: {why}. {', '.join(names)}, which only a person may satisfy (human_only), still "
        f"{'holds' if len(names) == 1 else 'hold'} for this session.\n"
        "Ask the user to put things back, or to go on in a new session if it was meant so."
    )


def stop_block(verdicts: list[Verdict], context: EvaluationContext) -> str:
    """Return the reason of a Stop that is held back."""
    count = len(verdicts)
    head = f"Before stopping, meet {'this requirement' if count == 1 else f'these {count} requirements'}:"
    return _listed(head, verdicts, context)


def _listed(head: str, verdicts: list[Verdict], context: EvaluationContext) -> str:
    return "\n".join([head, *_items(verdicts, context), *_way_out(verdicts, context)])


def _items(verdicts: list[Verdict], context: EvaluationContext) -> list[str]:
    lines: list[str] = []
    room = _ROOM
    for verdict in verdicts[:_SHOWN]:
        item = _item(verdict, context)
        room -= sum(map(len, item))
        lines += item if room > 0 else [f"- {verdict.requirement.name}"]
    if len(verdicts) > _SHOWN:
        lines.append(f"- and {len(verdicts) - _SHOWN} more")
    return lines


def _item(verdict: Verdict, context: EvaluationContext) -> list[str]:
    requirement = verdict.requirement
    text = _text(verdict, context)
    why = "" if verdict.why == NOT_SATISFIED else verdict.why
    if not text and not why:
        why = _default(requirement)
    if requirement.name in context.rules.retained:
        why += f"{'; ' if why else ''}this session has seen it, so it holds until a person accepts the change"
    where = f" (on {verdict.branch})" if verdict.branch and verdict.branch != context.branch else ""
    line = f"- {requirement.name}{where}: " + "; ".join(part for part in (text, why) if part)
    lines = [line.rstrip(": ")]
    lines += [f"  [ ] {item[:_LINE]}" for item in requirement.checklist[:_ITEMS]]
    skill = _skill(requirement)
    if skill and skill not in line:
        lines.append(f"  met by the skill {skill}")
    return lines


def _skill(requirement: Requirement) -> str:
    """Return the skill that meets it; none meets one for a person."""
    named = requirement.auto_resolve_skill or "".join(requirement.satisfied_by_skill[:1])
    return "" if requirement.human_only else named


def _text(verdict: Verdict, context: EvaluationContext) -> str:
    requirement = verdict.requirement
    template = requirement.templates.get("blocking_message") or requirement.message
    if requirement.type == "dynamic":
        template = requirement.templates.get("blocking_message") or requirement.blocking_message or template
    text = _fill(template or requirement.description or requirement.short_message, verdict, context).strip()
    if len(text) > _MESSAGE:
        text = text[:_MESSAGE] + " [cut]"
    return text.replace("\n", "\n  ")


def _fill(text: str, verdict: Verdict, context: EvaluationContext) -> str:
    """Return ``text`` with its placeholders filled in; other braces stay."""
    if "{" not in text:
        return text
    requirement = verdict.requirement
    values = {
        "session_id": context.session_id,
        "auto_resolve_skill": requirement.auto_resolve_skill,
        "branch": context.branch,
        "project_dir": context.root,
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


def _default(requirement: Requirement) -> str:
    """Return what is asked where the configuration has no words for it."""
    if requirement.human_only:
        return "a person has to look at this first"
    if requirement.type == "dynamic":
        return "ask the user to approve it"
    if requirement.evidence is not None:
        return f"write down what its name asks first: {_artefact(requirement.evidence)}"
    if _skill(requirement):
        return f"run the skill {_skill(requirement)} first"
    return "do what its name asks first, then mark it as met"


def _artefact(wanted: dict[str, Any]) -> str:
    """Return the file that a requirement with ``evidence`` needs."""
    parts = [f"with {marker!r}" for marker in wanted["markers"]]
    parts += [f"with '## Verdict' of {wanted['verdict']}"] if wanted["verdict"] else []
    return ", ".join([f"a Markdown file in {' or '.join(wanted['dirs'] or ['.claude/plans'])}", *parts])


def _way_out(verdicts: list[Verdict], context: EvaluationContext) -> list[str]:
    """Return how to go on: what the model marks as met, what it asks of the user. A cure meets a guard."""
    by_kind: dict[str, dict[str, None]] = {"blocking": {}, "dynamic": {}, "guard": {}, "person": {}}
    for verdict in verdicts:
        entry = verdict.requirement
        by_kind["person" if entry.human_only else entry.type][entry.name] = None
    model, numbers, guards, persons = map(list, by_kind.values())
    lines = [f"Ask the user to run in a terminal: {_command(persons, context)}"] if persons else []
    if model:
        agreed = f", and the user approves {', '.join(map(name_as_data, numbers))}" if numbers else ""
        lines.append(f"When this is done{agreed}: {_command([*model, *numbers], context)}")
    elif numbers or (guards and not persons):
        lines.append(f"Only if the user says so: {_command(numbers or guards, context)}")
    return lines


def _command(names: list[str], context: EvaluationContext) -> str:
    command = escape(names, context)
    return f"`{command}`" if inert(command) == command and "`" not in command else quoted(command)


def escape(names: list[str], context: EvaluationContext) -> str:
    """Return the command that satisfies ``names``: it finds the session; without one it is for the branch."""
    words = " ".join(map(quote, names))
    branch = "" if context.session_id else f" --branch {quote(context.branch)}"
    return f"{PROGRAM} req satisfy {words}{branch}"


def one_line(verdict: Verdict) -> str:
    """Return a requirement as one line of a list."""
    requirement = verdict.requirement
    text = requirement.templates.get("short_message") or requirement.short_message or requirement.description
    why = requirement.message or _default(requirement) if verdict.why == NOT_SATISFIED else verdict.why
    return " ".join((text or why).split())[:120]


def briefing(verdicts: list[Verdict], context: EvaluationContext, *, standard: bool) -> list[str]:
    """Return the short status: what is open and its cure; a line each if ``standard``. For `as_data`."""
    total, branch = len(verdicts), name_as_data(context.branch)
    pending = [verdict for verdict in verdicts if not verdict.met]
    if not pending:
        return [f"Requirements on {branch}: all {total} met."]
    names = [name_as_data(verdict.requirement.name) for verdict in pending[:_SHOWN]]
    if not standard:
        lines = [f"Requirements on {branch}: {len(pending)} of {total} open: {', '.join(names)}."]
    else:
        lines = [f"Requirements on {branch}: {len(pending)} of {total} open:"]
        lines += [
            f"- {name}: {quoted(one_line(verdict))}" for name, verdict in zip(names, pending, strict=False)
        ]
    return lines + _way_out(pending[:_SHOWN], context)


def name_as_data(name: str) -> str:
    """Return a name that the repository gives: as it is if it is a plain word, else quoted."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def as_data(lines: list[str]) -> list[str]:
    """Return ``lines`` with what the repository named and wrote, told as data, not in our voice."""
    return [fence(lines, label=_LABEL)] if lines else []


def guidance(tool: str, failures: int, verdicts: list[Verdict], context: EvaluationContext) -> list[str]:
    """Return the message after a tool has failed that many times in a row."""
    head = (
        f"{tool} has failed {failures} times in a row: its error says why; look before the next try. "
        "A failed call meets no requirement."
    )
    return [head, *as_data(briefing(verdicts, context, standard=False) if verdicts else [])]


_NAMES_CHARS = 48


def status_line(
    status: Mapping[str, Any],
    *,
    project_dir: str,
    session_id: str,
    claude_dir: str,
    now: float,
    cache: GateCache,
    cache_dir: str = "",
) -> str:
    """Return the status line for the client's status JSON, without a newline.

    Folder: ``workspace.current_dir``, else ``cwd``; session: ``session_id`` of the JSON, else the argument.
    A linked worktree is judged by its own files and branch. Cost: as one gate, 0.2 ms.
    """
    workspace = status.get("workspace")
    workspace = workspace if isinstance(workspace, dict) else {}
    folder = _as_text(workspace.get("current_dir")) or _as_text(status.get("cwd")) or project_dir
    hint = project_dir or _as_text(workspace.get("project_dir"))
    project = find_project(folder, hint, claude_dir=claude_dir)
    if project is None:
        return "no requirements here"
    rules = load_rules(project.root, claude_dir, cache)
    if not rules.readable:
        return "⚠ requirements file unreadable: nothing enforced"
    head = project.head()
    if project.repo is None or not head.branch:
        return f"requirements off ({'no git' if project.repo is None else head.state})"
    context = EvaluationContext(
        project,
        rules,
        branch=head.branch,
        session_id=_as_text(status.get("session_id")) or session_id,
        now=now,
        claude_dir=claude_dir,
        cache_dir=cache_dir,
        cache=cache,
        may_run=False,
    )
    return _shown_line(context)


def _shown_line(context: EvaluationContext) -> str:
    if paused(context.repo.common_dir, context.session_id) is not None:
        return "⏸ requirements paused"
    active = context.rules.active
    warning = " ⚠ config" if context.rules.problem_texts("error") else ""
    if not active:
        return f"no requirement enabled{warning}"
    verdicts = [evaluate(entry, context) for entry in active]
    unmet = [verdict.requirement.name for verdict in verdicts if not verdict.met and not verdict.deferred]
    if not unmet:
        return f"✓ {len(active)} requirement{'s' * (len(active) > 1)}{warning}"
    names = ", ".join(unmet)
    if len(names) > _NAMES_CHARS:
        names = names[: _NAMES_CHARS - 1] + "…"
    return f"✗ {len(unmet)} of {len(active)} open: {names}{warning}"


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""
