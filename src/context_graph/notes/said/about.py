"""Tells what a sentence is about: paths, kinds of files, commands, and the words that tell something."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from context_graph.notes.said.language import Language
from context_graph.notes.said.statement import About
from context_graph.text.patterns import linear

_NAME: Final = re.compile(r"[A-Za-z0-9_.@~*/+-]+\(?")
_FILE: Final = linear(r"\.?[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,4}|\.[a-z][\w.-]+")
_ENDING: Final = re.compile(r"\.([a-z][a-z0-9]{0,4})\Z")
_TOKEN: Final = re.compile(r"[^\s,;，。；、「」『』“”„\"()]+")
_LATIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*")
_SIGNS: Final = re.compile(r"[\u3400-\u9fff\u30a0-\u30ff\u3005]+")
_PYTHON: Final = re.compile(r"python[\d.]*+")
_VERB: Final = re.compile(r"[a-z][\w-]*|-[A-Za-z][\w-]*")
_TARGETS: Final = frozenset(
    [
        *("lint", "fmt", "format", "test", "tests", "check", "build", "release", "install", "clean", "all"),
        *("dev", "run", "deploy", "docs", "e2e", "bench", "start"),
    ]
)
"""What `make` is told to do where it is the program, not the word."""
_QUIET: Final = frozenset(
    {
        "standing",
        "must",
        "forbid",
        "house",
        "reason",
        "attention",
        "universal",
        "you",
        "me",
        "only",
        "now",
        "courtesy",
        "this",
        "instead",
        "ask",
        "be",
        "again",
        "prefer",
        "maybe",
        "the_one",
        "the_many",
        "limit",
        "ends",
        "over",
        "person",
        "everywhere",
        "habit",
    }
)
"""Kinds of words that say how something is meant, not what it is about."""
_WORDS_TOO: Final = frozenset({"make", "just", "go"})
"""Programs that are words as well: in a sentence they are told by what follows them, or by backticks."""
_MOST: Final = 24
_LEAST_BEGINNING: Final = 3
_MOST_SIGNS: Final = 400


@dataclass(frozen=True, slots=True)
class Names:
    """Names that are the same in all languages."""

    programs: frozenset[str]
    with_verbs: frozenset[str]
    file_types: dict[str, tuple[str, ...]]
    acts: tuple[tuple[str, str], ...]
    """Beginnings of words with the command that does what they say."""
    tongues: dict[str, str]
    """What languages are called, in all that are known, with the language's code."""


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


@cache
def names() -> Names:
    """Return the names of `names.toml`. Reads it the first time."""
    with (Path(__file__).parent / "names.toml").open("rb") as file:
        content: dict[str, Any] = tomllib.load(file)
    return Names(
        frozenset(_listed(content["programs"])),
        frozenset(_listed(content["with_verbs"])),
        {
            name: tuple(
                ending
                for listed, endings in content["file_types"].items()
                if name in _listed(listed)
                for ending in _listed(endings)
            )
            for listed in content["file_types"]
            for name in _listed(listed)
        },
        tuple((begin, act) for act, words in content["acts"].items() for begin in _listed(words)),
        {word: code for code, words in content["tongues"].items() for word in _listed(words)},
    )


@lru_cache(maxsize=512)
def about(text: str, of: Language) -> About:
    """Return what ``text`` is about. Linear in its length, which is that of a sentence or a short prompt."""
    paths = _paths(text)
    return About(
        paths[:_MOST],
        _file_types(text, paths)[:_MOST],
        _commands(text, of)[:_MOST],
        _topics(text, of)[:_MOST],
    )


def _unique(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _paths(text: str) -> tuple[str, ...]:
    paths = []
    for token in _TOKEN.findall(text):
        if "://" not in token and ("/" in token or "." in token):
            paths += [name.rstrip(".") for name in _NAME.findall(token) if _is_path(name.rstrip("."))]
    return _unique(paths)


def _is_path(name: str) -> bool:
    """Return whether a run of letters and signs is a path: `docs/img`, `src/`, `.env`, `app.js`; not
    `1/2`."""
    if len(name) < 3 or name.endswith("(") or not any(letter.isalpha() for letter in name):
        return False
    if "/" in name:
        return name.endswith("/") or name[0] in "./~" or "." in name or name.islower()
    return "." in name and _FILE.fullmatch(name) is not None


def _file_types(text: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    known = names().file_types
    endings = {ending for each in known.values() for ending in each}
    types: list[str] = []
    for word in _LATIN.findall(text.lower()):
        types += known.get(word.strip(".-+"), ())
    for path in paths:
        ending = _ENDING.search(path)
        if ending and ending[1] in endings and path.startswith(("*.", ".")):
            types.append(ending[1])
    return _unique(types)


def _commands(text: str, of: Language) -> tuple[str, ...]:
    known = names()
    commands: list[str] = []
    for code in text.split("`")[1::2]:
        words = code.split()
        if words and (words[0] in known.programs or len(words) > 1):
            commands.append(command_name(code))
    words = [word.strip("`'.:!?…") for word in _TOKEN.findall(text)]
    for at, word in enumerate(words):
        name = word.rsplit("/", 1)[-1].lower()
        following = words[at + 1] if at + 1 < len(words) else ""
        if name in _WORDS_TOO and following in _TARGETS:
            commands.append(f"{name} {following}")
        elif name in known.programs and "." not in name and name not in _WORDS_TOO:
            verb = bool(_VERB.fullmatch(following)) and following not in of.common
            takes = name in known.with_verbs or following.startswith("-")
            commands.append(f"{name} {following}" if verb and takes and not _says(following, of) else name)
    for word in _words(text, of):
        commands += _acts_of(word)
    if of.signs:
        commands += [act for begin, act in known.acts if not begin.isascii() and begin in text]
    return _unique(commands)


@lru_cache(maxsize=8192)  # texts have most of their words in common, and there are some hundred beginnings
def _acts_of(word: str) -> tuple[str, ...]:
    """Return the commands that do what ``word`` says."""
    return tuple(act for begin, act in names().acts if begins(word, begin))


def begins(word: str, begin: str) -> bool:
    """Return whether ``word`` is a form of one that begins so; a short beginning is the whole word."""
    return word == begin or (
        len(begin) >= _LEAST_BEGINNING and word.startswith(begin) and len(word) <= len(begin) + 5
    )


def _says(word: str, of: Language) -> bool:
    """Return whether a word behind a program's name is one of the sentence, not what the program is to do."""
    kinds = {mark.kind for mark in of.marks(of.words(word))}
    return bool(kinds & {"instead", "forbid", "reason", "only", "be", "must", "standing", "house", "env"})


def command_name(command: str) -> str:
    """Return the program of a command line and, where it has one, what it is told to do: `git commit`."""
    known = names()
    words = command.split()
    while words and (words[0] in ("sudo", "env", "time", "nohup") or "=" in words[0]):
        words = words[1:]
    if len(words) > 2 and words[1] == "-m" and _PYTHON.fullmatch(words[0].rsplit("/", 1)[-1]):
        words = words[2:]  # a module is the program that it is
    if not words:
        return ""
    program = words[0].rsplit("/", 1)[-1]
    if (
        len(words) > 1
        and (program in known.with_verbs or words[1].startswith("-"))
        and _VERB.fullmatch(words[1])
    ):
        return f"{program} {words[1]}"
    return program


def _words(text: str, of: Language) -> list[str]:
    return [] if of.signs else of.words(text)


@cache
def _stemmer(name: str) -> Any:
    import Stemmer  # type: ignore[import-not-found,import-untyped,unused-ignore]

    return Stemmer.Stemmer(name)


@lru_cache(maxsize=16_384)
def stem(word: str, name: str) -> str:
    """Return ``word`` without its inflection, by Snowball."""
    return str(_stemmer(name).stemWord(word)) if name else word


def _topics(text: str, of: Language) -> tuple[str, ...]:
    if of.signs:
        return _unique([*_pairs(_without_quiet(text, of)), *(word.lower() for word in _LATIN.findall(text))])
    words = of.words(text)
    quiet = {at for mark in of.marks(words) if mark.kind in _QUIET for at in range(mark.start, mark.end)}
    return _unique(
        [
            stem(word, of.stemmer)
            for at, word in enumerate(words)
            if at not in quiet and word not in of.common and (len(word) > 2 or word.isdigit())
        ]
    )


def _without_quiet(text: str, of: Language) -> str:
    """Return ``text`` with a blank for each sign that only says how something is meant."""
    signs = list(text[:_MOST_SIGNS])
    for mark in of.marks(of.words(text)):
        if mark.kind in _QUIET and not "".join(signs[mark.start : mark.end]).isascii():
            signs[mark.start : mark.end] = " " * (mark.end - mark.start)
    return "".join(" " if sign in of.common else sign for sign in signs)


def _pairs(text: str) -> list[str]:
    """Return each two signs that stand side by side: ideographs, or one and a katakana."""
    pairs: list[str] = []
    for run in _SIGNS.findall(text):
        pairs += [run[at : at + 2] for at in range(len(run) - 1)]
    return pairs
