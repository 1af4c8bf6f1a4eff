"""The report as bytes: complete, the same each time, within its size, and every text in it is text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from tests.support.view.report_rows import DAY_MS, END_MS, HandSource, memory, some_rows

from context_graph.errors import OwnerUnavailableError
from context_graph.view import rows
from context_graph.view.report.gather import gather
from context_graph.view.report.page import MARK, MOST_BYTES, render

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "{{7*7}} {% raw %} ${7*7}",
    '"><svg onload=alert(3)>',
    "<!-- --> ]]> <style>*{display:none}</style>",
    "\u202egnp.exe\u2069 \u2028 \u2029",
    "\x1b[31mred\x1b]52;c;aGk=\x07",
    "javascript:alert(4)",
)


class Tags(HTMLParser):
    """Every element with its attributes, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._within = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "script":
            self.scripts[-1] += data


def page(source: HandSource, since_ms: int | None = None) -> str:
    return render(gather(source, since_ms)).decode()


def everywhere(text: str) -> HandSource:
    """A source with ``text`` in each of its texts."""

    def spread(value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            fields = {name: spread(getattr(value, name)) for name in value.__struct_fields__}
            return type(value)(**{**fields, **({"day": value.day} if isinstance(value, rows.Day) else {})})
        if isinstance(value, str):
            return text
        if isinstance(value, (list, tuple)):
            return [spread(one) for one in value]
        if isinstance(value, dict):
            return dict.fromkeys([text], 1.5)
        return value

    source = some_rows(30)
    names = ("seen_health", "live", "forgotten", "seen_ledger", "seen_gates", "seen_map", "seen_effect")
    for name in names:
        setattr(source, name, spread(getattr(source, name)))
    source.seen_sessions = [spread(source.seen_sessions[0])]
    source.seen_runs = [spread(source.seen_runs[0])]
    return source


def test_the_seven_parts_come_in_their_order() -> None:
    text = page(some_rows())
    assert text.encode().startswith(MARK)
    assert re.findall(r"<h2[^>]*>(\w+)</h2>", text) == [
        *("Health", "Effect", "Memories", "Ledger", "Sessions", "Consolidations", "Gates", "Map"),
    ]
    assert len(re.findall("<h1", text)) == 1


def test_the_same_rows_give_the_same_bytes() -> None:
    assert render(gather(some_rows())) == render(gather(some_rows()))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_is_a_text_wherever_it_stands(text: str) -> None:
    plain, hostile = Tags(page(everywhere("plain"))), Tags(page(everywhere(text)))
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in plain.found]
    for (tag, _), (_, attributes) in zip(plain.found, hostile.found, strict=True):
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc")]
        assert not {"src", "action", "formaction"} & attributes.keys(), tag
        assert attributes.get("href") is None or str(attributes["href"]).startswith("#")
    assert plain.scripts[-1] == hostile.scripts[-1], "only data differs"


def test_what_steers_a_terminal_or_turns_the_reading_is_shown_not_obeyed() -> None:
    text = page(everywhere("".join(HOSTILE)))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
    assert "\\u202e" in text and "\\x1b" in text
    assert "{{7*7}}" in text and "49" not in re.findall(r"<td[^>]*>([^<]*)</td>", text)


def test_a_text_that_no_file_can_hold_is_spelled_out() -> None:
    source = some_rows(1)
    source.live = [memory(0, "broken \ud800 surrogate")]
    source.seen_health = msgspec.structs.replace(source.seen_health, project="/home/\udcff")
    assert "broken \\ud800 surrogate" in page(source)


def test_the_policy_lets_only_this_script_and_this_style_run() -> None:
    text = page(some_rows())
    tags = Tags(text)
    policy = next(
        str(one["content"]) for tag, one in tags.found if one.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(part.split(" ", 1) for part in policy.split("; "))
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    for rule, content in (("script-src", tags.scripts[-1]), ("style-src", style[1])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy and "http" not in policy
    kinds = [one.get("type") for tag, one in tags.found if tag == "script"]
    assert set(kinds[:-1]) == {"application/json"} and kinds[-1] is None


def test_a_text_is_whole_while_the_file_stays_below_2_mb() -> None:
    source = some_rows(6)
    source.live = [memory(0, "w " * 900 + "the end")]
    assert "the end" in page(source) and "All texts are cut" not in page(source)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="words"),
        pytest.param("<" * 160, id="<", marks=pytest.mark.thorough),
        pytest.param("字" * 160, id="3 bytes", marks=pytest.mark.thorough),
        pytest.param("\u202e" * 160, id="6 bytes"),
    ],
)
def test_ten_thousand_memories_stay_below_2_mb(text: str) -> None:
    source = some_rows(10_000)
    if text:
        source.live = [memory(number, text) for number in range(10_000)]
    found = render(gather(source))
    assert len(found) <= MOST_BYTES < 2_000_000
    data = [json.loads(one) for one in Tags(found.decode()).scripts[:-1]]
    assert max(len(one["rows"]) for one in data) == 10_000
    assert re.search(r"texts are cut to \d+ characters", found.decode())


@pytest.mark.parametrize("text", ["", "<&\u202e" * 60], ids=["words", "hostile"])
def test_a_store_that_is_full_in_every_part_stays_below_2_mb_too(text: str) -> None:
    """As many rows of each kind as a report ever asks for, and more; with each text as long as may be."""
    source = everywhere(text) if text else some_rows(10_600)
    source.live = [memory(number, text) for number in range(10_600)]
    for name, most in (("seen_sessions", 1200), ("seen_runs", 40)):
        setattr(source, name, [one for one in getattr(source, name) for _ in range(most)][:most])
    source.seen_sessions = [
        msgspec.structs.replace(one, marks=[*one.marks] * 20) for one in source.seen_sessions
    ]
    source.seen_runs = [msgspec.structs.replace(one, changes=[*one.changes] * 20) for one in source.seen_runs]
    for part, most in (("seen_ledger", 2000), ("seen_gates", 2000)):
        found = getattr(source, part)
        setattr(source, part, msgspec.structs.replace(found, rows=[*found.rows] * (most // len(found.rows))))
    notes = source.seen_map.notes
    source.seen_map = msgspec.structs.replace(source.seen_map, notes=[*notes] * (1000 // len(notes)))
    found = render(gather(source)).decode()
    assert len(found.encode()) <= MOST_BYTES
    cut = re.search(r"All texts are cut to (\d+) characters", found)
    shown = re.search(r"room for the newest ([\d,]+)", found)
    assert (
        cut
        and int(cut[1]) >= (12 if text else 30)
        and shown
        and int(shown[1].replace(",", "")) >= (1250 if text else 10_000)
    )


def test_more_memories_than_fit_are_said_to_be_missing() -> None:
    text = page(some_rows(10_600))
    assert "10,000 of 10,600 memories" in text and "room for the newest 10,000" in text


def test_a_store_without_anything_says_so_in_each_part() -> None:
    empty = HandSource(rows.Health(project="/p", works=False, sentence="Ready: nothing has happened yet."))
    text = page(empty)
    for name in ("Memories", "What the model was shown", "Sessions", "Consolidations", "Log of the gates"):
        assert f"{name}: none." in text
    assert (
        "Not known yet" in text
        and "Nothing was told yet." in text
        and "nothing has happened yet" in text
        and "<svg" not in text
    )


def test_since_bounds_all_that_has_a_time() -> None:
    source = some_rows(300)
    since = END_MS - 2 * DAY_MS
    found = gather(source, since)
    assert 0 < len(found.memories) < 300 and all(one.created_ms >= since for one in found.memories)
    assert 0 < len(found.ledger.rows) < 120 and all(one.at_ms >= since for one in found.ledger.rows)
    assert 0 < len(found.sessions) < 30 and all(one.last_ms >= since for one in found.sessions)
    assert 0 < len(found.gates.rows) < 40 and all(one.at_ms >= since for one in found.gates.rows)
    assert [one.at_ms for one in found.runs] == [END_MS - DAY_MS, END_MS - 2 * DAY_MS]
    assert [one.day for one in found.ledger.days] == ["2026-11-16", "2026-11-17"]
    assert "It shows what happened since 2026-11-16." in page(source, since)


def test_the_health_counts_from_the_last_thing_in_the_store_whatever_the_span() -> None:
    for since in (None, END_MS - DAY_MS, END_MS + DAY_MS):
        source = some_rows(5)
        assert gather(source, since).last_ms == source.as_of_ms == END_MS
    assert "as of 2026-11-18 " in page(source, END_MS + DAY_MS)
    empty = HandSource(rows.Health(project="/p", works=True, sentence="Ready."))
    assert gather(empty).last_ms == 0 and empty.as_of_ms is None


def test_memories_and_sessions_are_asked_for_in_pages() -> None:
    source = some_rows(1_800)
    assert len(gather(source).memories) == 1_800
    assert source.asked.count("memories") == 4 + 1


def test_a_part_that_can_t_be_read_is_named_and_the_rest_is_there() -> None:
    source = some_rows()
    broken = source.seen_sessions[1].row.id
    source.unreadable = {broken: "the record is damaged", source.seen_runs[0].row.token: "gone for good"}
    text = page(source)
    assert f"session {broken}: the record is damaged" in text and "gone for good" in text
    assert text.count('<details class="one"') == 9 + 2


def test_an_owner_that_goes_away_is_no_report() -> None:
    class Gone(HandSource):
        def gates(self, *, limit: int = 500) -> rows.Gates:
            raise OwnerUnavailableError("no owner answers")

    with pytest.raises(OwnerUnavailableError):
        gather(Gone(rows.Health(project="/p", works=True, sentence="Working.")))
