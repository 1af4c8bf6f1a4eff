"""What a text says was done, in order: one action a clause, named by its kind.

Kinds are the sixteen groups of words of doing that the Behavioral space (E10) is made of, so `ran the suite`
and `pytest` are both a test. Tools, commands and verbs that its lexicon does not have are given a kind too
(`action_words`). Everything is a rule over words: the same text gives the same actions.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from context_graph.dream.action_words import (
    ALIASES,
    ARTICLES,
    COMMANDS,
    DOERS,
    IRREGULAR,
    NOT_DONE,
    OBJECTS,
    OPENERS,
    PERSONS,
    RUNNERS,
    SKIPPED,
    STOPS,
    TOOLS,
    VERBS,
)
from context_graph.memory.segments import Kind, segments
from context_graph.memory.table import packaged_table

__all__ = ["GROUPS", "MAX_ACTIONS", "Action", "actions"]

GROUPS: Final = (
    *("create", "change", "remove", "run", "test", "look", "talk", "go", "repair", "trade", "think", "meet"),
    *("exercise", "art", "store", "install"),
)
"""The first values of a word's row in the lexicon, in their order (tools/lexicons.py)."""
MAX_CHARS: Final = 6000
MAX_ACTIONS: Final = 64
"""Of one text."""
LEAST: Final = 0.25
"""A word's share in a group from which it is of that kind."""
_BASE_VERB: Final = 2
"""The flag of verbs that are an imperative at the beginning of a sentence (docs/formats.md)."""
_KEYWORD: Final = 64
"""That of words of programming languages."""
_LOOKED: Final = 8
"""Words at the beginning of a clause among which its action is looked for."""
_SUBJECT: Final = 4
"""Of those, how many a subject may take."""


class Action(NamedTuple):
    """One thing that was done."""

    kind: str
    """One of `GROUPS`, or the verb or command itself."""
    word: str
    """The verb's plain form, or the tool's or command's name."""
    exact: bool
    """It is the name of a tool or command, which has no synonyms."""

    @property
    def tool(self) -> str:
        """What tells one work from another of the same kind: "" for words, and commands of many uses."""
        return self.word if self.exact and " " not in self.word else ""


_BREAK: Final = re.compile(
    r"\n+|(?P<arrow>(?:->|=>|→|⇒|➜|➔|»|>>)\s*|\s>\s)|[.;!?](?=\s|$)|(?P<label>:)(?=\s|$)|,\s+(?:and\s+)?|"
    r",(?=[\"'])|\s\|\s|\s&&\s|\s[–—]\s|\s\(?\d++[.)]\s|"
    r"\b(?:and\s++)?(?:then|afterwards|subsequently|finally|followed\s++by|after\s++which)\b|\sand\s",
    re.IGNORECASE,
)
_INDENTED: Final = re.compile(r"\n(?: {2,}+|\t)\S|```|~~~")
_SHELL: Final = re.compile(r"(?:```|~~~)\s*+(?:(?:ba|z)?sh(?:ell|-session)?|console)\s|\s*+\$ ")
_FENCE: Final = re.compile(r"^[^\S\n]*+(?:```|~~~).*+$", re.MULTILINE)
_NAME: Final = re.compile(r"\W*+(?P<name>[A-Za-z]\w*+)\s*+(?P<call>\(.*+)?\W*+", re.DOTALL)
_NOUN: Final = re.compile(r"(?:ment|tion|ness)s?$")
_HUMP: Final = re.compile(r"[a-z][A-Z]")
_PART: Final = re.compile(r"[A-Z]?[a-z'’-]+|[A-Z]{1,160}(?![a-z])|\d+|[^\sA-Za-z0-9_]")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:['’-][A-Za-z0-9_]+)*|\d+|[^\sA-Za-z0-9]")


def actions(text: str) -> list[Action]:
    """The actions that ``text`` tells, in the order in which it tells them; at most MAX_ACTIONS.

    The same one twice in a row counts once. Cost: some 10 us a clause.
    """
    found: list[Action] = []
    at, chained = 0, False
    text = _told(text[:MAX_CHARS])
    for mark in _BREAK.finditer(text):
        arrow = mark["arrow"] is not None
        _take(found, text[at : mark.start()], label=mark["label"] is not None, chained=chained or arrow)
        at, chained = mark.end(), arrow
        if len(found) >= MAX_ACTIONS:
            return found[:MAX_ACTIONS]
    _take(found, text[at:], label=False, chained=chained)
    return found[:MAX_ACTIONS]


def _told(text: str) -> str:
    """``text`` without code, but for commands: what a program says is not what was done."""
    if not _INDENTED.search(text):
        return text
    parts = segments(text)
    kept = (part.text for part in parts if part.kind is not Kind.CODE or _SHELL.match(part.text))
    return _FENCE.sub("", "\n".join(kept))


def _take(found: list[Action], clause: str, *, label: bool, chained: bool) -> None:
    """Add what a clause says was done.

    Args:
        label: A colon follows it.
        chained: An arrow stands before or behind it.
    """
    if not clause.strip():
        return
    name = _NAME.fullmatch(clause) if len(clause) <= 160 else None
    action = _action(clause)
    if name is not None and not label and (action is None or not action.exact):
        action = _by_name(name["name"], action, certain=chained or name["call"] is not None)
    if action is None or (label and (not action.exact or action.word in RUNNERS)):
        return  # `Ran: pytest` says it once, `Decision: …` says nothing of what was done
    if not found or found[-1] != action:
        found.append(action)


def _by_name(name: str, action: Action | None, *, certain: bool) -> Action | None:
    """What a clause that is one word says: the tool of that name, if it is one.

    Args:
        action: What its parts say (`edit_file`), if anything.
        certain: It is called, or stands between arrows.
    """
    name = name.rsplit("__", 1)[-1]
    if not _HUMP.search(name) and "_" not in name:
        return action
    if action is not None and action.kind in GROUPS:
        return Action(action.kind, name, True)
    return Action(name.lower(), name, True) if certain or _HUMP.search(name) else None


def _action(clause: str) -> Action | None:
    """What a clause says was done: its first verb, tool or command that is no noun."""
    words = _words_of(clause)
    subject = 0
    noun = False
    at = 0
    while at < len(words) and at < _LOOKED:
        word = words[at].lower()
        at += 1
        if not word[0].isalpha() or word in SKIPPED:
            noun = noun and word not in DOERS
            continue
        if word in ARTICLES:
            noun = True
            subject += 1
            continue
        action = None if noun else _named(word, words[at:])
        if action is not None and not (subject and not _is_past(word)):
            if action.word in OPENERS and at < len(words) and _goes_on(words[at]):
                continue
            return _of_object(action, words[at:])
        if word in STOPS and not subject:  # For this ticket I …
            at = next(
                (place + 1 for place in range(at, len(words)) if words[place].lower() in PERSONS), len(words)
            )
            continue
        if word in STOPS or subject >= _SUBJECT:
            return None
        noun = False
        subject += 1
    return None


def _words_of(clause: str) -> list[str]:
    """The first words of a clause; `edit_file` and `runTests` are two each."""
    words: list[str] = []
    for word in _WORD.findall(clause[:160])[: 3 * _LOOKED]:
        whole = word.lower()
        if whole in TOOLS or (word.isalpha() and (word.islower() or word.isupper() or word[1:].islower())):
            words.append(word)
        else:
            words += _PART.findall(word.rsplit("__", 1)[-1]) or [word]
    return words


def _goes_on(word: str) -> bool:
    return word.lower() in ("to", "by", "with") or word.lower().endswith("ing")


def _is_past(word: str) -> bool:
    return word in IRREGULAR or word.endswith("ed")


def _named(word: str, after: list[str]) -> Action | None:
    """The action that one word names."""
    if word in COMMANDS:
        following = next((one.lower() for one in after[:3] if one[0].isalpha()), "")
        if word == "npm" and following == "run":
            following = next((one.lower() for one in after[1:4] if one.isalpha() and one != "run"), "")
        kind = COMMANDS[word].get(following)
        if kind is not None:
            return Action(kind, f"{word} {following}", True)
        return None if word in ("go", "make") else Action("run", word, True)
    word = ALIASES.get(word, word)
    if word in TOOLS:
        return Action(TOOLS[word], word, True)
    return _verb(word)


def _of_object(action: Action, after: list[str]) -> Action | None:
    """Of running something, what is run, if that says more."""
    if action.word not in RUNNERS:
        return action
    for place, word in enumerate(after[:6]):
        low = word.lower()
        if low in STOPS or low in ("to", "and"):
            break
        if low in OBJECTS:
            return Action(*OBJECTS[low], exact=False)
        if low in TOOLS or low in COMMANDS:
            return _named(low, after[place + 1 :]) or action
    return None if action.word == "use" else action


@cache
def _verb(word: str) -> Action | None:
    """The action of a verb in any form; None for what is none."""
    kinds, plain = _lexicon()
    base = IRREGULAR.get(word, word)
    if base in TOOLS:
        return Action(TOOLS[base], base, True)
    stem = _stem(base)
    kind = kinds.get(stem)
    if kind is None or (_NOUN.search(base) and plain[stem] != base.removesuffix("s")):
        return None
    return Action(kind, plain[stem], False)


@cache
def _lexicon() -> tuple[dict[str, str], dict[str, str]]:
    """(stem -> kind, stem -> plain form) of the Behavioral lexicon, of `VERBS`, and of other plain verbs."""
    sections = packaged_table().sections
    vocabulary = bytes(sections["vocabulary"]).decode().split("\n")
    pieces = sections["Behavioral.pieces"].cast("H")
    scales = sections["Behavioral.scales"].cast("f")
    values = sections["Behavioral.values"].cast("b")
    width = len(values) // len(pieces)
    best: dict[str, tuple[float, str]] = {}
    plain: dict[str, str] = {}
    for row, piece in enumerate(pieces):
        word = vocabulary[piece]
        shares = [scales[row] * values[width * row + column] for column in range(len(GROUPS))]
        share = max(shares)
        if share < LEAST or word in NOT_DONE:
            continue
        stem = _stem(word)
        best[stem] = max(best.get(stem, (0.0, "")), (share, GROUPS[shares.index(share)]))
        plain[stem] = min(plain.get(stem, word), word, key=len)
    kinds = {stem: kind for stem, (_, kind) in best.items()}
    for word, kind in VERBS.items():
        kinds[_stem(word)] = kind
        plain[_stem(word)] = word
    marks = sections["marks"]
    for piece in range(len(vocabulary)):
        if marks[4 * piece + 3] & (_BASE_VERB | _KEYWORD) == _BASE_VERB and vocabulary[piece] not in NOT_DONE:
            stem = _stem(vocabulary[piece])
            kinds.setdefault(stem, vocabulary[piece])
            plain.setdefault(stem, vocabulary[piece])
    return kinds, plain


@cache
def _stem(word: str) -> str:
    import Stemmer  # type: ignore[import-not-found]  # here, as in memory.embed

    stem: str = Stemmer.Stemmer("english").stemWord(word)
    return stem
