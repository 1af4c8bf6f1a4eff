"""Tells what a program may start of its words and texts: those of `docker exec`, not of `docker tag`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_letters

from context_graph.gates.shell.command import names
from context_graph.gates.shell.options import takes_next
from context_graph.gates.shell.programs import INTERPRETERS, PRINTERS, PROGRAMMED, READERS, REMOVERS

_CONTAINERS = names("docker podman nerdctl docker-compose podman-compose")
_RUNNERS = names("npm pnpm yarn bun")
_SCRIPTS = names("run run-script test t tst start stop restart")
"""Verbs of theirs that take the name of a script, and words for it."""

_NEVER = (
    READERS
    | PRINTERS
    | REMOVERS
    | names(
        "cp touch ln chmod chown tee patch rsync scp sftp tar zip unzip gzip gunzip 7z curl wget http https "
        "apt apt-get brew snap pytest py.test ruff mypy pyright pylint flake8 black isort eslint prettier "
        "biome tsc vi vim nvim nano emacs micro hx code subl open xdg-open make gmake ninja cmake meson helm "
        "terraform tofu aws systemctl journalctl service logger notify-send say tldr apropos whatis sqlite3 "
        "psql mysql"
    )
)
"""Programs that never start what their words name."""

_STARTING = {
    "kubectl": names("exec run debug"),
    "oc": names("exec run debug rsh"),
    "cargo": names("run watch"),
    "go": names("run tool"),
    "gh": names("codespace cs alias extension"),
    "gcloud": names("ssh"),
}
"""By program: the only verbs behind which words may be a command."""

_FLAGS = names(
    "--rm --init --privileged --detach --interactive --tty --read-only --publish-all --no-healthcheck --tls "
    "--quiet --oom-kill-disable --no-deps --service-ports --use-aliases --build --remove-orphans --no-TTY"
)
"""Options of a container's program that take no value."""
_TAKING = frozenset(ascii_letters) - frozenset("ditPqTVD")


def may_start(words: Sequence[str]) -> Sequence[str]:
    """``words``, or those of them among which a command may stand that the program starts; program first."""
    program = words[0].rpartition("/")[2]
    if program in _NEVER:
        return words[:1]
    if program in _CONTAINERS:
        return [words[0], *_in_container(words)]
    if program in _RUNNERS:
        verb = next((word for word in words[1:] if word[:1] != "-"), "")
        return words[:1] if verb in _SCRIPTS else words
    verbs = _STARTING.get(program)
    return words if verbs is None or not verbs.isdisjoint(words) else words[:1]


def _in_container(words: Sequence[str]) -> Sequence[str]:
    """What runs in a container: a command; with an image, which may be git's, its name before that."""
    at = _behind_options(words, 1)
    composed = words[0].endswith("compose")
    while words[at : at + 1] and words[at] in ("compose", "container"):
        composed |= words[at] == "compose"
        at = _behind_options(words, at + 1)
    verb = words[at] if at < len(words) else ""
    if verb not in ("run", "create", "exec"):
        return []
    at = _behind_options(words, at + 1)
    return words[at + (verb == "exec" or composed) :]


def _behind_options(words: Sequence[str], at: int) -> int:
    """Where the first word stands that is no option of a container's program and no option's value."""
    while at < len(words) and words[at][:1] == "-" and words[at] != "--":
        word = words[at]
        if word[:2] == "--":
            at += 1 if "=" in word or word in _FLAGS else 2
        else:
            at += 2 if takes_next(word, _TAKING) else 1
    return at + (words[at : at + 1] == ["--"])


# Texts for interpreters

_CALLS = names(
    "system popen Popen exec execSync execFile execFileSync execvp execlp execv execl spawn spawnSync "
    "spawnlp run call check_call check_output getoutput getstatusoutput shell_exec passthru proc_open "
    "execa execaSync create_subprocess_exec create_subprocess_shell"
)
"""Functions that start a program."""

_TRIED = 50
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_TO_WORDS = str.maketrans("[](),", "     ")
_UNQUOTED = str.maketrans("[](),'\"", "       ")


def texts_started(program: str, texts: Sequence[str], word: str) -> Iterator[str]:
    """What texts for an interpreter have it start, as lines for a shell: of calls that name ``word``."""
    if program not in INTERPRETERS and program not in PROGRAMMED:
        return
    tried = 0
    for text in texts:
        for argument in _arguments(text) if word in text else ():
            if word in argument and tried < _TRIED:
                tried += 1
                yield argument.translate(_TO_WORDS)
                yield argument.translate(_UNQUOTED)


def _arguments(text: str) -> Iterator[str]:
    """The arguments of each call that starts a program; without brackets, up to the end of the line."""
    at = 0
    while at < len(text):
        if text[at] not in _NAME:
            at += 1
            continue
        start = at
        while at < len(text) and text[at] in _NAME:
            at += 1
        if text[start:at] not in _CALLS:
            continue
        if text.startswith("(", at):
            stop = _closing(text, at + 1)
        elif text[at : at + 2] in (' "', " '"):
            stop = text.find("\n", at)
        else:
            continue
        stop = len(text) if stop < 0 else stop
        yield text[at + 1 : stop]
        at = stop


def _closing(text: str, at: int) -> int:
    """Where the bracket is that closes the one before ``at``; -1 for nowhere."""
    depth = 1
    while at < len(text):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return at
        at += 1
    return -1
