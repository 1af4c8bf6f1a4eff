"""The kernels of identity, on one event's numbers: oscillators, the 13-D cosine, identity continuity.

Each is a call of a microsecond or less, of which taking the arguments' buffers is a part that no kernel can
save: that is the limit. Beside the oscillators' steps it is NumPy's sine and cosine of as many angles.
"""

from __future__ import annotations

from array import array

import numpy as np
from benches.interleave import Work, measure
from benches.report import Figure, figures
from tests.oracles import vectors as oracle

from context_graph.kernels import oscillators, vectors

OMEGA = array("d", [hz / 25.3 for hz in (40, 8, 8, 8, 25, 4, 25, 12, 80, 40, 15, 60, 4)])
PHASES = array("d", [0.48 * number for number in range(13)])
FOCUSED = array("d", [0.9, 0.4, 0.1, 0.0, 0.5, 1.1, 0.7, 0.8, 1.0, 1.0, 0.8, 0.9, 1.3])
FOREIGN = array("d", [-0.8, 0.1, 0.1, 0.0, -0.3, -0.9, -0.4, -0.5, 0.2, -0.7, -0.5, 0.3, -1.0])
STEPS = 50
"""Of one event: 2 s of the network's time in steps of 0.04 s."""
BUFFERS, ANGLES = "the arguments' buffers", "NumPy's sine and cosine of as many angles"


def run(rounds: int) -> list[Figure]:
    """Four kernels, a workload each."""
    return [*steps(rounds), *calls(rounds)]


def steps(rounds: int) -> list[Figure]:
    """Fifty steps of thirteen oscillators."""
    angles = np.tile(np.array(PHASES), STEPS)
    phases, slow = array("d", PHASES), array("d", PHASES)
    samples = measure(
        {
            ANGLES: lambda: (np.sin(angles), np.cos(angles)),
            "kuramoto_steps": lambda: oscillators.kuramoto_steps(phases, OMEGA, 4.0, 0.04, STEPS),
            "twin": lambda: oracle.kuramoto_steps(slow, OMEGA, 4.0, 0.04, STEPS),
        },
        rounds,
    )
    return figures(
        "50 steps of 13 oscillators", {ANGLES: "limit", "kuramoto_steps": "ours", "twin": "twin"}, samples
    )


def calls(rounds: int) -> list[Figure]:
    """The kernels that are one call for each event."""
    rows: dict[str, tuple[Work, Work, Work]] = {
        "kuramoto_order": (
            lambda: memoryview(PHASES),
            lambda: oscillators.kuramoto_order(PHASES),
            lambda: oracle.kuramoto_order(PHASES),
        ),
        "cosine13": (
            lambda: (memoryview(FOREIGN), memoryview(FOCUSED)),
            lambda: vectors.cosine13(FOREIGN, FOCUSED),
            lambda: oracle.cosine13(FOREIGN, FOCUSED),
        ),
        "identity_continuity": (
            lambda: (memoryview(FOREIGN), memoryview(FOCUSED)),
            lambda: vectors.identity_continuity(FOREIGN, FOCUSED, 0.97),
            lambda: oracle.identity_continuity(FOREIGN, FOCUSED, 0.97),
        ),
    }
    return [
        figure
        for name, (limit, kernel, twin) in rows.items()
        for figure in figures(
            f"{name} of one event",
            {BUFFERS: "limit", name: "ours", "twin": "twin"},
            measure({BUFFERS: limit, name: kernel, "twin": twin}, rounds),
        )
    ]
