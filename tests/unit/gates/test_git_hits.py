"""Which command lines run git with a verb, however they hide it, and which only look so."""

from __future__ import annotations

import time

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
    *('x=(git commit); "${x[@]}"', "x=(git -c a=b); x+=(commit -m x); ${x[*]}", "set git commit; $1 $2"),
    *(
        "local x=(git commit); ${x[@]}",
        "x=(a $(git commit) b)",
        "x=(a # b\n); git commit",
        "x=(a\ngit commit",
    ),
    *('set -- git commit; "$@"', 'f() { git "$@"; }; f commit', "f() { git $*; }; f commit"),
]


PRINTED = [
    *("x=(git commit); ls", "declare -a x=(git push); echo ${x[@]}", "x=(git commit); echo ${#x[@]}"),
    *("echo $((1+2)) git commit", "cat <<E\ngit commit\nE", "case a in a) git log;; esac; echo git commit"),
    *("echo $(case a in a|b) c;; *) d;; esac) git commit", "x=$((git_a << commit))", "f() { git log; }; f"),
]


STARTED = [
    *("docker exec -it c git push", "docker exec -w /x c git push", "docker run --rm -v .:/w img git push"),
    *("docker run -v $PWD:/w -w /w alpine/git push", "docker --context x compose run --rm app git push"),
    *(
        "docker compose -f x.yml exec -T app git push",
        "docker-compose exec app git push",
        "podman run i git push",
    ),
    *("kubectl exec pod -- git push", "kubectl -n x exec -it pod -c y -- git push", "parallel git ::: push"),
    *(
        "python3 -c 'import os; os.system(\"cd x && git push\")'",
        "python3 -c \"import subprocess; subprocess.run(['git', '-C', 'x', 'commit'], check=True)\"",
        "python3 - <<'E'\nfrom subprocess import check_call\ncheck_call(\n  ['git', 'push']\n)\nE",
        'python3 -c \'run(["bash", "-c", "git push"])\'',
        "echo 'import os; os.system(\"git push\")' | python3",
        'node -e \'require("child_process").execSync("git push")\'',
        "node -e \"spawn('git', ['commit', '-m', 'x'])\"",
        "perl -e 'system(\"git push\")'",
        "ruby -e 'system \"git push\"'",
        "awk 'BEGIN{system(\"git push\")}'",
    ),
    *(
        "bash -euo pipefail -c 'git commit -m x'",
        "bash -o pipefail -c 'git commit'",
        "bash -c -x 'git commit'",
    ),
    *(
        "bash --rcfile x -c 'git commit'",
        "bash -s -- a <<E\ngit commit\nE",
        "sh -oe pipefail -c 'git commit'",
    ),
    *("bash <(echo git commit -m x)", "bash /dev/stdin <<< 'git commit'", ". /dev/stdin <<E\ngit commit\nE"),
    *(
        "bash < <(echo git commit)",
        "bash -c '\"$@\"' _ git commit",
        "sh -c '$0 commit' git",
        "fish -c'git commit'",
    ),
    *("pwsh -NoProfile -ExecutionPolicy Bypass -Command git commit", "source <(printf 'git commit')"),
    *(
        "sudo -iu bob git commit",
        "flock x -c 'git commit'",
        "flock -w 1 x git commit",
        "sshpass -p x git commit",
    ),
    *("ssh-agent git commit", "ssh-agent bash -c 'git commit'", "systemd-run --user git commit"),
    *("op run -- git commit", "doppler run -p x -- git commit", "aws-vault exec p -- git commit"),
    *(
        "nix develop -c git commit",
        "npm exec -- git commit",
        "npm exec -c 'git commit'",
        "pnpm exec git commit",
    ),
    *("bundle exec git commit", "chronic git commit", "unshare -r git commit", "xvfb-run git commit"),
    *(
        "uv run --with foo git commit",
        "uv tool run git commit",
        "mise x -- git commit",
        "env -iS 'git commit'",
    ),
    *(
        "taskset -c 0 git commit",
        "timeout -k5 10 git commit",
        "perf stat git commit",
        "env -S 'git commit' -m x",
    ),
    *(
        "dosomething --bar git -C x commit",
        "dosomething git --no-pager -c a=b commit",
        "docker exec c git commit",
        'run() { "$@"; }; run git commit',
    ),
    *("for d in a b; do git -C $d commit; done", "for v in status commit; do git $v; done"),
    *("for g in ls git; do $g commit; done", "for d in a b; do x=$d; git -C $x commit; done"),
    *(
        "G=git; $G commit",
        "$GIT commit",
        "$(command -v git) commit",
        "git config alias.zz commit; git zz -m x",
    ),
    *("git config --global alias.ZZ '!git commit'; git zz", "git config set alias.zz.command commit; git zz"),
    *(
        "git commit -m --dry-run",
        "git commit -am --help",
        "git commit --dry-run --no-dry-run",
        "git commit -m -h",
    ),
    *("git commit -- --dry-run", "echo x | xargs git commit --dry-run", "git commit $X --dry-run"),
    *("git commit --dry-run; git commit", "git commit -h -m x"),
    *("npm exec git push", "npm install x && git push", "yarn git commit", "sudo npm install; git commit"),
]


SHOWN = [
    *(
        "docker build -t git push .",
        "docker tag git push",
        "docker run --name git commit",
        "docker exec git push",
    ),
    *(
        "docker compose -f git push up",
        "docker -H x buildx build -t git push .",
        "docker run -e git push img",
    ),
    *("kubectl apply -f git push", "kubectl logs git push", "kubectl exec git -- push", "make git commit"),
    *(
        "npm run git push",
        "npm test -- -t git commit",
        "npm run test -- -t git commit",
        "rsync -a git push h:",
    ),
    *(
        "tar czf x.tgz git push",
        "curl -d git push x",
        "pytest -k git commit",
        "cargo test git push",
        "vim git push",
    ),
    *(
        "gh pr list --search git commit",
        "go test -run git push ./...",
        "helm upgrade git commit",
        "zip x git push",
    ),
    *(
        'python3 -c \'import os; print("git push"); os.system("git log push")\'',
        "python3 - <<'E'\nimport subprocess\nsubprocess.run(['git', 'add'])\nprint('now git commit')\nE",
        "python3 -c 'dry_run(\"git push\")'",
        "python3 -c 'os.system(\"echo git push\")'",
        "node -e 'console.log(\"git push\")'",
        "awk '/git push/ {print}' x",
    ),
    *(
        "$DOCKER push x",
        '"$CLI" push',
        "$(x) commit",
        "git commit --help",
        "git commit -h",
        "git commit --dry-run",
    ),
    *(
        "git commit -m x --dry-run",
        "git push --dry-run origin main",
        "git commit -a --dry-run",
        "npm run commit",
    ),
    *("for d in a b; do git -C $d log; done", "man git commit", "command -v git commit", "mkdir git commit"),
    *(
        "cp git commit",
        "gh pr create --title git --body commit",
        "bash -o pipefail x commit",
        "uv run --with git pytest",
        "bash <(echo git status) commit",
    ),
    *(
        "npm install git push",
        "npm --prefix a i git commit",
        "cargo add git push",
        "pip install -U git commit",
    ),
    *("uv add git commit", "yarn add -D git push", "npm install git && git log push"),
]


@pytest.mark.parametrize("command", [*GRAMMAR, *STARTED])
def test_neither_the_shells_grammar_nor_what_starts_it_hides_git(command: str) -> None:
    assert git_hits(command, ["commit", "push"])


@pytest.mark.parametrize("command", [*PRINTED, *SHOWN])
def test_what_only_prints_it_starts_no_git_or_changes_nothing_passes(command: str) -> None:
    assert not git_hits(command, ["commit", "push"])


@pytest.mark.parametrize("piece", ["system(git ", "system(git)", "run(", 'system "git\n', "(", "a "])
def test_looking_for_git_in_a_text_takes_no_longer_than_reading_it(piece: str) -> None:
    began = time.thread_time()
    git_hits("python3 -c 'git " + piece * (150_000 // len(piece)) + "'", ["commit"])
    assert time.thread_time() - began < 5


@pytest.mark.parametrize("piece", ["git -C ", "git ", "-C git ", "--git-dir git x "])
def test_looking_for_git_among_words_takes_no_longer_than_reading_them(piece: str) -> None:
    began = time.thread_time()
    assert not git_hits("foo " + piece * (150_000 // len(piece)), ["commit"])
    assert time.thread_time() - began < 5
