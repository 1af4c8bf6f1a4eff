"""Keeps what the shell reader knows while it reads: the word under construction, the `case` lists open."""

from __future__ import annotations

from context_graph.gates.shell.command import Command


class Word:
    """A word under construction; an unquoted expansion may split it into several."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._done: list[str] = []
        self._started = False

    def put(self, text: str) -> None:
        self.parts.append(text)
        self._started = True

    def put_value(self, value: str, *, quoted: bool) -> None:
        """An expansion's value; empty ones begin no word, blanks end one unless quoted."""
        if quoted or not any(blank in value for blank in " \t\n"):
            if value:
                self.put(value)
            return
        if value[0] in " \t\n":
            self._cut()
        for number, piece in enumerate(value.split()):
            if number:
                self._cut()
            self.put(piece)
        if value[-1] in " \t\n":
            self._cut()

    def _cut(self) -> None:
        if self._started:
            self._done.append("".join(self.parts))
        self.parts, self._started = [], False

    def words(self) -> list[str]:
        self._cut()
        return self._done


class Cases:
    """The ``case`` commands that are open in one list: a parenthesis that ends a pattern closes nothing."""

    def __init__(self) -> None:
        self._open = 0
        self._last: Command | None = None
        self.pattern = False

    def see(self, command: Command) -> None:
        """Note the word that ``command`` was given last."""
        words = command.words
        if words[0] == "case" and words[-1] == "in" and len(words) > 1 and command is not self._last:
            self._open, self._last, self.pattern = self._open + 1, command, True

    def next(self) -> None:
        """A branch ended: a pattern follows, or ``esac``."""
        self.pattern = self._open > 0

    def leave(self) -> None:
        self._open, self.pattern = max(0, self._open - 1), False


def here_document(text: str, at: int, delimiter: str, *, tabs: bool) -> tuple[str, int, bool]:
    """The text from ``at`` up to the line that is ``delimiter``, where it ends, and whether that line came.

    With ``tabs`` those at the beginnings of lines don't count.
    """
    lines: list[str] = []
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        line, at = text[at:stop], min(stop + 1, len(text))
        line = line.lstrip("\t") if tabs else line
        if line == delimiter:
            return "\n".join(lines), at, True
        lines.append(line)
    return "\n".join(lines), at, False
