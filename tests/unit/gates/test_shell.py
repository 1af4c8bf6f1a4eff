"""The shell reader: what a command line holds and what it runs, and that reading never takes long."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_graph.gates.shell.command import could_be
from context_graph.gates.shell.reading import LIMIT
from context_graph.gates.shell.runs import runs
from context_graph.gates.shell.shell import read

PLAIN = [
    "a b  c",
    "a 'b c' \"d e\" f\\ g",
    "a ''b\"\"c\\d 'e'\\''f'",
    "a $'x\\x2ey\\n\\'z' \"\\$x \\\" \\a\"",
    "a {b,c}d e{,f} {g} {} {h,{i,j}}k",
    "x=1; a $x \"$x\" ${x}y '$x' \\$x",
    "x='p q'; a $x \"$x\"",
    "a \\\n b # c\na d",
    "a b; a c && a d || a e | cat",
    "(a b; a c); { a d; }",
    "if true; then a b; else a c; fi; for i in 1; do a $i; done",
    'a $(echo b c) "$(echo d e)" `echo f`',
    "a ${none:-b} ${none-c d}",
    "a b >/dev/null 2>&1 <<< x",
    "a <<'E' b\nbody $x\nE\na c",
    "bash -c 'a b' ; sh -c \"a 'c d'\"; eval \"a e\"; env X=1 a f; command a g",
    "echo 'a b' | sh; bash <<< 'a c'; bash <<'E'\na d\nE",
    "echo b | xargs a c",
]


@pytest.mark.parametrize("text", PLAIN)
def test_words_are_those_that_a_real_shell_gives_its_programs(text: str, tmp_path: Path) -> None:
    """`a` prints its words; both its calls and their words must be the same, in their order."""
    keep = f"open({str(tmp_path)!r} + '/log', 'a').write(repr(sys.argv[1:]) + '\\n')"
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "a").write_text(f"#!{sys.executable}\nimport sys\n{keep}\n")
    (folder / "a").chmod(0o755)
    env = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": "/h"}
    subprocess.run(["bash", "-c", text], env=env, check=True, capture_output=True, timeout=30)
    real = (folder.parent / "log").read_text().splitlines()
    found = [one.words[1:] for one in runs(text).commands if one.program == "a" and not one.wraps]
    expected = [repr(words) for words in found]
    if "else" in text or "||" in text:  # a reader takes every branch
        assert set(real) <= set(expected)
    elif "xargs" in text:
        assert expected == ["['c']"] and real == ["['c', 'b']"]
    else:
        assert expected == real


HOSTILE = [
    *("(", "$(", "`", '"$(', "{a,", "{a,b}", "a=$a$a;", "x", "$a ", "<<a ", "\\\n", "[a", "${a", "<(", "'"),
    *("eval ", "sudo ", "xargs ", "\\`", "a=x;", '"${a:-"', "f(){ f;};", "{a,b} ", "<a ", "a\n", "$'\\x"),
    *("set -- a;$1;", ";", "a|", "env A=1 ", "bash -c '", "find -exec a ; ", "* ", "~/", "a <<E\nE\n", "}"),
    *(
        "((",
        "$((",
        "$[",
        "((a) ",
        "a[",
        "a[1]=x;",
        "case a in ",
        "$(case a in ",
        "function f {",
        "coproc X {",
    ),
    *("a <<E\n", "$[1]", '((a="', "for a in b c;do git $a;", "bash -euo x -c '", "git git ", "x git -C git "),
    *("cd a;", "cd ..;", "for a in b c;do cd $a;", "export GIT_DIR=a;", "env -C a ", "sudo -iu a ", "; )"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_work_grows_with_the_length_alone(piece: str) -> None:
    """Ten times the text makes no hundred times the calls, whatever it is made of."""

    def calls(length: int) -> int:
        text, made = piece * (length // len(piece)), Counter[str]()
        sys.setprofile(lambda _frame, what, _given: made.update((what,)))
        try:
            runs(text)
        finally:
            sys.setprofile(None)
        return made.total()

    assert calls(LIMIT // 8) < 40 * calls(LIMIT // 100)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab '\"\\$`(){}[]<>|&;\n*?~=#,!/.-\0\1", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for command in runs(text, {"HOME": "/h"}).commands:
        assert all(isinstance(word, str) for word in command.words)


def test_what_is_too_long_or_open_is_said_to_be_broken() -> None:
    assert read("a " * LIMIT).broken and read("a 'b").broken and read("a $(b").broken
    assert read("a <<E\nb").broken and read("a <<E").broken and read("a )").broken
    assert read("$[a").broken and read("((git commit))").broken
    assert not read("a 'b' $(c) $((1 << 2)); case a in b) c;; esac; a <<E\nE").broken


@pytest.mark.parametrize(
    ("word", "path", "same"),
    [
        ("a\1", "abc", True),
        ("a\1", "a/b", False),
        ("a\0c", "a/b/c", True),
        ("\1", ".claude", False),
        (".\1", ".claude", True),
        ("x/\1/y", "x/.c/y", False),
        ("\2claude", ".claude", False),
        (".cl\2ude", ".claude", True),
        ("\0", "", True),
        ("a", "ab", False),
    ],
)
def test_marks_stand_for_what_a_shell_would_fill_in(word: str, path: str, same: bool) -> None:
    assert could_be(word, path) is same
