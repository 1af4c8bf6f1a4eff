"""Decides whether a call might write the files that gates depend on, or do what only a person may.

Programs that only read are allowed. Any other program that is given one of the files, by whatever name,
counts as writing it. So does a command that can't be parsed but mentions them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from posixpath import join

from context_graph.gates.decide.lists import KEEPING, Lists, fed_first, only_sets, written_to
from context_graph.gates.decide.tool_call import command_of, targets_of
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import SHELLS as SHELL_TOOLS
from context_graph.gates.rules import Rules
from context_graph.gates.shell import programs
from context_graph.gates.shell.command import (
    DECLARING,
    LAST_MARK,
    ONE,
    STAR,
    UNKNOWN,
    Command,
    bare_text,
    names,
    shown,
)
from context_graph.gates.shell.listings import TEXT_SEARCHES, Listed, left_by, listed
from context_graph.gates.shell.options import letters, operands
from context_graph.gates.shell.protected import Protected, Reach
from context_graph.gates.shell.reading import Reading
from context_graph.gates.shell.runs import SHELLS, git_call, runs
from context_graph.gates.shell.searches import SEARCHES, search_of
from context_graph.gates.shell.written_by_text import may_write, written_by_text
from context_graph.gates.state.project import Project

FILE_TOOLS = names("Edit Write MultiEdit NotebookEdit")

_MENTIONS = ("requirements.yaml", "requirements.local", ".git/HEAD", ".git/requirements")
_RUN_TEXT = programs.INTERPRETERS | names("sed awk gawk mawk crontab")
_RUN_FILES = programs.INTERPRETERS | SHELLS | {"source", "."}
_WRITTEN = 20
_SHOWN = 100
_TEXT_OPTIONS = names("-c -e -E -m --eval --execute --command -ex --cmd -r -p")
_PATH_SIGNS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/~=" + UNKNOWN + STAR + ONE
)
_TREES = names("GIT_DIR GIT_WORK_TREE --git-dir --work-tree")
"""What names git's folders, wherever it runs."""

_LISTERS = names("ls dir vdir ll la exa eza tree")
_DOT_OPTIONS = names("dotglob globdots glob_dots dot_glob GLOB_DOTS")
_VARIANTS = 8
_SEARCHES = 100
"""Searches for texts, and calls of git, in one line that are looked at; others may print any name."""


@dataclass(frozen=True, slots=True)
class Touch:
    """What a call might do: ``names`` are the requirements concerned, ``why`` describes the effect.

    An empty ``why`` means that the call does not affect the gates.
    """

    why: str = ""
    names: list[str] = field(default_factory=list)


# A call

RUN = ("command", "cmd", "commandLine", "command_line", "script", "code")
"""Names that tools give to what they run."""

_READING_VERBS = names("read get list search find view show stat tree grep glob head diff log")
_REMOVING_VERBS = names("move rename delete remove trash rmdir unlink rm mv")
_STRINGS = 1000
_PATH_CHARS = 4096


def objection_of(event: GateEvent, project: Project, rules: Rules) -> Touch:
    """The human_only requirements that the call itself might satisfy or switch off, and how."""
    protected = [entry.name for entry in rules.active if entry.human_only]
    tool, given = event.hook.tool_name, event.hook.tool_input
    if not protected or not isinstance(given, dict):
        return Touch()
    ours = Protected(project, event.claude_dir, event.cache_dir)
    for command in _commands(tool, given):
        found = touch(command, protected, ours, event.cwd, event.home)
        if found.why:
            return found
        if tool not in SHELL_TOOLS and command != command_of(given) and mentions(command):
            return Touch(
                "the text that this call runs names a file that the requirements depend on", protected
            )
    foreign = tool.startswith("mcp__")
    verbs = _verbs(tool) if foreign else []
    removes = not _REMOVING_VERBS.isdisjoint(verbs)
    reads = verbs[:1] != [] and verbs[0] in _READING_VERBS and not removes and "replace" not in verbs
    if reads or not (foreign or tool in FILE_TOOLS):
        return Touch()
    least = Reach.ABOVE if removes else Reach.HOME_OF
    for text in islice(_texts(given), _STRINGS) if foreign else targets_of(given):
        path = _as_path(text, event.home)
        if ours.reach(path, [event.cwd]) >= least:
            return _is_or_holds(path, protected)
    return Touch()


def _is_or_holds(path: str, protected: list[str]) -> Touch:
    return Touch(f"`{path[:_SHOWN]}` is, or holds, a file that the requirements depend on", protected)


def _commands(tool: str, given: Mapping[str, object]) -> list[str]:
    if tool in SHELL_TOOLS:
        command = command_of(given)
        return [command.replace("\\", "/") if tool == "PowerShell" else command] if command else []
    texts = map(given.get, RUN) if tool.startswith("mcp__") else ()
    return [text for text in texts if isinstance(text, str) and text]


def _verbs(tool: str) -> list[str]:
    """The words of an MCP tool's own name: mcp__files__moveFile has move and file."""
    name = tool.rpartition("__")[2]
    spaced = "".join(f" {char.lower()}" if char.isupper() else char for char in name)
    return spaced.replace("_", " ").replace("-", " ").replace(".", " ").split()


def _texts(value: object) -> Iterator[str]:
    """The texts in an MCP tool's arguments at any depth, among the first 10,000 values."""
    waiting = [value]
    for _ in range(10 * _STRINGS):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += list(one.values())[:_STRINGS]
        elif isinstance(one, list):
            waiting += one[:_STRINGS]


def _as_path(text: str, home: str) -> str:
    """``text`` as a path, for whatever can be one; a file's URI is its path, ``~`` the home."""
    if not 0 < len(text) <= _PATH_CHARS or "\n" in text or any(char <= LAST_MARK for char in text):
        return ""
    if text[:5].lower() == "file:":
        from urllib.parse import unquote

        text = unquote(text[5:])
        text = "/" + text.lstrip("/") if text.startswith("///") or not text.startswith("//") else text[2:]
        text = text.removeprefix("localhost")
    return home + text[1:] if text.startswith("~/") or text == "~" else text


# A command line


def touch(command: str, protected: Collection[str], ours: Protected, cwd: str, home: str = "") -> Touch:
    """What ``command``, run in ``cwd``, might do to the requirements ``protected`` or to the files ``ours``.

    Time grows with the command's length; a path costs up to one ``realpath`` a folder that it may be in.
    """
    reading = runs(command, {"PWD": cwd, **({"HOME": home} if home else {})})
    if reading.broken and (mentions(command) or programs.names_us(command)):
        return Touch("this command can't be read to its end", list(protected))
    judge = _Judge(reading, list(protected), ours)
    return next(filter(None, map(judge.judge, fed_first(reading.commands))), Touch())


def mentions(text: str) -> bool:
    """Whether a program's text names one of the files or their folder, ignoring quotes and punctuation."""
    plain = bare_text(text)
    if any(word in plain for word in _MENTIONS):
        return True
    return any(_ends_or_holds(rest) for rest in plain.split(".claude")[1:])


def _ends_or_holds(rest: str) -> bool:
    """Whether the text after `.claude` means the folder itself or one of the files, and no other file in
    it.
    """
    return (
        rest[:1] != "/" or rest[1:2] in ("", "*", "?", "$", "{") or rest.startswith(("/req", "/set", "/ses"))
    )


class _Judge:
    """Judges the commands of one line in order; earlier ones affect later ones."""

    def __init__(self, reading: Reading, protected: list[str], ours: Protected) -> None:
        self.protected, self.ours = protected, ours
        self.sources = {id(one.source) for one in reading.commands if one.source is not None}
        self.decoded = any(one.program in programs.DECODERS for one in reading.commands)
        self.fed = False
        """Whether one of the files' names went where a later command may take it from."""
        self.lists = Lists()
        self.functions = reading.functions
        self.piped = Listed.NOTHING
        """What of their names a later command of the same pipeline may take."""
        self.searches = 0
        self.reached: dict[tuple[str, ...], Reach] = {}
        self.dotted = False
        """Whether a glob takes in names that begin with a dot."""
        self.last = Command()
        self.piped_in = self.last.shell
        self.written: dict[str, str] = {}
        """What was written to a file, which a later command may run."""

    def judge(self, command: Command) -> Touch | None:
        """What the command might do; None if it does not affect the gates."""
        if self.piped and command.source is None:
            self._settle()
        self._set_globs(command)
        self._feed(command)
        self.last = command
        return self._own(command) or self._skipping(command) or self._files(command)

    def _reach(self, word: str, command: Command) -> Reach:
        key = (word, *command.folders)
        if key not in self.reached:
            self.reached[key] = self.ours.reach(word, command.folders)
        if not self.dotted:
            return self.reached[key]
        dotted = _with_dots(word)
        return max([self.reached[key], *(self.ours.reach(one, command.folders) for one in dotted)])

    def _first(self, words: Sequence[str], command: Command, least: Reach) -> str:
        return next((word for word in words if self._reach(word, command) >= least), "")

    def _set_globs(self, command: Command) -> None:
        if not _DOT_OPTIONS.isdisjoint(command.words):
            program = command.program
            if program in ("shopt", "setopt", "set") or program in SHELLS:
                self.dotted = "-u" not in command.words
        elif command.assigned:
            self.dotted |= any(name == "GLOBIGNORE" for name, _ in command.assigned)

    # Names of the files on their way to another command

    def _is_piped(self, command: Command) -> bool:
        return command.ends in ("|", "|&") or id(command) in self.sources

    def _settle(self) -> None:
        """A pipeline has ended: nobody took the names further if its last program only reads."""
        last, piped, self.piped = self.last, self.piped, Listed.NOTHING
        if last.program in programs.COUNTERS or piped is not Listed.CHOSEN:
            return
        kept = last.captured or self._is_piped(last) or last.program in KEEPING or last.shell != self.piped_in
        written = any(">" in sign and target[:1] != "&" for sign, target in last.redirects)
        self.fed |= kept or written or not last.words or not programs.leaves_alone(last.words)

    def _feed(self, command: Command) -> None:
        piped, named = self._is_piped(command), False
        found = taken = self.lists.taken(command)
        if not self.fed and not (piped and self.piped is Listed.CHOSEN):
            self.piped = left_by(command, self.piped, self.ours)
            named = self._names_ours(command)
            found = Listed.CHOSEN if named else self._listed(command)
        given = max(found, taken, self.piped if command.source is not None else Listed.NOTHING)
        self.lists.note(command, given, passed_on=piped)
        if self.fed:
            return
        if command.program in programs.PRINTERS and (piped or command.captured):
            found = max(found, taken)
        if piped and found > self.piped:
            self.piped, self.piped_in = found, command.shell
        elif not piped and found is Listed.CHOSEN and (named or command.captured):
            self.fed |= self.functions or not only_sets(command)

    def _listed(self, command: Command) -> Listed:
        """What the command, which prints names of files, passes on of ours."""
        if not command.captured and not self._is_piped(command) and not written_to(command):
            return Listed.NOTHING
        if command.program not in SEARCHES:
            self.searches += command.program in TEXT_SEARCHES or command.is_git
            return listed(command, self.ours) if self.searches <= _SEARCHES else Listed.CHOSEN
        whole = "-empty" not in command.words and self._selected(command, filtered=False)
        return Listed.AMONG_ALL if whole else Listed.NOTHING

    def _names_ours(self, command: Command) -> bool:
        """Whether the command gives the name of one of the files to others."""
        program, passes_on = command.program, command.captured or self._is_piped(command)
        keeps = program in ("for", "read", "") or command.assigned or command.more
        if not passes_on and not keeps and command.stdin is None:
            return False
        words = command.words if passes_on or program in ("for", "read") else []
        given, values = words[1:], [value for _, value in command.assigned]
        if program in SEARCHES and (search := search_of(program, given)).never:
            given = search.starts  # `_lists_ours` tells what it selects
        if program in programs.CONTENT_PRINTERS and not any("filename" in word for word in given):
            # One that prints what is in a file does not print the file's name, unless it reads several.
            named = [word for word in given if _is_path(word)]
            several = program in ("head", "tail") and (len(named) > 1 or any(STAR in word for word in named))
            given = given if several else [word for word in given if not _is_path(word)]
        texts = [word for word in given if not ("/" in word and _is_path(word))]
        prints = program in programs.PRINTERS or program in ("for", "read", "")
        return (
            (passes_on and any("claude" in word for word in given))
            or bool(self._first([*given, *values], command, Reach.HOME_OF))
            or (command.more and mentions(command.stdin or ""))
            or (prints and any(map(mentions, [*texts, *values, command.stdin or ""])))
            or (passes_on and self._lists_ours(command))
        )

    def _lists_ours(self, command: Command) -> bool:
        """Whether the command prints what is in a folder, or what a search finds, and one of ours with it."""
        program, rest = command.program, command.words[1:]
        if program in SEARCHES:
            return bool(self._selected(command, filtered=True))
        flags = {letter for letter, _ in letters(rest)}
        if program not in _LISTERS or "d" in flags:
            return False
        shown_dots = program == "la" or not {"a", "A", "f"}.isdisjoint(flags)
        shown_dots |= any(word in ("--all", "--almost-all") for word in rest)
        signs = [STAR, "." + STAR] if shown_dots else [STAR]
        listed = [f"{folder}/{sign}" for folder in operands(rest) or ["."] for sign in signs]
        return bool(self._first(listed, command, Reach.ABOVE))

    def _own(self, command: Command) -> Touch | None:
        """Judge our own program's calls, and texts that hide one."""
        if command.wraps:
            return None
        words = programs.own_words(command.words)
        if words is not None:
            open_to_it = programs.opened(words, self.protected, more=command.more)
            return Touch("own", open_to_it) if open_to_it else None
        program, unknown = command.program, UNKNOWN in command.program
        named = unknown and "satisfy" in command.words and (self.decoded or "req" in command.words)
        if named or (_runs_text(program) and any(map(programs.names_us, _texts_run(command)))):
            return Touch("own", self.protected)
        if program in programs.INTERPRETERS and programs.calls_us(command.words[1:]):
            return Touch("own", self.protected)
        hidden = self.decoded and (unknown or program in SHELLS or program in programs.INTERPRETERS)
        if hidden and (command.source is not None or _is_open(command)):
            return Touch("this command runs an encoded text, which can't be read", self.protected)
        return None

    def _skipping(self, command: Command) -> Touch | None:
        given = command.words if command.wraps or command.program in DECLARING else []
        variables = [name for name, _ in command.assigned] + [word.partition("=")[0] for word in given]
        if "CLAUDE_SKIP_REQUIREMENTS" in variables:
            return Touch("this command switches the requirements off for what it starts", self.protected)
        return None

    def _files(self, command: Command) -> Touch | None:
        word = self._redirected(command)
        if not word and (not command.wraps or command.program in SEARCHES):
            word = self._given(command)
        return _is_or_holds(shown(word), self.protected) if word else None

    def _redirected(self, command: Command) -> str:
        if not command.redirects and command.program != "tee":
            return ""
        targets = [target for sign, target in command.redirects if ">" in sign and target[:1] != "&"]
        tees = command.words[1:] if command.program == "tee" else []
        for target in [*targets, *tees][: _WRITTEN - len(self.written)]:
            given = command.source.words[1:] if command.source is not None else []
            self.written[target] = "\n".join([*command.texts(), *given])
        return self._first(targets, command, Reach.HOME_OF)

    def _given(self, command: Command) -> str:
        """The word of the command by which one of the files may be written; empty if there is none."""
        program, words = command.program, command.words
        if not program:
            return ""
        if program in SEARCHES:
            return self._find(command)
        if command.is_git:
            return self._git(command)
        written = ""
        if program in programs.PROGRAMMED:
            names_in_text = written_by_text(program, words[1:], command.stdin or "")
            written = self._first(names_in_text, command, Reach.HOME_OF)
        if written or programs.leaves_alone(words):
            return written
        return self._changed(command)

    def _changed(self, command: Command) -> str:
        """The word by which a program that may write what it is given is given one of the files."""
        program, words = command.program, command.words
        open_word = next((word for word in words if UNKNOWN in word), words[0])
        taken = self.fed or self.piped is Listed.CHOSEN or (self.piped and program in programs.REMOVERS)
        if taken and _is_open(command) and program not in programs.PRINTERS:
            return open_word
        listed = self.lists.taken(command)
        by_list = listed is Listed.CHOSEN or (listed and program in programs.REMOVERS)
        if by_list and (command.more or UNKNOWN in open_word) and program not in programs.PRINTERS:
            return open_word
        texts = _texts_run(command) if _runs_text(program) else []
        if any(
            mentions(one) for one in texts if program not in programs.PROGRAMMED or may_write(program, one)
        ):
            return ".claude"
        if program == "patch" and self.piped is Listed.CHOSEN:
            return program
        given = programs.targets(words)
        if program == "mv" and len(given) > 1:
            last = given.pop()
            hit = self._first([last], command, Reach.HOME_OF)
        else:
            hit = ""
        clears = program in programs.REMOVERS or any(word.startswith("--delete") for word in words)
        least = Reach.ABOVE if clears else Reach.HOME_OF
        return hit or self._written_before(command) or self._first(given, command, least)

    def _written_before(self, command: Command) -> str:
        """The file that the command runs, if what was written to it is about the files or our program."""
        if not self.written:
            return ""
        words = command.words[:3] if command.program in _RUN_FILES else command.words[:1]
        for word in words:
            text = self.written.get(word) or self.written.get(word.removeprefix("./"), "")
            if mentions(text) or programs.names_us(text):
                return word
        return ""

    def _find(self, command: Command) -> str:
        search = search_of(command.program, command.words[1:])
        written = self._first(search.writes, command, Reach.HOME_OF)
        acts = search.removes or not all(words and programs.leaves_alone(words) for words in search.programs)
        if written or "-empty" in command.words or not acts:
            return written
        return self._selected(command, filtered=not search.clears)

    def _selected(self, command: Command, *, filtered: bool) -> str:
        """Where a search begins that may select one of the files; a ``filtered`` one must say which names,
        unless it begins where they are.
        """
        search = search_of(command.program, command.words[1:])
        if not search.may_select(self.ours, command.folders):
            return ""
        inside = self._first(search.starts, command, Reach.HOME_OF)
        if inside or not search.hidden or (filtered and not search.filtered):
            return inside
        return self._first(search.starts, command, Reach.ABOVE)

    def _git(self, command: Command) -> str:
        call = git_call(command.words)
        alias = call.aliases.get(call.verb.lower(), "")
        if alias.startswith("!") and mentions(alias):
            return alias
        if (
            call.verb in ("apply", "am")
            and (self.fed or self.piped is Listed.CHOSEN)
            and not operands(call.rest, "pCS")
        ):
            return f"git {call.verb}"
        folder = join("", *(value for name, value in call.options if name == "-C"))
        named = [*command.exported, *command.assigned, *call.options]
        elsewhere = call.verb in programs.OF_ITS_TREE and not any(name in _TREES for name, _ in named)
        if elsewhere and self.ours.lies_beside(folder, command.folders):
            return ""
        return programs.git_writes(
            call, lambda word, least: self._reach(join(folder, word) if folder else word, command) >= least
        )


def _is_open(command: Command) -> bool:
    """Whether some words of the command are only known at run time."""
    return command.more or any(word.startswith(UNKNOWN) for word in command.words)


def _with_dots(word: str) -> list[str]:
    """What the globs of a word may be where they take in names that begin with a dot."""
    if STAR not in word and ONE not in word:
        return []
    parts = word.split("/")
    globs = [at for at, part in enumerate(parts) if part[:1] in (STAR, ONE) and part][:_VARIANTS]
    return ["/".join([*parts[:at], "." + parts[at].lstrip(ONE), *parts[at + 1 :]]) for at in globs]


def _is_path(word: str) -> bool:
    """Whether a word can only be a path or a name, no text of a program: where it leads can be told."""
    return _PATH_SIGNS.issuperset(word)


def _runs_text(program: str) -> bool:
    # A shell's text has become commands of its own, unless its options kept it from being read.
    return program in _RUN_TEXT or program in SHELLS


def _texts_run(command: Command) -> list[str]:
    """What a program is given to run: words that are no plain paths, values of -c and the like, its input."""
    words = command.words
    texts = [word for before, word in pairwise(words) if _before_text(before) or not _is_path(word)]
    return [*texts, *command.texts()[len(words) - 1 :]]


def _before_text(word: str) -> bool:
    cluster = word[:1] == "-" and word[1:2] != "-" and word[-1:] in ("c", "e", "E")
    return cluster or word in _TEXT_OPTIONS
