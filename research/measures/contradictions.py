"""Are contradictions and outdated notes told before an answer rests on the old one?

Pairs of notes that were written before any was tried (`opposed_cases.toml`) lie far apart among others in one
store, the earlier ones first. Each earlier one is asked for. It is told where the answer says that another
memory holds instead, or names the two that contradict each other. Near pairs are about other things.
"""

from __future__ import annotations

import random
import tempfile
import tomllib
from itertools import product
from pathlib import Path
from typing import Final

from research.measures.report import Data, Table

from context_graph.memory.memex import Memex
from context_graph.text.paraphrase import opposition
from context_graph.text.sentences import content_words
from context_graph.text.superseding import supersedes

CASES: Final = Path(__file__).parent / "opposed_cases.toml"
_OTHERS: Final = 1500
_WHY: Final = "a note of the measure"
_SUBJECTS: Final = "billing search crawler mailer portal checkout importer gateway ledger planner".split()  # noqa: SIM905
_SAYS: Final = (
    "The {a} of {s} was looked at in sprint {n}",
    "{s} has {n} open questions about its {a}",
    "In sprint {n} somebody asked for the {a} of {s}",
    "{s} supports {a} since release {n}",
)
_ASPECTS: Final = "IPv6 port owner timeout backup logs index queue cache tests image licence".split()  # noqa: SIM905
_MARKS: Final = frozenset("not no never now longer instead nicht kein keine jetzt mehr statt".split())  # noqa: SIM905

Pair = tuple[str, str]


def tables(_data: Data) -> list[Table]:
    with CASES.open("rb") as file:
        parts = tomllib.load(file)
    rows = []
    for name, part in parts.items():
        kinds = {kind: [(one, other) for one, other in pairs] for kind, pairs in part.items()}
        told = _told([*kinds["contradicts"], *kinds["superseded"]], kinds["near"])
        for kind, pairs in kinds.items():
            if kind == "near":
                count = sum(_is_opposed(*pair) for pair in pairs)
            else:
                count = sum(pair in told for pair in pairs)
            rows.append((name, kind, count, len(pairs), sum(_baseline(*pair) for pair in pairs)))
    crossed = [
        (one, other)
        for part in parts.values()
        for (one, mine), (other, _) in product([*part["contradicts"], *part["superseded"]], repeat=2)
        if one != other and mine != other
    ]
    rows.append(
        (
            "both",
            "crossed",
            sum(_is_opposed(*pair) for pair in crossed),
            len(crossed),
            sum(_baseline(*pair) for pair in crossed),
        )
    )
    return [
        Table(
            "contradictions",
            f"made-up pairs among {_OTHERS} other notes; `left_out` was not in view while rules were written",
            ("pairs", "kind", "told", "of", "baseline: half of the words, and a not or now in one"),
            rows,
            ("near and crossed pairs are about other things: none of them may be told",),
        )
    ]


def _is_opposed(earlier: str, later: str) -> bool:
    return bool(opposition(earlier, later)) or supersedes(later, earlier) or supersedes(earlier, later)


def _baseline(earlier: str, later: str) -> bool:
    one, other = content_words(earlier), content_words(later)
    marks = [bool(_MARKS & {*text.lower().replace("n't", " not").split()}) for text in (earlier, later)]
    return 2 * len(one & other) >= min(len(one), len(other)) and marks[0] != marks[1]


def _told(pairs: list[Pair], near: list[Pair]) -> set[Pair]:
    chance = random.Random(0)
    others = [
        say.format(a=aspect, s=subject, n=number)
        for say, aspect, subject, number in product(_SAYS, _ASPECTS, _SUBJECTS, range(1, 5))
    ]
    others = [*chance.sample(others, _OTHERS), *(text for pair in near for text in pair)]
    chance.shuffle(others)
    with tempfile.TemporaryDirectory() as folder, Memex.open(Path(folder) / "store") as memex:
        ids: dict[str, str] = {}
        for text in [*(one for one, _ in pairs), *others, *(other for _, other in pairs)]:
            if text not in ids:
                node = memex.store(content=text, rationale=_WHY, supersedes=memex.given_up(text))
                ids[text] = str(node.id)
        return {(one, other) for one, other in pairs if _is_told(memex, one, ids[one], ids[other])}


def _is_told(memex: Memex, question: str, earlier: str, later: str) -> bool:
    nodes = [row.node for row in memex.recall(question, top_k=5).nodes]
    if any(str(old) == earlier for old in memex.superseded(nodes)):
        return True
    about = memex.pulse(touched=[node.id for node in nodes]).about
    return earlier[:8] in about and later[:8] in about
