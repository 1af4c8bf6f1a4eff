"""What well-known programs do with the files they are given: read them, write one of them, take them away."""

from __future__ import annotations

from itertools import pairwise

from context_graph.requirements.protected import ABOVE, HOME_OF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    *("DECODERS", "INTERPRETERS", "PRINTERS", "READERS", "REMOVERS"),
    *("git_writes", "targets", "writes_anyway"),
]

PRINTERS = frozenset(
    ("echo", "printf", "cat", "ls", "find", "head", "tail", "dir", "fd", "git", "grep", "rg")
)
"""What prints what it is given, for another command to take."""

READERS = frozenset(
    (
        *("cat", "bat", "batcat", "less", "more", "most", "head", "tail", "tac", "nl", "grep", "egrep"),
        *("fgrep", "zgrep", "rg", "ag", "ack", "ls", "ll", "la", "dir", "vdir", "tree", "exa", "eza"),
        *("lsd", "wc", "stat", "file", "diff", "colordiff", "delta", "cmp", "comm", "sum", "cksum"),
        *("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "b2sum"),
        *("od", "xxd", "hexdump", "strings", "jq", "yq", "sed", "awk", "gawk", "mawk", "cut", "sort"),
        *("uniq", "tr", "column", "fold", "fmt", "pr", "paste", "join", "rev", "expand", "du", "df"),
        *("fd", "fdfind", "test", "[", "[[", "echo", "printf", "realpath", "readlink", "basename"),
        *("dirname", "pwd", "cd", "pushd", "popd", "true", "false", ":", "sleep", "which", "type"),
        *("command", "whereis", "man", "help", "mkdir", "export", "declare", "local", "readonly"),
        *("typeset", "unset", "set", "for", "read", "case", "select", "function", "return", "exit"),
        *("wait", "jobs", "history", "yamllint", "jsonlint", "check-jsonschema", "ajv", "shellcheck"),
        *("glow", "mdcat", "namei", "getfacl", "lsattr", "lsof", "fuser", "zcat", "date", "id"),
        *("whoami", "seq", "Get-Content", "Get-ChildItem", "Select-String", "Test-Path"),
    )
)
"""Programs that leave the files alone that they are given (but see ``writes_anyway``)."""

REMOVERS = frozenset(
    (
        "rm",
        "rmdir",
        "mv",
        "unlink",
        "shred",
        "trash",
        "trash-put",
        "gio",
        "srm",
        "wipe",
        "Remove-Item",
        "del",
        "rd",
    )
)
"""Programs that take a folder away with all that is in it."""

INTERPRETERS = frozenset(
    (
        *("python", "python2", "python3", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "bun"),
        *("deno", "php", "lua", "tclsh", "osascript", "Rscript", "julia", "groovy", "java", "jshell"),
        *("expect", "ed", "ex", "vi", "vim", "nvim", "emacs", "gdb", "sqlite3", "make"),
    )
)
"""Programs whose text, given on the command line, can do anything."""

DECODERS = frozenset(("base64", "base32", "basenc", "uudecode", "openssl", "xxd", "rev", "gpg"))

_COPIERS = frozenset(("cp", "rsync", "scp", "install", "ditto", "Copy-Item"))
_SKIPPED = ("--exclude", "--ignore", "--exclude-dir", "--filter")
_AWK = frozenset(("awk", "gawk", "mawk"))


def writes_anyway(words: list[str]) -> bool:
    """Whether a reader is told to write what it is given, or to run a text that says one of the files."""
    program, rest = words[0].rpartition("/")[2], words[1:]
    short = [word.split(".")[0] for word in rest if word.startswith("-") and not word.startswith("--")]
    plain = [word for word in rest if not word.startswith("-")]
    if program == "sed" or program in _AWK:
        return (
            (program == "sed" and any("i" in word for word in short))
            or any(word.startswith("--in-place") or word == "inplace" for word in rest)
            or any(".claude" in word and any(sign in word for sign in " >|(") for word in rest)
        )
    if program in ("xxd", "uniq"):
        return "-r" in rest or len(plain) > 1
    flags = {
        "yq": ("-i", "--inplace", "-yi", "-iy"),
        "sort": ("-o", "--output"),
        "fd": ("-x", "-X", "--exec", "--exec-batch"),
        "tree": ("-o",),
    }
    return any(word.startswith(flags.get(program, ("\n",))) for word in rest)


def targets(words: list[str]) -> list[str]:
    """The words of a program that is no reader which may name what it writes."""
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program in _COPIERS:
        return _of_copier(program, rest)
    if program == "tar" or (program in ("zip", "7z") and "-m" not in rest):
        return _of_archiver(rest)
    found, skip = [words[0]] if "/" in words[0] else [], False
    for word in rest:
        if skip:
            skip = False
        elif word in _SKIPPED or (word == "-x" and program == "zip"):
            skip = True
        elif word.startswith(_SKIPPED):
            continue
        elif word.startswith("-"):
            name, equals, value = word.partition("=")
            found += [value] if equals else [word[2:]] if len(word) > 2 and not name.startswith("--") else []
        else:
            name, equals, value = word.partition("=")
            found += [word, value] if equals else [word]
    return [word for word in found if not (program == "dd" and word.startswith("if="))]


def _of_copier(program: str, rest: list[str]) -> list[str]:
    """Where a copier writes; all of its words if it takes its sources away."""
    if "--remove-source-files" in rest:
        return rest
    for at, word in enumerate(rest):
        if word in ("-t", "--target-directory"):
            return rest[at + 1 : at + 2]
        if word.startswith("--target-directory="):
            return [word.partition("=")[2]]
    plain = [word for word in rest if not word.startswith("-")]
    last = plain[-1:]
    # Copied into a folder by its own name: cp /x/requirements.yaml .claude, cp -r /x/.claude .
    into = [f"{last[0]}/{word.rstrip('/').rpartition('/')[2]}" for word in plain[:-1]] if last else []
    return last + (into if program != "rsync" or not any(w.endswith("/") for w in plain[:-1]) else [])


def _of_archiver(rest: list[str]) -> list[str]:
    reads = any(
        word in ("--create", "--list", "a", "l") or (word.lstrip("-")[:1] in "ct" and word.isascii())
        for word in rest[:1]
    ) or any(word.endswith((".zip", ".7z")) for word in rest)
    if reads and "--remove-files" not in rest:
        return [word for word in rest[1:2] if not word.startswith("-")]
    return [word.partition("=")[2] if word.startswith("--directory=") else word for word in rest]


_TREE_WIDE = {
    "reset": ("--hard", "--merge", "--keep"),
    "checkout": ("-f", "--force"),
    "switch": ("-f", "--force", "--discard-changes"),
}
"""Verbs and the options with which they overwrite the whole working tree."""


def git_writes(verb: str, rest: list[str], reaches: Callable[[str, int], bool]) -> str:
    """What git's ``verb`` would write of the files; empty if it leaves them alone.

    ``reaches`` says of a path whether it comes as near as a level of ``protected``. Verbs that change
    the whole working tree count unless they are given paths that lie elsewhere.
    """
    flags = [word for word in rest if word.startswith("-")]
    plain = [word for word in rest if not word.startswith("-")]
    if verb == "stash":
        return _of_stash(rest, reaches)
    if verb == "clean":
        return _of_clean(rest, reaches)
    paths = rest[rest.index("--") + 1 :] if "--" in rest else plain
    hit = next((word for word in map(_pathspec, paths) if reaches(word, ABOVE)), "")
    if verb in ("rm", "mv", "checkout", "restore") and hit:
        return hit
    if verb in _TREE_WIDE and any(flag in _TREE_WIDE[verb] for flag in flags):
        return f"git {verb} {flags[0]}"
    if verb == "worktree":
        return hit if plain[:1] in (["remove"], ["move"]) else ""
    if verb in ("checkout-index", "read-tree", "filter-branch", "filter-repo", "sparse-checkout"):
        return "" if plain[:1] == ["list"] else f"git {verb}"
    if verb in ("apply", "am"):
        folders = [word.partition("=")[2] for word in flags if word.startswith("--directory=")]
        folders += [b for a, b in pairwise(rest) if a == "--directory"]
        return next((word for word in map(_pathspec, folders) if reaches(word, HOME_OF)), "")
    return _of_output(flags, rest, reaches)


_STASH_VERBS = frozenset(("list", "show", "drop", "pop", "apply", "branch", "clear", "create", "store"))


def _of_stash(rest: list[str], reaches: Callable[[str, int], bool]) -> str:
    dashes = rest.index("--") if "--" in rest else len(rest)
    plain = [word for word in rest[:dashes] if not word.startswith("-")]
    if plain[:1] and plain[0] in _STASH_VERBS:
        return ""
    paths = rest[dashes + 1 :] or (plain[1:] if plain[:1] == ["push"] else [])
    if not paths:
        return "git stash"
    return next((word for word in map(_pathspec, paths) if reaches(word, ABOVE)), "")


def _of_clean(rest: list[str], reaches: Callable[[str, int], bool]) -> str:
    short = "".join(word[1:] for word in rest if word.startswith("-") and not word.startswith("--"))
    if ("f" not in short and "--force" not in rest) or "n" in short or "--dry-run" in rest:
        return ""
    spared = [b for a, b in pairwise(rest) if a in ("-e", "--exclude") or (a[:1] == "-" and a.endswith("e"))]
    spared += [word.partition("=")[2] for word in rest if word.startswith("--exclude=")]
    if any(reaches(word, HOME_OF) for word in spared):
        return ""
    paths = [_pathspec(word) for word in rest if not word.startswith("-") and word not in spared]
    return next((word for word in paths if reaches(word, ABOVE)), "") if paths else "git clean"


def _pathspec(word: str) -> str:
    """One of git's paths from where it is given; `:/` is the top, which holds everything."""
    return word.removeprefix(":/").removeprefix(":(top)") or "."


def _of_output(flags: list[str], rest: list[str], reaches: Callable[[str, int], bool]) -> str:
    outputs = [word.partition("=")[2] for word in flags if word.startswith("--output=")]
    outputs += [b for a, b in pairwise(rest) if a in ("-o", "--output")]
    return next((word for word in outputs if reaches(word, HOME_OF)), "")
