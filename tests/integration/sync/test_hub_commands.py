"""A team's memories through a hub, as people use it: `hub …`, `sync`, and what happens by itself."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.exchange.postgres import Postgres, started, with_passwords
from tests.support.sessions import memory

pytestmark = pytest.mark.hub

WAIT_S = 60.0
"""For what takes a second on a quiet machine."""


@pytest.fixture(scope="module")
def server(server: Postgres) -> Postgres:
    """Members need their password; the administrator does not."""
    return with_passwords(server)


@pytest.fixture
def team(request: pytest.FixtureRequest) -> str:
    return f"team-{request.node.name[:40]}"


@pytest.fixture
def other(cli: Cli, tmp_path: Path) -> Iterator[Cli]:
    """A colleague's machine: another home, a checkout of the same name."""
    project = tmp_path / "second" / cli.project.name
    (project / ".git").mkdir(parents=True)
    made = Cli(cli.launcher, project, {**cli.env, "CONTEXT_GRAPH_HOME": str(tmp_path / "second" / "data")})
    yield made
    made.stop_owner()


@pytest.fixture
def hub(cli: Cli, server: Postgres, team: str) -> Callable[..., dict[str, Any]]:
    """One command of `hub` by somebody: an administrator if nobody else is named."""

    def run(*words: str, by: Cli | None = None, stdin: str = "", fails: bool = False) -> dict[str, Any]:
        env = {} if by else {"CONTEXT_GRAPH_HUB_ADMIN_URL": server.address}
        done = (by or cli).run("hub", *words, "--json", env=env, stdin=stdin, timeout=60)
        assert (done.returncode == 1) is fails, done.stderr
        found: dict[str, Any] = {"error": done.stderr} if fails else json.loads(done.stdout)
        return found

    run("init", "--team", team)
    return run


def joined(
    hub: Callable[..., dict[str, Any]], cli: Cli, login: str, team: str, *words: str
) -> dict[str, Any]:
    """Invite and join; what `hub join` said."""
    token = hub("invite", login, "--team", team, *words)["token"]
    return hub("join", "-", by=cli, stdin=token)


def sync(cli: Cli) -> dict[str, Any]:
    done = cli.run("sync", "--json", timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def texts(cli: Cli) -> list[str]:
    return sorted(node["content"] for node in memory(cli, "list")["nodes"])


def until(what: Callable[[], bool], why: str) -> float:
    """Wait until ``what`` holds; the seconds that took."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < WAIT_S, why
        time.sleep(0.05)
    return time.monotonic() - began


def test_what_one_member_stored_another_recalls_without_a_command(
    cli: Cli, other: Cli, hub: Callable[..., dict[str, Any]], team: str
) -> None:
    for one in (cli, other):
        one.start_owner()
        memory(one, "list")
    assert joined(hub, cli, "ada", team)["role"] == "writer"
    joined(hub, other, "grace", team)
    memory(cli, "store", "Staging listens on port 8443")
    until(lambda: texts(other) == ["Staging listens on port 8443"], "it was not told")
    memory(other, "store", "Releases go out on Tuesdays")
    until(lambda: len(texts(cli)) == 2, "the answer was not told")
    seen = hub("status", by=cli)
    assert {one["login"] for one in seen["machines"]} == {"ada", "grace"}
    assert seen["used_bytes"] == sum(one["bytes"] for one in seen["machines"]) > 0


@pytest.mark.thorough
def test_a_hub_that_is_gone_is_told_and_holds_nothing_up(cli: Cli, other: Cli, tmp_path: Path) -> None:
    own = with_passwords(started())
    env = {"CONTEXT_GRAPH_HUB_ADMIN_URL": own.address}
    assert cli.run("hub", "init", "--team", "gone", env=env, timeout=60).returncode == 0
    for one, login in ((cli, "ada"), (other, "grace")):
        token = cli.run("hub", "invite", login, "--team", "gone", env=env).stdout
        assert one.run("hub", "join", "-", stdin=token).returncode == 0
    sync(cli)
    own.kill()
    memory(cli, "store", "Said while the hub was away")
    done = cli.run("sync")
    assert done.returncode == 1 and "hub" in done.stderr and "postgresql://" not in done.stderr
    assert "password" not in done.stderr
    own.start_again()
    until(lambda: cli.run("sync").returncode == 0, "it did not come back")
    until(lambda: other.run("sync").returncode == 0, "it did not come back")
    assert texts(other) == ["Said while the hub was away"]


def test_a_member_who_is_removed_is_told_so(cli: Cli, hub: Callable[..., dict[str, Any]], team: str) -> None:
    joined(hub, cli, "ada2", team)
    memory(cli, "store", "Told before")
    sync(cli)
    hub("remove", "ada2", "--team", team)
    memory(cli, "store", "Not told any more")
    done = cli.run("sync")
    assert done.returncode == 1 and "member" in done.stderr
    assert "removed" in hub("status", by=cli, fails=True)["error"]
    assert hub("leave", by=cli) == {"left": True, "forgotten": 0}
    assert "joined no hub" in hub("leave", by=cli, fails=True)["error"]
    assert "name a folder" in cli.run("sync").stderr


def test_a_token_is_a_secret_and_needs_no_second_password(
    cli: Cli, other: Cli, hub: Callable[..., dict[str, Any]], team: str
) -> None:
    hub("init", "--team", team, "--project", "second")
    joined(hub, cli, "ada3", team)
    again = hub("invite", "ada3", "--team", team, "--project", "second")["token"]
    assert "password" in hub("join", again, by=other, fails=True)["error"], "it is known on the other machine"
    stores = list(Path(cli.env["CONTEXT_GRAPH_HOME"]).rglob("hub.json"))
    assert [oct(path.stat().st_mode & 0o777) for path in stores] == ["0o600"]
    elsewhere = cli.project.parent / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    second = Cli(cli.launcher, elsewhere, cli.env)
    assert "by another name" in hub("join", again, by=second, fails=True)["error"]
    assert hub("join", again, "--project", "second", by=second)["project"] == "second"
    assert "not what `hub invite` printed" in hub("join", "cg1.nothing", by=cli, fails=True)["error"]


def test_a_token_used_in_another_checkout_joins_nothing(
    cli: Cli, other: Cli, hub: Callable[..., dict[str, Any]], team: str
) -> None:
    """By the git remote where both are known, whatever the folders are called."""
    remotes = ((cli, "git@example.org:team/gateway.git"), (other, "https://example.org/team/payroll"))
    for one, url in remotes:
        shutil.rmtree(one.project / ".git")
        for words in (["init", "-q"], ["remote", "add", "origin", url]):
            subprocess.run(["git", "-C", str(one.project), *words], check=True)
    hub("init", "--team", team)
    token = hub("invite", "payroll", "--team", team)["token"]
    for words in ([], ["--project", cli.project.name]):
        error = hub("join", token, *words, by=other, fails=True)["error"]
        assert "with another git remote" in error and "terminal" in error and cli.project.name in error
    assert not list(other.root.rglob("hub.json"))
    assert hub("join", token, by=cli)["project"] == cli.project.name
    elsewhere = cli.project.parent / "another-name"
    cli.project.rename(elsewhere)
    assert hub("join", token, by=Cli(cli.launcher, elsewhere, cli.env))["project"] == cli.project.name


@pytest.mark.parametrize("known", ["the hub", "the checkout"])
def test_where_only_one_has_a_remote_a_token_joins_nothing_by_the_name_alone(
    cli: Cli, other: Cli, hub: Callable[..., dict[str, Any]], team: str, known: str
) -> None:
    """Two teams have a project of that name, and one of them keeps it without a remote."""
    login, team = f"twin-{known[-3:]}", f"{known[-3:]} {team[:40]}"
    for checkout, has_remote in ((cli, known == "the hub"), (other, known == "the checkout")):
        shutil.rmtree(checkout.project / ".git")
        subprocess.run(["git", "-C", str(checkout.project), "init", "-q"], check=True)
        if has_remote:
            words = ["remote", "add", "origin", "https://example.org/team/app"]
            subprocess.run(["git", "-C", str(checkout.project), *words], check=True)
    hub("init", "--team", team)
    token = hub("invite", login, "--team", team)["token"]
    error = hub("join", token, by=other, fails=True)["error"]
    assert "git remote" in error and "terminal" in error and "--project" in error
    assert not list(other.root.rglob("hub.json"))
    assert hub("join", token, "--project", cli.project.name, by=other)["project"] == cli.project.name


def test_a_setting_alone_joins_nothing_and_tells_nothing(
    cli: Cli, server: Postgres, hub: Callable[..., dict[str, Any]], team: str
) -> None:
    """A repository may come with a project's file."""
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude" / "context-graph.toml").write_text(f'hub_url = "{server.address}"\n')
    cli.start_owner()
    memory(cli, "store", "Mine until I join")
    assert "nothing to exchange with" in cli.run("sync").stderr
    assert not list(cli.root.rglob("hub.json"))
    hub("join", by=cli, fails=True)  # the administrator is no member of it


def test_ending_the_owner_ends_its_exchange(cli: Cli, hub: Callable[..., dict[str, Any]], team: str) -> None:
    cli.start_owner()
    joined(hub, cli, "ada4", team)
    memory(cli, "store", "One fact")
    found: list[int] = []

    def is_there() -> bool:
        found[:] = beside(cli)
        return bool(found)

    until(is_there, "no exchange was started")
    hub("leave", by=cli)
    until(lambda: not beside(cli), "it outlived `hub leave`")
    joined(hub, cli, "ada5", team)
    cli.stop_owner()
    until(lambda: not beside(cli), "it outlived its owner")


def beside(cli: Cli) -> list[int]:
    """Processes that exchange for this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"context_graph.sync.background" in words and os.fsencode(cli.root) in words:
            found.append(int(path.parent.name))
    return found


def test_a_killed_exchange_begins_again(cli: Cli, hub: Callable[..., dict[str, Any]], team: str) -> None:
    cli.start_owner()
    joined(hub, cli, "ada6", team)
    until(lambda: bool(beside(cli)), "no exchange was started")
    for pid in beside(cli):
        os.kill(pid, signal.SIGKILL)
    memory(cli, "store", "Told by a command then")
    until(lambda: cli.run("sync").returncode == 0, "nothing told")
    assert hub("status", by=cli)["machines"][0]["lines"] == 1


def test_doctor_and_view_say_how_the_exchange_goes(
    cli: Cli, hub: Callable[..., dict[str, Any]], team: str
) -> None:
    joined(hub, cli, "ada7", team)
    memory(cli, "store", "One fact")
    sync(cli)
    rows = cli.run("doctor").stdout
    assert f"of team {team} in the hub" in rows and "sent 1, received 0" in rows
    health = cli.run("status", "--json")
    assert health.returncode in (0, 1), health.stderr
    hub("remove", "ada7", "--team", team)
    assert cli.run("sync").returncode == 1
    found = json.loads(cli.run("doctor", "--json").stdout)["findings"]
    assert any("no exchange with" in one["what"] and "no member" in one["what"] for one in found)


@pytest.mark.thorough
def test_leaving_may_delete_what_colleagues_told_and_nobody_else_notices(
    cli: Cli, other: Cli, hub: Callable[..., dict[str, Any]], team: str, tmp_path: Path
) -> None:
    joined(hub, cli, "ada8", team)
    joined(hub, other, "grace8", team)
    one = memory(cli, "store", "Ada's own fact about the cache")["id"]
    memory(other, "store", "Grace's fact about the queue")
    for each in (cli, other, cli, other):
        sync(each)
    theirs = next(node["id"] for node in memory(cli, "list")["nodes"] if node["id"] != one)
    memory(cli, "link", one, theirs, "--type", "causes")
    for each in (cli, other):
        sync(each)
    written = tmp_path / "all.jsonl"
    assert hub("export", str(written), by=other)["changes"] >= 3
    rows = [json.loads(row) for row in written.read_text().splitlines()]
    assert {row["author"] for row in rows} == {"ada8", "grace8"}
    token = hub("invite", "ada8", "--team", team, "--new-password")["token"]
    assert hub("leave", "--forget", by=cli) == {"left": True, "forgotten": 1}
    assert texts(cli) == ["Ada's own fact about the cache"]
    hub("join", "-", by=cli, stdin=token)
    for each in (cli, other, cli):
        sync(each)
    assert len(texts(other)) == 2, "leaving deleted nothing elsewhere"
    assert texts(cli) == texts(other), "joining again brings it back"
