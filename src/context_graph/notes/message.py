"""Reads what an assistant wrote at the end of its work: cause, fix, what was decided, tested and left.

A report is read as its writer ordered it: by sections, list items and sentences. What only announces the
report or is polite is left out, whatever it is called.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from context_graph.text.patterns import Linear, linear
from context_graph.text.sentences import shortened

MAX_CHARS: Final = 16_384
"""Characters that are read of a message."""
UNIT_CHARS: Final = 420
_WORTH: Final = {"cause": 5.0, "decision": 3.5, "fix": 2.0, "left": 2.0, "test": 1.0}
KEPT_CHARS: Final = 2000
_LABEL_BYTES: Final = 60
_LABEL_WORDS: Final = 6
_SHORT_CHARS: Final = 240
LEAST_WORTH: Final = 1.0
"""Below it a unit says nothing of its own."""
_UNITS: Final = 200
_HEADING_CHARS: Final = 80
_MARKED: Final = ("choice", "cause", "decision", "test", "fix")
"""The order in which a sentence's own marks are tried; a choice is a decision."""
_ROLES: Final = ("howto", "left", "cause", "decision", "test", "fix", "whole")
"""The order in which a heading's words are tried: `Remaining issues` is what is left."""

_FENCE: Final = ("```", "~~~")
_HEADING: Final = linear(
    r"^(?:#{1,6}\s+(.+?)|\*\*([^*]{2,70})\*\*:?|(?:\d+\.\s+)?\*\*([^*]{2,70}):\*\*)\s*:?$"
)
_LABEL: Final = linear(r"^(?:\*\*)?([A-Z][\w /-]{2,30}|[^\x00-\x7f]{1,12})(?:\*\*)?\s*[:：](?:\*\*)?\s+\S")
_ITEM: Final = linear(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(.*)$")
_TABLE: Final = linear(r"^\s*\|.*\|\s*$")
_ENDS: Final = linear(r"[.!?](?:[\"'`)\]*]*)\s+|[。！？]\s*")
_SPECIFIC: Final = linear(
    r"`[^`\n]+`|[\w-]+/[\w./-]+|\w+\.\w{1,5}(?:\W|$)|[a-z]+[A-Z]\w+|\w+_\w+|[A-Z]{2,}|\d+|#\w+|\w+\(\)|--\w+"
)
_LINK: Final = linear(r"\W*\[[^\]\n]*\]\([^)\s]*\)\W*|\W*https?://\S+\W*")
_QUESTION: Final = linear(r"[?？]\s*[\"'”)]*$")
_MARKS: Final = linear(r"\*\*([^*\n]+)\*\*|(?:^|\s)\*([^*\n]+)\*")
_STRESSED: Final = linear(r"\*\*[^*\n]*[^*\n:：.]\*\*(?:[^:：]|$)")
"""Words in bold that are no label: they are what a sentence is about, as a name is."""
_LEAST_BYTES: Final = 16
_LEAST_SENTENCE: Final = 15
"""Characters of a sentence that a full stop ends: `e.g.` and `v2.` end none."""
_WIDE: Final = frozenset("。！？")
_WIDE_LETTER: Final = linear(r"[\p{Han}\p{Hiragana}\p{Katakana}]")


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence or list item of a message."""

    text: str
    role: str
    """cause, fix, decision, test or left; "" for what is none of these."""
    worth: float
    """How much it says: names, numbers and a role count."""


def units_of(message: str) -> list[Unit]:
    """Return what a message says, in its order, without courtesies, code and tables' rules. Cost: 1 ms for 2
    KB."""
    units = []
    for marked, section in _parts(message[:MAX_CHARS]):
        text = plain(marked)
        if len(text.encode("utf-8", "replace")) < _LEAST_BYTES or _LINK.fullmatch(text):
            continue
        if is_polite(text) or _QUESTION.found(text) or section == "howto":
            continue
        if text.endswith((":", "：")):
            continue  # it announces a table or code, which are left out
        role = _role(text, section)
        worth = _worth(text, role, stressed=_STRESSED.found(marked))
        units.append(Unit(shortened(text, UNIT_CHARS), role, worth))
        if len(units) == _UNITS:
            break
    return units


def plain(text: str) -> str:
    """Return ``text`` on one line, without Markdown's emphasis; backticks and names stay as they are."""
    return " ".join(_MARKS.sub(lambda match: match[1] or f" {match[2]}", text).split()).strip()


def is_polite(text: str) -> bool:
    """Return whether a sentence only announces, asks or is polite."""
    return _marks()["polite"].found(text)


def announces(text: str) -> bool:
    """Return whether a sentence begins as one that says what is done next: `Now add …`, `Update the …`."""
    return is_polite(text) or _marks()["begins"].found(text)


def role_in(text: str) -> str:
    """Return what a sentence by itself says: cause, fix, decision, test or left; "" for none of these."""
    return _role(text, "")


def is_progress(text: str) -> bool:
    """Return whether a sentence begins as one that only says what was done: `I've added …`."""
    return _marks()["progress"].found(text)


def is_guess(text: str) -> bool:
    """Return whether a sentence leaves open whether it is so: `it might …`, `probably …`."""
    return _marks()["guess"].found(text)


def intends(text: str) -> bool:
    """Return whether a sentence says what its writer is going to do: `I'll use …`, `… I should do it`."""
    return _marks()["intends"].found(text)


def is_under_way(text: str) -> bool:
    """Return whether a sentence says that it is about the work at hand: `Currently …`, `Next: …`."""
    return _marks()["under_way"].found(text)


def is_soon_old(text: str) -> bool:
    """Return whether a sentence tells a state that the next change ends: errors, failing tests, lines."""
    return _marks()["soon_old"].found(text)


def worth_of(units: Sequence[Unit]) -> float:
    """Return how much a message tells, to compare it with others of the session."""
    return sum(max(0.0, unit.worth - LEAST_WORTH) for unit in units[:40])


def most_informative(units: Sequence[Unit], limit: int = KEPT_CHARS) -> list[Unit]:
    """Return what of a message may become part of a note: its most telling units, in ``limit`` characters.

    A message of a sentence or two is the whole of what there is to tell.
    """
    if sum(len(unit.text) for unit in units) <= _SHORT_CHARS:
        return best_of(units, limit)
    return best_of([unit for unit in units if unit.worth >= LEAST_WORTH], limit)


def best_of(units: Sequence[Unit], limit: int, roles: Sequence[str] = ()) -> list[Unit]:
    """Return the most telling ``units`` that fit ``limit`` characters, in their order; with ``roles`` of
    these."""
    wanted = [(place, unit) for place, unit in enumerate(units) if not roles or unit.role in roles]
    kept, room = list[tuple[int, Unit]](), limit
    for place, unit in sorted(wanted, key=lambda pair: (-pair[1].worth, pair[0])):
        if len(unit.text) + 1 <= room:
            kept.append((place, unit))
            room -= len(unit.text) + 1
    return [unit for _, unit in sorted(kept, key=lambda pair: pair[0])]


def role_of_heading(heading: str) -> str:
    """Return what a section of that heading says; "" for a heading that does not tell."""
    return next((role for role in _ROLES if headings()[role].found(heading)), "")


@cache
def _marks() -> dict[str, Linear]:
    """Role -> what marks a sentence as that; "polite" for one that says nothing."""
    raw = _data("message.toml")
    courtesy, announces, finished = (
        "|".join([*raw[name].get("words", ()), *raw[name].get("parts", ())])
        for name in ("courtesy", "announces", "finished")
    )
    polite = (
        rf"(?i)^(?:\W*(?:{courtesy})\W*)+$|^\W*(?:(?:{courtesy})[!.,:—-]+\s*)*(?:{announces}|(?:{finished})$)"
    )
    words = {
        name: rf"(?i)(?:^|\W)(?:{'|'.join(row['words'])})(?:\W|$)"
        + "".join(f"|{part}" for part in row.get("parts", ()))
        for name, row in raw.items()
        if name in (*_MARKED, "left", "guess", "soon_old", "intends")
    }
    begins = rf"(?i)^\W*(?:{'|'.join([*raw['fix']['words'], *raw['next']['words']])})(?:\W|$)"
    now = "|".join(raw["under_way"]["words"])
    inside = "|".join(raw["under_way"]["inside"])
    words["under_way"] = rf"(?i)^\W*(?:{now})(?:\W|$)|(?:^|\W)(?:{inside})(?:\W|$)" + "".join(
        rf"|^\W*{part}" for part in raw["under_way"]["parts"]
    )
    words["progress"] = rf"(?i)^\W*(?:{'|'.join(raw['progress']['words'])})(?:\W|$)"
    return {name: linear(pattern) for name, pattern in {**words, "polite": polite, "begins": begins}.items()}


def _data(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "data" / name).read_text("utf-8"))


@cache
def headings() -> dict[str, Linear]:
    """Role -> what a heading of it has; those of a compaction's summary as "compaction.goal" and so on."""
    raw = _data("sections.toml")
    inside = {f"compaction.{name}": words for name, words in raw.pop("compaction").items()}
    return {name: _heads(words) for name, words in {**raw, **inside}.items()}


def _heads(words: Sequence[str]) -> Linear:
    """Return what has one of ``words`` as a whole word; of a script without spaces, anywhere."""
    parts = [word for word in words if _WIDE_LETTER.found(word)]
    whole = "|".join(word for word in words if word not in parts)
    return linear("|".join([rf"(?i)(?:^|\W)(?:{whole})(?:\W|$)", *parts]))


def _parts(message: str) -> Iterator[tuple[str, str]]:
    """Yield (sentence or item, role of its section) of a message, without fenced code."""
    section, fence, waiting = "", "", list[str]()
    for line in [*message.splitlines(), ""]:
        bare = line.strip()
        if fence or bare.startswith(_FENCE):
            fence = "" if fence and bare.startswith(fence) else fence or bare[:3]
            bare = ""
        heading = _HEADING.match(bare) if len(bare) <= _HEADING_CHARS else None
        item = _ITEM.match(line) if bare else None
        if not bare and waiting and waiting[-1].endswith((":", "：")) and not is_polite(" ".join(waiting)):
            continue  # what it announces belongs to it
        if not bare or heading or item or _TABLE.found(bare):
            yield from ((part, section) for part in _sentences(" ".join(waiting)))
            waiting = []
        if heading:
            section = role_of_heading(next(filter(None, heading.groups())))
        elif item:
            waiting = [item[1]]
        elif bare and not _TABLE.found(bare) and bare.strip("-=_*"):
            waiting.append(bare)
    yield from ((part, section) for part in _sentences(" ".join(waiting)))


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of one paragraph or item."""
    begin = 0
    for stop in _ENDS.finditer(text):
        part = text[begin : stop.end()]
        if "`" in stop[0] and text[stop.end() : stop.end() + 1].islower():
            continue  # the stop is the code's: `./...`
        if part.count("`") % 2 and "`" in text[stop.end() :]:
            continue  # as well: `ALTER TABLE ... MODIFY`
        if stop[0][0] in _WIDE or len(part) >= _LEAST_SENTENCE or is_polite(part):
            yield part
            begin = stop.end()
    yield text[begin:]


def _role(text: str, section: str) -> str:
    label = _LABEL.match(text)
    named = role_of_heading(label[1]) if label else ""
    if named and named not in ("whole", "test"):
        return named
    marks = _marks()
    if marks["left"].found(text):
        return "left"
    if named == "test":
        return named
    if section in ("cause", "decision", "left"):
        return section
    for role in _MARKED:
        if marks[role].found(text):
            return "decision" if role == "choice" else role
    return section if section == "fix" else ""


def _worth(text: str, role: str, *, stressed: bool) -> float:
    specific = sum(1 for _, _ in zip(range(4), _SPECIFIC.finditer(text), strict=False)) + stressed
    worth = _WORTH.get(role, 0.5) + 0.75 * specific - (1.0 if not specific else 0.0)
    # A few words are a label or an example, unless a role says that they are the point.
    short = role in ("", "test") and len(text) < _LABEL_BYTES and len(text.split()) < _LABEL_WORDS
    return worth - 1.5 if short else worth
