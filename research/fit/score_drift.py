"""Write the IC of every case of drift_bench as signals for its score.py, in this process.

    python -m research.fit.score_drift DATA OUT.jsonl [--split dev] [--score PATH/score.py] [--json FILE]

The events take the owner's path (flatten, cut, LiveSession) without its sockets and store, so the figures are
those of `hooks ... --format json`, in seconds instead of hours.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from research.fit.drift_data import Case, Session, load_cases, load_sessions

from context_graph.identity.live import LiveSession
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot


def signals(case: Case, sessions: dict[str, Session]) -> Iterator[float]:
    """The session's IC after each event of the case, from a fresh session on."""
    live = LiveSession(SessionIdentitySnapshot(session_id=case.name, timestamp_ms=0))
    live.apply(HookEvent(EventKind.SESSION_START, case.name, "start", at_ms=0, source="startup"))
    for name, index in case.refs:
        live.apply(sessions[name].events[index])
        yield live.snapshot.last_ic


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--score", type=Path, help="drift_bench's score.py; its table is printed")
    parser.add_argument("--json", type=Path, help="where score.py writes its figures")
    options = parser.parse_args(argv)
    sessions = load_sessions(options.data)
    with options.out.open("w", encoding="utf-8") as out:
        for case in load_cases(options.data, options.split):
            for t, ic in enumerate(signals(case, sessions)):
                out.write(json.dumps({"case": case.name, "t": t, "signal": round(ic, 6)}) + "\n")
    if options.score is None:
        return 0
    command = [
        sys.executable,
        str(options.score),
        str(options.data),
        str(options.out),
        "--split",
        options.split,
    ]
    if options.json is not None:
        command += ["--json", str(options.json)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
