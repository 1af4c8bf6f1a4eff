"""Which command lines run git with a verb, however they hide it, and which only look so."""

from __future__ import annotations

import pytest

from context_graph.gates.decide.tool_call import git_hits

GRAMMAR = [
    *("x=$((1 << 20))\ngit add -A\ngit commit -m x", "((x<<=1))\ngit commit -m x", "let x=1<<2\ngit commit"),
    *(
        "x=$[1<<2]\ngit commit",
        "a[1<<2]=x git commit",
        "echo $(( $(git commit) + 1 ))",
        "cat <<E\ngit commit",
    ),
    *("for ((i = 0; i < 1 << 3; i++)); do git commit; done", "((git status); git commit)", "((git commit))"),
    *(
        "function f { git commit -m x; }; f",
        "function f() { git commit; }; f",
        "function f\n{ git commit; }; f",
    ),
    *("time -p git commit", "time -p { git commit; }", "time git commit", "time ! git commit"),
    *(
        "coproc X { git commit; }",
        "coproc git commit",
        "coproc X (git commit)",
        "coproc X while git commit; do :; done",
    ),
    *("a[0]=1 git commit", "a[1 + 1]=2 git commit", "a[0]+=x b=c git commit", "echo [$(git\tcommit)]"),
    *("echo $(case a in a) git commit -m x;; esac)", "echo $(case a in (a|b) x;; *) git commit;; esac)"),
    *("echo $(case a in a) case b in b) x;; esac;; c) git commit;; esac)",),
    *('set -- git commit; "$@"', 'f() { git "$@"; }; f commit', "f() { git $*; }; f commit"),
]


@pytest.mark.parametrize("command", GRAMMAR)
def test_the_shells_grammar_hides_no_command(command: str) -> None:
    assert git_hits(command, ["commit"])


HARMLESS = [
    *("echo $((1+2)) git commit", "cat <<E\ngit commit\nE", "case a in a) git log;; esac; echo git commit"),
    *("echo $(case a in a|b) c;; *) d;; esac) git commit", "x=$((git_a << commit))", "f() { git log; }; f"),
]


@pytest.mark.parametrize("command", HARMLESS)
def test_what_only_prints_it_commits_nothing(command: str) -> None:
    assert not git_hits(command, ["commit"])
