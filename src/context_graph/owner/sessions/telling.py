"""Keeps what is to be told with a session's next tool call, and has the cache say so.

A hook that nothing is due for does not wait for the owner: so what an event leads to is told by the next one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from context_graph.config import Settings
from context_graph.identity.brief import DRIFT_MEANS, crisis_text
from context_graph.identity.changes import Told, standing
from context_graph.identity.live import MEASURED, LiveSession, Outcome
from context_graph.model import HookEvent
from context_graph.owner.sessions.brief_cache import BriefCache
from context_graph.owner.sessions.live_sessions import Applied

STEADY_CALLS: Final = 3
"""A session's state and level count as changed once that many calls in a row found the same."""
_SESSIONS: Final = 64


class Telling:
    """Of one store's sessions. In memory only: an alarm that nobody was told before the owner ends is told as
    a change of state at the next prompt.
    """

    def __init__(self, brief: BriefCache, settings: Settings) -> None:
        self._brief = brief
        self._settings = settings
        self._notices: OrderedDict[str, str] = OrderedDict()
        self._standings: OrderedDict[str, tuple[Told, int]] = OrderedDict()
        """Of sessions with calls: where they stand, and at how many calls in a row."""

    def note(self, applied: Applied, event: HookEvent) -> None:
        """Note what a tool call of the session's own led to."""
        live, session_id = applied.live, event.session_id
        if event.kind not in MEASURED or event.agent_id:
            return
        now = standing(live.metrics)
        last, calls = self._standings.pop(session_id, (now, 0))
        self._standings[session_id] = now, calls + 1 if last == now else 1
        _keep_newest(self._standings)
        text = notice(applied.outcome, queues=self._settings.auto_dream)
        if text:
            self._notices[session_id] = text
            _keep_newest(self._notices)
        self._brief.set_due(
            session_id, due=session_id in self._notices or self.wants_brief(live, self._settings.brief)
        )

    def notice(self, live: LiveSession) -> str:
        """The alarm that the session was not told yet, which it is now; "" if there is none."""
        text = self._notices.pop(live.snapshot.session_id, "")
        if text and live.told is not None:  # the level is told, the state is not
            live.told = live.told[0], standing(live.metrics)[1]
        return text

    def wants_brief(self, live: LiveSession, mode: str) -> bool:
        """Whether a line about the session goes to the model with its next tool call, by the setting."""
        if mode == "never" or not live.has_evidence:
            return False
        now, before = standing(live.metrics), live.told
        if mode == "always" or before is None:
            return True
        return before != now and (self._is_steady(live, now) or (before[0] != now[0] and bool(live.circle)))

    def answered(self, live: LiveSession) -> None:
        """What was due is told; whether more is, the next event says."""
        session_id = live.snapshot.session_id
        self._brief.set_due(session_id, due=self._settings.brief == "always" and live.has_evidence)

    def _is_steady(self, live: LiveSession, now: Told) -> bool:
        """Whether the session stands where it stood at the last few calls: a state that comes and goes says
        nothing of the work, and each line of it stays in the context."""
        last, calls = self._standings.get(live.snapshot.session_id, (now, 0))
        return last == now and calls >= STEADY_CALLS


def notice(outcome: Outcome | None, *, queues: bool) -> str:
    """The words of seed 000 REQ-SESSION-14 and what they mean, if the event crossed a line."""
    if outcome is None or not outcome.measured or not (outcome.crisis_entered or outcome.warning_entered):
        return ""
    queued = outcome.dream_requested and queues
    warning = f"IC warning: {outcome.metrics.ic:.2f}"
    text = crisis_text(outcome.metrics.ic, queued=queued) if outcome.crisis_entered else warning
    return f"{text}. {DRIFT_MEANS}"


def _keep_newest(kept: OrderedDict[str, Any]) -> None:
    while len(kept) > _SESSIONS:
        kept.popitem(last=False)
