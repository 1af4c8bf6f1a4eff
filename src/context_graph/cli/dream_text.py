"""Consolidations, their undoing, a memory's history and goals as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from context_graph.cli.memory_tables import edge_text, table

__all__ = ["consolidation_text", "goals_text", "history_text", "runs_text", "undone_text"]

_ID_CHARS: Final = 8
_SHOWN: Final = 10
_LOSERS: Final = 4
_VALUE_CHARS: Final = 60


def _one(_: object) -> int:
    return 1


def consolidation_text(found: Mapping[str, Any]) -> str:
    """What a run did or would do, the first few of each kind, and how to take it back."""
    would, will = ("would be ", "would be left") if found["dry_run"] else ("", "are left")
    level, state = found["consciousness"]["consciousness_level"], found["consciousness"]["dream_state"]
    lines = [
        f"{found['mode']}{' (dry run)' if found['dry_run'] else ''}: {found['merged_count']} {would}merged, "
        f"{found['pruned_count']} {would}forgotten; {found['final_memory_count']} memories {will} "
        f"({found['duration_ms'] / 1000.0:.1f} s; C {level:.2f}, {state})"
    ]
    more = {
        "clusters": found["clusters_discovered"],
        "links made": found.get("links_made_count", 0),
        "links reweighted": found.get("reweighted_count", 0),
        "patterns": len(found["new_patterns"]),
        "goals": found.get("goals_count", 0),
    }
    if any(more.values()):
        lines.append(", ".join(f"{name} {count}" for name, count in more.items() if count))
    lines += _some("merged", found["merged"], found["merged_count"], _merge_line, _losers)
    lines += _some("forgotten", found["pruned"], found["pruned_count"], _prune_line)
    lines += _some("linked", found["links_made"], found.get("links_made_count", 0), _link_line)
    lines += _some("pattern", found["new_patterns"], len(found["new_patterns"]), _pattern_line)
    lines += _some("goal", found["goals"], found.get("goals_count", 0), _goal_line)
    drift = found.get("drift")
    if drift:
        lines.append(
            f"drift      {drift['level']}: recent memories are {drift['similarity']:.2f} like the goals"
        )
    if found.get("skipped_count"):
        lines.append(f"skipped    {found['skipped_count']}, changed while it ran")
    lines += [f"note       {note}" for note in found["notes"]]
    if found.get("undo_token"):
        lines.append(f"undo       context-graph-cli memory undo {found['undo_token'][:_ID_CHARS]}")
    return "\n".join(lines)


def undone_text(found: Mapping[str, Any]) -> str:
    """What an undo did."""
    did = {
        "memories restored": found["restored"],
        "memories forgotten again": found["forgotten"],
        "memories changed back": found.get("changed", 0),
        "links put back": found["edges"],
    }
    told = ", ".join(f"{count} {what}" for what, count in did.items() if count)
    lines = [f"undone: run {found['undone'][:_ID_CHARS]}; {told or 'nothing of it was left to undo'}"]
    if found["kept_count"]:
        kept = ", ".join(found["kept"][:_SHOWN]) + (", …" if found["kept_count"] > _SHOWN else "")
        lines.append(f"{found['kept_count']} left as they are, changed since: {kept}")
    if found["token"]:
        lines.append(f"take it back: context-graph-cli memory undo {found['token'][:_ID_CHARS]}")
    return "\n".join(lines)


def runs_text(found: Mapping[str, Any]) -> str:
    """One line a run."""
    if not found["runs"]:
        return "no consolidations yet"
    rows = [("TOKEN", "WHEN", "MODE", "WHY", "UNDONE", "DID")]
    for run in found["runs"]:
        counts = ", ".join(f"{name} {count}" for name, count in run["counts"].items() if count)
        rows.append(
            (
                run["token"][:_ID_CHARS],
                _time(run["at_ms"]),
                run["mode"] if not run["undoes"] else f"undo of {run['undoes'][:_ID_CHARS]}",
                str(run["details"].get("trigger") or "-"),
                "yes" if run["undone_by"] else "-",
                counts or "-",
            )
        )
    return table(rows)


def history_text(found: Mapping[str, Any]) -> str:
    """One line a change, newest first."""
    if not found["versions"]:
        return f"{found['id']}: unchanged for as long as history is kept"
    lines = [f"memory {found['id']}"]
    for version in found["versions"]:
        run = f" by run {version['run'][:_ID_CHARS]}" if version["run"] else ""
        lines.append(f"{_time(version['at_ms'])}  {version['what']}{run}")
        if version.get("edge"):
            lines.append(f"    {edge_text(version['edge'])}")
        lines += [f"    {name} was {_value(value)}" for name, value in (version["before"] or {}).items()]
    return "\n".join(lines)


def goals_text(found: Mapping[str, Any]) -> str:
    """The goals, each below its parent."""
    goals = found["goals"]
    if not goals:
        return "no goals: the memories show none yet"
    ids = {goal["goal_id"] for goal in goals}
    lines: list[str] = []

    def add(parent: str | None, depth: int) -> None:
        for goal in goals:
            if (goal["parent"] if goal["parent"] in ids else None) == parent:
                lines.append("  " * depth + _goal_line(goal))
                add(goal["goal_id"], depth + 1)

    add(None, 0)
    return "\n".join(lines)


def _some(
    name: str,
    entries: Sequence[Any],
    total: int,
    line: Callable[[Any], str],
    size: Callable[[Any], int] = _one,
) -> list[str]:
    """The first few entries, and how many of ``total`` they leave untold; an entry may tell of several."""
    shown = entries[:_SHOWN]
    lines = [f"{name:<9}  {line(entry)}" for entry in shown]
    left = total - sum(map(size, shown))
    return [*lines, f"{name:<9}  … {left} more"] if left > 0 else lines


def _losers(merge: Mapping[str, Any]) -> int:
    return len(merge["losers"])


def _merge_line(merge: Mapping[str, Any]) -> str:
    losers = ", ".join(one[:_ID_CHARS] for one in merge["losers"][:_LOSERS])
    left = len(merge["losers"]) - _LOSERS
    more = f" and {left} more" if left > 0 else ""
    return f"{losers}{more} into {merge['survivor'][:_ID_CHARS]} (alike {merge['similarity']:.2f})"


def _prune_line(prune: Mapping[str, Any]) -> str:
    return f"{prune['node_id'][:_ID_CHARS]} (salience {prune['salience']:.2f})"


def _link_line(link: Mapping[str, Any]) -> str:
    ends = f"{link['source'][:_ID_CHARS]} -{link['relationship_type']}-> {link['target'][:_ID_CHARS]}"
    return f"{ends} ({link['why']}, weight {link['weight']:.2f})"


def _pattern_line(pattern: Mapping[str, Any]) -> str:
    count, confidence = pattern["memory_count"], pattern["confidence"]
    return f"{pattern['description']} ({count} memories, confidence {confidence:.2f})"


def _goal_line(goal: Mapping[str, Any]) -> str:
    aligned = goal.get("alignment")
    alignment = f", session aligned {aligned['overall']:+.2f}" if aligned else ""
    return (
        f"{goal['level']}: {goal['description']} "
        f"({goal['member_count']} memories, confidence {goal['confidence']:.2f}{alignment})"
    )


def _value(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


def _time(at_ms: int | None) -> str:
    if at_ms is None:
        return "at a time not kept"
    return datetime.fromtimestamp(at_ms / 1000.0).astimezone().isoformat(sep=" ", timespec="seconds")
