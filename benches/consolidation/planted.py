"""Planted duplicates and traps: memories of which it is known who says the same, and who only seems to.

    .venv/bin/python benches/consolidation/planted.py [--memories 100000] [--share 0.05] [--threshold 0.95 0.90]
        [--json FILE]

Duplicates are other words for the same (by template), the same in another order, other spaces, another case,
other punctuation. Traps differ from a memory in one thing that matters. All other memories are facts of the
same kinds, so every memory has thousands of neighbours that differ from it in a name alone.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.report import described, machine, options, save


def _words(text: str) -> list[str]:
    return text.split()


SERVICES = _words(
    "billing invoice checkout search gateway login ledger catalog shipping inventory payroll metrics "
    "mailer scheduler archive thumbnail webhook session profile quota audit pricing refund export "
    "import tagging geocoding consent"
)
PARTS = _words(
    "parser cache queue worker index router loader planner collector sampler encoder proxy broker replica"
)
STORES = _words(
    "PostgreSQL Redis Kafka SQLite RocksDB Cassandra Elasticsearch MinIO RabbitMQ DynamoDB ClickHouse etcd"
)
HOSTS = _words(
    "Jenkins Kubernetes Nomad Lambda Heroku Fargate Docker Ansible Buildkite Proxmox Vagrant Mesos"
)
PLACES = _words(
    "Frankfurt Oregon Dublin Singapore Tokyo Mumbai Sydney Montreal Stockholm Osaka Zurich Lisbon"
)
PEOPLE = _words(
    "Maria Mario Ada Alan Grace Linus Barbara Edsger Donald Margaret Ken Dennis Frances Radia Leslie"
)
TEAMS = _words(
    "platform payments growth security mobile data storage frontend backend research support release"
)
THINGS = _words(
    "token report snapshot invoice schema manifest certificate migration backup image digest policy"
)
DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")

FACTS: tuple[tuple[str, ...], ...] = (
    ("The deploy of {service} runs on {host}", "{service}'s deploy runs on {host}"),
    ("The {part} of the {service} service runs on {host}", "The {service} service's {part} runs on {host}"),
    ("We use {store} for the {service} {part} in {place}", "For the {service} {part} in {place} we use {store}"),
    ("We decided to keep the {thing} of {service} in {store}", "We decided to keep {service}'s {thing} in {store}"),
    ("The {team} team owns the {service} {part}", "The {service} {part} is owned by the {team} team"),
    ("The owner of the {service} {part} is {person}", "{person} is the owner of the {service} {part}"),
    ("The {service} {part} fails when the {thing} is missing", "When the {thing} is missing, the {service} {part} fails"),
    ("The timeout of the {service} {part} is {n} seconds", "The {service} {part}'s timeout is {n} seconds"),
    ("{person} fixed the {thing} bug in src/{service}/{part}.py", "The {thing} bug in src/{service}/{part}.py was fixed by {person}"),
    ("The {thing} of {service} is stored in {store} in {place}", "The {thing} of {service} is kept in {store} in {place}"),
    ("The {service} {part} sends every {thing} to {store} in {place}", "In {place}, the {service} {part} sends every {thing} to {store}"),
    ("Ticket {ticket} asks for a {thing} in the {service} {part}", "In the {service} {part}, ticket {ticket} asks for a {thing}"),
    ("The {service} {part} needs a restart after the {thing} on {day}", "After the {thing} on {day}, the {service} {part} needs a restart"),
    ("The {team} team reviews the {service} {thing} every {day}", "Every {day}, the {team} team reviews the {service} {thing}"),
    ("The {service} {part} retries {n} times before it drops the {thing}", "Before it drops the {thing}, the {service} {part} retries {n} times"),
    ('The flag "{service}-{part}" is set to {n} in {place}', 'In {place}, the flag "{service}-{part}" is set to {n}'),
    ("{service} version {version} needs {store} for its {thing}", "For its {thing}, {service} version {version} requires {store}"),
    ("The {service} {part} logs to /var/log/{service}/{part}.log on {host}", "On {host}, the {service} {part} logs to /var/log/{service}/{part}.log"),
    ("The {thing} of {service} goes to {place}. The {part} stays in {other}.", "The {part} stays in {other}. The {thing} of {service} goes to {place}."),
    ("{service} writes each {thing} to {store} and {other_store} in {place}", "{service} writes each {thing} to {other_store} and {store} in {place}"),
    ("The {service} {part} is limited to {n} requests, {person} says", "{person} says the {service} {part} is limited to {n} requests"),
    ("The {part} for {service} is enabled on {day}", "On {day} the {part} for {service} is enabled"),
    ("{person} prefers {host} over {other_host} for the {service} {part}", "For the {service} {part}, {person} prefers {host} over {other_host}"),
    ("The {service} {part} reads the {thing} from {store} before it calls {other_service}", "Before it calls {other_service}, the {service} {part} reads the {thing} from {store}"),
)  # fmt: skip
"""Forms of one fact. What one form takes, all take."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A memory, and what is known of it."""

    text: str
    fact: int
    """Memories of one fact say the same."""
    kind: str
    """fact, or how it was made from one: a kind of duplicate, or `trap:` and a kind."""


def _slots(rng: random.Random) -> dict[str, str]:
    stores, hosts, places = rng.sample(STORES, 2), rng.sample(HOSTS, 2), rng.sample(PLACES, 2)
    services = rng.sample(SERVICES, 2)
    return {
        "service": f"{services[0]}-{rng.choice(PARTS)}" if rng.random() < 0.5 else services[0],
        "other_service": services[1], "part": rng.choice(PARTS), "store": stores[0], "other_store": stores[1],
        "host": hosts[0], "other_host": hosts[1], "place": places[0], "other": places[1],
        "person": rng.choice(PEOPLE), "team": rng.choice(TEAMS), "thing": rng.choice(THINGS),
        "day": rng.choice(DAYS), "n": str(rng.randint(2, 900)), 
        "ticket": f"{rng.choice(TEAMS)[:3].upper()}-{rng.randint(1, 9999)}",
        "version": f"{rng.randint(0, 9)}.{rng.randint(0, 30)}.{rng.randint(0, 9)}",
    }  # fmt: skip


def _key(text: str) -> str:
    """Equal for texts of the same words in any order: no two facts are to share one."""
    return " ".join(sorted(re.findall(r"\w+", text.lower())))


def _spaced(text: str, rng: random.Random) -> str:
    return (
        rng.choice(["", " ", "\n"]) + re.sub(" ", lambda _: rng.choice([" ", "  ", "\n", "\t"]), text) + " "
    )


def _cased(text: str, rng: random.Random) -> str:
    return rng.choice([str.upper, str.lower])(text)


def _punctuated(text: str, rng: random.Random) -> str:
    ended = text.rstrip(".") + rng.choice([".", "!", ";", "", "..."])
    return rng.choice(["", "- ", "* "]) + ended.replace(". ", "; ")


def _announced(text: str, rng: random.Random) -> str:
    return rng.choice(["Note: ", "Remember that ", "Keep in mind: ", "FYI, "]) + text


def _other(pool: list[str], text: str, rng: random.Random) -> str:
    present = [word for word in pool if re.search(rf"\b{word}\b", text)]
    if not present:
        return text
    return re.sub(rf"\b{present[0]}\b", rng.choice([word for word in pool if word not in present]), text)


def _swapped(text: str) -> str:
    """Two names of one kind in each other's place."""
    for pool in (STORES, HOSTS, PLACES, SERVICES, PEOPLE):
        found = [word for word in pool if re.search(rf"\b{word}\b", text)]
        if len(found) == 2:
            return _exchanged(text, *found)
    return text


def _exchanged(text: str, one: str, two: str) -> str:
    return re.sub(rf"\b({one}|{two})\b", lambda hit: two if hit[1] == one else one, text)


def _number(text: str, rng: random.Random) -> str:
    return re.sub(r"\d+(?!.*\d)", lambda hit: str(int(hit[0]) + rng.choice([1, 10, 100])), text, count=1)


NEGATED = {
    " is ": " is not ",
    " runs ": " never runs ",
    " needs ": " no longer needs ",
    " fails ": " never fails ",
}
OPPOSED = {
    "enabled": "disabled", "before": "after", "from": "to", "sends": "hides", "fixed": "introduced",
    "missing": "present", "writes": "deletes",
}  # fmt: skip


def _replaced(text: str, table: dict[str, str]) -> str:
    return next((text.replace(old, new, 1) for old, new in table.items() if old in text), text)


TRAPS: dict[str, Callable[[str, random.Random], str]] = {
    "number": _number,
    "negation": lambda text, rng: _replaced(text, NEGATED),
    "opposite": lambda text, rng: _replaced(text, OPPOSED),
    "swap": lambda text, rng: _swapped(text),
    "name": lambda text, rng: _other(PEOPLE, text, rng),
    "place": lambda text, rng: _other(PLACES, text, rng),
    "path": lambda text, rng: re.sub(r"(/\w+)(?=[.]\w+)", r"\1_old", text),
    "quote": lambda text, rng: re.sub(r'"([^"]+)"', r'"\1s"', text),
}


def planted(memories: int, share: float = 0.05, seed: int = 1) -> list[Planted]:
    """``memories`` texts in random order: ``share`` of them duplicates, as many traps, the rest facts.

    Each fact has at most one duplicate; no two facts are alike.
    """
    rng = random.Random(seed)
    wanted = round(memories * share)
    made: list[Planted] = []
    seen: set[str] = set()
    forms: list[tuple[str, ...]] = []
    while len(made) < memories - 2 * wanted:
        slots = _slots(rng)
        texts = tuple(form.format(**slots) for form in rng.choice(FACTS))
        if not seen.intersection(map(_key, texts)):
            seen.update(map(_key, texts))
            made.append(Planted(texts[0], len(made), "fact"))
            forms.append(texts)
    facts = len(made)
    chosen = iter(rng.sample(range(facts), facts))
    kinds = [*["paraphrase"] * 4, *["spaces", "case", "punctuation"] * 2, "announced"]
    made += [
        _duplicate(forms[fact], fact, kinds[k % len(kinds)], rng)
        for k, fact in zip(range(wanted), chosen, strict=False)
    ]
    made += list(_traps(forms, chosen, wanted, seen, facts, rng))
    rng.shuffle(made)
    return made


def _duplicate(forms: tuple[str, ...], fact: int, kind: str, rng: random.Random) -> Planted:
    ways = {"spaces": _spaced, "case": _cased, "punctuation": _punctuated, "announced": _announced}
    text = forms[1] if kind == "paraphrase" else ways[kind](forms[0], rng)
    if kind == "paraphrase" and rng.random() < 0.3:
        text = _spaced(_punctuated(text, rng), rng)
    return Planted(text, fact, kind)


def _traps(
    forms: list[tuple[str, ...]],
    chosen: Iterator[int],
    wanted: int,
    seen: set[str],
    facts: int,
    rng: random.Random,
) -> Iterator[Planted]:
    names = list(TRAPS)
    for fact in chosen:
        rng.shuffle(names)
        for name in names:
            text = TRAPS[name](rng.choice(forms[fact]), rng)
            if text not in forms[fact] and (name == "swap" or _key(text) not in seen):
                seen.add(_key(text))
                yield Planted(text, facts, f"trap:{name}")
                facts, wanted = facts + 1, wanted - 1
                break
        if not wanted:
            return


EXTRA = frozenset(["announced"])
"""Duplicates that are told by kind only: a preface moves E1 as far as another name does."""


def judged(memories: list[Planted], merges: list[tuple[int, list[int]]]) -> dict[str, object]:
    """How well (survivor, losers) as places in ``memories`` fit what is known."""
    right, wrong, trapped = Counter[str](), list[tuple[str, str]](), Counter[str]()
    merged = 0
    for survivor, losers in merges:
        for loser in losers:
            merged += 1
            pair = (memories[survivor], memories[loser])
            if pair[0].fact == pair[1].fact:
                right[next(one.kind for one in pair[::-1] if one.kind != "fact")] += 1
            else:
                wrong.append((pair[0].text, pair[1].text))
                trapped.update(one.kind for one in pair if one.kind.startswith("trap"))
    there = Counter(one.kind for one in memories if one.kind != "fact" and not one.kind.startswith("trap"))
    return {
        "merged": merged,
        "precision": round(sum(right.values()) / merged, 5) if merged else None,
        "recall": round(
            sum(count for kind, count in right.items() if kind not in EXTRA)
            / max(1, sum(count for kind, count in there.items() if kind not in EXTRA)),
            5,
        ),
        "recall_of": {kind: round(right[kind] / count, 4) for kind, count in sorted(there.items())},
        "traps_merged": sum(trapped.values()),
        "traps": sum(one.kind.startswith("trap") for one in memories),
        "wrong": wrong[:20],
    }


def main() -> None:
    """Embed, search, judge, for each threshold."""
    from benches.consolidation.snapshots import of_memories

    from context_graph.consolidation.finders import duplicates
    from context_graph.consolidation.progress import silent
    from context_graph.memory.embed import default_provider
    from context_graph.model.memory import MemoryNode

    parser = options(__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--threshold", type=float, nargs="+", default=[duplicates.LIGHT, duplicates.DEEP])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    memories, encode = planted(given.memories, given.share, given.seed), default_provider().encode
    nodes = [
        MemoryNode(
            id=UUID(int=at), content=one.text, rationale="A planted memory.", created_at_ms=at,
            last_accessed_ms=at, embedding=bytes(encode(one.text).embedding),
        )
        for at, one in enumerate(memories)
    ]  # fmt: skip
    snap = of_memories(nodes)
    snap.load("Semantic")
    print(described(machine()))
    found: list[dict[str, object]] = []
    for threshold in given.threshold:
        began = time.perf_counter()
        merges = duplicates.find(snap, threshold, progress=silent)
        took = time.perf_counter() - began
        places = [(merge.survivor.int, [loser.int for loser in merge.losers]) for merge in merges]
        found.append({"threshold": threshold, "seconds": round(took, 2), **judged(memories, places)})
        print(json.dumps(found[-1], indent=1))
    save(given.json, {"memories": given.memories, "thresholds": found})


if __name__ == "__main__":
    main()
