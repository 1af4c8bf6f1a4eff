"""The one check that identity's numbers share."""

from __future__ import annotations

__all__ = ["require_unit"]


def require_unit(name: str, value: float) -> None:
    """Refuse a ``value`` outside [0, 1], NaN included: it would become a state that means nothing.

    Raises:
        ValueError: Names the field and the value.
    """
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {value!r}")
