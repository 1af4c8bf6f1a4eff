"""The repository's own .claude: as our generator writes it, in the client's schema, with nothing inert."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from context_graph.claude.events import REGISTERED
from context_graph.claude.settings.hook_commands import command_line, hook_problems
from context_graph.claude.settings.scripts import plan_changes

ROOT = Path(__file__).resolve().parents[2]
CLAUDE = ROOT / ".claude"

# The client's schema once more, as JSON Schema and from the contract's text rather than from our validator.
HOOK = {
    "type": "object",
    "required": ["type", "command", "timeout"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "command"},
        "command": {"type": "string", "minLength": 1},
        "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 60},
    },
}
GROUP = {
    "type": "object",
    "required": ["hooks"],
    "additionalProperties": False,
    "properties": {"matcher": {"type": "string"}, "hooks": {"type": "array", "items": HOOK, "minItems": 1}},
}
SCHEMA = {
    "type": "object",
    "required": ["hooks"],
    "properties": {
        "hooks": {
            "type": "object",
            "required": [event.name for event in REGISTERED],
            "additionalProperties": {"type": "array", "items": GROUP},
        }
    },
}


def test_settings_and_scripts_are_what_the_generator_writes() -> None:
    """REQ-SESSION-16 REQ-HOOKS-22: after a change run `context-graph-cli hooks generate-config --force`."""
    stale = [str(change.path) for change in plan_changes(CLAUDE / "hooks", force=True) if change.is_needed]
    assert stale == []


def test_the_settings_fit_the_clients_schema_in_seconds() -> None:
    """REQ-SESSION-16: one wrong entry and the client drops the file without a word."""
    document = json.loads((CLAUDE / "settings.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert hook_problems(document) == []
    for event in REGISTERED:
        assert [hook["command"] for group in document["hooks"][event.name] for hook in group["hooks"]] == [
            command_line(event)
        ]


def test_the_scripts_are_executable_and_free_of_this_machine() -> None:
    """They are run by path."""
    scripts = sorted((CLAUDE / "hooks").iterdir())
    assert [path.name for path in scripts] == [
        *("post_tool_use.sh", "pre_tool_use.sh", "session_end.sh"),
        *("session_end_consolidate.sh", "session_start.sh", "user_prompt_submit.sh"),
    ]
    for path in scripts:
        assert os.access(path, os.X_OK), path
        assert str(ROOT) not in path.read_text()


@pytest.mark.parametrize("skill", sorted((CLAUDE / "skills").iterdir()), ids=lambda path: path.name)
def test_a_skill_has_only_fields_that_do_something(skill: Path) -> None:
    """Contract section 8: the name is the folder's; allowed-tools would ask for permission to explain."""
    found = re.fullmatch(r"---\n(.*?)\n---\n(.*)", (skill / "SKILL.md").read_text(), re.DOTALL)
    assert found
    fields = dict(line.split(": ", 1) for line in found[1].splitlines())
    assert set(fields) <= {"description", "when_to_use", "disable-model-invocation"}
    assert 40 < len(fields["description"]) < 400
    assert all(": " not in value for value in fields.values()), "plain YAML scalars"
    assert len(found[2].splitlines()) < 80


PLUGIN = ROOT / "src" / "context_graph" / "data" / "plugin"


def test_the_plugin_carries_what_the_project_s_own_files_say() -> None:
    """One hook configuration, one server entry, one set of skills, in three places that clients look in."""
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert hooks == json.loads((CLAUDE / "settings.json").read_text())["hooks"]
    assert (PLUGIN / ".mcp.json").read_text() == (ROOT / ".mcp.json").read_text()
    there, here = (
        {path.parent.name: path.read_text() for path in root.glob("skills/*/SKILL.md")}
        for root in (PLUGIN, CLAUDE)
    )
    assert there == here, "copy .claude/skills to src/context_graph/data/plugin/skills"
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (manifest["name"], manifest["version"]) == ("context-graph", project["version"])


def test_a_plugin_s_tools_have_longer_names_and_every_hook_takes_both() -> None:
    """Contract section 7: from a plugin it is mcp__plugin_<plugin>_<server>__<tool>."""
    for groups in json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"].values():
        assert all("matcher" not in group for group in groups), "all tools, whatever they are called"


@pytest.mark.parametrize("skill", sorted((CLAUDE / "skills").iterdir()), ids=lambda path: path.name)
def test_a_skill_names_commands_and_options_that_exist(skill: Path) -> None:
    """Prose rots."""
    page = (ROOT / "docs" / "commands.md").read_text()
    text = (skill / "SKILL.md").read_text()
    calls = re.findall(r"context-graph-cli ([a-z]+ [a-z-]+)([^#`\n]*)", text)
    assert calls
    for name, rest in calls:
        section = re.search(rf"^### `{name}`\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE)
        assert section, name
        for option in re.findall(r"--[a-z-]+", rest):
            assert f"| `{option}" in section[1], f"{name} {option}"
