"""Sees whose a folder between machines is. What lies there others wrote: each file may be anything."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from context_graph.errors import InvalidInputError
from context_graph.sync.change import canonical
from context_graph.system.small_files import read_bytes, replacing

FORMAT: Final = 1
MAX_BYTES: Final = 65_536


class Home(msgspec.Struct):
    """`project.json`: whose folder this is."""

    format: int
    project: str
    remote: str = ""
    """The git remote, without scheme and user."""
    first: str = ""
    """The first commit of its history; "" if it has none."""


def small_file(path: Path) -> bytes:
    """Return what stands in a plain file of at most MAX_BYTES; nothing if there is none.

    Raises OSError: It is a link, no file, too long, or can't be read.
    """
    try:
        return read_bytes(os.fspath(path), MAX_BYTES, follow=False)
    except FileNotFoundError:
        return b""
    except ValueError as error:
        raise OSError(errno.EFBIG, "it is no plain file of at most 64 KiB", str(path)) from error


def check_home(path: Path, here: Home, is_same: Callable[[str, str], bool]) -> None:
    """Make ``path`` the folder of one project, or see that it is that of ``here``, a checkout.

    Remotes decide where both are known. Without, different first commits tell two projects apart; equal ones
    do not make them one, for projects made from one template begin alike: ``is_same`` is asked, with a word
    on each. InvalidInputError: another project's, or it can't be written or read.
    """
    note = path / "project.json"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_symlink():
            raise InvalidInputError(f"{path} is a link; what is told would be written elsewhere")
        data = small_file(note)
        if not data:
            with replacing(note) as out:
                out.write(canonical(msgspec.to_builtins(here)) + b"\n")
            return
        there = msgspec.json.decode(data, type=Home)
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise InvalidInputError(f"{note} can't be read or written: {why}") from error
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InvalidInputError(f"{note} does not say whose folder it is: {error}") from error
    if not _agree(there, here, is_same):
        raise InvalidInputError(
            f"{path} holds the memory of another project, {_word(there)}; this one is {_word(here)}: "
            "name it with --name"
        )


def _agree(there: Home, here: Home, is_same: Callable[[str, str], bool]) -> bool:
    if there.remote and here.remote:
        return there.remote == here.remote
    if there.first and here.first and there.first != here.first:
        return False
    return is_same(_word(there), _word(here))


def _word(home: Home) -> str:
    """Return what is known of a project, for people."""
    if home.remote:
        return f"whose remote is {home.remote[:200]!r}"
    first = f", whose first commit is {home.first[:12]!r}" if home.first else " or a commit"
    return f"without a remote{first}"
