"""What of a long prompt is kept: cause, wish and what goes wrong, wherever they stand in it."""

from __future__ import annotations

import pytest

from context_graph.notes.asked import DETAILS_CHARS, details_of, gist_of

ISSUE = """<!-- Please search before you open an issue.
It should not exist yet. -->
### Description

(last modified by A. Person)

When a basket has three items, its total is shown in exponential notation.

```python
>>> from shop import Basket
>>> Basket(3).total()
'1.00e-200'
```

See https://shop.example/t/1?x=2 for a picture of it.
We use it in eleven shops in two countries, with three kinds of tills.
I suggest using
total = round(total, digits)
in the importer as well.
This is caused by a [cut-off point](https://shop.example/src#L5) in `Basket.total`.
The text should be 0.00 instead.
Versions
Linux-5.15.0-89-generic-x86_64
"""


def test_cause_wish_and_symptom_stay_wherever_they_stand() -> None:
    assert details_of(ISSUE).split(". ") == [
        "When a basket has three items, its total is shown in exponential notation",
        "I suggest using total = round(total, digits) in the importer as well",
        "This is caused by a cut-off point in Basket.total",
        "The text should be 0.00 instead.",
    ]


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        (
            "It would be great if this would work:\n```\n>>> import shop\n>>> shop.total(unit='EUR')\n```",
            "It would be great if this would work: `shop.total(unit='EUR')`.",
        ),
        (
            "Loading the shop fails since we moved.\n\nTraceback (most recent call last):\n"
            '  File "shop.py", line 3, in <module>\n    Basket()\nTypeError: Basket() takes no arguments\n',
            "Loading the shop fails since we moved. TypeError: Basket() takes no arguments.",
        ),
        ("x = [1, 2]\nprint(x)\n", ""),
        ("", ""),
    ],
)
def test_code_stays_where_it_is_the_point(prompt: str, kept: str) -> None:
    assert details_of(prompt) == kept


def test_of_a_long_sentence_the_clause_with_the_wish_stays() -> None:
    text = f"The shop {'counts every item of every basket once more ' * 8}, but the total should be rounded."
    assert details_of(text) == "…the total should be rounded."


def test_a_prompt_without_a_title_keeps_its_first_sentence_and_what_it_asks_for() -> None:
    filler = "There are more modules in this folder than anybody counted so far. " * 4
    prompt = f"Port the shop to Rust. {filler}Don't stop until all tests pass."
    assert gist_of(prompt, 260) == "Port the shop to Rust. Don't stop until all tests pass."


@pytest.mark.parametrize(
    "text", ["word " * 9000, "a=(" * 9000, "```\n" * 5000, ">>> x\n" * 5000, ". " * 9000]
)
def test_what_is_kept_is_bounded(text: str) -> None:
    assert len(details_of(text)) <= DETAILS_CHARS and len(gist_of(text, 260)) <= 260
