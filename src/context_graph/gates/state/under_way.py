"""Keeps what a session has under way in a repository: calls and gits that were let through, where HEAD was.

What was let through may be about to use up single_use satisfactions: a commit does once HEAD has moved,
whatever its call reports, anything else when its call ends well. Until then nobody else passes on them. All
is in one small file a session, beside the state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from context_graph.gates.state.session_ids import own_name
from context_graph.gates.state.state_files import StateFiles
from context_graph.git.repository import Repo, has_moved, makes_commit, tip_of
from context_graph.system.processes import ancestors, is_alive
from context_graph.system.small_files import Locked, number, read_object, write_json

SUFFIX = ".now"
_BYTES = 1 << 20
_MOST = 50
_WAIT_S = 0.3
_FORGOTTEN_S = 86_400.0
"""After a day nobody waits for an end any more; a background command may take hours."""

Entry = dict[str, Any]
"""``at``, ``uses`` ([branch, requirement, whether a commit uses it up] each), ``tips`` (HEAD by
git's folder).

A call also has ``digest``, ``agent``, ``files``, ``arms`` ([branch, requirement] each), ``asked``, ``over``;
git's own process has ``pid``.
"""

Kept = dict[str, dict[str, Entry]]
_SECTIONS = ("calls", "heads", "open", "waited")


class UnderWay:
    """What one session has under way in one repository; a damaged file holds nothing.

    ``calls`` are by tool use id or git's process, ``heads`` by git's folder, ``open`` are requirements that a
    commit was made past, ``waited`` the background work that has let a Stop go.
    """

    def __init__(self, files: StateFiles, session_id: str) -> None:
        self.files, self.session = files, session_id
        self._path = f"{files.folder}/sessions/{own_name(session_id)}{SUFFIX}" if session_id else ""

    def section(self, name: str) -> dict[str, Entry]:
        """Return one section, oldest first; not to be changed. Cost: one stat call if nothing is kept."""
        if not self._path or not os.path.exists(self._path):
            return {}
        return self.files.cache.document(self._path, _read)[name]

    @property
    def calls(self) -> dict[str, Entry]:
        """Whatever was let through and has not ended."""
        return self.section("calls")

    def change(self, apply: Callable[[Kept], object]) -> None:
        """Apply it under the lock of the repository's sessions; an empty file is removed.

        Raises:
            OSError: If the file can't be written.
        """
        if not self._path:
            return
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with Locked(os.path.dirname(self._path) + "/calls.lock", _WAIT_S):
            kept = _read(self._path)
            apply(kept)
            newest = max((call["at"] for call in kept["calls"].values()), default=0.0)
            calls = {key: call for key, call in kept["calls"].items() if newest - call["at"] <= _FORGOTTEN_S}
            kept = {
                name: dict(list(part.items())[-_MOST:]) for name, part in {**kept, "calls": calls}.items()
            }
            if any(kept.values()):
                write_json(self._path, kept, sync=False)
            elif os.path.exists(self._path):
                os.unlink(self._path)
            self.files.cache.forget_document(self._path)

    def add_git(
        self, repo: Repo, pid: int, uses: Iterable[tuple[str, str]], at: float, *, is_push: bool
    ) -> None:
        """Note that git's process ``pid`` may go on, and the (branch, requirement) of what it then uses up.

        Raises:
            OSError: If it can't be written.
        """
        marked = [[*pair, not is_push] for pair in uses]
        entry: Entry = {"at": at, "pid": pid, "uses": marked, "tips": {} if is_push else tips_of(repo)}
        self.change(lambda kept: kept["calls"].update({f"git {pid} {repo.git_dir}": entry}))

    def settle(self, *, but: str = "", pushes: bool = False) -> list[tuple[str, str]]:
        """Use up what commits that were made since have used, with ``pushes`` what pushes have: a call that
        pushed has ended well. Returns (branch, requirement) of each.

        Args:
            but: A call that is not meant.

        Raises:
            OSError: If the state can't be written.
        """
        done = {
            key: call
            for key, call in self.calls.items()
            if key != but and (has_committed(call) or (pushes and "pid" in call and not call["tips"]))
        }
        used = [pair for call in done.values() for pair in self.use_up(call, commits_only="pid" not in call)]

        def apply(kept: Kept) -> None:
            for key in done.keys() & kept["calls"].keys():
                call = kept["calls"][key]
                if "pid" not in call:
                    call.update(uses=[use for use in call["uses"] if not use[2]], tips={})
                    continue
                del kept["calls"][key]
                now = {folder: tip_of(_repo_in(folder, tip)) for folder, tip in call["tips"].items()}
                kept["heads"].update({folder: tip for folder, tip in now.items() if folder in kept["heads"]})

        if done:
            self.change(apply)
        return used

    def use_up(self, call: Entry, *, commits_only: bool = False) -> list[tuple[str, str]]:
        """Take the satisfactions that the call has used; (branch, requirement) of each that was there.

        Raises:
            OSError: If the state can't be written.
        """
        uses = [(branch, name) for branch, name, by_commit in call["uses"] if by_commit or not commits_only]
        return [use for use in uses if self.files.use_up(*use, self.session, call["at"])]

    def in_use(self, pid: int, at: float) -> set[str]:
        """Return requirements whose satisfaction another git that still runs (none above ``pid``) is about to
        use: one commit asks twice where a hook of the repository asks too.
        """
        gits = [call for call in self.calls.values() if "pid" in call and call["at"] <= at]
        line = ancestors(pid) if gits else []
        others = [call for call in gits if call["pid"] not in line and is_alive(call["pid"])]
        return {name for call in others for _, name, _ in call["uses"]}

    def look(self, repo: Repo) -> bool:
        """Note where HEAD is; whether a commit was made since the last look that nobody was asked about.

        The first look says no. Cost: four small reads; a write where HEAD has moved.

        Raises:
            OSError: If it can't be written.
        """
        before, now = self.section("heads").get(repo.git_dir), tip_of(repo)
        if before == now:
            return False
        self.change(lambda kept: kept["heads"].update({repo.git_dir: now}))
        return before is not None and makes_commit(repo, before)

    def forget(self) -> None:
        """Remove all, where the session has ended.

        Raises:
            OSError: If it can't be removed.
        """
        if self._path and os.path.exists(self._path):
            self.change(lambda kept: kept.update({name: {} for name in _SECTIONS}))


def tips_of(repo: Repo) -> dict[str, Any]:
    """Return where HEAD is now, for a call that may move it."""
    return {repo.git_dir: {**tip_of(repo), "common_dir": repo.common_dir}}


def has_committed(call: Entry) -> bool:
    """Return whether a commit was made since the call was let through, where it could make one."""
    return any(has_moved(_repo_in(folder, tip), tip) for folder, tip in call["tips"].items())


def _repo_in(git_dir: str, tip: dict[str, Any]) -> Repo:
    return Repo("", git_dir, str(tip.get("common_dir", git_dir)))


def _read(path: str) -> Kept:
    document = read_object(path, _BYTES)
    kept: Kept = {}
    for name in _SECTIONS:
        part = document.get(name)
        entries = part.items() if isinstance(part, dict) else ()
        kept[name] = {key: entry for key, entry in entries if isinstance(entry, dict)}
    kept["calls"] = {key: call for key, call in kept["calls"].items() if _is_whole(call)}
    return kept


def _is_whole(call: Entry) -> bool:
    uses, tips, arms = call.get("uses"), call.get("tips"), call.get("arms", [])
    if not (isinstance(uses, list) and isinstance(tips, dict) and isinstance(arms, list)):
        return False
    named = all(isinstance(use, list) and len(use) == 3 and _are_texts(use[:2]) for use in uses)
    armed = all(isinstance(pair, list) and len(pair) == 2 and _are_texts(pair) for pair in arms)
    whole = all(isinstance(tip, dict) for tip in tips.values()) and isinstance(call.get("pid", 0), int)
    listed = isinstance(files := call.get("files", []), list) and _are_texts(files)
    return named and armed and whole and listed and number(call.get("at")) > 0


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
