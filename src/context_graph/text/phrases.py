"""Finds the most informative phrases in events' texts: paths, commands, error lines, decisions.

Everything here is a rule over plain text: the same text gives the same phrases, on any machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from context_graph.text.function_words import says_nothing
from context_graph.text.patterns import Linear, linear
from context_graph.text.sentences import shortened

SENTENCE_CHARS: Final = 160
"""Where a sentence is cut that is quoted as a decision or as something left to do."""

_FENCED: Final = linear(r"(?s)```.*?(?:```|\z)|<!--.*?(?:-->|\z)")
_LINE_MARKS: Final = linear(r"(?m)^[ \t]*(?:(?:#{1,6}|[*+-])[ \t]+|>[ \t]?|[-*_=]{3,}[ \t]*$)+")
"""What Markdown begins a line with: a heading, an item, a quotation, a rule. An option or a path is none."""
_MAY_MARK_LINES: Final = re.compile(r"(?m)^[ \t]*+[#*+>_=-]")
_BOLD: Final = linear(r"\*\*([^*\n]+)\*\*|`")
"""What it puts around words. Two underscores are part of a name more often than not."""
_STOP: Final = re.compile(r"[.!?]\s+|[。！？｡।]|\n+")
"""Where a sentence may end."""
_BEFORE_STOP: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789)]")
_BEGINS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ\"'(`*-")
_WITHOUT_SPACE: Final = frozenset("。！？｡।")
_CLOSES: Final = frozenset("」』）”")
_LEAST_BYTES: Final = 12
"""Of a sentence, in UTF-8: four Han characters say what three short words do."""


def _any_of(*patterns: str) -> Linear:
    """Return one of ``patterns``, which begin and end with letters, as whole words in any case."""
    return linear(rf"(?i)(?:^|\W)(?:{'|'.join(patterns)})(?:\W|$)")


def word_set(text: str) -> frozenset[str]:
    """Return the set of words in ``text``, split at spaces."""
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
_LONG_PROMPT_CHARS: Final = 600
"""A pasted report: in it only plain words of decision count; `never` and `must` are about something else."""

_TELLING: Final = linear(
    r"(?:Error|Exception|Warning)(?:\W|$)|(?:^|\W)(?:FAILED|error|fatal|panicked)(?:\W|$)|[1-9]\d* failed|"
    r"not found|No such|denied|refused|[Cc]annot|[Cc]an['’]t|undefined|unresolved|mismatch"
)
_SUMS_UP: Final = linear(
    r"(?i)^\W*(?:\*\* .+ \*\*$|g?make(?:\[\d+\])?: \*\*\*|ninja: build stopped|FAILURE: |BUILD FAILED|"
    r"(?:npm )?(?:error|ERR!)? ?(?:command failed|code ELIFECYCLE|lifecycle script)|"
    r"(?:error: )?(?:could not compile|failed to compile|aborting due to|failed to solve|linking failed|"
    r"the following .+ failed|(?:build|command|process|script|task|job|pipeline|subprocess) .{0,60}"
    r"(?:failed|exited|did not complete|returned))|execution failed for task|"
    r"an error occurred while (?:installing|processing|executing)|errors? (?:were )?(?:occurred|found))|"
    r"(?:exit(?:ed)?|return(?:ed)?)(?: with)?(?: a)?(?: non-?zero)? (?:code|status)|cannot continue\.?$"
)
"""A line that says that it all failed, and not why: what goes before says it."""
_ONLY_NAMES: Final = linear(r"(?:[\w\\.:]+ ?){0,3}(?:Error|Exception)")
"""A line that is an error's name alone: what it says stands below."""
_ERROR_LINE: Final = 400
_COUNTS: Final = linear(
    r"(?i)\W*\d+ (?:tests?|failed|failing|failures?|errors?|examples?|passed|problems?)(?:\W|$)|"
    r"\W*(?:FAILED \((?:\w+=\d+[, ]*)+\)|Interrupted: \d+ errors? |(?:\w+: +\d+[,.;]? *){2,}$|"
    r"\w+: +\d+ (?:failed|passed|skipped|total|errors?)(?:\W|$))"
)
"""A line that says how many failed, and not what."""
_HINTING: Final = linear(
    r"(?i)abort|reject|(?:^|\W)fail|unable|invalid|unexpected|missing|conflict|timed? ?out|exceed|violat|"
    r"not (?:supported|allowed|permitted|installed|available|recognized)|could not|did not|does not|must |"
    r"found [1-9]\d*|unknown|already exists|in use|ignored|killed|no tests? "
)
"""Words of a line that tells why, where none names an error."""
_SAYS_IT_FAILED: Final = linear(r"^[A-Z][A-Za-z -]+ (?:failed|aborted|rejected)[:.!]")
"""A line that is about the failure itself, above whatever else was printed."""
_NOISE: Final = linear(
    r"Exit code \d+|[({\[][^\"']*[)}\]],?|[({\[]\W*\w+\W*[,({\[]|Traceback .*|"
    r"=.*|-+|\W+|\s*at .*|npm (?:error|ERR!) A complete log.*|Emitted .* event .*|"
    r"[a-z]\w*: (?:'[^']*'|-?\d+|\[.*\]|null|undefined),|\W*\d+ ?[│▕|].*|throw new .*|raise \w.*|"
    r"(?:Please|For (?:more|further|help)|See|[Hh]int:|The full traceback) .*"
)
_COLOURS: Final = linear(r"\x1b\[[0-9;]*[A-Za-z]|\[[0-9;]{1,8}m")
"""Also those that have lost their escape character on the way."""

_LOOKUPS: Final = word_set(
    """ls cat head tail less more grep rg egrep find fd tree pwd cd echo printf wc which type file stat du df
    ps env date true sleep sed awk jq sort uniq diff history man whoami uname id
    get-content get-childitem get-item get-location set-location select-string test-path get-process
    get-command get-help write-host write-output resolve-path measure-object dir gc gci sls"""
)
_GIT_LOOKUPS: Final = word_set("status diff log show branch blame remote rev-parse ls-files")
_OURS: Final = word_set("context-graph-cli context-graph-py req")
"""What a session tells gates and memory is no work: a later one that reads of it might do the same."""
_CHANGES_DIR: Final = linear(r"cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")
_SETS_ENV: Final = linear(r"(?:[A-Za-z_]\w*=\S*\s+)+")
_LONG_PATH: Final = linear(r"(^|[\s\"'=])/(?:[\w.@+~-]+/){3,}([\w.@+~-]+/[\w.@+~-]+)")
_HEREDOC: Final = linear(r"""(?s)\$\(cat <<-?\s*(['"]?)\w+['"]?\n(.*?)\n\s*\w+\s*\n?\s*\)""")
"""`"$(cat <<'EOF' … EOF)"`, by which models write messages of several lines."""

_SLASH_COMMAND: Final = re.compile(r"/[\w:-]++")


def plain(text: str) -> str:
    """Return ``text`` without code fences, comments and marks of Markdown, on one line."""
    return _without_marks(_without_fences(text, " "))


def _without_fences(text: str, instead: str) -> str:
    return _FENCED.sub(instead, text) if "```" in text or "<!--" in text else text


def _without_marks(text: str) -> str:
    # Most sentences have none, which is told sooner than by the patterns.
    bare = _LINE_MARKS.sub("", text) if _MAY_MARK_LINES.search(text) else text
    if "**" in bare or "`" in bare:
        bare = _BOLD.sub(lambda match: match[1] or "", bare)
    return " ".join(bare.split())


_ASKS: Final = linear(
    r"(?i)[?？]|^(?:how|what|why|where|when|which|who|is|are|does|do|can|could|should|explain|find|look|check|"
    r"wie|was|warum|wo|comment|pourquoi|cómo|por qué|como|как|почему|为什么|怎么|どう|なぜ)(?:\W|$)"
)
_FAILS: Final = linear(
    r"(?i)(?:^|\W)(?:fails|failed|hangs|crashes|breaks|refuses|complains|throws|raises|rejects|says|"
    r"(?:do|does|did|could|would|was|were|is|are|has|have)(?: not|n['’]t)|won['’]t|can(?:not|['’]t)|"
    r"no longer|schlägt fehl|(?:geht|läuft|funktioniert) nicht|échoue|ne (?:marche|fonctionne) pas|falla|"
    r"no funciona|falha|não funciona|не работает|падает)(?:\W|$)|报错|失败|不工作|エラーに|失敗|動かない"
)
"""Finite verbs of what goes wrong: a request begins with a verb that is none."""
_QUESTION_CHARS: Final = 300


def asks_something(prompt: str) -> bool:
    """Return whether a prompt is a question or has one, in the languages that notes know."""
    return _ASKS.found(prompt)


def is_question(prompt: str) -> bool:
    """Return whether a prompt asks something, or tells what goes wrong, and sets no longer task."""
    return len(prompt) <= _QUESTION_CHARS and (asks_something(prompt) or _FAILS.found(prompt))


def is_small_talk(prompt: str) -> bool:
    """Return whether a prompt says nothing of the work: `yes`, `go on`, a bare client command."""
    if _SLASH_COMMAND.fullmatch(prompt.strip()):
        return True
    return says_nothing(prompt)


def command_line(command: str, limit: int = 90, *, variables: bool = False) -> str:
    """Return a shell command on one line, without what enters a folder, or sets ``variables``, before it.

    A message that a here-document holds stands in its place, as it is what the command says.
    """
    document = _HEREDOC.search(command)
    if document:
        message = next((line.strip() for line in document[2].splitlines() if line.strip()), "")
        command = command[: document.start()] + message + command[document.end() :]
    lines = (line.strip() for line in command.replace("\\\n", " ").strip().splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    for leading in (_CHANGES_DIR,) if variables else (_CHANGES_DIR, _SETS_ENV):
        match = leading.match(first)
        first = first[match.end() :] if match else first
    if len(first) > limit:  # what a long path ends with says more than what it begins with
        first = _LONG_PATH.sub(lambda match: f"{match[1]}…/{match[2]}", first)
    return shortened(first, limit)


def is_lookup(command: str) -> bool:
    """Return whether ``command`` only looks at things or calls our program."""
    words = command.split()
    if not words:
        return True
    head = words[0].rsplit("/", 1)[-1].lower()
    if head in _OURS:
        return not any(mark in command for mark in "&|;")
    if head == "git":
        return len(words) < 2 or words[1] in _GIT_LOOKUPS
    return head in _LOOKUPS and ">" not in command and " -i" not in command


def error_line(text: str, limit: int = 140) -> str:
    """Return the line of an error text that says why: the last that names an error, else the last that sums
    up, tells a failure in other words or counts them, else the last line; with the next one where it
    announces that.
    """
    last = hinting = failing = below = summing = ""
    lines = [line.strip() for line in _COLOURS.sub("", text).splitlines()]
    short = [line for line in lines if len(line) <= _ERROR_LINE]  # a longer one is data
    for line in reversed(short or lines):
        if not line or _NOISE.fullmatch(line):
            continue
        is_named = _ONLY_NAMES.fullmatch(line)
        whole = f"{line}: {below}" if is_named else f"{line} {below}" if line.endswith(":") else line
        last, below = last or line, line
        if _COUNTS.match(line):
            hinting = hinting or line
        elif _SUMS_UP.found(line):
            summing = summing or line
        elif _TELLING.found(line):
            return shortened(" ".join(whole.split()), limit)
        if not hinting and _HINTING.found(line):
            hinting = whole
        failing = line if _SAYS_IT_FAILED.found(line) else failing
    return shortened(" ".join((failing or summing or hinting or last or text).split()), limit)


def sentences(text: str) -> Iterator[str]:
    """Return the sentences of ``text``, without Markdown's marks, code fences left out."""
    return iter(_sentences(text))


@lru_cache(maxsize=8)  # several readers look at each prompt
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(_split(text))


def _split(text: str) -> Iterator[str]:
    for part in _parted(_without_fences(text, "\n")):
        sentence = _without_marks(part)
        if len(sentence.encode("utf-8", "replace")) >= _LEAST_BYTES:
            yield sentence


def _parted(text: str) -> Iterator[str]:
    """Yield ``text`` cut where a sentence ends: at a line's end, at a stop after two letters, so that `e.g.`
    and initials end nothing, or before a capital; or at the stop of a script that puts no space after it."""
    begin = 0
    for match in _STOP.finditer(text):
        stop, end = match.start(), match.end()
        if text[stop] in _WITHOUT_SPACE:
            ends = text[end : end + 1] not in _CLOSES
        else:
            ends = (
                "\n" in match[0]
                or text[end : end + 1] in _BEGINS
                or (stop >= 2 and text[stop - 1] in _BEFORE_STOP and text[stop - 2] in _BEFORE_STOP)
            )
        if ends:
            yield text[begin:end]
            begin = end
    yield text[begin:]


def instructions_in(prompt: str, limit: int = SENTENCE_CHARS) -> list[str]:
    """Return sentences of a user's prompt that decide something, or say what must or must not be, in order.

    Of a long prompt, which may quote a report, only those that begin like a request.
    """
    short = len(prompt) <= _LONG_PROMPT_CHARS
    wishes = []
    for sentence in sentences(prompt):
        asks = _COMMANDS.found(sentence) or _DECIDES.found(sentence)
        asks = asks or (short and (_PREFERS.found(sentence) or _CONSTRAINS.found(sentence)))
        if asks and not sentence.endswith("?"):
            wishes.append(shortened(sentence, limit))
    return wishes


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
_LINK: Final = re.compile(r"https?://\S++")
_PARAGRAPH: Final = "\n\n"
_LONGEST: Final = 1000
"""Characters of a quotation: a mark that is never closed must not cost a look at all that follows."""
_FIRST_MARK: Final = 0xF0000
_LAST_MARK: Final = 0xFFFFD
"""Private characters that stand for what was quoted; those that a text brings with it are taken out."""


class Unquoted:
    """A text with each quotation and each link replaced by one character, to read what its author says.

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
            if text[at] == "h" and (link := _LINK.match(text, at)):
                end = link.end() - 1
            else:
                end = _end_of_quote(text, at) if text[at] in _PAIRS else -1
            if end < 0 or len(self._quoted) > _LAST_MARK - _FIRST_MARK:
                at += 1
                continue
            kept += (text[start:at], chr(_FIRST_MARK + len(self._quoted)))
            self._quoted.append(text[at : end + 1])
            start = at = end + 1
        return "".join((*kept, text[start:]))


@lru_cache(maxsize=4)  # several readers look at each prompt
def unquoted(text: str) -> Unquoted:
    """Return ``text`` as `Unquoted` reads it."""
    return Unquoted(text)


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
    """Return where the quotation ends that begins at ``at``; -1 if none does, within its paragraph."""
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
    """Return the next place of ``closing``, -1 if none; a possible apostrophe (``letters``) is none."""
    while (end := text.find(closing, at, limit)) >= 0:
        if not letters or not (text[end + 1 : end + 2].isalnum() or text[end - 1].isspace()):
            return end
        at = end + 1
    return -1
