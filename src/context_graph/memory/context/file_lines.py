"""Says in a line what a note has to say about a file, and what an earlier session did."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator
from typing import Final

from context_graph.memory.context.summary import SessionWork
from context_graph.model import HookEvent
from context_graph.model.memory import MemoryNode
from context_graph.model.note import NOTE, NoteKind, kind_of_memory
from context_graph.text.quoting import Line, day_text, quoted
from context_graph.text.sentences import shortened

_GOAL_CHARS: Final = 110
_PART_CHARS: Final = 170
_SHORT_CHARS: Final = 90
_SYMBOLS: Final = 3
_NAME_CHARS: Final = 4
"""Of a name, so many at least, or it stands in any text."""
_OTHERS: Final = 2
_FILES: Final = 3
_SAYS: Final = ("Cause", "Fix", "Done", "Decided")
_NAMES: Final = ("Tested: ", "With it: ")
"""How parts begin that by themselves do not say what was done."""
_LABELS: Final = (*_SAYS, "Tested", "Changed", "Commit", "Worked on")


def line_about(
    node: MemoryNode, path: str, *, now_ms: int, fits: Callable[[str], bool], evidence: str = ""
) -> Line | None:
    """Return the line of a change, a lesson or another memory about ``path``; what has no room goes without
    its last parts. None if nothing of it fits.

    Args:
        path: The file, relative to the checkout's top.
        fits: Whether a text has room.
        evidence: How what a stored memory rests on is today; a change's file has changed since, of course.
    """
    kind, day = kind_of_memory(node.metadata), day_text(node.created_at_ms, now_ms)
    if kind is NoteKind.LESSON:
        head, parts = f"{path}, learned on {day}", list(_lesson(node.content))
    elif kind is NoteKind.CHANGE:
        symbols = _symbols(node, path)
        head = f"{path}{f' ({symbols})' if symbols else ''}, changed on {day}"
        parts = list(_change(node.content, path))
        if parts and parts[0].startswith(_NAMES):
            return None
    else:
        stands = f", {evidence}" if evidence else ""
        head, parts = f"{path}, noted on {day}{stands}", [shortened(node.content, 2 * _PART_CHARS)]
    return _fitted(head, parts, str(node.id), fits)


def names_what_was_read(node: MemoryNode, event: HookEvent) -> bool:
    """Whether a function or class that a note names is in a call or in what it printed."""
    note = node.metadata.get(NOTE)
    symbols = note.get("symbols", ()) if isinstance(note, dict) else ()
    names = {str(symbol).rsplit(".", 1)[-1] for symbol in symbols}
    text = f"{event.input_text}\n{event.output_text}\n{event.parts.tail}\n{' '.join(event.parts.symbols)}"
    return any(name in text for name in names if len(name) >= _NAME_CHARS)


def line_of_session(
    work: SessionWork, node: MemoryNode, path: str, *, now_ms: int, fits: Callable[[str], bool]
) -> Line | None:
    """Return the line of what a session did with ``path``, where it left no note of it; None if it says
    nothing."""
    if not work.prompts:
        return None
    own = next((name for name in (*work.changed, *work.read) if path.endswith(name)), path)
    did = "changed" if own in work.changed else "read"
    others = [os.path.basename(name) for name in work.worked_on() if name != own][:_OTHERS]
    parts = [*_did(work), *([f"With it: {', '.join(others)}"] if others else [])]
    return _fitted(f"{path}, {did} on {day_text(work.ended_ms, now_ms)}", parts, str(node.id), fits)


def line_of_like_work(
    work: SessionWork, node: MemoryNode, *, now_ms: int, fits: Callable[[str], bool]
) -> Line | None:
    """Return the line of an earlier session whose work is like the one under way; None if it says nothing."""
    files = work.worked_on()[:_FILES]
    if not (work.prompts and files):
        return None
    goal, *more = _did(work)
    head = f"a session on {day_text(work.ended_ms, now_ms)} worked on the like"
    return _fitted(head, [goal, f"Files: {', '.join(files)}", *more], str(node.id), fits)


def _did(work: SessionWork) -> list[str]:
    """Return what a session was for, what failed in it, what was decided and how it was tested."""
    parts = [f"For: {shortened(work.prompts[0], _GOAL_CHARS)}"]
    parts += [f"Failed: {shortened(broke, _SHORT_CHARS)}" for broke in [_what_broke(work)] if broke]
    parts += [f"Decided: {shortened(choice, _PART_CHARS)}" for choice in work.chosen()[-1:]]
    tests = [way["example"] for way in work.ways.values() if way["kind"] == "test" and way["example"]]
    return [*parts, *(f"Tested with: {shortened(test, _SHORT_CHARS)}" for test in tests[-1:])]


def _fitted(head: str, parts: list[str], node_id: str, fits: Callable[[str], bool]) -> Line | None:
    while parts:
        text = f"[{node_id[:8]}] {head}: {quoted(' | '.join(parts))}"
        if fits(text):
            return Line(text, node_id)
        parts = parts[:-1]
    return None


def _change(content: str, path: str) -> Iterator[str]:
    """Yield what a change's note says, the most telling first: why, what was done, what for, how it was
    tested."""
    parts, goal, commit, others, last = dict[str, str](), "", "", "", ""
    for number, line in enumerate(content.splitlines()):
        label, _, text = line.partition(": ")
        if line.rstrip(":") in _LABELS or (line.startswith("- ") and last):  # a list of several
            last = line.rstrip(":") if line.rstrip(":") in _LABELS else last
            parts[last] = f"{parts.get(last, '')} {line[2:]}".strip() if line.startswith("- ") else ""
        elif label == "Changed" or label == "Worked on":
            names = (part.split(" (")[0].strip() for part in text.split(";"))
            others = ", ".join([os.path.basename(name) for name in names if name and name != path][:_OTHERS])
        elif label == "Commit":
            commit = text
        elif label in _LABELS:
            parts[label] = text
        elif number == 0:
            goal = line
    yield from (f"{label}: {shortened(parts[label], _PART_CHARS)}" for label in _SAYS if parts.get(label))
    if goal or commit:
        yield f"For: {shortened(goal or commit, _GOAL_CHARS)}"
    if parts.get("Tested"):
        yield f"Tested: {shortened(parts['Tested'], _SHORT_CHARS)}"
    if others:
        yield f"With it: {others}"


def _lesson(content: str) -> Iterator[str]:
    for line in content.splitlines():
        label, _, text = line.partition(": ")
        if label.startswith("Error") or label == "Solved by":
            yield f"{label}: {shortened(text, _PART_CHARS)}"


def _symbols(node: MemoryNode, path: str) -> str:
    """Return the functions and classes of the file itself, as the note's list of files has them."""
    note = node.metadata.get(NOTE)
    known = set(note.get("symbols", ())) if isinstance(note, dict) else set()
    for line in node.content.splitlines():
        if line.startswith("Changed: "):
            for part in line.removeprefix("Changed: ").split("; "):
                name, _, symbols = part.partition(" (")
                if path.endswith(name.strip()):
                    own = [symbol.strip() for symbol in symbols.rstrip(")").split(",")]
                    return ", ".join([symbol for symbol in own if symbol in known][:_SYMBOLS])
    return ""


def _what_broke(work: SessionWork) -> str:
    """Return the last failure that is not one of the session's own scripts; one that was overcome says so."""
    overcome = [(f"{name} (worked later)", why) for name, why in work.overcome.items()]
    for name, why in [*reversed(work.failures.items()), *reversed(overcome)]:
        if not any(script in name for script in work.made) and not name.startswith("rm "):
            return f"{name}: {why}"
    return ""
