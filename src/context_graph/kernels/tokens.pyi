from collections.abc import Callable, Iterable, Sequence
from typing import final

from typing_extensions import Buffer

from context_graph.kernels.features import EventFeatures

__all__ = ["Encoded", "Encoder"]

@final
class Encoded:
    @property
    def embedding(self) -> bytes: ...
    @property
    def terms(self) -> bytes: ...
    @property
    def pieces(self) -> bytes: ...
    @property
    def tokens(self) -> int: ...

@final
class Encoder:
    def __init__(
        self,
        vocabulary: bytes,
        rows: Buffer,
        scales: Buffer,
        marks: Buffer,
        lexicons: Sequence[tuple[Buffer, Buffer, Buffer]],
        stop_words: Iterable[bytes],
        stem: Callable[[str], str],
        reader: EventFeatures,
        bags: bytes,
        begins: Sequence[int],
        weights: Sequence[float],
    ) -> None: ...
    @property
    def vocabulary_size(self) -> int: ...
    def encode(self, text: str) -> Encoded: ...
    def query(self, text: str, counts: Buffer, total: int, a: float = 1e-3) -> Encoded: ...
    def terms_of(self, text: str) -> bytes: ...
    def meaning_of(self, text: str) -> bytes: ...
    def count(self, text: str) -> int: ...
    def cut(self, text: str, tokens: int) -> str: ...
