"""Tells how much a statement concerns a later prompt, file or command."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from context_graph.notes.said.about import about, command_name, names, stem
from context_graph.notes.said.language import language, language_of
from context_graph.notes.said.statement import About, Statement
from context_graph.notes.said.subjects import subjects_of_path, subjects_of_program, subjects_of_text

FLOOR: Final = 0.5
"""The degree from which a statement is worth showing."""
_BROAD: Final = 0.5
"""What a subject in common tells, where no name or word is."""
_MOST_CHARS: Final = 4000
"""Characters that are read of a prompt: what it is about stands at its start."""
_LEAST_PIECE: Final = 5
"""Letters of a word that is found inside a compound."""


def concerns(statement: Statement, *, prompt: str = "", path: str = "", command: str = "") -> float:
    """Return how much ``statement`` concerns what is given, 0 to 1: a prompt, a file's path, a command line.

    The most that any of them gives; `FLOOR` says from where on it is worth telling. Linear in what is given;
    of a prompt the first 4,000 characters count.
    """
    degrees = [0.0]
    if path:
        degrees.append(_of_path(statement, path))
    if command:
        degrees.append(_of_command(statement, command))
    if prompt:
        degrees.append(_of_prompt(statement, prompt[:_MOST_CHARS]))
    return max(degrees)


def _of_path(statement: Statement, path: str) -> float:
    it = statement.about
    if any(_within(path, named) for named in it.paths):
        return 1.0
    ending = PurePosixPath(path).suffix.lstrip(".").lower()
    whole = PurePosixPath(path).name.lower()
    if ending in it.file_types or any(
        whole.endswith("." + file_type) for file_type in it.file_types if "." in file_type
    ):
        return 0.8
    parts = {stem(piece, "english") for piece in _pieces(path)}
    if parts & _stems(it):
        return 0.6
    if it.file_types and ending:
        return 0.0  # it names the kinds of files it is about, and this is none of them
    return _BROAD if subjects_of_path(path) & _subjects(statement) else 0.0


def _subjects(statement: Statement) -> frozenset[str]:
    return subjects_of_text(statement.text, language_of(statement.text))


def _within(path: str, named: str) -> bool:
    """Return whether ``path`` is the file ``named``, or lies in the folder of that name, wherever that is."""
    wanted = named.strip("*").rstrip("/").removeprefix("./")
    if not wanted:
        return False
    if "*" in wanted:
        return PurePosixPath(path).match(wanted)
    return f"/{wanted}/" in f"/{path.removeprefix('./')}/"


def _pieces(path: str) -> list[str]:
    return [word for word in language("en").words(path.replace("_", " ").replace("-", " ")) if len(word) > 2]


def _stems(it: About) -> frozenset[str]:
    """Topics as English would have them: names in paths are English, whatever is spoken around them."""
    return frozenset(stem(topic, "english") for topic in it.topics if topic.isascii())


def _of_command(statement: Statement, command: str) -> float:
    it = statement.about
    name = command_name(command)
    program = name.split(" ", 1)[0]
    for known in it.commands:
        if known == name or name.startswith(f"{known} ") or command.startswith(f"{known} "):
            return 1.0
    swapped = {statement.instead_of.lower(), statement.chosen.lower()} - {""}
    if program in swapped or name in swapped:
        return 1.0
    arguments = command.split()
    if any(_within(word.strip("'\""), named) for named in it.paths for word in arguments):
        return 0.9
    if any(known.split(" ", 1)[0] == program for known in it.commands if known not in _acts()):
        verb = name.split(" ", 1)[1] if " " in name else ""
        return 0.9 if verb and stem(verb, "english") in it.topics else 0.4
    shared = {stem(word, "english") for word in _pieces(command)} & _stems(it)
    broad = subjects_of_program(program) | subjects_of_text(command, language("en"))
    return max(min(0.9, 0.45 * len(shared)), _BROAD if broad & _subjects(statement) else 0.0)


def _acts() -> frozenset[str]:
    return frozenset(act for _, act in names().acts)


def _of_prompt(statement: Statement, prompt: str) -> float:
    it, asked = statement.about, about(prompt, language_of(prompt))
    if set(it.paths) & set(asked.paths) or any(
        _within(asked_path, path) for asked_path in asked.paths for path in it.paths
    ):
        return 1.0
    if set(it.commands) & set(asked.commands):
        return 0.9
    endings = {PurePosixPath(path).suffix.lstrip(".") for path in asked.paths} | set(asked.file_types)
    words = 1.0
    for topic in it.topics:
        if topic in asked.topics:
            words *= 0.55
        elif len(topic) >= _LEAST_PIECE and any(
            topic in asked_topic or _is_piece(asked_topic, topic) for asked_topic in asked.topics
        ):
            words *= 0.6
    if subjects_of_text(prompt, language_of(prompt)) & _subjects(statement):
        words *= 1.0 - _BROAD
    of_files = max((_of_path(statement, path) for path in asked.paths), default=0.0)
    return max(0.7 if endings & set(it.file_types) else 0.0, 1.0 - words, of_files)


def _is_piece(word: str, compound: str) -> bool:
    return len(word) >= _LEAST_PIECE and word in compound
