"""Knows the programs that run the rest of their words (`sudo`, `env`, `uv run`), and what they run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from posixpath import join

from context_graph.gates.shell.arithmetic import is_name
from context_graph.gates.shell.command import filled, names
from context_graph.gates.shell.options import cluster, takes_next

_WRAPPERS = {
    "sudo": "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --role --type",
    "doas": "-u -C",
    "env": "-u -C -S --unset --chdir --split-string",
    "nice": "-n --adjustment",
    "ionice": "-c -n -p",
    "timeout": "-s -k --signal --kill-after",
    "stdbuf": "-i -o -e --input --output --error",
    "time": "-f -o --format --output",
    "exec": "-a",
    "xargs": "-I -n -P -L -d -E -s -a --arg-file --delimiter --max-args --max-procs --max-lines",
    "flock": "-w -E --timeout --wait --conflict-exit-code",
    "strace": "-e -o -p -s -u -a -O -S -P -I -E -b -X",
    "chrt": "-T -P -D",
    "sshpass": "-p -f -d -P",
    "ssh-agent": "-a -E -O -P -t",
    "systemd-run": "-u -p -t -E -H -M --unit --property --description --slice --uid --gid --nice --setenv "
    "--working-directory --machine --host --on-active --on-calendar --timer-property --service-type",
    "unshare": "-S -G -R -w --setuid --setgid --root --wd --map-user --map-group --map-users --map-groups",
    "xvfb-run": "-e -f -n -p -s -w --error-file --auth-file --server-num --server-args",
    "setpriv": "--reuid --regid --groups --inh-caps --bounding-set",
    "prlimit": "-p --pid",
    "chroot": "",
    "fakeroot": "-l -s -i -b",
    "gosu": "",
    "su-exec": "",
    "faketime": "-f",
    "numactl": "-C -m -N -i -p",
    "nsenter": "-t -S -G --target --setuid --setgid",
    "perf": "-e -o -r",
    **dict.fromkeys(names("taskset command builtin nohup setsid unbuffer busybox caffeinate spawn"), ""),
    **dict.fromkeys(names("noglob nocorrect catchsegv eatmydata - chronic proxychains proxychains4"), ""),
    **dict.fromkeys(
        names("dbus-run-session winpty rlwrap setarch linux64 firejail ltrace ifne torsocks"), ""
    ),
}
"""Program that runs the rest of its words: its options that take a value as a word of its own."""

_OWN_WORDS = {"timeout": 1, "flock": 1, "chrt": 1, "taskset": 1, "chroot": 1, "gosu": 1, "su-exec": 1}
_OWN_WORDS |= {"faketime": 1, "perf": 1}
"""Words of its own that such a program takes first."""

_RUNNERS = names(
    "uv poetry pipenv pdm hatch rye conda mamba micromamba pixi mise rtx direnv asdf devbox "
    "npm pnpm yarn bun bundle op doppler aws-vault infisical chamber dotenv nix heroku"
)
_RUN = names("run exec x run-script dlx develop shell tool")
"""Programs one of whose first words is a subcommand that runs the rest: behind `--` where there is one."""

_RUNNER_VALUES = names(
    "--with --with-editable --with-requirements --python --extra --group --package --project --directory -p "
    "--env-file --index --index-url --default-index --find-links --from -n --name --prefix --cwd -C -e --env "
    "--config -c --account --token --region --duration -d -t --filter -F -w --workspace --dir --tool"
)
_PACKAGERS = _RUNNERS | names("pip pip3 pipx cargo gem composer go dotnet dnf yum apk pacman zypper port")
_OF_PACKAGES = names(
    "install i add ci get require remove rm uninstall un update upgrade up outdated info view show search "
    "link unlink why ls list"
)
"""Subcommands that take names of packages, and run none of them."""

_FOLDERS = names("-C -D --chdir --working-directory --directory --wd --cwd --dir")
"""Options that name the folder to go to first."""

_KEYWORDS = names("{ ! if while until then do else")


@dataclass(frozen=True, slots=True)
class Wrapped:
    """What a program runs."""

    rest: list[str] = field(default_factory=list)
    """The words of the command."""
    text: str = ""
    """Or a text for a shell."""
    assigned: list[tuple[str, str]] = field(default_factory=list)
    chdir: str = ""


def wrapped(words: Sequence[str]) -> Wrapped | None:
    """What the program of ``words`` runs; None if it is none that runs the rest of its words."""
    program = words[0].rpartition("/")[2]
    if program in _WRAPPERS:
        return _of_wrapper(program, words)
    return _of_runner(words) if program in _RUNNERS else None


def _of_wrapper(program: str, words: Sequence[str]) -> Wrapped | None:
    values = names(_WRAPPERS[program])
    taking = _letters_of(values)
    at, left = 1, _OWN_WORDS.get(program, 0)
    assigned: list[tuple[str, str]] = []
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if takes_next(word, taking, values) else 1
        elif "=" in word and program in ("env", "sudo", "doas") and is_name(word.partition("=")[0]):
            assigned.append((word.partition("=")[0], word.partition("=")[2]))
            at += 1
        elif left:
            left, at = left - 1, at + 1
        else:
            break
    own, rest = words[:at], list(words[at:])
    if program == "command" and not {"-v", "-V"}.isdisjoint(own):
        return None
    if program == "flock" and own[-1] in ("-c", "--command"):
        return Wrapped(text=" ".join(rest[:1]))
    chdir = folder_option(own, values & _FOLDERS, taking)
    text = option(own, "-S", "--split-string") if program == "env" else ""
    if text:  # what follows are further words of that command
        return Wrapped(text=" ".join([text, *rest]), assigned=assigned, chdir=chdir)
    while program == "time" and rest and rest[0] in _KEYWORDS:
        rest = rest[1:]
    rest = _with_names(rest, own) if program == "xargs" else rest
    return Wrapped(rest, assigned=assigned, chdir=chdir) if rest else None


def names_packages(words: Sequence[str]) -> bool:
    """Whether the words name packages to a package manager, which starts nothing of such a name."""
    verb = _plain_from(words, 1)
    return words[0].rpartition("/")[2] in _PACKAGERS and not _OF_PACKAGES.isdisjoint(words[verb : verb + 1])


def option(words: Sequence[str], *options: str) -> str:
    """The value of an option, joined to it or the next word; empty where it is not given."""
    short = _letters_of(options)
    for word, after in pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        if name in options and name[:2] == "--":
            return value if equals else after
        given = next((value for letter, value in cluster(word, after, short) if letter in short), None)
        if given is not None:
            return given.lstrip("=")
    return ""


def _letters_of(options: Collection[str]) -> set[str]:
    return {name[1] for name in options if len(name) == 2}


def _with_names(words: list[str], own: Sequence[str]) -> list[str]:
    """What xargs runs, with a mark for the sign that its options ``own`` have it replace by a name."""
    if "-i" in own or "--replace" in own:
        return filled(words, "{}")
    return filled(words, option(own, "-I", "-i", "--replace"))


def folder_option(words: Sequence[str], options: frozenset[str], taking: Collection[str]) -> str:
    """The folder that the options name, each in the one before it; ``taking`` are all that have a value."""
    found: list[str] = []
    for word, after in pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        if name in options and name[:2] == "--":
            found.append(value if equals else after)
        found += [
            value for letter, value in cluster(word, after, taking) if f"-{letter}" in options and value
        ]
    return join("", *found[:8])


def _of_runner(words: Sequence[str]) -> Wrapped | None:
    """What `uv run`, `npm exec -c TEXT` or `nix develop -c` run."""
    verb = _plain_from(words, 1)
    if verb >= len(words) or words[verb] not in _RUN:
        return None
    start = verb + (2 if words[verb] == "tool" else 1)
    program, rest = words[0].rpartition("/")[2], list(words[start:])
    dashes = rest.index("--") if "--" in rest else len(rest)
    chdir = folder_option(words[: start + dashes], names("--directory --cwd --dir -C"), "C")
    if program == "nix":
        marks = [at for at, word in enumerate(rest) if word in ("-c", "--command")]
        return Wrapped(rest[marks[0] + 1 :]) if marks else None
    if program in ("npm", "pnpm", "yarn") and (text := option(rest[:dashes], "-c", "--call")):
        return Wrapped(text=text)
    if program in ("npm", "pnpm", "yarn", "bun") and words[verb] in ("run", "run-script"):
        return None  # a script's name, no program's
    if dashes < len(rest):
        return Wrapped(rest[dashes + 1 :], chdir=chdir) if dashes + 1 < len(rest) else None
    at = _plain_from(rest, 0)
    while program == "direnv" and at < len(rest) - 1 and rest[at] == ".":
        at += 1
    return Wrapped(rest[at:], chdir=chdir) if at < len(rest) else None


def _plain_from(words: Sequence[str], at: int) -> int:
    """Where the first word stands that is no option and no option's value."""
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 2 if words[at] in _RUNNER_VALUES else 1
    return at
