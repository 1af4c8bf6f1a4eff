"""The packages that are published: one version; under one name two kinds of wheel with the same commands."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from context_graph import __version__

ROOT = Path(__file__).resolve().parents[2]


def _project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]  # type: ignore[no-any-return]


def test_all_have_one_version_and_the_commands_require_the_core_of_theirs() -> None:
    core, launcher, front = map(_project, (".", "ext/launcher", "ext/front"))
    crate = tomllib.loads((ROOT / "ext/launcher/Cargo.toml").read_text())["package"]
    assert {core["version"], launcher["version"], front["version"], crate["version"]} == {__version__}
    wanted = [f"{core['name']}=={__version__}"]
    assert launcher["dependencies"] == front["dependencies"] == wanted
    # An extra that the commands' package does not know would be left out with a warning.
    extras = {name: [f"{core['name']}[{name}]=={__version__}"] for name in core["optional-dependencies"]}
    assert launcher["optional-dependencies"] == front["optional-dependencies"] == extras


def test_the_front_has_the_launcher_s_name_and_its_two_programs() -> None:
    """An installer takes the most specific wheel of a name: the native one where there is one (ADR 24)."""
    launcher, front = _project("ext/launcher"), _project("ext/front")
    crate = tomllib.loads((ROOT / "ext/launcher/Cargo.toml").read_text())
    assert front["name"] == launcher["name"]
    assert front["requires-python"] == launcher["requires-python"]
    assert set(front["scripts"]) == {program["name"] for program in crate["bin"]}
    assert not set(front["scripts"]) & set(_project(".")["scripts"]), "no file has two owners"
