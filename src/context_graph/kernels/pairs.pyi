from typing import Final, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["CODES", "GROUP_PAIRS", "KINDS", "Block", "Sets", "close_pairs"]

CODES: Final[int]
GROUP_PAIRS: Final[int]
KINDS: Final[tuple[str, ...]]

@final
class Block:
    def __init__(
        self,
        rows: NDArray[np.float32],
        codes: NDArray[np.int8],
        slack: NDArray[np.int32],
        kind: str | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...

def close_pairs(
    a: Block,
    b: Block,
    limit: int,
    threshold: float,
    out_i: NDArray[np.int32],
    out_j: NDArray[np.int32],
    out_cosine: NDArray[np.float64],
    *,
    forest: bool = False,
    start: int = 0,
) -> tuple[int, int]: ...

@final
class Sets:
    def __init__(self, n: int) -> None: ...
    def __len__(self) -> int: ...
    def join(self, ones: NDArray[np.int32], others: NDArray[np.int32]) -> int: ...
    def labels(self, out: NDArray[np.int32]) -> None: ...
