"""What is wrong around the program is said: never "internal error", never the wrong cause."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.rights import plain_of
from tests.support.sessions import hook, memory

from context_graph.config import store_dir
from context_graph.store.engine.failures import damaged_database


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("doctor",),
        ("memory", "list"),
        ("memory", "store", "a", "--rationale", "ten letters"),
        ("session", "list"),
        ("req", "status"),
        ("req", "check"),
        ("req", "list"),
        ("setup",),
        ("owner", "status"),
        ("repair",),
        ("backup", "there"),
    ],
    ids=" ".join,
)
def test_a_removed_working_folder_is_said_to_be_removed(
    shared_cli: Cli, tmp_path: Path, words: tuple[str, ...]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(gone), str(shared_cli.launcher), *words],
        capture_output=True, text=True, env=dict(shared_cli.env), stdin=subprocess.DEVNULL, timeout=60,
        check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert "internal error" not in said.lower() and "Traceback" not in said, said
    if words[0] != "owner":
        assert done.returncode == 1 and "working folder has been removed" in said, said


def test_a_removed_working_folder_is_no_matter_where_the_client_names_the_project(
    cli: Cli, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(gone), str(cli.launcher), "status"],
        capture_output=True, text=True, timeout=60, check=False,
        env={**cli.env, "CLAUDE_PROJECT_DIR": str(cli.project)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_doctor_names_the_program_that_is_not_on_path_and_not_the_disk(cli: Cli) -> None:
    assert cli.run("setup", "--yes").returncode == 0
    done = cli.run("doctor", env={"PATH": "/usr/bin:/bin"})
    assert "is not on PATH, so Claude Code can't start it" in done.stdout, done.stdout
    assert "room on the disk" not in done.stdout
    assert cli.run("setup", "--link", "--remove").returncode == 0
    done = cli.run("doctor", env={"PATH": "/usr/bin:/bin"})
    assert "context-graph-cli is not on PATH" in done.stdout, done.stdout
    assert "room on the disk" not in done.stdout


def test_a_damaged_database_is_told_in_one_line() -> None:
    """RocksDB ends its message with a line of its own; ours goes on behind it."""
    said = str(damaged_database("IO error: while stat a file: x.sst: No such file\n", Path("db")))
    assert "No such file; run `context-graph-cli repair" in said


def test_doctor_takes_no_new_home_for_a_lost_disk(cli: Cli, tmp_path: Path) -> None:
    """Neither the data root nor the folders above it are there before the first start."""
    root = tmp_path / "new" / "share" / "context-graph"
    env = {"CONTEXT_GRAPH_HOME": str(root), "PATH": "/usr/bin:/bin"}
    done = cli.run("doctor", env=env)
    cli.run("owner", "stop", env=env)
    assert "No such file or directory" not in done.stdout, done.stdout
    assert "context-graph-cli setup --link" in done.stdout


def test_two_spellings_of_a_data_root_are_one_owner_and_one_store(cli: Cli) -> None:
    """The second is a link to the first; each may be the one that starts the owner."""
    # A short path: where a socket's is too long for the kernel, each spelling has one of its own.
    alias = Path(cli.env["HOME"], "alias")
    alias.symlink_to(cli.env["CONTEXT_GRAPH_HOME"])
    other = Cli(cli.launcher, cli.project, {**cli.env, "CONTEXT_GRAPH_HOME": str(alias)})
    for first, second in ((cli, other), (other, cli)):
        found = memory(first, "store", "the bucket refills lazily", "--rationale", "a decision")["id"]
        assert memory(second, "show", found)["id"] == found
        hook(second, "session-start", "s-1", source="startup")
        hook(first, "prompt-submit", "s-1", prompt="one", prompt_id=f"{found}")
        pids = {json.loads(one.run("owner", "status", "--json").stdout)["pid"] for one in (first, second)}
        assert len(pids) == 1
        assert first.run("owner", "stop").returncode == 0


@pytest.fixture
def plain(cli: Cli, tmp_path: Path) -> Cli:
    """The program without root's right to read everything, where the tests run as root."""
    return plain_of(cli, tmp_path)


def others(path: Path) -> None:
    """A file as another user's hook would leave it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n00000000 {}\n")
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    else:
        path.chmod(0)


def test_a_segment_that_can_t_be_read_is_named_and_locks_nobody_out(plain: Cli) -> None:
    folder = store_dir(Path(plain.env["CONTEXT_GRAPH_HOME"]), plain.project) / "events"
    foreign = "0000000000001-00000000.log"
    others(folder / foreign)
    done = plain.run("memory", "list")
    assert done.returncode == 0, done.stderr
    status = json.loads(plain.run("owner", "status", "--json").stdout)
    assert any(foreign in text for text in status["events_shut"]), status
    assert foreign in plain.run("doctor", timeout=90).stdout
    hook(plain, "post-tool", "s-0", tool_name="Bash", tool_input={}, tool_response={})
    plain.run("owner", "stop")
    no_owner = Cli(plain.launcher, plain.project, {**plain.env, "CONTEXT_GRAPH_PYTHON": "/bin/false"})
    hook(no_owner, "post-tool", "s-1", tool_name="Bash", tool_input={}, tool_response={})
    assert len(list(folder.glob("*-*.log"))) == 2, "the next event has a file of its own"
    shown = json.loads(plain.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["post-tool"] == 1
    assert (folder / foreign).exists(), "what can't be read is left where it is"


def _elsewhere(cli: Cli, mount: tuple[Path, Path], *words: str, **env: str) -> tuple[int, str]:
    """Exit code and output of a command that sees the first folder of ``mount`` at the second."""
    line = 'mount --bind "$1" "$2" || exit 77; shift 2; exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", line, "sh", *map(str, mount), str(cli.launcher), *words],
        capture_output=True, text=True, env={**cli.env, **env}, cwd=cli.project, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("may not make a mount namespace here")
    return done.returncode, done.stdout + done.stderr


def test_an_owner_to_whom_the_data_root_is_another_folder_says_so(cli: Cli, tmp_path: Path) -> None:
    """As outside a container: it answered with nothing, and kept what was stored where nobody finds it."""
    cli.run("memory", "store", "Staging listens on 8443")
    root, inside = Path(cli.env["CONTEXT_GRAPH_HOME"]), tmp_path / "inside"
    inside.mkdir()
    for words in (["memory", "list"], ["memory", "store", "Deploys wait for the review"], ["status"]):
        code, text = _elsewhere(cli, (root, inside), *words, CONTEXT_GRAPH_HOME=str(inside))
        assert code != 0 and f"the data root is {root}; here it is {inside}. One" in text, text
    assert not any(inside.iterdir()), "nothing is written where the owner sees another folder"
    stopped, listed = (
        _elsewhere(cli, (root, inside), *words, CONTEXT_GRAPH_HOME=str(inside))
        for words in (("owner", "stop"), ("memory", "list"))
    )
    assert "owner stopped" in stopped[1] and "8443" in listed[1]
    cli.run("owner", "stop")


def test_a_data_root_behind_a_link_is_the_same(cli: Cli, tmp_path: Path) -> None:
    cli.run("memory", "store", "Staging listens on 8443")
    (tmp_path / "link").symlink_to(cli.env["CONTEXT_GRAPH_HOME"])
    behind = {"CONTEXT_GRAPH_HOME": str(tmp_path / "link")}
    assert "8443" in cli.run("memory", "list", env=behind).stdout
    cli.run("owner", "stop")
    assert "8443" in cli.run("memory", "list", env=behind).stdout
    assert "8443" in cli.run("memory", "list").stdout


def test_a_file_of_another_user_s_in_the_run_folder_is_named(plain: Cli) -> None:
    root = Path(plain.env["CONTEXT_GRAPH_HOME"])
    others(root / "run" / "owner.lock")
    for words in (("memory", "list"), ("owner", "status"), ("doctor",)):
        said = plain.run(*words, timeout=90)
        assert "owner.lock" in said.stdout + said.stderr, (words, said)
        assert "internal error" not in said.stderr.lower()


@pytest.mark.thorough
def test_ten_projects_and_256_descriptors_are_served(cli: Cli, tmp_path: Path) -> None:
    """A hard limit: the owner keeps fewer stores open, and each call has its answer."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    def run(project: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(cli.launcher), *words], input=stdin, capture_output=True, text=True, env=dict(cli.env),
            cwd=project, timeout=60, check=False, preexec_fn=limited,
        )  # fmt: skip

    projects = [tmp_path / f"p{number}" for number in range(10)]
    for number, project in enumerate(projects):
        (project / ".git").mkdir(parents=True)
        done = run(project, "memory", "store", f"memory of {number}", "--rationale", "ten letters")
        assert done.returncode == 0, done.stderr
    status = json.loads(run(projects[0], "owner", "status", "--json").stdout)
    assert 1 <= status["stores"] < 8
    opening = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "get_memetic_status", "arguments": {}},
        },
    ]
    for project in projects:
        done = run(project, "mcp", stdin="".join(json.dumps(line) + "\n" for line in lines))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [one["id"] for one in answers if "id" in one] == [1, 2] and "result" in answers[-1], answers
    found = [json.loads(run(one, "memory", "list", "--format", "json").stdout)["nodes"] for one in projects]
    assert [len(nodes) for nodes in found] == [1] * 10


def test_an_owner_takes_the_descriptors_it_may_have(cli: Cli) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    script = 'ulimit -S -n 64; exec "$@"'
    command = ["/bin/sh", "-c", script, "sh", str(cli.launcher), "owner", "start"]
    subprocess.run(command, env=dict(cli.env), check=True, cwd=cli.project, capture_output=True)
    pid = json.loads(cli.run("owner", "status", "--json").stdout)["pid"]
    limits = Path(f"/proc/{pid}/limits").read_text()
    row = next(line for line in limits.splitlines() if line.startswith("Max open files"))
    assert int(row.split()[3]) == (min(hard, 65_536) if hard > 0 else 65_536)


@pytest.mark.parametrize("limit", ["-n 64", "-f 64", "-d 1000000"])
def test_an_owner_from_a_tight_shell_makes_way_for_whoever_may_use_more(cli: Cli, limit: str) -> None:
    """And serves one that may use as little, which else would end the other's owner in turn."""

    def tight(*words: str) -> str:
        command = ["/bin/sh", "-c", f'ulimit {limit}; exec "$@"', "sh", str(cli.launcher), *words]
        env = dict(cli.env)
        return subprocess.run(
            command, env=env, check=True, cwd=cli.project, capture_output=True, text=True
        ).stdout

    def pid_of(said: str) -> int:
        return int(json.loads(said)["pid"])

    narrow = pid_of(tight("owner", "start", "--json"))
    assert pid_of(tight("owner", "status", "--json")) == narrow
    assert cli.run("memory", "store", "From a shell without limits").returncode == 0
    wide = pid_of(cli.run("owner", "status", "--json").stdout)
    assert wide != narrow
    assert "From a shell" in tight("memory", "list")
    assert pid_of(tight("owner", "status", "--json")) == wide
    log = (cli.root / "log" / "owner.log").read_text()
    assert "leaving: a client may use more than this owner" in log


@pytest.mark.parametrize("words", ["consciousness status", "status", "doctor", "owner status"])
def test_what_a_stranger_named_steers_no_terminal(cli: Cli, words: str) -> None:
    """A folder's name holds any bytes; it is escaped in a pipe too, which may end at a terminal."""
    strange = cli.project.parent / "shop\x1b]0;owned\x07"
    cli.project.rename(strange)
    named = Cli(cli.launcher, strange, cli.env)
    named.start_owner()
    try:
        done = named.run(*words.split())
    finally:
        named.stop_owner()
    assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout
