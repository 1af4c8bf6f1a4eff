"""What tools/list costs and promises, and that docs/dev/mcp.md says the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from mcp.types import InitializeResult, ListToolsResult

from context_graph.claude.install.plan import plugin_folder
from context_graph.memory.embed import default_provider
from context_graph.operations import OPERATIONS
from context_graph.operations.mcp.rpc import INSTRUCTIONS, VERSIONS, initialize_result, success
from context_graph.operations.mcp.tools import Toolbox, memory_tools
from context_graph.operations.operation import parameters

SKILLS = plugin_folder() / "skills"
README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "dev" / "mcp.md").read_text(encoding="utf-8")
TOOLS = {tool.name: tool for tool in memory_tools()}
LATEST = VERSIONS["2025-11-25"]


def listed() -> list[dict[str, Any]]:
    return Toolbox(TOOLS.values()).listed(LATEST)


def test_what_a_client_loads_at_once_stays_within_2_kb() -> None:
    """Invariant 9: every session pays for these, however the client writes its JSON; others are deferred."""
    loaded = [tool.shown() for tool in TOOLS.values() if tool.loaded]
    assert [one["name"] for one in loaded] == ["store_memory", "recall_memory"]
    assert len(json.dumps(loaded)) <= 2048
    for entry in listed():
        alias = entry["name"] == "search_graph"
        known = {"anthropic/alwaysLoad", "anthropic/searchHint"}
        assert alias == ("_meta" not in entry)
        assert set(entry.get("_meta", {})) <= known


def test_what_stands_in_each_session_stays_below_900_tokens_and_readme_has_the_number() -> None:
    """Schemas of loaded tools, names of the others, instructions, skills: as `doctor` counts them."""
    loaded = [tool.shown() for tool in TOOLS.values() if tool.loaded]
    names = "\n".join(f"mcp__context-graph__{tool.name}" for tool in TOOLS.values() if not tool.loaded)
    heads = [skill.read_text().split("---\n", 2)[1] for skill in sorted(SKILLS.glob("*/SKILL.md"))]
    said = [dict(line.split(": ", 1) for line in head.splitlines()) for head in heads]
    told = [one for one in said if one.get("disable-model-invocation") != "true"]
    skills = "\n".join(f"- name: {one['description']} - {one['when_to_use']}" for one in told)
    count = default_provider().count_tokens
    tokens = sum(map(count, (orjson.dumps(loaded).decode(), names, INSTRUCTIONS, skills)))
    assert tokens <= 900
    (number,) = re.findall(r"some (\d+) tokens at each start", README)
    assert abs(tokens - int(number)) <= 30


def test_all_of_tools_list_stays_below_9_kb() -> None:
    """A client that defers nothing pays for all of it."""
    assert len(success(1, {"tools": listed()})) < 9 * 1024
    assert len(json.dumps({"tools": listed()})) < 9 * 1024


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS.values() if tool.loaded])
def test_a_loaded_tool_names_what_its_schema_leaves_out(name: str) -> None:
    """Nothing that a tool takes is hidden from the model."""
    (operation,) = (one for one in OPERATIONS if one.tool == name)
    taken = {one.name for one in parameters(operation.arguments) if one.extra("only") != "command"}
    left = taken - set(TOOLS[name].parameters["properties"])
    assert left, "else the loaded schemas would not be small"
    for parameter in left:
        assert parameter in TOOLS[name].description


def test_each_description_fits_what_the_client_shows() -> None:
    """Contract section 7: cut at some 2,048 characters."""
    for tool in TOOLS.values():
        assert 10 < len(tool.description) <= 2048, tool.name


@pytest.mark.parametrize("version", VERSIONS.values(), ids=lambda version: version.name)
def test_the_answers_are_valid_by_the_protocols_own_types(version: Any) -> None:
    """The SDK's models are made from the published schema."""
    box = Toolbox(TOOLS.values())
    ListToolsResult.model_validate(orjson.loads(orjson.dumps({"tools": box.listed(version)})))
    InitializeResult.model_validate(orjson.loads(orjson.dumps(initialize_result(version))))


@pytest.mark.parametrize("name", TOOLS)
def test_each_schema_is_one(name: str) -> None:
    """JSON Schema 2020-12, the protocol's default dialect; objects at the top, hints as they must be."""
    tool = TOOLS[name]
    for schema in (tool.parameters, tool.output):
        assert schema is not None
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert set(tool.parameters.get("required", [])) <= set(tool.parameters["properties"])
    assert (
        "session_id" in tool.parameters["properties"]
        or "session_id" in tool.description
        or (
            name == "search_graph"  # which says of itself what it is another name of
        )
    )
    assert "openWorldHint" in tool.hints
    assert tool.hints.get("readOnlyHint") or "destructiveHint" in tool.hints


def test_the_tools_are_those_of_the_issue() -> None:
    """REQ-CORE-014 to REQ-CORE-018, seed 002's, and what goes with them."""
    assert list(TOOLS) == [
        "store_memory",
        "recall_memory",
        "search_graph",
        "inject_context",
        "get_memetic_status",
        "set_verbosity",
        "forget_memory",
        "restore_memory",
        "link_memories",
        "get_memory",
        "get_identity",
        "consolidate_memories",
        "discover_goals",
    ]


def test_the_page_has_each_tool_with_each_parameter() -> None:
    """Prose rots; this page may not."""
    sections = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE))
    assert list(sections) == list(TOOLS)
    for name, tool in TOOLS.items():
        for parameter in tool.parameters["properties"]:
            assert f"`{parameter}`" in sections[name], f"{name}: {parameter}"
        assert tool.output is not None
        for field in tool.output["required"]:
            assert f"`{field}`" in sections[name] or name == "search_graph", f"{name}: {field}"


def test_the_page_has_each_version_and_code() -> None:
    for version in VERSIONS:
        assert version in PAGE
    for code in (-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32004):
        assert str(code) in PAGE
