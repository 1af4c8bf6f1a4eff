"""Programs as a user without root's rights, whoever runs the tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.support.cli import Cli


def without_rights() -> list[str]:
    """Words before a command: of root they take the right to read and write everything."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root reads everything, and there is no setpriv to take that away")
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]


def plain_of(cli: Cli, folder: Path) -> Cli:
    """The program without those rights; a script in ``folder`` starts it."""
    words = without_rights()
    if not words:
        return cli
    launcher = folder / "plain"
    launcher.write_text(f'#!/bin/sh\nexec {" ".join(words)} {cli.launcher} "$@"\n')
    launcher.chmod(0o755)
    return Cli(launcher, cli.project, cli.env)
