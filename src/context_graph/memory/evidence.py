"""Keeps what a memory rests on, and tells later whether that is still as it was.

A memory's metadata may have ``evidence``: the files it is about, with a hash of their content, and
the commit and branch of that time. When the memory is shown, each file is looked at again: first its size
and time, its content only where these changed. A file is read once for each change, whatever asks.
"""

from __future__ import annotations

import os
import time

# hashlib would load OpenSSL for this one function (see store.layout).
from _blake2 import blake2b
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.git.repository import Head, Repo, ask_git, find_repo, read_head, tip_of
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import ACCEPTED, CAPTURED, CONFIRMED, MemoryNode
from context_graph.model.note import NoteKind, kind_of_memory
from context_graph.system.small_files import Signature, is_settled, read_bytes, signature

KEY: Final = "evidence"
"""Where it stands in a memory's metadata."""
MAX_FILES: Final = 16
"""Files that one memory rests on, the newest first; a summary's older ones are left out."""
MAX_BYTES: Final = 4 << 20
"""A larger file is no evidence: reading it would take longer than an answer may."""
MAX_PATH_CHARS: Final = 1024
HOOK_S: Final = 0.002
"""Processor time for all files of one hook's answer; those that are not reached are unchecked."""
TOOL_S: Final = 0.05
"""Processor time for a command's or tool's answer, in seconds."""
WAIT_S: Final = 0.05
"""Beyond that, for a slow disk and for other threads: a busy machine alone makes nothing unchecked."""
SUPERSEDES: Final = "supersedes"
SUPERSEDING: Final = frozenset({SUPERSEDES, "replaces"})
"""Types of links from a memory that holds to one that no longer does."""
_CHAIN: Final = 8
_BYTES_A_SECOND: Final = 400_000_000
"""Bytes that are read and hashed in a second, with a reserve: what would take longer than the time left isn't
begun."""
_KEPT: Final = 4096
_MERGED_KEPT: Final = 256
_GIT_S: Final = 0.5
_UNKNOWN: Final = ""
"""Instead of a hash: time was short, or the file can't be read or is too large."""


class TimeLeft:
    """Ends after ``within_s`` of this thread's processor time, or `WAIT_S` later by the clock."""

    __slots__ = ("_clock", "_processor")

    def __init__(self, within_s: float) -> None:
        self._processor = time.thread_time() + within_s
        self._clock = time.monotonic() + within_s + WAIT_S

    def seconds(self) -> float:
        """Return what may still be used; zero or less once it is up."""
        return min(self._processor - time.thread_time(), self._clock - time.monotonic())


class EvidenceState(StrEnum):
    """What became of that which a memory rests on."""

    VERIFIED = "verified"
    UNCHECKED = "unchecked"
    CHANGED = "changed since"
    GONE = "gone"
    SUPERSEDED = "superseded by"


WEIGHT: Final[Mapping[EvidenceState, float]] = {
    EvidenceState.VERIFIED: 1.0,
    EvidenceState.UNCHECKED: 1.0,
    EvidenceState.CHANGED: 0.95,
    EvidenceState.GONE: 0.8,
    EvidenceState.SUPERSEDED: 0.5,
}
"""A memory's relevance is multiplied by it. A changed file says little against what was done to it, so that
only decides between equals."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a memory stands today."""

    state: EvidenceState
    names: tuple[str, ...] = ()
    """Files that changed or are gone; the id of the memory that supersedes it."""
    branch: str = ""
    """The branch it was made on, if that is another one which was not merged into this one."""

    def text(self) -> str:
        """For a label: ``changed since: src/a.py and 2 more``. A file's name can't hold a sentence there."""
        text = self.state.value
        if self.state is EvidenceState.SUPERSEDED:
            text = f"{text} {self.names[0][:8]}"
        elif self.names:
            more = f" and {len(self.names) - 1} more" if len(self.names) > 1 else ""
            text = f"{text}: {_plain(self.names[0])}{more}"
        return f"{text}, from branch {_plain(self.branch)}, which is not merged here" if self.branch else text

    @property
    def is_doubt(self) -> bool:
        """Whether it may no longer hold: what it rests on is another, or gone."""
        return self.state in (EvidenceState.CHANGED, EvidenceState.GONE)

    @property
    def weight(self) -> float:
        """What the memory's relevance is multiplied by, in (0, 1]."""
        return WEIGHT[self.state]


def top_of(folder: str) -> str:
    """Return the top of the checkout that ``folder`` is in, else the folder itself; "" for ""."""
    if not folder:
        return ""
    real = os.path.realpath(folder)
    repo = find_repo(real)
    return real if repo is None or repo.bare else repo.top


class Evidence:
    """Records and checks evidence. Not thread-safe: the owner serves one request at a time."""

    def __init__(self) -> None:
        self._digests: OrderedDict[str, tuple[Signature, str]] = OrderedDict()
        self._merged: OrderedDict[tuple[str, str, str], bool] = OrderedDict()

    # Recording

    def record(self, top: str, paths: Iterable[str]) -> dict[str, Any] | None:
        """Return the evidence for a memory about ``paths``; None if none of them is a readable file in
        ``top``.

        Args:
            top: The checkout's top, as `top_of` gives it.
            paths: Absolute, or relative to ``top``; the most telling first. What is no file is left out.
        """
        files: dict[str, list[Any]] = {}
        for path in paths:
            inside = _inside(top, path)
            if inside is None or inside in files:
                continue
            digest, sign = self._digest(os.path.join(top, inside))
            if digest and sign is not None:
                files[inside] = [digest, sign[0], sign[2]]
            if len(files) == MAX_FILES:
                break
        if not files:
            return None
        repo = find_repo(top)
        record: dict[str, Any] = {"files": files}
        if repo is not None:
            record["branch"] = read_head(repo).branch
            record["commit"] = tip_of(repo)["tip"]
        return record

    def named(self, folder: str, paths: Iterable[str]) -> dict[str, Any] | None:
        """As `record`, for paths that somebody named; InvalidParamsError says what is wrong with one."""
        names = tuple(dict.fromkeys(paths))
        if not names:
            return None
        top = top_of(folder)
        if not top:
            raise InvalidParamsError.of("evidence", "names files, but this client works in no project folder")
        for path in names:
            if _inside(top, path) is None:
                raise InvalidParamsError.of(
                    "evidence", f"names {path!r:.80}, which is not in the project {top}"
                )
            if not self._digest(os.path.join(top, path))[0]:
                limit = MAX_BYTES >> 20
                raise InvalidParamsError.of(
                    "evidence",
                    f"names {path!r:.80}, which is no readable file of at most {limit} MiB; "
                    "give a path in the project",
                )
        return self.record(top, names)

    # Checking

    def verdict(
        self,
        node: MemoryNode,
        top: str,
        superseded_by: UUID | None,
        *,
        left: TimeLeft,
        asks_git: bool = False,
    ) -> Verdict | None:
        """Return how ``node`` stands in the checkout ``top``; None if it rests on nothing that can be
        checked.

        Args:
            superseded_by: The memory that holds instead (`successor`).
            left: Time for looking at files; those that are not reached are unchecked.
            asks_git: Whether git may be started, for half a second each, to learn what was merged.
        """
        if superseded_by is not None:
            return Verdict(EvidenceState.SUPERSEDED, (str(superseded_by),))
        evidence = node.metadata.get(KEY)
        files = evidence.get("files") if isinstance(evidence, Mapping) else None
        if not isinstance(evidence, Mapping) or not isinstance(files, Mapping) or not files or not top:
            return None
        verdict = self._files(top, files, left)
        if verdict.state is EvidenceState.VERIFIED:
            return verdict  # the same content is here, however it came
        branch = self._foreign(top, evidence, asks_git=asks_git)
        return Verdict(verdict.state, verdict.names, branch) if branch else verdict

    def _files(self, top: str, files: Mapping[str, Any], left: TimeLeft) -> Verdict:
        changed, gone, unknown = list[str](), list[str](), False
        for path, kept in list(files.items())[:MAX_FILES]:
            state = self._state(top, path, kept, left.seconds())
            if state is EvidenceState.CHANGED:
                changed.append(path)
            elif state is EvidenceState.GONE:
                gone.append(path)
            unknown = unknown or state is EvidenceState.UNCHECKED
        if changed:
            return Verdict(EvidenceState.CHANGED, (*changed, *gone))
        if gone:
            return Verdict(
                EvidenceState.GONE if len(gone) == len(files) else EvidenceState.CHANGED, tuple(gone)
            )
        return Verdict(EvidenceState.UNCHECKED if unknown else EvidenceState.VERIFIED)

    def _state(self, top: str, path: str, kept: object, left: float) -> EvidenceState:
        if not (isinstance(kept, list | tuple) and len(kept) == 3) or left <= 0.0:
            return EvidenceState.UNCHECKED
        whole = os.path.join(top, path)
        sign = signature(whole)
        if sign is None:
            return EvidenceState.GONE
        if [sign[0], sign[2]] == [kept[1], kept[2]]:
            return EvidenceState.VERIFIED
        digest, _ = self._digest(whole, sign, most=int(left * _BYTES_A_SECOND))
        if not digest:
            return EvidenceState.UNCHECKED
        return EvidenceState.VERIFIED if digest == kept[0] else EvidenceState.CHANGED

    def _digest(
        self, path: str, sign: Signature | None = None, most: int = MAX_BYTES
    ) -> tuple[str, Signature | None]:
        """Return (hash of the content, the file's signature); `_UNKNOWN` and None where it has none."""
        sign = sign or signature(path)
        if sign is None:
            return _UNKNOWN, None
        known = self._digests.get(path)
        if known is not None and known[0] == sign:
            self._digests.move_to_end(path)
            return known[1], sign
        try:
            data = read_bytes(path, min(most, MAX_BYTES))
        except (OSError, ValueError):
            return _UNKNOWN, sign
        digest = blake2b(data, digest_size=16, person=b"file-content").hexdigest()
        if is_settled(sign):
            self._digests[path] = (sign, digest)
            while len(self._digests) > _KEPT:
                self._digests.popitem(last=False)
        return digest, sign

    def _foreign(self, top: str, evidence: Mapping[str, Any], *, asks_git: bool) -> str:
        """Return the branch that the evidence is from, if it is another one and not merged into today's."""
        branch, commit = evidence.get("branch"), evidence.get("commit")
        repo = find_repo(top)
        if not (isinstance(branch, str) and branch and isinstance(commit, str) and commit) or repo is None:
            return ""
        head: Head = read_head(repo)
        if head.branch == branch:
            return ""
        merged = self._is_merged(repo, branch, commit, asks_git=asks_git)
        return "" if merged is None or merged else branch

    def _is_merged(self, repo: Repo, branch: str, commit: str, *, asks_git: bool) -> bool | None:
        """Return whether the branch, or else the commit, is part of today's; None while nobody knows."""
        key = (branch, commit, str(tip_of(repo)["tip"]))
        if key in self._merged or not asks_git:
            return self._merged.get(key)
        merged: bool | None = None
        for name in (f"refs/heads/{branch}", commit):
            done = ask_git(repo, "merge-base", "--is-ancestor", name, "HEAD", timeout_s=_GIT_S)
            if done is not None and done.returncode in (0, 1):
                merged = done.returncode == 0
                break
        if merged is None:
            return None
        self._merged[key] = merged
        while len(self._merged) > _MERGED_KEPT:
            self._merged.popitem(last=False)
        return merged


def successor(node_id: UUID, edges_to: Callable[[UUID], Iterable[GraphEdge]]) -> UUID | None:
    """Return the memory that superseded ``node_id``, the last of a chain; None if none did.

    Args:
        edges_to: The edges that lead to a memory from live ones.
    """
    seen, newest = {node_id}, None
    for _ in range(_CHAIN):
        newer = [
            edge
            for edge in edges_to(newest or node_id)
            if edge.relationship_type in SUPERSEDING and edge.source_id not in seen
        ]
        if not newer:
            break
        newest = max(newer, key=lambda edge: (edge.created_at_ms, edge.id)).source_id
        seen.add(newest)
    return newest


def is_record(node: MemoryNode) -> bool:
    """Return whether a memory tells what was done, which stays so whatever becomes of the files."""
    return node.source == CAPTURED or kind_of_memory(node.metadata) is NoteKind.CHANGE


def _inside(top: str, path: str) -> str | None:
    """Return ``path`` relative to ``top``; None if it is not inside, or no path."""
    if not top or not path or "\0" in path or len(path) > MAX_PATH_CHARS:
        return None
    whole = os.path.normpath(os.path.join(top, path))
    real = os.path.realpath(whole)
    for form in (whole, real):
        if form.startswith(top.rstrip("/") + "/") and real.startswith(top.rstrip("/") + "/"):
            return form[len(top.rstrip("/")) + 1 :]
    return None


def confirmed(node: MemoryNode, evidence: Evidence, folder: str | None, at_ms: int) -> MemoryNode:
    """Return ``node`` as somebody confirms it: its files are noted as they are now, in the checkout of
    ``folder``.

    Files that are gone are no longer among them; if all are gone it rests on none. A second confirmation
    replaces the first: what it can be taken back to is what was before it.
    """
    old: Any = node.metadata.get(KEY)
    files = old.get("files") if isinstance(old, Mapping) else None
    metadata = {name: value for name, value in node.metadata.items() if name != CONFIRMED}
    before = {name: metadata[name] for name in (KEY, ACCEPTED) if name in metadata}
    if isinstance(files, Mapping) and folder:
        metadata.pop(KEY)
        now = evidence.record(top_of(folder), files)
        metadata |= {} if now is None else {KEY: now}
    metadata |= {ACCEPTED: True, CONFIRMED: {"at_ms": at_ms, "before": before}}
    return replace(node, metadata=metadata)


def unconfirmed(node: MemoryNode) -> MemoryNode | None:
    """Return ``node`` as it was before it was confirmed; None if it was not."""
    note = node.metadata.get(CONFIRMED)
    before = note.get("before") if isinstance(note, Mapping) else None
    if not isinstance(before, Mapping):
        return None
    kept = {k: v for k, v in node.metadata.items() if k not in (CONFIRMED, KEY, ACCEPTED)}
    return replace(node, metadata={**kept, **before})


_PLAIN_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+@")
_NAME_CHARS: Final = 80


def _plain(name: str) -> str:
    """Return a file's or branch's name for a label; what such names seldom have becomes `?`."""
    short = name if len(name) <= _NAME_CHARS else "…" + name[1 - _NAME_CHARS :]
    return "".join(sign if sign in _PLAIN_NAME or sign == "…" or sign.isalpha() else "?" for sign in short)
