"""Memories in few tokens: never more than allowed, in their own words, each with its id."""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.memory.context.distill import LEAD, Candidate, Mode, distilled, fold, raw_text, short_id
from context_graph.memory.embed import default_provider
from context_graph.model.memory import MemoryNode
from context_graph.text.sentences import Kind, segments

TOKENIZER = default_provider()
MODES = (Mode.RAW, Mode.NARRATIVE, Mode.STRUCTURED, Mode.CODE_FOCUSED)
CODE = "```python\ndef check(token):\n    return jwt.decode(token, KEY)\n```"
DAY_MS = 86_400_000


def node(number: int, content: str, *, topic: int | None = None, day: int = 0) -> MemoryNode:
    return MemoryNode(
        id=UUID(int=number << 96 | number),
        content=content,
        rationale="needed by a test",
        created_at_ms=day * DAY_MS,
        last_accessed_ms=0,
        semantic_cluster=None if topic is None else UUID(int=topic),
    )


def candidates(*contents: str) -> list[Candidate]:
    return [Candidate(node(i + 1, text), 1.0 - 0.05 * i) for i, text in enumerate(contents)]


def told(query: str, found: Sequence[Candidate], budget: int = 200, mode: Mode = Mode.NARRATIVE):
    made = distilled(query, found, budget, mode, TOKENIZER)
    assert TOKENIZER.count_tokens(made.text) <= budget
    return made


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_what_fits_is_told_raw_by_default() -> None:
    """REQ-CORE-016: auto."""
    found = candidates("JWT tokens expire after a day.", "Deploys run from main.")
    made = told("tokens", found, 200, Mode.AUTO)
    assert made.mode is Mode.RAW
    assert (
        made.text == "[node_00000001] JWT tokens expire after a day.\n[node_00000002] Deploys run from main."
    )
    assert made.node_ids == (found[0].node.id, found[1].node.id)


def test_what_does_not_fit_is_told_by_what_it_is() -> None:
    """REQ-CORE-016, AC-CORE-03-02: auto chooses code_focused, structured or narrative."""
    prose = "The login service checks the password first. " * 8
    assert told("login", candidates(prose, prose + "Then it signs."), 60, Mode.AUTO).mode is Mode.NARRATIVE
    code = f"Checking:\n{CODE}\n" * 4
    assert told("check", candidates(code), 60, Mode.AUTO).mode is Mode.CODE_FOCUSED
    grouped = [Candidate(node(i, f"{prose} Note {i}.", topic=i % 3), 0.9) for i in range(1, 8)]
    assert told("login", grouped, 100, Mode.AUTO).mode is Mode.STRUCTURED


def test_narrative_takes_the_sentences_that_answer() -> None:
    """REQ-CORE-016: extractive, by the query."""
    text = (
        "Notes of Monday. The team lunch was nice. JWT tokens are rotated daily by a cron job. "
        "It was raining. Somebody brought cake. The old printer is broken."
    )
    made = told("how are tokens rotated", candidates(text))
    assert made.text == (f"{LEAD} [node_00000001] JWT tokens are rotated daily by a cron job.")


def test_what_follows_a_question_is_credited_with_its_words() -> None:
    """REQ-CORE-016: the answer may share no word with the query."""
    text = "Hello all. How are tokens rotated in production? A cron job does it. The cat slept. It rained."
    made = told("tokens rotated production", candidates(text))
    assert "A cron job does it." in made.text
    assert "The cat slept" not in made.text


def test_what_is_said_already_is_not_said_again() -> None:
    """REQ-CORE-016: maximal marginal relevance."""
    found = candidates(
        "JWT tokens are rotated daily by a cron job.",
        "The cron job rotates JWT tokens daily.",
        "Partners rotate their tokens by hand, every quarter.",
    )
    lead = TOKENIZER.count_tokens(LEAD)
    made = told("how are tokens rotated", found, lead + 50)
    assert made.node_ids == (found[0].node.id, found[2].node.id)


def test_memories_that_say_the_same_are_folded_with_their_number() -> None:
    """REQ-CORE-016: near-duplicates."""
    found = candidates(
        "JWT tokens expire after 24 hours.",
        "JWT tokens expire after 24 hours",
        "JWT tokens expire after 48 hours.",
        "jwt tokens expire after 24 hours.",
    )
    kept = fold(found)
    assert [candidate.node.id for candidate in kept] == [found[0].node.id, found[2].node.id]
    assert kept[0].alike == (found[1].node.id, found[3].node.id)
    assert told("token expiry", kept, mode=Mode.RAW).text.startswith("[node_00000001] (+2 alike) JWT tokens")


def test_structured_lists_by_topic_and_in_order_of_time() -> None:
    """REQ-CORE-016."""
    found = [
        Candidate(node(1, "Login: tokens are signed with RS256.", topic=7, day=3), 0.9),
        Candidate(node(2, "Deploys of the login service run from main.", topic=8, day=2), 0.8),
        Candidate(node(3, "Login: sessions end after a day.", topic=7, day=1), 0.7),
    ]
    assert told("login", found, 200, Mode.STRUCTURED).text.splitlines() == [
        "## Login: tokens are signed with RS256",
        "- [node_00000003] 1970-01-02: Login: sessions end after a day.",
        "- [node_00000001] 1970-01-04: Login: tokens are signed with RS256.",
        "## Deploys of the login service run from main",
        "- [node_00000002] 1970-01-03: Deploys of the login service run from main.",
    ]


def test_structured_lists_by_day_where_topics_divide_nothing() -> None:
    """REQ-CORE-016."""
    found = [
        Candidate(node(number, f"Login note {number}.", topic=number, day=day), 0.9)
        for number, day in ((1, 5), (2, 4), (3, 5))
    ]
    headings = [
        line for line in told("login", found, 200, Mode.STRUCTURED).text.splitlines() if line[0] == "#"
    ]
    assert headings == ["## 1970-01-06", "## 1970-01-05"]


def test_code_stays_whole_and_comes_first() -> None:
    """REQ-CORE-016: code_focused."""
    found = candidates("Tokens are checked by the gateway.", f"Token check:\n{CODE}\nIt raises on expiry.")
    made = told("token check", found, 200, Mode.CODE_FOCUSED)
    assert made.text.startswith(f"[node_00000002] Token check:\n{CODE}\n- [node_00000001]")
    narrow = TOKENIZER.count_tokens(CODE)
    assert CODE not in told("token check", found, narrow, Mode.CODE_FOCUSED).text


def test_code_is_not_torn_apart_by_the_other_forms() -> None:
    """REQ-CORE-016: sentences are chosen from prose where there is some."""
    made = told("token check", candidates(f"The token check is short.\n{CODE}"))
    assert made.text == f"{LEAD} [node_00000001] The token check is short."
    assert "jwt.decode" in told("token check", candidates(CODE)).text


@pytest.mark.parametrize("mode", MODES)
def test_where_not_one_sentence_fits_the_best_memory_is_cut(mode) -> None:
    """REQ-CORE-016: some answer is better than none."""
    made = told("login", candidates("login " * 500), 60, mode)
    assert made.text.endswith("…")
    assert 40 <= TOKENIZER.count_tokens(made.text) <= 60
    assert len(made.node_ids) == 1


@pytest.mark.parametrize("mode", MODES)
def test_nothing_found_is_nothing_told(mode) -> None:
    """EC-CORE-004."""
    assert told("login", [], 100, mode).node_ids == ()


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=300),
        st.lists(
            st.sampled_from(
                ["login", "token", "the", "expires.", "Deploy,", "naïve", "漢字", "x=1;", "-", "item\n"]
            ),
            max_size=60,
        ).map(" ".join),
        st.sampled_from(["login " * 300, "x" * 500, f"See:\n{CODE}\n" * 3, "- a\n- b\n\n# H\ntext", "…"]),
    ),
    min_size=0,
    max_size=8,
)


@settings(max_examples=examples(120), deadline=None)
@given(TEXTS, st.integers(50, 400), st.sampled_from([Mode.AUTO, *MODES]), st.text(max_size=40))
def test_no_text_ever_exceeds_its_budget(texts, budget, mode, query) -> None:
    """REQ-CORE-016: counted by the tokenizer, over any content."""
    found = fold(candidates(*(text for text in texts if text.strip())))
    made = told(query, found, budget, mode)
    assert made.mode in MODES
    for node_id in made.node_ids:
        assert f"[{short_id(node_id)}]" in made.text


@settings(max_examples=examples(60), deadline=None)
@given(TEXTS)
def test_every_word_told_is_a_memorys_own(texts) -> None:
    """REQ-CORE-016: extractive; nothing is made up."""
    found = candidates(*(text for text in texts if text.strip()))
    made = told("login token", found, 300, Mode.NARRATIVE)
    allowed = {word for one in found for word in words(raw_text(one))} | set(words(LEAD))
    cut = made.text.endswith("…")
    spoken = words(made.text)
    assert set(spoken[:-1] if cut else spoken) <= allowed


@given(st.text(max_size=400))
def test_segments_hold_all_words_of_a_text(text) -> None:
    """REQ-CORE-016: whatever a memory says can be told."""
    parts = " ".join(segment.text for segment in segments(text))
    missing = set(words(text)) - set(words(parts))
    assert all(word.isdigit() and len(word) <= 3 for word in missing)  # the numbers of list items


def test_segments_tell_code_items_and_sentences_apart() -> None:
    """REQ-CORE-016."""
    text = "\n".join(
        [
            "# Login",
            "Tokens are signed, e.g. with RS256. See `auth.py`.",
            "",
            "- one item",
            CODE,
            "x = 5 is fine.",
            "",
            "def f(x):",
            "    return x",
        ]
    )
    assert [(part.kind, part.text.splitlines()[0]) for part in segments(text)] == [
        (Kind.ITEM, "Login"),
        (Kind.SENTENCE, "Tokens are signed, e.g. with RS256."),
        (Kind.SENTENCE, "See `auth.py`."),
        (Kind.ITEM, "one item"),
        (Kind.CODE, "```python"),
        (Kind.SENTENCE, "x = 5 is fine."),
        (Kind.CODE, "def f(x):"),
    ]
