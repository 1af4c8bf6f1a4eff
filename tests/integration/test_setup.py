"""`setup`: what is there stays byte for byte, a second run changes nothing, `--remove` brings it all back."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import Cli

from context_graph.hooks_config.events import EVENTS
from context_graph.hooks_config.schema import hook_problems
from context_graph.setup.entries import (
    ALLOWED,
    add_server,
    add_to_settings,
    drop_server,
    take_from_settings,
)

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
    assert set(written["hooks"]) == {event.name for event in EVENTS} and hook_problems(written) == []
    assert written["permissions"]["allow"] == list(ALLOWED)
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
    assert (cli.project / ".mcp.json").read_text() == "{}\n"
    assert not (cli.project / ".claude/skills").exists()


def test_nothing_is_written_unasked(cli: Cli) -> None:
    before = tree(cli.project)
    assert "+++" in cli.run("setup", "--dry-run").stdout
    refused = cli.run("setup")
    assert refused.returncode == 1 and "nothing was written. Say --yes" in refused.stderr
    assert tree(cli.project) == before


def test_before_it_asks_it_lists_the_files(cli: Cli) -> None:
    """Diffs of new files are long; what is asked about stands above the question."""
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude/settings.json").write_text('{\n  "model": "opus"\n}\n')
    shown = cli.run("setup", "--dry-run").stdout.splitlines()
    listed = shown[shown.index("") + 1 :] if "" in shown else []
    assert [line.split()[0] for line in listed[-6:]] == ["new"] * 5 + ["changed"]
    assert listed[-1].split()[1] == str(cli.project / ".claude/settings.json")
    come = sum(line.startswith("+") for line in shown[shown.index('-  "model": "opus"') :])
    assert listed[-1].split()[2:] == [f"+{come}", "-1"]
    assert "next: `context-graph-cli doctor`" in cli.run("setup", "--yes").stdout
    assert "next:" not in cli.run("setup", "--remove", "--yes").stdout


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
    assert refused.returncode == 1 and "settings.json" in refused.stderr and "mend" in refused.stderr
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
    assert "not ours; it stays" in cli.run("setup", "--yes").stdout
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


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SETTINGS, st.sampled_from([None, 0, 2, 4, "\t"]), st.booleans())
def test_taking_out_is_the_inverse_of_putting_in(value: dict[str, Any], indent: Any, status: bool) -> None:
    text = json.dumps(value, indent=indent)
    put = add_to_settings(text, permissions=True, status_line=status)
    assert json.loads(put)["hooks"].keys() >= {event.name for event in EVENTS}
    if value:
        assert take_from_settings(put) == text
    servers = json.dumps({"mcpServers": {"a": {}}, **value}, indent=indent)
    assert drop_server(add_server(servers)) == servers
