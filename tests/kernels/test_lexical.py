"""Postings and BM25, on both implementations."""

from __future__ import annotations

import math
from array import array
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import lexical as _reference_lexical
from tests.support.examples import examples

K1, B = 0.9, 0.4
compiled = import_module("context_graph.kernels.lexical")


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    return compiled if request.param == "compiled" else _reference_lexical


def pack(bag: dict[int, int]) -> bytes:
    return b"".join(_reference_lexical.TERM.pack(term, often, 0) for term, often in bag.items())


def filled(module, *bags: dict[int, int]):
    postings = module.Postings()
    for row, bag in enumerate(bags):
        assert postings.add(pack(bag)) == row
    return postings


def scored(postings, terms, live=None, weights=None) -> list[float]:
    live = bytearray([1] * len(postings)) if live is None else live
    rows, length = postings.totals(live)
    out = array("f", bytes(4 * len(postings)))
    weights = array("f", weights or [1.0] * len(terms))
    postings.score(array("Q", terms), weights, live, rows, length / max(rows, 1), K1, B, out)
    return list(out)


def bm25(bags, terms, live) -> list[float]:
    """Stated once more, from the formula and from the bags."""
    there = [bag for bag, here in zip(bags, live, strict=True) if here]
    mean = sum(sum(bag.values()) for bag in there) / max(len(there), 1)
    out = []
    for bag, here in zip(bags, live, strict=True):
        score = 0.0
        for term in terms:
            df = sum(term in other for other in there)
            if here and term in bag:
                idf = math.log(1 + (len(there) - df + 0.5) / (df + 0.5))
                length = sum(bag.values()) / mean
                score += idf * bag[term] * (K1 + 1) / (bag[term] + K1 * (1 - B + B * length))
        out.append(score)
    return out


BAGS = ({1: 1, 2: 3}, {1: 2, 9: 1}, {3: 1}, {2: 1, 9: 1, (1 << 64) - 1: 7})


def test_scores_are_bm25s(module) -> None:
    postings = filled(module, *BAGS)
    assert scored(postings, [1, 9, 77]) == pytest.approx(bm25(BAGS, [1, 9, 77], [1] * 4), rel=1e-6)
    assert scored(postings, [1 << 63]) == [0.0] * 4


def test_a_dead_row_counts_for_no_frequency_and_no_mean(module) -> None:
    postings, live = filled(module, *BAGS), bytearray([1, 0, 1, 1])
    assert scored(postings, [1, 9], live) == pytest.approx(bm25(BAGS, [1, 9], live), rel=1e-6)
    assert postings.totals(live) == (3, 4 + 1 + 9)
    live[1] = 1
    assert scored(postings, [1, 9], live) == pytest.approx(bm25(BAGS, [1, 9], live), rel=1e-6)


def test_weights_scale_a_terms_share(module) -> None:
    postings = filled(module, *BAGS)
    assert scored(postings, [9], weights=[0.5]) == pytest.approx([s / 2 for s in scored(postings, [9])])


def test_frequencies_and_lengths_are_capped_and_a_frequency_of_0_is_none(module) -> None:
    postings = filled(module, {5: 65_535, 6: 65_535}, {5: 255}, {5: 0, 7: 1})
    lengths = [postings.totals(live)[1] for live in (b"\1\0\0", b"\0\1\0", b"\0\0\1")]
    assert lengths == [65_535, 255, 1]
    assert postings.postings == 4
    capped = filled(module, {5: 255, 6: 65_535}, {5: 255}, {7: 1})
    assert scored(postings, [5]) == scored(capped, [5])


def test_shares_weigh_the_terms_a_row_holds_by_rarity(module) -> None:
    postings, live = filled(module, *BAGS), bytearray([1] * 4)
    common, rare = math.log(1 + 2.5 / 2.5), math.log(1 + 4.5 / 0.5)
    shares = postings.shares(array("Q", [1, 77]), live, array("I", [0, 2]))
    assert shares == pytest.approx([common / (common + rare), 0.0])
    assert postings.shares(array("Q"), live, array("I", [0])) == [0.0]


def test_few_counts_the_terms_that_few_live_rows_hold(module) -> None:
    postings = filled(module, {1: 1, 2: 1}, {1: 1, 3: 2}, {1: 1, 3: 1}, {4: 1})
    asked, live = pack({1: 1, 2: 5, 3: 1, 4: 1, 99: 1}), bytearray([1] * 4)
    assert [postings.few(asked, live, most, 0) for most in (0, 1, 2, 3)] == [0, 2, 3, 4]
    live[2] = live[3] = 0
    assert [postings.few(asked, live, most, 2) for most in (1, 2)] == [2, 3]
    assert module.Postings().few(asked, b"", 3, 0) == 0
    with pytest.raises(ValueError, match="live must have"):
        postings.few(asked, b"", 3, 0)
    with pytest.raises(ValueError, match="multiple of 12"):
        postings.few(b"\0" * 13, live, 3, 0)


def test_mark_writes_to_every_holder_once(module) -> None:
    postings = filled(module, *BAGS)
    out = array("f", bytes(16))
    postings.mark(array("Q", [1, 9, 500]), 0.5, out)
    assert list(out) == [0.5, 0.5, 0.0, 0.5]


def test_what_is_kept_answers_as_if_the_rest_had_never_been(module) -> None:
    postings = filled(module, *BAGS)
    kept = postings.kept(bytearray([1, 0, 0, 1]))
    alone = filled(module, BAGS[0], BAGS[3])
    assert len(kept) == 2
    assert (kept.terms, kept.postings) == (alone.terms, alone.postings)
    for terms in ([1, 2, 9], [(1 << 64) - 1], [3]):
        assert scored(kept, terms) == scored(alone, terms)


def test_bytes_of_either_twin_load_in_either(module) -> None:
    for other in (compiled, _reference_lexical):
        loaded = other.Postings()
        loaded.load_bytes(filled(module, *BAGS).to_bytes())
        assert scored(loaded, [1, 2, 9]) == scored(filled(other, *BAGS), [1, 2, 9])
        assert loaded.add(pack({1: 1})) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:-1],
        lambda b: b + b"\0",
        lambda b: b"XXXX" + b[4:],
        lambda b: b[:4] + b"\xff\xff\xff\x7f" + b[8:],
        lambda b: b[:8] + b"\xff" * 8 + b[16:],
        lambda b: b[:5],
        lambda b: b"",
        lambda b: b[:-4] + b"\0\xff\xff\xff",
    ],
)
def test_bytes_that_are_no_postings_change_nothing(module, damage) -> None:
    postings = filled(module, *BAGS)
    before = scored(postings, [1, 2, 9])
    with pytest.raises(ValueError, match=r"posting|bytes after"):
        postings.load_bytes(damage(filled(module, {1: 1}, {2: 1}).to_bytes()))
    assert scored(postings, [1, 2, 9]) == before


def test_a_postings_list_out_of_order_is_refused(module) -> None:
    head = _reference_lexical.HEAD.pack(_reference_lexical.MAGIC, 2, 1) + bytes(4)
    rows = array("I", [1 << 8 | 1, 0 << 8 | 1]).tobytes()
    with pytest.raises(ValueError, match="out of order"):
        module.Postings().load_bytes(head + _reference_lexical.LIST.pack(7, 2) + rows)


def test_buffers_that_dont_fit_are_refused(module) -> None:
    postings = filled(module, *BAGS)
    live, out = bytearray(4), array("f", bytes(16))
    one = array("Q", [1]), array("f", [1.0])
    with pytest.raises(ValueError, match="multiple of 12"):
        postings.add(b"abc")
    with pytest.raises(ValueError, match="live must have 4 values, got 3"):
        postings.score(*one, bytearray(3), 4, 1.0, K1, B, out)
    with pytest.raises(ValueError, match="scores must have 4 values, got 3"):
        postings.score(*one, live, 4, 1.0, K1, B, array("f", bytes(12)))
    with pytest.raises(ValueError, match="weights must have 1 values, got 0"):
        postings.score(one[0], array("f"), live, 4, 1.0, K1, B, out)
    with pytest.raises(ValueError, match="out must have 4 values, got 0"):
        postings.mark(one[0], 1.0, array("f"))


def test_an_empty_index_knows_nothing(module) -> None:
    postings = module.Postings()
    assert (len(postings), postings.terms, postings.postings) == (0, 0, 0)
    assert postings.totals(b"") == (0, 0)
    assert scored(postings, [1]) == []
    assert len(postings.kept(b"")) == 0


def test_tally_counts_and_takes_back(module) -> None:
    counts = array("I", [0] * 4)
    items = array("H", [1, 3, 3]).tobytes()
    assert module.tally(counts, items, True) == 3
    assert list(counts) == [0, 1, 0, 2]
    assert module.tally(counts, items, False) == 3
    assert list(counts) == [0] * 4
    for bad, add, message in [
        (b"\4\0", True, "must be below 4, got 4"),
        (b"\0\0", False, "was not counted: 0"),
        (b"\0", True, "even number of bytes"),
    ]:
        with pytest.raises(ValueError, match=message):
            module.tally(counts, bad, add)


bags = st.lists(st.dictionaries(st.integers(0, 40), st.integers(0, 300), max_size=8), max_size=30)


@given(bags=bags, terms=st.lists(st.integers(0, 45), unique=True, max_size=6), data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_the_twins_agree_to_the_bit(bags, terms, data) -> None:
    live = bytearray(data.draw(st.lists(st.integers(0, 1), min_size=len(bags), max_size=len(bags))))
    mine, twin = filled(compiled, *bags), filled(_reference_lexical, *bags)
    assert scored(mine, terms, live) == scored(twin, terms, live)
    assert (mine.terms, mine.postings) == (twin.terms, twin.postings)
    assert mine.totals(live) == twin.totals(live)
    rows = array("I", range(len(bags)))
    assert mine.shares(array("Q", terms), live, rows) == twin.shares(array("Q", terms), live, rows)
    asked = pack(dict.fromkeys(terms, 1))
    dead = live.count(0)
    held = [sum(live[row] and bag.get(term, 0) > 0 for row, bag in enumerate(bags)) for term in terms]
    for n in range(5):
        assert (
            mine.few(asked, live, n, dead)
            == twin.few(asked, live, n, dead)
            == sum(0 < one <= n for one in held)
        )
    twin.load_bytes(mine.kept(live).to_bytes())
    assert scored(mine.kept(live), terms) == scored(twin, terms)


def test_a_hundred_thousand_terms_stay_apart() -> None:
    """The table of terms grows, and hashes that differ only in high bits don't fall into one place."""
    postings = compiled.Postings()
    terms = [i << 40 for i in range(50_000)] + list(range(1, 50_001))
    for at in range(0, len(terms), 1000):
        postings.add(pack(dict.fromkeys(terms[at : at + 1000], 1)))
    assert postings.terms == len(terms)
    live = bytearray([1] * len(postings))
    for at, term in list(enumerate(terms))[::97]:
        share = postings.shares(array("Q", [term]), live, array("I", range(len(postings))))
        assert share.index(1.0) == at // 1000
        assert sum(share) == 1.0
