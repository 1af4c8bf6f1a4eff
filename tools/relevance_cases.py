"""Questions that a store answers and questions that none does, with what the ranking has to say of each.

Stores of three kinds: talks (LoCoMo), functions (CoSQA) and summaries of agent sessions, whole and in part,
and young stores of facts (tools/floor_cases.py). Each is asked its own questions, those of the other kinds,
general questions, and nonsense.
"""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benches.recall_data import Collection, Item, Question, cosqa, locomo
from benches.recall_quality import node

from context_graph.memory.embed import default_provider
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.recall import Recaller
from floor_cases import DEV, HELD_BACK

__all__ = ["GENERAL", "JUDGED", "Case", "cases", "cross_validated", "fitted", "nonsense"]

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
JUDGED = """How do beavers build a dam?
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
_SAID = """lorem ipsum dolor sit amet consectetur|blarg snorfle wibbet|jkl jkl jkl|wubba grint|qqq www eee
asdf qwer zxcv|mmmmmm|florp the grunzel of vask|ŧøß æðđ ħŋ|plugh xyzzy frotz""".replace("\n", "|").split("|")
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvz" for b in "aeiou"]
_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Case:
    """One question to one store."""

    kind: str
    """Of the store: talk, code, summaries or facts."""
    store: str
    label: str
    """own, or where the question is from."""
    size: int
    evidence: tuple[float, ...]
    """Empty where the ranking itself found nothing."""
    hit: bool
    """Whether the best ten hold an answer."""


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


def _summaries(path: Path) -> Iterator[Collection]:
    """A store for each project; a prompt's answers are summaries of other sessions that touched its files."""
    import gzip
    import json

    from fit_floor import summary

    rows: dict[str, list[dict[str, object]]] = {}
    with gzip.open(path, "rt") as file:
        for line in file:
            row = json.loads(line)
            rows.setdefault(row["project"], []).append(row)
    for project, sessions in rows.items():
        texts = [summary(one["events"]) for one in sessions]  # type: ignore[arg-type]
        items = tuple(Item(str(i), text, str(i)) for i, text in enumerate(texts) if text)
        names = {item.name for item in items}
        files = [set(one["files"]) for one in sessions]  # type: ignore[call-overload]
        asked = []
        for i, one in enumerate(sessions):
            gold = {str(j) for j in range(len(sessions)) if j != i and files[j] & files[i]} & names
            if gold:
                asked.append(Question(str(one["prompt"])[:4096], frozenset(gold)))
        yield Collection(project, items, tuple(asked))


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


def cases(data: Path, *, judged: bool = False) -> list[Case]:  # noqa: C901 - one loop over the stores
    """All cases; with ``judged`` the general questions and the nonsense are others. Cost: some 15 s."""
    rng = random.Random(5)
    kinds = {"talk": locomo(data / "locomo10.json"), "code": cosqa(data / "cosqa", 0)}
    kinds["summaries"] = list(_summaries(data / "handover_dev.jsonl.gz"))
    asked = {kind: [q.text for one in stores for q in one.questions] for kind, stores in kinds.items()}
    found: list[Case] = []
    general, seed = (JUDGED, 1000) if judged else (GENERAL, 1)

    def add(kind: str, store: Collection) -> None:
        ask = _asker(store, kind)
        found.extend(ask("own", one.text, one.answers) for one in store.questions)
        foreign = {"general": general, "nonsense": nonsense(60, seed + len(found))}
        for other, questions in asked.items():
            if other != kind and not (other == "summaries" and kind == "code"):
                foreign[other] = rng.sample(questions, 20)
        found.extend(ask(label, text, frozenset()) for label, texts in foreign.items() for text in texts)

    for kind, stores in kinds.items():
        for whole in stores:
            add(kind, whole)
            for size in (1, 3, 20, 100) if kind != "code" else (1, 1, 3, 3, 20, 20, 60, 500, 2000):
                if size < len(whole.items):
                    add(kind, replace(_part(whole, size, rng), name=whole.name))
    for name, pairs in (("facts", DEV), ("facts held back", HELD_BACK)):
        for size, times in ((1, 12), (3, 10), (8, 6), (20, 4), (40, 2)):
            for _ in range(times):
                add("facts", _facts(size, pairs, rng, name))
    return found


def _asker(store: Collection, kind: str):  # type: ignore[no-untyped-def]
    provider = default_provider()
    index = MemoryIndex(provider.digest, provider.vocabulary_size)
    index.store_uid = b"relevance"
    for number, item in enumerate(store.items, 1):
        index.add(node(number, item), provider.encode(item.text))
    recaller = Recaller(index, provider, lambda one: node(one.int, store.items[one.int - 1]))

    def ask(label: str, text: str, answers: frozenset[str]) -> Case:
        told = recaller.recall(text)
        names = {store.items[UUID(int=one.node.id.int).int - 1].name for one in told.nodes}
        return Case(kind, store.name, label, len(store.items), told.evidence, bool(names & answers))

    return ask


def _weights(known: Sequence[Case]) -> np.ndarray:
    """Each kind and size of store counts alike, and so do answered and foreign questions."""
    groups = [(one.kind, one.size < 50, one.label == "own", one.label == "nonsense") for one in known]
    sizes = {group: groups.count(group) for group in set(groups)}
    return np.array([(1.0 if group[2] else 0.3 if group[3] else 0.7) / sizes[group] for group in groups])


def fitted(known: Sequence[Case]) -> np.ndarray:
    """Constant and weights of a logistic regression: answered questions against foreign ones."""
    used = [one for one in known if one.evidence and (one.label != "own" or one.hit)]
    weight = _weights(used)
    weight *= len(used) / weight.sum()
    x = np.array([(1.0, *one.evidence) for one in used])
    y = np.array([float(one.label == "own") for one in used])
    beta = np.zeros(x.shape[1])
    ridge = np.eye(x.shape[1]) * 1e-3 * len(used)
    ridge[0, 0] = 0.0
    for _ in range(_ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30, 30)))
        slope = x.T @ (weight * (p - y)) + ridge @ beta
        curve = (x * (weight * p * (1 - p) + 1e-9)[:, None]).T @ x + ridge
        beta -= np.linalg.solve(curve, slope)
    return beta


def probability(beta: np.ndarray, one: Case) -> float:
    """By these weights; 0 where nothing was ranked."""
    if not one.evidence:
        return 0.0
    return float(1.0 / (1.0 + np.exp(-np.clip(beta[0] + np.dot(beta[1:], one.evidence), -30, 30))))


def cross_validated(known: Sequence[Case], judged: Sequence[Case]) -> list[float]:
    """The probability of each of ``judged`` by weights fitted without its store, large or in part."""
    stores = {one.store for one in judged}
    betas = {name: fitted([one for one in known if one.store != name]) for name in stores}
    return [probability(betas[one.store], one) for one in judged]
