from array import array
from collections.abc import Iterable
from typing import Final, final

__all__ = ["BAGS", "BUCKETS", "EventFeatures"]

BAGS: Final[tuple[str, ...]]
BUCKETS: Final[int]

@final
class EventFeatures:
    def __init__(self, stop_words: Iterable[bytes], heads: Iterable[bytes]) -> None: ...
    @property
    def counts(self) -> array[int]: ...
    @property
    def buckets(self) -> array[int]: ...
    @property
    def values(self) -> array[float]: ...
    def scan(self, input_text: bytes, output_text: bytes) -> None: ...
    def fold(self, vector: array[float], bags: bytes, starts: array[int]) -> None: ...
