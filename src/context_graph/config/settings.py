"""Reads settings: defaults, a TOML file each for user and project, an environment variable per key.

Later sources win: defaults, $XDG_CONFIG_HOME/context-graph-cli/config.toml (or the file that
CONTEXT_GRAPH_CLI_CONFIG names), <project>/.claude/context-graph.toml, CONTEXT_GRAPH_<KEY>.
A wrong value alone falls back to its default, and ``problems`` names it. A project's file may come from
somebody else's repository, so it may not name files outside it and may not lower durability.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

from context_graph.system.small_files import read_bytes

REQUEST_KEYS: Final = ("identity_lines", "auto_dream")
"""Keys that a hook's own environment overrides for that one call."""
_USER_ONLY: Final = frozenset({"wal", "wal_dir", "memory_model", "work_limit_s"})
"""Keys that a project's file may not set: it would open a door, load a model, hold up other projects, or
decide where logs are."""
_FILE_BYTES: Final = 256 * 1024
"""More than any settings file has; the owner reads it while hooks wait."""


def _setting(default: Any, doc: str, **bounds: tuple[Any, ...]) -> Any:
    """Return a setting; ``range`` (least, most) or ``choices`` bound it."""
    return field(default=default, metadata={"doc": doc, **bounds})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, with the defaults that hold when nothing is written down."""

    identity_lines: str = _setting(
        "alarms",
        "What the model is told of the session's identity: alarms it can act on, changes of state and level "
        "too, or always the specification's lines.",
        choices=("alarms", "changes", "always"),
    )
    auto_dream: bool = _setting(True, "Whether an IC crisis queues a consolidation request.")
    dream_cooldown_s: int = _setting(
        60,
        "Seconds between two consolidations of a store that the owner starts by itself.",
        range=(0, 86_400),
    )
    dream: bool = _setting(True, "Whether the owner consolidates by itself; commands and tools always may.")
    dream_session_end: str = _setting(
        "light",
        "Consolidation after a session's end, once its client is gone.",
        choices=("off", "light", "deep", "rem"),
    )
    dream_idle: str = _setting(
        "rem",
        "Consolidation, as far as consciousness allows, of a store that is idle or whose entropy stayed "
        "high.",
        choices=("off", "light", "deep", "rem"),
    )
    dream_idle_s: float = _setting(
        300.0, "Seconds without a request after which a store that has changed is idle.", range=(1, 604_800)
    )
    dream_entropy_s: float = _setting(
        300.0, "Seconds that a store's entropy stays above 0.7 before it is consolidated.", range=(1, 604_800)
    )
    idle_s: float = _setting(
        600.0, "Seconds without a client after which the owner exits.", range=(0.1, 604_800)
    )
    durability: Literal["normal", "power"] = _setting(
        "normal", "power adds an fsync to each write.", choices=("normal", "power")
    )
    wal: bool = _setting(
        True, "false, for tests only, writes no log: what is not flushed dies with the owner."
    )
    wal_dir: str = _setting("", "Folder for the stores' write-ahead logs; empty: each store's own folder.")
    bloom_bits: int = _setting(
        10, "Bloom filter bits per key in new tables; 10 gives 1 % false positives.", range=(1, 32)
    )
    memory_capture: bool = _setting(
        True, "Whether a session leaves a summary and notes when it pauses or ends."
    )
    memory_inject: bool = _setting(
        True, "Whether session starts and prompts bring what is remembered of the project."
    )
    memory_inject_tokens: int = _setting(
        400,
        "Most tokens of memories per session start or prompt, half as many more after a compaction; 0 "
        "brings none.",
        range=(0, 2000),
    )
    memory_at_file: bool = _setting(
        True, "Whether a tool call on a file brings what an earlier session did there, once a file."
    )
    rule_reminders: str = _setting(
        "note",
        "At a command that a rule of the user is about: note says the rule, hold also refuses a call that "
        "goes against it, once a session.",
        choices=("note", "hold"),
    )
    ask_what_was_learned: bool = _setting(
        False,
        "Whether a session that changed something, and whose last words say neither cause nor fix, is asked "
        "for them once before it stops.",
    )
    memory_floor: float = _setting(
        0.4, "Least relevance of a text that a prompt brings; summaries and code need more.", range=(0.0, 1.0)
    )
    memory_cache_nodes: int = _setting(
        10_000, "Memories a store keeps in memory for reading.", range=(1, 10_000_000)
    )
    memory_cache_mb: int = _setting(64, "Mebibytes these may have.", range=(1, 65_536))
    memory_retention_days: float = _setting(
        30.0, "Days until a forgotten memory is gone for good.", range=(0, 36_500)
    )
    memory_lock_s: float = _setting(
        30.0, "Seconds a call waits while another one uses the memories.", range=(0.01, 3600)
    )
    memory_model: str = _setting(
        "auto",
        "Model of second vectors: `auto` (MiniLM if its extra is there), `off`, `minilm`, or a folder with "
        "one in ONNX.",
    )
    hub_url: str = _setting(
        "",
        "Address of a PostgreSQL that carries a team's memories, for `hub join` without a token; by itself "
        "it sends nothing.",
    )
    sync: bool = _setting(True, "Whether the owner exchanges with the hub that was joined by itself.")
    work_limit_s: float = _setting(
        10.0,
        "Processor seconds without a commit after which the owner ends a call or a piece of its own work; "
        "by the clock, six times as long.",
        range=(0.05, 3600),
    )
    max_clients: int = _setting(64, "Connections the owner serves at once.", range=(1, 4096))
    max_stores: int = _setting(8, "Stores the owner keeps open.", range=(1, 256))
    max_sessions: int = _setting(64, "Sessions the owner keeps in memory.", range=(1, 4096))
    mcp_session_s: float = _setting(
        86_400.0, "Seconds without a call after which an MCP session expires.", range=(0.05, 31_536_000)
    )
    log_max_bytes: int = _setting(
        1_000_000, "Size at which the owner's log rotates.", range=(10_000, 1_000_000_000)
    )
    log_files: int = _setting(3, "Rotated log files that are kept.", range=(1, 100))
    problems: tuple[str, ...] = ()


_DEFAULTS: Final = Settings()


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """Limits of one store's memory, for the library given by hand; the defaults are those of `Settings`."""

    cache_nodes: int = _DEFAULTS.memory_cache_nodes
    """Memories kept in memory, without embeddings (REQ-CORE-010)."""
    cache_bytes: int = _DEFAULTS.memory_cache_mb << 20
    """Bytes of content they may have in all."""
    retention_days: float = _DEFAULTS.memory_retention_days
    """Days until a soft-deleted memory is gone for good (REQ-CORE-013)."""
    lock_timeout_s: float = _DEFAULTS.memory_lock_s
    """Seconds a call waits for another thread's (ERR-CORE-009)."""
    wal: bool = _DEFAULTS.wal
    """False for tests only: what is not flushed is then lost with the process (REQ-CORE-008)."""
    wal_dir: Path | None = None
    """Folder for write-ahead logs, None: beside the tables (REQ-CORE-008)."""
    bloom_bits: int = _DEFAULTS.bloom_bits
    """Bits a key of the tables' bloom filters (REQ-CORE-009)."""
    model: str = _DEFAULTS.memory_model
    """What makes second vectors: auto, off, minilm or a folder (memory.index.second_vectors)."""

    @classmethod
    def of(cls, settings: Settings) -> MemoryConfig:
        """Return what ``settings`` say."""
        return cls(
            cache_nodes=settings.memory_cache_nodes,
            cache_bytes=settings.memory_cache_mb << 20,
            retention_days=settings.memory_retention_days,
            lock_timeout_s=settings.memory_lock_s,
            wal=settings.wal,
            wal_dir=Path(settings.wal_dir) if settings.wal_dir else None,
            bloom_bits=settings.bloom_bits,
            model=settings.memory_model,
        )


def load_settings(project: Path | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """Read the settings that hold for ``project`` (None: the user's alone).

    Never raises for a wrong file or value: a hook must go on. ``Settings.problems`` says what
    was dropped and why. Cost: at most two small file reads.
    """
    env = os.environ if env is None else env
    settings = Settings()
    for path in _own_files(env)[:1]:
        settings = _apply_file(settings, path, frozenset())
    if project is not None:
        settings = _apply_file(settings, project / ".claude" / "context-graph.toml", _USER_ONLY)
    for item in fields(Settings):
        value = env.get(f"CONTEXT_GRAPH_{item.name.upper()}")
        if value is not None and item.name != "problems":
            settings = _apply(settings, item.name, value, f"CONTEXT_GRAPH_{item.name.upper()}")
    return settings


def setting_files(project: Path, env: Mapping[str, str] | None = None) -> list[Path]:
    """Return the files that `load_settings` may read for ``project``, whether they are there or not."""
    return [*_own_files(os.environ if env is None else env), project / ".claude" / "context-graph.toml"]


def _own_files(env: Mapping[str, str]) -> list[Path]:
    """Return the places of the user's own file, of which the first counts; none where nothing names one."""
    named, shared = env.get("CONTEXT_GRAPH_CLI_CONFIG", ""), env.get("XDG_CONFIG_HOME", "")
    folder = Path(shared) if shared.startswith("/") else Path(env.get("HOME", "")) / ".config"
    usual = [folder / "context-graph-cli" / "config.toml"] if folder.is_absolute() else []
    return [*([Path(named)] if named else ()), *usual]


def with_request_env(settings: Settings, env: Mapping[str, str]) -> Settings:
    """Return ``settings`` with the request-scoped keys that one call's environment names."""
    for key in REQUEST_KEYS:
        name = f"CONTEXT_GRAPH_{key.upper()}"
        if name in env:
            settings = _apply(settings, key, env[name], name)
    return settings


def _apply_file(settings: Settings, path: Path, refused: frozenset[str]) -> Settings:
    try:
        import tomllib  # few have a file

        # A pipe or a device, which anybody may have put there, would hold the owner up.
        table = tomllib.loads(read_bytes(os.fspath(path), _FILE_BYTES).decode())
    except FileNotFoundError:
        return settings
    except RecursionError:
        return _problem(settings, f"{path}: not read: it is nested too deeply")
    except (OSError, ValueError) as error:
        return _problem(settings, f"{path}: not read: {error}")
    for key, value in table.items():
        where = f"{path}: {key}"
        if key in refused:
            settings = _problem(settings, f"{where}: only your own file or the environment may set this")
        else:
            settings = _apply(settings, key, value, where)
    return settings


def _problem(settings: Settings, text: str) -> Settings:
    return replace(settings, problems=(*settings.problems, text))


def _apply(settings: Settings, key: str, value: object, where: str) -> Settings:
    item = next((item for item in fields(Settings) if item.name == key and key != "problems"), None)
    if item is None:
        return _problem(settings, f"{where}: no such setting")
    try:
        changed = _convert(value, type(item.default))
        wrong = _outside(item.metadata, changed)
    except (KeyError, TypeError, ValueError):
        wrong = f"not of type {type(item.default).__name__}"
    if wrong:
        return _problem(settings, f"{where}: {value!r} is {wrong}; {item.default!r} is used")
    return replace(settings, **{key: changed})


def _outside(allowed: Mapping[str, Any], value: object) -> str:
    """Return what ``value`` is instead of one that is ``allowed``; "" for one that is."""
    choices, limits = allowed.get("choices"), allowed.get("range")
    if choices and value not in choices:
        return f"none of {', '.join(choices)}"
    if limits and isinstance(value, (int, float)) and not limits[0] <= value <= limits[1]:
        return f"outside {limits[0]} to {limits[1]}"
    return ""


_WORDS: Final = {word: True for word in ("1", "true", "on", "yes")} | {
    word: False for word in ("0", "false", "off", "no")
}


def _convert(value: object, kind: type) -> Any:
    if kind is bool:
        return value if isinstance(value, bool) else _WORDS[str(value).lower()]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(value)
    if kind is str and not isinstance(value, str):
        raise TypeError(value)
    return kind(value)
