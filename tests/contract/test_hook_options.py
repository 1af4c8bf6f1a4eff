"""The launcher parses what `hooks` is given; cli.hooks has the same for help: both name the same."""

from __future__ import annotations

import re
from pathlib import Path

from context_graph.cli.hooks import FORMAT, HOOKS

SOURCES = Path(__file__).resolve().parents[2] / "ext" / "launcher" / "src"
OPTIONS = {option.name.removeprefix("--"): option for command in HOOKS for option in command.options}


def launcher_options() -> dict[str, str]:
    """The launcher's table: each option and what it takes."""
    text = (SOURCES / "options.rs").read_text(encoding="utf-8")
    return dict(re.findall(r'\("([a-z-]+)", Takes::(\w+)\)', text))


def test_launcher_and_table_name_the_same_options() -> None:
    assert OPTIONS.keys() == launcher_options().keys()


def test_switches_are_those_that_the_table_shows_with_an_optional_value() -> None:
    shown = {name for name, option in OPTIONS.items() if option.metavar == "[true|false]"}
    assert shown == {name for name, takes in launcher_options().items() if takes == "Switch"}


def test_launcher_and_table_name_the_same_formats() -> None:
    text = (SOURCES / "options.rs").read_text(encoding="utf-8")
    assert set(re.findall(r'Format::\w+ => b"([a-z-]+)"', text)) == set(FORMAT.choices)
