"""Finds the rules of the user that a session is told without asking.

An index of them is kept in the owner and follows the store. A rule is told where it concerns the work, once a
session; one that a later rule replaced is told no more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from context_graph.memory.context.following import Follower, keep_newest
from context_graph.model.memory import CAPTURED, CONFIRMED, NOTED, MemoryNode
from context_graph.model.note import NOTE, NoteKind, kind_of_memory
from context_graph.notes.said import Statement, concerns, contradicts, read, repeated, replaces
from context_graph.notes.said.about import command_name
from context_graph.notes.said.language import language_of
from context_graph.notes.said.statement import Kind
from context_graph.text.quoting import Line, day_text, quoted
from context_graph.text.sentences import shortened

_RULES: Final = 256
"""Rules of a store that are told, the newest."""
_CONCERNS: Final = 0.5
_NEAR: Final = 0.15
"""The cosine from which a rule may be meant that shares no word with the work: of 93 made-up rules among some
30 others, 65 % are then among the four nearest to a task that they concern."""
_VERY_NEAR: Final = 0.3
"""The same for one in another language, or about some files or commands only."""
_RULE_CHARS: Final = 220
_STORED_BY: Final = {NOTED: "user", "tool": "Claude", "cli": "user", "import": "an import"}
"""Who stored a memory, by its source."""
_IN_SCOPE: Final = 0.8
"""How much a rule concerns a file that is of its path, folder or type."""
_NAMED: Final = 0.9
"""How much a rule concerns a command that it names."""
ALL_WORK, _SOME_FOLDER = 1, 3
"""`_Rule.reach` of what applies to all work of a project, and of what applies to the least."""


@dataclass(slots=True)
class _Rule:
    node_id: UUID
    at_ms: int
    session_id: str
    statement: Statement
    times: int = 1
    is_users: bool = False
    """Whether it holds in all projects of its user."""
    said_by: str = "user"
    is_confirmed: bool = False
    """Whether a person looked at it and found it right."""

    @property
    def reach(self) -> int:
        """To how much of the work it applies, the most first."""
        about = self.statement.about
        if self.is_users or self.statement.scope != "project":
            return -1 if self.is_users else 0
        return _SOME_FOLDER if about.paths else 2 if about.file_types or about.commands else ALL_WORK

    def line(self, times: int) -> str:
        """Return what is told of it, which was said so often."""
        sentence = shortened(self.statement.text, _RULE_CHARS)
        often = f", {times} times" if times > 1 else ""
        who = "" if self.said_by == "user" else f", stored by {self.said_by}"
        who += " for all projects" if who and self.is_users else ""
        return f"{day_text(self.at_ms, self.at_ms)}{often}{who}: {quoted(sentence)}"


class StandingNotes(Follower):
    """The rules of a store. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._rules: OrderedDict[UUID, _Rule] = OrderedDict()
        self._ended: dict[UUID, UUID] = {}
        """Rule -> the later one that says the same, or that it holds no more."""
        self._again: dict[UUID, set[UUID]] = {}
        """Rule -> earlier ones that said the same."""
        self.of_user = _OfUser(self)
        """Follows the store of what its user says of all his work."""

    def take_of_user(self, node: MemoryNode, *, deleted: bool) -> None:
        """Take in a memory that holds in all projects: whatever it is, it holds as a rule does."""
        self._drop(node.id)
        if deleted or node.source == CAPTURED:
            return
        note = node.metadata.get(NOTE)
        times = note.get("times") if isinstance(note, dict) else 1
        self._add(node, "rule", times, is_users=True)

    def _take(self, node: MemoryNode, *, deleted: bool) -> None:
        kind = stated_by_user(node)
        self._drop(node.id)
        if deleted or kind is None:
            return
        own = node.metadata.get(NOTE)
        self._add(node, kind, own.get("times") if isinstance(own, dict) else None)

    def _add(self, node: MemoryNode, kind: Kind, times: object, **more: Any) -> None:
        statement = read(kind, node.content)
        said_by = _STORED_BY.get(node.source, node.source)
        session_id = (node.session_id or "") if node.source == NOTED else ""
        rule = _Rule(node.id, node.created_at_ms, session_id, statement, said_by=said_by, **more)
        rule.is_confirmed = CONFIRMED in node.metadata
        rule.times = times if isinstance(times, int) else 1
        self._compare(rule)
        keep_newest(self._rules, node.id, rule, _RULES)

    def _drop(self, node_id: UUID) -> None:
        if self._rules.pop(node_id, None) is not None:
            self._ended = {old: new for old, new in self._ended.items() if node_id not in (old, new)}
            self._again.pop(node_id, None)

    def _compare(self, rule: _Rule) -> None:
        """See which rules it replaces or says again, or which do that to it. Cost: 30 us for each other."""
        for other in self._rules.values():
            old, new = sorted((rule, other), key=lambda each: each.at_ms)
            again = repeated(new.statement, old.statement)
            if again or replaces(new.statement, old.statement):
                self._ended[old.node_id] = new.node_id
            if again:
                self._again.setdefault(new.node_id, set()).add(old.node_id)

    # What a session is told

    def for_start(
        self, shown: Container[str], sentences: Sequence[str] = (), most_reach: int = _SOME_FOLDER
    ) -> Iterator[Line]:
        """The rules: those first that ended another, whose habit may still be about, then those that apply to
        most of the work, and of these those said most often; none that the ``sentences`` since end.

        Args:
            most_reach: Of the rules that are wanted: ALL_WORK leaves out those about some commands or files.
        """
        later = [read("rule", text) for text in sentences]
        ending = {new for old, new in self._ended.items() if old not in self._again.get(new, ())}
        rules = [
            rule
            for rule in self._valid()
            if rule.statement.kind == "rule"
            and rule.reach <= most_reach
            and not any(replaces(new, rule.statement) for new in later)
        ]
        rules.sort(
            key=lambda rule: (
                *(rule.node_id not in ending, rule.reach, not rule.is_confirmed),
                *(-rule.times, -rule.at_ms),
            )
        )
        yield from self._untold(shown, rules)

    def concerning(
        self,
        session_id: str,
        prompt: str,
        shown: Container[str],
        near: Callable[[str], float] | None = None,
    ) -> Iterator[Line]:
        """Yield the rules that concern a prompt, those that do most first; then, with ``near``, those whose
        meaning is nearest. Cost: some 25 us a rule.

        Args:
            near: The cosine of a text's meaning and the prompt's.
        """
        degrees = {rule.node_id: concerns(rule.statement, prompt=prompt) for rule in self._valid()}
        yield from self._told_at(session_id, shown, lambda rule: degrees[rule.node_id])
        if near is None:
            return
        spoken = language_of(prompt)

        def nearness(rule: _Rule) -> float:
            text = rule.statement.text
            if rule.statement.kind != "rule" or degrees[rule.node_id] >= _CONCERNS:
                return 0.0
            # One about some files or commands comes where they are.
            is_general = rule.reach <= ALL_WORK and language_of(text) is spoken
            cosine = near(text)
            return cosine if cosine >= (_NEAR if is_general else _VERY_NEAR) else 0.0

        yield from self._told_at(session_id, shown, nearness, least=_NEAR)

    def about_path(self, session_id: str, path: str, shown: Container[str]) -> Iterator[Line]:
        """Yield the rules whose scope is a file: its path, its folder or its type."""
        rules = self._told_at(
            session_id, shown, lambda rule: concerns(rule.statement, path=path), least=_IN_SCOPE
        )
        yield from rules

    def about_command(
        self, session_id: str, commands: Sequence[str], shown: Container[str]
    ) -> Iterator[Line]:
        """Yield the rules that name the program or act of one of ``commands``."""

        def concern(rule: _Rule) -> float:
            return max((_of_command(rule.statement, command) for command in commands), default=0.0)

        yield from self._told_at(session_id, shown, concern, least=_NAMED)

    def contradicted(self, session_id: str, commands: Sequence[str]) -> Line | None:
        """Return the user's newest rule that one of ``commands`` goes against; None for none."""
        rules = [
            rule
            for rule in self._valid()
            if rule.said_by == "user"
            and rule.session_id != session_id
            and any(contradicts(rule.statement, command) for command in commands)
        ]
        newest = max(rules, key=lambda rule: rule.at_ms, default=None)
        return None if newest is None else self._line(newest)

    def keys(self) -> dict[str, set[str]]:
        """Return what a tool call must touch for a rule to be about it -> ids of those rules."""
        kept: dict[str, set[str]] = {}
        for rule in self._valid():
            for key in scope_keys(rule.statement):
                kept.setdefault(key, set()).add(str(rule.node_id))
        return kept

    def _told_at(
        self,
        session_id: str,
        shown: Container[str],
        concern: Callable[[_Rule], float],
        *,
        least: float = _CONCERNS,
    ) -> Iterator[Line]:
        rows = [(concern(rule), rule.at_ms, rule) for rule in self._valid() if rule.session_id != session_id]
        rows = sorted((row for row in rows if row[0] >= least), key=lambda row: row[:2], reverse=True)
        yield from self._untold(shown, [rule for *_, rule in rows])

    def sentences_of(self, shown: Container[str]) -> Iterator[str]:
        """Return the words of the rules that were told."""
        return (rule.statement.text for node_id, rule in self._rules.items() if str(node_id) in shown)

    def _untold(self, shown: Container[str], rules: Iterable[_Rule]) -> Iterator[Line]:
        yield from (self._line(rule) for rule in rules if str(rule.node_id) not in shown)

    def _line(self, rule: _Rule) -> Line:
        again = [self._rules[old].times for old in self._again.get(rule.node_id, ()) if old in self._rules]
        return Line(rule.line(rule.times + sum(again)), str(rule.node_id))

    def _valid(self) -> list[_Rule]:
        """Return the rules that no later one says again or replaced."""
        return [rule for rule in self._rules.values() if self._ended.get(rule.node_id) not in self._rules]


def stated_by_user(node: MemoryNode) -> Kind | None:
    """Return as what a note states something that its user said or stored; None for any other memory."""
    kind, own = kind_of_memory(node.metadata), node.metadata.get(NOTE)
    if kind is NoteKind.RULE:
        return "rule"
    is_users = isinstance(own, dict) and own.get("said_by") == "user"
    is_choice = kind is NoteKind.DECISION and is_users and not node.content.startswith("Asked: ")
    return "decision" if is_choice else None


class _OfUser(Follower):
    """Follows another store for ``notes``."""

    def __init__(self, notes: StandingNotes) -> None:
        super().__init__()
        self._notes = notes

    def _take(self, node: MemoryNode, *, deleted: bool) -> None:
        self._notes.take_of_user(node, deleted=deleted)


def _of_command(statement: Statement, command: str) -> float:
    """Return how much a rule concerns a command; not at all one that already does what it asks."""
    chosen = statement.chosen.lower().split(" ")[0]
    follows = bool(statement.instead_of) and command_name(command).split(" ")[0] == chosen
    return 0.0 if follows else concerns(statement, command=command)


def scope_keys(statement: Statement) -> Iterator[str]:
    """Yield what the launcher's filter has of a rule: `*.py`, `gen/`, `$npm`, or a file's path."""
    about = statement.about
    for path in about.paths:
        last = path.rstrip("/*").rsplit("/", 1)[-1]
        if "*." in path:
            yield f"*.{path.rsplit('.', 1)[-1].lower()}"
        elif last:
            yield f"{last}/"
            if not path.endswith("/"):
                yield path.removeprefix("./")
    for ending in about.file_types:
        yield f"*.{ending.rsplit('.', 1)[-1]}"
    for command in (*about.commands, statement.instead_of.lower()):
        words = [word for word in command_name(command).split() if not word.startswith("-")]
        if words:
            yield f"${words[-1].lower()}"
