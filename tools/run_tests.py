"""Run the test suite, then a few failed tests once more, alone: `python -P tools/run_tests.py <arguments>`.

The suite runs on all cores, with kills, full disks and crowds of processes. A test that fails in that and
passes alone depends on how busy the machine is. It is listed at the end for somebody to look into, and does
not fail the run. Whatever fails twice does, and so does an event lost, doubled or stuck in `tests/faults`:
chance is no excuse there.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

MOST: Final = 3
"""Failed tests that are run again; with more of them something is broken."""
FINAL: Final = "tests/faults/"
"""What fails there is not run again."""


class Failures:
    """A plugin that keeps the names of the tests that failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.names:
            self.names.append(report.nodeid)


def main(arguments: list[str]) -> int:
    failures = Failures()
    code = int(pytest.main(arguments, plugins=[failures]))
    names = failures.names
    if code != int(pytest.ExitCode.TESTS_FAILED) or not 0 < len(names) <= MOST:
        return code
    if any(name.startswith(FINAL) for name in names):
        return code
    print(f"\nOnce more, alone: {len(names)} failed", flush=True)
    again = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *names], check=False)
    if again.returncode == 0:
        print("Failed beside others, passed alone; look into these:", *names, sep="\n  ", flush=True)
    return again.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
