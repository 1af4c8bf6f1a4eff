"""What a run's files tell: hooks, tool calls, and where a text reached the model. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["requests_of", "summary_of"]


def requests_of(logs: Path) -> list[dict[str, Any]]:
    """All requests to the model; those that played a turn have ``who``, ``lane`` and ``turn``."""
    path = logs / "requests.jsonl"
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def summary_of(events: list[dict[str, Any]], logs: Path, markers: Sequence[str]) -> dict[str, Any]:
    """The run in one document. ``tool_results`` have the first 300 characters of each."""
    requests = requests_of(logs)
    begun = next((one for one in events if one.get("subtype") == "init"), {})
    ended = next((one for one in reversed(events) if one.get("type") == "result"), {})
    hooks = [one for one in events if one.get("subtype") == "hook_response"]
    return {
        "client_version": begun.get("claude_code_version") or _agent_version(requests),
        "session_id": begun.get("session_id"),
        "result_at_s": ended.get("_t"),
        "result": {name: ended.get(name) for name in ("subtype", "is_error", "result", "num_turns")},
        "mcp_servers": begun.get("mcp_servers"),
        "skills": begun.get("skills"),
        "plugins": begun.get("plugins"),
        "hooks": [
            {
                "t": one["_t"],
                "event": one.get("hook_event"),
                "name": one.get("hook_name"),
                "exit_code": one.get("exit_code"),
                "outcome": one.get("outcome"),
            }
            for one in hooks
        ],
        "tool_calls": [
            {"t": at, "name": block["name"], "id": block["id"]} for at, block in _blocks(events, "tool_use")
        ],
        "tool_results": [
            {
                "t": at,
                "id": block["tool_use_id"],
                "is_error": bool(block.get("is_error")),
                "content": str(block.get("content"))[:300],
            }
            for at, block in _blocks(events, "tool_result")
        ],
        "requests": [
            {name: one.get(name) for name in ("n", "t", "path", "who", "lane", "turn")} for one in requests
        ],
        "markers": {marker: list(_places(marker, requests)) for marker in markers},
        "logs": str(logs),
    }


def _agent_version(requests: list[dict[str, Any]]) -> str | None:
    """As an interactive client tells it: `claude-cli/1.2.3 (external, cli)`."""
    agents = (one.get("agent", "") for one in requests if one.get("turn") is not None)
    return next((agent.partition("/")[2].split(" ")[0] for agent in agents if "/" in agent), None)


def _blocks(events: list[dict[str, Any]], kind: str) -> Iterator[tuple[float, dict[str, Any]]]:
    for event in events:
        message = event.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if block.get("type") == kind:
                yield event["_t"], block


def _places(marker: str, requests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Requests, and parts of them, that contain the text."""
    wanted = json.dumps(marker)[1:-1]
    for request in requests:
        body = request.get("body") or {}
        for part in ("system", "tools"):
            if wanted in json.dumps(body.get(part, "")):
                yield {"request": request["n"], "where": part}
        for at, message in enumerate(body.get("messages", [])):
            content = message.get("content")
            for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
                if wanted in json.dumps(block):
                    place = {"where": f"messages[{at}]", "role": message.get("role")}
                    yield {"request": request["n"], **place, "block": block.get("type")}
