"""The launcher parses what `hooks` is given; Python prints help: both name the same options and events."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from context_graph.claude.hooks.claude import EVENT_OF_VERB
from context_graph.cli import hooks

SOURCES = Path(__file__).resolve().parents[2] / "ext" / "launcher" / "src"


def hook_commands() -> dict[str, Any]:
    """The hook commands by verb, as Typer makes them."""
    group: Any = typer.main.get_command(hooks.app)
    return {name: command for name, command in group.commands.items() if name != "generate-config"}


def launcher_options() -> dict[str, str]:
    """The launcher's table: each option and what it takes."""
    text = (SOURCES / "options.rs").read_text(encoding="utf-8")
    return dict(re.findall(r'\("([a-z-]+)", Takes::(\w+)\)', text))


def test_launcher_and_help_name_the_same_options() -> None:
    named = {
        option.removeprefix("--")
        for command in hook_commands().values()
        for parameter in command.params
        for option in parameter.opts
    }
    assert named == launcher_options().keys()


def test_switches_are_those_that_help_shows_with_an_optional_value() -> None:
    shown = {
        parameter.opts[0].removeprefix("--")
        for command in hook_commands().values()
        for parameter in command.params
        if parameter.metavar == "[true|false]"
    }
    assert shown == {name for name, takes in launcher_options().items() if takes == "Switch"}


def test_launcher_and_help_name_the_same_formats() -> None:
    text = (SOURCES / "options.rs").read_text(encoding="utf-8")
    assert set(re.findall(r'Format::\w+ => b"([a-z-]+)"', text)) == {one.value for one in hooks.Format}


def test_launcher_help_and_protocol_name_the_same_events() -> None:
    text = (SOURCES / "kind.rs").read_text(encoding="utf-8")
    table = dict(re.findall(r'\w+ = \("hooks\.([a-z-]+)", "(\w+)"', text))
    assert table == dict(EVENT_OF_VERB)
    assert table.keys() == hook_commands().keys()
