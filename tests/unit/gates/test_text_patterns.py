"""Patterns of grep take at least the lines that grep takes, and leave most of the others."""

from __future__ import annotations

import random
import re
import time

import pytest

from context_graph.gates.shell.text_patterns import TextPattern

SIGNS = (
    *("a", "b", "c", ".", "*", "+", "?", "(", ")", "|", "^", "$", "[ab]", "[^a]", "[.]"),
    *("\\.", "\\w", "(a|b)", "(?:x)", "\\|", "{2}"),
)


def test_no_line_is_missed() -> None:
    chance = random.Random(5)
    for _ in range(20_000):
        pattern = "".join(chance.choice(SIGNS) for _ in range(chance.randint(1, 7)))
        try:
            made = re.compile(pattern)
        except re.error:
            continue
        text = "".join(chance.choice("abc.|\nx") for _ in range(chance.randint(0, 8)))
        if any(map(made.search, text.split("\n"))):
            assert TextPattern(pattern, "extended").may_match(text), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "kind", "text", "taken"),
    [
        ("\\.(js|ts)$", "extended", ".claude/settings.json", False),
        ("\\.(js|yaml)$", "extended", ".claude/requirements.yaml", True),
        ("^(req|x)uire", "extended", "a\nrequire", True),
        ("a(", "basic", "a(", True),
        ("a(", "basic", "a", False),
        ("x\\|b", "basic", "abc", True),
        ("x|b", "basic", "abc", False),
        ("a.c", "fixed", "abc", False),
        ("a\\b.c$", "extended", "a-c", True),
    ],
)
def test_each_kind_has_its_own_spelling(pattern: str, kind: str, text: str, taken: bool) -> None:
    assert TextPattern(pattern, kind).may_match(text) is taken


@pytest.mark.parametrize("pattern", ["(a*)*b" * 50, "a.*" * 300, "(a|b)" * 6, "(" * 900, "(a|b|" * 150])
def test_no_pattern_takes_long(pattern: str) -> None:
    began = time.thread_time()
    TextPattern(pattern, "extended").may_match("a" * 65_000)
    TextPattern(pattern, "extended").may_match("ab" * 20 + "\na" * 20_000)
    assert time.thread_time() - began < 2
