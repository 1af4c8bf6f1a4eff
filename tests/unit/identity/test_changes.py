"""What a prompt is told of a session's state: what changed, as facts."""

from __future__ import annotations

import pytest

from context_graph.identity.brief import change_text, guidance, off_track
from context_graph.identity.consciousness import ConsciousnessState, Metrics
from context_graph.identity.continuity import ICLevel


def metrics(ic: float, *, level: float = 0.85, circling: bool = False) -> Metrics:
    return Metrics(level, 0.97, 0.9, 0.98, ic, circling)


HEALTHY, CRITICAL = ("CONSCIOUS", "healthy"), ("FRAGMENTED", "critical")


def test_nothing_is_said_when_nothing_changed() -> None:
    assert change_text(HEALTHY, metrics(0.95), "") == ""
    assert change_text(None, metrics(0.95), "") == "", "a session that starts well has nothing to tell"
    assert change_text(CRITICAL, metrics(0.3, level=0.4), "") == ""


def test_a_fall_and_a_return_are_said_in_a_sentence() -> None:
    assert change_text(HEALTHY, metrics(0.46), "") == (
        "Identity continuity fell to 0.46 (critical): the last calls differ from what this session has been "
        "about."
    )
    assert change_text(("CONSCIOUS", "critical"), metrics(0.93), "") == (
        "Identity continuity rose to 0.93 (healthy): the last calls are closer again to what this session "
        "has been about."
    )
    assert change_text(None, metrics(0.6), "").startswith("Identity continuity fell to 0.60 (warning)")


def test_a_change_of_state_keeps_seed_000_s_short_form() -> None:
    told = change_text(HEALTHY, metrics(0.95, level=0.72), "")
    assert told == "State: EMERGING (C=0.72), before it was CONSCIOUS."


def test_the_circle_is_said_at_every_prompt_while_it_lasts() -> None:
    told = ("HYPERSYNC", "healthy")
    assert change_text(told, metrics(0.97, circling=True), "The last 3 calls …") == "The last 3 calls …"


@pytest.mark.parametrize("old", [None, *((s.name, i.value) for s in ConsciousnessState for i in ICLevel)])
@pytest.mark.parametrize("ic", [0.97, 0.8, 0.6, 0.3])
def test_no_change_reads_as_advice_or_consent(old: tuple[str, str] | None, ic: float) -> None:
    """The client passes a hook's words on as the user's; "proceed confidently" came with 78 % of prompts."""
    for level in (0.97, 0.85, 0.6, 0.4, 0.1):
        for circling in (False, True):
            told = change_text(old, metrics(ic, level=level, circling=circling), "")
            words = set(told.lower().replace(":", " ").replace(",", " ").split())
            assert not words & {
                "proceed",
                "continue",
                "confidently",
                "ok",
                "approved",
                "should",
                "must",
                "may",
            }
            assert guidance(ic, 0.97) not in told
            assert all(line.endswith(".") for line in told.splitlines())


def test_an_alarm_says_since_how_many_calls_and_nothing_that_is_ours() -> None:
    assert off_track([0.96, 0.95, 0.9, 0.8, 0.66]).startswith("The last 4 calls look unlike what")
    assert off_track([0.96, 0.6]).startswith("The last call looks unlike what")
    assert off_track([0.6]).startswith("The last call looks")
    assert off_track([0.96, 0.95, 0.9], ["Read a.py", "ls bread", "ls bread"]).startswith(
        "The last 2 calls (`ls bread`) look unlike"
    ), "each once, and those before are on the track"
    assert off_track([0.99, *[0.8] * 40]).startswith("The last call looks"), "what held for long is no fall"
    for word in ("IC", "dream", "crisis", "identity", "proceed", "0."):
        assert word not in off_track([0.97, 0.4])
