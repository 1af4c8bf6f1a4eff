"""`doctor` and `status` with real hooks, tools, owners and stores: what they find, and that nothing stays."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli, stopped
from tests.support.gates.in_process import gate_event
from tests.support.rights import without_rights
from tests.support.sessions import hook, memory, remember, work_session

from context_graph.claude.hooks.origin import CANARY_PREFIX, CANARY_TOOL
from context_graph.cli.doctor.client_files import Finding, is_sound
from context_graph.cli.doctor.command import findings_text
from context_graph.config import locate
from context_graph.gates.decide.hooks import decide
from context_graph.gates.rules import GateCache
from context_graph.model import EventKind, HookEvent
from context_graph.store.layout import EVENTS, FORMAT_KEY
from context_graph.store.schema import open_database
from context_graph.store.sessions.event_log import LEFT_MS, CanaryEvents
from context_graph.store.sessions.sessions import SessionStore

REQUIRED = """version: "1.0"
enabled: true
requirements:
  commit_plan: {enabled: true, trigger_tools: [ContextGraphDoctor, Edit]}
"""


@pytest.fixture
def project(cli: Cli) -> Cli:
    """A project whose hooks find the program, as a user's search path has it; nothing set up."""
    path = f"{cli.launcher.parent}:{os.environ['PATH']}"
    return Cli(cli.launcher, cli.project, {**cli.env, "PATH": path, "CONTEXT_GRAPH_DREAM": "off"})


def examine(cli: Cli, **env: str) -> tuple[int, dict[str, Any]]:
    """(exit code, the report)."""
    done = cli.run("doctor", "--json", env=env, timeout=100)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["sound"] == (done.returncode == 0)
    return done.returncode, found


def problems(report: Mapping[str, Any]) -> str:
    return "\n".join(one["what"] for one in report["findings"] if one["level"] != "note")


def state(cli: Cli) -> dict[str, Any]:
    """All that can be told of sessions and memories."""
    return {
        "sessions": json.loads(cli.run("session", "list", "--json").stdout),
        "all": cli.run("session", "export", "--all").stdout,
        "identity": cli.run("consciousness", "status", "--json").stdout,
        "brief": cli.run("consciousness", "brief").stdout,
        "memories": [row for row in _exported(cli) if row.get("type") not in ("end", "tombstone")],
        "injected": memory(cli, "list", "--injected"),
    }


def _exported(cli: Cli) -> list[dict[str, Any]]:
    return [json.loads(row) for row in cli.run("memory", "export").stdout.splitlines()]


def test_a_sound_project_is_called_sound_and_nothing_of_it_is_changed(project: Cli) -> None:
    project.run("setup", "--yes")
    work_session(project, "s-1")
    remember(project, "Staging listens on port 8443")
    before = state(project)
    code, report = examine(project)
    assert (code, problems(report)) == (0, "")
    assert (report["hooks"]["sent"], report["hooks"]["recorded"]) == (10, 10)
    assert set(report["hooks"]["tried"]) == {"PreToolUse", "PostToolUse"}
    assert report["hooks"]["sources"] == [str(project.project / ".claude/settings.json")]
    assert report["memory_tools"]["source"] == str(project.project / ".mcp.json")
    assert set(report["memory_tools"]["steps_ms"]) == {"connect", "list", "store", "recall", "forget"}
    assert report["owner"]["pid"] and report["owner"]["rss_bytes"] > 1 << 20
    assert report["store"]["ages"]["last_event_age_s"] is not None
    assert report["store"]["ages"]["last_capture_age_s"] is not None, "the session was captured"
    assert report["store"]["memory"]["agrees"] and report["store"]["events_waiting"] == 0
    assert report["cost"]["day"]["total"] >= report["cost"]["session_start"] > 500
    assert report["cost"]["skills"] > 50, "they are set up"
    assert report["client"]["memory"]["on"] and report["client"]["memory"]["cleanup_days"] == 30
    assert state(project) == before
    assert [row for row in _exported(project) if row.get("type") == "tombstone"] == []


def test_its_canaries_leave_no_record_behind(project: Cli) -> None:
    project.run("setup", "--yes")
    assert examine(project)[0] == 0
    place = locate(None, project.env, project.project)
    project.run("owner", "stop")
    with SessionStore.open(place.store / "db") as store:
        assert _events(store) == [] and store.load_latest() is None
    found = [path for path in place.store.rglob("*") if path.is_file() and _names_a_canary(path)]
    assert [path for path in found if path.parent.name != "db"] == [], "in tables until they are rewritten"


def test_its_canaries_are_in_no_list_and_in_no_count(project: Cli) -> None:
    """Every doctor left a row among the forgotten ones, and counted as use of the memory."""
    project.run("setup", "--yes")
    remember(project, "Staging listens on port 8443")

    def operations() -> dict[str, int]:
        found = memory(project, "stats")["operations"]
        own = ("metrics", "get")  # stats' own
        return {name: row["count"] for name, row in found.items() if name not in own}

    before = operations()
    assert before["store"] == 1
    for _ in range(2):
        code, report = examine(project)
        assert code == 0 and report["cost"]["day"] is None, "nobody has had a session here"
    assert operations() == before
    assert memory(project, "list", "--deleted")["tombstones"] == []
    forgotten = memory(project, "list")["nodes"][0]["id"]
    memory(project, "forget", forgotten, "--permanent", "--yes")
    assert [one["id"] for one in memory(project, "list", "--deleted")["tombstones"]] == [forgotten]


def _events(store: SessionStore) -> list[bytes]:
    return [key for key, _ in store.engine.scan(EVENTS) if key != FORMAT_KEY]


def _names_a_canary(path: Path) -> bool:
    return CANARY_PREFIX.encode() in path.read_bytes()


def test_a_project_that_is_not_set_up_is_told_how(project: Cli) -> None:
    code, report = examine(project)
    assert code == 1 and not report["hooks"]["configured"]
    (finding,) = [one for one in report["findings"] if one["level"] != "note"]
    assert "nothing is recorded" in finding["what"] and "context-graph-cli setup" in finding["cure"]
    assert report["hooks"]["recorded"] == 10, "the plugin's own commands were tried"


def test_a_hook_that_blocks_or_goes_elsewhere_is_found(project: Cli, tmp_path: Path) -> None:
    settings = project.project / ".claude/settings.json"
    project.run("setup", "--yes")
    good = settings.read_text()

    settings.write_text(
        good.replace("hooks pre-tool --format claude || true", "hooks pre-tool >/dev/null; exit 2")
    )
    code, report = examine(project)
    assert code == 1 and "ends with 2, which blocks every tool call" in problems(report)

    elsewhere = f"CONTEXT_GRAPH_HOME={tmp_path / 'other'} context-graph-cli hooks post-tool"
    settings.write_text(good.replace("&& context-graph-cli hooks post-tool ", f"&& {elsewhere} "))
    try:
        code, report = examine(project)
    finally:
        project.run("owner", "stop", env={"CONTEXT_GRAPH_HOME": str(tmp_path / "other")})
    assert code == 1 and "5 of 5 PostToolUse canaries are not in the store" in problems(report)
    assert "PreToolUse canaries" not in problems(report)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "the client drops the whole file"),
        ('{"disableAllHooks": true}', "disableAllHooks"),
        (
            '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "5s"}]}]}}',
            "timeout",
        ),
    ],
)
def test_settings_that_the_client_would_drop_are_named(project: Cli, text: str, said: str) -> None:
    (project.project / ".claude").mkdir()
    (project.project / ".claude/settings.json").write_text(text)
    code, report = examine(project)
    assert code == 1 and said in problems(report)


def test_an_installed_plugin_counts(project: Cli) -> None:
    """As the client notes them: installed_plugins.json of version 2, and enabledPlugins in the settings."""
    folder = project.run("setup", "--plugin").stdout.strip()
    claude = Path(project.env["CLAUDE_CONFIG_DIR"])
    (claude / "plugins").mkdir(parents=True)
    entries = [{"scope": "user", "installPath": folder, "version": "0.1.0"}]
    installed = {"version": 2, "plugins": {"context-graph@here": entries}}
    (claude / "plugins/installed_plugins.json").write_text(json.dumps(installed))
    settings = claude / "settings.json"
    for enabled in (True, False):
        settings.write_text(json.dumps({"enabledPlugins": {"context-graph@here": enabled}}))
        code, report = examine(project)
        assert report["hooks"]["configured"] is enabled and code == (0 if enabled else 1), problems(report)


def test_a_wrapper_script_counts_as_ours(project: Cli) -> None:
    folder = project.project / ".claude/hooks"
    folder.mkdir(parents=True)
    hooks = {}
    for event, verb in (("PreToolUse", "pre-tool"), ("PostToolUse", "post-tool")):
        script = folder / f"{verb}.sh"
        script.write_text(f"#!/bin/sh\nexec context-graph-cli hooks {verb} --stdin --format json\n")
        script.chmod(0o755)
        call = {"type": "command", "command": f'"$CLAUDE_PROJECT_DIR"/.claude/hooks/{verb}.sh', "timeout": 5}
        hooks[event] = [{"hooks": [call]}]
    (project.project / ".claude/settings.json").write_text(json.dumps({"hooks": hooks}))
    _, report = examine(project)
    assert (report["hooks"]["sent"], report["hooks"]["recorded"]) == (10, 10)
    assert "no settings file calls us for SessionStart" in problems(report)
    assert project.run("session", "list").stdout == "no sessions yet\n"


def test_settings_beside_an_installed_plugin_are_told(project: Cli) -> None:
    """Their commands differ, so that the client runs both."""
    test_an_installed_plugin_counts(project)
    claude = Path(project.env["CLAUDE_CONFIG_DIR"])
    (claude / "settings.json").write_text(json.dumps({"enabledPlugins": {"context-graph@here": True}}))
    project.run("setup", "--yes")
    code, report = examine(project)
    (told,) = [one for one in report["findings"] if "more than one hook calls us" in one["what"]]
    assert code == 0 and "SessionStart, PreToolUse" in told["what"], problems(report)
    assert str(project.project / ".claude/settings.json") in told["what"] and "--remove" in told["cure"]
    project.run("setup", "--remove", "--yes")
    assert "more than one" not in json.dumps(examine(project)[1]["findings"])


def test_damage_to_the_index_s_snapshot_is_told_and_needs_nothing(project: Cli) -> None:
    project.run("setup", "--yes")
    remember(project, "Staging listens on port 8443")
    project.run("owner", "stop")
    snapshot = locate(None, project.env, project.project).store / "memory.index"
    raw = bytearray(snapshot.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    snapshot.write_bytes(raw)
    code, report = examine(project)
    assert code == 0, report["findings"]
    assert "index snapshot was of no use" in json.dumps(report["findings"])
    assert report["store"]["memory"]["agrees"], "the index was made anew from the records"
    project.run("owner", "stop")
    code, report = examine(project)
    assert code == 0 and "index snapshot" not in json.dumps(report["findings"])


def test_a_server_that_does_not_serve_is_told(project: Cli) -> None:
    project.run("setup", "--yes")
    servers = {"mcpServers": {"context-graph": {"command": "context-graph-cli", "args": ["--version"]}}}
    (project.project / ".mcp.json").write_text(json.dumps(servers))
    code, report = examine(project)
    assert code == 1 and "memory tools: initialize" in problems(report)


def test_a_program_that_only_hooks_find_is_told_with_what_helps(project: Cli) -> None:
    """Hooks look into ~/.local/bin by themselves; the client starts the memory tools by PATH alone."""
    project.run("setup", "--yes")
    project.run("setup", "--link", env={"PATH": "/usr/bin:/bin"})
    code, report = examine(project, PATH="/usr/bin:/bin")
    (told,) = [one for one in report["findings"] if one["level"] != "note"]
    assert code == 1 and "context-graph-cli of" in told["what"] and "not on PATH" in told["what"]
    assert "setup --link" in told["cure"]
    assert report["hooks"]["recorded"] == 10


def test_a_server_that_was_refused_in_the_client_s_dialog_is_told_with_the_way_back(project: Cli) -> None:
    """What Enter writes at "New MCP server found in this project"."""
    project.run("setup", "--yes")
    local = project.project / ".claude/settings.local.json"
    local.write_text('{"disabledMcpjsonServers": ["context-graph"]}')
    code, report = examine(project)
    (told,) = [one for one in report["findings"] if "perhaps because they were refused" in one["what"]]
    assert code == 1 and str(local) in told["what"]
    assert "claude mcp reset-project-choices" in told["cure"]


def test_entries_of_another_program_of_nearly_our_name_are_not_taken_for_ours(project: Cli) -> None:
    theirs = {"command": "memgraph-context-graph", "args": ["mcp"]}
    hook = {"type": "command", "command": "memgraph-context-graph hooks stop"}
    (project.project / ".claude").mkdir()
    settings = project.project / ".claude/settings.json"
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))
    servers = project.project / ".mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"context-graph": theirs}}))
    _, report = examine(project)
    assert not report["hooks"]["configured"]
    (told,) = [one for one in report["findings"] if "another program's" in one["what"]]
    assert "memgraph-context-graph" in told["what"] and "--server-name" in told["cure"]
    project.run("setup", "--yes", "--server-name", "cg-memory")
    assert hook in json.loads(settings.read_text())["hooks"]["Stop"][0]["hooks"]
    code, report = examine(project)
    assert report["memory_tools"]["tools"] == 13 and report["memory_tools"]["source"] == str(servers)
    assert code == 0 and "another program's" in json.dumps(report["findings"]), "told, and no problem"


def test_an_owner_that_can_t_be_had_is_told_and_hooks_keep_their_events(project: Cli) -> None:
    project.run("setup", "--yes")
    place = locate(None, project.env, project.project)
    place.root.mkdir(parents=True, exist_ok=True)
    (place.root / "run").write_text("in its way\n")
    code, report = examine(project)
    assert code == 1 and "no owner can be started" in problems(report)
    assert len(problems(report).splitlines()) == 1, "said once, not by each part that needs an owner"
    (place.root / "run").unlink()
    assert any((place.store / "events").iterdir()), "the canaries wait"
    assert project.run("session", "list").stdout == "no sessions yet\n", "and begin no session when applied"


@pytest.mark.thorough
def test_an_owner_that_is_silent_is_told_with_its_pid(project: Cli) -> None:
    """No part waits for it again, and what its restart says ends it."""
    project.run("setup", "--yes")
    project.run("owner", "start")
    pid = project.owner_pid()
    with stopped(pid):
        code, report = examine(project)
        shown = project.run("doctor", timeout=100).stdout
    (finding,) = [one for one in report["findings"] if one["level"] != "note"]
    assert code == 1 and f"the owner (pid {pid}) does not answer; it is stopped" in finding["what"]
    assert "owner restart" in finding["cure"]
    assert report["memory_tools"]["steps_ms"] == {} and report["hooks"]["recorded"] is None
    assert set(report["hooks"]["tried"]) == {"PreToolUse", "PostToolUse"}, (
        "what hooks do then is worth knowing"
    )
    assert "removed again" not in shown and "silent" in shown


def test_a_damaged_store_is_told_once(project: Cli) -> None:
    project.run("setup", "--yes")
    remember(project, "Staging listens on port 8443")
    project.run("owner", "stop")
    (locate(None, project.env, project.project).store / "db/CURRENT").write_text("nothing of use\n")
    code, report = examine(project)
    (said,) = problems(report).splitlines()
    assert code == 1 and "database corruption" in said and "repair --cf session_identity" in said
    assert "context-graph: " not in said


def test_a_folder_that_can_t_be_written_is_told(project: Cli) -> None:
    """An open store goes on without its folder; the event log and the index do not."""
    project.run("setup", "--yes")
    remember(project, "Staging listens on port 8443")
    store = locate(None, project.env, project.project).store
    store.chmod(0o500)
    done = subprocess.run(
        [*without_rights(), project.launcher, "doctor", "--json"],
        env=project.env,
        cwd=project.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    store.chmod(0o700)
    report = json.loads(done.stdout)
    assert done.returncode == 1 and f"{store} can't be written by you: its mode is 0500" in problems(report)
    assert examine(project)[0] == 0


def test_of_the_client_s_state_nothing_but_trust_is_told(project: Cli) -> None:
    folder = Path(project.env["CLAUDE_CONFIG_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    secret = "sk-ant-somebody-s-own"
    for trusted in (True, False):
        entry = {"hasTrustDialogAccepted": trusted, "history": [secret]}
        (folder / ".claude.json").write_text(
            json.dumps({"oauth": secret, "projects": {str(project.project): entry}})
        )
        done = project.run("doctor", "--json", timeout=100)
        assert json.loads(done.stdout)["client"]["trusted"] is trusted
        assert secret not in done.stdout + done.stderr
    fake = project.project.parent / "bin"
    fake.mkdir()
    (fake / "claude").write_text("#!/bin/sh\necho '9.8.7 (Claude Code)'\n")
    (fake / "claude").chmod(0o755)
    _, report = examine(project, PATH=f"{fake}:{project.env['PATH']}")
    assert report["client"]["version"] == "9.8.7"


def test_no_gate_looks_at_a_canary_and_a_canary_s_id_exempts_nothing_else(project: Cli) -> None:
    project.run("setup", "--yes")
    (project.project / ".git/HEAD").write_text("ref: refs/heads/feature\n")
    (project.project / ".claude/requirements.yaml").write_text(REQUIRED)
    code, report = examine(project)
    assert report["requirements"] == {"governed": True, "enabled": ["commit_plan"], "branch": "feature"}
    assert (code, report["hooks"]["recorded"]) == (0, 10), problems(report)
    assert not list((project.project / ".git").glob("requirements/*.json")), "nothing was armed"
    asked = {
        "cwd": str(project.project),
        "session_id": f"{CANARY_PREFIX}x",
        "home": project.env["HOME"],
        "at": 1e9,
    }
    assert decide(gate_event("PreToolUse", tool_name="Edit", **asked), GateCache()).decision == "deny"
    assert decide(gate_event("PreToolUse", tool_name=CANARY_TOOL, **asked), GateCache()).decision == ""


def test_canaries_that_were_left_go_with_the_next_one_that_is_taken(tmp_path: Path) -> None:
    """A doctor that was killed must not leave its events for good; one at work must keep its own."""
    with SessionStore(open_database(tmp_path / "db")) as store:
        canaries, now = CanaryEvents(store.engine), 10 * LEFT_MS

        def send(name: str, at_ms: int) -> None:
            event = HookEvent(
                EventKind.POST_TOOL, CANARY_PREFIX + name, f"id-{name}", at_ms, tool_name=CANARY_TOOL
            )
            canaries.append(event)
            canaries.append(event)  # as a hook's second try

        send("left", now - LEFT_MS - 1)
        send("other", now - 1)
        send("own", now)
        assert [one.event_id for one in canaries.take(f"{CANARY_PREFIX}own", now)] == ["id-own"]
        assert [one.event_id for one in canaries.take(f"{CANARY_PREFIX}left", now)] == []
        assert [one.event_id for one in canaries.take(f"{CANARY_PREFIX}other", now)] == ["id-other"]
        assert _events(store) == []


def test_people_read_problems_with_their_cures(project: Cli) -> None:
    done = project.run("doctor", timeout=100)
    assert done.returncode == 1 and done.stdout.endswith("1 problem to fix\n")
    assert "! no settings file" in done.stdout and "`context-graph-cli setup`" in done.stdout
    assert "0, no event yet" in done.stdout and "no session summary yet" in done.stdout
    assert is_sound([Finding("note", "x")]) and not is_sound([Finding("warning", "x")])


def test_findings_fit_a_narrow_terminal_and_no_path_is_cut() -> None:
    path = "/a/folder/with/a/name/that/is/longer/than/the/line/settings.json"
    report = {"findings": [Finding("error", f"{path} can't be read by anybody here", "mend it").as_dict()]}
    lines = findings_text(report, 40).splitlines()
    assert path in lines[0] or path in lines[1].strip()
    assert all(len(line) <= 40 for line in lines if path not in line) and lines[-1] == "1 problem to fix"
    assert findings_text(report).splitlines()[0] == f"✗ {path} can't be read by anybody here"


def test_on_a_narrow_terminal_no_path_is_cut(project: Cli) -> None:
    """One that ends in an ellipsis can't be copied."""
    ours, theirs = pty.openpty()
    env = {**project.env, "COLUMNS": "44", "TERM": "xterm"}
    command = [project.launcher, "status"]
    subprocess.run(command, env=env, cwd=project.project, stdin=subprocess.DEVNULL, stdout=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    cells = [line[14:].strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()]
    assert "\x1b[" in shown and "…" not in shown and str(project.project) in "".join(cells)


def test_status_shows_the_session_and_its_line(project: Cli) -> None:
    assert "nothing measured yet" in project.run("status").stdout
    work_session(project, "s-1", end=False)
    shown = project.run("status", "--verbose").stdout
    assert "continuity 0." in shown or "continuity 1." in shown
    found = json.loads(project.run("status", "--json").stdout)
    assert found["figures"]["identity"]["session_id"] == "s-1"
    assert found["figures"]["store"]["sessions"]["count"] == 1
    brief = project.run("consciousness", "brief", "--session-id", "s-1").stdout
    asked = json.dumps({"session_id": "s-1", "cwd": str(project.project)})
    assert project.run("status", "--line", stdin=asked).stdout == brief, "no requirements, no word of them"
    (project.project / ".git/HEAD").write_text("ref: refs/heads/feature\n")
    (project.project / ".claude").mkdir(exist_ok=True)
    (project.project / ".claude/requirements.yaml").write_text(REQUIRED)
    line = project.run("status", "--line", stdin=asked).stdout
    told = project.run("req", "statusline", stdin=asked).stdout
    assert line == f"{brief.strip()}  {told}" and "commit_plan" in line
    project.run("owner", "stop")
    assert project.run("status", "--line", stdin=asked).stdout == line, (
        "an owner is started for what is required"
    )
    assert json.loads(project.run("owner", "status", "--json").stdout)["running"] is True
    hook(project, "session-end", "s-1", reason="other")
