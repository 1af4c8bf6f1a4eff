"""What all texts share in an embedder's Semantic space, to be taken away before texts are compared.

Means of token vectors lie close together whatever they are about, because half of every text is the same
function words. Two directions make up most of that, the mean of talk and the mean of technical prose; without
them, and beside the SPLADE space, the cosine of unrelated texts comes to about 0.1, and texts of one session
stand out (docs/memory-metrics.md).
"""

from __future__ import annotations

import math
from array import array
from operator import mul
from typing import Final

from context_graph.memory.embed import EmbeddingProvider
from context_graph.model.spaces import space_vector

__all__ = ["common_of"]

_TALK: Final = """Yes, that sounds good to me! What do you want to do about the other one? She said that
her family went to the park last weekend and that they had a really great time together. Thanks for your
help, it was very nice of you, and I hope to see you again soon. I think that this is a good idea, but
we should look at it again next week when there is more time. He has been working on this for a long
time and wants to know what other people think about it. It's been a while, how are you? I'm so happy
for you, that must feel amazing."""

_WORK: Final = """The user asked to change how the tests are run, and we decided to keep the old command
for now. The function returns the value of the first item, or an error if the list is empty. Use the new
option in the config file instead of the environment variable, because it is easier to find. The service
reads data from the queue, writes it to the database and sends a message when it is done. The build
failed because a file was missing; it was fixed by adding it to the project. def get(self, name): return
self.items[name] if name in self.items else None"""


_KNOWN: Final[dict[str, bytes]] = {}
"""By the embedder's digest."""


def common_of(provider: EmbeddingProvider) -> bytes:
    """Up to two vectors of 256 float32, of length 1 and at right angles; the same for the same embedder.

    Cost: two texts encoded, once an embedder.
    """
    digest = provider.digest
    if digest not in _KNOWN:
        _KNOWN[digest] = _computed(provider)
    return _KNOWN[digest]


def _computed(provider: EmbeddingProvider) -> bytes:
    found: list[list[float]] = []
    for text in (_TALK, _WORK):
        vector = list(space_vector(provider.encode(text).embedding, "Semantic"))
        for other in found:
            along = math.fsum(map(mul, vector, other))
            vector = [value - along * shared for value, shared in zip(vector, other, strict=True)]
        length = math.sqrt(math.fsum(map(mul, vector, vector)))
        if length > 1e-6:
            found.append([value / length for value in vector])
    return b"".join(array("f", vector).tobytes() for vector in found)
