"""Whether requirements govern the project, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_graph.doctor.findings import ERROR, NOTE, WARNING, Finding
from context_graph.errors import UsageError
from context_graph.requirements.place import Place
from context_graph.requirements.upkeep import doctor

__all__ = ["governance"]


def governance(folder: Path, root: Path, env: Mapping[str, str]) -> tuple[dict[str, Any], list[Finding]]:
    """The state of the project's requirements. That there are none is no problem."""
    try:
        place = Place(str(folder), env, cache_dir=f"{root}/cache/requirements", pid=os.getppid())
    except UsageError as error:
        return {"governed": False, "enabled": []}, [Finding(NOTE, str(error))]
    active = [entry.name for entry in place.rules.active]
    state = {"governed": place.governed, "enabled": active, "branch": place.head.branch or ""}
    if not place.governed:
        return state, []
    levels = {"error": ERROR, "warning": WARNING}
    found = [
        Finding(levels.get(one["level"], NOTE), f"requirements: {one['what']}", one["cure"])
        for one in doctor(place)
        if one["level"] != "ok"
    ]
    return state, found
