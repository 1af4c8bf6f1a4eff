"""What a unified diff tells: files, what was there and is there now, and in which definitions."""

from __future__ import annotations

import pytest

from context_graph.text.diffs import patched_in

HEAD = "diff --git a/shop/rates.py b/shop/rates.py\n--- a/shop/rates.py\n+++ b/shop/rates.py\n"


NEW = "\ndef save():\n    pass"


@pytest.mark.parametrize(
    ("hunks", "rows"),
    [
        ("@@ -1,3 +1,3 @@ class Rates:\n     x\n-    a\n+    b\n     y\n", [["    a", "    b", "Rates"]]),
        # The heading is what stands above the first line; a line without indent is in none of it.
        ("@@ -9 +9,4 @@ def load(path):\n     x\n+\n+def save():\n+    pass\n", [["", NEW, "save"]]),
        ("@@ -9 +9 @@ class Rates:\n     def load(self):\n+        x\n", [["", "        x", "load"]]),
        ("@@ -1 +1 @@\n+d\n@@ -7 +8 @@ def free():\n-    e\n", [["", "d"], ["    e", "", "free"]]),
        ("@@ -1,9 +1,9 @@\n-whole\n+torn\n...\norn away\n+b\n@@ -30 +30 @@\n+c\n", [["", "c"]]),
    ],
)
def test_each_change_has_its_texts_and_what_it_is_in(hunks: str, rows: list[list[str]]) -> None:
    assert patched_in(HEAD + hunks) == [["shop/rates.py", *row] for row in rows]


def test_a_diff_of_any_length_gives_a_few_short_rows() -> None:
    rows = patched_in(HEAD + "@@ -1 +1 @@\n-a\n+b\n" * 500 + f"@@ -1 +1 @@\n+{'x' * 9000}\n")
    assert len(rows) == 24 and all(len(side) <= 300 for row in rows for side in row)
