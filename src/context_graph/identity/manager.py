"""Provides the seeds' SessionIdentityManager: identity continuity for a program of your own, without an
owner.

`context_graph.SessionIdentityManager` is public (docs/dev/library.md); a program brings its own
vectors. Hooks don't use it: the owner makes its vectors from events (identity.live) and writes them with each
event in one batch. Both keep the same records and use the same formulas (identity.continuity), so either
reads what the other wrote. Every method is durable when it returns.
"""

from __future__ import annotations

import copy
import math
import os
import time
import uuid
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from context_graph.errors import InvalidInputError, SessionNotFoundError
from context_graph.identity.consciousness import order_of
from context_graph.identity.continuity import cross_session_ic, identity_continuity
from context_graph.model import KURAMOTO_N, SessionIdentitySnapshot, cut_session_id
from context_graph.store.engine.tuning import Durability, Tuning
from context_graph.store.sessions.records import Evidence
from context_graph.store.sessions.sessions import SessionStore

MAX_IC_DELTA: Final = 0.1
"""D3.4: beyond it a caller's ic_delta is capped, and even so it is evidence only."""
CACHED_SESSIONS: Final = 64


class SessionIdentityManager:
    """Sessions of one store, the last used ones in memory (seed 000 REQ-SESSION-06, seed 001 section 2.4).

    Not thread-safe. Snapshots that are given and returned are the caller's: changing one changes nothing here
    until it is saved.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._cache: OrderedDict[str, SessionIdentitySnapshot] = OrderedDict()

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, durability: Durability = "normal"
    ) -> SessionIdentityManager:
        """Open or create the database folder ``path``.

        Raises StoreLockedError if the owner, or another process, has it open. Raises StoreError if it can't
        be opened; the subclass says why.
        """
        return cls(SessionStore.open(path, tuning=Tuning(durability)))

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._cache.clear()
        self._store.close()

    def __enter__(self) -> SessionIdentityManager:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def load_or_create(
        self, session_id: str, previous_session_id: str | None = None
    ) -> SessionIdentitySnapshot:
        """Return the session's snapshot; a new one is created and saved if there is none (REQ-HOOKS-23).

        A new session that names a previous one continues it: linked, with its purpose vector, phases,
        coupling and trajectory (D3.5). A previous session that is not there means a fresh start; one that is
        given for an existing, unlinked session links it. Raises CorruptedIdentityError: The session, or the
        one it continues, can't be read.
        """
        previous = self._find(previous_session_id) if previous_session_id is not None else None
        snapshot = self._find(session_id)
        if snapshot is None:
            return copy.deepcopy(self._begin(session_id, previous))
        if previous is not None and snapshot.previous_session_id is None:
            self.link_sessions(snapshot.session_id, previous.session_id)
        return self._own(session_id)

    def save(self, snapshot: SessionIdentitySnapshot) -> None:
        """Store ``snapshot`` atomically and make it the latest (REQ-HOOKS-24).

        Raises InvalidInputError for a value that is not finite or does not fit, named.
        """
        self._store.save_snapshot(snapshot)
        self._remember(copy.deepcopy(snapshot))

    def update_ic_and_trajectory(
        self, session_id: str, purpose_vector: Sequence[float], ic_delta: float
    ) -> SessionIdentitySnapshot:
        """Take a new purpose vector into the session (REQ-HOOKS-25).

        IC = clamp(cos(new vector, stored vector) * r, 0, 1), and 1.0 while there is no earlier vector. The
        first own vector of a session that continues another is compared with that one's: this IC is its
        cross-session IC too.

        Args:
            purpose_vector: 13 finite numbers.
            ic_delta: What the caller thinks IC changed by; recorded, capped at +-0.1, and without influence.

        Raises:
            SessionNotFoundError: No such session; load_or_create makes it.
            InvalidInputError: A vector of another length, or a number that is not finite.
        """
        vector = _vector(purpose_vector)
        if not math.isfinite(ic_delta):
            raise InvalidInputError(f"ic_delta is {ic_delta!r}; it must be a finite number")
        snapshot = self._own(session_id)
        if snapshot.trajectory:
            r = order_of(snapshot.kuramoto_phases)
            snapshot.last_ic = identity_continuity(vector, snapshot.purpose_vector, r)
            if snapshot.cross_session_ic is None:  # until now the vector is the earlier session's
                snapshot.cross_session_ic = snapshot.last_ic
        else:
            snapshot.last_ic = 1.0
        snapshot.purpose_vector = vector
        snapshot.append_to_trajectory(vector)
        snapshot.timestamp_ms = _now_ms()
        capped = max(-MAX_IC_DELTA, min(MAX_IC_DELTA, ic_delta))
        self._save_with(snapshot, "ic_delta", capped)
        return copy.deepcopy(snapshot)

    def get_cached(self, session_id: str | None = None) -> SessionIdentitySnapshot | None:
        """Return the session used last, or the one of that id, if in memory; no reading (REQ-HOOKS-26)."""
        if not self._cache:
            return None
        wanted = next(reversed(self._cache)) if session_id is None else cut_session_id(session_id)
        return copy.deepcopy(self._cache.get(wanted))

    def link_sessions(self, current_id: str, previous_id: str) -> float | None:
        """Make ``current_id`` continue ``previous_id`` and return its cross-session IC (REQ-HOOKS-27).

        None where it continues it already and has no vector of its own to compare yet.

        Raises SessionNotFoundError if one of them is not there. Raises InvalidInputError: The link would
        close a circle.
        """
        current, previous = self._own(current_id), self._own(previous_id)
        before = {row.session_id for row in self._store.chain(previous.session_id, _CHAIN_SEARCHED).sessions}
        if current.session_id in before:
            raise InvalidInputError(
                f"session {current.session_id!r} can't continue {previous.session_id!r}, which continues it"
            )
        current.previous_session_id = previous.session_id
        if current.previous_session_id == previous.session_id and current.cross_session_ic is None:
            return None
        continuity = current.cross_session_ic = cross_session_ic(current, previous)
        self._store.save_snapshot(current)
        self._remember(current)
        return continuity

    def persist_final(self, session_id: str, duration_ms: int) -> SessionIdentitySnapshot:
        """Store the session as it ends, with its duration as evidence; resets nothing (REQ-HOOKS-28).

        Raises SessionNotFoundError if there is no such session. Raises InvalidInputError for a negative
        duration.
        """
        if duration_ms < 0:
            raise InvalidInputError(f"duration_ms is {duration_ms}; it must be 0 or more")
        snapshot = self._own(session_id)
        snapshot.timestamp_ms = _now_ms()
        self._save_with(snapshot, "session_end", float(duration_ms))
        return copy.deepcopy(snapshot)

    def evidence(self, session_id: str) -> list[Evidence]:
        """Return what update_ic_and_trajectory and persist_final were told, oldest first."""
        return self._store.load_evidence(session_id)

    def capture_snapshot(self, session_id: str) -> SessionIdentitySnapshot:
        """Return the session as it is now, stamped with the present time; not saved (REQ-SESSION-06).

        Raises SessionNotFoundError if there is no such session.
        """
        snapshot = self._own(session_id)
        snapshot.timestamp_ms = _now_ms()
        return snapshot

    def restore_identity(self, target: str | None = None) -> tuple[SessionIdentitySnapshot, float | None]:
        """Begin a new session that continues ``target`` (id or alias), or the latest one for None (D3.5).

        Returns:
            (The new session's snapshot, saved; its cross-session IC). That is None: a vector that was taken
            over is like itself, whatever the new session does; the first own one is measured
            (update_ic_and_trajectory). Until then last_ic is the earlier session's own. A target that is not
            there, or an empty store, gives a fresh unlinked session and 1.0, as in seed 000.

        Raises:
            CorruptedIdentityError: The session to continue can't be read.
            InvalidInputError: An ambiguous alias.
        """
        try:
            resolved = None if target is None else self._store.resolve_id(target)
            previous: SessionIdentitySnapshot | None = self._store.load_snapshot(resolved)
        except SessionNotFoundError:
            previous = None
        snapshot = self._begin(str(uuid.uuid4()), previous)
        return copy.deepcopy(snapshot), snapshot.cross_session_ic

    compute_cross_session_ic = staticmethod(cross_session_ic)
    """IC of a current snapshot beside a previous one: cos of their PVs * r of its phases (IDENTITY-001)."""

    def _begin(self, session_id: str, previous: SessionIdentitySnapshot | None) -> SessionIdentitySnapshot:
        snapshot = SessionIdentitySnapshot(session_id=session_id)
        if previous is not None:
            snapshot.previous_session_id = previous.session_id
            snapshot.kuramoto_phases = list(previous.kuramoto_phases)
            snapshot.coupling = previous.coupling
            snapshot.purpose_vector = list(previous.purpose_vector)
            snapshot.trajectory = [list(vector) for vector in previous.trajectory]
            snapshot.cross_session_ic = None
            snapshot.last_ic = previous.last_ic
        self._store.save_snapshot(snapshot)
        self._remember(snapshot)
        return snapshot

    def _find(self, session_id: str) -> SessionIdentitySnapshot | None:
        try:
            return self._own(session_id)
        except SessionNotFoundError:
            return None

    def _own(self, session_id: str) -> SessionIdentitySnapshot:
        """Return a copy of the session's snapshot, from memory or the store, free to be changed and saved."""
        session_id = cut_session_id(session_id)
        cached = self._cache.get(session_id)
        if cached is None:
            cached = self._store.load_snapshot(session_id)
        self._remember(cached)
        return copy.deepcopy(cached)

    def _save_with(self, snapshot: SessionIdentitySnapshot, kind: str, value: float) -> None:
        evidence = self._store.load_evidence(snapshot.session_id)
        evidence.append(Evidence(kind, snapshot.timestamp_ms, snapshot.last_ic, value))
        self._store.save_snapshot(snapshot, evidence=evidence)
        self._remember(copy.deepcopy(snapshot))

    def _remember(self, snapshot: SessionIdentitySnapshot) -> None:
        self._cache[snapshot.session_id] = snapshot
        self._cache.move_to_end(snapshot.session_id)
        while len(self._cache) > CACHED_SESSIONS:
            self._cache.popitem(last=False)


_CHAIN_SEARCHED: Final = 10_000


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _vector(values: Sequence[float]) -> list[float]:
    if len(values) != KURAMOTO_N:
        raise InvalidInputError(f"purpose_vector has {len(values)} values, must have {KURAMOTO_N}")
    vector = array("f", values).tolist()  # as it will be stored, so that IC is the same after a restart
    for index, value in enumerate(vector):
        if not math.isfinite(value):
            raise InvalidInputError(f"purpose_vector[{index}] is {values[index]!r}; must be a finite float32")
    return vector
