"""The comparison of a session's beginning with the session before it: terms, their rarity, its record."""

from __future__ import annotations

import random

import pytest

from context_graph.identity.across import (
    CONTINUES_FROM,
    MOST_WORK,
    VIEWS,
    CommonTerms,
    SessionLink,
    join_goals,
    likelihood,
    part_goals,
    relation,
    terms_of,
)
from context_graph.identity.ego import EventReader, Goals

READER = EventReader()
BOILERPLATE = "poetry run pytest src/app/settings.py --strict configuration loader registry"


def said(seed: int) -> str:
    """Words and paths that no other seed has, after those that all have."""
    rng = random.Random(seed)
    names = ["".join(rng.choices("bcdfghklmnprst", k=8)) for _ in range(12)]
    return " ".join([BOILERPLATE, *(f"{name} {name[:4]}/{name}.py app.{name}" for name in names)])


def goals(seed: int) -> Goals:
    made = Goals()
    for _ in range(5):
        READER.read(said(seed), said(seed))
        made.absorb(READER)
    return made


def begun(link: SessionLink, seed: int, *, events: int = 3, prompt: str = "continue") -> list[float | None]:
    """What the link says after a prompt and after each event."""
    READER.read(prompt, "")
    found = [link.absorb(READER, prompt=True)]
    for _ in range(events):
        READER.read(said(seed), "")
        found.append(link.absorb(READER, prompt=False))
    return found


def test_a_goal_s_terms_are_those_of_its_record() -> None:
    terms = terms_of(goals(1))
    assert len(terms) == len(VIEWS)
    for (buckets, values), (others, _) in zip(terms, terms_of(goals(2)), strict=True):
        assert len(buckets) == len(values) > 0
        assert list(buckets) == sorted(set(buckets)) and min(values) > 0.0
        assert set(buckets) != set(others)
    assert terms_of(Goals()) == tuple((type(b)("H"), type(v)("f")) for b, v in terms)


def test_the_same_work_continues_and_other_work_is_new() -> None:
    assert begun(SessionLink.after(SessionLink(), goals(1)), 1)[:3] == [None] * 3
    for seed, word in ((1, "continues"), (2, "new work")):
        (*_, found) = begun(SessionLink.after(SessionLink(), goals(1)), seed)
        assert found is not None and 0.0 <= found <= 1.0 and relation(found) == word
    assert relation(None) == "unknown" and relation(CONTINUES_FROM) == "continues"


def test_a_prompt_that_says_nothing_counts_as_a_prompt_and_one_that_says_something_is_compared() -> None:
    bare, same, other = (
        begun(SessionLink.after(SessionLink(), goals(1)), 1, prompt=prompt)[-1]
        for prompt in ("go on", said(1), said(2))
    )
    assert bare is not None and same is not None and other is not None
    assert same >= bare > other


def test_a_session_after_nothing_is_never_measured() -> None:
    assert begun(SessionLink(), 1, events=6) == [None] * 7
    assert begun(SessionLink.after(SessionLink(), Goals()), 1, events=6) == [None] * 7


def test_what_all_work_of_a_project_shares_counts_less_once_it_is_known() -> None:
    link = SessionLink.after(SessionLink(), goals(1))
    for _ in range(3):
        READER.read(said(2), "")
        link.opening.absorb(READER, prompt=False)
    assert link.earlier is not None
    before = link.similarities(link.earlier)
    for seed in range(3, 8):
        link.common.add(terms_of(goals(seed)))
    after = link.similarities(link.earlier)
    assert all(now < then for now, then in zip(after, before, strict=True))


def test_only_work_that_is_over_is_counted_among_the_project_s() -> None:
    same, other = (SessionLink.after(SessionLink(), goals(1)) for _ in range(2))
    begun(same, 1)
    begun(other, 2)
    assert (same.common.works, other.common.works) == (0, 1)
    assert SessionLink.after(other, goals(2)).common.works == 1


def test_counts_are_bounded_and_old_work_fades() -> None:
    common, terms = CommonTerms(), terms_of(goals(1))
    for _ in range(10 * MOST_WORK):
        common.add(terms)
    assert common.works < MOST_WORK
    assert max(max(counts) for counts in common.counts) <= common.works


def test_more_alike_is_more_likely_the_same_work() -> None:
    values = [likelihood([step / 10] * len(VIEWS), works) for works in (0, 3, 50) for step in range(11)]
    assert all(0.0 < value < 1.0 for value in values)
    for at in range(0, 33, 11):
        assert values[at : at + 11] == sorted(values[at : at + 11])
        assert values[at] < CONTINUES_FROM < values[at + 10]


def test_a_link_goes_on_from_its_bytes_as_if_nothing_had_happened() -> None:
    whole = SessionLink.after(SessionLink(), goals(1))
    whole.common.add(terms_of(goals(7)))
    parts = SessionLink.from_bytes(whole.to_bytes())
    for at in range(4):
        READER.read(said(1), said(1))
        assert whole.absorb(READER, prompt=at == 0) == parts.absorb(READER, prompt=at == 0)
        assert whole.to_bytes() == parts.to_bytes()
        parts = SessionLink.from_bytes(parts.to_bytes())
    assert whole.earlier is None
    assert SessionLink().to_bytes() == b"" and SessionLink.from_bytes(b"").earlier is None


def test_damaged_bytes_are_refused() -> None:
    link = SessionLink.after(SessionLink(), goals(1))
    packed = link.to_bytes()
    for bad in (packed[:-1], packed[:40], b"\0", b"\x96" + packed[1:], packed + b"\0"):
        with pytest.raises(ValueError, match=r".+"):
            SessionLink.from_bytes(bad)
    joined = join_goals(goals(1).to_bytes(), packed)
    assert part_goals(joined) == (goals(1).to_bytes(), packed)
    assert part_goals(b"CGG\x01 as ever") == (b"CGG\x01 as ever", b"")
    for bad in (joined[:4], joined[:7], joined[:8], joined[:20]):
        with pytest.raises(ValueError, match="goals end early"):
            part_goals(bad)
