"""Writes the static embedder's data file: int8 rows, lexicons, markers; memory/table.py reads it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from research.distil import lexicons

MAGIC = b"CGTABLE1"
ALIGN = 64
LEXICON_SPACES = ("Temporal", "Moral", "Aesthetic", "Behavioral", "Emotional")  # the kernel's order
LEXICON_SIZES = (32, 64, 64, 128, 32)
POLARITY = 8
KEPT = 700  # pieces of a lexicon at most, per category
CLEAR = 0.12  # cosine to the axis between the poles from which a word has a polarity
POLES = 2.0  # how much polarity counts beside categories
NEAR = 0.40  # cosine to a category's centre from which a word belongs to it

NEGATION, BASE_VERB, STOPS, COMMA, INNER, MARKS_ONLY, KEYWORD = 1, 2, 4, 8, 16, 32, 64

Array = np.ndarray[Any, Any]


def quantised(rows: Array) -> tuple[Array, Array]:
    """int8 rows and the float32 scale of each."""
    scales = np.maximum(np.abs(rows).max(1), 1e-12) / 127.0
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def marks(vocabulary: list[str]) -> Array:
    """(V, 4) bytes: role, counterfactual and teleological marker (weight * 15 << 4 | kind), flags."""
    out = np.zeros((len(vocabulary), 4), np.uint8)
    place = {piece: i for i, piece in enumerate(vocabulary)}
    for column, words in enumerate((lexicons.CAUSAL, lexicons.COUNTERFACTUAL, lexicons.TELEOLOGICAL)):
        for word, (kind, weight) in words.items():
            if word in place:
                out[place[word], column] = round(weight * 15) << 4 | kind
    for role, pieces in lexicons.ROLES.items():
        for piece in pieces:
            out[place[piece], 0] = role
    out[:, 3] = [_flags(piece) for piece in vocabulary]
    return out


def _flags(piece: str) -> int:
    body = piece.removeprefix("##") if len(piece) > 2 else piece
    groups = (
        (NEGATION, piece in lexicons.NEGATIONS),
        (BASE_VERB, piece in lexicons.BASE_VERBS),
        (KEYWORD, piece in lexicons.KEYWORDS),
        (STOPS, piece in (".", "!", "?", ";")),
        (COMMA, piece == ","),
        (INNER, body != piece),
        (MARKS_ONLY, not any(character.isalnum() for character in body)),
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


def _lexicon(space: str, size: int, vocabulary: list[str], teacher: Array) -> tuple[Array, Array]:
    """Pieces near the space's seeds: polarity, one value a category, then the row's own directions."""
    place = {piece: i for i, piece in enumerate(vocabulary)}
    candidates = np.array(
        [i for i, piece in enumerate(vocabulary) if piece.isascii() and piece.isalpha() and len(piece) > 2]
    )
    rows = unit(teacher - teacher[candidates].mean(0))
    seeds = {name: [place[w] for w in words if w in place] for name, words in lexicons.SPACES[space].items()}
    poles = [seeds.pop(pole, None) for pole in ("+", "-")]
    centres = unit(np.stack([rows[ids].mean(0) for ids in seeds.values()]))
    near = rows[candidates] @ centres.T
    kept = np.zeros(len(vocabulary), bool)
    for column in range(near.shape[1]):
        best = np.argsort(-near[:, column])[:KEPT]
        kept[candidates[best[near[best, column] > NEAR]]] = True
    for ids in seeds.values():
        kept[ids] = True
    chosen = np.flatnonzero(kept)
    scores = np.clip((rows[chosen] @ centres.T - 0.3) / 0.4, 0.0, 1.0)
    for column, ids in enumerate(seeds.values()):
        scores[np.isin(chosen, ids), column] = 1.0
    parts = [scores]
    if poles[0] and poles[1]:
        axis = unit(rows[poles[0]].mean(0) - rows[poles[1]].mean(0))
        along = rows[chosen] @ axis
        polarity = np.clip(3.0 * np.sign(along) * np.maximum(np.abs(along) - CLEAR, 0.0), -1.0, 1.0)
        polarity[np.isin(chosen, poles[0])] = 1.0
        polarity[np.isin(chosen, poles[1])] = -1.0
        parts.insert(0, np.repeat(POLES * polarity[:, None] / np.sqrt(POLARITY), POLARITY, 1))
    rest = size - sum(part.shape[1] for part in parts)
    own = rows[chosen] - rows[chosen].mean(0)
    directions = np.linalg.svd(own, full_matrices=False)[2][:rest]
    parts.append(0.7 * unit(own @ directions.T))
    weight = 0.3 + 0.7 * scores.max(1, keepdims=True)
    return chosen.astype(np.uint16), weight * np.concatenate(parts, 1)


def write(path: Path, name: str, vocabulary: list[str], rows: Array, teacher: Array) -> None:
    """Args: rows (V, 256) as they are summed; teacher (V, 384), by which lexicons are extended."""
    values, scales = quantised(rows)
    sections: dict[str, bytes] = {
        "vocabulary": "\n".join(vocabulary).encode(),
        "rows": values.tobytes(),
        "scales": scales.tobytes(),
        "marks": marks(vocabulary).tobytes(),
    }
    for space, size in zip(LEXICON_SPACES, LEXICON_SIZES, strict=True):
        if space == "Temporal":
            ids, entries = _temporal({piece: i for i, piece in enumerate(vocabulary)})
        else:
            ids, entries = _lexicon(space, size, vocabulary, teacher)
        values, scales = quantised(entries)
        sections[f"{space}.pieces"] = ids.tobytes()
        sections[f"{space}.scales"] = scales.tobytes()
        sections[f"{space}.values"] = values.tobytes()
        print(f"{space}: {len(ids)} pieces")
    _pack(path, {"name": name, "pieces": len(vocabulary), "width": rows.shape[1]}, sections)


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
