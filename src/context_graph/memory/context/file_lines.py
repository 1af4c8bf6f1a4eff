"""Says in a line what a note says of a file: why something was so, what was decided, what mended it.

Of a change of which nobody said why: what it was made for, and how it was tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from context_graph.memory.context.summary import SessionWork
from context_graph.model.memory import MemoryNode
from context_graph.model.note import NAMES, NOTE, NoteKind, kind_of_memory
from context_graph.notes.changes import is_test
from context_graph.notes.message import Unit, best_of, units_of
from context_graph.notes.named_files import names_of, words_named
from context_graph.text.quoting import Line, day_text, quoted
from context_graph.text.sentences import shortened

_GOAL_CHARS: Final = 110
_PART_CHARS: Final = 170
_PARTS_CHARS: Final = 380
_SHORT_CHARS: Final = 90
_SYMBOLS: Final = 3
_FILES: Final = 3
_LABELS: Final = frozenset({"Cause", "Fix", "Decided"})
_UNTOLD: Final = frozenset({"Changed", "Removed", "Commit", "Worked on", "Asked", "Details", "Tested"})
"""Labels of what by itself does not say why."""
_SAYS_WHY: Final = frozenset({"cause", "decision"})
_DID: Final = {NoteKind.CHANGE: "changed", NoteKind.LESSON: "learned", NoteKind.FINDING: "found out"}


def line_about(
    node: MemoryNode,
    path: str,
    *,
    now_ms: int,
    fits: Callable[[str], bool],
    work: Callable[[str], SessionWork],
    evidence: str = "",
) -> Line | None:
    """Return the line of what a note, or a memory that somebody stored, says of ``path``; what has no room
    goes without its last parts. None if it says nothing of that file, or nothing of it fits.

    Args:
        path: The file, relative to the checkout's top.
        fits: Whether a text has room.
        work: A session's id -> what it did.
        evidence: How what a stored memory rests on is today; a change's file has changed since, of course.

    Cost: 1 ms for a long note.
    """
    kind, day = kind_of_memory(node.metadata), day_text(node.created_at_ms, now_ms)
    if kind is None:
        stands = f", {evidence}" if evidence else ""
        parts = [shortened(node.content, 2 * _PART_CHARS)]
        return _fitted(f"{path}, noted on {day}{stands}", parts, str(node.id), fits)
    note = node.metadata.get(NOTE)
    own, changed = note if isinstance(note, dict) else {}, _changed(node.content)
    spoken_of = own.get(NAMES, {})
    here = next((name for name in (*changed, *spoken_of) if f"/{path}".endswith(f"/{name}")), path)
    symbols = [name for name in changed.get(here, ()) if name in own.get("symbols", ())]
    parts = list(_solved(node.content)) if path in own.get("files", ()) else []
    if not parts:
        names = names_of(path, symbols).union(spoken_of.get(here, ()))
        parts = _said_of(node.content, names, list(changed), here, kind)
    if not parts and kind is NoteKind.CHANGE and path in own.get("files", ()):
        parts = list(_made_for(node.content, here))
        parts += _tested(work(node.session_id or "")) if parts else []
    shown = f" ({', '.join(symbols[:_SYMBOLS])})" if symbols else ""
    act = _act(kind, node.content, is_own=path in own.get("files", ()))
    return _fitted(f"{path}{shown}, {act} on {day}", parts, str(node.id), fits)


def _act(kind: NoteKind, content: str, *, is_own: bool) -> str:
    if kind is NoteKind.CHANGE and "\nWorked on: " in content:
        return "looked at"  # nothing was seen to change
    return _DID[kind] if is_own and kind in _DID else "noted"


def line_of_like_work(
    work: SessionWork, node: MemoryNode, *, now_ms: int, fits: Callable[[str], bool]
) -> Line | None:
    """Return the line of an earlier session whose work is like the one under way; None if it says nothing."""
    files = work.worked_on()[:_FILES]
    if not (work.prompts and files):
        return None
    goal, *more = _did(work)
    head = f"similar work on {day_text(work.ended_ms, now_ms)}"
    return _fitted(head, [goal, f"Files: {', '.join(files)}", *more], str(node.id), fits)


def _did(work: SessionWork) -> list[str]:
    """Return what a session was for, what failed in it, what was decided and how it was tested."""
    parts = [f"For: {shortened(work.prompts[0], _GOAL_CHARS)}"]
    parts += [f"Failed: {shortened(broke, _SHORT_CHARS)}" for broke in [_what_broke(work)] if broke]
    parts += [f"Decided: {shortened(choice, _PART_CHARS)}" for choice in work.chosen()[-1:]]
    return [*parts, *_tested(work)]


def _tested(work: SessionWork) -> list[str]:
    """Return how a session ran its tests the last time."""
    tests = [way["example"] for way in work.ways.values() if way["kind"] == "test" and way["example"]]
    return [f"Tested with: {shortened(test, _SHORT_CHARS)}" for test in tests[-1:]]


def _fitted(head: str, parts: list[str], node_id: str, fits: Callable[[str], bool]) -> Line | None:
    while parts:
        text = f"[{node_id[:8]}] {head}: {quoted(' | '.join(parts))}"
        if fits(text):
            return Line(text, node_id)
        parts = parts[:-1]
    return None


def _said_of(content: str, names: frozenset[str], changed: list[str], path: str, kind: NoteKind) -> list[str]:
    """Return a note's sentences that say why something is so in a file that they name; a lesson's all do."""
    kept, label, is_below = list[Unit](), "", False
    alone = [name for name in changed if not is_test(name)] == [path]
    for number, line in enumerate(content.splitlines()):
        if not line.startswith("- "):
            label = line.partition(":")[0]
            is_below = bool(names & words_named(line))
        if label in _UNTOLD or (number == 0 and changed and label not in _LABELS):
            continue
        for unit in units_of(line.removeprefix(f"{label}:") if label in _LABELS else line):
            says = kind is NoteKind.LESSON or unit.role in _SAYS_WHY
            speaks = is_below or bool(names & words_named(unit.text))
            if (says and speaks) or (alone and label in _LABELS):
                text = shortened(unit.text, _PART_CHARS)
                kept.append(replace(unit, text=f"{label}: {text}" if label in _LABELS else text))
    return [unit.text for unit in best_of(kept, _PARTS_CHARS)]


def _made_for(content: str, path: str) -> Iterator[str]:
    """Yield what a change was for, by its commit or else by what was asked, and its short edits of a
    file, which is not named where it is the only one; nothing if neither says what it was for.
    """
    first, *lines = content.splitlines()
    commit, edit = "Commit: ", f"Edit: {path}: "
    alone = [name for name in _changed(content) if not is_test(name)] == [path]
    goal = next((line.removeprefix(commit) for line in (first, *lines) if line.startswith(commit)), first)
    if goal.partition(":")[0] not in _UNTOLD | _LABELS:
        yield f"For: {shortened(goal, _GOAL_CHARS)}"
        yield from (
            f"Edit: {line.removeprefix(edit).removeprefix('Edit: ')}"
            for line in lines
            if line.startswith(edit) or (alone and line.startswith("Edit: "))
        )


def _solved(content: str) -> Iterator[str]:
    """Yield the error of a lesson and what solved it; nothing of a lesson in other words."""
    for line in content.splitlines():
        label, _, text = line.partition(": ")
        if label.startswith("Error") or label == "Solved by":
            yield f"{label}: {shortened(text, _PART_CHARS)}"


def _changed(content: str) -> dict[str, list[str]]:
    """Return the files that a note lists as changed, each with its functions and classes."""
    changed: dict[str, list[str]] = {}
    for line in content.splitlines():
        if line.startswith("Changed: "):
            for part in line.removeprefix("Changed: ").split("; "):
                name, _, symbols = part.partition(" (")
                changed[name.strip()] = [
                    symbol.strip() for symbol in symbols.rstrip(")").split(",") if symbol
                ]
    return changed


def _what_broke(work: SessionWork) -> str:
    """Return the last failure that is not one of the session's own scripts; one that was overcome says so."""
    overcome = [(f"{name} (worked later)", why) for name, why in work.overcome.items()]
    for name, why in [*reversed(work.failures.items()), *reversed(overcome)]:
        if not any(script in name for script in work.made) and not name.startswith("rm "):
            return f"{name}: {why}"
    return ""
