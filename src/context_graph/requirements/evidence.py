"""Evidence: a satisfaction counts only beside an artefact that somebody wrote."""

from __future__ import annotations

import os

from context_graph.requirements.files import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["missing"]

_FILES = 2000
_ENTRIES = 50_000
"""Names looked at, in all folders together: `dirs: [/]` must not hold a hook up."""
_BYTES = 2 << 20


def missing(wanted: dict[str, Any], root: str, now: float) -> str:
    """What the artefact lacks; empty if one Markdown file below ``dirs`` has everything asked for.

    A file that can't be read is no evidence. Cost: a walk of the folders and a read a file; newest first.
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


def _has_verdict(text: str, verdict: str) -> bool:
    """Whether ``verdict`` stands as a word of its own in a section headed Verdict, case not counting.

    The heading's own line belongs to its section: ``## Verdict: APPROVED`` says it.
    """
    inside, found = False, []
    for line in text.splitlines():
        words = _words(line)
        if line.startswith("## ") or line.rstrip() == "##":
            inside = words[:1] == ["verdict"]
            words = words[1:]
        elif line.startswith("# "):
            inside = False
        if inside:
            found += words
    wanted = _words(verdict)
    size = len(wanted)
    return bool(size) and any(found[at : at + size] == wanted for at in range(len(found) - size + 1))


def _words(text: str) -> list[str]:
    plain = "".join(char if char.isalnum() or char in "_-" else " " for char in text.casefold())
    return [word for part in plain.split() if (word := part.strip("-_"))]
