"""The eight hooks through the installed launcher and a real owner: what they print, how they exit."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.support.cli import Cli, stopped

from context_graph.config import data_root

BRIEF = re.compile(r"^\[C:(CON|EMG|FRG|DOR|HYP) r=\d\.\d\d IC=\d\.\d\d\]$")
COLD = "[C:? r=? IC=?]"
SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "golden" / "hook_output.schema.json").read_text())
KINDS = (
    "session-start",
    "pre-tool",
    "post-tool",
    "post-tool-failure",
    "prompt-submit",
    "stop",
    "pre-compact",
    "session-end",
)
NAMES = {
    "session-start": "SessionStart",
    "pre-tool": "PreToolUse",
    "post-tool": "PostToolUse",
    "post-tool-failure": "PostToolUseFailure",
    "prompt-submit": "UserPromptSubmit",
    "stop": "Stop",
    "pre-compact": "PreCompact",
    "session-end": "SessionEnd",
}


TOPICS = (
    "bakery knead levain/rye_starter.flour hydrate_dough oven.spring crumb::open crusty sourdough ",
    "ticker candles futures/oil_spread.csv hedge_ratio margin.call broker::quote volatility strike ",
    "vim colorscheme palette/gruvbox_dark.vim highlight_group syntax.region theme::contrast terminal ",
    "xylophone tune mallets/rosewood_bar.scad resonator_tube overtone.hz pitch::octave hammer glissando ",
)


def body(
    kind: str, session: str = "s-1", number: int = 0, text: str = "pytest tests/test_bucket.py"
) -> dict[str, Any]:
    """The client's flat JSON for one hook."""
    base: dict[str, Any] = {"session_id": session, "cwd": "/project", "hook_event_name": NAMES[kind]}
    tool = {"tool_name": "Bash", "tool_input": {"command": text}, "tool_use_id": f"toolu_{number}"}
    more: dict[str, dict[str, Any]] = {
        "session-start": {"source": "startup"},
        "pre-tool": tool,
        "post-tool": {**tool, "tool_response": {"stdout": f"{text} ok", "stderr": ""}},
        "post-tool-failure": {**tool, "error": f"Exit code 1\n{text} failed"},
        "prompt-submit": {"prompt": f"please look at {text}"},
        "stop": {"stop_hook_active": False},
        "pre-compact": {"trigger": "manual"},
        "session-end": {"reason": "other"},
    }
    return base | more[kind]


def hook(cli: Cli, kind: str, given: object = None, *args: str, fmt: str = "claude", **env: str) -> Any:
    """Run one hook with JSON on its standard input."""
    raw = given if isinstance(given, (bytes, str)) else json.dumps(given if given is not None else body(kind))
    return cli.run("hooks", kind, "--stdin", "--format", fmt, *args, stdin=raw, env=env)


def work(cli: Cli, session: str = "s-1", calls: int = 4) -> None:
    """A session with a prompt and some tool calls that are much alike and repeat none."""
    assert hook(cli, "session-start", body("session-start", session)).returncode == 0
    assert hook(cli, "prompt-submit", body("prompt-submit", session)).returncode == 0
    for number in range(calls):
        given = body(
            "post-tool", session, number, text=f"pytest tests/test_bucket.py -k {'abcdefghijkl'[number]}"
        )
        assert hook(cli, "post-tool", given).returncode == 0
    # Nobody waits for what a tool call did; a command that is asked does.
    assert cli.run("session", "show", "--session-id", session, "--json").returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_in_the_claude_format_a_hook_prints_one_document_of_the_clients_schema_or_nothing(
    cli: Cli, kind: str
) -> None:
    """REQ-HOOKS-01..05: every event, exit 0, hookEventName of the event that fired."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    work(cli)
    done = hook(cli, kind, body(kind, number=99))
    assert (done.returncode, done.stderr) == (0, "")
    if kind not in ("session-start", "pre-tool"):
        assert done.stdout == "", "nothing has changed"
    else:
        document = json.loads(done.stdout)
        assert document["hookSpecificOutput"]["hookEventName"] == NAMES[kind]
        assert document["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("kind", KINDS)
def test_in_the_json_format_a_hook_prints_seed_001s_output(cli: Cli, kind: str) -> None:
    """REQ-HOOKS-13, 14, 15, 17..21: HookOutput validates against its schema, absent keys are absent."""
    work(cli)
    for fmt in ("json", "json-compact"):
        done = hook(cli, kind, body(kind, number=99), fmt=fmt)
        document = json.loads(done.stdout)
        jsonschema.validate(document, SCHEMA)
        assert document["success"] is True and "error" not in document and done.returncode == 0
        assert document["ic_classification"]["level"] in ("healthy", "normal", "warning", "critical")
        assert 0 <= document["consciousness_state"]["identity_continuity"] <= 1
        assert (len(done.stdout.splitlines()) == 1) is (fmt == "json-compact")


def test_seed_001s_own_input_shape_means_the_same_as_the_clients(cli: Cli) -> None:
    """REQ-HOOKS-10, 11, 12: nested payload, both spellings of its type."""
    work(cli)
    for number, name in enumerate(("PostToolUse", "post_tool_use")):
        nested = {
            "hook_type": "post_tool_use",
            "session_id": "s-1",
            "timestamp_ms": 1_700_000_000_000 + number,
            "payload": {
                "type": name,
                "data": {"tool_name": "Bash", "tool_output": "2 passed", "error": None},
            },
        }
        done = hook(cli, "post-tool", nested, fmt="json")
        assert done.returncode == 0, done.stderr
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["post-tool"] == 6


WRONG: dict[str, bytes] = {
    "empty": b"",
    "not JSON": b"hello",
    "array": b"[1, 2]",
    "text": b'"hello"',
    "five megabytes": b'{"session_id":"s-1","prompt":"' + b"x" * 5_000_000 + b'"}',
    "NUL bytes": b'{"session_id":"s\x00-1"}',
    "bad UTF-8": b'{"session_id":"s-\xff\xfe"}',
    "wrong type": b'{"session_id":7,"hook_event_name":"PostToolUse","tool_name":"Bash"}',
    "wrong inner type": b'{"session_id":"s-1","hook_event_name":"PostToolUse","tool_name":["Bash"]}',
    "half an object": b'{"session_id":"s-1","tool_name":',
    "deep": b'{"session_id":"s-1","tool_input":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "empty session": b'{"session_id":"","hook_event_name":"PostToolUse","tool_name":"Bash"}',
}


def test_wrong_input_is_refused_by_name_and_never_blocks(cli: Cli) -> None:
    """REQ-HOOKS-29: exit 4 and a sentence in seed 001's formats, exit 0 and no stdout in the client's."""
    work(cli)
    for name, given in WRONG.items():
        assert_refused(cli, name, given)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_refused_with_no_owner_too(cli: Cli, name: str) -> None:
    """As above; but the launcher knows JSON, not the schema: the owner will reject that line by name."""
    away = {"CONTEXT_GRAPH_PYTHON": "/bin/false"}
    if name != "wrong inner type":
        assert_refused(cli, name, WRONG[name], **away)
        return
    logged = hook(cli, "post-tool", WRONG[name], fmt="json", **away)
    assert logged.returncode == 0 and list(data_root(cli.env).glob("stores/*/events/*-*.log"))


def assert_refused(cli: Cli, name: str, given: bytes, **env: str) -> None:
    refused = hook(cli, "post-tool", given, fmt="json", **env)
    assert refused.returncode == 4, (name, refused)
    document = json.loads(refused.stdout)
    assert document["success"] is False and document["error"], name
    tolerated = hook(cli, "post-tool", given, **env)
    assert tolerated.returncode == 0, name
    assert tolerated.stdout == "" or "systemMessage" in json.loads(tolerated.stdout), name
    for done in (refused, tolerated):
        assert "Traceback" not in done.stdout + done.stderr and "panicked" not in done.stderr, name


def test_an_unknown_session_is_exit_5_in_seed_001s_formats_and_begun_in_the_clients(cli: Cli) -> None:
    """Seed 001 section 3.2; a hook never loses an event (D1.4)."""
    work(cli)
    for kind in ("post-tool", "prompt-submit", "session-end"):
        done = hook(cli, kind, body(kind, "nobody"), fmt="json")
        assert done.returncode == 5 and "nobody" in json.loads(done.stdout)["error"], kind
    assert hook(cli, "pre-tool", body("pre-tool", "nobody"), fmt="json").returncode == 0
    assert hook(cli, "post-tool", body("post-tool", "nobody")).returncode == 0
    shown = json.loads(cli.run("session", "show", "--session-id", "nobody", "--json").stdout)
    assert shown["events_applied"] == 1 and shown["previous_session_id"] == "s-1"


@pytest.mark.parametrize(
    "args", [("--frmat", "json"), ("--format", "yaml"), ("--session-id",), ("--success", "maybe")]
)
def test_a_usage_error_is_exit_4_and_never_2(shared_cli: Cli, args: tuple[str, ...]) -> None:
    """D2.3: usage errors never exit 2 on any hook command."""
    assert shared_cli.run("hooks", "post-tool", *args, stdin="{}").returncode == 4


@pytest.mark.parametrize("path", ["../out", "/etc/cg", "/proc/self", "link/db", "a/../../b", "file"])
def test_a_store_path_that_leaves_its_roots_is_refused(cli: Cli, path: str, tmp_path: Path) -> None:
    """REQ-HOOKS-30."""
    (cli.project / "link").symlink_to("/etc")
    (cli.project / "file").write_text("")
    done = hook(cli, "post-tool", body("post-tool"), "--db-path", path, fmt="json")
    assert done.returncode == 4 and path in json.loads(done.stdout)["error"]
    assert hook(cli, "post-tool", body("post-tool"), "--db-path", path).returncode == 0


def test_shell_text_in_any_field_stays_text(cli: Cli, tmp_path: Path) -> None:
    """REQ-HOOKS-31: nothing of the input ever reaches a shell."""
    mark = tmp_path / "owned"
    evil = f"$(touch {mark}) `touch {mark}`; touch {mark} #"
    hook(cli, "session-start", body("session-start", evil[:90]))
    hook(cli, "post-tool", body("post-tool", evil[:90], text=evil))
    cli.run("hooks", "post-tool", "--session-id", evil, "--tool-name", evil, "--format", "json")
    assert not mark.exists()


def test_the_same_call_twice_counts_once(cli: Cli) -> None:
    """Invariant 6."""
    work(cli, calls=2)
    assert hook(cli, "post-tool", body("post-tool", number=1)).returncode == 0
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_applied"] == 3
    assert shown["events_duplicate"] >= 1, "more where a slow machine had one logged and served as well"


def test_the_environments_session_goes_before_the_inputs_and_that_before_the_option(cli: Cli) -> None:
    """D1.5."""
    hook(cli, "session-start", body("session-start", "from-stdin"), "--session-id", "from-option")
    hook(cli, "session-start", body("session-start", "from-stdin"), CLAUDE_CODE_SESSION_ID="from-env")
    listed = json.loads(cli.run("session", "list", "--json").stdout)
    assert {row["session_id"] for row in listed["sessions"]} == {"from-stdin", "from-env"}


def test_arguments_alone_make_an_event(cli: Cli) -> None:
    """REQ-HOOKS-17..21: the arguments of seed 001 section 2.3, without stdin."""
    run = cli.run
    assert run("hooks", "session-start", "--session-id", "a").returncode == 0
    assert (
        run("hooks", "pre-tool", "--session-id", "a", "--tool-name", "Read", "--fast-path", "true").returncode
        == 0
    )
    done = run("hooks", "post-tool", "--session-id", "a", "--tool-name", "Read", "--success", "false")
    assert done.returncode == 0, done
    assert run("hooks", "prompt-submit", "--session-id", "a", "--prompt", "go on").returncode == 0
    ended = run("hooks", "session-end", "--session-id", "a", "--duration-ms", "1500", "--generate-summary")
    assert "1 tool calls (1 failed)" in json.loads(ended.stdout)["context_injection"]
    quiet = run("hooks", "session-end", "--session-id", "a", "--generate-summary=false")
    assert "context_injection" not in json.loads(quiet.stdout)


def test_the_brief_is_cold_then_the_sessions_own_line(cli: Cli) -> None:
    """TC-SESSION-12, TC-SESSION-13, REQ-SESSION-02, 09, 11: one line, exit 0, no other session's."""
    cold = cli.run("consciousness", "brief")
    assert (cold.stdout, cold.returncode) == (COLD + "\n", 0)
    work(cli)
    warm = cli.run("consciousness", "brief", env={"CLAUDE_CODE_SESSION_ID": "s-1"})
    assert BRIEF.match(warm.stdout.strip()) and warm.returncode == 0
    foreign = cli.run("consciousness", "brief", env={"CLAUDE_CODE_SESSION_ID": "s-2"})
    assert foreign.stdout == COLD + "\n"
    assert cli.run("consciousness", "brief").stdout == warm.stdout, "without a session: the store's newest"
    told = hook(cli, "pre-tool", body("pre-tool", number=50), CONTEXT_GRAPH_IDENTITY_LINES="always")
    assert json.loads(told.stdout)["hookSpecificOutput"]["additionalContext"] == warm.stdout.strip()


def test_the_brief_follows_each_restore_and_each_measured_event(cli: Cli) -> None:
    """REQ-SESSION-10: the cache is updated after a restoration and after each computed IC."""
    work(cli, "one")
    assert hook(cli, "session-start", body("session-start", "two")).returncode == 0
    restored = cli.run("consciousness", "brief", env={"CLAUDE_CODE_SESSION_ID": "two"}).stdout
    assert restored.strip() == "[C:? r=? IC=?]"  # the numbers of session one say nothing about two
    work(cli, "three", calls=12)
    seen = set()
    for number, topic in enumerate(TOPICS * 2):
        done = hook(cli, "post-tool", body("post-tool", "three", 100 + number, text=topic * 4), fmt="json")
        value = json.loads(done.stdout)["ic_classification"]["value"]
        line = cli.run("consciousness", "brief", env={"CLAUDE_CODE_SESSION_ID": "three"}).stdout
        assert f"IC={value:.2f}]" in line
        seen.add(line)
    assert len(seen) > 2


def test_the_setting_decides_which_lines_of_identity_are_said(cli: Cli) -> None:
    """`changes` says a state once; `always` gives seed 000's lines at each call and prompt, as they stand."""
    work(cli)

    def said(kind: str, number: int, mode: str) -> str:
        return context(hook(cli, kind, body(kind, number=number), CONTEXT_GRAPH_IDENTITY_LINES=mode))

    assert said("pre-tool", 60, "alarms") == "" == said("prompt-submit", 60, "alarms")
    assert BRIEF.match(said("pre-tool", 62, "changes")) and not said("pre-tool", 63, "changes")
    assert BRIEF.match(said("pre-tool", 65, "always")) and BRIEF.match(said("pre-tool", 66, "always"))
    shown = cli.run("consciousness", "inject-context", env={"CLAUDE_CODE_SESSION_ID": "s-1"}).stdout
    block = said("prompt-submit", 67, "always").splitlines()
    assert block[0] == shown.splitlines()[0] == "[System Consciousness]" and len(block) == 4
    cli.run("owner", "stop")
    assert not said("pre-tool", 68, "changes"), "what the model saw outlives the owner"


def test_by_default_a_session_s_start_says_nothing_of_its_identity(cli: Cli) -> None:
    work(cli, "one")
    assert hook(cli, "session-start", body("session-start", "two")).stdout == ""
    told = hook(cli, "session-start", body("session-start", "three"), CONTEXT_GRAPH_IDENTITY_LINES="always")
    assert context(told).startswith("Identity restored from two. IC: ")


def test_calls_made_at_once_bring_one_brief(cli: Cli) -> None:
    work(cli)
    told: list[str] = []
    threads = [
        threading.Thread(
            target=lambda n=n: told.append(
                hook(
                    cli, "pre-tool", body("pre-tool", number=n), CONTEXT_GRAPH_IDENTITY_LINES="changes"
                ).stdout
            )
        )
        for n in range(60, 66)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 6 and sum(map(bool, told)) == 1, told


def test_a_line_that_says_nothing_does_not_reach_the_model(cli: Cli) -> None:
    hook(cli, "session-start", body("session-start"))
    always = {"CONTEXT_GRAPH_IDENTITY_LINES": "always"}
    assert hook(cli, "pre-tool", body("pre-tool", number=1), **always).stdout == ""
    assert hook(cli, "prompt-submit", body("prompt-submit"), **always).stdout == ""
    for kind in ("pre-tool", "prompt-submit"):
        document = json.loads(hook(cli, kind, body(kind, number=2), fmt="json").stdout)
        assert "context_injection" not in document, kind


def context(done: Any) -> str:
    """What of a hook's answer reaches the model."""
    text: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""
    return text


def test_a_prompt_is_told_what_changed_in_the_state(cli: Cli) -> None:
    """REQ-HOOKS-20, D3.8: REQ-SESSION-15's four lines are `inject-context`'s; the hook says what is new."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    work(cli, "s-1", calls=12)
    assert context(hook(cli, "prompt-submit", body("prompt-submit"))) == "", "a healthy session is no news"
    for number, topic in enumerate(TOPICS):
        hook(cli, "post-tool", body("post-tool", number=200 + number, text=topic * 4))
    told = context(hook(cli, "prompt-submit", body("prompt-submit")))
    assert re.match(
        r"Identity continuity fell to 0\.\d\d \((normal|warning|critical)\): the last calls", told
    )
    assert "Guidance" not in told and "proceed" not in told
    assert context(hook(cli, "prompt-submit", body("prompt-submit"))) == "", "told once"


def test_a_session_off_its_track_is_told_since_when_and_what_to_do(cli: Cli) -> None:
    """By default: a sentence that a model can act on, without numbers, states or words of ours; once."""
    work(cli, "s-1", calls=12)
    told: list[str] = []
    for number, topic in enumerate(TOPICS):
        told.append(context(hook(cli, "pre-tool", body("pre-tool", number=200 + number, text=topic * 4))))
        told.append(context(hook(cli, "post-tool", body("post-tool", number=200 + number, text=topic * 4))))
    for number in range(9):  # an owner that is late for a hook says it at the next one
        if not any(told):
            given = body("pre-tool", number=210 + number, text=TOPICS[-1] * 4)
            told.append(context(hook(cli, "pre-tool", given)))
    told.append(context(hook(cli, "prompt-submit", body("prompt-submit"))))
    said = [text for text in told if text]
    assert 1 <= len(said) <= 2, "at the line that warns, and at that of a crisis"
    for text in said:
        assert re.fullmatch(
            r"The last (\d+ calls|call) \((`[^`]+`(, )?){1,3}\) looks? unlike what this session has been "
            r"about\. If the user changed the subject, that is why; if not, look again at what they asked "
            r"for\.",
            text,
        ), text


def test_a_session_in_circles_is_told_what_repeats(cli: Cli) -> None:
    """Live and from the log alike, and after a restart of the owner."""
    work(cli, "s-1", calls=6)
    hook(cli, "pre-tool", body("pre-tool", number=90))
    given = body("post-tool-failure", text="pytest tests/test_x.py --token ghp_" + "a1B2" * 9)
    for number in range(2):
        hook(cli, "post-tool-failure", {**given, "tool_use_id": f"toolu_{300 + number}"})
    cli.run("owner", "stop")
    logged = {**given, "tool_use_id": "toolu_302"}
    hook(cli, "post-tool-failure", logged, CONTEXT_GRAPH_PYTHON="/bin/false")
    hook(cli, "post-tool-failure", {**given, "tool_use_id": "toolu_303"})
    cli.run("session", "show", "--session-id", "s-1")  # with it the owner is up, and the log is read
    # An owner that has just started may be late for a call; it then says it at the next one.
    said = (context(hook(cli, "pre-tool", body("pre-tool", number=number))) for number in range(91, 99))
    told = next(filter(None, said))
    assert told.startswith("The last 3 calls repeat earlier ones; by now `pytest tests/test_x.py")
    assert told.endswith("failed 4 times with the same output, and none of them touched a new file.")
    assert "ghp_" not in told
    assert hook(cli, "pre-tool", body("pre-tool", number=92)).stdout == ""
    assert told in context(hook(cli, "prompt-submit", body("prompt-submit")))
    shown = json.loads(cli.run("consciousness", "status", "--json").stdout)
    assert shown["state"] == "HYPERSYNC"
    hook(cli, "post-tool", body("post-tool", number=400, text="cat src/new.py"))
    assert "repeat" not in context(hook(cli, "prompt-submit", body("prompt-submit")))


def test_a_next_session_is_restored_from_the_last_one(cli: Cli) -> None:
    """REQ-HOOKS-17, TC-SESSION-14: linked, told the last one's own IC; drift metrics once measured."""
    work(cli, "one")
    last = json.loads(cli.run("session", "show", "--session-id", "one", "--json").stdout)["last_ic"]
    started = hook(cli, "session-start", body("session-start", "two"), fmt="json")
    document = json.loads(started.stdout)
    assert re.match(rf"^Identity restored from one\. IC: {last:.2f} \(\w+\)$", document["context_injection"])
    assert "drift_metrics" not in document
    assert hook(cli, "prompt-submit", body("prompt-submit", "two")).returncode == 0
    told = [
        json.loads(hook(cli, "post-tool", body("post-tool", "two", n), fmt="json").stdout) for n in range(3)
    ]
    assert ["drift_metrics" in one for one in told] == [False, False, True]
    assert set(told[2]["drift_metrics"]) == {
        "ic_delta",
        "purpose_drift",
        "time_since_snapshot_ms",
        "kuramoto_phase_drift",
    }
    assert told[2]["drift_metrics"]["purpose_drift"] < 0.5
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    named = hook(cli, "session-start", body("session-start", "three"), "--previous-session-id", "one")
    assert "restored from one" in named.stdout
    cleared = hook(cli, "session-start", {**body("session-start", "four"), "source": "clear"})
    assert "Fresh session initialized" in cleared.stdout
    missing = hook(cli, "session-start", {**body("session-start", "five"), "source": "resume"})
    assert "New session initialized" in missing.stdout and missing.returncode == 0
    again = hook(cli, "session-start", {**body("session-start", "one"), "source": "resume"})
    assert "Identity restored from one" in again.stdout


def drift(cli: Cli, session: str) -> list[Any]:
    """Focused work, then work on other things; the answers to the latter."""
    work(cli, session, calls=12)
    return [
        hook(cli, "post-tool", body("post-tool", session, 100 + n, text=TOPICS[n % 4] * 4), fmt="json")
        for n in range(12)
    ]


def test_the_brief_reads_no_stdin_and_opens_no_database(cli: Cli) -> None:
    """REQ-SESSION-11: a pipe that nobody ends, a stopped owner, a store that is gone: it is there."""
    work(cli)
    told = cli.run("consciousness", "brief", env={"CLAUDE_CODE_SESSION_ID": "s-1"}).stdout
    assert BRIEF.match(told.strip())
    pid = cli.owner_pid()
    ours, theirs = os.pipe()
    env = {**cli.env, "CLAUDE_CODE_SESSION_ID": "s-1"}
    command = [str(cli.launcher), "consciousness", "brief"]
    try:
        with stopped(pid):
            (database,) = data_root(cli.env).glob("stores/*/db")
            database.rename(database.with_name("away"))
            done = subprocess.run(
                command, stdin=ours, env=env, cwd=cli.project, capture_output=True, timeout=30, check=False
            )
            database.with_name("away").rename(database)
        assert (done.returncode, done.stdout.decode(), done.stderr) == (0, told, b"")
        (slots,) = data_root(cli.env).glob("stores/*/brief.bin")
        slots.write_bytes(b"torn")
        torn = subprocess.run(
            command, stdin=ours, env=env, cwd=cli.project, capture_output=True, timeout=30, check=False
        )
        assert (torn.returncode, torn.stdout.decode().strip()) == (0, COLD)
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_crisis_is_reached_said_once_and_recovered_from(cli: Cli) -> None:
    """REQ-SESSION-08, TC-SESSION-10, IDENTITY-007: exit 6 in seed 001's formats, a durable dream request."""
    answers = drift(cli, "drifter")
    codes = [done.returncode for done in answers]
    values = [json.loads(done.stdout)["ic_classification"]["value"] for done in answers]
    assert min(values) < 0.5
    for code, value, done in zip(codes, values, answers, strict=True):
        assert code == (6 if value < 0.5 else 0)
        assert json.loads(done.stdout)["ic_classification"]["crisis_triggered"] is (value < 0.5)
    status = json.loads(cli.run("consciousness", "status", "--json").stdout)
    assert [dream["session_id"] for dream in status["dreams_pending"]] == ["drifter"]
    hook(cli, "prompt-submit", body("prompt-submit", "drifter"))
    back = [hook(cli, "post-tool", body("post-tool", "drifter", 200 + n), fmt="json") for n in range(8)]
    assert json.loads(back[-1].stdout)["ic_classification"]["value"] >= 0.7 and back[-1].returncode == 0


def test_a_pre_tool_hook_opens_no_database(cli: Cli) -> None:
    """REQ-HOOKS-02: it hands its event over or leaves it in the log; the store is the owner's alone."""
    done = hook(cli, "pre-tool", body("pre-tool", number=90), CONTEXT_GRAPH_PYTHON="/bin/false")
    assert done.returncode == 0
    made = [path for path in data_root(cli.env).rglob("*") if path.is_file() and path.stat().st_size]
    assert made and {path.parent.name for path in made} == {"events"}, made
    work(cli)
    pid = cli.owner_pid()
    with stopped(pid):
        tables = sorted(data_root(cli.env).glob("stores/*/db/*"))
        before = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in tables]
        assert hook(cli, "pre-tool", body("pre-tool", number=91)).returncode == 0
        assert before == [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in tables]


def test_with_no_owner_the_event_waits_in_the_log_and_is_applied_once(cli: Cli) -> None:
    """D1.4: the hook ends at once, exit 0; the owner applies the event when it comes."""
    work(cli)
    cli.run("owner", "stop")
    away = {"CONTEXT_GRAPH_PYTHON": "/bin/false"}
    lost = hook(cli, "post-tool", body("post-tool", number=70), **away)
    assert (lost.returncode, lost.stdout) == (0, "")
    away["CONTEXT_GRAPH_IDENTITY_LINES"] = "always"
    assert hook(cli, "pre-tool", body("pre-tool", number=71), **away).stdout == ""
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert (shown["events_applied"], shown["events_waiting"]) == (7, 0)
    hook(cli, "post-tool", body("post-tool", number=70))
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert (shown["events_applied"], shown["events_duplicate"]) == (7, 1)


def test_an_owner_that_does_not_answer_costs_the_budget_and_loses_nothing(cli: Cli) -> None:
    """REQ-HOOKS-32: deadlines hold inside our own processes; the event is logged under its id."""
    work(cli)
    pid = cli.owner_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        slow = hook(cli, "pre-tool", body("pre-tool", number=80), fmt="json")
        assert slow.returncode == 2 and "100ms" in json.loads(slow.stdout)["error"]
        quiet = hook(cli, "post-tool", body("post-tool", number=81))
        assert (quiet.returncode, quiet.stdout) == (0, "")
    finally:
        os.kill(pid, signal.SIGCONT)
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["pre-tool"] == 1 and shown["events_by_kind"]["post-tool"] == 5
    assert shown["events_waiting"] == 0


def test_what_a_last_hook_left_is_applied_without_another_one(cli: Cli) -> None:
    """D1.4: the hook that found no owner starts one, and that one catches up by itself."""
    work(cli)
    cli.run("owner", "stop")
    assert hook(cli, "session-end", body("session-end")).returncode == 0
    log = next(data_root(cli.env).glob("stores/*")) / "events"
    for _ in range(500):
        if not [path for path in log.iterdir() if path.stat().st_size]:
            break
        threading.Event().wait(0.01)
    else:
        raise AssertionError(f"still there after 5 s: {list(log.iterdir())}")
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["session-end"] == 1
