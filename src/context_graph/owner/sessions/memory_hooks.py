"""Uses a store's memory for its hooks: captures sessions, injects what is relevant, keeps the ledger.

A prompt is answered from the index in memory. Everything that writes comes later, in `tidy`: a capture is
announced durably with the event that asks for it, so that an interrupted one is completed when the store is
next opened. A store without memories loads no index and no embedder for any of this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

from context_graph.claude.hooks.origin import own_words
from context_graph.config import Settings
from context_graph.errors import ContextGraphError
from context_graph.model import EventKind, HookEvent
from context_graph.owner.sessions.brief_cache import BriefCache
from context_graph.owner.sessions.call_lines import HOLD, CallLines, commands_of
from context_graph.owner.sessions.injections import Injections, context_of
from context_graph.owner.sessions.rules_and_lessons import EARLIER, PROMPT_TOKENS, RulesAndLessons, apart
from context_graph.owner.sessions.session_works import Compactions, SessionWorks, pointer
from context_graph.store.sessions.sessions import SessionStore

if TYPE_CHECKING:
    from context_graph.memory.context.ledger import Ledger
    from context_graph.memory.context.told_lines import Quote
    from context_graph.memory.memex import Memex
    from context_graph.memory.recall import Recalled
    from context_graph.model.memory import MemoryNode
    from context_graph.owner.chores import Chores
    from context_graph.text.quoting import Line

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Users = Callable[[str, bool], "Memex | None"]
"""Opens the memory of an account, by the name of its store; True makes one where there is none."""

CAPTURING: Final = frozenset({EventKind.STOP, EventKind.PRE_COMPACT, EventKind.SESSION_END})
"""Events after which the session's summary is refreshed. Stop among them: an end may never come."""
TASK_TOKENS: Final = 150
"""Most tokens for a subagent at its start."""
FRAME_TOKENS: Final = 48
"""Tokens of the fence, its label and a heading."""
_RECALLED: Final = 10
"""Candidates for a prompt: as many as have a relevance of their own."""
_JUDGED: Final = 24
"""Candidates for a question: as many as are judged."""
_FOR_TASK: Final = (3, 240)
_FOR_QUESTION: Final = (5, 180)
"""Memories above the floor that are shown, of summaries only the best, and tokens for them, whatever the
setting allows; no more than half of what the session may still get."""


class MemoryHooks:
    """The memory side of one open store. Not thread-safe: the owner serves one request at a time.

    Args:
        memex: Opens the store's memory at its first call.
        has_memory: Whether there is any memory in the store; must be cheap.
        chores: Runs the background work.
        brief: Gets the files about which there may be something to show.
        users: Opens the memory of an account by the name of its store, if there is one or it is to be made.
        alike: Sessions whose work is like a session's, and how much, [0, 1]; True where a query says so.
    """

    def __init__(
        self,
        store: SessionStore,
        memex: Callable[[], Memex],
        has_memory: Callable[[], bool],
        chores: Chores,
        *,
        project: str | None,
        settings: Settings,
        brief: BriefCache,
        users: Users,
        alike: Callable[[str, str], tuple[Mapping[str, float], bool]],
        log: logging.Logger,
    ) -> None:
        self._store, self._alike = store, alike
        self._users = users
        self._brief = brief
        self._memex = memex
        self._has_memory = has_memory
        self._chores = chores
        self._project = project
        self._settings = settings
        self._log = log
        self.injections = Injections(store, memex, has_memory, self._of_user)
        self._to_ask: tuple[list[MemoryNode], str] | None = None
        """Memories last shown, and where: git is to be asked whether their branches were merged."""
        self._files_due = False
        """Whether memories are left to be read into the index of files."""
        self._warm, self._may_ask = False, settings.ask_what_was_learned
        """Whether modules that prompts and Stops need are still to be imported."""
        self._counted = False
        self._due: dict[str, int | None] = {
            session_id: None
            for session_id in store.event_log.captures_due()
            if not chores.aside.holds(_capture_key(session_id))
        }
        """Sessions whose summary is to be refreshed, with the time of a PreCompact that seals it."""
        self.compactions = Compactions(store)
        self.works = SessionWorks(store, memex, has_memory, self._due, project)
        self._rules = RulesAndLessons(memex, lambda: (self.works.account, self._of_user()), brief)
        known = (self._holding, self.works.profile, alike, lambda: self.injections.is_awaited())
        self._calls = CallLines(memex, self._rules, brief, *known)

    @property
    def has_work(self) -> bool:
        """Whether `tidy` has anything to do."""
        is_to_warm = self._warm or self._may_ask
        return bool(self._due or self.injections.has_work or self._to_ask or self._files_due or is_to_warm)

    # What events leave behind

    def wants_capture(self, event: HookEvent) -> bool:
        """Return whether the session is to be captured after this event; the event then announces it."""
        return event.kind in CAPTURING and not event.agent_id and self._settings.memory_capture

    def noted(self, event: HookEvent) -> None:
        """Note a durable event. Cost: a look-up or two."""
        if event.kind is EventKind.PRE_COMPACT and not event.agent_id:
            self.compactions.begins(event.session_id)
        if self.wants_capture(event) and not self._chores.aside.holds(_capture_key(event.session_id)):
            sealed = event.at_ms if event.kind is EventKind.PRE_COMPACT else None
            self._due[event.session_id] = sealed or self._due.get(event.session_id)
            from context_graph.git.repository import branch_of

            self.works.branches[event.session_id] = branch_of(event.cwd or self._project or "")
        self.injections.noted(event, context_of(event))

    def tidy(self) -> None:
        """Write captures, ledger and accesses that are due; open the memory if a prompt is near.

        Raises TookTooLong if one of these was ended; see `Chores.do`.
        """
        self._capture_due()
        if self.injections.has_work:
            self._chores.do("ledger", "the ledger of what was brought", self.injections.write)
        if self._to_ask:
            (nodes, folder), self._to_ask = self._to_ask, None
            self._chores.do("evidence", "asking git what was merged", self._ask_git, nodes, folder)
        if self._files_due:
            self._chores.do("files", "the index of files", self._read_files)
        if self._warm:
            self._warm = False
            self._chores.do("warming", "the opening of the memories", self._prepare_for_prompts)
        if self._may_ask:
            self._may_ask = False
            from context_graph.memory import capture  # noqa: F401
        self.note_stored()

    def _capture_due(self) -> None:
        for session_id in list(self._due):
            sealed = self._due.pop(session_id)
            what = f"the summary of session {session_id}"
            self._chores.do(_capture_key(session_id), what, self._capture, session_id, sealed)

    def _ask_git(self, nodes: Sequence[MemoryNode], folder: str) -> None:
        from context_graph.memory.evidence import TOOL_S

        self._memex().verdicts(nodes, folder, within_s=TOOL_S, asks_git=True)

    def _read_files(self) -> None:
        """One step of the index of files: the rest comes with the next requests."""
        self._files_due = not self._calls.read()

    @property
    def is_behind(self) -> bool:
        """Whether something was stored that calls do not see yet. Cost: two comparisons."""
        return (self._calls.is_behind and not self._files_due) or self._rules.is_behind

    def note_stored(self) -> None:
        """Make what was stored since visible to calls: the next one may be about it."""
        if self._calls.is_behind and not self._files_due:
            self._guarded("file", self._read_files)
        if self._rules.is_behind:
            self._guarded("rules", self._rules.note)

    def _prepare_for_prompts(self) -> None:
        from context_graph.memory import relevance  # noqa: F401
        from context_graph.memory.context import ledger, told_lines  # noqa: F401
        from context_graph.text import phrases  # noqa: F401

        self._memex().warm()
        self.ledger.learn()

    # What goes into contexts

    def for_prompt(self, event: HookEvent, settings: Settings) -> str:
        """Return the fenced memories for a prompt; "" when none is relevant enough, new and wanted."""
        budget = settings.memory_inject_tokens if settings.memory_inject else 0
        if not budget or not self._has_any():
            return ""
        from context_graph.text.phrases import is_small_talk

        asked = own_words(event.input_text) if event.is_prompt else ""
        if not asked or is_small_talk(asked):
            return ""
        return self._guarded("recall", self._recalled, event, "prompt", asked, budget, settings) or ""

    def for_task(self, event: HookEvent, task: str, settings: Settings) -> str:
        """Return what a subagent reads at its start: the rules that it needs, and memories for its task as
        those for a prompt are. Its parent's context may hold them: the subagent sees none of it. ``task``:
        the words of the call that has it work, redacted; "" if they are not known.
        """
        budget = min(settings.memory_inject_tokens if settings.memory_inject else 0, TASK_TOKENS)
        if not (budget and self._has_any()):
            return ""
        own = replace(event, session_id=context_of(event))
        if task.strip():
            return self._guarded("recall", self._recalled, own, "subagent", task, budget, settings) or ""
        rules = self._guarded("rules", self._rules.at_task, own.session_id, "", budget - FRAME_TOKENS)
        return self.injections.show(own, "subagent", lines=rules or [])

    def for_call(self, event: HookEvent, settings: Settings, *, before: bool) -> str:
        """Return the fenced lines about what a tool call touches or runs; "" in nearly every call.

        Until the index of files is built, after the first session's start, nothing is known of them.
        ``before`` it runs, lines are about what it changes or runs, else about what it read.
        """
        if not (settings.memory_inject and self._has_any()):
            return ""
        shown, left = self.ledger.shown(event.session_id), self.injections.left(event.session_id)
        about = partial(self._calls.at_file, event, shown, left, editing=before)
        lines = (self._guarded("file", about) or []) if settings.memory_at_file else []
        text = self.injections.show(event, "file", lines=lines, label=False)
        if before:
            shown = self.ledger.shown(event.session_id)
            lines = self._guarded("command", self._calls.at_command, event, shown, settings) or []
            more = self.injections.show(event, "command", lines=lines, label=False)
            text = "\n".join(filter(None, (text, more)))
        return text

    def for_work(self, event: HookEvent, settings: Settings) -> str:
        """Return the fenced line about an earlier session that was alike; "" for none alike enough."""
        if not (settings.memory_inject and self._has_memory()):
            return ""
        known = self.ledger.shown(event.session_id), self.injections.left(event.session_id), self.ledger.moved
        line = self._guarded("like work", self._calls.of_earlier_work, event, *known)
        return self.injections.show(event, "work", lines=[line] if line else [], label=False)

    def for_error(self, event: HookEvent, settings: Settings) -> str:
        """Return the fenced solution of an error that was solved here before; "" if none is known."""
        if event.agent_id or not (settings.memory_inject and self._has_memory()):
            return ""
        shown = self.ledger.shown(event.session_id)
        line = self._guarded("failure", self._calls.at_error, event, shown)
        return self.injections.show(event, "failure", lines=[line] if line else [], label=False)

    def held_by(self, event: HookEvent, settings: Settings) -> str:
        """Return the user's rule that a command goes against, where such calls are to be held; "" for none.

        Each rule holds one call of a session, also across a restart: what held is written at once.
        """
        if settings.rule_reminders != HOLD or event.agent_id or not self._has_any():
            return ""
        rule = self._guarded("rules", self._rules.contradicted, event.session_id, commands_of(event))
        shown = self.ledger.told_at(event.session_id, "held") if rule is not None else ()
        if rule is None or rule.node_id in shown:
            return ""
        self.injections.show(event, "held", lines=[rule])
        self.ledger.flush()
        return rule.text

    def for_start(self, event: HookEvent, previous: Callable[[], Sequence[str]], settings: Settings) -> str:
        """Return what a session reads at its start: the project's profile and what the last one left open.

        A session that goes on has its own summary; after a clear one line says where the last one's is.
        ``previous`` gives the ids of the sessions before this one, the last first, to be looked through for a
        summary when it has none of its own to go on with.
        """
        budget = settings.memory_inject_tokens if settings.memory_inject else 0
        summary = (self._guarded("summary", self._summary, event, previous, budget) or "") if budget else ""
        # Only now: the start captures what was due, and with it a store's first memory.
        self.session_began()
        return summary

    def session_began(self) -> None:
        """Have `tidy` read what lines for the session's prompts and files are made from."""
        self._warm = self._warm or (self._settings.memory_inject and self._has_memory())
        self._files_due = self._files_due or (self._warm and self._settings.memory_at_file)

    def memexes(self) -> list[Memex]:
        """Return the project's memory, and that of what the served account's user said of all his work."""
        of_user = self._of_user()
        return [self._memex(), *([of_user] if of_user is not None else ())]

    def compacted(self, event: HookEvent, summary: str) -> None:
        """Compare the summary that the client made of a compaction, raw, with what the session had."""
        if not summary:
            return
        work = self._guarded("compaction", partial(self.works.work, own=True), event.session_id)
        if work is not None:
            compare = partial(self.compactions.summarised, kept=event.output_text)
            self._guarded("compaction", compare, event.session_id, work, summary, event.at_ms)

    # For commands

    @property
    def ledger(self) -> Ledger:
        """The store's injection ledger."""
        return self.injections.ledger

    def stats(self) -> dict[str, Any]:
        """Return the captures due, and the ledger's totals if there is a memory."""
        return {"captures_due": len(self._due), **(self.ledger.totals() if self._has_memory() else {})}

    def report(self, now_ms: int) -> dict[str, Any]:
        """`stats`, and what the ledger's kept entries show (`Ledger.report`)."""
        return {**self.stats(), **(self.ledger.report(now_ms) if self._has_memory() else {})}

    def _recalled(self, event: HookEvent, what: str, prompt: str, budget: int, settings: Settings) -> str:
        from context_graph.memory.asked import closeness
        from context_graph.memory.embed import default_provider, meaning_of
        from context_graph.memory.recall import MAX_QUERY_CHARS
        from context_graph.memory.relevance import brought, is_brief_request
        from context_graph.text.phrases import is_question

        memex, known = self._memex(), self.ledger.shown(event.session_id)
        asked = prompt[:MAX_QUERY_CHARS]
        alike, by_query = self._alike(asked, event.session_id)
        asks = is_question(asked)
        recall = memex.recall(asked, top_k=_JUDGED if asks else _RECALLED, alike=alike, by_query=by_query)
        others = self._guarded("recall", self._recalled_of_user, asked) or []
        room = min(PROMPT_TOKENS, budget - FRAME_TOKENS)
        if what == "subagent":
            rules = self._guarded("rules", self._rules.at_task, event.session_id, asked, room) or []
        else:
            near = closeness(default_provider(), meaning_of(default_provider(), asked))
            concerning = partial(self._rules.at_prompt, event.session_id, asked, known, room, near)
            rules = self._guarded("rules", concerning) or []
        self._calls.asked(event.session_id, asked)
        known = known | {line.node_id for line in rules}

        def is_news(node: MemoryNode) -> bool:
            if node.session_id == event.session_id or str(node.id) in known:
                return False
            return event.is_elsewhere or not self.works.client.says(node.content)

        rows = [row for row in (*recall.nodes, *others) if is_news(row.node)]
        floor = settings.memory_floor
        is_brief = what != "subagent" and is_brief_request(asked, asks=asks)
        rows = brought(rows, floor, self.ledger.moved(floor, what), asks=asks, is_brief=is_brief)
        scores = {row.node.id: row.score for row in rows}
        nodes = self._rules.untold_of([row.node for row in rows], known)
        most, tokens = _FOR_QUESTION if asks else _FOR_TASK
        quotes = self._quotes([(node, scores[node.id]) for node in nodes], event.cwd)[:most]
        count = default_provider().count_tokens
        left = min(tokens, self.injections.left(event.session_id) // 2)
        room = min(budget, left + sum(count(line.text) for line in rules))
        return self.injections.show(
            event, what, lines=rules, quotes=quotes, budget=room, query=asked, recall=recall
        )

    def _of_user(self) -> Memex | None:
        """Return the memory of what the served account's user said of all his work; None if there is none."""
        return self._users(self.works.account, False)

    def _has_any(self) -> bool:
        if self._has_memory():
            return True
        of_user = self._of_user()
        return of_user is not None and of_user.count() > 0

    def _recalled_of_user(self, asked: str) -> Sequence[Recalled]:
        """Return what the user's own memory has for a prompt, judged as if it were the project's."""
        from context_graph.memory.of_user import recalled_of_user

        memex = self._of_user()
        return recalled_of_user(self._memex(), memex, asked, _RECALLED) if memex is not None else ()

    def _quotes(self, likely: Sequence[tuple[MemoryNode, float]], folder: str) -> list[Quote]:
        """(memory, relevance) as quotes (`quotes_of`); git is asked later what was merged."""
        from context_graph.memory.context.told_lines import quotes_of
        from context_graph.memory.evidence import HOOK_S

        nodes = [node for node, _ in likely]
        verdicts = self._memex().verdicts(nodes, folder, within_s=HOOK_S)
        if any(verdict is not None for verdict in verdicts):
            self._to_ask = (nodes, folder)
        return quotes_of(likely, verdicts, self._memex().contradicted([node.id for node in nodes]))

    def _holding(self, nodes: Sequence[MemoryNode], folder: str) -> dict[str, str]:
        """Ids of those of ``nodes`` that no other memory superseded, with how what each rests on is today."""
        quotes = self._quotes([(node, 1.0) for node in nodes], folder)
        return {quote.node_id: quote.evidence for quote in quotes}

    def _summary(self, event: HookEvent, previous: Callable[[], Sequence[str]], budget: int) -> str:
        from context_graph.memory.context.profile import MAX_TOKENS

        if event.source == "compact" and self._has_memory():
            self.ledger.forget_context(event.session_id, at_ms=event.at_ms)
            self._calls.forget(event.session_id)
        if event.source == "compact":
            text = self._compacted(event, budget)
            if text:
                return text
        if event.source in ("resume", "fork"):  # the earlier one's context, with all that was told there
            return ""
        if event.source == "clear":
            quotes = (self.works.summary_of(session_id, event) for session_id in previous())
            return next((pointer(quote, event.at_ms) for quote in quotes if quote is not None), "")
        return self._started(event, previous, min(budget, MAX_TOKENS))

    def _compacted(self, event: HookEvent, budget: int) -> str:
        from context_graph.memory.context.after_compaction import MAX_TOKENS
        from context_graph.memory.embed import default_provider

        work = self.works.work(event.session_id, own=True)
        if work is None or not work.text():
            return ""
        from context_graph.text.quoting import fence

        # A session's own facts are worth more than what is brought from elsewhere.
        room, count = min(MAX_TOKENS, budget + budget // 2), default_provider().count_tokens
        rules = self._rules_of_before(event, [*work.wishes, *work.decisions])
        if rules:
            room -= count(fence((line.text for line in rules), label="")) + 2 * len(rules)
        text = self.compactions.starts(event.session_id, work, event.at_ms, budget=room, count=count)
        again = self.injections.show(event, "compact", lines=rules, label=False)
        return "\n".join(filter(None, (text, again)))

    def _rules_of_before(self, event: HookEvent, sentences: Sequence[str]) -> list[Line]:
        """Return the rules that the start showed, without ``sentences``, which its facts have, or end."""
        shown = self.ledger.shown(event.session_id)
        rules = self._guarded("rules", self._rules.at_start, shown, sentences) or []
        kept = [
            line for line in rules if line.is_head or not any(sentence in line.text for sentence in sentences)
        ]
        return kept if any(line.node_id for line in kept) else []

    def _started(self, event: HookEvent, previous: Callable[[], Sequence[str]], budget: int) -> str:
        lines, quotes = self.start_parts(event, previous, budget)
        what = event.source or "startup"
        return self.injections.show(event, what, lines=lines, quotes=quotes, budget=budget)

    def start_parts(
        self, event: HookEvent, previous: Callable[[], Sequence[str]], budget: int
    ) -> tuple[list[Line], list[Quote]]:
        """Return what a new session reads: rules, how the project is worked on, and what was left open."""
        from context_graph.memory.context.after_compaction import OPEN_TOKENS
        from context_graph.memory.context.profile import files_are_there, fitting
        from context_graph.memory.embed import default_provider
        from context_graph.text.quoting import fence

        self._capture_due()  # what was said a moment ago holds already
        if not self._has_any():
            return [], []
        if not self._counted and self._has_memory():
            # A profile may be missing, and what was forgotten must not count.
            self._counted = True
            self.works.profiles.count_anew()
        self._guarded("command", self._calls.note_ways)
        quotes = self.works.left_open(event, previous)
        count, there = default_provider().count_tokens, files_are_there(event.cwd or self._project or "")
        rules = self._guarded("rules", self._rules.at_start, self.ledger.shown(event.session_id)) or []
        room = budget - count(fence(())) - sum(count(f"- {line.text}\n") for line in rules)
        room -= (OPEN_TOKENS if quotes else 0) + (count(EARLIER) if rules else 0)
        lines = fitting(self.works.profile().lines(event.at_ms, there), room, count)
        return [*rules, *apart(rules, lines)], quotes

    def _capture(self, session_id: str, sealed: int | None) -> None:
        """Refresh the session's summary, then remove the announcement; if it fails the announcement stays."""
        from context_graph.memory.capture import capture

        capture(
            self._memex(),
            session_id,
            partial(self._store.event_log.numbered_after, session_id),
            project=self._project,
            sealed_at_ms=sealed,
            leaves_out=self.works.client_s_own_files(),
            evidence=self._memex().evidence,
            branch=self.works.branches.pop(session_id, None),
            learn=self.works.profiles.learn,
            users=lambda account: self._users(account, True),
        )
        self._store.event_log.captured(session_id)

    def _guarded(self, what: str, work: Callable[[*Ts], T], *args: *Ts) -> T | None:
        """Return the result of ``work``; None if it failed, which is logged: the hook goes on without it."""
        try:
            return work(*args)
        except (ContextGraphError, OSError) as error:
            self._log.error("memory %s: %s", what, error)
            return None


def _capture_key(session_id: str) -> str:
    return f"capture:{session_id}"
