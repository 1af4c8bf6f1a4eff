"""Programs that manage a repository's hooks (pre-commit, husky, lefthook): theirs run as without us.

The real programs: pre-commit of the developer's environment, the others of $HOOK_MANAGERS_DIR/node_modules.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.gates.test_git_hooks import RULES, Shell, repository, write_hook
from tests.support.cli import Cli
from tests.support.gates.installed import A, an_owner

pytestmark = pytest.mark.thorough
NPM = Path(os.environ.get("HOOK_MANAGERS_DIR", "/nonexistent")) / "node_modules"
NAMES = ("pre-commit", "commit-msg", "post-commit", "pre-push")
WORK = "echo >> a; git commit -qam x; echo >> a; git commit -qa --amend -m y; git push -q -f origin HEAD"


def _pre_commit(root: Path, log: Path) -> str:
    lines = [f"default_install_hook_types: [{', '.join(NAMES)}]", "repos: [{repo: local, hooks: ["]
    for name in NAMES:
        entry = f"sh -c 'echo {name} >> {log}'"
        always = "language: system, always_run: true, pass_filenames: false"
        lines.append(f'{{id: x-{name}, name: {name}, entry: "{entry}", stages: [{name}], {always}}},')
    (root / ".pre-commit-config.yaml").write_text("\n".join([*lines, "]}]\n"]))
    return f"{Path(sys.executable).parent / 'pre-commit'} install"


def _husky(root: Path, log: Path) -> str:
    for name in NAMES:
        write_hook(root / ".husky" / name, f"echo {name} >> {log}")
    return f"node {NPM}/husky/bin.js"


def _lefthook(root: Path, log: Path) -> str:
    jobs = [f"{name}: {{commands: {{a: {{run: 'echo {name} >> {log}'}}}}}}" for name in NAMES]
    (root / "lefthook.yml").write_text("\n".join(["output: false", *jobs, ""]))
    return f"{NPM}/.bin/lefthook install"


MANAGERS = {"pre-commit": _pre_commit, "husky": _husky, "lefthook": _lefthook}


def _needs(manager: str) -> None:
    if manager == "pre-commit":
        pytest.importorskip("pre_commit")
    elif not (NPM / manager).is_dir() or not shutil.which("node"):
        pytest.skip(f"$HOOK_MANAGERS_DIR/node_modules has no {manager}, or there is no node")


@pytest.fixture
def project_shell(cli: Cli, tmp_path: Path) -> Iterator[tuple[Shell, Path]]:
    project = repository(cli)
    cli.env["PRE_COMMIT_HOME"] = str(tmp_path / "pre-commit")
    with an_owner(cli):
        yield Shell(project), tmp_path / "ran"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("manager", MANAGERS)
def test_its_hooks_run_once_in_the_same_order_and_ours_ask_first(
    project_shell: tuple[Shell, Path], manager: str, when: str
) -> None:
    """Installed by a person before or after the session's start."""
    _needs(manager)
    shell, log = project_shell
    install = MANAGERS[manager](shell.project.root, log)
    done = shell.run(install, session="")
    assert done.returncode == 0, done.stdout + done.stderr
    if when == "before":
        shutil.rmtree(shell.project.data / "git-hooks", ignore_errors=True)
        shell.env_file.unlink()
        shell.start(source="resume")
    shell.run(WORK, session="")
    alone = log.read_text()
    assert alone.split().count("pre-commit") == 2 and alone.split().count("pre-push") == 1
    log.unlink()
    assert shell.held("git commit -q --allow-empty -m z") and not log.exists()  # from here on it is known
    shell.project.configure(RULES.replace("enabled: true", "enabled: false"))
    shell.run(WORK)
    assert log.read_text() == alone
    shell.project.configure(RULES)
    shell.project.req("satisfy", "review", "--session", A)
    assert not shell.held("git commit -q --allow-empty -m last")


@pytest.mark.parametrize("manager", MANAGERS)
def test_an_agent_that_installs_it_takes_no_gate_away(
    project_shell: tuple[Shell, Path], manager: str
) -> None:
    """Whatever becomes of the installation in its shell, a commit is asked about from the next start on."""
    _needs(manager)
    shell, log = project_shell
    shell.run(MANAGERS[manager](shell.project.root, log))
    shell.start(source="resume")
    assert shell.held("git commit -q --allow-empty -m z")
