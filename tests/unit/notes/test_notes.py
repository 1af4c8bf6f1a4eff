"""A session's notes: of which kinds they are, what they hold, what they leave out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.events import ROOT, bash, call, edit, prompt, read, stop, told, write

from context_graph.model import HookEvent
from context_graph.model.note import MAX_NOTE_CHARS, Note, NoteKind
from context_graph.notes.gather import Gathered
from context_graph.notes.make import notes_of
from context_graph.notes.rules import sentences_in, without_the_users_own


def gathered(*events: HookEvent) -> Gathered:
    made = Gathered()
    made.absorb(enumerate(events, 1))
    return made


def notes(*events: HookEvent, kind: NoteKind | None = None) -> list[Note]:
    return [one for one in notes_of(gathered(*events)) if kind in (None, one.kind)]


ORIGINAL = """class Basket:
    def total(self):
        return sum(self.prices)

    def clear(self):
        pass
"""
SESSION = (
    prompt("Totals are off by a cent in this basket, please fix. Never use floats for money."),
    read(f"{ROOT}/shop/basket.py", ORIGINAL),
    write(f"{ROOT}/repro.py", "from shop import Basket\nprint(Basket().total())"),
    bash("python repro.py", "10.009"),
    edit(
        f"{ROOT}/shop/basket.py",
        "        return sum(self.prices)",
        "        return sum(self.cents)",
        originalFile=ORIGINAL,
    ),
    write(f"{ROOT}/tests/test_basket.py", "def test_total_in_cents():\n    pass\n"),
    bash("pytest -q tests/test_basket.py", "1 passed"),
    bash('git commit -am "Count baskets in cents\n\nFloats lose one in every third discount."', ""),
    stop(
        "The cause was that `total()` added floats. I changed `Basket.total` to sum `cents`.\n\n"
        "The invoices are not migrated yet."
    ),
)


def test_a_change_says_what_for_where_why_and_how() -> None:
    (note,) = notes(*SESSION, kind=NoteKind.CHANGE)[:1]
    assert note.text.startswith("Totals are off by a cent")
    assert "Changed: shop/basket.py (Basket, total); tests/test_basket.py (test_total_in_cents)" in note.text
    assert "Cause: The cause was that `total()` added floats." in note.text
    assert "Fix: I changed `Basket.total` to sum `cents`." in note.text
    assert "Commit: Count baskets in cents" in note.text
    assert note.files == ("shop/basket.py", "tests/test_basket.py") and "total" in note.symbols


def test_where_nobody_said_how_the_short_edits_are_told_as_they_ended() -> None:
    """One that goes on from an earlier one is told with it; what was put back, or is long, is not told."""
    path, ask = f"{ROOT}/shop/basket.py", prompt("Totals are off by a cent in this basket, please fix.")
    changed = (
        edit(path, "    x = 1\n    return sum(x)", "    x = right\n    return sum(x)"),
        edit(path, "    x = right", "    x = right + left"),
        edit(path, "a = 1", "a = 2"),
        edit(path, "a = 2", "a = 1"),
        edit(path, "def f():", "def f():\n    guard()"),
        edit(path, "import os\nimport re", "import os"),
        edit(path, "b = 1", "b = " + "1 + " * 200),
        edit("/tmp/other.py", "c = 1", "c = 2"),
    )
    (note,) = notes(ask, *changed, kind=NoteKind.CHANGE)
    assert note.text.splitlines()[2:] == [
        "Edit: `x = 1` -> `x = right + left`",
        "Edit: added `guard()`",
    ]
    alone = notes(ask, edit(path, "import os\nimport re", "import os"), kind=NoteKind.CHANGE)
    assert alone[0].text.endswith("Edit: removed `import re`")
    (note,) = notes(ask, *changed, stop("The cause was that `x` lost the right side."), kind=NoteKind.CHANGE)
    assert "Cause: " in note.text and "Edit: " not in note.text


def test_scratch_is_no_change_whether_it_was_removed_or_left() -> None:
    assert not any("repro" in one.text for one in notes(*SESSION))
    made = notes(
        prompt("why is the export slow?"),
        write("/tmp/x/profile.py", "print(1)"),
        bash("cat > check_speed.py <<'E'\nprint(2)\nE\npython check_speed.py"),
        bash("mkdir -p reproduce_it && echo a > reproduce_it/conf.py && rm -rf reproduce_it"),
        edit(f"{ROOT}/export.py"),
    )
    (note,) = [one for one in made if one.kind is NoteKind.CHANGE]
    assert note.files == ("export.py",)


def test_a_turns_only_commit_is_told_with_its_change() -> None:
    (change,) = notes(*SESSION, kind=NoteKind.CHANGE)
    assert change.text.endswith("Commit: Count baskets in cents\nFloats lose one in every third discount.")


def test_an_edit_is_in_what_it_was_seen_to_be_in() -> None:
    path = f"{ROOT}/shop/basket.py"
    source = "# Baskets\ndef total(self):\n    return sum(self.prices)\n"
    seen = (prompt("Totals are off: mend total"), read(path, source))

    def changed(old: str, new: str) -> str:
        (note,) = notes(*seen, edit(path, old, new), kind=NoteKind.CHANGE)
        return note.text.split("\n")[1]

    assert changed("    return sum(self.prices)", "    return sum(self.cents)").endswith("basket.py (total)")
    for old, new in (
        ("    rows = load()", "    rows = load(all=True)"),
        ("    return sum(self.prices)", "    print(self.prices)\n    return sum(self.prices)"),
        ("    return sum(self.prices)", "    import decimal\n    return sum(self.prices)"),
    ):
        assert changed(old, new) == "Changed: shop/basket.py"


def test_files_stand_in_the_order_of_how_much_was_changed_in_them() -> None:
    long = "\n".join(f"row_{n} = {n}" for n in range(30))
    made = notes(
        prompt("Number the rows"),
        edit(f"{ROOT}/rows.py", "rows = []", long),
        *(edit(f"{ROOT}/part_{n}.py") for n in range(40)),
        kind=NoteKind.CHANGE,
    )
    assert made[0].text.split("\n")[1].startswith("Changed: rows.py; part_39.py; ")


def test_a_commit_has_the_files_that_were_changed_since_the_one_before() -> None:
    _, first, second, _ = notes(
        prompt("Number the rows"),
        edit(f"{ROOT}/rows.py"),
        edit(f"{ROOT}/page.py"),
        bash('git commit -am "Number rows"', ""),
        edit(f"{ROOT}/rows.py"),
        bash('git commit -am "Number them from one"', ""),
        bash('git commit --allow-empty -m "Build again" && git push', ""),
        bash('git commit --allow-empty -m "And again"', ""),
        kind=NoteKind.CHANGE,
    )
    assert first.text.endswith("Changed: rows.py; page.py") and second.text.endswith("Changed: rows.py")


def test_of_several_commits_each_names_what_was_touched_for_it() -> None:
    path = f"{ROOT}/shop/basket.py"
    _, first, second = notes(
        prompt("Count baskets in cents, and let them be emptied"),
        read(path, ORIGINAL),
        edit(
            path, "        return sum(self.prices)", "        return sum(self.cents)", originalFile=ORIGINAL
        ),
        bash('git commit -am "Count baskets in cents"', ""),
        edit(path, "    def clear(self):\n        pass", "    def clear(self):\n        self.cents = []"),
        bash('git commit -am "Let baskets be emptied\n\nTheir owners asked for it."', ""),
        kind=NoteKind.CHANGE,
    )
    assert first.text.endswith("Changed: shop/basket.py (Basket, total)")
    assert "Changed: shop/basket.py (clear)" in second.text and second.symbols == ("clear",)


def test_a_commit_that_has_no_room_there_or_is_one_of_several_is_a_change_of_its_own() -> None:
    body = "\n".join(f"Step {n} counts the cents of one basket after the other." for n in range(28))
    long = bash(f'git commit -am "Count baskets in cents\n\n{body}"', "")
    last = stop(
        " ".join(f"It was off because `total_{n}()` in `part_{n}.py` adds floats." for n in range(20))
    )
    turn, commit = notes(*SESSION[:-2], long, last, kind=NoteKind.CHANGE)
    assert turn.text.endswith("\nCommit: Count baskets in cents") and "Step 1 counts" in commit.text
    more = bash('git commit -m "Say so in the manual\n\nIt spoke of euros."', "")
    turn, *commits = notes(*SESSION, more, kind=NoteKind.CHANGE)
    assert [one.text.split("\n")[0] for one in commits] == [
        "Commit: Count baskets in cents",
        "Commit: Say so in the manual",
    ]


def test_what_a_turn_removed_of_the_project_is_part_of_its_change() -> None:
    made = notes(
        prompt("We build with cargo only, drop the old packaging."),
        write(f"{ROOT}/try.py", "print(1)"),
        bash("rm setup.cfg uv.lock"),
        bash("rm -r try.py /tmp/x demo.sqlite3 out"),
    )
    (change,) = [one for one in made if one.kind is NoteKind.CHANGE]
    assert change.text.endswith("\nRemoved: setup.cfg; uv.lock")


def test_what_a_session_made_to_try_something_is_not_removed_of_the_project() -> None:
    tried = (
        *(bash("mkdir -p demo && cd demo && sphinx-quickstart -q"), write(f"{ROOT}/demo/conf.py", "a = 1")),
        *(read(f"{ROOT}/demo/conf.py", "a = 1"), bash("rm -rf demo demo.log")),
        *(bash("sphinx-build -q . out"), bash("rm -r out"), bash("rm -rf html && sphinx-build . html")),
    )
    (change,) = notes(prompt("The index of demo.log is empty."), *SESSION[1:5], *tried, kind=NoteKind.CHANGE)
    assert "Removed" not in change.text and "shop/basket.py" in change.text


def test_the_title_of_a_long_prompt_is_a_line_of_its_own() -> None:
    """A later prompt of the like says itself what is wrong: it is told the title and the files."""
    asked = prompt("Totals are off by a cent\n\n### Description\nBaskets of three show 9.99, not 10.00.")
    (change,) = notes(asked, *SESSION[1:5], kind=NoteKind.CHANGE)
    title, details, changed, _ = change.text.split("\n")
    assert title == "Totals are off by a cent" and changed == "Changed: shop/basket.py (Basket, total)"
    assert details.startswith("Details: ") and "Baskets of three" in details
    (change,) = notes(
        prompt("Two things:\nround the totals, name the unit"), *SESSION[1:5], kind=NoteKind.CHANGE
    )
    assert change.text.startswith("Two things: round the totals, name the unit\n")


def test_what_was_said_between_calls_and_in_weaker_last_words_is_found_on_the_way() -> None:
    cause = "`total()` is off because `prices` holds floats since `load_prices`."
    last = stop("I changed `Basket.total` in `shop/basket.py` to sum `cents`, because floats lose one.")
    last.parts.remarks = [cause]
    again = stop("The `.gitignore` was committed by the hook.")
    made = notes(prompt("Totals are off by a cent"), edit(f"{ROOT}/shop/basket.py"), last, again)
    (found,) = [one for one in made if one.kind is NoteKind.FINDING]
    assert found.text == f"Found on the way:\n- {cause}\n- The `.gitignore` was committed by the hook."
    assert found.said_by == "assistant"


def test_what_was_not_possible_or_ran_just_then_is_no_finding_once_the_session_went_on() -> None:
    fact = "`Basket.total` is read by `shop/invoice.py` too."
    first = stop(
        "I changed `Basket.total` in `shop/basket.py` to sum `cents`, because floats lose one in `prices`."
    )
    weaker = stop(f"{fact} I can't fully test `shop/basket.py` from here.")
    asked = (prompt("Totals are off by a cent"), edit(f"{ROOT}/shop/basket.py"), first, weaker)
    assert "can't fully test" in notes(*asked, kind=NoteKind.FINDING)[0].text
    later = notes(*asked, prompt("I tried it, it works"), stop("Good."), kind=NoteKind.FINDING)
    assert [one.text for one in later] == [f"Found on the way:\n- {fact}"]


def test_the_user_s_words_are_rules_and_choices() -> None:
    asked = {"questions": [{"question": "Which currency?", "options": []}]}
    answer = {"answers": {"Which currency?": "Euro only"}}
    made = notes(*SESSION, call("AskUserQuestion", asked, answer))
    assert [one.text for one in made if one.kind is NoteKind.RULE] == ["Never use floats for money."]
    (chosen,) = [one for one in made if one.kind is NoteKind.DECISION and one.said_by == "user"]
    assert chosen.text == "Asked: Which currency?\nThe user chose: Euro only"


def test_what_is_left_is_open_until_a_later_word() -> None:
    (note,) = notes(*SESSION, kind=NoteKind.OPEN)
    assert note.text == "- The invoices are not migrated yet."
    done = (
        prompt("migrate the invoices too"),
        edit(f"{ROOT}/shop/invoice.py"),
        stop("Moved `Invoice` to cents."),
    )
    assert notes(*SESSION, *done, kind=NoteKind.OPEN) == []


def test_a_prompt_that_nothing_came_of_is_open() -> None:
    (note,) = notes(prompt("apply for the hosting grant"), bash("ls forms", "a.pdf"), kind=NoteKind.OPEN)
    assert note.text == "- Asked for and not finished: apply for the hosting grant"


def test_an_answer_without_a_change_is_a_finding() -> None:
    made = notes(
        prompt("Where do we set the session timeout?"),
        bash("grep -rn timeout conf", "conf/web.ini:12"),
        stop("It is `idle_timeout` in `conf/web.ini`, in minutes; `Session.touch` reads it."),
    )
    (note,) = [one for one in made if one.kind is NoteKind.FINDING]
    assert note.text.startswith("Asked: Where do we set the session timeout?\nIt is `idle_timeout`")


def test_the_sentence_that_has_the_question_s_words_answers_it() -> None:
    more = "\n".join(f"- Quay {n}: {n} boats on day {n}, built long before anybody dug it" for n in range(40))
    answer = f"{more}\n\nOf all of them **the old pier** has the deepest water."
    (note,) = notes(prompt("Which pier has the deepest water?"), stop(answer), kind=NoteKind.FINDING)
    assert "the old pier has the deepest water" in note.text


def test_a_question_about_the_work_under_way_is_none() -> None:
    answer = stop("They write `a.md` and `b.md`; `c.md` of `docs/` is done, 12 of 40 pages.")
    assert notes(prompt("are they still being written?"), answer, kind=NoteKind.FINDING) == []


def test_a_subagent_s_and_a_page_s_words_stay_theirs() -> None:
    text = (
        "The queue keeps messages for 4 days by default; `MessageRetentionPeriod` takes up to 14 days. " * 4
    )
    agent = call(
        "Agent",
        {"description": "Read about the queue", "prompt": "p", "subagent_type": "x"},
        {"content": text},
    )
    page = call(
        "WebFetch",
        {"url": "https://q.example/d", "prompt": "How long are messages kept?"},
        {"result": text.replace("keeps messages for 4 days by default", "drops what nobody fetched in time")},
    )
    found = notes(prompt("how long does the queue keep messages?"), agent, page, kind=NoteKind.FINDING)
    assert [one.said_by for one in found] == ["subagent", "web"]
    assert "A subagent answered:" in found[0].text and "web page https://q.example/d" in found[1].text


def test_a_report_s_answer_is_not_the_last_word() -> None:
    report = prompt("<task-notification>\n<task-id>b1</task-id>\n</task-notification>")
    (note, *_) = notes(
        *SESSION, report, stop("That was an old task, `b1`; nothing to do."), kind=NoteKind.CHANGE
    )
    assert "added floats" in note.text and "old task" not in note.text


def test_the_whole_summary_of_a_compaction_counts() -> None:
    summary = (
        "Summary:\n4. Errors and fixes:\n   - **Deadlock in `Pool.close`**: released the lock first\n"
        "7. Pending Tasks:\n   - Port the tests\n"
        + "3. Files and Code Sections:\n   - `pool.py` — "
        + "x" * 3000
    )
    made = notes(*SESSION, told("PostCompact", compact_summary=summary))
    assert any(
        "Deadlock in `Pool.close`: released the lock" in one.text
        for one in made
        if one.kind is NoteKind.LESSON
    )
    (left,) = [one for one in made if one.kind is NoteKind.OPEN]
    assert "Port the tests" in left.text
    later = notes(
        *SESSION, told("PostCompact", compact_summary=summary), stop("Ported the tests to `pool.py`.")
    )
    assert not any("Port the tests" in one.text for one in later if one.kind is NoteKind.OPEN)


def test_a_summary_s_word_on_how_a_file_is_ends_when_the_file_is_changed() -> None:
    summary = (
        "Summary:\n3. Files and Code Sections:\n   - `pool.py` (new, 3 tests failing) — one lock for all"
    )
    compacted = (*SESSION, told("PostCompact", compact_summary=summary))
    assert any("3 tests failing" in one.text for one in notes(*compacted, edit(f"{ROOT}/other.py")))
    later = notes(*compacted, edit(f"{ROOT}/pool.py"))
    assert any("`pool.py` (new) — one lock for all" in one.text for one in later)


def test_ways_are_what_worked_without_snippets_and_scratch() -> None:
    (note,) = notes(
        *SESSION,
        bash("python -c 'print(1)'", "1"),
        bash("tk update 12 --state doing"),
        bash("tk update 13 --state doing"),
        kind=NoteKind.WAY,
    )
    assert "Tests: pytest -q tests/test_basket.py" in note.text and "tk update" in note.text
    assert "print" not in note.text and "repro" not in note.text


def test_the_same_events_make_the_same_notes_one_by_one_and_as_json_in_between() -> None:
    kept = Gathered()
    for numbered in enumerate(SESSION, 1):
        kept = Gathered.from_json(json.loads(json.dumps(kept.to_json())))
        assert kept.absorb([numbered]) == 1
    assert notes_of(kept) == notes_of(gathered(*SESSION))
    assert kept.absorb(enumerate(SESSION, 1)) == 0
    assert Gathered.from_json({"version": 0}) == Gathered() == Gathered.from_json({"version": 1, "turns": 3})


@given(
    st.lists(st.tuples(st.sampled_from(["p", "b", "f", "e", "s", "c"]), st.text(max_size=300)), max_size=40)
)
def test_whatever_the_events_hold_notes_are_bounded(events: list[tuple[str, str]]) -> None:
    makers = {
        "p": prompt,
        "b": bash,
        "f": lambda text: bash(text, text, failed=True),
        "e": lambda text: edit(text or "a", text, text),
        "s": stop,
        "c": lambda text: told("PostCompact", compact_summary=text),
    }
    made = gathered(*(makers[name](text) for name, text in events))
    assert all(0 < len(one.text) <= MAX_NOTE_CHARS for one in notes_of(made))
    assert len(json.dumps(made.to_json())) < 200_000


@pytest.mark.parametrize(
    "said",
    [
        "In all my projects, always use   tabs.",
        "In all my projects, always use \u00a0tabs, never spaces.",
        "« Toujours » : dans tous mes projets, réponds en français.",
    ],
)
def test_what_holds_everywhere_leaves_the_session_whatever_its_blanks(said: str) -> None:
    prompt = f"{said} Fix the search of orders."
    rest = without_the_users_own(prompt, sentences_in(prompt))
    assert rest.endswith("Fix the search of orders.") and "tabs" not in rest.lower()
    assert "français" not in rest and len(rest) < len(prompt) - len(said) / 2


TICKET = """Export of orders

DESCRIPTION Add an export of orders. Currently the export does not write any header line.
- Add `export/2` to the service module with all fields of an order.
- Keep the format of dates as it is; do not change the parser of them.
- Implementing the retry in the client instead of the service.
- Do not touch the import of orders in this task.
- NOTES Review agreed: one file a day instead of one for each order.
- API errors must not stop the export of the other orders.
"""


def test_of_a_ticket_what_it_rules_in_or_out_is_kept() -> None:
    (note,) = notes(prompt("Work on tk-4"), bash("tk show tk-4", TICKET), kind=NoteKind.FINDING)
    assert note.text.splitlines() == [
        "`tk show tk-4` asks for:",
        "- Keep the format of dates as it is; do not change the parser of them.",
        "- NOTES Review agreed: one file a day instead of one for each order.",
        "- API errors must not stop the export of the other orders.",
    ]


def test_what_a_subagent_said_of_what_was_changed_later_is_old() -> None:
    text = (
        "- The basket keeps prices as floats, see `Basket.total` in shop/basket.py.\n"
        "- All numbers are rounded to two digits where they are shown to somebody.\n"
        "- The invoices in shop/invoice.py have their own rounding to whole cents.\n"
    )
    agent = call(
        "Agent", {"description": "Explore the shop", "prompt": "p", "subagent_type": "x"}, {"content": text}
    )
    ask = prompt("Totals are off by a cent in this basket, please fix.")
    (whole,) = notes(ask, agent, edit(f"{ROOT}/shop/other.py", "x = 1", "x = 2"), kind=NoteKind.FINDING)
    assert whole.text.count("\n- ") == 3
    (later,) = notes(ask, agent, edit(f"{ROOT}/shop/basket.py", "a = 1", "a = 2"), kind=NoteKind.FINDING)
    assert "invoice.py" in later.text and "floats" not in later.text and "rounded" not in later.text
    assert not notes(ask, agent, bash("rm -r shop/basket.py shop/invoice.py"), kind=NoteKind.FINDING)


def test_what_the_user_pointed_to_is_kept_in_his_words() -> None:
    pointer = "There is another plugin that does this already, see /srv/git/other/plugin/backup.py"
    (note,) = notes(prompt("Write a plugin that publishes"), prompt(pointer), kind=NoteKind.FINDING)
    assert note.text == f"The user pointed to this: {pointer}" and note.said_by == "user"
    assert not notes(prompt(pointer), kind=NoteKind.FINDING), "the first prompt is the task"
    assert not notes(prompt("a"), prompt(f"See {ROOT}/src/deep/plugin.py"), kind=NoteKind.FINDING)
    assert not notes(prompt("a"), prompt(f"{pointer}. Does it help?"), kind=NoteKind.FINDING)


def test_each_thing_is_told_once() -> None:
    report = stop("I changed the rounding: `total` now adds whole cents before it rounds to the next.")
    again = stop("The rounding of `total` now adds whole cents before it rounds to the next.")
    made = notes(*SESSION[:5], report, again, kind=NoteKind.FINDING)
    assert not any("whole cents" in note.text for note in made)


def test_a_prompt_without_words_is_no_title_of_a_commit() -> None:
    changed = edit(f"{ROOT}/shop/basket.py", "a = 1", "a = 2")
    (note,) = notes(prompt("commit!"), changed, bash("git commit -am 'Count in cents'"), kind=NoteKind.CHANGE)
    assert note.text.splitlines()[0] == "Commit: Count in cents"
