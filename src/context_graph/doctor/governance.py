"""Checks whether requirements govern the project, and whether their configuration is sound."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_graph.doctor.findings import ERROR, NOTE, WARNING, Finding
from context_graph.errors import UsageError
from context_graph.gates.commands.command_context import CommandContext
from context_graph.gates.commands.upkeep import doctor


def governance(folder: Path, root: Path, env: Mapping[str, str]) -> tuple[dict[str, Any], list[Finding]]:
    """The state of the project's requirements. Having none is no problem."""
    try:
        context = CommandContext(str(folder), env, cache_dir=f"{root}/cache/requirements", pid=os.getppid())
    except UsageError as error:
        return {"governed": False, "enabled": []}, [Finding(NOTE, str(error))]
    active = [entry.name for entry in context.rules.active]
    state = {"governed": context.governed, "enabled": active, "branch": context.head.branch or ""}
    if not context.governed:
        return state, []
    levels = {"error": ERROR, "warning": WARNING}
    found = [
        Finding(levels.get(one["level"], NOTE), f"requirements: {one['what']}", one["cure"])
        for one in doctor(context)
        if one["level"] != "ok"
    ]
    return state, found
