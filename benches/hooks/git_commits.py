#!/usr/bin/env python3
"""What an agent's `git commit` costs where a requirement is asked for, beside a person's in the same run.

    python benches/hooks/git_commits.py [--runs 100] [--json FILE]

A person's shell has none of our variables, so a person's commit is git's own: it is the limit. Beside it
also one with the variables and no session, as in a terminal that an agent has started. Every commit is made
without a change, in a repository of its own; the requirement is met, an owner answers.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.hooks.processes import CLI, build_native, case, timed
from benches.report import Figure, figures, human, options, table, write

PERSON, AGENT, TERMINAL = "a person's", "an agent's", "without a session"
GOALS = {AGENT: 1.5}
SESSION = "cad0ac4d-3933-45ad-9a1c-14aec05bb940"
RULES = """version: "1.0"
inherit: false
requirements:
  review: {enabled: true, trigger_tools: [{git: commit}]}
"""


def main() -> int:
    """Print the table; 1 where the goal is missed in the median and in the fastest tenth."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=100)
    given = parser.parse_args()
    found = run(given.runs)
    print(table(found))
    write(given.json, found)
    return int(any(min(one.ratio, one.ratio_p10) > one.goal for one in found if one.goal))


def run(rounds: int) -> list[Figure]:
    """All cases ``rounds`` times in a data root of their own."""
    folder = Path(tempfile.mkdtemp(prefix="context-graph-commits-"))
    try:
        return measure(folder, rounds)
    finally:
        subprocess.run([CLI, "owner", "stop"], env=_env(folder), capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, rounds: int) -> list[Figure]:
    """Each case so many times, in random order."""
    build_native(folder)
    agents = {**_env(folder), "CLAUDE_CODE_SESSION_ID": SESSION}
    ours = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath"}
    ours["GIT_CONFIG_VALUE_0"] = str(folder / "root" / "git-hooks")
    cases = {PERSON: _env(folder), AGENT: {**agents, **ours}, TERMINAL: {**_env(folder), **ours}}
    lines = []
    for number, (name, env) in enumerate(cases.items()):
        repo = _repository(folder / f"repo{number}", agents)
        words = ["git", "-C", str(repo), "commit", "-q", "--allow-empty", "-m", "x"]
        if name == AGENT:  # else the figure tells nothing of the gate
            refused = subprocess.run(words, env=env, capture_output=True, check=False)
            assert refused.returncode == 1 and b"review" in refused.stderr, refused
            satisfy = [CLI, "req", "satisfy", "review", "--session", SESSION]
            subprocess.run(satisfy, env=agents, cwd=repo, capture_output=True, check=True)
        lines += case(name, [str(shutil.which("git")), *words[1:]], env)
    calls = timed(folder, lines, rounds)
    extra = {name: {"cpu": human(statistics.median(of.cpus))} for name, of in calls.items()}
    kinds = {PERSON: "limit", AGENT: "ours", TERMINAL: "ours"}
    walls = {name: of.walls for name, of in calls.items()}
    return figures("git commit", kinds, walls, goals=GOALS, extra=extra)


def _env(folder: Path) -> dict[str, str]:
    who = {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {
        **who,
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(folder),
        "CONTEXT_GRAPH_HOME": str(folder / "root"),
    }


def _repository(repo: Path, env: dict[str, str]) -> Path:
    """A governed repository in which the agent's session has started."""
    (repo / ".claude").mkdir(parents=True)
    (repo / ".claude" / "requirements.yaml").write_text(RULES)
    subprocess.run(["git", "init", "-q", "-b", "feature/bench", repo], check=True, env=env)
    start = {"session_id": SESSION, "hook_event_name": "SessionStart", "source": "startup", "cwd": str(repo)}
    subprocess.run(
        [CLI, "hooks", "session-start", "--format", "claude"],
        input=json.dumps(start).encode(),
        env={**env, "CLAUDE_PROJECT_DIR": str(repo), "CLAUDE_ENV_FILE": f"{repo}.env"},
        cwd=repo,
        check=True,
        capture_output=True,
    )
    return repo


if __name__ == "__main__":
    sys.exit(main())
