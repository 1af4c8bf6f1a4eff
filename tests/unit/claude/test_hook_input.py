"""Both stdin shapes and bare arguments become one record; all else is refused by name."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.claude.hooks.hook_input import (
    MAX_INPUT_BYTES,
    HookInput,
    check_session_id,
    parse_hook_input,
    readable_input,
)
from context_graph.claude.hooks.hook_output import FORMATS, HookOutput, render_output
from context_graph.errors import ContextGraphError, InvalidInputError
from context_graph.model import ConsciousnessMeasures, DriftMetrics, EventKind, ICClassification

SCHEMA = json.loads((Path(__file__).parents[2] / "golden" / "hook_output.schema.json").read_text())


def parse(kind: EventKind, body: object = b"", **params: object) -> HookInput:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return parse_hook_input(kind, raw, {name.replace("_", "-"): value for name, value in params.items()})


def flat(event: str, **more: object) -> dict[str, object]:
    return {
        "session_id": "0ae1",
        "transcript_path": "/t.jsonl",
        "cwd": "/p",
        "hook_event_name": event,
        "permission_mode": "default",
        **more,
    }


def nested(hook_type: str, data: Mapping[str, object], tag: str) -> dict[str, object]:
    return {
        "hook_type": hook_type,
        "session_id": "0ae1",
        "timestamp_ms": 1_700_000_000_000,
        "payload": {"type": tag, "data": data},
    }


def test_a_flat_tool_event_keeps_its_parts_and_means_success() -> None:
    """REQ-HOOKS-03 REQ-HOOKS-10: PostToolUse of the client."""
    given = parse(
        EventKind.POST_TOOL,
        flat(
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": "ls"},
            tool_response={"stdout": "a\n"},
            tool_use_id="toolu_1",
            duration_ms=15,
            prompt_id="1c1a",
        ),
    )
    assert given == HookInput(
        EventKind.POST_TOOL,
        session_id="0ae1",
        tool_name="Bash",
        tool_use_id="toolu_1",
        tool_input={"command": "ls"},
        tool_response={"stdout": "a\n"},
        success=True,
        prompt_id="1c1a",
        duration_ms=15,
        cwd="/p",
    )


@pytest.mark.parametrize("verb", [EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE])
def test_a_flat_failure_is_a_failure_under_either_verb(verb: EventKind) -> None:
    """REQ-HOOKS-03: one command may be registered for both outcomes."""
    given = parse(verb, flat("PostToolUseFailure", tool_name="Bash", error="Exit code 3"))
    assert (given.kind, given.success, given.error) == (EventKind.POST_TOOL_FAILURE, False, "Exit code 3")


@pytest.mark.parametrize(
    ("kind", "event", "more", "name", "value"),
    [
        (EventKind.SESSION_START, "SessionStart", {"source": "resume"}, "source", "resume"),
        (EventKind.SESSION_START, "SessionStart", {"source": "fork"}, "source", "fork"),
        (EventKind.PROMPT_SUBMIT, "UserPromptSubmit", {"prompt": "go"}, "prompt", "go"),
        (EventKind.SESSION_END, "SessionEnd", {"reason": "clear"}, "reason", "clear"),
        (EventKind.STOP, "Stop", {"stop_hook_active": False}, "session_id", "0ae1"),
        (
            EventKind.PRE_COMPACT,
            "PreCompact",
            {"trigger": "manual", "custom_instructions": None},
            "reason",
            "manual",
        ),
        (EventKind.PRE_TOOL, "PreToolUse", {"tool_name": "Write", "tool_input": {}}, "tool_name", "Write"),
    ],
)
def test_each_flat_event_gives_what_it_is_about(
    kind: EventKind, event: str, more: Mapping[str, object], name: str, value: str
) -> None:
    """REQ-HOOKS-01 REQ-HOOKS-02 REQ-HOOKS-04 REQ-HOOKS-05."""
    assert getattr(parse(kind, flat(event, **more)), name) == value


@pytest.mark.parametrize("tag_of", [str, lambda tag: "".join(p.title() for p in tag.split("_"))])
def test_seed_001s_nested_shape_is_read_with_either_tag(tag_of: Any) -> None:
    """REQ-HOOKS-10 REQ-HOOKS-11 REQ-HOOKS-12: HookInput with its payload tag in both cases."""
    start = parse(
        EventKind.SESSION_START,
        nested("session_start", {"cwd": "/p", "previous_session_id": "old"}, tag_of("session_start")),
    )
    assert (start.session_id, start.cwd, start.previous_session_id) == ("0ae1", "/p", "old")
    pre = parse(
        EventKind.PRE_TOOL,
        nested("pre_tool_use", {"tool_name": "Edit", "tool_input": {"a": 1}}, tag_of("pre_tool_use")),
    )
    assert (pre.tool_name, pre.tool_input) == ("Edit", {"a": 1})
    post = parse(
        EventKind.POST_TOOL,
        nested(
            "post_tool_use",
            {"tool_name": "Bash", "tool_output": "x", "error": None},
            tag_of("post_tool_use"),
        ),
    )
    assert (post.tool_response, post.success, post.kind) == ("x", True, EventKind.POST_TOOL)
    prompt = parse(
        EventKind.PROMPT_SUBMIT,
        nested(
            "user_prompt_submit",
            {"prompt": "hi", "context": [{"role": "user", "content": "a"}]},
            tag_of("user_prompt_submit"),
        ),
    )
    assert prompt.prompt == "hi"
    end = parse(
        EventKind.SESSION_END,
        nested("session_end", {"duration_ms": 5, "status": "user_abort"}, tag_of("session_end")),
    )
    assert (end.duration_ms, end.reason) == (5, "user_abort")


def test_a_nested_error_makes_the_tool_call_a_failure() -> None:
    """REQ-HOOKS-12: seed 001 tells failure by a non-null error."""
    body = nested("post_tool_use", {"tool_name": "Bash", "error": "boom"}, "PostToolUse")
    given = parse(EventKind.POST_TOOL, body)
    assert (given.kind, given.success, given.error) == (EventKind.POST_TOOL_FAILURE, False, "boom")
    assert parse(EventKind.POST_TOOL, body, success="true").success is True
    verb_says = nested("post_tool_use", {"tool_name": "Bash"}, "PostToolUse")
    assert parse(EventKind.POST_TOOL_FAILURE, verb_says).success is False


def test_arguments_alone_are_enough_and_stdin_goes_before_them() -> None:
    """REQ-HOOKS-19: seed 001 section 2.3."""
    given = parse(EventKind.POST_TOOL, session_id="abc", tool_name="Bash", success="false", duration_ms="12")
    assert (given.session_id, given.tool_name, given.success, given.duration_ms) == ("abc", "Bash", False, 12)
    assert parse(EventKind.POST_TOOL, session_id="abc").success is None
    both = parse(EventKind.PROMPT_SUBMIT, flat("UserPromptSubmit", prompt="a"), session_id="zz", prompt="b")
    assert (both.session_id, both.prompt) == ("0ae1", "a")
    both = parse(EventKind.PRE_TOOL, flat("PreToolUse", tool_name="Edit", tool_input={}), tool_name="Bash")
    assert both.tool_name == "Edit"
    assert parse(EventKind.POST_TOOL, flat("PostToolUse", tool_name="X"), success="false").success is False


def test_a_session_start_without_an_id_gets_a_fresh_one() -> None:
    """REQ-HOOKS-17: session id auto-generated if not provided."""
    one, two = parse(EventKind.SESSION_START), parse(EventKind.SESSION_START)
    assert one.session_id and one.session_id != two.session_id
    assert parse(EventKind.STOP).session_id == ""


def test_a_long_session_id_is_cut_on_a_character_boundary() -> None:
    """REQ-SESSION-01 REQ-HOOKS-29: cut, not refused."""
    given = parse(EventKind.STOP, {"session_id": "é" * 130})
    assert given.session_id == "é" * 100


def test_half_a_surrogate_pair_loses_one_character_not_the_event() -> None:
    """The client's JSON writes it for text that tools cut in the middle of an emoji."""
    body = b'{"session_id":"s","tool_name":"Bash","tool_response":{"stdout":"a \\ud83d b"}}'
    assert parse(EventKind.POST_TOOL, body).tool_response["stdout"].replace("?", "\ufffd") == "a \ufffd b"


def test_a_byte_order_mark_and_blank_stdin_are_harmless() -> None:
    """PowerShell pipes a mark; a closed stdin is a blank one."""
    assert parse(EventKind.STOP, b'\xef\xbb\xbf{"session_id":"s"}\r\n').session_id == "s"
    assert parse(EventKind.STOP, b" \n", session_id="a").session_id == "a"


def test_a_truncated_body_is_taken() -> None:
    """The launcher sends top-level scalars alone when stdin is above its limit."""
    given = parse(EventKind.POST_TOOL, {**flat("PostToolUse", tool_name="Read"), "truncated": True})
    assert given.truncated and given.tool_input is None


BAD: list[tuple[str, EventKind, bytes | dict[str, Any], dict[str, object], str]] = [
    ("empty with --stdin", EventKind.STOP, b"", {"stdin": "true"}, "stdin: empty"),
    ("not JSON", EventKind.STOP, b"hello", {}, "stdin: not JSON"),
    ("cut JSON", EventKind.STOP, b'{"session_id":', {}, "stdin: not JSON"),
    ("two documents", EventKind.STOP, b"{} {}", {}, "stdin: not JSON"),
    ("array", EventKind.STOP, b"[1]", {}, "stdin: expected `object`, got `array`"),
    ("number", EventKind.STOP, b"7", {}, "stdin: expected `object`"),
    ("null", EventKind.STOP, b"null", {}, "stdin: expected `object`"),
    ("NUL byte", EventKind.STOP, b'{"session_id":"a\0"}', {}, "stdin: NUL byte at offset 16"),
    ("bad UTF-8", EventKind.STOP, b'{"x":"\xff"}', {}, "stdin: not UTF-8 at byte 6"),
    ("too long", EventKind.STOP, b" " * (MAX_INPUT_BYTES + 1), {}, "4194304 (4 MiB)"),
    ("deep", EventKind.STOP, b'{"tool_input":' + b"[" * 100_000, {}, "nested too deeply"),
    ("NaN", EventKind.STOP, b'{"duration_ms":NaN}', {}, "not JSON"),
    ("id of wrong type", EventKind.STOP, {"session_id": 5}, {}, "session_id: expected `str"),
    ("empty id", EventKind.STOP, {"session_id": ""}, {}, "session_id: expected `str` of length >= 1"),
    ("blank id", EventKind.STOP, {"session_id": "  "}, {}, "session_id: blank"),
    ("NUL in id", EventKind.STOP, {"session_id": "a\0b"}, {}, "session_id: 'a\\x00b' holds a control"),
    ("newline in id", EventKind.STOP, {"session_id": "a\nb"}, {}, "session_id:"),
    ("newline in --session-id", EventKind.STOP, b"", {"session-id": "a\nb"}, "session_id:"),
    ("tool name of wrong type", EventKind.PRE_TOOL, {"tool_name": []}, {}, "tool_name: expected `str"),
    ("control in tool name", EventKind.PRE_TOOL, {"tool_name": "a\x1b"}, {}, "tool_name:"),
    ("prompt of wrong type", EventKind.PROMPT_SUBMIT, {"prompt": {}}, {}, "prompt: expected `str"),
    ("duration of wrong type", EventKind.POST_TOOL, {"duration_ms": "5s"}, {}, "duration_ms: expected"),
    ("negative duration", EventKind.POST_TOOL, {"duration_ms": -1}, {}, "duration_ms: expected `float` >= 0"),
    ("timestamp 0", EventKind.STOP, {"timestamp_ms": 0}, {}, "timestamp_ms: expected `int` >= 1"),
    ("timestamp < 0", EventKind.STOP, {"timestamp_ms": -5}, {}, "timestamp_ms: expected `int` >= 1"),
    ("timestamp of wrong type", EventKind.STOP, {"timestamp_ms": "now"}, {}, "timestamp_ms: expected"),
    ("other event", EventKind.STOP, flat("PreToolUse", tool_name="X"), {}, "hook_event_name: 'PreToolUse'"),
    ("unknown event", EventKind.STOP, flat("Nope"), {}, "hook_event_name: 'Nope'"),
    (
        "success under failure",
        EventKind.POST_TOOL_FAILURE,
        flat("PostToolUse", tool_name="X"),
        {},
        "hook_event_name",
    ),
    ("tool event without tool", EventKind.PRE_TOOL, flat("PreToolUse"), {}, "tool_name: missing"),
    ("prompt event without prompt", EventKind.PROMPT_SUBMIT, flat("UserPromptSubmit"), {}, "prompt: missing"),
    ("nested without type", EventKind.STOP, {"payload": {}, "timestamp_ms": 1}, {}, "hook_type: missing"),
    (
        "nested without time",
        EventKind.STOP,
        {"payload": {}, "hook_type": "stop"},
        {},
        "timestamp_ms: missing",
    ),
    (
        "nested without payload",
        EventKind.STOP,
        {"hook_type": "stop", "timestamp_ms": 1},
        {},
        "payload: missing",
    ),
    ("wrong hook_type", EventKind.STOP, nested("session_end", {}, "Stop"), {}, "hook_type: 'session_end'"),
    (
        "wrong payload type",
        EventKind.STOP,
        nested("stop", {}, "SessionEnd"),
        {},
        "payload.type: 'SessionEnd'",
    ),
    (
        "payload a list",
        EventKind.STOP,
        {**nested("stop", {}, "Stop"), "payload": []},
        {},
        "payload: expected",
    ),
    (
        "payload lacks a field",
        EventKind.PRE_TOOL,
        nested("pre_tool_use", {"tool_name": "X"}, "PreToolUse"),
        {},
        "payload.data: object missing required field `tool_input`",
    ),
    (
        "payload field of wrong type",
        EventKind.PROMPT_SUBMIT,
        nested("user_prompt_submit", {"prompt": "x", "context": [{"role": 1}]}, "UserPromptSubmit"),
        {},
        "payload.data.context[0].role: expected `str`",
    ),
    (
        "unknown status",
        EventKind.SESSION_END,
        nested("session_end", {"duration_ms": 1, "status": "bye"}, "SessionEnd"),
        {},
        "payload.data.status: invalid enum value 'bye'",
    ),
    (
        "negative nested duration",
        EventKind.SESSION_END,
        nested("session_end", {"duration_ms": -1, "status": "normal"}, "SessionEnd"),
        {},
        "payload.data.duration_ms: expected `int` >= 0",
    ),
    ("--success maybe", EventKind.POST_TOOL, b"", {"success": "maybe"}, "--success: 'maybe'"),
    ("--duration-ms soon", EventKind.SESSION_END, b"", {"duration-ms": "soon"}, "--duration-ms: 'soon'"),
    ("--duration-ms in other digits", EventKind.SESSION_END, b"", {"duration-ms": "٣"}, "--duration-ms: '٣'"),
    ("--prompt of wrong type", EventKind.PROMPT_SUBMIT, b"", {"prompt": ["x"]}, "--prompt: ['x']"),
    (
        "--success true on a failure",
        EventKind.POST_TOOL_FAILURE,
        b"",
        {"success": "true"},
        "--success: true contradicts",
    ),
]


@pytest.mark.parametrize(
    ("kind", "body", "params", "words"), [row[1:] for row in BAD], ids=[r[0] for r in BAD]
)
def test_wrong_input_is_refused_by_the_name_of_its_field(
    kind: EventKind, body: bytes | dict[str, Any], params: dict[str, object], words: str
) -> None:
    """REQ-HOOKS-29: field, limit and cure; exit code 4 in seed 001's formats."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(InvalidInputError) as caught:
        parse_hook_input(kind, raw, params)
    assert words in str(caught.value)
    assert caught.value.hook_exit_code == 4


@settings(deadline=None, max_examples=examples(300))
@given(st.sampled_from(EventKind), st.binary(max_size=200) | st.text(max_size=80).map(str.encode))
def test_no_bytes_raise_anything_but_our_own_error(kind: EventKind, body: bytes) -> None:
    """REQ-HOOKS-29: never a traceback."""
    with contextlib.suppress(ContextGraphError):
        parse_hook_input(kind, body, {})


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3)
    ),
    max_leaves=6,
)
ENVELOPE = ["session_id", "hook_event_name", "hook_type", "timestamp_ms", "payload", "truncated", "cwd"]
DETAILS = ["tool_name", "tool_input", "tool_response", "error", "prompt", "source", "reason", "duration_ms"]
KEYS = st.sampled_from([*ENVELOPE, *DETAILS, "other"])


@settings(deadline=None, max_examples=examples(300))
@given(st.sampled_from(EventKind), st.dictionaries(KEYS, JSON_VALUES, max_size=6))
def test_no_json_object_raises_anything_but_our_own_error(kind: EventKind, body: dict[str, Any]) -> None:
    """REQ-HOOKS-29: never a traceback."""
    try:
        given = parse_hook_input(kind, json.dumps(body).encode(), {})
    except ContextGraphError:
        return
    assert len(given.session_id) <= 100


def test_an_environments_session_id_passes_the_same_check() -> None:
    """The owner calls check_session_id on what did not come through parse_hook_input."""
    assert check_session_id("a" * 101) == "a" * 100
    with pytest.raises(InvalidInputError, match="session_id"):
        check_session_id("a\0")


# Output


def full_output() -> HookOutput:
    return HookOutput(
        success=True,
        consciousness_state=ConsciousnessMeasures(
            consciousness=0.8999999761581421,
            integration=0.97,
            reflection=0.9,
            differentiation=1.0,
            identity_continuity=0.95,
            johari_quadrant="open",
        ),
        ic_classification=ICClassification(value=0.95, level="healthy", crisis_triggered=False),
        context_injection="[C:CON r=0.97 IC=0.95]",
        drift_metrics=DriftMetrics(
            ic_delta=-0.05, purpose_drift=0.1, time_since_snapshot_ms=60_000, kuramoto_phase_drift=0.2
        ),
        execution_time_ms=3,
    )


@pytest.mark.parametrize("fmt", ["json", "json-compact"])
@pytest.mark.parametrize(
    "output",
    [
        full_output(),
        HookOutput(success=True, execution_time_ms=0),
        HookOutput(success=False, error="no", execution_time_ms=1),
        HookOutput(success=True, context_injection="", execution_time_ms=2),
    ],
)
def test_json_output_fits_seed_001s_schema_and_has_no_nulls(output: HookOutput, fmt: str) -> None:
    """REQ-HOOKS-13 REQ-HOOKS-14 REQ-HOOKS-15 REQ-HOOKS-16: section 3.3, optional keys absent when empty."""
    raw = render_output(output, fmt)
    document = json.loads(raw)
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft7Validator)
    assert b"null" not in raw
    assert raw.endswith(b"\n") and (raw.count(b"\n") == 1) is (fmt == "json-compact")


def test_an_empty_output_has_just_the_required_keys() -> None:
    """REQ-HOOKS-13."""
    assert json.loads(render_output(HookOutput(success=True, execution_time_ms=0), "json")) == {
        "success": True,
        "execution_time_ms": 0,
    }


def test_numbers_are_printed_without_float32_noise() -> None:
    """0.8999999761581421 is 0.9 in float32."""
    assert json.loads(render_output(full_output(), "json"))["consciousness_state"]["consciousness"] == 0.9


def test_text_output_is_short_lines_for_people() -> None:
    """Seed 001 section 2.3: --format text."""
    assert render_output(full_output(), "text").decode().splitlines() == [
        "success: yes (3 ms)",
        "consciousness: C=0.90 (integration 0.97, reflection 0.90, differentiation 1.00), johari: open",
        "identity continuity: 0.95 (healthy)",
        "since the last session: IC -0.05, purpose drift 0.10, phase drift 0.20 rad, 60 s",
        "[C:CON r=0.97 IC=0.95]",
    ]
    crisis = HookOutput(
        success=False,
        error="x",
        ic_classification=ICClassification(value=0.4, level="critical", crisis_triggered=True),
        execution_time_ms=0,
    )
    assert "0.40 (critical, crisis)" in render_output(crisis, "text").decode()


def test_a_measure_that_is_no_number_is_an_error_never_a_state() -> None:
    """D3.2: NaN is an error."""
    output = HookOutput(
        success=True,
        ic_classification=ICClassification(value=float("nan"), level="healthy", crisis_triggered=False),
        execution_time_ms=0,
    )
    for fmt in FORMATS:
        with pytest.raises(ValueError, match="value is nan"):
            render_output(output, fmt)
    with pytest.raises(ValueError, match="yaml"):
        render_output(HookOutput(success=True, execution_time_ms=0), "yaml")


def test_the_protocol_package_pulls_in_nothing_heavy() -> None:
    """The owner imports it; its budget is 60 MiB in all."""
    modules = "context_graph.claude.hooks.hook_input, context_graph.claude.hooks.hook_output"
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "numpy",
        "typer",
        "click",
        "rich",
        "pydantic",
        "jsonschema",
        "requests",
        "detect_secrets",
        "orjson",
    }
    assert not heavy & set(done.stdout.split())
    assert msgspec.__name__ in done.stdout.split()


CALL = {"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}}


@pytest.mark.parametrize(
    "sent",
    [
        {"session_id": [], **CALL},
        {"hook_type": "pre_tool_use", "timestamp_ms": "now", "payload": {"type": "PreToolUse", "data": CALL}},
    ],
)
def test_a_field_of_a_wrong_type_hides_no_tool_call_from_the_gates(sent: dict[str, Any]) -> None:
    body = json.dumps(sent).encode()
    with pytest.raises(InvalidInputError):
        parse_hook_input(EventKind.PRE_TOOL, body, {})
    read = readable_input(EventKind.PRE_TOOL, body)
    assert (read.tool_name, read.tool_input) == ("Bash", CALL["tool_input"])


@pytest.mark.parametrize(("error", "worked"), [(None, True), ("exit 1", False), ("", False)])
def test_an_error_that_is_null_is_none_for_the_gates_too(error: str | None, worked: bool) -> None:
    body = json.dumps({"session_id": [], **CALL, "error": error}).encode()
    assert readable_input(EventKind.POST_TOOL, body).success is worked


def test_what_has_ended_in_the_background_does_not_run_on() -> None:
    tasks = [
        {"type": "shell", "id": status, "status": status} for status in ("running", "completed", "pending")
    ]
    body = flat("Stop", background_tasks=[*tasks, "odd", {"id": "none"}])
    assert parse(EventKind.STOP, body).background == [("shell", "running"), ("shell", "pending")]


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_read_as_nothing(body: bytes) -> None:
    read = readable_input(EventKind.PRE_TOOL, body, "Edit")
    assert (read.tool_name, read.tool_input, read.prompt) == ("Edit", None, "")
