"""Pieces, terms and cuts of the compiled encoder and its twin; pieces also against the tokenizers library."""

from __future__ import annotations

import random
import struct
from array import array
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.encoders import TEXTS, encoder, make
from tests.oracles.text import hash_of
from tests.support.examples import examples
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from context_graph.memory.embed import packaged_table

KINDS = ("compiled", "reference")
CHARACTERS = [
    "a",
    "B",
    "é",
    "İ",
    "ß",
    "中",
    "가",
    "́",
    "_",
    ".",
    "/",
    "-",
    "'",
    "@",
    ":",
    ";",
    "7",
    "2023",
    "[SEP]",
    "“",
    "—",
    "€",
    "😀",
    "\u200b",
    "\u2028",
    "\x0b",
]
WORDS = (" ", "\n", "don't", "fooBar", "HTTPServer2", "because", "if", "not", "x" * 41, "```", "- ")
TEXT = st.lists(
    st.one_of(
        st.sampled_from(CHARACTERS),
        st.sampled_from(WORDS),
        st.text(st.characters(max_codepoint=0x2FF), max_size=4),
    ),
    max_size=30,
).map("".join)


@pytest.fixture(params=KINDS)
def coder(request: pytest.FixtureRequest):
    return encoder(request.param)


@cache
def library() -> Tokenizer:
    """BERT's uncased tokenizer over our vocabulary, as tokenizer.json of all-MiniLM-L6-v2 configures it."""
    pieces = bytes(packaged_table().sections["vocabulary"]).decode().split("\n")
    tokenizer = Tokenizer(WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return tokenizer


def terms(encoded) -> dict[int, int]:
    return {term: count for term, count, _ in struct.iter_unpack("<QHH", encoded.terms)}


def pieces_of(coder, text: str) -> list[int]:
    return list(memoryview(coder.encode(text).pieces).cast("H"))


def hashes(*words: str) -> set[int]:
    return {hash_of(word.encode()) for word in words}


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_are_those_of_the_tokenizers_library(coder, text: str) -> None:
    assert pieces_of(coder, text) == library().encode(text, add_special_tokens=False).ids


@given(TEXT)
@settings(max_examples=examples(100), deadline=None)
def test_terms_and_meaning_alone_are_those_of_the_whole(text: str) -> None:
    for coder in (encoder("compiled"), encoder("reference")):
        coder.encode("another text before")
        terms, meaning, whole = coder.terms_of(text), coder.meaning_of(text), coder.encode(text)
        assert terms == whole.terms and len(meaning) == 4 * 256 and whole.embedding.startswith(meaning)


@given(TEXT)
@settings(max_examples=examples(300), deadline=None)
def test_pieces_of_any_text_are_those_of_the_tokenizers_library(text: str) -> None:
    expected = library().encode(text, add_special_tokens=False).ids
    assert pieces_of(encoder("compiled"), text) == expected
    assert pieces_of(encoder("reference"), text) == expected


def test_every_assigned_character_is_cut_as_the_library_does() -> None:
    """Except some 500 of scripts that came to Unicode after the library's tables."""
    different = [
        point
        for point in range(0x20000)
        if not 0xD800 <= point < 0xE000
        and pieces_of(encoder("compiled"), f"a{chr(point)}b")
        != library().encode(f"a{chr(point)}b", add_special_tokens=False).ids
    ]
    assert len(different) < 600
    assert min(different) > 0x590  # nothing in Latin, Greek, Cyrillic


@given(TEXT, st.integers(0, 12))
@settings(max_examples=examples(300), deadline=None)
def test_both_twins_say_the_same_of_any_text(text: str, tokens: int) -> None:
    fast, slow = (encoder(kind) for kind in KINDS)
    a, b = fast.encode(text), slow.encode(text)
    assert (a.terms, a.pieces, a.tokens) == (b.terms, b.pieces, b.tokens)
    assert array("f", a.embedding).tolist() == pytest.approx(array("f", b.embedding).tolist(), abs=1e-5)
    assert fast.cut(text, tokens) == slow.cut(text, tokens)


@pytest.mark.parametrize("text", TEXTS)
def test_both_twins_say_the_same(text: str) -> None:
    """Counts are all different: with equal ones every piece would weigh the same, whatever the formula."""
    fast, slow = (encoder(kind) for kind in KINDS)
    chance = random.Random(text)
    counts = array("I", [int(10 ** chance.uniform(0.0, 5.0)) for _ in range(30522)])
    total = sum(counts)
    for a, b in (
        (fast.encode(text), slow.encode(text)),
        (fast.query(text, counts, total), slow.query(text, counts, total)),
        (fast.query(text, counts, total, 1e-5), slow.query(text, counts, total, 1e-5)),
    ):
        assert (a.terms, a.pieces, a.tokens) == (b.terms, b.pieces, b.tokens)
        assert array("f", a.embedding).tolist() == pytest.approx(array("f", b.embedding).tolist(), abs=1e-5)


def test_a_surrogate_does_no_harm(coder) -> None:
    assert coder.encode("a\ud800b").tokens == coder.encode("ab").tokens


@given(TEXT, st.integers(0, 20))
@settings(max_examples=examples(300), deadline=None)
def test_a_cut_is_a_beginning_of_whole_words_within_the_budget(text: str, tokens: int) -> None:
    coder = encoder("compiled")
    cut = coder.cut(text, tokens)
    assert text.startswith(cut)
    kept = pieces_of(coder, cut)
    assert len(kept) <= tokens
    assert kept == pieces_of(coder, text)[: len(kept)]
    if coder.count(text) <= tokens:
        assert cut == text


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("one two three", 2, "one two"),
        ("one two three", 0, ""),
        ("one  two", 1, "one  "),
        ("the internationalisation of it", 2, "the "),
        ("internationalisations are", 2, "internationalisation"),
        ("ÉCOLE ÉCOLE", 1, "ÉCOLE"),
        ("東京都", 2, "東京"),
    ],
)
def test_where_texts_are_cut(coder, text: str, tokens: int, expected: str) -> None:
    assert coder.cut(text, tokens).rstrip() == expected.rstrip()
    assert coder.count(coder.cut(text, tokens)) <= tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The running dogs", ["run", "dog"]),
        ("getUserName", ["get", "user", "name", "getusername"]),
        ("HTTPServer parseURL", ["http", "server", "httpserver", "pars", "url", "parseurl"]),
        ("foo_bar", ["foo", "bar", "foo_bar"]),
        ("src/app.py", ["src", "app", "py", "src/app.py"]),
        ("3.14 and 2024-05-12", ["3", "14", "3.14", "2024", "05", "12", "2024-05-12"]),
        ("it's don't o'brien", ["don", "o", "brien"]),
        ("Café", ["cafe"]),
        ("東京", ["東", "京"]),
        ("a → b: (c)", ["b", "c"]),
        ("テスト", ["テス", "スト"]),
        ("ログは毎日", ["ロク", "クは", "毎", "日"]),  # accents go: ク for グ
        ("Reactで", ["react", "て"]),
        ("배포는", ["\u1107\u1162\u1111\u1169", "\u1111\u1169\u1102\u1173\u11ab"]),  # syllables, as Jamo
        ("한", ["\u1112\u1161\u11ab"]),
        ("5432번 API는", ["5432", "\u1107\u1165\u11ab", "api", "\u1102\u1173\u11ab"]),
        ("สาขา", ["สา", "าข", "ขา"]),
        ("foo_テスト_bar", ["foo", "テス", "スト", "bar", "foo_テスト_bar"]),
        ("ｶﾅ", ["ｶﾅ"]),
    ],
)
def test_which_terms_a_text_has(coder, text: str, words: list[str]) -> None:
    assert set(terms(coder.encode(text))) == hashes(*words)


def test_terms_are_counted_and_in_order_of_appearance(coder) -> None:
    found = terms(coder.encode("dog cat dogs bird dog"))
    assert list(found.items()) == [(hash_of(b"dog"), 3), (hash_of(b"cat"), 1), (hash_of(b"bird"), 1)]


def test_a_word_is_the_same_after_the_cache_was_emptied() -> None:
    """The cache of words is bounded: what fell out of it is cut and stemmed anew."""
    stems: list[str] = []

    def stem(word: str) -> str:
        stems.append(word)
        return word

    coder = make(__import__("context_graph.kernels.tokens", fromlist=["Encoder"]), stem)
    first = coder.encode("remembered")
    for start in range(0, 40_000, 1000):
        coder.count(" ".join(f"w{i}" for i in range(start, start + 1000)))
    again = coder.encode("remembered")
    assert (again.terms, again.pieces, again.embedding) == (first.terms, first.pieces, first.embedding)
    assert stems.count("remembered") == 2
    assert stems.count("w39999") == 1


def test_a_query_weighs_its_pieces_by_their_rarity(coder) -> None:
    """REQ-CORE-015: a piece that the store is full of says little."""
    pieces = {word: pieces_of(coder, word)[0] for word in ("dog", "violin")}
    counts = array("I", bytes(4 * 30522))
    counts[pieces["dog"]] = 1000
    asked = array("f", coder.query("dog violin", counts, 1000).embedding)[:256]
    plain = {word: array("f", coder.encode(word).embedding)[:256] for word in pieces}
    dot = {word: sum(a * b for a, b in zip(asked, row, strict=True)) for word, row in plain.items()}
    assert dot["violin"] > 0.99 * 0.15 > dot["dog"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda coder: coder.query("x", array("I", [1]), 1), "counts must have 30522 values, got 1"),
        (lambda coder: coder.query("x", array("I", bytes(4 * 30522)), 1, 0.0), "a must be above 0, got 0.0"),
        (lambda coder: coder.cut("x", -1), "tokens must be at least 0, got -1"),
    ],
)
def test_what_is_refused(coder, call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(coder)


def test_a_table_of_another_size_is_refused() -> None:
    from tests.oracles import tokens as _reference_tokens

    from context_graph.kernels import tokens
    from context_graph.model.spaces import BEGINS, WEIGHTS
    from context_graph.spaces.reading import BAGS

    rest = None, BAGS, BEGINS, WEIGHTS
    for module in (_reference_tokens, tokens):
        with pytest.raises(ValueError, match="rows must have 512 values, got 3"):
            module.Encoder(b"[UNK]\na", b"123", b"", b"", [(b"", b"", b"")] * 2, (), str, *rest)
        with pytest.raises(ValueError, match=r"\[UNK\] is missing"):
            module.Encoder(b"a\nb", b"", b"", b"", [], (), str, *rest)
