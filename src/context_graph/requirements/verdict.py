"""The answer for one requirement."""

from __future__ import annotations

from context_graph.requirements.rules import Requirement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["HUMAN", "CalculationError", "Verdict"]

HUMAN = "human"
"""``satisfied_by`` of a satisfaction that a person gave: the only one that counts for human_only."""


class Verdict:
    """The answer for one requirement.

    ``why`` says what is missing, or what lets it pass; ``record`` is the satisfaction that counts ({} if
    none); ``value`` a dynamic requirement's number; ``deferred`` that a process must run to tell;
    ``unknown`` that even that did not tell, so it passes.
    """

    __slots__ = ("branch", "deferred", "met", "record", "requirement", "unknown", "value", "why")

    def __init__(
        self, requirement: Requirement, met: bool, why: str = "", *, record: dict[str, Any] | None = None
    ) -> None:
        self.requirement, self.met, self.why = requirement, met, why
        self.record: dict[str, Any] = record or {}
        self.value: float | None = None
        self.branch = ""
        self.deferred = self.unknown = False


class CalculationError(Exception):
    """A dynamic requirement's number could not be had; the text says why."""
