"""Finds what a sentence asks for and what it gives up for it: `pnpm` and `npm` in `use pnpm, not npm`."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from context_graph.notes.said.language import Language, language
from context_graph.text.patterns import Linear, linear

_MOST_WORDS: Final = 3
_CUT: Final = frozenset({"keep", "choose", "must", "house", "standing", "me", "you", "task", "reason", "now", "be", "ends", "again"})
"""Kinds of words that are no part of a thing's name."""
_EDGES: Final = " \t.,;:!?()«»\"'`“”„，。、；：！？"
_FOREIGN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.+#/-]*(?: [A-Za-z][A-Za-z0-9_.+#/-]*)*")
_WORD: Final = r"[^\s,;:，。；：、!?！？]+"
_SIGN: Final = r"(?:[A-Za-z][A-Za-z0-9_.+#/-]*|`[^`]{1,40}`|[^\sA-Za-z,;:，。；：、!?！？「」]{1,8})"


class Swap(NamedTuple):
    """What is asked for and what is given up; "" where that is not said."""

    chosen: str
    instead_of: str


@cache
def _patterns(code: str) -> tuple[Linear, ...]:
    return tuple(_pattern(one, signs=language(code).signs) for one in language(code).swaps)


def _pattern(template: str, *, signs: bool) -> Linear:
    """A template as a pattern; a name is up to three words, at its end the fewest that will do."""
    parts = template.replace("{", "\0{").replace("}", "}\0").split("\0")
    parts = [one for one in parts if one]
    made = ""
    for at, part in enumerate(parts):
        if part in ("{new}", "{old}"):
            name = part[1:-1]
            if signs:
                made += rf"\s*(?P<{name}>{_SIGN}(?:\s+[A-Za-z][A-Za-z0-9_.+#/-]*)?)\s*"
            elif at + 1 < len(parts):
                made += rf"(?P<{name}>{_WORD}(?:\s+{_WORD}){{0,{_MOST_WORDS}}}?)"
            else:
                made += rf"(?P<{name}>{_WORD}(?:\s+{_WORD}){{0,{_MOST_WORDS}}})"
        else:
            made += _literal(part, signs=signs)
    return linear("(?i)" + (made if signs else rf"(?:^|\W)(?:{made})(?:$|\W)"))


def _literal(part: str, *, signs: bool) -> str:
    pieces = []
    for letter in part:
        if letter in ",，":
            pieces.append(r"\s*[,;，、]" if signs else r"[,;]")
        elif letter == " ":
            pieces.append(r"\s+")
        elif letter == "'":
            pieces.append("['’]?")
        else:
            pieces.append(letter)
    return "".join(pieces)


def swap_in(text: str, of: Language) -> Swap:
    """What ``text`` asks for and gives up: from the way of saying it that names most. Linear in its length."""
    best = Swap("", "")
    for pattern in _patterns(of.code):
        for found in pattern.finditer(text):
            named = found.groupdict()
            chosen = _name(named.get("new") or "", of, last=True)
            given_up = _name(named.get("old") or "", of, last=False)
            if bool(chosen) + bool(given_up) > bool(best.chosen) + bool(best.instead_of):
                best = Swap(chosen, given_up)
    return best


def _name(words: str, of: Language, *, last: bool) -> str:
    """The part of ``words`` that is a name: its ``last`` words, or its first, up to one that is none."""
    if of.signs:
        foreign = _FOREIGN.findall(words)
        return foreign[-1 if last else 0] if foreign else words.strip(_EDGES)
    parts = words.split()
    kept: list[str] = []
    for word in reversed(parts) if last else parts:
        bare = word.strip(_EDGES)
        plain = of.words(bare)
        kinds = {mark.kind for mark in of.marks(plain)}
        cut = not bare or bool(plain and plain[0] in of.common) or bool(kinds & _CUT)
        if cut and (kept or last):
            break
        if not cut:
            kept.append(bare)
        if bare != word and not last and kept:
            break
    return " ".join(reversed(kept) if last else kept)
