"""One store for each repository, whatever its layout: real git, the installed launcher, the commands."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.cli import Cli

from context_graph.config import data_root
from context_graph.git.repository import find_repo


def git(*args: str, cwd: Path) -> None:
    """Run git in ``cwd`` with a name and an address of its own."""
    told = (
        "user.name=T",
        "user.email=t@example.com",
        "protocol.file.allow=always",
        "init.defaultBranch=main",
    )
    options = [part for one in told for part in ("-c", one)]
    subprocess.run(["git", *options, *args], cwd=cwd, check=True, capture_output=True, timeout=60)


def committed(folder: Path) -> Path:
    git("commit", "--allow-empty", "-m", "first", cwd=folder)
    return folder


@dataclass
class Layout:
    """Two checkouts of one repository, and the folder that stands for it."""

    main: Path
    linked: Path


def plain(base: Path) -> Layout:
    git("init", "main", cwd=base)
    git("worktree", "add", "../linked", cwd=committed(base / "main"))
    return Layout(base / "main", base / "linked")


def separate(base: Path) -> Layout:
    git("init", "--separate-git-dir=elsewhere", "main", cwd=base)
    git("worktree", "add", "../linked", cwd=committed(base / "main"))
    return Layout(base / "main", base / "linked")


def cloned_separate(base: Path) -> Layout:
    git("init", "origin", cwd=base)
    committed(base / "origin")
    git("clone", "--separate-git-dir=elsewhere.git", "origin", "main", cwd=base)
    git("worktree", "add", "../linked", cwd=base / "main")
    return Layout(base / "main", base / "linked")


def bare(base: Path) -> Layout:
    git("init", "origin", cwd=base)
    committed(base / "origin")
    git("clone", "--bare", "origin", "store.git", cwd=base)
    git("worktree", "add", "../one", "-b", "one", cwd=base / "store.git")
    git("worktree", "add", "../two", "-b", "two", cwd=base / "store.git")
    return Layout(base / "one", base / "two")


def two_of_separate(base: Path) -> Layout:
    made = separate(base)
    git("worktree", "add", "../third", cwd=made.main)
    return Layout(base / "third", made.linked)


def submodule(base: Path) -> Layout:
    for name in ("inner", "outer"):
        git("init", name, cwd=base)
        committed(base / name)
    git("submodule", "add", str(base / "inner"), "part", cwd=base / "outer")
    git("worktree", "add", str(base / "linked"), cwd=base / "outer" / "part")
    return Layout(base / "outer" / "part", base / "linked")


LAYOUTS = (plain, separate, cloned_separate, bare, two_of_separate, submodule)


def stores(cli: Cli) -> list[str]:
    return sorted(path.name for path in (data_root(cli.env) / "stores").iterdir())


def store(cli: Cli, folder: Path, text: str) -> None:
    done = cli.run("memory", "store", text, "--rationale", "a test of layouts", cwd=folder)
    assert done.returncode == 0, done.stderr


def found(cli: Cli, folder: Path) -> set[str]:
    done = cli.run("memory", "export", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = (json.loads(line) for line in done.stdout.splitlines())
    return {line["content"] for line in lines if line.get("type") == "memory"}


def prompted(cli: Cli, folder: Path, session: str) -> None:
    given = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": session,
        "prompt": "hello",
        "cwd": str(folder),
    }
    done = cli.run("hooks", "prompt-submit", "--format", "claude", stdin=json.dumps(given), cwd=folder)
    assert done.returncode == 0


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda made: made.__name__)
def test_the_checkouts_of_a_repository_share_one_store(
    layout: Callable[[Path], Layout], cli: Cli, tmp_path: Path
) -> None:
    """Commands resolve in Python, hooks in the launcher: both mean one store, and requirements one state."""
    base = Path(os.path.realpath(tmp_path)) / "layout"
    base.mkdir()
    made = layout(base)
    store(cli, made.main, "Deploys run on Mondays only.")
    prompted(cli, made.linked, "s-1")
    prompted(cli, made.main, "s-2")
    store(cli, made.linked, "The changelog is written by hand.")
    assert len(stores(cli)) == 1
    assert (
        found(cli, made.main)
        == found(cli, made.linked)
        >= {
            "Deploys run on Mondays only.",
            "The changelog is written by hand.",
        }
    )
    shown = cli.run("session", "list", "--json", cwd=made.linked).stdout
    assert "s-1" in shown and "s-2" in shown
    one, other = (find_repo(str(folder)) for folder in (made.main, made.linked))
    assert one is not None and other is not None and one.common_dir == other.common_dir


def test_an_archive_cannot_claim_the_memories_of_a_repository(cli: Cli, tmp_path: Path) -> None:
    """Its `.git` file names somebody's checkout, bare repository or submodule: none of them is its own."""
    base = Path(os.path.realpath(tmp_path)) / "layout"
    base.mkdir()
    made = submodule(base)
    git("clone", "--bare", "inner", "bare.git", cwd=base)
    for number, named in enumerate(("inner/.git", "bare.git", "outer/.git/modules/part")):
        evil = base / f"evil-{number}"
        evil.mkdir()
        (evil / ".git").write_text(f"gitdir: {base / named}\n")
        store(cli, base / "inner", f"Secret plans, part {number}.")
        store(cli, made.main, f"Module plans, part {number}.")
        assert found(cli, evil) == set()
