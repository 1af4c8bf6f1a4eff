"""What a user said that holds beyond the task at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["rule", "decision"]
Wants = Literal["do", "dont", "fact"]
Scope = Literal["project", "user", "everywhere"]
"""user: it speaks of the user, or of how he is answered; everywhere: it says so of all his work."""


@dataclass(frozen=True, slots=True)
class About:
    """What a statement is about, each of a type; all in lower case but paths."""

    paths: tuple[str, ...] = ()
    """Files and folders, as they were written."""
    file_types: tuple[str, ...] = ()
    """Endings without their dot, also those of a language that is named."""
    commands: tuple[str, ...] = ()
    """Programs, with what they are told to do where that was said: `git stash`."""
    topics: tuple[str, ...] = ()
    """Stems of the other words that tell something; pairs of signs in scripts without spaces."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that holds further."""

    kind: Kind
    text: str
    """The user's own words, at most 500 characters, without the task around them."""
    wants: Wants
    scope: Scope
    about: About = field(default_factory=About)
    chosen: str = ""
    """What is asked for, where that was said: `pnpm` in `pnpm, not npm`."""
    instead_of: str = ""
    """What is given up or forbidden: `npm`."""
    reason: str = ""
    """Why, in the user's words; "" if no reason was given."""
    score: float = 0.0
    """How much speaks for it: the logarithm of the odds."""
