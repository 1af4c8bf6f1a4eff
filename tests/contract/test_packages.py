"""The packages that are published: the core in Python, and the launcher, which requires it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from context_graph import __version__

ROOT = Path(__file__).resolve().parents[2]


def _project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]  # type: ignore[no-any-return]


def _crate() -> dict[str, Any]:
    return tomllib.loads((ROOT / "ext/launcher/Cargo.toml").read_text())


def test_both_have_one_version_and_the_commands_require_the_core_of_theirs() -> None:
    core, launcher = map(_project, (".", "ext/launcher"))
    assert {core["version"], launcher["version"], _crate()["package"]["version"]} == {__version__}
    assert launcher["dependencies"] == [f"{core['name']}=={__version__}"]
    # An extra that the commands' package does not know would be left out with a warning.
    extras = {name: [f"{core['name']}[{name}]=={__version__}"] for name in core["optional-dependencies"]}
    assert launcher["optional-dependencies"] == extras


def test_no_program_is_in_both() -> None:
    programs = {program["name"] for program in _crate()["bin"]}
    assert programs and not programs & set(_project(".")["scripts"]), "no file has two owners"
