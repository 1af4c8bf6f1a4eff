from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

__all__ = ["update"]

def update(
    source: Buffer | NDArray[Any],
    target: Buffer | NDArray[Any],
    activity: Buffer | NDArray[Any],
    before: Buffer | NDArray[Any],
    after: Buffer | NDArray[Any],
    learning: float,
    decay: float,
    floor: float,
) -> None: ...
