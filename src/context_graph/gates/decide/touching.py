"""Decides whether a call might write the files that gates depend on, or do what only a person may.

Programs that only read are allowed. Any other program that is given one of the files, by whatever name,
counts as writing it. So does a command that can't be parsed but mentions them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from posixpath import join

from context_graph.gates.decide.tool_call import command_of, targets_of
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import SHELLS as SHELL_TOOLS
from context_graph.gates.rules import Rules, glob_match
from context_graph.gates.shell import programs
from context_graph.gates.shell.command import UNKNOWN, Command, bare_text, names, shown
from context_graph.gates.shell.protected import Protected, Reach
from context_graph.gates.shell.runs import SHELLS, git_call, runs
from context_graph.gates.shell.shell import Reading
from context_graph.gates.state.project import Project

FILE_TOOLS = names("Edit Write MultiEdit NotebookEdit")

_MENTIONS = ("requirements.yaml", "requirements.local", ".git/HEAD", ".git/requirements")
_STARTS = names("-exec -execdir -ok -okdir")
_ACTS = _STARTS | names("-delete -fprint -fprintf -fls")
_IN_PATHS = ("claude", ".git", "req", "settings")
_RUN_TEXT = programs.INTERPRETERS | names("sed awk gawk mawk crontab")
_RUN_FILES = programs.INTERPRETERS | SHELLS | {"source", "."}
_WRITTEN = 20
_SHOWN = 100
_NAME_CHARS = 255
"""Longest name of a file; a longer glob may mean any."""


@dataclass(frozen=True, slots=True)
class Touch:
    """What a call might do: ``names`` are the requirements concerned, ``why`` describes the effect.

    An empty ``why`` means that the call does not affect the gates.
    """

    why: str = ""
    names: list[str] = field(default_factory=list)


# A call

_RUN = ("command", "cmd", "commandLine", "command_line", "script", "code")
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
    texts = map(given.get, _RUN) if tool.startswith("mcp__") else ()
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
    if not 0 < len(text) <= _PATH_CHARS or "\n" in text or any(char < "\6" for char in text):
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
    return next(filter(None, map(judge.judge, reading.commands)), Touch())


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
        self.written: dict[str, str] = {}
        """What was written to a file, which a later command may run."""

    def judge(self, command: Command) -> Touch | None:
        """What the command might do; None if it does not affect the gates."""
        self._feed(command)
        return self._own(command) or self._skipping(command) or self._files(command)

    def _reach(self, word: str, command: Command) -> Reach:
        return self.ours.reach(word, command.folders)

    def _first(self, words: Sequence[str], command: Command, least: Reach) -> str:
        return next((word for word in words if self._reach(word, command) >= least), "")

    def _feed(self, command: Command) -> None:
        passes_on = command.captured or id(command) in self.sources
        words = command.words if passes_on or command.program in ("for", "read") else []
        values = [value for _, value in command.assigned]
        texts = [*words, *values, command.stdin or ""]
        prints = command.program in programs.PRINTERS or command.program in ("for", "read", "")
        self.fed = (
            self.fed
            or (passes_on and any("claude" in word for word in words))
            or bool(self._first([*words[1:], *values], command, Reach.HOME_OF))
            or (command.more and mentions(command.stdin or ""))
            or (prints and any(map(mentions, texts)))
        )

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
        if named or (program in _RUN_TEXT and any(map(programs.names_us, command.texts()))):
            return Touch("own", self.protected)
        hidden = self.decoded and (unknown or program in SHELLS or program in programs.INTERPRETERS)
        if hidden and (command.source is not None or _is_open(command)):
            return Touch("this command runs an encoded text, which can't be read", self.protected)
        return None

    def _skipping(self, command: Command) -> Touch | None:
        given = command.words if command.wraps or command.program in ("export", "declare") else []
        variables = [name for name, _ in command.assigned] + [word.partition("=")[0] for word in given]
        if "CLAUDE_SKIP_REQUIREMENTS" in variables:
            return Touch("this command switches the requirements off for what it starts", self.protected)
        return None

    def _files(self, command: Command) -> Touch | None:
        word = self._redirected(command)
        if not word and (not command.wraps or command.program == "find"):
            word = self._given(command)
        return _is_or_holds(shown(word), self.protected) if word else None

    def _redirected(self, command: Command) -> str:
        targets = [target for sign, target in command.redirects if ">" in sign and target[:1] != "&"]
        tees = command.words[1:] if command.program == "tee" else []
        for target in [*targets, *tees][: _WRITTEN - len(self.written)]:
            given = command.source.words[1:] if command.source is not None else []
            self.written[target] = "\n".join([*command.texts(), *given])
        return self._first(targets, command, Reach.HOME_OF)

    def _given(self, command: Command) -> str:
        """The word of the command by which one of the files may be written; empty if there is none."""
        program, words = command.program, command.words
        if not program or (program in programs.READERS and not programs.writes_anyway(words)):
            return ""
        if command.is_git:
            return self._git(command)
        if program == "find":
            return self._find(command)
        if self.fed and _is_open(command) and program not in programs.PRINTERS:
            return next((word for word in words if UNKNOWN in word), words[0])
        if program in _RUN_TEXT and any(map(mentions, command.texts())):
            return ".claude"
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
        words = command.words[:3] if command.program in _RUN_FILES else command.words[:1]
        for word in words:
            text = self.written.get(word) or self.written.get(word.removeprefix("./"), "")
            if mentions(text) or programs.names_us(text):
                return word
        return ""

    def _find(self, command: Command) -> str:
        words = command.words[1:]
        acts = _ACTS.intersection(words)
        started = [program for option, program in pairwise(words) if option in _STARTS]
        reads = acts <= _STARTS and all(one.rpartition("/")[2] in programs.READERS for one in started)
        if "-empty" in words or not acts or reads:
            return ""
        options = next((at for at, word in enumerate(words) if word.startswith(("-", "(", "!"))), len(words))
        start = self._first(words[:options] or ["."], command, Reach.ABOVE)
        globs, paths = _filters(words)
        if globs and not any(glob_match(glob, name) for glob in globs for name in self.ours.names):
            return ""
        if paths and not any(part in path for path in paths for part in _IN_PATHS):
            return ""
        wide = globs or paths or "-delete" in acts or "rm" in words
        return start if wide or self._reach(start, command) >= Reach.HOME_OF else ""

    def _git(self, command: Command) -> str:
        call = git_call(command.words)
        alias = call.aliases.get(call.verb.lower(), "")
        if alias.startswith("!") and mentions(alias):
            return alias
        folder = join("", *(value for name, value in call.options if name == "-C"))
        return programs.git_writes(
            call, lambda word, least: self._reach(join(folder, word) if folder else word, command) >= least
        )


def _is_open(command: Command) -> bool:
    """Whether some words of the command are only known at run time."""
    return command.more or any(word.startswith(UNKNOWN) for word in command.words)


def _filters(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The globs for names and the patterns for paths that a find selects; excluded ones don't count."""
    globs: list[str] = []
    paths: list[str] = []
    for before, option, value in zip(["", *words], words, words[1:], strict=False):
        if before in ("!", "-not"):
            continue
        if option in ("-name", "-iname"):
            globs.append(shown(value) if len(value) <= _NAME_CHARS else "*")
        elif option in ("-path", "-ipath", "-wholename", "-regex", "-iregex"):
            paths.append(value)
    return globs, paths
