"""Chooses what a session reads at a tool call: about the file it touches, the command it runs, its error."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from context_graph.config import Settings
from context_graph.identity.earlier_work import ALIKE_ENOUGH
from context_graph.model import SHELLS, EventKind, HookEvent
from context_graph.owner.sessions.brief_cache import BriefCache
from context_graph.owner.sessions.rules_and_lessons import RulesAndLessons
from context_graph.store.layout import ALIKE_FACT

if TYPE_CHECKING:
    from context_graph.memory.context.at_file import FileMemories
    from context_graph.memory.context.profile import Profile
    from context_graph.memory.context.summary import SessionWork
    from context_graph.memory.memex import Memex
    from context_graph.model.memory import MemoryNode
    from context_graph.text.quoting import Line

COMMAND_TOKENS: Final = 60
ERROR_TOKENS: Final = 100
WORK_TOKENS: Final = 120
"""Tokens for an earlier session with similar work, with the tags."""
_FENCE_TOKENS: Final = 24
"""Tokens of the tags around lines without a label."""
_RULE_TOKENS: Final = 50
"""Tokens of a file's lines that are kept for rules whose scope it is."""
_SESSIONS: Final = 64
HOLD: Final = "hold"
"""The choice of `rule_reminders` that refuses a call."""


class CallLines:
    """Of one store. Not thread-safe.

    Args:
        holds: Of memories the ids of those that no other one superseded, with their state.
        profile: What the project's sessions have in common.
        alike: Sessions whose work is like a session's, and how much, [0, 1].
        is_awaited: Whether the hook that is served still waits for its answer.
    """

    def __init__(
        self,
        memex: Callable[[], Memex],
        rules: RulesAndLessons,
        brief: BriefCache,
        holds: Callable[[Sequence[MemoryNode], str], dict[str, str]],
        profile: Callable[[], Profile],
        alike: Callable[[str, str], tuple[Mapping[str, float], bool]],
        is_awaited: Callable[[], bool],
    ) -> None:
        self._memex, self._rules, self._brief = memex, rules, brief
        self._holds, self._profile, self._alike = holds, profile, alike
        self._is_awaited = is_awaited
        self.files: FileMemories | None = None
        """None until a session's start has it built."""
        self._ways: OrderedDict[str, frozenset[str]] = OrderedDict()
        """Session -> ways that always failed and that it was shown."""

    def read(self) -> bool:
        """Index the files of some more stored memories; returns whether that was all."""
        from context_graph.memory.context.at_file import FileMemories

        if self.files is None:
            self.files = FileMemories()
        files, memex = self.files, self._memex()
        is_all = files.read(memex.stored_after(files.seen), memex.seq)
        fresh = files.taken()
        if fresh:
            self._brief.add(path for path, _ in fresh)
            sessions = {session for _, session in fresh}
            self._brief.forget_done(but=sessions.pop() if len(sessions) == 1 else "")
        return is_all

    @property
    def is_behind(self) -> bool:
        """Whether something was stored that the index of files has not."""
        return self.files is not None and self._memex().seq > self.files.seen

    def note_ways(self) -> None:
        """Have the launcher ask about the commands that always failed."""
        for form in self._profile().never_worked():
            words = [word for word in form.split() if not word.startswith("-")]
            self._brief.add(f"${word.rsplit('/', 1)[-1].lower()}" for word in words[-1:])

    def asked(self, session_id: str, prompt: str) -> None:
        """Note what a session is asked."""
        if self.files is not None:
            self.files.asked(session_id, prompt)

    def forget(self, session_id: str) -> None:
        """Let lines be shown again: the session's context was compacted."""
        self._ways.pop(session_id, None)
        self._brief.forget_done_in(session_id)
        if self.files is not None:
            self.files.forget(session_id)

    def at_file(self, event: HookEvent, shown: set[str], left: int, *, editing: bool) -> list[Line]:
        """Return lines of at most ``left`` tokens about a call's file; [] in nearly every call."""
        files = self.files
        if files is None:
            return []
        if self.is_behind:  # a capture, or a memory stored since
            self.read()
        from context_graph.memory.context.at_file import FILE_TOKENS
        from context_graph.memory.context.told_lines import LEAST_TOKENS

        session_id = event.session_id
        paths = list(files.touched(event, editing=editing))
        rules = [
            line for path in paths[:1] for line in self._rules.at_path(session_id, path, shown, _RULE_TOKENS)
        ]
        room = min(FILE_TOKENS, left) - _FENCE_TOKENS
        room -= sum(_tokens(line.text) for line in rules)
        notes = self._notes(files, event, shown, lambda text: _tokens(text) <= room, editing=editing)
        done, over = files.done(session_id), room < LEAST_TOKENS and not self._rules.has_keys
        node_ids = {line.node_id for line in rules}
        keys = [key for path in paths for key in keys_of_path(path)]
        done += self._rules.done(keys, {*shown, *node_ids})
        self._brief.add_done(session_id, done, over)
        return [*rules, *notes]

    def _notes(
        self,
        files: FileMemories,
        event: HookEvent,
        shown: set[str],
        fits: Callable[[str], bool],
        *,
        editing: bool,
    ) -> list[Line]:
        """Return the line of the first file of a call that it is time to tell about."""
        session_id = event.session_id
        for path, rows in files.untold(event, shown, editing=editing):
            nodes = [node for row in rows if (node := self._memex().get(row.node_id)) is not None]
            line = self._best(files, path, nodes, event, fits)
            if not self._is_awaited():  # then the next call may bring it
                return []
            files.note_shown(session_id, path)
            if line is not None:
                return [line]
        return []

    def _best(
        self,
        files: FileMemories,
        path: str,
        nodes: Sequence[MemoryNode],
        event: HookEvent,
        fits: Callable[[str], bool],
    ) -> Line | None:
        """Return the line of the memory that shares most with what was asked, of equals of the newest."""
        from context_graph.memory.context.file_lines import line_about

        by_id = {str(node.id): node for node in nodes}
        about = partial(line_about, path=path, now_ms=event.at_ms, fits=fits, work=self._work)
        lines = [
            (by_id[node_id].created_at_ms, line)
            for node_id, stands in self._holds(nodes, event.cwd).items()
            if (line := about(by_id[node_id], evidence=stands))
        ]
        best = max(
            lines, key=lambda row: (files.shares(event.session_id, row[1].text), row[0]), default=(0, None)
        )
        return best[1]

    def _work(self, session_id: str) -> SessionWork:
        from context_graph.memory.capture import capture_id, work_of

        return work_of(self._memex().get(capture_id(session_id)))

    def at_command(self, event: HookEvent, shown: set[str], settings: Settings) -> list[Line]:
        """Return the rules that name what a command runs, and what always failed in its stead."""
        commands = commands_of(event)
        if not commands:
            return []
        room = COMMAND_TOKENS - _FENCE_TOKENS
        lines = self._rules.at_command(event.session_id, commands, shown, room)
        room -= sum(_tokens(line.text) for line in lines)
        lines += [
            line for line in self._never_worked(event.session_id, commands) if _tokens(line.text) <= room
        ]
        if settings.rule_reminders != HOLD:  # else a rule that was told may still hold a call
            node_ids = {line.node_id for line in lines}
            keys = [f"${word.lower()}" for command in commands for word in command.split()]
            self._brief.add_done(event.session_id, self._rules.done(keys, {*shown, *node_ids}))
        return lines

    def _never_worked(self, session_id: str, commands: Sequence[str]) -> list[Line]:
        """Return the way of working that one of ``commands`` is and that always failed, once a session."""
        from context_graph.memory.context.following import keep_newest
        from context_graph.text.quoting import Line

        known = self._ways.get(session_id, frozenset())
        for form, text in self._profile().never_worked().items():
            if form not in known and any(f"{command} ".startswith(f"{form} ") for command in commands):
                keep_newest(self._ways, session_id, known | {form}, _SESSIONS)
                return [Line(text)]
        return []

    def of_earlier_work(
        self, event: HookEvent, shown: set[str], left: int, moved: Callable[[float, str], float]
    ) -> Line | None:
        """Return the line of the session most like this one, if it is alike enough; None where the context
        has something of that session already. ``moved``: `Ledger.moved`.
        """
        from context_graph.consolidation.plan import floor_of
        from context_graph.memory.capture import capture_id, work_of
        from context_graph.memory.context.file_lines import line_of_like_work

        alike, _ = self._alike("", event.session_id)
        best = max(alike, key=alike.__getitem__, default="")
        with self._memex().core.operation("like work") as core:
            floor = moved(floor_of(core.store.meta(ALIKE_FACT), ALIKE_ENOUGH), "work")
        node = self._memex().get(capture_id(best)) if best and alike[best] >= floor else None
        rows = map(self._memex().get, shown)
        if node is None or any(row is not None and row.session_id == best for row in rows):
            return None
        room = min(WORK_TOKENS, left) - _FENCE_TOKENS
        return line_of_like_work(
            work_of(node), node, now_ms=event.at_ms, fits=lambda text: _tokens(text) <= room
        )

    def at_error(self, event: HookEvent, shown: set[str]) -> Line | None:
        """Return what solved the error of a failed call, or of a run of tests whose failure a pipe hid."""
        if event.kind is not EventKind.POST_TOOL_FAILURE and not _is_failed_test(event):
            return None
        room = ERROR_TOKENS - _FENCE_TOKENS
        return self._rules.at_error(event, shown, lambda text: _tokens(text) <= room)


def commands_of(event: HookEvent) -> list[str]:
    """Return the commands of a shell's call, each by itself; [] for another tool."""
    if event.tool_name not in SHELLS:
        return []
    from context_graph.notes.command_lines import line_of, parts_of

    return parts_of(line_of(event.parts.command))


def _is_failed_test(event: HookEvent) -> bool:
    if event.tool_name not in SHELLS:
        return False
    from context_graph.notes.command_lines import commands_in, failed_by, line_of

    is_test = any(command.kind == "test" for command in commands_in(line_of(event.parts.command)))
    return is_test and failed_by(f"{event.output_text}\n{event.parts.tail}")


def keys_of_path(path: str) -> list[str]:
    """Return a file's further keys in the launcher's filter: its type and the folders above it."""
    *folders, name = path.split("/")
    kinds = [f"*.{name.rsplit('.', 1)[1].lower()}"] if "." in name else []
    return [*(f"{folder}/" for folder in folders if folder), *kinds]


def _tokens(text: str) -> int:
    from context_graph.memory.embed import default_provider

    return default_provider().count_tokens(text) + 2
