"""Serves `hooks <kind>`: asks the owner; whatever goes wrong, it loses nothing and never blocks the client.

Twin of ext/launcher/src/hook.rs. It decides nothing hard (invariant 2): it is the happy path, or
``fallback``.
"""

from __future__ import annotations

import os
import time

from context_graph.claude.hooks.claude import EVENT_OF_VERB
from context_graph.errors import ContextGraphError
from context_graph.front import client, gate, paths
from context_graph.front.call import Call
from context_graph.front.client import Answer, Client, NoAnswer
from context_graph.front.event import Event
from context_graph.front.options import (
    CLIENT_BUDGET_MS,
    CLIENTS,
    START_WAIT_MS,
    Options,
    UsageError,
    allowed_ms,
    budget_ms,
)
from context_graph.front.paths import of_host
from context_graph.front.trouble import BEFORE, JUST_NOW, NOTHING, Silence
from context_graph.system.streams import LATE, Deadline, read_to_end, write_all
from context_graph.wire.layout import GATE_IT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.front.fallback import Ending

HELP = -1
"""What ``hooks`` returns where help was asked for."""
_BAD_INPUT = 4
"""Seed 001's exit code. In the client's format every one of them is 0."""
_GOVERNED_BUDGET_MS = 500
"""What a governed project's owner is given for an event that would have less: its second choice, another
Python, costs more."""
_INPUT_MAX = 4 * 1024 * 1024
"""Longest input that is passed on."""
_LOOKED_AT_MAX = 16 * 1024 * 1024
"""How much of a longer one is looked at for the fields that identify the event (they may stand at its end).
How much of a longer one is looked at for the fields that identify the event (they may stand at its end)."""
_FIRST_ANSWER_MS = 250
"""What an owner that has just come up is given for its answer, whatever its start has used of the budget."""
_SPACE = b" \t\r\n"


class BadInputError(Exception):
    """Standard input is not what it should be; a sentence for the caller."""


def hooks(word: str, args: list[str], started: float, output: str) -> int:
    """Run the hook ``word``; its exit code, or HELP.

    Args:
        started: Monotonic time at which the process began.
        output: The format that the arguments ask for if it is a client's, else json.
    """
    if word not in EVENT_OF_VERB:
        return _refuse(output, f"there is no hook '{word}'; see context-graph-cli hooks --help", started)
    try:
        options = Options(word, args)
    except UsageError as error:
        return _refuse(output, str(error), started)
    if options.help:
        return HELP
    try:
        hook = _prepare(options, started)
    except (BadInputError, ContextGraphError) as error:
        return _refuse(options.format, str(error), started)
    code, stdout, stderr = hook.ask_owner()
    write_all(1, stdout)
    write_all(2, stderr)
    return code


def _refuse(output: str, why: str, started: float) -> int:
    """The end of a call whose arguments are wrong; the exit code."""
    from context_graph.front.fallback import failure

    code, stdout, stderr = failure(output, why, _BAD_INPUT, started)
    write_all(1, stdout)
    write_all(2, stderr)
    return code


def _prepare(options: Options, started: float) -> Hook:
    at_ms = time.time_ns() // 1_000_000
    env = of_host(os.environ, options.format)
    places = paths.locate(env, options.db_path)
    body = _body(options, started) if options.reads_stdin and not os.isatty(0) else None
    return Hook(Event(options, env, places, at_ms, body), started)


def _body(options: Options, started: float) -> bytes | None:
    """Standard input as the event's body.

    A client always closes its end, and on a busy machine it begins to write long after it has started us: it
    is given what its own limit leaves, even where the verb has 100 ms, for an event that comes late is better
    than none.
    """
    client = options.format in CLIENTS
    waited_ms = CLIENT_BUDGET_MS if client else budget_ms(options.kind)
    limit = _LOOKED_AT_MAX if client else _INPUT_MAX
    # The client's stdin is a Unix socket: only the inherited descriptor works, opening /dev/stdin fails.
    body, stop = read_to_end(0, limit, Deadline(waited_ms, started))
    if stop == LATE:
        from context_graph.front.document import is_object

        # A sender that forgets to close has said all the same what it had to say.
        if is_object(body):
            return body
        if client:
            waited_ms = _late_input_ms(options)
            rest, stop = read_to_end(0, limit - len(body), Deadline(waited_ms, started))
            body += rest
        if stop == LATE and not is_object(body):
            raise BadInputError(f"stdin: did not end within {waited_ms} ms; close it behind the JSON")
    if len(body) <= _INPUT_MAX:
        # Nothing came, and nobody insists: the arguments are the event. A descriptor that is closed, or a
        # folder, is as good as an empty one.
        return body if options.insists_on_stdin or body.strip(_SPACE) else None
    if not client:
        raise BadInputError(f"stdin: more than {_INPUT_MAX} bytes (4 MiB); send less tool output")
    from context_graph.front.document import Fault, reduced

    try:
        return reduced(body)
    except Fault as fault:
        raise BadInputError(str(fault)) from fault


def _late_input_ms(options: Options) -> int:
    """How long a client's input is waited for: the owner still has its time before the client's own limit."""
    left = gate.within_ms(options.kind) - allowed_ms(options.kind, options.format)
    return max(left, CLIENT_BUDGET_MS)


class Hook(Call):
    """One call, and how it asks the owner."""

    def ask_owner(self) -> Ending:
        """The happy path, or the way to the fallback."""
        try:
            return self._asked_owner()
        except NoAnswer as why:
            return self._fall_back(why)
        except Exception as error:  # a defect of ours must not lose the event: the owner takes an id once
            return self._fall_back(NoAnswer(client.BROKEN, f"{type(error).__name__}: {error}"))

    def _asked_owner(self) -> Ending:
        # Reading stdin had its own limit; the owner gets the verb's budget whole, as far as the client waits.
        budget = self._in_time(self._owner_budget_ms())
        asked = time.monotonic()
        silence = Silence(self.event.places.root)
        heard = silence.heard()
        if heard == JUST_NOW:
            raise NoAnswer(client.SILENT)
        if heard == BEFORE:
            silence.note()  # the others need not try too
        try:
            said = self._ask(asked, budget)
        except NoAnswer as why:
            if why.why == client.TIMEOUT:
                silence.note()
            elif heard != NOTHING:
                silence.forget()
            raise
        if heard != NOTHING:
            silence.forget()
        if said.flags & GATE_IT and self.is_client:
            self.debug("the owner leaves the gates to us")
            from context_graph.front.fallback import Fallback

            context, _, notice = said.stdout.partition(b"\0")
            _, stdout, stderr = Fallback(self).say(_text(context), _text(notice))
            return 0, stdout, said.stderr + stderr
        return said.exit_code, said.stdout, said.stderr

    def _ask(self, asked: float, budget: int) -> Answer:
        client_of_root = Client(self.event.places.root)
        try:
            return self._ask_once(client_of_root, Deadline(budget, asked))
        except NoAnswer as why:
            wait_ms = self._start_wait_ms() if why.why in (client.ABSENT, client.DECLINED) else None
            if wait_ms is None:
                raise
            self.debug(f"{why.text()}; starting one")
        return self._ask_fresh_owner(client_of_root, asked, self._in_time(max(budget, wait_ms)))

    def _in_time(self, ms: int) -> int:
        """Of ``ms`` as many as are left before the client ends the hook, and with it the event."""
        if not self.is_client:
            return ms
        left = gate.within_ms(self.options.kind) - self.elapsed_ms()
        return min(ms, max(left, _FIRST_ANSWER_MS))

    def _owner_budget_ms(self) -> int:
        budget = allowed_ms(self.options.kind, self.options.format)
        if budget < _GOVERNED_BUDGET_MS and self.is_governed_here():
            return _GOVERNED_BUDGET_MS
        return budget

    def _ask_once(self, client_of_root: Client, deadline: Deadline) -> Answer:
        connection = client_of_root.connect(deadline)
        try:
            # Counted from the hook's start, as the owner sees it: reading the input took its part.
            waits_ms = self.elapsed_ms() + max(1, deadline.left_ms())
            return client.ask(connection, self.event.request(waits_ms), deadline)
        finally:
            connection.close()

    def _start_wait_ms(self) -> int | None:
        """How long the hook waits for an owner that it starts, if it does.

        What a session's start and a prompt are told needs the store, gates are decided by an owner, and after
        an idle hour there is none. A session's end has no time for both an owner's start and a Python.
        """
        word = self.options.kind
        if word == "session-start" or (word == "prompt-submit" and self.is_client):
            return START_WAIT_MS
        if word == "session-end" or not self.is_governed():
            return None
        return gate.within_ms(word) // 2

    def _ask_fresh_owner(self, client_of_root: Client, asked: float, budget: int) -> Answer:
        """Start an owner and ask until it listens."""
        from context_graph.front.programs import STARTED, Starter

        up_by = Deadline(min(budget, START_WAIT_MS), asked)
        starter = Starter(self.event.places)
        started = False
        while True:
            if not started:  # again while another owner holds the lock: it may be leaving
                how, why = starter.start(self.event.env)
                self.debug_start(how, why)
                if not how:
                    raise NoAnswer(client.UNSTARTABLE, why)
                started = how == STARTED
            left = max(Deadline(budget, asked).left_ms(), _FIRST_ANSWER_MS)
            try:
                return self._ask_once(client_of_root, Deadline(left))
            except NoAnswer as error:
                # It held the lock from its first moment on: what has let go of it will never listen.
                if error.why == client.ABSENT and started and starter.is_free():
                    gone = "it ends at its start, and `context-graph-cli owner start` says why"
                    raise NoAnswer(client.UNSTARTABLE, gone) from error
                if error.why not in (client.ABSENT, client.DECLINED) or up_by.left_ms() == 0:
                    raise
            time.sleep(0.005)

    def _fall_back(self, why: NoAnswer) -> Ending:
        from context_graph.front.fallback import Fallback

        self.debug(why.text())
        return Fallback(self).run(why)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
