"""Looks for evidence: a satisfaction counts only with an artefact that somebody wrote."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from context_graph.gates.rules import names
from context_graph.system.small_files import read_bytes

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
    """Yield what sections headed Verdict hold: paragraphs, list items, and what stands behind each check
    box."""
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
    """Return whether the text says ``wanted`` without negating it; what stands behind an empty box is not
    said."""
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
