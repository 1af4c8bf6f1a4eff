"""Keeps what only a person may lift: the requirements that a session has seen, and who satisfied them.

Whatever happens to the files then, on whichever branch: what asks for less is told and not taken, what asks
for more is taken, until a person accepts others. Kept below the data root, a file for each session.

A person's satisfaction is signed, so that writing the state file satisfies nothing. The key lies in the data
root. A program of the same user can read it: this stops a short cut, not an attack.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from contextlib import suppress
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

from context_graph.gates.rules import Requirement, Rules, names
from context_graph.gates.state.session_ids import safe_name
from context_graph.system.small_files import read_bytes, read_object, write_json

FOLDER = "/held"
"""Below the folder of what is kept between calls. The launcher's twin is ext/launcher/src/gate.rs."""

_BYTES = 1 << 20
_PROJECTS = 8
_STALE_S = 14 * 86400.0
_WORDS = names(
    "message short_message description checklist blocking_message templates auto_resolve_skill "
    "satisfied_by_skill"
)
"""Fields that say something, or that a human_only requirement does not use."""


class Seen:
    """What one session has seen, by the folder of the project. Reads its file once."""

    def __init__(self, cache_dir: str, session_id: str) -> None:
        named = cache_dir and session_id
        self._path = f"{cache_dir}{FOLDER}/{safe_name(session_id)}.json" if named else ""

    @cached_property
    def projects(self) -> dict[str, dict[str, Any]]:
        """Of each ``branch``, ``requirements``, ``scopes`` (for which Stop asks), ``files``, ``hooks``.

        Cost: one stat where there is none.
        """
        if not self._path or not os.path.lexists(self._path):
            return {}
        kept = read_object(self._path, _BYTES).get("projects")
        return {root: record for root, record in _pairs(kept) if isinstance(record.get("requirements"), list)}

    def branch(self, root: str) -> str:
        """Return the branch on which the project's requirements were last seen; empty if none were."""
        return str(self.projects.get(root, {}).get("branch", ""))

    def in_force(self, rules: Rules, root: str) -> Rules:
        """Return ``rules``, or those with what was seen in the place of what asks for less."""
        kept = self.projects.get(root)
        return rules if kept is None else _joined(rules, [kept])

    def remember(self, root: str, branch: str, rules: Rules, at: float) -> None:
        """Keep the requirements of ``rules``, which are in force, if that is new. Never raises."""
        entries = _entries(rules)
        if not self._path or not branch or not entries:
            return
        hooks = rules.hooks
        scopes = hooks.verify_scopes if hooks.verify_requirements else []
        now = {"branch": branch, "requirements": entries, "scopes": scopes}
        self._keep(root, {**self.projects.get(root, {}), **now}, at)

    def files(self, root: str) -> dict[str, str]:
        """Return what is known of the files beside the requirements: a mark of each."""
        kept = self.projects.get(root, {}).get("files")
        return kept if isinstance(kept, dict) else {}

    def hooks(self, root: str) -> list[str]:
        """Return the client's events that called us at any time."""
        kept = self.projects.get(root, {}).get("hooks")
        return [name for name in kept if isinstance(name, str)] if isinstance(kept, list) else []

    def keep_files(self, root: str, marks: dict[str, str], hooks: list[str], at: float) -> None:
        """Keep a mark of each file, and the events that call us, if that is new. Never raises."""
        events = sorted({*self.hooks(root), *hooks})
        self._keep(root, {**self.projects[root], "files": marks, "hooks": events}, at)

    def _keep(self, root: str, now: dict[str, Any], at: float) -> None:
        if self.projects.get(root) != now:
            others = [(key, record) for key, record in self.projects.items() if key != root]
            self._write(dict([*others[-_PROJECTS + 1 :], (root, now)]), at)

    def forget(self) -> None:
        """Remove the record of a session that has ended."""
        with suppress(OSError):  # none was kept, or others are
            os.unlink(self._path)
            os.rmdir(os.path.dirname(self._path))

    def _write(self, projects: dict[str, Any], at: float) -> None:
        folder = os.path.dirname(self._path)
        # The files themselves still decide where this fails; only their change would not be noticed.
        with suppress(OSError, ValueError, TypeError):
            os.makedirs(folder, 0o700, exist_ok=True)
            write_json(self._path, {"projects": projects}, sync=False)
            self.projects = projects
            for name in os.listdir(folder):  # what sessions that never ended have left
                if at - os.stat(f"{folder}/{name}").st_mtime > _STALE_S:
                    os.unlink(f"{folder}/{name}")


def of_any_session(rules: Rules, root: str, cache_dir: str) -> Rules:
    """Return ``rules`` of the project at ``root`` with what any session has seen there."""
    kept = [projects[root] for _, projects in _records(cache_dir) if root in projects]
    return _joined(rules, kept) if kept else rules


def accept(rules: Rules, root: str, cache_dir: str) -> list[str]:
    """Take what the files ask now for every session; the names of what no longer holds as it was seen.

    Raises:
        OSError: If a record can't be written.
    """
    lifted: dict[str, None] = {}
    for path, projects in _records(cache_dir):
        kept = projects.pop(root, None)
        if kept is None:
            continue
        lifted.update(dict.fromkeys(_joined(rules, [kept]).retained))
        if _entries(rules):
            projects[root] = {**kept, "requirements": _entries(rules), "hooks": []}
        write_json(path, {"projects": projects})
    return list(lifted)


def _records(cache_dir: str) -> list[tuple[str, dict[str, dict[str, Any]]]]:
    folder = cache_dir + FOLDER
    try:
        paths = [f"{folder}/{name}" for name in sorted(os.listdir(folder))] if cache_dir else []
    except OSError:
        return []
    return [(path, dict(_pairs(read_object(path, _BYTES).get("projects")))) for path in paths]


def _pairs(kept: object) -> list[tuple[str, dict[str, Any]]]:
    known = kept.items() if isinstance(kept, dict) else ()
    return [(key, record) for key, record in known if isinstance(record, dict)]


def _entries(rules: Rules) -> list[dict[str, Any]]:
    """Return the requirements to keep: all if a person alone may satisfy one, who changes the files."""
    kept = rules.active if any(entry.human_only for entry in rules.active) else []
    return [{name: getattr(entry, name) for name in entry.__slots__} for entry in kept]


def _joined(rules: Rules, kept: list[dict[str, Any]]) -> Rules:
    """Return ``rules`` with each of the kept requirements of which they ask less, as it was."""
    now = {entry.name: entry for entry in rules.active} if rules.readable else {}
    kept_rules: dict[str, Requirement] = {}
    for record in kept:
        for data in record.get("requirements", []):
            with suppress(KeyError, TypeError, AttributeError):  # a damaged record holds nothing
                seen = Requirement.kept(data)
                if seen.name not in now or not _asks_as_much(now[seen.name], seen):
                    kept_rules[seen.name] = seen
    scopes = {str(scope) for record in kept for scope in record.get("scopes") or ()}
    verified = set(rules.hooks.verify_scopes) if rules.hooks.verify_requirements else set()
    if not kept_rules and scopes <= verified:
        return rules
    hooks = replace(rules.hooks, verify_requirements=True, verify_scopes=sorted(scopes | verified))
    others = [entry for name, entry in now.items() if name not in kept_rules]
    return Rules(
        [*others, *kept_rules.values()],
        hooks if scopes else rules.hooks,
        problems=rules.problems,
        retained=list(kept_rules) or sorted(scopes - verified),
        lost=not rules.readable,
    )


def _asks_as_much(now: Requirement, seen: Requirement) -> bool:
    """Return whether what meets ``now`` would have met ``seen``, and it is asked for wherever that was."""
    wider = (
        all(trigger in now.triggers for trigger in seen.triggers)
        and now.stop_only <= seen.stop_only
        and now.edits in ("any", seen.edits)
        and set(seen.protected_branches) <= set(now.protected_branches)
    )
    judged = {"triggers", "stop_only", "edits", "protected_branches"}
    compared = {column.name for column in fields(Requirement)} - _WORDS - judged
    return wider and all(getattr(now, name) == getattr(seen, name) for name in compared)


HUMAN = "human"
"""``satisfied_by`` of a satisfaction that a person gave: the only one that counts for human_only."""

MARK = "signature"
"""Where the record's metadata has it."""

_KEY_BYTES = 32


def signature(
    cache_dir: str, common_dir: str, branch: str, note: dict[str, Any], *, make_key: bool = False
) -> str:
    """Return the signature of a satisfaction: ``name``, ``session_id``, ``at`` and ``expires_at`` of
    ``note``.

    Empty without a key. Cost: one read of 32 bytes.

    Raises:
        OSError: If a key is to be made and can't be.
    """
    key = (
        _key(f"{os.path.dirname(os.path.dirname(cache_dir))}/gates.key", make=make_key) if cache_dir else b""
    )
    parts = [common_dir, branch, note["name"], note["session_id"], note["at"], note["expires_at"]]
    return hmac.new(key, json.dumps(parts).encode(), hashlib.sha256).hexdigest() if key else ""


def is_signed(
    record: dict[str, Any], name: str, session_id: str, *, cache_dir: str, common_dir: str, branch: str
) -> bool:
    """Return whether a person gave the satisfaction that ``record`` holds, for that branch and session."""
    metadata = record.get("metadata")
    mark = metadata.get(MARK) if isinstance(metadata, dict) else None
    if record.get("satisfied_by") != HUMAN or not isinstance(mark, str) or not mark:
        return False
    note = {"name": name, "session_id": session_id, "at": record.get("satisfied_at")}
    note["expires_at"] = record.get("expires_at")
    try:
        return hmac.compare_digest(signature(cache_dir, common_dir, branch, note), mark)
    except (TypeError, ValueError):
        return False


def _key(path: str, *, make: bool) -> bytes:
    try:
        return read_bytes(path, _KEY_BYTES)
    except (OSError, ValueError):
        if not make:
            return b""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as target:
        key = secrets.token_bytes(_KEY_BYTES)
        target.write(key)
    return key
