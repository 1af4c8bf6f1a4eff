"""Takes over the memories of a project whose folder was renamed or moved: `memory adopt`."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from context_graph.cli.memory import files
from context_graph.cli.memory.text import imported_text
from context_graph.cli.words import Argument, Command
from context_graph.config import locate
from context_graph.errors import InvalidInputError
from context_graph.git.moved import ADOPTED, Moved, moved_here


def adopt(old: Path | None, as_json: bool, db_path: str | None) -> None:
    """Take over the memories that this repository left under a folder that is gone.

    For a project that was renamed or moved: a store is named after its project's path, so the new place
    begins without any. Paths in them become those of this folder. What is here stays, and so does the old
    store; run again, it adds nothing.

    Exit codes: 0; 1 there is no such store, or several and FOLDER names none of them; 3 a database is
    corrupt.

    Example: context-graph-cli memory adopt
    """
    place = locate(db_path)
    named = None if old is None else Path(os.path.abspath(old))
    moved = moved_here(place.root, place.store, place.project)
    there = [store for store in moved if named in (None, store.project)]
    if not there:
        raise InvalidInputError("no store of this repository was left under a folder that is gone")
    if len(there) > 1:
        names = ", ".join(str(store.project) for store in there)
        raise InvalidInputError(f"this repository was in several places: {names}; name one")
    answer = _taken_over(there[0], place.project, db_path)
    (there[0].store / ADOPTED).write_bytes(os.fsencode(place.project) + b"\n")
    answer["from"] = str(there[0].project)
    print(json.dumps(answer) if as_json else f"from {there[0].project}: {imported_text(answer)}")


def _taken_over(moved: Moved, project: Path, db_path: str | None) -> dict[str, Any]:
    """Export the old store and import it here, with the old folder's paths made this one's."""
    old, new = (json.dumps(str(folder), ensure_ascii=False)[1:-1] for folder in (moved.project, project))
    with tempfile.TemporaryDirectory(prefix="context-graph-") as folder:
        path = Path(folder, "memories.jsonl")
        with path.open("w", encoding="utf-8") as out:
            for page in files.pages("jsonl", False, str(moved.store)):
                text = page["text"].replace(f"{old}/", f"{new}/").replace(f'"{old}"', f'"{new}"')
                out.write(text)
        return files.imported(path, overwrite=False, dry_run=False, db_path=db_path)


COMMANDS: Final = (
    Command.of(
        adopt,
        "Take over the memories of a folder that was moved",
        Argument("FOLDER", "old", "Where the project was; needed if it was in several places.", kind="path"),
    ),
)
