"""Through the real client: an opened file brings what was done in it before, and nothing twice."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, needs_client, requests_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

GOAL = "round the VAT of each invoice line, not of the total"
BEFORE = "def vat(total):\n    return total * 19 // 100\n"
AFTER = "def vat(total):\n    return (total * 19 + 50) // 100\n"
TEST = "import invoice\nassert invoice.vat(105) == 20\n"
MENDING: list[Any] = [
    {"tool": "Read", "input": {"file_path": "@PROJECT@/invoice.py"}},
    {
        "tool": "Edit",
        "input": {
            "file_path": "@PROJECT@/invoice.py",
            "old_string": "total * 19 // 100",
            "new_string": "(total * 19 + 50) // 100",
        },
    },
    {"tool": "Bash", "input": {"command": "python3 test_invoice.py", "description": "Run the test"}},
    "Rounded each line. I decided to round half up, as the tax office asks.",
]
LOOKING: list[Any] = [
    # As long as any model takes to its first call: the index of files is built meanwhile.
    {"tool": "Bash", "input": {"command": "sleep 0.5", "description": "Wait"}},
    {"tool": "Read", "input": {"file_path": "@PROJECT@/invoice.py"}},
    "It rounds half up.",
]


def _requests(logs: Path) -> list[str]:
    """What the model was sent in the main conversation, one text a request."""
    return [json.dumps(one["body"]["messages"]) for one in requests_of(logs) if one.get("who") == "main"]


def _line(text: str) -> str:
    """What came with the tool's answer."""
    return text.split("PostToolUse:Read hook additional context: ")[1].split("</context-graph-memory>")[0]


def _git(project: Path, *words: str) -> None:
    by = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", str(project), *by, *words], check=True, capture_output=True)


@needs_client
def test_a_file_opened_in_session_two_brings_what_session_one_did(cli: Cli, tmp_path: Path) -> None:
    """I.2 and I.5: nothing at the start or the prompt, one line with the answer of the first Read."""
    _git(cli.project, "init", "-q")
    (cli.project / "invoice.py").write_text(BEFORE)
    (cli.project / "test_invoice.py").write_text(TEST)
    _git(cli.project, "add", ".")
    _git(cli.project, "commit", "-qm", "First")
    assert cli.run("hooks", "generate-config").returncode == 0
    drive(cli, tmp_path / "one", MENDING, GOAL, options=["--trust"])
    assert (cli.project / "invoice.py").read_text() == AFTER

    drive(cli, tmp_path / "two", LOOKING, "what is the capital of Portugal?", options=["--trust"])
    first, *_, last = _requests(tmp_path / "two")
    assert "changed on" not in first, "nobody asked about it, and no file of it was opened"
    told = _line(last)
    assert "invoice.py (vat), changed on " in told and "round half up" in told


@needs_client
def test_what_the_client_recorded_before_we_were_there_answers_in_the_first_session(
    cli: Cli, tmp_path: Path
) -> None:
    """I.6: a session without hooks; its transcript is imported; the next session opens the file."""
    _git(cli.project, "init", "-q")
    (cli.project / "invoice.py").write_text(BEFORE)
    (cli.project / "test_invoice.py").write_text(TEST)
    drive(cli, tmp_path / "one", MENDING, GOAL, options=["--trust"])
    (folder,) = (tmp_path / "one" / "home" / ".claude" / "projects").iterdir()
    done = cli.run("memory", "import", "--json", "--from", "claude-code", str(folder))
    report = json.loads(done.stdout)
    assert (report["added"], report["items"]) == (1, [GOAL])
    assert cli.run("hooks", "generate-config").returncode == 0
    drive(cli, tmp_path / "two", LOOKING, "How is an invoice rounded?", options=["--trust"])
    first, *_, last = _requests(tmp_path / "two")
    assert "round half up" in first, "the question is answered at the prompt"
    assert last.count("round half up") == first.count("round half up"), "the file says it no second time"
