"""docs/commands.md and --help: every command and option is there, with a purpose, exit codes, an example."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from context_graph.cli.typer_words import build_app
from context_graph.cli.words import Command, Option, every_command, find, read_words
from context_graph.identity.brief import state_block
from context_graph.model import EventKind

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


ALL = dict(every_command())
REQ = (
    *(
        "status",
        "satisfy",
        "approve",
        "accept",
        "clear",
        "pause",
        "resume",
        "list",
        "prune",
        "sessions",
        "enable",
        "disable",
    ),
    *(
        "config show",
        "git-hooks install",
        "git-hooks remove",
        "init",
        "check",
        "keys",
        "doctor",
        "log",
        "statusline",
    ),
)


def options_of(command: Command) -> dict[str, Option]:
    return {option.name: option for option in command.options}


def typer_s(name: str) -> Any:
    """The command as Typer has it."""
    found = typer.main.get_command(build_app(*name.split()[:2]))
    for word in name.split():
        found = found.commands[word]  # type: ignore[attr-defined]
    return found


def section(name: str) -> str:
    found = re.search(rf"^### `{re.escape(name)}`\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, f"docs/commands.md has no section for {name!r}"
    return found[1]


def test_the_commands_are_those_of_the_issue() -> None:
    """REQ-HOOKS-17..22, REQ-SESSION-11..15: the whole surface."""
    sessions = ("restore-identity", "persist-identity", "list", "show", "export", "import")
    states = ("brief", "check-identity", "inject-context", "status")
    hooks = (*(kind.value for kind in EventKind), "git", "generate-config")
    memories = ("store", "recall", "inject", "list", "show", "forget", "restore", "link")
    memories = (
        *memories,
        "search",
        "edit",
        "adopt",
        "confirm",
        "reword",
        "export",
        "import",
        "reindex",
        "stats",
    )
    memories = (*memories, "consolidate", "undo", "history", "runs", "goals")
    assert set(ALL) == {
        *(f"session {name}" for name in sessions),
        *(f"consciousness {name}" for name in states),
        *(f"hooks {name}" for name in hooks),
        *(f"memory {name}" for name in memories),
        *(f"req {name}" for name in REQ),
        *(f"owner {name}" for name in ("start", "stop", "status", "restart", "retry")),
        *(
            f"hub {name}"
            for name in ("init", "invite", "remove", "join", "leave", "status", "export", "consolidate")
        ),
        "mcp",
        "repair",
        "backup",
        "restore",
        "setup",
        "doctor",
        "report",
        "sync",
        "status",
        "view",
        "help",
        "completion",
    }


@pytest.mark.parametrize("name", ALL)
def test_the_page_has_each_command_with_each_option_and_no_other(name: str) -> None:
    """Prose rots; this page may not."""
    text = section(name)
    documented = set(re.findall(r"^\| `(--[a-z-]+)", text, re.MULTILINE))
    assert documented == set(options_of(ALL[name]))
    assert f"context-graph-cli {name}" in text, "an example"
    assert name.startswith("hooks ") or "Exit code" in text


@pytest.mark.parametrize("name", ALL)
def test_each_command_says_what_it_does_how_it_exits_and_an_example(name: str) -> None:
    """--help."""
    command = ALL[name]
    assert len(command.help.splitlines()[0]) > 20
    assert re.search(r"Exit codes?:", command.help)
    assert f"context-graph-cli {name}" in re.sub(r"\s+", " ", command.help)
    assert command.help.index("Exit code") < command.help.index("Example:")
    for word in command.takes:
        assert word.help, f"{name}: {word} has no help"


@pytest.mark.parametrize("name", ALL)
def test_examples_in_help_can_be_copied_from_a_narrow_terminal(name: str) -> None:
    """Wrapped at a hyphen, `restore-identity` would be two words."""
    command = typer_s(name)
    context = command.context_class(command, info_name=name, terminal_width=60, max_content_width=60)
    shown = [line.strip() for line in command.get_help(context).splitlines()]
    for line in filter(re.compile("Example: ").match, ALL[name].help.splitlines()):
        assert line.strip() in shown


@pytest.mark.parametrize("name", ALL)
def test_whoever_takes_json_takes_it_in_both_forms(name: str) -> None:
    """Only an option of that name that means something else is another matter."""
    options = options_of(ALL[name])
    own_format = name.startswith("hooks ") or name in ("memory export", "consciousness inject-context")
    assert ("--json" in options) == ("--format" in options) or own_format
    if "--json" in options:
        assert options["--format"].choices == ("text", "json")


def test_the_page_names_no_command_that_is_gone() -> None:
    """Both ways."""
    assert set(re.findall(r"^### `([a-z -]+)`$", PAGE, re.MULTILINE)) == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_typer_knows_what_the_table_says(name: str) -> None:
    """What is read without Typer means what --help says."""
    params = [param for param in typer_s(name).params if param.name != "help"]
    shown = {param.name: param for param in params}
    assert shown.keys() == {word.parameter for word in ALL[name].takes}
    for option in ALL[name].options:
        param = shown[option.parameter]
        assert {*param.opts, *param.secondary_opts} == {
            *filter(None, (option.name, option.short, option.off))
        }
        assert (param.is_flag, param.required) == (option.is_flag, option.required)
    for argument in ALL[name].arguments:
        param = shown[argument.parameter]
        assert (param.nargs == -1, param.required) == (argument.many, argument.required)


@pytest.mark.parametrize("name", ALL)
def test_each_command_is_the_one_that_its_words_name(name: str) -> None:
    """The way without the help of all others leads to the same command."""
    match = find([*name.split(), "rest"])
    assert match is not None
    command, rest = match
    assert (command.word, list(rest)) == (ALL[name].word, ["rest"])
    assert [(word.parameter, type(word)) for word in command.takes] == [
        (word.parameter, type(word)) for word in ALL[name].takes
    ]


def test_req_is_all_of_req() -> None:
    assert {name.removeprefix("req ") for name in ALL if name.startswith("req ")} == set(REQ)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ("status", {})),
        (["--json"], ("status", {"as_json": True})),
        (
            ["satisfy", "a", "-s", "x", "b", "--ttl=5"],
            ("satisfy", {"names": ["a", "b"], "session": "x", "ttl": "5"}),
        ),
        (["config", "show", "a", "--sources"], ("config show", {"name": "a", "sources": True})),
        (["config"], ("config show", {})),
        (["config", "a", "--sources"], ("config show", {"name": "a", "sources": True})),
        (["config", "a", "--enable"], None),
        (["config", "--help"], None),
        (["log", "--limit", "3"], ("log", {"limit": "3"})),
        (["clear", "-a", "-b", "feature/x"], ("clear", {"every": True, "branch": "feature/x"})),
        (["status", "extra"], None),
        (["enable", "a", "b"], None),
        (["satisfy", "a", "--session"], None),
        (["status", "--json=yes"], None),
        (["--help"], None),
        (["status", "-h"], None),
        (["bogus"], None),
    ],
)
def test_the_quick_way_of_req_takes_plain_words_and_leaves_the_rest_to_typer(
    words: list[str], found: object
) -> None:
    """Wrong options and questions for help get Typer's words."""
    match = find(["req", *words])
    values = None if match is None else read_words(match[1], match[0].takes)
    assert (None if match is None or values is None else (match[0].word, values)) == found


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {}),
        (["--source", "clear", "--session-id=a=b"], {"source": "clear", "session_id": "a=b"}),
        (["--source"], None),
        (["--source", "--db-path"], None),
        (["--bogus", "x"], None),
        (["extra"], None),
        (["--help"], None),
    ],
)
def test_the_direct_way_leaves_all_that_is_not_plain_to_typer(words: list[str], given: object) -> None:
    """A wrong option gets Typer's words."""
    assert read_words(words, ALL["session restore-identity"].takes) == given


def test_the_cold_block_is_the_owners_own() -> None:
    """What inject-context says without an owner is what the owner says of a session without events."""
    from context_graph.cli.consciousness import COLD_BLOCK

    assert state_block(None) == COLD_BLOCK


def test_a_gate_s_message_names_only_commands_that_exist() -> None:
    """A way out that is no command is none."""
    package = Path(__file__).resolve().parents[2] / "src" / "context_graph"
    named = set()
    for folder in (package / "gates", package / "cli" / "req"):
        for path in folder.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            named |= set(re.findall(r"([\w-]+-cli|PROGRAM\}) req ([a-z_-]+)", text))
            named |= {("context-graph-cli", word) for word in re.findall(r"_CALL\} ([a-z_]+)", text)}
    assert {program for program, _ in named} == {"context-graph-cli", "PROGRAM}"}
    assert {word for _, word in named} <= {name.split()[0] for name in REQ}
