"""Loads detect-secrets' rules for this process: from the cache, else from the helper process that reads
them.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from context_graph.redact.rules import IMPORT_FORMAT, Rule

_PACKAGE: Final = "detect_secrets"
_MAX_CACHE_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Imported:
    """Rules and keyword patterns of the installed detector, and what is wrong with them in words."""

    rules: tuple[Rule, ...] = ()
    keywords: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def load_imported(cache_dir: Path, *, timeout_s: float) -> Imported:
    """The installed detector's rules. Never raises: ``problems`` tells why there are none."""
    version = installed_version()
    if version is None:
        return Imported(problems=("redaction: detect-secrets is not installed; our own rules alone hold",))
    path = _cache_path(cache_dir, version)
    cached = _read(path)
    if cached is not None:
        return cached
    document, problem = _run_helper(version, timeout_s)
    if problem:
        return Imported(problems=(f"redaction: {problem}; our own rules alone hold",))
    fresh = _parse(json.loads(document))
    problem = _write(path, document)
    return Imported(fresh.rules, fresh.keywords, (*fresh.problems, problem)) if problem else fresh


def is_cached(cache_dir: Path) -> bool:
    """Whether load_imported will do without its helper process."""
    version = installed_version()
    return version is None or _cache_path(cache_dir, version).exists()


def _cache_path(cache_dir: Path, version: str) -> Path:
    return cache_dir / f"secret-rules-{version}-{IMPORT_FORMAT}.json"


def _run_helper(version: str, timeout_s: float) -> tuple[bytes, str]:
    """What the helper process wrote, checked; or the reason why there is nothing."""
    import subprocess  # once per installed version; 1 MB that the owner otherwise never needs

    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "context_graph.redact.extract"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=True,
        )
        _parse(json.loads(done.stdout))
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return b"", f"reading detect-secrets {version} failed: {said}"
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return b"", f"reading detect-secrets {version} failed: {error}"
    return done.stdout, ""


def installed_version() -> str | None:
    """The version in the installed package's folder name; importlib.metadata would cost 20 ms and 2 MB."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.startswith(f"{_PACKAGE}-") and name.endswith((".dist-info", ".egg-info")):
                return name[len(_PACKAGE) + 1 :].rpartition(".")[0]
    return None


def _parse(document: Any) -> Imported:
    """Raises ValueError if ``document`` is not what extract writes."""
    try:
        if document["format"] != IMPORT_FORMAT:
            raise ValueError(f"format {document['format']!r} of the rules is not {IMPORT_FORMAT}")
        rules = tuple(
            Rule(str(name), str(pattern), grouped=False, anchored=bool(anchored))
            for name, pattern, anchored in document["rules"]
        )
        keywords = tuple(str(word) for word in document["keywords"])
        failed = [f"{name}: {why}" for name, why in document["skipped"] if why.startswith("failed")]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the rules are of no known form: {error!r}") from error
    return Imported(rules, keywords, tuple(f"redaction: rule {text}" for text in failed))


def _read(path: Path) -> Imported | None:
    try:
        if path.stat().st_size > _MAX_CACHE_BYTES:
            return None
        return _parse(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return None


def _write(path: Path, text: bytes) -> str:
    """Write the cache atomically; the reason in words if that fails."""
    try:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(text)
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        return f"redaction: rules not cached in {path.parent}: {error.strerror}"
    return ""
