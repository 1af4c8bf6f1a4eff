"""Every page: its links lead somewhere, its commands, options and make targets exist."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from research.__main__ import MEASURES
from tools.docs import packages

from context_graph.cli.words import GROUPS, WITHIN, every_command

ROOT = Path(__file__).resolve().parents[2]
PLACES = (
    *(".", "docs", "docs/dev", "docs/dev/adr", "benches", "research"),
    *("src/context_graph/data/plugin", ".claude/skills"),
)
PAGES = sorted(
    path
    for place in PLACES
    for path in (ROOT / place).glob("*.md" if place != ".claude/skills" else "*/*.md")
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
CALL = re.compile(r"context-graph-cli(?= )[^\n`|;&()#>]*")
MAKE = re.compile(r"(?:^|`)make ([a-z][a-z0-9-]*)", re.MULTILINE)
PLACEHOLDER = re.compile(r"^(?:…|\.\.\.|\[.*|[A-Z_]+…?|<.*)$")
COMMANDS = dict(every_command())
GROUP_NAMES = {*GROUPS, *WITHIN}


def ids(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


def prose_and_code(page: Path) -> str:
    """The page with its fences, but without what they hold in other languages."""
    text = page.read_text(encoding="utf-8")
    return FENCE.sub(lambda found: found[2] if found[1] in ("", "sh", "bash") else "", text)


def anchors(page: Path) -> set[str]:
    """The anchors that headings get, as the usual renderers make them."""
    heads = re.findall(r"^#{1,6} (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_links_lead_to_files_and_headings_that_are_there(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), f"{target} leads nowhere"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{target}: no such heading"


def calls(page: Path) -> Iterator[str]:
    """What a page tells people to type: in fences, in indented blocks, and between backticks."""
    text = prose_and_code(page)
    yield from (found[0].strip() for found in CALL.finditer(text))


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_commands_and_their_options_exist(page: Path) -> None:
    for call in calls(page):
        try:
            words = shlex.split(call)[1:]
        except ValueError:
            words = call.partition('"')[0].split()[1:]  # a call within JSON
        fault = fault_of(words)
        assert not fault, f"{call!r}: {fault}"


def fault_of(words: list[str]) -> str:
    """What is wrong with a call, or nothing; words behind a placeholder are not judged."""
    name = ""
    while words and name not in COMMANDS:
        if words[0].startswith("-") or PLACEHOLDER.match(words[0]):
            break
        name, words = f"{name} {words[0]}".strip(), words[1:]
        if name not in COMMANDS and name not in GROUP_NAMES:
            return f"no command {name.rpartition(' ')[2]!r}"
    options = COMMANDS[name].options if name in COMMANDS else ()
    known = {"--version", *(part for one in options for part in (one.name, one.off))}
    for word in words:
        if word.startswith("--") and len(word) > 2:
            option = word.partition("=")[0].strip("[]")
            if option not in (*known, "--help"):
                return f"no option {option!r}"
    return ""


def test_make_prints_every_target_that_says_what_it_does() -> None:
    said = re.findall(r"^([^\s:#]+):[^\n]*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    done = subprocess.run(["make", "-s", "-C", str(ROOT), "help"], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == said


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(MAKE.findall(prose_and_code(page))) <= targets


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_python_files_that_are_to_be_run_exist(page: Path) -> None:
    for name in re.findall(
        r"python (?:-m pytest )?((?:benches|tools|tests|research)/[\w/]+\.py)", prose_and_code(page)
    ):
        assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_research_that_is_cited_exists(page: Path) -> None:
    text = prose_and_code(page)
    for module in re.findall(r"python -m (research(?:\.\w+)*)", text):
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module
    for name in re.findall(r"`(research/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
    assert set(re.findall(r"(?:--number |\bNUMBER=)([a-z]+)", text)) <= set(MEASURES)


def test_the_checks_find_what_is_wrong() -> None:
    """A check that lets everything pass is none."""
    assert fault_of(["memory", "recal", "x"]) == "no command 'recal'"
    assert fault_of(["memory", "recall", "x", "--topk", "3"]) == "no option '--topk'"
    assert fault_of(["memory", "…"]) == ""
    assert fault_of(["setup", "--remove", "--user"]) == ""
    assert len([page for page in PAGES if any(calls(page))]) > 5


def test_architectures_figure_is_what_the_modules_import() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert packages.page(text) == text, "run `python tools/docs/packages.py`"


def test_users_have_twelve_pages_and_readme_leads_to_each() -> None:
    """What developers need is below docs/dev; a thirteenth page belongs into one of these or there."""
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert len(pages) + 1 == 12, sorted(pages)
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Read on")[2]
    assert pages == set(re.findall(r"^\| \[[^\]]+\]\(docs/([a-z-]+)\.md\)", table, re.MULTILINE))


def test_a_decision_has_at_most_two_screens() -> None:
    lengths = {
        page.name: len(page.read_text(encoding="utf-8").splitlines())
        for page in (ROOT / "docs/dev/adr").iterdir()
    }
    assert {name: length for name, length in lengths.items() if length > 62} == {}
