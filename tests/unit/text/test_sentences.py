"""Sentences that were told already leave a text whole, and nothing else does."""

from __future__ import annotations

import pytest

from context_graph.text.sentences import without_sentences

REASON = "The tax office asks for that.\nChanged: quote.py"
CORRECTION = f"No, that is wrong: each line's VAT must be rounded. {REASON}"


@pytest.mark.parametrize(
    ("content", "said", "left"),
    [
        (CORRECTION, "that is wrong: each line's VAT must be rounded.", REASON),
        (CORRECTION, "that is wrong: each line's VAT must be rounded", REASON),
        ("Goal: use pnpm\nChanged: a.py", "use pnpm", "Changed: a.py"),
        ("Bump it to 1.2 first. Never use npm here! Then push.", "Never use npm here!",
         "Bump it to 1.2 first. Then push."),
        ("请始终使用 pnpm。然后测试。", "请始终使用 pnpm。", "然后测试。"),
        ("Test it. Sempre usa pnpm.", "Sempre usa pnpm.", "Test it."),
    ],
)  # fmt: skip
def test_a_sentence_that_was_told_goes_as_a_whole(content: str, said: str, left: str) -> None:
    assert without_sentences(content, [said]) == left


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Add a login page, and use pnpm from now on. Then test.", "use pnpm from now on."),
        ("Fix a bug, and use pnpm from now on. Then test.", "use pnpm from now on"),
        ("We release on Friday. Use pnpm, as the cache of npm breaks our builds.", "Use pnpm"),
        ("我们下一步要重写整个登录页面，请始终使用 pnpm。然后测试。", "请始终使用 pnpm。"),
        ("Use pnpm.", "Use pnpm."),
        ("Nothing of it is in here.", "Use pnpm."),
        ("Nothing was said.", ""),
    ],
)
def test_one_that_says_more_stays_whole_and_so_does_the_only_one(content: str, said: str) -> None:
    assert without_sentences(content, [said]) == content


def test_each_of_several_goes_and_something_is_always_left() -> None:
    assert (
        without_sentences("Use tabs. Never push. Add a page.", ["Use tabs.", "Never push."]) == "Add a page."
    )
    assert without_sentences("Use tabs. Never push.", ["Use tabs.", "Never push."]) == "Never push."
