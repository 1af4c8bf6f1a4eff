"""`sync --folder`: two homes, two owners, one folder between them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import memory

from context_graph.sync.change import MEMORY, VERSION, Change, encode
from context_graph.sync.folder import Folder
from context_graph.sync.transport import LoggedChange


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


def git(cli: Cli, *words: str) -> None:
    """With a fixed author and time, so that the same words make the same commit."""
    who = {"NAME": "somebody", "EMAIL": "somebody@example.org", "DATE": "2026-01-01T00:00:00Z"}
    env = {f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in who.items()}
    subprocess.run(["git", "-C", str(cli.project), *words], env={**os.environ, **env}, check=True)


def with_history(cli: Cli, first: str = "the first commit", remote: str = "") -> None:
    shutil.rmtree(cli.project / ".git")
    git(cli, "init", "-q")
    git(cli, "commit", "-q", "--allow-empty", "-m", first)
    if remote:
        git(cli, "remote", "add", "origin", remote)


@pytest.fixture
def other(cli: Cli, tmp_path: Path) -> Any:
    """The person's second machine: another home, a checkout of the same name."""
    project = tmp_path / "second" / cli.project.name
    (project / ".git").mkdir(parents=True)
    home = tmp_path / "second" / "data"
    made = Cli(cli.launcher, project, {**cli.env, "CONTEXT_GRAPH_HOME": str(home)})
    for one in (cli, made):
        with_history(one, remote="https://example.org/somebody/app")
    yield made
    made.stop_owner()


def sync(cli: Cli, folder: Path, *args: str) -> dict[str, Any]:
    done = cli.run("sync", "--folder", str(folder), "--json", *args)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def texts(cli: Cli) -> list[str]:
    return sorted(node["content"] for node in memory(cli, "list")["nodes"])


def store(cli: Cli, text: str, *args: str) -> str:
    return str(memory(cli, "store", text, *args)["id"])


def test_what_one_machine_stored_the_other_recalls(cli: Cli, other: Cli, shared: Path) -> None:
    one = store(cli, "Staging listens on port 8443")
    two = store(cli, "Releases go out on Tuesdays")
    memory(cli, "link", one, two, "--type", "causes")
    told = sync(cli, shared)
    assert (told["told"], told["heard"], told["machines"]) == (3, 0, 0)
    heard = sync(other, shared)
    assert (heard["told"], heard["heard"], heard["machines"]) == (0, 3, 1)
    found = memory(other, "recall", "which port does staging listen on?")["nodes"]
    assert found[0]["id"] == one and found[0]["content"] == "Staging listens on port 8443"
    store(other, "Rate limits count per key")
    memory(other, "forget", two)
    assert sync(other, shared)["told"] == 2, (
        "a new one and a forgotten one; that one was looked for by hand tells nothing"
    )
    assert sync(cli, shared)["heard"] == 2
    assert texts(cli) == texts(other) == ["Rate limits count per key", "Staging listens on port 8443"]
    assert sync(cli, shared)["told"] == sync(other, shared)["told"] == 0


def test_neither_secrets_nor_what_is_private_reaches_the_folder(cli: Cli, other: Cli, shared: Path) -> None:
    store(cli, "The token is ghp_" + "x1Y2" * 9)
    store(cli, "Only for this machine", "--tag", "private")
    sync(cli, shared)
    written = b"".join(path.read_bytes() for path in shared.rglob("*") if path.is_file())
    assert b"ghp_x1Y2" not in written and b"Only for this" not in written
    assert os.fsencode(cli.project) not in written, "nor where the project lies"
    assert sync(other, shared)["heard"] == 1


def test_what_a_synced_folder_does_to_files_is_survived(cli: Cli, other: Cli, shared: Path) -> None:
    """Half a file, a conflicted copy, a file that comes before the one it follows."""
    store(cli, "The first fact of the day")
    sync(cli, shared)
    store(cli, "The second fact of the day")
    machine = sync(cli, shared)["machine"]
    home = shared / cli.project.name / machine
    first, second = sorted(home.glob("*.jsonl"))
    whole = first.read_bytes()
    first.write_bytes(whole[: len(whole) // 2])
    (home / f"{first.stem} (conflicted copy).jsonl").write_bytes(whole)
    found = sync(other, shared)
    assert found["heard"] == 1 and "is not whole" in found["refused"][0]["why"], "what follows is read"
    first.unlink()
    assert sync(other, shared)["heard"] == 0 and texts(other) == ["The second fact of the day"]
    first.write_bytes(whole)
    assert sync(other, shared)["heard"] == 1 and len(texts(other)) == 2
    assert second.exists() and sync(other, shared)["refused"] == []


def test_a_store_restored_from_a_backup_takes_a_new_id_and_nothing_is_lost(
    cli: Cli, other: Cli, shared: Path, tmp_path: Path
) -> None:
    store(cli, "Known before the backup")
    before = sync(cli, shared)["machine"]
    assert cli.run("backup", str(tmp_path / "copy")).returncode == 0
    store(cli, "Known after the backup")
    sync(cli, shared)
    assert cli.run("restore", str(tmp_path / "copy"), "--yes").returncode == 0
    assert texts(cli) == ["Known before the backup"]
    again = sync(cli, shared)
    assert again["machine"] != before
    assert texts(cli) == ["Known after the backup", "Known before the backup"]
    sync(other, shared)
    assert texts(other) == texts(cli)
    assert sync(cli, shared)["told"] == 0 and sync(cli, shared)["machine"] == again["machine"]


@pytest.mark.thorough
def test_many_exchanges_leave_few_files_and_the_same_memories(cli: Cli, other: Cli, shared: Path) -> None:
    ids = [store(cli, f"Fact number {n} about subject {n}") for n in range(3)]
    for number in range(20):
        store(cli, f"Later fact {number}")
        memory(cli, "confirm", ids[1])
        machine = sync(cli, shared)["machine"]
    assert len(list((shared / cli.project.name / machine).glob("*.jsonl"))) <= 17
    sync(other, shared)
    assert texts(other) == texts(cli)


def test_deleted_for_good_is_gone_everywhere(cli: Cli, other: Cli, shared: Path) -> None:
    one = store(cli, "A word that nobody may keep: xylophonist")
    for _ in range(2):
        sync(cli, shared)
        sync(other, shared)
    assert texts(other)
    memory(other, "forget", one, "--permanent", "--yes", "--reason", "user_requested")
    sync(other, shared)
    sync(cli, shared)
    assert texts(cli) == texts(other) == []
    for home in (cli, other):
        root = Path(home.env["CONTEXT_GRAPH_HOME"])
        assert not [path for path in root.rglob("*.sst") if b"xylophonist" in path.read_bytes()]


def test_another_project_of_the_same_name_is_refused(cli: Cli, other: Cli, shared: Path) -> None:
    for one, url in ((cli, "git@example.org:a/shop.git"), (other, "https://example.org/b/shop")):
        shutil.rmtree(one.project / ".git")
        for words in (("init", "-q"), ("remote", "add", "origin", url)):
            assert os.system(f"git -C {one.project} {' '.join(words)}") == 0
    store(cli, "A fact of the shop")
    sync(cli, shared)
    done = other.run("sync", "--folder", str(shared))
    assert done.returncode == 1 and "holds the memory of another project" in done.stderr
    assert "--name" in done.stderr
    assert sync(other, shared, "--name", "other-shop")["machines"] == 0


def test_two_projects_of_one_name_are_told_apart_by_their_first_commit(
    cli: Cli, other: Cli, shared: Path
) -> None:
    """Neither has a remote, or only the second."""
    with_history(cli)
    with_history(other, "the first commit of something else")
    store(cli, "A salary that is nobody's business")
    sync(cli, shared)
    done = other.run("sync", "--folder", str(shared), "--name", cli.project.name)
    assert done.returncode == 1 and "whose first commit is" in done.stderr and texts(other) == []
    assert "terminal" not in done.stderr, "nobody is asked what is known"
    git(other, "remote", "add", "origin", "https://example.org/b/app")
    assert other.run("sync", "--folder", str(shared)).returncode == 1
    git(cli, "remote", "add", "origin", "https://example.org/a/app")
    assert sync(cli, shared)["told"] == 0, "one's own place is known"


@pytest.mark.parametrize(
    "remotes",
    [("", ""), ("https://example.org/a/app", ""), ("", "git@example.org:b/app.git"), ("/srv/app.git",) * 2],
)
def test_copies_of_one_template_are_one_project_only_if_a_person_says_so(
    cli: Cli, other: Cli, shared: Path, remotes: tuple[str, str]
) -> None:
    """They begin with the same commit, and the remote of one says nothing of the other. A path is none."""
    for machine, remote in zip((cli, other), remotes, strict=True):
        with_history(machine, "the first commit of a template", remote)
    store(cli, "A salary that is nobody's business")
    sync(cli, shared)
    assert sync(cli, shared)["told"] == 0, "one's own place is known"
    done = other.run("sync", "--folder", str(shared))
    assert done.returncode == 1 and "copies of a template" in done.stderr and "terminal" in done.stderr
    assert texts(other) == [] and "/srv" not in (shared / cli.project.name / "project.json").read_text()
    assert sync(other, shared, "--name", cli.project.name)["heard"] == 1, "who names it means it"


def test_without_evidence_it_asks_and_without_a_terminal_refuses(cli: Cli, other: Cli, shared: Path) -> None:
    for one in (cli, other):
        shutil.rmtree(one.project / ".git")
        (one.project / ".git").mkdir()
    store(cli, "A fact of the shop")
    sync(cli, shared)
    done = other.run("sync", "--folder", str(shared))
    assert done.returncode == 1 and "terminal" in done.stderr and "--name" in done.stderr
    assert sync(other, shared, "--name", cli.project.name)["heard"] == 1, "who names it means it"
    assert sync(other, shared)["told"] == 0, "it is asked once"


@pytest.mark.parametrize(
    "what", ["a dangling link", "a link that fits", "a pipe", "no end", "too long", "no JSON", "a folder"]
)
def test_whatever_stands_in_project_json_harms_nobody(
    cli: Cli, shared: Path, tmp_path: Path, what: str
) -> None:
    """Nothing is written outside the folder, nothing hangs, nothing is read to its end."""
    home = shared / cli.project.name
    home.mkdir()
    note, outside = home / "project.json", tmp_path / "outside"
    if what == "a link that fits":
        sync(cli, shared)
    make: dict[str, Callable[[], object]] = {
        "a dangling link": lambda: note.symlink_to(outside),
        "a link that fits": lambda: note.symlink_to(note.rename(tmp_path / "fitting")),
        "a pipe": lambda: os.mkfifo(note),
        "no end": lambda: note.symlink_to("/dev/zero"),
        "too long": lambda: note.write_bytes(b" " * 100_000),
        "no JSON": lambda: note.write_bytes(b"{"),
        "a folder": note.mkdir,
    }
    make[what]()
    done = cli.run("sync", "--folder", str(shared))
    assert done.returncode == 1 and "project.json" in done.stderr and not outside.exists()


@pytest.mark.parametrize("depth", [1, 2])
def test_a_link_in_the_place_of_a_folder_is_not_written_through(
    cli: Cli, shared: Path, tmp_path: Path, depth: int
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    store(cli, "A fact of the shop")
    if depth == 1:
        (shared / cli.project.name).symlink_to(outside)
    else:
        machine = sync(cli, shared)["machine"]
        home = shared / cli.project.name / machine
        shutil.rmtree(home)
        home.symlink_to(outside)
        store(cli, "Another fact of the shop")
    done = cli.run("sync", "--folder", str(shared))
    assert list(outside.iterdir()) == [] and (depth == 2 or done.returncode == 1)


@pytest.mark.parametrize("name", ["a/b", "..", "x" * 80])
def test_a_name_that_is_no_folder_s_is_refused(cli: Cli, shared: Path, name: str) -> None:
    done = cli.run("sync", "--folder", str(shared), f"--name={name}")
    assert done.returncode == 2 and "--name" in done.stderr and not list(shared.iterdir())


@pytest.mark.thorough
def test_two_exchanges_of_one_store_do_not_run_at_once(cli: Cli, shared: Path) -> None:
    store(cli, "Staging listens on port 8443")
    sync(cli, shared)
    (lock,) = Path(cli.env["CONTEXT_GRAPH_HOME"]).rglob("sync.lock")
    with open(lock, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = cli.run("sync", "--folder", str(shared))
        assert done.returncode == 1 and "another `sync`" in done.stderr
    assert sync(cli, shared)["told"] == 0


def test_a_folder_that_is_not_there_is_made(cli: Cli, tmp_path: Path) -> None:
    assert cli.run("sync", "--folder", str(tmp_path / "new" / "one")).returncode == 0
    assert (tmp_path / "new" / "one" / cli.project.name).is_dir()
    (tmp_path / "file").touch()
    done = cli.run("sync", "--folder", str(tmp_path / "file"))
    assert done.returncode == 1 and "file: File exists; name another one" in done.stderr


@pytest.mark.parametrize("at_ms", [(1 << 62) - 1, 1 << 53, 253_402_300_800_000, 0])
def test_times_that_another_machine_tells_stop_no_command(cli: Cli, shared: Path, at_ms: int) -> None:
    """Of a clock that was far off, or of somebody who writes the file by hand."""
    store(cli, "Staging listens on port 8443")
    sync(cli, shared)
    strange = "5" * 32
    there = {
        "content": "The lab printer is on floor 3",
        "rationale": "as it was told there",
        "created_at_ms": at_ms,
    }
    gone = {**there, "content": "The lab printer jams", "tombstone": {"at_ms": at_ms, "reason": "gone"}}
    told = []
    for seq, fields in enumerate((there, gone), 1):
        subject, uses = f"{seq:08x}-0000-4000-8000-000000000000", {strange: (3, at_ms)}
        change = Change(VERSION, strange, seq, seq << 16, strange, MEMORY, subject, fields, uses)
        told.append(LoggedChange(change, encode(change)))
    Folder(shared / cli.project.name).push(strange, told)
    assert sync(cli, shared)["heard"] == 2
    first, second = (one.change.subject for one in told)
    for words in (
        *(("list",), ("list", "--deleted"), ("show", first), ("recall", "lab printer"), ("export",)),
        *(("inject", "lab printer"), ("history", first), ("consolidate", "--dry-run"), ("stats",)),
        ("restore", second),
    ):
        done = cli.run("memory", *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    for words in (("status",), ("doctor", "--json"), ("report", str(shared / "report.html"))):
        done = cli.run(*words)
        assert "Traceback" not in done.stderr and "bug in" not in done.stdout + done.stderr, (words, done)
    assert {"The lab printer is on floor 3", "The lab printer jams"} <= {*texts(cli)}
