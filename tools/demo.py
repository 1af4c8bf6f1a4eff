#!/usr/bin/env python3
"""Three scripted sessions through the real hooks and the MCP server, in a throw-away home.

Session 1 works on a small service, stores a decision and then wanders off; session 2 takes its identity up
again and is told what was decided; session 3 meets a requirement. Numbers are the owner's or a clock's.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import time
import uuid
from pathlib import Path
from typing import Any

SCRIPTS = Path(sysconfig.get_path("scripts"))
CLI = SCRIPTS / "context-graph-cli"

Step = tuple[str, dict[str, Any]]


def prompt(text: str) -> Step:
    """A user prompt."""
    return "prompt-submit", {"hook_event_name": "UserPromptSubmit", "prompt": text}


def tool(name: str, given: dict[str, Any], gave: object, *, failed: bool = False) -> Step:
    """A tool call with its result, in the client's own field names."""
    event = "PostToolUseFailure" if failed else "PostToolUse"
    outcome = {"error": gave} if failed else {"tool_response": gave}
    body = {"hook_event_name": event, "tool_name": name, "tool_input": given, **outcome}
    return ("post-tool-failure" if failed else "post-tool"), body


def rate_limiter_work() -> list[Step]:
    """Focused work on one module: read, edit, test, fix."""
    path = "src/gateway/rate_limiter.py"
    source = "class TokenBucket:\n    def __init__(self, rate, burst):\n        self.burst = burst\n"
    steps = [prompt("Add a token bucket rate limiter to the gateway, per client key, with tests")]
    for turn in range(4):
        steps += [
            tool("Read", {"file_path": path}, {"content": source * (turn + 1)}),
            tool(
                "Edit",
                {
                    "file_path": path,
                    "old_string": "self.burst = burst",
                    "new_string": f"self.burst = burst  # tokens, turn {turn}",
                },
                {"filePath": path, "newString": "TokenBucket burst tokens rate limiter client key"},
            ),
            tool(
                "Bash",
                {"command": "pytest tests/gateway/test_rate_limiter.py -q"},
                "tests/gateway/test_rate_limiter.py::test_bucket_refills TokenBucket burst AssertionError",
                failed=turn == 1,
            ),
        ]
    return steps


def wandering() -> list[Step]:
    """Work that has nothing to do with the goal, without any prompt that moved it."""
    topics = [
        "holiday-photos/resize.sh",
        "blog/drafts/sourdough.md",
        "dotfiles/vim/colors.vim",
        "crypto/prices.csv",
    ]
    return [
        tool(
            "Bash",
            {"command": f"ls -la ~/{topic} && head -40 ~/{topic}"},
            f"total 912 {topic.replace('/', ' ')} thumbnails levain palette colorscheme candles ticker",
        )
        for topic in topics * 2
    ]


class Demo:
    """One home, one project, and the hooks run in them."""

    def __init__(self, home: Path) -> None:
        self.project = home / "gateway"
        (self.project / ".git").mkdir(parents=True)
        inherited = {
            key: value for key, value in os.environ.items() if not key.startswith(("CLAUDE", "CONTEXT_GRAPH"))
        }
        self.env = {
            **inherited,
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "CONTEXT_GRAPH_HOME": str(home / "data"),
        }
        self.times: dict[str, list[float]] = {}

    def run(self, *args: str, body: object = None, session: str = "") -> str:
        """Run one command, keep its wall time, return what it printed."""
        env = {**self.env, **({"CLAUDE_CODE_SESSION_ID": session} if session else {})}
        began = time.perf_counter()
        done = subprocess.run(
            [str(CLI), *args],
            input=json.dumps(body).encode() if body is not None else b"",
            capture_output=True,
            env=env,
            cwd=self.project,
            timeout=30,
            check=False,
        )
        self.times.setdefault(" ".join(args[:2]), []).append((time.perf_counter() - began) * 1000)
        if done.returncode:
            sys.exit(f"{' '.join(args)} gave {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()

    def hook(self, verb: str, session: str, body: dict[str, Any]) -> str:
        """Run one hook as Claude Code does; returns the text that would reach the model."""
        full = {"session_id": session, "cwd": str(self.project), **body}
        printed = self.run("hooks", verb, "--format", "claude", body=full, session=session)
        return json.loads(printed)["hookSpecificOutput"]["additionalContext"] if printed.strip() else ""

    def say(self, event: str, text: str) -> None:
        """Show what would reach the model."""
        print(f"  {event:<17} -> " + textwrap.indent(text or "(nothing)", " " * 23).lstrip())

    def tools(self, session: str, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Call MCP tools over the bridge that Claude Code would start; the structured results."""
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "demo", "version": "1"},
        }
        asked = [("initialize", hello)]
        asked += [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for number, (method, params) in enumerate(asked)
        ]
        began = time.perf_counter()
        done = subprocess.run(
            [str(CLI), "mcp"],
            input="\n".join(lines).encode() + b"\n",
            capture_output=True,
            env={**self.env, "CLAUDE_CODE_SESSION_ID": session},
            cwd=self.project,
            timeout=30,
            check=True,
        )
        self.times.setdefault("mcp", []).append((time.perf_counter() - began) * 1000)
        answers = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda it: it["id"])
        failed = [answer["error"] for answer in answers if "error" in answer]
        if failed:
            sys.exit(f"mcp: {failed}")
        return [answer["result"]["structuredContent"] for answer in answers[1:]]

    def session(self, session: str, steps: list[Step]) -> None:
        """A whole session, each tool call with its PreToolUse."""
        start = {"hook_event_name": "SessionStart", "source": "startup"}
        self.say("SessionStart", self.hook("session-start", session, start))
        for number, (verb, body) in enumerate(steps):
            if verb == "prompt-submit":
                self.say("UserPromptSubmit", self.hook(verb, session, body))
                continue
            body["tool_use_id"] = f"toolu_{session[:8]}_{number}"
            before = {key: body[key] for key in ("tool_name", "tool_input", "tool_use_id")}
            brief = self.hook("pre-tool", session, {"hook_event_name": "PreToolUse", **before})
            notice = self.hook(verb, session, body)
            if brief or notice:
                print(f"  {body['tool_name']:<5} call {number:>2}     -> {brief}  {notice}".rstrip())
        self.hook("stop", session, {"hook_event_name": "Stop", "stop_hook_active": False})
        self.hook("session-end", session, {"hook_event_name": "SessionEnd", "reason": "other"})


def remember(demo: Demo, session: str) -> None:
    """Store a decision as the model would."""
    decision = {
        "content": "Rate limits count per API key, not per IP: customers behind one NAT shared a bucket.",
        "rationale": "decided in review, not visible in the code",
        "tags": ["decision"],
    }
    stored, found = demo.tools(
        session,
        ("store_memory", decision),
        ("recall_memory", {"query": "why not limit by IP?", "top_k": 1}),
    )
    print(f"  store_memory      -> {stored['node_id']}  pulse {stored['pulse']}")
    print(f"  recall_memory     -> {found['nodes'][0]['relevance_score']}  {found['nodes'][0]['content']}")


def gated(demo: Demo, session: str) -> None:
    """An edit that a requirement blocks until a plan is on record."""
    (demo.project / ".git" / "HEAD").write_text("ref: refs/heads/feature/limits\n")
    demo.run("req", "init", "--yes")
    demo.hook("session-start", session, {"hook_event_name": "SessionStart", "source": "startup"})
    edit = {"file_path": str(demo.project / "limits.py"), "old_string": "a", "new_string": "b"}
    call = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": edit}
    body = {"session_id": session, "cwd": str(demo.project), **call}
    for tool_use in ("toolu_1", "toolu_2"):
        printed = demo.run(
            "hooks", "pre-tool", "--format", "claude", body={**body, "tool_use_id": tool_use}, session=session
        )
        said = json.loads(printed)["hookSpecificOutput"] if printed.strip() else {}  # nothing is no objection
        decision = said.get("permissionDecision", "allowed")
        demo.say(f"Edit: {decision}", said.get("permissionDecisionReason", said.get("additionalContext", "")))
        if decision == "deny":
            demo.say("req satisfy", demo.run("req", "satisfy", "commit_plan", "--session", session).strip())


def main() -> None:
    """Run the demo and print it."""
    home = Path(tempfile.mkdtemp(prefix="context-graph-demo-"))
    demo = Demo(home)
    first, second, third = (str(uuid.uuid4()) for _ in range(3))
    try:
        print("Session 1: a rate limiter, a decision, then eight commands about something else entirely")
        demo.session(first, rate_limiter_work() + wandering())
        remember(demo, first)
        print("\nSession 2, a new process tree: the same project again")
        demo.session(
            second, [prompt("Should the rate limiter count by IP or by key?"), *rate_limiter_work()[1:7]]
        )
        print("\nSession 3: a requirement")
        gated(demo, third)
        report(demo, second)
    finally:
        subprocess.run(
            [str(CLI), "owner", "stop"], env=demo.env, cwd=demo.project, capture_output=True, check=False
        )
        shutil.rmtree(home, ignore_errors=True)


def report(demo: Demo, session: str) -> None:
    """What is kept, and what it cost."""
    shown = json.loads(demo.run("session", "show", "--session-id", session, "--json"))
    chain = len(shown["chain"])
    print(f"\nKept of session 2: {shown['events_applied']} events, a chain of {chain} sessions,")
    print(f"  purpose vector {[round(value, 2) for value in shown['purpose_vector']]}")
    for _ in range(20):
        line = demo.run("consciousness", "brief", session=session).strip()
    print(f"  brief {line}")
    print("\nWall time of whole processes on this machine, median ms:")
    for name in sorted(demo.times):
        print(f"  {name:<28} {statistics.median(demo.times[name]):7.1f}   (n={len(demo.times[name])})")
    status = json.loads(demo.run("owner", "status", "--json"))
    rss_mib = status["rss_bytes"] / 2**20
    print(f"\nOwner: pid {status['pid']}, {rss_mib:.0f} MiB, {status['requests']} requests")


if __name__ == "__main__":
    main()
