"""Wheels of what is installed here: with them an installer needs no network and compiles nothing."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

__all__ = ["wheels_of"]

_SRC = Path(__file__).resolve().parents[2] / "src"
_CORE, _CLI = "context-graph-core", "context-graph-cli"


def wheels_of(folder: Path, *extras: str) -> Path:
    """Fill ``folder`` with wheels of both packages as they are built here, and of all that they need."""
    for name in _needed(_CORE, frozenset(extras), {}) | {_CLI}:
        _pack(_installed(name), folder)
    return folder


def _needed(name: str, extras: frozenset[str], known: dict[str, frozenset[str]]) -> set[str]:
    """Names of a package and all that it needs, with their extras in ``known``."""
    before = known.get(name)
    if before is not None and extras <= before:
        return set(known)
    known[name] = extras | (before or frozenset())
    for text in _installed(name).requires or ():
        wanted = Requirement(text)
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            _needed(_plain(wanted.name), frozenset(wanted.extras), known)
    return set(known)


def _installed(name: str) -> metadata.Distribution:
    """What an installer left of it, not the notes of a build that may lie beside our source."""
    return next(one for one in metadata.distributions(name=name) if one.read_text("METADATA"))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _files(package: metadata.Distribution) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of a wheel; of ours the source, as it is an editable install."""
    info = next(file.parts[0] for file in package.files or () if file.parts[0].endswith(".dist-info"))
    for name in ("METADATA", "entry_points.txt"):
        if text := package.read_text(name):
            yield f"{info}/{name}", text.encode()
    if package.name == _CORE:
        for path in sorted(_SRC.glob("context_graph/**/*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(_SRC)), path.read_bytes()
        return
    for file in package.files or ():
        at = Path(str(file.locate()))
        if package.name == _CLI and file.name == _CLI:
            data = f"{info.removesuffix('.dist-info')}.data/scripts/{_CLI}"
            yield data, at.read_bytes()
        elif file.parts[0] not in ("..", info) and at.is_file() and "__pycache__" not in file.parts:
            yield str(file), at.read_bytes()


def _pack(package: metadata.Distribution, folder: Path) -> None:
    tags = re.findall(r"(?m)^Tag: (\S+)", package.read_text("WHEEL") or "")
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = next(tag for tag in _tag_of_cli() if not tag.endswith("-any"))
    tag = f"{python}-{python}-{platform.rpartition('-')[2]}" if package.name == _CORE else tags[-1]
    name = re.sub(r"[-_.]+", "_", package.name)
    info = f"{name}-{package.version}.dist-info"
    pure = str(tag.endswith("-none-any")).lower()
    wheel = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    with zipfile.ZipFile(folder / f"{name}-{package.version}-{tag}.whl", "w") as made:
        record = []
        for path, content in (*_files(package), (f"{info}/WHEEL", wheel.encode())):
            inside = f"{info}/{path.partition('/')[2]}" if ".dist-info/" in path else path
            entry = zipfile.ZipInfo(inside)
            entry.external_attr = (0o755 if "/scripts/" in inside else 0o644) << 16
            made.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{inside},sha256={digest},{len(content)}\n")
        made.writestr(f"{info}/RECORD", "".join([*record, f"{info}/RECORD,,\n"]))


def _tag_of_cli() -> list[str]:
    return re.findall(r"(?m)^Tag: (\S+)", _installed(_CLI).read_text("WHEEL") or "")
