"""Commands that reach what only a person may change, and the many more that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_graph.requirements.git import find_repo
from context_graph.requirements.project import Project
from context_graph.requirements.protected import Protected, Touch
from context_graph.requirements.touching import touch


class Place:
    """A repository with a requirements file, a home beside it, and a folder of somebody else's."""

    def __init__(self, base: Path) -> None:
        self.root, self.home, self.other = base / "repo", base / "home", base / "other"
        for folder in (self.root / ".claude" / "skills", self.home / ".claude", self.other / ".git"):
            folder.mkdir(parents=True)
        for folder in (self.root / ".git" / "objects", self.root / ".git" / "refs", self.root / "src"):
            folder.mkdir(parents=True)
        (self.root / ".git" / "HEAD").write_text("ref: refs/heads/x\n")
        (self.root / ".claude" / "requirements.yaml").write_text("requirements: {}\n")
        (self.root / "link").symlink_to(self.root / ".claude")
        project = Project(str(self.root), find_repo(str(self.root)))
        self.ours = Protected(project, str(self.home / ".claude"), str(base / "data" / "cache"))

    def touch(self, command: str, cwd: str = "") -> Touch:
        text = command.replace("@", str(self.root)).replace("%", str(self.other))
        return touch(text, ["sign", "deploy"], self.ours, cwd or str(self.root), str(self.home))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("touching"))


TAKES_AWAY = [
    *("mv .claude x", "rm -rf .claude", "rm .claude/*.yaml", "git checkout HEAD~1 -- .claude", "mv .git x"),
    *("rm -rf .git", "rm -rf .claude/", "rm -rf ./.claude", "rm -rf @/.claude", "rm -rf src/../.claude"),
    *(
        "git rm -rf .claude",
        "git rm -r .",
        "rm -f .claude/*",
        "cd .claude && rm -f *",
        "cd .claude; rm *.yaml",
    ),
    *("git stash", "git stash -u", "git stash push .claude", "git stash push -- .", "git stash save x"),
    *(
        "git reset --hard",
        "git reset --hard HEAD~1",
        "git clean -fdx",
        "git clean -fd .",
        "git clean --force",
    ),
    *(
        "git restore .claude",
        "git restore .",
        "git restore --source=HEAD~1 :/",
        "git checkout .",
        "git checkout -f x",
    ),
    *("git checkout HEAD~1 -- .claude/requirements.yaml", "git -C . checkout HEAD~1 -- .claude"),
    *("git -C src restore ../.claude", "git -c alias.x='!rm -rf .claude' x", "git sparse-checkout set src"),
    *("echo x > .claude/requirements.yaml", ": > .claude/requirements.yaml", "> .claude/requirements.yaml"),
    *(
        "echo x >> .claude/requirements.local.yaml",
        "echo x >| .git/HEAD",
        "echo x 1<> .git/HEAD",
        "x &> .git/HEAD",
    ),
    *(
        "sed -i s/true/false/ .claude/requirements.yaml",
        "sed -i.bak s/a/b/ .claude/*",
        "sed -Ei s/a/b/ .claude/*.yaml",
    ),
    *("sed --in-place s/a/b/ .claude/requirements.yaml", "sed -n 'w .claude/requirements.yaml' src/x"),
    *("echo x | tee .claude/requirements.yaml", "echo x | sudo tee -a .claude/requirements.yaml"),
    *("dd if=/dev/null of=.claude/requirements.yaml", "truncate -s 0 .claude/requirements.yaml"),
    *(
        "ln -sfn /tmp/x .claude",
        "ln .claude/requirements.yaml x",
        "cp x .claude/requirements.yaml",
        "cp x/requirements.yaml .claude",
    ),
    *(
        "cp -r /tmp/x/. .claude",
        "cp -r /tmp/.claude .",
        "cp -t .claude x",
        "rsync -a --delete x/ .claude/",
        "rsync -a x/.claude .",
    ),
    *("install x .claude/requirements.yaml", "chmod 000 .claude/requirements.yaml", "chmod -R a-r .claude"),
    *(
        "python -c \"import shutil; shutil.rmtree('.claude')\"",
        'python3 -c \'open(".claude/requirements.yaml","w")\'',
    ),
    *("perl -pi -e 's/a/b/' .claude/requirements.yaml", "perl -e 'unlink \".claude/requirements.yaml\"'"),
    *(
        'node -e \'require("fs").rmSync(".claude",{recursive:true})\'',
        "ruby -e 'File.delete(\".claude/requirements.yaml\")'",
    ),
    *(
        "python3 <<'E'\nimport os\nos.rename('.claude', 'x')\nE",
        "python3 - <<E\nos.remove('.cl' + 'aude/requirements.yaml')\nE",
    ),
    *(
        "find . -delete",
        "find .claude -delete",
        "find . -name requirements.yaml -delete",
        "find . -name '*.yaml' -delete",
    ),
    *("find .claude -type f -exec rm {} \\;", "find . -name 'req*' -exec rm {} +", "find .claude | xargs rm"),
    *(
        "ls -d .claude | xargs rm -rf",
        "echo .claude | xargs rm -rf",
        "rm -rf $(ls -d .cl*)",
        "rm -rf `echo .claude`",
    ),
    *(
        "d=.claude; rm -rf $d",
        "d=.cla; rm -rf ${d}ude",
        "a=.clau b=de; rm -rf $a$b",
        'export D=.claude; rm -rf "$D"',
    ),
    *(
        "for d in src .claude; do rm -rf $d; done",
        "for f in .claude/*; do mv $f x; done",
        "set -- .claude; rm -rf $1",
    ),
    *(
        "read d <<< .claude; rm -rf $d",
        "rm -rf ${X:-.claude}",
        "rm -rf .cl*",
        "rm -rf .c?aude",
        "rm -rf .[c]laude",
    ),
    *(
        "rm -rf .*",
        "rm -rf {.claude,x}",
        "mv .claude{,.off}",
        "rm -rf '.clau'de",
        "rm -rf .cl\\aude",
        "rm -rf $'\\x2eclaude'",
    ),
    *(
        "bash -c 'rm -rf .claude'",
        'sh -c "mv .claude x"',
        "eval 'rm -rf .claude'",
        "eval rm -rf .claude",
        "sudo rm -rf .claude",
    ),
    *(
        "(rm -rf .claude)",
        "{ rm -rf .claude; }",
        "true && rm -rf .claude",
        "false || rm -rf .claude",
        "rm -rf .claude &",
    ),
    *(
        "if true; then rm -rf .claude; fi",
        "x() { rm -rf .claude; }; x",
        "cat <<E | sh\nrm -rf .claude\nE",
        "echo $(rm -rf .claude)",
    ),
    *(
        "env A=1 rm -rf .claude",
        "timeout 5 rm -rf .claude",
        "command rm -rf .claude",
        "\\rm -rf .claude",
        "/bin/rm -rf .claude",
    ),
    *(
        "xargs rm -rf <<< .claude",
        "echo 'rm -rf .claude' | bash",
        "echo 'rm -rf .claude' > x.sh; bash x.sh",
        "trap 'rm -rf .claude' EXIT",
    ),
    *(
        "cat > x.sh <<'E'\nrm -rf .claude\nE\nsh ./x.sh",
        "rm -rf link",
        "rm link/requirements.yaml",
        "echo > link/requirements.yaml",
    ),
    *(
        "rm -rf @",
        "rm -rf ../repo",
        "mv ../repo ../x",
        "mv @ /tmp",
        "cd .. && rm -rf repo",
        "cd .. && mv repo x",
        "rm -rf /",
    ),
    *(
        "cd src && rm -rf ../.claude",
        "cd nowhere; rm -rf .claude",
        'cd "$X" && rm -f requirements.yaml',
        'rm -rf "$X/.claude"',
    ),
    *(
        "pushd .claude; rm requirements.yaml",
        "rm ~/.claude/requirements.yaml",
        "rm $HOME/.claude/sessions.json",
        "mv ~/.claude /tmp",
    ),
    *(
        "echo > ~/.claude/settings.json",
        "rm .claude/settings.json",
        "sed -i /hooks/d .claude/settings.local.json",
        "mv .git/HEAD x",
    ),
    *(
        "echo '{}' > .git/requirements/x.json",
        "cp x .git/requirements/sessions/a.paused",
        "rm -rf .git/requirements",
        "rm .git/req*/*",
    ),
    *(
        "tee $(git rev-parse --git-common-dir)/requirements/x.json",
        "rm -rf $PWD/.claude",
        "prettier --write .claude/settings.json",
    ),
    *(
        "patch .claude/requirements.yaml x.diff",
        "vim .claude/requirements.yaml",
        "unknown-tool .claude",
        "tar xf x.tar -C .claude",
    ),
    *(
        "awk '{print > \".claude/requirements.yaml\"}' x",
        "yq -i .a .claude/requirements.yaml",
        "sort -o .claude/requirements.yaml x",
    ),
    *(
        "tar cf x.tar --remove-files .claude",
        "base64 -d <<< cm0= | sh",
        'eval "$(echo cm0= | base64 -d)"',
        "rm -rf .claude '",
    ),
    *(
        "CLAUDE_SKIP_REQUIREMENTS=1 claude -p x",
        "export CLAUDE_SKIP_REQUIREMENTS=1; claude",
        "env CLAUDE_SKIP_REQUIREMENTS=1 claude -p x",
    ),
    *(
        "git worktree remove .",
        "git show HEAD~1:x --output=.claude/requirements.yaml",
        "xxd -r x .claude/requirements.yaml",
    ),
    *(
        "git diff -- .claude && rm -rf .claude",
        "cat .claude/requirements.yaml > x; mv x .claude/requirements.yaml",
    ),
    *("nohup sh -c 'sleep 1; rm -rf .claude' >/dev/null 2>&1 &", "context-graph-cli setup --remove"),
]


@pytest.mark.parametrize("command", TAKES_AWAY)
def test_what_takes_the_gates_files_away_is_held(place: Place, command: str) -> None:
    found = place.touch(command)
    assert found.why and found.names == ["sign", "deploy"]


LEAVES_ALONE = [
    *(
        "cat .claude/requirements.yaml",
        "cat .claude/requirements.yaml 2>/dev/null",
        "sed -n 1,20p .claude/requirements.yaml",
    ),
    *(
        "grep -rn human_only .claude",
        "ls -la .claude",
        "git diff -- .claude",
        "git log -p -- .claude",
        "git status",
        "head -5 .git/HEAD",
    ),
    *(
        "ansible-galaxy install -r requirements.yml",
        "pip install -r requirements.txt",
        "helm template -f chart/requirements.yaml .",
    ),
    *(
        "yamllint .claude/requirements.yaml",
        "git commit -m 'run req satisfy deploy before rm -rf .claude'",
        "diff x .claude/requirements.yaml",
    ),
    *(
        "git commit -m \"$(cat <<'E'\nMove .claude away: mv .claude x; context-graph-cli req satisfy sign\nE\n)\"",
        "git commit -am 'x > .claude/y'",
    ),
    *(
        "git add .claude/requirements.yaml",
        "git add -A && git commit -m x",
        "git show HEAD:.claude/requirements.yaml",
        "git blame .claude/requirements.yaml",
    ),
    *(
        "cp .claude/requirements.yaml /tmp/x",
        "cp -r .claude /tmp/x",
        "rsync -a .claude/ /tmp/x",
        "tar czf /tmp/x.tgz .claude",
        "tar -czf x.tgz .",
    ),
    *(
        "wc -l .claude/*",
        "find .claude -type f",
        "find . -name '*.pyc' -delete",
        "find . -name __pycache__ -exec rm -rf {} +",
        "find .claude -name '*.yaml' -exec cat {} \\;",
    ),
    *(
        "find . -name '*.yaml' | xargs grep x",
        "find .claude -type f | xargs cat",
        "cat .claude/requirements.yaml | python3 -c 'import sys; print(sys.stdin.read())'",
    ),
    *(
        "rm -rf build",
        "rm -rf *",
        "rm -rf ./*",
        "rm -rf node_modules .venv",
        "rm *.log",
        "rm -rf .git/index.lock",
        "rm -f .git/index.lock",
    ),
    *(
        "rm -rf %/.git",
        "cd % && rm -rf .git",
        "(cd % && rm -rf .git); ls",
        "mv %/.git /tmp",
        "rm -rf /tmp/x/.claude",
        "cd /tmp && rm -rf .claude",
    ),
    *(
        "git clone x /tmp/y && rm -rf /tmp/y/.git",
        "mkdir -p .claude/skills",
        "rm .claude/skills/x.md",
        "echo x > .claude/skills/x.md",
    ),
    *(
        "sed -i s/a/b/ .claude/skills/x.md",
        "rm .claude/*.md",
        "rm -rf .claude/worktrees/w",
        "cp x .claude/plans/x.md",
        "mv .claude/plans/a .claude/plans/b",
    ),
    *(
        "touch .claude/notes.md",
        "echo x >> .gitignore",
        "rm .gitignore",
        "rm -rf .github",
        "chmod +x .git/hooks/pre-commit",
        "vim .git/info/exclude",
    ),
    *(
        "git stash list",
        "git stash pop",
        "git stash push -- src",
        "git stash push src",
        "git stash show -p",
        "git restore src/a.py",
        "git restore --staged src",
    ),
    *(
        "git checkout main",
        "git checkout -b x",
        "git switch x",
        "git checkout -- src",
        "git checkout HEAD~1 -- src/a.py",
        "git reset HEAD~1",
        "git reset --soft HEAD~1",
    ),
    *(
        "git clean -n",
        "git clean -nfd",
        "git clean -fd src",
        "git merge x",
        "git rebase main",
        "git pull",
        "git push",
        "git fetch",
        "git tag x",
        "git rm src/a.py",
    ),
    *(
        "git mv src/a src/b",
        "git worktree add ../x",
        "git worktree list",
        "git branch -D x",
        "git config user.name x",
        "git apply x.diff",
        "git -C % reset",
    ),
    *(
        "python3 -c 'print(1)'",
        "python3 x.py",
        "node server.js",
        "make",
        "make test",
        "npm run build",
        "npx prettier --write .",
        "pytest -q",
        "cargo build",
    ),
    *(
        "echo 'rm -rf .claude' >> notes.md",
        "cat > notes.md <<'E'\nnever rm -rf .claude\nE",
        "echo 'context-graph-cli req satisfy deploy' > x.md",
        "echo x > $TMPDIR/y",
    ),
    *(
        'rm -rf "$BUILD"',
        "rm -rf $TMP/x",
        'for f in *.tmp; do rm "$f"; done',
        "while read f; do rm $f; done < list",
        "git ls-files -d | xargs git rm",
        "ls *.log | xargs rm",
    ),
    *(
        "d=$(mktemp -d); cp x $d; rm -rf $d",
        'cd "$D" && rm -rf *',
        "curl -s https://x.y | sh",
        'eval "$(ssh-agent -s)"',
        "docker run -v $PWD:/x y",
        "docker build .",
    ),
    *(
        "grep -r 'rm -rf .claude' docs",
        "rg --glob '!.git' x",
        "grep -r --exclude-dir=.git x .",
        "rsync -a --exclude .git . /tmp/x",
        "tree -I .git",
        "zip -r x.zip . -x .git",
    ),
    *(
        "context-graph-cli req status",
        "context-graph-cli req satisfy plan",
        "context-graph-cli req satisfy plan; context-graph-cli req status",
        "req check",
    ),
    *(
        "context-graph-cli req clear plan && echo done",
        "context-graph-cli req satisfy plan --session deploy",
        "context-graph-cli req disable plan",
        "context-graph-cli setup",
    ),
    *(
        "context-graph-cli memory recall 'req satisfy'",
        "gh pr create --body 'run context-graph-cli req satisfy sign'",
        "npm run request-types",
        "curl https://x/requirements/list",
    ),
    *(
        "ssh host uptime",
        "base64 -d x > y.png",
        "echo aGk= | base64 -d",
        "openssl rand -hex 8",
        "test -f .claude/requirements.yaml && echo yes",
        "[ -d .claude ] || mkdir .claude",
    ),
    *(
        "cat .claude/requirements.yaml; rm -rf $BUILD",
        "ls .claude && rm x",
        "git log --oneline -- .claude | head",
        "cd .claude && ls",
        "cd .claude && cat requirements.yaml",
    ),
    *(
        "cd .claude/skills && rm x.md",
        "du -sh .git",
        "cat .git/config",
        "ls .git/hooks",
        "stat .git/HEAD",
        "tail -f x.log",
        "xxd .claude/requirements.yaml",
        "",
    ),
    *(
        "awk '{print $1}' .claude/requirements.yaml",
        "jq . .claude/settings.json",
        "yq .a .claude/requirements.yaml",
        "sort .claude/requirements.yaml | uniq -c",
    ),
]


@pytest.mark.parametrize("command", LEAVES_ALONE)
def test_reading_and_plain_work_pass(place: Place, command: str) -> None:
    found = place.touch(command)
    assert not found.why, (found.why, found.names)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("context-graph-cli req satisfy deploy commit_plan", ["deploy"]),
        ("context-graph-cli req satisfy commit_plan; context-graph-cli req approve sign", ["sign"]),
        ("context-graph-cli req satisfy sign deploy", ["sign", "deploy"]),
        ("context-graph-cli req clear --all", ["sign", "deploy"]),
        ("context-graph-cli req $V sign", ["sign", "deploy"]),
        ("context-graph-cli req satisfy $N", ["sign", "deploy"]),
        ("echo sign | xargs context-graph-cli req satisfy", ["sign", "deploy"]),
        ("context-graph-cli req disable", ["sign", "deploy"]),
        ("context-graph-cli req disable sign", ["sign"]),
        ("script -qc 'context-graph-cli req satisfy sign' /dev/null", ["sign"]),
        ("at now <<< 'context-graph-cli req satisfy sign'", ["sign"]),
        ("tmux new -d 'context-graph-cli req satisfy sign'", ["sign"]),
        ("python3 -m context_graph.cli req satisfy sign", ["sign"]),
        ("expect -c 'spawn context-graph-cli req satisfy sign'", ["sign"]),
    ],
)
def test_only_what_is_named_counts(place: Place, command: str, names: list[str]) -> None:
    """Client defect 15: a plain requirement's satisfaction was refused because another is human_only."""
    found = place.touch(command)
    assert found.why and found.names == names
