"""What `doctor` found, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from context_graph.cli.tables import columns

__all__ = ["report_text"]

_MARKS: Final = {"error": "✗", "warning": "!", "note": "·"}
_UNITS: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_TIMES: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def report_text(report: Mapping[str, Any]) -> str:
    """All of it: a line a part, then what is wrong, worst first."""
    rows = [row for part in _PARTS for row in part(report)]
    findings = sorted(report["findings"], key=lambda one: list(_MARKS).index(one["level"]))
    lines = [columns(rows), ""]
    for one in findings:
        lines.append(f"{_MARKS[one['level']]} {one['what']}")
        if one["cure"]:
            lines.append(f"    {one['cure']}")
    problems = sum(one["level"] != "note" for one in findings)
    lines.append("nothing to mend" if not problems else f"{problems} to mend")
    return "\n".join(lines)


def _hooks(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    hooks = report["hooks"]
    for event, times in hooks.get("tried", {}).items():
        yield (
            f"hook {event}",
            f"{times['median_ms']:.1f} ms median, {times['worst_ms']:.1f} worst "
            f"(a shell that does nothing: {hooks['floor_ms']:.1f})",
        )
    yield "canary events", f"{hooks.get('recorded', 0)} of {hooks.get('sent', 0)} recorded, and removed again"
    yield "hooks from", ", ".join(hooks.get("sources", ())) or "-"


def _tools(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    tools = report["memory_tools"]
    steps = ", ".join(f"{name} {took:.1f}" for name, took in tools.get("steps_ms", {}).items())
    yield "memory tools", f"{tools.get('tools', 0)} tools; {steps or 'nothing done'} (ms)"


def _owner(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    owner = report["owner"]
    if "pid" not in owner:
        yield "owner", "none"
        return
    started = "" if owner["was_running"] else f", started for this in {owner.get('started_ms', 0):.0f} ms"
    yield (
        "owner",
        f"pid {owner['pid']}, version {owner['version']}, {size(owner['rss_bytes'])}, "
        f"up {span(owner['uptime_s'])}, answers in {owner['answered_ms']:.1f} ms{started}",
    )


def _store(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    store = report["store"]
    if not store:
        return
    sessions, memory, ages = store["sessions"], store["memory"], store["ages"]
    yield "store", store["store"]
    yield "spool", f"{store['spool_pending']} waiting, {store['spool_rejected']} rejected"
    yield "sessions", f"{sessions.get('count', 0)}, the last event {_ago(ages['last_event_age_s'])}"
    yield "captured", f"the last session summary {_ago(ages['last_capture_age_s'])}"
    if "records" in memory:
        word = "agree" if memory["agrees"] else "DISAGREE"
        yield (
            "memories",
            f"{memory['live']} and {memory['forgotten']} forgotten; {memory['records']} records and "
            f"{memory['rows']} index rows {word}; snapshot: {memory['snapshot']}",
        )
    else:
        yield "memories", "none yet"


def _disk(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    disk = report["disk"]
    if disk:
        free = f", {size(disk['free_bytes'])} free" if "free_bytes" in disk else ""
        yield "disk", f"{size(disk['store_bytes'])} this store, {size(disk['root_bytes'])} all stores{free}"


def _requirements(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    state = report["requirements"]
    if not state.get("governed"):
        yield "requirements", "none: this project has no .claude/requirements.yaml"
        return
    names = ", ".join(state["enabled"]) or "none"
    yield "requirements", f"{len(state['enabled'])} enabled on {state['branch'] or 'no branch'}: {names}"


def _client(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    client = report["client"]
    trust = {True: "trusts this folder", False: "does not trust this folder", None: "not asked for trust yet"}
    yield "claude", f"{client.get('version') or 'version not known'}, {trust[client.get('trusted')]}"


def _cost(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    cost = report["cost"]
    if "tool_schemas" not in cost:
        return
    yield (
        "tokens a session",
        f"{cost['session_start']} ({cost['tool_schemas']} tool schemas, {cost['instructions']} instructions)",
    )
    day = cost["day"]
    if day is None:
        yield "tokens a day", "not measured yet: no session within a week"
        return
    most = "at most " if cost["at_most"] else ""
    yield (
        "tokens a day",
        f"{most}{day['total']} (mean of the {cost['days']} days used of 7): {day['starts']} starts, "
        f"{day['briefs']} briefs, {day['state_blocks']} state blocks, {day['memories']} memories",
    )


_PARTS: Final = (_hooks, _tools, _owner, _store, _disk, _requirements, _client, _cost)


def size(count: float) -> str:
    """Bytes in the unit that fits."""
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count:.0f} B"


def span(seconds: float) -> str:
    """A time in the unit that fits."""
    for unit, name in _TIMES:
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def _ago(seconds: float | None) -> str:
    return "never" if seconds is None else f"{span(seconds)} ago"
