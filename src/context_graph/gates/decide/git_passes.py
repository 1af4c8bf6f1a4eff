"""Keeps what a session has seen of git in a repository: what passed, where HEAD was, what is left open.

A commit has used its single_use satisfactions once HEAD has moved: the next question, or the end of the call,
sees it. A push moves nothing here, so it has when the call that it ran in ends well. One that failed used up
nothing. All is kept in one small file per session, beside the state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from context_graph.gates.files import Locked, number, read_object, read_through, write_json
from context_graph.gates.state.registry import ancestors, is_alive
from context_graph.gates.state.session_ids import own_name
from context_graph.gates.state.state_files import StateFiles
from context_graph.git.repository import Repo, has_moved, makes_commit, tip_of

SUFFIX = ".git"
_BYTES = 1 << 18
_MOST = 50
_WAIT_S = 0.3
_FORGOTTEN_S = 86_400.0
"""After a day no git that was let through is still at it."""

_Pass = dict[str, Any]
_Kept = dict[str, Any]
"""passes (a list of _Pass), seen (HEAD by git's folder), open ([branch, requirement] each)."""


class Passes:
    """What a session has seen of git in one repository; empty where it has seen nothing."""

    def __init__(self, files: StateFiles, session_id: str) -> None:
        self._files, self._session = files, session_id
        self._path = f"{files.folder}/sessions/{own_name(session_id)}{SUFFIX}" if session_id else ""

    def __bool__(self) -> bool:
        """Whether anything is kept. Cost: one stat call."""
        return bool(self._path) and os.path.exists(self._path)

    def add(self, repo: Repo, pid: int, uses: Iterable[tuple[str, str]], at: float, *, is_push: bool) -> None:
        """Note that git's process ``pid`` may go on, and the (branch, requirement) of what it then uses up.

        Raises:
            OSError: If it can't be written.
        """
        entry: _Pass = {
            **{"at": at, "pid": pid, "push": is_push, "tip": tip_of(repo)},
            **{"git_dir": repo.git_dir, "common_dir": repo.common_dir},
            "uses": [list(pair) for pair in uses],
        }

        def apply(kept: _Kept) -> None:
            others = [p for p in kept["passes"] if p["pid"] != pid or p["git_dir"] != repo.git_dir]
            kept["passes"] = [*others, entry]

        self._change(apply)

    def settle(self, at: float, *, call_ended_well: bool = False) -> list[tuple[str, str]]:
        """Use up what the commits that were made since have used; (branch, requirement) of each.

        With ``call_ended_well`` the pushes too: a call that ran them has ended, and well.
        Cost: one stat call where nothing waits.

        Raises:
            OSError: If the state can't be written.
        """
        done = [p for p in self._kept()["passes"] if _is_done(p, call_ended_well=call_ended_well)]
        used = []
        for one in done:
            for branch, name in one["uses"]:
                if self._files.use_up(branch, name, self._session, one["at"]):
                    used.append((branch, name))
        if done:
            tips = {p["git_dir"]: tip_of(_repo_of(p)) for p in done if not p["push"]}

            def apply(kept: _Kept) -> None:
                kept["passes"] = [p for p in kept["passes"] if p not in done]
                kept["seen"].update({key: tip for key, tip in tips.items() if key in kept["seen"]})

            self._change(apply)
        return used

    def in_use(self, pid: int, at: float) -> set[str]:
        """Requirements whose satisfaction another git that still runs (none above ``pid``) is about to use:
        one commit asks twice where a hook of the repository asks too.
        """
        passes = self._kept()["passes"]
        line = ancestors(pid) if passes else []
        others = [p for p in passes if p["pid"] not in line and is_alive(p["pid"])]
        return {name for one in others if one["at"] <= at for _, name in one["uses"]}

    def look(self, repo: Repo) -> bool:
        """Note where HEAD is; whether a commit was made since the last look that nobody was asked about.

        The first look says no. Cost: four small reads; a write where HEAD has moved.

        Raises:
            OSError: If it can't be written.
        """
        before, now = self._kept()["seen"].get(repo.git_dir), tip_of(repo)
        if before == now:
            return False
        self._change(lambda kept: kept["seen"].update({repo.git_dir: now}))
        return isinstance(before, dict) and makes_commit(repo, before)

    def leave_open(self, branch: str, names: list[str]) -> None:
        """Have Stop ask for the requirements ``names``: a commit was made past them.

        Raises:
            OSError: If it can't be written.
        """
        wanted = [[branch, name] for name in names]
        self._change(lambda kept: kept["open"].extend(one for one in wanted if one not in kept["open"]))

    def left_open(self) -> set[str]:
        """The requirements that a commit was made past. Cost: one stat call if there are none."""
        return {name for _, name in self._kept()["open"]}

    def forget(self) -> None:
        """Remove all, where the session has ended."""
        if self:
            os.unlink(self._path)

    def _kept(self) -> _Kept:
        return read_through(self._files.cache, self._path, _read) if self else _read("")

    def _change(self, apply: Callable[[_Kept], object]) -> None:
        if not self._path:
            return
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with Locked(os.path.dirname(self._path) + "/calls.lock", _WAIT_S):
            kept = _read(self._path)
            apply(kept)
            newest = max((one["at"] for one in kept["passes"]), default=0.0)
            kept["passes"] = [p for p in kept["passes"][-_MOST:] if newest - p["at"] < _FORGOTTEN_S]
            kept["seen"] = dict(list(kept["seen"].items())[-_MOST:])
            kept["open"] = kept["open"][-_MOST:]
            write_json(self._path, kept, sync=False)
            if self._files.cache is not None:
                self._files.cache.forget_document(self._path)


def _repo_of(one: _Pass) -> Repo:
    return Repo("", one["git_dir"], one["common_dir"])


def _is_done(one: _Pass, *, call_ended_well: bool) -> bool:
    return call_ended_well if one["push"] else has_moved(_repo_of(one), one["tip"])


def _read(path: str) -> _Kept:
    document = read_object(path, _BYTES) if path else {}
    passes, seen, left = document.get("passes"), document.get("seen"), document.get("open")
    return {
        "passes": [p for p in passes if _is_whole(p)] if isinstance(passes, list) else [],
        "seen": dict(seen) if isinstance(seen, dict) else {},
        "open": [pair for pair in left if _is_pair(pair)] if isinstance(left, list) else [],
    }


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)


def _is_whole(one: object) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("uses"), list):
        return False
    named = all(isinstance(one.get(key), str) for key in ("git_dir", "common_dir"))
    named = named and isinstance(one.get("tip"), dict) and all(map(_is_pair, one["uses"]))
    return named and number(one.get("at")) > 0 and isinstance(one.get("pid"), int) and "push" in one
