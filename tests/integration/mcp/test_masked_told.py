"""Whoever stores something is told that a secret was masked: how many of which kind, never the text."""

from __future__ import annotations

import json

import pytest
from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected

SECRET = "Tr0ub4dor99"
JWT = ".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"))


def test_a_tool_call_that_stores_a_secret_is_told_what_was_masked(cli: Cli) -> None:
    """store_memory counts by kind over content, rationale, tags and metadata; link_memories over metadata."""
    with connected(cli) as peer:
        told = peer.ask(
            "store_memory",
            content=f"Authorization: Bearer {JWT} is what staging sends",
            rationale=f"the password is {SECRET} for now",
            metadata={"password": 'quo"ted pass', "note": "nothing else"},
        )
        assert told["masked"] == {"jwt": 1, "keyed-value": 2}
        assert SECRET not in json.dumps(told) and JWT not in json.dumps(told)
        kept = peer.ask("get_memory", node_id=told["node_id"])["node"]
        assert kept["metadata"] == {"password": "[redacted:keyed-value]", "note": "nothing else"}
        plain = peer.ask("store_memory", content="Bearer tokens are required", rationale="from the docs")
        assert "masked" not in plain
        quoted = {"error": 'psql: user "shop": it\'s [redacted:jwt]'}
        again = peer.ask("store_memory", content="it said", rationale="from a summary", metadata=quoted)
        shown = peer.ask("get_memory", node_id=again["node_id"])
        assert shown["node"]["metadata"] == quoted, "a mark that was there changes nothing beside it"
        again = peer.ask("store_memory", content="it was [redacted:jwt] before", rationale="from a summary")
        assert "masked" not in again
        linked = peer.ask(
            "link_memories",
            source_id=plain["node_id"],
            target_id=again["node_id"],
            metadata={"why": f"password={SECRET}"},
        )
        assert linked["masked"] == {"keyed-value": 1}


@pytest.mark.parametrize("output", ["text", "json"])
def test_memory_store_tells_what_was_masked(output: str, cli: Cli) -> None:
    """Lines for people: on standard error, so that standard output stays an id."""
    args = ("memory", "store", f"password={SECRET}", "--rationale", "kept by a test", "--format", output)
    done = cli.run(*args)
    assert done.returncode == 0 and SECRET not in done.stdout + done.stderr
    assert "masked before it was written: 1 keyed-value" in done.stderr
    if output == "json":
        assert json.loads(done.stdout)["masked"] == {"keyed-value": 1}
    else:
        assert len(done.stdout.split()) == 1
    plain = cli.run("memory", "store", "the token is refreshed", "--rationale", "kept by a test")
    assert plain.returncode == 0 and plain.stderr == ""


def test_an_import_reports_what_was_masked(cli: Cli) -> None:
    """Over memories, links and the reasons of what was forgotten."""
    assert cli.run("memory", "store", "one plain note", "--rationale", "kept by a test").returncode == 0
    lines = cli.run("memory", "export").stdout.replace("one plain note", f"password={SECRET}")
    lines = lines.replace(json.loads(lines.splitlines()[1])["id"], "0a1b2c3d-0000-4000-8000-000000000001")
    done = cli.run("memory", "import", "--json", stdin=lines)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["added"] == 1 and report["masked"] == {"keyed-value": 1}
    assert "masked" not in json.loads(cli.run("memory", "import", "--json", stdin=lines).stdout)
