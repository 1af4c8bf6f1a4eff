"""When a session goes in circles, and what is said of it."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from tests.support.agent_events import SHADER, TARIFF, tool

from context_graph.errors import CorruptedIdentityError
from context_graph.identity.brief import brief_line, change_text, state_and_level
from context_graph.identity.circles import STREAK, WINDOW, Circles
from context_graph.identity.consciousness import ConsciousnessState
from context_graph.identity.live import LiveSession
from context_graph.identity.runtime import decode_runtime, encode_runtime
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot

TEST = ("Bash", "pytest tests/test_x.py", "Exit code 1\nFAILED tests/test_x.py::test_a in 0.12s")
LINT = ("Bash", "ruff check src", "All checks passed!")
READ = ("Read", "src/x.py", "src/x.py def x(): return 1")
EDIT = ("Edit", "src/x.py return 1 return 2", "src/x.py")


def call(what: tuple[str, str, str], *, failed: bool = False) -> HookEvent:
    event = tool(what)
    return replace(event, kind=EventKind.POST_TOOL_FAILURE, success=False) if failed else event


def found(*calls: tuple[str, str, str]) -> list[bool]:
    """Whether there is a circle after each call."""
    circles, seen = Circles(), []
    for what in calls:
        circles.observe(call(what))
        seen.append(circles.repeats)
    return seen


@pytest.mark.parametrize("length", [1, 2, 3, 4, 6, WINDOW])
def test_calls_that_take_turns_are_a_circle_from_the_third_repeat_on(length: int) -> None:
    turn = [("Bash", f"step-{'x' * n}", f"output {'y' * n}") for n in range(length)]
    seen = found(*(turn * 5))
    assert seen.index(True) == length + STREAK - 1
    assert all(seen[length + STREAK - 1 :])


def test_a_longer_round_than_the_window_is_not_seen() -> None:
    turn = [("Bash", f"step-{'x' * n}", f"output {'y' * n}") for n in range(WINDOW + 1)]
    assert not any(found(*(turn * 3)))


def test_times_process_ids_and_addresses_in_the_output_are_no_news() -> None:
    outputs = [f"pid {n} in 0.{n}s: <Card object at 0x7f{n:x}a{n}e>" for n in (9, 10, 811, 4096)]
    assert found(*(("Bash", "python run.py", said) for said in outputs))[-1]


@pytest.mark.parametrize(
    "other",
    [
        ("Bash", "pytest tests/test_x.py -k b", TEST[2]),
        ("Bash", TEST[1], TEST[2] + "\nFAILED tests/test_x.py::test_b"),
        ("Read", TEST[1], TEST[2]),
    ],
)
def test_another_tool_input_or_output_is_new_and_ends_a_circle(other: tuple[str, str, str]) -> None:
    assert found(TEST, TEST, TEST, TEST, other) == [False, False, False, True, False]


def test_the_same_call_that_fails_now_is_new() -> None:
    circles = Circles()
    for failed in (False, False, False, True):
        circles.observe(call(TEST, failed=failed))
    assert circles.streak == 0


def test_other_numbers_in_the_input_are_another_call() -> None:
    """`mkdir run1`, `mkdir run2`, … all say nothing, and all do something."""
    assert not any(found(*(("Bash", f"mkdir run{n}", "") for n in range(8))))


def test_the_model_s_description_of_a_command_does_not_make_it_new() -> None:
    told = ["Run the tests", "Run tests again", "Check whether tests pass", "Verify the fix"]
    assert found(*(("Bash", f"{TEST[1]} {words}", TEST[2]) for words in told))[-1]


def test_a_secret_s_mask_is_the_same_from_the_log() -> None:
    """The launcher writes [redacted:key] where the owner writes [redacted:github-token]."""
    masks = ["[redacted:github-token]", "[redacted:key]", "[redacted:github-token]", "[redacted:key]"]
    assert found(*(("Bash", f"curl -H {mask} host", f"401 for {mask}") for mask in masks))[-1]


def test_the_usual_checks_after_a_new_edit_are_no_circle() -> None:
    edits = [("Edit", f"src/x.py return {'x' * n}", "src/x.py") for n in range(5)]
    rounds = [step for edit in edits for step in (edit, TEST, LINT, READ)]
    assert not any(found(*rounds))
    assert any(found(*(step for step in rounds if step[0] != "Edit"))), "without edits they are one"


def test_the_same_edit_again_with_the_same_failure_is_a_circle() -> None:
    assert found(TEST, EDIT, READ, TEST, EDIT, READ) == [False] * 5 + [True]


def test_a_prompt_begins_anew_but_can_still_be_told_of_the_circle() -> None:
    circles = Circles()
    for _ in range(5):
        circles.observe(call(TEST))
    circles.prompt()
    assert circles.repeats and "4 calls" in circles.sentence()
    for _ in range(STREAK):
        circles.observe(call(TEST))
        assert not circles.repeats, "what came before the prompt does not count"
    circles.observe(call(TEST))
    assert circles.repeats


# --- the sentence ---


def test_the_sentence_says_what_repeats_how_often_and_how_it_ended() -> None:
    circles = Circles()
    for _ in range(4):
        circles.observe(call(TEST, failed=True))
    assert circles.sentence() == (
        "The last 3 calls repeat earlier ones; by now `pytest tests/test_x.py` failed 4 times with the "
        "same output, and none of them touched a new file."
    )
    for _ in range(40):
        circles.observe(call(TEST, failed=True))
    assert "last 43 calls" in circles.sentence() and "failed 44 times" in circles.sentence()
    circles.observe(call(READ))
    assert circles.sentence() == ""


def test_several_calls_are_named_up_to_three() -> None:
    circles = Circles()
    for what in (TEST, LINT, READ, ("Bash", "git status", "clean")) * 2:
        circles.observe(call(what))
    assert circles.sentence() == (
        "The last 4 calls repeat earlier ones; by now `ruff check src` ran 2 times, `Read src/x.py` ran 2 "
        "times, `git status` ran 2 times and 1 more, each with the same output, and none of them touched a "
        "new file."
    )


def test_calls_that_are_called_alike_are_named_once() -> None:
    """Two parts of a file have one label."""
    circles = Circles()
    for part in ("the first lines", "the last lines") * 3:
        circles.observe(call((READ[0], READ[1], part)))
    assert "by now `Read src/x.py` ran 6 times, each with" in circles.sentence()


def test_the_sentence_is_one_short_line_whatever_the_calls_were() -> None:
    circles = Circles()
    hostile = [(n + "T" * 500, "a`b\n\u2028c\x1b[2J\u202e" * 200, "x" * 2048 + n) for n in "abc"]
    for what in (*hostile, *hostile):
        circles.observe(call(what))
    told = circles.sentence()
    assert 0 < len(told) <= 400 and told.isprintable() and told.count("`") == 6


# --- in a session ---


def going_round(live: LiveSession) -> None:
    for event in [*TARIFF[:8], *TARIFF[5:8], *TARIFF[5:8]]:
        live.apply(event)


def fresh() -> LiveSession:
    return LiveSession(SessionIdentitySnapshot(session_id="one", timestamp_ms=0))


def restored(live: LiveSession) -> LiveSession:
    return LiveSession.restore(copy.deepcopy(live.snapshot), live.runtime_bytes(), live.goals_bytes())


def test_a_session_in_circles_is_hypersync_until_something_new_happens() -> None:
    live = fresh()
    going_round(live)
    assert live.circling and live.metrics.state is ConsciousnessState.HYPERSYNC
    assert live.metrics.r > 0.95 and brief_line(live.metrics).startswith("[C:HYP ")
    assert live.circle in change_text(state_and_level(live.metrics), live.metrics, live.circle)
    live.apply(TARIFF[8])
    assert not live.circling and live.circle == ""
    assert live.metrics.state is not ConsciousnessState.HYPERSYNC


def test_focused_work_without_repeats_is_not_hypersync() -> None:
    """D3.2 as it was called r > 0.95 HYPERSYNC, which focused work has all the time."""
    live = fresh()
    seen = [live.apply(event).metrics for event in TARIFF]
    assert max(one.r for one in seen) > 0.95
    assert ConsciousnessState.HYPERSYNC not in {one.state for one in seen}


def test_repeats_without_synchrony_are_no_hypersync() -> None:
    live = fresh()
    going_round(live)
    live.snapshot.integration = 0.95
    assert not live.circling and live.circle == ""


def test_a_subagent_s_repeats_are_not_the_session_s() -> None:
    live = fresh()
    for event in [*TARIFF[:8], *TARIFF[5:8], *TARIFF[5:8]]:
        live.apply(event)
        for n in range(3):
            live.apply(replace(SHADER[2], agent_id="a1", event_id=f"{event.event_id}{n}"))
    plain = fresh()
    going_round(plain)
    assert live.circle == plain.circle != ""
    only = fresh()
    for event in TARIFF[:8]:
        only.apply(event)
    for n in range(6):
        only.apply(replace(SHADER[2], agent_id="a1", event_id=f"{n}"))
    assert not only.circling


def test_a_restart_in_the_middle_of_a_circle_changes_nothing() -> None:
    events = [*TARIFF[:8], *TARIFF[5:8], *TARIFF[5:8], TARIFF[8]]
    for at in range(len(events)):
        live, stopped = fresh(), fresh()
        for event in events[:at]:
            stopped.apply(event)
        stopped.told = ("CONSCIOUS", "normal")
        stopped = restored(stopped)
        assert stopped.told == ("CONSCIOUS", "normal")
        stopped.told = None
        states = [stopped.apply(event).metrics.state for event in events[at:]]
        straight = [live.apply(event).metrics.state for event in events][at:]
        assert states == straight and stopped.runtime_bytes() == live.runtime_bytes()


def test_a_record_of_an_earlier_version_begins_with_nothing_to_repeat() -> None:
    live = fresh()
    going_round(live)
    old = decode_runtime(live.runtime_bytes())
    old.circles = old.told = None
    again = LiveSession.restore(copy.deepcopy(live.snapshot), encode_runtime(old), live.goals_bytes())
    assert not again.circling and again.told is None
    again.apply(TARIFF[8])


def test_told_words_that_are_none_are_damage() -> None:
    live = fresh()
    live.told = ("AWAKE", "healthy")
    with pytest.raises(CorruptedIdentityError, match="no state and level"):
        restored(live)


def test_a_compaction_drops_what_the_model_was_told() -> None:
    live = fresh()
    live.told = ("CONSCIOUS", "healthy")
    start = HookEvent(EventKind.SESSION_START, "one", "e", at_ms=1, source="resume")
    live.apply(start)
    assert live.told is not None
    live.apply(replace(start, source="compact"))
    assert live.told is None
