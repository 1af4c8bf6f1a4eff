"""Keeps the lines for a session's next tool call, and marks in the cache that there are some.

A hook that nothing is due for does not wait for the owner: so the next event shows what this one led to.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from context_graph.config import Settings
from context_graph.identity.brief import (
    StateAndLevel,
    brief_line,
    change_text,
    crisis_text,
    off_track,
    state_and_level,
    state_block,
)
from context_graph.identity.circles import label_of
from context_graph.identity.consciousness import ConsciousnessState
from context_graph.identity.continuity import is_ic_crisis, is_ic_warning
from context_graph.identity.earlier_work import TOLD_AFTER
from context_graph.identity.live import MEASURED, LiveSession, Outcome
from context_graph.identity.on_subject import is_on_subject, words_asked, words_called
from context_graph.model import EDITING, SHELLS, HookEvent
from context_graph.owner.sessions.brief_cache import BriefCache
from context_graph.owner.sessions.live_sessions import Applied

ALARMS: Final = "alarms"
CHANGES: Final = "changes"
ALWAYS: Final = "always"
STEADY_CALLS: Final = 3
"""A session's state and level count as changed once that many calls in a row found the same."""
_SESSIONS: Final = 64
_CALLS: Final = 12
_WORDS: Final = 2000
"""Words of a session's prompts from which no more are kept."""
_CIRCLING: Final = ConsciousnessState.HYPERSYNC.name


class IdentityNotices:
    """Of one store's sessions. In memory only: an alarm that was not shown before the owner ends is gone.

    Each ``mode`` is a choice of the setting `identity_lines`: sentences that a model can act on; those and
    what changed; always the lines of the specification, word for word.
    """

    def __init__(self, brief: BriefCache, settings: Settings) -> None:
        self._brief = brief
        self._settings = settings
        self._alarms: OrderedDict[str, str] = OrderedDict()
        """Of sessions that crossed a line: the specification's words for it."""
        self._looks_back: OrderedDict[str, bool] = OrderedDict()
        """Of sessions with work: whether an earlier one with similar work is to be looked for; none of
        those that were shown one."""
        self._steady: OrderedDict[str, tuple[StateAndLevel, int]] = OrderedDict()
        """Of sessions with calls: their state, and for how many calls in a row they had it."""
        self._calls: OrderedDict[str, deque[tuple[str, frozenset[str]]]] = OrderedDict()
        """Of sessions with calls: the last ones, each as it is told and with its words."""
        self._asked: OrderedDict[str, frozenset[str]] = OrderedDict()
        """The words of their prompts."""

    def note(self, applied: Applied, event: HookEvent) -> None:
        """Note what a tool call of the session's own led to."""
        live, session_id = applied.live, event.session_id
        if event.is_prompt:
            asked = self._asked.pop(session_id, frozenset())
            asked = asked if len(asked) > _WORDS else asked | words_asked(event.input_text)
            self._asked[session_id] = asked
            _keep_newest(self._asked)
        if event.kind not in MEASURED or event.agent_id:
            return
        now = state_and_level(live.metrics)
        last, calls = self._steady.pop(session_id, (now, 0))
        self._steady[session_id] = now, calls + 1 if last == now else 1
        _keep_newest(self._steady)
        last_calls = self._calls.pop(session_id, None) or deque(maxlen=_CALLS)
        last_calls.append((label_of(event), words_called(event)))
        self._calls[session_id] = last_calls
        _keep_newest(self._calls)
        text = notice(applied.outcome, queues=self._settings.auto_dream)
        if text:
            self._alarms[session_id] = text
            _keep_newest(self._alarms)
        if applied.outcome is not None and applied.outcome.work_events in TOLD_AFTER:
            self._looks_back.setdefault(session_id, True)
        is_due = session_id in self._alarms or self._looks_back.get(session_id, False)
        is_due = is_due or self._wants_line(live, self._settings.identity_lines)
        self._brief.set_due(session_id, due=is_due)
        if self._settings.ask_what_was_learned and event.tool_name in EDITING | SHELLS:
            self._brief.set_at_stop(session_id, asks=True)

    def at_start(self, text: str, mode: str) -> str:
        """Return the line that says which session this one follows, if the mode lets it."""
        return text if mode in (CHANGES, ALWAYS) else ""

    def at_call(self, live: LiveSession, mode: str) -> str:
        """Return what the session's earlier calls led to and was not shown yet, and mark it as shown.

        Of calls made at once the first has it: the owner answers one after the other.
        """
        lines = [self.alarm(live, mode)]
        if self._wants_line(live, mode):
            begins = live.told is None or live.told[0] != state_and_level(live.metrics)[0]
            lines += [brief_line(live.metrics) if mode != ALARMS else "", live.circle if begins else ""]
            live.told = state_and_level(live.metrics)
        due = self._settings.identity_lines == ALWAYS and live.has_evidence
        self._brief.set_due(live.snapshot.session_id, due=due)
        return _joined(lines)

    def of_earlier_work(self, session_id: str, tell: Callable[[], str]) -> str:
        """Return what ``tell`` says of an earlier session, if it is time to ask; once a session."""
        if not self._looks_back.pop(session_id, False):
            return ""
        text = tell()
        if text:
            self._looks_back[session_id] = False
            _keep_newest(self._looks_back)
        return text

    def at_stop(self, session_id: str, ask: Callable[[], str]) -> str:
        """Return what ``ask`` has for a session that is about to stop; its next Stop asks nobody."""
        self._brief.set_at_stop(session_id, asks=False)
        return ask()

    def at_prompt(self, live: LiveSession, mode: str) -> str:
        """Return the lines for a prompt: the alarm, what changed, what repeats, and mark them as shown."""
        alarm = self.alarm(live, mode)
        if not live.has_evidence:
            return alarm
        if mode == ALARMS:
            state = live.circle
        elif mode == CHANGES:
            state = change_text(live.told, live.metrics, live.circle)
        else:
            state = _joined((state_block(live.metrics), live.circle))
        if state:
            live.told = state_and_level(live.metrics)
        return _joined((alarm, state))

    def alarm(self, live: LiveSession, mode: str) -> str:
        """Return the alarm that is not shown yet, and mark it as shown; "" for none, or one that is over. One
        that the last calls do not bear out waits for the next ones.
        """
        session_id, ic = live.snapshot.session_id, live.snapshot.last_ic
        text, last_calls = self._alarms.get(session_id, ""), self._calls.get(session_id, ())
        if not text:
            return ""
        is_over = mode == ALARMS and not (is_ic_warning(ic) or is_ic_crisis(ic))
        asked = self._asked.get(session_id, frozenset[str]())
        if mode == ALARMS and not is_over and is_on_subject(asked, [words for _, words in last_calls]):
            return ""
        del self._alarms[session_id]
        if is_over:
            return ""
        if live.told:  # the level is told, the state is not
            live.told = live.told[0], state_and_level(live.metrics)[1]
        means = off_track([*live.ic_history] or [ic], [label for label, _ in last_calls])
        return {ALARMS: means, CHANGES: f"{text}. {means}"}.get(mode, text)

    def _wants_line(self, live: LiveSession, mode: str) -> bool:
        """Return whether a line goes to the model with the session's next tool call, alarms aside."""
        if not live.has_evidence:
            return False
        now, before = state_and_level(live.metrics), live.told
        if mode == ALARMS:
            if before is not None and before[0] == _CIRCLING and not live.circle:
                live.told = None  # the circle is over; the next one is told again
            return bool(live.circle) and (before is None or before[0] != _CIRCLING)
        if mode == ALWAYS or before is None:
            return True
        return before != now and (self._is_steady(live, now) or (before[0] != now[0] and bool(live.circle)))

    def _is_steady(self, live: LiveSession, now: StateAndLevel) -> bool:
        """Return whether the state is the one of the last few calls: a state that comes and goes
        says nothing of the work, and each line of it stays in the context."""
        last, calls = self._steady.get(live.snapshot.session_id, (now, 0))
        return last == now and calls >= STEADY_CALLS


def notice(outcome: Outcome | None, *, queues: bool) -> str:
    """Return the words of seed 000 REQ-SESSION-14, if the event crossed a line."""
    if outcome is None or not outcome.measured or not (outcome.crisis_entered or outcome.warning_entered):
        return ""
    queued = outcome.dream_requested and queues
    warning = f"IC warning: {outcome.metrics.ic:.2f}"
    return crisis_text(outcome.metrics.ic, queued=queued) if outcome.crisis_entered else warning


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(line for line in lines if line)


def _keep_newest(kept: OrderedDict[str, Any]) -> None:
    while len(kept) > _SESSIONS:
        kept.popitem(last=False)
