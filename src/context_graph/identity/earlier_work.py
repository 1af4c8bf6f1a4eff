"""Tells which earlier sessions worked on what a session works on: identity as a question to the past.

A session's own work is a goal in each of six views: word stems, paths, letter triples, dotted names, names
that only code has, whole words. The strongest terms of each are kept for good; a session that is under way is
compared with all of them by BM25, in the first four views. A prompt alone has few paths and dotted names; it
is compared in stems, names of code and words.

Over 62 sessions of four projects that changed a file which an earlier one had changed, that earlier one came
first for 40 % by the prompt alone, 60 % after six calls and 73 % after twelve, and was among the first five
for 74, 82 and 92 % (`python -m research DATA --number earlier`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Container
from struct import Struct, iter_unpack
from typing import Final, NamedTuple

from context_graph.identity.across import VIEWS, terms_of
from context_graph.identity.ego import EventReader, Goals
from context_graph.kernels import features
from context_graph.kernels.lexical import TERM, Postings

MOST_TERMS: Final = 64
"""Terms of each view that are kept: the strongest."""

KEPT: Final = (*VIEWS, "code", "expanded")
"""What is kept of a session's work, by position for ever."""
BY_WORK: Final = frozenset(map(KEPT.index, VIEWS))
BY_PROMPT: Final = frozenset(map(KEPT.index, ("semantic", "code", "expanded")))
"""Views in which an unfinished session is compared: once it has worked, and before."""
LEAST_SAID: Final = 100.0
"""What a prompt says, in nats times BM25's gain, at which half of what it shares counts: an issue's text says
ten times as much, and a few words that some session has too are no sign of the same work."""

LEAST_WORDS: Final = 12
"""Words of a query at least, for it to be compared with the work of sessions."""
EVENTS_NEEDED: Final = 3
"""Tool results that had something to say, before a session is compared."""
TOLD_AFTER: Final = frozenset({3, 6, 12})
"""Such results, after which the most alike session is told of, once, if it is alike enough."""
ALIKE_ENOUGH: Final = 0.4
"""Its least `Alike.share`, until a store's own sessions give another (`consolidation.finders.hindsight`)."""
EVENTS_REPLAYED: Final = 256
"""Events that are replayed of a session which another owner began: what is older has faded from its work."""

_STEMS: Final = features.BAGS.index("stem")
_LEVELS: Final = 8
"""Of a term's strength within its view: what BM25 takes for how often it occurs."""
_SATURATION: Final = 2.0
"""BM25's k1; b is 0: each view has as many terms as any other session's."""
_TERM: Final = Struct("<HBB")
"""Bucket, view, level."""
_VIEW_BITS: Final = 16
_DEAD: Final = 4
"""Times as many rows as sessions from which on the postings are made smaller."""


class Work:
    """What one session itself has been about; nothing of the sessions it follows. 213 KB in memory."""

    __slots__ = ("_goals", "events")

    def __init__(self) -> None:
        self._goals = Goals()
        self.events = 0
        """Tool results that had something to say."""

    def absorb(self, reader: EventReader, *, prompt: bool) -> None:
        """Take in the text just read. Cost: some 5 us for 4 KB."""
        if reader.bags.counts[_STEMS]:
            self._goals.absorb(reader, prompt=prompt)
            self.events += not prompt

    def strongest(self, views: Container[int] = range(len(KEPT))) -> bytes:
        """Return the strongest terms of each view, 4 bytes each, as they are kept for later sessions."""
        terms = []
        for view, (buckets, values) in enumerate(terms_of(self._goals, KEPT)):
            if view not in views:
                continue
            least = sorted(values)[-MOST_TERMS] if len(values) > MOST_TERMS else 0.0
            strong = [row for row in zip(values, buckets, strict=True) if row[0] >= least]
            best = sorted(strong, reverse=True)[:MOST_TERMS]
            most = best[0][0] if best else 0.0
            terms += [
                _TERM.pack(bucket, view, max(1, round(_LEVELS * value / most))) for value, bucket in best
            ]
        return b"".join(terms)


class Alike(NamedTuple):
    """An earlier session and how much its work is like a later one's."""

    session_id: str
    share: float
    """[0, 1]: what both have in common, of all that the later one's work says; rare terms say more."""


class EarlierWork:
    """The work of a store's sessions, to be compared with. Not thread-safe.

    Cost: 2 KB a session in memory, and some 0.2 us a session and comparison.
    """

    def __init__(self) -> None:
        self._postings = Postings()
        self._live = bytearray()
        self._rows: dict[str, int] = {}
        self._reader: EventReader | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, session_id: str, strongest: bytes) -> None:
        """Keep what `Work.strongest` gave, in place of what was kept before; ValueError for other bytes."""
        terms = sorted(_read(strongest))
        self.drop(session_id)
        if not terms:
            return
        self._rows[session_id] = self._postings.add(b"".join(TERM.pack(term, n, 0) for term, n in terms))
        self._live.append(1)
        if len(self._live) > _DEAD * (len(self._rows) + 1):
            self._compact()

    def drop(self, session_id: str) -> None:
        """Forget a session; nothing if it is not known."""
        row = self._rows.pop(session_id, None)
        if row is not None:
            self._live[row] = 0

    def _compact(self) -> None:
        """Let go of the rows of what was kept before: a session is put again at each of its checkpoints."""
        self._postings = self._postings.kept(self._live)
        order = sorted(self._rows, key=self._rows.__getitem__)
        self._rows = {session_id: row for row, session_id in enumerate(order)}
        self._live = bytearray([1]) * len(order)

    def like_query(self, query: str, without: Container[str]) -> list[Alike]:
        """Return the sessions that did the like of what a query asks for, as `alike`; [] for a short one.

        Cost: some 3 ms beside that of `alike`, almost nothing for a short query or without sessions.
        """
        if not self._rows or len(query.split()) < LEAST_WORDS:
            return []
        if self._reader is None:
            self._reader = EventReader()
        self._reader.read(query, "")
        asked = Work()
        asked.absorb(self._reader, prompt=True)
        return self.alike(asked.strongest(BY_PROMPT), without, BY_PROMPT)

    def alike(
        self, strongest: bytes, without: Container[str], views: Container[int] = BY_WORK
    ) -> list[Alike]:
        """Return the sessions that have something in common with that work, most alike first.

        Args:
            without: Sessions that are left out: the one itself.
            views: BY_WORK, or BY_PROMPT, where what little a work says counts less.
        """
        terms = [row for row in _read(strongest) if (row[0] >> _VIEW_BITS) - 1 in views]
        if not terms or not self._rows:
            return []
        hashes, weights = array("Q", [term for term, _ in terms]), array("f", [n / _LEVELS for _, n in terms])
        scores = array("f", bytes(4 * len(self._live)))
        rows = float(len(self._rows))
        self._postings.score(hashes, weights, self._live, rows, 1.0, _SATURATION, 0.0, scores)
        idfs = self._postings.idfs(hashes, self._live)
        full = math.fsum(
            weight * idf * n * (_SATURATION + 1.0) / (n + _SATURATION)
            for weight, idf, (_, n) in zip(weights, idfs, terms, strict=True)
        )
        if full <= 0.0:
            return []
        if views == BY_PROMPT:
            full += LEAST_SAID
        likely = [
            Alike(session_id, min(1.0, scores[row] / full))
            for session_id, row in self._rows.items()
            if scores[row] > 0.0 and session_id not in without
        ]
        return sorted(likely, key=lambda row: (-row.share, row.session_id))


def _read(strongest: bytes) -> list[tuple[int, int]]:
    """Return (hash, level) of each term. Raises ValueError."""
    if len(strongest) % _TERM.size:
        raise ValueError("a session's strongest terms end early")
    terms = [(view + 1 << _VIEW_BITS | bucket, n) for bucket, view, n in iter_unpack(_TERM.format, strongest)]
    if any(term >> _VIEW_BITS > len(KEPT) or not 1 <= n <= _LEVELS for term, n in terms):
        raise ValueError("a session's strongest terms have a view or a level that is none")
    return terms
