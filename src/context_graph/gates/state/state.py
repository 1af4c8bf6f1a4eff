"""Holds one branch's state: the requirements that are satisfied or armed, for whom, since and until when.

The document is version 1.0 of the original, which can read what is written here: entries with root fields
(branch and permanent scope, and the override for all sessions) and a ``sessions`` map. Sessions are keyed by
full id. The original's 8-character keys are read, and moved to the full id by the first write of that
session, where the newer ``satisfied_at`` wins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from context_graph.gates.state.session_ids import is_alias, same_session
from context_graph.system.small_files import number

VERSION = "1.0"
MAX_SESSIONS = 200
"""Session records kept in one requirement's entry; the least recently used go first."""

_FLAGS = ("satisfied", "satisfied_at", "satisfied_by", "metadata", "expires_at")


class BranchState:
    """The document of one branch. Reading never changes it; ``changed`` says whether it must be written."""

    def __init__(self, branch: str, document: dict[str, Any]) -> None:
        self.branch, self.document, self.changed = branch, document, False

    @classmethod
    def new(cls, branch: str, project: str, now: float) -> BranchState:
        """Return the state of a branch that has none."""
        return cls(
            branch,
            {
                "version": VERSION,
                "branch": branch,
                "project": project,
                "created_at": int(now),
                "updated_at": int(now),
                "requirements": {},
            },
        )

    def names(self) -> list[str]:
        """Return requirements with an entry."""
        return list(self.document["requirements"])

    def entry(self, name: str) -> dict[str, Any]:
        """Return the requirement's entry, {} if there is none (or it is not of the right shape)."""
        entry = self.document["requirements"].get(name)
        return entry if isinstance(entry, dict) else {}

    def sessions(self, name: str) -> dict[str, Any]:
        """Return the requirement's records by session."""
        sessions = self.entry(name).get("sessions")
        return sessions if isinstance(sessions, dict) else {}

    def record(self, name: str, session_id: str) -> dict[str, Any]:
        """Return the session's own record: under its full id or its short form, the newer of both."""
        records = self.sessions(name)
        own = [records[key] for key in _own_keys(records, session_id) if isinstance(records[key], dict)]
        return _merged(own)

    def is_armed(self, name: str, session_id: str, *, per_session: bool) -> bool:
        """Return whether an allowed call of this session has triggered the requirement.

        A root flag without any session's record was written by the original, which did not keep whose it was.
        """
        if self.record(name, session_id).get("triggered") is True:
            return True
        entry = self.entry(name)
        return not per_session and entry.get("triggered") is True and not self.sessions(name)

    def satisfy(
        self,
        name: str,
        session_id: str,
        *,
        scope: str,
        now: float,
        by: str,
        expires_at: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the flags of the session's record, or of the root where ``session_id`` is empty; a satisfaction
        that is newer stays.
        """
        old = self.record(name, session_id) if session_id else self.entry(name)
        if old.get("satisfied") is True and number(old.get("satisfied_at")) > now:
            return
        record = self._writable(name, session_id, scope)
        for key in _FLAGS:
            record.pop(key, None)
        record.update(satisfied=True, satisfied_at=int(now), satisfied_by=by, expires_at=expires_at)
        if metadata:
            record["metadata"] = metadata
        if not session_id:
            for other in self.sessions(name).values():
                if isinstance(other, dict):
                    other.pop("cleared_at", None)
        self.changed = True

    def arm(self, name: str, session_id: str, *, scope: str, now: float, type: str = "blocking") -> None:
        """Note that an allowed call of this session triggered the requirement."""
        record = self._writable(name, session_id, scope)
        record.update(triggered=True, triggered_at=int(now))
        if type != "blocking":
            record["type"] = type  # a condition: nothing is open where the configuration can't be read
        if scope in ("branch", "permanent"):
            self.entry(name).update(triggered=True, triggered_at=int(now))  # where the original looks
        self.changed = True

    def disarm(self, name: str, session_id: str, now: float) -> None:
        """Take back that a call of this session, before ``now``, triggered it; its satisfaction stays."""
        records, entry = self.sessions(name), self.entry(name)
        for key in _own_keys(records, session_id):
            record = records[key]
            if not _is_triggered(record) or number(record.get("triggered_at")) > now:
                continue
            self.changed = True
            for field in ("triggered", "triggered_at", "type"):
                record.pop(field, None)
            if not record:
                del records[key]
        if self.changed and not any(_is_triggered(record) for record in records.values()):
            entry.pop("triggered", None)
            entry.pop("triggered_at", None)
            if not records and not (entry.keys() - {"scope", "sessions"}):
                self.document["requirements"].pop(name)

    def use(self, name: str, session_id: str, at: float) -> None:
        """Take back the session's satisfaction if a call at ``at`` has used it up."""
        if self.is_spent(name, session_id, at):
            refused = self.refuses_override(name, session_id)
            self.clear_session(name, session_id)
            if refused:
                self.refuse_override(name, session_id, at)

    def is_spent(self, name: str, session_id: str, at: float) -> bool:
        """Return whether a call at ``at`` used up the session's satisfaction; a younger satisfaction is kept
        for the next call.
        """
        record = self.record(name, session_id)
        return record.get("satisfied") is True and number(record.get("satisfied_at")) <= at

    def clear_session(self, name: str, session_id: str) -> bool:
        """Remove the session's record, armed flag included. Returns whether there was one."""
        records = self.sessions(name)
        keys = _own_keys(records, session_id)
        for key in keys:
            del records[key]
        entry = self.entry(name)
        if keys and not records and not (entry.keys() - {"scope", "sessions"}):
            self.document["requirements"].pop(name)
        self.changed |= bool(keys)
        return bool(keys)

    def refuse_override(self, name: str, session_id: str, now: float) -> bool:
        """Let the root's satisfaction not count for the session until the next; False if there is none."""
        entry = self.entry(name)
        if entry.get("satisfied") is not True:
            return False
        self._writable(name, session_id, str(entry.get("scope", "session")))["cleared_at"] = int(now)
        self.changed = True
        return True

    def refuses_override(self, name: str, session_id: str) -> bool:
        """Return whether the session took the root's satisfaction back for itself."""
        cleared = self.record(name, session_id).get("cleared_at")
        return cleared is not None and number(cleared) >= number(self.entry(name).get("satisfied_at"))

    def clear(self, name: str) -> bool:
        """Remove the whole entry, every session's record included."""
        removed = self.document["requirements"].pop(name, None) is not None
        self.changed |= removed
        return removed

    def clear_root(self, name: str) -> bool:
        """Remove the root's flags alone."""
        entry = self.entry(name)
        keys = [key for key in (*_FLAGS, "triggered", "triggered_at") if key in entry]
        for key in keys:
            del entry[key]
        self.changed |= bool(keys)
        return bool(keys)

    def _writable(self, name: str, session_id: str, scope: str) -> dict[str, Any]:
        requirements = self.document["requirements"]
        entry: Any = requirements.get(name)
        if not isinstance(entry, dict):
            entry = requirements[name] = {}
        entry["scope"] = scope
        if not session_id:
            root: dict[str, Any] = entry
            return root
        records: Any = entry.get("sessions")
        if not isinstance(records, dict):
            records = entry["sessions"] = {}
        keys = _own_keys(records, session_id)
        full = next((key for key in keys if not is_alias(key)), session_id)
        own = _merged([records.pop(key) for key in keys])
        _make_room(records)
        records[full] = own
        return own


def _own_keys(records: Iterable[str], session_id: str) -> list[str]:
    """Return the keys that mean this session. A short id that fits several full ones means none of them."""
    if session_id in records and not is_alias(session_id):
        return [key for key in records if same_session(key, session_id)]
    keys = [key for key in records if same_session(key, session_id)]
    full = [key for key in keys if not is_alias(key)]
    return keys if len(full) <= 1 else [key for key in keys if key == session_id]


def _merged(records: list[Any]) -> dict[str, Any]:
    """Return one record of several: the flags of the newer satisfaction, armed if any is."""
    copies = [dict(record) for record in records if isinstance(record, dict)]
    if not copies:
        return {}
    newest = max(copies, key=lambda record: number(record.get("satisfied_at")))
    armed = [record for record in copies if record.get("triggered") is True]
    if armed and newest.get("triggered") is not True:
        newest.update(triggered=True, triggered_at=armed[0].get("triggered_at"))
    return newest


def _make_room(records: dict[str, Any]) -> None:
    excess = len(records) - MAX_SESSIONS + 1
    if excess > 0:
        for key in sorted(records, key=lambda key: _last_use(records[key]))[:excess]:
            del records[key]


def _last_use(record: object) -> float:
    if not isinstance(record, dict):
        return 0.0
    return max(number(record.get(key)) for key in ("satisfied_at", "triggered_at", "cleared_at"))


def _is_triggered(record: object) -> bool:
    return isinstance(record, dict) and record.get("triggered") is True


def is_current(record: dict[str, Any], now: float, *, approval: bool = False, lasting: bool = False) -> bool:
    """Return whether ``record`` says satisfied, and is not expired at ``now``.

    ``expires_at`` of nothing or 0 never expires; what is no number is over. An approval is over at that very
    second, all else after it; ``lasting`` (permanent scope) ignores it.
    """
    if record.get("satisfied") is not True:
        return False
    expires = record.get("expires_at")
    if lasting or expires is None or expires is False or expires == 0:
        return True
    if isinstance(expires, bool) or not isinstance(expires, (int, float)):
        return False
    return now < expires if approval else now <= expires
