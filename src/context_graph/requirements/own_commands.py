"""Bash commands that concern the gates themselves.

Two questions. Is the whole command nothing but one plain call of ours, so that a gate must let it through
(pausing and satisfying stay reachable)? And might the command satisfy, clear or switch off what only a person
may? The first is answered by a strict parser, the second by a wide net: what it can't read, it holds.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["EXEMPT", "is_own_command", "may_reach_gates"]

_PROGRAM = "context-graph-cli"
_ALIAS = "req"
_HARMLESS = frozenset({"status", "list", "sessions", "log", "check", "doctor", "statusline"})
EXEMPT = _HARMLESS | {"pause", "resume", "satisfy", "approve"}
_UNQUOTED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=@+%")
_TAKES_VALUE = frozenset({"--session", "-s", "--branch", "-b", "--ttl", "--metadata", "-m", "--reason"})


def _words(command: str) -> list[str] | None:
    """The words of a plain command; None if it holds anything that a shell would act upon."""
    words: list[str] = []
    current: list[str] | None = None
    at, text = 0, command.strip(" ")
    while at < len(text):
        char = text[at]
        if char in "'\"":
            end = text.find(char, at + 1)
            inner = text[at + 1 : end]
            if end < 0 or "\n" in inner or (char == '"' and any(mark in inner for mark in "$`\\!")):
                return None
            current = [*(current or []), inner]
            at = end + 1
            continue
        if char == " ":
            if current is not None:
                words.append("".join(current))
            current = None
        elif char in _UNQUOTED:
            current = [*(current or []), char]
        else:
            return None
        at += 1
    return words if current is None else [*words, "".join(current)]


def _own_words(command: str) -> list[str]:
    """The words after ``req`` of a plain call of ours, [] if the command is anything else."""
    if _ALIAS not in command or len(command) > 4096:
        return []
    words = _words(command) or []
    if words[:2] == [_PROGRAM, _ALIAS]:
        return words[2:]
    return words[1:] if words[:1] == [_ALIAS] else []


def is_own_command(command: str) -> bool:
    """Whether the whole command is one plain call of ``req`` that no gate may hold back."""
    words = _own_words(command)
    return bool(words) and words[0] in EXEMPT


def may_reach_gates(command: str, protected: Collection[str]) -> bool:
    """Whether the command might satisfy, clear or disable one of ``protected``, or write the gates' files.

    A plain call of ours is judged by its words. Anything else that names our program together with a verb
    that opens gates, or together with something that hides words (variables, eval, encodings), or that
    names the state's folder or the configuration's files, counts as reaching.
    """
    words = _own_words(command)
    if words:
        return _opens(words, protected)
    bare = _unquoted(command)
    if not any(mark in bare for mark in ("req", "context", "requirements", "CLAUDE_SKIP")):
        return False
    import re

    if _names_state(bare) or re.search(r"git-(common-)?dir", bare):
        return "requirements" in bare
    if re.search(r"requirements(\.local)?\.ya?ml", bare):
        return _writes(bare)
    if re.search(r"context_graph[./]requirements|(from|import|-m) context_graph", bare):
        return True
    if _calls_alias(bare):
        return True
    ours = re.search(r"context-graph-(cli|py)|context_graph\.cli|(?:^|[;&|(\s/])req\s", bare)
    hidden = re.search(
        r"[$`]|\beval\b|\bbase64\b|\bxxd\b|\bprintf\b|<<|\bsource\b|\bxargs\b|\brev\b|\btr\b", bare
    )
    return bool(ours and hidden)


def _names_state(bare: str) -> bool:
    """Whether it names the folder of the gates' state: after `.git` in a line, or a file in it."""
    import re

    for line in bare.split("\n"):
        git = re.search(r"\.git\b", line)
        if git and "requirements" in line[git.end() :]:
            return True
    for word in bare.split():
        rest = word.partition("requirements/")[2]
        if ".json" in rest or ".paused" in rest or "requirements/sessions" in word:
            return True
    return False


def _calls_alias(bare: str) -> bool:
    """Whether `req` is followed by a verb that opens gates, before the command's end."""
    import re

    verbs = r"(^|[\s,])(satisfy|approve|clear|pause|disable|enable|init|config|prune)\b"
    ends = re.compile(r"[;|&\n]")
    done = 0
    for alias in re.finditer(r"(?<![\w-])req[\s,]+", bare):
        if alias.start() < done:
            continue  # what follows was looked at with the one before
        end = ends.search(bare, alias.end())
        done = end.start() if end else len(bare)
        if re.search(verbs, bare[alias.end() : done]):
            return True
    return False


def _opens(words: list[str], protected: Collection[str]) -> bool:
    verb, rest = words[0], words[1:]
    if verb in _HARMLESS or verb in ("pause", "resume"):
        return False  # an agent's pause does not cover what only a person may satisfy
    if verb == "config":
        return rest[:1] not in ([], ["show"])
    if verb not in ("satisfy", "approve", "clear"):
        return verb in ("disable", "enable", "init", "prune")
    names, skip = [], False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-"):
            if word in ("--all", "-a"):
                return True
            skip = word in _TAKES_VALUE
        else:
            names.append(word)
    return not names or any(name in protected for name in names)


def _unquoted(command: str) -> str:
    """The command without what a shell drops: quotes, backslashes, continued lines, empty expansions."""
    text = command.replace("\\\n", "")
    for dropped in ("'", '"', "\\", "$@", "$*", "${}", "[", "]"):
        text = text.replace(dropped, "")
    return text.replace("${IFS}", " ").replace("$IFS", " ")


def _writes(text: str) -> bool:
    """Whether a command that names a configuration file does more than read it."""
    import re

    git = r"git\s++(diff|log|show|status|add|commit|blame)"
    readers = rf"^\s*+(cat|less|head|tail|grep|rg|ls|wc|stat|file|diff|{git})\b"
    return bool(re.search(r"[>$`]", text)) or any(
        not re.search(readers, part) for part in re.split(r"[;&|\n]+", text) if part.strip()
    )
