"""Which earlier sessions a session's work is like."""

from __future__ import annotations

import pytest

from context_graph.identity.earlier_work import (
    BY_PROMPT,
    KEPT,
    LEAST_SAID,
    LEAST_WORDS,
    MOST_TERMS,
    EarlierWork,
    Work,
)
from context_graph.identity.ego import EventReader

READER = EventReader()
PAYMENTS = (
    ("src/payments/invoice.py", "def parse_invoice_date(text): normalise_year(text)"),
    ("pytest tests/test_invoice.py", "test_two_digit_years failed: 2099 is no invoice date"),
    ("src/payments/ledger.py", "class Ledger: invoice amounts in cents, payments.ledger.Ledger"),
)
IMAGES = (
    ("web/images/resize.ts", "export function thumbnail(width, height) uses sharp"),
    ("npm run build", "images/resize.ts: thumbnail of a rotated picture is upside down"),
    ("web/images/exif.ts", "orientation of the picture, exif.orientation"),
)
MAILS = (
    ("mailer/queue.go", "func retryBounced(message) waits for the smtp relay"),
    ("go test ./mailer", "bounced message was sent twice by the relay"),
    ("mailer/templates.go", "subject line of the newsletter, mailer.templates"),
)


def work_of(events: tuple[tuple[str, str], ...], prompt: str = "") -> Work:
    work = Work()
    if prompt:
        READER.read(prompt, "")
        work.absorb(READER, prompt=True)
    for event in events:
        READER.read(*event)
        work.absorb(READER, prompt=False)
    return work


def stored() -> EarlierWork:
    earlier = EarlierWork()
    for name, events in (("payments", PAYMENTS), ("images", IMAGES), ("mails", MAILS)):
        earlier.put(name, work_of(events).strongest())
    return earlier


@pytest.mark.parametrize(
    ("events", "prompt", "wanted"),
    [
        (PAYMENTS[:2], "the invoice date is wrong again", "payments"),
        (IMAGES[1:], "thumbnails of some pictures", "images"),
        (MAILS[::2], "the newsletter", "mails"),
    ],
)
def test_work_on_the_same_comes_first(events, prompt: str, wanted: str) -> None:
    found = stored().alike(work_of(events, prompt).strongest(), ())
    assert found[0].session_id == wanted
    assert 1.0 >= found[0].share > 2 * max((row.share for row in found[1:]), default=0.0)


ASKED = "normalise_year turns an invoice date of two digits into a wrong year, and parse_invoice_date fails"


def test_a_query_finds_the_work_whose_words_and_names_it_has() -> None:
    alike = stored().like_query(ASKED, ())
    assert alike[0].session_id == "payments"
    assert all(row.share < 0.5 * alike[0].share for row in alike[1:])
    assert "payments" not in {row.session_id for row in stored().like_query(ASKED, {"payments"})}


def test_a_short_query_is_compared_with_no_work() -> None:
    assert stored().like_query(" ".join(ASKED.split()[: LEAST_WORDS - 1]), ()) == []
    assert EarlierWork().like_query(ASKED, ()) == []


def test_what_little_a_query_says_counts_less() -> None:
    words = " ".join(f"word{n} of the invoice_date{n}" for n in range(60))
    earlier = stored()
    earlier.put("long", work_of(((words, words),)).strongest())
    short, long = (earlier.like_query(text, ())[0].share for text in (ASKED, words))
    assert 0.0 < short < 0.5 < long < 1.0
    assert LEAST_SAID > 0.0


def test_a_record_of_four_views_is_read_as_before() -> None:
    """What an earlier version kept has no names of code and no whole words."""
    record = work_of(PAYMENTS).strongest()
    older = b"".join(record[at : at + 4] for at in range(0, len(record), 4) if record[at + 2] < 4)
    earlier = EarlierWork()
    earlier.put("older", older)
    assert earlier.alike(record, ())[0].share == pytest.approx(1.0, abs=1e-5)
    assert earlier.alike(record, (), BY_PROMPT)[0].share > 0.0


def test_the_same_work_has_the_share_of_all_it_says() -> None:
    strongest = work_of(PAYMENTS).strongest()
    found = stored().alike(strongest, ())
    assert found[0].share == pytest.approx(1.0, abs=1e-5)


def test_a_session_is_not_like_itself() -> None:
    found = stored().alike(work_of(PAYMENTS).strongest(), {"payments"})
    assert "payments" not in {row.session_id for row in found}


def test_what_is_kept_anew_stands_in_the_place_of_what_was_kept() -> None:
    earlier = stored()
    earlier.put("images", work_of(PAYMENTS).strongest())
    assert len(earlier) == 3
    found = dict(earlier.alike(work_of(PAYMENTS).strongest(), ()))
    assert found["images"] == pytest.approx(found["payments"])
    earlier.drop("images")
    assert "images" not in dict(earlier.alike(work_of(PAYMENTS).strongest(), ()))


def test_what_is_kept_anew_many_times_takes_no_more_room() -> None:
    earlier, works = stored(), {"payments": PAYMENTS, "images": IMAGES, "mails": MAILS}
    for _ in range(20):
        for name, events in works.items():
            earlier.put(name, work_of(events).strongest())
    assert len(earlier._postings) <= 4 * (len(works) + 1)
    earlier.drop("images")
    for name, events in works.items():
        found = earlier.alike(work_of(events).strongest(), ())
        assert (found[0].session_id == name) == (name != "images")


def test_what_all_work_on_a_project_shares_says_little() -> None:
    earlier = EarlierWork()
    common = ("git status", "nothing to commit, working tree clean")
    for number in range(20):
        earlier.put(
            f"s{number}", work_of((common, (f"src/part{number}.py", f"def only{number}()"))).strongest()
        )
    found = earlier.alike(work_of((common, ("src/part7.py", "def only7()"))).strongest(), ())
    assert found[0].session_id == "s7"
    assert found[0].share > 1.5 * found[1].share


def test_events_without_words_are_no_work() -> None:
    work = work_of((("", ""), ("  ", "\n")))
    assert work.events == 0
    assert work.strongest() == b""
    assert stored().alike(b"", ()) == []


def test_what_is_kept_has_a_bound() -> None:
    words = " ".join(f"word{number} path{number}/file{number}.py" for number in range(2000))
    assert 0 < len(work_of(((words, words),)).strongest()) <= 4 * len(KEPT) * MOST_TERMS


@pytest.mark.parametrize(
    "damaged", [b"abc", b"\x01\x00\x09\x01", b"\x01\x00\x06\x01", b"\x01\x00\x00\x00", b"\x01\x00\x00\xff"]
)
def test_damaged_terms_are_refused(damaged: bytes) -> None:
    with pytest.raises(ValueError, match="strongest terms"):
        EarlierWork().put("s", damaged)
