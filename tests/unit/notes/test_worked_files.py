"""What shell commands do to files, as far as their words say."""

from __future__ import annotations

import pytest

from context_graph.notes.changes import Files, files_text, is_scratch
from context_graph.notes.worked_files import Effects, effects_of


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("sed -i 's/a/b/' src/a.py", Effects(["src/a.py"], [], [], [])),
        ("cd web && cat > app.js <<'E'\nx\nE", Effects([], ["web/app.js"], [], [])),
        ("rm -rf ./build && git rm old.py", Effects([], [], ["build", "old.py"], [])),
        ("git mv tax.py vat.py", Effects([], [], [], [("tax.py", "vat.py")])),
        ("cd api; mv a.py b.py", Effects([], [], [], [("api/a.py", "api/b.py")])),
        ("Remove-Item old.ps1", Effects([], [], ["old.ps1"], [])),
        ("make 2>&1 | tee build.log", Effects([], ["build.log"], [], [])),
        ("pytest -q > /dev/null", Effects([], [], [], [])),
        ("grep -rn rm src", Effects([], [], [], [])),
        ("ls -la", Effects([], [], [], [])),
    ],
)
def test_what_a_command_edits_writes_removes_and_moves(command: str, found: Effects) -> None:
    assert effects_of(command, {}, ()) == found


def test_a_script_edits_what_it_may_write_if_the_session_knew_it() -> None:
    scripts: dict[str, list[str]] = {}
    effects_of("cat > fix.py <<'E'\nopen('src/a.py', 'w').write(open('src/b.py').read())\nE", scripts, ())
    assert effects_of("python fix.py", scripts, {"src/a.py"}).edited == ["src/a.py"]
    assert effects_of("python fix.py", scripts, {"src/c.py"}).edited == []


@pytest.mark.parametrize(
    ("path", "made", "ran", "scratch"),
    [
        ("/tmp/x.py", [], [], True),
        ("src/a.py", ["src/a.py"], ["src/a.py"], False),
        ("check_rates.py", ["check_rates.py"], [], True),
        ("check_rates.py", [], [], False),
        ("once.py", ["once.py"], ["once.py"], True),
        ("setup.py", ["setup.py"], [], False),
        ("repro/conf.py", [], [], True),
        ("sandbox/a.py", ["sandbox/a.py"], [], True),
        ("sandbox/a.py", [], [], False),
        ("reprobate/a.py", [], [], False),
    ],
)
def test_scratch_is_what_nobody_keeps(path: str, made: list[str], ran: list[str], scratch: bool) -> None:
    assert is_scratch(path, made, ran) is scratch


def test_a_folder_that_is_removed_takes_its_files_along() -> None:
    files = Files()
    for path in ("out/a.py", "out/b/c.py", "outer.py"):
        files.changed(path, [])
    files.removed("out")
    assert list(files.symbols) == ["outer.py"]


def test_names_are_never_cut() -> None:
    files = {"src/a.py": ["one", "two", "three", "four"], "src/long_name.py": [], "src/c.py": []}
    assert files_text(files, 60) == "src/a.py (one, two, three, four); src/long_name.py; 1 more"
    assert files_text(files, 30) == "src/a.py (one, two, three); 2 more"
