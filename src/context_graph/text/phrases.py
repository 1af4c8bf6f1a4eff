"""Finds the most informative phrases in events' texts: paths, commands, error lines, decisions.

Everything here is a rule over plain text: the same text gives the same phrases, on any machine.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from typing import Final

from context_graph.text.descriptions import without_description
from context_graph.text.patterns import Linear, linear
from context_graph.text.sentences import shortened

SENTENCE_CHARS: Final = 160
"""Where a sentence is cut that is quoted as a decision or as something left to do."""

_FENCED: Final = linear(r"(?s)```.*?(?:```|\z)|<!--.*?(?:-->|\z)")
_MARKUP: Final = re.compile(r"^[#>*\-\s]+|\*\*|__|`", re.MULTILINE)
_STOP: Final = re.compile(r"[.!?]\s+|[。！？｡।]|\n+")
"""Where a sentence may end."""
_BEFORE_STOP: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789)]")
_BEGINS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ\"'(`*-")
_WITHOUT_SPACE: Final = frozenset("。！？｡।")
_CLOSES: Final = frozenset("」』）”")
_LEAST_BYTES: Final = 12
"""Of a sentence, in UTF-8: four Han characters say what three short words do."""


def _any_of(*patterns: str) -> Linear:
    """One of ``patterns``, which begin and end with letters, as whole words in any case."""
    return linear(rf"(?i)(?:^|\W)(?:{'|'.join(patterns)})(?:\W|$)")


def word_set(text: str) -> frozenset[str]:
    """The set of words in ``text``, split at spaces."""
    return frozenset(text.split())


_DECIDES: Final = _any_of(
    "decided",
    "we(?:'ll| will| are going to) (?:use|go with|keep|drop|stay|switch)",
    "let['’]?s (?:use|go with|keep|drop|not)",
    "go(?:ing)? with",
    "chose",
    "agreed (?:to|on|that)",
    "settled on",
    "from now on",
    "switch(?:ed|ing)? to",
)
_PREFERS: Final = _any_of(
    *("instead of", "rather than", "prefer", "always", "never", "do not", "don['’]t", "must(?: not)?"),
    *("should not", "shouldn['’]t", "no longer", "make sure", "remember"),
)
_CONSTRAINS: Final = _any_of(
    *("only", "avoid", "without", "ensure", "(?:has|have|need|needs) to", "keep", "stick to"),
    "can(?:no|['’])t",
    "use .{1,60}(?:,| and| but)? not",
)
_COMMANDS: Final = linear(
    r"(?i)^(?:please |also,? |and |but |so )*(?:do not|don['’]t|never|always|you (?:must|should|may)|"
    r"make sure|ensure|only|avoid|use|keep|remember)(?:\W|$)"
)
"""How a sentence begins by which somebody asks for something."""
_LEFT: Final = _any_of(
    *("to-?do", "next steps?", "remain(?:s|ing)", "still (?:to|fails?|needs?|open|missing)", "left to"),
    *("not yet", "follow-?up", "unfinished", "later"),
    r"(?:have|has|did) ?n(?:'|’)?o?t (?:been )?(?:test|run|verif|done|finish|implement|fix)\w*",
)
_LONG_PROMPT_CHARS: Final = 600
"""A pasted report: in it only plain words of decision count; `never` and `must` are about something else."""

_SMALL_TALK: Final = word_set(
    """y yes yep yeah no nope ok okay sure thank thanks you go on ahead continue proceed next done please do
    it that this try again retry good great perfect nice fine cool hi hello hey stop wait and now all sounds
    right"""
)

_TELLING: Final = linear(
    r"(?:Error|Exception|Warning)(?:\W|$)|(?:^|\W)(?:FAILED|error|fatal|panicked)(?:\W|$)|[1-9]\d* failed|"
    r"not found|No such|denied|refused|cannot|can't|undefined|unresolved|mismatch"
)
_NOISE: Final = linear(r"Exit code \d+|Traceback .*|=.*|-+|\^+|\s*at .*|npm (?:error|ERR!) A complete log.*")
_COLOURS: Final = linear(r"\x1b\[[0-9;]*[A-Za-z]|\[[0-9;]{1,8}m")
"""Also those that have lost their escape character on the way."""

_LOOKUPS: Final = word_set(
    """ls cat head tail less more grep rg egrep find fd tree pwd cd echo printf wc which type file stat du df
    ps env date true sleep sed awk jq sort uniq diff history man whoami uname id"""
)
_GIT_LOOKUPS: Final = word_set("status diff log show branch blame remote rev-parse ls-files")
_OURS: Final = word_set("context-graph-cli context-graph-py req")
"""What a session tells gates and memory is no work: a later one that reads of it might do the same."""
_CHANGES_DIR: Final = linear(r"cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")
_SETS_ENV: Final = linear(r"(?:[A-Za-z_]\w*=\S*\s+)+")

_TODO: Final = linear(r"(?m)^(?:\d+ )?(?P<what>.+?) (?P<state>pending|in_progress|completed)(?:\W|$)")
_SLASH_COMMAND: Final = re.compile(r"/[\w:-]++")
_WORD: Final = re.compile(r"\w+")
_ENDING: Final = re.compile(r"\.\w{1,8}$")
_FILE_NAME: Final = re.compile(r"\w\.\w{1,8}$")


def plain(text: str) -> str:
    """``text`` without code fences, comments and marks of Markdown, on one line."""
    return " ".join(_MARKUP.sub("", _FENCED.sub(" ", text)).split())


def is_small_talk(prompt: str) -> bool:
    """Whether a prompt says nothing of what the work is about: `yes`, `go on`, a bare client command."""
    if _SLASH_COMMAND.fullmatch(prompt.strip()):
        return True
    return _SMALL_TALK.issuperset(_WORD.findall(prompt[:_LONG_PROMPT_CHARS].lower()))


def path_of(input_text: str, output_text: str = "") -> str:
    """The file that a file tool's flattened input begins with; "" if it begins with none.

    The tool's answer begins with the same path, so that one with blanks in it is known by what both share.
    """
    first = input_text.split(None, 1)[0] if input_text.strip() else ""
    if "/" not in first and first not in ("Makefile", "Dockerfile") and not _FILE_NAME.search(first):
        return ""
    shared = os.path.commonprefix((input_text, output_text)).rstrip()  # noqa: RUF071 - of any text
    if " " in shared and "\n" not in shared and len(shared) <= 200 and _ENDING.search(shared):
        return shared
    return first[:200]


def command_of(input_text: str, limit: int = 90) -> str:
    """Return the shell command in a Bash tool's flattened input, on one line and without its surroundings.

    The tool's own description of the command follows it there, divided by a blank alone: a last run of plain
    words with a capital is taken for it.
    """
    lines = [line.strip() for line in input_text.strip().splitlines()]
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first == (lines[-1] if lines else ""):
        first = without_description(first)
    for leading in (_CHANGES_DIR, _SETS_ENV):
        found = leading.match(first)
        first = first[found.end() :] if found else first
    return shortened(first, limit)


def is_lookup(command: str) -> bool:
    """Whether ``command`` only looks at things or calls our program, so that it is not worth reporting."""
    words = command.split()
    if not words:
        return True
    head = words[0].rsplit("/", 1)[-1]
    if head in _OURS:
        return not any(mark in command for mark in "&|;")
    if head == "git":
        return len(words) < 2 or words[1] in _GIT_LOOKUPS
    return head in _LOOKUPS and ">" not in command and " -i" not in command


def removed_by(command: str) -> list[str]:
    """The files that an `rm` command names; [] for any other command."""
    words = command.split()
    return [word for word in words[1:] if not word.startswith("-")] if words[:1] == ["rm"] else []


def error_line(text: str, limit: int = 140) -> str:
    """The most informative line of an error text: the last that names an error, else the last line."""
    last = ""
    for line in map(str.strip, reversed(_COLOURS.sub("", text).splitlines())):
        if not line or _NOISE.fullmatch(line):
            continue
        last = last or line
        if _TELLING.found(line):
            last = line
            break
    return shortened(" ".join((last or text).split()), limit)


def sentences(text: str) -> Iterator[str]:
    """The sentences of ``text``, without Markdown's marks, code fences left out."""
    for part in _parted(_FENCED.sub("\n", text)):
        sentence = " ".join(_MARKUP.sub("", part).split())
        if len(sentence.encode("utf-8", "replace")) >= _LEAST_BYTES:
            yield sentence


def _parted(text: str) -> Iterator[str]:
    """``text`` cut where a sentence ends: at a line's end, at a stop after two letters, so that `e.g.` and
    initials end nothing, or before a capital; or at the stop of a script that puts no space after it."""
    begin = 0
    for found in _STOP.finditer(text):
        stop, end = found.start(), found.end()
        if text[stop] in _WITHOUT_SPACE:
            ends = text[end : end + 1] not in _CLOSES
        else:
            ends = (
                "\n" in found[0]
                or text[end : end + 1] in _BEGINS
                or (stop >= 2 and text[stop - 1] in _BEFORE_STOP and text[stop - 2] in _BEFORE_STOP)
            )
        if ends:
            yield text[begin:end]
            begin = end
    yield text[begin:]


def wishes_in(prompt: str, limit: int = SENTENCE_CHARS) -> list[str]:
    """Sentences of a user's prompt that decide something, or say what must or must not be, in order.

    Of a long prompt, which may quote a report, only those that begin like a request.
    """
    short = len(prompt) <= _LONG_PROMPT_CHARS
    found = []
    for sentence in sentences(prompt):
        asks = _COMMANDS.found(sentence) or _DECIDES.found(sentence)
        asks = asks or (short and (_PREFERS.found(sentence) or _CONSTRAINS.found(sentence)))
        if asks and not sentence.endswith("?"):
            found.append(shortened(sentence, limit))
    return found


def what_is_left(message: str, limit: int = SENTENCE_CHARS) -> list[str]:
    """Sentences of the model's last words about remaining work, in order."""
    return [shortened(sentence, limit) for sentence in sentences(message) if _LEFT.found(sentence)]


def open_todos(input_text: str, limit: int = 100) -> list[str]:
    """What a to-do list's flattened input still has open, the item in progress first."""
    items = [(found["what"], found["state"]) for found in _TODO.finditer(input_text)]
    items.sort(key=lambda item: item[1] != "in_progress")
    return [shortened(what, limit) for what, state in items if state != "completed"]


_FENCES: Final = ("```", "~~~")
_PAIRS: Final = {
    '"': '"',
    "“": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "‘": "’",
    "「": "」",
    "『": "』",
    "`": "`",
    "'": "'",
}
_PARAGRAPH: Final = "\n\n"
_LONGEST: Final = 1000
"""Characters of a quotation: a mark that is never closed must not cost a look at all that follows."""
_FIRST_MARK: Final = 0xF0000
_LAST_MARK: Final = 0xFFFFD
"""Private characters that stand for what was quoted; those that a text brings with it are taken out."""


class Unquoted:
    """A text with each quotation replaced by one character, to read what its author says.

    Fenced code and lines that begin with ``>`` are removed.
    """

    def __init__(self, text: str) -> None:
        self._quoted: list[str] = []
        own = "".join(letter for letter in _own_lines(text) if not _FIRST_MARK <= ord(letter) <= _LAST_MARK)
        self.text = self._masked(own)
        """The author's own words; `whole` puts the quotations back."""

    def whole(self, part: str) -> str:
        """Return ``part`` of `text` as it was written."""
        return "".join(
            self._quoted[ord(letter) - _FIRST_MARK] if _FIRST_MARK <= ord(letter) <= _LAST_MARK else letter
            for letter in part
        )

    def _masked(self, text: str) -> str:
        kept: list[str] = []
        start = at = 0
        while at < len(text):
            end = _end_of_quote(text, at) if text[at] in _PAIRS else -1
            if end < 0 or len(self._quoted) > _LAST_MARK - _FIRST_MARK:
                at += 1
                continue
            kept += (text[start:at], chr(_FIRST_MARK + len(self._quoted)))
            self._quoted.append(text[at : end + 1])
            start = at = end + 1
        return "".join((*kept, text[start:]))


def _own_lines(text: str) -> str:
    kept, fence = [], ""
    for line in text.splitlines():
        begins = line.lstrip()
        if fence:
            fence = "" if begins.startswith(fence) else fence
        elif begins.startswith(_FENCES):
            fence = begins[:3]
        elif not begins.startswith(">"):
            kept.append(line)
    return "\n".join(kept)


def _end_of_quote(text: str, at: int) -> int:
    """Where the quotation ends that begins at ``at``; -1 if none does, within its paragraph."""
    mark = text[at]
    if mark in "\"'" and at and text[at - 1].isalnum():
        return -1  # an apostrophe, or inches
    if at + 1 >= len(text) or text[at + 1].isspace():
        return -1
    limit = min(len(text), at + _LONGEST)
    paragraph = text.find(_PARAGRAPH, at, limit + 1)
    limit = limit if paragraph < 0 else paragraph
    ends = (_closing(text, closing, at + 1, limit, letters=mark in "'‘") for closing in _PAIRS[mark])
    return min((end for end in ends if end >= 0), default=-1)


def _closing(text: str, closing: str, at: int, limit: int, *, letters: bool) -> int:
    """The next place of ``closing``, -1 if there is none; a possible apostrophe (``letters``) does not
    count.
    """
    while (end := text.find(closing, at, limit)) >= 0:
        if not letters or not (text[end + 1 : end + 2].isalnum() or text[end - 1].isspace()):
            return end
        at = end + 1
    return -1
