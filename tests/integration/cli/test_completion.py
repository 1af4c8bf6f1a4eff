"""`completion`: real shells read the script and are asked what they would offer at the Tab key."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.cli import Cli

from context_graph.cli.about_itself import SHELLS, places

_ASK = {
    "bash": """. {script}
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_context_graph_cli; printf '%s\\n' "${{COMPREPLY[@]}}" """,
    "zsh": """fpath=({folder}); autoload -U _context-graph-cli
_describe() {{ print -rl -- ${{found%%:*}} }}; compadd() {{ shift; print -rl -- $@ }}
_files() {{ print FILES }}
words=({words}); CURRENT=$#words; _context-graph-cli""",
    "fish": """source {script}; complete -C {line} | string replace -r '\\t.*' ''""",
}
_START = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}


_THOROUGH = [pytest.param(name, marks=() if name == "bash" else pytest.mark.thorough) for name in SHELLS]


@pytest.fixture(scope="module", params=_THOROUGH)
def shell(
    request: pytest.FixtureRequest, shared_cli: Cli, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A shell that is installed, and its script."""
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here: apt-get install {request.param}")
    done = shared_cli.run("completion", request.param)
    assert (done.returncode, done.stderr) == (0, "")
    script = tmp_path_factory.mktemp("completion") / "_context-graph-cli"
    script.write_text(done.stdout, encoding="utf-8")
    return request.param, script


def offered(shell: tuple[str, Path], *words: str) -> set[str]:
    """What begins as the last word does, of what the shell offers for it."""
    name, script = shell
    line = ["context-graph-cli", *words]
    asked = _ASK[name].format(
        script=script, folder=script.parent, words=shlex.join(line), line=shlex.quote(" ".join(line))
    )
    done = subprocess.run(
        [name, *_START[name], asked],
        capture_output=True,
        text=True,
        cwd=script.parent,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return {one for one in done.stdout.split() if one.startswith(words[-1])}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["mem"], {"memory"}),
        (["stat"], {"status"}),
        (["memory", "re"], {"recall", "restore", "reindex", "reword"}),
        (["memory", "recall", "staging", "--min"], {"--min-importance", "--min-relevance"}),
        (["memory", "list", "--limit", "3", "--format", ""], {"text", "json"}),
        (["memory", "consolidate", "--mode", "d"], {"deep"}),
        (["req", "config", "s"], {"show"}),
        (["req", "config", "show", "--so"], {"--sources"}),
        (["completion", "z"], {"zsh"}),
        (["status", "--j"], {"--json"}),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_a_shell_offers_what_can_come_next(
    shell: tuple[str, Path], words: list[str], wanted: set[str]
) -> None:
    assert offered(shell, *words) == wanted


def test_each_command_and_option_is_in_each_script(shared_cli: Cli) -> None:
    """The script is made of what --help is made of."""
    found = list(places())
    assert {"", "memory", "memory recall", "req config show", "completion"} <= {one.words for one in found}
    for name in SHELLS:
        script = shared_cli.run("completion", name).stdout
        for place in found:
            assert all(option.name.removeprefix("--") in script for option in place.options), place.words
            assert all(word in script for word in place.below)


def test_a_shell_that_is_not_known_is_refused(shared_cli: Cli) -> None:
    done = shared_cli.run("completion", "tcsh")
    assert done.returncode == 2 and "'tcsh' is none of bash, zsh, fish" in done.stderr


def test_help_is_the_command_s_own(shared_cli: Cli) -> None:
    assert (
        shared_cli.run("help", "memory", "recall").stdout
        == shared_cli.run("memory", "recall", "--help").stdout
    )
    assert shared_cli.run("help").stdout == shared_cli.run("--help").stdout
    assert "help" in shared_cli.run("help", "help").stdout
    wrong = shared_cli.run("help", "nonsense")
    assert wrong.returncode == 2 and "no such command 'nonsense'" in wrong.stderr
