"""What people ask often goes past Typer: what such a command loads, and that it says the same either way."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.support.cli import Cli
from tests.support.sessions import hook, memory, remember
from tools.docs import built

HEAVY = {
    *("typer", "click", "pydantic", "pydantic_core", "rich", "msgspec", "orjson", "numpy", "yaml", "re2"),
    *("tomllib", "secrets", "random", "shutil", "subprocess", "asyncio", "argparse", "ssl", "tempfile"),
}
_LOADED = """
import sys
from context_graph.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print("loaded:", *sys.modules)
"""


def modules_of(cli: Cli, *words: str) -> set[str]:
    """The top-level modules, and ours in full, that Python has loaded when the command is done."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", _LOADED, *words],
        capture_output=True, text=True, env=dict(cli.env), cwd=cli.project, timeout=60, check=True,
    )  # fmt: skip
    names = done.stdout.rpartition("loaded:")[2].split()
    return {name.partition(".")[0] for name in names} | {one for one in names if one.startswith("context_")}


@pytest.mark.parametrize(
    "words",
    [
        ("memory", "recall", "staging", "port"),
        ("memory", "search", "staging", "--json"),
        ("memory", "list", "--limit=3", "--created-after", "7d"),
        ("memory", "store", "a", "word"),
        ("memory", "stats"),
        ("memory", "runs"),
        ("status",),
        ("status", "--json"),
        ("owner", "status"),
        ("--version",),
        ("-V",),
    ],
    ids=" ".join,
)
def test_a_plain_command_loads_no_typer_and_no_engine(cli: Cli, words: tuple[str, ...]) -> None:
    """What makes them fast, where a time would only say how busy the machine is."""
    assert cli.run("setup", "--yes", "--no-skills").returncode == 0
    hook(cli, "prompt-submit", "s-1", prompt="hello")
    loaded = modules_of(cli, *words)
    assert "context_graph.cli.main" in loaded
    assert not HEAVY & loaded
    unwanted = ("operations", "memory", "gates", "owner", "store", "mcp", "config.settings")
    ours = {one for one in loaded if one.startswith(tuple(f"context_graph.{name}" for name in unwanted))}
    assert not ours


def test_what_is_not_plain_is_typer_s_and_says_the_same(cli: Cli) -> None:
    """`--` is read by Typer alone."""
    remember(cli, "Staging listens on port 8443")
    plain = cli.run("memory", "recall", "staging", "port", "--format", "text")
    typed = cli.run("memory", "recall", "--", "staging", "port")
    assert "typer" in modules_of(cli, "memory", "recall", "--", "staging")
    (_, one), (_, other) = (done.stdout.splitlines() for done in (plain, typed))
    assert one.split()[:2] == other.split()[:2] and one.endswith("Staging listens on port 8443")
    wrong = ("memory", "recall", "--top-k", "many")
    assert cli.run(*wrong, "x").stderr == cli.run(*wrong, "--", "x").stderr


def test_the_list_of_all_commands_loads_none_of_a_group(cli: Cli) -> None:
    """It needs one line of each."""
    loaded = modules_of(cli, "--help")
    assert "context_graph.cli.typer_words" in loaded
    assert not {one for one in loaded if one.startswith(("context_graph.operations", "context_graph.gates"))}


def test_words_need_no_quotes(cli: Cli) -> None:
    node_id = cli.run(
        "memory", "store", "Staging", "listens on", "port", "8443", "--tag", "ops"
    ).stdout.strip()
    shown = memory(cli, "show", node_id)
    assert shown["content"] == "Staging listens on port 8443"
    assert shown["rationale"] == "noted by the user"
    assert memory(cli, "recall", "staging", "port")["nodes"][0]["id"] == node_id
    assert memory(cli, "search", "staging", "port")["nodes"][0]["id"] == node_id
    assert "8443" in cli.run("memory", "inject", "staging", "port").stdout


@pytest.mark.parametrize("word", ["7d", "12 hours ago", "yesterday", "today", "last week", "this month"])
def test_a_time_is_given_as_people_say_it(cli: Cli, word: str) -> None:
    node_id = remember(cli, "Staging listens on port 8443")
    old = memory(cli, "store", "Deploys run from main only", "--occurred-at", "2020-02-02T10:00")["id"]
    kept = [one["id"] for one in memory(cli, "list", "--created-after", word)["nodes"]]
    gone = [one["id"] for one in memory(cli, "list", "--created-before", word)["nodes"]]
    assert (kept, gone) == ([node_id], [old])


def test_the_table_without_typer_is_the_operations_own() -> None:
    """The build writes it; what is read without Typer means what --help says."""
    assert built.MEMORY_TABLE.read_text(encoding="utf-8") == built.memory_table(), "run `make build`"
    assert built.EVENT_TABLE.read_text(encoding="utf-8") == built.event_table(), "run `make build`"
