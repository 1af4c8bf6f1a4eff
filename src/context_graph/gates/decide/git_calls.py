"""Finds the git commands that a shell line surely runs, and where; git's hooks judge what is not certain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import join

from context_graph.text.shell_lines import UNKNOWN, ShellCommand, read_line

Aliases = Callable[[], Mapping[str, str]]

_VALUED = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--attr-source")
)
_ELSEWHERE = frozenset(("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"))
_CHANGING = frozenset(("init", "clone", "switch", "checkout", "worktree"))
"""Behind one of these another repository or branch may be meant."""

_SHOWING = {"commit": frozenset(("--short", "--porcelain", "--long")), "push": frozenset(("-n",))}
_BETWEEN = str.maketrans("_-.", "   ")
_READING = frozenset(
    ("get", "list", "show", "search", "read", "find", "view", "diff", "log", "describe", "fetch")
)
"""What a tool does that only tells of commits and pushes."""
_PLUMBING = {"send-pack": "push"}
"""What does the same as another verb and asks no hook."""

_HELPING = frozenset(("--dry-run", "--help", "-h"))
_ALIASES = 5


@dataclass(slots=True)
class GitCall:
    """One call of git; ``folder`` is None where only a run would tell."""

    folder: str | None
    verb: str
    rest: list[str]
    aliases: dict[str, str] = field(default_factory=dict)
    """Those that its own options set."""

    @property
    def only_shows(self) -> bool:
        """Whether it changes nothing."""
        words = frozenset(self.rest)
        return bool(words & _HELPING or words & _SHOWING.get(self.verb, frozenset()))


def git_call(command: ShellCommand) -> GitCall | None:
    """Return the call of git that ``command`` is; None for any other program."""
    return _parsed(command.words[1:], command) if command.program == "git" else None


def _parsed(words: list[str], command: ShellCommand) -> GitCall:
    call = GitCall(command.folder, "", [])
    if _ELSEWHERE & command.assigned.keys():
        call.folder = None
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option, equals, value = words[at].partition("=")
        if option in _VALUED and not equals:
            at += 1
            value = "".join(words[at : at + 1])
        if option in ("--git-dir", "--work-tree") or (option == "-C" and UNKNOWN in value):
            call.folder = None
        elif option == "-C" and (call.folder is not None or value.startswith("/")):
            call.folder = join(call.folder or "", value)
        elif option == "-c" and value.lower().startswith("alias."):
            name, _, text = value[6:].partition("=")
            call.aliases[name.lower()] = text
        at += 1
    verb = "".join(words[at : at + 1])
    call.verb, call.rest = _PLUMBING.get(verb, verb), words[at + 1 :]
    return call


def git_calls(line: str, cwd: str, home: str = "", aliases: Aliases | None = None) -> Iterator[GitCall]:
    """Yield the calls of git that ``line``, run in ``cwd``, surely makes there, aliases resolved.

    They end where the line makes a repository or goes to another branch: git's own hooks know what is meant.

    Cost: one pass over the line; ``aliases`` is asked where a verb may be one.
    """
    for command in read_line(line, cwd, {"HOME": home, "PWD": cwd} if home else {"PWD": cwd}).commands:
        call = git_call(command)
        if call is None:
            continue
        for made in _resolved(call, command, aliases):
            if made.verb in _CHANGING:
                return
            yield made


def _resolved(call: GitCall, command: ShellCommand, aliases: Aliases | None) -> Iterator[GitCall]:
    known = dict(aliases()) if aliases is not None and call.verb not in ("commit", "push") else {}
    known.update(call.aliases)
    for _ in range(_ALIASES):
        text = known.pop(call.verb.lower(), "")
        if not text:
            break
        if text.startswith("!"):
            yield from git_calls(text[1:], call.folder or "", aliases=lambda: known)
            return
        there = call.folder
        call = _parsed([*text.split(), *call.rest], command)
        call.folder = there
    yield call


def mcp_runs_git(tool_name: str, verbs: Collection[str]) -> bool:
    """Return whether a tool of an MCP server is one of git's ``verbs`` by name: `mcp__git__git_commit`."""
    server, _, tool = tool_name.removeprefix("mcp__").partition("__")
    if not tool or "git" not in f"{server} {tool}".lower():
        return False
    words = words_of(tool)
    return any(verb in words for verb in verbs) and _READING.isdisjoint(words)


def words_of(tool: str) -> list[str]:
    """Return the words of a tool's name: moveFile and move_file have move and file."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in tool)
    return spaced.translate(_BETWEEN).split()


def runs_git(
    line: str,
    verbs: Collection[str],
    cwd: str,
    home: str = "",
    *,
    aliases: Aliases | None = None,
    here: Callable[[str], bool] = lambda _: True,
) -> bool:
    """Return whether ``line`` surely runs git with one of ``verbs`` in a folder that counts (``here``)."""
    return any(
        call.verb in verbs and not call.only_shows and call.folder is not None and here(call.folder)
        for call in git_calls(line, cwd, home, aliases)
    )
