"""protocol.claude: one JSON document of the client's schema, or nothing (contract section 4)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_graph.claude.events import EVENT_OF_VERB, EVENTS
from context_graph.claude.hooks import hook_output
from context_graph.model import EventKind

TAKES = ["SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"]
TAKES += ["UserPromptExpansion", "SubagentStart"]
SILENT = sorted({event.name for event in EVENTS} - set(TAKES))


def test_every_event_kind_has_the_clients_own_name() -> None:
    """REQ-HOOKS-01: the client drops a document whose hookEventName is not the event that fired."""
    assert set(EVENT_OF_VERB) == set(EventKind)
    assert {"Stop", "PreCompact", "SessionEnd", "PermissionRequest", "ConfigChange"} < set(SILENT)


@pytest.mark.parametrize("event", TAKES)
def test_text_goes_where_the_model_sees_it(event: str) -> None:
    """REQ-HOOKS-04: plain text reaches the model on two events only, additionalContext on all of these."""
    raw = hook_output.render(event, context="[C:CON r=0.97 IC=0.95]")
    assert json.loads(raw) == {
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": "[C:CON r=0.97 IC=0.95]"}
    }
    assert raw.startswith(b"{") and raw.count(b"\n") == 1 and raw.endswith(b"\n")


@pytest.mark.parametrize("event", SILENT)
def test_events_that_would_loop_or_fail_get_nothing(event: str) -> None:
    """Stop with context forces another turn; SessionEnd with it fails the schema."""
    assert hook_output.render(event, context="text") == b""


def test_nothing_to_say_is_no_output_at_all() -> None:
    """D2.3: keys are omitted, never null."""
    assert hook_output.render("PreToolUse", context="") == b""


def test_a_message_for_the_user_stands_beside_the_models_text() -> None:
    """systemMessage is for the user, additionalContext for the model."""
    document = json.loads(hook_output.render("SessionStart", context="text", system_message="note"))
    assert document["systemMessage"] == "note"
    assert document["hookSpecificOutput"]["additionalContext"] == "text"
    assert json.loads(hook_output.render("Stop", context="text", system_message="note")) == {
        "systemMessage": "note"
    }
    assert hook_output.render("SessionEnd", context="", system_message="note") == b""


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("char", ["a", "é", "語", "😀"])
@pytest.mark.parametrize("length", [4_999, 5_000, 5_001, 9_999, 10_000, 10_001, 30_000])
def test_context_never_passes_ten_thousand_utf16_units(char: str, length: int) -> None:
    """Beyond it the client shows the model a preview and a file name."""
    text = char * length
    shown = json.loads(hook_output.render("PreToolUse", context=text))["hookSpecificOutput"][
        "additionalContext"
    ]
    assert utf16_units(shown) <= hook_output.CONTEXT_CHARS
    if utf16_units(text) <= hook_output.CONTEXT_CHARS:
        assert shown == text
    else:
        assert shown.endswith("\n[cut]") and text.startswith(shown.removesuffix("\n[cut]"))


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest", "Stop", "ConfigChange"])
def test_of_a_long_refusal_the_last_lines_stay(event: str) -> None:
    """They say what to do."""
    refusal = "It is held back.\n" + "x" * 20_000 + "\nRun `context-graph-cli req show`."
    shown = next(
        text for text in _texts(json.loads(hook_output.render(event, refusal=refusal))) if "held" in text
    )
    assert shown.startswith("It is held back.\n") and shown.endswith("\nRun `context-graph-cli req show`.")
    assert utf16_units(shown) <= hook_output.CONTEXT_CHARS


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    return [value] if isinstance(value, str) else []


@settings(deadline=None)
@given(st.sampled_from(TAKES + SILENT), st.text(alphabet=st.characters(codec=None)), st.text())
def test_any_text_gives_valid_json_without_null(event: str, text: str, message: str) -> None:
    """Even lone surrogates: a document that does not parse is lost whole."""
    raw = hook_output.render(event, context=text, system_message=message)
    if raw:
        assert None not in json.loads(raw.decode()).values()


def test_a_name_the_client_does_not_know_is_refused_here() -> None:
    """A wrong hookEventName loses the whole document silently over there."""
    with pytest.raises(ValueError, match="'post-tool' is none of"):
        hook_output.render("post-tool", context="x")
