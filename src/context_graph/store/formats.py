"""What a database says of its own format, judged when it is opened."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from context_graph.errors import FormatVersionError
from context_graph.store.failures import missing_family
from context_graph.store.graph_layout import LAYOUT_1, LAYOUT_1_FAMILIES, MEMORY_FAMILIES, MEMORY_LAYOUT
from context_graph.store.layout import FORMAT_VERSION

__all__ = ["check_format", "check_memory_layout"]


def check_format(path: Path, marker: bytes | None) -> None:
    """Whether the store's format, as its marker says it, is the one that this build knows.

    Raises:
        FormatVersionError: It is not, or there is no marker.
    """
    if marker == str(FORMAT_VERSION).encode():
        return
    text = "none" if marker is None else marker[:32].decode("utf-8", "backslashreplace")
    raise FormatVersionError(
        f"{path} has store format {text}, this build expects {FORMAT_VERSION}: "
        "it belongs to another version of context-graph, or to something else"
    )


def check_memory_layout(path: Path, marker: bytes | None, families: Container[str]) -> None:
    """Whether ``families`` are those that the marker of the store's memory promises; without one none is.

    Raises:
        FormatVersionError: A layout that this build does not know.
        MissingColumnFamilyError: One is not there.
    """
    if marker is None:
        return
    if marker not in (MEMORY_LAYOUT, LAYOUT_1):
        raise FormatVersionError(
            f"{path} has memory layout {marker[:32]!r}, this build expects {MEMORY_LAYOUT!r}: "
            "it was written by a newer version of context-graph; use that one"
        )
    for family in MEMORY_FAMILIES if marker == MEMORY_LAYOUT else LAYOUT_1_FAMILIES:
        if family not in families:
            raise missing_family(family)
