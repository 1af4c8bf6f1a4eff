"""Whose words a prompt is, decided where a hook's input is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.memories import REDACTOR

from context_graph.claude.hooks.origin import WRAPPERS, is_typed, own_words
from context_graph.model import HookEvent
from context_graph.owner.sessions.hook_call import event_of, input_of_request
from context_graph.wire.frames import Request

NOTIFIED = [
    "<task-notification>\n<task-id>a1</task-id>\n<result>Use it.</result>\n</task-notification>\nRead it.",
    "\n \ufeff<task-notification><summary>done</summary></task-notification>",
    "<TASK-NOTIFICATION>done</TASK-NOTIFICATION>",
    "<local-command-stdout>12 files</local-command-stdout>",
    "<local-command-stderr>no such model</local-command-stderr>",
    "<local-command-caveat>Caveat: …</local-command-caveat>",
    "<local-command-of-tomorrow>x</local-command-of-tomorrow>",
    "<system-reminder>\nThe date has changed.\n</system-reminder>",
    '<teammate-message teammate_id="b">From now on use Redis.</teammate-message>',
    '<channel source="chat">Deploy now.</channel>',
    "<bash-input>ls</bash-input>",
    "<bash-stdout>a.py</bash-stdout><bash-stderr></bash-stderr>",
    "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
    "<command-name>/model</command-name> <command-args>opus</command-args>",
    "<command-message>review is running…</command-message>\n<command-name>/review</command-name>",
    "[SYSTEM NOTIFICATION - NOT USER INPUT] The agent is done.",
    "<ide_opened_file>a.py</ide_opened_file><task-notification>x</task-notification>",
    "<ide_opened_file>a.py</ide_opened_file>\n<ide_selection>b</ide_selection>\n<tick>x</tick>",
]
PROMPTS = [
    "Fix the retry of the queue.",
    "What does <task-notification>done</task-notification> mean in the log?",
    "<div class='a'>is not closed, mend it",
    "<task-list> renders twice",
    "<bash-completion> is missing from the package",
    "<command-line> arguments are parsed wrongly",
    "<localhost> is refused",
    "< 5 ms is the goal",
    "<",
    "[SYSTEM] is logged twice",
    "<command-message>fix is running…</command-message>\n<command-name>/fix</command-name>\n"
    "<command-args>the flaky queue test</command-args>",
    "<ide_selection>def f(): ...</ide_selection>\nRename this to g",
    "/fix the flaky queue test",
]


def event_from(body: bytes, session_env: str = "", **params: object) -> HookEvent:
    request = Request("hooks.prompt-submit", "1", params, body, session_env=session_env, at_ms=1)
    return event_of(request, input_of_request(request), REDACTOR)


def taken(prompt: str, **more: object) -> HookEvent:
    """The event as the owner takes it from a hook's input."""
    given = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": prompt, **more}
    return event_from(json.dumps(given).encode())


@pytest.mark.parametrize("text", NOTIFIED)
def test_what_the_client_wraps_is_no_prompt_and_is_recorded_all_the_same(text: str) -> None:
    event = taken(text)
    assert not event.is_prompt and event.source == "notification"
    assert event.counted_as == "notification" and event.input_text == text
    by_option = event_from(b"", session_env="s", prompt=text)
    assert not by_option.is_prompt


@pytest.mark.parametrize("text", PROMPTS)
def test_what_somebody_wrote_is_a_prompt(text: str) -> None:
    event = taken(text)
    assert event.is_prompt and event.source == "" and event.counted_as == "prompt-submit"
    assert own_words(text)


@pytest.mark.parametrize(
    "source", ["system", "loop_wakeup", "schedule_wakeup", "poll_event", "what_comes_next"]
)
def test_the_client_s_own_word_for_it_goes_before_the_text(source: str) -> None:
    event = taken("Fix the retry.", source=source)
    assert not event.is_prompt and event.source == f"notification:{source}"
    assert taken("Fix the retry.", source="user").is_prompt
    assert taken("Fix the retry.", source="sdk").source == "sdk"
    assert not taken(NOTIFIED[0], source="user").is_prompt


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Look: <system-reminder>never stop</system-reminder> and go on", "Look: \n and go on"),
        ("Look: <tick>a <tick>b</tick> never stop</tick> and go on", "Look: \n and go on"),
        ("Look: <task-notification>never closed", "Look:"),
        ("a < b and <b>c</b> > d", "a < b and <b>c</b> > d"),
        ("<ide_selection>x</ide_selection> Rename it", "Rename it"),
        ("<command-name>/fix</command-name><command-args>the queue</command-args>", "/fix the queue"),
        ("<local-command-stdout/>go on", "go on"),
    ],
)
def test_the_user_s_own_words_are_what_stands_outside_the_client_s_blocks(text: str, own: str) -> None:
    assert own_words(text) == own


@given(
    st.lists(
        st.sampled_from([*(f"<{tag}>" for tag in WRAPPERS), "</tick>", "<", "say", "İ", " "]), max_size=40
    )
)
def test_any_text_has_an_answer(parts: list[str]) -> None:
    text = "".join(parts)
    own = own_words(text)
    assert isinstance(is_typed(text, ""), bool) and len(own) <= len(text) + 1


@pytest.mark.parametrize("block", ["<ide_selection></ide_selection>", "<tick>", "<tick></tick>", "<x>", "<"])
def test_a_text_of_nothing_but_blocks_costs_one_pass(block: str) -> None:
    """Counted in calls, for no test may measure time: the work must grow as the text does."""
    import sys

    def calls(times: int) -> int:
        count = 0

        def note(frame: object, what: str, arg: object) -> None:
            nonlocal count
            count += what in ("call", "c_call")

        sys.setprofile(note)
        try:
            is_typed(block * times, "")
            own_words(block * times)
        finally:
            sys.setprofile(None)
        return count

    assert calls(4_000) < 5 * calls(1_000) + 50


def test_notifications_under_one_prompt_id_are_all_recorded() -> None:
    """The client may send them under the id of the prompt that they belong to."""
    events = [taken(text, prompt_id="p1") for text in ("Fix it.", NOTIFIED[0], NOTIFIED[3])]
    assert len({event.dedupe_key() for event in events}) == 3
    assert taken(NOTIFIED[0], prompt_id="p1").dedupe_key() == events[1].dedupe_key()
