"""Whether a shell command might write the files that gates depend on, or satisfy what only a person may.

Readers may read. Every other program that is given one of the files, by whatever name, counts as writing it;
so does what can't be read but says that it is about them.
"""

from __future__ import annotations

from itertools import pairwise

from context_graph.requirements import own_commands, programs
from context_graph.requirements.protected import ABOVE, HOME_OF, Protected, Touch
from context_graph.requirements.shell import Reading
from context_graph.requirements.shell_command import Command
from context_graph.requirements.shell_runs import SHELLS, git_words, runs
from context_graph.requirements.shell_words import UNKNOWN, is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["mentions", "touch"]

_MENTIONS = (".claude", "requirements.yaml", "requirements.local", ".git/HEAD", ".git/requirements")
_QUOTING = str.maketrans("", "", "'\"\\+ ,()\n")
_CWDS = 4
_STARTS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_ACTS = _STARTS | {"-delete", "-fprint", "-fprintf", "-fls"}
_IN_PATHS = ("claude", ".git", "req", "settings")
_RUN_TEXT = programs.INTERPRETERS | {"sed", "awk", "gawk", "mawk", "crontab"}
_WRITTEN = 20


def touch(command: str, protected: Collection[str], ours: Protected, cwd: str, home: str = "") -> Touch:
    """What ``command``, run in ``cwd``, might do to the requirements ``protected`` or to the files ``ours``.

    Time grows with the command's length; a path costs up to one ``realpath``.
    """
    variables = {"PWD": cwd, **({"HOME": home} if home else {})}
    reading = runs(command, variables)
    if reading.broken and (mentions(command) or own_commands.named_in(command)):
        return Touch("this command can't be read to its end", protected)
    return _Judge(reading, protected, ours, cwd, home).judge()


def mentions(text: str) -> bool:
    """Whether a program's text names one of the files or their folder, quotes and signs between left out."""
    plain = text.translate(_QUOTING)
    for word in _MENTIONS:
        at = plain.find(word)
        while at >= 0:
            if word != ".claude" or _is_home_of(plain, at + len(word)):
                return True
            at = plain.find(word, at + 1)
    return False


def _is_home_of(text: str, at: int) -> bool:
    """Whether what follows `.claude` names the folder itself or one of the files, and no other in it."""
    if text[at : at + 1] != "/":
        return True
    rest = text[at + 1 : at + 12]
    return rest[:1] in ("", "*", "?", "$", "{") or rest.startswith(("req", "set", "ses"))


class _Judge:
    """One command line, with the folder that each of its commands runs in."""

    def __init__(
        self, reading: Reading, protected: Collection[str], ours: Protected, cwd: str, home: str
    ) -> None:
        self.reading, self.protected, self.ours, self.home = reading, protected, ours, home
        self.places: dict[tuple[int, ...], list[str]] = {(0,): [cwd]}
        self.written: dict[str, str] = {}
        self.sources = {id(one.source) for one in reading.commands if one.source is not None}
        self.fed = False
        self.decoded = any(one.program in programs.DECODERS for one in reading.commands)

    def judge(self) -> Touch:
        for command in self.reading.commands:
            self._feed(command)
            found = self._own(command) or self._skipping(command) or self._files(command)
            if found:
                return found
            self._move(command)
        return Touch()

    # Folders

    def cwds(self, command: Command) -> list[str]:
        shell = command.shell
        while shell and shell not in self.places:
            shell = shell[:-1]
        return self.places.get(shell) or self.places[(0,)]

    def _move(self, command: Command) -> None:
        if command.program not in ("cd", "pushd", "popd"):
            return
        import os

        words = [word for word in command.words[1:] if not word.startswith("-") or word == "-"]
        target = words[0] if words else (self.home if command.program == "cd" else UNKNOWN)
        if target == "-" or not target:
            target = UNKNOWN
        old = self.cwds(command)
        new = [target if target[:1] in ("/", UNKNOWN) else f"{place}/{target}" for place in old]
        sure = command.ends == "&&" or all(is_plain(place) and os.path.isdir(place) for place in new)
        self.places[command.shell] = list(dict.fromkeys(new if sure else [*new, *old]))[:_CWDS]

    def reach(self, word: str, command: Command) -> int:
        return max(self.ours.reach(word, place) for place in self.cwds(command))

    # What reaches a command by its input

    def _feed(self, command: Command) -> None:
        """Note whether one of the files' names goes where a later command may take it from."""
        passes_on = command.captured or id(command) in self.sources
        words = command.words if passes_on else command.words if command.program in ("for", "read") else []
        texts = [value for _, value in command.assigned] + ([command.stdin] if command.stdin else [])
        if passes_on and any("claude" in word for word in words):
            self.fed = True
        near = any(self.reach(word, command) >= HOME_OF for word in [*words[1:], *texts[:-1]])
        data = command.program in programs.PRINTERS or command.program in ("for", "read", "")
        taken = command.more and command.stdin is not None and mentions(command.stdin)
        self.fed |= near or taken or (data and any(mentions(text) for text in [*words, *texts]))

    def _unknown(self, command: Command) -> bool:
        return command.more or any(word == UNKNOWN or word.startswith(UNKNOWN) for word in command.words)

    # Our own program

    def _own(self, command: Command) -> Touch | None:
        if command.wraps:
            return None
        words = own_commands.own_words(command.words)
        if words is not None:
            names = own_commands.opened(words, self.protected, more=command.more)
            return Touch("own", names) if names else None
        program, texts = command.program, _texts(command)
        if UNKNOWN in program and "satisfy" in command.words and (self.decoded or "req" in command.words):
            return Touch("own", self.protected)
        if program in _RUN_TEXT and any(map(own_commands.named_in, texts)):
            return Touch("own", self.protected)
        hidden = program in SHELLS or program in programs.INTERPRETERS or UNKNOWN in program
        if hidden and self.decoded and (command.source is not None or self._unknown(command)):
            return Touch("this command runs an encoded text, which can't be read", self.protected)
        return None

    def _skipping(self, command: Command) -> Touch | None:
        names = [name for name, _ in command.assigned]
        names += [word.partition("=")[0] for word in command.words if "=" in word and command.wraps]
        if command.program in ("export", "declare"):
            names += [word.partition("=")[0] for word in command.words[1:]]
        if any(name == "CLAUDE_SKIP_REQUIREMENTS" for name in names):
            return Touch("this command switches the requirements off for what it starts", self.protected)
        return None

    # Files

    def _files(self, command: Command) -> Touch | None:
        word = self._written_to(command) or (
            "" if command.wraps and command.program != "find" else self._given(command)
        )
        if not word:
            return None
        shown = "".join(char if char > "\5" else "*" for char in word)[:100]
        return Touch(f"`{shown}` is, or holds, a file that the requirements depend on", self.protected)

    def _written_to(self, command: Command) -> str:
        for operator, target in command.redirects:
            if ">" in operator and not target.startswith("&"):
                if self.reach(target, command) >= HOME_OF:
                    return target
                self._note(target, command)
        if command.program == "tee":
            for target in command.words[1:]:
                self._note(target, command)
        return ""

    def _note(self, target: str, command: Command) -> None:
        """Keep what is written to a file: a later command may run it."""
        if len(self.written) < _WRITTEN:
            source = command.source
            given = [*source.words[1:], source.stdin or ""] if source is not None else []
            self.written[target] = "\n".join([*command.words[1:], command.stdin or "", *given])

    def _given(self, command: Command) -> str:
        """The word of the command that one of the files may be written by; empty if there is none."""
        program = command.program
        if not program or (program in programs.READERS and not programs.writes_anyway(command.words)):
            return ""
        if program in ("git", "git.exe"):
            return self._git(command)
        if program == "find":
            return self._find(command)
        if self.fed and self._unknown(command) and program not in programs.PRINTERS:
            return next((word for word in command.words if UNKNOWN in word), command.words[0])
        ran = next(
            (w for w in command.words[:3] if w in self.written or w.removeprefix("./") in self.written), ""
        )
        if ran and (ran == command.words[0] or program in SHELLS | programs.INTERPRETERS | {"source", "."}):
            text = self.written.get(ran) or self.written.get(ran.removeprefix("./"), "")
            if mentions(text) or own_commands.named_in(text):
                return ran
        if program in _RUN_TEXT and any(mentions(text) for text in _texts(command)):
            return ".claude"
        words = programs.targets(command.words)
        if program == "mv" and len(words) > 1:
            return self._first(words[:-1], command, ABOVE) or self._first(words[-1:], command, HOME_OF)
        clears = program in programs.REMOVERS or any(word.startswith("--delete") for word in command.words)
        return self._first(words, command, ABOVE if clears else HOME_OF)

    def _first(self, words: list[str], command: Command, least: int) -> str:
        return next((word for word in words if self.reach(word, command) >= least), "")

    def _find(self, command: Command) -> str:
        words = command.words[1:]
        acts = _ACTS & set(words)
        if "-empty" in words or not acts or (acts <= _STARTS and _runs_readers(words)):
            return ""
        starts: list[str] = []
        for word in words:
            if word.startswith(("-", "(", "!")):
                break
            starts.append(word)
        start = self._first(starts or ["."], command, ABOVE)
        if not start or not self._may_find(words):
            return ""
        wide = "-delete" in acts or "rm" in words or self.reach(start, command) >= HOME_OF
        return start if wide or _filters(words) != ([], []) else ""

    def _may_find(self, words: list[str]) -> bool:
        """Whether what a find asks for may be one of the files."""
        from context_graph.requirements.rules import glob_match

        names, paths = _filters(words)
        if names and not any(glob_match(name, one) for name in names for one in self.ours.names):
            return False
        return not paths or any(part in path for path in paths for part in _IN_PATHS)

    def _git(self, command: Command) -> str:
        import os

        verb, rest, aliases = git_words(command.words[1:])
        value = aliases.get(verb.lower(), "")
        if value.startswith("!") and mentions(value):
            return value
        folder = ""
        for at, word in enumerate(command.words[:-1]):
            if word == "-C":
                folder = os.path.join(folder, command.words[at + 1])
            if word == verb:
                break
        return programs.git_writes(verb, rest, lambda word, least: self._at(folder, word, command) >= least)

    def _at(self, folder: str, word: str, command: Command) -> int:
        import os

        return self.reach(os.path.join(folder, word) if folder else word, command)


def _texts(command: Command) -> list[str]:
    """What an interpreter is given to run, as far as it stands in the command."""
    texts = [command.stdin] if command.stdin else []
    source = command.source
    if source is not None:
        texts += [source.stdin or "", *(source.words[1:] if source.program in ("echo", "printf") else [])]
    return texts + command.words[1:]


def _runs_readers(words: list[str]) -> bool:
    """Whether every program that a find starts is a reader."""
    started = [b for a, b in pairwise(words) if a in _STARTS]
    return all(one.rpartition("/")[2] in programs.READERS for one in started)


def _filters(words: list[str]) -> tuple[list[str], list[str]]:
    """The globs for names and the patterns for paths that a find asks for; those it leaves out are none."""
    names: list[str] = []
    paths: list[str] = []
    for at, word in enumerate(words[:-1]):
        if words[max(at - 1, 0) : at] in (["!"], ["-not"]):
            continue
        if word in ("-name", "-iname"):
            names.append(_glob(words[at + 1]))
        elif word in ("-path", "-ipath", "-wholename", "-regex", "-iregex"):
            paths.append(words[at + 1])
    return names, paths


def _glob(word: str) -> str:
    """A word of a command as a glob; what isn't known may be anything."""
    return "".join({"\0": "*", "\1": "*", "\2": "?"}.get(char, char) for char in word)
