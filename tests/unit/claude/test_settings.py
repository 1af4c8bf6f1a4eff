"""The settings merge: ours in, everybody else's untouched, and never a file that the client would drop."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.claude.events import REGISTERED
from context_graph.claude.install.entries import take_from_settings
from context_graph.claude.settings.edit import apply_changes, diff_of, parse_json_text
from context_graph.claude.settings.hook_commands import command_line, events_of, hook_problems
from context_graph.claude.settings.scripts import plan_changes
from context_graph.claude.settings.settings import merge_settings, our_group
from context_graph.errors import ConfigError, InvalidInputError

ALL = list(REGISTERED)
SEED_000 = """{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "^(mcp__context-graph__.*|Edit|Write)$",
        "hooks": [
          {
            "type": "command",
            "command": "context-graph-cli consciousness brief",
            "timeout": 100,
            "continueOnError": true
          }
        ]
      }
    ]
  }
}
"""


def our_commands(document: dict[str, Any], event: str) -> list[str]:
    return [
        hook["command"]
        for group in document["hooks"].get(event, [])
        for hook in group["hooks"]
        if "context-graph-cli" in hook.get("command", "")
    ]


def test_a_new_file_registers_the_events_in_the_clients_own_schema() -> None:
    """REQ-SESSION-16 REQ-HOOKS-22: PascalCase events, nested hooks, seconds, the CLI called directly."""
    document = json.loads(merge_settings("", ALL))
    assert list(document["hooks"]) == [event.name for event in REGISTERED]
    assert {"SessionStart", "PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"} < set(document["hooks"])
    assert hook_problems(document) == []
    for event in ALL:
        ((hook,),) = (group["hooks"] for group in document["hooks"][event.name])
        assert hook["type"] == "command"
        assert f"context-graph-cli hooks {event.verb} --format claude" in hook["command"]
        assert 1 <= hook["timeout"] <= 10
        assert set(hook) == {"type", "command", "timeout"}, "only fields that do something"
    assert document["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] > 1.5


def test_merging_twice_changes_nothing_the_second_time() -> None:
    """Idempotent."""
    for start in ("", "{}", '{"hooks": {}}', SEED_000, '{"a":1}', '{\n\t"a": 1\n}\n'):
        once = merge_settings(start, ALL)
        assert merge_settings(once, ALL) == once


OTHERS = """{
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "permissions": {"allow": ["Bash(ls:*)",   "Edit"], "deny": []},
    "hooks": {
        "PostToolUse": [
            {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "ruff check", "timeout": 9}]},
            { "hooks": [ { "type": "http", "url": "http://127.0.0.1:9/x" } ] }
        ],
        "Notification": [{"hooks": [{"type": "command", "command": "beep"}]}]
    },
    "env": {"X": "\\u00e9", "N": "1.50"},
    "number": 1.50
}"""


def test_other_hooks_keys_order_and_spacing_stay_byte_for_byte() -> None:
    """REQ-HOOKS-22: merged, never clobbered: the result is the old text with insertions."""
    merged = merge_settings(OTHERS, ALL)
    at = 0
    for line in OTHERS.splitlines():
        found = merged.find(line.rstrip(",").strip(), at)
        assert found >= 0, line
        at = found
    old, new = json.loads(OTHERS), json.loads(merged)
    assert list(new) == list(old)
    assert new["hooks"]["PostToolUse"][:2] == old["hooks"]["PostToolUse"]
    assert new["hooks"]["Notification"] == old["hooks"]["Notification"]
    for event in ALL:
        assert our_commands(new, event.name) == [command_line(event)]
    assert '"permissions": {"allow": ["Bash(ls:*)",   "Edit"], "deny": []},' in merged
    assert '"number": 1.50' in merged and not merged.endswith("\n")
    assert f'\n{" " * 24}"type": "command"' in merged, "the file's own four spaces a level"


def test_tabs_line_ends_and_one_line_files_keep_their_style() -> None:
    """Indentation as found."""
    tabbed = merge_settings('{\n\t"env": {}\n}\n', ALL)
    assert '\n\t"hooks": {\n\t\t"SessionStart": [' in tabbed
    crlf = merge_settings('{\r\n  "env": {}\r\n}\r\n', ALL)
    assert "\n" not in crlf.replace("\r\n", "")
    assert "\n" not in merge_settings('{"env": {}}', ALL)


def test_seed_000s_entry_is_brought_up_to_date_in_place() -> None:
    """REQ-SESSION-16: milliseconds meant hours to the client; the user's matcher stays."""
    merged = json.loads(merge_settings(SEED_000, ALL))
    (group,) = merged["hooks"]["PreToolUse"]
    assert group["matcher"] == "^(mcp__context-graph__.*|Edit|Write)$"
    assert group["hooks"] == our_group(REGISTERED[1])["hooks"]
    narrowed = json.loads(merge_settings(SEED_000, ALL, matcher="Bash"))
    assert narrowed["hooks"]["PreToolUse"][0]["matcher"] == "Bash"
    assert "matcher" not in narrowed["hooks"]["Stop"][0]


def test_our_hook_among_somebody_elses_is_updated_and_doubles_go() -> None:
    """One process an event."""
    old = {
        "hooks": {
            "Stop": [
                {"hooks": [{"type": "command", "command": "beep"}, {"type": "command", "command": "boop"}]},
                {
                    "hooks": [
                        {"type": "command", "command": "context-graph-cli hooks stop --format claude"},
                        {"type": "command", "command": "true"},
                    ]
                },
                {"hooks": [{"type": "command", "command": "context-graph hooks stop"}]},
            ]
        }
    }
    new = json.loads(merge_settings(json.dumps(old, indent=2), events_of("stop")))
    assert new["hooks"]["Stop"] == [
        old["hooks"]["Stop"][0],
        {"hooks": [our_group(*events_of("stop"))["hooks"][0], {"type": "command", "command": "true"}]},
    ]


@pytest.mark.parametrize(
    "own",
    [
        {"type": "command", "command": "nice context-graph-cli hooks stop --format claude --db-path /x"},
        {"type": "command", "command": "/opt/bin/context-graph-cli", "args": ["hooks", "stop"]},
    ],
)
def test_the_users_own_way_to_call_us_is_left_and_not_doubled(own: dict[str, Any]) -> None:
    """A wrapper somebody wrote stays theirs."""
    text = json.dumps({"hooks": {"Stop": [{"hooks": [own]}]}})
    assert merge_settings(text, events_of("stop")) == text


def test_what_the_client_quotes_has_no_shell_line_where_the_program_s_path_is_given() -> None:
    """A Stop that is held, and a compaction; either form takes the other's place, and neither is doubled."""
    plain = merge_settings("", ALL)
    direct = merge_settings(plain, ALL, program="/home/me/.local/bin/context-graph-cli")
    hooks = json.loads(direct)["hooks"]
    without = {name: group[0]["hooks"][0] for name, group in hooks.items() if "args" in group[0]["hooks"][0]}
    assert set(without) == {"Stop", "PreCompact", "PostCompact"}
    assert without["Stop"]["command"] == "/home/me/.local/bin/context-graph-cli"
    assert without["Stop"]["args"] == ["hooks", "stop", "--format", "claude"]
    assert hook_problems(json.loads(direct)) == []
    assert merge_settings(direct, ALL, program="/home/me/.local/bin/context-graph-cli") == direct
    assert json.loads(merge_settings(direct, ALL, program="/opt/context-graph-cli")) != json.loads(direct)
    assert json.loads(merge_settings(direct, ALL)) == json.loads(plain)
    assert take_from_settings(direct).strip() == "{}"


def test_a_subset_of_hooks_touches_no_other_event() -> None:
    """--hooks: post-tool-use stands for both outcomes."""
    document = json.loads(merge_settings("", events_of("post-tool-use,SessionEnd")))
    assert list(document["hooks"]) == ["PostToolUse", "PostToolUseFailure", "SessionEnd"]
    with pytest.raises(InvalidInputError, match="'nope' is no hook; known: session-start, pre-tool-use"):
        events_of("stop,nope")


def bad_settings() -> list[tuple[str, Any]]:
    good: dict[str, Any] = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}

    def with_hook(**change: Any) -> dict[str, Any]:
        made = copy.deepcopy(good)
        hook = made["hooks"]["Stop"][0]["hooks"][0]
        hook.update(change)
        for name in [name for name, value in hook.items() if value is Ellipsis]:
            del hook[name]
        return made

    return [
        ("timeout: must be a number", with_hook(timeout="5s")),
        ("timeout: must be a number", with_hook(timeout=0)),
        ("timeout: must be a number", with_hook(timeout=-1)),
        ("timeout: must be a number", with_hook(timeout=True)),
        ("command: must be text", with_hook(command=...)),
        ("command: must be text", with_hook(command="")),
        ("type: must be one of", with_hook(type="shell")),
        ("type: must be one of", with_hook(type=...)),
        ("async: must be true or false", with_hook(**{"async": "yes"})),
        ("args: must be a list", with_hook(args="x")),
        ("url: must be text", with_hook(type="http")),
        ("hooks[0].hooks[0]: must be an object", {"hooks": {"Stop": [{"hooks": ["x"]}]}}),
        ("hooks: must be a list", {"hooks": {"Stop": [{}]}}),
        ("matcher: must be text", {"hooks": {"Stop": [{"matcher": 1, "hooks": []}]}}),
        ("hooks.Stop[0]: must be an object", {"hooks": {"Stop": ["x"]}}),
        ("hooks.Stop: must be a list", {"hooks": {"Stop": {}}}),
        ("hooks: must be an object", {"hooks": []}),
        ("settings: must be an object", []),
    ]


@pytest.mark.parametrize(("words", "document"), bad_settings())
def test_a_file_that_the_client_would_drop_is_refused_not_joined(words: str, document: Any) -> None:
    """One bad entry anywhere and none of our hooks would run, without a word from the client."""
    words = words.replace("hooks[0].hooks[0]", "Stop[0].hooks[0]")
    with pytest.raises(InvalidInputError) as caught:
        merge_settings(json.dumps(document), ALL)
    assert words in str(caught.value)


def test_what_the_client_ignores_is_no_problem_of_ours() -> None:
    """Unknown fields, events and keys."""
    document = {"hooks": {"Nope": 3, "Stop": [{"hooks": [{"type": "command", "command": "x", "y": None}]}]}}
    assert hook_problems(document) == []
    assert hook_problems({}) == []
    assert (
        hook_problems({"hooks": {"Stop": [{"hooks": [{"type": "mcp_tool", "server": "s", "tool": "t"}]}]}})
        == []
    )


@pytest.mark.parametrize(
    "text", ["{", "[1,]", '{"a": 1} x', "// c\n{}", '{"a": NaN}', "[" * 5000, "\ufeff\ufeff{}"]
)
def test_settings_that_are_not_json_are_refused_untouched(tmp_path: Path, text: str) -> None:
    """Existing unparsable settings: an error, and the file as it was."""
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=r"settings\.json: settings are not JSON"):
        plan_changes(tmp_path / ".claude" / "hooks")
    assert path.read_text() == text


def test_the_plan_writes_atomically_keeps_modes_and_follows_links(tmp_path: Path) -> None:
    """A crash leaves the old file or the new one."""
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text('{"env": {}}')
    real.chmod(0o600)
    claude = tmp_path / ".claude"
    claude.mkdir()
    (claude / "settings.json").symlink_to(real)
    written = apply_changes(plan_changes(claude / "hooks"))
    assert written[-1] == claude / "settings.json"
    assert (claude / "settings.json").is_symlink()
    assert "SessionEnd" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    assert (claude / "hooks" / "pre_tool_use.sh").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in real.parent.iterdir()] == ["claude.json"], "no temporary file stays"
    assert apply_changes(plan_changes(claude / "hooks")) == []


def test_scripts_that_differ_need_force_and_nothing_else_is_written_before(tmp_path: Path) -> None:
    """--force: all or nothing."""
    hooks = tmp_path / ".claude" / "hooks"
    apply_changes(plan_changes(hooks, hooks="session-start"))
    (hooks / "session_start.sh").write_text("#!/bin/sh\nmine\n")
    with pytest.raises(InvalidInputError, match=r"session_start\.sh: there already and different"):
        plan_changes(hooks)
    assert not (hooks / "pre_tool_use.sh").exists()
    apply_changes(plan_changes(hooks, force=True))
    assert "mine" not in (hooks / "session_start.sh").read_text()


def test_the_diff_shows_every_file_and_writes_none(tmp_path: Path) -> None:
    """--dry-run."""
    hooks = tmp_path / ".claude" / "hooks"
    shown = diff_of(plan_changes(hooks))
    assert shown.count("--- /dev/null") == 6
    assert f"+++ {tmp_path / '.claude' / 'settings.json'}" in shown
    assert not hooks.exists()
    apply_changes(plan_changes(hooks))
    assert diff_of(plan_changes(hooks)) == ""


def test_an_unusual_folder_keeps_its_settings_to_itself(tmp_path: Path) -> None:
    """--output-dir elsewhere never edits a configuration that is in use."""
    paths = [change.path for change in plan_changes(tmp_path / "x" / "scripts")]
    assert paths[-1] == tmp_path / "x" / "scripts" / "settings.json"


def test_a_place_that_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    """Named, with the system's reason."""
    (tmp_path / ".claude").write_text("")
    with pytest.raises(ConfigError, match="Not a directory"):
        plan_changes(tmp_path / ".claude" / "hooks")
    (tmp_path / "settings.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidInputError, match="not UTF-8 at byte 7"):
        plan_changes(tmp_path)
    with pytest.raises(InvalidInputError, match="--shell: 'tcsh' is none of bash, zsh, fish, powershell"):
        plan_changes(tmp_path, shell="tcsh")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
HOOK = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(min_size=1, max_size=8)})
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(HOOK, max_size=2)}), max_size=3)
NAMES = st.sampled_from([event.name for event in REGISTERED] + ["Notification", "Odd"])
FILES = st.dictionaries(st.text(max_size=5).filter(lambda key: key != "hooks"), JSON, max_size=3).flatmap(
    lambda rest: st.dictionaries(NAMES, GROUPS, max_size=4).map(lambda hooks: {**rest, "hooks": hooks})
)


@settings(deadline=None, max_examples=examples(200))
@given(FILES, st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_any_good_file_keeps_what_it_had_and_gains_ours(
    document: dict[str, Any], indent: Any, ascii_only: bool
) -> None:
    """Whatever the layout: parse(merge(x)) is x plus one entry of ours an event."""
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    merged = json.loads(merge_settings(text, ALL))
    assert hook_problems(merged) == []
    for event in ALL:
        groups = merged["hooks"][event.name]
        assert groups == [*document["hooks"].get(event.name, []), our_group(event)]
    for name, value in document.items():
        if name != "hooks":
            assert merged[name] == value
    for name in set(document["hooks"]) - {event.name for event in ALL}:
        assert merged["hooks"][name] == document["hooks"][name]


@settings(deadline=None)
@given(JSON, st.sampled_from([None, 2, "\t"]))
def test_every_value_knows_its_place(value: Any, indent: Any) -> None:
    """The editor rests on it."""
    text = " " + json.dumps(value, indent=indent)

    def check(node: Any) -> None:
        assert json.loads(text[node.start : node.end]) == node.value
        for inner in (*node.members.values(), *node.items):
            check(inner)

    check(parse_json_text(text))


def test_strict_gates_block_where_the_hook_fails_and_stay_until_they_are_taken_back(tmp_path: Path) -> None:
    """The client's `onFailure` beside `timeout`, on the hook of the gates alone."""
    plain = merge_settings("", ALL)
    strict = merge_settings(plain, ALL, strict=True)
    (hook,) = json.loads(strict)["hooks"]["PreToolUse"][0]["hooks"]
    assert hook["onFailure"] == "block"
    assert strict.count("onFailure") == 1 and hook_problems(json.loads(strict)) == []
    assert merge_settings(strict, ALL) == strict, "a later setup leaves them on"
    assert merge_settings("", ALL, strict=True) == merge_settings(merge_settings("", ALL, strict=True), ALL)
    assert json.loads(merge_settings(strict, ALL, strict=False)) == json.loads(plain)
    assert hook_problems({"hooks": {"Stop": [{"hooks": [{**hook, "onFailure": "refuse"}]}]}})
    governed, free = tmp_path / "governed", tmp_path / "free"
    (governed / ".claude").mkdir(parents=True)
    (governed / ".claude" / "requirements.yaml").write_text("requirements: {}\n")
    free.mkdir()
    codes = {}
    for folder in (governed, free):
        env = {"PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(folder)}
        done = subprocess.run(
            ["sh", "-c", hook["command"]], env=env, cwd=folder, capture_output=True, check=False, timeout=30
        )
        codes[folder.name] = done.returncode
        assert (b"could not be checked" in done.stderr) == bool(done.returncode)
    assert codes == {"governed": 1, "free": 0}, "without our program"
