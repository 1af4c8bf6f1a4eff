"""Commits a prepared consolidation as one batch, leaving out what changed in the store meanwhile."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any, Final
from uuid import UUID

import msgspec

from context_graph.consolidation.messages import UNMEASURED, Consciousness
from context_graph.consolidation.plan import Goal, Mode, Plan
from context_graph.memory import runs
from context_graph.memory.reading import Reading
from context_graph.store.engine.tuning import Write
from context_graph.store.graph.edits import Group, gc_paused
from context_graph.store.graph.run_batch import Changes, changed_since, unchanged

KINDS: Final = {"merge": "merges", "prune": "prunes", "reweight": "reweights", "link": "links"}
"""Kind of a change -> the plan's field that holds those, in the order in which they are worked out."""
LISTED: Final = 100
"""Entries of each list of a result at most; the counts beside them are of all."""
_HEAD: Final = struct.Struct("<4sI")
_MAGIC: Final = b"CGP\x01"


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of one run to the store that it was made from, as exact records."""

    uid: bytes
    """Whose (GraphStore.uid)."""
    plan: Plan
    """What of the plan can be done; a dry run tells this."""
    groups: Sequence[Group]
    records: Sequence[Write] = ()
    """Facts about the store that are written with it."""

    def result(self) -> Result:
        """Return the result of a dry run: the same as a commit's, if no other change comes in between."""
        gone = sum(len(merge.losers) for merge in self.plan.merges) + len(self.plan.prunes)
        return Result(plan=self.plan, final_memory_count=self.plan.memories - gone, dry_run=True)

    def to_bytes(self) -> bytes:
        """For `from_bytes`; some 3 KB for each merge."""
        body = _ENCODER.encode(self)
        return _HEAD.pack(_MAGIC, zlib.crc32(body)) + body

    @classmethod
    def from_bytes(cls, packed: bytes) -> Prepared:
        """Return what `to_bytes` wrote.

        Raises ValueError: Other bytes, or damaged ones.

        Cost: some 20 us for each merge.
        """
        body = memoryview(packed)[_HEAD.size :]
        if len(packed) < _HEAD.size or _HEAD.unpack_from(packed) != (_MAGIC, zlib.crc32(body)):
            raise ValueError(
                "not the bytes of a prepared consolidation: cut short, damaged or of another version"
            )
        try:
            with gc_paused():
                return _DECODER.decode(body)
        except msgspec.DecodeError as error:
            raise ValueError(f"not the bytes of a prepared consolidation: {error}") from error


_ENCODER: Final = msgspec.msgpack.Encoder(uuid_format="bytes")
_DECODER: Final = msgspec.msgpack.Decoder(Prepared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run: what it did, or in a dry run would do (seed 002's ConsolidateResult, and D5's)."""

    plan: Plan
    """Of a dry run what can be done, of a real one what was."""
    final_memory_count: int
    """Live memories after it; of a dry run, what they would be."""
    undo_token: UUID | None = None
    """None in a dry run, and if nothing was changed."""
    at_ms: int = 0
    """Unix ms of the commit; 0 if nothing was written."""
    skipped: Sequence[tuple[str, tuple[UUID, ...]]] = ()
    """Changes that were left out, because part of each had changed since the plan was made: merge, prune,
    reweight or link, with the memories, or the edge."""
    dry_run: bool = False
    requested_mode: Mode | None = None
    """None: the one that ran."""
    consciousness: Consciousness = UNMEASURED
    duration_ms: int = 0

    @property
    def mode(self) -> Mode:
        """The mode that ran."""
        return self.plan.mode

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for a person, in whole sentences."""
        notes = list(self.plan.notes)
        plan = self.plan
        if not any((*plan.changes().values(), plan.goals_adjusted, plan.moves_floor, self.skipped)):
            notes.insert(0, _nothing(self.plan))
        if self.skipped:
            notes.append(
                f"{len(self.skipped)} of the changes found were not made: what they concern was changed "
                "while they were looked for."
            )
        if self.requested_mode not in (None, self.mode):
            state = self.consciousness.dream_state.value
            level = self.consciousness.consciousness_level
            notes.insert(
                0,
                f"{self.requested_mode} was asked for; C is {level:.2f} ({state}), which allows {self.mode}.",
            )
        return tuple(notes)

    def as_dict(self) -> dict[str, Any]:
        """JSON-able: seed 002's fields, then ours; lists hold at most LISTED entries."""
        plan, changes = self.plan, self.plan.changes()
        made: dict[str, Any] = {
            "mode": self.mode.value,
            "pruned_count": changes["pruned"],
            "merged_count": changes["merged"],
            "clusters_discovered": len(plan.clusters),
            "new_patterns": _views(plan.patterns, "pattern_id", "description", "memory_count", "confidence"),
            "final_memory_count": self.final_memory_count,
            "duration_ms": self.duration_ms,
            "dry_run": self.dry_run,
            "consciousness": self.consciousness.as_dict(),
            "requested_mode": (self.requested_mode or self.mode).value,
            "memory_count": plan.memories,
            "considered_count": plan.considered,
            "links_made_count": changes["links"],
            "reweighted_count": changes["reweighted"],
            "goals_count": len(plan.goals),
            "goals_adjusted_count": plan.goals_adjusted,
            "merged": _views(plan.merges, "survivor", "losers", "similarity"),
            "pruned": [
                {"node_id": str(prune.id), "salience": round(prune.salience, 4)}
                for prune in plan.prunes[:LISTED]
            ],
            "links_made": _views(
                plan.links, "source", "target", "relationship_type", "weight", "confidence", "why"
            ),
            "goals": [goal_view(goal) for goal in plan.goals[:LISTED]],
            "notes": list(self.notes),
        }
        if plan.hindsight is not None:
            made["hindsight"] = asdict(plan.hindsight)
        if plan.drift is not None:
            made["drift"] = {**asdict(plan.drift), "similarity": round(plan.drift.similarity, 4)}
        if self.undo_token is not None:
            made["undo_token"] = str(self.undo_token)
        if self.skipped:
            made["skipped_count"] = len(self.skipped)
            made["skipped"] = [{"kind": kind, "ids": _plain(ids)} for kind, ids in self.skipped[:LISTED]]
        return made


def goal_view(goal: Goal) -> dict[str, Any]:
    """Return a goal as answers tell it, JSON-able; without its members and its centroid."""
    names = ("goal_id", "description", "level", "confidence", "coherence")
    return {name: _plain(getattr(goal, name)) for name in names} | {"member_count": len(goal.members)}


def _views(items: Sequence[Any], *names: str) -> list[dict[str, Any]]:
    """Return the first of ``items`` with those fields, JSON-able."""
    return [{name: _plain(getattr(item, name)) for name in names} for item in items[:LISTED]]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(item) for item in value[:LISTED]]
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, UUID) else value


def _nothing(plan: Plan) -> str:
    if plan.memories == 0:
        return "There was nothing to do: the store has no memories."
    looked = (
        f"{plan.considered} of {plan.memories}" if plan.considered < plan.memories else f"{plan.memories}"
    )
    noun = "memory" if looked == "1" else "memories"
    return f"There was nothing to do: of the {looked} {noun}, none is to be merged, forgotten or linked."


def commit(memex: Reading, prepared: Prepared, *, details: Mapping[str, Any] | None = None) -> Result:
    """Write what was prepared, as one run: all of it that is still valid, or nothing if the write fails.

    Args:
        details: A small JSON object to keep with the run.

    Raises:
        ValueError: It was prepared from another store.
        StoreError: The write failed; nothing of it is stored.

    Cost: holds the store's lock for some 0.1 ms a merge.
    """
    with memex.core.operation("consolidate", writes=True) as core:
        if core.store.uid != prepared.uid:
            raise ValueError("this consolidation was prepared from another store")
        changed, has_removal = changed_since(core.store, prepared.plan.seq)
        groups = unchanged(prepared.groups, changed)
        plan = reduced(prepared.plan, (item for group in groups for item in group.items))
        changes = Changes(
            mode=plan.mode.value,
            edits=[edit for group in groups for edit in group.edits],
            uses=[uses for group in groups for uses in group.uses],
            records=() if has_removal else prepared.records,  # they might quote what has gone for good
            counts=plan.changes(),
            details=details or {},
        )
        run = runs.write(core, changes)
        return Result(
            plan=plan,
            final_memory_count=core.store.counters.nodes,
            undo_token=None if run is None else run.token,
            at_ms=0 if run is None else run.at_ms,
            skipped=_skipped(prepared, groups),
        )


def reduced(plan: Plan, items: Iterable[tuple[str, int]]) -> Plan:
    """Return ``plan`` with those of its changes alone, in its order."""
    kept: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for kind, number in items:
        kept[kind].add(number)
    changes: dict[str, Any] = {
        name: tuple(item for number, item in enumerate(getattr(plan, name)) if number in kept[kind])
        for kind, name in KINDS.items()
    }
    return replace(plan, **changes)


def _skipped(prepared: Prepared, done: list[Group]) -> tuple[tuple[str, tuple[UUID, ...]], ...]:
    items = {item for group in done for item in group.items}
    missed = [item for group in prepared.groups for item in group.items if item not in items]
    return tuple((kind, _ids(kind, getattr(prepared.plan, KINDS[kind])[number])) for kind, number in missed)


def _ids(kind: str, item: Any) -> tuple[UUID, ...]:
    if kind == "merge":
        return (item.survivor, *item.losers)
    if kind == "prune":
        return (item.id,)
    return (item.source, item.target) if kind == "link" else (item.edge,)
