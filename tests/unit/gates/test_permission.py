"""Commands refused at the permission dialog."""

from __future__ import annotations

import pytest

from context_graph.gates.decide.permission import danger


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
        "bash -c 'git push -f'",
        'sh -c "cd x && git reset --hard"',
        "eval 'git clean -fdx'",
        "env A=1 git push --force",
        "/usr/bin/git -c a=b push -f",
        "rm -rf ./",
        "rm -rf ./*",
        "rm -rf .//.",
        "rm -rf ${HOME}",
        'rm -rf "$HOME"/',
        "rm -rf $HOME/*",
        "rm -rf ~/*",
        "rm -rf .git",
        "rm -rf ./.git/",
        "rm -rf ../",
        "rm -rf ../..",
        "rm -Rf -- /",
        "rm -rf /home/u/../../",
        "rm -rf *",
        "psql db <<'E'\ndrop table t;\nE",
        "psql <<< 'drop table t'",
        "docker exec db psql -c 'truncate table t'",
        "mysql -e 'Drop Schema x'",
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
        "git commit -m 'Add migration to drop table users'",
        "git commit -m 'x; git push -f; rm -rf /'",
        "grep -rn 'DROP TABLE' migrations/",
        "rg 'git push -f' docs",
        "cat <<'EOF' > notes.md\ndrop table later\nrm -rf /\nEOF",
        "echo 'rm -rf /' >> notes.md",
        "git clean -nfd",
        "git clean -f --dry-run",
        "git log --grep 'drop table'",
        "psql -c 'select 1' # drop table",
        "rm -rf ./build",
        "rm -rf ../x/build",
        "rm -rf build/*",
        "rm -rf $BUILD",
        "rm -rf .github",
        "rm -rf .git/index.lock",
        "rm -rf /tmp/x/.git",
        "cd /tmp/x && rm -rf .git",
        "rm -rf /usr/local/x",
        "git push -u origin fix",
        "git push origin :old",
        "git -C x reset",
        "git stash",
        "git",
    ],
)
def test_anything_else_is_left_to_the_user(command: str) -> None:
    assert not danger(command)


def test_the_home_and_the_project_are_whole_trees_too() -> None:
    own = {"/home/u", "/work/app"}
    for command in ("rm -rf /home/u", "rm -r /home/u/", "cd /tmp; rm -rf '/work/app'"):
        assert danger(command, own) and not danger(command)
    for command in (
        "rm -rf /work/app/*",
        "rm -rf /work/app/./",
        "rm -rf /work/app/.git",
        "rm -rf '/home/u'/*",
    ):
        assert danger(command, own), command
    for command in ("rm -rf ~", "rm -rf $HOME/.", "rm -rf $PWD"):
        assert danger(command, own, cwd="/work/app", home="/home/u"), command
    assert not danger("rm -rf $PWD/build $HOME/x", own, cwd="/work/app", home="/home/u")
    assert not danger("rm -rf /work/app/build /home/u/x", own)
    assert not danger("rm /work/app", own)
