"""Renders `memory stats` for people; --json and --prometheus have every figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_graph.cli.console.tables import ago, columns, counted, size, span


def stats_text(stats: Mapping[str, Any]) -> str:
    """Return what is kept, how it is found, what was shown and used, what consolidations do."""
    memory, cache = stats["memory"], stats["cache"]
    reads = cache["hits"] + cache["misses"]
    lines = [
        ("store", stats["store"]),
        (
            "memories",
            f"{memory['nodes']} kept, {memory['deleted']} forgotten, {counted(memory['edges'], 'link')}",
        ),
        ("size", f"{size(memory['content_bytes'])} of text, {size(memory['table_bytes'])} on disk"),
        ("search", _search(stats)),
        ("cache", f"{cache['hits']} of {counted(reads, 'read')} needed no disk" if reads else "not used yet"),
        *_shown(stats["injections"]),
        *_dreams(stats["dreams"]),
        *_slow(stats["operations"]),
        ("more", "--json has every figure, --prometheus those for a scraper"),
    ]
    return columns(lines)


def _search(stats: Mapping[str, Any]) -> str:
    embedding, index = stats["embedding"], stats.get("index")
    if "dim" not in embedding:
        return "nothing yet: no memory was stored"
    index_size = f", index of {size(index['bytes'])}" if index else ""
    return f"embedding {embedding['name']}, {embedding['dim']} numbers a memory{index_size}"


def _shown(stats: Mapping[str, Any]) -> list[tuple[str, str]]:
    waiting = stats.get("captures_due", 0)
    lines = [("to capture", counted(waiting, "session"))] if waiting else []
    if not stats.get("injections"):
        return [*lines, ("shown", "nothing yet: no session was brought a memory")]
    share = (
        f"{counted(stats['memories'], 'memory', 'memories')} on {counted(stats['injections'], 'occasion')}"
    )
    lines.append(("shown", f"{share}, {stats['used']} used, {stats['tokens']} tokens"))
    if stats.get("by_event"):
        lines.append(
            ("", ", ".join(f"{name} {_count(counts)}" for name, counts in stats["by_event"].items()))
        )
    return lines


def _count(counts: Any) -> str:
    if isinstance(counts, Mapping):
        return f"{counts.get('used', 0)} of {counts.get('memories', 0)} used"
    return str(counts)


def _dreams(dreams: Mapping[str, Any]) -> list[tuple[str, str]]:
    idle = span(dreams["idle_s"])
    by_itself = (
        f"{dreams['after_session_end']} after a session, {dreams['when_idle']} after {idle} of quiet"
        if dreams["automatic"]
        else "only when asked for"
    )
    last = dreams.get("last")
    lines = [("consolidation", by_itself)]
    if last:
        did = {
            "merged": last["merged_count"],
            "forgotten": last["pruned_count"],
            "linked": last["links_made_count"],
            "reweighted": last["reweighted_count"],
        }
        done = ", ".join(f"{count} {name}" for name, count in did.items() if count) or "nothing to do"
        lines.append(("", f"the last one {ago(last['ended_ms'])} ago, {last['mode']}: {done}"))
    return lines


def _slow(operations: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return how long the commands that people ask took; failures of any."""
    lines = [
        (name, f"{operation['count']} times, {1000 * operation['seconds'] / operation['count']:.1f} ms each")
        for name, operation in operations.items()
        if name in ("store", "recall", "inject") and operation["count"]
    ]
    failed = ", ".join(
        f"{name} {operation['failed']}" for name, operation in operations.items() if operation["failed"]
    )
    return [*lines, *([("failed", failed)] if failed else [])]
