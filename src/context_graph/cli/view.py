"""Has `view` and `report`, and gives both their rows (`view.source`): asks the owner, and looks at the
client's files itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from context_graph.cli.console.calling import ask, granted
from context_graph.cli.console.moments import TAKEN, moment
from context_graph.cli.console.terminal import shown
from context_graph.cli.doctor.client_files import NOTE
from context_graph.cli.memory.call import body_of, changed, editable, finished, last_of
from context_graph.cli.words import Command, Option
from context_graph.config import checkout_top, locate, project_dir
from context_graph.errors import CommandLineError, ConfigError, InvalidInputError, UsageError
from context_graph.system.small_files import replacing
from context_graph.text.units import counted, size
from context_graph.view import rows
from context_graph.view.source import Replaced, in_thread
from context_graph.wire.client.request import Following, follow
from context_graph.wire.frames import FOLLOWS

_ASK_S: Final = 15.0
_SHORT: Final = 8
_DISK: Final = "disk"
_NAME: Final = "context-graph-report.html"
_DAY_MS: Final = 86_400_000
T = TypeVar("T")


class OwnerSource:
    """The store of this folder's project, or that of ``db_path``. Thread-safe: each question is a connection
    of its own.
    """

    def __init__(self, db_path: str | None = None) -> None:
        self._db_path = db_path
        self._following: Following | None = None

    # Source

    def health(self, *, as_of_ms: int | None = None) -> rows.Health:
        """Return the owner's lines, then those about the client and the disk."""
        are_set_up, lines = _surroundings(self._db_path)
        asked = {"hooks-set-up": "true" if are_set_up else "false", "as-of": _text(as_of_ms)}
        health = self._rows("view.health", asked, rows.Health)
        if as_of_ms is not None:
            lines = [line for line in lines if line.name != _DISK]
        return msgspec.structs.replace(health, lines=[*health.lines, *lines])

    def memories(
        self,
        *,
        query: str = "",
        forgotten: bool = False,
        cursor: str = "",
        limit: int = 200,
        chars: int = rows.TEXT_CHARS,
    ) -> rows.MemoryPage:
        asked = {"query": query, "forgotten": forgotten, "cursor": cursor}
        return self._rows(
            "view.memories", {**asked, "limit": str(limit), "chars": str(chars)}, rows.MemoryPage
        )

    def memory(self, memory_id: str, *, as_of_ms: int | None = None) -> rows.MemoryDetail:
        asked = {"id": memory_id, "as-of": _text(as_of_ms)}
        return self._rows("view.memory", asked, rows.MemoryDetail)

    def ledger(self, *, limit: int = 500, session_id: str = "") -> rows.Ledger:
        return self._rows("view.ledger", {"limit": str(limit), "session-id": session_id}, rows.Ledger)

    def sessions(self, *, cursor: str = "", limit: int = 200) -> rows.SessionPage:
        return self._rows("view.sessions", {"cursor": cursor, "limit": str(limit)}, rows.SessionPage)

    def session(self, session_id: str) -> rows.SessionDetail:
        return self._rows("view.session", {"session-id": session_id}, rows.SessionDetail)

    def runs(self, *, limit: int = 100) -> Sequence[rows.RunRow]:
        return self._rows("view.runs", {"limit": str(limit)}, list[rows.RunRow])

    def run(self, token: str, *, limit: int = 200) -> rows.RunDetail:
        return self._rows("view.run", {"token": token, "limit": str(limit)}, rows.RunDetail)

    def gates(self, *, limit: int = 500) -> rows.Gates:
        return self._rows("view.gates", {"limit": str(limit)}, rows.Gates)

    def map(self) -> rows.Map:
        return self._rows("view.map", {}, rows.Map)

    def effect(self) -> rows.Effect:
        return self._rows("view.effect", {}, rows.Effect)

    def follow(self) -> Iterator[Sequence[str]]:
        # Starts no owner: whoever looks at a store has just asked it for something.
        self._following = follow("view.follow", {}, location=locate(self._db_path), autostart=False)
        granted(self._following.reply)
        yield rows.PARTS  # what changed before it was followed is not known
        for line in self._following:
            yield line["changed"]

    def close(self) -> None:
        if self._following is not None:
            self._following.close()

    # Actions

    def confirm(self, memory_id: str) -> str:
        answer = self._done("memory.confirm", {"id": memory_id})
        standing = answer.get("standing")
        return f"{_short(answer)} is confirmed{f': {standing}' if standing else ''}"

    def take_back(self, memory_id: str) -> str:
        return f"{_short(self._done('memory.confirm', {'id': memory_id, 'take_back': True}))} is as it was"

    def supersede(self, memory_id: str, text: str) -> Replaced:
        old = editable(self._done("memory.show", {"id": memory_id}))
        if text.strip() == old["content"]:
            raise InvalidInputError(f"{_short(old)} has that text already")
        new = self._done(*changed(old, text))
        message = f"{_short(new)} replaces {_short(old)}; forget {_short(new)} to undo that"
        if new["id"] == old["id"]:
            message = f"{_short(new)} is reworded; its history has the text before"
        return Replaced(message, new["id"])

    def forget(self, memory_id: str) -> str:
        self._done("memory.forget", {"id": memory_id, "reason": "view"})
        return f"{memory_id[:_SHORT]} is forgotten; it can be restored for 30 days"

    def restore(self, memory_id: str) -> str:
        return (
            f"{_short(self._done('memory.restore', {'id': memory_id}))} is restored; forget it to undo that"
        )

    def undo(self, token: str) -> str:
        answer = self._done("memory.undo", {"token": token})
        done = [f"{answer[name]} {name}" for name in ("restored", "forgotten", "changed") if answer[name]]
        kept = answer["kept_count"]
        left = f"; {kept} that were changed since stay as they are" if kept else ""
        return f"undone: {', '.join(done) or 'no memory changed'}{left}; undo that run to have it again"

    def dry_run(self, mode: str) -> rows.RunDetail:
        result = self._finished({"mode": mode, "dry_run": True})
        ids = {*_ids(result)}
        texts = self._done("view.texts", {"ids": sorted(ids)}) if ids else {}
        row = rows.RunRow(token="", at_ms=0, mode=result["mode"], trigger="dry run", counts=_counts(result))
        changes = list(_changes(result, texts))
        total = sum(row.counts.values())
        return rows.RunDetail(row=row, changes=changes, total=total, notes=result["notes"], is_dry=True)

    def consolidate(self, mode: str) -> str:
        result = self._finished({"mode": mode})
        done = ", ".join(f"{count} {name}" for name, count in _counts(result).items() if count)
        token = result.get("undo_token", "")
        if not token:
            return " ".join(result["notes"]) or "nothing was to be done"
        what = done or "no memory was merged, forgotten or linked"
        return f"done: {what}; undo {token[:_SHORT]} takes it back"

    # Asking

    def _rows(self, verb: str, params: Mapping[str, object], kind: type[T]) -> T:
        return msgspec.json.decode(self._answer(verb, params, b""), type=kind)

    def _done(self, verb: str, arguments: Mapping[str, Any]) -> Any:
        return msgspec.json.decode(self._answer(verb, {}, body_of(arguments)))

    def _answer(self, verb: str, params: Mapping[str, object], body: bytes) -> bytes:
        return granted(ask(verb, params, body, db_path=self._db_path, timeout_s=_ASK_S, quiet=True))

    def _finished(self, arguments: Mapping[str, Any]) -> Any:
        place, body = locate(self._db_path), body_of(arguments)
        following = follow("memory.consolidate", {FOLLOWS: True}, body, location=place, timeout_s=_ASK_S)
        granted(following.reply)
        return finished(last_of(following))


def _text(at_ms: int | None) -> str:
    return "" if at_ms is None else str(at_ms)


def _short(memory: Mapping[str, Any]) -> str:
    return str(memory["id"])[:_SHORT]


def _counts(result: Mapping[str, Any]) -> dict[str, int]:
    names = {"merged": "merged", "pruned": "pruned", "links": "links_made", "reweighted": "reweighted"}
    return {name: result[f"{its}_count"] for name, its in names.items()}


def _ids(result: Mapping[str, Any]) -> Iterator[str]:
    for merge in result["merged"]:
        yield merge["survivor"]
        yield from merge["losers"]
    for pruned in result["pruned"]:
        yield pruned["node_id"]
    for link in result["links_made"]:
        yield from (link["source"], link["target"])


def _changes(result: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[rows.RunChange]:
    for merge in result["merged"]:
        into = merge["survivor"]
        for loser in merge["losers"]:
            alike = f"similarity {merge['similarity']:.2f}"
            yield _change("merged", loser, texts, alike, into)
    for pruned in result["pruned"]:
        yield _change("pruned", pruned["node_id"], texts, f"salience {pruned['salience']:.2f}")
    for link in result["links_made"]:
        why = f"{link['relationship_type']}, {link['why']}"
        yield _change("linked", link["source"], texts, why, link["target"])


def _change(
    kind: str, memory_id: str, texts: Mapping[str, str], reason: str, into: str = ""
) -> rows.RunChange:
    text, into_text = texts.get(memory_id, ""), texts.get(into, "")
    return rows.RunChange(
        kind=kind, id=memory_id, text=text, reason=reason, into_id=into, into_text=into_text
    )


def _surroundings(db_path: str | None) -> tuple[bool, list[rows.Line]]:
    """Return whether hooks are set up here; and what only the client's files and the disk tell."""
    from context_graph.cli.doctor.client_files import native_memory, settings_files
    from context_graph.cli.doctor.hooks_in_use import hooks_in_use
    from context_graph.cli.doctor.surroundings import disk_use

    place, folder = locate(db_path), checkout_top(project_dir())
    settings, findings = settings_files(folder, os.environ)
    hooks = hooks_in_use(folder, settings, os.environ)
    events = {hook.event for hook in hooks.hooks}
    own, memory_findings = native_memory(folder, settings, os.environ)
    use, more = disk_use(place.root, place.store)
    free = f", {size(use['free_bytes'])} free" if "free_bytes" in use else ""
    state = "on" if own["on"] else "off"
    lines = [
        rows.Line("hooks", f"set up for {counted(len(events), 'event')}" if events else "none are set up"),
        rows.Line("Claude's memory", f"{state}, {counted(own['files'], 'file')}, {size(own['bytes'])}"),
        rows.Line(_DISK, f"{size(use['store_bytes'])} for this project{free}"),
    ]
    for finding in (*findings, *hooks.findings, *memory_findings, *more):
        text = f"{finding.what}; {finding.cure}" if finding.cure else finding.what
        lines.append(rows.Line(finding.level, text, finding.level != NOTE))
    return bool(events), lines


def view(theme: str | None, db_path: str | None) -> None:
    """Show this project in the terminal: health, memories, ledger, sessions, runs, gates, map and effect.

    It is live while a session runs. 1 to 8 choose the screen, ? shows the keys, q ends it. Whatever changes
    something asks first and can be undone. Needs the extra `view`:
    `uv tool install 'context-graph-cli[view]'`.

    Exit codes: 0 ended by the person; 1 no terminal, or the extra is missing; 2 a wrong option.

    Example: context-graph-cli view
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("`view` needs a terminal; `context-graph-cli status` prints the state as text")
    _need("textual", "`view` needs Textual")
    source = OwnerSource(db_path)
    first = in_thread(source.health)  # the owner answers while Textual is loaded
    from context_graph.view.terminal.app import ViewApp

    app = ViewApp(source, partial(moment, "the time"), first.result, theme or "")
    app.run()
    if app.return_code:
        raise SystemExit(app.return_code)


def _need(module: str, needs: str) -> None:
    """Raises ConfigError, with what to install, where the extra is missing."""
    if find_spec(module) is None:
        raise ConfigError(
            f"{needs}, which is not installed; `uv tool install 'context-graph-cli[view]'` or "
            "`pip install 'context-graph-core[view]'` brings it; `context-graph-cli status` works without"
        )


def report(since: int | None, output: str, open_: bool, db_path: str | None) -> None:
    """Write health, memories, effect, ledger, sessions, consolidations, gates and map into one HTML file.

    The file loads nothing from a network, and the same store gives the same bytes. Only you can read it; it
    holds what the store holds, so look at it before you pass it on. Needs the extra `view`.

    Exit codes: 0 it is written; 1 it is not: no extra, FILE is something else, or no owner answers.

    Example: context-graph-cli report --since 30d --open
    """
    _need("jinja2", "`report` needs Jinja2")
    from context_graph.view.report.gather import gather
    from context_graph.view.report.page import MARK, render

    path = None if output == "-" else Path(output)
    if path is None and open_:
        raise CommandLineError("--open needs a file; leave out `--output -`")
    if path is not None:
        _check(path, MARK)
    begin = None if since is None else since // _DAY_MS * _DAY_MS
    page = render(gather(OwnerSource(db_path), begin))
    if path is None:
        sys.stdout.buffer.write(page)
        sys.stdout.buffer.flush()
        return
    try:
        with replacing(path) as out:
            out.write(page)
    except OSError as error:
        raise InvalidInputError(f"{path} can't be written: {error.strerror}") from error
    print(shown(f"{path.absolute()}: {size(len(page))}"))
    if open_:
        _open(path)


def _check(path: Path, mark: bytes) -> None:
    """Refuse to replace a file that is no report."""
    try:
        if not path.exists():
            if not path.absolute().parent.is_dir():
                raise InvalidInputError(f"{path.absolute().parent} is no folder; make it first")
            return
        if path.is_file():
            with open(path, "rb") as there:
                if there.read(len(mark)) in (mark, b""):
                    return
    except OSError as error:
        raise InvalidInputError(f"{path} can't be read: {error.strerror}") from error
    raise InvalidInputError(f"{path} is there and is no report; name another file with -o")


def _open(path: Path) -> None:
    import webbrowser

    if not webbrowser.open(path.absolute().as_uri()):
        print("no browser could be started; open the file yourself", file=sys.stderr)


COMMANDS: Final = (
    Command.of(
        view,
        "Look at everything in the terminal",
        Option(
            "--theme",
            "dark or light. Default: as the terminal says of itself in $COLORFGBG, else dark.",
            choices=("dark", "light"),
        ),
    ),
    Command.of(
        report,
        "Write everything into one HTML file",
        Option(
            "--since",
            f"Only what happened since then, in whole days (UTC): {TAKEN}. Default: all that is kept.",
            "TIME",
            kind="time",
        ),
        Option(
            "--output",
            "Where to write it; `-` is standard output. An earlier report there is replaced, any other "
            "file is left alone.",
            "FILE",
            default=_NAME,
            short="-o",
        ),
        Option("--open", "Open it in the browser afterwards.", field="open_"),
    ),
)
