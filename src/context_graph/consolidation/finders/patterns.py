"""Finds patterns: actions that recur in one order in memories' texts (E10).

Each memory's text is read as a list of actions, one a clause, named by their kinds: the sixteen groups of
action words that make up E10, the space of Steps, so that `ran the suite` and `pytest` are both a test.
Memories with one or two are joined by session, and sessions' own summaries are left out. A run of actions
that recurs beyond chance is a pattern. Its memories must be alike in E10, which separates memories about
these actions from those that only mention them.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from context_graph.consolidation.plan import Pattern
from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import F32, I64, Snapshot, unit_rows
from context_graph.memory.embed import packaged_table
from context_graph.model.memory import CAPTURED
from context_graph.text.english import stem
from context_graph.text.phrases import word_set
from context_graph.text.sentences import Kind, segments

MAX_PATTERNS: Final = 10
MIN_CONFIDENCE: Final = 0.5
MIN_LENGTH: Final = 3
MAX_LENGTH: Final = 5
LENGTHS: Final = range(MIN_LENGTH, MAX_LENGTH + 1)
MIN_SUPPORT: Final = 3
"""Lists that must hold a run; two are a coincidence."""
CHANCE: Final = 0.005
"""How likely any run at all may be to recur so often by chance."""
CANDIDATES: Final = 200
"""Runs, the most surprising, that patterns are made of."""
ORDER_CHANCE: Final = 0.05
"""How likely any order of given actions may be to recur so often by chance."""
LENIENT_LENGTH: Final = 5
"""A run this long has as members also those in which one of its actions is missing."""
ALIKE: Final = 0.5
"""E10 cosine of a member to the others' mean, at least."""
_PROGRESS_EVERY: Final = 512

Run = tuple[str, ...]
Places = dict[int, tuple[int, ...]]
"""List -> where in it a run's actions first stand."""


@dataclass(slots=True)
class _Actions:
    """One list of actions, and the memory of each."""

    actions: list[Action]
    rows: list[int]


def find(
    snap: Snapshot,
    rows: Sequence[int] | I64,
    *,
    max_patterns: int = MAX_PATTERNS,
    progress: Progress = silent,
) -> list[Pattern]:
    """Return the action sequences that recur in ``rows``, the most certain evidence first.

    A pattern has 3 to 5 kinds of action that at least 3 memories (or sessions, of memories that tell one or
    two actions) have in one order, with at most one other action among them, more often than chance would
    have it. Each occurrence of actions belongs to one pattern.

    ``confidence`` in [0.5, 1): how far the order is no chance, times how alike the members are in E10, times
    n / (n + 1/2) for n occurrences. The same actions in the same order have one id in every run.

    Cost: some 100 us a memory, which is read whole.
    """
    lists = [entry for entry in _lists(snap, rows, progress) if len(entry.actions) >= MIN_LENGTH]
    vectors = _vectors(snap.space("Steps"), lists)
    claimed: dict[int, set[int]] = defaultdict(set)
    made: list[Pattern] = []
    likely, least = _likely(lists)
    places = _places(lists, {part for run, _, _ in likely for part in (run, *_shorter(run))})
    for run, expected, order in likely:
        if len(made) == max_patterns:
            break
        free = {number: at for number, at in places[run].items() if claimed[number].isdisjoint(at)}
        members, coherence = _alike(vectors, free)
        if len(members) < MIN_SUPPORT or surprise(len(free), expected) <= least:
            continue
        for part in _shorter(run):
            more = {number: at for number, at in places[part].items() if claimed[number].isdisjoint(at)}
            some, coherence = _alike(vectors, {**more, **members})
            members = {**some, **members}
        confidence = order * (0.5 + 0.5 * coherence) * len(members) / (len(members) + 0.5)
        if confidence < MIN_CONFIDENCE:
            continue
        for number, at in members.items():
            claimed[number].update(range(at[0], at[-1] + 1))
        made.append(_pattern(snap, lists, run, members, confidence))
    return made


def _likely(lists: Sequence[_Actions]) -> tuple[list[tuple[Run, float, float]], float]:
    """Return (run, lists expected by chance, certainty of its order) of what recurs, and the least surprise.

    The most surprising first, at most CANDIDATES. By chance every kind is drawn by its share in all lists.
    """
    counts: Counter[Run] = Counter()
    bags: Counter[Run] = Counter()
    for entry in lists:
        runs = _runs(entry)
        counts.update(runs.keys())
        bags.update({tuple(sorted(run)) for run in runs})
    shares = Counter(action.kind for entry in lists for action in entry.actions)
    total = shares.total()
    ways = {length: sum(_ways(len(entry.actions), length) for entry in lists) for length in LENGTHS}
    least = math.log(max(1, len(counts)) / CHANCE)
    likely = []
    for run, count in counts.items():
        expected = ways[len(run)] * math.prod(shares[kind] / total for kind in run)
        surprising = surprise(count, expected)
        if count >= MIN_SUPPORT and len(set(run)) > 1 and surprising > least:
            order = _certainty(count, bags[tuple(sorted(run))], run, len(bags))
            likely.append((surprising, len(run), run, expected, order))
    likely.sort(reverse=True)
    certain = [(run, expected, order) for _, _, run, expected, order in likely if order > 0.0]
    return certain[:CANDIDATES], least


def _places(lists: Sequence[_Actions], wanted: set[Run]) -> dict[Run, Places]:
    """Return in which lists each run that is wanted stands, and where."""
    places: dict[Run, Places] = {run: {} for run in wanted}
    for number, entry in enumerate(lists):
        for run, at in _runs(entry).items():
            if run in wanted:
                places[run][number] = at
    return places


def _shorter(run: Run) -> list[Run]:
    """Return a long run without each of its actions; nothing of a short one."""
    if len(run) < LENIENT_LENGTH:
        return []
    return [run[:at] + run[at + 1 :] for at in range(len(run))]


def _runs(entry: _Actions) -> dict[Run, tuple[int, ...]]:
    """Return every run of kinds in a list, with at most one other action in it, and where it is first."""
    kinds = [action.kind for action in entry.actions]
    runs: dict[Run, tuple[int, ...]] = {}
    for length in LENGTHS:
        for start in range(len(kinds) - length + 1):
            at = tuple(range(start, start + length))
            runs.setdefault(tuple(kinds[start : start + length]), at)
            if start + length < len(kinds):
                for left_out in range(1, length):
                    apart = (*at[:left_out], *range(start + left_out + 1, start + length + 1))
                    runs.setdefault(tuple(kinds[place] for place in apart), apart)
    return runs


def _ways(actions: int, length: int) -> int:
    """Count the places of a list where a run of this length can stand."""
    return max(0, actions - length + 1) + max(0, actions - length) * (length - 1)


def surprise(count: int, expected: float) -> float:
    """Return how unlikely so many are by chance where so many are expected: -ln of a bound, at least 0."""
    # The tail of Poisson's distribution is at most exp of minus this (Chernoff).
    return count * math.log(count / expected) - (count - expected) if count > expected else 0.0


def _certainty(count: int, together: int, run: Run, bags: int) -> float:
    """Return how far a run's order is no chance.

    [0, 1]: 1 when all lists with its actions have this order; 0 when so many may have it although any order
    is as likely, where so many ``bags`` of actions were looked at.
    """
    orders = math.factorial(len(run)) // math.prod(map(math.factorial, Counter(run).values()))
    share, chance = count / together, 1.0 / orders
    if share <= chance:
        return 0.0
    # The tail of the binomial distribution is at most exp of minus this (Chernoff).
    unlikely = count * math.log(share / chance)
    if share < 1.0:
        unlikely += (together - count) * math.log((1.0 - share) / (1.0 - chance))
    if unlikely <= math.log(orders * bags / ORDER_CHANCE):
        return 0.0
    return max(0.0, (1.0 - together / orders / count) / (1.0 - chance))


def _alike(vectors: F32, places: Places) -> tuple[Places, float]:
    """Return the occurrences whose memories are close to the others in E10, and their mean cosine."""
    numbers = np.fromiter(places, np.int64, len(places))
    some = vectors[numbers]
    spoken = some.any(axis=1)  # bare names of tools are no words of that lexicon
    cosines = np.where(spoken, some @ unit_rows(some.sum(axis=0)[None])[0], 1.0)
    kept = cosines >= ALIKE
    coherence = float(cosines[kept].mean()) if kept.any() else 0.0
    return {number: places[number] for number in numbers[kept].tolist()}, coherence


def _pattern(
    snap: Snapshot, lists: Sequence[_Actions], run: Run, members: Places, confidence: float
) -> Pattern:
    rows = sorted({lists[number].rows[at] for number, places in members.items() for at in places})
    listed = [[lists[n].actions[at].word for at in at_all] for n, at_all in members.items()]
    columns = zip(*(words for words in listed if len(words) == len(run)), strict=True)  # with none missing
    words = [Counter(column).most_common(1)[0][0] for column in columns]
    digest = hashlib.blake2b("\0".join(run).encode(), digest_size=8).hexdigest()
    return Pattern(
        pattern_id=f"pattern-{digest}",
        description=" → ".join(words),
        memory_count=len(rows),
        confidence=min(confidence, 1.0),
        members=tuple(snap.ids[row] for row in rows),
    )


def _lists(snap: Snapshot, rows: Sequence[int] | I64, progress: Progress) -> Iterator[_Actions]:
    """Yield the actions of each memory that tells three or more, and of a session's others, by time."""
    short: dict[int, list[tuple[int, int, list[Action]]]] = defaultdict(list)
    chosen = np.asarray(rows, np.int64).tolist()
    for done, row in enumerate(chosen):
        if done % _PROGRESS_EVERY == 0:
            progress(done, len(chosen))
        steps = [] if snap.source[row] == CAPTURED else actions(snap.text(row))
        if len(steps) >= MIN_LENGTH:
            yield _Actions(steps, [row] * len(steps))
        elif steps and snap.session[row]:
            short[int(snap.session[row])].append((int(snap.created_ms[row]), row, steps))
    for parts in short.values():
        strung = _Actions([], [])
        for _, row, steps in sorted(parts, key=lambda part: part[:2]):
            for action in steps:
                if not strung.actions or strung.actions[-1] != action:
                    strung.actions.append(action)
                    strung.rows.append(row)
        yield strung


def _vectors(space: F32, lists: Sequence[_Actions]) -> F32:
    """float32[k, 128] of unit rows: E10 of each list's memories together."""
    vectors = np.zeros((len(lists), space.shape[1]), np.float32)
    for number, entry in enumerate(lists):
        vectors[number] = space[sorted(set(entry.rows))].sum(axis=0)
    return unit_rows(vectors)


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
    return None if word in _NO_VERB else _lexicon().get(stem(word))


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
            root = stem(word)
            best[root] = max(best.get(root, (0.0, "")), (share, GROUPS[shares.index(share)]))
            plain[root] = min(plain.get(root, word), word, key=len)
    known = {root: Action(kind, plain[root]) for root, (_, kind) in best.items()}
    for kind, words in _KINDS.items():
        known.update((stem(word), Action(kind, word)) for word in words.split())
    return known
