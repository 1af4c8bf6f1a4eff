"""Settings: defaults, a TOML file for the user and one for the project, an environment twin for each key.

Order, the later wins: defaults, $XDG_CONFIG_HOME/context-graph-cli/config.toml (or the file that
CONTEXT_GRAPH_CLI_CONFIG names), <project>/.claude/context-graph.toml, CONTEXT_GRAPH_<KEY>.
Where there is no such file, the one of earlier versions is read if it is ours: the folder `context-graph` and
the variable CONTEXT_GRAPH_CONFIG belong to another program, too.
A wrong value is dropped alone: its default holds and ``problems`` names it. A project's file may have
come with somebody else's repository: it may not set what names files outside or gives durability up.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

__all__ = ["REQUEST_KEYS", "Settings", "load_settings", "with_request_env"]

REQUEST_KEYS: Final = ("brief", "auto_dream", "inject")
"""Keys that a hook's own environment overrides for that one call."""
_USER_ONLY: Final = frozenset({"wal", "wal_dir", "memory_model", "http_port", "http_project", "work_limit_s"})
"""Keys that a project's file may not set: it would open a door, load a model, hold up other projects, or
decide where logs are."""
_FILE_BYTES: Final = 256 * 1024
"""More than any settings file has; the owner reads it while hooks wait."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, with the defaults that hold when nothing is written down."""

    brief: str = field(
        default="always",
        metadata={
            "doc": "When the PreToolUse brief reaches the model.",
            "choices": ("always", "on_change", "off"),
        },
    )
    inject: bool = field(
        default=True, metadata={"doc": "Whether each prompt carries the four-line state block."}
    )
    auto_dream: bool = field(
        default=True, metadata={"doc": "Whether an IC crisis queues a consolidation request."}
    )
    dream_cooldown_s: int = field(
        default=60,
        metadata={
            "doc": "Seconds between two consolidations of a store that the owner starts by itself.",
            "range": (0, 86_400),
        },
    )
    dream: bool = field(
        default=True,
        metadata={"doc": "Whether the owner consolidates by itself; commands and tools always may."},
    )
    dream_session_end: str = field(
        default="light",
        metadata={
            "doc": "Consolidation after a session's end, once its client is gone.",
            "choices": ("off", "light", "deep", "rem"),
        },
    )
    dream_idle: str = field(
        default="rem",
        metadata={
            "doc": "Consolidation, as far as consciousness allows, of a store that is idle or whose entropy "
            "stayed high.",
            "choices": ("off", "light", "deep", "rem"),
        },
    )
    dream_idle_s: float = field(
        default=300.0,
        metadata={
            "doc": "Seconds without a request after which a store that has changed is idle.",
            "range": (1, 604_800),
        },
    )
    dream_entropy_s: float = field(
        default=300.0,
        metadata={
            "doc": "Seconds without a dip that a store's entropy is above 0.7 before it is consolidated.",
            "range": (1, 604_800),
        },
    )
    idle_s: float = field(
        default=600.0,
        metadata={"doc": "Seconds without a client after which the owner exits.", "range": (0.1, 604_800)},
    )
    durability: Literal["normal", "power"] = field(
        default="normal",
        metadata={"doc": "power adds an fsync to each write.", "choices": ("normal", "power")},
    )
    wal: bool = field(
        default=True,
        metadata={"doc": "false, for tests only, writes no log: what is not flushed dies with the owner."},
    )
    wal_dir: str = field(
        default="",
        metadata={"doc": "Folder for the stores' write-ahead logs; empty: in each store's own."},
    )
    bloom_bits: int = field(
        default=10,
        metadata={
            "doc": "Bits a key of new tables' bloom filters; 10 for 1 % of false positives.",
            "range": (1, 32),
        },
    )
    memory_capture: bool = field(
        default=True,
        metadata={"doc": "Whether a session is kept as one memory, its summary, when it pauses or ends."},
    )
    memory_inject: bool = field(
        default=True,
        metadata={"doc": "Whether session starts and prompts bring what is remembered of the project."},
    )
    memory_inject_tokens: int = field(
        default=400,
        metadata={"doc": "Most tokens that one of them brings; 0 brings nothing.", "range": (0, 2000)},
    )
    memory_floor: float = field(
        default=0.4,
        metadata={"doc": "Relevance below which a prompt brings no memory.", "range": (0.0, 1.0)},
    )
    memory_cache_nodes: int = field(
        default=10_000,
        metadata={"doc": "Memories a store keeps in memory for reading.", "range": (1, 10_000_000)},
    )
    memory_cache_mb: int = field(
        default=64, metadata={"doc": "Mebibytes these may have.", "range": (1, 65_536)}
    )
    memory_retention_days: float = field(
        default=30.0,
        metadata={"doc": "Days until a forgotten memory is gone for good.", "range": (0, 36_500)},
    )
    memory_lock_s: float = field(
        default=30.0,
        metadata={
            "doc": "Seconds a call waits for another one's use of the memories.",
            "range": (0.01, 3600),
        },
    )
    memory_model: str = field(
        default="auto",
        metadata={
            "doc": "Model of second vectors: `auto` (MiniLM if its extra is there), `off`, `minilm`, or a "
            "folder with one in ONNX."
        },
    )
    work_limit_s: float = field(
        default=10.0,
        metadata={
            "doc": "Processor seconds that one call, or one piece of background work, may take the owner "
            "without a commit; it is ended then, and after six times as long by the clock.",
            "range": (0.05, 3600),
        },
    )
    max_clients: int = field(
        default=64, metadata={"doc": "Connections the owner serves at once.", "range": (1, 4096)}
    )
    max_stores: int = field(default=8, metadata={"doc": "Stores the owner keeps open.", "range": (1, 256)})
    max_sessions: int = field(
        default=64, metadata={"doc": "Sessions the owner keeps in memory.", "range": (1, 4096)}
    )
    mcp_session_s: float = field(
        default=86_400.0,
        metadata={
            "doc": "Seconds without a call after which an MCP session expires.",
            "range": (0.05, 31_536_000),
        },
    )
    http_port: int = field(
        default=0,
        metadata={
            "doc": "Port on 127.0.0.1 for MCP over HTTP; 0 is off. With one the owner stays when idle.",
            "range": (0, 65_535),
        },
    )
    http_project: str = field(
        default="",
        metadata={"doc": "Project folder of HTTP clients that name none with `?project=`."},
    )
    log_max_bytes: int = field(
        default=1_000_000,
        metadata={"doc": "Size at which the owner's log rotates.", "range": (10_000, 1_000_000_000)},
    )
    log_files: int = field(default=3, metadata={"doc": "Rotated log files that are kept.", "range": (1, 100)})
    problems: tuple[str, ...] = field(default=(), metadata={"doc": ""})


def load_settings(project: Path | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """Read the settings that hold for ``project`` (None: the user's alone).

    Never raises for a wrong file or value: a hook must go on. ``Settings.problems`` says what
    was dropped and why. Cost: at most two small file reads.
    """
    env = os.environ if env is None else env
    settings = Settings()
    settings = _users_own(settings, env)
    if project is not None:
        settings = _apply_file(settings, project / ".claude" / "context-graph.toml", _USER_ONLY)
    for item in fields(Settings):
        value = env.get(f"CONTEXT_GRAPH_{item.name.upper()}")
        if value is not None and item.name != "problems":
            settings = _apply(settings, item.name, value, f"CONTEXT_GRAPH_{item.name.upper()}")
    return settings


def with_request_env(settings: Settings, env: Mapping[str, str]) -> Settings:
    """``settings`` with the request-scoped keys that one call's environment names."""
    for key in REQUEST_KEYS:
        name = f"CONTEXT_GRAPH_{key.upper()}"
        if name in env:
            settings = _apply(settings, key, env[name], name)
    return settings


def _users_own(settings: Settings, env: Mapping[str, str]) -> Settings:
    """``settings`` with those of the user's own file, if anything names a place for one."""
    named, before = env.get("CONTEXT_GRAPH_CLI_CONFIG", ""), env.get("CONTEXT_GRAPH_CONFIG", "")
    shared, home = env.get("XDG_CONFIG_HOME", ""), env.get("HOME", "")
    folder = Path(shared) if shared.startswith("/") else Path(home) / ".config"
    if not named and not folder.is_absolute():
        return _apply_old_file(settings, Path(before)) if before else settings
    path = Path(named) if named else folder / "context-graph-cli" / "config.toml"
    if named or os.path.lexists(path):
        return _apply_file(settings, path, frozenset())
    return _apply_old_file(settings, Path(before) if before else folder / "context-graph" / "config.toml")


def _apply_old_file(settings: Settings, path: Path) -> Settings:
    """A file of a name that another program uses for its own: read only what is ours, judge nothing else.

    Ours has no tables and at least one key that we know. Where the other program's tables stand beside
    keys of ours, these hold.
    """
    try:
        table = tomllib.loads(_text(path))
    except (OSError, ValueError, RecursionError):
        return settings
    names = {item.name for item in fields(Settings)} - {"problems"}
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    shared = len(plain) < len(table)
    if not names & set(plain):
        return settings
    for key, value in plain.items():
        if key in names or not shared:
            settings = _apply(settings, key, value, f"{path}: {key}")
    return settings


def _apply_file(settings: Settings, path: Path, refused: frozenset[str]) -> Settings:
    try:
        table = tomllib.loads(_text(path))
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


def _text(path: Path) -> str:
    """A file anybody may have made: a pipe or a device would hold the owner up, or fill its memory."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with open(handle, "rb") as source:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no regular file")
        data = source.read(_FILE_BYTES + 1)
    if len(data) > _FILE_BYTES:
        raise ValueError(f"it has more than {_FILE_BYTES} bytes")
    return data.decode()


def _problem(settings: Settings, text: str) -> Settings:
    return replace(settings, problems=(*settings.problems, text))


def _apply(settings: Settings, key: str, value: object, where: str) -> Settings:
    item = next((item for item in fields(Settings) if item.name == key and key != "problems"), None)
    if item is None:
        return _problem(settings, f"{where}: no such setting")
    kind = type(item.default)
    try:
        changed = _convert(value, kind)
    except (KeyError, TypeError, ValueError):
        return _problem(settings, f"{where}: {value!r} is no {kind.__name__}; {item.default!r} holds")
    choices, limits = item.metadata.get("choices"), item.metadata.get("range")
    if choices and changed not in choices:
        return _problem(
            settings, f"{where}: {value!r} is none of {', '.join(choices)}; {item.default!r} holds"
        )
    if limits and isinstance(changed, (int, float)) and not limits[0] <= changed <= limits[1]:
        return _problem(
            settings, f"{where}: {value!r} is outside {limits[0]} to {limits[1]}; {item.default!r} holds"
        )
    return replace(settings, **{key: changed})


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
