"""all-MiniLM-L6-v2 in PyTorch, from its safetensors: vectors of texts and of the pieces within them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
from safetensors.torch import load_file
from tokenizers import Tokenizer

__all__ = ["Teacher"]

Array = np.ndarray[Any, Any]
Layer = tuple[tuple[torch.Tensor, torch.Tensor], ...]

LAYERS, HEADS, WIDTH = 6, 12, 384
CLS, SEP = 101, 102
BATCH_PIECES = 6_000
EPSILON = 1e-12


class Teacher:
    """Args: folder with model.safetensors and tokenizer.json."""

    def __init__(self, folder: Path, max_pieces: int) -> None:
        tensors = load_file(folder / "model.safetensors")

        def named(name: str) -> torch.Tensor:
            return next(tensor.float() for key, tensor in tensors.items() if key.endswith(name))

        def affine(name: str) -> tuple[torch.Tensor, torch.Tensor]:
            return named(f"{name}.weight"), named(f"{name}.bias")

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(max_pieces + 2)
        pieces = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
        self.vocabulary = sorted(pieces, key=lambda piece: pieces[piece])
        self._pieces = named("embeddings.word_embeddings.weight")
        self._places = (
            named("embeddings.position_embeddings.weight") + named("token_type_embeddings.weight")[0]
        )
        self._norm = affine("embeddings.LayerNorm")
        self._layers = [_layer(affine, f"encoder.layer.{i}.") for i in range(LAYERS)]

    @torch.no_grad()
    def hidden(self, ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Last layer, (B, T, 384); ids (B, T) with [CLS] and [SEP]; mask 0 where padded, None for nowhere."""
        batch, length = ids.shape
        x = functional.layer_norm(
            self._pieces[ids] + self._places[:length], (WIDTH,), *self._norm, eps=EPSILON
        )
        bias = None if mask is None else torch.where(mask[:, None, None, :] > 0, 0.0, -1e9)
        for qkv, out, out_norm, up, down, norm in self._layers:
            parts = functional.linear(x, *qkv).split(WIDTH, -1)
            heads = [part.view(batch, length, HEADS, -1).transpose(1, 2) for part in parts]
            seen = functional.scaled_dot_product_attention(*heads, attn_mask=bias)
            seen = functional.linear(seen.transpose(1, 2).reshape(batch, length, WIDTH), *out)
            x = functional.layer_norm(x + seen, (WIDTH,), *out_norm, eps=EPSILON)
            inner = functional.linear(functional.gelu(functional.linear(x, *up)), *down)
            x = functional.layer_norm(x + inner, (WIDTH,), *norm, eps=EPSILON)
        return x

    def alone(self) -> Array:
        """Every piece as a text of its own, (V, 384)."""
        rows = []
        for ids in torch.arange(len(self.vocabulary)).split(512):
            text = torch.stack([torch.full_like(ids, CLS), ids, torch.full_like(ids, SEP)], 1)
            rows.append(self.hidden(text, None).mean(1).numpy())
        return np.concatenate(rows)

    def within(self, texts: list[str], progress: Callable[[int], None]) -> tuple[Array, Array, Array]:
        """Texts' vectors (n, 384), sums of each piece's vectors in all places (V, 384), count of places."""
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        sums = torch.zeros(len(self.vocabulary), WIDTH, dtype=torch.float64)
        counts = np.zeros(len(self.vocabulary), np.int64)
        for done, (which, ids, mask) in enumerate(self._batches(texts)):
            hidden = self.hidden(ids, mask)
            vectors[which] = ((hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)).numpy()
            kept = mask.bool().reshape(-1)
            pieces = ids.reshape(-1)[kept]
            sums.index_add_(0, pieces, hidden.reshape(-1, WIDTH)[kept].double())
            counts += np.bincount(pieces.numpy(), minlength=len(counts))
            if done % 100 == 0:
                progress(which[-1])
        return vectors, sums.numpy(), counts

    def _batches(self, texts: list[str]) -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor]]:
        """Texts of about the same length together."""
        cut = [entry.ids for entry in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda i: len(cut[i]))
        start = 0
        while start < len(order):
            which = order[start : start + max(16, BATCH_PIECES // len(cut[order[start]]))]
            start += len(which)
            longest = max(len(cut[i]) for i in which)
            ids = torch.zeros(len(which), longest, dtype=torch.long)
            mask = torch.zeros(len(which), longest)
            for row, i in enumerate(which):
                ids[row, : len(cut[i])] = torch.tensor(cut[i])
                mask[row, : len(cut[i])] = 1
            yield which, ids, mask


def _layer(affine: Callable[[str], tuple[torch.Tensor, torch.Tensor]], prefix: str) -> Layer:
    three = [affine(f"{prefix}attention.self.{name}") for name in ("query", "key", "value")]
    return (
        (torch.cat([weight for weight, _ in three]), torch.cat([bias for _, bias in three])),
        affine(f"{prefix}attention.output.dense"),
        affine(f"{prefix}attention.output.LayerNorm"),
        affine(f"{prefix}intermediate.dense"),
        affine(f"{prefix}output.dense"),
        affine(f"{prefix}output.LayerNorm"),
    )
