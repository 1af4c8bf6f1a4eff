"""What is read out of an assistant's last words."""

from __future__ import annotations

import pytest

from context_graph.notes.message import (
    best_of,
    is_polite,
    most_informative,
    role_of_heading,
    units_of,
    worth_of,
)

REPORT = """Perfect! I've successfully fixed the issue. Here's a summary of what was done:

## Root Cause

The importer read `rates.csv` with the locale's encoding, so a file from Windows lost its umlauts.

## Changes

1. **`shop/rates.py`**: `load_rates()` opens the file as UTF-8 with a BOM
2. Added `test_rates_with_bom` to `tests/test_rates.py`

```python
def load_rates(path): ...
```

I decided to keep the CSV format instead of JSON because accounting edits it by hand.

All 41 tests pass.

### Next steps

- The yearly report is not migrated

Let me know if you need anything else!
"""


def roles(message: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for unit in units_of(message):
        found.setdefault(unit.role, []).append(unit.text)
    return found


def test_a_report_is_read_by_its_sections_and_sentences() -> None:
    found = roles(REPORT)
    assert found["cause"] == [
        "The importer read `rates.csv` with the locale's encoding, so a file from Windows lost its umlauts."
    ]
    assert found["fix"][0].startswith("`shop/rates.py`: `load_rates()` opens the file as UTF-8")
    assert found["decision"][0].startswith("I decided to keep the CSV format instead of JSON")
    assert found["test"] == ["All 41 tests pass."]
    assert found["left"] == ["The yearly report is not migrated"]
    told = " ".join(unit.text for unit in units_of(REPORT))
    assert "summary" not in told and "Let me know" not in told and "def load_rates" not in told


@pytest.mark.parametrize(
    "text",
    [
        "Done!",
        "Perfect.",
        "Here's what I changed:",
        "Let me know if you would like anything else.",
        "I've successfully completed all the tasks.",
        "The implementation is now complete.",
        "Would you like me to commit this?",
        "以下是修改摘要",
    ],
)
def test_what_only_announces_or_is_polite_says_nothing(text: str) -> None:
    assert is_polite(text) or units_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I've fixed `parse_date` in dates.py, which took a week's first day for its last.",
        "The lock is released before the callback runs.",
        "Done by moving the check into the constructor of Order.",
    ],
)
def test_what_says_something_stays(text: str) -> None:
    assert units_of(text)


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("## Ursache\n\nDer Zähler `hits` wird nie zurückgesetzt und läuft über.", "cause"),
        ("## Solución\n\nAhora `cerrar()` espera al hilo de `escritura`.", "fix"),
        ("## 原因\n\n`buffer` 在写入之前已经被释放了。", "cause"),
        ("### Следующие шаги\n\nПеревести `report.py` на новый формат.", "left"),
    ],
)
def test_sections_have_names_in_other_languages(text: str, role: str) -> None:
    assert [unit.role for unit in units_of(text)] == [role]


@pytest.mark.parametrize(
    ("heading", "role"),
    [
        ("Debugging the parity check", ""),
        ("Contextual menus", ""),
        ("Greatest hits", ""),
        ("Prefixes", ""),
        ("Interchange of files", ""),
        ("Redesigned pages", ""),
        ("Bugs", "cause"),
        ("Bugfixes in the parser", "fix"),
        ("Implementation", "fix"),
        ("Changes made", "fix"),
        ("Modifications", "fix"),
        ("Unit tests:", "test"),
        ("Trade-offs", "decision"),
        ("Follow-ups", "left"),
        ("Fehlerursachen", "cause"),
        ("Änderungen", "fix"),
        ("Исправления", "fix"),
        ("本次修改内容", "fix"),
        ("残りの作業", "left"),
    ],
)
def test_a_heading_counts_by_its_whole_words(heading: str, role: str) -> None:
    assert role_of_heading(heading) == role


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("All 9 tests pass. I did not run the slow ones.", "I did not run the slow ones."),
        ("I could not try it on a phone, so have a look.", "I could not try it on a phone, so have a look."),
        (
            "`Cache` is bounded now. Not verified: the agent has no GPU.",
            "Not verified: the agent has no GPU.",
        ),
        ("Auf Windows nicht getestet.", "Auf Windows nicht getestet."),
        ("C'est corrigé. Je n'ai pas pu tester sur iOS.", "Je n'ai pas pu tester sur iOS."),
        ("Está arreglado. No he podido probarlo en Safari.", "No he podido probarlo en Safari."),
        ("测试全部通过。还没有在手机上试过。", "还没有在手机上试过。"),
        ("直しました。実機では確認できません。", "実機では確認できません。"),
        ("A hit was found in the cache. 検証しています。", ""),
        ("The token is verified before each call to `send`.", ""),
    ],
)
def test_what_was_not_tried_is_left_to_do(text: str, left: str) -> None:
    assert " ".join(unit.text.strip() for unit in units_of(text) if unit.role == "left") == left


def test_what_a_line_announces_belongs_to_it() -> None:
    assert [unit.text for unit in units_of("The page has been published:\n\nhttps://wiki.example/p/17")] == [
        "The page has been published: https://wiki.example/p/17"
    ]


def test_the_most_telling_units_stay_whole_and_in_order() -> None:
    units = units_of(REPORT)
    assert [unit.role for unit in best_of(units, 110)] == ["cause"]
    assert next(unit.role for unit in best_of(units, 300)) == "cause"
    assert worth_of(units) > worth_of(units_of("The cache is fine. The rest is fine too, as it was before."))


def test_words_in_bold_are_what_a_sentence_is_about_but_a_label_is_not() -> None:
    stressed, label, bare = (
        units_of(text)[0].worth
        for text in (
            "**Water lilies** are thought to be the oldest of them",
            "**Lilies:** they are thought to be the oldest of them",
            "Water lilies are thought to be the oldest of them",
        )
    )
    assert stressed > label == bare


def test_of_a_verse_nothing_is_told_and_of_a_short_answer_all() -> None:
    verse = "Soft falls the rain on the garden wall.\nLeaves turn their faces to the light above.\n" * 4
    assert most_informative(units_of(verse)) == []
    assert [unit.text for unit in most_informative(units_of("Rounded half up, as the tax office wants it."))]
