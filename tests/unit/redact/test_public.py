"""What everybody may read stays: hashes of lock files, public SSH keys, certificates; never a private key."""

from __future__ import annotations

import base64
import random
import textwrap
from collections.abc import Callable

import pytest

from context_graph.redact import Redactor

DRAWN = random.Random(1)
ROUNDS = 150
"""Values of each kind: whether a hash has a slash, and where, is chance."""


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


def base(count: int, head: bytes = b"") -> str:
    """``head`` and so many random bytes, in base64."""
    return base64.b64encode(head + DRAWN.randbytes(count)).decode()


def block(kind: str, count: int) -> str:
    """A PEM block of so many random bytes."""
    lines = textwrap.wrap(base(count), 64)
    return "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""))


def ssh(kind: bytes, count: int) -> str:
    """The body of a public SSH key: its kind with its length, then random bytes."""
    return base(count, len(kind).to_bytes(4, "big") + kind + b"\0\0\0\3\1\0\1\0\0\2\1\0")


PUBLIC: dict[str, Callable[[], str]] = {
    "npm": lambda: f'"integrity": "sha512-{base(64)}"',
    "yarn": lambda: f"  integrity sha512-{base(64)}",
    "html": lambda: f'<script integrity="sha384-{base(48)}" src="a.js">',
    "go.sum": lambda: f"github.com/a/b v1.2.3/go.mod h1:{base(32)}",
    "nix": lambda: f'hash = "sha256-{base(32)}";',
    "fingerprint": lambda: f"256 SHA256:{base(32).rstrip('=')} me@host (ED25519)",
    "ssh-ed25519": lambda: f"ssh-ed25519 {ssh(b'ssh-ed25519', 32)} me@host",
    "ssh-rsa": lambda: f"ssh-rsa {ssh(b'ssh-rsa', 512)} me@host",
    "ecdsa": lambda: f"ecdsa-sha2-nistp256 {ssh(b'ecdsa-sha2-nistp256', 65)} me@host",
    "certificate": lambda: block("CERTIFICATE", DRAWN.randint(600, 1800)),
    "public key": lambda: block("PUBLIC KEY", 294),
    "rsa public key": lambda: block("RSA PUBLIC KEY", 270),
    "request": lambda: block("CERTIFICATE REQUEST", 400),
    "escaped": lambda: '"x": "' + block("CERTIFICATE", 900).replace("\n", "\\n") + '"',
    "indented": lambda: textwrap.indent(block("CERTIFICATE", 900), "    "),
    "cut off": lambda: block("CERTIFICATE", 900)[: DRAWN.randint(40, 1200)],
    "chain": lambda: block("CERTIFICATE", 700) + block("CERTIFICATE", 900),
    "pgp": lambda: (
        block("PGP PUBLIC KEY BLOCK", 700)
        .replace("BLOCK-----\n", "BLOCK-----\n\n", 1)
        .replace("\n-----END", f"\n={base(3)}\n-----END")
    ),
}


@pytest.mark.parametrize("kind", PUBLIC)
def test_public_hashes_and_keys_stay_wherever_a_slash_stands_in_them(kind: str, redactor: Redactor) -> None:
    """REQ-HOOKS-33: a lock file's line says nothing without its hash, and hides nothing with it."""
    texts = [PUBLIC[kind]() for _ in range(ROUNDS)]
    changed = [clean for text in texts if (clean := redactor.redact(text)) is not text]
    assert not changed, changed[:2]


@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"])
def test_a_private_key_behind_a_certificate_goes_whole(kind: str, redactor: Redactor) -> None:
    """A bundle of both is how servers are given them."""
    for _ in range(ROUNDS):
        shown, hidden = block("CERTIFICATE", 600), block(kind, 300)
        assert not any(line in redactor.redact(shown + hidden) for line in hidden.splitlines()[1:-1])
        assert not any(line in redactor.redact(hidden + shown) for line in hidden.splitlines()[1:-1])


def test_a_private_keys_body_alone_is_no_public_one(redactor: Redactor) -> None:
    """Its head may be cut off, and a certificate may have ended before it."""
    for _ in range(ROUNDS):
        body = block("PRIVATE KEY", 300).partition("\n")[2]
        shown = block("CERTIFICATE", 100)
        assert redactor.redact(shown + body) == shown + redactor.redact(body) != shown + body


@pytest.mark.parametrize(
    "head",
    [
        "-----BEGIN CERTIFICATE-----\nthe key is ",
        "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\nsee ",
        "sha512 of ",
        "ssh-rsa key: ",
        "h1 is ",
    ],
)
def test_words_about_public_things_hide_no_secret_behind_them(head: str, redactor: Redactor) -> None:
    """Only what directly belongs to the prefix is public."""
    for _ in range(ROUNDS):
        secret = "q7Zt9Xw2Lk" + base(30).replace("/", "a").replace("+", "b")
        assert secret[:10] not in redactor.redact(f"{head}{secret} and more")


def test_an_issuers_token_behind_a_hashs_prefix_still_goes(redactor: Redactor) -> None:
    """A prefix excuses base64 that an issuer's four letters happen to stand in, not the token itself."""
    token = "AKIA" + "7LRWFVEALKXWKKXZ"
    assert token not in redactor.redact(f"sha256:{token}")


def test_many_hashes_take_linear_time(redactor: Redactor) -> None:
    """The search to the left is bounded, and what was found public is not asked about again."""
    import time

    def seconds(text: str) -> float:
        start = time.thread_time()
        redactor.redact(text)
        return time.thread_time() - start

    piece = block("CERTIFICATE", 1500) + "-----BEGIN CERTIFICATE-----\n" + f"{base(48)} x\n" * 40
    few, many = piece * 4, piece * 32
    assert min(seconds(many) for _ in range(3)) < 24 * min(seconds(few) for _ in range(5))
