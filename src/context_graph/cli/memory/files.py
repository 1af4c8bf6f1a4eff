"""Runs `memory export`, `import` and `reindex` page by page, with a progress bar on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from context_graph.cli.console.calling import ask
from context_graph.cli.console.tables import counted
from context_graph.cli.console.terminal import Advance, bar
from context_graph.cli.memory import to_client
from context_graph.cli.memory.call import ask_memory, print_reply
from context_graph.cli.memory.text import imported_text
from context_graph.cli.words import Argument, Command, Option
from context_graph.errors import CommandLineError, ContextGraphError, InvalidInputError
from context_graph.system.small_files import replacing

_PAGE_S: Final = 60.0
_PAGE_BYTES: Final = 512 * 1024
"""Of one request: some hundred memories, which keep the owner from hooks for a moment only."""
_PAGE_LINES: Final = 200
_FAULTS: Final = 5
"""Shown of an input's: they are mostly of one kind."""
_MAX_LINE: Final = 4 * 1024 * 1024


def export(format: str, output: Path | None, embeddings: bool, to: str | None, db_path: str | None) -> None:
    """Write all memories of this project, with their links; as jsonl also the forgotten ones.

    It works page by page, so 100,000 memories need no more RAM than a hundred. With --to auto-memory the file
    context-graph.md of the client's own memory is written anew; what a person wrote there stays. With --to
    claude-md the block between our two marks in CLAUDE.md is, which every later session must follow; all else
    in the file stays byte for byte.

    Exit codes: 0; 1 a file can't be written, or the store can't be used; 3 a record is corrupt.

    Example: context-graph-cli memory export --output memories.jsonl
    """
    if format == "markdown" and output is None:
        raise CommandLineError("--format markdown writes a file for each memory: give a folder with --output")
    if format == "markdown" and embeddings:
        raise CommandLineError("--embeddings: Markdown holds no vectors; use --format jsonl")
    if to is not None:
        if output is not None or format != "jsonl" or embeddings:
            raise CommandLineError(f"--to {to} takes neither --output nor --format nor --embeddings")
        write = to_client.write if to == "auto-memory" else to_client.write_rules
        print(f"{write(pages('jsonl', False, db_path))} memories", file=sys.stderr)
        return
    exported = pages(format, embeddings, db_path)
    try:
        if format == "markdown" and output is not None:
            count = _write_folder(output, exported)
        else:
            count = _write_file(output, exported)
    except BrokenPipeError:
        raise  # who read it has gone, which is no error
    except OSError as error:
        where = "standard output" if output is None else f"--output {output}"
        raise InvalidInputError(f"{where}: {error.strerror}") from error
    print(f"{count} memories", file=sys.stderr)


def import_memories(
    path: Path | None, source: str | None, overwrite: bool, dry_run: bool, as_json: bool, db_path: str | None
) -> None:
    """Read memories from JSONL or Markdown into this project's store, or from another program (--from).

    Of a file everything is checked first; if a line is bad, its number is printed and nothing is written.
    Secrets are masked; the answer counts them by kind, in JSON under "masked". Memories whose id already
    exists are skipped, so an interrupted import can be run again.

    With --from claude-code each transcript becomes the summary that hooks would have made of the session,
    with its own dates. What is there already is skipped, what has grown is refreshed, and all of it has the
    tag `imported`.

    Exit codes: 0; 1 the input can't be read or is wrong (one line per fault); 3 the database is corrupt.

    Example: context-graph-cli memory import memories.jsonl --dry-run
    """
    if source is not None:
        reply = _import_from(source, path, overwrite=overwrite, dry_run=dry_run, db_path=db_path)
    else:
        reply = imported(path, overwrite=overwrite, dry_run=dry_run, db_path=db_path)
    print_reply(reply, imported_text, as_json)


def imported(path: Path | None, *, overwrite: bool, dry_run: bool, db_path: str | None) -> dict[str, Any]:
    """Check all of a file or folder, then import it; the counts. Raises as the command says."""
    with _source(path) as (batches, total), _begun(overwrite, db_path) as token:
        with bar("checking", total) as advance:
            for batch, size in batches():
                _import("check", {"token": token, **batch}, db_path)
                advance(size)
        checked = _import("checked", {"token": token}, db_path)
        if checked["problems"]:
            first, left = checked["problems"][:_FAULTS], checked["problem_count"] - _FAULTS
            print("\n".join([*first, *([f"… and {left} more"] if left > 0 else [])]), file=sys.stderr)
            raise InvalidInputError(f"{checked['faults']}; nothing was written")
        if not dry_run:
            with bar("importing", total) as advance:
                for batch, size in batches():
                    _import("write", {"token": token, **batch}, db_path)
                    advance(size)
        done = _import("end", {"token": token}, db_path)
    return {"dry_run": dry_run, **done}


def _import_from(
    source: str, path: Path | None, *, overwrite: bool, dry_run: bool, db_path: str | None
) -> dict[str, Any]:
    if overwrite:
        raise CommandLineError("--overwrite has no meaning with --from: what has grown is refreshed anyway")
    if path is None and source == "claude-mem" and os.environ.get("CLAUDE_MEM_DATA_DIR"):
        path = Path(os.environ["CLAUDE_MEM_DATA_DIR"])
    if path is None and source == "codex" and os.environ.get("CODEX_HOME"):
        path = Path(os.environ["CODEX_HOME"], "sessions")
    if path is None and source == "gemini" and os.environ.get("GEMINI_CLI_HOME"):
        path = Path(os.environ["GEMINI_CLI_HOME"], ".gemini", "tmp")
    place = {"path": os.path.abspath(path)} if path is not None else {}
    begun = _call("memory.import-from", {"source": source, "dry_run": dry_run, **place}, db_path)
    step: dict[str, Any] = {"at": 0, "done": False}
    with bar("reading" if dry_run else "importing", begun["total"]) as advance:
        while not step["done"]:
            before = step["at"]
            step = _call("memory.import-from", {"token": begun["token"]}, db_path)
            advance(step["at"] - before)
    del step["at"], step["done"]
    return {"dry_run": dry_run, **step}


def reindex(provider: str, as_json: bool, db_path: str | None) -> None:
    """Change the embedding provider and recompute all embeddings, while the store stays in use.

    If the store already has this provider, only memories without a vector get one. An interrupted run
    continues when you repeat the command; until it is done, the old embeddings are used.

    Exit codes: 0; 1 no such provider, or the store can't be used; 3 a record is corrupt.

    Example: context-graph-cli memory reindex --provider static
    """
    done, memories = False, 0
    with contextlib.ExitStack() as stack:
        advance: Advance | None = None
        at = 0
        while not done:
            step = _call("memory.reindex", {"provider": provider}, db_path)
            advance = advance or stack.enter_context(bar("reindexing", step["total"]))
            advance(step["at"] - at)
            at, done, memories = step["at"], step["done"], memories + step["memories"]
    done_text = f"{counted(memories, 'embedding')} computed anew with {provider}"
    print(json.dumps({"provider": provider, "memories": memories}) if as_json else done_text)


def _call(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    return ask_memory(verb, arguments, db_path, timeout_s=_PAGE_S)


@contextlib.contextmanager
def _begun(overwrite: bool, db_path: str | None) -> Iterator[str]:
    """An import's token; if it is interrupted, the owner learns that nothing more comes."""
    token: str = _import("begin", {"overwrite": overwrite}, db_path)["token"]
    try:
        yield token
    except BaseException:
        ended = json.dumps({"phase": "end", "token": token}).encode()
        with contextlib.suppress(ContextGraphError):  # what went wrong before is what is told
            ask("memory.import", {}, ended, db_path=db_path, timeout_s=_PAGE_S)
        raise


def _import(phase: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    return _call("memory.import", {"phase": phase, **arguments}, db_path)


def pages(file_format: str, embeddings: bool, db_path: str | None) -> Iterator[dict[str, Any]]:
    """Yield the export's pages; a bar shows how far they are."""
    cursor: str | None = ""
    with contextlib.ExitStack() as stack:
        advance: Advance | None = None
        while cursor is not None:
            page = _call(
                "memory.export", {"format": file_format, "embeddings": embeddings, "cursor": cursor}, db_path
            )
            advance = advance or stack.enter_context(bar("exporting", page["total"]))
            advance(page["memories"])
            yield page
            cursor = page.get("next_cursor")


def _write_file(path: Path | None, pages: Iterator[dict[str, Any]]) -> int:
    """Write a file beside its place, then move it there; until then the old file stays.

    A link stays a link, and what is no file (a pipe, a device) is written into: neither may be replaced.
    """
    if path is None:
        if sys.stdout is None:
            raise InvalidInputError("standard output is closed; name a file with --output")
        return _write_pages(sys.stdout.buffer, pages)
    if path.exists() and not path.is_file():
        with open(path, "wb") as out:
            return _write_pages(out, pages)
    with replacing(path) as out:
        return _write_pages(out, pages)


def _write_pages(out: IO[bytes], pages: Iterator[dict[str, Any]]) -> int:
    count = 0
    for page in pages:
        out.write(page["text"].encode())
        count += page["memories"]
    out.flush()
    return count


def _write_folder(folder: Path, pages: Iterator[dict[str, Any]]) -> int:
    count = 0
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for page in pages:
        for file in page["files"]:
            handle = os.open(folder / file["name"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(file["text"].encode())
            count += 1
    return count


Batches = Callable[[], Iterator[tuple[dict[str, Any], int]]]


@contextlib.contextmanager
def _source(path: Path | None) -> Iterator[tuple[Batches, int]]:
    """(what gives the input's batches, as often as it is called; what their sizes sum up to)."""
    try:
        if path is not None and path.is_dir():
            files = sorted(file for file in path.rglob("*.md") if file.is_file())
            if not files:
                raise InvalidInputError(f"{path}: no Markdown files in this folder")
            yield lambda: _markdown_batches(files, path), len(files)
        elif path is not None and path.suffix == ".md":
            yield lambda: _markdown_batches([path], path.parent), 1
        else:
            with open(path, "rb") if path is not None else _spooled_stdin() as lines:
                size = lines.seek(0, os.SEEK_END)
                if not size:
                    raise InvalidInputError("nothing to import: name a PATH, or send JSONL to standard input")
                yield lambda: _line_batches(lines), size
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path}: no such file or folder") from error
    except OSError as error:
        raise InvalidInputError(f"{error.filename or path}: {error.strerror}") from error


def _spooled_stdin() -> IO[bytes]:
    """Standard input as a file that can be read twice."""
    spooled = tempfile.TemporaryFile()  # noqa: SIM115 - its caller closes it
    if sys.stdin is not None and not sys.stdin.isatty():
        while part := sys.stdin.buffer.read(1 << 20):
            spooled.write(part)
    return spooled


def _line_batches(lines: IO[bytes]) -> Iterator[tuple[dict[str, Any], int]]:
    lines.seek(0)
    first = 1
    for batch, size in _batches(_numbered(lines)):
        yield {"first_line": first, "lines": batch}, size
        first += len(batch)


def _numbered(lines: IO[bytes]) -> Iterator[tuple[str, int]]:
    """Yield each line with its size in bytes."""
    number = 0
    while line := lines.readline(_MAX_LINE + 1):
        number += 1
        if len(line) > _MAX_LINE:
            raise InvalidInputError(f"line {number}: longer than {_MAX_LINE} bytes")
        yield _text(line, f"line {number}"), len(line)


def _batches(parts: Iterable[tuple[Any, int]]) -> Iterator[tuple[list[Any], int]]:
    """Yield what fits one request, with its size."""
    batch: list[Any] = []
    size = 0
    for part, its in parts:
        batch.append(part)
        size += its
        if size >= _PAGE_BYTES or len(batch) >= _PAGE_LINES:
            yield batch, size
            batch, size = [], 0
    if batch:
        yield batch, size


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{where}: not UTF-8 at byte {error.start}; nothing was written") from error


def _markdown_batches(files: list[Path], root: Path) -> Iterator[tuple[dict[str, Any], int]]:
    names = (str(file.relative_to(root)) for file in files)
    texts = ((name, _text((root / name).read_bytes(), name)) for name in names)
    for batch, _ in _batches(({"name": name, "text": text}, len(text)) for name, text in texts):
        yield {"files": batch}, len(batch)


COMMANDS: Final = (
    Command.of(
        export,
        "Write memories as JSONL or Markdown",
        Option(
            "--format",
            "jsonl: one file, complete. markdown: one file per memory, to read and edit.",
            choices=("jsonl", "markdown"),
            default="jsonl",
        ),
        Option(
            "--output", "File (jsonl; default: standard output) or folder (markdown).", "PATH", kind="path"
        ),
        Option("--embeddings", "With jsonl: write the vectors too, so that import need not compute them."),
        Option(
            "--to",
            "auto-memory: write what was stored on purpose, the most important 60, into Claude Code's "
            "own memory: a file of ours, and a line in its index. claude-md: write the rules that "
            "somebody confirmed into a marked block of this project's CLAUDE.md.",
            choices=("auto-memory", "claude-md"),
        ),
    ),
    Command.of(
        import_memories,
        "Read memories from JSONL or Markdown",
        Argument(
            "PATH",
            "path",
            "A file or folder that `memory export` wrote; default: JSONL from standard input. "
            "With --from: in place of where that program keeps it.",
            kind="path",
        ),
        Option(
            "--from",
            "Read what another program kept of this project: Claude Code's transcripts, Codex CLI's "
            "sessions ($CODEX_HOME, else ~/.codex), Gemini CLI's (.gemini in $GEMINI_CLI_HOME, else in "
            "~), the notes of its own memory, CLAUDE.md files, the JSON lines of the reference memory "
            "server, or claude-mem's database.",
            choices=(
                *("claude-code", "codex", "gemini", "auto-memory", "claude-md"),
                *("server-memory", "claude-mem"),
            ),
            field="source",
        ),
        Option("--overwrite", "Replace memories that have the same id; without this they are skipped."),
        Option("--dry-run", "Check the input; write nothing."),
        word="import",
    ),
    Command.of(
        reindex,
        "Change the embedding provider",
        Option(
            "--provider",
            "static, which is built in, or a provider that an extra installs.",
            "NAME",
            default="static",
        ),
    ),
)
