"""Drives Codex CLI or Gemini CLI through one prompt, sealed on loopback, with a scripted model.

    python tests/realclient/other_hosts.py HOST PROJECT LOGS --prompt TEXT --script SCRIPT.json

Host and model live in namespaces of their own, as in run.py. SCRIPT is a list of turns: a text, or
``{"tool": NAME, "input": ...}``, for Codex also ``{"patch": TEXT}``. The environment is HOME (in LOGS), what
CONTEXT_GRAPH_… is set, and the scripted model's address. LOGS then has requests.jsonl and output.txt. The
programs are npm packages below $OTHER_HOSTS_DIR; nothing installs them. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import installed
import sealed

FOLDER = Path(os.environ.get("OTHER_HOSTS_DIR") or installed.FOLDER)
VERSIONS = {"codex": "0.169.0", "gemini": "0.61.0"}
"""The ones that were driven last."""
_PACKAGES = {"codex": "@openai/codex", "gemini": "@google/gemini-cli"}
_CODEX = """model = "gpt-5.1-codex"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."{project}"]
trust_level = "trusted"
"""
_GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
}


def why_not(host: str) -> str:
    """Why the host can't be driven here; empty if it can."""
    if not _program(host):
        return f"no {_PACKAGES[host]} below {FOLDER}: npm install it there and set OTHER_HOSTS_DIR"
    done = subprocess.run([*installed.NAMESPACES, "true"], capture_output=True, check=False)
    return "no namespaces here" if done.returncode else ""


def _program(host: str) -> list[str]:
    if host == "codex":
        found = sorted(FOLDER.glob("node_modules/@openai/codex-linux-*/vendor/*/bin/codex"))
        return [str(found[0])] if found else []
    script, node = FOLDER / "node_modules" / _PACKAGES[host] / "bundle" / "gemini.js", shutil.which("node")
    return [node, str(script)] if node and script.exists() else []


class Model(ThreadingHTTPServer):
    """Plays the script to whoever asks, by either interface; keeps every request."""

    def __init__(self, turns: list[Any], log: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.turns, self.log, self.asked = turns, log, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def next_turn(self, body: Any) -> tuple[int, Any]:
        with self.log.open("a", encoding="utf-8") as out:
            out.write(json.dumps(body) + "\n")
        number, self.asked = self.asked, self.asked + 1
        return number, self.turns[number] if number < len(self.turns) else "(script finished)"


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def log_message(self, *_: Any) -> None:
        """Silent."""

    def do_GET(self) -> None:
        self._answer("application/json", b'{"object":"list","data":[],"models":[]}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.endswith("/responses"):
            number, turn = self.server.next_turn(body)
            self._answer("text/event-stream", _responses(number, turn))
        elif "stream" in self.path:
            number, turn = self.server.next_turn(body)
            self._answer("text/event-stream", f"data: {json.dumps(_gemini(number, turn))}\r\n\r\n".encode())
        else:
            self._answer("application/json", json.dumps({"totalTokens": 1, **_gemini(0, "{}")}).encode())

    def _answer(self, kind: str, content: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _responses(number: int, turn: Any) -> bytes:
    call: dict[str, Any] = {"call_id": f"call_{number}", "id": f"item_{number}"}
    if isinstance(turn, str):
        content = [{"type": "output_text", "text": turn}]
        item = {"type": "message", "role": "assistant", "id": f"item_{number}", "content": content}
    elif "patch" in turn:
        item = {"type": "custom_tool_call", **call, "name": "apply_patch", "input": turn["patch"]}
    else:
        space, _, name = turn["tool"].rpartition(".")
        own = {"namespace": space} if space else {}
        item = {"type": "function_call", **call, **own, "name": name, "arguments": json.dumps(turn["input"])}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    events = (
        {"type": "response.created", "response": {"id": f"r{number}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"r{number}", "usage": usage}},
    )
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()


def _gemini(number: int, turn: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"text": turn}
    if not isinstance(turn, str):
        part = {"functionCall": {"name": turn["tool"], "args": turn["input"], "id": f"c{number}"}}
    content = {"role": "model", "parts": [part]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "x"}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Drive one prompt of another host.")
    parser.add_argument("host", choices=_PACKAGES)
    parser.add_argument("project", type=Path)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--prompt", required=True)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if not options.inside:
        command = [*installed.NAMESPACES, sys.executable, __file__, "--inside", *argv]
        return subprocess.run(command, timeout=180, check=False).returncode
    sealed.loopback_up()
    home = options.logs / "home"
    home.mkdir(parents=True, exist_ok=True)
    model = Model(json.loads(options.script.read_text()), options.logs / "requests.jsonl")
    url = f"http://127.0.0.1:{model.server_address[1]}"
    kept = {name: value for name, value in os.environ.items() if name.startswith("CONTEXT_GRAPH_")}
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "SHELL": "/bin/bash", **kept}
    words = _prepare(options.host, home, url, options.project)
    env |= {"SCRIPTED_KEY": "x", "GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url}
    with (options.logs / "output.txt").open("a") as out:
        done = subprocess.run(
            [*_program(options.host), *words, options.prompt],
            **{"env": env, "cwd": options.project, "stdin": subprocess.DEVNULL, "stdout": out},
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
    return done.returncode


def _prepare(host: str, home: Path, url: str, project: Path) -> list[str]:
    """Write the host's own settings; its arguments before the prompt."""
    if host == "codex":
        (home / ".codex").mkdir(exist_ok=True)
        (home / ".codex" / "config.toml").write_text(_CODEX.format(url=url, project=project))
        return ["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check"]
    (home / ".gemini").mkdir(exist_ok=True)
    (home / ".gemini" / "settings.json").write_text(json.dumps(_GEMINI))
    return ["--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
