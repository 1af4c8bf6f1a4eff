"""The cascade of configuration files and the checks on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from context_graph.gates.config.config import compile_rules, load_rules
from context_graph.gates.decide.tool_call import git_aliases, matching
from context_graph.gates.rules import GateCache, Requirement, Rules, glob_match


class Files:
    """The three files of the cascade."""

    def __init__(self, base: Path) -> None:
        self.root, self.claude = base / "project", base / "claude"
        (self.root / ".claude").mkdir(parents=True)
        self.claude.mkdir()

    def write(self, label: str, content: Any) -> Path:
        path = {
            "global": self.claude / "requirements.yaml",
            "project": self.root / ".claude" / "requirements.yaml",
            "local": self.root / ".claude" / "requirements.local.yaml",
        }[label]
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    def rules(self) -> Rules:
        return load_rules(str(self.root), str(self.claude), GateCache())


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def _active(rules: Rules) -> list[str]:
    return [entry.name for entry in rules.active]


def _one(rules: Rules, name: str = "r") -> Requirement:
    found = rules.get(name)
    assert found is not None, rules.problems
    return found


def test_mappings_merge_deeply_lists_replace_and_local_goes_last(files: Files) -> None:
    """Config cascade with inherit, deep merge, lists replace."""
    files.write(
        "global",
        {"requirements": {"r": {"enabled": True, "trigger_tools": ["Read", "Bash"], "message": "g"}}},
    )
    files.write("project", {"requirements": {"r": {"trigger_tools": ["Edit"]}, "s": {"enabled": True}}})
    files.write(
        "local", {"requirements": {"s": {"enabled": False}}, "hooks": {"stop": {"verify_scopes": ["branch"]}}}
    )
    rules = files.rules()
    assert _active(rules) == ["r"]
    assert _one(rules).triggers == [["Edit", "", ""]] and _one(rules).message == "g"
    assert rules.hooks.verify_scopes == ["branch"]


def test_inherit_false_leaves_the_global_file_out(files: Files) -> None:
    files.write("global", {"requirements": {"g": {"enabled": True}}})
    files.write("project", {"inherit": False, "requirements": {"r": {"enabled": True}}})
    assert _active(files.rules()) == ["r"]


def test_nothing_holds_without_a_project_file(files: Files) -> None:
    """Decision D6: nothing is enforced without a project file."""
    files.write("global", {"requirements": {"g": {"enabled": True}}})
    files.write("local", {"requirements": {"l": {"enabled": True}}})
    rules = files.rules()
    assert not rules.readable and _active(rules) == []


def test_an_empty_project_file_inherits(files: Files) -> None:
    files.write("global", {"requirements": {"g": {"enabled": True}}})
    files.write("project", "# nothing yet\n")
    assert _active(files.rules()) == ["g"]


@pytest.mark.parametrize("slip", [None, False, [], "off"])
@pytest.mark.parametrize("where", ["requirements", "requirements.r", "hooks", "hooks.stop"])
def test_what_is_no_mapping_in_a_later_file_switches_nothing_off(
    files: Files, where: str, slip: object
) -> None:
    """An empty key says nothing; anything else that is no mapping is named, and what stood there holds."""
    stop = {"verify_scopes": ["branch"]}
    files.write("project", {"requirements": {"r": {"enabled": True}}, "hooks": {"stop": stop}})
    section, _, key = where.partition(".")
    files.write("local", {section: {key: slip} if key else slip})
    rules = files.rules()
    assert _active(rules) == ["r"] and rules.hooks.verify_scopes == ["branch"]
    told = [text for text in rules.problem_texts("error") if where in text]
    assert len(told) == (slip is not None) and all("requirements.local.yaml" in text for text in told)


def test_a_field_that_is_a_mapping_may_be_taken_back(files: Files) -> None:
    files.write("project", {"requirements": {"r": {"enabled": True, "evidence": {"dirs": ["notes"]}}}})
    for nothing in (None, False):
        files.write("local", {"requirements": {"r": {"evidence": nothing}}})
        assert _one(files.rules()).evidence is None and not files.rules().problem_texts("error")


@pytest.mark.parametrize("value", [None, "true", 1, "yes", [True]])
def test_only_true_enables(files: Files, value: object) -> None:
    files.write("project", {"requirements": {"r": {"enabled": value}}})
    assert _active(files.rules()) == []


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"type": "blokcing"}, "none of blocking, guard, dynamic"),
        ({"scope": "sesion"}, "none of session, branch"),
        ({"type": "guard"}, "needs guard_type"),
        ({"type": "dynamic"}, "no calculator"),
        ({"type": "dynamic", "calculator": "os"}, "unknown"),
        ({"type": "dynamic", "command": "x", "thresholds": {"block": "many"}}, "thresholds.block"),
        ({"trigger_tools": 7}, "trigger_tools"),
        ({"trigger_tools": [{"command_pattern": "x"}]}, "tool is nothing"),
        ({"trigger_tools": [{"tool": "Bash", "command_pattern": "git("}]}, "no regular expression"),
        ("enabled", "not a mapping"),
        (None, "not a mapping"),
    ],
)
def test_one_bad_entry_is_dropped_alone_and_named(files: Files, entry: object, why: str) -> None:
    """One bad entry is dropped alone and named, with its reason."""
    bad = {"enabled": True, **entry} if isinstance(entry, dict) else entry
    files.write("project", {"requirements": {"bad": bad, "good": {"enabled": True}}})
    rules = files.rules()
    assert _active(rules) == ["good"]
    told = [text for text in rules.problem_texts("error") if text.startswith("requirements.bad")]
    assert len(told) == 1 and why in told[0] and "dropped" in told[0]


def test_a_wrong_field_that_is_not_needed_costs_only_itself(files: Files) -> None:
    files.write("project", {"requirements": {"r": {"enabled": True, "message": 7, "replan_ttl": "soon"}}})
    rules = files.rules()
    assert _one(rules).message == "" and _one(rules).replan_ttl == 0
    assert len(rules.problem_texts("error")) == 2


@pytest.mark.parametrize("name", ["7", "'- x'", "''", '"a\\nb"', "2024-01-01"])
def test_a_name_that_no_command_could_say_is_refused(files: Files, name: str) -> None:
    files.write("project", f"requirements:\n  {name}: {{enabled: true}}\n  ok: {{enabled: true}}\n")
    assert _active(files.rules()) == ["ok"] and files.rules().problem_texts("error")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("requirements: [", "line"),
        ("- a\n- b\n", "a list"),
        ("7", "7"),
        ("{a: " * 5000, "nested"),
        ("[" * 100_000, "nest"),
        ("a: !!python/object:os.system x", "YAML"),
        ("\t", "YAML"),
        ("a: \x00", "YAML"),
    ],
)
def test_a_file_that_can_t_be_used_is_told_and_enforces_nothing(files: Files, text: str, word: str) -> None:
    """Deep nesting would end the process inside the C parser; it must be refused before."""
    files.write("project", text)
    rules = files.rules()
    assert not rules.readable and _active(rules) == []
    assert any(word in told for told in rules.problem_texts("error")), rules.problems


def test_a_broken_global_file_leaves_the_project_s_own_in_force(files: Files) -> None:
    files.write("global", "a: [")
    files.write("project", {"requirements": {"r": {"enabled": True}}})
    assert _active(files.rules()) == ["r"] and files.rules().problem_texts("error")


def test_a_mapping_that_holds_itself_ends(files: Files) -> None:
    text = "requirements: &r\n  a: {enabled: true}\n  b: *r\n"
    files.write("global", text)
    files.write("project", text)
    assert _active(files.rules()) == ["a"]


def test_unknown_keys_are_named_with_the_likely_one(files: Files) -> None:
    files.write(
        "project", {"requiremnts": {}, "requirements": {"r": {"enabled": True, "satisfied_by_skil": "x"}}}
    )
    told = files.rules().problem_texts("warning")
    assert any("requiremnts" in text and "requirements?" in text for text in told)
    assert any("satisfied_by_skil" in text and "satisfied_by_skill?" in text for text in told)


@pytest.mark.parametrize(
    "entry",
    [
        {"trigger_tools": []},
        {"trigger_tools": ["Edit|Write", "mcp__db__.*"]},
        {"trigger_tools": [{"tool": "Edit", "command_pattern": "x"}]},
        {"stop_only": True, "scope": "branch"},
        {"type": "guard", "guard_type": "weekday"},
        {"type": "guard", "guard_type": "protected_branch", "protected_branches": []},
        {"type": "dynamic", "calculator": "branch_size_calculator", "thresholds": {"warn": 5}},
    ],
)
def test_a_requirement_that_can_never_fire_is_warned_about(files: Files, entry: dict[str, object]) -> None:
    """A requirement that can never fire is warned about."""
    files.write("project", {"requirements": {"r": {"enabled": True, **entry}}})
    assert any("never fire" in text for text in files.rules().problem_texts("warning"))


def test_a_matcher_of_the_client_s_settings_is_no_tool(files: Files) -> None:
    triggers = ["Edit|Write", "Write", "mcp__db__*", {"tool": "Bash(git *)"}]
    files.write("project", {"requirements": {"r": {"enabled": True, "trigger_tools": triggers}}})
    told = files.rules().problem_texts("warning")
    assert len(told) == 2 and all("no tool can be called" in text for text in told)
    assert "'Edit|Write'" in told[0] and "'Bash(git *)'" in told[1]


def test_keys_of_the_original_without_effect_are_only_notes(files: Files) -> None:
    files.write(
        "project", {"strict_preflight": True, "hooks": {"lazy_dev": {"enabled": True}}, "workflow": {}}
    )
    assert files.rules().problem_texts("error", "warning") == []
    assert len(files.rules().problem_texts("note")) == 3


def test_an_owner_reads_the_files_once_until_one_changes(files: Files) -> None:
    path = files.write("project", {"requirements": {"r": {"enabled": True}}})
    _age(path)
    cache = GateCache()
    first = cache.rules(str(files.root), str(files.claude), compile_rules)
    assert _active(first) == ["r"] and cache.rules(str(files.root), str(files.claude), compile_rules) is first
    files.write("local", {"requirements": {"s": {"enabled": True}}})
    assert _active(cache.rules(str(files.root), str(files.claude), compile_rules)) == ["r", "s"]


def test_message_files_give_the_texts_and_the_nearest_folder_wins(files: Files) -> None:
    files.write("project", {"requirements": {"r": {"enabled": True, "message": "inline"}}})
    fields = (
        "blocking_message",
        "short_message",
        "success_message",
        "header",
        "action_label",
        "fallback_text",
    )
    for folder, word in (
        (files.claude / "messages", "home"),
        (files.root / ".claude" / "messages", "project"),
    ):
        folder.mkdir()
        (folder / "r.yaml").write_text(yaml.safe_dump({key: f"{word} {key}" for key in fields}))
    assert _one(files.rules()).templates["blocking_message"] == "project blocking_message"
    (files.root / ".claude" / "messages" / "r.yaml").write_text("blocking_message: only this\n")
    rules = files.rules()
    assert _one(rules).templates == {"blocking_message": "only this"}
    assert any("lacks short_message" in text for text in rules.problem_texts("warning"))


@pytest.mark.parametrize(
    ("triggers", "tool", "command", "hit"),
    [
        (None, "Edit", "", True),
        (None, "NotebookEdit", "", True),
        (None, "MultiEdit", "", True),
        (None, "Bash", "git commit", False),
        (["Task"], "Agent", "", True),
        (["Agent"], "Task", "", True),
        (["Agent"], "Bash", "", False),
        (["Bash"], "Monitor", "ls", True),
        (["Bash"], "PowerShell", "ls", True),
        (["Bash"], "mcp__term__run", "ls", False),
        (["Monitor"], "Bash", "ls", False),
        ([{"tool": "Bash", "command_pattern": r"git\s+commit"}], "Monitor", "git commit", True),
        ([{"tool": "Bash", "command_pattern": r"git\s+commit"}], "PowerShell", "git commit", True),
        ([{"tool": "Bash", "command_pattern": r"git\s+commit"}], "mcp__term__run", "git commit", True),
        ([{"tool": "Bash", "command_pattern": r"git\s+commit"}], "mcp__term__run", "git status", False),
        ([{"tool": "Bash", "command_pattern": r"git\s+commit"}], "Edit", "git commit", False),
        ([{"tool": "Monitor", "command_pattern": r"git\s+commit"}], "Monitor", "git commit", True),
        ([{"tool": "Monitor", "command_pattern": r"git\s+commit"}], "Bash", "git commit", False),
        ([{"tool": "mcp__term__*", "command_pattern": "x"}], "mcp__term__run", "x", True),
        ([{"tool": "*", "command_pattern": "x"}], "Monitor", "x", True),
        ([{"tool": "*", "command_pattern": "^$"}], "Read", "", False),
        ([{"git": "commit"}], "Monitor", "git -C . commit", True),
        ([{"git": "commit"}], "mcp__term__run", "git -C . commit", True),
        ([{"git": "commit"}], "Edit", "git commit", False),
        ([{"git": ["commit", "push"]}], "Bash", "git push", True),
        ([{"git": "commit", "command_pattern": "--amend"}], "Bash", "git commit --amend", True),
        ([{"git": "commit", "command_pattern": "--amend"}], "Bash", "git commit", False),
        (["NotebookEdit"], "NotebookEdit", "", True),
        (["mcp__fs__write_file"], "mcp__fs__write_file", "", True),
        (["mcp__fs__*"], "mcp__fs__write_file", "", True),
        (["mcp__fs__*"], "mcp__db__write", "", False),
        ("Bash", "Bash", "ls", True),
        ([{"tool": "Bash", "command_pattern": r"git\s+commit"}], "Bash", "cd x && GIT  COMMIT -m y", True),
        ([{"tool": "Bash", "command_pattern": r"git\s+commit"}], "Bash", "git -C . commit", False),
        (["edit"], "Edit", "", False),
    ],
)
def test_triggers(files: Files, triggers: object, tool: str, command: str, hit: bool) -> None:
    entry = {"enabled": True} if triggers is None else {"enabled": True, "trigger_tools": triggers}
    files.write("project", {"requirements": {"r": entry}})
    assert bool(matching(files.rules(), tool, {"command": command})) is hit


def test_aliases_are_read_from_git_s_own_files(tmp_path: Path) -> None:
    (tmp_path / ".config" / "git").mkdir(parents=True)
    (tmp_path / ".config" / "git" / "config").write_text(
        "[user]\n\tci = no\n[alias]\n\tci = commit\n\tx = a\n"
    )
    (tmp_path / ".gitconfig").write_text('# [alias]\n[Alias] s = status\n\tq = "commit -m \\"x\\""\n')
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "config").write_text('[core]\n\tbare = false\n[alias "x"]\n\tcommand = commit\n')
    assert git_aliases(str(tmp_path / "repo"), str(tmp_path)) == {
        "ci": "commit",
        "s": "status",
        "q": 'commit -m "x"',
        "x": "commit",
    }
    assert git_aliases("/nowhere", "") == {}


def test_aliases_are_read_from_included_files_and_the_worktree_s(tmp_path: Path) -> None:
    home, repo, own = (tmp_path / name for name in ("home", "repo", "repo/worktrees/w"))
    for folder in (home / "more", own):
        folder.mkdir(parents=True)
    (home / ".gitconfig").write_text('[include]\n\tpath = more/a\n[includeIf "gitdir:/x/"]\n\tpath = ~/b\n')
    (home / "more" / "a").write_text(
        "[include]\n\tpath = a\n\tpath = c ; again\n\tpath = ../.gitconfig\n[alias]\n a = commit\n"
    )
    (home / "b").write_text("[alias] b = commit\n")
    (home / "more" / "c").write_text("[alias] c = commit\n")
    (repo / "config").write_text(f"[include]\n\tpath = {home}/d\n\tpath = missing\n\tpath = /dev/zero\n")
    (home / "d").write_text("[alias]\n\td = push\n")
    (own / "config.worktree").write_text("[alias]\n\tw = commit\n")
    assert git_aliases(str(repo), str(home), str(own)) == {
        "a": "commit",
        "b": "commit",
        "c": "commit",
        "d": "push",
        "w": "commit",
    }


def test_of_many_included_files_eight_are_read(tmp_path: Path) -> None:
    names = [f"f{at}" for at in range(20)]
    (tmp_path / ".gitconfig").write_text("[include]\n" + "".join(f"path = {name}\n" for name in names))
    for name in names:
        (tmp_path / name).write_text(
            f"[alias]\n{name} = commit\n[include]\npath = {name}\npath = .gitconfig\n"
        )
    assert len(git_aliases("", str(tmp_path))) == 8


@pytest.mark.parametrize("given", ["", "git commit", 7, [], ["commit", 3], {"a": "b"}, "COMMIT", ["x"] * 21])
def test_a_git_trigger_that_is_none_drops_its_requirement(files: Files, given: object) -> None:
    files.write("project", {"requirements": {"r": {"enabled": True, "trigger_tools": [{"git": given}]}}})
    assert _active(files.rules()) == []
    assert any("git" in text and "dropped" in text for text in files.rules().problem_texts("error"))


def test_a_pattern_for_git_commit_stays_and_is_told_of_the_trigger(files: Files) -> None:
    trigger = {"tool": "Bash", "command_pattern": r"git\s+commit"}
    files.write("project", {"requirements": {"r": {"enabled": True, "trigger_tools": [trigger]}}})
    assert files.rules().problem_texts("error", "warning") == []
    assert any("`git: commit`" in text for text in files.rules().problem_texts("note"))


def test_a_tool_that_runs_a_command_may_have_a_pattern_and_others_are_named(files: Files) -> None:
    for tool, said in (("Monitor", 0), ("PowerShell", 0), ("mcp__a__b", 0), ("*", 0), ("Edit", 2)):
        trigger = {"tool": tool, "command_pattern": "x"}
        files.write("project", {"requirements": {"r": {"enabled": True, "trigger_tools": [trigger]}}})
        assert len(files.rules().problem_texts("error", "warning")) == said, tool


@pytest.mark.parametrize(
    ("pattern", "name", "same"),
    [
        ("main", "main", True),
        ("main", "maintenance", False),
        ("release/*", "release/1/2", True),
        ("*", "", True),
        ("*-fix?", "a-b-fix1", True),
        ("*-fix?", "a-fix", False),
        ("a*b*c", "abbbcbc", True),
        ("a*b*c", "abbbcb", False),
    ],
)
def test_globs(pattern: str, name: str, same: bool) -> None:
    assert glob_match(pattern, name) is same


def _age(path: Path) -> None:
    """A file of this very moment is not believed to be settled; wait until its clock tick is over."""
    import time

    from context_graph.system.small_files import is_settled, signature

    while not is_settled(signature(str(path))):
        time.sleep(0.005)
