"""Redactor: secrets go, ordinary text stays, nothing is lost in silence (REQ-HOOKS-33)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.redact import Redactor, Tally

GOLDEN = Path(__file__).parents[2] / "golden" / "secrets.tsv"
MARK = re.compile(r"\[redacted:[a-z0-9-]+\]")
FRAGMENT = 8
"""Characters of a secret that may not survive in one piece."""


class Row(NamedTuple):
    rule: str
    secret: str
    text: str


def undo(cell: str) -> str:
    """A cell of the golden file as it is meant: see its first lines."""
    escapes = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    return re.sub(r"\\(.)", lambda found: escapes[found[1]], cell.replace("{}", ""))


def golden_rows() -> Iterator[Row]:
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            rule, secret, text = map(undo, line.split("\t"))
            yield Row(rule, secret, text)


ROWS = list(golden_rows())


def leaked(secret: str, clean: str) -> list[str]:
    """Fragments of ``secret`` that stand in ``clean`` outside its markers."""
    rest = MARK.sub("\0", clean)
    size = min(FRAGMENT, len(secret))
    pieces = (secret[at : at + size] for at in range(len(secret) - size + 1))
    return [piece for piece in pieces if "\n" not in piece and "\\n" not in piece and piece in rest]


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


def test_the_golden_file_has_a_row_for_every_kind_of_secret_we_promise() -> None:
    """REQ-HOOKS-33: the list of the design."""
    rules = {row.rule for row in ROWS}
    promised = {
        *("aws-key-id", "aws-secret-key", "azure-storage-key", "azure-sas", "google-api-key"),
        *("github-token", "gitlab-token", "slack-token", "slack-webhook", "stripe-key", "npm-token"),
        *("pypi-token", "openai-key", "anthropic-key", "huggingface-token", "sendgrid-key", "twilio-key"),
        *("discord-token", "telegram-token", "jwt", "private-key", "authorization", "bearer", "cookie"),
        *("url-password", "url-token", "keyed-value", "high-entropy"),
    }
    assert promised <= rules
    assert all(row.secret in row.text for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[f"{at}-{row.rule}" for at, row in enumerate(ROWS)])
def test_every_golden_secret_is_replaced_under_its_rules_name(row: Row, redactor: Redactor) -> None:
    """REQ-HOOKS-33."""
    clean = redactor.redact(row.text)
    assert not leaked(row.secret, clean), clean
    assert f"[redacted:{row.rule}]" in clean
    assert redactor.redact(clean) == clean


def test_what_stands_around_a_secret_stays(redactor: Redactor) -> None:
    """A stored event must still say what happened."""
    assert redactor.redact("export DB_PASSWORD=Tr0ub4dor && make") == (
        "export DB_PASSWORD=[redacted:keyed-value] && make"
    )
    assert redactor.redact("git clone https://me:pw1234@host/a.git b") == (
        "git clone https://me:[redacted:url-password]@host/a.git b"
    )


@pytest.mark.parametrize(
    "text",
    [
        "curl --password\nhunter2x -s",  # an argument list, one a line
        "headers Authorization Bearer hunter2x1234",  # a header list, flattened
        '[{"name": "Authorization", "value": "Basic aHVudGVyMng="}]',
        "AUTHORIZATION, Basic aHVudGVyMng=",
    ],
)
def test_structures_that_were_flattened_still_give_their_secrets_away(text: str, redactor: Redactor) -> None:
    """The owner joins the strings of a JSON value by blanks and newlines."""
    clean = redactor.redact(text)
    assert "hunter2x" not in clean and "aHVudGVyMng" not in clean, clean


ORDINARY = [
    "def login(user: str, password: str, token: Optional[str] = None) -> Session: ...",
    "token = next(lexer)",
    "token: string = jwt.sign(payload)",
    "login(password=password, token=self.token, secret=settings.SECRET_KEY)",
    'password = os.environ["DB_PASSWORD"]',
    "password: ${DB_PASSWORD}",
    "PASSWORD=$DB_PASSWORD docker compose up",
    'api_key = get_secret("name")',
    "max_tokens = 4096, input_tokens: 523, token_count=12",
    "the password is required; a token is missing",
    "Bearer authentication is required; bearer tokens",
    "authorization, basic usage and token handling",
    "credentials: 'include'",
    'tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")',
    'if "BEGIN RSA PRIVATE KEY" in text: go()',
    'print(f"token={token}") %s password=%s',
    "primary_key=True, sort_key: name, keyboard, keys()",
    "PWD=/home/me/project OLDPWD=/home/me",
    "password_file: ./secrets/db.env",
    "ssh://git@github.com/a/b.git https://user@example.com/x http://localhost:8080/@scope/pkg",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b (HEAD -> main)",
    "id 550e8400-e29b-41d4-a716-446655440000",
    'checksum = "0b3d8bc3d2bb2b9f2b3e1d2f0a4e8c7b6d5c4b3a29181706f5e4d3c2b1a09f8e"',
    '"integrity": "sha512-9Qz6Nb1dY7pDxY2uq8cS5vD1Ff3GhKlMnOpQrStUvWxYz0123456789+/AbCdEfGhIjKlMnOpQ=="',
    "github.com/foo/bar v1.2.3 h1:9Qz6Nb1dY7pDxY2uq8cS5vD1Ff3GhKlMnOpQrStUv=",
    "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx0bQy3kq9aZbC4nTz0fGm1 me@host",
    "/home/user/Projects/SessionIdentityManager/src/test_case_2024/x86_64-unknown-linux-gnu",
    "class Base64HighEntropyString(HighEntropyStringsPlugin): MAX_TRAJECTORY_LEN = 50",
    "tool_use_id toolu_01A09q90qw90lq917835lq9",
    "/nix/store/0c6kzph7l0dcbfmjap64f0czdafn3b7x-hello-2.12",
    "the quick brown fox — «völlig» 語 😀",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_kept_as_the_very_same_object(text: str, redactor: Redactor) -> None:
    """Paths, ids, hashes, types, references and names are no secrets."""
    assert redactor.redact(text) is text


def test_the_standard_librarys_own_code_hardly_changes(redactor: Redactor) -> None:
    """Half a megabyte of ordinary code with tokens, passwords and hashes in its words."""
    folder = Path(subprocess.__file__).parent
    modules = ("argparse", "subprocess", "ssl", "tokenize", "getpass", "netrc", "hashlib", "hmac", "secrets")
    text = "".join((folder / f"{name}.py").read_text(encoding="utf-8") for name in modules)
    changed = [line for line in text.splitlines() if redactor.redact(line) is not line]
    assert len(changed) <= 3, changed


@pytest.mark.parametrize("gap", ["", " ", "\n", "é"])
def test_a_secret_cut_in_two_by_the_window_leaves_no_half_behind(gap: str, redactor: Redactor) -> None:
    """The caller redacts a window and keeps its start; where the window ends must not matter."""
    secret = next(row.secret for row in ROWS if row.rule == "github-token")
    for before in range(150, 256):
        text = "x " * (before // 2) + "y" * (before % 2) + gap + secret + " and more " * 40
        clean = redactor.redact_cut(text, 256, window_bytes=256)
        assert not leaked(secret, clean), (before, clean)


def test_a_shrunk_window_still_hides_what_its_end_cut(redactor: Redactor) -> None:
    """A key block of 7 KB becomes one marker, and the window's end moves into what is kept."""
    row = next(row for row in ROWS if row.rule == "private-key" and "-----END RSA" in row.text)
    block = row.text.replace(row.secret, "\n".join([row.secret] * 20))
    token = next(row.secret for row in ROWS if row.rule == "anthropic-key")
    text = block + " " * (8192 - len(block) - 12) + token
    assert len(block) < 8192 - 12 < len(text)
    assert not leaked(token, redactor.redact_cut(text, 2048))


def test_a_cut_never_splits_a_marker_or_a_character(redactor: Redactor) -> None:
    """What is stored is valid UTF-8 and its markers are whole."""
    text = "é password=Tr0ub4dor " * 60
    for limit in range(20, 90):
        clean = redactor.redact_cut(text, limit)
        assert len(clean.encode()) <= limit
        assert "[redacted" not in MARK.sub("", clean)
    assert redactor.redact_cut("short", 2048) == "short"


WORDS = ["password", "token", "secret", "Bearer", "cookie", "eyJ", "abc123XYZ", "-----BEGIN PRIVATE KEY-----"]
SIGNS = [
    "=",
    ":",
    '"',
    "'",
    "\\",
    "`",
    "://",
    "@",
    "--",
    "<",
    ">",
    " ",
    "\n",
    "é",
    "[redacted:x]",
    "$",
    "{",
    ".",
]
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(WORDS + SIGNS), max_size=30).map("".join)


@settings(deadline=None, max_examples=examples(400))
@given(TEXTS)
def test_any_text_is_redacted_without_error_and_only_by_replacement(text: str) -> None:
    """Between the markers stands the original, in order; a second pass changes nothing."""
    redactor = Redactor()
    clean = redactor.redact(text)
    at = 0
    original = text.encode("utf-8", "replace").decode()
    for piece in MARK.split(clean):
        found = original.find(piece, at)
        assert found >= 0
        at = found + len(piece)
    assert redactor.redact(clean) == clean


SENTENCES = GOLDEN.with_name("redaction.tsv")
SECRET = re.compile("⟦(.*?)⟧", re.DOTALL)


def sentence_rows() -> Iterator[tuple[str, str]]:
    """(text, the same with each secret's place marked) of every row of the second golden file."""
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            row = undo(line)
            yield SECRET.sub(r"\1", row), MARK.sub("[redacted]", SECRET.sub("[redacted]", row))


@pytest.mark.parametrize(("text", "kept"), list(sentence_rows()))
def test_a_sentence_keeps_its_words_and_loses_its_secrets(text: str, kept: str, redactor: Redactor) -> None:
    """REQ-HOOKS-33: what follows "Bearer" or "password:" goes only if it is a credential, and to its end."""
    assert MARK.sub("[redacted]", redactor.redact(text)) == kept


def test_a_lone_surrogate_hides_no_secret(redactor: Redactor) -> None:
    """A client may cut a text between the two halves of a character; UTF-8 holds neither."""
    assert redactor.redact("\ud83d password=Tr0ub4dor") == "? password=[redacted:keyed-value]"
    assert redactor.redact_cut("\ud83d password=Tr0ub4dor", 100) == "? password=[redacted:keyed-value]"
    assert redactor.redact_id("\ud83d plain") == "\ud83d plain"
    assert redactor.finds("password=Tr0ub4dor \udc00") and not redactor.finds("\udc00")


def test_long_texts_of_several_threads_are_redacted_side_by_side(redactor: Redactor) -> None:
    """A long text lets the other threads of the owner run."""
    texts = [f"{'word ' * 9000}password=Tr0ub4dor{at} end" for at in range(8)]
    with ThreadPoolExecutor(4) as pool:
        cleaned = list(pool.map(redactor.redact, texts))
    assert cleaned == [f"{'word ' * 9000}password=[redacted:keyed-value] end"] * 8


PRIVATE = [
    ("Set it up. <private>For Nordwind Bank</private> Use blue.", "Set it up. [redacted:private] Use blue."),
    ("a <PRIVATE>x\ny</Private> b", "a [redacted:private] b"),
    ("a <private>to the end\n\nof it", "a [redacted:private]"),
]


@pytest.mark.parametrize(("text", "kept"), PRIVATE)
def test_what_is_marked_as_private_goes_with_its_marks(text: str, kept: str, redactor: Redactor) -> None:
    """Whoever writes <private> means it, closed or not."""
    assert redactor.redact(text) == kept == redactor.redact(kept)
    assert redactor.redact_cut(text, 200) == kept


def test_what_is_masked_is_counted_by_kind(redactor: Redactor) -> None:
    """`memory import` tells how many secrets it left out."""
    tally = Tally(redactor)
    token = next(row.secret for row in ROWS if row.rule == "github-token")
    with tally.counting() as counts:
        tally.redact(f"password=Tr0ub4dor pwd=Tr0ub4dor {token}")
        tally.redact("[redacted:jwt] plain")
        tally.redact_id(token)
    assert counts == {"github-token": 2, "keyed-value": 2}
