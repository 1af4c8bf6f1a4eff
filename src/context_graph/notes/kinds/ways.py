"""Makes the note of how a session tested, built, linted and ran: commands that another one can give again.

So only the command itself is told, not what stands before it in its line; nothing that runs on what the
session brought to try something, or took away again; and of a command that is given with other names each
time, what its runs have in common.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from context_graph.model.note import MAX_NOTE_CHARS, Note, NoteKind
from context_graph.notes.changes import Files, is_scratch
from context_graph.notes.command_lines import SHORTENS, Command, commands_in, line_of, parts_of
from context_graph.notes.gather import Gathered
from context_graph.text.destroying import destroys
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened, shortened_lines

_OFTEN: Final = 2
_KINDS: Final = {"test": "Tests", "build": "Build", "lint": "Checks", "run": "Run"}
_OFTEN_USED: Final = "Often used:"
_TIMES: Final = linear(r" \((?:[^()]*: )?\d+ times\)$")
_PROGRAMS: Final = 8
_MOST: Final = 3
_COMMAND_CHARS: Final = 160
_MESSAGE: Final = linear(r"\"[^\"\s]*(?:\s+[^\"\s]+){3,}\"|'[^'\s]*(?:\s+[^'\s]+){3,}'")
"""Words for a person: they are of one run."""
_ID: Final = linear(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{22}")
_WORDS: Final = linear(r"[^\s=\"'`;|&]+")
_CUT: Final = "…"


def ways(gathered: Gathered) -> Iterator[Note]:
    """Yield the note of how this session tested, built, linted and ran, and of the programs that it used
    again and again; nothing where it did not.
    """
    by_kind: dict[str, dict[str, int]] = {}
    others: dict[str, list[str]] = {}
    for command, times in gathered.programs.items():
        for each, shown in _each(command):
            if each.snippet or destroys(shown) or is_on_scratch(shown, gathered.made, gathered.named):
                continue
            if each.kind:
                counted = by_kind.setdefault(each.kind, {})
                counted[shown] = counted.get(shown, 0) + times
            else:
                others.setdefault(_called(shown), []).extend([shown] * times)
    lines = [f"{_KINDS[kind]}: {_most(by_kind[kind])}" for kind in _KINDS if kind in by_kind]
    often = [_common(runs) for runs in sorted(others.values(), key=len, reverse=True) if len(runs) >= _OFTEN]
    often = [line for line in often if line][:_PROGRAMS]
    lines += [_OFTEN_USED, *often] if often else []
    if lines:
        text = "\n".join(["Commands that worked:", *lines])
        at_ms = max((turn.at_ms for turn in gathered.turns), default=0)
        if len(text) > MAX_NOTE_CHARS:
            text = shortened_lines(text.splitlines(), MAX_NOTE_CHARS)
        yield Note(NoteKind.WAY, text, key="ways", at_ms=at_ms, said_by="command")


def _each(command: str) -> Iterator[tuple[Command, str]]:
    """Yield each command of a line with the form in which it is told; one that was cut is told by nobody."""
    line = line_of(command)
    known, is_alone = commands_in(line), len(parts_of(line)) == 1
    for each in known:
        shown = SHORTENS.sub("", command if is_alone else each.raw).strip()
        shown = _ID.sub("<id>", _MESSAGE.sub(lambda _: f'"{_CUT}"', shown))
        if not shown.endswith(_CUT):
            yield each, shown


def is_on_scratch(command: str, made: Files, known: Collection[str] = ()) -> bool:
    """Return whether a command names what is no part of the project: a file that its session made to try
    something or removed again, a module by such a file's name, or a folder of such files.

    Args:
        known: Other files that the session named.
    """
    brought = [path for path in dict.fromkeys((*made.made, *made.gone)) if made.is_scratch(path)]
    stays = [path for path in (*made.symbols, *known) if path not in brought and path not in made.made]
    return any(
        _is_scratch(match[0].split("::")[0].removeprefix("./").rstrip("/"), brought, stays)
        for match in _WORDS.finditer(command)
    )


def _is_scratch(word: str, brought: Sequence[str], stays: Sequence[str]) -> bool:
    if not word.strip("./-*") or word.startswith("-"):
        return False
    if word in brought or is_scratch(f"{word}/", (), ()):
        return True
    below = f"{word}/"
    if any(path.startswith(below) for path in brought) and not any(path.startswith(below) for path in stays):
        return True
    parts = word.split(".") if "/" not in word else []
    tails = ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
    stems = [stem for stem, ending in map(os.path.splitext, brought) if ending == ".py"]
    return any(f"/{stem}".endswith(f"/{tail}") for tail in tails for stem in stems) or (
        len(parts) > 1 and is_scratch("/".join(parts), (), ())
    )


def ways_without(text: str, is_ruled_out: Callable[[str], bool]) -> str:
    """Return the text of a note of ways without the commands that are ruled out; "" if it has no other."""
    kept: list[str] = []
    for line in text.splitlines():
        label, colon, rest = line.partition(": ")
        if line.startswith("- "):
            kept += [] if is_ruled_out(_TIMES.sub("", line[2:])) else [line]
        elif colon and label in _KINDS.values():
            left = [way for way in rest.split("; ") if not is_ruled_out(_TIMES.sub("", way))]
            kept += [f"{label}: {'; '.join(left)}"] if left else []
        else:
            kept.append(line)
    if kept[-1:] == [_OFTEN_USED]:
        kept.pop()
    return "\n".join(kept) if len(kept) > 1 else ""


def _called(command: str) -> str:
    """Return a program with its subcommand: `bd update`, `python`."""
    words = [word for word in command.split()[:3] if "=" not in word]
    return " ".join(words[:2] if len(words) > 1 and words[1].isalpha() else words[:1])


def _common(runs: Sequence[str]) -> str:
    """Return what the runs of a program have in common, with the options of the one that has most of them,
    and how often it ran; "" where that is its name.
    """
    split = [run.split() for run in runs]
    words, named = list[str](), ""
    for word in max(split, key=lambda run: sum(map(_is_option, run))):
        is_value = _is_option(named) and "=" not in named
        if _is_option(word) or is_value or all(word in other for other in split):
            words.append(word)
        elif words[-1:] != [_CUT]:
            words.append(_CUT)
        named = word
    common = " ".join(words)
    if len(set(runs)) > 1 and common.rstrip(f" {_CUT}") == _called(runs[0]):
        return ""
    return f"- {shortened(common, _COMMAND_CHARS)} ({len(runs)} times)"


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _most(counted: dict[str, int]) -> str:
    order = sorted(counted, key=lambda name: -counted[name])[:_MOST]
    return "; ".join(f"{name} ({counted[name]} times)" if counted[name] > 1 else name for name in order)
