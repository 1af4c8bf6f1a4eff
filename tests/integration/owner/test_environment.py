"""What an owner and the commands of requirements know of the environment of the client that started them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.gates.in_process import Gate
from tests.support.sessions import hook

from context_graph.gates.commands import commands
from context_graph.wire.environment import KEPT_NAMES, KEPT_PREFIXES, kept_environment

pytestmark = pytest.mark.real
GOLDEN = Path(__file__).parents[2] / "golden" / "environment.txt"
SECRETS = {
    "ANTHROPIC_API_KEY": "sk-planted-1",
    "CLAUDE_CODE_MESSAGING_TOKEN": "planted-2",
    "CLAUDE_CODE_OAUTH_TOKEN": "planted-3",
    "AWS_SECRET_ACCESS_KEY": "planted-4",
    "GITHUB_TOKEN": "planted-5",
    "https_proxy": "http://user:planted-6@proxy",
    "GIT_CONFIG_VALUE_0": "planted-7",
    "CLAUDECODE": "planted-8",
}


def test_the_list_is_the_golden_one() -> None:
    """ext/launcher/tests/golden.rs holds the other starter to the same file."""
    names = {f"name {name}" for name in KEPT_NAMES} | {f"prefix {prefix}" for prefix in KEPT_PREFIXES}
    assert names == set(GOLDEN.read_text().splitlines())
    assert kept_environment(SECRETS) == {}
    kept = {"HOME": "/h", "LC_ALL": "C", "XDG_RUNTIME_DIR": "/r", "CONTEXT_GRAPH_HOME": "/c"}
    assert kept_environment({**kept, **SECRETS}) == kept


def environment_of(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_bytes().replace(b"\0", b"\n").decode()


@pytest.mark.parametrize("starter", ["hook", "command", "mcp"])
def test_an_owner_has_no_key_or_token_of_the_client_that_started_it(cli: Cli, starter: str) -> None:
    """Neither starter hands it over: not even the kernel remembers it."""
    rich = Cli(cli.launcher, cli.project, {**cli.env, **SECRETS})
    if starter == "hook":
        hook(rich, "session-start", "s-1", source="startup")
    elif starter == "command":
        assert rich.run("owner", "start").returncode == 0
    else:
        rich.run("mcp", stdin='{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    pid = cli.owner_pid()
    found = environment_of(pid)
    assert "planted" not in found and "HOME=" in found and "CONTEXT_GRAPH_HOME=" in found, found


def test_a_requirement_s_command_has_no_key_or_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it runs: below the client, or below a command."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    gate, seen = Gate(tmp_path), tmp_path / "seen"
    gate.config({
        "size": {"type": "dynamic", "command": f"env > {seen}; echo 3", "thresholds": {"block": 10}}
    })  # fmt: skip
    assert commands.status(gate.place())["requirements"]["size"]["value"] == 3
    found = seen.read_text()
    assert "planted" not in found
    assert f"HOME={os.environ['HOME']}" in found and "CONTEXT_GRAPH_BRANCH=" in found
