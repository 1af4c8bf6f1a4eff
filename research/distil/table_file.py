"""Writes the static embedder's data file: int8 rows, lexicons, roles; memory/embed.py reads it."""

from __future__ import annotations

import json
import struct
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from research.distil import lexicons

MAGIC = b"CGTABLE1"
ALIGN = 64
STEPS_SIZE = 128
KEPT = 700  # pieces of a lexicon at most, per category
NEAR = 0.40  # cosine to a category's centre from which a word belongs to it

PLAIN_VERB, STOPS, COMMA, INNER = 2, 4, 8, 16

SAME_VECTORS = {
    "a96c572d5225f3fee68f641db593c937d70efed1ffcfd4ba3dad63e62f28d1f5": (
        "a64269f98dc6f6b15c88b8719574f52919ebfb5a1732e2a3892567be154bed6d"
    ),
}
"""sha256 of vocabulary, rows and scales -> the digest that stores with such vectors recorded first."""

Array = np.ndarray[Any, Any]


def quantised(rows: Array) -> tuple[Array, Array]:
    """int8 rows and the float32 scale of each."""
    scales = np.maximum(np.abs(rows).max(1), 1e-12) / 127.0
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def marks(vocabulary: list[str]) -> Array:
    """(V, 2) bytes: role (weight * 15 << 4 | kind), flags."""
    out = np.zeros((len(vocabulary), 2), np.uint8)
    place = {piece: i for i, piece in enumerate(vocabulary)}
    for word, (kind, weight) in lexicons.CAUSAL.items():
        if word in place:
            out[place[word], 0] = round(weight * 15) << 4 | kind
    for role, pieces in lexicons.ROLES.items():
        for piece in pieces:
            out[place[piece], 0] = role
    out[:, 1] = [_flags(piece) for piece in vocabulary]
    return out


def _flags(piece: str) -> int:
    inner = len(piece) > 2 and piece.startswith("##")
    groups = (
        (PLAIN_VERB, piece in lexicons.PLAIN_VERBS),
        (STOPS, piece in (".", "!", "?", ";")),
        (COMMA, piece == ","),
        (INNER, inner),
    )
    return sum(flag for flag, holds in groups if holds)


def _temporal(place: dict[str, int]) -> tuple[Array, Array]:
    values: dict[int, Array] = {}
    for table in (lexicons.TEMPORAL, lexicons.TENSES):
        for slot, (weight, words) in table.items():
            for word in words:
                if word in place:
                    values.setdefault(place[word], np.zeros(32))[slot] += weight
    ids = np.array(sorted(values), np.uint16)
    return ids, np.stack([values[i] for i in ids])


def _steps(vocabulary: list[str], teacher: Array) -> tuple[Array, Array]:
    """Pieces near the seeds of Steps: one value a category, then the row's own directions."""
    place = {piece: i for i, piece in enumerate(vocabulary)}
    candidates = np.array(
        [i for i, piece in enumerate(vocabulary) if piece.isascii() and piece.isalpha() and len(piece) > 2]
    )
    rows = unit(teacher - teacher[candidates].mean(0))
    seeds = [[place[word] for word in words if word in place] for words in lexicons.STEPS.values()]
    centres = unit(np.stack([rows[ids].mean(0) for ids in seeds]))
    near = rows[candidates] @ centres.T
    kept = np.zeros(len(vocabulary), bool)
    for column in range(near.shape[1]):
        best = np.argsort(-near[:, column])[:KEPT]
        kept[candidates[best[near[best, column] > NEAR]]] = True
    for ids in seeds:
        kept[ids] = True
    chosen = np.flatnonzero(kept)
    scores = np.clip((rows[chosen] @ centres.T - 0.3) / 0.4, 0.0, 1.0)
    for column, ids in enumerate(seeds):
        scores[np.isin(chosen, ids), column] = 1.0
    own = rows[chosen] - rows[chosen].mean(0)
    directions = np.linalg.svd(own, full_matrices=False)[2][: STEPS_SIZE - scores.shape[1]]
    weight = 0.3 + 0.7 * scores.max(1, keepdims=True)
    return chosen.astype(np.uint16), weight * np.concatenate([scores, 0.7 * unit(own @ directions.T)], 1)


def write(path: Path, name: str, vocabulary: list[str], rows: Array, teacher: Array) -> None:
    """Args: rows (V, 256) as they are summed; teacher (V, 384), by which the lexicon of Steps is extended."""
    values, scales = quantised(rows)
    sections: dict[str, bytes] = {
        "vocabulary": "\n".join(vocabulary).encode(),
        "rows": values.tobytes(),
        "scales": scales.tobytes(),
        "marks": marks(vocabulary).tobytes(),
    }
    place = {piece: i for i, piece in enumerate(vocabulary)}
    for space, (ids, entries) in {"Temporal": _temporal(place), "Steps": _steps(vocabulary, teacher)}.items():
        values, scales = quantised(entries)
        sections[f"{space}.pieces"] = ids.tobytes()
        sections[f"{space}.scales"] = scales.tobytes()
        sections[f"{space}.values"] = values.tobytes()
        print(f"{space}: {len(ids)} pieces")
    head = {"name": name, "pieces": len(vocabulary), "width": rows.shape[1], "vectors": vectors(sections)}
    _pack(path, head, sections)


def vectors(sections: dict[str, bytes]) -> str:
    """The digest that stores record: tables that cut and sum alike have the same."""
    digest = sha256(b"".join(sections[key] for key in ("vocabulary", "rows", "scales"))).hexdigest()
    return SAME_VECTORS.get(digest, digest)


def _pack(path: Path, head: dict[str, Any], sections: dict[str, bytes]) -> None:
    """Magic, length of the head, head (JSON: offset and length of each section), sections, aligned to 64."""
    room = 4096  # of magic, length and head
    offset, table = room, {}
    for key, data in sections.items():
        table[key] = [offset, len(data)]
        offset += -(-len(data) // ALIGN) * ALIGN
    packed = json.dumps({**head, "sections": table}, sort_keys=True).encode()
    if len(packed) + 12 > room:
        raise ValueError("the head does not fit")
    with path.open("wb") as out:
        out.write((MAGIC + struct.pack("<I", len(packed)) + packed).ljust(room, b"\0"))
        for data in sections.values():
            out.write(data.ljust(-(-len(data) // ALIGN) * ALIGN, b"\0"))
