"""Judges whether a requirement is met: the single answer that gate, stop, status and status line give.

A satisfaction may need evidence: an artefact that somebody wrote.
"""

from __future__ import annotations

import copy
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from context_graph.gates.calculators import CalculationError, branch_size, run_command
from context_graph.gates.human_only import is_signed
from context_graph.gates.rules import GateCache, Requirement, Rules, names
from context_graph.gates.state.project import Project
from context_graph.gates.state.registry import Registry
from context_graph.gates.state.state import BranchState, is_current
from context_graph.gates.state.state_files import StateFiles
from context_graph.system.small_files import read_bytes

CALCULATIONS_S = 0.8
"""A hook that does not answer soon is given up, and then its call passes."""

NOT_SATISFIED = "not satisfied"
"""The verdict's ``why`` where nothing more is known."""

_RETRY_S = 30.0
"""How long a failed calculation is believed."""


@dataclass(slots=True)
class Verdict:
    """The answer for one requirement."""

    requirement: Requirement
    met: bool
    why: str = ""
    """What is missing, or what lets it pass."""
    record: dict[str, Any] = field(default_factory=dict)
    """The satisfaction that counts."""
    value: float | None = None
    """A dynamic requirement's number."""
    branch: str = ""
    deferred: bool = False
    """A process must run to tell."""
    unknown: bool = False
    """Even that did not tell, so it passes."""


class EvaluationContext:
    """One session on one branch of one project at one time; ``at_branch`` gives it for another branch."""

    def __init__(
        self,
        project: Project,
        rules: Rules,
        *,
        branch: str,
        session_id: str,
        now: float,
        claude_dir: str,
        cache_dir: str = "",
        cache: GateCache,
        may_run: bool = True,
        checked_out: bool = True,
    ) -> None:
        assert project.repo is not None, "requirements belong to a branch"
        self.root, self.repo, self.rules = project.work, project.repo, rules
        self.branch, self.session_id, self.now = branch, session_id, now
        self.cache, self.cache_dir, self.may_run = cache, cache_dir, may_run
        self.index = ""
        """git's index that a commit is made of, where that is not the usual one."""
        self.checked_out = checked_out
        """Whether ``branch`` is what the working tree holds; only then can its size be told."""
        self.until = time.monotonic() + CALCULATIONS_S
        """When all calculations of this context together must have ended."""
        self.registry = Registry(claude_dir, cache)
        self.files = StateFiles(project.repo.common_dir, project.work, cache)
        self.state = self.files.load(branch, now)

    def at_branch(self, state: BranchState) -> EvaluationContext:
        """Return the same on the branch of ``state``."""
        other = copy.copy(self)
        other.state, other.branch = state, state.branch
        other.checked_out = self.checked_out and state.branch == self.branch
        return other


def evaluate(requirement: Requirement, context: EvaluationContext) -> Verdict:
    """Return whether ``requirement`` is met in ``context``; ignores its triggers and the session's pause.

    Cost: dictionary look-ups; evidence reads a folder, a dynamic one may run a process (``context.may_run``).
    """
    verdict = _judge(requirement, context, _satisfaction(requirement, context))
    verdict.branch = context.branch
    return verdict


def unmet(requirements: list[Requirement], context: EvaluationContext) -> list[Verdict]:
    """Return the verdicts that are not met, or not known yet."""
    verdicts = (evaluate(entry, context) for entry in requirements)
    return [verdict for verdict in verdicts if not verdict.met or verdict.deferred]


def _judge(requirement: Requirement, context: EvaluationContext, record: dict[str, Any] | None) -> Verdict:
    if requirement.type == "guard":
        if record is not None:
            return Verdict(requirement, True, "overridden", record)
        why = _objection(requirement, context)
        return Verdict(requirement, not why, why)
    if requirement.type == "dynamic":
        if record is not None:
            return Verdict(requirement, True, "approved", record)
        return _judge_number(requirement, context)
    if record is None:
        return Verdict(requirement, False, _why_not(requirement, context))
    if requirement.evidence is not None:
        why = missing(requirement.evidence, context.root, context.now)
        return Verdict(requirement, not why, why, record)
    return Verdict(requirement, True, "satisfied", record)


def _satisfaction(requirement: Requirement, context: EvaluationContext) -> dict[str, Any] | None:
    """Return the satisfaction that counts now: the root's (also the override), else the session's."""
    name, now = requirement.name, context.now
    approval = requirement.type == "dynamic"
    lasting = requirement.scope == "permanent" and not requirement.per_session
    root = context.state.entry(name)
    if (
        _counts(requirement, root, context)
        and is_current(root, now, approval=approval, lasting=lasting)
        and not _is_refused(requirement, context)
    ):
        return root
    if not requirement.per_session:
        return None
    own = context.state.record(name, context.session_id)
    return (
        own
        if _counts(requirement, own, context, context.session_id) and is_current(own, now, approval=approval)
        else None
    )


def _is_refused(requirement: Requirement, context: EvaluationContext) -> bool:
    """Return whether the session took back for itself a satisfaction that holds for all others."""
    return requirement.per_session and context.state.refuses_override(requirement.name, context.session_id)


def _counts(
    requirement: Requirement, record: dict[str, Any], context: EvaluationContext, session_id: str = ""
) -> bool:
    if not requirement.human_only:
        return True
    place = {"common_dir": context.repo.common_dir, "branch": context.branch}
    return is_signed(record, requirement.name, session_id, cache_dir=context.cache_dir, **place)


def _why_not(requirement: Requirement, context: EvaluationContext) -> str:
    records = [] if _is_refused(requirement, context) else [("", context.state.entry(requirement.name))]
    if requirement.per_session:
        records.append((context.session_id, context.state.record(requirement.name, context.session_id)))
    satisfied = [(session, record) for session, record in records if record.get("satisfied") is True]
    if any(not _counts(requirement, record, context, session) for session, record in satisfied):
        return "only a person's own satisfaction counts"
    if satisfied:
        return "its satisfaction has expired"
    return _met_elsewhere(requirement, context) or NOT_SATISFIED


def _met_elsewhere(requirement: Requirement, context: EvaluationContext) -> str:
    """Return where the session has met what it is asked for again; empty if nowhere."""
    if not requirement.per_session or requirement.scope == "single_use" or not context.session_id:
        return ""
    for state in context.files.others(context.session_id, context.branch):
        if is_current(state.record(requirement.name, context.session_id), context.now):
            return f"met on {state.branch}; this is {context.branch}"
    return ""


def _objection(guard: Requirement, context: EvaluationContext) -> str:
    """Return why the guard blocks the call; empty if it does not. An unknown kind of guard never does."""
    if guard.guard_type == "protected_branch":
        if any(fnmatchcase(context.branch, pattern) for pattern in guard.protected_branches):
            return f"{context.branch} is a protected branch: go on in a new one, `git switch -c NAME`"
    elif guard.guard_type == "single_session":
        earlier = context.registry.others_in(context.root, context.session_id, context.now)
        if earlier:
            return f"session {earlier[0]} was in this project first and is still running"
    return ""


def _judge_number(requirement: Requirement, context: EvaluationContext) -> Verdict:
    """Return the verdict of a dynamic requirement without an approval: unmet from ``thresholds.block`` on.

    If the value can't be computed the call passes, with ``unknown`` set and the reason in ``why``.
    """
    value, why = _current_value(requirement, context)
    if value is None:
        return Verdict(requirement, True, why, unknown=bool(why), deferred=not why)
    warn, block = requirement.warn, requirement.block
    if block is not None and value >= block:
        return Verdict(requirement, False, _too_much(requirement, value, block), value=value)
    warning = f", the warning starts at {warn:g}" if warn is not None and value >= warn else ""
    return Verdict(requirement, True, f"{value:g}{warning}", value=value)


def _too_much(requirement: Requirement, value: float, block: float) -> str:
    if requirement.command:
        return f"it is {value:g}, the limit is {block:g}: bring it down, or ask the user to approve"
    return (
        f"{value:g} lines changed on this branch, the limit is {block:g}: commit what is done and go on in a "
        "new branch, or ask the user to approve"
    )


def _current_value(requirement: Requirement, context: EvaluationContext) -> tuple[float | None, str]:
    """Return the number, or None and the reason; None and "" if it needs a process and may not run one.

    A number, or a failure, is remembered for a while, so that not every hook pays for it.
    """
    if not context.checked_out:
        return None, "its branch is not checked out"
    key = (context.root, context.branch, requirement.name, str(requirement.command))
    kept = context.cache.numbers.get(key, {})
    age = context.now - kept.get("at", -1e18)
    if "value" in kept and 0 <= age < requirement.cache_ttl:
        return kept["value"], ""
    if "error" in kept and 0 <= age < max(requirement.cache_ttl, _RETRY_S):
        return kept.get("value"), str(kept["error"])
    if not context.may_run:
        return None, ""
    value: float | None
    try:
        value, error = _calculate(requirement, context), ""
        kept = {"value": value, "at": context.now}
    except CalculationError as why:
        # An older number is better than none: the branch did not shrink because git was slow.
        value, error = kept.get("value"), f"{requirement.name} could not be calculated: {why}"
        kept = {**kept, "at": context.now, "error": error}
    context.cache.keep_number(key, kept)
    return value, error


def _calculate(requirement: Requirement, context: EvaluationContext) -> float:
    until = min(time.monotonic() + requirement.timeout, context.until)
    if requirement.command:
        return run_command(requirement.command, context.root, context.branch, until, index=context.index)
    return branch_size(context.repo, context.branch, until)


_FILES = 2000
_ENTRIES = 50_000
"""Names looked at, in all folders together: `dirs: [/]` must not hold a hook up."""
_BYTES = 2 << 20


def missing(wanted: dict[str, Any], root: str, now: float) -> str:
    """Return what the artefact lacks; empty if one Markdown file below ``dirs`` has everything required.

    A file that can't be read is no evidence. Cost: a walk of the folders and one read per file; newest first.
    """
    folders = wanted["dirs"] or [".claude/plans"]
    files = sorted(_markdown(root, folders), reverse=True)
    if not files:
        return f"no Markdown file in {', '.join(folders)}"
    nearest = ""
    for modified, path in files:
        lack = _lack(wanted, path, modified, now)
        if not lack:
            return ""
        nearest = nearest or f"{os.path.relpath(path, root)} {lack}"
    return nearest


def _markdown(root: str, folders: list[str]) -> Iterator[tuple[float, str]]:
    count = seen = 0
    for folder in folders:
        for place, inner, files in os.walk(os.path.join(root, os.path.expanduser(folder))):
            seen += 1 + len(inner) + len(files)
            if seen > _ENTRIES:
                return
            for name in files:
                if not name.endswith(".md"):
                    continue
                count += 1
                if count > _FILES:
                    return
                path = os.path.join(place, name)
                try:
                    yield os.stat(path).st_mtime, path
                except OSError:
                    continue


def _lack(wanted: dict[str, Any], path: str, modified: float, now: float) -> str:
    if wanted["max_age"] and now - modified > wanted["max_age"]:
        return f"is older than {wanted['max_age']:g} s"
    if not wanted["markers"] and not wanted["verdict"]:
        return ""
    try:
        text = read_bytes(path, _BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return "can't be read"
    absent = [marker for marker in wanted["markers"] if marker not in text]
    if absent:
        return f"lacks {absent[0]!r}"
    if wanted["verdict"] and not _has_verdict(text, wanted["verdict"]):
        return f"has no '## Verdict' of {wanted['verdict']}"
    return ""


_NEGATIONS = names(
    "not never no nor neither cannot without non un hardly unless until if once would could should awaiting "
    "pending before"
)
"""Words before a verdict that take it back, or put it off."""

_AFTER = ("no", "false", "pending", "never", "not yet", "tbd", "todo", "not")
"""What stands alone behind a verdict and takes it back: `APPROVED: no`."""

_REACH = 4
_ITEM = ("-", "*", "+", "#", ">", "|", "[")
_BOX = re.compile(r"\[[ x-]?\]")
_CLAUSE = re.compile(r"[.;,!?:|()\u2014\u2013\u2192]| - ")
_NOT = re.compile("n['\u2019]t")
_WORD = re.compile(r"[\w-]+")


def _has_verdict(text: str, verdict: str) -> bool:
    """Return whether ``verdict`` is said in a section headed Verdict, case not counting.

    The heading's own line belongs to its section: ``## Verdict: APPROVED`` says it. ``NOT APPROVED``, an
    unticked box before it, a struck out or commented word say the opposite.
    """
    wanted = _words(verdict.casefold())
    first, *more = text.casefold().split("<!--")
    shown = first + "".join(part.partition("-->")[2] for part in more)
    return bool(wanted) and any(_says(part, wanted) for part in _parts(shown) if wanted[0] in part)


def _parts(text: str) -> Iterator[str]:
    """Yield what sections headed Verdict hold: paragraphs, list items, what is behind each check box."""
    inside, lines = False, list[str]()
    for line in [*text.splitlines(), ""]:
        plain = line.strip()
        heads = line.startswith(("# ", "## ")) or line.rstrip() == "##"
        if lines and (heads or not plain or plain.startswith(_ITEM)):
            yield from _BOX.sub(lambda box: f"\n{box.group()}", " ".join(lines)).split("\n")
            lines = []
        if heads:
            inside = line.startswith("##") and _words(line)[:1] == ["verdict"]
            lines = [plain.partition("verdict")[2], "\n"] if inside else []
        elif inside and plain:
            lines.append(plain)


def _words(text: str) -> list[str]:
    struck = text.split("~~")
    text = " ".join(struck[::2]) if len(struck) % 2 else text
    return [word for part in _WORD.findall(text) if (word := part.strip("-_"))]


def _says(text: str, wanted: list[str]) -> bool:
    """Return whether the text says ``wanted`` without negating it; behind an empty box nothing is."""
    if text.startswith(("[ ]", "[]", "[-]")):
        return False
    plain = _CLAUSE.sub("\n", _NOT.sub(" not", text.removeprefix("[x]")))
    clauses = [words for clause in plain.split("\n") if (words := _words(clause))]
    for words, behind in zip(clauses, [*clauses[1:], []], strict=False):
        for start in range(len(words) - len(wanted) + 1):
            end = start + len(wanted)
            negated = not _NEGATIONS.isdisjoint(words[max(0, start - _REACH) : start])
            if words[start:end] == wanted and not negated and " ".join(words[end:] or behind) not in _AFTER:
                return True
    return False
