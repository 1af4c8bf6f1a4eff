"""What asks a person: yes or no, a line, a text, one of some words; and the page of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.events import Key
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from context_graph.view.safe import shown


class Asking(ModalScreen[str]):
    """A box with a question; "" for Esc."""

    DEFAULT_CSS = """
    Asking { align: center middle; background: $background 60%; }
    Asking > #box { width: 90%; max-width: 90; height: auto; max-height: 90%; padding: 1 2;
      background: $surface; border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Not", priority=True)]

    def __init__(self, question: str, *below: Widget, hint: str) -> None:
        """Ask ``question``; ``below`` it is what takes the answer, and ``hint`` says how it is given."""
        super().__init__()
        self.question, self.below, self.hint = question, below, hint

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Text(shown(self.question)))
            yield from self.below
            yield Static(Text(self.hint, style="dim"))

    def action_leave(self) -> None:
        self.dismiss("")


class Sure(Asking):
    """Says what will happen; Enter does it, Esc does not."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "agree", "Do it"), Binding("q", "leave", "Not")]

    def __init__(self, question: str) -> None:
        super().__init__(question, hint="\nEnter: do it    Esc: not")

    def action_agree(self) -> None:
        self.dismiss("yes")


class Line(Asking):
    """Asks for one line."""

    def __init__(self, question: str, example: str) -> None:
        super().__init__(question, Input(placeholder=example), hint="Enter: go on    Esc: not")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


class LongText(Asking):
    """Asks for a text of any number of lines, from one that is there."""

    DEFAULT_CSS = "LongText TextArea { height: 10; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "save", "Go on", priority=True)]

    def __init__(self, question: str, text: str) -> None:
        super().__init__(question, TextArea(shown(text)), hint="Ctrl+S: go on    Esc: not")

    def action_save(self) -> None:
        self.dismiss(self.query_one(TextArea).text.strip())


class Choice(Asking):
    """Asks for one of some words by its first letter."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave", "Not")]

    def __init__(self, question: str, words: Sequence[tuple[str, str]]) -> None:
        lines = (Static(Text(f"{word[0]}  {word}: {meaning}")) for word, meaning in words)
        super().__init__(f"{question}\n", *lines, hint="\nEsc: not")
        self.words = words

    def on_key(self, event: Key) -> None:
        word = next((word for word, _ in self.words if word[0] == event.key), "")
        if word:
            event.stop()  # else the screen below takes it for a key of its own
            event.prevent_default()
            self.dismiss(word)


class Help(Asking):
    """The keys."""

    DEFAULT_CSS = "Help VerticalScroll { height: auto; max-height: 100%; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,question_mark,enter", "leave", "Back")]

    def __init__(self, groups: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> None:
        super().__init__("", hint="")
        self.groups = groups

    def compose(self) -> ComposeResult:
        text = Text()
        for name, keys in self.groups:
            text.append(f"{name}\n", "bold")
            for key, meaning in keys:
                text.append(f"  {key:<14} {meaning}\n")
        text.append("Esc: back", "dim")
        with VerticalScroll(id="box"):
            yield Static(text)
