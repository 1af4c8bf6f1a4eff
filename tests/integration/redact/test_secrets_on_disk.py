"""Planted secrets: whatever way they come in, no file below the data root ever holds one (invariant 10)."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import MCPError
from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected
from tests.support.owner.harness import wait_until

from context_graph.claude.events import REGISTERED
from context_graph.claude.hooks.hook_input import HookInput
from context_graph.cli.words import Argument, Option, every_command
from context_graph.config import data_root, store_dir
from context_graph.operations import OPERATIONS
from context_graph.operations.mcp.tools import _properties
from context_graph.store.sessions.sessions import SessionStore

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "secrets.tsv"
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def _rows() -> Iterator[tuple[str, str, str]]:
    for line in GOLDEN.read_text().splitlines():
        if line and not line.startswith("#"):
            rule, secret, text = (
                re.sub(r"\\(.)", lambda found: ESCAPES[found[1]], cell.replace("{}", ""))
                for cell in line.split("\t")
            )
            yield rule, secret, text


def _plant(cli: Cli, text: str, number: int, **env: str) -> None:
    for kind, given in (
        ("prompt-submit", {"hook_event_name": "UserPromptSubmit", "prompt": text}),
        (
            "post-tool",
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": f"cat <<X\n{text}\nX"},
                "tool_response": {"stdout": text, "stderr": ""},
                "tool_use_id": f"toolu_{number}",
            },
        ),
    ):
        done = cli.run(
            "hooks", kind, "--format", "claude", stdin=json.dumps({"session_id": "s-1", **given}), env=env
        )
        assert done.returncode == 0


def _everything(root: Path) -> bytes:
    found = []
    for folder, _, names in os.walk(root):
        for path in (Path(folder, name) for name in names):
            with suppress(FileNotFoundError):  # the owner has just removed it
                found.append(path.read_bytes() if path.is_file() else b"")
    return b"\0".join(found)


def _leaks(root: Path, where: str) -> list[str]:
    held = _everything(root)
    return [
        f"{where}: {rule}: {line[:12]}…"
        for rule, secret, _ in _rows()
        for line in secret.splitlines()
        if len(line) >= 8 and not line.startswith("-----") and line.encode() in held
    ]


@pytest.mark.timeout(300)
def test_no_planted_secret_is_found_in_any_file(cli: Cli) -> None:
    """REQ-HOOKS-33: prompts, tool inputs and outputs; live, logged, read, closed."""
    root = data_root(cli.env)
    cli.run("hooks", "session-start", "--format", "claude", stdin=json.dumps({"session_id": "s-1"}))
    rows = list(_rows())
    for number, (_, _, text) in enumerate(rows):
        _plant(cli, text, number)
    assert _leaks(root, "live") == []
    cli.run("owner", "stop")
    for number, (_, _, text) in enumerate(rows):
        _plant(cli, text, number + 1000, CONTEXT_GRAPH_PYTHON="/bin/false")
    assert _leaks(root, "events") == []

    def shown() -> dict[str, int]:
        answer: dict[str, int] = json.loads(
            cli.run("session", "show", "--session-id", "s-1", "--json").stdout
        )
        return answer

    wait_until(lambda: shown()["events_waiting"] == 0, "all events are applied")
    assert shown()["events_applied"] >= 4 * len(rows)
    assert _leaks(root, "drained") == []
    cli.run("owner", "stop")
    assert _leaks(root, "closed") == []
    with SessionStore.open(store_dir(root, cli.project) / "db") as store:
        told = "\n".join(
            f"{event.input_text}\n{event.output_text}" for event in store.event_log.after("s-1", 0)
        )
    assert "[redacted:" in told
    assert not [rule for rule, secret, _ in rows if secret in told]


def test_what_is_marked_as_private_is_kept_on_no_way(cli: Cli) -> None:
    """A prompt, the last words and a memory; with an owner, and in the spool."""
    root = data_root(cli.env)
    secret = "Nordwind"
    marked = f"Set up the demo. <private>The client is {secret} Bank</private> Use the blue theme."
    cli.run("hooks", "session-start", "--format", "claude", stdin=json.dumps({"session_id": "s-1"}))
    for env in ({}, {"CONTEXT_GRAPH_PYTHON": "/bin/false"}):
        if env:
            cli.run("owner", "stop")
        for kind, field_name in (("prompt-submit", "prompt"), ("stop", "last_assistant_message")):
            body = json.dumps({"session_id": "s-1", field_name: marked})
            assert cli.run("hooks", kind, "--format", "claude", stdin=body, env=env).returncode == 0
        assert secret.encode() not in _everything(root)
    assert cli.run("memory", "store", marked).returncode == 0
    told = cli.run("memory", "export").stdout
    assert "[redacted:private] Use the blue theme." in told and secret not in told
    cli.run("owner", "stop")
    assert secret.encode() not in _everything(root)


@dataclass
class Planter:
    """Draws a token for each place it is planted in, and finds the places whose tokens were kept."""

    places: dict[str, str] = field(default_factory=dict)

    def token(self, place: str) -> str:
        """A token as GitHub issues them, another one for each place; fake."""
        drawn = hashlib.sha256(place.encode()).hexdigest()
        token = "".join(("gh", "p_", drawn[:18].upper(), drawn[18:36]))
        self.places[token] = place
        return token

    def text(self, place: str) -> str:
        """A sentence around a token."""
        return f"noted {self.token(place)} here"

    def kept(self, *folders: Path) -> list[str]:
        """The places whose tokens stand in a file below ``folders``, or in a file's name."""
        held = b"\0".join(_everything(folder) for folder in folders)
        held += b"\0".join(os.fsencode(path) for folder in folders for path in folder.rglob("*"))
        return sorted({place for token, place in self.places.items() if token.encode() in held})


def _flat(planter: Planter, event: str, number: int) -> dict[str, Any]:
    """A hook's flat input with a token in each text that the parser reads, or that it does not know."""
    kinds = msgspec.structs.fields(HookInput)
    names = [one.encode_name for one in kinds if one.type not in (bool, msgspec.Raw)]
    unread = ("custom_instructions", "message", "transcript_path")
    body: dict[str, Any] = {
        name: planter.text(f"{event}.{name}") for name in (*names, *unread) if name not in NOT_TEXT
    }
    body |= {"session_id": "s-1", "hook_event_name": event, "tool_name": planter.token(f"{event}.tool_name")}
    tool = {
        "command": planter.text(f"{event}.tool_input.command"),
        planter.token(f"{event}.tool_input key"): "a value",
        "nested": [{"deep": planter.text(f"{event}.tool_input.deep")}],
    }
    answer = {"stdout": planter.text(f"{event}.tool_response.stdout")}
    return body | {"tool_input": tool, "tool_response": answer, "tool_use_id": f"toolu_{number}"}


NOT_TEXT = {"--success", "timestamp_ms", "duration_ms", "hook_type", "agent_id", "cwd"}
"""An option; numbers; seed 001's other shape; a subagent's event; a folder, which `no_id` looks at."""


@pytest.mark.timeout(300)
def test_no_field_of_any_hook_event_keeps_a_secret(cli: Cli, isolated_home: Path) -> None:
    """REQ-HOOKS-33: each registered event, each field that the parser knows, live and logged."""
    planter, verbs = Planter(), [event.verb for event in REGISTERED if event.verb != "permission-request"]
    for logged, env in ((False, {}), (True, {"CONTEXT_GRAPH_PYTHON": "/bin/false"})):
        if logged:
            cli.run("owner", "stop")
        for number, event in enumerate(REGISTERED):
            body = json.dumps(_flat(planter, event.name, number + 100 * logged))
            done = cli.run("hooks", event.verb, "--format", "claude", stdin=body, env=env)
            assert done.returncode == 0, done.stderr
        assert planter.kept(isolated_home, cli.project) == []
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_waiting"] == 0 and shown["events_applied"] >= 2 * len(verbs) - 2
    cli.run("owner", "stop")
    assert planter.kept(isolated_home, cli.project) == []
    with SessionStore.open(store_dir(data_root(cli.env), cli.project) / "db") as store:
        told = [repr(event) for event in store.event_log.after("s-1", 0)]
    for name in ("tool_name", "prompt_id", "reason", "input_text", "output_text"):
        assert any(re.search(rf"{name}='[^']*\[redacted:", one) for one in told), name


def test_no_id_of_a_hook_event_keeps_an_issuers_token(cli: Cli, isolated_home: Path) -> None:
    """Ids and folders stay as they are, but for what can be nothing else than a key."""
    planter = Planter()
    for logged, env in ((False, {}), (True, {"CONTEXT_GRAPH_PYTHON": "/bin/false"})):
        if logged:
            cli.run("owner", "stop")
        given = {
            "hook_event_name": "PostToolUse",
            "session_id": f"s-{planter.token(f'session_id {logged}')}",
            "tool_use_id": planter.token(f"tool_use_id {logged}"),
            "cwd": f"/home/{planter.token(f'cwd {logged}')}",
            "transcript_path": f"/home/{planter.token(f'transcript_path {logged}')}.jsonl",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_response": {"stdout": "a"},
        }
        done = cli.run("hooks", "post-tool", "--format", "claude", stdin=json.dumps(given), env=env)
        assert done.returncode == 0
        assert planter.kept(isolated_home) == []
    cli.run("owner", "stop")
    assert planter.kept(isolated_home) == []


IDS = {"node_id", "source_id", "target_id", "link_to", "supersedes", "evidence"}


def _argument(planter: Planter, place: str, name: str, schema: dict[str, Any]) -> Any:
    """A token in an argument of a tool, whatever its schema lets it be; None for what holds no text."""
    kind = schema.get("type")
    if name in IDS or "enum" in schema or schema.get("format") == "date-time" or name == "occurred_at":
        return None
    if kind == "object":
        return {
            "note": planter.text(f"{place} value"),
            planter.token(f"{place} key"): [planter.text(f"{place} []")],
        }
    if kind == "array":
        return None if "enum" in schema.get("items", {}) else [planter.token(f"{place} item")]
    return planter.text(place) if kind == "string" else None


@pytest.mark.timeout(300)
def test_no_argument_of_any_tool_keeps_a_secret(cli: Cli, isolated_home: Path) -> None:
    """REQ-HOOKS-33 for memories: all that each tool takes, listed or not; what is refused leaves nothing
    either."""
    planter = Planter()
    with connected(cli) as peer:
        ids = {"node_id": peer.store("one plain note"), "source_id": peer.store("two plain notes")}
        ids |= {"target_id": ids["node_id"], "link_to": [ids["node_id"]], "supersedes": [ids["source_id"]]}
        for tool, taken in _taken():
            texts = {name: _argument(planter, f"{tool}.{name}", name, given) for name, given in taken.items()}
            fixed = {name: ids[name] for name in taken if name in ids and tool != "restore_memory"}
            one = {name: text for name, text in texts.items() if text is not None} | fixed
            if "content_base64" in one:
                bare = {**one, "content_base64": base64.b64encode(one["content_base64"].encode()).decode()}
                one.pop("content_base64")
                bare.pop("content")
                peer.result(tool, **bare)
            for name in [None, *(one if tool not in ("store_memory", "link_memories") else ())]:
                with suppress(MCPError):
                    peer.result(tool, **{key: value for key, value in one.items() if key != name})
        with suppress(MCPError):
            peer.result(planter.token("a tool's name"), query=planter.text("an argument of no tool"))
    assert planter.kept(isolated_home, cli.project) == []
    exported = cli.run("memory", "export").stdout
    assert exported.count("[redacted:") >= 6, "the calls did store something"
    cli.run("owner", "stop")
    assert planter.kept(isolated_home, cli.project) == []


def _taken() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each tool with the schemas of all its parameters: a loaded one's own schema leaves some out."""
    for operation in OPERATIONS:
        if operation.tool:
            yield operation.tool, _properties(operation.arguments)


@pytest.mark.timeout(300)
def test_no_field_of_an_import_keeps_a_secret(cli: Cli, isolated_home: Path) -> None:
    """Every text of every kind of record: memories, those that are forgotten, links, tombstones."""
    planter, written = Planter(), 0
    with connected(cli) as peer:
        first, second = peer.store("one plain note"), peer.store("two plain notes")
        peer.ask("link_memories", source_id=first, target_id=second, metadata={"why": "a test"})
        for soft, reason in ((True, "no longer so"), (False, "user_requested")):
            gone = peer.store(f"to be forgotten, {soft}")
            peer.ask("forget_memory", node_id=gone, soft_delete=soft, reason=reason)
    lines = [json.loads(line) for line in cli.run("memory", "export").stdout.splitlines()]
    samples = {
        (line["type"], "deleted" in line): line for line in lines if line.get("type") not in (None, "end")
    }
    assert {kind for kind, _ in samples} == {"memory", "link", "tombstone"} and ("memory", True) in samples
    for (kind, deleted), line in samples.items():
        for name, value in line.items():
            place = f"{kind}{' deleted' * deleted}.{name}"
            planted = _planted(planter, place, name, value)
            if planted is None:
                continue
            record = {**line, name: planted, "id": str(uuid.uuid4())}
            record |= {"relationship_type": planter.text(place)} if name == "relationship_type" else {}
            done = cli.run("memory", "import", stdin=json.dumps(record) + "\n")
            written += done.returncode == 0
    assert written >= 12
    assert planter.kept(isolated_home, cli.project) == []
    cli.run("owner", "stop")
    assert planter.kept(isolated_home, cli.project) == []


def _planted(planter: Planter, place: str, name: str, value: Any) -> Any:
    """``value`` of a record with a token in it; None where no text can stand."""
    if name in ("type", "id", "source_id", "target_id", "deleted_at_ms") or isinstance(value, int | float):
        return None
    if name == "deleted":
        return {**value, "reason": planter.text(place)}
    if isinstance(value, dict):
        return {
            "note": planter.text(place),
            planter.token(f"{place} key"): {"password": "x", "in": planter.text(place)},
        }
    if isinstance(value, list):
        return [planter.token(place)]
    return planter.text(place)


NOT_RUN = {"mcp", "owner run", "setup", "restore", "backup", "memory reindex"}
"""They wait for a client, or write the client's files or whole stores, and record nothing typed."""


STILL_KEPT = {"req pause reason"}
"""Not masked yet: what a person types when pausing a requirement (docs/threat-model.md)."""


WITHOUT_A_TOKEN = (
    {"db_path", "format", "output", "link_to", "supersedes", "evidence", "johari_quadrants"}
    | {"include_metadata", "as_of", "ttl", "preset", "limit"}
)  # fmt: skip
"""Folders, ids, times and words from a list: a token there is refused before the rest is looked at."""


def _takes_text(word: Option | Argument) -> bool:
    """Whether a person may write what they like there."""
    if word.parameter in WITHOUT_A_TOKEN or word.choices or (isinstance(word, Option) and word.is_flag):
        return False
    return word.kind in ("text", "json")


@pytest.mark.timeout(600)
def test_no_argument_of_any_command_keeps_a_secret(cli: Cli, isolated_home: Path) -> None:
    """REQ-HOOKS-33: every command with a token in each option and argument that takes text."""
    planter = Planter()
    ids = [
        cli.run("memory", "store", text, "--rationale", "kept by a test").stdout.strip()
        for text in ("one plain note", "two plain notes")
    ]
    for names, command in every_command():
        if {names, names.split()[0]} & NOT_RUN:
            continue
        args: list[str] = []
        for word in filter(_takes_text, command.takes):
            text = planter.text(f"{names} {word.parameter}")
            if word.parameter in ("id", "source", "target"):
                text = ids[word.parameter == "target"]
            elif word.kind == "json":
                text = json.dumps({"note": text})
            args += [text] if isinstance(word, Argument) else [word.name, text]
        if args:
            cli.run(*names.split(), *args, timeout=60)
    assert len(planter.places) > 30
    assert _kept(planter, isolated_home, cli.project) == []
    assert cli.run("memory", "export").stdout.count("[redacted:") >= 3, "the commands did store something"
    cli.run("owner", "stop")
    assert _kept(planter, isolated_home, cli.project) == []


def _kept(planter: Planter, *folders: Path) -> list[str]:
    """As `Planter.kept`, without a session's own id, which names it, and what is known."""
    found = planter.kept(*folders)
    return [
        place
        for place in found
        if place not in STILL_KEPT and not place.endswith((" session_id", " session"))
    ]
