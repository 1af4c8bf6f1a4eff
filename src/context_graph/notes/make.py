"""Makes the notes of a session out of what was gathered: a handful, each of one kind, each quoted.

A later word about the same thing takes the place of an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from context_graph.model.note import MAX_NOTE_CHARS, OPEN_KEY, Note, NoteKind
from context_graph.notes.changes import files_text, is_test
from context_graph.notes.compaction import Bullet, still_true
from context_graph.notes.edits.rows import edits_text
from context_graph.notes.gather import Gathered
from context_graph.notes.kinds.lessons import lessons, was_passing
from context_graph.notes.kinds.repeats import without_repeats
from context_graph.notes.kinds.texts import bare, cut, ended, told_files
from context_graph.notes.kinds.ways import ways
from context_graph.notes.message import Unit, best_of, is_progress, most_informative, units_of
from context_graph.notes.named_files import with_names
from context_graph.notes.remarks import refuted
from context_graph.notes.turn import Turn
from context_graph.text.patterns import linear
from context_graph.text.phrases import asks_something
from context_graph.text.sentences import shortened

_MOST: Final = {
    NoteKind.RULE: 24,
    NoteKind.DECISION: 12,
    NoteKind.LESSON: 16,
    NoteKind.CHANGE: 24,
    NoteKind.WAY: 1,
    NoteKind.OPEN: 1,
    NoteKind.FINDING: 24,
}
"""Notes of a kind that a session has at most, the newest."""
_GOAL_CHARS: Final = 260
_FILES_CHARS: Final = 420
_CORE_CHARS: Final = 900
_ANSWER_CHARS: Final = 900
_LOOKED_AT: Final = 2
_LEAST_TITLE: Final = 10
"""Characters of a prompt that says what a commit is about; `commit!` does not."""
REMARKS: Final = "remarks:"
"""How the keys of notes begin that have what was said on the way."""
_REMARKS_CHARS: Final = 300
"""Of a note of remarks: each is about something else, and is found alone."""
_LEAST_BULLET: Final = 40
_LEAST_FINDING: Final = 2.0
"""Together, of what a message without changes says."""
_ABOUT_WORK: Final = linear(
    r"(?i)^\W*(?:did|have|has|are|were|is|can|could|would|will|do) "
    r"(?:you|it|they|that|this|these|those|everything)(?:\W|$)|"
    r"^\W*(?:hast|bist|kannst) du(?:\W|$)|^\W*(?:as-tu|avez-vous|tu as)(?:\W|$)|^你|^(?:ты|вы) "
)
"""How a question begins that is about the work under way: its answer is old soon."""
_ROLES: Final = (
    ("Cause", ("cause",)),
    ("Fix", ("fix", "")),
    ("Decided", ("decision",)),
    ("Tested", ("test",)),
)


def notes_of(gathered: Gathered, open_ends: Sequence[str] = ()) -> list[Note]:
    """Return the notes of a session, by kind.

    Args:
        open_ends: What the session left open by its to-dos and tests, the most important first.
    """
    notes = [
        *_said(gathered),
        *_chosen(gathered),
        *lessons(gathered),
        *_changes(gathered),
        *_compacted(gathered),
        *_pointed(gathered),
        *_found(gathered),
        *_remarked(gathered),
        *gathered.runs.notes(gathered.turns[-1].at_ms if gathered.turns else 0),
        *ways(gathered),
        *_open(gathered, open_ends),
    ]
    kept: dict[tuple[NoteKind, str], Note] = {}
    files = {**dict.fromkeys(gathered.named, ()), **gathered.made.symbols}
    for note in notes:
        if note.text:
            kept[note.kind, note.key] = with_names(note, files)
    made: list[Note] = []
    fresh = without_repeats([*kept.values()])
    for kind in NoteKind:
        own = sorted((note for note in fresh if note.kind is kind), key=lambda note: note.at_ms)
        made += own[-_MOST[kind] :]
    return made


def _said(gathered: Gathered) -> Iterator[Note]:
    for kind, text, wants, scope, chosen, instead, number, at_ms, times in gathered.said:
        extra = {"times": times, "wants": wants, "chosen": chosen, "instead_of": instead}
        yield Note(
            NoteKind(kind),
            cut(text),
            key=text,
            at_ms=at_ms,
            events=(number,),
            scope=scope,
            said_by="user",
            extra={name: value for name, value in extra.items() if value},
        )


def _chosen(gathered: Gathered) -> Iterator[Note]:
    for question, answer, number, at_ms in gathered.chosen:
        text = f"Asked: {shortened(question, 400)}\nThe user chose: {shortened(answer, 500)}"
        yield Note(NoteKind.DECISION, cut(text), key=question, at_ms=at_ms, events=(number,), said_by="user")
    if gathered.plan:
        units = [
            unit for unit in most_informative(units_of(gathered.plan)) if unit.role not in ("test", "left")
        ]
        core = best_of(units, _CORE_CHARS)
        title = next((line.strip("# ") for line in gathered.plan.splitlines() if line.strip()), "")
        head = title if title.startswith("Plan:") else f"Plan: {title}"
        text = "\n".join([shortened(head, 200), *(f"- {unit.text}" for unit in core)])
        at_ms = max((turn.at_ms for turn in gathered.turns if turn.number <= gathered.plan_at), default=0)
        if core:
            yield Note(
                NoteKind.DECISION,
                cut(text),
                key="plan:" + title,
                at_ms=at_ms,
                events=(gathered.plan_at,),
                said_by="assistant",
            )


def _changes(gathered: Gathered) -> Iterator[Note]:
    for turn in gathered.turns:
        files = told_files(gathered, turn.files)
        units = [Unit(*row) for row in turn.words]
        did = bool(files or turn.gone) and not (turn.commits and len(turn.prompt) < _LEAST_TITLE)
        if not (did or turn.commits):
            yield from _answered(turn, units)
            yield from _worked_on(gathered, turn)
            continue
        change = _turn_change(turn, files, units) if did else None
        if change is not None:
            yield change
        core = (
            []
            if did
            else _core([unit for unit in units if turn.commits[-1][0] not in unit.text], _CORE_CHARS)
        )
        for place, (subject, body, number, since) in enumerate(turn.commits, 1):
            if change is None or not change.text.endswith(_commit_text(subject, body)):
                own = {path: since[path] for path in files if path in since}
                own = own if change is None or len(turn.commits) > 1 else {}
                rest = core if place == len(turn.commits) else []
                yield _commit_note(turn, subject, "\n".join([body, *rest]).strip(), number, own)


def _turn_change(turn: Turn, files: dict[str, list[str]], units: list[Unit]) -> Note | None:
    """Return what a turn changed; with its only commit, where that fits: two notes would say it twice."""
    lines = turn.asked_for(_GOAL_CHARS)
    shown = files_text(files, _FILES_CHARS)
    lines += [f"Changed: {shown}"] if shown else []
    lines += [f"Removed: {'; '.join(turn.gone)}"] if turn.gone else []
    core = _core(units, _CORE_CHARS)
    lines += core or edits_text(turn.files.edits, {path: files[path] for path in files if not is_test(path)})
    if not (core or turn.commits or any(files.values()) or turn.gone or turn.prompt):
        return None
    whole = "\n".join([*lines, *(_commit_text(*commit[:2]) for commit in turn.commits)])
    if len(turn.commits) != 1 or len(whole) > MAX_NOTE_CHARS:
        whole = cut("\n".join([*lines, *(f"Commit: {commit[0]}" for commit in turn.commits[-3:])]))
    return Note(
        NoteKind.CHANGE,
        whole,
        key=f"turn:{turn.number}",
        at_ms=turn.at_ms,
        events=tuple(sorted({turn.number, turn.said_at} - {0})),
        files=tuple(files),
        symbols=tuple(dict.fromkeys(name for names in files.values() for name in names)),
        said_by="assistant",
    )


def _commit_text(subject: str, body: str) -> str:
    return "\n".join([f"Commit: {subject}", *([body] if body else [])])


def _worked_on(gathered: Gathered, turn: Turn) -> Iterator[Note]:
    """Yield a turn that tried things out and of whose changes nothing was seen: what it looked at most."""
    tried, made = gathered.made.scratch, gathered.made
    looked = [
        path
        for path in gathered.named
        if "/" in path and path not in made.made and not (is_test(path) or made.is_scratch(path))
    ]
    looked.sort(key=lambda path: -gathered.named[path])
    if turn is not gathered.turns[-1] or not (turn.prompt and tried and looked):
        return
    text = "\n".join([*turn.asked_for(_GOAL_CHARS), f"Worked on: {'; '.join(looked[:_LOOKED_AT])}"])
    yield Note(
        NoteKind.CHANGE,
        text,
        key=f"worked:{turn.number}",
        at_ms=turn.at_ms,
        events=(turn.number,),
        files=tuple(looked[:_LOOKED_AT]),
        said_by="command",
    )


def _commit_note(turn: Turn, subject: str, body: str, number: int, files: dict[str, list[str]]) -> Note:
    shown = files_text(files, _FILES_CHARS)
    lines = [f"Commit: {subject}", *([f"Changed: {shown}"] if shown else []), body]
    return Note(
        NoteKind.CHANGE,
        cut("\n".join(line for line in lines if line)),
        key=f"commit:{subject}",
        at_ms=turn.at_ms + number % 1000,
        events=(number,),
        files=tuple(files),
        symbols=tuple(dict.fromkeys(name for names in files.values() for name in names)),
        said_by="assistant",
    )


def _core(units: Sequence[Unit], limit: int) -> list[str]:
    """Lines of what a message says, by role: ``Cause: …``; what has none stands without a name."""
    kept = best_of([unit for unit in units if unit.role != "left"], limit)
    lines = []
    has_cause = any(unit.role == "cause" for unit in kept)
    for name, roles in _ROLES:
        name = "Done" if name == "Fix" and not has_cause else name
        texts = [bare(unit.text) for unit in kept if unit.role in roles]
        if len(texts) > 3:
            lines += [f"{name}:", *(f"- {text}" for text in texts)]
            more = sum(1 for unit in units if unit.role in roles) - len(texts)
            lines += [f"- and {more} more"] if more else []
        elif texts:
            lines.append(f"{name}: {' '.join(ended(text) for text in texts)}")
    return lines


def _answered(turn: Turn, units: list[Unit]) -> Iterator[Note]:
    """Yield a turn that changed nothing and answered something."""
    kept = best_of(units, _ANSWER_CHARS)
    if _ABOUT_WORK.found(turn.prompt):
        return
    asks = asks_something(turn.prompt)
    if (
        not turn.prompt
        or not kept
        or sum(unit.worth for unit in kept) < (_LEAST_FINDING if asks else 3 * _LEAST_FINDING)
    ):
        return
    text = "\n".join([f"Asked: {shortened(turn.prompt, _GOAL_CHARS)}", *(unit.text for unit in kept)])
    yield Note(
        NoteKind.FINDING,
        cut(text),
        key=f"turn:{turn.number}",
        at_ms=turn.at_ms,
        events=tuple(sorted({turn.number, turn.said_at} - {0})),
        said_by="assistant",
    )


def _compacted(gathered: Gathered) -> Iterator[Note]:
    bullets = still_true((Bullet(*row) for row in gathered.compacted), gathered.changed_since)
    kinds = {"errors": NoteKind.LESSON, "solved": NoteKind.FINDING}
    symbols = [name for names in gathered.made.symbols.values() for name in names]
    for bullet in bullets:
        kind = kinds.get(bullet.section)
        is_passing = is_progress(bullet.text) or (
            kind is NoteKind.LESSON and was_passing(bullet.text, symbols)
        )
        if kind is not None and (bullet.below or len(bullet.text) > _LEAST_BULLET) and not is_passing:
            yield _bullet_note(gathered, _text_of(bullet), kind, bullet.text[:120])
    for number, text in enumerate(
        _packed(_text_of(bullet) for bullet in bullets if bullet.section == "files")
    ):
        yield _bullet_note(gathered, text, NoteKind.CHANGE, f"files {number}")
    concepts = [bullet.text for bullet in bullets if bullet.section == "concepts"]
    if concepts:
        text = "\n".join(["How this project works:", *(f"- {text}" for text in concepts)])
        yield Note(
            NoteKind.FINDING,
            cut(text),
            key="concepts",
            at_ms=gathered.compacted_ms,
            events=(gathered.compacted_at,),
            said_by="assistant",
        )


def _text_of(bullet: Bullet) -> str:
    return "\n".join([bullet.text, *(f"- {line}" for line in bullet.below)])


def _packed(texts: Iterable[str], most: int = MAX_NOTE_CHARS) -> list[str]:
    """Short texts together, as many as one note holds: each alone says little."""
    packs: list[str] = []
    for text in texts:
        if packs and len(packs[-1]) + len(text) < most:
            packs[-1] += f"\n{text}"
        else:
            packs.append(text)
    return packs


def _bullet_note(gathered: Gathered, text: str, kind: NoteKind, key: str) -> Note:
    return Note(
        kind,
        cut(text),
        key=f"compaction:{key}",
        at_ms=gathered.compacted_ms,
        events=(gathered.compacted_at,),
        said_by="assistant",
    )


def _found(gathered: Gathered) -> Iterator[Note]:
    for question, answer, who, number, at_ms in gathered.found:
        if not answer:
            continue
        head = (
            [f"`{question}` asks for:"] if who == "command" else [f"Asked: {question}", f"A {who} answered:"]
        )
        text = "\n".join([*head, *(f"- {unit}" for unit in answer)])
        by = "web" if who.startswith("web") else who
        yield Note(
            NoteKind.FINDING, cut(text), key=f"{who}:{question}", at_ms=at_ms, events=(number,), said_by=by
        )


def _pointed(gathered: Gathered) -> Iterator[Note]:
    """Yield what the user pointed to, page or place, in his words."""
    for text, number, at_ms in gathered.pointed:
        yield Note(
            NoteKind.FINDING,
            cut(f"The user pointed to this: {text}"),
            key=f"pointed:{text}",
            at_ms=at_ms,
            events=(number,),
            said_by="user",
        )


def _remarked(gathered: Gathered) -> Iterator[Note]:
    """Yield what a turn's assistant said on the way, which its last words seldom say again."""
    for turn in gathered.turns:
        untrue = refuted(turn.remarks)
        remarks = (text for text in turn.remarks if text not in untrue)
        packs = _packed((f"- {text}" for text in remarks), _REMARKS_CHARS)
        for place, text in enumerate(packs):
            yield Note(
                NoteKind.FINDING,
                f"Found on the way:\n{text}",
                key=f"{REMARKS}{turn.number}:{place}",
                at_ms=turn.heard_ms or turn.at_ms,
                events=tuple(sorted({turn.number, turn.said_at} - {0})),
                said_by="assistant",
            )


def _open(gathered: Gathered, open_ends: Sequence[str]) -> Iterator[Note]:
    lines = [*open_ends]
    last = gathered.turns[-1] if gathered.turns else None
    if last is not None:
        lines += [text for text, role, _ in last.words if role == "left"][:4]
    if last is not None and last.prompt and last.calls and not (last.said_at or last.came_of_it):
        lines.append(f"Asked for and not finished: {shortened(last.prompt, _GOAL_CHARS)}")
    if last is None or last.heard_at < gathered.compacted_at:  # nobody said since what came of it
        lines += [text for section, text, _ in gathered.compacted if section == "left"]
    lines = list(dict.fromkeys(lines))
    if lines:
        at_ms = max((turn.at_ms for turn in gathered.turns), default=gathered.compacted_ms)
        yield Note(
            NoteKind.OPEN, cut("\n".join(f"- {line}" for line in lines[:8])), key=OPEN_KEY, at_ms=at_ms
        )
