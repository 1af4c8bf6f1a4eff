"""Reads the messages of `git commit` out of shell commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Final

from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

_COMMIT: Final = linear(r"(?:^|[\s;&|(])git (?:-\S+ \S+ )*commit(?:\s|$)")
_HEREDOC: Final = linear(r"""(?s)<<-?\s*['"]?(\w+)['"]?\n(.*)""")
_MESSAGE: Final = linear(r"""(?s)(?:^|\s)(?:-\w*m|--message)[ =]?\s*("(?:[^"\\]|\\.)*"|'[^']*'|\S+)""")
_TRAILER: Final = linear(r"(?i)^(?:co-authored-by|signed-off-by|generated with|change-id|reviewed-by|🤖)")
_SUBJECT_CHARS: Final = 160
_BODY_CHARS: Final = 900
_WRAPPED: Final = 50
"""Characters of a line from which the next one goes on with it."""
_ITEM: Final = linear(r"^(?:[-*+•]|\d{1,2}[.)])\s|^[\w-]+:\s")


def commits_in(command: str) -> list[tuple[str, str]]:
    """Return (subject, body) of the commits that a command line makes; trailers are left out."""
    if not _COMMIT.found(command):
        return []
    heredoc = _HEREDOC.search(command)
    if heredoc:
        text = heredoc[2].split(f"\n{heredoc[1]}", 1)[0]
        texts = [text]
    else:
        texts = [_unquoted(match[1]) for match in _MESSAGE.finditer(command)]
        texts = ["\n\n".join(texts)] if texts else []
    messages = []
    for text in texts:
        lines = [line.strip() for line in text.strip().splitlines()]
        lines = [line for line in lines if not _TRAILER.found(line)]
        if lines and lines[0]:
            body = "\n".join(_unwrapped(lines[1:])).strip()
            messages.append((shortened(lines[0], _SUBJECT_CHARS), body[:_BODY_CHARS]))
    return messages


def _unwrapped(lines: Iterable[str]) -> list[str]:
    """Return the lines of a body with those that only its width broke put together again."""
    whole, last = list[str](), ""
    for line in lines:
        is_wrapped = len(last) >= _WRAPPED and line and not _ITEM.found(line)
        whole = [*whole[:-1], f"{whole[-1]} {line}"] if is_wrapped else [*whole, line]
        last = line
    return whole


def _unquoted(word: str) -> str:
    try:
        return " ".join(shlex.split(word)) if word[:1] in "'" else word.strip('"').replace('\\"', '"')
    except ValueError:
        return word.strip("'\"")
