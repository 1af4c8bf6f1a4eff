"""Tells which files a session worked on: those it changed, however it did; else the one it read most.

Models also change files by command: `sed -i`, a script that they write and run, a text for an interpreter.
What such a script writes is guessed from the paths in it; only those count that the session had read.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterator, MutableMapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from context_graph.text.patterns import linear
from context_graph.text.shell_lines import ShellCommand, calls_of

MAX_FILES: Final = 16
"""Files of one session, the newest first."""
MAX_SCRIPTS: Final = 8
_PATHS: Final = 8
_COMMAND_CHARS: Final = 4000
_MAY_CHANGE: Final = linear(
    r"(?i)(?:^|[\s;&|(/])(?:rm|unlink|mv|tee|g?sed|perl|python[\d.]*|node|ruby|php|bash|sh|deno|"
    r"bun|git (?:rm|mv)|del|erase|ri|mi|ren|move|remove-item|move-item|rename-item)(?:\s|$)|>"
)
"""What a command must have to change a file: most only look."""
_SCRIPT_CHARS: Final = 65_536
_REMOVERS: Final = frozenset(("rm", "unlink", "remove-item", "del", "erase", "ri"))
_INTERPRETERS: Final = frozenset(
    ("python", "pypy", "perl", "ruby", "node", "nodejs", "bun", "deno", "php", "lua", "Rscript", "julia")
)
_MOVERS: Final = frozenset(("mv", "move-item", "rename-item", "ren", "move", "mi"))
_WRITES: Final = linear(
    r"""open\([^)\n]{0,200}['"][wa]\+?b?['"]|\.write\(|write_text|write_bytes|writelines|writeFile"""
)
_PATH: Final = linear(r"[\w.@+/-]*[\w@+-]\.[A-Za-z]\w{0,7}")


def paths_in(text: str) -> Iterator[str]:
    """Return what in ``text`` looks like a file, each once, at most eight."""
    return iter(_paths_in(text[:_COMMAND_CHARS]))


@lru_cache(maxsize=128)  # a summary and its notes look at the same commands
def _paths_in(text: str) -> tuple[str, ...]:
    return tuple(_named_in(text))


def _named_in(text: str) -> Iterator[str]:
    seen: dict[str, None] = {}
    for match in _PATH.finditer(text):
        path = match[0].removeprefix("./")
        if path not in seen:
            seen[path] = None
            yield path
        if len(seen) == _PATHS:
            return


def named_of(text: str, files: frozenset[str]) -> frozenset[str]:
    """Return those of ``files`` that a text names."""
    return files.intersection(_paths_in(text[:_COMMAND_CHARS])) if files else files


def written_in(text: str) -> list[str]:
    """Return the files that a script may write: those that its text names, if it writes any."""
    text = text[:_SCRIPT_CHARS]
    return list(_named_in(text)) if _WRITES.found(text) else []


def may_write(text: str) -> bool:
    """Return whether a text for an interpreter writes files, whichever they are."""
    return _WRITES.found(text[:_SCRIPT_CHARS])


def note_script(scripts: MutableMapping[str, list[str]], path: str, writes: list[str]) -> None:
    """Note the files that the script ``path`` may write; keeps the newest eight scripts."""
    scripts.pop(path, None)
    if writes:
        scripts[path] = writes
        if len(scripts) > MAX_SCRIPTS:
            del scripts[next(iter(scripts))]


class Effects(NamedTuple):
    """What a shell command does to files."""

    edited: list[str]
    """Changed in place."""
    written: list[str]
    """Written by a redirection or `tee`."""
    removed: list[str]
    moved: list[tuple[str, str]]


def effects_of(command: str, scripts: MutableMapping[str, list[str]], known: Collection[str]) -> Effects:
    """Return the files that a shell command changes, removes and moves; a script that it writes is noted.

    Args:
        scripts: Script -> files that it may write.
        known: Files that the session read, changed or named before.
    """
    done = Effects([], [], [], [])
    if not _MAY_CHANGE.found(command[:_COMMAND_CHARS]):
        return done
    for call in calls_of(command[:_COMMAND_CHARS]):
        folder = call.folder or ""
        written = [_in(folder, target) for target in _written(call)]
        done.written.extend(written)
        done.removed.extend(_in(folder, path) for path in _removed(call.words))
        done.moved.extend((_in(folder, a), _in(folder, b)) for a, b in _moved(call.words))
        if call.program in ("sed", "gsed", "perl"):
            done.edited.extend(_in(folder, path) for path in _in_place(call))
        elif call.program.rstrip("0123456789.") in _INTERPRETERS:
            by_script = (_in(folder, path) for path in _by_script(call, scripts))
            done.edited.extend(path for path in by_script if path in known)
        elif call.text:
            for path in written:
                note_script(scripts, path, written_in(call.text))
    return done


def _written(command: ShellCommand) -> list[str]:
    """Return the files that a command writes by a redirection, or as `tee`."""
    paths = list(command.writes)
    paths += [word for word in command.words[1:] if command.program == "tee" and word[:1] != "-"]
    return [path for path in paths if path[:1] not in ("", "&") and not path.startswith("/dev/")]


def _in(folder: str, path: str) -> str:
    """Return a path as seen from where the session works, for a command that runs in ``folder``."""
    path = _plain(path)
    return path if not folder or path.startswith(("/", "~")) else os.path.normpath(os.path.join(folder, path))


def _removed(words: Sequence[str]) -> list[str]:
    """Return the files that `rm`, `git rm` or PowerShell's `Remove-Item` names."""
    named = words[1:] if words[:1] == ["git"] else words
    if not named or named[0].rpartition("/")[2].lower() not in _REMOVERS:
        return []
    return [_plain(word) for word in named[1:] if not word.startswith("-")]


def _moved(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return (from, to) of `mv`, `git mv` or `Move-Item` of one file."""
    named = words[1:] if words[:1] == ["git"] else words
    if not named or named[0].rpartition("/")[2].lower() not in _MOVERS:
        return []
    ends = [_plain(word) for word in named[1:] if not word.startswith("-")]
    return [(ends[0], ends[1])] if len(ends) == 2 else []


def _plain(word: str) -> str:
    return word.removeprefix("./").rstrip("/")


def _in_place(command: ShellCommand) -> list[str]:
    if not any(
        word.startswith(("-i", "-pi", "-ni", "-Ei", "-ri", "--in-place")) for word in command.words[1:]
    ):
        return []
    named = [word.removeprefix("./") for word in command.words[1:] if not word.startswith("-")]
    return [word for word in named[1:] if next(paths_in(word), "") == word][-_PATHS:]


def _by_script(command: ShellCommand, scripts: MutableMapping[str, list[str]]) -> list[str]:
    paths = [path for text in (*command.words[1:], command.text) for path in written_in(text)]
    for word in command.words[1:3]:
        paths += scripts.get(word.removeprefix("./"), [])
    return paths


def worked_on(changed: Collection[str], read: dict[str, int], made: Collection[str]) -> list[str]:
    """Return the files that a session worked on, newest first: those it changed, without those it wrote as
    new ones; if there are none, the one that it read most often.

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
