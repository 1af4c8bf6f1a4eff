"""A change's edits are told as they ended, however they were made: by a tool, a command, a script, unseen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.events import ROOT, bash, call, edit, prompt, read, write

from context_graph.model import HookEvent
from context_graph.model.note import NoteKind
from context_graph.notes.edits.looks import shown_file
from context_graph.notes.edits.rows import edits_text, with_edit
from context_graph.notes.edits.seen import SeenTexts
from context_graph.notes.edits.swaps import swaps_in, swaps_of_script
from context_graph.notes.gather import Gathered
from context_graph.notes.make import notes_of

PATH = f"{ROOT}/shop/basket.py"
SOURCE = """class Basket:
    def total(self, currency):
        prices = [item.price for item in self.items]
        return sum(prices)

    def is_empty(self):
        return not self.items

    def clear(self):
        self.items.clear()
"""
MENDED = SOURCE.replace("return sum(prices)", "return round(sum(prices), 2)")
FIX = "Edit: `return sum(prices)` -> `return round(sum(prices), 2)`"
ASKED = prompt("Totals are off by a cent in this basket, please fix.")


def numbered(text: str, first: int = 1) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), first))


def change(*events: HookEvent) -> str:
    gathered = Gathered()
    gathered.absorb(enumerate((ASKED, read(PATH, SOURCE), *events), 1))
    (note,) = (note for note in notes_of(gathered) if note.kind is NoteKind.CHANGE)
    return note.text.partition("\n")[2]


def edits(*events: HookEvent) -> list[str]:
    return [
        line.replace("in total: ", "") for line in change(*events).splitlines() if line.startswith("Edit: ")
    ]


SCRIPT = """path = "shop/basket.py"
text = open(path).read()
old = "        return sum(prices)"
text = text.replace(old, "        return round(sum(prices), 2)")
open(path, "w").write(text)
"""
DIFF = """diff --git a/shop/basket.py b/shop/basket.py
--- a/shop/basket.py
+++ b/shop/basket.py
@@ -2,3 +2,3 @@ class Basket:
     def total(self, currency):
         prices = [item.price for item in self.items]
-        return sum(prices)
+        return round(sum(prices), 2)
"""


@pytest.mark.parametrize(
    "events",
    [
        (edit(PATH, "sum(prices)", "round(sum(prices), 2)"),),
        (edit(PATH, r"sum\(prices\)", "round(sum(prices), 2)"),),
        (edit(PATH, "sum(prices)", "round(sum(prices), 2)", originalFile=SOURCE),),
        (bash("sed -i 's/return sum(prices)/return round(sum(prices), 2)/' shop/basket.py"),),
        (bash(f"python3 - <<'E'\n{SCRIPT}E"),),
        (bash(f"cat > mend.py <<'E'\n{SCRIPT}E"), bash("python3 mend.py")),
        (write(f"{ROOT}/mend.py", SCRIPT), bash("python3 mend.py")),
        (write(PATH, MENDED),),
        (call("Write", {"file_path": PATH, "content": MENDED}, {"originalFile": SOURCE}),),
        (bash(f"cat > shop/basket.py <<'E'\n{MENDED}E"),),
        (bash("sed -i '4c\\        return round(sum(prices), 2)' shop/basket.py"), read(PATH, MENDED)),
        (bash("sed -i -f mend.sed shop/basket.py"), bash("sed -n '1,9p' shop/basket.py", MENDED)),
        (read(PATH, numbered(MENDED)),),
        (
            read(PATH, numbered(SOURCE)),
            bash("sed -i '4c\\        return round(sum(prices), 2)' shop/basket.py"),
        ),
        (bash("./mend shop/basket.py"), bash("git diff", DIFF)),
        (edit(PATH, "return sum(prices)", "return sum(prices) + 1"), bash("git diff", DIFF)),
    ],
)
def test_a_fix_is_told_as_whole_lines_however_it_was_made(events: tuple[HookEvent, ...]) -> None:
    assert edits(*events) == [FIX] and "total" in change(*events)


def test_what_was_undone_is_no_change_and_what_was_done_again_is_told_once() -> None:
    mend = edit(PATH, "return sum(prices)", "return round(sum(prices), 2)")
    wrong = edit(PATH, "return not self.items", "return self.items == []")
    sed = "sed -i 's/sum(prices)/round(sum(prices), 2)/' shop/basket.py"
    back = bash("git checkout shop/basket.py")
    assert edits(wrong, back, mend) == [FIX] == edits(mend, back, mend) == edits(mend, read(PATH, MENDED))
    assert edits(wrong, bash(f"git checkout shop/basket.py && {sed}")) == [FIX]
    gathered = Gathered()
    gathered.absorb(enumerate((ASKED, read(PATH, SOURCE), mend, bash(f"{sed} && git checkout .")), 1))
    assert not any("Changed: " in note.text for note in notes_of(gathered))


def test_an_edit_of_an_own_edit_is_told_with_what_was_there_before() -> None:
    attempt = MENDED.replace("return round", "try: pass\n        return round")
    later = edit(PATH, "return round(sum(prices), 2)", "return round(sum(prices), 3)")
    (line,) = edits(read(PATH, attempt), later)
    assert line.endswith("`return sum(prices)` -> `try: pass return round(sum(prices), 3)`")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a_line(that.is.not", "a_line(seen"),
        (")", ", simple=simple)"),
        ("print(total)", "print('here', total)"),
        ("say(\\\\\\\\d+)", "say(-)"),
    ],
)
def test_what_cannot_be_located_or_only_prints_is_not_quoted(old: str, new: str) -> None:
    assert edits(edit(f"{ROOT}/shop/other.py", old, new)) == []


def test_what_the_user_may_have_changed_between_two_prompts_is_nobodys_edit() -> None:
    gathered = Gathered()
    events = (ASKED, read(PATH, SOURCE), prompt("Now name the currency too, please"), read(PATH, MENDED))
    gathered.absorb(enumerate(events, 1))
    assert not any("round" in note.text for note in notes_of(gathered))


def test_parts_of_a_file_that_look_alike_are_no_edit_of_each_other() -> None:
    other = SOURCE.replace("class Basket", "class Crate").replace("items", "boxes")
    both = (read(PATH, numbered(SOURCE, 300)), read(PATH, numbered(other, 30)), edit(PATH, "clear", "empty"))
    assert not any("Crate" in line or "boxes" in line for line in edits(*both))


def test_a_place_is_told_where_a_file_has_several() -> None:
    two = (edit(PATH, "sum(prices)", "max(prices)"), edit(PATH, "not self.items", "self.items == []"))
    assert "Edit: in total: `return sum(prices)` -> `return max(prices)`" in change(*two)


@pytest.mark.parametrize(
    ("command", "swaps"),
    [
        ("sed -i 's/a b/c d/g' x.py", [("a b", "c d")]),
        ("sed -i -e '3s|x/y|z|' -e 's#one#two#' x.py", [("x/y", "z"), ("one", "two")]),
        (r"sed -i 's/f\[0\]/g(\&x)/' x.py", [("f[0]", "g(&x)")]),
        ("sed -i 's/[a-z]*b/c/; s/x.*y/z/' x.py", []),
        ("python3 -c \"t.replace('old', 'new')\"", [("old", "new")]),
        ("grep -rn 'a.replace(' src", []),
    ],
)
def test_what_a_command_puts_in_place_of_what(command: str, swaps: list[tuple[str, str]]) -> None:
    assert swaps_in(command) == swaps


@pytest.mark.parametrize(
    "text", ["-" * 8000 + "1", "(" * 8000, "x.replace('", "\0", "f'{" * 2000, "a.b" * 2700]
)
def test_a_script_that_no_parser_can_read_replaces_nothing(text: str) -> None:
    assert swaps_of_script(text) == []


def test_of_a_script_that_was_cut_what_is_whole_counts() -> None:
    assert swaps_of_script("t = t.replace('old', 'new')\nt = t.replace('''torn") == [("old", "new")]


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("sed -n '3,9p' a/b.py", "a/b.py"),
        ("nl -ba a/b.py | sed -n '3,9p'", "a/b.py"),
        ("cat a.py b.py", ""),
        ("cat a.py > b.py", ""),
        ("sed -i 's/a/b/' a.py", ""),
        ("cat a.py && make", ""),
        ("cat", ""),
    ],
)
def test_a_command_that_only_prints_a_file_reads_it(command: str, path: str) -> None:
    assert shown_file(command) == path


@given(st.lists(st.tuples(st.text("ab \n(", max_size=40), st.text("ab \n(", max_size=40)), max_size=30))
def test_whatever_was_edited_rows_and_windows_are_bounded(pairs: list[tuple[str, str]]) -> None:
    rows, seen = list[list[str]](), SeenTexts()
    for turn, (old, new) in enumerate(pairs):
        rows = with_edit(rows, "a.py", old, new)
        seen.read("a.py", old * 9, turn=turn // 4, changed=False)
        seen.edited("a.py", old, new)
        seen.read("a.py", new * 9, turn=turn // 4, changed=True)
    assert len(rows) <= 6 and all(row[1] != row[2] for row in rows)
    assert all(len(line) < 500 for line in edits_text(rows, {"a.py": []}))
