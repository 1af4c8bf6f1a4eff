"""Encoders over the packaged table, compiled and readable, and texts to try them on."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import Stemmer
from tests.oracles import features as _reference_features
from tests.oracles import tokens as _reference_tokens

from context_graph import kernels
from context_graph.memory.embed import LEXICONS, packaged_table
from context_graph.model.spaces import BEGINS, WEIGHTS
from context_graph.spaces.reading import BAGS
from context_graph.text.english import HEADS, STOP_WORDS, WORK_WORDS

MODULES = {
    "compiled": "context_graph.kernels.tokens",
    "reference": "tests.oracles.tokens",
}

TEXTS = (
    "",
    " \n\t",
    "Hello, world!",
    "It's fine; I don't mind. They'll come, we've been there: she'd said so.",
    "getUserName(id) in src/app/main.py fails with HTTPServer2 and foo_bar_baz, see a.b.c and --no-verify",
    "Call at 7:30 pm on 2023-05-12 or in 1999; not at 25:61, 13:05, 7 am.",
    "The build failed because the disk was full. Because of that, nobody was happy.\nSo we left",
    "If we had tested it, it would not have crashed; instead of that we want to fix the bug",
    "Fix the login bug. - item\n- other\n\n1. one\n2) two\n# Head\n> quote\n| a | b |\n   indented\nkey: v",
    "Ünïcödé ÉCOLE naïve — “quotes”",
    "テストはいつ？ Reactで書く。API를 5432번 포트에서만 ᄒ 배포한다",
    "การปรับใช้จากสาขา ລາວ ខ្មែរ မြန်မာ ｶﾅ x̄ㄱㅏ가𐀀나",
    "東京は2023年 日本語 한국어 ไทย İstanbul ǅ ß Σίσυφος ≠ ; \u200b\ufffd\x00",
    "x == y != z -> w => v :: u && t || s += r () {} [] `code` $HOME <b>\n```",
    "[CLS] is no [MASK] nor [SEP][PAD] but [UNK], [cls] and [ MASK ]",
    "a" * 99 + " " + "b" * 100 + " " + "c" * 101 + " " + "é" * 45 + " " + "d" * 41,
    "_ __ _a a_ a__b A_B aB AB ABc a1B 1a2b 3.14 1,000 10:30 e.g. o'brien-smith x@y.org http://a.b/c?d=e",
    "😀 emoji 👍🏽 → arrow €5 © ½ ²",
    "not good, never bad; without hope, was caused by rain, hiked the climbs",
)


def make(module: Any, stem: Any = None) -> Any:
    """An encoder of that module over the packaged table, with the reader of bags that belongs to it."""
    features = _reference_features if module is _reference_tokens else kernels.features
    parts = packaged_table().sections
    return module.Encoder(
        bytes(parts["vocabulary"]),
        parts["rows"],
        parts["scales"],
        parts["marks"],
        [(parts[f"{name}.pieces"], parts[f"{name}.scales"], parts[f"{name}.values"]) for name in LEXICONS],
        STOP_WORDS,
        stem or Stemmer.Stemmer("english", 0).stemWord,
        features.EventFeatures(WORK_WORDS, HEADS),
        BAGS,
        BEGINS,
        WEIGHTS,
    )


@cache
def encoder(kind: str) -> Any:
    """One of each for all tests; imported by full name, so that no fallback takes its place."""
    return make(import_module(MODULES[kind]))


assert MODULES["reference"] == _reference_tokens.__name__
