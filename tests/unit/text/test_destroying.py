"""A step that deletes, discards or forces something is told from one that mends."""

from __future__ import annotations

import pytest

from context_graph.text.destroying import destroys


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf data",
        "sudo rm -r /var/lib/app",
        "cd web && git push --force",
        "git clean -fd",
        "git reset --hard origin/main",
        "docker rm -f web",
        "docker system prune -af",
        "kubectl delete pod api-1",
        "terraform destroy -auto-approve",
        "npx prisma migrate reset",
        "psql -c 'DROP TABLE orders'",
        "git commit --no-verify -m x",
    ],
)
def test_what_deletes_discards_or_forces_is_known(line: str) -> None:
    assert destroys(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "npm ci",
        "rm -rf node_modules && npm ci",
        "rm -rf ./target",
        "git add -f build/schema.json",
        "docker compose -f dev.yml up -d",
        "kubectl apply -f api.yml",
        "flutter clean",
        "fuser -k 5173/tcp",
        "pip install --force-reinstall numpy",
        "echo 'drop the lock' > notes.txt",
    ],
)
def test_what_mends_is_none(line: str) -> None:
    assert not destroys(line)
