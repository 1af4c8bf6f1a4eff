"""What an event's bags hold, on both implementations."""

from __future__ import annotations

import math
import zlib
from importlib import import_module
from types import ModuleType

import pytest
from tests.oracles import features as _reference_features

STOP = [b"the", b"python", b"test", b"self"]
HEADS = [b"def", b"class", b"import", b"from"]


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    """Imported by full name: no fallback can turn the compiled one into its twin."""
    compiled = request.param == "compiled"
    return import_module("context_graph.kernels.features") if compiled else _reference_features


@pytest.fixture
def scan(module):
    """bag(name, input, output) -> {bucket: weight} of one event."""
    event = module.EventFeatures(STOP, HEADS)

    def bag(name: str, given: str | bytes, output: str | bytes = b"") -> dict[int, float]:
        event.scan(*(text.encode() if isinstance(text, str) else text for text in (given, output)))
        row = module.BAGS.index(name)
        start, end = row * module.BUCKETS, row * module.BUCKETS + event.counts[row]
        return dict(zip(event.buckets[start:end], event.values[start:end], strict=True))

    return bag


def buckets(*tokens: str | bytes) -> set[int]:
    raw = (token.encode() if isinstance(token, str) else token for token in tokens)
    return {zlib.crc32(token) % 4096 for token in raw}


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("word", "Fix parcelTariff, the QUOTE_2!", ["fix", "parceltariff", "quote_2"]),
        ("word", "a b2 3rd _x", ["b2", "rd", "_x"]),
        (
            "stem",
            "parcelTariff HTTPServer zone_table ab",
            ["parce", "tarif", "http", "serve", "zone", "table"],
        ),
        ("expanded", "tariff", ["tariff", "~tari"]),
        ("code", "parcelTariff zone_table Parcel PARCEL _private", ["parcelTariff", "zone_table"]),
        ("proper", "ParcelTariff Quote QUOTE quote The", ["ParcelTariff", "Quote"]),
        ("dotted", "self.zone.price os.path. x", ["self.zone.price", "os.path"]),
        ("defined", "def quote(self): return\nimport harbor.tariff as ht", ["quote", "harbor.tariff"]),
        ("pair", "heavy surcharge, zone", ["heavy surcharge", "surcharge zone"]),
        ("pair", "heavy the surcharge zone", ["surcharge zone"]),
        ("path", "see ./harbor/tariff/quote.py:12", ["harbor", "harbor/tariff", "harbor/tariff/quote.py"]),
        (
            "package",
            "see ./Harbor/tariff/quote.py and os.path.join, x/y/z",
            ["harbor", "tariff", "os", "path"],
        ),
        ("file", "harbor/Quote.test.py a/.gitignore a/b/zones.json and q", ["quote", ".gitignore", "zones"]),
        (
            "error",
            "ValueError: E501, ENOENT; an Error, Exit, E5x2, MyException",
            ["ValueError", "E501", "ENOENT", "MyException"],
        ),
        ("path", "run setup.py or 3.14 or self.quote_of_all", ["setup.py"]),
        ("trigram", "Ab \n\tc", ["ab ", "b c"]),
        ("intent", "parcel", ["parce"]),
    ],
)
def test_a_bag_holds_these_tokens_of_the_input(scan, name: str, text: str, tokens: list[str]) -> None:
    assert set(scan(name, text)) == buckets(*tokens)


@pytest.mark.parametrize("name", ["trigram", "intent"])
def test_the_output_is_no_part_of_what_was_intended(scan, name: str) -> None:
    assert scan(name, "", "parcel tariff") == {}


@pytest.mark.parametrize("name", ["word", "stem", "expanded", "code", "proper", "pair"])
def test_stop_words_are_left_out(scan, name: str) -> None:
    assert scan(name, "The Python test self", "the python") == {}


def test_a_name_is_defined_only_on_the_line_of_its_head_word(scan) -> None:
    assert scan("defined", "class\nParcel, from, quote; def: zone") == {}
    assert set(scan("defined", "class \t Parcel")) == buckets("Parcel")


def test_words_count_one_plus_the_logarithm_of_how_often_and_twice_in_the_input(scan) -> None:
    found = scan("word", "tariff", "zone zone zone island")
    raw = {"tariff": 1 + math.log(2), "zone": 1 + math.log(3), "island": 1.0}
    length = math.sqrt(sum(weight**2 for weight in raw.values()))
    for word, weight in raw.items():
        assert found[zlib.crc32(word.encode()) % 4096] == pytest.approx(weight / length, abs=1e-6)


def test_every_bag_has_unit_length(module) -> None:
    event = module.EventFeatures(STOP, HEADS)
    event.scan(
        b"def quote(self): return harbor.tariff.ParcelTariff", b"harbor/tariff/quote.py zone_table KeyError"
    )
    for row, name in enumerate(module.BAGS):
        values = event.values[row * module.BUCKETS :][: event.counts[row]]
        assert math.hypot(*values) == pytest.approx(1.0, abs=1e-5), name


def test_a_leaf_weighs_more_than_the_folders_above_it(scan) -> None:
    found = scan("path", "", "a/b/c.py a/b/d.py a/b/e.py")
    (leaf,) = buckets("a/b/c.py")
    (folder,) = buckets("a/b")
    (top,) = buckets("a")
    assert found[leaf] == pytest.approx(found[top], abs=1e-6)  # three thirds at the top
    assert found[folder] > found[leaf]  # three halves


def test_accents_are_letters_and_symbols_are_blanks(scan) -> None:
    assert set(scan("word", "größe café—naïve “zitat” → ✓")) == buckets("größe", "café", "naïve", "zitat")


def test_ideographs_are_words_of_their_own_and_hangul_has_its_blanks(scan) -> None:
    assert set(scan("word", "税率。修正")) == buckets("税", "率", "修", "正")
    assert set(scan("word", "관세 수정")) == buckets("관세", "수정")


@pytest.mark.parametrize("raw", [b"\xff\xfe\x80tariff", b"\xe2\x80", b"\xf0\x9f", b"\xc2", b"\x00tariff\x00"])
def test_bytes_that_are_no_utf8_are_read_all_the_same(scan, raw: bytes) -> None:
    assert len(scan("word", raw, raw)) <= 2


def test_what_comes_after_8192_bytes_is_not_read(scan) -> None:
    filler = b" " * 8190
    assert set(scan("word", filler + b"ab cd")) == buckets("ab")
    assert set(scan("word", "税".encode() * 4000)) == buckets("税", b"\xe7\xa8")  # 8192 is inside a character


def test_a_scan_forgets_the_event_before_it(scan) -> None:
    scan("word", "tariff zone island", "surcharge")
    assert set(scan("word", "bloom")) == buckets("bloom")
    assert scan("word", "", "") == {}


def test_nothing_but_bytes_is_read(module) -> None:
    event = module.EventFeatures(STOP, HEADS)
    for arguments in (("text", b""), (b"", bytearray(b"x")), (b"", None)):
        with pytest.raises(TypeError):
            event.scan(*arguments)
    with pytest.raises(TypeError, match="words must be bytes"):
        module.EventFeatures(["the"], HEADS)


def test_a_word_list_has_its_limit(module) -> None:
    words = [str(i).encode() for i in range(2049)]
    with pytest.raises(ValueError, match="2048"):
        module.EventFeatures(words, HEADS)
    assert module.EventFeatures(words[:2048] + words[:5] + [b""], HEADS) is not None


def test_a_full_bag_stays_inside_its_row(module) -> None:
    """Distinct three-letter words fill a bag; the next bag's first bucket must not be overwritten."""
    event = module.EventFeatures([], [])
    letters = "abcdefghijklmnopqrst"
    words = " ".join(a + b + c for a in letters for b in letters for c in letters).encode()
    event.scan(words[:8192], words[8192:16384])
    counts = list(event.counts)
    assert 1500 < counts[module.BAGS.index("word")] <= 4096
    assert all(0 <= count <= 4096 for count in counts)
