"""Texts to distil on, permissively licensed: WordNet's glosses and examples, docstrings and their code."""

from __future__ import annotations

import ast
import io
import random
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Texts", "gather"]

GLOSSES = 80_000
FUNCTIONS = 12_000
MOST_CODE = 600  # characters
RELATED = frozenset("@+\\!")  # hypernym, derived form, pertainym, antonym

Pair = tuple[int, int]


class Texts:
    """Distinct texts, and pairs of those that mean alike or belong together."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.pairs: list[Pair] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        text = text.strip()
        if text not in self._places:
            self._places[text] = len(self.texts)
            self.texts.append(text)
        return self._places[text]

    def pair(self, a: str, b: str) -> None:
        self.pairs.append((self.place(a), self.place(b)))


def gather(wordnet: Path, wheels: list[Path], seed: int = 1) -> Texts:
    """The same texts in the same order for the same files."""
    texts = Texts()
    chance = random.Random(seed)
    _add_wordnet(texts, wordnet, chance)
    functions = sorted({pair[0]: pair for wheel in sorted(wheels) for pair in _functions(wheel)}.values())
    chance.shuffle(functions)
    for summary, code in functions[:FUNCTIONS]:
        texts.pair(summary, code)
    return texts


def _deb_files(deb: Path) -> dict[str, bytes]:
    """Files of a Debian package's data.tar, by their last name."""
    data = deb.read_bytes()
    at = len(b"!<arch>\n")
    while at < len(data):
        name, size = data[at : at + 16].strip(), int(data[at + 48 : at + 58])
        if name.startswith(b"data.tar"):
            with tarfile.open(fileobj=io.BytesIO(data[at + 60 : at + 60 + size])) as archive:
                members = [member for member in archive if member.isfile()]
                return {Path(m.name).name: file.read() for m in members if (file := archive.extractfile(m))}
        at += 60 + size + size % 2
    raise ValueError(f"{deb}: no data.tar")


def _add_wordnet(texts: Texts, deb: Path, chance: random.Random) -> None:
    files = _deb_files(deb)
    synsets: dict[tuple[str, str], tuple[str, list[str], list[tuple[str, str]]]] = {}
    for part in ("noun", "verb", "adj", "adv"):
        for line in files[f"data.{part}"].decode().splitlines():
            if not line.startswith(" "):
                key, entry = _synset(line)
                synsets[key] = entry
    kept = set(chance.sample(sorted(synsets), GLOSSES))
    for key, (gloss, examples, related) in synsets.items():
        for example in examples:
            texts.pair(example, gloss) if key in kept else texts.place(example)
        if key in kept:
            texts.place(gloss)
            for other in related:
                if other in kept:
                    texts.pair(gloss, synsets[other][0])


def _synset(line: str) -> tuple[tuple[str, str], tuple[str, list[str], list[tuple[str, str]]]]:
    """(part of speech, offset), and its words with their gloss, examples, related synsets; see man 5 wndb."""
    head, gloss = line.split(" | ", 1)
    fields = head.split(" ")
    n_words = int(fields[3], 16)
    words = [re.sub(r"\(\w+\)", "", fields[4 + 2 * i]).replace("_", " ") for i in range(n_words)]
    at = 4 + 2 * n_words
    pointers = [fields[at + 1 + 4 * i : at + 5 + 4 * i] for i in range(int(fields[at]))]
    related = [(pos, offset) for symbol, offset, pos, _ in pointers if symbol in RELATED]
    examples = [example for example in re.findall(r'"([^"]+)"', gloss) if len(example.split()) > 2]
    meaning = re.sub(r';?\s*"[^"]*"', "", gloss).strip(" ;")
    pos = "a" if fields[2] == "s" else fields[2]
    return (pos, fields[0]), (f"{', '.join(words)}: {meaning}", examples, related)


def _functions(wheel: Path) -> Iterator[tuple[str, str]]:
    """(first paragraph of the docstring, code without it) of a wheel's functions."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            if not name.endswith(".py") or "/test" in name:
                continue
            source = archive.read(name).decode(errors="replace")
            try:
                tree = ast.parse(source)
            except SyntaxError:
                continue
            lines = source.split("\n")
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef) and len(node.body) > 1:
                    summary = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
                    if 12 < len(summary) < 300 and summary.isascii():
                        last = node.body[-1].end_lineno or node.lineno
                        body = "\n".join(lines[node.body[1].lineno - 1 : last])
                        yield summary, f"{lines[node.lineno - 1]}\n{body}"[:MOST_CODE]
