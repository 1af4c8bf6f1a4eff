"""A scripted Messages API on loopback: it plays the model's turns and keeps what the client sent.

A script is a list of turns for the main conversation, or an object of lists:

- ``"replies": {TEXT: [...]}``: the main conversation plays the list of the TEXT that came up in it last,
- ``"agents": {TEXT: [...]}``: a conversation whose first message has TEXT, a subagent's, plays that list,
- ``"prompts"``: the user's, in place of --prompt; texts, or ``{"say": TEXT, "after": COMMAND}``.

Past the end of its list the model says "(script finished)". A turn is

- a text, which ends the model's turn,
- ``{"tool": NAME, "input": {...}}``, a tool call, or a list of texts and calls,
- ``{"say": <one of these>, "after": COMMAND}``, held back until the shell COMMAND succeeds,
- ``{"status": 529, "error": "overloaded_error"}``, an HTTP error.

Standard library only.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["ScriptedModel", "hold"]

_HOLD_S, _LOOK_S = 60.0, 0.05


class ScriptedModel:
    """Serves from a thread. ``requests`` is the log: one JSON line for each request, body and all."""

    def __init__(self, script: Any, requests: Path) -> None:
        given = {"replies": {"": script}} if isinstance(script, list) else script
        self.prompts: list[Any] = given.get("prompts", [])
        self._replies: dict[str, list[Any]] = given["replies"]
        self._agents: dict[str, list[Any]] = given.get("agents", {})
        self.played: Counter[str] = Counter()
        self._requests = requests
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._ids = itertools.count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def keep(self, **entry: Any) -> None:
        """Write one request down."""
        with self._lock:
            entry = {"n": next(self._numbers), "t": round(time.monotonic() - self._began, 4), **entry}
            with self._requests.open("a", encoding="utf-8") as out:
                out.write(json.dumps(entry) + "\n")

    def next_turn(self, body: dict[str, Any]) -> tuple[str, str, int, Any]:
        """Who is speaking (main or agent), lane, number in it and turn that answer this request."""
        messages = body.get("messages", [])
        first, all_of_it = (json.dumps(said, ensure_ascii=False) for said in (messages[:1], messages))
        who, lanes = "agent", self._agents
        lane = next((text for text in lanes if text in first), None)
        if lane is None:
            who, lanes = "main", self._replies
            lane = max(lanes, key=lambda text: all_of_it.rfind(text) if text else 0)
        with self._lock:
            number = self.played[lane]
            self.played[lane] += 1
        turns = lanes[lane]
        return who, lane, number, turns[number] if number < len(turns) else "(script finished)"

    def message(self, turn: Any, model: str) -> dict[str, Any]:
        """The assistant's message for a turn of texts and calls."""
        content: list[dict[str, Any]] = []
        for part in turn if isinstance(turn, list) else [turn]:
            if isinstance(part, str):
                content.append({"type": "text", "text": part})
            else:
                use = f"toolu_stub{next(self._ids):06d}"
                content.append(
                    {"type": "tool_use", "id": use, "name": part["tool"], "input": part.get("input", {})}
                )
        called = any(block["type"] == "tool_use" for block in content)
        usage = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        return {
            "id": f"msg_stub{next(self._ids):06d}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": "tool_use" if called else "end_turn",
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 10},
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(_Handler):
            model = owner

        return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ScriptedModel

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""

    def do_HEAD(self) -> None:
        self._answer(200, {})

    def do_GET(self) -> None:
        self.model.keep(method="GET", path=self.path)
        self._answer(404, {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        entry = {
            "method": "POST",
            "path": self.path,
            "agent": self.headers.get("user-agent", ""),
            "body": body,
        }
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self.model.keep(**entry)
            return self._answer(200, {"input_tokens": max(1, len(raw) // 4)})
        if path != "/v1/messages":
            self.model.keep(**entry)
            return self._answer(404, {})
        if not body.get("tools"):  # titles, quota probes, summaries: no part of the script
            self.model.keep(**entry)
            return self._say("ok", body)
        who, lane, number, turn = self.model.next_turn(body)
        self.model.keep(**entry, who=who, lane=lane, turn=number)
        if isinstance(turn, dict) and "after" in turn:
            hold(turn["after"])
            turn = turn["say"]
        if isinstance(turn, dict) and "status" in turn:
            error = {"type": turn.get("error", "api_error"), "message": "scripted"}
            return self._answer(turn["status"], {"type": "error", "error": error})
        self._say(turn, body)

    def _say(self, turn: Any, body: dict[str, Any]) -> None:
        message = self.model.message(turn, body.get("model", "stub"))
        if not body.get("stream"):
            return self._answer(200, message)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in _stream(message):
            chunk = f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")

    def _answer(self, status: int, document: Any) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def hold(command: str) -> None:
    """Wait until the shell ``command`` succeeds, a minute at most: the test then says what was missing."""
    until = time.monotonic() + _HOLD_S
    while subprocess.run(["/bin/sh", "-c", command], check=False).returncode and time.monotonic() < until:
        time.sleep(_LOOK_S)


def _stream(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The API's events for one whole message."""
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield "message_start", {"message": begun}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            given = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": given}
        yield "content_block_start", {"index": index, "content_block": empty}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ended, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield "message_stop", {}
