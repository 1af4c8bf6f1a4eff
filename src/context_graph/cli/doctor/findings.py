"""Describes a finding of an examination: a sentence, its severity, and the fix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final

ERROR: Final = "error"
"""Something does not work."""
WARNING: Final = "warning"
"""It works, but not as it should, or not for long."""
NOTE: Final = "note"
"""Worth knowing; no problem."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. No cure ever destroys data."""

    level: str
    what: str
    cure: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def is_sound(findings: Iterable[Finding]) -> bool:
    """Return whether there is nothing to mend."""
    return all(finding.level == NOTE for finding in findings)
