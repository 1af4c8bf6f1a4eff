"""Messages of commits in shell commands."""

from __future__ import annotations

import pytest

from context_graph.notes.commits import commits_in


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ('git commit -m "Cap the queue"', [("Cap the queue", "")]),
        (
            "git add -A && git commit -am 'Cap it' -m 'It grew over night.'",
            [("Cap it", "It grew over night.")],
        ),
        (
            "git commit -m \"$(cat <<'EOF'\nCap the queue\n\nIt grew over night.\n\n"
            'Co-Authored-By: A <a@b.c>\nEOF\n)"',
            [("Cap the queue", "It grew over night.")],
        ),
        ("git -C sub commit -F - <<MSG\nMove it\nMSG", [("Move it", "")]),
        (
            'git commit -m "Cap it\n\nThe queue grew over night until its disk was full, so that\nnobody '
            'could log in.\n\n- the cap is a setting that operators can raise while it runs\n- docs say so"',
            [
                (
                    "Cap it",
                    "The queue grew over night until its disk was full, so that nobody could log in.\n\n"
                    "- the cap is a setting that operators can raise while it runs\n- docs say so",
                )
            ],
        ),
        ("git log --oneline", []),
        ("echo 'git commit is next'", []),
        ("git commit --amend --no-edit", []),
    ],
)
def test_subject_and_body_are_read_without_trailers(command: str, found: list[tuple[str, str]]) -> None:
    assert commits_in(command) == found
