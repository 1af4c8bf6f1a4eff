"""The commands through the launcher and a real owner: texts and exit codes of seed 000, and around them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.store.test_memory_repair import table_of
from tests.support.cli import Cli
from tests.support.forkserver import python
from tests.support.sessions import memory, remember
from tests.support.store import noise

from context_graph.config import data_root, store_dir
from context_graph.store.layout import EMBEDDINGS
from context_graph.store.schema import open_database

FOUR_LINES = re.compile(
    r"\[System Consciousness\]\n"
    r"State: (CONSCIOUS|EMERGING|FRAGMENTED|DORMANT|HYPERSYNC) \(C=\d\.\d\d\)\n"
    r"Kuramoto r=\d\.\d\d, Identity IC=\d\.\d\d \((healthy|good|warning|degraded)\)\n"
    r"Guidance: [A-Z].+\n"
)
COLD = (
    "[System Consciousness]\nState: DORMANT (C=?)\nKuramoto r=?, Identity IC=? (no events yet)\n"
    "Guidance: Initialize consciousness context\n"
)
RESTORED = re.compile(r"Identity restored from (\S+)\. IC: (\d\.\d\d) \((healthy|good|warning|degraded)\)\n")


def restore(cli: Cli, *args: str, **given: str) -> subprocess.CompletedProcess[str]:
    return cli.run("session", "restore-identity", *args, stdin=json.dumps(given))


def work(cli: Cli, session: str, calls: int = 4) -> None:
    """Some like events in ``session``."""
    prompt = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": "fix the token bucket"}
    assert cli.run("hooks", "prompt-submit", "--format", "claude", stdin=json.dumps(prompt)).returncode == 0
    for number in range(calls):
        event = {
            "session_id": session,
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "pytest tests/test_bucket.py"},
            "tool_response": {"stdout": "2 passed", "stderr": ""},
            "tool_use_id": f"toolu_{session}_{number}",
        }
        assert cli.run("hooks", "post-tool", "--format", "claude", stdin=json.dumps(event)).returncode == 0


def alone(cli: Cli, *args: str, stdin: bytes = b"{}") -> subprocess.CompletedProcess[bytes]:
    """The Python program by itself, where no owner can be started."""
    return subprocess.run(
        python("-m", "context_graph.cli", *args),
        input=stdin,
        capture_output=True,
        env={**cli.env, "CONTEXT_GRAPH_PYTHON": "/bin/false"},
        cwd=cli.project,
        timeout=60,
        check=False,
    )


# restore-identity and persist-identity


def test_a_first_session_is_new_and_the_next_one_is_restored_from_it(cli: Cli) -> None:
    """REQ-SESSION-12, TC-SESSION-14, TC-SESSION-16: source startup with and without a past."""
    first = restore(cli, session_id="s-1", source="startup")
    assert (first.returncode, first.stdout, first.stderr) == (0, "New session initialized\n", "")
    work(cli, "s-1")
    second = restore(cli, session_id="s-2")
    found = RESTORED.fullmatch(second.stdout)
    assert found and found[1] == "s-1" and second.returncode == 0
    shown = json.loads(cli.run("session", "show", "--session-id", "s-2", "--json").stdout)
    assert shown["previous_session_id"] == "s-1"


def test_clear_begins_afresh_and_resume_takes_up_the_named_one(cli: Cli) -> None:
    """REQ-SESSION-12, TC-SESSION-15: sources clear and resume; an unknown id is a new session, exit 0."""
    restore(cli, session_id="s-1")
    work(cli, "s-1")
    restore(cli, session_id="s-2")
    cleared = restore(cli, source="clear", session_id="s-3")
    assert (cleared.returncode, cleared.stdout) == (0, "Fresh session initialized\n")
    resumed = restore(cli, source="resume", session_id="s-1")
    found = RESTORED.fullmatch(resumed.stdout)
    assert found and found[1] == "s-1"
    unknown = restore(cli, source="resume", session_id="nobody")
    assert (unknown.returncode, unknown.stdout) == (0, "New session initialized\n")
    by_option = restore(cli, "--source", "clear")
    assert by_option.stdout == "Fresh session initialized\n"


@pytest.mark.parametrize("stdin", [b"", b"not json", b"[1]", b'{"session_id": 5}', b"\xff\xfe", b"{" * 3000])
def test_input_that_is_no_json_means_defaults(cli: Cli, stdin: bytes) -> None:
    """REQ-SESSION-17: JSON parse error -> exit 0, defaults."""
    done = cli.run("session", "restore-identity", stdin=stdin)
    assert (done.returncode, done.stdout) == (0, "New session initialized\n")
    assert cli.run("session", "persist-identity", stdin=stdin).returncode == 0


def test_persist_is_silent_and_resets_nothing(cli: Cli) -> None:
    """REQ-SESSION-13, TC-SESSION-17."""
    restore(cli, session_id="s-1")
    work(cli, "s-1")
    before = json.loads(cli.run("session", "show", "--json").stdout)
    done = cli.run("session", "persist-identity", stdin='{"session_id":"s-1"}')
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    after = json.loads(cli.run("session", "show", "--json").stdout)
    for name in ("purpose_vector", "trajectory", "last_ic", "kuramoto_phases", "events_applied"):
        assert after[name] == before[name]


def damage_snapshot(cli: Cli, session: str) -> None:
    """Overwrite a session's record behind the owner's back."""
    cli.run("owner", "stop")
    store = store_dir(data_root(), cli.project)
    code = (
        "import sys; from rocksdict import AccessType, Options, Rdict\n"
        "path, key = sys.argv[1], sys.argv[2].encode()\n"
        "families = {name: Options(raw_mode=True) for name in Rdict.list_cf(path, Options(raw_mode=True))}\n"
        "db = Rdict(path, Options(raw_mode=True), column_families=families)\n"
        "family = db.get_column_family('session_identity'); assert key in family\n"
        "family[key] = b'\\x01garbage'; family.close(); db.close()\n"
    )
    subprocess.run([sys.executable, "-c", code, str(store / "db"), f"s:{session}"], check=True, timeout=60)


def test_a_corrupt_identity_is_the_one_thing_that_exits_2_and_names_the_repair(cli: Cli) -> None:
    """REQ-SESSION-17, TC-SESSION-22: CorruptedIdentity -> 2 with the recovery; persist and check never."""
    restore(cli, session_id="s-1")
    work(cli, "s-1")
    damage_snapshot(cli, "s-1")
    done = restore(cli, session_id="s-2")
    assert done.returncode == 2 and done.stdout == ""
    assert "Run 'context-graph-cli repair --cf session_identity'" in done.stderr
    for command, allowed in (
        (("session", "persist-identity"), {0, 1}),
        (("consciousness", "check-identity"), {0}),
        (("consciousness", "inject-context"), {0, 1}),
        (("consciousness", "brief"), {0}),
    ):
        other = cli.run(*command, stdin='{"session_id":"s-1"}')
        assert other.returncode in allowed, (command, other)
        assert "Traceback" not in other.stderr


def test_without_an_owner_a_session_goes_on(cli: Cli) -> None:
    """REQ-SESSION-17: NotInitialized and timeouts degrade; only persist reports 1."""
    done = alone(cli, "session", "restore-identity")
    assert (done.returncode, done.stdout) == (0, b"New session initialized\n")
    assert done.stderr.startswith(b"Warning: ")
    done = alone(cli, "session", "persist-identity")
    assert (done.returncode, done.stdout) == (1, b"") and done.stderr.startswith(b"Warning: ")
    done = alone(cli, "consciousness", "check-identity", "--auto-dream")
    assert (done.returncode, done.stdout) == (0, b"") and b"IC check failed" in done.stderr
    done = alone(cli, "consciousness", "inject-context")
    assert (done.returncode, done.stdout.decode()) == (0, COLD) and done.stderr.startswith(b"Warning: ")
    assert alone(cli, "session", "list").returncode == 1


# brief, check-identity, inject-context, status


def test_the_python_program_prints_the_launchers_brief(cli: Cli) -> None:
    """REQ-SESSION-11, TC-SESSION-12, TC-SESSION-13: one implementation, whatever name it is called by."""
    environment = {**cli.env, "PATH": f"{cli.launcher.parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-P", "-m", "context_graph.cli", "consciousness", "brief"]

    def brief() -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=cli.project, timeout=60, check=True
        )
        return done.stdout

    assert brief() == cli.run("consciousness", "brief").stdout == "[C:? r=? IC=?]\n"
    restore(cli, session_id="s-1")
    work(cli, "s-1")
    assert re.fullmatch(r"\[C:[A-Z]{3} r=\d\.\d\d IC=\d\.\d\d\]\n", brief())
    assert brief() == cli.run("consciousness", "brief").stdout


@pytest.mark.parametrize(
    ("ic", "said"),
    [
        (0.95, ""),
        (0.7, ""),
        (0.69, "IC warning: 0.69\n"),
        (0.5, "IC warning: 0.50\n"),
        (0.42, "IC crisis: 0.42\n"),
    ],
)
def test_check_identity_warns_on_stderr_only_and_always_exits_0(cli: Cli, ic: float, said: str) -> None:
    """REQ-SESSION-14, TC-SESSION-18, TC-SESSION-19, TC-SESSION-20; exactly 0.5 is no crisis."""
    restore(cli, session_id="s-1")
    work(cli, "s-1")
    document = json.loads(cli.run("session", "export", "--session-id", "s-1").stdout)
    document["sessions"][0]["last_ic"] = ic
    del document["checksum"]
    assert cli.run("session", "import", "--overwrite", stdin=json.dumps(document)).returncode == 0
    done = cli.run("consciousness", "check-identity")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", said)


def test_check_identity_queues_one_dream_for_a_crisis(cli: Cli) -> None:
    """REQ-SESSION-08, REQ-SESSION-14, TC-SESSION-10, TC-SESSION-20: computed; durable, said, once."""
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude" / "context-graph.toml").write_text(
        "dream = false\n"
    )  # else it may be run already
    work(cli, "s-1", calls=12)
    topics = ("sourdough levain hydration", "candles ticker futures", "vim palette", "xylophone tuning")
    for number in range(12):
        event = {
            "session_id": "s-1",
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": topics[number % 4] * 4},
            "tool_response": {"stdout": topics[number % 4], "stderr": ""},
            "tool_use_id": f"toolu_drift_{number}",
        }
        cli.run("hooks", "post-tool", "--format", "claude", stdin=json.dumps(event))
        ic = json.loads(cli.run("session", "show", "--json").stdout)["last_ic"]
        if ic < 0.5:
            break
    assert ic < 0.5
    for _ in range(2):
        done = cli.run("consciousness", "check-identity", "--auto-dream")
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith((f"IC crisis: {ic:.2f}", f"IC crisis ({ic:.2f}), dream triggered"))
    queued = json.loads(cli.run("consciousness", "status", "--json").stdout)["dreams_pending"]
    assert [dream["session_id"] for dream in queued] == ["s-1"]


def test_inject_context_prints_seed_000s_four_lines(cli: Cli) -> None:
    """REQ-SESSION-15, TC-SESSION-21: standard, compact and verbose; a session without events says so."""
    assert cli.run("consciousness", "inject-context").stdout == COLD
    restore(cli, session_id="s-1")
    work(cli, "s-1")
    standard = cli.run("consciousness", "inject-context")
    assert standard.returncode == 0 and FOUR_LINES.fullmatch(standard.stdout)
    compact = cli.run("consciousness", "inject-context", "--format", "compact")
    assert re.fullmatch(r"\[C:[A-Z]{3} r=\d\.\d\d IC=\d\.\d\d Q=[OBHU] A=\w+\]\n", compact.stdout)
    verbose = cli.run("consciousness", "inject-context", "--format=verbose")
    assert verbose.stdout.startswith(standard.stdout) and "Components: I=" in verbose.stdout


def test_status_shows_the_numbers_to_people_and_programs(cli: Cli) -> None:
    """Beside the brief: where they come from."""
    restore(cli, session_id="s-1")
    assert "nothing measured yet" in cli.run("consciousness", "status").stdout
    work(cli, "s-1")
    text = cli.run("consciousness", "status").stdout
    shown = json.loads(cli.run("consciousness", "status", "--json").stdout)
    assert re.search(rf"^focus r +{shown['consciousness_state']['integration']:.2f}$", text, re.MULTILINE)
    assert shown["session_id"] == "s-1" and str(cli.project) in text


# list, show, export, import


def test_sessions_are_listed_newest_first_and_by_pages(cli: Cli) -> None:
    """Human table and JSON."""
    assert cli.run("session", "list").stdout == "no sessions yet\n"
    for number in range(3):
        restore(cli, session_id=f"s-{number}")
        work(cli, f"s-{number}", calls=1)
    lines = cli.run("session", "list").stdout.splitlines()
    assert lines[0].split() == ["SESSION", "AGO", "LENGTH", "BRANCH", "OUTCOME", "GOAL"]
    assert [line.split()[0] for line in lines[1:]] == ["s-2", "s-1", "s-0"]
    assert lines[1].endswith("fix the token bucket")
    page = json.loads(cli.run("session", "list", "--limit", "2", "--json").stdout)
    assert [row["session_id"] for row in page["sessions"]] == ["s-2", "s-1"] and page["total"] == 3
    rest = json.loads(
        cli.run("session", "list", "--limit", "2", "--cursor", page["next_cursor"], "--json").stdout
    )
    assert [row["session_id"] for row in rest["sessions"]] == ["s-0"]
    assert "2 of 3; the next: --cursor" in cli.run("session", "list", "--limit", "2").stdout


def test_show_has_the_fourteen_fields_and_the_chain(cli: Cli) -> None:
    """REQ-SESSION-01: by their seed names; for people in lines."""
    for session in ("s-1", "s-2"):
        restore(cli, session_id=session)
        work(cli, session)
    shown = json.loads(cli.run("session", "show", "--session-id", "s-2", "--json").stdout)
    assert {
        *("session_id", "timestamp_ms", "previous_session_id", "cross_session_ic", "kuramoto_phases"),
        *("coupling", "purpose_vector", "trajectory", "last_ic", "crisis_threshold", "consciousness"),
        *("integration", "reflection", "differentiation"),
        *("events_applied", "events_duplicate", "events_waiting", "ic_history"),
    } <= set(shown)
    text = cli.run("session", "show", "--session-id", "s-2").stdout
    assert "s-2 <- s-1" in text and not re.search(r"[01]\.\d\d|purpose|coupling|IC", text)
    verbose = cli.run("session", "show", "s-2", "--verbose").stdout
    assert re.search(rf"^continuity IC +{shown['last_ic']:.2f}$", verbose, re.MULTILINE)
    missing = cli.run("session", "show", "--session-id", "nobody")
    assert missing.returncode == 1 and "nobody" in missing.stderr and missing.stdout == ""


def test_a_store_moves_as_json(cli: Cli, tmp_path: Path) -> None:
    """export --all, then import into another store: the same sessions."""
    for session in ("s-1", "s-2"):
        restore(cli, session_id=session)
        work(cli, session)
    saved = tmp_path / "sessions.json"
    assert cli.run("session", "export", "--all", "--output", str(saved)).stdout == ""
    assert saved.stat().st_mode & 0o777 == 0o600
    other = str(tmp_path / "elsewhere")
    done = cli.run("session", "import", str(saved), "--db-path", other)
    assert sorted(json.loads(done.stdout)["imported"]) == ["s-1", "s-2"]
    again = cli.run("session", "import", str(saved), "--db-path", other)
    assert again.returncode == 1 and "already" in again.stderr
    assert (
        cli.run("session", "import", "--overwrite", "--db-path", other, stdin=saved.read_bytes()).returncode
        == 0
    )
    exported = cli.run("session", "export", "--all", "--db-path", other).stdout
    assert json.loads(exported)["sessions"] == json.loads(saved.read_text())["sessions"]
    for bad in ("no such file", str(tmp_path)):
        assert cli.run("session", "import", bad).returncode == 1
    assert cli.run("session", "import", stdin="[]").returncode == 1


# owner, repair


def test_the_owner_is_started_stopped_restarted_and_shown(cli: Cli) -> None:
    """The fields the issue names; status starts none."""
    away = cli.run("owner", "status")
    assert away.returncode == 1 and "no owner runs" in away.stdout
    assert json.loads(cli.run("owner", "status", "--json").stdout)["running"] is False
    assert cli.run("owner", "stop").stdout.startswith("no owner runs")
    started = cli.run("owner", "start")
    assert started.returncode == 0 and "owner started: pid" in started.stdout
    assert "owner already runs" in cli.run("owner", "start").stdout
    shown = json.loads(cli.run("owner", "status", "--json").stdout)
    assert {
        *("pid", "version", "rss_bytes", "uptime_s", "clients", "stores", "requests", "events_waiting"),
    } <= set(shown)
    assert f"pid {shown['pid']}" in cli.run("owner", "status").stdout
    restarted = cli.run("owner", "restart")
    assert restarted.returncode == 0 and f"pid {shown['pid']}\n" not in restarted.stdout
    stopped = cli.run("owner", "stop")
    assert stopped.returncode == 0 and "owner stopped: pid" in stopped.stdout


def test_repair_puts_what_it_saved_in_place_and_says_by_its_code_if_that_is_all(cli: Cli) -> None:
    for number in range(3):
        remember(cli, f"Fact {number} in a sentence of its own")
    cli.stop_owner()
    database = store_dir(data_root(), cli.project) / "db"
    engine = open_database(database)
    engine.compact_range(EMBEDDINGS, b"", b"\xff" * 20)
    engine.close()
    table = table_of(database, EMBEDDINGS)
    table.write_bytes(noise(table.stat().st_size))
    assert cli.run("memory", "list").returncode != 0
    refused = cli.run("repair", "--replace", "--to", str(cli.project / "elsewhere"))
    assert refused.returncode == 2 and "--to" in refused.stderr
    done = cli.run("repair", "--replace", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["complete"] and (Path(report["kept"]) / "db" / table.name).exists()
    assert len(memory(cli, "list")["nodes"]) == 3
    assert memory(cli, "recall", "Fact 1 in a sentence")["nodes"]


def test_repair_waits_for_the_owner_to_go_and_then_salvages(cli: Cli, tmp_path: Path) -> None:
    """REQ-SESSION-17: the repair that a corrupt identity names; the damaged original stays."""
    for session in ("s-1", "s-2"):
        restore(cli, session_id=session)
        work(cli, session)
    held = cli.run("repair", "--cf", "session_identity")
    assert held.returncode == 1 and "context-graph-cli owner stop" in held.stderr
    damage_snapshot(cli, "s-1")
    store = store_dir(data_root(), cli.project)
    original = {path.name: path.read_bytes() for path in (store / "db").iterdir() if path.is_file()}
    target = tmp_path / "salvaged"
    done = cli.run("repair", "--cf", "session_identity", "--to", str(target))
    assert done.returncode == 1 and "not all of session_identity is there" in done.stdout
    assert "s-1" in done.stdout
    assert {path.name: path.read_bytes() for path in (store / "db").iterdir() if path.is_file()} == original
    report = json.loads(cli.run("repair", "--json").stdout)
    assert report["unreadable_count"] == 1 and Path(report["target"]).parent == store
    assert cli.run("repair", "--to", str(target)).returncode == 1, "an existing target is refused"
    assert cli.run("repair", "--cf", "nope").returncode == 1
    advised = [line.strip() for line in done.stdout.partition("to use it:\n")[2].splitlines()]
    assert advised[0] == "context-graph-cli owner stop" and "damage: run" not in done.stdout
    subprocess.run(["sh", "-c", advised[1]], check=True)
    assert (store / "db-damaged" / "CURRENT").exists() and not target.exists()
    listed = json.loads(cli.run("session", "list", "--json").stdout)
    assert [row["session_id"] for row in listed["sessions"]] == ["s-2"]


# generate-config, usage errors, help


def test_generate_config_writes_shows_and_refuses(cli: Cli) -> None:
    """REQ-HOOKS-22: through the launcher."""
    shown = cli.run("hooks", "generate-config", "--dry-run")
    assert shown.returncode == 0 and "+++ .claude/settings.json" in shown.stdout
    assert not (cli.project / ".claude").exists()
    done = cli.run("hooks", "generate-config", "--shell", "fish", "--hooks", "session-start,stop")
    assert done.returncode == 0
    assert (cli.project / ".claude" / "hooks" / "session_start.fish").exists()
    settings: dict[str, Any] = json.loads((cli.project / ".claude" / "settings.json").read_text())
    assert list(settings["hooks"]) == ["SessionStart", "Stop"]
    again = cli.run("hooks", "generate-config", "--shell", "fish", "--hooks", "session-start,stop")
    assert "nothing to change" in again.stdout
    (cli.project / ".claude" / "settings.json").write_text("{")
    refused = cli.run("hooks", "generate-config")
    assert refused.returncode == 4 and "not JSON" in refused.stderr
    assert not (cli.project / ".claude" / "hooks" / "session_start.sh").exists(), (
        "nothing before the settings"
    )


USAGE = [
    (("session", "list", "--bogus"), 2),
    (("session", "bogus"), 2),
    (("session", "list", "--limit", "0"), 2),
    (("session", "list", "--limit", "many"), 2),
    (("session", "list", "--db-path", "/etc/x"), 1),
    (("session", "list", "--db-path", "a/../../.."), 1),
    (("session", "restore-identity", "--bogus"), 1),
    (("consciousness", "bogus"), 2),
    (("consciousness", "brief", "--bogus"), 0),
    (("consciousness", "check-identity", "--bogus"), 0),
    (("consciousness", "inject-context", "--format", "xml"), 1),
    (("hooks", "bogus"), 4),
    (("hooks", "generate-config", "--bogus"), 4),
    (("hooks", "generate-config", "--shell", "tcsh"), 4),
    (("hooks", "generate-config", "--hooks", "nope"), 4),
    (("owner", "bogus"), 2),
    (("repair", "--bogus"), 2),
    (("bogus",), 2),
]


@pytest.mark.parametrize(("words", "code"), USAGE, ids=[" ".join(words) for words, _ in USAGE])
def test_a_usage_error_exits_2_but_not_where_that_blocks_a_client(
    shared_cli: Cli, words: tuple[str, ...], code: int
) -> None:
    """REQ-SESSION-17, TC-SESSION-22: 2 would block the client; a sentence, never a traceback."""
    done = shared_cli.run(*words)
    assert done.returncode == code, done
    assert done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [(), ("--help",), ("session",), ("session", "help"), ("hooks", "-h"), ("hooks", "pre-tool", "--help")],
)
def test_help_is_one_word_away(shared_cli: Cli, words: tuple[str, ...]) -> None:
    """Of the program, of a group, of a command the launcher serves."""
    done = shared_cli.run(*words)
    assert done.returncode == 0 and done.stdout.startswith("Usage: context-graph-cli")


def test_the_version_is_the_packages(shared_cli: Cli) -> None:
    """--version."""
    from context_graph import __version__

    assert shared_cli.run("--version").stdout == f"context-graph-cli {__version__}\n"


def test_a_reader_that_leaves_early_is_no_error(cli: Cli) -> None:
    """`session list | head`."""
    restore(cli, session_id="s-1")
    script = f"'{cli.launcher}' session list --json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=dict(cli.env), cwd=cli.project, check=True
    )
    assert done.stdout in ("0\n", "141\n", "1\n") and "Traceback" not in done.stderr


def test_closed_streams_and_an_odd_terminal_are_no_error(cli: Cli) -> None:
    """A hook's runner may close what it does not want; a terminal may not know every letter."""
    restore(cli, session_id="s-ü")
    script = f"""
        '{cli.launcher}' session list --json >&- 2>&- <&-; echo $?
        PYTHONIOENCODING=ascii '{cli.launcher}' session list; echo $?
    """
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=dict(cli.env), cwd=cli.project, check=True
    )
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("0", "0") and "s-?" in done.stdout and done.stderr == ""
    assert cli.run("session", "import").returncode == 1


def test_seed_000s_commands_start_without_the_heavy_parser(cli: Cli) -> None:
    """Import budget: Typer's parser brings pydantic; colours and tables stay out everywhere."""
    cli.run("owner", "start")
    code = (
        "import sys\nfrom context_graph.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    for words, heavy in (
        (("consciousness", "check-identity"), {"pydantic", "rich", "numpy", "asyncio"}),
        (("session", "list"), {"rich", "numpy", "asyncio", "rocksdict", "re2"}),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=dict(cli.env),
            cwd=cli.project,
            timeout=60,
            check=True,
        )
        assert not heavy & set(done.stderr.split()), words
