"""Runs `memory edit`: a memory's text in the person's editor, stored as a new memory that replaces it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from context_graph.cli.memory.call import ask_memory, text_given
from context_graph.cli.memory.text import reworded_text
from context_graph.errors import InvalidInputError, UsageError

EDITED: Final = "The new text, instead of opening $VISUAL or $EDITOR; - reads stdin."
_ID_CHARS: Final = 8
_COPIED: Final = ("rationale", "importance", "modality", "metadata", "tags", "agent_id", "pinned")


def edit(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    """Change the text of a memory: opens it in $VISUAL or $EDITOR, or takes --content.

    Of a session's note the text itself is changed, as by `memory reword`. Else the new text is a memory of
    its own with the old one's tags, importance and rationale, and supersedes it: the old text is no longer
    brought into sessions, and `memory history` and `memory show` still have it. `memory undo` undoes the
    change.

    Exit codes: 0 changed, or the text is the same; 1 no such memory, the id fits several, the editor failed,
    or there is no terminal and no --content; 3 the database is corrupt.

    Example: context-graph-cli memory edit 5f3c1a2b --content "Staging listens on 9443"
    """
    old = editable(ask_memory("memory.show", {"id": arguments["id"]}, db_path))
    content = (
        text_given("content", arguments["content"]) if "content" in arguments else _in_editor(old["content"])
    )
    if content == old["content"]:
        return {**old, "unchanged": True}
    return ask_memory(*changed(old, content), db_path)


def editable(old: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``old``, as `memory show` gives it, if its text may be changed; InvalidInputError says why
    not."""
    short = old["id"][:_ID_CHARS]
    if "tombstone" in old:
        raise InvalidInputError(f"{short} is forgotten; `context-graph-cli memory restore {short}` first")
    if old["source"] == "capture":
        raise InvalidInputError(
            f"{short} is a session's summary, which hooks write; store what you want to keep beside it"
        )
    return old


def changed(old: Mapping[str, Any], content: str) -> tuple[str, dict[str, Any]]:
    """Return the request that puts ``content`` in the place of ``old``'s text.

    A note of a session is reworded, for its session refreshes it under its own id; all else gets a successor.
    """
    if old["source"] == "note":
        return "memory.reword", {"id": old["id"], "content": content}
    new = {name: old.get(name) for name in _COPIED}
    more = {"scope": old.get("scope", "project"), "content": content, "supersedes": [old["id"]]}
    return "memory.store", {**new, **more}


def edited_text(answer: Mapping[str, Any]) -> str:
    """Return what came of it, and how to take it back."""
    new = answer["id"][:_ID_CHARS]
    if answer.get("unchanged"):
        return f"{new} is unchanged"
    if "superseded" not in answer:
        return reworded_text(answer)
    old = ", ".join(memory_id[:_ID_CHARS] for memory_id in answer.get("superseded", ()))
    return f"{new} replaces {old}; `context-graph-cli memory undo` undoes it\n{answer['content']}"


def _in_editor(text: str) -> str:
    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageError("there is no terminal for an editor; give the new text with --content")
    import shlex  # only a person waits for these
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile("w", prefix="memory-", suffix=".md", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        try:
            done = subprocess.run([*shlex.split(editor), file.name], check=False)
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"the editor {editor!r} can't be run: {error}; set $EDITOR") from error
        if done.returncode:
            raise InvalidInputError(
                f"the editor {editor!r} ended with {done.returncode}; nothing was changed"
            )
        with open(
            file.name, encoding="utf-8", errors="replace"
        ) as edited:  # an editor may put a new file there
            new_text = edited.read().removesuffix("\n")
    if not new_text.strip():
        raise InvalidInputError(
            "the text is empty, so nothing was changed; `memory forget` takes a memory out"
        )
    return new_text
