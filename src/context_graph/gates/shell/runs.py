"""Finds which commands a command line finally runs, and where: removes `sudo`, `env`, `sh -c`, `xargs` and
the like, and follows `cd`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from context_graph.gates.shell.command import UNKNOWN, Command, is_plain, names, printed
from context_graph.gates.shell.shell import Reading, read

SHELLS = names("sh bash zsh dash ksh ash fish pwsh powershell")

_WRAPPERS = {
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
    **dict.fromkeys(names("command builtin nohup setsid unbuffer busybox caffeinate spawn proxychains"), ""),
    **dict.fromkeys(names("noglob nocorrect catchsegv eatmydata -"), ""),
}
"""Program that runs the rest of its words: its options that take a value as a word of its own."""

_OWN_WORDS = {"timeout": 1, "flock": 1, "chrt": 1, "taskset": 1}
"""Words of its own that such a program takes first."""

_RUNNERS = names("uv poetry pipenv pdm hatch rye conda mise direnv asdf")
"""Programs whose subcommand `run` or `exec` runs the rest."""

_JOINING = names("ssh watch parallel mosh")
"""Programs that give their words to a shell."""

_READING = names("tmux screen expect at batch") | _JOINING
"""Programs that run what they read."""

_WITH_C = names("script su runuser flock nix-shell expect sg")
"""Programs whose `-c` has a command for a shell."""

_GIT_VALUES = names("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source")
_PATH_CHARS = 4096
_FOLDERS = 4


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
        if reading.left >= 0:
            inner = _inner(command, reading)
            command.wraps = bool(inner) and not command.is_git  # git does its own part too
            waiting += inner[::-1]
    reading.commands = done
    if variables and "PWD" in variables:
        _follow_folders(done, variables["PWD"], variables.get("HOME", ""))
    return reading


# What a command starts


def _inner(command: Command, reading: Reading) -> list[Command]:
    """The commands that the command itself runs; [] if it only runs its own program."""
    words, program = command.words, command.program
    text = ""
    if program in _WRAPPERS:
        rest = _after_wrapper(program, words)
        own = words[: len(words) - len(rest)]
        text = _option(own, "-S", "--split-string") if program == "env" else ""
        if not text and rest and not (program == "command" and {"-v", "-V"} & set(own)):
            reading.left -= len(rest)
            return [_with_words(command, rest, more=program == "xargs")]
    elif program in _RUNNERS and words[1:2] in (["run"], ["exec"], ["x"]):
        rest = words[2:]
        while rest and (rest[0].startswith("-") or rest[0] == "."):
            rest = rest[1:]
        return [_with_words(command, rest)] if rest else []
    elif program == "find":
        return _of_find(command)
    text = text or _text_of(command)
    return _read_more(text, command, reading) if text else []


def _after_wrapper(program: str, words: Sequence[str]) -> list[str]:
    """The words of the command that a wrapper runs."""
    values = _WRAPPERS[program].split()
    at, own = 1, _OWN_WORDS.get(program, 0)
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in values else 1
        elif "=" in word and program in ("env", "sudo", "doas") and word[:1].isalpha():
            at += 1
        elif own:
            own -= 1
            at += 1
        else:
            break
    return list(words[at:])


def _option(words: Sequence[str], *options: str) -> str:
    """The value of an option, joined to it or the next word; empty where it is not given."""
    for at, word in enumerate(words):
        if word in options:
            return words[at + 1] if at + 1 < len(words) else ""
        for name in options:
            if word.startswith(name + "=") or (len(name) == 2 and word.startswith(name)):
                return word[len(name) :].lstrip("=")
    return ""


def _with_words(command: Command, words: list[str], *, more: bool = False) -> Command:
    return replace(command, words=words, assigned=[], redirects=[], more=more or command.more)


def _read_more(text: str, command: Command, reading: Reading) -> list[Command]:
    """The commands of a text that the command gives to a shell."""
    first = len(reading.commands)
    arguments = {name: value for name, value in reading.variables.items() if name.isdigit()}
    inner = command.shell if command.program == "eval" else reading.subshell(command.shell)
    found = reading.add(text, inner)
    del reading.commands[first:]
    reading.variables.update(arguments)
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
            found += [_with_words(command, inner)] if inner else []
            at = stop
        at += 1
    return found


def _text_of(command: Command) -> str:
    """The text that the command gives to a shell; empty if it gives none, or none that can be told."""
    words, program = command.words, command.program
    if program in SHELLS:
        return _of_shell(command)
    if command.is_git:
        return _of_git(words)
    if program == "trap":
        return words[1] if len(words) > 2 else ""
    if program == "alias":
        return "\n".join(word.partition("=")[2] for word in words[1:])
    if program == "eval":
        return " ".join(words[1:])
    if program in _WITH_C:
        text = _option(words[1:], "-c", "--command", "--run", "-qc", "-lc")
        if text:
            return text
    return _of_words(command) if program in _READING else ""


def _of_git(words: list[str]) -> str:
    """What git gives to a shell: for each commit of a rebase or a bisection, in each submodule."""
    call = git_call(words)
    if call.verb == "rebase":
        return _option(call.rest, "-x", "--exec")
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
    return " ".join(rest) if program in _JOINING and rest else _given(command)


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


# Where a command runs


@dataclass(frozen=True, slots=True)
class _Position:
    """A shell's place: the last folder it certainly entered, and all folders it may be in."""

    folder: str
    possible: list[str]


class _Shell:
    """The folders of one shell of a line, with those saved by pushd."""

    def __init__(self, position: _Position) -> None:
        self.stack = [position]
        self.then: _Position | None = None
        """Where it stands after the next command, which runs where `cd X ||` could not enter X."""


def _follow_folders(commands: Sequence[Command], cwd: str, home: str) -> None:
    """Note in each command where it runs; a subshell begins in its parent's folder."""
    shells: dict[tuple[int, ...], _Shell] = {(0,): _Shell(_Position(cwd, [cwd]))}
    for command in commands:
        known = command.shell
        while known not in shells:
            known = known[:-1] or (0,)
        shell = shells[known]
        position = shell.stack[-1]
        command.folder, command.folders = position.folder, position.possible
        if known == command.shell and shell.then is not None:
            shell.stack[-1], shell.then = shell.then, None
        if command.program in ("cd", "pushd", "popd") and command.ends not in ("|", "|&", "&"):
            if known != command.shell:
                shell = shells[command.shell] = _Shell(position)
            _move(command, shell, home)


def _move(command: Command, shell: _Shell, home: str) -> None:
    program, here = command.program, shell.stack[-1]
    if program == "popd":
        if len(shell.stack) > 1:
            shell.stack.pop()
        return
    words = [word for word in command.words[1:] if not word.startswith("-") or word == "-"]
    target = words[0] if words else (home if program == "cd" else "")
    target = UNKNOWN if target in ("", "-") else target
    new = [entered(one, target) or UNKNOWN for one in here.possible]
    there = [one for one in new if is_plain(one) and os.path.isdir(one)]
    sure = command.ends == "&&" or len(there) == len(new)
    folder = entered(here.folder, target)
    is_there = len(words) < 2 and is_plain(folder) and os.path.isdir(folder)
    position = _Position(
        folder if is_there else here.folder,
        list(dict.fromkeys(new if sure else [*new, *here.possible]))[:_FOLDERS],
    )
    if program == "pushd":
        shell.stack.append(position)
    elif command.ends == "||":
        shell.then = position
    else:
        shell.stack[-1] = position


def entered(folder: str, target: str) -> str:
    """The folder that ``target`` names in ``folder``; empty for one that is too long to be any."""
    path = target if target.startswith(UNKNOWN) else os.path.join(folder, target)
    return path if len(path) < _PATH_CHARS else ""
