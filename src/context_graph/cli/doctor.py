"""Examines the installation: `doctor` tries hooks and tools, and says what is wrong and how to fix it."""

from __future__ import annotations

import json
import os
import shutil
import sys

from context_graph.cli.calling import Finished
from context_graph.cli.options import DbPath, Json
from context_graph.cli.output.doctor_text import findings_text, report_rows
from context_graph.cli.output.panel import show
from context_graph.doctor.report import examine


def doctor(json_: Json = False, db_path: DbPath = None) -> None:
    """Try hooks and memory tools out from the client's end; tell times, and what is wrong with its cure.

    Canary events go through the hook commands that the client's settings name, a canary memory through the
    memory tools; both are read back and removed, and change no session, count or identity. Beside them:
    owner, spool, index, disk, requirements, the client's version and trust, and tokens a day.

    Exit codes: 0 nothing to mend; 1 problems, each with its cure. Never 2.

    Example: context-graph-cli doctor --json
    """
    report = examine(os.environ, db_path)
    found = report.as_dict()
    if json_:
        print(json.dumps(found, ensure_ascii=False))
    else:
        show(report_rows(found))
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print("\n" + findings_text(found, width))
    if not report.sound:
        raise Finished(1)
