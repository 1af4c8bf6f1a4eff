"""Commands refused at the permission dialog."""

from __future__ import annotations

import pytest

from context_graph.requirements.permission import danger


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -r -f /",
        "rm --recursive --force ~",
        "sudo rm -fr /*",
        "cd x && rm -rf .",
        "rm -rf '/'",
        "git push --force origin x",
        "git push -f",
        "git push origin +main:main",
        "git -C sub push -fu origin x",
        "git reset --hard origin/main",
        "git clean -fd",
        "git clean -d --force",
        "psql -c 'drop table t'",
        "echo hi; DROP  DATABASE x",
        "(git push -f)",
    ],
)
def test_what_can_t_be_taken_back_is_refused(command: str) -> None:
    assert danger(command)


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "",
        "rm -rf /tmp/x",
        "rm -rf /home/u/proj/build",
        "rm /",
        "rm -rf build",
        "git push --force-with-lease",
        "git push origin feature",
        "git reset HEAD~1",
        "git clean -n",
        "echo rm -rf /",
        "grep dropped table",
        "git",
    ],
)
def test_anything_else_is_left_to_the_user(command: str) -> None:
    assert not danger(command)


def test_the_home_and_the_project_are_whole_trees_too() -> None:
    own = {"/home/u", "/work/app"}
    for command in ("rm -rf /home/u", "rm -r /home/u/", "cd /tmp; rm -rf '/work/app'"):
        assert danger(command, own) and not danger(command)
    assert not danger("rm -rf /work/app/build /home/u/x", own)
    assert not danger("rm /work/app", own)
