"""The injection ledger: what was shown where, whether it was used, what may be shown again. Real RocksDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from context_graph.memory.context.ledger import USE_WINDOW, Injected, Ledger, distinctive_words
from context_graph.memory.memex import Memex
from context_graph.model import EventKind, HookEvent
from context_graph.store.graph.tables import RECORDS_KEPT, InjectionRecords
from context_graph.store.sessions.sessions import SessionStore

NODE = "5f3c1a2b-0000-4000-8000-000000000001"
TEXT = "Staging listens on port 8443; the TokenBucket lives in src/rates/bucket.py"


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[SessionStore]:
    from context_graph.store.graph.graph import GraphStore

    with SessionStore.open(tmp_path / "db") as store:
        GraphStore(store.engine)
        yield store


def ledger_of(sessions: SessionStore) -> Ledger:
    return Ledger(InjectionRecords(sessions.engine))


def shown(
    ledger: Ledger, session: str = "s", node: str = NODE, text: str = TEXT, asked: str = "which port?"
) -> None:
    ledger.record(
        session, "prompt", [Injected(node, 0.7, 30, text)], at_ms=5, prompt_id="p", asked=asked, tokens=70
    )


def tool(text: str, name: str = "Bash", session: str = "s") -> HookEvent:
    return HookEvent(EventKind.POST_TOOL, session, "e", 6, tool_name=name, input_text=text)


def use_of(ledger: Ledger) -> str:
    (entry,) = ledger.recent()
    return str(entry["memories"][0]["used"])


def test_an_injection_is_kept_with_all_that_is_asked_of_it(sessions: SessionStore) -> None:
    ledger = ledger_of(sessions)
    shown(ledger)
    ledger.flush()
    for one in (ledger, ledger_of(sessions)):
        (entry,) = one.recent()
        assert entry == {
            "at_ms": 5,
            "session_id": "s",
            "event": "prompt",
            "prompt_id": "p",
            "tokens": 70,
            "memories": [{"id": NODE, "score": 0.7, "tokens": 30, "used": ""}],
        }
        assert one.totals() == {"injections": 1, "memories": 1, "tokens": 70, "used": 0}
        assert one.by_memory() == {NODE: {"injected": 1, "used": 0, "last_ms": 5}}


def test_the_call_at_which_something_was_shown_proves_no_use_of_it(sessions: SessionStore) -> None:
    ledger = ledger_of(sessions)
    memories = [Injected(NODE, 0.7, 30, "src/rates/bucket.py: the level was an integer")]
    ledger.record("s", "file", memories, at_ms=5, tokens=70, call="toolu_1")
    edit = tool("/p/src/rates/bucket.py", "Edit")
    for _ in range(2):  # before the edit, and its result
        ledger.observe(replace(edit, tool_use_id="toolu_1"))
    assert use_of(ledger) == "" and ledger.unused("s") == 70
    ledger.observe(replace(edit, tool_use_id="toolu_2"))
    assert use_of(ledger) and ledger.unused("s") == 40


def test_what_was_used_costs_a_session_nothing(sessions: SessionStore) -> None:
    ledger = ledger_of(sessions)
    shown(ledger)
    shown(ledger, node=NODE[:-1] + "2", text="Deploys run on Mondays")
    assert ledger.unused("s") == 140 and ledger.unused("other") == 0
    ledger.observe(tool("curl http://staging:8443/health"))
    assert ledger.unused("s") == 110
    ledger.flush()
    again = ledger_of(sessions)
    assert again.unused("s") == 110, "the next owner knows it too"
    again.forget_context("s", at_ms=9)
    assert again.unused("s") == 0


def test_what_a_session_holds_is_not_shown_to_it_again_until_its_context_is_compacted(
    sessions: SessionStore,
) -> None:
    ledger = ledger_of(sessions)
    shown(ledger)
    assert ledger.shown("s") == {NODE} and ledger.shown("other") == set()
    ledger.flush()
    again = ledger_of(sessions)
    assert again.shown("s") == {NODE}, "the next owner knows it too"
    again.forget_context("s", at_ms=9)
    assert again.shown("s") == set()
    again.flush()
    assert ledger_of(sessions).shown("s") == set()
    assert len(again.recent()) == 1, "the entry itself stays"


@pytest.mark.parametrize(
    ("event", "how"),
    [
        (tool("curl https://staging:8443/health"), "words: 8443, staging"),
        (tool("curl http://localhost:8443"), "words: 8443"),
        (tool("sed -i s/a/b/ src/rates/bucket.py TokenBucket"), "words: src/rates/bucket.py, tokenbucket"),
        (tool(f"{NODE} caused_by", "mcp__context-graph__link_memories"), "asked for by its id"),
        (tool(f"context-graph-cli memory show {NODE[:8]}"), "asked for by its id"),
        (
            HookEvent(EventKind.STOP, "s", "e", 6, output_text="Staging answers on 8443 now."),
            "words: 8443, staging",
        ),
        (tool("ls -la; git status; which port"), ""),
        (tool("the port listens, lives", "Write"), ""),
        (tool("curl https://staging:8443/health", session="other"), ""),
        (HookEvent(EventKind.POST_TOOL, "s", "e", 6, tool_name="Bash", output_text=TEXT), ""),
    ],
)
def test_use_is_told_by_the_memory_s_own_words_or_its_id(
    sessions: SessionStore, event: HookEvent, how: str
) -> None:
    """What a tool prints is no use, nor are words that the prompt had or any work has."""
    ledger = ledger_of(sessions)
    shown(ledger)
    ledger.observe(event)
    assert use_of(ledger) == how
    ledger.flush()
    assert use_of(ledger_of(sessions)) == how
    assert ledger.totals()["used"] == bool(how)


def test_use_is_looked_for_in_a_bounded_number_of_events(sessions: SessionStore) -> None:
    ledger = ledger_of(sessions)
    shown(ledger)
    for _ in range(USE_WINDOW):
        assert ledger.awaits("s")
        ledger.observe(tool("make test"))
    assert not ledger.awaits("s")
    ledger.observe(tool("curl https://staging:8443"))
    assert use_of(ledger) == ""


def test_the_ledger_is_bounded_and_its_totals_count_on(sessions: SessionStore) -> None:
    ledger = ledger_of(sessions)
    for number in range(RECORDS_KEPT + 100):
        shown(ledger, f"s{number % 7}", f"{number:08x}-0000-4000-8000-000000000000")
        if number % 50 == 0:
            ledger.flush()
    ledger.flush()
    fresh = ledger_of(sessions)
    assert len(fresh.recent(RECORDS_KEPT * 2)) == RECORDS_KEPT
    assert fresh.totals()["injections"] == RECORDS_KEPT + 100


def test_distinctive_words_leave_out_what_was_asked_and_what_is_common() -> None:
    words = distinctive_words(
        "Use the TokenBucket from rates/bucket.py when staging needs more", "staging bucket"
    )
    assert words == {"tokenbucket": 3, "rates/bucket.py": 2, "needs": 1}
    assert len(distinctive_words(" ".join(f"word{n}x" for n in range(500)), "")) <= 48


def test_a_store_of_the_library_has_the_same_families(tmp_path: Path) -> None:
    """`Memex.open` and the owner's store are one format: the ledger finds its family in both."""
    with Memex.open(tmp_path / "store") as memex:
        memex.store("x is y", rationale="kept by a test")
    with SessionStore.open(tmp_path / "store" / "db") as sessions:
        ledger = ledger_of(sessions)
        shown(ledger)
        ledger.flush()


def test_a_kind_of_injection_that_is_hardly_ever_used_is_known_for_it(sessions: SessionStore) -> None:
    ledger = ledger_of(sessions)
    for number in range(39):
        shown(ledger, session=f"s{number}", node=f"{number:08x}-0000-4000-8000-000000000001")
        ledger.ended(f"s{number}")
    assert not ledger.hardly_used("prompt"), "too few to say so"
    shown(ledger, session="s39", node=f"{39:08x}-0000-4000-8000-000000000001")
    assert not ledger.hardly_used("prompt"), "the last one may still be used"
    ledger.ended("s39")
    assert ledger.hardly_used("prompt") and not ledger.hardly_used("startup")
    ledger.flush()
    again = ledger_of(sessions)
    assert again.hardly_used("prompt"), "the next owner knows it too"
    assert again.report(5)["shown_less"] == ["prompt"]
    assert again.moved(0.4, "prompt") == pytest.approx(0.58) and again.moved(0.4, "startup") == 0.4
    for number in range(40, 43):
        shown(again, session=f"s{number}", node=NODE)
        again.observe(tool("vim src/rates/bucket.py", session=f"s{number}"))
    assert not again.hardly_used("prompt"), "three of 43 were used"
    assert again.moved(0.4, "prompt") == 0.4
    for number in range(43, 100):
        shown(again, session=f"s{number}", node=NODE)
        again.observe(tool("vim src/rates/bucket.py", session=f"s{number}"))
    assert again.moved(0.4, "prompt") == pytest.approx(0.3), "most of the last sixty were used"


def test_the_report_counts_by_event_and_by_day(sessions: SessionStore) -> None:
    ledger = ledger_of(sessions)
    shown(ledger)
    ledger.observe(tool("vim src/rates/bucket.py"))
    day = 86_400_000
    ledger.record("t", "file", [Injected(NODE, 0.7, 30, TEXT)], at_ms=day, tokens=40)
    found = ledger.report(day)
    assert found["by_event"] == {
        "file": {"memories": 1, "used": 0, "tokens": 40},
        "prompt": {"memories": 1, "used": 1, "tokens": 70},
    }
    assert found["days"] == [
        {"day": "1970-01-01", "tokens": 70, "memories": 1, "used": 1},
        {"day": "1970-01-02", "tokens": 40, "memories": 1, "used": 0},
    ]
    assert ledger.report(60 * day)["days"] == []
