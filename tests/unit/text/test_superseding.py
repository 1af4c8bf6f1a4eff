"""A statement that gives something up ends an earlier one of the same; others it leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.text.english import same_word
from context_graph.text.superseding import MAX_CHARS, given_up, may_give_up, supersedes

SAID = (
    "we use uv instead of pip, no longer replaces replaced by with the formerly used port 8443. now "
    "switched moved changed from to supersedes caching and tests"
)
WORDS = st.lists(st.sampled_from(SAID.split()), max_size=14).map(" ".join)

ENDS = [
    ("We now use uv instead of pip for installs", "We use pip for installs"),
    ("Staging listens on 9000 now instead of 8443", "Staging listens on 8443"),
    ("Staging now listens on 9000", "Staging listens on 8443"),
    ("The API moved from port 80 to port 8080", "The API runs on port 80"),
    ("We no longer use Jenkins for CI; it runs on GitHub Actions", "CI runs on Jenkins"),
    ("We switched from Jest to Vitest for unit tests", "Unit tests run with Jest"),
    ("Replaced Redis with Postgres for the job queue", "The job queue uses Redis"),
    ("Deploys no longer run on Friday", "Deploys run on Friday"),
    ("Tokens are rotated weekly instead of daily because of the audit", "Tokens are rotated daily"),
    ("The retry limit is now 5", "The retry limit is 3"),
    ("Run make check instead of make lint before a commit", "Run make lint before a commit"),
    ("The resizer is no longer on port 8209, it is on 9311 now.", "The resizer listens on port 8209."),
    ("The resizer no longer listens on 8209, it listens on 9311 now", "The resizer listens on 8209"),
    ("The lead of payments is no longer Ada, it is Bruno now.", "The lead of payments is Ada."),
    (
        "The docs are no longer built with Sphinx, they are built with MkDocs now",
        "The docs are built with Sphinx",
    ),
    (
        "Nightly backups are not kept in Oslo any more; they are in Bergen now.",
        "Nightly backups are kept in Oslo",
    ),
    ("The API gateway doesn't run on nginx anymore, it runs on Envoy", "The API gateway runs on nginx"),
    ("The job doesn't start at 02:00 any longer, it starts at 03:30 now", "The job starts at 02:00"),
    ("Error reports go to GlitchTip now, not to Sentry anymore", "Error reports go to Sentry"),
    ("Secrets are no longer kept in Vault. They are kept in SOPS now.", "Secrets are kept in Vault"),
    ("Our CI image is no longer python:3.11-slim but python:3.12-slim", "Our CI image is python:3.11-slim"),
    ("The log retention is now 30 days, no longer 14.", "The log retention is 14 days."),
    ("Crawler now deploys from main, not release-8", "Crawler is deployed from release-8"),
    ("We stopped deploying crawler from release-8; use main", "Crawler is deployed from release-8"),
    (
        "Since March reports are rendered with WeasyPrint rather than wkhtmltopdf",
        "Reports are rendered with wkhtmltopdf",
    ),
    ("The status page used to live on port 7001; it is on 7010 today", "The status page lives on port 7001"),
    ("The mailer's queue was RabbitMQ, now it is NATS", "The queue of the mailer is RabbitMQ"),
    ("Metrics are pushed to Prometheus from now on, Graphite is gone", "Metrics are pushed to Graphite"),
    ("We dropped Prettier for Biome to format JavaScript", "We format JavaScript with Prettier"),
    (
        "SEARCH IS NO LONGER OWNED BY ANNA'S TEAM, IT IS OWNED BY BEN'S TEAM NOW",
        "Search is owned by Anna's team",
    ),
    ("Der Crawler läuft nicht mehr auf Port 8443, sondern auf 9443", "Der Crawler läuft auf Port 8443"),
    ("Wir bauen die Doku jetzt mit MkDocs", "Wir bauen die Doku mit Sphinx"),
    ("Sicherungen liegen ab sofort in Bergen und nicht mehr in Oslo", "Sicherungen liegen in Oslo"),
]
KEEPS = [
    ("Use tabs instead of spaces in Makefiles", "Indent Python with four spaces"),
    ("Use ruff instead of flake8", "flake8 ignores E501 in setup.cfg"),
    ("The cache was moved from memory to disk", "Memory use was 300 MB after the fix"),
    ("The retry limit is now 5", "The upload limit is 3"),
    ("The retry limit is now 5", "The retry limit was reached"),
    ("Payments now uses Stripe instead of Braintree", "Braintree's webhooks need the raw body"),
    ("We no longer support Python 3.8", "Python 3.8 lacks removeprefix, so tests pinned 3.9"),
    ("Instead of mocking the clock, tests pass a fixed time", "The clock bug was in the scheduler's tests"),
    ("Now the tests pass", "The tests fail on Windows"),
    ("the build is now green", "the build uses cmake"),
    ("Staging listens on 9000", "Staging listens on 8443"),
    ("The lead of search is no longer Ada, it is Bruno now.", "The lead of payments is Ada."),
    ("The lead of search is Bruno instead of Ada.", "The lead of payments is Ada."),
    ("The backup region is no longer eu-1, it is eu-2 now.", "The default region is eu-1"),
    (
        "Search's connect timeout is no longer 30 seconds, it is 45 now.",
        "Search's request timeout is 30 seconds",
    ),
    ("Billing's job queue is no longer Redis", "Redis is restarted when billing's job queue stalls"),
    ("Logs are no longer scraped every 15 seconds but every 60", "Metrics are scraped every 15 seconds"),
    ("The upload limit is no longer 3, it is 5 now", "The retry limit is 3"),
    ("The upload limit is 5 instead of 3", "The retry limit is 3"),
    ("The staging gateway is no longer on 8443, it is on 9443 now", "The gateway listens on 8443"),
    ("Staging Redis runs on 6380 instead of 6379", "Redis runs on 6379"),
    ("The cache of staging lives on 7001 instead of 7000", "The cache lives on 7000"),
    ("The digest is mailed to admins now", "The digest is mailed weekly"),
    ("Wir bauen die Bibliothek jetzt mit Meson", "Wir bauen die Doku mit Sphinx"),
    ("Tests in unit/ do not need Docker", "Tests in ci/ need Docker"),
]


@pytest.mark.parametrize(("later", "earlier"), ENDS)
def test_what_is_given_up_is_superseded(later: str, earlier: str) -> None:
    assert supersedes(later, earlier)
    assert not supersedes(earlier, later)


@pytest.mark.parametrize(("later", "earlier"), KEEPS)
def test_another_subject_or_no_word_of_it_supersedes_nothing(later: str, earlier: str) -> None:
    assert not supersedes(later, earlier)


def test_a_repeated_change_supersedes_the_fact_and_not_its_own_twin() -> None:
    assert not supersedes("Installs use uv instead of pip", "Installs use uv now instead of pip")


def test_long_texts_give_nothing_up() -> None:
    assert given_up("We use uv instead of pip. " + "x" * MAX_CHARS) == frozenset()
    assert given_up("instead of " * 50) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "This replaces the formerly used port 8443.",
        "Caddy replaced the no longer maintained proxy by nginx",
        "It replaces what no longer replaces formerly port 8443",
    ],
)
def test_phrases_that_overlap_give_up_each_word_once(text: str) -> None:
    assert given_up(text)
    assert not supersedes(text, "Nothing of the kind was said")


@given(WORDS, WORDS)
def test_whatever_is_said_only_words_of_it_are_given_up(later: str, earlier: str) -> None:
    gone = given_up(later)
    assert gone <= {same_word(word) for word in SAID.replace(",", "").replace(".", "").split()}
    assert not gone or may_give_up(later)
    assert supersedes(later, earlier) in (True, False)
