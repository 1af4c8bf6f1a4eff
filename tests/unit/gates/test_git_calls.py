"""Which lines surely run git with a verb; git's own hooks judge what is not certain."""

from __future__ import annotations

import pytest

from context_graph.gates.decide.tool_call import git_calls, mcp_runs_git, runs_git

ALIASES = {"ci": "commit -v", "up": "new -a", "new": "!git add -A && git commit", "st": "status", "a": "a"}

SURE = [
    *("git commit", "git -C . commit -m x", "git -c user.name=me commit", "git --no-pager commit -m x"),
    *("git \\\ncommit -m x", 'git "commit"', "gi't' com\\mit", "/usr/bin/git commit", "command git commit"),
    *("env X=1 git commit", "X=1 git commit", "sudo -u me git commit", "git\tcommit", "nohup git commit > x"),
    *("bash -c 'git commit -m x'", "eval git commit", "(git commit)", "cd src && git commit", "! git commit"),
    *("npm test; git commit", "git add -A &&git commit", "{ git commit; }", "if true; then git commit; fi"),
    *("git -c alias.x=commit x", "git -c alias.x='!git commit -a' x", "git ci -m x", "git up", "git new"),
    *("timeout 9 git commit", "git commit --amend &", "while true; do git commit; done", "time git commit"),
    "git add -A && git commit -m \"$(cat <<'EOF'\nDon't `git push` (yet).\nEOF\n)\" && git status",
    *("git push --no-verify", "git -c core.hooksPath=/dev/null push", "env -i PATH=/bin git push -q origin"),
    *("GIT_CONFIG_COUNT=0 git commit", "env -u CLAUDE_CODE_SESSION_ID git commit", "git commit --no-verify"),
    *("export GIT_CONFIG_COUNT=0; git push", "git -c core.hooksPath= commit -m x", "true && git push 2>&1"),
    "git send-pack -q ../origin.git HEAD:refs/heads/y",
]

SILENT = [
    *("git log --grep commit", "git commit-tree x", "echo git commit", 'grep "git commit" x', "git status"),
    *("cat <<'E' > notes\ngit commit\nE", "# git commit", "git log --format='git commit'", "git tag -m x v1"),
    *("echo 'git commit' >> README.md", "git help commit", "command -v git commit", "digit commit", "git st"),
    *("gh pr create --body 'git commit'", "git -C commit status", "git branch commit", "", "git", "git a"),
    *(
        "git commit --help",
        "git commit -h",
        "git commit --dry-run --short -a",
        "git push -n",
        "git 'com mit'",
    ),
    *("echo ';' git commit", "echo '&&' git push", 'find . -name "(" git commit', "x=(git commit); ls"),
    *(
        "c() { git commit; }",
        'echo "$(date "+%F; git commit")"',
        "git commit 'x",
        "python3 -c 'run(\"git\")'",
    ),
    *("cd $X && git commit", 'cd "$(mktemp -d)" && git init && git commit', "git -C $X commit", "git $VERB"),
    *("git init x; git commit", "git clone a b && cd b && git commit", "git checkout main && git commit"),
    *("git switch -c x && git commit -m x", "git worktree add ../w && cd ../w && git commit"),
    *(
        "GIT_DIR=../x/.git git commit",
        "git --git-dir=x commit",
        "env -C ../x git commit",
        "git push --dry-run",
    ),
]


@pytest.mark.parametrize("line", SURE)
def test_a_plain_commit_or_push_is_seen(line: str) -> None:
    assert runs_git(line, ["commit", "push"], "/w", aliases=lambda: ALIASES)


@pytest.mark.parametrize("line", SILENT)
def test_what_is_not_certain_is_left_alone(line: str) -> None:
    assert not runs_git(line, ["commit", "push"], "/w", aliases=lambda: ALIASES)


def test_only_the_folder_that_counts_does() -> None:
    def here(folder: str) -> bool:
        return folder.startswith("/w")

    for line, hit in (
        ("git commit", True),
        ("cd src; git commit", True),
        ("git -C src -C .. commit", True),
        ("cd /other && git commit", False),
        ("git -C /other commit", False),
        ("(cd /other && git commit); git push", False),
        ("cd /other && git -C /w commit", True),
    ):
        assert runs_git(line, ["commit"], "/w", here=here) is hit, line


def test_a_call_has_its_verb_its_words_and_its_folder() -> None:
    (call,) = git_calls("cd a && git -C b -c x=y push -q origin HEAD", "/w")
    assert (call.folder, call.verb, call.rest) == ("/w/a/b", "push", ["-q", "origin", "HEAD"])
    (call,) = git_calls("git ci -m x", "/w", aliases=lambda: ALIASES)
    assert (call.verb, call.rest) == ("commit", ["-v", "-m", "x"])


@pytest.mark.parametrize(
    "tool", ["git__git_commit", "git__commit", "github__push_files", "x__gitPush", "gitlab__push-files"]
)
def test_an_mcp_tool_counts_where_its_names_say_git_and_the_verb(tool: str) -> None:
    assert mcp_runs_git(f"mcp__{tool}", ["commit", "push"])


@pytest.mark.parametrize(
    "tool",
    [
        *(
            "git__git_log",
            "git__git_status",
            "github__list_commits",
            "github__get_commit",
            "git__show_commit",
        ),
        *("database__commit", "android__push", "github__create_issue", "git", "git__git_diff_commit"),
    ],
)
def test_another_does_not(tool: str) -> None:
    assert not mcp_runs_git(f"mcp__{tool}", ["commit", "push"])
