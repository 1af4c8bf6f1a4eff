"""Reads the summary that the client makes of a compaction: bullet by bullet, the densest text of a session.

Its sections are the client's own. What it says of the work under way and of the next step is old by the time
anybody reads it, so it is left out wherever it stands; what is pending, and an error that is said to be under
way, counts only while nothing came after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from os.path import basename
from typing import Final, NamedTuple

from context_graph.notes.message import headings, plain
from context_graph.notes.settled import is_open, settled
from context_graph.notes.worked_files import paths_in
from context_graph.text.patterns import linear

MAX_CHARS: Final = 32_768
_HEADING: Final = linear(
    r"^(?:#{1,6}\s*)?(?:\d{1,2}\.\s*)?(?:\*\*)?([A-Z][A-Za-z ,/-]{4,48}?)(?:\*\*)?:(?:\*\*)?\s*(.*)$|"
    r"^#{1,6}\s*(?:\d{1,2}\.\s*)?(.{4,60})$"
)
_NUMBERED: Final = linear(r"^(?:#{1,6}\s*)?\d{1,2}\.\s|^#{1,6}\s|^\*\*|^[A-Z][A-Za-z ]+:$")
_BULLET: Final = linear(r"^(\s*)(?:[-*+•]|\d{1,2}[.)])\s+(.*)$")
_STORIES: Final = frozenset({"errors", "solved"})
_FACTS: Final = frozenset({"concepts", "files"})
_EMPTY: Final = linear(r"(?i)^\W*(?:none|no (?:pending|open|further|outstanding)|n/?a|nothing)(?:\W|$)")


class Bullet(NamedTuple):
    """One item of a section, with what stands under it."""

    section: str
    """goal, concepts, files, errors, solved, said or left."""
    text: str
    """The item's own line."""
    below: tuple[str, ...]
    """The items under it, without code."""


def bullets_of(summary: str) -> list[Bullet]:
    """Return the items of a compaction's summary in order, without those that are old when they are read."""
    bullets: list[Bullet] = []
    section, own_indent = "", -1
    for line, heading in _lines(_without_analysis(summary[:MAX_CHARS])):
        if heading is not None:
            section, own_indent = heading, -1
            rest = line.strip()
            if section and rest:
                bullets.append(Bullet(section, plain(rest), ()))
            continue
        if not section:
            continue
        bullet = _BULLET.match(line)
        text = plain(bullet[2] if bullet else line)
        if not text or _EMPTY.found(text):
            continue
        indent = len(bullet[1].expandtabs(4)) if bullet else 1 << 10
        top = bullet is not None and (own_indent < 0 or indent <= own_indent)
        if top or not bullets or bullets[-1].section != section:
            own_indent = indent if bullet else -1
            bullets.append(Bullet(section, text, ()))
        else:
            last = bullets[-1]
            bullets[-1] = last._replace(below=(*last.below, text))
    bullets = [
        bullet._replace(section="left")
        if bullet.section in _STORIES and is_open((bullet.text, *bullet.below))
        else bullet
        for bullet in bullets
        if bullet.section != "dropped"
    ]
    return still_true(bullets)


def still_true(bullets: Iterable[Bullet], changed: Collection[str] = ()) -> list[Bullet]:
    """Return the items without what they say of the work under way.

    Args:
        changed: Files that were changed afterwards: of them no item says any more how they are.
    """
    names = frozenset(map(basename, changed))
    kept = []
    for bullet in bullets:
        if bullet.section not in _FACTS:
            kept.append(bullet)
            continue
        is_changed = bool(names) and not names.isdisjoint(map(basename, paths_in(bullet.text)))
        lines = [settled(line, is_changed=is_changed) for line in (bullet.text, *bullet.below)]
        below = tuple(filter(None, lines[1:]))
        # Of one that had more to say a bare name is left, which says nothing.
        if lines[0] and (below or lines[0] == bullet.text or " " in lines[0]):
            kept.append(bullet._replace(text=lines[0], below=below))
    return kept


def _without_analysis(summary: str) -> str:
    """Return the summary proper: the client's model thinks aloud before it."""
    for mark in ("<summary>", "\nSummary:"):
        at = summary.find(mark)
        if at >= 0:
            return summary[at + len(mark) :]
    return summary


def _lines(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield (line, section that it begins or None) without fenced code; of a heading what follows on its
    line."""
    fenced = False
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
            continue
        if fenced or not bare:
            continue
        section = _section(line)
        if section is not None:
            heading = _HEADING.match(bare)
            yield (heading[2] or "") if heading else "", section
        elif bare.startswith(
            ("If you need specific details from before", "Please continue the conversation")
        ):
            return
        else:
            yield line, None


def _section(line: str) -> str | None:
    """Return the section that a line heads; None for any other line."""
    if line[:1].isspace() or not _NUMBERED.found(line):
        return None
    heading = _HEADING.match(line.strip())
    if not heading:
        return None
    name = heading[1] or heading[3] or ""
    for role, words in headings().items():
        if role.startswith("compaction.") and words.found(name):
            return role.removeprefix("compaction.")
    return None
