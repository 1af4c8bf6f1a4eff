"""Tool inputs and responses as bounded text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.redact import Redactor
from context_graph.text.flattening import flatten_text, relative_paths, root_of

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


def test_a_mapping_gives_its_values_in_order_and_a_list_gives_lines() -> None:
    value = {"file_path": "a.py", "edits": [{"old": "x", "new": "y"}, {"old": "p"}], "count": 3}
    assert flatten_text(value, 100) == "a.py x y\np 3"


def test_what_says_nothing_about_the_work_is_left_out() -> None:
    value = {
        "type": "text",
        "mode": "content",
        "isImage": False,
        "interrupted": True,
        "stdout": "ok",
        "x": None,
    }
    assert flatten_text(value, 100) == "ok"


def test_an_edits_response_gives_the_change_and_neither_the_old_file_nor_its_input_again() -> None:
    response = {
        "filePath": "/p/a.py",
        "oldString": "old",
        "newString": "new",
        "originalFile": "the whole old file",
        "structuredPatch": [{"oldStart": 1, "lines": [" before", "-old", "+new"]}],
        "userModified": False,
    }
    assert flatten_text(response, 200) == "/p/a.py 1  before\n-old\n+new"


def test_a_long_old_text_does_not_push_out_the_new_one() -> None:
    value = {"file_path": "a.py", "old_string": "old " * 1000, "new_string": "new " * 1000}
    text = flatten_text(value, 2048)
    assert len(text) <= 2048
    assert abs(text.count("old") - text.count("new")) <= 1
    assert text.startswith("a.py old ")


def test_of_many_short_values_the_first_stay_whole() -> None:
    names = [f"harbor/tariff/module_{i:03}.py" for i in range(200)]
    lines = flatten_text({"filenames": names}, 2048).splitlines()
    assert lines == names[: len(lines)]
    assert len(lines) > 60


def test_short_values_stay_whole_beside_a_long_one() -> None:
    text = flatten_text({"stdout": "word " * 1000, "stderr": "boom at line 3"}, 300)
    assert text.endswith("boom at line 3")
    assert len(text) > 280


def test_a_cut_never_leaves_half_a_token() -> None:
    secret = "sk-ant-" + "A1b2" * 20
    text = flatten_text("x " * 40 + secret, 100)
    assert "sk-ant" not in text
    assert flatten_text(secret * 10, 100) == ""


def test_a_cut_never_leaves_half_a_character() -> None:
    for limit in range(1, 12):
        assert flatten_text("税率修正", limit) == "税率修正"[: limit // 3]


def test_a_key_that_may_tell_a_secret_stays_beside_its_value() -> None:
    """Redaction comes later, and knows a password by its name."""
    assert flatten_text({"user": "me", "password": "tr0ub4dor"}, 100) == 'me password: "tr0ub4dor"'
    assert flatten_text({"api_keys": ["a1", {"id": "b2"}]}, 100) == 'api_keys: "a1"\napi_keys: "b2"'
    assert flatten_text({"auth": {"value": "s3cret"}, "n": 2}, 100) == 'auth: "s3cret" 2'


def test_redaction_finds_a_secret_that_only_its_key_gives_away(tmp_path) -> None:
    """REQ-HOOKS-33."""
    redactor = Redactor()
    for value in (
        {"password": "tr0ub4dor horse"},
        {"env": {"SECRET_KEY": "django-insecure"}},
        {"auth_token": ["zz9"]},
    ):
        text = redactor.redact(flatten_text(value, 200))
        assert "redacted" in text
        assert not {"tr0ub4dor", "django", "zz9"} & set(re.findall(r"\w+", text))


def test_nothing_is_nested_too_deep_and_nothing_too_large() -> None:
    deep: object = "core"
    for _ in range(100_000):
        deep = [deep]
    assert flatten_text(deep, 100) == ""
    assert flatten_text([[["x" * 1000] * 1000] * 1000] * 1000, 50) == ""
    assert flatten_text(list(range(1_000_000)), 10) == "0\n1\n2\n3\n4"
    assert len(flatten_text({str(i): "x" for i in range(100_000)}, 4096)) == 1023


def test_lone_surrogates_become_question_marks() -> None:
    assert flatten_text("a\udc80b", 10) == "a?b"


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        flatten_text("x", 0)


@given(value=json_values, limit=st.integers(1, 300))
def test_any_json_fits_its_limit(value: object, limit: int) -> None:
    text = flatten_text(value, limit)
    assert len(text.encode()) <= limit
    assert flatten_text(value, limit) == text


@pytest.mark.parametrize(
    ("folder", "root"),
    [("/home/u/p", "/home/u/p/"), ("/home/u/p/", "/home/u/p/"), ("/", ""), ("", ""), ("/" + "x" * 512, "")],
)
def test_a_root_ends_with_one_slash(folder: str, root: str) -> None:
    assert root_of(folder) == root


def test_paths_below_the_root_become_relative_only_where_a_path_begins() -> None:
    text = '/app/src/a.py "/app/b.py"\n/app/c.py --x=/app/d src/app/main.py /application/e'
    assert relative_paths(text, "/app/") == 'src/a.py "b.py"\nc.py --x=d src/app/main.py /application/e'
    assert relative_paths(text, "") == text
