"""Describes what well-known programs do with the files they are given: read, write or remove them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise

from context_graph.gates.shell.command import Command, bare_text, is_plain, names, short_options
from context_graph.gates.shell.options import letters, long_values, operands
from context_graph.gates.shell.protected import Reach
from context_graph.gates.shell.runs import GitCall, git_call, runs
from context_graph.gates.shell.written_by_text import may_write

PRINTERS = names("echo printf cat ls find head tail dir fd git grep rg")
"""What prints what it is given, for another command to take."""

CONTENT_PRINTERS = names("cat bat batcat tac nl head tail jq yq sort uniq cut tr column fold fmt more less")
"""What prints what is in a file, not the file's name."""

COUNTERS = names("wc sum cksum true false test [ [[ sleep")
"""What prints no name that it was given on its input."""

READERS = names(
    "cat bat batcat less more most head tail tac nl grep egrep fgrep zgrep rg ag ack ls ll la dir vdir "
    "tree exa eza lsd wc stat file diff colordiff delta cmp comm sum cksum md5sum sha1sum sha224sum "
    "sha256sum sha384sum sha512sum shasum b2sum od xxd hexdump strings jq yq sed awk gawk mawk cut sort "
    "uniq tr column fold fmt pr paste join rev expand du df fd fdfind test [ [[ echo printf realpath "
    "readlink basename dirname pwd cd pushd popd true false : sleep which type command whereis man help "
    "mkdir export declare local readonly typeset unset set for read case select function return exit wait "
    "jobs history yamllint jsonlint check-jsonschema ajv shellcheck glow mdcat namei getfacl lsattr lsof "
    "fuser zcat date id whoami seq Get-Content Get-ChildItem Select-String Test-Path"
)
"""Programs that leave the files alone that they are given (but see ``writes_anyway``)."""

REMOVERS = names("rm rmdir mv unlink shred trash trash-put gio srm wipe Remove-Item del rd")
"""Programs that take a folder away with all that is in it."""

INTERPRETERS = names(
    "python python2 python3 pypy pypy3 perl ruby node nodejs bun deno php lua tclsh osascript Rscript "
    "julia groovy java jshell expect ed ex vi vim nvim emacs gdb sqlite3 make"
)
"""Programs whose text, given on the command line, can do anything."""

DECODERS = names("base64 base32 basenc uudecode openssl xxd rev gpg")

_COPIERS = names("cp rsync scp install ditto Copy-Item")
PROGRAMMED = names("sed awk gawk mawk")
"""Readers whose text may write, or run other programs."""

_WRITING_OPTIONS = {
    "sed": ("iI", "efl", ("--in-place",)),
    "yq": ("i", "pofIs", ("--inplace", "--in-place")),
    "sort": ("o", "kStT", ("--output",)),
    "fd": ("xX", "eEtdcSjo", ("--exec", "--exec-batch")),
    "fdfind": ("xX", "eEtdcSjo", ("--exec", "--exec-batch")),
    "tree": ("o", "LPI", ()),
}
"""By program: letters with which it writes, other letters that take a value, long names."""

_SKIPPED = ("--exclude", "--ignore", "--exclude-dir", "--filter")


def writes_anyway(words: Sequence[str]) -> bool:
    """Whether a reader is told to write its input, or to run a text that mentions one of the files."""
    program, rest = words[0].rpartition("/")[2], words[1:]
    writing, taking, long = _WRITING_OPTIONS.get(program, ("", "", ()))
    if any(letter in writing for letter, _ in letters(rest, taking)) or any(
        long_values(rest, name) for name in long
    ):
        return True
    if program in PROGRAMMED:
        return (program != "sed" and any("inplace" in word for word in rest)) or any(
            ".claude" in word and may_write(program, word) for word in rest
        )
    if program in ("xxd", "uniq"):
        return "-r" in rest or sum(not word.startswith("-") for word in rest) > 1
    return False


def leaves_alone(words: Sequence[str]) -> bool:
    """Whether the program, given these words, only reads the files that it is given."""
    return words[0].rpartition("/")[2] in READERS and not writes_anyway(words)


def only_reads(command: str) -> bool:
    """Whether every program that the command runs only reads; False if that can't be told."""
    reading = runs(command)
    ran = [one for one in reading.commands if one.words and not one.wraps]
    return bool(ran) and not reading.broken and all(map(_reads, ran))


_GIT_READERS = names("log show diff grep status blame shortlog help ls-files")


def _reads(command: Command) -> bool:
    if any(
        ">" in operator and target != "/dev/null" and target[:1] != "&"
        for operator, target in command.redirects
    ):
        return False
    if command.is_git:
        return git_call(command.words).verb in _GIT_READERS
    return command.program in READERS - PROGRAMMED and not writes_anyway(command.words)


def targets(words: Sequence[str]) -> list[str]:
    """The words by which a program that does not only read may name what it writes."""
    program, rest = words[0].rpartition("/")[2], list(words[1:])
    if program in _COPIERS:
        return _of_copier(program, rest)
    if program == "tar" or (program in ("zip", "7z") and "-m" not in rest):
        return _of_archiver(rest)
    found, skip = [words[0]] if "/" in words[0] else [], False
    for word in rest:
        _, equals, value = word.partition("=")
        if skip:
            skip = False
        elif word in _SKIPPED or (word == "-x" and program == "zip"):
            skip = True
        elif not word.startswith("-"):
            found += [word, value] if equals else [word]
        elif equals and not word.startswith(_SKIPPED):
            found.append(value)
        elif not word.startswith("--"):
            # A value joined to its letter, which may stand behind others: -uo.claude/x.
            found += [word[at:] for at in range(2, min(len(word), 6)) if word[at - 1].isalpha()]
    return [word for word in found if not (program == "dd" and word.startswith("if="))]


def _of_copier(program: str, rest: list[str]) -> list[str]:
    """The words by which a copier names what it writes; all of them if it removes its sources."""
    if "--remove-source-files" in rest:
        return rest
    folder = _target_folder(program, rest)
    if folder:
        return [folder, *(f"{folder}/{_last(word)}" for word in operands(rest, _COPIER_TAKES))]
    plain = [word for word in rest if not word.startswith("-")]
    *sources, last = plain or [""]
    if program == "rsync" and any(word.endswith("/") for word in sources):
        return [last]
    # Copied into a folder by its own name: cp /x/requirements.yaml .claude, cp -r /x/.claude .
    return [last, *(f"{last}/{_last(word)}" for word in sources)]


_COPIER_TAKES = "tSgmo"


def _target_folder(program: str, rest: list[str]) -> str:
    """The folder that ``-t`` names, also in a cluster and joined; "" where it means something else."""
    if program not in ("cp", "install"):
        return ""
    given = [
        value
        for letter, value in letters(rest, _COPIER_TAKES if program == "install" else "tS")
        if letter == "t"
    ]
    return next(iter([*given, *long_values(rest, "--target-directory")]), "")


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _of_archiver(rest: list[str]) -> list[str]:
    reads = any(
        word in ("--create", "--list", "a", "l") or (word.lstrip("-")[:1] in "ct" and word.isascii())
        for word in rest[:1]
    ) or any(word.endswith((".zip", ".7z")) for word in rest)
    if reads and "--remove-files" not in rest:
        return [word for word in rest[1:2] if not word.startswith("-")]
    return [word.removeprefix("--directory=") for word in rest]


# git

_TREE_WIDE = {
    "reset": names("--hard --merge --keep"),
    "checkout": names("-f --force"),
    "switch": names("-f --force --discard-changes"),
}
"""Verbs and the options with which they overwrite the whole working tree."""

OF_ITS_TREE = names(
    "stash reset checkout switch restore clean rm mv checkout-index read-tree sparse-checkout"
)
"""Verbs that change files of no other working tree than that which git runs in."""

_WHOLE_TREE = names("checkout-index read-tree filter-branch filter-repo sparse-checkout")
_STASH_VERBS = names("list show drop pop apply branch clear create store")


def git_writes(call: GitCall, reaches: Callable[[str, Reach], bool]) -> str:
    """The files that the call would write; empty if it affects none.

    ``reaches`` tells whether a path comes that close. Verbs that change the whole working tree count unless
    they are given paths that lie elsewhere.
    """
    verb, rest = call.verb, call.rest

    def first(paths: Sequence[str], least: Reach) -> str:
        given = (word.removeprefix(":/").removeprefix(":(top)") or "." for word in paths)
        return next((word for word in given if reaches(word, least)), "")

    plain = [word for word in rest if not word.startswith("-")]
    paths = rest[rest.index("--") + 1 :] if "--" in rest else plain
    if verb == "stash":
        return _of_stash(rest, first)
    if verb == "clean":
        return _of_clean(rest, first)
    moved = verb == "worktree" and plain[:1] in (["remove"], ["move"])
    if verb == "restore" and _restores_index_alone(rest):
        return ""
    hit = first(paths, Reach.ABOVE) if moved or verb in ("rm", "mv", "checkout", "restore") else ""
    if hit:
        return hit
    wide = _TREE_WIDE.get(verb, frozenset()).intersection(rest)
    if wide or (verb in _WHOLE_TREE and plain[:1] != ["list"]):
        return " ".join(("git", verb, *sorted(wide)))
    if verb in ("apply", "am"):
        return first(_values(rest, "--directory"), Reach.HOME_OF)
    return first(_values(rest, "--output", "-o"), Reach.HOME_OF)


def _restores_index_alone(rest: Sequence[str]) -> bool:
    given = {letter for letter, _ in letters(rest, "s")}
    return ("S" in given or "--staged" in rest) and "W" not in given and "--worktree" not in rest


def _values(words: Sequence[str], *options: str) -> list[str]:
    """The values of an option, joined to it or in the next word."""
    joined = tuple(f"{name}=" for name in options if name.startswith("--"))
    return [
        *(word.partition("=")[2] for word in words if word.startswith(joined)),
        *(value for name, value in pairwise(words) if name in options),
    ]


def _of_stash(rest: list[str], first: Callable[[Sequence[str], Reach], str]) -> str:
    dashes = rest.index("--") if "--" in rest else len(rest)
    plain = [word for word in rest[:dashes] if not word.startswith("-")]
    if plain[:1] and plain[0] in _STASH_VERBS:
        return ""
    paths = rest[dashes + 1 :] or (plain[1:] if plain[:1] == ["push"] else [])
    return first(paths, Reach.ABOVE) if paths else "git stash"


def git_cleans(rest: Sequence[str]) -> bool:
    """Whether `git clean` with these words removes files."""
    short = short_options(rest)
    return ("f" in short or "--force" in rest) and "n" not in short and "--dry-run" not in rest


def _of_clean(rest: list[str], first: Callable[[Sequence[str], Reach], str]) -> str:
    spared = _values(rest, "--exclude")
    spared += [value for name, value in pairwise(rest) if short_options([name]).endswith("e")]
    if not git_cleans(rest) or first(spared, Reach.HOME_OF):
        return ""
    paths = [word for word in rest if not word.startswith("-") and word not in spared]
    return first(paths, Reach.ABOVE) if paths else "git clean"


# Our own program

OWN_PROGRAM = "context-graph-cli"
OWN_ALIAS = "req"
HARMLESS = names("status list sessions log check doctor statusline keys pause resume")
"""What `req` does for anybody; an agent's pause does not cover what only a person may satisfy."""

_TAKES_VALUE = names("--session -s --branch -b --ttl --metadata -m --reason")


def names_us(text: str) -> bool:
    """Whether a program's text, quotes and signs between left out, names our program and what it does for
    gates. Our package alone is also a library, and the name of a folder.
    """
    plain = bare_text(text)
    if "reqsatisfy" in plain:
        return True
    ours = "context_graph" in plain or "context-graph" in plain
    return (
        ours
        and (
            any(word in plain for word in _OF_GATES)
            # Not `requests`, `requirements` or `required`, and not `context_graph.client`.
            or any(plain[at + 3 : at + 4] != "u" for at in _places(plain, "req"))
            or any(plain[at + 4 : at + 5] != "e" for at in _places(plain, ".cli"))
        )
    )


_OF_GATES = ("satisfy", "gates", "importcli", "-clihooks", "-clisetup", "_graphhooks", "_graphsetup")


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def calls_us(words: Sequence[str]) -> bool:
    """Whether an interpreter is given a file of ours, and a word of ours behind it."""
    for at, word in enumerate(words):
        if "context-graph" in word or "context_graph" in word or word.endswith("/" + OWN_ALIAS):
            return not _OWN_WORDS.isdisjoint(words[at + 1 :])
    return False


_OWN_WORDS = names("req satisfy approve clear disable enable init prune setup hooks")


def own_words(words: Sequence[str]) -> list[str] | None:
    """The words after ``req`` of a call of ours; ["setup", …] for that one; None if it is none of ours."""
    if not words:
        return None
    program, rest = words[0].rpartition("/")[2], list(words[1:])
    if program == OWN_ALIAS:
        return rest
    if program.startswith("python"):
        at = next((at for at, word in enumerate(rest) if word.startswith("context_graph")), 0)
        if rest[at - 1 : at] != ["-m"]:
            return None
        rest = rest[at + 1 :]
    elif program not in (OWN_PROGRAM, "context-graph-py"):
        return None
    while rest and rest[0].startswith("-"):
        rest = rest[1:]
    if rest[:1] == [OWN_ALIAS]:
        return rest[1:]
    return rest if not rest or rest[0] in ("setup", "hooks") or not is_plain(rest[0]) else None


def opened(words: Sequence[str], protected: Collection[str], *, more: bool = False) -> list[str]:
    """Which of ``protected`` the words after ``req`` would satisfy, clear or switch off.

    A word that only a run would tell may be any of them.
    """
    every = list(protected)
    if not words:
        return every if more else []
    verb, rest = words[0], words[1:]
    if rest in (["--help"], ["-h"]) and not more:
        return []
    if not is_plain(verb) or verb in ("init", "prune"):
        return every
    if verb == "setup":
        return every if "--remove" in rest else []
    if verb == "hooks":
        return [] if rest[:1] in ([], ["generate-config"]) else every  # an event that the client has not sent
    if verb == "config":
        return [] if rest[:1] in ([], ["show"]) else every
    if verb in ("disable", "enable"):
        given = [word for word in rest if not word.startswith("-")]
        return _named(given, every)
    return _given(rest, every, more=more) if verb in ("satisfy", "approve", "clear") else []


def _given(rest: Sequence[str], every: list[str], *, more: bool) -> list[str]:
    given, skip = [], False
    for word in rest:
        if skip:
            skip = False
        elif word in ("--all", "-a"):
            return every
        elif word.startswith("-"):
            skip = word in _TAKES_VALUE
        else:
            given.append(word)
    return every if more else _named(given, every)


def _named(given: Sequence[str], every: list[str]) -> list[str]:
    known = given and all(map(is_plain, given))
    return [name for name in every if name in given] if known else every
