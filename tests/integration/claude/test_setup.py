"""`setup`: what is there stays byte for byte, a second run changes nothing, `--remove` brings it all back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.cli import Cli
from tests.support.examples import examples

from context_graph.claude.events import REGISTERED
from context_graph.claude.install.entries import (
    SERVER,
    add_server,
    add_to_settings,
    allowed,
    drop_server,
    take_from_settings,
)
from context_graph.claude.settings.hook_commands import MISSING, command_line, hook_problems

(STOP,) = (event for event in REGISTERED if event.name == "Stop")
THEIRS = """{
    "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
\t"hooks": {
        "PreToolUse": [ {"matcher": "Edit", "hooks": [{"type": "command", "command": "true"}]} ]
    },
    "env": { "A" : "1" }
}"""
SERVERS = '{ "mcpServers": {"other": {"command": "x"}} }\n'


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` with its bytes, and every folder."""
    found: dict[str, bytes] = {}
    for place, folders, files in os.walk(folder):
        if ".git" in folders:
            folders.remove(".git")
        found[os.path.relpath(place, folder) + "/"] = b""
        for name in files:
            path = Path(place) / name
            found[os.path.relpath(path, folder)] = path.read_bytes()
    return found


def test_a_fresh_project_gets_hooks_tools_skills_and_permissions_and_is_bare_again(cli: Cli) -> None:
    before = tree(cli.project)
    cli.run("setup", "--yes")
    written = json.loads((cli.project / ".claude/settings.json").read_text())
    assert set(written["hooks"]) == {event.name for event in REGISTERED} and hook_problems(written) == []
    assert written["permissions"]["allow"] == list(allowed(SERVER))
    servers = json.loads((cli.project / ".mcp.json").read_text())["mcpServers"]
    assert servers["context-graph"]["args"] == ["mcp"]
    assert (cli.project / ".claude/skills/recall/SKILL.md").is_file()
    once = tree(cli.project)
    assert "nothing to change" in cli.run("setup", "--yes").stdout
    assert tree(cli.project) == once
    cli.run("setup", "--remove", "--yes")
    assert tree(cli.project) == before


def test_what_is_there_stays_and_comes_back_byte_for_byte(cli: Cli) -> None:
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude/settings.json").write_bytes(THEIRS.replace("\n", "\r\n").encode())
    (cli.project / ".mcp.json").write_text(SERVERS)
    before = tree(cli.project)
    cli.run("setup", "--yes", "--status-line")
    after = json.loads((cli.project / ".claude/settings.json").read_text())
    assert after["permissions"]["allow"][0] == "Bash(ls:*)" and after["env"] == {"A": "1"}
    assert after["hooks"]["PreToolUse"][0]["matcher"] == "Edit" and "statusLine" in after
    assert set(json.loads((cli.project / ".mcp.json").read_text())["mcpServers"]) == {
        "other",
        "context-graph",
    }
    cli.run("setup", "--remove", "--yes")
    assert tree(cli.project) == before


def test_files_edited_since_keep_the_edits_and_lose_what_is_ours(cli: Cli) -> None:
    cli.run("setup", "--yes")
    path = cli.project / ".claude/settings.json"
    edited = json.loads(path.read_text())
    edited["model"] = "opus"
    edited["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "true"}]})
    path.write_text(json.dumps(edited))
    skill = cli.project / ".claude/skills/recall/SKILL.md"
    skill.write_text(skill.read_text() + "\nmine\n")
    told = cli.run("setup", "--remove", "--yes").stdout
    assert f"{skill} has been edited and stays" in told
    assert json.loads(path.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
        "model": "opus",
    }
    assert not (cli.project / ".mcp.json").exists()


def test_without_the_record_what_is_ours_is_found_by_its_form(cli: Cli) -> None:
    """A clone of a project that was set up elsewhere has no record of what was there before."""
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude/settings.json").write_text(THEIRS)
    cli.run("setup", "--yes")
    shutil.rmtree(Path(cli.env["CONTEXT_GRAPH_HOME"]) / "setup")
    cli.run("setup", "--remove", "--yes")
    assert (cli.project / ".claude/settings.json").read_text() == THEIRS
    assert not (cli.project / ".mcp.json").exists(), "nothing but ours was in it"
    assert not (cli.project / ".claude/skills").exists()


@pytest.mark.parametrize(
    ("scope", "version", "is_direct"),
    [
        ("--local", "2.2.0", True),
        ("--user", "2.1.197", True),
        ("--local", "2.1.99", False),
        ("--local", "", False),
        ("", "2.2.0", False),
    ],
)
def test_a_client_that_runs_hooks_without_a_shell_gets_them_so_in_settings_of_this_machine(
    cli: Cli, tmp_path: Path, scope: str, version: str, is_direct: bool
) -> None:
    """What the client quotes to its model; shared settings name no folder of one machine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "context-graph-cli").symlink_to(cli.launcher)
    if version:
        (folder / "claude").write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        (folder / "claude").chmod(0o755)
    env = {"PATH": f"{folder}:/usr/bin:/bin"}
    assert cli.run("setup", "--yes", *([scope] if scope else []), env=env).returncode == 0
    places = {"--user": Path(cli.env["CLAUDE_CONFIG_DIR"]) / "settings.json"}
    name = "settings.local.json" if scope == "--local" else "settings.json"
    written = places.get(scope, cli.project / ".claude" / name)
    ((hook,),) = (group["hooks"] for group in json.loads(written.read_text())["hooks"]["Stop"])
    assert (hook.get("args") == ["hooks", "stop", "--format", "claude"]) is is_direct
    assert hook["command"] == (str(folder / "context-graph-cli") if is_direct else command_line(STOP))
    assert "nothing to change" in cli.run("setup", "--yes", *([scope] if scope else []), env=env).stdout
    cli.run("setup", "--remove", "--yes", *(["--user"] if scope == "--user" else []), env=env)
    assert not written.exists()


def test_nothing_is_written_unasked(cli: Cli) -> None:
    before = tree(cli.project)
    assert "+++" in cli.run("setup", "--dry-run", "--diff").stdout
    refused = cli.run("setup")
    assert refused.returncode == 1 and "say --yes to write" in refused.stderr
    assert tree(cli.project) == before


def test_before_it_asks_it_says_on_one_screen_what_goes_where_and_why(cli: Cli) -> None:
    """Each part is two lines; --diff shows every line of the files."""
    (cli.project / ".claude").mkdir()
    settings = cli.project / ".claude/settings.json"
    settings.write_text('{\n  "model": "opus"\n}\n')
    short = cli.run("setup", "--dry-run").stdout.splitlines()
    assert len(short) < 24 and "`--diff` shows every line" in "\n".join(short)
    parts = [line.split()[0] for line in short if line.startswith("  ") and line[2] != " "]
    assert parts == ["hooks", "memory", "skills", "program"]
    whole = cli.run("setup", "--dry-run", "--diff").stdout.splitlines()
    come = sum(line.startswith("+") for line in whole[whole.index('-  "model": "opus"') :])
    (listed,) = [line for line in short if line.startswith("  hooks")]
    assert listed.split()[1:] == [str(settings), f"(+{come}", "-1)"]
    assert "`git add -A` will commit these files" in short[-2] and "`--local`" in short[-2]
    assert "git add" not in cli.run("setup", "--local", "--dry-run").stdout
    told = cli.run("setup", "--yes").stdout.splitlines()
    assert len(told) < 24
    after = told[told.index("next:") + 1 :]
    assert "doctor" in after[0] and "choose Yes" in after[1]
    assert "next:" not in cli.run("setup", "--remove", "--yes").stdout
    assert "completion zsh --help" in cli.run("setup", "--yes", env={"SHELL": "/usr/bin/zsh"}).stdout


def test_the_client_is_not_left_to_ask_about_the_memory_tools(cli: Cli) -> None:
    """Its dialog's default, Enter, switches them off for good: the settings say that they are wanted."""
    path = cli.project / ".claude/settings.json"
    path.parent.mkdir()
    for theirs, wanted in (
        ("{}", ["context-graph"]),
        ('{"enabledMcpjsonServers": ["other"]}', ["other", "context-graph"]),
        ('{"enabledMcpjsonServers": []}', ["context-graph"]),
        ('{"enableAllProjectMcpServers": true}', None),
    ):
        path.write_text(theirs)
        cli.run("setup", "--yes")
        assert json.loads(path.read_text()).get("enabledMcpjsonServers") == wanted
        assert "nothing to change" in cli.run("setup", "--yes").stdout
        cli.run("setup", "--remove", "--yes")
        assert path.read_text() == theirs
    cli.run("setup", "--yes", "--no-mcp")
    assert "enabledMcpjsonServers" not in json.loads(path.read_text())
    cli.run("setup", "--remove", "--yes")
    path.write_text('{"enabledMcpjsonServers": "context-graph"}')
    refused = cli.run("setup", "--yes")
    assert refused.returncode == 1 and "enabledMcpjsonServers must be a list" in refused.stderr
    path.unlink()
    cli.run("setup", "--yes", "--local")
    local = json.loads((cli.project / ".claude/settings.local.json").read_text())
    assert local["enabledMcpjsonServers"] == ["context-graph"]


def test_a_program_that_no_terminal_finds_is_linked_and_the_link_taken_away(cli: Cli, tmp_path: Path) -> None:
    """An activated virtual environment is gone in the next terminal; a link in ~/.local/bin is not."""
    link = Path(cli.env["HOME"]) / ".local/bin/context-graph-cli"
    venv, plain = str(cli.launcher.parent), "/usr/bin:/bin"
    told = cli.run("setup", "--yes", env={"PATH": f"{venv}:{plain}"}).stdout
    assert f"linked {link} to {cli.launcher}" in told and f"{link.parent} is not on PATH" in told
    assert os.path.samefile(link, cli.launcher)
    on_path = {"PATH": f"{plain}:{link.parent}"}
    assert "link" not in cli.run("setup", "--yes", env=on_path).stdout
    assert "note" not in cli.run("setup", "--link", env=on_path).stdout
    link.unlink()
    link.symlink_to(tmp_path / "gone/context-graph-cli")
    assert "linked" in cli.run("setup", "--link", env=on_path).stdout, "one that leads nowhere is replaced"
    assert os.path.samefile(link, cli.launcher)
    assert cli.run("setup", "--link", "--remove", env=on_path).stdout == f"removed {link}\n"
    assert not link.exists()
    link.write_text("another program\n")
    assert "was not made by setup" in cli.run("setup", "--link", env={"PATH": plain}).stdout
    assert cli.run("setup", "--link", "--remove").stdout == "nothing to change\n"
    assert link.read_text() == "another program\n"
    link.unlink()
    told = cli.run("setup", "--dry-run", env={"PATH": plain}).stdout
    assert not link.exists() and "linked" not in told


@pytest.mark.parametrize("where", ["PATH", "link"])
def test_a_hook_finds_the_program_on_path_or_by_the_link(cli: Cli, where: str) -> None:
    """The settings name no folder of this machine, so a project's can be shared."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    cli.run("setup", "--link", env={"PATH": "/usr/bin:/bin"})
    path = f"{cli.launcher.parent}:/usr/bin:/bin" if where == "PATH" else "/usr/bin:/bin"
    given = json.dumps({"session_id": "a", "cwd": str(cli.project), "hook_event_name": "SessionStart"})
    done = shell(command_line(REGISTERED[0]), given, cli, path)
    assert done.returncode == 0 and "New session initialized" in done.stdout


def test_where_the_program_is_missing_a_session_s_start_says_so_and_nothing_else_does(cli: Cli) -> None:
    """A colleague without it, or a terminal that does not find it: told once, held up by nothing."""
    said = {}
    for event in REGISTERED:
        done = shell(command_line(event), "{}", cli, "/usr/bin:/bin")
        assert (done.returncode, done.stderr) == (0, ""), event.name
        said[event.name] = done.stdout
    assert json.loads(said.pop("SessionStart")) == {"systemMessage": MISSING}
    assert set(said.values()) == {""}


def shell(line: str, given: str, cli: Cli, path: str) -> subprocess.CompletedProcess[str]:
    """A hook's line as the client runs it."""
    env = {**cli.env, "PATH": path, "CLAUDE_PROJECT_DIR": str(cli.project)}
    return subprocess.run(
        ["/bin/sh", "-c", line],
        input=given,
        env=env,
        cwd=cli.project,
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize(
    "before",
    [
        "command -v context-graph-cli >/dev/null 2>&1 "
        "&& context-graph-cli hooks {verb} --format claude || true",
        "context-graph hooks {verb} --stdin",
    ],
)
def test_hooks_of_an_earlier_version_are_brought_up_to_date_and_taken_out(cli: Cli, before: str) -> None:
    path = cli.project / ".claude/settings.json"
    path.parent.mkdir()
    old = {
        event.name: [{"hooks": [{"type": "command", "command": before.format(verb=event.verb)}]}]
        for event in REGISTERED
    }
    path.write_text(json.dumps({"hooks": old, "model": "opus"}))
    cli.run("setup", "--yes")
    hooks = json.loads(path.read_text())["hooks"]
    assert [group["hooks"][0]["command"] for event in REGISTERED for group in hooks[event.name]] == [
        command_line(event) for event in REGISTERED
    ]
    shutil.rmtree(Path(cli.env["CONTEXT_GRAPH_HOME"]) / "setup")
    cli.run("setup", "--remove", "--yes")
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_a_byte_order_mark_stays_at_its_place(cli: Cli) -> None:
    """The client reads such a file, so we do."""
    (cli.project / ".claude").mkdir()
    for name in (".claude/settings.json", ".mcp.json"):
        (cli.project / name).write_bytes(b'\xef\xbb\xbf{\r\n  "other": {}\r\n}\r\n')
    before = tree(cli.project)
    cli.run("setup", "--yes")
    for name in (".claude/settings.json", ".mcp.json"):
        raw = (cli.project / name).read_bytes()
        assert raw.startswith(b"\xef\xbb\xbf{") and raw.count(b"\xef\xbb\xbf") == 1
        assert (
            "context-graph" in raw.decode("utf-8-sig") and json.loads(raw.decode("utf-8-sig"))["other"] == {}
        )
    assert "nothing to change" in cli.run("setup", "--yes").stdout
    shutil.rmtree(Path(cli.env["CONTEXT_GRAPH_HOME"]) / "setup")
    assert cli.run("setup", "--remove", "--yes").returncode == 0
    assert tree(cli.project) == before, "without the record, too"


def test_files_without_anything_of_ours_are_no_hindrance_to_taking_out(cli: Cli) -> None:
    (cli.project / ".claude").mkdir()
    for text in ("", "{", "// a comment"):
        (cli.project / ".claude/settings.json").write_text(text)
        (cli.project / ".mcp.json").write_text(text)
        before = tree(cli.project)
        done = cli.run("setup", "--remove", "--yes")
        assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to change\n", "")
        assert tree(cli.project) == before


def test_what_local_has_set_up_goes_with_the_project_and_leaves_others_alone(cli: Cli) -> None:
    before = tree(cli.project)
    cli.run("setup", "--local", "--yes")
    assert not (cli.project / ".claude/settings.json").exists()
    cli.run("setup", "--remove", "--yes")
    assert tree(cli.project) == before, "whoever forgets --local is not left with hooks"

    cli.run("setup", "--yes")
    shared = tree(cli.project)
    cli.run("setup", "--local", "--yes")
    cli.run("setup", "--remove", "--local", "--yes")
    assert tree(cli.project) == shared, "servers and skills are the project's"
    cli.run("setup", "--local", "--yes")
    cli.run("setup", "--remove", "--yes")
    assert tree(cli.project) == before


def test_another_program_s_server_of_our_name_stays_and_gets_no_permissions(cli: Cli) -> None:
    own = json.dumps({"mcpServers": {"context-graph": {"command": "docker", "args": ["run", "x"]}}})
    (cli.project / ".mcp.json").write_text(own)
    told = cli.run("setup", "--yes").stdout
    assert "another program's server 'context-graph'" in told
    assert (cli.project / ".mcp.json").read_text() == own
    assert "permissions" not in json.loads((cli.project / ".claude/settings.json").read_text())
    (cli.project / ".mcp.json").write_text(own.replace("docker", "/opt/bin/context-graph-cli"))
    assert "another program's" not in cli.run("setup", "--yes").stdout
    assert "permissions" in json.loads((cli.project / ".claude/settings.json").read_text())


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "memgraph-context-graph", "args": ["mcp"]},
        {"command": "/usr/bin/python3", "args": ["-m", "memgraph_context_graph.cli", "mcp"]},
        {"command": "/srv/context-graph/run.sh", "args": ["--name", "context-graph"]},
        {"type": "http", "url": "https://context-graph.example/mcp"},
    ],
)
def test_beside_another_program_of_nearly_our_name_ours_has_another(cli: Cli, entry: dict[str, Any]) -> None:
    path, settings_file = cli.project / ".mcp.json", cli.project / ".claude/settings.json"
    own = json.dumps({"mcpServers": {"context-graph": entry}})
    path.write_text(own)
    told = cli.run("setup", "--yes").stdout
    assert "another program's server" in told and "--server-name" in told and path.read_text() == own
    assert "enabledMcpjsonServers" not in json.loads(settings_file.read_text())
    cli.run("setup", "--yes", "--server-name", "cg-memory")
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers["context-graph"] == entry and servers["cg-memory"]["command"] == "context-graph-cli"
    written = json.loads(settings_file.read_text())
    assert written["enabledMcpjsonServers"] == ["cg-memory"]
    assert "mcp__cg-memory__store_memory" in written["permissions"]["allow"]
    assert "mcp__context-graph__store_memory" not in written["permissions"]["allow"]
    shutil.rmtree(Path(cli.env["CONTEXT_GRAPH_HOME"]) / "setup")
    cli.run("setup", "--remove", "--yes")
    assert json.loads(path.read_text()) == json.loads(own), "without the record, too"
    assert not settings_file.exists()


def test_a_link_that_led_nowhere_leads_nowhere_again(cli: Cli) -> None:
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude/settings.json").symlink_to(cli.project / "dotfiles/settings.json")
    cli.run("setup", "--yes")
    assert "hooks" in json.loads((cli.project / "dotfiles/settings.json").read_text())
    cli.run("setup", "--remove", "--yes")
    assert (cli.project / ".claude/settings.json").is_symlink() and not (cli.project / "dotfiles").exists()


def test_a_file_that_can_t_be_written_leaves_all_as_they_were(cli: Cli) -> None:
    """Settings are written last; what came before is taken back."""
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude/settings.json").symlink_to(cli.project / "full/settings.json")
    (cli.project / "full").symlink_to("/proc/self/fdinfo")  # nobody makes files there
    (cli.project / ".mcp.json").write_text(SERVERS)
    refused = cli.run("setup", "--yes")
    assert refused.returncode == 1 and "settings.json can't be written" in refused.stderr
    assert (cli.project / ".mcp.json").read_text() == SERVERS
    assert os.listdir(cli.project / ".claude") == ["settings.json"]


def test_in_the_home_folder_it_says_whose_settings_these_are(cli: Cli) -> None:
    home = Path(cli.env["CLAUDE_CONFIG_DIR"]).parent
    env = {"CLAUDE_CONFIG_DIR": str(home / ".claude")}
    home.mkdir(parents=True, exist_ok=True)
    assert "hooks run in every project" in cli.run("setup", "--dry-run", cwd=home, env=env).stdout
    assert "every project" not in cli.run("setup", "--dry-run").stdout


@pytest.mark.parametrize("broken", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": [{"hooks": [{}]}]}}'])
def test_settings_that_can_t_be_merged_are_refused_and_named(cli: Cli, broken: str) -> None:
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude/settings.json").write_text(broken)
    before = tree(cli.project)
    refused = cli.run("setup", "--yes")
    assert refused.returncode == 1 and "settings.json" in refused.stderr and "fix" in refused.stderr
    assert tree(cli.project) == before


def test_for_the_user_it_writes_the_client_s_folder_and_leaves_the_client_s_state_alone(cli: Cli) -> None:
    home = Path(cli.env["CLAUDE_CONFIG_DIR"])
    told = cli.run("setup", "--user", "--yes").stdout
    assert (home / "settings.json").is_file() and (home / "skills/recall/SKILL.md").is_file()
    assert "claude mcp add --scope user context-graph" in told
    assert not (cli.project / ".claude").exists() and not (cli.project / ".mcp.json").exists()
    cli.run("setup", "--user", "--remove", "--yes")
    assert not (home / "settings.json").exists()


def test_in_a_linked_worktree_its_own_files_are_written(cli: Cli, tmp_path: Path) -> None:
    tree_of_its_own = tmp_path / "linked"
    (tree_of_its_own / "src").mkdir(parents=True)
    (tree_of_its_own / ".git").write_text(f"gitdir: {cli.project}/.git/worktrees/linked\n")
    cli.run("setup", "--yes", cwd=tree_of_its_own / "src")
    assert (tree_of_its_own / ".claude/settings.json").is_file()
    assert not (cli.project / ".claude").exists()


def test_a_skill_of_the_user_s_own_is_not_touched(cli: Cli) -> None:
    own = cli.project / ".claude/skills/recall/SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_text("my own\n")
    assert "so it stays as it is" in cli.run("setup", "--yes").stdout
    cli.run("setup", "--remove", "--yes")
    assert own.read_text() == "my own\n"


KEYS = st.sampled_from(["env", "permissions", "hooks", "model", "statusLine", "mcpServers", "other"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "env": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        "permissions": st.fixed_dictionaries(
            {}, optional={"allow": st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=3)}
        ).filter(bool),
        "hooks": st.dictionaries(
            st.sampled_from(["Stop", "PreToolUse"]),
            st.just([{"matcher": "Edit", "hooks": [{"type": "command", "command": "true"}]}]),
            min_size=1,
            max_size=2,
        ),
        "other": VALUES,
    },
)


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SETTINGS, st.sampled_from([None, 0, 2, 4, "\t"]), st.booleans())
def test_taking_out_is_the_inverse_of_putting_in(value: dict[str, Any], indent: Any, status: bool) -> None:
    text = json.dumps(value, indent=indent)
    put = add_to_settings(text, permissions=True, status_line=status)
    assert json.loads(put)["hooks"].keys() >= {event.name for event in REGISTERED}
    if value:
        assert take_from_settings(put) == text
    servers = json.dumps({"mcpServers": {"a": {}}, **value}, indent=indent)
    assert drop_server(add_server(servers)) == servers
