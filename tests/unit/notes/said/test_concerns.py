"""A statement concerns the prompts, files and commands that it is about."""

from __future__ import annotations

from context_graph.notes.said import Statement, concerns
from context_graph.notes.said.concerns import FLOOR
from context_graph.notes.said.content import read_content
from context_graph.notes.said.language import language_of


def said(text: str) -> Statement:
    return read_content("rule", text, language_of(text), 0.0)


def test_a_rule_about_a_folder_concerns_what_lies_in_it() -> None:
    rule = said("never edit anything under third_party/")
    assert concerns(rule, path="third_party/zlib/inflate.c") == 1.0
    assert concerns(rule, command="rm -r third_party/zlib") >= FLOOR
    assert concerns(rule, path="src/inflate.c") < FLOOR


def test_a_rule_about_a_kind_of_file_concerns_no_other() -> None:
    rule = said("always use single quotes in the typescript files")
    assert concerns(rule, path="web/cart.tsx") >= FLOOR
    assert concerns(rule, path="api/cart.py") < FLOOR


def test_what_is_used_in_one_language_alone_is_about_its_files() -> None:
    rule = said("constructor injection only, @Autowired on fields makes sonar fail")
    assert concerns(rule, path="src/main/java/shop/ReminderService.java") >= FLOOR
    assert concerns(rule, path="web/reminder.ts") < FLOOR
    assert concerns(said("no unwrap outside of tests"), path="crates/agent/src/config.rs") >= FLOOR
    assert concerns(said("we target SwiftUI only, no UIKit"), path="App/DetailView.swift") >= FLOOR


def test_a_rule_about_a_command_concerns_that_and_no_other_of_its_program() -> None:
    rule = said("never use git stash in this checkout")
    assert concerns(rule, command="git stash pop") == 1.0
    assert concerns(rule, command="git commit -m x") < FLOOR
    assert concerns(said("we use pnpm here, not npm"), command="npm install left-pad") == 1.0
    assert concerns(said("run make lint before you commit"), command="git commit -m x") == 1.0


def test_a_rule_concerns_a_prompt_of_its_topic_in_any_language() -> None:
    rule = said("amounts are in cents")
    assert concerns(rule, prompt="show the price with tax in the cart") >= FLOOR
    assert concerns(rule, prompt="zeig im Warenkorb den Einzelpreis an") >= FLOOR
    assert concerns(rule, prompt="restart the worker") < FLOOR


def test_a_compound_is_found_by_its_piece() -> None:
    assert concerns(said("Diagramme haben immer große Schrift"), prompt="bau ein Balkendiagramm") >= FLOOR


def test_signs_are_compared_in_pairs() -> None:
    assert concerns(said("日志里不能有邮箱"), prompt="登录失败时打一条日志") >= FLOOR
    assert concerns(said("日志里不能有邮箱"), prompt="把按钮改成蓝色") < FLOOR
