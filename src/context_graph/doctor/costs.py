"""Estimates the tokens that a day costs, from measured sizes of texts and the last week's events.

Tokens are WordPieces, which memory's budgets count too; the client's own tokens are of the same order, but
not equal. What enters a context counts once; that a context is sent again with each request (from the
client's cache) holds for these tokens as for any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def daily_cost(look: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens at a session's start, and tokens per day of the last week, from the owner's view of the store.

    Only days with a session count; without any the day is None. A brief that is sent on change only is
    counted as if every tool call changed it, so `briefs` is then an upper bound.
    """
    texts, sessions, memory = look.get("texts", {}), look.get("sessions", {}), look.get("memory", {})
    settings = look.get("settings", {})
    start = texts.get("tool_schemas", 0) + texts.get("instructions", 0)
    cost: dict[str, Any] = {"session_start": start, "day": None}
    cost.update({name: texts[name] for name in ("tool_schemas", "instructions") if name in texts})
    days = sessions.get("week_days", 0)
    if not days:
        return cost
    events = sessions.get("week_events", {})
    briefs = 0 if settings.get("brief") == "off" else events.get("pre-tool", 0) * texts.get("brief", 0)
    blocks = events.get("prompt-submit", 0) * texts.get("state_block", 0) if settings.get("inject") else 0
    parts = {
        "starts": sessions.get("week", 0) * start,
        "briefs": briefs,
        "state_blocks": blocks,
        "memories": memory.get("week_tokens", 0),
    }
    cost["days"] = days
    cost["day"] = {name: round(value / days) for name, value in parts.items()}
    cost["day"]["total"] = round(sum(parts.values()) / days)
    cost["at_most"] = settings.get("brief") == "on_change"
    return cost
