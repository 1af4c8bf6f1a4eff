"""What a command line runs in the end: `sudo`, `env`, `sh -c`, `xargs`, `eval` and the like taken off."""

from __future__ import annotations

from context_graph.requirements.shell import Reading, read
from context_graph.requirements.shell_command import Command, printed
from context_graph.requirements.shell_words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SHELLS", "git_words", "runs"]

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "pwsh", "powershell"))

_TAKES_VALUE = {
    "sudo": "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir",
    "doas": "-u -C",
    "env": "-u -C -S --unset --chdir --split-string",
    "nice": "-n --adjustment",
    "ionice": "-c -n -p",
    "timeout": "-s -k --signal --kill-after",
    "stdbuf": "-i -o -e",
    "time": "-f -o",
    "exec": "-a",
    "xargs": "-I -n -P -L -d -E -s -a --arg-file --delimiter --max-args --max-procs --replace --max-lines",
    "flock": "-w -E --timeout",
    "strace": "-e -o -p -s -u",
    "chrt": "-T -P -D",
    "taskset": "-c",
    **dict.fromkeys(
        ("command", "builtin", "nohup", "setsid", "unbuffer", "busybox", "caffeinate", "spawn"), ""
    ),
    **dict.fromkeys(("proxychains", "noglob", "nocorrect", "catchsegv", "eatmydata", "-"), ""),
}
"""Program that runs the rest of its words: its options that take a value as a word of its own."""

_PLACES = {"timeout": 1, "flock": 1, "chrt": 1, "taskset": 1}
"""Words of its own that such a program takes first."""

_RUNNERS = frozenset(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mise", "direnv", "asdf"))
"""Programs whose subcommand `run` or `exec` runs the rest."""

_AS_TEXT = frozenset(("eval", "ssh", "watch", "parallel", "tmux", "screen", "expect", "at", "batch", "mosh"))
"""Programs that give their words, or what they read, to a shell."""

_WITH_C = frozenset(("script", "su", "runuser", "flock", "nix-shell", "expect", "sg"))
"""Programs whose `-c` has a command for a shell."""

_GIT_VALUES = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source")
)
_STEPS = 20


def runs(text: str, variables: Mapping[str, str] | None = None) -> Reading:
    """Every command that ``text`` would run, in order, wrappers taken off and inner texts read.

    A wrapper stays in the list where it stood, marked ``wraps``; what it runs follows it.
    """
    found = read(text, variables)
    done: list[Command] = []
    waiting = found.commands[::-1]
    while waiting:
        command = waiting.pop()
        done.append(command)
        if found.left < 0:
            continue
        inner = _inner(command, found)
        command.wraps = bool(inner) and command.program != "git"  # git does its own part too
        waiting += inner[::-1]
    found.commands = done
    return found


def _inner(command: Command, reading: Reading) -> list[Command]:
    """What the command runs itself; [] for one that runs nothing but its own program."""
    words, program = command.words, command.program
    if program in _TAKES_VALUE:
        rest = _after_wrapper(program, words)
        text = _option(words[: len(words) - len(rest)], ("-S", "--split-string")) if program == "env" else ""
        if text:
            return _read_more(text, command, reading)
        if rest and not (program == "command" and {"-v", "-V"} & set(words[1 : len(words) - len(rest)])):
            reading.left -= len(rest)
            return [_with_words(command, rest, more=program == "xargs")]
    if program in _RUNNERS and len(words) > 2 and words[1] in ("run", "exec", "x"):
        rest = words[2:]
        while rest and (rest[0].startswith("-") or rest[0] == "."):
            rest = rest[1:]
        return [_with_words(command, rest)] if rest else []
    if program == "find":
        return _of_find(command)
    text = _text_of(command)
    return _read_more(text, command, reading) if text else []


def _after_wrapper(program: str, words: list[str]) -> list[str]:
    """The words of the command that a wrapper runs."""
    values = _TAKES_VALUE[program].split()
    at, places = 1, _PLACES.get(program, 0)
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in values else 1
        elif "=" in word and program in ("env", "sudo", "doas") and word[:1].isalpha():
            at += 1
        elif places:
            places -= 1
            at += 1
        else:
            break
    return words[at:]


def _option(words: list[str], names: tuple[str, ...]) -> str:
    for at, word in enumerate(words):
        if word in names:
            return words[at + 1] if at + 1 < len(words) else ""
        for name in names:
            if word.startswith(name + "=") or (len(name) == 2 and word.startswith(name) and len(word) > 2):
                return word[len(name) :].lstrip("=")
    return ""


def _with_words(command: Command, words: list[str], *, more: bool = False) -> Command:
    made = Command(command.shell, command.source)
    made.words, made.stdin, made.captured, made.ends = words, command.stdin, command.captured, command.ends
    made.more = more or command.more
    return made


def _read_more(text: str, command: Command, reading: Reading) -> list[Command]:
    first = len(reading.commands)
    outer = {name: reading.variables.get(name) for name in ("0", "1")}
    reading.shells += 1
    found = reading.add(
        text, (*command.shell, reading.shells) if command.program != "eval" else command.shell
    )
    del reading.commands[first:]
    reading.variables.update({name: value for name, value in outer.items() if value is not None})
    for one in found:
        one.captured |= command.captured
        one.source = one.source or command.source
    return found


def _of_find(command: Command) -> list[Command]:
    found, words = [], command.words
    at = 1
    while at < len(words):
        if words[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            stop = at + 1
            while stop < len(words) and words[stop] not in (";", "+"):
                stop += 1
            inner = [UNKNOWN if word == "{}" else word for word in words[at + 1 : stop]]
            if inner:
                found.append(_with_words(command, inner))
            at = stop
        at += 1
    return found


def _text_of(command: Command) -> str:
    """The text that the command gives to a shell; empty if it gives none, or none that can be told."""
    words, program = command.words, command.program
    if program in SHELLS:
        return _of_shell(command)
    if program == "git":
        return _of_git(words)
    if program == "trap":
        return words[1] if len(words) > 2 else ""
    if program == "alias":
        return "\n".join(word.partition("=")[2] for word in words[1:])
    if program == "eval":
        return " ".join(words[1:])
    text = _option(words[1:], ("-c", "--command", "--run", "-qc", "-lc")) if program in _WITH_C else ""
    return _of_words(command) if not text and program in _AS_TEXT else text


def _of_git(words: list[str]) -> str:
    """What git gives to a shell: for each commit of a rebase or a bisection, in each submodule."""
    verb, rest, _ = git_words(words[1:])
    if verb == "rebase":
        return _option(rest, ("-x", "--exec"))
    first = {"submodule": "foreach", "bisect": "run"}.get(verb, "")
    if not first or first not in rest:
        return ""
    return " ".join(word for word in rest[rest.index(first) + 1 :] if not word.startswith("--"))


def _of_words(command: Command) -> str:
    program, rest = command.program, command.words[1:]
    if program == "ssh":
        rest = [word for word in rest if not word.startswith("-")][1:]
    elif program in ("tmux", "screen"):
        return "\n".join(word for word in rest if " " in word)
    else:
        while rest and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in ("-n", "-j", "-f", "-q") else rest[1:]
    return " ".join(rest) if program in ("ssh", "watch", "parallel", "mosh") and rest else _given(command)


def _of_shell(command: Command) -> str:
    words = command.words[1:]
    for at, word in enumerate(words):
        if not word.startswith("-") or word == "-":
            return _given(command) if word == "-" else ""
        if word.lower() in ("--command", "-command") or (not word.startswith("--") and "c" in word[1:]):
            return words[at + 1] if at + 1 < len(words) else ""
    return _given(command)


def _given(command: Command) -> str:
    """What the command reads on its standard input, as far as that is plain."""
    if command.stdin is not None:
        return command.stdin
    source = command.source
    if source is None:
        return ""
    if source.program == "cat" and source.stdin is not None:
        return source.stdin
    text = printed([source], {})
    return "" if text == UNKNOWN else text


def git_words(words: list[str]) -> tuple[str, list[str], dict[str, str]]:
    """Of git's words (without the program): its verb, the words after it, aliases set by ``-c``."""
    aliases: dict[str, str] = {}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-c" and at + 1 < len(words):
            name, _, value = words[at + 1].partition("=")
            if name.lower().startswith("alias."):
                aliases[name[len("alias.") :].lower()] = value
        at += 2 if words[at] in _GIT_VALUES else 1
    return (words[at], words[at + 1 :], aliases) if at < len(words) else ("", [], aliases)
