"""What the owner does with text from outside takes time in proportion to its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import chain, pairwise
from typing import Any, Final
from uuid import UUID

import orjson
import pytest
from tests.support.patterns.hard_texts import Text, hard_texts, why_not_linear

from context_graph.claude.hooks.hook_input import HookInput, parse_hook_input
from context_graph.claude.settings.edit import parse_json_text
from context_graph.consolidation.finders import patterns, words
from context_graph.errors import ContextGraphError
from context_graph.gates.decide import exemptions, permission, tool_call
from context_graph.identity.forecast import command_head
from context_graph.memory import relevance as relevance_of
from context_graph.memory.asked import Asked
from context_graph.memory.context import distill, ledger, passages
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.embed import default_provider
from context_graph.memory.exchange.records import file_name, read_markdown
from context_graph.memory.index import blend
from context_graph.model import EventKind, EventParts, HookEvent
from context_graph.model.memory import MAX_CONTENT_CHARS
from context_graph.notes.gather import Gathered
from context_graph.notes.make import notes_of
from context_graph.notes.said import concerns, decisions, statements
from context_graph.operations.mcp import rpc
from context_graph.owner.sessions.event_parts import parts_of
from context_graph.owner.socket.lines import MessageSplitter
from context_graph.redact import Redactor
from context_graph.text import meaning, paraphrase, phrases, quoting, sentences
from context_graph.text.flattening import flatten_text, relative_paths

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]


def _event(kind: EventKind, text: str, tool: str = "", **more: Any) -> HookEvent:
    given = {"session_id": "s", "event_id": "e", "at_ms": 1, "cwd": "/a", "tool_name": tool, **more}
    parts = EventParts(
        file_path=text,
        command=text,
        old_text=text,
        new_text=text,
        words=text,
        plan=text,
        task=text,
        tail=text,
        todos=[["pending", text]],
        answers=[[text, text]],
    )
    return HookEvent(kind=kind, input_text=text, output_text=text, parts=parts, **given)


def summary(text: str) -> None:
    """A session all of whose events say it: prompt, commands that work and fail, edits, list, last words."""
    kinds = (
        (EventKind.PROMPT_SUBMIT, ""),
        *((EventKind.POST_TOOL, tool) for tool in ("Bash", "Edit", "Read", "TodoWrite")),
        (EventKind.POST_TOOL_FAILURE, "Bash"),
        (EventKind.STOP, ""),
    )
    work = SessionWork()
    work.absorb(enumerate([_event(kind, text, tool) for kind, tool in kinds], 1))
    SessionWork.from_json(work.to_json()).text()


def notes(text: str) -> None:
    """The notes of such a session, with a compaction, a subagent's answer and a ticket."""
    kinds = (
        (EventKind.PROMPT_SUBMIT, ""),
        *((EventKind.POST_TOOL, tool) for tool in ("Bash", "Edit", "Write", "Read", "Agent", "ExitPlanMode")),
        (EventKind.POST_TOOL_FAILURE, "Bash"),
        (EventKind.POST_TOOL, "Bash"),
        (EventKind.POST_COMPACT, ""),
        (EventKind.STOP, ""),
    )
    gathered = Gathered()
    gathered.absorb(enumerate([_event(kind, text, tool) for kind, tool in kinds], 1))
    notes_of(Gathered.from_json(gathered.to_json()))


def parts(text: str) -> None:
    """A call whose every text it is, taken apart."""
    given = {name: text for name in ("file_path", "command", "old_string", "new_string", "content")}
    answer = {"originalFile": text + text, "stdout": text}
    for tool in ("Bash", "Edit", "Write"):
        parts_of(
            HookInput(EventKind.POST_TOOL, tool_name=tool, tool_input=given, tool_response=answer), redactor()
        )


@cache
def redactor() -> Redactor:
    return Redactor()


def quoted(text: str) -> None:
    quoting.quoted(text)
    quoting.inert(text)
    passages.passage(text, quoting.words_of(text), 40, lambda part: len(part) // 4)


def relevance(text: str) -> None:
    asked = Asked(text, default_provider(), lambda terms: [1.0] * len(terms), 3)
    asked.signs(text, 1.0, 0.5, 0.5)
    relevance_of.kind_of(text)
    blend.asks_when(text)
    phrases.is_small_talk(text)


def capped(run: Callable[[str], Any]) -> Callable[[str], Any]:
    """For what only meets a memory's content, which is no longer than that."""
    return lambda text: run(text[:MAX_CONTENT_CHARS])


def pairs(text: str) -> None:
    """Two texts of the same words in another order, and one that denies the other."""
    words = text.split(" ")
    backwards = " ".join(reversed(words))
    paraphrase.same_meaning(text, backwards)
    paraphrase.same_meaning(text, ". ".join(reversed(text.split(". "))))
    paraphrase.opposition(text, backwards)
    paraphrase.opposition(text, f"{text} not")
    sentences.short_name(text)


def told(text: str) -> None:
    sentences.segments.__wrapped__(text)
    sentences.content_words(text)
    source = distill.Source(text, 1.0, 4)
    distill.selected(text[:400], [source], 200, default_provider())


def consolidated(text: str) -> None:
    patterns.actions(text)
    words.informative_words(text)
    words._stems.__wrapped__(text)


def imported(text: str) -> None:
    for document in (text, f"---\nid: {text}\n---\n{text}", f"---\nrationale: {text}\ntags: [{text}\n---\n"):
        with suppress(ContextGraphError):
            read_markdown(document)
    file_name({"content": text, "created_at_ms": 0, "id": str(UUID(int=1))})


def hooked(text: str) -> None:
    body = orjson.dumps({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": text}})
    for given in (body, text.encode(), body.replace(b"Bash", b"\\ud800")):
        with suppress(ContextGraphError):
            parse_hook_input(EventKind.POST_TOOL, given, {})
    flatten_text({"password": text, "list": [text, text[:100]]}, 2048)
    relative_paths(text, "/a/")
    command_head(text)


def framed(text: str) -> None:
    data = text.encode()
    for spread in (False, True):
        splitter = MessageSplitter(1 << 20, spread=spread)
        for at in range(0, len(data), 4096):
            list(splitter.feed(data[at : at + 4096]))
        splitter.tail()
    with suppress(rpc.RpcError):
        rpc.parse(data)


def gated(text: str) -> None:
    for command in (text, f"req {text}", f"cat .git {text} requirements/{text}"):
        exemptions.is_own_command(command)
        tool_call.runs_git(f"git x; {command}", ["commit"], "/home/u/repo", "/home/u")


def permitted(text: str) -> None:
    for command in (text, f"rm -r {text}", f"sh -c '{text}'"):
        permission.danger(command, {"/home/u"})


def configured(text: str) -> None:
    for document in (text, f'{{"a": "{text}"}}', f"[{text}"):
        with suppress(ContextGraphError, ValueError):
            parse_json_text(document)


def observed(text: str) -> None:
    ledger.distinctive_words(text, text[:200])


def said(text: str) -> None:
    """What a prompt or an agent's message says that holds further, and what that concerns."""
    for one in (*statements(text), *decisions(text)):
        concerns(one, prompt=text, path=text[:4000], command=text[:4000])
    rule = statements("never edit anything under gen/")[0]
    concerns(rule, prompt=text, path=text, command=text)


WORK: Final[dict[str, Callable[[str], Any]]] = {
    "summary": summary,
    "wishes": phrases.instructions_in,
    "statements": said,
    "notes": notes,
    "parts of a call": parts,
    "quoting": capped(quoted),
    "relevance": relevance,
    "redaction": lambda text: redactor().redact(text),
    "redaction of secrets": lambda text: redactor().redact(
        f"password={text} api_key: '{text}' --token {text}"
    ),
    "redaction of a start": lambda text: redactor().redact_cut(text, 2048),
    "meaning": capped(meaning.read_meaning),
    "pairs": capped(pairs),
    "segments": capped(told),
    "consolidation": capped(consolidated),
    "Markdown": imported,
    "hook input": hooked,
    "messages": framed,
    "gates": gated,
    "permissions": permitted,
    "settings": configured,
    "ledger": observed,
}


def _names(many: int) -> Iterator[str]:
    for at in range(many):
        yield "".join(chr(97 + at // 26**place % 26) for place in range(3))


def _sentences(size: int) -> str:
    """Short sentences, each of other words."""
    names = list(_names(max(2, size // 17)))
    return " ".join(f"{one} calls {other}." for one, other in pairwise(names))


def _same_sentences(size: int) -> str:
    """Sentences of the same words, each in another voice than the next."""
    return "The gateway calls the store. The gateway is called by the store. " * (size // 65 + 1)


def _secrets(size: int) -> str:
    return "password=password=token: secret_key='" * (size // 37 + 1)


def _items(size: int) -> str:
    """A list whose entries rest on each other."""
    return "\n".join(f"- {one}: then it uses {one}" for one in _names(size // 26 + 1))


TEXTS: Final[tuple[Text, ...]] = (_sentences, _same_sentences, _secrets, _items)


@pytest.mark.parametrize("work", WORK)
def test_work_grows_with_the_text_alone(work: str) -> None:
    named = "password token sudo git requirements.json .git req https eyJ BEGIN PRIVATE KEY Error decided"
    assert why_not_linear(WORK[work], chain(TEXTS, hard_texts(named))) == ""
