"""Calls that share words with what was asked are on the subject, however unlike earlier ones they are."""

from __future__ import annotations

from tests.support.events import bash, read

from context_graph.identity.on_subject import is_on_subject, words_asked, words_called

ASKED = words_asked("`UsernameValidator` accepts a trailing newline in usernames")


def test_half_of_the_last_calls_share_a_word() -> None:
    on = words_called(read("/home/u/project/core/validators.py")), words_called(bash("ls users/newline.py"))
    off = words_called(bash("vim colorscheme"))
    assert words_called(read("/home/u/project/core/username_validator.py")) & ASKED
    assert is_on_subject(ASKED, [words_called(bash("grep Validator core")), off])
    assert not is_on_subject(ASKED, [off, off, *on[1:]]) and not is_on_subject(ASKED, [])
    assert is_on_subject(ASKED, [off] * 6 + [on[1]] * 6), "only the last count"
    assert not is_on_subject(frozenset(), [on[0]])


def test_what_all_calls_have_says_nothing() -> None:
    assert not words_called(bash("python test.py")) & words_asked("The python tests fail")
