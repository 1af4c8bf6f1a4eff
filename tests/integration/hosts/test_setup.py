"""`setup --host` as a process: what it writes for each host, and that --remove takes exactly that out."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli

from context_graph.claude.hosts.install import NAMES
from context_graph.claude.hosts.translate import HOSTS

HOOKS = {"codex": ".codex/hooks.json", "gemini": ".gemini/settings.json", "cursor": ".cursor/hooks.json"}
SERVERS = {
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/mcp.json",
    "opencode": "opencode.json",
}
OTHERS: dict[str, dict[str, str]] = {
    "codex": {
        ".codex/hooks.json": '{\n\t"hooks": {\n\t\t"Stop": [{"hooks": [{"type":"command","command":"a"}]}]}}',
        ".codex/config.toml": '# mine\nmodel = "x"\n\n[mcp_servers.other]  # stays\ncommand = "other"',
    },
    "gemini": {
        ".gemini/settings.json": '{"ui": {"theme": "x"},\r\n "mcpServers": {"other": {"command": "o"}},\r\n'
        ' "hooks": {"BeforeTool": [{"matcher": "a", "hooks": []}], "AfterModel": []}}\r\n'
    },
    "cursor": {
        ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "./a"}], "afterFileEdit": []}}',
        ".cursor/mcp.json": '{"mcpServers": {"other": {"command": "o"}}}\n',
    },
    "opencode": {
        "opencode.json": '{\n    "model": "x",\n    "mcp": {"other": {"type": "remote", "url": "u"}}\n}\n'
    },
}
"""What a person had there before, in forms of their own."""


def run(cli: Cli, host: str, *words: str, code: int = 0, **env: str) -> str:
    done = cli.run("setup", "--host", host, *words, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def write(cli: Cli, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = cli.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below, git's own apart; folders too."""
    found = (path for path in folder.rglob("*") if ".git" not in path.relative_to(folder).parts)
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in found}


def commands(document: Any) -> list[str]:
    """Every hook's command, in either form."""
    groups = [entry for entries in document.get("hooks", {}).values() for entry in entries]
    return [one["command"] for group in groups for one in group.get("hooks", [group])]


def server_in(cli: Cli, host: str) -> Any:
    text = (cli.project / SERVERS[host]).read_text()
    document = tomllib.loads(text) if host == "codex" else json.loads(text)
    key = {"codex": "mcp_servers", "opencode": "mcp"}.get(host, "mcpServers")
    return document[key]["context-graph"]


@pytest.mark.parametrize("host", NAMES)
@pytest.mark.parametrize("had", ["nothing", "files"])
def test_what_was_added_is_taken_out_byte_for_byte(cli: Cli, host: str, had: str) -> None:
    write(cli, OTHERS[host] if had == "files" else {})
    before = tree(cli.project)
    run(cli, host, "--yes")
    assert tree(cli.project) != before
    assert "nothing to change" in run(cli, host, "--yes")
    run(cli, host, "--remove", "--yes")
    assert tree(cli.project) == before


@pytest.mark.parametrize("host", NAMES)
def test_from_files_that_were_edited_since_only_our_part_goes(cli: Cli, host: str) -> None:
    write(cli, OTHERS[host])
    run(cli, host, "--yes")
    for name in OTHERS[host]:
        path = cli.project / name
        text = path.read_text()
        path.write_text(text + "\n# later\n" if name.endswith("toml") else text + "\n")
    run(cli, host, "--remove", "--yes")
    for name, text in OTHERS[host].items():
        left = (cli.project / name).read_text()
        assert "context-graph" not in left
        if name.endswith("toml"):
            assert tomllib.loads(left) == tomllib.loads(text)
            assert "# mine" in left and "# stays" in left and "# later" in left
        else:
            assert json.loads(left) == json.loads(text)


@pytest.mark.parametrize("host", NAMES)
def test_every_event_and_the_server_are_there(cli: Cli, host: str) -> None:
    write(cli, OTHERS[host])
    run(cli, host, "--yes")
    server = server_in(cli, host)
    words = server["command"] if host == "opencode" else [server["command"], *server["args"]]
    assert words == ["context-graph-cli", "mcp"]
    if host == "opencode":
        return
    document = json.loads((cli.project / HOOKS[host]).read_text())
    ours = [command for command in commands(document) if "context-graph-cli" in command]
    assert all(f"--format {host}" in command for command in ours)
    named = {
        name for name, entries in document["hooks"].items() if "context-graph-cli" in json.dumps(entries)
    }
    assert named == {*HOSTS[host].events.values(), *HOSTS[host].also} - {"SubagentStop"}


@pytest.mark.parametrize("host", HOOKS)
def test_hooks_hold_nothing_up_where_the_program_is_missing(cli: Cli, host: str, tmp_path: Path) -> None:
    run(cli, host, "--yes")
    for command in commands(json.loads((cli.project / HOOKS[host]).read_text())):
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=b"{}",
            capture_output=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert not done.stdout or json.loads(done.stdout).keys() == {"systemMessage"}


@pytest.mark.parametrize("host", NAMES)
def test_nothing_is_written_without_a_yes(cli: Cli, host: str) -> None:
    shown = run(cli, host, "--dry-run")
    assert SERVERS[host] in shown
    assert "+" in run(cli, host, "--dry-run", "--diff")
    assert "nothing was written" in run(cli, host, code=1)
    assert not tree(cli.project)


@pytest.mark.parametrize("host", NAMES)
def test_files_that_cannot_be_read_are_named_and_left(cli: Cli, host: str) -> None:
    broken = {name: "{ // a comment\n" for name in OTHERS[host]}
    write(cli, broken)
    before = tree(cli.project)
    said = run(cli, host, "--yes", code=1)
    assert any(name in said for name in broken)
    assert tree(cli.project) == before


@pytest.mark.parametrize("host", NAMES)
def test_a_server_of_our_name_that_is_not_ours_stays(cli: Cli, host: str) -> None:
    theirs = '{"context-graph": {"command": "theirs", "args": []}}'
    key = "mcp" if host == "opencode" else "mcpServers"
    text = f'{{"{key}": {theirs}}}'
    if host == "codex":
        text = '[mcp_servers.context-graph]\ncommand = "theirs"\n'
    write(cli, {SERVERS[host]: text})
    assert "another server called" in run(cli, host, "--yes")
    assert server_in(cli, host)["command"] == "theirs"
    run(cli, host, "--remove", "--yes")
    assert server_in(cli, host)["command"] == "theirs"


@pytest.mark.parametrize(
    ("host", "variable", "file"),
    [
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("opencode", "OPENCODE_CONFIG_DIR", "opencode.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
    ],
)
def test_a_host_s_own_home_is_heeded(cli: Cli, tmp_path: Path, host: str, variable: str, file: str) -> None:
    home = tmp_path / "elsewhere"
    home.mkdir()
    run(cli, host, "--user", "--yes", **{variable: str(home)})
    assert "context-graph-cli" in (home / file).read_text()
    run(cli, host, "--user", "--remove", "--yes", **{variable: str(home)})
    assert not tree(home)
    assert not tree(cli.project)


@pytest.mark.parametrize("host", HOOKS)
def test_hooks_are_in_one_place(cli: Cli, host: str) -> None:
    """With the user's own in place a project's would send every event twice."""
    run(cli, host, "--user", "--yes")
    assert "have the hooks already" in run(cli, host, "--yes")
    path = cli.project / HOOKS[host]
    assert not path.exists() or not commands(json.loads(path.read_text()))


def test_only_claude_code_s_options_are_refused(cli: Cli) -> None:
    assert "Claude Code alone" in run(cli, "codex", "--local", code=2)


def test_the_tools_can_be_left_out(cli: Cli) -> None:
    run(cli, "codex", "--no-mcp", "--yes")
    assert tree(cli.project).keys() == {".codex", ".codex/hooks.json"}
