"""Writes the tables of docs/dev/specification.md from the manifest of requirements in tests/contract.

python tools/docs/specification.py          # rewrites the page
python tools/docs/specification.py --check  # exits 1 where the page is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.contract.requirements import REQUIREMENTS  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "specification.md"
START = "<!-- written by tools/docs/specification.py: change tests/contract, then run it -->"
FAMILIES = {
    "REQ-SESSION": "Session identity: what is required",
    "TC-SESSION": "Session identity: test cases",
    "REQ-HOOKS": "Native hooks: what is required",
    "REQ-CORE": "Memory: what is required",
    "EC-CORE": "Memory: edge cases",
    "ERR-CORE": "Memory: errors",
    "TC-CORE": "Memory: test cases",
}


def tables() -> str:
    """One table a family of ids, in the order of `FAMILIES`."""
    parts = []
    for family, title in FAMILIES.items():
        rows = [
            f"| {name} | {requirement.behaviour.replace('|', chr(92) + '|')} |"
            for name, requirement in REQUIREMENTS.items()
            if name.rpartition("-")[0] == family
        ]
        parts.append("\n".join([f"## {title}", "", "| id | behaviour |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def page(now: str) -> str:
    """The whole page: what stands before the mark as it is, the tables made anew."""
    return f"{now.partition(START)[0]}{START}\n\n{tables()}"


def main() -> int:
    now = PAGE.read_text(encoding="utf-8")
    made = page(now)
    if "--check" in sys.argv[1:]:
        return int(made != now)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
