"""Tells whether a command does what a statement rules out: `npm install`, where the user said pnpm, not npm.

Only what is plain counts: a program that was given up for another one, or one that a clause forbids and of
which the command has all that the clause says. A clause with a condition forbids nothing for certain.
"""

from __future__ import annotations

import re
from typing import Final

from context_graph.notes.said.about import about, command_name, stem
from context_graph.notes.said.language import Language, language_of
from context_graph.notes.said.statement import Statement
from context_graph.text.patterns import linear

_CLAUSE: Final = re.compile(r"[,;:()，。；：、]|\.\s|\s[-–—]\s")
_CONDITIONS: Final = frozenset(
    """before until unless when if while after except without bevor bis wenn außer ohne avant sauf si jusqu
    antes hasta salvo cuando sin sem quando até если когда пока без кроме""".split()  # noqa: SIM905
)
_FILLING: Final = frozenset("use run direct ever again here anymor pleas call".split())  # noqa: SIM905
"""Stems that say nothing of what is ruled out."""
_QUOTED: Final = linear(r"\"[^\"]*\"|'[^']*'")
_OPTION: Final = re.compile(r"(?<!\S)`?(--?[\w-]+)")
_LEAST: Final = 3


def contradicts(statement: Statement, command: str) -> bool:
    """Return whether one command, of no line of several, does what ``statement`` rules out. Linear in
    both."""
    bare = _QUOTED.sub(" ", command)
    words = [word.lower() for word in bare.split()]
    if not words:
        return False
    given_up = statement.instead_of.lower().split()
    if statement.chosen and given_up and _runs(bare, " ".join(given_up)):
        chosen = statement.chosen.lower()
        return all(word in words for word in given_up[1:]) and not _runs(bare, chosen)
    of = language_of(statement.text)
    return any(_forbids(clause, bare, of) for clause in _CLAUSE.split(statement.text) if clause.strip())


def _runs(command: str, name: str) -> bool:
    """Return whether the command runs the program of ``name``, with what it tells it to do."""
    called = command_name(command.lower())
    wanted = command_name(name)
    return bool(wanted) and (called == wanted or called.split(" ")[0] == wanted)


def _forbids(clause: str, command: str, of: Language) -> bool:
    words = of.words(clause)
    marks = of.marks(words)
    if not any(mark.kind == "forbid" for mark in marks) or _CONDITIONS & set(words):
        return False
    it = about(clause, of)
    named = [name for name in it.commands if _runs(command, name)]
    if not named or len({name.split(" ")[0] for name in it.commands}) > 1:
        return False
    here = {stem(words[mark.start], of.stemmer) for mark in marks if mark.kind == "env"}
    programs = tuple(word for name in named for word in name.split())
    options = _OPTION.findall(clause)
    left = [
        topic
        for topic in it.topics
        if len(topic) >= _LEAST
        and topic not in here | _FILLING
        and not topic.startswith(programs)
        and not any(topic in option for option in options)
    ]
    lower = command.lower()
    return all(topic in lower for topic in left) and all(_has(lower, option) for option in options)


def _has(command: str, option: str) -> bool:
    """Return whether the command has the option; a short one may stand among others, as in `-rf`."""
    if option.startswith("--") or len(option) != len("-f"):
        return option.lower() in command.split()
    return any(
        word.startswith("-") and not word.startswith("--") and option[1] in word for word in command.split()
    )
