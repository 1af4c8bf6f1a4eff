"""Another user of the machine: files, the socket, the place of the socket, the port."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.owner.harness import wait_until
from tests.support.sessions import hook, remember

from context_graph.config import socket_path
from context_graph.errors import OwnerUnavailableError
from context_graph.wire.client.connection import connect

NOBODY = 65534

_READ_ALL = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for path in sys.stdin.read().splitlines():
    try:
        with open(path, "rb") as source:
            source.read(1)
        print("read", path)
    except OSError:
        pass
    try:
        os.close(os.open(path, os.O_WRONLY))
        print("wrote", path)
    except OSError:
        pass
"""


def _somebody(code: str, stdin: str = "") -> list[str]:
    """Lines that ``code`` prints as user nobody."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may enter, with a data root in it that `mkdir` made as it does."""
    with tempfile.TemporaryDirectory(prefix="cg-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setenv("CONTEXT_GRAPH_HOME", str(folder / "data"))
        yield folder


@pytest.mark.root
def test_no_file_below_the_data_root_can_be_read_or_written(
    open_folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kind of file we write, made with the most permissive umask, in a root that is open to all."""
    root = open_folder / "data"
    root.mkdir(mode=0o755)
    mask = os.umask(0)
    try:
        hook(cli, "session-start", "s-1", source="startup")
        remember(cli, "a fact that is nobody else's business")
        hook(cli, "post-tool", "s-1", tool_name="Bash", tool_input={"command": "ls"}, tool_response="x")
        cli.run("owner", "stop")
        (root / "run" / "owner.sock").unlink(missing_ok=True)
        # Without an owner the event goes to the log.
        cli.run("hooks", "post-tool", "--stdin", stdin="{}", env={"CONTEXT_GRAPH_PYTHON": "/bin/false"})
        cli.run("req", "status")
    finally:
        os.umask(mask)
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        # All below may be as closed as it is: what counts is that the outermost ones hold by themselves.
        assert not stat.S_IMODE(folder.stat().st_mode) & 0o022, folder
    files = [path for path in root.rglob("*") if path.is_file()]
    kinds = {path.name for path in files} | {path.suffix for path in files}
    assert {"brief.bin", "owner.log", "CURRENT", ".sst"} <= kinds, kinds
    for path in files:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    assert _somebody(_READ_ALL, "\n".join(map(str, files))) == []
    assert _somebody(_READ_ALL, str(Path("/proc/self/status"))) != [], "the test can tell"


@pytest.mark.root
def test_a_root_that_others_may_write_is_closed_to_them(open_folder: Path, cli: Cli) -> None:
    root = open_folder / "data"
    root.mkdir()
    root.chmod(0o777)
    assert cli.run("owner", "status").returncode in (0, 1)
    cli.run("memory", "stats")
    assert stat.S_IMODE(root.stat().st_mode) & 0o022 == 0


@pytest.mark.root
def test_a_socket_that_another_user_serves_is_not_talked_to(open_folder: Path, cli: Cli) -> None:
    """A path too long for a socket has it under /tmp, where anybody may be first."""
    root = open_folder / ("r" * 100)
    root.mkdir(mode=0o700)
    path = socket_path(root)
    assert path.parent == Path(f"/tmp/context-graph-{os.getuid()}")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    heard = open_folder / "heard"
    heard.mkdir()
    heard.chmod(0o777)
    code = (
        "import os, socket, sys\n"
        "listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777)\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "listener.listen(); print('ready', flush=True)\n"
        "while True:\n"
        "    taken = listener.accept()[0]; data = taken.recv(65536)\n"
        "    if data: open(sys.argv[2] + '/data', 'ab').write(data)\n"
    )
    served = subprocess.Popen(
        [sys.executable, "-I", "-c", code, str(path), str(heard)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert served.stdout is not None and served.stdout.readline() == "ready\n"
        with pytest.raises(OwnerUnavailableError, match="another user"):
            connect(root, time.monotonic() + 5)
        done = cli.run(
            *("hooks", "post-tool", "--stdin", "--format", "claude"),
            stdin='{"session_id": "s-1", "tool_name": "Bash", "tool_input": {"command": "private"}}',
            env={"CONTEXT_GRAPH_HOME": str(root), "CONTEXT_GRAPH_PYTHON": "/bin/false"},
        )
        assert done.returncode == 0
        assert not (heard / "data").exists(), "not one byte was sent"
        kept = list((root / "stores").glob("*/events/*-*.log"))
        assert kept and b"private" in kept[0].read_bytes(), "the event is kept instead"
    finally:
        served.kill()
        served.communicate()
        path.unlink(missing_ok=True)


@pytest.mark.root
def test_a_project_file_of_another_user_above_runs_nothing(tmp_path: Path, cli: Cli) -> None:
    """Somebody else's requirements in a shared folder above a project don't govern it."""
    shared = cli.project.parent
    ran = tmp_path / "ran"
    (shared / ".claude").mkdir()
    (shared / ".claude" / "requirements.yaml").write_text(
        "requirements:\n  evil: {enabled: true, type: dynamic, command: 'touch " + str(ran) + "; echo 1',"
        " thresholds: {block: 0}, trigger_tools: [Edit]}\n"
    )
    subprocess.run(["git", "init", "-q", str(shared)], check=True)
    given = '{"session_id": "s-1", "cwd": "%s", "tool_name": "Edit", "tool_input": {"file_path": "x"}}'
    (cli.project / ".git").rmdir()  # a folder of the shared repository
    words = ("hooks", "pre-tool", "--stdin", "--format", "claude")
    os.chown(shared, NOBODY, NOBODY)
    done = cli.run(*words, stdin=given % cli.project)
    assert done.returncode == 0 and "deny" not in done.stdout
    assert not ran.exists()
    os.chown(shared, os.geteuid(), os.getegid())
    # What takes longer than a second, as it may on a busy machine, governs nothing.
    wait_until(lambda: "deny" in cli.run(*words, stdin=given % cli.project).stdout, "one's own to govern")
    assert ran.exists()


def test_nothing_listens_on_a_port(cli: Cli) -> None:
    remember(cli, "x is y")
    pid = int(cli.run("owner", "status", "--json").stdout.split('"pid": ')[1].split(",")[0])
    inodes = {
        os.readlink(f"/proc/{pid}/fd/{name}").removeprefix("socket:[").rstrip("]")
        for name in os.listdir(f"/proc/{pid}/fd")
        if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
    }
    tables = [Path(f"/proc/{pid}/net/{kind}").read_text() for kind in ("tcp", "tcp6", "udp", "udp6")]
    internet = {line.split()[9] for table in tables for line in table.splitlines()[1:]}
    assert inodes and not inodes & internet


def test_a_folder_in_the_socket_s_place_that_is_not_ours_is_named(open_folder: Path) -> None:
    root = open_folder / "data"
    root.mkdir(mode=0o700)
    (root / "run").symlink_to("/tmp")
    with pytest.raises(OwnerUnavailableError, match="not a folder of yours"):
        connect(root, time.monotonic() + 1)
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(OSError):
        probe.connect(str(socket_path(root)))
