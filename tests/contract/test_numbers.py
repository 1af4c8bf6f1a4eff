"""Each figure that README and ARCHITECTURE give is the program's own, or that of a file which a run wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from benches.report import ratio

from context_graph.config import Settings
from context_graph.memory.context import after_compaction, profile
from context_graph.memory.embed import default_provider
from context_graph.model import KURAMOTO_N
from context_graph.model.spaces import DIM, SPACES
from context_graph.operations.mcp.rpc import INSTRUCTIONS
from context_graph.operations.mcp.tools import memory_tools
from context_graph.owner.sessions.event_reader import _SLICE
from context_graph.owner.sessions.injections import SESSION_TOKENS
from context_graph.store.sessions.event_log import EVENTS_KEPT

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "benches" / "measured" / "compare.json"
CASES: dict[str, Any] = {row["case"]: row for row in json.loads(RUN.read_text())["cases"]}
README, ARCHITECTURE = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md")
)
HOOKS = "process from start to exit / hooks {}"
FIGURE = re.compile(
    r"\b\d[\d.,]*(?: (?:to|and) \d[\d.,]*)?[ -]"
    r"(?:ns|us|ms|s|KB|MB|KiB|MiB|GB|tokens|seconds|minutes|hours|days|events|times|starts|percent|%"
    r"|spaces|floats|feature vectors|running goals|oscillators)\b"
)
"""A number with a unit."""
OTHERS = ("25 KB", "2 KB of text", "cut to 2 KB", "2 KB loaded", "9 KB in all", "60 tokens", "0.25 s")
"""Of other programs, of what was measured, and limits that `test_mcp_schemas.py` and the code hold."""


def times(case: str) -> str:
    return ratio(CASES[case]["x_limit"])


def told() -> list[str]:
    """What README and ARCHITECTURE have to say, word for word."""
    post, prompt = (times(HOOKS.format(name)) for name in ("post-tool", "prompt-submit"))
    return [
        f"takes {post} times as long as a program that does nothing, a prompt, which waits for an answer, "
        f"{prompt} times",
        f"at most {profile.MAX_TOKENS} tokens at a start, then {SESSION_TOKENS} that the session does not "
        f"use, and {after_compaction.MAX_TOKENS} after a compaction",
        f"at most {Settings().memory_inject_tokens} tokens by our count",
        f"the newest {EVENTS_KEPT} events",
        f"p to {_SLICE} events",
        f"all {len(SPACES)} spaces ({DIM:,} floats)",
        f"{len(SPACES)} spaces",
        f"gives {KURAMOTO_N} feature vectors",
        f"with {KURAMOTO_N} running goals",
        f"from {KURAMOTO_N} oscillators",
        "for 30 days",
        "For 30 days",
    ]


def test_what_the_pages_say_is_what_the_run_and_the_program_say() -> None:
    assert Settings().idle_s == 600.0 and "leaves after ten idle minutes" in _lines(README)
    for sentence in told():
        assert sentence in _lines(README) + _lines(ARCHITECTURE), sentence


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md"])
def test_no_other_figure_is_given(page: str) -> None:
    text = _lines((ROOT / page).read_text(encoding="utf-8"))
    for known in (*told(), *OTHERS):
        text = text.replace(known, "")
    text = re.sub(r"some \d+ tokens at each start", "", text)
    assert FIGURE.findall(text) == []


def test_each_row_of_architecture_s_tables_is_the_run_s() -> None:
    rows = re.findall(r"^\| `([^`|]+ / [^`|]+)`[^|]*\| ([\d.]+)", ARCHITECTURE, re.MULTILINE)
    assert len(rows) == 7
    for case, factor in rows:
        assert factor == times(case), case


def test_what_tools_cost_at_a_start_is_counted() -> None:
    """Tools, names and instructions; doctor counts the skills' descriptions too."""
    count = default_provider().count_tokens
    tools = memory_tools()
    loaded = count(orjson.dumps([tool.shown() for tool in tools if tool.loaded]).decode())
    names = count("\n".join(f"mcp__context-graph__{tool.name}" for tool in tools if not tool.loaded))
    (stated,) = re.findall(r"cost some (\d+) tokens at each start", README)
    assert int(stated) * 0.7 < loaded + names + count(INSTRUCTIONS) <= int(stated) * 1.05


def _lines(text: str) -> str:
    return " ".join(text.split())
