"""What doctor says of the client's own memory and of its transcripts."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from context_graph.cli.doctor.client_files import native_memory, settings_files

DAY_S = 86_400


class Client:
    """A client's folder and a project, with settings and files in them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "client", folder / "a project.x"
        self.env = {"CLAUDE_CONFIG_DIR": str(self.home), "HOME": str(folder)}
        named = "".join(char if char.isalnum() else "-" for char in str(self.project))
        self.own = self.home / "projects" / named
        self.write(self.own / "memory" / "MEMORY.md", "- [Tabs](tabs.md)")
        self.write(self.own / "memory" / "tabs.md", "The user wants tabs.")
        self.write(self.own / "memory" / "notes.txt", "no note")

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def settings(self, name: str, **given: Any) -> None:
        folder = self.home if name == "user" else self.project / ".claude"
        self.write(
            folder / ("settings.local.json" if name == "local" else "settings.json"), json.dumps(given)
        )

    def look(self, **env: str) -> tuple[dict[str, Any], str]:
        settings, found = settings_files(self.project, self.env)
        assert found == []
        state, findings = native_memory(self.project, settings, {**self.env, **env})
        return state, " ".join(one.what for one in findings)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / "a_user")


def test_where_it_is_and_how_large(client: Client) -> None:
    state, said = client.look()
    assert said == "" and state["on"] is True
    assert (state["folder"], state["files"], state["bytes"]) == (str(client.own / "memory"), 2, 37)
    assert (state["transcripts"], state["oldest_days"], state["cleanup_days"]) == (0, None, 30)


def test_the_file_that_is_nearest_to_the_project_decides_and_the_environment_before_it(
    client: Client,
) -> None:
    client.settings("user", autoMemoryEnabled=False, cleanupPeriodDays=365)
    assert client.look()[0]["on"] is False
    client.settings("project", autoMemoryEnabled=True)
    state, _ = client.look()
    assert (state["on"], state["cleanup_days"]) == (True, 365)
    assert client.look(CLAUDE_CODE_DISABLE_AUTO_MEMORY="1")[0]["on"] is False
    client.settings("local", autoMemoryEnabled=False, cleanupPeriodDays="long")
    state, _ = client.look()
    assert (state["on"], state["cleanup_days"]) == (False, 365)


def test_a_folder_of_the_users_choice_counts_but_not_one_of_the_shared_settings(client: Client) -> None:
    elsewhere = client.write(client.home / "notes" / "one.md", "One.").parent
    client.settings("project", autoMemoryDirectory=str(elsewhere))
    assert client.look()[0]["folder"] == str(client.own / "memory")
    client.settings("local", autoMemoryDirectory=str(elsewhere))
    assert (client.look()[0]["folder"], client.look()[0]["files"]) == (str(elsewhere), 1)


@pytest.mark.parametrize(("days", "is_told"), [(22, False), (24, True), (40, True)])
def test_transcripts_that_will_soon_be_deleted_are_told(client: Client, days: int, is_told: bool) -> None:
    for age in (1, days):
        path = client.write(client.own / f"{age}.jsonl", "{}")
        at = time.time() - age * DAY_S
        os.utime(path, (at, at))
    state, said = client.look()
    assert (state["transcripts"], state["oldest_days"]) == (2, float(days))
    assert ("deletes transcripts after 30 days" in said) is is_told
    client.settings("user", cleanupPeriodDays=365)
    assert client.look()[1] == ""
