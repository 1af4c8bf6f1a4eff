"""Each language's lists are read, and a text's language is told."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import context_graph.notes.said as said
from context_graph.notes.said.language import LANGUAGES, language, language_of

FOLDER = Path(said.__file__).parent / "languages"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("the parser has to skip blank lines", "en"),
        ("der Parser muss leere Zeilen überspringen", "de"),
        ("le parseur doit sauter les lignes vides", "fr"),
        ("el parser tiene que saltar las líneas vacías", "es"),
        ("o parser tem que pular as linhas vazias", "pt"),
        ("парсер пропускает пустые строки", "ru"),
        ("解析器要跳过空行", "zh"),
        ("パーサーは空行を飛ばす", "ja"),
        ("用 pnpm install,不用 npm", "zh"),
        ("pnpm", "en"),
        ("", "en"),
    ],
)
def test_a_texts_language_is_told(text: str, code: str) -> None:
    assert language_of(text).code == code


def test_each_language_has_a_file_that_says_where_it_is_from() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(LANGUAGES)
    for path in FOLDER.glob("*.toml"):
        given = tomllib.loads(path.read_text("utf-8"))
        assert given["source"]
        assert {"standing", "forbid", "must", "now", "this", "task", "ends", "person"} <= given[
            "marks"
        ].keys()


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_phrase_is_found_whole(code: str) -> None:
    of = language(code)
    for first, phrases in of.phrases.items():
        for phrase, kind in phrases:
            assert phrase[0] == first
            assert kind in {mark.kind for mark in of.marks(list(phrase))}
