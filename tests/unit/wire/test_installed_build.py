"""What is installed is looked up again when a file of the package was written, and not before."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from context_graph.wire import build

LATER = 4_000_000_000

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere every look goes through the package"
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "package"
    (folder / "inner" / "__pycache__").mkdir(parents=True)
    for path in (folder / "top.py", folder / "inner" / "deep.py"):
        path.write_text("first = 1\n")
        os.utime(path, (1_600_000_000, 1_600_000_000))
    monkeypatch.setattr(build, "_PACKAGE", folder)
    return folder


def replaced(path: Path) -> None:
    draft = path.with_name("draft")
    draft.write_text("second = 2\n")
    os.utime(draft, (LATER, LATER))
    os.replace(draft, path)


def moved_away(path: Path) -> None:
    """As pip replaces a package: the old folder goes, a new one takes its place."""
    path.parent.rename(path.parent.with_name("old"))
    path.parent.mkdir()
    path.write_text("second = 2\n")
    os.utime(path, (LATER, LATER))


CHANGES: dict[str, Callable[[Path], object]] = {
    "written in place": lambda path: path.write_text("second = 2\n"),
    "replaced": replaced,
    "given another time": lambda path: os.utime(path, (LATER, LATER)),
    "its folder replaced": moved_away,
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_file_of_the_package_that_changes_is_seen(package: Path, how: str) -> None:
    installed = build.InstalledBuild()
    before = installed.look()
    CHANGES[how](package / "inner" / "deep.py")
    assert build.is_newer(installed.look(), before)
    installed.close()


def test_without_a_change_the_package_is_not_gone_through(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []
    newest = build._newest_file
    monkeypatch.setattr(build, "_newest_file", lambda folder: [looks.append(folder), newest(folder)][1])
    installed = build.InstalledBuild()
    first = installed.look()
    after_first = len(looks)
    (package / "inner" / "__pycache__" / "deep.pyc").write_bytes(b"bytecode")
    assert [installed.look() for _ in range(3)] == [first] * 3 and len(looks) == after_first
    installed.close()
    installed.look()
    assert len(looks) > after_first, "where nothing is told, every look goes through it"
