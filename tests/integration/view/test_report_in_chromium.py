"""The report in a real browser without a network: under its policy, sorted, searched, paged, printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser
from tests.support.view.chromium import Opened, browser, needs_chromium, opened
from tests.support.view.report_rows import memory, some_rows

from context_graph.view.report.gather import gather
from context_graph.view.report.page import render

pytestmark = [pytest.mark.thorough, needs_chromium]
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "{{7*7}}",
    "<svg onload=alert(3)><!--",
    "\u202egnp.exe \x1b[31mred",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = some_rows(60)
    source.live = [*(memory(at, text) for at, text in enumerate(HOSTILE)), *source.live[len(HOSTILE) :]]
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_bytes(render(gather(source)))
    return path


@pytest.fixture
def report(chromium: Browser, file: Path) -> Iterator[Opened]:
    """The report, opened. Whatever a test does with it, nothing is asked for and nothing goes wrong."""
    with opened(chromium, file) as found:
        yield found
    assert found.requests == [file.as_uri()], "something was asked for"
    assert found.said == [], "the browser complains"


def test_it_opens_with_its_parts_and_nothing_leaves(report: Opened) -> None:
    titles = report.page.locator("h2").all_text_contents()
    assert titles == [
        *("Health", "Effect", "Memories", "Ledger", "Sessions", "Consolidations", "Gates", "Map")
    ]
    assert report.page.locator("h1").text_content() == "gateway"
    assert report.page.locator("html").get_attribute("lang") == "en"
    assert report.page.locator("svg").count() >= 4
    assert report.page.get_by_text("the hook for Stop is not set up").is_visible()


def test_the_policy_is_in_force(chromium: Browser, file: Path) -> None:
    """A script, a style, a picture and a request that are not the report's own are refused by the browser."""
    attack = """() => {
        for (const [name, text] of [["script", "window.ran = 1"], ["style", "h1 { display: none }"]]) {
            const made = document.createElement(name);
            try {
                made.append(text);
                document.body.append(made);
            } catch (error) { console.error(error.message); }
        }
        const picture = document.createElement("img");
        picture.src = "https://example.invalid/x.png";
        document.body.append(picture);
        try { document.body.innerHTML = "<p>"; } catch (error) { console.error(error.message); }
        return fetch("https://example.invalid/").then(() => "sent", () => "refused");
    }"""
    with opened(chromium, file) as found:
        assert found.page.evaluate(attack) == "refused"
        assert found.page.evaluate("window.ran") is None
        assert found.page.locator("h1").is_visible()
        said = "\n".join(found.said)
        for rule in ("TrustedScript", "style-src", "default-src", "TrustedHTML"):
            assert rule in said, f"{rule} refused nothing: {said}"


def test_hostile_texts_are_shown_and_do_nothing(report: Opened) -> None:
    shown = report.cells("memories", 0)[: len(HOSTILE)]
    assert shown == [*HOSTILE[:4], "\\u202egnp.exe \\x1b[31mred"]
    report.search("memories", "script")  # now drawn by the script, not by the template
    assert report.cells("memories", 0) == [HOSTILE[0], HOSTILE[1]]
    assert report.page.locator("img, main script:not([type])").count() == 0


def test_a_click_on_a_heading_sorts_all_rows_and_says_so(report: Opened) -> None:
    table = report.page.locator('[data-name="memories"]')
    head = table.locator("th").nth(5)
    assert head.text_content() == "Importance"
    for order, first in (("descending", "0.99"), ("ascending", "0.00")):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
        values = [float(one) for one in report.cells("memories", 5)]
        assert len(values) == 25 and values == sorted(values, reverse=order == "descending")
        assert report.cells("memories", 5)[0] == first or order == "descending"
    assert table.locator("th[aria-sort]").count() == 1
    table.locator("th").nth(2).get_by_role("button").click()
    times = report.cells("memories", 2)
    assert times == sorted(times, reverse=True)
    table.locator("th").nth(0).get_by_role("button").click()
    assert table.locator("th").nth(0).get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize(("column", "table"), [(7, "memories"), (8, "sessions")])
def test_an_id_in_the_ledger_leads_to_its_row(report: Opened, column: int, table: str) -> None:
    lead = report.page.locator('[data-name="ledger"] tbody tr').nth(13).locator("td").nth(column)
    wanted = lead.text_content()
    lead.get_by_role("button").click()
    assert report.page.locator(f'[data-name="{table}"] input').input_value() == wanted
    rows = report.cells(table, {"memories": 1, "sessions": 6}[table])
    assert wanted in rows and len(rows) <= 2, "and the session that goes on with it"


def test_at_1280_pixels_no_table_is_cut_and_no_id_is_broken(report: Opened) -> None:
    report.page.set_viewport_size({"width": 1280, "height": 800})
    assert report.page.evaluate(_BROKEN_IDS) == []
    cut = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).length"
    assert report.page.evaluate(cut) == 0


_BROKEN_IDS: Final = """
[...document.querySelectorAll("td")].filter(cell => /^[0-9a-f]{8}$/.test(cell.textContent)).filter(cell => {
  const range = document.createRange();
  range.selectNodeContents(document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode());
  return range.getClientRects().length > 1;
}).map(cell => cell.textContent)
"""


def test_empty_cells_come_last_in_either_direction(report: Opened) -> None:
    head = report.page.locator('[data-name="ledger"] th').nth(4)
    for _ in range(2):
        head.get_by_role("button").click()
        assert "" not in report.cells("ledger", 4)


def test_search_filters_as_one_types(report: Opened) -> None:
    assert report.status("memories") == "1 to 25 of 63"
    report.search("memories", "GONE old.py")
    rows = report.cells("memories", 3)
    assert rows and all("gone: src/old.py" in one for one in rows)
    assert report.status("memories") == f"1 to {len(rows)} of {len(rows)}"
    report.search("memories", "there is no such word")
    assert report.status("memories") == "nothing found" and report.cells("memories", 0) == []
    report.search("memories", "")
    assert report.status("memories") == "1 to 25 of 63"


def test_pages_turn_and_what_was_sorted_stays_sorted(report: Opened) -> None:
    table = report.page.locator('[data-name="memories"]')
    back, following = table.get_by_text("Previous"), table.get_by_text("Next")
    assert back.is_disabled()
    table.locator("th").nth(6).get_by_role("button").click()
    first = report.cells("memories", 6)
    following.click()
    second = report.cells("memories", 6)
    assert report.status("memories") == "26 to 50 of 63"
    assert int(first[-1]) >= int(second[0])
    following.click()
    assert report.status("memories") == "51 to 63 of 63" and following.is_disabled()
    back.click()
    assert report.cells("memories", 6) == second


def test_the_keyboard_is_enough(report: Opened) -> None:
    keyboard, focused = report.page.keyboard, "document.activeElement.textContent"
    keyboard.press("Tab")
    assert report.page.evaluate(focused) == "Skip to the report"
    keyboard.press("Enter")
    assert report.page.evaluate("location.hash") == "#health"
    report.page.locator('[data-name="memories"] input').focus()
    keyboard.type("verified")
    assert "verified" in report.cells("memories", 3)[0]
    for _ in range(12):
        keyboard.press("Tab")
        if report.page.evaluate(focused) == "Stored":
            break
    keyboard.press("Space")
    assert report.page.locator('[data-name="memories"] th').nth(2).get_attribute("aria-sort") == "descending"
    summary = report.page.locator("#consolidations summary").nth(1)
    summary.focus()
    keyboard.press("Enter")
    assert report.page.locator("#consolidations details").nth(1).get_attribute("open") is not None


def test_script_and_template_show_a_cell_in_the_same_way(chromium: Browser, file: Path) -> None:
    """The first page is drawn twice: by the template, and by the script from its data."""
    read = """() => [...document.querySelectorAll(".rows")].map((box) =>
        [...box.querySelectorAll("tbody td")].map((one) => [one.textContent, one.className]))"""
    with opened(chromium, file, {"java_script_enabled": False}) as without:
        assert without.page.get_by_text("need JavaScript").first.is_visible()
        plain = without.page.evaluate(read)
    with opened(chromium, file) as found:
        assert found.page.evaluate(read) == plain
        assert found.page.get_by_text("need JavaScript").count() == 0
    assert sum(map(len, plain)) > 500


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_accessibility_is_broken(chromium: Browser, file: Path, scheme: str) -> None:
    """Names, headings, contrast and the like, by axe-core's rules, with everything folded out."""
    options = {"color_scheme": scheme, "bypass_csp": True}  # the checker brings a script of its own
    with opened(chromium, file, options) as found:
        found.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        result = Axe().run(found.page)
        assert result.violations_count == 0, result.generate_report()
        found.page.evaluate("document.querySelector('h1').style.color = 'rgba(128, 128, 128, 0.3)'")
        found.page.evaluate("document.querySelector('input').removeAttribute('aria-label')")
        found.page.evaluate("document.querySelector('label').replaceWith(document.querySelector('input'))")
        worse = {one["id"] for one in Axe().run(found.page).response["violations"]}
        assert {"color-contrast", "label"} <= worse, "the rules find what is wrong"


def test_it_prints_without_what_only_a_screen_needs(report: Opened, tmp_path: Path) -> None:
    report.page.emulate_media(media="print")
    assert not report.page.locator(".tools").first.is_visible()
    assert not report.page.locator("nav").is_visible()
    events = report.page.locator("#sessions details details").first
    assert events.get_attribute("open") is None
    pdf = report.page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF") and len(pdf) > 50_000
    assert events.get_attribute("open") is not None, "what is folded is printed too"
    colour = report.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(255, 255, 255)"


def test_a_telephone_reads_each_row_as_a_card_and_scrolls_only_down(chromium: Browser, file: Path) -> None:
    size = {"width": 390, "height": 844}
    with opened(chromium, file, {"screen": size}) as found:
        found.page.set_viewport_size(size)  # type: ignore[arg-type]
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 390
        out = """() => [...document.querySelectorAll(".rows td")].filter((one) =>
            one.getBoundingClientRect().right > 391 || one.scrollWidth > one.clientWidth + 1).length"""
        assert found.page.evaluate(out) == 0, "no cell runs out of the page"
        cell = found.page.locator('[data-name="ledger"] td').nth(1)
        named = "(one) => getComputedStyle(one, '::before').content"
        assert cell.evaluate(named) == '"Memory: "'


def test_marks_and_ids_outside_of_tables_lead_to_their_rows_too(report: Opened) -> None:
    for part, table in (("#map svg", "memories"), ("#sessions details p", "ledger")):
        mark = report.page.locator(f'{part} [data-table="{table}"]').first
        wanted = mark.get_attribute("data-id") or ""
        mark.dispatch_event("click")
        assert report.page.locator(f'[data-name="{table}"] input').input_value() == wanted
        assert report.status(table) != "nothing found"


def test_the_id_of_a_session_that_was_imported_leads_nowhere(chromium: Browser, tmp_path: Path) -> None:
    """Of it there are memories alone."""
    made = gather(some_rows(30))
    path = tmp_path / "report.html"
    path.write_bytes(render(msgspec.structs.replace(made, sessions=made.sessions[1:])))
    with opened(chromium, path) as found:
        ids = found.page.locator('[data-name="memories"] tbody td:last-child')
        leads = [ids.nth(at).get_by_role("button").count() for at in range(25)]
        assert leads == [0] * 20 + [1] * 5


def test_ten_thousand_memories_can_be_searched_and_sorted(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    path.write_bytes(render(gather(some_rows(10_000))))
    with opened(chromium, path) as found:
        assert found.status("memories") == "1 to 25 of 10,000"
        found.search("memories", "9999:")
        assert found.status("memories") == "1 to 1 of 1"
        found.search("memories", "")
        found.page.locator('[data-name="memories"] th').nth(2).get_by_role("button").click()
        assert found.cells("memories", 0)[0].startswith("9999:")
        assert found.said == [] and found.requests == [path.as_uri()]
