#!/usr/bin/env python3
"""Shows what context-graph does, in three acts.

Hooks, owner and stores are real, in a home that goes at the end: each line that Claude would be told is what
the hook printed, and each number is measured here. `--svg FILE` also draws the run as a picture.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

CLI = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
BARS = "▁▂▃▄▅▆▇█"
CORRECTION = "No, that is wrong: limits must be counted per API key, not per IP. Customers share addresses."
WIDTH = 100
TRIES = 5

Step = tuple[str, dict[str, Any]]


def tool(name: str, given: dict[str, Any], gave: object, *, failed: bool = False) -> Step:
    """A tool call with its result, in the client's own field names."""
    event = "PostToolUseFailure" if failed else "PostToolUse"
    outcome = {"error": gave} if failed else {"tool_response": gave}
    body = {"hook_event_name": event, "tool_name": name, "tool_input": given, **outcome}
    return ("post-tool-failure" if failed else "post-tool"), body


def rate_limiter_work(project: Path) -> list[Step]:
    """Focused work on one module: read, edit, test, fix."""
    path = str(project / "src/gateway/rate_limiter.py")
    source = "class TokenBucket:\n    def __init__(self, rate, burst):\n        self.burst = burst\n"
    steps: list[Step] = []
    for turn in range(4):
        change = {"old_string": "self.burst = burst", "new_string": f"self.burst = burst  # turn {turn}"}
        said = "tests/gateway/test_rate_limiter.py::test_bucket_refills TokenBucket burst AssertionError"
        tests = {"command": "pytest tests/gateway/test_rate_limiter.py -q"}
        steps += [
            tool("Read", {"file_path": path}, {"content": source * (turn + 1)}),
            tool("Edit", {"file_path": path, **change}, {"filePath": path, "newString": "TokenBucket burst"}),
            tool("Bash", tests, said if turn == 1 else "4 passed in 0.12s", failed=turn == 1),
        ]
    return steps


def other_work() -> list[Step]:
    """Work that has nothing to do with the goal, without any prompt that moved it."""
    topics = (
        ("holiday-photos/resize.sh", "convert -resize 1600x1200 IMG_0041.JPG thumbnails exposure"),
        ("blog/drafts/sourdough.md", "# Sourdough: feed the levain, fold the dough, preheat the oven"),
        ("dotfiles/vim/colors.vim", "highlight Normal guifg=#c0c0c0 colorscheme desert palette"),
        ("finance/prices.csv", "date,open,high,low,close candles ticker"),
        ("music/playlist.m3u", "#EXTINF:245, Nocturne in E flat, piano"),
        ("garden/plan.txt", "tomatoes between the basil, carrots after the onions"),
        ("letters/landlord.tex", "Dear Sir, the heating in the kitchen has been cold since Monday"),
        ("games/chess.pgn", "1. e4 c5 2. Nf3 d6 Sicilian Najdorf bishop sacrifice"),
    )
    return [tool("Bash", {"command": f"cat ~/{one}"}, said) for one, said in topics]


class Demo:
    """One home, one project, the hooks that run in them, and the screen."""

    def __init__(self, home: Path, console: Console) -> None:
        self.console = console
        self.project = home / "gateway"
        self.project.mkdir()
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("CLAUDE", "CONTEXT_GRAPH"))
        }
        self.env = {
            **kept,
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "CONTEXT_GRAPH_HOME": str(home / "data"),
        }
        self.hook_ms: list[float] = []
        self.told: list[str] = []
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=self.project, check=True)

    def run(self, *words: str, body: object = None, session: str = "") -> str:
        """Run one command as the client or a person would; what it printed."""
        env = {**self.env, **({"CLAUDE_CODE_SESSION_ID": session} if session else {})}
        given = json.dumps(body).encode() if body is not None else b""
        done = subprocess.run(
            [str(CLI), *words],
            input=given,
            capture_output=True,
            env=env,
            cwd=self.project,
            timeout=30,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{' '.join(words)} gave {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()

    def hook(self, verb: str, session: str, body: dict[str, Any]) -> dict[str, Any]:
        """Run one hook as Claude Code does; what it answers to the client."""
        began = time.perf_counter()
        full = {"session_id": session, "cwd": str(self.project), **body}
        printed = self.run("hooks", verb, "--format", "claude", body=full, session=session)
        self.hook_ms.append((time.perf_counter() - began) * 1000)
        said: dict[str, Any] = json.loads(printed)["hookSpecificOutput"] if printed.strip() else {}
        self.told.append(said.get("additionalContext", "") + said.get("permissionDecisionReason", ""))
        return said

    def context(self, verb: str, session: str, event: str, **fields: Any) -> str:
        """Run one hook; the text that reaches the model."""
        text: str = self.hook(verb, session, {"hook_event_name": event, **fields}).get(
            "additionalContext", ""
        )
        return text

    def work(self, session: str, steps: list[Step]) -> list[tuple[float, str]]:
        """Tool calls with both of their hooks: after each one IC, and what the model was told."""
        seen = []
        for number, (verb, body) in enumerate(steps):
            call = {**body, "tool_use_id": f"toolu_{session[:8]}_{len(self.hook_ms)}_{number}"}
            before = {key: call[key] for key in ("tool_name", "tool_input", "tool_use_id")}
            told = [
                self.hook("pre-tool", session, {"hook_event_name": "PreToolUse", **before}),
                self.hook(verb, session, call),
            ]
            brief = re.search(r"IC=([0-9.]+)", self.run("consciousness", "brief", session=session))
            text = " ".join(one["additionalContext"] for one in told if "additionalContext" in one)
            seen.append((float(brief[1]) if brief else 1.0, text))
        return seen

    def head(self, text: str) -> None:
        """The headline of an act."""
        self.console.print(f"\n[bold cyan]{text}[/]")

    def line(self, who: str, text: str, style: str = "") -> None:
        """One line of who said or did what; long texts are wrapped below themselves."""
        shown = Text(text, style=style).wrap(self.console, WIDTH - 14)
        for number, part in enumerate(shown):
            self.console.print(
                Text.assemble((f"{who if not number else '':>12}  ", "dim"), part), highlight=False
            )


def yesterday(demo: Demo) -> None:
    """A session that works, and is corrected."""
    demo.head("1. Yesterday: you work with Claude on a rate limiter, and have to correct it")
    session = str(uuid.uuid4())
    asked = "Add a token bucket rate limiter to the gateway, with tests"
    demo.context("session-start", session, "SessionStart", source="startup")
    for prompt in (asked, CORRECTION):
        demo.context("prompt-submit", session, "UserPromptSubmit", prompt=prompt)
        demo.line("you", prompt)
        demo.work(session, rate_limiter_work(demo.project))
        demo.line("Claude", "reads, edits and tests src/gateway/rate_limiter.py")
    last = "Limits are counted per API key now, and the tests pass."
    demo.hook("stop", session, {"hook_event_name": "Stop", "last_assistant_message": last})
    demo.hook("session-end", session, {"hook_event_name": "SessionEnd", "reason": "other"})
    demo.run("memory", "list")  # waits until the summary is written, as a night does
    demo.line("", "The session ends. What it did and what you said is kept.", "dim")


def today(demo: Demo) -> str:
    """A session that knows nothing, and reads what was said."""
    demo.head("2. Today: a new session, which knows nothing of yesterday")
    asked = "Should the rate limiter count by IP or by key?"
    for _ in range(TRIES):  # a hook gives up after a second, which a busy machine may need
        session = str(uuid.uuid4())
        started = demo.context("session-start", session, "SessionStart", source="startup")
        answer = demo.context("prompt-submit", session, "UserPromptSubmit", prompt=asked)
        if "per API key" in started and "per API key" in answer:
            break
    else:
        sys.exit("the new session did not read what was said")
    for text in memories(started):
        demo.line("Claude reads", f"The user said, {text}", "green")
    demo.line("you", asked)
    for text in memories(answer):
        demo.line("Claude reads", text, "green")
    return session


def memories(context: str) -> list[str]:
    """The memories in what a hook said, a line each, without their ids."""
    lines = [line[2:].replace("\\n", ". ") for line in context.splitlines() if line.startswith("- ")]
    return [re.sub(r"^\[\w+\] ", "", line) for line in lines]


def drift(demo: Demo, session: str) -> None:
    """The same session works on, then wanders off."""
    on_it, off_it = demo.work(session, rate_limiter_work(demo.project)), demo.work(session, other_work())
    values = [ic for ic, _ in (*on_it, *off_it)]
    bars = "".join(BARS[min(7, int(ic * 8))] for ic in values)
    marked = Text.assemble((bars[: len(on_it)], "green"), (bars[len(on_it) :], "red"))
    demo.console.print(Text.assemble(("       drift  ", "dim"), marked), highlight=False)
    fits = f"{values[len(on_it) - 1]:.2f} of 1 fits at first, {values[-1]:.2f} at the end"
    demo.line("", f"Twelve calls for the rate limiter, then eight about photos, bread, chess …: {fits}.")
    warned = next((text for _, text in off_it if "look unlike" in text), "")
    if warned:
        demo.line("Claude reads", warned.split("\n")[-1], "red")


def gate(demo: Demo) -> None:
    """An edit that a requirement blocks until a plan is on record."""
    demo.head("3. A step that you insist on: no edit without a plan")
    subprocess.run(["git", "checkout", "-q", "-b", "feature/limits"], cwd=demo.project, check=True)
    demo.run("req", "init", "--yes")
    session = str(uuid.uuid4())
    demo.hook("session-start", session, {"hook_event_name": "SessionStart", "source": "startup"})
    edit = {"file_path": str(demo.project / "limits.py"), "old_string": "a", "new_string": "b"}
    call = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": edit}
    refused = demo.hook("pre-tool", session, {**call, "tool_use_id": "toolu_1"})
    if refused.get("permissionDecision") != "deny":
        sys.exit("the edit was not refused")
    demo.line("Claude", "Edit limits.py")
    reason = re.sub(r"\s+", " ", refused["permissionDecisionReason"].replace("**", "").replace("#", ""))
    demo.line("refused", reason.strip()[:170].rsplit(" ", 1)[0] + " …", "red")
    demo.run("req", "satisfy", "commit_plan", "--session", session)
    demo.line("a plan", "context-graph-cli req satisfy commit_plan")
    if demo.hook("pre-tool", session, {**call, "tool_use_id": "toolu_2"}).get("permissionDecision") == "deny":
        sys.exit("the edit was refused a second time")
    demo.line("Claude", "Edit limits.py: let through", "green")


def play(console: Console) -> None:
    """All acts, what they cost, and the next command."""
    home = Path(tempfile.mkdtemp(prefix="context-graph-demo-"))
    demo = Demo(home, console)
    try:
        yesterday(demo)
        drift_in = today(demo)
        drift(demo, drift_in)
        gate(demo)
        tokens = sum(len(text) for text in demo.told) // 4
        ms, hooks = statistics.median(demo.hook_ms), len(demo.hook_ms)
        took = "" if console.record else f"; {ms:.1f} ms a hook (median of {hooks}, on this machine)"
        console.print(
            f"\n[dim]Cost: about {tokens} tokens of context for all of it{took}.[/]",
            highlight=False,
        )
    finally:
        subprocess.run([str(CLI), "owner", "stop"], env=demo.env, cwd=home, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)


def svg(console: Console) -> str:
    """The recorded run as a picture that loads no font from a network."""
    from rich._export_format import CONSOLE_SVG_FORMAT

    plain = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="make demo", code_format=plain, unique_id="demo")


def main() -> None:
    """Play the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--svg", type=Path, help="also write the run as a picture")
    given = parser.parse_args()
    console = Console(width=WIDTH, record=given.svg is not None)
    play(console)
    if given.svg:
        given.svg.parent.mkdir(parents=True, exist_ok=True)
        given.svg.write_text(svg(console))
    folder = os.path.relpath(CLI)
    console.print(f"\nIn a project of yours: [bold]{folder} setup[/]", highlight=False)


if __name__ == "__main__":
    main()
