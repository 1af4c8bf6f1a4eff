"""Salvages what a damaged database still holds into a new place, in a process of its own: `repair`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from context_graph.cli.calling import Finished
from context_graph.cli.options import DbPath, Json
from context_graph.config import locate
from context_graph.errors import StoreError, StoreLockedError, error_for_code

# A front end may not import the store, and RocksDB should crash, if at all, somewhere else.
_SALVAGE: Final = """
import dataclasses, json, sys
from context_graph.errors import ContextGraphError
from context_graph.store.salvage.repair import salvage
try:
    report = dataclasses.asdict(salvage(*sys.argv[1:4]))
except ContextGraphError as error:
    report = {"code": error.code, "error": str(error)}
print(json.dumps(report))
"""
_SHOWN: Final = 20


def repair(
    cf: Annotated[
        str,
        typer.Option("--cf", metavar="FAMILY", help="Column family the report is about, or all."),
    ] = "session_identity",
    db_path: DbPath = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FOLDER", help="New database; must not exist. Default: beside the damaged one."
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Copy what is readable of a damaged store into a new database. The damaged one is never changed.

    All families are copied, so that the new folder can take the old one's place; what could not be read
    is listed. The owner must not hold the store: stop it first (`context-graph-cli owner stop`).

    Exit codes: 0 nothing of FAMILY is lost; 1 something is, or it could not be done. Never 2.

    Example: context-graph-cli repair --cf session_identity --to /tmp/salvaged
    """
    store = locate(db_path).store
    source = store / "db" if (store / "db").is_dir() or not (store / "CURRENT").exists() else store
    target = (
        to if to is not None else source.with_name(f"{source.name}-salvaged-{time.strftime('%Y%m%dT%H%M%S')}")
    )
    report = _run(source, target, cf)
    print(json.dumps(report) if json_ else _text(report))
    raise Finished(0 if report["complete"] else 1)


def _run(source: Path, target: Path, cf: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-c", _SALVAGE, str(source), str(target), cf]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise StoreError(
            f"the salvage of {source} ended with {done.returncode}: {last or 'no word'}"
        ) from error
    if "error" in report:
        kind = error_for_code(report["code"])
        cure = "; stop the owner first: `context-graph-cli owner stop`" if kind is StoreLockedError else ""
        # Never 2 here: that code says that a session start met corruption.
        raise (kind if kind.exit_code != 2 else StoreError)(report["error"] + cure)
    return report


def _text(report: Mapping[str, Any]) -> str:
    copied = ", ".join(f"{name} {count}" for name, count in report["copied"].items())
    lines = [f"salvaged {report['source']} into {report['target']}", f"copied records: {copied or 'none'}"]
    if report["rebuilt"]:
        lines.append("RocksDB's own repair was needed (on a copy)")
    lines += [f"missing family: {name}" for name in report["missing"]]
    # What damage advises is what has just been done.
    lines += [f"damage: {text.partition('; run `context-graph-cli repair')[0]}" for text in report["notes"]]
    unreadable = report["unreadable"]
    lines += [f"unreadable: {row['family']} {row['key']}: {row['reason']}" for row in unreadable[:_SHOWN]]
    if report["unreadable_count"] > _SHOWN:
        lines.append(f"and {report['unreadable_count'] - _SHOWN} more unreadable (--json lists them)")
    lines.append(
        f"nothing of {report['family']} is lost"
        if report["complete"]
        else f"not all of {report['family']} is there"
    )
    source, target = (shlex.quote(report[name]) for name in ("source", "target"))
    damaged = shlex.quote(f"{report['source']}-damaged")
    lines += [
        "to use it:",
        "    context-graph-cli owner stop",
        f"    mv -T {source} {damaged} && mv -T {target} {source}",
    ]
    return "\n".join(lines)
