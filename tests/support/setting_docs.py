"""What the docs must say of each setting."""

from __future__ import annotations

from dataclasses import fields

from context_graph.config import Settings


def setting_docs() -> list[tuple[str, str, str, str]]:
    """(key, environment twin, default, meaning) of every setting, as the docs have them."""
    rows = []
    for item in fields(Settings):
        if item.name == "problems":
            continue
        default = str(item.default).lower() if isinstance(item.default, bool) else str(item.default)
        extra = ""
        if "choices" in item.metadata:
            extra = f" ({' | '.join(item.metadata['choices'])})"
        elif "range" in item.metadata:
            extra = " ({} to {})".format(*item.metadata["range"])
        rows.append((item.name, f"CONTEXT_GRAPH_{item.name.upper()}", default, item.metadata["doc"] + extra))
    return rows
