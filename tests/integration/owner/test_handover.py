"""Client and owner of different versions: the older owner leaves, an older client is served (invariant 3)."""

from __future__ import annotations

import importlib
import time

import pytest
from tests.support.owner.harness import WAIT_S, OwnerHarness

from context_graph import __version__
from context_graph.errors import OwnerUnavailableError
from context_graph.wire.build import client_build, is_newer
from context_graph.wire.client.connection import exchange
from context_graph.wire.client.request import request
from context_graph.wire.frames import YIELDING, Request, encode_request

pytestmark = pytest.mark.real

# The package exports the function under the module's own name.
request_module = importlib.import_module("context_graph.wire.client.request")


@pytest.mark.parametrize(
    ("theirs", "ours", "newer"),
    [
        ("0.1.1", "0.1.0", True),
        ("0.1.10", "0.1.9", True),
        ("1", "0.9.9", True),
        ("0.1.0", "0.1.0", False),
        ("0.1", "0.1.0", False),
        ("0.1.0.0.1", "0.1.0", True),
        ("0.0.9", "0.1.0", False),
        ("0.2.0rc1", "0.1.0", True),
        ("", "0.1.0", False),
        ("newest", "0.1.0", False),
        ("99999999999999999999", "0.1.0", True),
        ("0.1.0+build.1764283921", "0.1.0+build.1764283920", True),
        ("0.1.0+build.1764283920", "0.1.0+build.1764283921", False),
        ("0.1.0+build.1764283920", "0.1.0", True),
        ("0.1.0", "0.1.0+build.1764283920", False),
        ("0.1.1", "0.1.0+build.1764283920", True),
        ("0.1.0+build.1764283920", "0.1.1+build.1", False),
    ],
)
def test_versions_compare_by_their_numbers(theirs: str, ours: str, newer: bool) -> None:
    assert is_newer(theirs, ours) is newer


@pytest.mark.parametrize("version", ["0.0.1", "", __version__])
def test_an_older_or_equal_client_is_served(owner: OwnerHarness, version: str) -> None:
    owner.start()
    reply = owner.ask("echo", b"x", version=version)
    assert (reply.stdout, reply.flags) == (b"x", 0)


def test_an_older_owner_yields_to_a_newer_client_and_leaves(owner: OwnerHarness) -> None:
    process = owner.start()
    reply = owner.ask("count", version="999.0.0")
    assert (reply.exit_code, reply.flags, reply.stdout) == (0, YIELDING, b"")
    assert owner.ended(process) == 0
    assert not (owner.root / "count").exists(), "an event that was not applied must not count"
    assert not owner.held()
    assert (owner.root / "closing").read_text().split()[1::2] == ["checkpoint", "close"]
    assert "leaving: client 999.0.0 is newer" in owner.log()


def test_what_was_in_flight_is_finished_before_an_older_owner_leaves(owner: OwnerHarness) -> None:
    process = owner.start()
    frame = encode_request(Request(verb="echo", body=b"in flight", version=__version__))
    with owner.raw() as half:
        half.sendall(frame[:30])
        assert owner.ask("count", version="999.0.0").flags == YIELDING
        assert exchange(half, frame[30:], time.monotonic() + WAIT_S).stdout == b"in flight"
    assert owner.ended(process) == 0


def test_a_newer_client_may_look_at_an_older_owner_without_ending_it(owner: OwnerHarness) -> None:
    process = owner.start()
    assert owner.ask("owner.status", version="999.0.0").flags == 0
    assert owner.ask("owner.ping", version="999.0.0").flags == 0
    assert process.poll() is None


def test_a_newer_client_waits_an_older_owner_out_and_starts_its_own(
    owner: OwnerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = owner.start()
    seen: list[str] = []

    def newer_at_first() -> str:
        # The new owner has this package's own version; only the old one must see a newer client.
        seen.append("asked")
        return "999.0.0" if len(seen) == 1 else client_build()

    real = request_module.exchange

    def exchange_as_newer(connection: object, frame: bytes, end: float) -> object:
        sent = newer_at_first()
        changed = frame.replace(_version_field(client_build()), _version_field(sent))
        changed = changed[:4] + (len(changed) - 8).to_bytes(4, "little") + changed[8:]
        return real(connection, changed, end)  # type: ignore[arg-type]

    monkeypatch.setattr(request_module, "exchange", exchange_as_newer)
    reply = request("count", {}, location=owner.location, timeout_s=20)
    assert reply.flags == 1
    assert len(seen) == 2
    assert owner.ended(process) == 0
    assert owner.pid() != process.pid
    assert len((owner.root / "count").read_text().split()) == 1


def test_a_newer_client_that_may_start_nothing_says_what_to_do(
    owner: OwnerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.start()
    monkeypatch.setattr(request_module, "client_build", lambda: "999.0.0")
    with pytest.raises(OwnerUnavailableError, match="owner start"):
        request("count", {}, location=owner.location, autostart=False)


def test_an_owner_that_is_too_old_again_after_its_start_is_an_error_and_no_loop(
    owner: OwnerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_module, "client_build", lambda: "999.0.0")
    with pytest.raises(OwnerUnavailableError, match="CONTEXT_GRAPH_PYTHON"):
        request("count", {}, location=owner.location, timeout_s=20)
    assert len((owner.root / "owners").read_text().split()) == 2
    assert not (owner.root / "count").exists()


def _version_field(version: str) -> bytes:
    return b"\x0c" + len(version).to_bytes(4, "little") + version.encode()
