"""Settings: order of sources, wrong values dropped alone and named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.setting_docs import setting_docs

from context_graph.config import Settings, load_settings
from context_graph.config.settings import with_request_env


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_project_file_wins_over_the_users_and_the_environment_over_both(tmp_path: Path) -> None:
    _write(
        tmp_path / "config" / "context-graph-cli" / "config.toml",
        'identity_lines = "changes"\nidle_s = 5\nmax_stores = 2\n',
    )
    _write(tmp_path / "project" / ".claude" / "context-graph.toml", 'identity_lines = "always"\nidle_s = 7\n')
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "CONTEXT_GRAPH_IDLE_S": "9"}
    settings = load_settings(tmp_path / "project", env)
    assert (settings.identity_lines, settings.idle_s, settings.max_stores) == ("always", 9.0, 2)
    assert settings.problems == ()


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('identity_lines = "sometimes"', "identity_lines"),
        ("idle_s = true", "idle_s"),
        ("max_clients = 0", "max_clients"),
        ("max_clients = 'many'", "max_clients"),
        ("durability = 3", "durability"),
        ("sync = 'perhaps'", "sync"),
        ("colour = 'red'", "colour"),
    ],
)
def test_a_wrong_value_is_dropped_alone_and_named(tmp_path: Path, line: str, named: str) -> None:
    path = _write(tmp_path / "config.toml", f"{line}\nlog_files = 5\n")
    settings = load_settings(None, {"CONTEXT_GRAPH_CLI_CONFIG": str(path)})
    assert settings.log_files == 5
    assert len(settings.problems) == 1 and named in settings.problems[0]
    assert settings == Settings(log_files=5, problems=settings.problems)


def test_a_file_that_is_no_toml_is_named_and_the_defaults_hold(tmp_path: Path) -> None:
    path = _write(tmp_path / "config.toml", "idle_s = = 1\n")
    settings = load_settings(None, {"CONTEXT_GRAPH_CLI_CONFIG": str(path)})
    assert settings.identity_lines == "alarms" and str(path) in settings.problems[0]


def test_every_key_has_its_environment_twin(tmp_path: Path) -> None:
    for key, variable, default, _ in setting_docs():
        settings = load_settings(None, {variable: default})
        assert settings.problems == (), key
        assert settings == Settings()


def test_a_hooks_own_environment_overrides_only_the_request_scoped_keys() -> None:
    settings = with_request_env(
        Settings(), {"CONTEXT_GRAPH_IDENTITY_LINES": "always", "CONTEXT_GRAPH_IDLE_S": "1"}
    )
    assert settings.identity_lines == "always" and settings.idle_s == Settings().idle_s
