"""Looks for evidence: a satisfaction counts only with an artefact that somebody wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from context_graph.regular_file import read_bytes

_FILES = 2000
_ENTRIES = 50_000
"""Names looked at, in all folders together: `dirs: [/]` must not hold a hook up."""
_BYTES = 2 << 20


def missing(wanted: dict[str, Any], root: str, now: float) -> str:
    """What the artefact lacks; empty if one Markdown file below ``dirs`` has everything required.

    A file that can't be read is no evidence. Cost: a walk of the folders and one read per file; newest first.
    """
    folders = wanted["dirs"] or [".claude/plans"]
    found = sorted(_markdown(root, folders), reverse=True)
    if not found:
        return f"no Markdown file in {', '.join(folders)}"
    nearest = ""
    for modified, path in found:
        lack = _lack(wanted, path, modified, now)
        if not lack:
            return ""
        nearest = nearest or f"{os.path.relpath(path, root)} {lack}"
    return nearest


def _markdown(root: str, folders: list[str]) -> Iterator[tuple[float, str]]:
    count = seen = 0
    for folder in folders:
        for place, inner, names in os.walk(os.path.join(root, os.path.expanduser(folder))):
            seen += 1 + len(inner) + len(names)
            if seen > _ENTRIES:
                return
            for name in names:
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


_NEGATIONS = frozenset(
    (
        *("not", "never", "no", "nor", "neither", "cannot", "without", "non", "un", "hardly"),
        *("unless", "until", "if", "once", "would", "could", "should", "awaiting", "pending", "before"),
    )
)
"""Words before a verdict that take it back, or put it off."""

_AFTER = frozenset(
    (("no",), ("false",), ("pending",), ("never",), ("not", "yet"), ("tbd",), ("todo",), ("not",))
)
"""What stands alone behind a verdict and takes it back: `APPROVED: no`."""

_REACH = 4
_ITEM = ("-", "*", "+", "#", ">", "|", "[")


def _has_verdict(text: str, verdict: str) -> bool:
    """Whether ``verdict`` is said in a section headed Verdict, case not counting.

    The heading's own line belongs to its section: ``## Verdict: APPROVED`` says it. ``NOT APPROVED``, an
    unticked box before it, a struck out or commented word say the opposite.
    """
    wanted = _words(verdict)
    return bool(wanted) and any(_says(part, wanted) for part in _paragraphs(_without_comments(text)))


def _without_comments(text: str) -> str:
    parts = text.split("<!--")
    return parts[0] + "".join(part.partition("-->")[2] for part in parts[1:])


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of the sections headed Verdict, each on one line; a list item is a paragraph."""
    inside, lines = False, list[str]()
    for line in [*text.splitlines(), ""]:
        plain = line.strip()
        heads = line.startswith("## ") or line.rstrip() == "##"
        if lines and (heads or not plain or plain.startswith(_ITEM)):
            yield " ".join(lines)
            lines = []
        if heads:
            inside = _words(line)[:1] == ["verdict"]
            plain = plain.casefold().partition("verdict")[2]
        elif line.startswith("# "):
            inside = False
        if inside and plain:
            lines.append(plain)
            if heads:
                yield " ".join(lines)
                lines = []


def _says(paragraph: str, wanted: list[str]) -> bool:
    """Whether the paragraph says ``wanted`` without negating it."""
    for number, part in enumerate(_boxes(paragraph)):
        if number and not part.startswith(("[x]", "[X]")):
            continue
        text = part[3:] if number else part
        clauses = [_words(clause) for clause in _clauses(text)]
        for at, words in enumerate(clauses):
            for start in range(len(words) - len(wanted) + 1):
                if words[start : start + len(wanted)] != wanted:
                    continue
                before = set(words[max(0, start - _REACH) : start])
                after = tuple(words[start + len(wanted) :])
                follows = after or tuple(word for more in clauses[at + 1 : at + 2] for word in more)
                if not before & _NEGATIONS and follows not in _AFTER:
                    return True
    return False


def _boxes(paragraph: str) -> list[str]:
    """The paragraph split before each check box; the first part has none."""
    for box in ("[ ]", "[]", "[x]", "[X]", "[-]"):
        paragraph = paragraph.replace(box, "\n" + ("[ ]" if box == "[]" else box))
    return paragraph.split("\n")


def _clauses(text: str) -> list[str]:
    text = text.casefold().replace("n\u2019t", " not").replace("n't", " not")
    for sign in (*".;,!?:|()\u2014\u2013\u2192", " - "):
        text = text.replace(sign, "\n")
    return [clause for clause in text.split("\n") if _words(clause)]


def _words(text: str) -> list[str]:
    struck = text.split("~~")
    text = " ".join(struck[::2]) if len(struck) % 2 else text
    plain = "".join(char if char.isalnum() or char in "_-" else " " for char in text.casefold())
    return [word for part in plain.split() if (word := part.strip("-_"))]
