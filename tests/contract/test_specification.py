"""docs/dev/specification.md explains every number that code and pages cite."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tools.docs.specification import PAGE, page

ROOT = Path(__file__).resolve().parents[2]
CITED = re.compile(r"\b(?:(?:REQ|EC|ERR|TC)-[A-Z]+-\d+|D[1-6]\.\d+)\b")
RESEARCH = re.compile(r"\bresearch/[\w./-]*\w")
FOLDERS = ("src", "ext", "docs", "tools", "benches", "research")


def test_the_page_is_what_the_manifest_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run python tools/docs/specification.py"


def test_every_id_that_is_cited_is_explained() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    explained = set(re.findall(r"^\| (\S+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    cited: dict[str, str] = {}
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path != PAGE and path.suffix in (".py", ".pyi", ".pyx", ".pxd", ".rs", ".md") and path.exists():
            cited |= {found: name for found in CITED.findall(path.read_text(encoding="utf-8"))}
    assert len(cited) > 50
    missing = {found: name for found, name in cited.items() if found not in explained}
    assert not missing, missing


def test_no_code_cites_a_document_that_is_not_here() -> None:
    """What is cited of `research` is in it; `DECISIONS` is no part of this repository."""
    cited: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        cited |= set(RESEARCH.findall(text))
        assert not re.search(r"\bDECISIONS\b", text), path
    assert cited
    assert not [name for name in cited if not (ROOT / name).is_file()]
