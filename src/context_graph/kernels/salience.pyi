from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

__all__ = ["KINDS", "add_weighted", "score"]

KINDS: tuple[str, ...]

def score(
    block: Buffer | NDArray[Any],
    told: Buffer | NDArray[Any],
    base: Buffer | NDArray[Any],
    centres: Buffer | NDArray[Any],
    most: Buffer | NDArray[Any],
    unread: float,
    out: Buffer | NDArray[Any],
    kind: str | None = None,
) -> None: ...
def add_weighted(
    block: Buffer | NDArray[Any],
    weights: Buffer | NDArray[Any],
    total: Buffer | NDArray[Any],
) -> None: ...
