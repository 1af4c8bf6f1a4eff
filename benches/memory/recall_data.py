"""Collections of memories with questions and the memories that answer them, read from files given by path.

Nothing is fetched and nothing of them is in the repository. LoCoMo (`locomo10.json`, snap-research/locomo) is
CC BY-NC 4.0: measure with it, never ship it or what is derived from it. CoSQA (`code_idx_map.txt` and
`cosqa-retrieval-dev-500.json`, Jun-jie-Huang/CoCLR) is MIT.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Collection", "Item", "Question", "cosqa", "locomo"]

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")
_ADVERSARIAL = 5
"""LoCoMo's category of questions that the conversation does not answer."""


@dataclass(frozen=True, slots=True)
class Item:
    """What is to be stored as one memory."""

    name: str
    text: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    answers: frozenset[str]
    """Names of the items that answer it; not empty."""


@dataclass(frozen=True, slots=True)
class Collection:
    """One store's worth."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]


def locomo(path: Path) -> list[Collection]:
    """A collection for each conversation: its items are turns with who said them, its answers turns, too.

    Questions without evidence that is there are left out, and those that are not to be answered.
    """
    return [_conversation(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(raw: dict[str, Any]) -> Collection:
    items = []
    for name, turns in raw["conversation"].items():
        session = _SESSION.fullmatch(name)
        for turn in turns if session else ():
            photo = f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = f"{turn['speaker']}: {turn['text']}".strip() + photo
            items.append(Item(turn["dia_id"], text, session[1] if session else None))
    names = {item.name for item in items}
    questions = []
    for one in raw["qa"]:
        evidence = frozenset(_turn_names(one.get("evidence"))) & names
        if evidence and one["category"] != _ADVERSARIAL:
            questions.append(Question(one["question"], evidence))
    return Collection(raw["sample_id"], tuple(items), tuple(questions))


def _turn_names(evidence: Any) -> Iterator[str]:
    """`D8:6; D9:17`, `D:11:26` and `D30:05` are in the file, too."""
    for text in evidence if isinstance(evidence, list) else [evidence]:
        for session, turn in _TURN.findall(str(text)):
            yield f"D{int(session)}:{int(turn)}"


def cosqa(folder: Path, a_session: int) -> list[Collection]:
    """One collection; an item is a Python function, a question what somebody typed into a search engine.

    Args:
        a_session: So many unrelated functions in a row share a session; 0: none
            belongs to one.
    """
    functions: dict[str, int] = json.loads((folder / "code_idx_map.txt").read_text(encoding="utf-8"))
    items = tuple(
        Item(str(number), text, str(number // a_session) if a_session else None)
        for text, number in functions.items()
    )
    asked = json.loads((folder / "cosqa-retrieval-dev-500.json").read_text(encoding="utf-8"))
    questions = tuple(Question(one["doc"], frozenset({str(one["retrieval_idx"])})) for one in asked)
    return [Collection("CoSQA dev", items, questions)]
