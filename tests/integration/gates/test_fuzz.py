"""Whatever comes as event, configuration or state: no exception, no internal failure, no wrong allow."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.gates.in_process import A, B, Gate, gate_event

from context_graph.errors import UsageError
from context_graph.gates.commands import commands, setup, upkeep
from context_graph.gates.config.config import parse_yaml
from context_graph.gates.decide.hooks import decide
from context_graph.gates.event import GateResult
from context_graph.gates.rules import GateCache

MINUTES = float(os.environ.get("CONTEXT_GRAPH_FUZZ_MINUTES", "30"))
EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SessionStart", "SessionEnd"),
    *("UserPromptSubmit", "PreCompact", "PermissionRequest", "SubagentStop"),
)
SHORT = settings(
    max_examples=examples(150),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

texts = st.one_of(
    st.text(max_size=12), st.sampled_from(["", "/", "..", "../../evil", "\0", "\ud800", A, A[:8], B])
)
numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([0, -1, 2**63, 1e308]))
leaves = st.one_of(st.none(), st.just(False), numbers, texts)
"""No true among them: what is made of these never says satisfied."""
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)
inputs = st.one_of(
    trees,
    st.fixed_dictionaries(
        {}, optional={key: texts for key in ("file_path", "command", "skill", "notebook_path")}
    ),
)
records = st.fixed_dictionaries(
    {},
    optional={
        "satisfied": leaves,
        "satisfied_at": leaves,
        "expires_at": leaves,
        "triggered": leaves,
        "metadata": trees,
    },
)
entries = st.one_of(
    trees,
    records,
    st.fixed_dictionaries(
        {"sessions": st.dictionaries(st.sampled_from([A, A[:8], B, "x", ""]), records, max_size=3)}
    ),
)
documents = st.fixed_dictionaries(
    {
        "version": st.sampled_from(["1.0", "1.0", "1.0", "2.0"]),
        "branch": st.sampled_from(["feature/auth", "other"]),
    },
    optional={
        "requirements": st.one_of(trees, st.dictionaries(st.sampled_from(["plan", "x"]), entries, max_size=2))
    },
)
state_bytes = st.one_of(
    st.binary(max_size=60),
    documents.map(lambda document: json.dumps(document).encode()),
    st.tuples(documents, st.integers(0, 200)).map(lambda pair: json.dumps(pair[0]).encode()[: pair[1]]),
)
junk_requirement = st.one_of(
    trees,
    st.fixed_dictionaries(
        {"enabled": st.just(True)},
        optional={
            "type": st.sampled_from(["blocking", "guard", "dynamic", "x", 7]),
            "scope": st.sampled_from(["session", "branch", "permanent", "single_use", "x", None]),
            "guard_type": st.sampled_from(["protected_branch", "single_session", "x", 7]),
            "trigger_tools": st.one_of(trees, st.just(["Edit", {"tool": "Bash", "command_pattern": "("}])),
            "evidence": trees,
            "thresholds": trees,
            "message": texts,
            "satisfied_by_skill": st.one_of(texts, st.lists(texts, max_size=2)),
            "protected_branches": st.lists(texts, max_size=3),
            "stop_only": leaves,
            "human_only": leaves,
        },
    ),
)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    made = Gate(tmp_path)
    made.config({"plan": {}})
    return made


def _sound(result: GateResult) -> None:
    """Nothing failed inside, and every text can be written as JSON."""
    assert [one for one in result.records if one["kind"] == "error"] == [], result.records
    for text in (result.reason, result.context, result.system_message):
        text.encode()
    json.dumps(result.records)
    assert result.decision in ("", "deny", "block")


def any_event(
    gate: Gate, name: str, session: str, tool: str, given_input: object, where: str, at: float
) -> None:
    fields = {"cwd": where, "project_dir": str(gate.repo), "tool_name": tool, "tool_input": given_input}
    _sound(gate.event(name, session, source="startup", prompt=where, reason=where, at=at, **fields))


def an_edit_is_denied(gate: Gate, session: str, given_input: object, where: str) -> None:
    result = gate.event("PreToolUse", session, tool_name="Edit", tool_input=given_input, cwd=where)
    _sound(result)
    assert result.decision == "deny" and result.requirements == ["plan"]


def any_state(gate: Gate, data: bytes, session: str) -> None:
    shutil.rmtree(gate.state_folder, ignore_errors=True)
    gate.state_folder.mkdir()
    (gate.state_folder / "feature-auth.json").write_bytes(data)
    an_edit_is_denied(gate, session, {"file_path": "src/a.py"}, str(gate.repo))
    _sound(gate.stop(session))
    _sound(gate.event("SessionStart", session, source="clear"))
    assert gate.edit(session).decision == "deny", "nothing in there said true, so nothing may be carried over"
    commands.status(gate.place(), session=A)
    upkeep.doctor(gate.place())
    upkeep.branches(gate.place())
    commands.satisfy(gate.place(), ["plan"], session=A)
    assert not gate.edit(A).decision


def any_configuration(gate: Gate, others: dict[str, Any], top: dict[str, Any], hooks: object) -> None:
    """A valid requirement among whatever else holds all the same."""
    content = {**top, "hooks": hooks, "requirements": {**others, "plan": {"enabled": True}}}
    if content.get("enabled") is False:
        del content["enabled"]
    text = yaml.safe_dump(content)
    if parse_yaml(text.encode())[0] is None:
        return  # half a character: the dumper writes what no loader takes
    gate.config(text)
    for name in EVENTS:
        _sound(gate.event(name, A, source="startup", tool_name="Edit", tool_input={"file_path": "src/a.py"}))
    assert "plan" in gate.edit().requirements
    setup.config_show(gate.place())


def any_yaml(gate: Gate, data: bytes) -> None:
    for path in (
        gate.repo / ".claude" / "requirements.local.yaml",
        gate.claude / "requirements.yaml",
        gate.repo / ".claude" / "requirements.yaml",
    ):
        path.write_bytes(data)
        try:
            for name in EVENTS:
                _sound(gate.event(name, A, source="startup", tool_name="Edit", tool_input={}))
            gate.place()
            with contextlib.suppress(UsageError):
                setup.set_enabled(gate.place(), "", False)
        finally:
            gate.config({"plan": {}})
            for extra in (
                gate.repo / ".claude" / "requirements.local.yaml",
                gate.claude / "requirements.yaml",
            ):
                extra.unlink(missing_ok=True)


events_strategy = {
    "name": st.sampled_from(EVENTS),
    "session": texts,
    "tool": st.one_of(texts, st.sampled_from(["Edit", "Bash", "Skill", "ExitPlanMode"])),
    "given_input": inputs,
    "where": texts,
    "at": numbers.filter(lambda value: abs(value) < 1e12 and value == value),
}
edit_strategy = {
    "session": texts,
    "given_input": inputs.filter(lambda value: "plans" not in str(value)),
    "where": texts,
}
state_strategy = {"data": state_bytes, "session": st.sampled_from([A, A[:8], "x", ""])}
config_strategy = {
    "others": st.dictionaries(texts.filter(lambda text: text != "plan"), junk_requirement, max_size=3),
    "top": st.dictionaries(st.sampled_from(["version", "inherit", "enabled", "x"]), leaves, max_size=3),
    "hooks": st.one_of(
        trees, st.dictionaries(st.sampled_from(["stop", "session_start", "permission_request"]), trees)
    ),
}
yaml_strategy = {
    "data": st.one_of(
        st.binary(max_size=80),
        st.text("abre:{}[]&*!|>-#'\" \n\t?,%@", max_size=80).map(lambda text: text.encode()),
        st.lists(
            st.sampled_from(
                [
                    "requirements:",
                    "\n",
                    "  ",
                    "plan:",
                    " {enabled: true}",
                    " &a",
                    " *a",
                    "- ",
                    "<<: *a",
                    "!!set",
                    "|",
                    "? ",
                ]
            ),
            max_size=20,
        ).map(lambda parts: "".join(parts).encode()),
    )
}


@SHORT
@given(**events_strategy)
def test_any_event(gate: Gate, **given_values: Any) -> None:
    """Fuzz of hook input."""
    any_event(gate, **given_values)


@SHORT
@given(**edit_strategy)
def test_any_edit_is_denied(gate: Gate, **given_values: Any) -> None:
    """No wrong allow for a valid configuration."""
    an_edit_is_denied(gate, **given_values)


@settings(SHORT, max_examples=examples(60))
@given(**state_strategy)
def test_any_state(gate: Gate, **given_values: Any) -> None:
    """Fuzz of state files."""
    any_state(gate, **given_values)


@settings(SHORT, max_examples=examples(60))
@given(**config_strategy)
def test_any_configuration(gate: Gate, **given_values: Any) -> None:
    """Fuzz of configurations that hold one valid requirement."""
    any_configuration(gate, **given_values)


@settings(SHORT, max_examples=examples(60))
@given(**yaml_strategy)
def test_any_yaml(gate: Gate, **given_values: Any) -> None:
    """Fuzz of YAML."""
    any_yaml(gate, **given_values)


def _bound(check: Callable[..., None], gate: Gate) -> Callable[..., None]:
    def run(**given_values: Any) -> None:
        check(gate, **given_values)

    return run


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_all_of_it_for_long() -> None:
    """Half an hour of processor time; CONTEXT_GRAPH_FUZZ_MINUTES sets another."""
    checks: list[tuple[Callable[..., None], dict[str, Any]]] = [
        (any_event, events_strategy),
        (an_edit_is_denied, edit_strategy),
        (any_state, state_strategy),
        (any_configuration, config_strategy),
        (any_yaml, yaml_strategy),
    ]
    until, rounds = time.process_time() + MINUTES * 60, 0
    while time.process_time() < until:
        for check, strategy in checks:
            with tempfile.TemporaryDirectory() as base:
                made = Gate(Path(base))
                made.config({"plan": {}})
                made.cache = GateCache()
                long = settings(max_examples=300, deadline=None, database=None)

                long(given(**strategy)(_bound(check, made)))()
        rounds += 1
    assert rounds


def test_a_decision_is_made_for_an_event_of_nothing() -> None:
    assert decide(gate_event("PreToolUse"), GateCache()).decision == ""
