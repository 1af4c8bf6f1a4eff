"""The driver of the real client where there is none: what it says, and the model that it plays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.realclient.installed import VERSION
from tests.realclient.model import ScriptedModel
from tests.realclient.told import requests_of, summary_of

DRIVER = Path(__file__).resolve().parents[2] / "realclient"


def run(name: str, folder: Path, path: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": path, "REALCLIENT_DIR": str(folder / "client")}
    command = [sys.executable, str(DRIVER / name), *words]
    return subprocess.run(command, env=env, text=True, capture_output=True, check=False)


def put_client(folder: Path, version: str) -> None:
    program = folder / "client/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    program.chmod(0o755)


def test_what_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    """No client, no npm, another version, no namespaces: each in a line, and nothing is started."""
    (tmp_path / "bin").mkdir()
    nothing = str(tmp_path / "bin")
    script = tmp_path / "script.json"
    script.write_text("[]")
    drive = (str(tmp_path), "--script", str(script), "--logs", str(tmp_path / "logs"))
    for path, told in ((nothing, "npm, which installs it, is missing"), (None, "make realclient")):
        if path is None:
            (tmp_path / "bin/npm").symlink_to("/bin/false")
        done = run("run.py", tmp_path, nothing, *drive)
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1
    refused = run("installed.py", tmp_path, nothing)
    assert refused.returncode == 1 and refused.stdout.count("\n") == 1
    put_client(tmp_path, "2.0.0")
    other = run("run.py", tmp_path, nothing, *drive)
    assert f"is 2.0.0, not {VERSION}" in other.stderr and other.stderr.count("\n") == 1
    put_client(tmp_path / "b", VERSION)
    done = run("run.py", tmp_path / "b", nothing, *drive)
    assert "needs `unshare`" in done.stderr and done.stderr.count("\n") == 1
    (tmp_path / "bin/unshare").write_text("#!/bin/sh\necho 'not permitted' >&2; exit 1\n")
    (tmp_path / "bin/unshare").chmod(0o755)
    done = run("run.py", tmp_path / "b", nothing, *drive)
    assert "no namespace" in done.stderr and "not permitted" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "logs").exists()


def test_an_npm_that_gets_no_answer_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/npm").write_text("#!/bin/sh\nexec /bin/sleep 600\n")
    (tmp_path / "bin/npm").chmod(0o755)
    done = run("installed.py", tmp_path, str(tmp_path / "bin"), "1")
    assert done.returncode == 1 and "within 1 s" in done.stdout and done.stdout.count("\n") == 1
    (tmp_path / "bin/npm").write_text(
        "#!/bin/sh\necho 'npm error code ENOTFOUND\nnpm error more' >&2; exit 1\n"
    )
    done = run("installed.py", tmp_path, str(tmp_path / "bin"))
    assert done.stdout.rstrip().endswith("npm error code ENOTFOUND") and done.stdout.count("\n") == 1


def test_an_installed_client_that_can_t_be_driven_is_said_by_the_installer_too(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    put_client(tmp_path, VERSION)
    done = run("installed.py", tmp_path, str(tmp_path / "bin"))
    assert done.returncode == 1 and "needs `unshare`" in done.stdout and done.stdout.count("\n") == 1


def test_the_version_is_named_in_one_place() -> None:
    root = DRIVER.parents[1]
    tracked = subprocess.run(
        ["git", "-C", str(root), "grep", "-lF", VERSION, "--", "tests", "Makefile", ".ci", ".github"],
        text=True,
        capture_output=True,
        check=False,
    )
    if tracked.returncode not in (0, 1):
        pytest.skip("no git here")
    assert tracked.stdout.split() == ["tests/realclient/installed.py"]


def ask(model: ScriptedModel, *messages: str, tools: bool = True) -> dict[str, Any]:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": text} for text in messages],
        "tools": [{"name": "Bash"}] if tools else [],
    }
    request = urllib.request.Request(f"{model.url}/v1/messages", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        document: dict[str, Any] = json.load(answer)
    return document


def said(answer: dict[str, Any]) -> str:
    return " ".join(block.get("text") or block["name"] for block in answer["content"])


def test_the_model_plays_each_conversation_s_own_turns(tmp_path: Path) -> None:
    """The list of the text that came up last; a subagent its own; titles and quota probes take no turn."""
    ready = tmp_path / "ready"
    script = {
        "replies": {"first": ["a", {"tool": "Bash", "input": {"command": "true"}}], "second": ["b"]},
        "agents": {"look around": [{"say": "found", "after": f"test -e {ready}"}]},
    }
    model = ScriptedModel(script, tmp_path / "requests.jsonl")
    ready.touch()
    assert said(ask(model, "do the first")) == "a"
    assert said(ask(model, "a title?", tools=False)) == "ok"
    assert said(ask(model, "look around", "first and second")) == "found"
    assert said(ask(model, "do the first", "a")) == "Bash"
    assert said(ask(model, "do the first", "then the second")) == "b"
    assert said(ask(model, "do the first", "then the second")) == "(script finished)"
    told = [(one.get("who"), one.get("lane")) for one in requests_of(tmp_path)]
    main = [("main", "first"), ("main", "second")]
    assert told == [main[0], (None, None), ("agent", "look around"), main[0], main[1], main[1]]
    hits = summary_of([], tmp_path, ["then the"])["markers"]["then the"]
    assert [(hit["request"], hit["where"]) for hit in hits] == [(5, "messages[1]"), (6, "messages[1]")]


def test_an_error_of_the_script_is_an_answer_of_the_api(tmp_path: Path) -> None:
    model = ScriptedModel([{"status": 529, "error": "overloaded_error"}], tmp_path / "requests.jsonl")
    with pytest.raises(urllib.error.HTTPError) as told:
        ask(model, "go")
    assert told.value.code == 529 and json.load(told.value)["error"]["type"] == "overloaded_error"
    told.value.close()
    assert os.path.getsize(tmp_path / "requests.jsonl")
