"""Fixtures of the fault suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.faults.world import World
from tests.support.cli import Cli


@pytest.fixture
def make_world(
    cli: Cli, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Callable[..., World]]:
    """Makes worlds named after the test; their rows go into the summary however the test ends."""
    made: list[World] = []

    def make(where: Cli | None = None, **more: int) -> World:
        name = request.node.name.removeprefix("test_")
        made.append(World.make(where or cli, name, **more))
        return made[-1]

    yield make
    for world in made:
        world.row.hand_in(record_property)


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()
