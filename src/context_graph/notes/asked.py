"""Takes out of a long prompt what a later reader wants of it: cause, wish, what goes wrong, short code.

An issue that is pasted in begins with headings, versions and set-up, so its beginning says little of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from context_graph.notes.edits.rows import are_incidental
from context_graph.notes.message import is_polite, role_in
from context_graph.text import phrases
from context_graph.text.patterns import linear
from context_graph.text.sentences import Kind, Segment, segments, shortened

DETAILS_CHARS: Final = 440
_PART_CHARS: Final = 340
_MOST_CHARS: Final = 8192
_CODE_CHARS: Final = 120
_LEAST_CODE: Final = 6
_LEAST_WORDS: Final = 4
_LEAST_WORTH: Final = 1.5
"""Below it a sentence says nothing that another reader wants; the first says what it is about."""
_LEAST_BYTES: Final = 24
_ROLES: Final = {"cause": 4.0, "decision": 2.5, "fix": 0.5}
_WISHES: Final = linear(
    r"(?i)(?:^|\W)(?:should|shouldn['’]t|instead|rather|expect(?:s|ed|ing)?|suggest\w*|propos(?:e|ed|al)|"
    r"would (?:be|like|have|argue|expect|work)|ought|want(?:s|ed)?|needs? to|must|solutions?|fix|allow|"
    r"intend\w*|intent(?:ion)?|desired|so that|don['’]t stop|until|"
    r"sollten?|statt|erwartet|möchten?|devrait|attendu|debería|esperado|deveria|должн\w+|ожида\w+)(?:\W|$)|"
    r"应该|期望|希望|べき|期待"
)
_GOES_WRONG: Final = linear(
    r"(?i)(?:^|\W)(?:regress\w*|fail(?:s|ed|ing|ure)?|crash(?:es|ed)?|break(?:s|ing)?|broken?|incorrect\w*|"
    r"wrong(?:ly)?|raises?|throws?|hangs?|ignor(?:es|ed)|missing|lost|never|no longer|unexpected\w*|problem|"
    r"bug|but|however|"
    r"(?:do|does|did|is|are|was|can|could|will|would|has|have)(?:n['’]t| not)|cannot|"
    r"fehler\w*|falsch|nicht|erreur|pas|fallo|falla|no funciona|erro|ошибк\w+|не)(?:\W|$)|"
    r"\w(?:Error|Exception)(?:\W|$)|错误|失败|エラー|失敗"
)
_ADDRESS: Final = linear(r"\(?<?https?://[^\s<>)]*[>)]*|[\x{200b}\x{feff}]")
_LINK: Final = linear(r"!?\[([^\]\n]{0,200})\]\((?:[^)\s]*)\)")
_COMMENT: Final = linear(r"(?s)<!--.*?(?:-->|\z)")
_ASIDE: Final = linear(r"\([^()]*\)[.:]?")
_PROMPTED: Final = linear(r"^(?:>>> |In \[\d+\]: |\$ |[\w-]*> )(.*)$")
_SHOWN: Final = linear(r"^(?:>>>|\.\.\. |In \[\d+\]:|Out\[\d+\]:|\$ |-+> \d|\d+ {2,}|File \"|Traceback \()")
"""How lines of a session at a prompt begin, and those of a traceback."""
_TRACED: Final = ("Traceback (", 'File "')
_ERROR: Final = linear(r"[\w.]+(?:Error|Exception|Warning|Exit|Interrupt)(?::|$)|\w+(?:\.\w+)+: ")
_HEADS: Final = linear(r"\p{Lu}[\w'’/-]+(?: [\w'’/-]+){0,2}:?")
"""A line of up to three words: a heading, whether it is marked as one or not."""
_CLOSING: Final = frozenset("`)\"'")
_SIGNS: Final = frozenset("=(){}[];<>|\\")
_PLAIN: Final = linear(r"[(\"'`*_]*\pL[\pL'’-]*[.,;:!?)\"'`*_]*")
_LEAST_PLAIN: Final = 3
_CLAUSE: Final = linear(r"[,;] (?:but |so |and |then )?|: | - ")


class _Part(NamedTuple):
    text: str
    worth: float


def details_of(prompt: str, limit: int = DETAILS_CHARS, *, is_whole: bool = True) -> str:
    """Return what tells most of a prompt's sentences, in their order, in ``limit`` characters; "" for
    nothing. Cost: some 30 us a sentence.

    Args:
        is_whole: Whether nothing of it is told before: then its first sentence says what it is about.
    """
    kept, room = list[tuple[int, str]](), limit
    parts = [*_parts(prompt, is_first=is_whole)]
    for place, part in sorted(enumerate(parts), key=lambda pair: (-pair[1].worth, pair[0])):
        text = _ended(_fitted(part.text))
        if part.worth >= _LEAST_WORTH and len(text) + 1 <= room and text not in (known for _, known in kept):
            kept.append((place, text))
            room -= len(text) + 1
    return " ".join(text for _, text in sorted(kept))


def gist_of(prompt: str, limit: int) -> str:
    """Return a prompt's first sentence and of the others what tells most, in ``limit`` characters."""
    first = next(phrases.sentences(prompt), "")
    head = shortened(first, limit)
    rest = details_of(
        prompt[prompt.find(first[-20:]) + len(first[-20:]) :], limit - len(head) - 1, is_whole=False
    )
    return f"{head} {rest}".strip()


def _parts(prompt: str, *, is_first: bool) -> Iterator[_Part]:
    text = _fenced(_COMMENT.sub("", prompt[:_MOST_CHARS]))
    passages = [segment for segment in segments(text) if segment.text.strip()]
    shown = ""
    for segment, below in pairwise([*passages, Segment("", Kind.SENTENCE)]):
        if segment.kind is Kind.CODE:
            error = _error_in(segment.text)
            yield _Part(error, 2.0 if error and error not in shown else 0.0)
            continue
        text = _bare(segment.text)
        if _says_nothing(text):
            continue
        worth = _worth(text) + is_first
        is_first = False
        if text.endswith((":", "：")):  # the point is below it
            code = below.text if below.kind is Kind.CODE else ""
            shown = _error_in(code) or _telling_line(code)
            text, worth = (f"{text} `{shown}`", worth) if shown else (text, worth - 3.0)
        yield _Part(text, worth)


def _fenced(prompt: str) -> str:
    """Return ``prompt`` with fences around its lines of code that have none, and headings by themselves."""
    lines = prompt.splitlines()
    marks = _code_lines(lines)
    made, own = list[str](), False
    for at, line in enumerate(lines):
        if marks[at] != own:
            made.append("```")
            own = marks[at]
        is_heading = not own and _HEADS.fullmatch(phrases.plain(line)) is not None
        made += ["", line, ""] if is_heading else [line]
    return "\n".join([*made, *(["```"] if own else [])])


def _code_lines(lines: list[str]) -> list[bool]:
    """Return for each line whether it is code that no fence says is code; what stands within a sentence is
    part of it."""
    marks, inside = [False] * len(lines), False
    for at, line in enumerate(lines):
        is_mark = line.strip().startswith(("```", "~~~"))
        inside = inside != is_mark
        if not (inside or is_mark) and line.strip():
            marks[at] = _is_code(line, after=at > 0 and marks[at - 1])
    for at in range(1, len(lines) - 1):
        alone = marks[at] and not (marks[at - 1] or marks[at + 1])
        if alone and lines[at - 1].strip()[-1:].isalpha() and lines[at + 1].strip()[:1].islower():
            marks[at] = len(lines[at]) > _CODE_CHARS
    return marks


def _is_code(line: str, *, after: bool) -> bool:
    """Return whether a line has more signs than words; behind a line of code, one with hardly any words or
    farther in."""
    bare = line.strip()
    if _SHOWN.match(bare) or are_incidental([bare]) or (after and line[0] in " \t"):
        return True
    words = bare.split()
    plain = sum(1 for word in words if _PLAIN.fullmatch(word))
    if not _SIGNS.intersection(bare):
        return after and plain < _LEAST_PLAIN and not bare.endswith((".", ":", "!", "?"))
    return 2 * plain < len(words) or (plain < _LEAST_PLAIN and not bare.endswith((".", "!", "?")))


def _error_in(code: str) -> str:
    """Return the error that a traceback ends with."""
    error = phrases.error_line(code, _CODE_CHARS) if any(mark in code for mark in _TRACED) else ""
    return error if _ERROR.match(error) else ""


def _says_nothing(text: str) -> bool:
    if len(text.split()) < _LEAST_WORDS and len(text.encode()) < _LEAST_BYTES:
        return True
    return _ASIDE.fullmatch(text) is not None or is_polite(text)


def _ended(text: str) -> str:
    return f"{text}." if text[-1:].isalnum() or text[-1:] in _CLOSING else text


def _fitted(text: str) -> str:
    """Return a sentence that is not too long; of a long one, from the clause on in which its wish is."""
    if len(text) <= _PART_CHARS:
        return text
    wish = _WISHES.search(text)
    if wish is not None and wish.end() > _PART_CHARS - _CODE_CHARS:
        begins = [joint.end() for joint in _CLAUSE.finditer(text[: wish.start()])]
        text = f"…{text[begins[-1] :]}" if begins else text
    return shortened(text, _PART_CHARS)


def _bare(text: str) -> str:
    return " ".join(phrases.plain(_ADDRESS.sub("", _LINK.sub(lambda match: match[1], text))).split())


def _worth(text: str) -> float:
    worth = 0.5 + _ROLES.get(role_in(text), 0.0) - 1.5 * text.endswith(("?", "？"))
    return worth + 3.0 * _WISHES.found(text) + 1.5 * _GOES_WRONG.found(text)


def _telling_line(code: str) -> str:
    """Return the last call that a block shows at a prompt, else its last line that does something; "" if that
    is long."""
    lines = [line.strip() for line in code.splitlines() if line.strip() and "```" not in line]
    typed = [match[1] for line in lines if (match := _PROMPTED.match(line))]
    calls = [line for line in typed or lines if not are_incidental([line])]
    shows = calls and (typed or len(calls) == 1) and _LEAST_CODE <= len(calls[-1]) <= _CODE_CHARS
    return calls[-1] if shows else ""
