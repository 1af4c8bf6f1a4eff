"""`req …` as people and agents use it: what it prints, which session it means, what it leaves behind."""

from __future__ import annotations

import ctypes
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.gates.installed import A, B, GateProject, no_owner

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1

CONFIG = """
version: "1.0"
inherit: false
requirements:
  plan: {enabled: true, scope: session, short_message: Say first what you will change.}
  size: {enabled: true, scope: branch}
  sign_off: {enabled: true, scope: session, human_only: true, stop_only: true}
  later: {enabled: false}
"""


@pytest.fixture
def project(cli: Cli) -> GateProject:
    return GateProject.make(cli, CONFIG)


def test_status_shows_marks_scopes_reasons_and_the_next_command(project: GateProject) -> None:
    """Status [--verbose --summary]; `req` alone is status."""
    project.req("satisfy", "size", "--session", A)
    shown = project.req("status", "--session", A)
    age = re.compile(r"\d+ s ago")
    assert age.sub("", shown) == age.sub("", project.req("--session", A))
    assert shown.splitlines()[0] == f"feature/x · {A} · {project.root}"
    assert re.search(r"^✗ plan +session: not satisfied$", shown, re.MULTILINE)
    assert re.search(r"^✓ size +branch: by cli, \d+ s ago$", shown, re.MULTILINE)
    assert "later" not in shown and "human_only" in shown
    assert shown.rstrip().endswith("`context-graph-cli req satisfy plan sign_off`")
    verbose = project.req("status", "--verbose", "--session", A)
    assert (
        "Say first what you will change." in verbose
        and "on Edit, Write" in verbose
        and "off: later" in verbose
    )
    summary = project.req("status", "--summary", "--session", A)
    assert summary == "2 of 3 requirements unmet on feature/x: plan, sign_off\n"


def test_without_a_session_status_complains_of_nothing_and_its_command_works(project: GateProject) -> None:
    project.configure(
        "version: '1.0'\nenabled: true\nrequirements:\n  plan: {enabled: true, scope: session}\n"
    )
    status = project.cli.run("req", "status")
    assert (status.returncode, status.stderr) == (0, "")
    assert status.stdout.splitlines()[0].split(" · ")[1] == "no live session (--session ID names one)"
    (command,) = re.findall(r"`context-graph-cli req ([^`]+)`", status.stdout)
    assert command == "satisfy plan --branch feature/x"
    assert "satisfied: plan" in project.req(*command.split())
    after = project.req("status")
    assert "✓ plan" in after and "When this is done" not in after


def test_status_json_is_what_programs_need(project: GateProject) -> None:
    """Status --json, also of another branch."""
    document = json.loads(project.req("status", "--json", "--session", A[:8], "--branch", "other"))
    assert (document["branch"], document["governed"], document["paused"]) == ("other", True, False)
    assert document["requirements"]["plan"] | {"why": "", "triggers": []} == {
        "satisfied": False,
        "triggered": False,
        "scope": "session",
        "enabled": True,
        "type": "blocking",
        "why": "",
        "satisfied_by": None,
        "satisfied_at": None,
        "expires_at": None,
        "value": None,
        "stop_only": False,
        "human_only": False,
        "triggers": [],
        "text": "Say first what you will change.",
    }


def test_the_client_s_session_is_meant_where_none_is_named(project: GateProject) -> None:
    """CLAUDE_CODE_SESSION_ID; without it a usage error that says what to do."""
    assert "for session " + A in project.req("satisfy", "plan", CLAUDE_CODE_SESSION_ID=A)
    assert project.edit(A).names == ["size"]
    other = GateProject(Cli(project.cli.launcher, project.root, {**project.cli.env, "HOME": "/nonexistent"}))
    other.env["CLAUDE_CONFIG_DIR"] = "/nonexistent"
    said = other.req("satisfy", "plan", code=1)
    assert "--session ID" in said and "--branch NAME" in said


def test_a_short_id_that_fits_two_sessions_is_refused_with_both(project: GateProject) -> None:
    """D1.5: ambiguous aliases are refused with the list."""
    twins = [f"cad0ac4d-0000-4000-8000-00000000000{number}" for number in (1, 2)]
    for twin in twins:
        project.req("satisfy", "plan", "--session", twin)
    said = project.req("satisfy", "plan", "--session", "cad0ac4d", code=1)
    assert all(twin in said for twin in twins)


def test_what_a_person_alone_may_satisfy_takes_a_terminal_and_no_agent(project: GateProject) -> None:
    """Human_only is not satisfied through an agent's shell, nor through a pipe."""
    said = project.req("satisfy", "sign_off", "--session", A, code=1, CLAUDECODE="1")
    assert "by a person only" in said
    assert "terminal" in project.req("satisfy", "sign_off", "--session", A, code=1)
    argv = [str(project.cli.launcher), "req", "satisfy", "sign_off", "--session", A]
    terminal, ours = pty.openpty()
    try:
        done = subprocess.run(
            argv, stdin=ours, env=dict(project.cli.env), cwd=project.root, capture_output=True, check=False
        )
    finally:
        os.close(terminal)
        os.close(ours)
    assert done.returncode == 0, done.stderr
    shown = json.loads(project.req("status", "--json", "--session", A))
    assert shown["requirements"]["sign_off"]["satisfied"] is True


def test_commands_report_without_an_owner_and_without_starting_one(project: GateProject) -> None:
    """Best effort by the event log; the note a person wrote stays out of it."""
    with no_owner(project.cli):
        project.req("satisfy", "plan", "--session", A)
        project.req("pause", "--session", A, "--reason", "token=hunter2")
        assert "the store" not in project.req("status", "--session", A)
    assert not (project.data / "run" / "owner.sock").exists()
    kinds = [record["body"]["records"][0]["kind"] for record in project.logged()]
    assert sorted(kinds) == ["paused", "satisfied"]
    assert "hunter2" not in json.dumps(project.logged())
    assert [one["kind"] for one in project.log()] == ["satisfied", "paused"]


def test_the_log_falls_back_to_the_project_s_journal_and_says_so(project: GateProject) -> None:
    """`req log` is of use where no owner can be had."""
    project.req("satisfy", "plan", "--session", A)
    done = project.cli.run("req", "log", env={"CONTEXT_GRAPH_HOME": "/proc/nowhere"})
    assert done.returncode == 0 and "satisfied" in done.stdout and "plan" in done.stdout
    assert "the project's own journal" in done.stderr


def test_the_log_is_readable(project: GateProject) -> None:
    """Newest first, one line an entry, filters."""
    project.edit(B)
    project.req("satisfy", "plan", "--session", A)
    lines = [line for line in project.req("log").splitlines() if not line.startswith(" ")]
    assert re.match(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  satisfied  plan  \(by agent, feature/x, cad0ac4d\)$", lines[0]
    )
    assert re.search(r"denied +plan, size  \(Edit, feature/x, b5c0de11\)$", lines[1])
    assert "  satisfied  " not in project.req("log", "--requirement", "size")
    assert project.req("log", "--kind", "consumed") == "nothing was refused or satisfied yet\n"
    assert "--limit" in project.req("log", "--limit", "0", code=2)


def test_every_command_says_what_it_did(project: GateProject) -> None:
    """The whole surface, in words for people."""
    assert project.req("clear", "plan", "--session", A) == f"nothing to clear on feature/x for session {A}\n"
    project.req("satisfy", "plan", "--session", A, "--ttl", "1h", "--metadata", '{"why": "x"}')
    assert project.req("clear", "plan", "--session", A) == f"cleared: plan on feature/x for session {A}\n"
    assert "--metadata" in project.req("satisfy", "plan", "--session", A, "--metadata", "[1]", code=2)
    assert "paused for session" in project.req("pause", "--session", A)
    assert "hold again" in project.req("resume", "--session", A)
    assert "was not paused" in project.req("resume", "--session", A)
    assert project.req("list").startswith("* feature/x")
    assert project.req("prune", "--preview") == "would remove: nothing: every branch with state exists\n"
    assert "enabled in" in project.req("enable", "later")
    assert "disabled in" in project.req("disable", "later")
    assert "later:" in project.req("config", "show")
    assert "requirements.later.enabled  <- local" in project.req("config", "show", "later", "--sources")
    assert project.req("check", "Read") == "allow on feature/x\n"
    assert project.req("check", "Edit", code=1).startswith("deny: plan, size\n")
    assert json.loads(project.req("check", "Edit", "--json", code=1))["requirements"] == ["plan", "size"]
    project.edit(B)
    assert B in project.req("sessions", "--project")
    assert "is there already" in project.req("init", code=1)
    assert project.req("init", "--preset", "strict", "--preview").startswith("# ")
    assert "did you mean plan? --force" in project.req("satisfy", "plam", "--session", A, code=1)
    assert "no such option: --bogus; did you mean" in project.req("status", "--bogus", code=2)


def test_the_doctor_names_what_keeps_the_gates_from_holding(project: GateProject) -> None:
    """Settings that call nobody, all hooks off, an entry that is dropped; 1 for errors only."""
    said = project.req("doctor", code=1)
    assert "no settings file calls the hooks of PreToolUse" in said and "context-graph-cli setup" in said
    assert "are sound" not in said
    project.cli.run("hooks", "generate-config")
    sound = json.loads(project.req("doctor", "--json"))
    assert sound["sound"] is True and "no settings file" not in json.dumps(sound)
    local = project.root / ".claude" / "settings.local.json"
    local.write_text('{"disableAllHooks": true}')
    assert "disableAllHooks" in project.req("doctor", code=1)
    local.write_text("{")
    assert "the client ignores the whole file" in project.req("doctor", code=1)
    local.unlink()
    project.configure(CONFIG + "  odd: {enabled: true, scope: sometimes}\n")
    assert "odd" in project.req("doctor", code=1)


def test_outside_a_repository_the_commands_say_so(project: GateProject, tmp_path: Path) -> None:
    """A usage error, not a traceback."""
    (tmp_path / "plain").mkdir()
    done = project.cli.run("req", "status", cwd=tmp_path / "plain")
    assert (done.returncode, done.stdout) == (1, "") and "no git repository" in done.stderr


def test_req_is_the_same_by_its_own_name_and_through_typer(project: GateProject, tmp_path: Path) -> None:
    """The script alias, and the way that serves what is not plain."""
    shutil.copy(Path(__file__).parents[3] / "ext" / "scripts" / "req", tmp_path)
    (tmp_path / "context-graph-cli").symlink_to(project.cli.launcher)
    done = subprocess.run(
        [str(tmp_path / "req"), "status", "--json", "--session", A],
        env=dict(project.cli.env),
        cwd=project.root,
        capture_output=True,
        check=False,
    )
    quick = json.loads(project.req("status", "--json", "--session", A))
    assert (done.returncode, json.loads(done.stdout)) == (0, quick)
    typed = project.cli.run("req", "status", "--json", f"-s{A}")  # a spelling that Typer alone knows
    assert (typed.returncode, json.loads(typed.stdout)) == (0, quick)
    assert "satisfy" in project.req("--help") and "--ttl" in project.req("satisfy", "--help")


def test_a_plain_command_loads_neither_typer_nor_the_client(project: GateProject) -> None:
    """Agents run it between two tool calls."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from context_graph.cli.main import main\n"
        "try:\n"
        f"    main(['req', 'satisfy', 'plan', '--session', '{A}'])\n"
        "finally:\n"
        "    print(*sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=dict(project.cli.env),
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert "yaml" in loaded and not {"typer", "click", "asyncio", "numpy", "rocksdict"} & loaded


def test_check_ends_with_1_where_the_call_would_be_held(project: GateProject) -> None:
    """So that a git hook can ask."""
    assert "plan" in project.req("check", "Edit", "--session", A, code=1)
    assert json.loads(project.req("check", "Edit", "--session", A, "--json", code=1))["decision"] == "deny"
    assert project.req("check", "Read", "--session", A).startswith("allow")


def test_the_doctor_is_not_sound_where_the_configuration_is_a_link_to_nothing(project: GateProject) -> None:
    project.cli.run("setup", "--yes", "--no-mcp", "--no-skills")
    assert "sound" in project.req("doctor")
    path = project.root / ".claude" / "requirements.yaml"
    path.unlink()
    path.symlink_to("elsewhere.yaml")
    said = project.req("doctor", code=1)
    assert "is a link to elsewhere.yaml, which is not there" in said and "are sound" not in said


def test_the_doctor_says_whether_the_gates_are_strict(project: GateProject) -> None:
    for option, words in (("--strict-gates", "gates are strict"), ("--no-strict-gates", "pass unchecked")):
        assert project.cli.run("setup", "--yes", "--no-mcp", "--no-skills", option).returncode == 0
        assert words in project.req("doctor")


def test_init_says_that_no_hooks_are_registered(project: GateProject) -> None:
    (project.root / ".claude" / "requirements.yaml").unlink()
    assert "context-graph-cli setup" in project.req("init")
    project.cli.run("setup", "--yes", "--no-mcp", "--no-skills")
    assert "context-graph-cli setup" not in project.req("init", "--force")
    assert "req keys" in (project.root / ".claude" / "requirements.yaml").read_text()


def test_the_keys_are_told(project: GateProject) -> None:
    assert "single_use" in project.req("keys", "scope")
    assert len(json.loads(project.req("keys", "--json"))["keys"]) > 30
    assert "no key 'colour'" in project.req("keys", "colour", code=1)


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("disable plan", ".claude"),
        ("enable plan", ".claude"),
        ("init --force", ".claude"),
        ("init --local", ".claude"),
        ("satisfy plan --session s1", ".git"),
        ("clear plan --session s1", ".git"),
        ("pause --session s1", ".git"),
        ("prune", ".git"),
        ("doctor", ".git"),
        ("doctor", ".claude"),
        ("status --session s1", "home"),
    ],
)
def test_a_folder_that_cannot_be_written_is_named_with_its_cure(
    project: GateProject, command: str, folder: str
) -> None:
    """One sentence and no traceback, for somebody to whom permissions apply."""
    place = Path(project.cli.env["HOME"]) if folder == "home" else project.root / folder
    done = _without_rights(project, command.split(), place)
    said = done.stdout + done.stderr
    assert "Traceback" not in said and done.returncode in (0, 1), said
    if command.split()[0] in ("disable", "enable", "init", "satisfy", "pause"):
        assert done.returncode == 1
        assert str(place) in done.stderr and "make it writable" in done.stderr, said
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def _without_rights(project: GateProject, words: list[str], closed: Path) -> subprocess.CompletedProcess[str]:
    """The command while ``closed`` and all below it is read-only, also for root: without CAP_DAC_OVERRIDE."""
    for path in (closed, *closed.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    libc = ctypes.CDLL(None)

    def drop() -> None:
        libc.prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)

    return subprocess.run(
        [str(project.cli.launcher), "req", *words],
        cwd=project.root,
        env=project.cli.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=drop,
    )
