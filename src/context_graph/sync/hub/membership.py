"""What a member's machine keeps of the hub that a project has joined; it needs no PostgreSQL to be read."""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from context_graph.config.paths import ACCOUNT_MARK
from context_graph.errors import ConfigError, InvalidInputError
from context_graph.sync.hub import FILE
from context_graph.system.small_files import replacing

_TOKEN: Final = "cg1."
_MAX_TOKEN: Final = 4096


class Membership(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One project of one hub, as a member reaches it."""

    url: str
    """The server's address, with login and password."""
    project: str
    """Its id."""
    team: str
    name: str
    """The project's."""

    @property
    def where(self) -> str:
        """For people; without the address."""
        return f"project {self.name} of team {self.team} in the hub"


def token_of(membership: Membership) -> str:
    """Return what an administrator hands to a new member: one word, as secret as a password."""
    return _TOKEN + urlsafe_b64encode(msgspec.json.encode(membership)).decode().rstrip("=")


def membership_in(token: str) -> Membership:
    """Raises InvalidInputError: It is no such word; nothing of it is quoted."""
    text = token.strip()
    try:
        if not text.startswith(_TOKEN) or len(text) > _MAX_TOKEN:
            raise ValueError
        data = text.removeprefix(_TOKEN)
        membership = msgspec.json.decode(urlsafe_b64decode(data + "=" * (-len(data) % 4)), type=Membership)
        UUID(membership.project)
    except (ValueError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InvalidInputError("TOKEN is not what `hub invite` printed; ask for it again") from error
    return membership


def joined(store: Path) -> Membership | None:
    """Return the hub that this project's store has joined. Raises ConfigError if its file can't be read."""
    try:
        return msgspec.json.decode((store / FILE).read_bytes(), type=Membership)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{store / FILE} can't be read; join the hub again: {error}") from error


def join(store: Path, membership: Membership) -> None:
    """Note the hub for this project, in a file that only its user can read.

    Raises ConfigError for the store of what one user said of all his work: that is no team's.
    """
    if store.name.startswith(ACCOUNT_MARK):
        raise ConfigError("what you keep with the scope user is never told to a hub; join one in a project")
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(store / FILE, mode=0o600) as out:
        out.write(msgspec.json.encode(membership))


def leave(store: Path) -> bool:
    """Forget the hub; whether there was one."""
    try:
        os.unlink(store / FILE)
    except FileNotFoundError:
        return False
    return True


def stores_with_hubs(root: Path) -> list[Membership]:
    """Return what other projects of this user have joined; those that can't be read are left out."""
    memberships = []
    for path in sorted((root / "stores").glob(f"*/{FILE}")):
        try:
            memberships.append(msgspec.json.decode(path.read_bytes(), type=Membership))
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            continue
    return memberships
