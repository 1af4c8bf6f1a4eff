"""Keeps which commits and pushes git was let through for, until what they used up is used up.

A commit has used its single_use satisfactions once HEAD has moved: the next question, or the end of the call,
sees it. A push moves nothing here, so it has when the call that it ran in ends well. One that failed used up
nothing. They are kept in one small file per session, beside the state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from context_graph.gates.files import Locked, number, read_object, read_through, write_json
from context_graph.gates.state.registry import is_alive
from context_graph.gates.state.session_ids import own_name
from context_graph.gates.state.state import use
from context_graph.gates.state.state_files import StateFiles
from context_graph.git.repository import Repo, has_moved, tip_of

SUFFIX = ".git"
_BYTES = 1 << 18
_MOST = 50
_WAIT_S = 0.3
_FORGOTTEN_S = 86_400.0
"""After a day no git that was let through is still at it."""

_Pass = dict[str, Any]


class Passes:
    """A session's commits and pushes in one repository that were let through, oldest first."""

    def __init__(self, files: StateFiles, session_id: str) -> None:
        self._files, self._session = files, session_id
        self._path = f"{files.folder}/sessions/{own_name(session_id)}{SUFFIX}" if session_id else ""

    def __bool__(self) -> bool:
        """Whether any may be kept. Cost: one stat call."""
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
        if not entry["uses"]:
            return

        def apply(passes: list[_Pass]) -> None:
            passes[:] = [one for one in passes if one.get("pid") != pid or one.get("git_dir") != repo.git_dir]
            passes.append(entry)

        self._change(apply)

    def settle(self, at: float, *, call_ended_well: bool = False) -> list[tuple[str, str]]:
        """Use up what the commits that were made since have used; (branch, requirement) of each.

        With ``call_ended_well`` the pushes too: a call that ran them has ended, and well.
        Cost: one stat call where nothing waits.

        Raises:
            OSError: If the state can't be written.
        """
        done = [one for one in self._all() if _is_done(one, call_ended_well=call_ended_well)]
        used = []
        for one in done:
            for branch, name in one["uses"]:
                if self._files.load(branch, at).is_spent(name, self._session, one["at"]):
                    self._files.note(branch, at, [use(name, self._session, now=one["at"])])
                    used.append((branch, name))
        if done:
            self._change(lambda passes: _remove(passes, done))
        return used

    def in_use(self, pid: int, at: float) -> set[str]:
        """Requirements whose satisfaction another git that still runs is about to use."""
        others = [one for one in self._all() if one.get("pid") != pid and is_alive(int(one["pid"]))]
        return {name for one in others if one["at"] <= at for _, name in one["uses"]}

    def _all(self) -> list[_Pass]:
        if not self:
            return []
        return read_through(self._files.cache, self._path, _read)

    def _change(self, apply: Callable[[list[_Pass]], object]) -> None:
        if not self._path:
            return
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with Locked(os.path.dirname(self._path) + "/calls.lock", _WAIT_S):
            passes = list(_read(self._path))
            apply(passes)
            newest = max((one["at"] for one in passes), default=0.0)
            kept = [one for one in passes[-_MOST:] if newest - one["at"] < _FORGOTTEN_S]
            if kept:
                write_json(self._path, {"passes": kept}, sync=False)
            elif os.path.exists(self._path):
                os.unlink(self._path)
            if self._files.cache is not None:
                self._files.cache.forget_document(self._path)


def _is_done(one: _Pass, *, call_ended_well: bool) -> bool:
    if one["push"]:
        return call_ended_well
    return has_moved(Repo("", one["git_dir"], one["common_dir"]), one["tip"])


def _remove(passes: list[_Pass], done: list[_Pass]) -> None:
    passes[:] = [one for one in passes if one not in done]


def _read(path: str) -> list[_Pass]:
    found = read_object(path, _BYTES).get("passes")
    return [one for one in found if _is_whole(one)] if isinstance(found, list) else []


def _is_whole(one: object) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("uses"), list):
        return False
    pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in one["uses"])
    named = all(isinstance(one.get(key), str) for key in ("git_dir", "common_dir"))
    named = named and isinstance(one.get("tip"), dict)
    return pairs and named and number(one.get("at")) > 0 and isinstance(one.get("pid"), int) and "push" in one
