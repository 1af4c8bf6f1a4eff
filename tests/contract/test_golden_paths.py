"""The Python twin of the launcher's path rules, held to the same golden tables (tools/golden/paths.py)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from context_graph.config import data_root, locate, project_dir, project_top, socket_path, store_key
from context_graph.errors import ConfigError, PathNotAllowedError

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def _rows(name: str) -> list[list[str]]:
    lines = (GOLDEN / name).read_text().splitlines()
    return [
        ["" if cell == "-" else cell for cell in line.split("\t")]
        for line in lines
        if not line.startswith("#")
    ]


def _raw(text: str) -> str:
    return os.fsdecode(unquote_to_bytes(text))


@pytest.fixture
def temp() -> Iterator[Path]:
    """A folder directly below /tmp: the tables say so, for /tmp is an allowed root."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(os.path.realpath(folder))


def _set_up(setup: str, temp: Path) -> None:
    for item in setup.split():
        kind, _, rest = item.partition(":")
        name, _, content = rest.partition("=")
        place = temp / _raw(name)
        if kind == "d":
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "l":
            place.symlink_to(_raw(content))
        else:
            place.write_bytes(unquote_to_bytes(content.replace("{T}", str(temp))))


def _env(text: str, temp: Path) -> dict[str, str]:
    pairs = (item.partition("=") for item in text.replace("{T}", str(temp)).split())
    return {name: _raw(value) for name, _, value in pairs}


@pytest.mark.parametrize("row", _rows("paths.tsv"), ids=lambda row: row[0])
def test_root_project_and_top_are_what_the_table_says(row: list[str], temp: Path) -> None:
    """Invariant: a hook and a command always mean the same store."""
    _, _, env_text, cwd, root, project, top = (cell.replace("{T}", str(temp)) for cell in row)
    _set_up(row[1], temp)
    env, folder = _env(env_text, temp), temp / _raw(cwd)
    if root == "!":
        with pytest.raises(ConfigError):
            data_root(env)
        return
    found = project_dir(env, folder)
    assert (str(data_root(env)), str(found), str(project_top(found))) == (
        _raw(root),
        _raw(project),
        _raw(top),
    )


@pytest.mark.parametrize("row", _rows("dbpath.tsv"), ids=lambda row: row[0])
def test_a_db_path_is_taken_or_refused_as_the_table_says(row: list[str], temp: Path) -> None:
    """REQ-HOOKS-30: a store path never leaves its allowed roots unasked."""
    _set_up(row[1], temp)
    _, _, env_text, cwd, path, verdict, result = (cell.replace("{T}", str(temp)) for cell in row)
    env, folder = _env(env_text, temp), temp / _raw(cwd)
    if verdict == "ok":
        assert str(locate(_raw(path), env, folder).store) == _raw(result)
        return
    with pytest.raises(PathNotAllowedError) as caught:
        locate(_raw(path), env, folder)
    assert result in str(caught.value)


@pytest.mark.parametrize("row", _rows("sockets.tsv"), ids=lambda row: str(len(row[0])))
def test_the_socket_is_where_the_table_says(row: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: int(row[1]))
    assert os.fsencode(socket_path(Path(_raw(row[0])))) == unquote_to_bytes(row[2])


@pytest.mark.parametrize("row", _rows("store_keys.tsv"), ids=lambda row: row[1])
def test_a_projects_store_has_the_name_of_the_table(row: list[str]) -> None:
    assert store_key(Path(_raw(row[0]))) == row[1]
