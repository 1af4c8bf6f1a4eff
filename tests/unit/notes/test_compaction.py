"""What is read out of the client's summary of a compaction."""

from __future__ import annotations

import pytest

from context_graph.notes.compaction import bullets_of, still_true

SUMMARY = """This session is being continued from a previous conversation that ran out of context.

Analysis:
1. The user asked for a rate limiter.
2. I read limiter.py.

Summary:
1. Primary Request and Intent:
   The user wants each tenant limited to 50 requests a second.

2. Key Technical Concepts:
   - Token bucket in Redis, one key a tenant
   - Lua script, so that refill and take are one step

3. Files and Code Sections:
   - **`limits/bucket.py`** — new module
     - `take(tenant)` returns the seconds to wait
     ```python
     def take(tenant): ...
     ```
   - `limits/settings.py` — the default of 50

4. Errors and fixes:
   - **NOSCRIPT after a restart of Redis**: loaded the script again and retried once
   - **Clock skew between workers**: took Redis's own TIME

5. Problem Solving:
   None so far.

6. All user messages:
   - "limit the tenants"

7. Pending Tasks:
   - Document the header Retry-After

8. Current Work:
   - Was editing `limits/bucket.py` line 40

9. Optional Next Step:
   - Run the tests

If you need specific details from before compaction, read the full transcript at: /x.jsonl
"""


def test_it_is_read_bullet_by_bullet_without_what_is_old_by_then() -> None:
    found = bullets_of(SUMMARY)
    assert [(one.section, one.text) for one in found] == [
        ("goal", "The user wants each tenant limited to 50 requests a second."),
        ("concepts", "Token bucket in Redis, one key a tenant"),
        ("concepts", "Lua script, so that refill and take are one step"),
        ("files", "`limits/bucket.py` — new module"),
        ("files", "`limits/settings.py` — the default of 50"),
        ("errors", "NOSCRIPT after a restart of Redis: loaded the script again and retried once"),
        ("errors", "Clock skew between workers: took Redis's own TIME"),
        ("said", '"limit the tenants"'),
        ("left", "Document the header Retry-After"),
    ]
    assert found[3].below == ("`take(tenant)` returns the seconds to wait",)


@pytest.mark.parametrize(
    "text",
    [
        "CURRENT: the guard calls Access.get (line 171)",
        "Currently mending the lexer before the parser",
        "Next: rename the table",
        "The parser (in progress): only half of the rules",
        "Derzeit wird der Parser repariert",
        "En cours : la table des prix",
        "正在修复解析器的错误",
    ],
)
def test_what_is_under_way_is_no_lesson_but_left(text: str) -> None:
    (one,) = bullets_of(f"4. Errors and fixes:\n   - {text}\n")
    assert (one.section, one.text) == ("left", text)


@pytest.mark.parametrize(
    "text", ["Current was cut off at 5 lines: raised the limit", "The next link was wrong: took the header's"]
)
def test_what_only_sounds_like_it_stays_a_lesson(text: str) -> None:
    assert bullets_of(f"4. Errors and fixes:\n   - {text}\n")[0].section == "errors"


HALF_WAY = """3. Files and Code Sections:
   - `shop/cart.py` (NEW, currently has a syntax error)
     - `total(lines)` sums the lines of a cart
     - Still needs: the discount of `Voucher`
     - Type error at line 40: `int` where `Cents` is wanted
     - Fixed the type error in `take`
   - `web/cart.js` - Read but NOT yet modified. Draws the cart in `renderCart`.
   - `web/cart.css` - not yet touched
   - `web/cart.html` (partially migrated)
     - Lint error at line 9 — `v-if` must not stand beside `v-for`
   - `shop/tax.py` (6 tests failing)

4. Errors and fixes:
   - **Rounding**: took `Decimal`
   - **Deadlock in `Pool.close`**: found where it waits
     - The fix is not yet written
"""


def test_what_is_half_done_is_no_fact_wherever_it_stands() -> None:
    found = [(one.section, one.text, one.below) for one in bullets_of(HALF_WAY)]
    cart = ("`total(lines)` sums the lines of a cart", "Type error at line 40: `int` where `Cents` is wanted")
    assert found == [
        ("files", "`shop/cart.py` (NEW)", (*cart, "Fixed the type error in `take`")),
        ("files", "`web/cart.js` - Draws the cart in `renderCart`.", ()),
        ("files", "`web/cart.html`", ("Lint error at line 9 — `v-if` must not stand beside `v-for`",)),
        ("files", "`shop/tax.py` (6 tests failing)", ()),
        ("errors", "Rounding: took `Decimal`", ()),
        ("left", "Deadlock in `Pool.close`: found where it waits", ("The fix is not yet written",)),
    ]


def test_of_a_file_that_was_changed_afterwards_no_error_is_told() -> None:
    found = still_true(bullets_of(HALF_WAY), ["shop/cart.py", "web/cart.html"])
    assert found[0].below == ("`total(lines)` sums the lines of a cart", "Fixed the type error in `take`")
    assert found[2].below == ("`v-if` must not stand beside `v-for`",), "why it was so is still true"
    assert found[3].text == "`shop/tax.py` (6 tests failing)"


def test_headings_may_be_markdown() -> None:
    text = "<summary>\n## 4. Errors and fixes\n\n- The port was taken: moved to 5180\n</summary>"
    assert next((one.section, one.text) for one in bullets_of(text)) == (
        "errors",
        "The port was taken: moved to 5180",
    )


def test_what_is_no_such_summary_has_no_bullets() -> None:
    assert bullets_of("We talked about the weather.\n\n- It rained\n- It stopped") == []
