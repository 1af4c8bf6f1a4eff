"""Finds which of a session's files a sentence speaks of: by their names, or by what was changed in them."""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from context_graph.model.note import NAMES, TOLD_AT_FILES, Note

_RUN: Final = re.compile(r"[\w.@+/-]+[?!]?")
_WORD: Final = re.compile(r"\w+")
_LEAST_SYMBOL: Final = 4
"""Letters of a symbol, or any sentence has it."""
_TELLING: Final = re.compile(r"_|[a-z0-9][A-Z]")
"""What a word that is no symbol seldom has."""
_MOST_FILES: Final = 8


@lru_cache(maxsize=256)  # at each change the same answers are read again
def words_named(text: str) -> frozenset[str]:
    """Return the names in ``text`` that may be those of files or symbols: whole, their last parts, and each
    word of them. Linear in its length.
    """
    tokens = [_name_in(run) for run in _RUN.findall(text)]
    return frozenset((*tokens, *(token.rsplit("/", 1)[-1] for token in tokens), *_WORD.findall(text)))


def _name_in(run: str) -> str:
    """Return a run of a name's characters without the stop behind it; `empty?` is a name of Ruby."""
    bare = run.rstrip("?!")
    name = bare.rstrip(".@+/-")
    return run if name == bare else name


def names_of(path: str, symbols: Collection[str]) -> frozenset[str]:
    """Return the names by which a sentence speaks of a file: its own, and those of what is in it that look
    like no other word.
    """
    return frozenset((path, os.path.basename(path), *_telling(symbols)))


def _telling(symbols: Collection[str]) -> Iterator[str]:
    for symbol in symbols:
        name = symbol.rsplit(".", 1)[-1]
        if len(name) >= _LEAST_SYMBOL and _TELLING.search(name):
            yield name


def with_names(note: Note, files: Mapping[str, Collection[str]]) -> Note:
    """Return a note of the session's own words with those of its ``files``, beside the note's, of which it
    speaks: it is told there, too. A name that several files have names none.

    Args:
        files: Each with the symbols in it.
    """
    if note.kind not in TOLD_AT_FILES or note.said_by != "assistant":
        return note
    words = words_named(note.text)
    owners: dict[str, list[str]] = {}
    for path, symbols in files.items():
        for name in names_of(path, symbols) & words:
            owners.setdefault(name, []).append(path)
    names: dict[str, list[str]] = {}
    for name, paths in sorted(owners.items()):
        path = paths[0]
        if len(paths) == 1 and path not in note.files and (path in names or len(names) < _MOST_FILES):
            names.setdefault(path, []).extend([] if path.endswith(name) else [name])
    return replace(note, extra={**note.extra, NAMES: names}) if names else note
