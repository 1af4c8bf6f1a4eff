"""What a query is read for, and which memories ask."""

from __future__ import annotations

from array import array

import pytest

from context_graph.memory.embed import default_provider
from context_graph.memory.index.blend import DEFAULT, hashes, lead_of, names_in, read
from context_graph.memory.index.rows import asks


def wanted(text: str):
    provider = default_provider()
    return read(text, provider, array("I", bytes(4 * provider.vocabulary_size)), 0, DEFAULT)


@pytest.mark.parametrize(
    "text",
    [
        "What breed is it?",
        "Nice! How are you?",
        "Ada: did it work?? I hope so.",
        'He said "why not?"',
        "When?\nNo idea.",
    ],
)
def test_a_sentence_that_asks(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "See https://example.org/find?q=1&lang=en",
        "x = a ? b : c;",
        "val name: String? = null",
        "def f(a, b): return re.match(r'(a|b)?', a)",
        "select * from t where a = ?",
        "foo?.bar()",
        "no question at all",
        "?",
        "",
        "?" * 5000,
    ],
)
def test_a_question_mark_that_asks_nothing(text: str) -> None:
    assert not asks(text)


def test_names_are_capitalised_words_within_a_sentence() -> None:
    assert names_in("What did Caroline's sister tell Bob? Nobody knows Élodie") == [
        "Caroline",
        "Bob",
        "Élodie",
    ]
    assert names_in("Where is MyClass or HTTPServer or foo_Bar, and does The API know I asked") == []
    assert names_in("") == names_in("One") == []
    assert len(names_in("a " + " ".join(f"Na{chr(97 + i)}" for i in range(20)))) == 8


def test_the_first_line_weighs_more_where_more_follow() -> None:
    assert lead_of("one line") == lead_of("\n one line \n") == ""
    assert lead_of("\nthe title\nthe rest") == "the title"
    one, long = (
        wanted("the big parser of the tool crashes badly"),
        wanted("parser crashes\nit happened with an import today"),
    )
    assert set(one.weights) == {1.0} and one.plain
    title = set(hashes(default_provider().encode("parser crashes").terms))
    assert {w for term, w in zip(long.terms, long.weights, strict=True) if term in title} == {DEFAULT.lead}
    assert {w for term, w in zip(long.terms, long.weights, strict=True) if term not in title} == {1.0}
    assert not long.plain
    assert sum(x * x for x in long.dense) == pytest.approx(0.15, abs=1e-4)
    code = wanted("```python\nparser crashes with an import")
    assert set(code.weights) == {1.0}


def test_only_several_plain_words_lean_on_the_meaning() -> None:
    assert wanted("convert a list of strings to integers quickly in python").plain
    assert not wanted("where did Ada put the keys of the car").plain
    assert not wanted("8443").plain and not wanted("React").plain
    assert not wanted("データベースはどこにありますか").plain
