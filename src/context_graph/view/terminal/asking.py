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
from textual.widgets import Input, Static, TextArea

from context_graph.view.safe import shown

_CSS = """
{name} {{ align: center middle; background: $background 60%; }}
{name} > #box {{ width: 90%; max-width: 90; height: auto; max-height: 90%; padding: 1 2;
  background: $surface; border: round $primary; }}
"""


class Sure(ModalScreen[bool]):
    """Says what will happen; Enter does it, Esc does not."""

    DEFAULT_CSS = _CSS.format(name="Sure")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer(True)", "Do it"),
        Binding("escape,q", "answer(False)", "Not"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Text(shown(self.question)))
            yield Static(Text("\nEnter: do it    Esc: not", style="dim"))

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class Line(ModalScreen[str]):
    """Asks for one line; "" for Esc."""

    DEFAULT_CSS = _CSS.format(name="Line")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Not")]

    def __init__(self, question: str, example: str) -> None:
        super().__init__()
        self.question, self.example = question, example

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Text(shown(self.question)))
            yield Input(placeholder=self.example)
            yield Static(Text("Enter: go on    Esc: not", style="dim"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        self.dismiss("")


class LongText(ModalScreen[str]):
    """Asks for a text of any number of lines, from one that is there; "" for Esc."""

    DEFAULT_CSS = _CSS.format(name="LongText") + "LongText TextArea { height: 10; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Go on", priority=True),
        Binding("escape", "leave", "Not", priority=True),
    ]

    def __init__(self, question: str, text: str) -> None:
        super().__init__()
        self.question, self.text = question, text

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Text(shown(self.question)))
            yield TextArea(shown(self.text))
            yield Static(Text("Ctrl+S: go on    Esc: not", style="dim"))

    def action_save(self) -> None:
        self.dismiss(self.query_one(TextArea).text.strip())

    def action_leave(self) -> None:
        self.dismiss("")


class Choice(ModalScreen[str]):
    """Asks for one of some words by its first letter; "" for Esc."""

    DEFAULT_CSS = _CSS.format(name="Choice")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "Not")]

    def __init__(self, question: str, words: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.question, self.words = question, words

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Text(shown(self.question) + "\n"))
            for word, meaning in self.words:
                yield Static(Text(f"{word[0]}  {word}: {meaning}"))
            yield Static(Text("\nEsc: not", style="dim"))

    def on_key(self, event: Key) -> None:
        word = next((word for word, _ in self.words if word[0] == event.key), "")
        if word:
            event.stop()  # else the screen below takes it for a key of its own
            event.prevent_default()
            self.dismiss(word)

    def action_leave(self) -> None:
        self.dismiss("")


class Help(ModalScreen[None]):
    """The keys."""

    DEFAULT_CSS = _CSS.format(name="Help") + "Help VerticalScroll { height: auto; max-height: 100%; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "leave", "Back")]

    def __init__(self, groups: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> None:
        super().__init__()
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

    def action_leave(self) -> None:
        self.dismiss(None)
