"""A project whose folder was renamed or moved is told of its memories, and takes them over by one command."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.sessions import hook, memory

from context_graph.git.moved import Origin, _address, origin_of

FACT = "The billing cron runs at 03:15 UTC on node b7."


def git(folder: Path, *words: str) -> None:
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    names = ("-c", "user.email=a@b.c", "-c", "user.name=n", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *names, *words], cwd=folder, env=own, check=True, capture_output=True)


@pytest.fixture
def repository(cli: Cli) -> Cli:
    git(cli.project, "init", "-q")
    git(cli.project, "commit", "-q", "--allow-empty", "-m", "first")
    return cli


def renamed(cli: Cli, name: str = "elsewhere") -> Cli:
    place = cli.project.with_name(name)
    cli.project.rename(place)
    return at(cli, place)


def at(cli: Cli, place: Path) -> Cli:
    return replace(cli, project=place, env={**cli.env, "CLAUDE_PROJECT_DIR": str(place)})


def told_at_start(cli: Cli) -> str:
    text: str = hook(cli, "session-start", "n", source="startup").get("systemMessage", "")
    return text


def test_the_new_place_is_told_of_them_and_adopts_them(repository: Cli) -> None:
    os.makedirs(repository.project / "cron")
    (repository.project / "cron" / "billing").write_text("15 3 * * *")
    memory(repository, "store", FACT, "--evidence", "cron/billing")
    hook(repository, "session-start", "s-1", source="startup")
    hook(repository, "prompt-submit", "s-1", prompt="Move the cron to node b8", prompt_id="p")
    edit = {"file_path": f"{repository.project}/cron/billing", "old_string": "a", "new_string": "b"}
    hook(repository, "post-tool", "s-1", tool_name="Edit", tool_input=edit, tool_response={})
    hook(repository, "session-end", "s-1", reason="other")
    memory(repository, "list")
    old = str(repository.project)
    new = renamed(repository)
    for said in (told_at_start(new), new.run("status").stdout, new.run("doctor").stdout):
        assert old in said.replace("\n", " ") and "memory adopt" in " ".join(said.split())
    done = new.run("memory", "adopt")
    assert done.returncode == 0 and old in done.stdout
    assert FACT in [one["content"] for one in memory(new, "list")["nodes"]]
    assert f'"{old}' not in new.run("memory", "export").stdout, "its paths are this folder's"
    assert "memory adopt" not in told_at_start(new) + new.run("status").stdout
    again = new.run("memory", "adopt")
    assert again.returncode == 1 and "no store of this repository" in again.stderr
    assert len(list((new.root / "stores").glob("*/db"))) == 2, "the old store stays"


def test_another_repository_a_copy_and_a_plain_folder_are_told_nothing(cli: Cli, tmp_path: Path) -> None:
    git(cli.project, "init", "-q")
    git(cli.project, "commit", "-q", "--allow-empty", "-m", "first")
    memory(cli, "store", FACT)
    copy, other, plain = (tmp_path / name for name in ("copy", "other", "plain"))
    git(tmp_path, "clone", "-q", str(cli.project), str(copy))
    assert told_at_start(at(cli, copy)) == "", "the first one is still there"
    cli.project.rename(tmp_path / "gone")
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "another first")
    plain.mkdir()
    for one in (other, plain):
        assert told_at_start(at(cli, one)) == ""
        assert at(cli, one).run("memory", "adopt").returncode == 1


def test_a_submodule_is_told_that_its_parent_has_memories(repository: Cli, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    git(library, "commit", "-q", "--allow-empty", "-m", "of the library")
    git(repository.project, "submodule", "add", "-q", str(library), "lib")
    assert told_at_start(at(repository, repository.project / "lib")) == ""
    memory(repository, "store", FACT)
    repository.run("owner", "stop")
    said = told_at_start(at(repository, repository.project / "lib"))
    assert "submodule" in said and str(repository.project) in said


def test_the_notes_in_a_store_tell_no_address_and_no_name(repository: Cli) -> None:
    git(repository.project, "remote", "add", "origin", "https://jo:secret@host.example/team/shop.git")
    memory(repository, "store", FACT)
    memory(repository, "list")  # it is written behind the first answer
    (note,) = (repository.root / "stores").glob("*/origin")
    assert len(note.read_text().split()) == 2 and "example" not in note.read_text()


def test_an_address_is_the_same_however_it_is_written() -> None:
    spelled = ("https://host/a/b", "https://jo:x@host/a/b.git", "git@host:a/b.git", "ssh://git@host/a/b/")
    assert {_address(one) for one in spelled} == {"host/a/b"}
    assert not Origin().is_of(Origin()) and Origin("", "r").is_of(Origin("f", "r"))
    assert not Origin("f", "r").is_of(Origin("g", "r")), "another repository at the same address"


def test_a_folder_outside_git_has_no_origin(tmp_path: Path) -> None:
    assert origin_of(str(tmp_path)) == Origin()
    assert json.dumps(origin_of(str(tmp_path))) == '["", ""]'
