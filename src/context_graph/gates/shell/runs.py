"""Finds which commands a command line finally runs: removes `sudo`, `env`, `sh -c`, `xargs` and the like."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import join

from context_graph.gates.shell.command import UNKNOWN, Command, filled, names
from context_graph.gates.shell.folders import GIT_VARIABLES, follow_folders
from context_graph.gates.shell.printed import printed
from context_graph.gates.shell.reading import Reading
from context_graph.gates.shell.searches import SEARCHES, search_of
from context_graph.gates.shell.shell import read, read_into
from context_graph.gates.shell.wrappers import option, wrapped

SHELLS = names("sh bash zsh dash ksh ash fish pwsh powershell")

_JOINING = names("ssh watch parallel mosh hyperfine entr watchexec")
"""Programs that give their words to a shell."""

_READING = names("tmux screen expect at batch") | _JOINING
"""Programs that run what they read."""

_WITH_C = names("script su runuser nix-shell expect sg npx pnpx")
"""Programs whose `-c` has a command for a shell."""

_STARTS = 8
"""Folders in which one search begins that are followed."""

_STDIN = names("/dev/stdin /dev/fd/0 /proc/self/fd/0")
_POWERSHELLS = names("pwsh powershell")
_SOURCING = names("source .")

_GIT_FLAGS = names(
    "-p -P --paginate --no-pager --bare --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice "
    "--literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs"
)
_GIT_VALUES = names("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source")


def runs(text: str, variables: Mapping[str, str] | None = None) -> Reading:
    """Every command that ``text`` would run, in order, wrappers taken off and inner texts read.

    A wrapper stays in the list where it stood, marked ``wraps``; what it runs follows it. Where ``variables``
    have PWD, each command has the folders that it runs in; a `cd` then costs up to four stat calls.
    """
    reading = read(text, variables)
    done: list[Command] = []
    waiting = reading.commands[::-1]
    while waiting:
        command = waiting.pop()
        done.append(command)
        if command.choices and any(is_git(word) for word in command.words):
            made = _each(command, reading)
            command.wraps = bool(made)
            waiting += made[::-1]
        elif reading.left >= 0:
            inner = _inner(command, reading)
            command.wraps = bool(inner) and not command.is_git  # git does its own part too
            waiting += inner[::-1]
    reading.commands = done
    if variables and "PWD" in variables:
        follow_folders(done, variables["PWD"], variables.get("HOME", ""), reading.starts)
    return reading


def _each(command: Command, reading: Reading) -> list[Command]:
    """The command once for each value of a loop's variable, where its words have all of them."""
    found: list[Command] = []
    for number in range(max(count for _, count in command.choices)):
        words, at = [], 0
        for first, count in command.choices:
            words += [*command.words[at:first], command.words[first + number % count]]
            at = first + count
        words += command.words[at:]
        if not reading.spend(len(words)):
            return found
        found.append(replace(command, words=words, choices=[]))
    return found


# What a command starts


def _inner(command: Command, reading: Reading) -> list[Command]:
    """The commands that the command itself runs; [] if it only runs its own program."""
    if not command.words:
        return []
    made = wrapped(command.words)
    if made is not None:
        started = replace(
            command,
            words=made.rest,
            redirects=command.inputs,
            more=command.program == "xargs" or command.more,
            assigned=[*command.assigned, *made.assigned],
            chdir=join(command.chdir, made.chdir) if made.chdir else command.chdir,
        )
        reading.left -= len(made.rest)
        return _read_more(made.text, started, reading) if made.text else [started]
    if command.program in SEARCHES:
        return _of_search(command)
    text = _text_of(command)
    return _read_more(text, command, reading) if text else []


def _with_words(command: Command, words: list[str], *, more: bool = False) -> Command:
    return replace(command, words=words, redirects=command.inputs, more=more or command.more)


def _read_more(text: str, command: Command, reading: Reading) -> list[Command]:
    """The commands of a text that the command gives to a shell."""
    first = len(reading.commands)
    arguments = {
        name: value for name, value in reading.variables.items() if name.isdigit() or name in ("@", "*")
    }
    same = command.program == "eval" or command.program in _SOURCING
    inner = command.shell if same else reading.subshell(command.shell)
    if command.chdir:
        reading.starts[inner] = command.chdir
    reading.variables.update(_arguments(command))
    found = read_into(reading, text, inner)
    del reading.commands[first:]
    reading.variables.update(arguments)
    for one in found:
        one.captured |= command.captured
        one.source = one.source or command.source
        one.assigned = [*(pair for pair in command.assigned if pair[0] in GIT_VARIABLES), *one.assigned]
    return found


def _arguments(command: Command) -> dict[str, str]:
    """What `$0`, `$1`, … and `$@` are in the text of a shell's -c."""
    if command.program not in SHELLS or command.program in _POWERSHELLS:
        return {}
    at, has_text, _ = _shell_options(command.words)
    given = command.words[at + has_text :]
    values = {str(number): word for number, word in enumerate(given[:10])}
    rest = " ".join(given[1:])
    return {**values, "@": rest, "*": rest} if has_text and len(given) > 1 and len(rest) < 4096 else {}


def _of_search(command: Command) -> list[Command]:
    """What find or fd starts: with any names; by -execdir in any folder below those it begins in."""
    search = search_of(command.program, command.words[1:])
    found: list[Command] = []
    for words in filter(None, search.programs):
        one = _with_words(command, filled(words, "{}"))
        below = [join(command.chdir, start, UNKNOWN) for start in search.starts[:_STARTS]]
        found += [replace(one, chdir=folder) for folder in below] if search.in_folders else [one]
    return found


def _text_of(command: Command) -> str:
    """The text that the command gives to a shell; empty if it gives none, or none that can be told."""
    words, program = command.words, command.program
    if program in _POWERSHELLS:
        return _of_powershell(command)
    if program in SHELLS:
        return _of_shell(command)
    if program in _SOURCING:
        return _of_script(command, words[1] if len(words) > 1 else "")
    if command.is_git:
        return _of_git(words)
    if program == "trap":
        return words[1] if len(words) > 2 else ""
    if program == "alias":
        return "\n".join(word.partition("=")[2] for word in words[1:])
    if program == "eval":
        return " ".join(words[1:])
    if program in _WITH_C:
        text = option(words[1:], "-c", "--command", "--run")
        if text:
            return text
    return _of_words(command) if program in _READING else ""


def _of_git(words: list[str]) -> str:
    """What git gives to a shell: for each commit of a rebase or a bisection, in each submodule."""
    call = git_call(words)
    if call.verb == "rebase":
        return option(call.rest, "-x", "--exec")
    first = {"submodule": "foreach", "bisect": "run"}.get(call.verb, "")
    if not first or first not in call.rest:
        return ""
    return " ".join(word for word in call.rest[call.rest.index(first) + 1 :] if not word.startswith("--"))


def _of_words(command: Command) -> str:
    program, rest = command.program, command.words[1:]
    if program in ("tmux", "screen"):
        return "\n".join(word for word in rest if " " in word)
    if program == "ssh":
        rest = [word for word in rest if not word.startswith("-")][1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-n", "-j", "-f", "-q") else rest[1:]
    if program == "parallel":
        rest = filled(rest, "{}")
        if ":::" in rest:
            at = rest.index(":::")
            return "\n".join(" ".join([*rest[:at], one]) for one in rest[at + 1 :][:_STARTS]) or " ".join(
                rest
            )
    return " ".join(rest) if program in _JOINING and rest else _given(command)


def _shell_options(words: Sequence[str]) -> tuple[int, bool, bool]:
    """Where a shell's options end, whether they have -c, and whether -s.

    The text of -c is the first word behind all options; each ``o`` in a cluster takes a word as well.
    """
    at, has_text, reads = 1, False, False
    while at < len(words) and words[at][:1] in ("-", "+") and len(words[at]) > 1:
        word = words[at]
        at += 1
        if word.startswith("--"):
            at += word in ("--rcfile", "--init-file")
            has_text |= word == "--command"
            if word == "--":
                break
            continue
        has_text |= word[0] == "-" and "c" in word
        reads |= "s" in word
        for _ in range(min(2, word.count("o") + word.count("O"))):
            at += at < len(words) and words[at][:1] not in ("-", "+")
    return at, has_text, reads


def _of_shell(command: Command) -> str:
    words = command.words
    joined = next((word for word in words[1:] if word.startswith(("-c", "--command=")) and " " in word), "")
    if joined:  # fish -c'TEXT'
        return joined.partition("=")[2] if joined.startswith("--") else joined[2:]
    at, has_text, reads = _shell_options(words)
    if has_text:
        return words[at] if at < len(words) else ""
    return _given(command) if reads or at >= len(words) else _of_script(command, words[at])


def _of_script(command: Command, path: str) -> str:
    """The text of a script, where the line itself has it: of standard input, of a process substitution."""
    if path in _STDIN or path == "-":
        return _given(command)
    return "\n".join(command.given) if path == UNKNOWN else ""


def _of_powershell(command: Command) -> str:
    words = command.words[1:]
    for at, word in enumerate(words):
        low = word.lower()
        if (len(low) > 1 and "-command".startswith(low.replace("/", "-", 1))) or low == "-commandwithargs":
            return " ".join(words[at + 1 :])
    plain = [word for word in words if not word.startswith("-")]
    return " ".join(plain) if plain and command.program == "powershell" else _given(command)


def _given(command: Command) -> str:
    """What the command reads on its standard input, as far as that is plain."""
    if command.stdin is not None:
        return command.stdin
    text = printed([command.source], {}) if command.source is not None else ""
    return "" if text == UNKNOWN else text


@dataclass(frozen=True, slots=True)
class GitCall:
    """A call of git, its global options told from its verb."""

    verb: str
    rest: list[str]
    """The words after the verb."""
    options: list[tuple[str, str]]
    """The options before it that take a value."""

    @property
    def aliases(self) -> dict[str, str]:
        """The aliases that its ``-c`` set."""
        given = (value.partition("=") for name, value in self.options if name == "-c")
        return {key[6:].lower(): value for key, _, value in given if key.lower().startswith("alias.")}


def is_git(word: str) -> bool:
    """Whether a program of that name or path is git."""
    return word.rpartition("/")[2] in ("git", "git.exe")


def git_call(words: Sequence[str]) -> GitCall:
    """``words`` of a call of git, its program first."""
    options: list[tuple[str, str]] = []
    at = 1
    while at < len(words) and words[at].startswith("-"):
        name, _, value = words[at].partition("=")
        if words[at] in _GIT_VALUES:
            at += 1
            value = words[at] if at < len(words) else ""
        if name in _GIT_VALUES:
            options.append((name, value))
        at += 1
    return GitCall(words[at] if at < len(words) else "", list(words[at + 1 :]), options)


def holds_git(words: Sequence[str], verbs: Collection[str]) -> bool:
    """Whether git with one of ``verbs`` stands among the words that a program is given."""
    after = beyond = ""  # the verb of a git that stood one word, two words before
    for at in range(len(words) - 1, 0, -1):
        word = words[at]
        if after in verbs and is_git(word):
            return True
        after, beyond = _verb_from(word, after, beyond), after
    return False


def _verb_from(word: str, after: str, beyond: str) -> str:
    """The verb that git would find from ``word`` on; empty behind an option that git does not know."""
    if not word.startswith("-"):
        return word
    if word in _GIT_VALUES:
        return beyond
    return after if word in _GIT_FLAGS or word.partition("=")[0] in _GIT_VALUES else ""
