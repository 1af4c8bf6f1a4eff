"""The reader of plain shell lines: what a line surely runs, and that reading never takes long."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.text.shell_lines import LIMIT, UNKNOWN, read_line

PLAIN = [
    "a b  c",
    "a 'b c' \"d e\" f\\ g",
    "a ''b\"\"c\\d 'e'\\''f'",
    'a "\\$x \\" \\a \\\\"',
    "a $HOME \"$HOME\" ${HOME}y '$HOME' \\$HOME",
    "a \\\n b # c\na d#e",
    "a b; a c && a d | cat",
    "(a b; a c); { a d; }; ! a e",
    "if true; then a b; fi; for i in 1; do a c; done; while a d; do break; done",
    "a b >/dev/null 2>&1 <<< x; a c &>/dev/null; a d 2>/dev/null >> /dev/null",
    "a ';' '&&' '(' b \\; c",
    "a <<E b\nbody ' \" (\nE\na c",
    "a <<-E\n\tbody\n\tE\na c; a <<'E E' x\nit's\nE E\na d",
    "a b <<X <<Y\n1\nX\n2\nY\na c",
    "bash -c 'a b' ; sh -c \"a 'c d'\"; eval \"a e\" f; env X=1 a f; command a g; bash -ec 'a h'",
    "nice -n 5 a b; timeout 9 env -u X Y=1 a c; nohup a d; exec a e",
    "X=1 a b; export X=2; a c",
    "case x in x) a b;; esac",
]


def _seen_by_bash(text: str, base: Path) -> list[str]:
    """What `a` prints: the words of each of its calls."""
    folder = base / "bin"
    folder.mkdir()
    keep = f"open({str(base)!r} + '/log', 'a').write(repr(sys.argv[1:]) + '\\n')"
    (folder / "a").write_text(f"#!{sys.executable}\nimport sys\n{keep}\nsys.exit('d' in sys.argv)\n")
    (folder / "a").chmod(0o755)
    env = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": "/h"}
    subprocess.run(["bash", "-c", text], env=env, check=False, capture_output=True, timeout=30)
    return (base / "log").read_text().splitlines()


@pytest.mark.parametrize("text", PLAIN)
def test_words_are_those_that_a_real_shell_gives_its_programs(text: str, tmp_path: Path) -> None:
    line = read_line(text, "/", {"HOME": "/h"})
    assert line.whole
    assert [repr(one.words[1:]) for one in line.commands if one.program == "a"] == _seen_by_bash(
        text, tmp_path
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a $(b c) "$(d \'(\' "e)")" `f`', ["a", UNKNOWN, UNKNOWN, UNKNOWN]),
        ("a $X ${Y:-z} $@ $1", ["a", *[UNKNOWN] * 4]),
        ("a <(b) $((1 << 2))", ["a", UNKNOWN, UNKNOWN]),
        ("a \"$(cat <<'E'\nit's (\nE\n)\"", ["a", UNKNOWN]),
        ("a pre$X.post", ["a", f"pre{UNKNOWN}.post"]),
        ("x=(b c) a", ["a"]),
    ],
)
def test_what_only_a_run_would_tell_is_a_mark(text: str, words: list[str]) -> None:
    line = read_line(text)
    assert line.whole and [one.words for one in line.commands] == [words]


@pytest.mark.parametrize(
    "text", ["f() { a; }; f", "function f { a; }", "a 'b", 'a "b', "a $(b", "a <<E\nb", "a $'b'", "a >(b"]
)
def test_reading_ends_at_what_is_not_plain(text: str) -> None:
    line = read_line(f"first; {text}")
    assert not line.whole and all(one.program == "first" for one in line.commands)
    assert not read_line("a " * LIMIT).whole and not read_line("a " * LIMIT).commands


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("a", "/w"),
        ("cd x && a", "/w/x"),
        ("cd ../y; a", "/y"),
        ("cd /z; cd s; a", "/z/s"),
        ("(cd x); a", "/w"),
        ("bash -c 'cd x'; a", "/w"),
        ("bash -c 'cd x && a'", "/w/x"),
        ("eval 'cd x'; a", "/w/x"),
        ("cd; a", "/h"),
        ("cd ~/x; a", "/h/x"),
        ("cd -- x; a", "/w/x"),
        ("cd $X; a", None),
        ("cd x*; a", None),
        ("cd -; a", None),
        ("popd; a", None),
        ("cd $X; cd y; a", None),
        ("cd $X; cd /y; a", "/y"),
        ("sudo --chdir=x a", None),
    ],
)
def test_the_folder_is_followed_as_far_as_it_is_plain(text: str, folder: str | None) -> None:
    assert next(
        one for one in read_line(text, "/w", {"HOME": "/h"}).commands if one.program == "a"
    ).folder == (folder)


def test_a_command_has_its_files_its_text_and_what_it_is_given() -> None:
    line = read_line("X=1 a > f 2>> g <<E\nt\nE\nexport Y=2; b <<< u &> h")
    first, _, last = line.commands
    assert first.writes == ["f", "g"] and first.text == "t" and first.assigned == {"X": "1"}
    assert last.writes == ["h"] and last.text == "u" and last.assigned == {"Y": "2"}


HOSTILE = [
    *(
        "(",
        "$(",
        "`",
        '"$(',
        "x",
        "$a ",
        "<<a ",
        "\\\n",
        "${a",
        "<(",
        "'",
        "eval ",
        "sudo ",
        "a=x;",
        "{a,b} ",
    ),
    *(
        "a\n",
        "$'\\x",
        ";",
        "a|",
        "env A=1 ",
        "bash -c '",
        "a <<E\nE\n",
        "((",
        "$((",
        "function f {",
        "a <<E\n",
    ),
    *("cd a;", "cd ..;", "export G=a;", "; )", "bash -c 'a';", "eval a;", "$(a)", "a #b\n"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_work_grows_with_the_length_alone(piece: str) -> None:
    """Ten times the text makes no hundred times the calls, whatever it is made of."""

    def calls(length: int) -> int:
        text, made = piece * (length // len(piece)), count()
        sys.setprofile(lambda _frame, _what, _given: next(made))  # a Counter would take most of the time
        try:
            read_line(text)
        finally:
            sys.setprofile(None)
        return next(made)

    assert calls(LIMIT) < 30 * calls(LIMIT // 10)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(alphabet="ab '\"\\$`(){}[]<>|&;\n*?~=#,!/.-\0\1", max_size=60))
def test_any_text_is_read(text: str) -> None:
    for command in read_line(text, "/w", {"HOME": "/h"}).commands:
        assert command.words and all(isinstance(word, str) for word in command.words)
