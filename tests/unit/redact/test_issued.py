"""Tokens whose body is hexadecimal or a UUID: only their issuer's prefix or their shape tells them."""

from __future__ import annotations

import pytest

from context_graph.redact import Redactor

UUID = "550e8400-e29b-41d4-a716-446655440000"
HEX = "3f786850e387550fdab836ed7e6dc881de23001b" * 2

ISSUED = {
    "hubspot-token": [f"pat-na1-{UUID}", f"pat-eu1-{UUID}"],
    "launchdarkly-key": [f"sdk-{UUID}", f"api-{UUID}"],
    "plaid-token": [f"access-{where}-{UUID}" for where in ("production", "sandbox", "development")],
    "langfuse-key": [f"sk-lf-{UUID}"],
    "context7-key": [f"ctx7sk-{UUID}"],
    "firecrawl-key": [f"fc-{HEX[:32]}"],
    "axiom-token": [f"xaat-{UUID}", f"xapt-{UUID}"],
    "amazon-token": [f"amzn.mws.{UUID}"],
    "amazon-secret": [f"amzn1.oa2-cs.v1.{HEX[:64]}"],
    "razorpay-key": ["rzp_live_" + "hN3aVw9KxQ2mZt"],
    "infisical-token": [f"st.{HEX[:24]}.{HEX[2:34]}.{HEX[3:35]}"],
    "newrelic-key": [f"{HEX[:36]}NRAL"],
    "mailgun-key": [f"{HEX[:32]}-{HEX[:8]}-{HEX[8:16]}"],
    "onepassword-key": [
        "A3-" + "ASWWYB-798JRYLJVD4-23DC2-86TVM-H43EB", "A3-" + "ASWWYB-798JRY-LJVD4-23DC2-86TVM-H43EB",
    ],
    "linkedin-secret": ["WPL_AP1." + "qG4mVx8RtY2wKp7Z.aB3dE5fG=="],
    "helicone-key": ["sk-helicone-" + "abc1234-def5678-ghi9012-jkl3456", f"sk-helicone-eu-{UUID}"],
    "k3s-token": [f"K10{HEX[:64]}::server:{HEX[:32]}"],
}  # fmt: skip

AROUND = [
    "{}",
    "use {} for this",
    "x = '{}'",
    '{{"value": "{}", "n": 1}}',
    "- value: {}\n- next",
    "a={};b",
    "(see {}).",
]


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("rule", "token"), [(rule, one) for rule, some in ISSUED.items() for one in some])
def test_a_token_goes_whole_under_its_issuers_name(
    rule: str, token: str, around: str, redactor: Redactor
) -> None:
    """REQ-HOOKS-33: whatever stands around it."""
    assert redactor.redact(around.format(token)) == around.format(f"[redacted:{rule}]")


ORDINARY = [
    f"commit {HEX[:40]} (HEAD -> main)",
    f"record {UUID} of api-gateway, sdk-core and fc-event",
    f"uuid={UUID} request-{UUID} session {UUID}.jsonl",
    f"my-sdk-{UUID[:8]} api-{UUID[:23]}",
    "import { api-client } from 'sdk-js'; @launchdarkly/node-server-sdk-v9",
    ".fc-toolbar .fc-daygrid-day-frame { color: #aabbccdd; } .fc-0a1b2c",
    "A3-format paper, A3-B4-C5; section A3-1",
    "access-production-database access-sandbox-policy",
    f"traceparent: 00-{HEX[:32]}-{HEX[:16]}-01",
    f"b3: {HEX[:32]}-{HEX[:16]}-1",
    f"test.{HEX[:24]}.js main.{HEX[:20]}.chunk.js dist.{HEX[:24]}.{HEX[:32]}.css",
    f"docker.io/library/nginx@sha256:{HEX[:64]}",
    "pat-na1 is the region; K10 is a kernel; NRAL is a suffix",
    "rzp_live_ is the prefix of a live key",
    f"{HEX[:32]}-{HEX[:4]}",
    "sk-helicone-example sk-lf-docs ctx7sk-",
    "amzn1.ask.skill.12 amzn1.application",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_hashes_ids_and_names_stay(text: str, redactor: Redactor) -> None:
    """A prefix without its body, or a body without its prefix, is no token."""
    assert redactor.redact(text) is text


def test_an_id_that_looks_like_a_launchdarkly_key_stays_an_id(redactor: Redactor) -> None:
    """Two sessions of an SDK must not become one."""
    assert redactor.redact_id(f"sdk-{UUID}") == f"sdk-{UUID}"
    assert UUID not in redactor.redact_id(f"pat-na1-{UUID}")


def test_a_window_leaves_no_half_of_a_token(redactor: Redactor) -> None:
    """Its parts are joined by hyphens and dots, not by white space."""
    for tokens in ISSUED.values():
        for token in tokens:
            for at in range(1, len(token)):
                assert token[:8] not in redactor.redact_cut("x " * 20 + token + " y" * 99, 40 + at, 40 + at)
