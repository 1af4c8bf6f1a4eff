"""Tells a repository by what stays the same wherever it lies: its first commit, and where it came from."""

from __future__ import annotations

import os

# hashlib would load OpenSSL for this one function.
from _blake2 import blake2b
from typing import Final, NamedTuple

from context_graph.git.repository import Repo, ask_git, find_repo

_WAIT_S: Final = 0.5
_DIGEST_BYTES: Final = 12


class Origin(NamedTuple):
    """Both hashed, 24 hex digits; "" where it is not known."""

    first: str = ""
    """Its first commit."""
    remote: str = ""
    """The address of `origin`, without login and ending."""

    def is_of(self, other: Origin) -> bool:
        """Return whether both are of one repository: forks and clones too, which have the same first
        commit."""
        if self.first and other.first:
            return self.first == other.first
        return bool(self.remote) and self.remote == other.remote


def origin_of(folder: str) -> Origin:
    """Return the origin of the repository that ``folder`` (absolute, resolved) lies in. Cost: two processes
    of git, at most half a second each.
    """
    repo = find_repo(folder)
    if repo is None:
        return Origin()
    shallow = os.path.exists(os.path.join(repo.common_dir, "shallow"))  # its first commit is cut off
    first = "" if shallow else _said(repo, "rev-list", "--max-parents=0", "HEAD")
    remote = _said(repo, "config", "--get", "remote.origin.url")
    return Origin(_digest(min(first.split(), default="")), _digest(_address(remote)))


def _said(repo: Repo, *words: str) -> str:
    done = ask_git(repo, *words, timeout_s=_WAIT_S)
    return "" if done is None or done.returncode else os.fsdecode(done.stdout).strip()


def _address(remote: str) -> str:
    """Return the same for `https://host/a/b`, `git@host:a/b.git` and `ssh://git@host/a/b/`."""
    text = remote.partition("://")[2] or remote
    text = text.rpartition("@")[2] if "@" in text.split("/")[0] else text
    return text.replace(":", "/", 1).rstrip("/").removesuffix(".git").casefold()


def _digest(text: str) -> str:
    named = text.encode("utf-8", "surrogateescape")
    return blake2b(named, digest_size=_DIGEST_BYTES, person=b"repo-origin").hexdigest() if text else ""
