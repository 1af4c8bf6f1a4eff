"""Questions that a store answers and questions that none does, with what speaks for each memory found.

Stores of five kinds: talks (LoCoMo), functions (CoSQA), summaries of agent sessions and their notes, whole
and in part, young stores of facts (floor_cases.py, language_cases.py), and large ones of all of these.
Summaries come one by one: before each session its prompt is asked, and the sessions whose patch changes a
file that its own changes are what it should bring. Each store is also asked what has nothing to do with it:
prompts of other projects, whole and their first line, questions to stores of other kinds, short requests of
programmers, general questions and nonsense; and, within its kind, questions about other talks, and queries
whose function is not in the store.
"""

from __future__ import annotations

import gzip
import json
import random
import string
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from benches.memory.recall_data import Collection, Item, Question, cosqa, locomo
from benches.memory.recall_quality import node
from research.fit import language_cases
from research.fit.floor_cases import DEV, DEV_REQUESTS, HELD_BACK, HELD_BACK_REQUESTS
from research.measures.summaries import BEGAN_MS, DAY_MS, capture_session

from context_graph.memory.asked import NAMES
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.embed import default_provider
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.memex import Memex
from context_graph.memory.recall import MAX_QUERY_CHARS, Recalled, Recaller
from context_graph.memory.relevance import Kind, bar_of, kind_of_memory
from context_graph.model.memory import MemoryNode
from context_graph.owner.sessions.hook_call import recorded_event
from context_graph.redact import Redactor

__all__ = ["ODDS", "Case", "cases", "cross_validated", "fitted", "probability"]

GENERAL = """How long does concrete need to cure before it bears a load?
Which instrument does a luthier repair?
What makes a souffle collapse?
How do you castle in chess?
Why is the sky red at sunset?
Who sailed round the Cape of Good Hope first?
How many legs does a lobster have?
What is the tallest waterfall in Venezuela?
How is vinegar made from cider?
When do hedgehogs hibernate?
What is the difference between gneiss and granite?
How do I get candle wax out of a tablecloth?
Which vitamin is in carrots?
How was the Eiffel Tower painted?
What does a barometer show before a storm?
Why do geese fly in a V?
How do you tune a ukulele?
Which emperor built the wall across northern England?
What is the gestation period of an elephant?
How hot must oil be for frying doughnuts?
What is a sonnet's rhyme scheme?
How do glaciers carve fjords?
Can you eat elderberries raw?
What is the currency of Vietnam?
How are pearls formed in oysters?
Who composed The Magic Flute?
Which gas do plants take in at night?
How do you keep moths out of woollen jumpers?
What is the penalty for a false start in swimming?
Why does iron rust faster near the sea?""".splitlines()
GENERAL += """How do beavers build a dam?
What is the freezing point of seawater?
Which river flows through Budapest?
How do I graft a pear tree?
Who carved the statue of David?
What is the longest bone in the body?
How many players are in a rugby scrum?
Why do onions make you cry?
When was the Panama Canal opened?
What does a cooper make?
How do you proof yeast?
Which moon of Saturn has an atmosphere?
How is felt made from wool?
What causes a lunar eclipse?
How do I remove rust from a cast iron pan?
Which bird lays the largest egg?
What is the plot of Hamlet?
How do you play a barre chord?
Where do eels spawn?
What is a good substitute for buttermilk?
How tall is the Matterhorn?
Why do camels have humps?
Which dynasty built the Forbidden City?
How does a pendulum clock keep time?
What is the recommended tyre pressure for a bicycle?
How do you whistle with two fingers?
Which cheese is made from buffalo milk?
What is the speed of sound in water?
How do I descale a kettle?
Who led the expedition to the South Pole in 1911?""".splitlines()
REQUESTS = """fix the failing test in the parser
why does the build break on arm64
add a --verbose flag to the command line
rename the config module and update imports
what does the rate limiter do when redis is down
write a migration for the users table
refactor the payment service to use async
the docker image is too big, shrink it
make the flaky integration test for uploads deterministic
bump the dependencies and run the full test suite
how is authentication handled in the gateway
implement retry with exponential backoff for the http client
add logging to the scheduler so we can see why jobs are skipped
document the public api of the cache package
the memory usage grows over time in the worker process, find the leak
review my last commit""".splitlines()
_SAID = """lorem ipsum dolor sit amet consectetur|blarg snorfle wibbet|jkl jkl jkl|wubba grint|qqq www eee
asdf qwer zxcv|mmmmmm|florp the grunzel of vask|ŧøß æðđ ħŋ|plugh xyzzy frotz""".replace("\n", "|").split("|")
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvz" for b in "aeiou"]
_DEPTH = 10
"""Memories of a list that have signs of their own."""
_BANDS = (20, 300, 2000)
"""Memories up to which a store is small, and up to which it is not large."""
_FOREIGN_DEPTH = 3
_ROUNDS = {Kind.SUMMARY: 4, Kind.NOTE: 1, Kind.CODE: 4, Kind.TEXT: 4}
_STEPS = 15
ODDS = 3.0
"""How many memories of a list are not what was asked for, to each that is; half of them in lists of questions
that the store answers."""
_RIDGE = {Kind.SUMMARY: 600.0, Kind.NOTE: 300.0, Kind.CODE: 100.0, Kind.TEXT: 300.0}
"""The fewer the answers that were seen, the more weights are held back."""
_LEFT_OUT = {Kind.NOTE: ("lead", "files", "size")}
"""Signs without weight: a note's first line is often the prompt of its session, and their stores are all
young."""


@dataclass(frozen=True, slots=True)
class Found:
    """One memory of a list."""

    kind: Kind
    signs: tuple[float, ...]
    """Of NAMES."""
    answers: bool
    bar: str
    """By which kind's bar a prompt brings it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question to one store."""

    kind: str
    """Of the store: talk, code, summaries or facts."""
    store: str
    label: str
    """own, own short, or where the question is from."""
    size: int
    asked: str
    answered: bool
    """Whether the store has an answer."""
    found: tuple[Found, ...]

    @property
    def own(self) -> bool:
        """Whether it was asked by this store's own data."""
        return self.label.startswith("own")


class _Asks:
    """Puts questions to a store and keeps what it finds."""

    def __init__(self, kind: str, name: str, cases: list[Case]) -> None:
        self.kind, self._name, self._cases = kind, name, cases

    def ask(self, label: str, text: str, answers: frozenset[str] = frozenset()) -> None:
        if not text.strip() or not self.size():
            return
        told = self.recall(text[:MAX_QUERY_CHARS])
        found = tuple(
            Found(
                kind_of_memory(one.node),
                tuple(one.parts[name] for name in NAMES),
                self.name_of(one.node) in answers,
                bar_of(one.node),
            )
            for one in told
            if NAMES[0] in one.parts
        )
        self._cases.append(Case(self.kind, self._name, label, self.size(), text, bool(answers), found))

    def ask_all(self, label: str, texts: Iterable[str]) -> None:
        for text in texts:
            self.ask(label, text)

    def recall(self, text: str) -> Sequence[Recalled]:
        raise NotImplementedError

    def name_of(self, memory: MemoryNode) -> str:
        raise NotImplementedError

    def size(self) -> int:
        raise NotImplementedError


class _Store(_Asks):
    """A store of texts under questions."""

    def __init__(self, kind: str, name: str, items: Iterable[Item], cases: list[Case]) -> None:
        super().__init__(kind, name, cases)
        self._provider = default_provider()
        self._items: list[Item] = []
        self._index = MemoryIndex(self._provider.digest, self._provider.vocabulary_size)
        self._index.store_uid = b"relevance"
        self._recaller = Recaller(
            self._index, self._provider, lambda one: node(one.int, self._items[one.int - 1])
        )
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        self._items.append(item)
        self._index.add(node(len(self._items), item), self._provider.encode(item.text))

    def recall(self, text: str) -> Sequence[Recalled]:
        return self._recaller.recall(text, top_k=_DEPTH).nodes

    def name_of(self, memory: MemoryNode) -> str:
        return self._items[memory.id.int - 1].name

    def size(self) -> int:
        return len(self._items)


class _Notes(_Asks):
    """A store of what sessions left, as their captures make it; a memory's name is its session's."""

    def __init__(self, name: str, memex: Memex, cases: list[Case]) -> None:
        super().__init__("notes", name, cases)
        self._memex, self._redactor, self._sessions = memex, Redactor(), 0

    def add_session(self, session: dict[str, Any]) -> None:
        at_ms = BEGAN_MS + 3 * DAY_MS * self._sessions
        capture_session(self._memex, str(self._sessions), session, at_ms, self._redactor)
        self._sessions += 1

    def recall(self, text: str) -> Sequence[Recalled]:
        return self._memex.recall(text, top_k=_DEPTH).nodes

    def name_of(self, memory: MemoryNode) -> str:
        return memory.session_id or ""

    def size(self) -> int:
        return self._memex.count()


def nonsense(count: int, seed: int) -> list[str]:
    """Random letters, keyboard rows, punctuation, syllables, mixed case with digits, and made-up phrases."""
    rng = random.Random(seed)

    def word(letters: Sequence[str], least: int, most: int) -> str:
        return "".join(rng.choice(letters) for _ in range(rng.randint(least, most)))

    makers = (
        lambda: word(string.ascii_lowercase, 4, 14),
        lambda: " ".join(word("asdfghjklqwertyuiop", 3, 9) for _ in range(rng.randint(2, 5))),
        lambda: word(string.punctuation, 1, 20),
        lambda: " ".join(word(_SYLLABLES, 2, 4) for _ in range(rng.randint(1, 5))),
        lambda: " ".join(word(string.ascii_letters + string.digits, 5, 12) for _ in range(rng.randint(1, 3))),
        lambda: rng.choice(_SAID),
    )
    return [makers[i % len(makers)]() for i in range(count)]


def summary(events: Iterable[dict[str, Any]]) -> str:
    """What a capture makes of a session's events, given in the client's own fields."""
    work, redactor = SessionWork(), Redactor()
    known = [
        one for one in events if one["event"] in ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure")
    ]
    work.absorb(
        (number, recorded_event(one["event"], one, "s", number, number, redactor))
        for number, one in enumerate(known, 1)
    )
    return work.text()


def _part(whole: Collection, size: int, rng: random.Random) -> Collection:
    """A store of ``size`` items that still answers some questions."""
    asked = rng.sample(list(whole.questions), min(len(whole.questions), max(1, size // 2)))
    need: set[str] = set()
    for one in asked:
        if len(need | one.answers) <= max(size, len(asked[0].answers)):
            need |= one.answers
    rest = [item.name for item in whole.items if item.name not in need]
    need |= set(rng.sample(rest, max(0, min(len(rest), size - len(need)))))
    items = tuple(item for item in whole.items if item.name in need)
    return Collection(whole.name, items, tuple(one for one in asked if one.answers <= need))


def _facts(size: int, pairs: Sequence[tuple[str, str]], rng: random.Random, name: str) -> Collection:
    known = rng.sample(list(dict.fromkeys(fact for fact, _ in pairs)), size)
    items = tuple(Item(str(i), fact) for i, fact in enumerate(known))
    asked = [Question(q, frozenset({str(known.index(fact))})) for fact, q in pairs if fact in known]
    return Collection(name, items, tuple(asked))


class _Foreign:
    """What has nothing to do with a store. A question is either for fits or for judging, never for both."""

    def __init__(self, data: Path, *, judged: bool) -> None:
        self.talks, self.code = locomo(data / "locomo10.json"), cosqa(data / "cosqa", 0)[0]
        self.sessions: dict[str, list[dict[str, Any]]] = {}
        with gzip.open(data / "handover_dev.jsonl.gz", "rt") as file:
            for line in file:
                row = json.loads(line)
                self.sessions.setdefault(row["project"], []).append(row)
        self._judged, self._rng = judged, random.Random(11 + judged)
        self._queries = [one.text for one in self.code.questions]
        self._general = GENERAL + nonsense(40, 1000 * judged)

    def put(self, store: _Asks, kind: str, name: str, count: int) -> None:
        """Ask ``store`` about ``count`` questions of each sort."""
        prompts = [
            str(one["prompt"])
            for project, sessions in self.sessions.items()
            for one in sessions
            if project != name
        ]
        sorts = {"prompt": prompts, "request": [*REQUESTS, *DEV_REQUESTS, *HELD_BACK_REQUESTS]}
        sorts["first line"] = [_first_line(one) for one in prompts]
        sorts["general"] = self._general
        if kind != "code":
            sorts["code query"] = self._queries
        talks = [one.text for talk in self.talks if talk.name != name for one in talk.questions]
        sorts["other talk" if kind == "talk" else "talk"] = talks
        if kind == "facts":
            sorts["request"] = [*REQUESTS, *(DEV_REQUESTS if name == "facts" else HELD_BACK_REQUESTS)]
        for label, texts in sorts.items():
            mine = [one for one in texts if crc32(one.encode()) % 2 == self._judged]
            store.ask_all(label, self._rng.sample(mine, min(count, len(mine))))


def _first_line(prompt: str) -> str:
    return prompt.split("\n", 1)[0][:200]


def cases(data: Path, *, judged: bool = False) -> list[Case]:
    """All cases; with ``judged`` the foreign questions are others. Cost: some 15 s."""
    rng, foreign = random.Random(5), _Foreign(data, judged=judged)
    found: list[Case] = []
    for project, sessions in foreign.sessions.items():
        with tempfile.TemporaryDirectory() as folder, Memex.open(folder) as memex:
            _sessions(_Notes(project, memex, found), project, sessions, foreign)
        _sessions(_Summaries("summaries", project, (), found), project, sessions, foreign)
    for talk in foreign.talks:
        for size in (0, 1, 3, 20, 100):
            part = _part(talk, size, rng) if size else talk
            store = _Store("talk", talk.name, part.items, found)
            _own(store, part.questions, 60, rng)
            foreign.put(store, "talk", talk.name, 8)
    for number in range(4):
        for size in (1, 1, 3, 3, 20, 20, 60, 300, 1000):
            part = _part_of_code(foreign.code, size, rng)
            store = _Store("code", f"code {number}", part.items, found)
            _own(store, part.questions, 40, rng)
            gone = [one.text for one in foreign.code.questions if one not in part.questions]
            store.ask_all("removed", rng.sample(gone, 20))
            foreign.put(store, "code", "", 10)
    for name, pairs in (("facts", DEV), ("facts held back", HELD_BACK)):
        for size, times in ((1, 12), (2, 10), (3, 10), (8, 6), (20, 4), (40, 2)):
            for _ in range(times):
                some = _facts(size, pairs, rng, name)
                store = _Store("facts", name, some.items, found)
                _own(store, some.questions, 60, rng)
                foreign.put(store, "facts", name, 4)
    _languages(found, rng, judged=judged)
    for size in (800, 4000, 12_000):
        _mixed(found, foreign, size, judged=judged)
    return found


def _mixed(found: list[Case], foreign: _Foreign, size: int, *, judged: bool) -> None:
    """A store of all sorts: facts of a project, summaries, talks and functions, asked about each of them."""
    rng = random.Random(size)
    pairs = HELD_BACK if judged else DEV
    items = [Item(f"fact {fact}", fact) for fact in dict.fromkeys(fact for fact, _ in pairs)]
    questions = [Question(asked, frozenset({f"fact {fact}"})) for fact, asked in pairs]
    for sessions in foreign.sessions.values():
        some = sessions[: len(sessions) // 2]
        items += [Item(f"s {one['project']} {one['num']}", summary(one["events"])) for one in some]
    rest, asked = list[Item](), list[Question]()
    for one in (*foreign.talks, foreign.code):
        name = one.name
        rest += [Item(f"{name} {item.name}", item.text, f"{name} {item.session}") for item in one.items]
        asked += [Question(q.text, frozenset(f"{name} {a}" for a in q.answers)) for q in one.questions]
    items += rng.sample(rest, min(len(rest), size - len(items)))
    store = _Store("mixed", str(size), [item for item in items if item.text], found)
    there = {item.name for item in items}
    mine = [q for q in asked if q.answers <= there and crc32(q.text.encode()) % 2 == judged]
    _own(store, [*questions, *rng.sample(mine, min(len(mine), 150))], 400, rng)
    store.ask_all("general", [one for one in GENERAL if crc32(one.encode()) % 2 == judged])
    requests = [*REQUESTS, *(HELD_BACK_REQUESTS if judged else DEV_REQUESTS)]
    store.ask_all("request", requests)
    for texts in language_cases.REQUESTS.values():
        store.ask_all("other language", texts[judged::2])


def _languages(found: list[Case], rng: random.Random, *, judged: bool) -> None:
    """Stores of facts in other languages: the first half of each list for fits, the second to judge."""
    for code, pairs in language_cases.FACTS.items():
        half = pairs[len(pairs) // 2 :] if judged else pairs[: len(pairs) // 2]
        requests = language_cases.REQUESTS[code]
        some = requests[len(requests) // 2 :] if judged else requests[: len(requests) // 2]
        for size in (1, 3, 8, 15):
            for _ in range(4 if size < 8 else 2):
                facts = _facts(size, half, rng, code)
                store = _Store("facts", code, facts.items, found)
                _own(store, facts.questions, 60, rng)
                store.ask_all("request", some)


def _own(store: _Store, questions: Sequence[Question], most: int, rng: random.Random) -> None:
    for one in rng.sample(list(questions), min(most, len(questions))):
        store.ask("own", one.text, one.answers)


class _Summaries(_Store):
    """A store of sessions' summaries alone."""

    def add_session(self, session: dict[str, Any]) -> None:
        text = summary(session["events"])
        if text:
            self.add(Item(str(self.sessions), text, str(self.sessions)))
        self.sessions += 1

    sessions = 0


def _sessions(
    store: _Summaries | _Notes, project: str, sessions: Sequence[dict[str, Any]], foreign: _Foreign
) -> None:
    """A store to which each session is added after its prompt was asked."""
    files = [set(one["files"]) for one in sessions]
    for at, one in enumerate(sessions):
        gold = frozenset(str(other) for other in range(at) if files[other] & files[at])
        store.ask("own", str(one["prompt"]), gold)
        store.ask("own short", _first_line(str(one["prompt"])), gold)
        foreign.put(store, store.kind, project, 1)
        store.add_session(one)
    foreign.put(store, store.kind, project, 30)


def _part_of_code(whole: Collection, size: int, rng: random.Random) -> Collection:
    """``size`` functions, half of them with a question."""
    asked = {name for one in whole.questions for name in one.answers}
    known = [item for item in whole.items if item.name in asked]
    others = [item for item in whole.items if item.name not in asked]
    kept = rng.sample(known, min(len(known) // 2, max(1, size // 2)))
    items = (*kept, *rng.sample(others, size - len(kept)))
    names = {item.name for item in items}
    return Collection(whole.name, items, tuple(one for one in whole.questions if one.answers <= names))


def _weights(known: Sequence[tuple[Case, Found]], bands: Sequence[int]) -> np.ndarray:
    """In small stores, larger and large ones alike: answers 1 together, other memories of own questions and
    those of foreign ones half of ODDS each; of the foreign ones each sort alike."""
    groups = [
        (sum(one.size > most for most in bands), "" if one.own else one.label, found.answers)
        for one, found in known
    ]
    sizes = Counter(groups)
    sorts = Counter(band for band, label, _ in sizes if label)
    share = {
        group: (1.0 if group[2] else 0.5 * ODDS / (sorts[group[0]] if group[1] else 1)) / size
        for group, size in sizes.items()
    }
    found = np.array([share[group] for group in groups])
    return found * (len(known) / found.sum())


def fitted(known: Sequence[Case], kind: Kind) -> np.ndarray:
    """Constant and weights of a logistic regression over the memories of one kind: answers against others.

    Of a foreign list the three count that the fit before holds for the most likely ones: a prompt brings the
    best, so the best must be told apart.
    """
    of_kind = [(one, [found for found in one.found if found.kind is kind]) for one in known]
    beta = np.zeros(len(NAMES) + 1)
    for round_ in range(_ROUNDS[kind]):
        pairs = []
        for one, some in of_kind:
            if round_ and not one.own and len(some) > _FOREIGN_DEPTH:
                some = sorted(some, key=lambda found: -float(beta[1:] @ found.signs))[:_FOREIGN_DEPTH]
            pairs += [(one, found) for found in some]
        beta = _regressed(pairs, kind)
    return beta


def _regressed(pairs: Sequence[tuple[Case, Found]], kind: Kind) -> np.ndarray:
    weight = _weights(pairs, () if kind is Kind.NOTE else _BANDS)
    raw = np.array([found.signs for _, found in pairs])
    raw[:, [NAMES.index(name) for name in _LEFT_OUT.get(kind, ())]] = 0.0
    y = np.array([float(found.answers) for _, found in pairs])
    mean, deviation = raw.mean(axis=0), raw.std(axis=0) + 1e-9
    x = np.column_stack([np.ones(len(y)), (raw - mean) / deviation])
    beta = np.zeros(x.shape[1])
    ridge = np.eye(x.shape[1]) * _RIDGE[kind]
    ridge[0, 0] = 0.0
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30, 30)))
        slope = x.T @ (weight * (p - y)) + ridge @ beta
        curve = (x * (weight * p * (1 - p) + 1e-9)[:, None]).T @ x + ridge
        beta -= np.linalg.solve(curve, slope)
    slopes = np.where(raw.std(axis=0) > 0.0, beta[1:] / deviation, 0.0)
    return np.array([beta[0] - slopes @ mean, *slopes])


def probability(betas: dict[Kind, np.ndarray], one: Found) -> float:
    """By these weights."""
    beta = betas[one.kind]
    return float(1.0 / (1.0 + np.exp(-np.clip(beta[0] + np.dot(beta[1:], one.signs), -30, 30))))


def cross_validated(known: Sequence[Case], judged: Sequence[Case]) -> list[list[float]]:
    """The probability of each memory that each of ``judged`` found, by weights fitted without its store (its
    project, talk or list of facts; of functions without a fifth of the questions)."""
    betas: dict[str, dict[Kind, np.ndarray]] = {}
    for name in {_fold(one) for one in judged}:
        rest = [one for one in known if _fold(one) != name]
        betas[name] = {kind: fitted(rest, kind) for kind in Kind}
    return [[probability(betas[_fold(one)], found) for found in one.found] for one in judged]


def _fold(one: Case) -> str:
    return f"code {crc32(one.asked.encode()) % 5}" if one.kind == "code" else one.store
