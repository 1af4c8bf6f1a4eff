"""Tells which files a session worked on: those it changed, however it did; else the one it read most.

Models also change files by command: `sed -i`, a script that they write and run, a text for an interpreter.
What such a script writes is guessed from the paths in it; only those count that the session had read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, MutableMapping
from functools import lru_cache
from typing import Final

from context_graph.gates.shell.command import Command
from context_graph.gates.shell.programs import INTERPRETERS, writes_anyway
from context_graph.gates.shell.runs import runs
from context_graph.text.patterns import linear

MAX_FILES: Final = 16
"""Files of one session, the newest first."""
MAX_SCRIPTS: Final = 8
_PATHS: Final = 8
_COMMAND_CHARS: Final = 4000
_WRITES: Final = linear(
    r"""open\([^)\n]{0,200}['"][wa]\+?b?['"]|\.write\(|write_text|write_bytes|writelines|writeFile"""
)
_PATH: Final = linear(r"[\w.@+/-]*[\w@+-]\.[A-Za-z]\w{0,7}")


def paths_in(text: str) -> Iterator[str]:
    """What in ``text`` looks like a file, each once, at most eight."""
    seen: dict[str, None] = {}
    for found in _PATH.finditer(text[:_COMMAND_CHARS]):
        path = found[0].removeprefix("./")
        if path not in seen:
            seen[path] = None
            yield path
        if len(seen) == _PATHS:
            return


def note_script(scripts: MutableMapping[str, list[str]], path: str, text: str) -> None:
    """Note the files that the script ``path`` may write, if it writes any; keeps the newest eight scripts."""
    scripts.pop(path, None)
    if _WRITES.found(text[:_COMMAND_CHARS]):
        scripts[path] = list(paths_in(text))
        if len(scripts) > MAX_SCRIPTS:
            del scripts[next(iter(scripts))]


def edited_by(command: str, scripts: MutableMapping[str, list[str]], known: Collection[str]) -> list[str]:
    """The files that a shell command changes in place; a script that it writes is noted in ``scripts``.

    Args:
        known: Files that the session read or changed before.
    """
    if not any(sign in command for sign in ("sed", "perl", "<<", "py", "rb", "js", "-c", "-e")):
        return []
    found: list[str] = []
    for one in _read(command[:_COMMAND_CHARS]):
        if one.program in ("sed", "gsed", "perl"):
            found += _in_place(one)
        elif one.program.rstrip("0123456789.") in INTERPRETERS:
            found += [path for path in _by_script(one, scripts) if path in known]
        elif one.stdin:
            for operator, target in one.redirects:
                if ">" in operator:
                    note_script(scripts, target.removeprefix("./"), one.stdin)
    return list(dict.fromkeys(found))


@lru_cache(maxsize=128)  # a summary and its notes read the same commands
def _read(command: str) -> tuple[Command, ...]:
    return tuple(runs(command).commands)


def _in_place(command: Command) -> list[str]:
    perl = command.program == "perl" and any(word.startswith(("-i", "-pi")) for word in command.words[1:])
    if not (perl or writes_anyway(command.words)):
        return []
    named = [word.removeprefix("./") for word in command.words[1:] if not word.startswith("-")]
    return [word for word in named[1:] if next(paths_in(word), "") == word][-_PATHS:]


def _by_script(command: Command, scripts: MutableMapping[str, list[str]]) -> list[str]:
    found = [path for text in command.texts() if _WRITES.found(text) for path in paths_in(text)]
    for word in command.words[1:3]:
        found += scripts.get(word.removeprefix("./"), [])
    return found


def worked_on(changed: Collection[str], read: dict[str, int], made: Collection[str]) -> list[str]:
    """The files that a session worked on, newest first: those it changed, without those it wrote as new ones;
    if there are none, the one that it read most often.

    Args:
        changed: In the order of their last change.
        read: File -> times it was read.
        made: Files that the session wrote first: its scripts, and what it added.
    """
    there_before = [path for path in changed if path not in made]
    if there_before:
        return there_before[::-1][:MAX_FILES]
    looked_at = {path: count for path, count in read.items() if path not in made}
    return sorted(looked_at, key=lambda path: -looked_at[path])[:1]
