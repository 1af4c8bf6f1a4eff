"""Renders memories and consolidations as lines of text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from context_graph.cli.console.tables import ago, columns, counted, one_line, table

_SHOWN_APART: Final = frozenset(
    {
        *("id", "content", "as_of", "created_at", "last_accessed", "source", "importance", "access_count"),
        *("rationale", "tags", "session_id", "agent_id", "project", "johari_quadrant", "pinned", "metadata"),
        *("forgotten", "tombstone", "edges", "injections", "utl_state", "semantic_cluster", "modality"),
    }
)
"""Fields that `memory show` words, or leaves to --json; all others are shown as they are."""
RECORDS: Final = frozenset(
    {
        *("kind", "note", "notes", "capture", "gathered", "searched", "merged_from"),
        *("evidence", "confirmed", "accepted", "reworded"),
    }
)
"""Keys of metadata that the program writes for itself."""
_ID_CHARS: Final = 8
_DONE: Final = {
    **{"links": "linked", "pruned": "forgotten", "changed": "changed back", "edges": "links put back"}
}
"""What a run counts, in the words in which `memory consolidate` tells it."""
_SHOWN: Final = 10
_LOSERS: Final = 4
_VALUE_CHARS: Final = 60


def recall_text(answer: Mapping[str, Any]) -> str:
    """Return the memories that were found, best first, then what is left."""
    hub_lines = [str(answer["hub"])] if "hub" in answer else []
    if not answer["nodes"]:
        return "\n".join([str(answer["note"]), *hub_lines])
    rows = [("ID", "SCORE", "AGE", "SOURCE", "CONTENT")]
    rows += [
        (
            node["id"][:_ID_CHARS],
            f"{node['relevance_score']:.2f}" + (" weak" if node.get("weak") else ""),
            _age(node),
            _place(node["from"]) if "from" in node else node["source"],
            f"[{node['standing']}] {node['content']}" if node.get("standing") else node["content"],
        )
        for node in answer["nodes"]
    ]
    return "\n".join(
        [*([str(answer["note"])] if "note" in answer else []), _page(table(rows), answer), *hub_lines]
    )


def _place(origin: Mapping[str, str]) -> str:
    """Return where a memory of the team is, and who sent it."""
    return f"{origin['project']}, {origin['author']}" if origin.get("author") else origin["project"]


def list_text(answer: Mapping[str, Any]) -> str:
    """Return one line a memory, newest first; or what was forgotten, or injected."""
    if "tombstones" in answer:
        return _forgotten(answer)
    if "injections" in answer:
        return _injections(answer)
    if not answer["nodes"]:
        return "no memories here"
    rows = [("ID", "AGE", "IMP", "SOURCE", "TAGS", "CONTENT")]
    rows += [
        (
            node["id"][:_ID_CHARS],
            _age(node),
            f"{node['importance']:.2f}",
            node.get("kind") or node["source"],
            ",".join(node["tags"]) or "-",
            _marked(node),
        )
        for node in answer["nodes"]
    ]
    return _page(table(rows), answer)


def _marked(node: Mapping[str, Any]) -> str:
    newer = node.get("superseded_by")
    return f"[superseded by {newer[:_ID_CHARS]}] {node['content']}" if newer else str(node["content"])


def _forgotten(answer: Mapping[str, Any]) -> str:
    if not answer["tombstones"]:
        return "nothing was forgotten"
    rows = [("ID", "FORGOTTEN", "CAN BE RESTORED", "REASON")]
    rows += [
        (
            stone["id"] if not stone["soft"] else stone["id"][:_ID_CHARS],
            f"{ago(stone['deleted_at_ms'])} ago",
            "yes" if stone["soft"] else "no",
            stone["reason"].replace("_", " ") if stone["reason"] else "-",
        )
        for stone in answer["tombstones"]
    ]
    return _page(table(rows), answer)


def _injections(answer: Mapping[str, Any]) -> str:
    if not answer["injections"]:
        return "nothing was injected yet"
    rows = [("WHEN", "SESSION", "AT", "ID", "SCORE", "TOKENS", "USED")]
    rows += [
        (
            f"{ago(entry['at_ms'])} ago",
            entry["session_id"][:_ID_CHARS],
            entry["event"],
            memory["id"][:_ID_CHARS],
            f"{memory['score']:.2f}",
            str(memory["tokens"]),
            memory["used"] or "no sign of it",
        )
        for entry in answer["injections"]
        for memory in entry["memories"]
    ]
    return _page(table(rows), answer)


def node_text(node: Mapping[str, Any]) -> str:
    """`memory show` for people: fields, links, then the content as it is."""
    lines = [
        ("memory", node["id"]),
        ("as of", _time(node["as_of"]) if node.get("as_of") else ""),
        ("created", f"{_time(node['created_at'])} ({_age(node)} ago), {node['source']}"),
        ("importance", f"{node['importance']:.2f}, used {counted(node['access_count'], 'time')}"),
        ("rationale", node["rationale"]),
        ("tags", ", ".join(node["tags"])),
        ("session", node.get("session_id") or ""),
        ("agent", node.get("agent_id") or ""),
        ("project", node.get("project") or ""),
        ("pinned", "yes" if node.get("pinned") else ""),
        *_of_metadata(node.get("metadata") or {}),
    ]
    lines += [(name, str(node[name] or "")) for name in node if name not in _SHOWN_APART]
    if node.get("forgotten"):
        lines.append(("forgotten", "yes, at that time"))
    stone = node.get("tombstone")
    if stone:
        lines.append(("forgotten", f"{ago(stone['deleted_at_ms'])} ago: {stone['reason'] or 'no reason'}"))
    lines += [("link", edge_text(edge)) for edge in node.get("edges", [])]
    return columns([(name, one_line(value)) for name, value in lines if value]) + f"\n\n{node['content']}"


def _of_metadata(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a person asks of it; records that hooks and commands keep there are in --json."""
    evidence, confirmed = metadata.get("evidence"), metadata.get("confirmed")
    if isinstance(evidence, Mapping) and isinstance(evidence.get("files"), Mapping):
        yield "rests on", ", ".join(evidence["files"])
    if isinstance(confirmed, Mapping) and isinstance(confirmed.get("at_ms"), int):
        yield "confirmed", f"{ago(confirmed['at_ms'])} ago"
    own = {name: value for name, value in metadata.items() if name not in RECORDS}
    yield "metadata", json.dumps(own, ensure_ascii=False) if own else ""


def forget_text(answer: Mapping[str, Any]) -> str:
    """Return what was forgotten, how to take it back, and what a deletion for good did to merged memories."""
    back = f"forgotten; `context-graph-cli memory restore {answer['id'][:_ID_CHARS]}` undoes it"
    lines = [back if answer["soft"] else f"forgotten for good: {answer['id']}", answer["content"]]
    lines += [f"with it, merged into it before: {text}" for text in answer.get("also_deleted", ())]
    lines += [
        f"not deleted: {memory['id']} had been merged into it; {memory['why']}"
        for memory in answer.get("left", ())
    ]
    if "still_on_disk" in answer:
        lines.append(
            "its text is still in these store files and is removed from them later: "
            f"{answer['still_on_disk']}"
        )
    lines += _elsewhere(answer)
    return "\n".join(line for line in lines if line)


def _elsewhere(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield where else a forgotten memory's words stood, and where they still are."""
    short = [memory_id[:_ID_CHARS] for memory_id in answer.get("also_forgotten", ())]
    if short:
        yield f"forgotten with it: {', '.join(short)}"
    changed = [memory_id[:_ID_CHARS] for memory_id in answer.get("taken_out_of", ())]
    if changed:
        yield f"its words were taken out of {', '.join(changed)}"
    if "erased_in_sessions" in answer:
        yield f"and out of the record of {len(answer['erased_in_sessions'])} sessions"
    if "recorded_in" in answer:
        count = len(answer["recorded_in"]["sessions"])
        yield f"the record of {count} sessions still has its words, for no search; --permanent erases them"
    for memory in answer.get("may_say_the_same", ()):
        yield f"may say the same: {memory['id'][:_ID_CHARS]} {memory['text']}"
    for memory in answer.get("notes_left", ()):
        yield f"a note of that session stays: {memory['id'][:_ID_CHARS]} {memory['text']}"
    if "notes_left" in answer:
        yield "--notes forgets a summary's notes too"


def confirmed_text(answer: Mapping[str, Any]) -> str:
    """Return what a confirmation changed, or that it was taken back."""
    short, standing = answer["id"][:_ID_CHARS], answer.get("standing")
    how = f": {standing}" if standing else ""
    if "confirmed" in answer.get("metadata", {}):
        return f"{short} is confirmed{how}; `context-graph-cli memory confirm {short} --take-back` undoes it"
    return f"{short} is as it was before it was confirmed{how}"


def reworded_text(answer: Mapping[str, Any]) -> str:
    """Return the memory with its new text, and the way back."""
    short = answer["id"][:_ID_CHARS]
    return f"{short} is reworded; `context-graph-cli memory undo` undoes it\n{answer['content']}"


def edge_text(edge: Mapping[str, Any]) -> str:
    """Return a link on one line."""
    ends = f"{edge['source_id'][:_ID_CHARS]} -{edge['relationship_type']}-> {edge['target_id'][:_ID_CHARS]}"
    worth = f", reward {edge['steering_reward']:.2f}" if edge.get("steering_reward") else ""
    worth += ", a valuable shortcut" if edge.get("is_valuable_shortcut") else ""
    line = f"{ends} (weight {edge['weight']:.2f}, confidence {edge['confidence']:.2f}{worth})"
    texts = [
        f"  {edge[f'{end}_id'][:_ID_CHARS]}: {edge[f'{end}_text']}"
        for end in ("source", "target")
        if edge.get(f"{end}_text")
    ]
    return "\n".join([line, *texts])


def imported_text(answer: Mapping[str, Any]) -> str:
    """Return what an import added and left alone, and the first items of another program's by name."""
    named = {"skipped": "skipped (here already)", "tombstones": "that were forgotten", "empty": "empty"}
    counts = [
        f"{count} {named.get(name, name.replace('_', ' '))}"
        for name, count in answer.items()
        if name not in ("dry_run", "files", "masked")
        and isinstance(count, int)
        and (count or name == "added")
    ]
    lines = [f"{'dry run, nothing is written: ' if answer['dry_run'] else ''}{', '.join(counts)}"]
    if answer.get("masked"):
        lines.append(f"masked: {', '.join(f'{count} {kind}' for kind, count in answer['masked'].items())}")
    lines += [f"  {one_line(str(item))}" for item in answer.get("items", ())]
    return "\n".join(lines)


def _page(table: str, answer: Mapping[str, Any]) -> str:
    cursor = answer.get("next_cursor")
    return f"{table}\nmore: --cursor {cursor}" if cursor else table


def _age(node: Mapping[str, Any]) -> str:
    at = datetime.fromisoformat(node["created_at"])
    return ago(int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))


def _time(text: str) -> str:
    return datetime.fromisoformat(text).astimezone().isoformat(timespec="seconds")


def consolidation_text(result: Mapping[str, Any]) -> str:
    """Return what a run did or would do and noticed, the first few of each kind, and the way back."""
    lines = [_what_was_done(result)]
    lines += _some(
        "merged", result["merged"], result["merged_count"], _merge_line, lambda merge: len(merge["losers"])
    )
    lines += _some("forgotten", result["pruned"], result["pruned_count"], _prune_line)
    lines += _some("linked", result["links_made"], result.get("links_made_count", 0), _link_line)
    lines += _part("What recurs", result["new_patterns"], len(result["new_patterns"]), _pattern_line)
    lines += _part("What the work is about", result["goals"], result.get("goals_count", 0), _goal_line)
    drift = result.get("drift")
    if drift and drift["recent"]:
        of_these = f"{drift['recent']} of the newest memories against those of the goals"
        lines.append(f"Drift: {drift['level']} ({of_these}).")
    if result.get("skipped_count"):
        lines.append(f"Skipped {result['skipped_count']} that changed while it ran.")
    lines += result["notes"]
    if result.get("undo_token"):
        lines.append(f"Undo: context-graph-cli memory undo {result['undo_token'][:_ID_CHARS]}")
    return "\n".join(lines)


def _what_was_done(result: Mapping[str, Any]) -> str:
    """Return one sentence: the mode, how many of each change, what is left, and how long it took."""
    counts = {
        "merged": result["merged_count"],
        "forgotten": result["pruned_count"],
        "linked": result.get("links_made_count", 0),
        "reweighted": result.get("reweighted_count", 0),
    }
    dry = result["dry_run"]
    would = "would be " if dry else ""
    did = ", ".join(f"{count} {would}{name}" for name, count in counts.items() if count)
    return (
        f"{result['mode']}{', dry run' if dry else ''}: {did or f'nothing {would}changed'}; "
        f"{result['final_memory_count']} memories {would or 'are '}left "
        f"({result['duration_ms'] / 1000.0:.1f} s)."
    )


def _part(name: str, entries: Sequence[Any], total: int, line: Callable[[Any], str]) -> list[str]:
    """Return a heading and the first few entries under it; nothing without entries."""
    if not entries:
        return []
    lines = [name, *(f"  {line(entry)}" for entry in entries[:_SHOWN])]
    return [*lines, f"  … {total - _SHOWN} more"] if total > _SHOWN else lines


def is_open(change: Mapping[str, Any]) -> bool:
    """Return whether a change can be undone without its token being named."""
    return not change["undone_by"] and change["mode"] != "undo"


_BY: Final = {"cli": "by a command", "tool": "by a session's tool", "library": "by a program"}


def change_text(change: Mapping[str, Any]) -> str:
    """Return one change: what it was, when and by whom, and the memories that it concerns."""
    by = _BY.get(change["by"], "a consolidation" if change["mode"] != "undo" else "")
    undone = ", undone since" if change["undone_by"] else ""
    counts = _counts(change)
    head = f"{change['token'][:_ID_CHARS]}  {ago(change['at_ms'])} ago  {change['mode']}"
    head += f" of {change['undoes'][:_ID_CHARS]}" if change["undoes"] else ""
    lines = [head + "".join(f", {part}" for part in (by, counts) if part) + undone]
    lines += [f"    {memory['id'][:_ID_CHARS]} {one_line(memory['text'])}" for memory in change["memories"]]
    left = change["memory_count"] - len(change["memories"])
    return "\n".join([*lines, f"    … {left} more"] if left > 0 else lines)


def undone_text(answer: Mapping[str, Any]) -> str:
    """Return what an undo did; or the changes that can be undone."""
    if "changes" in answer:
        return "\n".join(map(change_text, answer["changes"])) or "no change is left to be undone"
    did = (
        (answer["restored"], "memory", "memories", "restored"),
        (answer["forgotten"], "memory", "memories", "forgotten again"),
        (answer.get("changed", 0), "memory", "memories", "changed back"),
        (answer["edges"], "link", "links", "put back"),
    )
    parts = ", ".join(f"{counted(count, *things)} {what}" for count, *things, what in did if count)
    what = f"{answer['mode']} {answer['undone'][:_ID_CHARS]}"
    lines = [f"undone: {what}; {parts or 'nothing was left to undo'}"]
    if answer["kept_count"]:
        kept = ", ".join(answer["kept"][:_SHOWN]) + (", …" if answer["kept_count"] > _SHOWN else "")
        lines.append(f"{answer['kept_count']} left as they are, changed since: {kept}")
    if answer["token"]:
        lines.append(f"take it back: context-graph-cli memory undo {answer['token'][:_ID_CHARS]}")
    return "\n".join(lines)


def _counts(run: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {_DONE.get(name, name)}" for name, count in run["counts"].items() if count)


def runs_text(answer: Mapping[str, Any]) -> str:
    """Return one line a run."""
    if not answer["runs"]:
        return "no consolidations yet"
    rows = [("TOKEN", "WHEN", "MODE", "WHY", "UNDONE", "DID")]
    for run in answer["runs"]:
        counts = _counts(run)
        rows.append(
            (
                run["token"][:_ID_CHARS],
                _moment(run["at_ms"]),
                run["mode"] if not run["undoes"] else f"undo of {run['undoes'][:_ID_CHARS]}",
                str(run["details"].get("trigger") or "-"),
                "yes" if run["undone_by"] else "-",
                counts or "-",
            )
        )
    return table(rows)


def history_text(answer: Mapping[str, Any]) -> str:
    """Return one line a change, newest first."""
    if not answer["versions"]:
        return f"{answer['id']}: no changes in the history that is kept"
    lines = [f"memory {answer['id']}: {answer['content']}"]
    for version in answer["versions"]:
        run = f" by run {version['run'][:_ID_CHARS]}" if version["run"] else ""
        lines.append(f"{_moment(version['at_ms'])}  {version['what']}{run}")
        if version.get("edge"):
            lines.append(f"    {edge_text(version['edge'])}")
        lines += [f"    {name} was {_value(value)}" for name, value in (version["before"] or {}).items()]
    return "\n".join(lines)


def goals_text(answer: Mapping[str, Any]) -> str:
    """Return one line a goal, most certain first."""
    return "\n".join(map(_goal_line, answer["goals"])) or "no goals: the memories show none yet"


def _some(
    name: str,
    entries: Sequence[Any],
    total: int,
    line: Callable[[Any], str],
    size: Callable[[Any], int] = lambda _: 1,
) -> list[str]:
    """Return the first few entries, and how many of ``total`` are left; an entry may tell of several."""
    shown = entries[:_SHOWN]
    lines = [f"{name:<9}  {line(entry)}" for entry in shown]
    left = total - sum(map(size, shown))
    return [*lines, f"{name:<9}  … {left} more"] if left > 0 else lines


def _merge_line(merge: Mapping[str, Any]) -> str:
    losers = ", ".join(memory_id[:_ID_CHARS] for memory_id in merge["losers"][:_LOSERS])
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
    return f"{pattern['description']} (in {count} memories, confidence {confidence:.2f})"


def _goal_line(goal: Mapping[str, Any]) -> str:
    aligned = goal.get("alignment")
    alignment = f", session aligned {aligned['overall']:+.2f}" if aligned else ""
    return (
        f"{goal['level']}: {goal['description']} "
        f"({goal['member_count']} memories, confidence {goal['confidence']:.2f}{alignment})"
    )


def _value(value: object) -> str:
    text = one_line(str(value))
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


def _moment(at_ms: int | None) -> str:
    if at_ms is None:
        return "at a time not kept"
    return datetime.fromtimestamp(at_ms / 1000.0).astimezone().isoformat(sep=" ", timespec="seconds")
