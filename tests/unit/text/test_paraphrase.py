"""Two texts say the same, or the opposite, or neither: the last whenever there is a doubt."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.text.meaning import read_meaning
from context_graph.text.paraphrase import opposition, same, same_meaning
from context_graph.text.sentences import short_name

_WORDS = (
    "the a is are was 3 12 7.5 v1.2 AB-12 k8s kubernetes today in 2024 10% -5 1,000 2nd (3) `x1` #12 3x and "
    "not deploy main to of , . ; it's so 08:30 2024-01-02 $5 x_1 10ms"
)
WORDS = _WORDS.split(" ")
NUMBERED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("JWT tokens expire after 24 hours.", "JWT tokens expire after 24 hours"),
        ("Deploys run from main only", "deploys run from Main only."),
        ("The cache is cleared at midnight, always", "the cache is cleared at midnight always"),
        (
            "The login service signs tokens with a private key that is kept in the platform team's vault",
            "The login service signs the tokens with a private key that is kept in the platform team's vault",
        ),
    ],
)
def test_the_same_words_say_the_same(one, other) -> None:
    """REQ-CORE-017: duplicates."""
    assert same_meaning(one, other)
    assert same_meaning(other, one)
    assert opposition(one, other) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The limit of the upload service is 100 megabytes",
            "The limit of the upload service is 200 megabytes",
        ),
        (
            "See src/auth/login.py for the details of signing",
            "See src/auth/logout.py for the details of signing",
        ),
        ('The flag is called "fast-path" in all regions', 'The flag is called "slow-path" in all regions'),
        ("Ticket AB-12 is about the login of partners", "Ticket AB-13 is about the login of partners"),
        (
            "The parser of the config files is thread-safe",
            "The parser of the config files is not thread-safe",
        ),
        ("The cache in front of the store is enabled", "The cache in front of the store is disabled"),
        ("Tokens expire", "Penguins live in the south"),
    ],
)
def test_what_differs_in_a_particular_does_not_say_the_same(one, other) -> None:
    """REQ-CORE-017, D5.2: a number, path, id, quotation or negation tells memories apart."""
    assert not same_meaning(one, other)
    assert not same_meaning(other, one)


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("The API rate limit is 100 per minute", "The API rate limit is 200 per minute", "100 / 200"),
        ("Timeout: 30s for uploads", "Timeout: 60s for uploads", "30s / 60s"),
        ("The cache is enabled by default", "The cache is disabled by default", "enabled / disabled"),
        ("The parser is thread-safe", "The parser isn't thread-safe", "one denies what the other says"),
        ("The parser uses recursion", "The parser does not use recursion", "one denies what the other says"),
        ("We deploy on Fridays", "We don't deploy on Fridays", "one denies what the other says"),
        (
            "Tests of this package may be skipped",
            "Tests of this package may never be skipped",
            "one denies what the other says",
        ),
        ("Billing supports IPv6", "Billing does not support IPv6", "one denies what the other says"),
        ("The exporter keeps logs", "The exporter keeps no logs", "one denies what the other says"),
        (
            "The webhook needs a signature header",
            "A signature header is not needed by the webhook",
            "one denies what the other says",
        ),
        ("Anna's team owns CI", "ANNA'S TEAM DOES NOT OWN CI", "one denies what the other says"),
        ("The client retries uploads", "The client won't retry uploads", "one denies what the other says"),
        ("Der Import liest IPv6", "Der Import liest kein IPv6", "one denies what the other says"),
        ("Release builds are signed", "Release builds are unsigned", "signed / unsigned"),
        ("Sessions expire after 30 minutes", "Sessions expire after 60 minutes", "30 / 60"),
        ("The lead of payments is Ada", "The lead of payments is Bruno", "ada / bruno"),
    ],
)
def test_plain_contradictions_are_found(one, other, difference) -> None:
    """REQ-CORE-017: another number in an assertion, an opposite word, a negation."""
    assert opposition(one, other) == difference
    assert opposition(other, one) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Step 3 of the migration is done", "Step 4 of the migration is done"),
        ("Run 12 of the nightly job took an hour", "Run 13 of the nightly job took an hour"),
        ("The build takes 12 minutes on CI", "The build takes 14 minutes on CI"),
        ("See page 4 of the manual", "See page 5 of the manual"),
        ("Use tabs", "Use spaces"),
        ("It fails if the token is set", "It fails if the token is not set"),
        ("Files that are signed are kept", "Files that are not signed are kept"),
        ("Workers restart after 10 failures", "Workers restart after 20 seconds"),
        ("The build is slow", "The build is green"),
        ("The upload fails with error 413", "The upload fails with error 502"),
        ("Ada likes tea in the morning", "Ada likes coffee in the morning"),
        ("on", "off"),
        ("The limit is 5", "A limit of 6 was discussed at length by the whole team last week"),
        ("word " * 80 + "is 5", "word " * 80 + "is 6"),
    ],
)
def test_what_may_both_be_true_is_no_contradiction(one, other) -> None:
    """REQ-CORE-017: silence where there is a doubt."""
    assert opposition(one, other) is None


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("# Authentication\nJWT tokens expire.", "Authentication"),
        ("1. Database design: use PostgreSQL. More text.", "Database design: use PostgreSQL"),
        ("x" * 60, "x" * 47 + "…"),
        (
            "A sentence that is rather long and goes on for more than a line",
            "A sentence that is rather long and goes on for…",
        ),
        ("```\n", "```"),
    ],
)
def test_a_name_is_the_beginning_of_the_text(content, name) -> None:
    """REQ-CORE-017: top_active_concepts are named by their own words."""
    assert short_name(content) == name
    assert len(name) <= 48


@given(NUMBERED, NUMBERED)
@example("deploy to k8s", "deploy to kubernetes")
@settings(max_examples=examples(2000), deadline=None)
def test_looking_at_the_numbers_first_changes_no_answer(one: str, other: str) -> None:
    """What reading both texts in full says, also where numbers are written as part of words."""
    assert same_meaning(one, other) == same(read_meaning(one), read_meaning(other))
