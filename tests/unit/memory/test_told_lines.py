"""What a context is told of memories: what to know, since when, and nothing that can leave a quote."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.text.test_quoting import HOSTILE, NOW

from context_graph.memory.context.passages import answers, passage
from context_graph.memory.context.told_lines import LINE_TOKENS, Fenced, Quote, fenced, lead_of
from context_graph.memory.embed import default_provider
from context_graph.model.note import NoteKind
from context_graph.text.quoting import (
    FENCE_CLOSE,
    FENCE_OPEN,
    MAX_FENCED_CHARS,
    TRUST,
    Line,
    day_text,
    words_of,
)

COUNTER = default_provider()
LINE = re.compile(r'- \[[0-9a-f]{8}\] [a-z ]+ on \d{1,2} [A-Z][a-z]{2}(?: \d{4})?: (".*")')
FILES = "django/forms/formsets.py (ManagementForm, BaseFormSet, media, as_p, get_template_name)"
CHANGE = f"""Forms with a template of their own are rendered with the default one. Say why and mend it.
Changed: {FILES}; tests/forms/test_formsets.py; docs/ref/forms.txt; 3 more
Cause: ManagementForm took the template of its class.
Fix: It asks the form's get_template_name.
Tested: 42 tests of formsets pass."""


def show(*contents: str, budget: int = 400, query: str = "") -> Fenced:
    quotes = [
        Quote(f"{number:08x}-0000", content, "import", NOW - 90_000, 0.5)
        for number, content in enumerate(contents)
    ]
    return fenced(quotes, query=query, budget=budget, now_ms=NOW, count=COUNTER.count_tokens)


def check(shown: Fenced, count: int) -> list[str]:
    """The contents in a fenced text, after proving that it has the form it must have."""
    lines = shown.text.split("\n")
    assert (lines[0], lines[-1]) == (FENCE_OPEN, FENCE_CLOSE)
    assert len(lines) == count + 3, "one line a memory: a label, the memories, two tags"
    assert len(re.findall(r"<[A-Za-z/!?]", shown.text)) == 2, "no tag but the two of ours"
    matches = [LINE.fullmatch(line) for line in lines[2:-1]]
    assert all(matches)
    return [json.loads(match[1]) for match in matches if match]


@pytest.mark.parametrize("content", HOSTILE)
def test_no_text_can_break_the_fence(content: str) -> None:
    """Backticks, tags, quotes, `ignore previous instructions`, invisible characters."""
    (inside,) = check(show(content), 1)
    assert all(character.isprintable() or character == "\n" for character in inside)
    if content.isascii() and content.isprintable():
        assert inside == content, "what is harmless is quoted as it is"


def test_what_stands_around_the_quotes_asks_for_nothing() -> None:
    """Stated, never told: no imperative, no `you`, and the label says that it is data."""
    label = show("anything").text.split("\n")[1]
    assert "quoted as data" in label and "may be wrong or out of date" in label
    (field,) = TRUST.values()
    assert field == "untrusted data"
    for said in (label, field):
        assert not re.search(r"(?i)\b(you|your|must|should|please|use|follow|remember|always|never)\b", said)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=900), min_size=1, max_size=12
    ),
    st.integers(0, 600),
)
def test_the_budget_holds_exactly_whatever_is_quoted(contents: list[str], budget: int) -> None:
    """REQ-CORE-016's rule for a budget, for what comes unasked: fence and label are counted too."""
    shown = show(*contents, budget=budget)
    assert shown.tokens <= budget and shown.tokens == COUNTER.count_tokens(shown.text)
    assert len(shown.text) <= MAX_FENCED_CHARS
    if shown.text:
        check(shown, len(shown.shown))
    else:
        assert shown.shown == () and shown.tokens == 0


def test_more_than_the_client_inlines_is_never_told_however_few_its_tokens() -> None:
    """Claude Code puts 10,000 characters of a hook's text before the model and the rest into a file."""
    words = (
        "characterization",
        "internationalization",
        "responsibilities",
        "misunderstanding",
        "straightforward",
    )
    contents = [" ".join(f"{word} {words[n % 5]}" for n in range(6)) for word in words for _ in range(20)]
    shown = show(*(f"{number}: {text}" for number, text in enumerate(contents)), budget=20_000)
    assert COUNTER.count_tokens(shown.text) < 10_000, "so it was not the budget that ended it"
    assert 0 < len(shown.shown) < len(contents) and 7_000 < len(shown.text) < 10_000


def test_the_best_come_first_and_what_does_not_fit_is_left_out_whole() -> None:
    shown = show(
        *(f"Service {name} listens on port {8000 + n}." for n, name in enumerate("abcdefgh")), budget=120
    )
    ids = [one.node_id for one in shown.shown]
    assert ids == sorted(ids) and 1 < len(ids) < 8
    assert all(text.endswith(".") for text in check(shown, len(ids)))


def test_of_a_long_memory_the_sentences_that_answer_are_shown() -> None:
    filler = [f"Unrelated remark number {number} about the weather in the mountains." for number in range(60)]
    filler[30] = "The staging port is 8443."
    content = " ".join(["Notes of the platform team.", *filler])
    (inside,) = check(show(content, query="which port does staging use"), 1)
    assert inside.startswith("Notes of the platform team.") and "The staging port is 8443." in inside
    assert "…" in inside and len(inside) < len(content) / 3


@pytest.mark.parametrize(
    ("first", "filler", "answer", "query"),
    [
        (
            "平台团队的笔记。",
            "第{}条：关于山区天气的无关备注。",
            "测试数据库监听五四三三端口。",
            "数据库的端口",
        ),
        (
            "チームのメモ。",
            "{}番：山の天気の話。",
            "データベースはポート5433で待つ。",
            "データベースのポートは？",
        ),
        (
            "팀 메모. ",
            "{}번: 산 날씨 이야기이다.\n",
            "데이터베이스는 포트 5433을 쓴다.\n",
            "데이터베이스 포트",
        ),
    ],
)
def test_of_a_long_memory_without_spaces_the_sentences_that_answer_are_shown(
    first: str, filler: str, answer: str, query: str
) -> None:
    remarks = [filler.format(number) for number in range(60)]
    remarks[30] = answer
    content = first + "".join(remarks)
    (inside,) = check(show(content, query=query), 1)
    assert answer.strip() in inside and "…" in inside and len(inside) < len(content) / 2


def quote(content: str, kind: NoteKind | None = None, **more: str) -> Quote:
    return Quote("3f2a9c1d-0000", content, "note", NOW - 90_000, 0.5, kind=kind, **more)


@pytest.mark.parametrize(
    ("one", "lead"),
    [
        (quote("Amounts are in cents", NoteKind.RULE, said_by="user"), "you said"),
        (quote("The user chose: SQLite", NoteKind.DECISION, said_by="user"), "you said"),
        (quote("Plan: two queues", NoteKind.DECISION, said_by="assistant"), "decided here"),
        (quote("Error: x\nSolved by: y", NoteKind.LESSON), "solved here"),
        (quote("Git ignores priv/static", NoteKind.LESSON), "learned here"),
        (quote(CHANGE, NoteKind.CHANGE), "fixed here"),
        (quote("Changed: a.py", NoteKind.CHANGE), "done here"),
        (quote("Staging listens on 8443"), "noted"),
        (quote("Amounts are in cents", NoteKind.RULE, author="ada"), "ada: said"),
    ],
)
def test_a_line_says_since_when_and_from_whom(one: Quote, lead: str) -> None:
    day = day_text(one.created_at_ms, NOW)
    assert lead_of(one, NOW) == f"{lead} on {day}"
    told = fenced([one], query="", budget=400, now_ms=NOW, count=COUNTER.count_tokens)
    assert f'- [3f2a9c1d] {lead} on {day}: "' in told.text


def test_a_day_of_another_year_has_its_year() -> None:
    assert day_text(NOW, NOW) == "15 Jan" and day_text(NOW - 30 * 86_400_000, NOW) == "16 Dec 2026"


def test_neither_scores_nor_internal_words_are_told() -> None:
    told = fenced(
        [quote("Staging listens on 8443")],
        query="staging",
        budget=400,
        now_ms=NOW,
        count=COUNTER.count_tokens,
    )
    assert not re.search(r"relevance|0\.\d|johari|pulse|old,", told.text)


def test_of_a_change_cause_and_fix_come_before_where_and_names_stay_whole() -> None:
    """What the prompt says already is left out."""
    asked = words_of(
        "forms with a template of their own are rendered with the default one, say why and mend it"
    )
    text = passage(CHANGE, asked, 60, COUNTER.count_tokens)
    assert "ManagementForm took the template" in text and "get_template_name" in text
    assert "rendered with the default one" not in text and "3 more" not in text
    assert "django/forms/formsets.py (ManagementForm, BaseFormSet, media, as_p, …)" in text
    for limit in range(8, 90):
        told = passage(CHANGE, asked, limit, COUNTER.count_tokens)
        assert COUNTER.count_tokens(told) <= limit
        for path in re.findall(r"\S+/\S+", told):
            assert path.rstrip(";.…") in CHANGE, (limit, path)


def test_of_what_a_change_was_for_the_title_is_enough() -> None:
    details = "Details: With the new router each click on a link opens it twice."
    text = f"Links open twice\n{details}\nChanged: a/b.ts (go)"
    asked = words_of("each click on a link of the router opens twice")
    assert passage(text, asked, 60, COUNTER.count_tokens) == "Links open twice\nChanged: a/b.ts (go)"


@pytest.mark.parametrize(
    ("text", "asked", "told"),
    [
        (
            "Asked: The hook blocks on old findings of the linter. They are not of this change. How to go "
            "on?\nThe user chose: mend the findings first",
            "the hook blocks on findings of the linter",
            "The user chose: mend the findings first",
        ),
        (
            "Error (3 times): no such table: orders\nFrom: pytest tests/test_orders.py -k refund\n"
            "Solved by: alembic upgrade head\nAsked: Refunds are booked twice, look into the orders, please.",
            "no such table orders",
            "Solved by: alembic upgrade head",
        ),
    ],
)
def test_a_question_or_an_error_is_not_told_without_its_answer(text: str, asked: str, told: str) -> None:
    count = COUNTER.count_tokens
    for limit in range(16, count(text)):
        assert told in passage(text, words_of(asked), limit, count), limit
    (shown,) = answers([(text, 0.6)], words_of(asked), 70, 18, count, lambda part: 0.0)
    assert told in shown


def test_what_an_earlier_session_was_asked_answers_nobody() -> None:
    text = (
        "Asked: Explore how the scheduler wakes its workers\nFrom: rg scheduler src\nThe pool polls a pipe."
    )
    asked, count = words_of("how does the scheduler wake its workers?"), COUNTER.count_tokens
    (shown,) = answers([(text, 0.6)], asked, 70, 18, count, lambda part: 0.9 if "pipe" in part else 0.5)
    assert "polls a pipe" in shown and "Asked" not in shown and "From" not in shown


def test_the_sentence_with_the_prompt_s_rare_words_comes_first() -> None:
    """`review` is everywhere in it, `ETS` in one sentence; a heading alone says nothing."""
    lines = [f"The review page {n} shows the review's open points." for n in range(12)]
    text = "\n".join(["Review of a project", *lines, "Review secrets live in ETS, no migration is needed."])
    asked = words_of("why are the review's secrets in ETS?")
    assert "live in ETS" in passage(text, asked, 30, COUNTER.count_tokens)
    ways = "Commands that worked:\nRun: python3 tools/publish/scripts/publish_session.py --title a --public"
    told = passage(ways, words_of("run publish_session.py"), 22, COUNTER.count_tokens)
    assert told.startswith("Run: python3 tools/publish")


def test_the_same_text_is_told_once() -> None:
    same = [quote("Amounts are in cents."), quote("Amounts  are in CENTS.")]
    told = fenced(same, query="", budget=400, now_ms=NOW, count=COUNTER.count_tokens)
    assert len(told.shown) == 1
    said = fenced(
        same,
        query="",
        budget=400,
        now_ms=NOW,
        count=COUNTER.count_tokens,
        lines=[Line('"Amounts are in cents."')],
    )
    assert said.shown == ()


def test_the_best_memory_has_the_most_room() -> None:
    texts = [" ".join(f"Fact {n} of {name} is told here in a sentence." for n in range(40)) for name in "abc"]
    told = show(*texts)
    sizes = [one.tokens for one in told.shown]
    assert sizes[0] == max(sizes) <= LINE_TOKENS and told.tokens <= 400


def test_a_question_gets_the_beginning_of_a_sentence_that_is_too_long() -> None:
    long = "The port is " + "chosen anew by each machine that starts a worker and " * 40
    quote = Quote("0" * 8, long, "import", NOW, 0.9)
    count = COUNTER.count_tokens
    told = fenced([quote], query="which port?", budget=180, now_ms=NOW, count=count, near=lambda _: 0.9)
    (inside,) = check(told, 1)
    assert inside.startswith("The port is chosen") and told.tokens <= 180


def test_an_edit_that_takes_half_of_the_room_leaves_it_to_what_it_was_for() -> None:
    asked = words_of("The router of the shop forgets its links")
    edit = "Edit: added `" + "if router.opens(link) and shop.links: return link " * 5 + "`"
    title = "Every page of the basket shows twice"
    text = f"{title}\nChanged: a/b.ts (go)\n{edit}"
    assert passage(text, asked, 60, COUNTER.count_tokens) == f"{title}. Changed: a/b.ts (go) …"
