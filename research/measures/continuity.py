"""Does the cross-session IC tell the second half of a session from the first events of other work?

Each recorded session is cut in half. Its second half, after a prompt that says no more than "continue", is a
session that goes on; another session of the project, or of another one, is new work, from its own first
prompt or from its middle after "continue". Each is compared with the first half, as the owner does it
(`identity.across`), in projects that have seen 0, 2 or 10 other pieces of work. The constants are fitted on
all projects but the one that is measured.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from research.fit.drift_data import hook_event, load_sessions
from research.measures.report import Data, Table, auc, interval, quantiles

from context_graph.identity.across import (
    EVENTS_NEEDED,
    FAMILIAR,
    OFFSET,
    VIEWS,
    WEIGHTS,
    CommonTerms,
    SessionLink,
    Terms,
    terms_of,
)
from context_graph.identity.ego import EventReader, Goals
from context_graph.identity.live import LiveSession
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot
from context_graph.redact import Redactor

Array = NDArray[np.float64]

LEAST_EVENTS: Final = 14
FAMILIAR_WITH: Final = (0, 1, 2, 4, 10)
"""Pieces of other work the project has seen; all are fitted, SHOWN are printed."""
SHOWN: Final = (0, 2, 10)
NEAR, FAR = 4, 3
"""Other sessions of the project, and of others, that each is compared with; Claude Code's few with all."""
CHAIN: Final = 12
"""Sessions of a project that follow each other, in two halves each."""
FITTED: Final = frozenset({"on", "restated", "task", "task, mid"})
POSITIVE: Final = frozenset({"on", "restated", "next"})
RIDGE, ROUNDS, STEP = 0.02, 500, 0.5
MEASURED: Final = frozenset({EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE})
CONTINUE: Final = ("continue", "")

Texts = tuple[str, str]

_READER: Final = EventReader()


@dataclass(slots=True)
class Work:
    """One recorded session: its texts, and what its first half was about."""

    name: str
    project: str
    kind: str
    """cc: Claude Code's own; swe: bash-only agents, recast."""
    task: str
    texts: list[tuple[bool, Texts]]
    """(prompt?, (input, output))."""
    terms: tuple[Terms, ...] = field(init=False)

    def __post_init__(self) -> None:
        goals = Goals()
        for prompt, texts in self.texts[: self.half]:
            _READER.read(*texts)
            goals.absorb(_READER, prompt=prompt)
        self.terms = terms_of(goals)

    @property
    def half(self) -> int:
        return len(self.texts) // 2

    def opening(self, start: int, prompt: tuple[str, str]) -> list[tuple[bool, Texts]] | None:
        """``prompt`` and what follows ``start``, until there is enough to measure."""
        taken, events = [(True, prompt)], 0
        for is_prompt, texts in self.texts[start:]:
            taken.append((is_prompt, texts))
            events += not is_prompt
            if events == EVENTS_NEEDED:
                return taken
        return None

    @property
    def fresh(self) -> list[tuple[bool, Texts]] | None:
        at = next((i for i, (is_prompt, _) in enumerate(self.texts) if is_prompt), None)
        return None if at is None else self.opening(at + 1, self.texts[at][1])

    @property
    def later(self) -> list[tuple[bool, Texts]] | None:
        return self.opening(self.half, CONTINUE)

    @property
    def restated(self) -> list[tuple[bool, Texts]] | None:
        prompt = next((texts for is_prompt, texts in self.texts if is_prompt), None)
        return None if prompt is None else self.opening(self.half, prompt)


@dataclass(slots=True)
class Case:
    """One beginning beside the first half of ``old``."""

    kind: str
    old: Work
    features: Array
    """(len(FAMILIAR_WITH), views + 1): cosines, and n / (n + 2)."""
    words: float
    """The baseline: cosine of plain word counts."""


def tables(data: Data) -> list[Table]:
    if not (data.drift / "sessions.jsonl").exists():
        return []
    works = _works(data)
    cases = _cases(works)
    fitted = _fit([case for case in cases if case.kind in FITTED])
    held_out: dict[int, Array] = {}
    for project in sorted({work.project for work in works}):
        rest = [c for c in cases if c.kind in FITTED and c.old.project != project]
        weights = _fit(rest)
        held_out |= {id(c): _applied(c.features, weights) for c in cases if c.old.project == project}
    source = (
        f"{len(works)} recorded sessions ({sum(w.kind == 'cc' for w in works)} pieces of Claude Code "
        "transcripts); constants fitted without the project that is measured. Intervals over sessions."
    )
    ours = (*WEIGHTS, FAMILIAR, OFFSET)
    drift = max(abs(a - b) for a, b in zip(ours, fitted, strict=True))
    notes = (
        "baseline: cosine of word counts. The value before this measure was the copied vector's: .5 for all.",
        f"Constants in the code differ from a fit on all projects by at most {drift:.3f}: "
        + ", ".join(f"{value:.2f}" for value in fitted),
    )
    return [
        Table("continuity", source, _COLUMNS, _rows(cases, held_out), notes),
        Table(
            "continuity: sessions in a row",
            "Through live sessions with the constants in the code, which were fitted on the same sessions.",
            ("sessions", "seams", "AUC", ">= .5", "< .5", "unknown"),
            _in_a_row(works),
        ),
        Table(
            "continuity: values", source, ("sessions", "what follows", *_QUANTILES), _spread(cases, held_out)
        ),
    ]


_COLUMNS: Final = (
    "sessions",
    "goes on",
    "new work",
    "seen",
    "cases",
    "AUC",
    "95 %",
    ">= .5",
    "< .5",
    "baseline",
)
_QUANTILES: Final = ("5 %", "25 %", "median", "75 %", "95 %", "share >= .5")
_PAIRS: Final = (
    ("on", "task"),
    ("on", "task, mid"),
    ("restated", "task"),
    ("next", "task"),
    ("on", "project"),
)


def _in_a_row(works: Sequence[Work]) -> list[tuple[object, ...]]:
    """Whole sessions, one after the other, through the owner's own live sessions."""
    chains: dict[str, list[list[tuple[str, list[tuple[bool, Texts]]]]]] = {"swe": [], "cc": []}
    for project in sorted({work.project for work in works}):
        own = [w for w in works if w.project == project and "agent" not in w.task]
        halves = [w for w in own if w.kind == "swe"][:CHAIN]
        pieces = [
            (w.task, part)
            for w in halves
            for part in (w.texts[: w.half], [(True, CONTINUE), *w.texts[w.half :]])
        ]
        chains["swe"].append(pieces)
        # Two pieces of a task, then two of the next, so that both kinds of seams come often.
        tasks = {w.task: [(w.task, v.texts) for v in own if v.task == w.task] for w in own if w.kind == "cc"}
        taken = [queue[at : at + 2] for at in range(0, 8, 2) for queue in tasks.values()]
        chains["cc"].append([piece for pair in taken for piece in pair])
    rows = []
    for kind, runs in chains.items():
        found = [seam for run in runs for seam in _seams(run)]
        yes, no = ([v for same, v in found if same is wanted and v is not None] for wanted in (True, False))
        silent = sum(value is None for _, value in found)
        right = (sum(v >= 0.5 for v in yes) / len(yes), sum(v < 0.5 for v in no) / len(no))
        rows.append((kind, f"{len(yes)}/{len(no)}", auc(yes, no), *right, silent))
    return rows


def _seams(run: Sequence[tuple[str, list[tuple[bool, Texts]]]]) -> list[tuple[bool, float | None]]:
    found: list[tuple[bool, float | None]] = []
    before: LiveSession | None = None
    task = ""
    for at, (own, texts) in enumerate(run):
        snapshot = SessionIdentitySnapshot(session_id=str(at), timestamp_ms=at)
        live = LiveSession(snapshot) if before is None else LiveSession.continue_from(before, snapshot)
        for prompt, (given, output) in texts:
            kind = EventKind.PROMPT_SUBMIT if prompt else EventKind.POST_TOOL
            live.apply(HookEvent(kind, str(at), "", at, input_text=given, output_text=output))
        if before is not None:
            found.append((own == task, live.continuity))
        before, task = live, own
    return found


def _rows(cases: Sequence[Case], held_out: dict[int, Array]) -> list[tuple[object, ...]]:
    rows = []
    for kind in ("swe", "cc"):
        for goes_on, new in _PAIRS:
            own = [c for c in cases if c.old.kind == kind and c.kind in (goes_on, new)]
            groups: dict[str, list[Case]] = {}
            for case in own:
                groups.setdefault(case.old.name, []).append(case)
            for at, seen in enumerate(FAMILIAR_WITH):
                if seen not in SHOWN or not any(c.kind == goes_on for c in own):
                    continue

                def found(chosen: Iterable[Sequence[Case]], at: int = at) -> float:
                    values: tuple[list[float], list[float]] = ([], [])
                    for case in (case for group in chosen for case in group):
                        values[case.kind in POSITIVE].append(float(held_out[id(case)][at]))
                    return auc(values[1], values[0])

                yes = [float(held_out[id(c)][at]) for c in own if c.kind == goes_on]
                no = [float(held_out[id(c)][at]) for c in own if c.kind == new]
                low, high = interval(list(groups.values()), found)
                words = auc(
                    [c.words for c in own if c.kind == goes_on], [c.words for c in own if c.kind == new]
                )
                right = (sum(v >= 0.5 for v in yes) / len(yes), sum(v < 0.5 for v in no) / len(no))
                counts = f"{len(yes)}/{len(no)}"
                span = f"{low:.3f}-{high:.3f}"
                rows.append((kind, goes_on, new, seen, counts, auc(yes, no), span, *right, words))
    return rows


def _spread(cases: Sequence[Case], held_out: dict[int, Array]) -> list[tuple[object, ...]]:
    rows = []
    for kind in ("swe", "cc"):
        for name in ("on", "restated", "next", "task", "task, mid", "project"):
            values = [float(held_out[id(c)][-1]) for c in cases if (c.old.kind, c.kind) == (kind, name)]
            if values:
                share = sum(v >= 0.5 for v in values) / len(values)
                rows.append((kind, name, *quantiles(values), share))
    return rows


# Sessions and cases


def _works(data: Data) -> list[Work]:
    works = []
    for session in load_sessions(data.drift).values():
        kind, *rest = session.name.split(":")
        task = rest[-2] if kind == "cc" else rest[-1]
        works.append(Work(session.name, session.project, kind, task, _texts(session.events)))
    known = {work.task for work in works}
    if data.handover.exists():
        with gzip.open(data.handover, "rt", encoding="utf-8") as lines:
            redactor = Redactor()
            for line in lines:
                raw = json.loads(line)
                task = f"{raw['project']}-{raw['num']}"
                if any(
                    name.rsplit("-", 1)[-1] == str(raw["num"]) and raw["project"] in name for name in known
                ):
                    continue
                events = [hook_event(task, i, event, redactor) for i, event in enumerate(raw["events"])]
                works.append(Work(task, raw["project"], "swe", task, _texts(events)))
    return works


def _texts(events: Iterable[HookEvent]) -> list[tuple[bool, Texts]]:
    return [
        (event.is_prompt, (event.input_text, event.output_text))
        for event in events
        if event.is_prompt or event.kind in MEASURED
    ]


def _same_task(one: Work, other: Work) -> bool:
    """Or so near to it that nobody could say; a subagent's work is part of another session's."""
    if one.kind != "cc":
        return one.task == other.task
    helps = "agent" in one.task or "agent" in other.task
    return one.project == other.project and (one.task == other.task or helps)


def _cases(works: Sequence[Work]) -> list[Case]:
    rng, cases = random.Random(5), []
    by_name = {work.name: work for work in works}
    for old in (work for work in works if len(work.texts) >= LEAST_EVENTS):
        found = [("on", old, old.later), ("restated", old, old.restated)]
        piece = old.name.rpartition(":")
        follows = by_name.get(f"{piece[0]}:{int(piece[2]) + 1}") if old.kind == "cc" else None
        if follows is not None:
            found.append(("next", follows, follows.fresh))
        near = [w for w in works if w.project == old.project and not _same_task(old, w)]
        far = [w for w in works if w.project != old.project and w.kind == old.kind]
        for name, pool, most in (("task", near, NEAR), ("project", far, FAR)):
            taken = len(pool) if old.kind == "cc" else min(most, len(pool))
            for new in rng.sample(pool, taken):
                found += [(name, new, new.fresh), (f"{name}, mid", new, new.later)]
        for kind, new, opening in found:
            if opening is not None:
                cases.append(_case(kind, old, new, opening, works))
    return cases


def _case(
    kind: str, old: Work, new: Work, opening: Sequence[tuple[bool, Texts]], works: Sequence[Work]
) -> Case:
    link = SessionLink(())
    for prompt, texts in opening:
        _READER.read(*texts)
        link.opening.absorb(_READER, prompt=prompt)
    rows = []
    for common in _backgrounds(tuple(_others(old, new, works))):
        link.common = common
        rows.append([*link.similarities(old.terms), common.works / (common.works + 2)])
    return Case(kind, old, np.array(rows), _word_cosine(old, opening))


def _others(old: Work, new: Work, works: Sequence[Work]) -> list[int]:
    """Places of other work of the project, one session a task, in an order that is always the same."""
    places = [i for i, w in enumerate(works) if w.project == old.project]
    random.Random(3).shuffle(places)
    chosen: dict[str, int] = {}
    for place in places:
        if not (_same_task(works[place], old) or _same_task(works[place], new)):
            chosen.setdefault(works[place].task, place)
        _TERMS.setdefault(place, works[place].terms)
    return list(chosen.values())[: max(FAMILIAR_WITH)]


_TERMS: Final[dict[int, tuple[Terms, ...]]] = {}


@cache
def _backgrounds(places: tuple[int, ...]) -> list[CommonTerms]:
    made = []
    for count in FAMILIAR_WITH:
        common = CommonTerms()
        for place in places[:count]:
            common.add(_TERMS[place])
        made.append(common)
    return made


def _word_cosine(old: Work, opening: Sequence[tuple[bool, Texts]]) -> float:
    before = _word_counts(tuple(texts for _, texts in old.texts[: old.half]))
    after = _word_counts(tuple(texts for _, texts in opening))
    product = sum(count * before.get(word, 0) for word, count in after.items())
    lengths = sum(c * c for c in before.values()) * sum(c * c for c in after.values())
    return float(product / lengths**0.5) if lengths else 0.0


@cache
def _word_counts(texts: tuple[tuple[str, str], ...]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in " ".join(part for pair in texts for part in pair).lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts


# The fit: a logistic regression without negative weights


def _fit(cases: Sequence[Case]) -> tuple[float, ...]:
    """Weights of the views, of n / (n + 2), and the offset; both classes count the same."""
    rows = np.concatenate([case.features for case in cases])
    label = np.repeat([float(case.kind in POSITIVE) for case in cases], len(FAMILIAR_WITH))
    count = np.where(label > 0, 0.5 / label.sum(), 0.5 / (1 - label).sum())
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    rows = (rows - mean) / spread
    weight, offset = np.zeros(rows.shape[1]), 0.0
    for _ in range(ROUNDS):
        error = count * (1.0 / (1.0 + np.exp(-(rows @ weight + offset))) - label)
        weight = np.maximum(weight - STEP * (rows.T @ error + RIDGE * weight), 0.0)
        offset -= STEP * float(error.sum())
    weight /= spread
    return (*(round(float(w), 2) for w in weight), round(offset - float(mean @ weight), 2))


def _applied(features: Array, weights: Sequence[float]) -> Array:
    score: Array = features @ np.array(weights[:-1]) + weights[-1]
    return 1.0 / (1.0 + np.exp(-score))


assert len(WEIGHTS) == len(VIEWS)
