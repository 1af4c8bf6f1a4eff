"""What a user says that holds further is found, in his words, and what holds for one task is not."""

from __future__ import annotations

import pytest

from context_graph.notes.said import Statement, decisions, ending, ends, statements


def only(prompt: str) -> Statement:
    found = statements(prompt)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("Always write dates as ISO in the api.", "Always write dates as ISO in the api."),
        (
            "the totals look odd. weights are in grams here, not kilos. check the sum",
            "weights are in grams here, not kilos.",
        ),
        (
            "We use pnpm in this repo, please do not run npm again.",
            "We use pnpm in this repo, please do not run npm again.",
        ),
        ("Please never write to the shared bucket.", "Please never write to the shared bucket."),
        ("looks good. from now on no abbreviations in names", "from now on no abbreviations in names"),
        (
            "oh no. everything under snapshots/ is generated, we never edit that by hand. put it back",
            "everything under snapshots/ is generated, we never edit that by hand.",
        ),
        ("Bei uns immer Tabs in Makefiles. Dann bau bitte das Ziel.", "Bei uns immer Tabs in Makefiles."),
        (
            "Everything has to stay on the internal network.",
            "Everything has to stay on the internal network.",
        ),
        (
            "On second thought mocks are fine here, but only for the clock. redo the test",
            "On second thought mocks are fine here, but only for the clock.",
        ),
        (
            "Pensando melhor, pode usar threads, mas só nos envios.",
            "Pensando melhor, pode usar threads, mas só nos envios.",
        ),
        (
            "Ich hab es mir anders überlegt: Threads sind erlaubt, aber nur beim Hochladen. Mach weiter.",
            "Ich hab es mir anders überlegt: Threads sind erlaubt, aber nur beim Hochladen.",
        ),
        (
            "Finalement on utilise des threads, mais uniquement pour les envois. Relance.",
            "Finalement on utilise des threads, mais uniquement pour les envois.",
        ),
        (
            "Wir nehmen hier Mocks, aber nur für die Uhr. Mach weiter.",
            "Wir nehmen hier Mocks, aber nur für die Uhr.",
        ),
        ("chez nous on ne mocke jamais l'horloge. refais le test", "chez nous on ne mocke jamais l'horloge."),
        (
            "aquí siempre usamos tabuladores en los Makefile. sigue",
            "aquí siempre usamos tabuladores en los Makefile.",
        ),
        (
            "aqui a gente nunca usa float para dinheiro. continua",
            "aqui a gente nunca usa float para dinheiro.",
        ),
        ("у нас всегда табы в Makefile. теперь цель", "у нас всегда табы в Makefile."),
        ("我们这里一律用制表符缩进。接着写目标", "我们这里一律用制表符缩进。"),
        ("うちでは時計を必ず引数で渡します。次に進めて", "うちでは時計を必ず引数で渡します。"),
    ],
)
def test_what_holds_further_is_quoted_without_the_task_around_it(prompt: str, says: str) -> None:
    assert only(prompt).text == says


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "   \n\n ",
        "fix the typo in the header",
        "run the whole suite again please",
        "Reports show two totals for users in Berlin. Fix it.",
        "Mails arrive twice for customers in Oslo. Any idea why?",
        "Weeks start a day late for readers in Cairo. Find out why and fix it.",
        "Just this once, no review is needed.",
        "I changed my mind, make it wider.",
        "Pour une fois, pas besoin de relire la traduction.",
        "what does the retry wrapper do?",
        "should we always pin versions?",
        "use green for this one label",
        "skip the slow test for now",
        "thanks, that works",
        'the log says "connections must always be encrypted". which one is not?',
        "> Never use tabs.\n> Always use spaces.\nwhat do you think of that guide?",
        "```\n# never call this from a thread\n```\nwhy is that there",
        "what is this?\n\nWARNING: packages must never be mixed, always use one channel",
        "mach den Knopf etwas breiter",
        "pourquoi ce test est si lent ?",
        "salta esa prueba por ahora",
        "roda os testes de novo",
        "сделай кнопку шире",
        "这个按钮再宽一点",
        "このボタンを少し広くして",
    ],
)
def test_what_holds_for_one_task_is_none(prompt: str) -> None:
    assert statements(prompt) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "let's use Valkey instead of Redis for the sessions",
        "adopt Biome instead of Prettier",
        "migrate from Mocha to Vitest",
    ],
)
def test_a_choice_is_a_decision_with_what_was_given_up(prompt: str) -> None:
    one = only(prompt)
    assert one.kind == "decision"
    assert {one.chosen, one.instead_of} in ({"valkey", "redis"}, {"biome", "prettier"}, {"mocha", "vitest"})
    assert one.chosen in ("valkey", "biome", "vitest")


def test_a_statement_tells_what_it_wants_and_why() -> None:
    one = only("we use just here, not make, because the windows people have no make")
    assert (one.wants, one.chosen, one.instead_of) == ("do", "just", "make")
    assert one.reason == "because the windows people have no make"
    assert only("never use sudo on that box").wants == "dont"
    assert only("the dev server listens on 4100 here because 4000 is taken").wants == "fact"


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        ("user", "From now on, keep your answers short."),
        ("user", "Never put emojis in your answers."),
        ("project", "In this repo we always write tests for handlers."),
        ("user", "Each reply must be valid JSON, always."),
        ("project", "Explanations of errors always go below docs/errors/, in German."),
        ("project", "Always enable nullable types in every project of our solution."),
        ("user", "Les réponses du serveur sont toujours en anglais."),
        ("everywhere", "From now on, answer in Spanish."),
        ("everywhere", "In all my projects I use pnpm, never npm."),
        ("everywhere", "For everything I work on, use uv instead of pip."),
        ("everywhere", "Antworte mir immer auf Deutsch."),
        ("everywhere", "Dans tous mes projets, j'utilise toujours des tabulations."),
        ("everywhere", "En todos mis proyectos uso siempre pnpm."),
        ("everywhere", "所有项目都用中文回答我。"),
        ("everywhere", "すべてのプロジェクトで日本語で答えてください。"),
    ],
)
def test_a_rule_tells_whether_it_is_about_the_project_the_person_or_all_of_his_work(
    scope: str, said: str
) -> None:
    assert only(said).scope == scope


def test_it_tells_paths_file_types_commands_and_topics() -> None:
    about = only("Never edit anything under third_party/, it comes from upstream.").about
    assert about.paths == ("third_party/",)
    assert "py" in only("always use double quotes in python files").about.file_types
    assert "git stash" in only("never use git stash in this checkout").about.commands
    assert "git commit" in only("always run the formatter before you commit").about.commands
    assert "invoic" in only("invoices are always numbered without gaps here").about.topics


def test_a_rule_and_its_other_side_are_one_statement() -> None:
    one = only("Use tabs for indentation in this repo. Never use spaces.")
    assert one.text == "Use tabs for indentation in this repo. Never use spaces."


@pytest.mark.parametrize(
    "rule",
    [
        "Exit codes: 0 if ok, 2 if changed",
        "Access levels: 1 reads, 2 writes, 3 administers.",
        "Sandbox listens on port 7200, behind the VPN.",
    ],
)
def test_what_values_and_places_are_is_kept(rule: str) -> None:
    assert only(rule).text == rule


@pytest.mark.parametrize(
    "task",
    [
        "Round the VAT to two decimals in invoice.py",
        "Round the VAT to two decimals in invoice.py and add a test.",
        "Show only open orders in list.php and adjust the spec.",
        "Runde die Mehrwertsteuer in rechnung.py auf zwei Stellen und ergänze einen Test.",
    ],
)
def test_what_is_to_be_done_in_a_file_is_no_rule(task: str) -> None:
    assert [one for one in statements(task) if one.kind == "rule"] == []


@pytest.mark.parametrize(
    "correction",
    [
        "not like that: always use pnpm here.",
        "No, not this way: always go through the repository class.",
        "nein, nicht so: immer erst den Cache fragen",
    ],
)
def test_what_only_says_no_to_what_was_done_forbids_nothing(correction: str) -> None:
    assert only(correction).wants == "do"


def test_a_text_of_many_rules_gives_no_more_than_a_dozen() -> None:
    text = "".join(f"Never edit files under part{at}/ by hand. " for at in range(40))
    assert len(statements(text)) == 12


def test_any_text_is_read() -> None:
    for text in ("\ud800", "\x00", "。" * 5000, "a," * 5000, "「" * 500, "«  »", ":", "¿?", "`" * 999):
        assert statements(text) == []
        assert decisions(text) == []


def test_what_an_agent_chose_is_a_decision() -> None:
    found = decisions(
        "I used a heap instead of a sorted list because pushes are frequent. All tests pass. "
        "You could also use a tree instead of the heap if ranges matter."
    )
    assert [(one.chosen, one.instead_of, one.reason) for one in found] == [
        ("heap", "sorted", "because pushes are frequent")
    ] or [(one.chosen, one.instead_of) for one in found] == [("heap", "sorted list")]


def test_an_agents_report_is_no_decision() -> None:
    assert (
        decisions("I fixed the off-by-one in paginate(). Do you want me to use a cursor instead of offsets?")
        == []
    )


@pytest.mark.parametrize(
    "rule",
    [
        "We call it a basket, not a cart.",
        "We are on Scala 2.12.",
        "Suppliers are called vendors here.",
        "Volumes are in litres.",
        "The metrics box is only reachable from the bastion; if it refuses, tell me.",
        "I changed my mind: LF, as git does it.",
    ],
)
def test_a_plain_rule_needs_no_always(rule: str) -> None:
    assert only(rule).kind == "rule"


@pytest.mark.parametrize(
    "report",
    [
        "The job always restarts from zero.",
        "`split()` drops trailing separators",
        "Only the first attachment is sent.",
        "The watcher does not notice renamed files.",
        "Deleting an account leaves its files behind.",
        "TypeError in the formatter when the list is empty",
        "Undo only works once.",
    ],
)
def test_a_report_of_a_fault_is_no_rule(report: str) -> None:
    assert statements(report) == []


@pytest.mark.parametrize(
    ("old", "new", "is_over"),
    [
        ("The release manager is Anna", "Anna is not the release manager any more, it is Ben", True),
        ("We deploy with Jenkins", "We moved from Jenkins to GitHub Actions for deployments", True),
        ("Der Server heißt Alpha", "Der Server heißt jetzt Beta statt Alpha", True),
        ("登录令牌有效期是十五分钟", "登录令牌有效期改为三十分钟，不再是十五分钟", True),
        ("Le serveur s'appelle Alpha", "Le serveur s'appelle maintenant Beta au lieu de Alpha", True),
        ("El puerto de staging es 8443", "El puerto de staging ya no es 8443, ahora es 9443", True),
        ("Anna reviews all releases", "Anna is not the release manager any more, it is Ben", False),
        ("We use Redis for sessions", "We moved from Redis to Postgres for the job queue", False),
        ("Der Server heißt Alpha", "Der Drucker heißt jetzt Beta statt Alpha", False),
        ("Jenkins builds the docs", "We moved from Jenkins to GitHub Actions for deployments", False),
        ("The staging port is 8443", "The staging port of Bo is 9443", False),
    ],
)
def test_a_fact_ends_another_where_it_says_so_and_is_about_the_same(
    old: str, new: str, is_over: bool
) -> None:
    later = ending(new)
    assert (later is not None and ends(later, old)) == is_over


@pytest.mark.parametrize(
    "prompt",
    [
        "when I type the share command, do you carry it out yourself or leave it to me?",
        "Which id does the renderer put into message_id, the DB id or the uuid, and why?",
    ],
)
def test_a_question_is_no_rule(prompt: str) -> None:
    assert statements(prompt) == []


def test_an_order_may_be_put_as_a_question() -> None:
    asked = "Never commit to main without asking me, ok?"
    assert [one.kind for one in statements(asked)] == ["rule"]
    (rule,) = statements("We use pnpm, not npm. Why do you call npm again?")
    assert rule.text.startswith("We use pnpm")


@pytest.mark.parametrize(
    "prompt",
    [
        "Please support a footer in the exported sheets\n### Description\n\nIt would be nice if this "
        "worked:\n\n```py\nsheet.write(footer=True)\n```\nToday it raises. Version 2.3.",
        "the parser should keep the position of a nested error\ngiven this file:\n```\na: [\n```\n"
        "it tells line 0. with 1.2 it told line 1.\nmy setup: Linux",
        "Saving a form twice doesn't reset its token.\nDescription\n\nSaving any form without files not "
        "updates the token. It should be new after .save(). See forms.py. Line 280 should update it.",
        "Add a header\nDescription\n\nI propose to send it. It is in the standard. Most send it.\n"
        "Documentation: https://example.org/docs/policy/always-use-it",
    ],
)
def test_a_report_with_a_title_is_the_work_at_hand(prompt: str) -> None:
    assert statements(prompt) == []


def test_a_rule_with_the_code_that_it_is_about_is_no_report() -> None:
    code = "```py\nmock.patch('db')\n```"
    for prompt in (
        f"no, don't mock the database\n\n{code}\nUse the fixture.",
        f"Never mock the database\n{code}\nIt is slow otherwise. Change this one. Then run it.",
        "Use two spaces.\nNever tabs.\nThen format it.\nAnd commit.",
    ):
        assert statements(prompt), prompt


@pytest.mark.parametrize(
    "prompt",
    [
        "You'll want to research the formats of others online before you start planning.",
        "name the command /report:weekly",
        "Implement the following plan:\n\n1. Read the file\n2. Print it",
        "Stop hook feedback:\n[check.py]: Always tidy up",
    ],
)
def test_what_is_meant_for_the_work_at_hand_or_only_heads_a_list_is_no_rule(prompt: str) -> None:
    assert statements(prompt) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "Make the parser work for lists nested deeper than one level.",
        "archived projects are not marked in the sidebar although the database knows who closed them",
        "archivierte projekte sind in der seitenleiste nicht ausgegraut, obwohl die api das feld liefert",
    ],
)
def test_one_task_and_a_complaint_are_no_rules(prompt: str) -> None:
    assert statements(prompt) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "never use npm here, although the readme says so",
        "replace moment with date-fns",
    ],
)
def test_what_orders_or_chooses_holds_whatever_speaks_against_it(prompt: str) -> None:
    assert statements(prompt)
