from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

__all__ = ["add_weighted", "score"]

def score(
    block: Buffer | NDArray[Any],
    told: Buffer | NDArray[Any],
    base: Buffer | NDArray[Any],
    centres: Buffer | NDArray[Any],
    most: Buffer | NDArray[Any],
    unread: float,
    out: Buffer | NDArray[Any],
) -> None: ...
def add_weighted(
    block: Buffer | NDArray[Any],
    weights: Buffer | NDArray[Any],
    total: Buffer | NDArray[Any],
) -> None: ...
