"""Commands of the launcher's, typed at the Python program: handed over, or failing as they may without it."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from context_graph.cli import native
from context_graph.errors import ConfigError


def _none() -> NoReturn:
    raise ConfigError("the launcher was not found")


def _text_file(folder: Path) -> Path:
    """A launcher that can't be executed."""
    path = folder / "context-graph-cli"
    path.write_text("no program\n")
    return path


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(
    ("words", "code", "output"),
    [
        ("consciousness brief", 0, "[C:? r=? IC=?]\n"),
        ("hooks stop --format claude", 0, ""),
        ("hooks stop --format=gemini", 0, ""),
        ("hooks stop", 1, ""),
        ("mcp", 1, ""),
    ],
)
def test_without_a_launcher_no_hook_of_a_client_blocks_and_the_cause_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: str,
    code: int,
    output: str,
    is_there: bool,
) -> None:
    find = (lambda: _text_file(tmp_path)) if is_there else _none
    monkeypatch.setattr("context_graph.wire.client.spawn.find_launcher", find)
    assert native.is_native(words.split())
    with pytest.raises(SystemExit) as ended:
        native.become_launcher(words.split())
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (code, output)
    assert said.err.startswith("context-graph-cli: ") and said.err.count("\n") == 1
