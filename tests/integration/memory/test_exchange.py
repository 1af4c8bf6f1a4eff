"""Export and import: JSONL is lossless, Markdown is for people to edit; bad input writes nothing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cli import Cli
from tests.support.memories import REDACTOR, open_memex
from tests.support.sessions import memory, remember

from context_graph.errors import InvalidInputError
from context_graph.memory.exchange import importing as imports_module
from context_graph.memory.exchange.importing import MAX_OPEN, Import, Imports, import_jsonl
from context_graph.memory.exchange.records import (
    FORMAT,
    PAGE_ROWS,
    edge_from_json,
    edge_to_json,
    export_page,
    file_name,
    markdown_of,
    markdown_page,
    node_from_json,
    node_to_json,
    read_markdown,
)
from context_graph.memory.memex import Memex
from context_graph.model.edge import Domain, GraphEdge
from context_graph.model.memory import MemoryNode

WHY = "kept because a test needs it"
HARD = (
    "---\nid: no front matter\n---\nits own",
    "trailing newline\n",
    "\n\nleading",
    "tabs\tand\r\nwindows ends\r\n",
    "ünïcode 🧠 \u2028 separators",
    "# heading\n\n- list\n```python\nprint('x')\n```",
    "<!-- comment --> <b>tag</b> & entity",
)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Memex]:
    """A store with all there is: links, forgotten and deleted memories, metadata, tags."""
    with Memex.open(tmp_path / "full", redactor=REDACTOR) as memex:
        nodes = [
            memex.store(
                text,
                rationale=WHY,
                importance=0.1 * number,
                tags=("a b", f"tag{number}"),
                metadata={"n": number, "nested": {"list": [1, None, "x"], "ü": 0.1}},
                session_id=f"s-{number % 2}",
                agent_id="agent",
                project="/p",
                occurred_at_ms=1_700_000_000_000 + number,
                pinned=number == 2,
            )
            for number, text in enumerate(HARD)
        ]
        edge = memex.link(
            nodes[0].id, nodes[1].id, relationship_type="causes", domain="code", metadata={"k": [1]}
        )
        memex.traverse([edge.id], 0.5)
        memex.touch([nodes[0].id])
        memex.forget(nodes[3].id, reason="was wrong")
        memex.forget(nodes[4].id, soft=False, reason="user_requested")
        yield memex


def exported(memex: Memex, **options: Any) -> bytes:
    out = io.BytesIO()
    assert memex.export(out, **options) == out.getvalue().count(b'"type":"memory"')
    return out.getvalue()


@pytest.mark.parametrize("embeddings", [False, True])
def test_jsonl_gives_everything_back(full: Memex, tmp_path: Path, embeddings: bool) -> None:
    """Every field, links, tombstones, order of commit; embeddings made anew are equal to those sent along."""
    data = exported(full, embeddings=embeddings)
    with Memex.open(tmp_path / "copy", redactor=REDACTOR) as copy:
        report = copy.import_(io.BytesIO(data))
        assert report == {"added": 6, "replaced": 0, "skipped": 0, "links": 1, "tombstones": 1}
        assert exported(copy, embeddings=True) == exported(full, embeddings=True)
        for one in full.stored_after():
            there = copy.stored(one.node.id)
            assert there is not None and there.deleted == one.deleted
            assert replace(there.node, commit_seq=one.node.commit_seq) == one.node
        gone = next(copy.tombstones())
        assert (
            copy.restore(next(one.node.id for one in full.stored_after() if one.deleted)).content == HARD[3]
        )
        assert gone in list(full.tombstones())
        assert copy.recall("heading list").nodes[0].node.content == HARD[5], "and it can be found"


def test_markdown_gives_back_content_metadata_and_links(full: Memex, tmp_path: Path) -> None:
    """For reading and editing: what is live, with its links; equal after the way out and in."""
    files, cursor = markdown_page(full)
    assert cursor is None and len(files) == 5
    with Memex.open(tmp_path / "copy", redactor=REDACTOR) as copy:
        work = Import(copy)
        for one in reversed(files):  # links come before the memories they lead to
            work.check_files([one])
        work.checked()
        assert work.problems == []
        for one in reversed(files):
            work.write_files([one])
        assert work.report()["added"] == 5 and work.report()["links"] == 1
        assert sorted(markdown_page(copy)[0], key=str) == sorted(files, key=str)
        for one in full.stored_after():
            if not one.deleted:
                there = copy.get(one.node.id)
                assert there is not None and replace(there, commit_seq=one.node.commit_seq) == one.node


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=64)


@given(
    content=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200).filter(str.strip),
    tags=st.lists(texts, max_size=3),
    metadata=st.dictionaries(st.text(), json_values, max_size=3),
    at_ms=st.integers(0, 2**62),
    importance=st.floats(0, 1),
    project=st.none() | texts,
)
def test_both_forms_are_exact_for_whatever_a_memory_holds(
    content: str,
    tags: list[str],
    metadata: dict[str, Any],
    at_ms: int,
    importance: float,
    project: str | None,
) -> None:
    node = MemoryNode(
        id=uuid4(),
        content=content,
        rationale=WHY,
        created_at_ms=at_ms,
        last_accessed_ms=at_ms,
        importance=importance,
        tags=tuple(tags),
        metadata=metadata,
        project=project,
    )
    edge = GraphEdge(id=uuid4(), source_id=node.id, target_id=uuid4(), domain=Domain.LEGAL, metadata=metadata)
    row = json.loads(json.dumps(node_to_json(node)))
    assert node_from_json(row) == node
    read, edges = read_markdown(markdown_of(row, [edge_to_json(edge)]))
    assert node_from_json(read) == node and [edge_from_json(one) for one in edges] == [edge]
    assert file_name(row).isascii() and "/" not in file_name(row) and str(node.id) in file_name(row)


def test_what_a_person_writes_by_hand_is_read(tmp_path: Path) -> None:
    """Bare words, comments, a time without milliseconds; what is left out has its default."""
    text = (
        "---\n# my note\nid: 5f3c1a2b-0000-4000-8000-000000000001\ncreated: 2026-01-31T09:30:00Z\n"
        'rationale: a note that I wrote by hand\ntags: ["ops"]\n---\nStaging listens on 8443\n'
    )
    with Memex.open(tmp_path / "s", redactor=REDACTOR) as memex:
        work = Import(memex)
        work.check_files([{"name": "note.md", "text": text}])
        work.checked()
        work.write_files([{"name": "note.md", "text": text}])
        (page,) = memex.list().nodes
        assert (page.content, page.tags, page.importance) == ("Staging listens on 8443", ("ops",), 0.5)


def line(**fields: Any) -> str:
    given = {"type": "memory", "id": str(uuid4()), "content": "x", "rationale": WHY, "created_at_ms": 5}
    return json.dumps({**given, **fields})


NOWHERE = str(uuid4())
BAD = {
    "not JSON": "{",
    "no object": "[1]",
    "another type": json.dumps({"type": "edge"}),
    "no content": json.dumps({"type": "memory", "id": str(uuid4()), "created_at_ms": 1}),
    "content too long": line(content="x" * 65_537),
    "unknown field": line(colour="red"),
    "importance": line(importance=1.5),
    "no UUID": line(id="abc"),
    "a tag too long": line(tags=["x" * 65]),
    "short rationale": line(rationale="short"),
    "negative time": line(created_at_ms=-1),
    "embedding of another size": line(embedding="AAAA"),
    "wrong deletion": line(deleted={"reason": "x"}),
    "link to nowhere": json.dumps(
        {"type": "link", "id": str(uuid4()), "source_id": NOWHERE, "target_id": NOWHERE}
    ),
    "another version": json.dumps({"format": FORMAT, "version": 99}),
}


@pytest.mark.parametrize("name", BAD)
def test_one_bad_line_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    data = "\n".join([line(), "", BAD[name], line()]).encode()
    with Memex.open(tmp_path / "s", redactor=REDACTOR) as memex:
        with pytest.raises(InvalidInputError, match=r"1 fault; nothing was written\nline 3: "):
            import_jsonl(memex, io.BytesIO(data))
        assert memex.count() == 0


def test_a_file_that_was_cut_short_is_refused(full: Memex, tmp_path: Path) -> None:
    lines = exported(full).splitlines(keepends=True)
    with Memex.open(tmp_path / "s", redactor=REDACTOR) as memex:
        for part in (lines[:-1], lines[:-3] + lines[-1:]):
            with pytest.raises(InvalidInputError, match="cut short"):
                import_jsonl(memex, io.BytesIO(b"".join(part)))
        assert memex.count() == 0


def test_an_id_that_is_there_is_skipped_or_replaced_and_one_that_is_twice_in_the_file_refused(
    tmp_path: Path,
) -> None:
    """An import that was cut off is taken up by running it again."""
    node_id = str(uuid4())
    with Memex.open(tmp_path / "s", redactor=REDACTOR) as memex:
        import_jsonl(memex, io.BytesIO(line(id=node_id).encode()))
        changed = line(id=node_id, content="changed").encode()
        assert import_jsonl(memex, io.BytesIO(changed))["skipped"] == 1
        assert memex.get(UUID(node_id)).content == "x"  # type: ignore[union-attr]
        assert import_jsonl(memex, io.BytesIO(changed), overwrite=True)["replaced"] == 1
        assert memex.get(UUID(node_id)).content == "changed" and memex.count() == 1  # type: ignore[union-attr]
        with pytest.raises(InvalidInputError, match=r"line 2: .* appears twice"):
            import_jsonl(memex, io.BytesIO("\n".join([line(id=node_id)] * 2).encode()))


def test_nothing_is_written_that_was_not_checked_to_the_end(tmp_path: Path) -> None:
    with Memex.open(tmp_path / "s", redactor=REDACTOR) as memex:
        work = Import(memex)
        work.check_lines([line()], 1)
        with pytest.raises(InvalidInputError, match="not been checked"):
            work.write_lines([line()], 1)


def test_an_import_is_redacted(tmp_path: Path) -> None:
    """Invariant 10: an import is a way in like any other."""
    secret = "ghp_" + "a8Zk3LmQ9xT2vB7nR4cW6yD1sF5gH0jK2pE3"
    with Memex.open(tmp_path / "s") as memex:
        data = line(content=f"token {secret}", metadata={"t": secret}, tags=[secret])
        import_jsonl(memex, io.BytesIO(data.encode()))
        (node,) = memex.list().nodes
        assert secret not in json.dumps(node_to_json(node)) and "[redacted:" in node.content
    for path in (tmp_path / "s").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_pages_are_bounded_and_complete(tmp_path: Path) -> None:
    """100,000 memories must not take the memory of 100,000: a page holds 256, and they add up."""
    with Memex.open(tmp_path / "s", redactor=REDACTOR) as memex:
        for start in range(0, 3000, 500):
            memex.store_many(
                [{"content": f"note {n} " + "x" * 500, "rationale": WHY} for n in range(start, start + 500)]
            )
        ids, cursor, pages = [], "", 0
        tracemalloc.start()
        while cursor is not None:
            page = export_page(memex, cursor)
            found = [json.loads(one) for one in page.text.splitlines()]
            assert len(found) <= PAGE_ROWS + 2
            ids += [one["id"] for one in found if one.get("type") == "memory"]
            cursor, pages = page.next_cursor, pages + 1
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(ids) == len(set(ids)) == 3000 and pages > 10
        assert peak < 8_000_000, "all at once would be some 12 MB as objects and text"
        with pytest.raises(InvalidInputError, match="cursor"):
            export_page(memex, "nonsense")


def test_the_commands_write_and_read_both_forms(cli: Cli, tmp_path: Path) -> None:
    """memory export and import through the owner, files and pipes, a dry run that writes nothing."""
    first, second = (
        remember(cli, "Staging listens on 8443", "--tag", "ops"),
        remember(cli, "Deploys run from main"),
    )
    memory(cli, "link", first, second, "--type", "needs")
    cli.run("memory", "forget", remember(cli, "wrong"))
    file, folder = tmp_path / "out.jsonl", tmp_path / "notes"
    assert cli.run("memory", "export", "--output", str(file)).returncode == 0
    assert cli.run("memory", "export", "--format", "markdown", "--output", str(folder)).returncode == 0
    assert (file.stat().st_mode & 0o777, len(list(folder.glob("*.md")))) == (0o600, 2)
    piped = cli.run("memory", "export")
    assert piped.stdout == file.read_text()
    for name, source, stdin in (("a", [str(file)], ""), ("b", [], piped.stdout), ("c", [str(folder)], "")):
        project = tmp_path / name
        (project / ".git").mkdir(parents=True)
        other = Cli(cli.launcher, project, cli.env)
        tried = other.run("memory", "import", *source, "--dry-run", stdin=stdin)
        assert tried.returncode == 0 and memory(other, "list")["nodes"] == [], tried.stderr
        done = other.run("memory", "import", "--json", *source, stdin=stdin)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["added"] == (2 if name == "c" else 3)
        shown = memory(other, "show", first)
        assert (shown["tags"], shown["edges"][0]["relationship_type"]) == (["ops"], "needs")
        again = other.run("memory", "import", *source, stdin=stdin)
        assert again.stdout.startswith("0 added, ") and " skipped (here already)" in again.stdout


def test_the_command_lists_each_fault_with_its_line(cli: Cli) -> None:
    done = cli.run("memory", "import", stdin="\n".join([line(), "nonsense", line(importance=7)]))
    assert done.returncode == 1
    assert "line 2: not JSON" in done.stderr and "line 3: " in done.stderr and "importance" in done.stderr
    assert "2 faults; nothing was written" in done.stderr
    assert memory(cli, "list")["nodes"] == []


def test_a_failed_export_leaves_the_file_that_was_there(cli: Cli, tmp_path: Path) -> None:
    remember(cli, "anything")
    folder = tmp_path / "gone" / "out.jsonl"
    done = cli.run("memory", "export", "--output", str(folder))
    assert done.returncode == 1 and str(folder) in done.stderr
    kept = tmp_path / "kept.jsonl"
    kept.write_text("what was there")
    done = cli.run("memory", "export", "--output", str(kept), "--db-path", "/etc")
    assert done.returncode == 1 and kept.read_text() == "what was there"
    assert list(tmp_path.glob(".kept*")) == []


def test_imports_that_failed_or_went_silent_keep_nobody_out(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner takes four at a time: one that found faults has ended, a killed one gives way."""
    for _ in range(MAX_OPEN + 1):
        done = cli.run("memory", "import", stdin="nonsense")
        assert done.returncode == 1 and "1 fault; nothing was written" in done.stderr
    latin = cli.run("memory", "import", stdin=b"\xe9\n")
    assert latin.returncode == 1 and "not UTF-8" in latin.stderr
    assert json.loads(cli.run("memory", "import", "--json", stdin=line()).stdout)["added"] == 1

    with open_memex(tmp_path / "own") as memex:
        imports = Imports()
        tokens = [imports.begin(str(tmp_path), Import(memex)) for _ in range(MAX_OPEN)]
        with pytest.raises(InvalidInputError, match="4 imports are on their way"):
            imports.begin(str(tmp_path), Import(memex))
        monkeypatch.setattr(imports_module, "SILENT_S", 0.0)
        assert imports.get(str(tmp_path), tokens[0])
        latest = imports.begin(str(tmp_path), Import(memex))
        assert imports.get(str(tmp_path), tokens[0]) and imports.get(str(tmp_path), latest)
        with pytest.raises(InvalidInputError, match="run it again"):
            imports.get(str(tmp_path), tokens[1])


def test_one_fault_is_told_once_though_the_numbers_at_the_end_are_others_then(tmp_path: Path) -> None:
    with open_memex(tmp_path / "from") as memex:
        for number in range(3):
            memex.store(f"fact {number}", rationale=WHY)
        lines = export_page(memex, "").text.splitlines()
    broken = [one.replace('"importance":0.5', '"importance":7', 1) for one in lines[:2]] + lines[2:]
    for sent, said in (
        (broken, ["line 2: "]),
        (lines[:-1], ["the end: the input was cut short: its end line is missing"]),
        (
            [*lines[:2], *lines[3:]],
            ["should have 3 memories, 0 links, 0 tombstones, has 2 memories, 0 links"],
        ),
    ):
        with open_memex(tmp_path / "to") as other:
            work = Import(other)
            work.check_lines(sent, 1)
            work.checked()
            assert len(work.problems) == len(said), work.problems
            assert all(part in problem for part, problem in zip(said, work.problems, strict=True))


def test_an_export_goes_into_pipes_and_devices_and_through_links(cli: Cli, tmp_path: Path) -> None:
    """None of them is replaced by a file; a device without room is said to have none."""
    remember(cli, "anything")
    whole = cli.run("memory", "export").stdout
    pipe, target, link = tmp_path / "pipe", tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert cli.run("memory", "export", "--output", str(pipe)).returncode == 0
        assert reader.communicate()[0] == whole and pipe.is_fifo()
    target.write_text("before")
    link.symlink_to(target)
    assert cli.run("memory", "export", "--output", str(link)).returncode == 0
    assert link.is_symlink() and target.read_text() == whole
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    assert cli.run("memory", "export", "--output", str(null)).returncode == 0
    assert null.is_symlink() and Path("/dev/null").is_char_device()
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" memory export >&-', str(cli.launcher)],
        env=cli.env,
        cwd=cli.project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert closed.returncode == 1 and "standard output is closed" in closed.stderr


def test_what_a_write_would_refuse_is_found_before_the_first_write(tmp_path: Path) -> None:
    """Half an import would be left behind otherwise: limits of metadata, links, times of deletion."""
    one, other = str(uuid4()), str(uuid4())
    ends = {"source_id": one, "target_id": other, "relationship_type": "needs"}
    link = json.dumps({"type": "link", "id": str(uuid4()), **ends})
    again = json.dumps({"type": "link", "id": str(uuid4()), **ends})
    itself = json.dumps({"type": "link", "id": str(uuid4()), **ends, "target_id": one})
    large = {"a": "b" * (1 << 20)}
    with open_memex(tmp_path) as memex:
        for bad, said in (
            (line(metadata=large), "at most 1048576"),
            (
                link.replace("needs", "wants").replace("}", f', "metadata": {json.dumps(large)}}}'),
                "at most 1048576",
            ),
            (again, "there already: the same type"),
            (itself, "a link needs two"),
            (line(deleted={"at_ms": -1, "reason": "x"}), "deleted_at_ms - is -1"),
            (line(deleted={"at_ms": 1, "reason": 5}), "at `$.reason`"),
        ):
            work = Import(memex)
            work.check_lines([line(id=one), line(id=other), link, bad], 1)
            work.checked()
            assert [said in problem and problem.startswith("line 4: ") for problem in work.problems] == [True]
        assert memex.count() == 0


def test_a_link_that_says_what_one_of_the_store_says_already_is_left_out(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        one, other = (memex.store(f"fact {name}", rationale=WHY).id for name in "ab")
        kept = memex.link(one, other, "needs", weight=0.25)
        lines = export_page(memex, "").text.splitlines()
        lines = [text.replace(str(kept.id), str(uuid4())).replace("0.25", "0.75") for text in lines]
        work = Import(memex)
        work.check_lines(lines, 1)
        work.checked()
        work.write_lines(lines, 1)
        assert work.report() == {"added": 0, "replaced": 0, "skipped": 2, "links": 0, "tombstones": 0}
        assert [(edge.id, edge.weight) for edge in memex.edges(one)] == [(kept.id, 0.25)]
