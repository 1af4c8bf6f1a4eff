"""Reads from a text what was done, in order: one action a clause, named by its kind.

The kinds are the sixteen groups of action words that make up the space of Steps (E10), so `ran the suite`
and `pytest` are both a test. Commands and verbs that its lexicon lacks get a kind below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from context_graph.memory.embed import packaged_table
from context_graph.text.phrases import word_set
from context_graph.text.sentences import Kind, segments

GROUPS: Final = (
    *("create", "change", "remove", "run", "test", "look", "talk", "go", "repair", "trade", "think", "meet"),
    *("exercise", "art", "store", "install"),
)
"""The first values of a word's row in the lexicon, in their order (research/distil/lexicons.py)."""
MAX_CHARS: Final = 6000
MAX_ACTIONS: Final = 32
"""Actions that are read of one text."""
LEAST: Final = 0.25
"""A word's share in a group from which it is of that kind."""
_LOOKED: Final = 8
"""Words at the beginning of a clause among which its action is looked for."""

_KINDS: Final = {
    "look": """grep rg search searching find glob ls scan browse fetch trace websearch webfetch curl open
        review view inspect diff status blame cat head tail see saw""",
    "change": "multiedit sed black prettier rename refactor rewrite format tune add extend simplify",
    "create": "touch mkdir implement scaffold define document build compile wrote written",
    "run": "kubectl terraform ansible rerun deploy trigger schedule",
    "remove": "rm uninstall clean drop cleared",
    "test": """pytest jest vitest mocha tox ruff mypy eslint flake8 pylint clippy tsc suite lint linter
        bench benchmark debug reproduce profile validate compare""",
    "install": "pip apt brew conda configure integrate upgrade",
    "think": "todowrite analyze thought decide",
    "store": "stage commit push tag release publish stash",
    "repair": "revert undo rollback bisect reset",
    "talk": "report comment notify reply send sent told spoke",
}
"""Words that the lexicon lacks, or has elsewhere."""
_RUNNERS: Final = word_set(
    """run ran rerun execute executed launch launched start started invoke invoked bash sh zsh shell terminal
    git npm yarn pnpm cargo make gradle mvn poetry uv docker"""
)
"""Words whose next one says what is done; alone they are a run."""
_SKIPPED: Final = word_set(
    """i we you he she they it claude to by with use used call called then next finally lastly first firstly
    second third afterwards after before also again now always usually often just later once please and or
    so had have has will would should must can could did do does was were is are let lets begin began try
    tried continue want need today yesterday"""
)
"""Words that may stand before a clause's verb."""
_ARTICLES: Final = word_set("the a an my our your its this that these those no")
_DOERS: Final = word_set("agent assistant user tool team")
"""Who does it, behind an article; any other noun there is what a clause is about."""
_NO_VERB: Final = word_set(
    """whether true false sure clearly about instead away off way path route idea mind money together know
    say said remain stay hold need necessary party member guest memory contain provide come get port support
    book main"""
)
"""Words of the lexicon that say nothing of what was done."""


class Action(NamedTuple):
    """One action that was done."""

    kind: str
    """One of `GROUPS`."""
    word: str
    """The word that says it, in its plain form."""


_BREAK: Final = re.compile(
    r"\n+|->|=>|→|⇒|[.;!?,|](?=\s|$)|\s&&\s|\b(?:and|then|next|i|we)\s|\d[.)]\s|^[^\S\n]*+(?:```|~~~).*+$",
    re.IGNORECASE | re.MULTILINE,
)
_WORD: Final = re.compile(r"[A-Za-z]\w*+|[^\s\w]")
_PART: Final = re.compile(r"[A-Z]?[a-z0-9]++|[A-Z]++")
_SHELL: Final = re.compile(r"(?:```|~~~)\s*+(?:(?:ba|z)?sh(?:ell|-session)?|console)\s|\s*+\$ ")
_NOUN: Final = re.compile(r"(?:ment|tion|ness)s?$")


def actions(text: str) -> list[Action]:
    """Return the actions in ``text``, in order; at most MAX_ACTIONS.

    One that is repeated at once counts once. Code is not read, except commands: a program's text does
    not say what was done. Cost: some 10 us a clause.
    """
    parts = segments(text[:MAX_CHARS])
    prose = "\n".join(part.text for part in parts if part.kind is not Kind.CODE or _SHELL.match(part.text))
    done: list[Action] = []
    for clause in _BREAK.split(prose):
        action = _action(clause.rpartition(": ")[2])
        if action is not None and (not done or done[-1] != action):
            done.append(action)
    return done[:MAX_ACTIONS]


def _action(clause: str) -> Action | None:
    """Return the action of a clause that begins with its verb or command; None for another."""
    run, noun = None, False
    for word in islice(_words(clause[:160]), _LOOKED):
        if word in _RUNNERS:
            run = Action("run", "run")
        elif word in _ARTICLES:
            noun = run is None
        elif word in _DOERS:
            noun = False
        elif word[0].isalpha() and word not in _SKIPPED:
            action = None if noun else _verb(word)
            if action is None or (not run and _NOUN.search(word) and action.word != word.removesuffix("s")):
                return run
            return action
    return run


def _words(clause: str) -> Iterator[str]:
    """Yield the words of a clause in small letters; `run_tests` and `runTests` are two each."""
    for name in _WORD.findall(clause):
        parts = () if _verb(name.lower()) else _PART.findall(name)
        yield from map(str.lower, parts or (name,))


def _verb(word: str) -> Action | None:
    """Return the action of a verb in any form; None for what is none."""
    return None if word in _NO_VERB else _lexicon().get(_stem(word))


@cache
def _lexicon() -> dict[str, Action]:
    """Return what each stem of the lexicon of Steps and of `_KINDS` says was done."""
    sections = packaged_table().sections
    vocabulary = bytes(sections["vocabulary"]).decode().split("\n")
    pieces = sections["Steps.pieces"].cast("H")
    scales = sections["Steps.scales"].cast("f")
    values = sections["Steps.values"].cast("b")
    width = len(values) // len(pieces)
    best: dict[str, tuple[float, str]] = {}
    plain: dict[str, str] = {}
    for row, piece in enumerate(pieces):
        word = vocabulary[piece]
        shares = [scales[row] * values[width * row + column] for column in range(len(GROUPS))]
        share = max(shares)
        if share >= LEAST and word not in _NO_VERB:
            stem = _stem(word)
            best[stem] = max(best.get(stem, (0.0, "")), (share, GROUPS[shares.index(share)]))
            plain[stem] = min(plain.get(stem, word), word, key=len)
    known = {stem: Action(kind, plain[stem]) for stem, (_, kind) in best.items()}
    for kind, words in _KINDS.items():
        known.update((_stem(word), Action(kind, word)) for word in words.split())
    return known


@cache
def _stem(word: str) -> str:
    import Stemmer  # type: ignore[import-not-found]  # here, as in memory.embed

    stem: str = Stemmer.Stemmer("english").stemWord(word)
    return stem
