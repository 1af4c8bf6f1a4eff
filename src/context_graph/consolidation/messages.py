"""Exchanges a request, lines and files between the owner and the process that computes a consolidation.

The owner makes a folder with a checkpoint of the store's database (`take_checkpoint`), starts
``arguments(folder)`` and writes one line, the `Request`, to its standard input, which stays open: when it
closes, the process ends at once, so it never outlives its owner. The process writes lines to its standard
output, `Update` while it works and, if it can't be done, one `Failed` at the end; else the file ``prepared``
into the folder, the changes of records. It writes nowhere else and may be killed at any time.

| exit code | |
|---|---|
| 0 | ``prepared`` is complete |
| 1 | `Failed` |
| 3 | standard input was closed |
| negative | killed by that signal |

How much of a request consciousness C allows is checked here too (seed 002, D5.1).
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from context_graph.consolidation import FOLDER
from context_graph.consolidation.plan import Mode
from context_graph.consolidation.progress import Update
from context_graph.errors import ContextGraphError, InvalidParamsError, OwnerError, error_for_code
from context_graph.model.memory import check_range, check_unit

if TYPE_CHECKING:
    from context_graph.store.graph.graph import GraphStore

DEFAULT_THRESHOLD: Final = 0.3
"""The salience below which a memory is pruned (seed 002)."""
_MOST: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class GoalSearch:
    """Which goals to look for."""

    min_confidence: float
    """[0, 1]."""
    max_goals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Parameters of one run (seed 002's ConsolidateParams), as its process gets them.

    Construction raises InvalidParamsError, which names the field, its limit and the cure.
    """

    mode: Mode = Mode.LIGHT
    """The mode to run, after the gate (`allowed_mode`)."""
    salience_threshold: float = DEFAULT_THRESHOLD
    """[0, 1]; memories below it are pruned, 0 prunes none."""
    max_memories: int = 0
    """Consider only the newest; 0 for all."""
    at_ms: int = 0
    """Unix ms that counts as now, for ages; 0 for the time of the snapshot."""
    goals: GoalSearch | None = None
    """Look for goals only."""
    unattended: bool = False
    """Nobody asked for the run: it forgets nothing that a person or an import brought."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", mode_of(self.mode))
        check_unit("salience_threshold", self.salience_threshold)
        for name, most in (("max_memories", _MOST), ("at_ms", (1 << 63) - 1)):
            value = getattr(self, name)
            if type(value) is not int:
                raise InvalidParamsError.of(name, f"must be a whole number, is {type(value).__name__}")
            check_range(name, value, 0, most)


def mode_of(value: Any) -> Mode:
    """Return the mode of that name; InvalidParamsError names the three."""
    try:
        return Mode(value)
    except ValueError:
        raise InvalidParamsError.of("mode", f"is {value!r}, must be light, deep or rem") from None


class DreamState(StrEnum):
    """The states of C for consolidation; the values are printed in answers."""

    AWAKE = "Awake"
    DROWSY = "Drowsy"
    DREAMING = "Dreaming"
    DEEP_SLEEP = "DeepSleep"

    @classmethod
    def of(cls, consciousness: float) -> DreamState:
        """Return the state of a C in [0, 1]; InvalidParamsError outside of it, or for NaN."""
        check_unit("consciousness", consciousness)
        return next(state for state, (least, _) in reversed(_STATES.items()) if consciousness >= least)


_STATES: Final = {
    DreamState.AWAKE: (0.0, Mode.LIGHT),
    DreamState.DROWSY: (0.3, Mode.DEEP),
    DreamState.DREAMING: (0.6, Mode.REM),
    DreamState.DEEP_SLEEP: (0.8, Mode.REM),
}
"""Each state with its least C, and the most that may run in it."""


@dataclass(frozen=True, slots=True)
class Consciousness:
    """C and its three factors during a run, each in [0, 1] (seed 002's context)."""

    integration_score: float
    reflection_depth: float
    differentiation_index: float
    consciousness_level: float
    measured: bool = True
    """Whether a session was measured; if not, the numbers mean nothing."""

    @property
    def dream_state(self) -> DreamState:
        """The state that this C is."""
        return DreamState.of(self.consciousness_level)

    def as_dict(self) -> dict[str, object]:
        """JSON-able, by seed 002's field names; null for all but ``measured`` if nothing was measured."""
        document: dict[str, object] = {**asdict(self), "dream_state": self.dream_state.value}
        return document if self.measured else {**dict.fromkeys(document), "measured": False}


UNMEASURED: Final = Consciousness(0.0, 0.0, 0.0, 0.0, measured=False)
"""No session has been measured, as without hooks: C is unknown, which forbids nothing."""


class ModeNotAllowedError(InvalidParamsError):
    """C does not allow the mode, and the caller refuses a lesser one."""

    code = "mode_not_allowed"


def allowed_mode(
    requested: Mode, consciousness: Consciousness, *, strict: bool = False, any_state: bool = False
) -> Mode:
    """Return the mode to run: ``requested``, or the highest that a measured C allows.

    Args:
        strict: Refuse instead of doing less.
        any_state: Run what is requested whatever C is, because a person asked.

    Raises ModeNotAllowedError: ``strict``, and C does not allow it; names both modes.
    """
    state = consciousness.dream_state
    _, most = _STATES[state]
    modes = list(Mode)
    if any_state or not consciousness.measured or modes.index(requested) <= modes.index(most):
        return requested
    if strict:
        needs, least = next((state, least) for state, (least, mode) in _STATES.items() if mode is requested)
        raise ModeNotAllowedError.of(
            "mode",
            f"{requested.value} needs C >= {least:g} ({needs.value}), C is "
            f"{consciousness.consciousness_level:.2f} ({state.value}), which allows {most.value}; ask for "
            f"{most.value}, or leave strict out to have {most.value} run instead",
        )
    return most


DATABASE: Final = "db"
"""The checkpoint in a run's folder."""
PREPARED: Final = "prepared"
ABANDONED: Final = 3
"""Exit code of a process whose standard input was closed."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """It could not be done; nothing of it is to be applied."""

    code: str
    message: str

    def error(self) -> ContextGraphError:
        """As an exception of the class that ``code`` names."""
        kind = error_for_code(self.code)
        return (OwnerError if kind is ContextGraphError else kind)(self.message)


Line = Update | Failed

_ENCODER: Final = msgspec.json.Encoder()
_LINES: Final[msgspec.json.Decoder[Line]] = msgspec.json.Decoder(Update | Failed)
_REQUESTS: Final = msgspec.json.Decoder(Request)


def arguments(folder: Path) -> list[str]:
    """Return the command that computes what is prepared in ``folder``."""
    # -P: a folder that the owner happens to run in must not shadow our modules.
    return [sys.executable, "-P", "-m", "context_graph.consolidation", str(folder)]


def write_line(line: Line | Request) -> bytes:
    """Return ``line`` with its newline."""
    return _ENCODER.encode(line) + b"\n"


def read_line(raw: bytes) -> Line:
    """Return what the process said. Raises OwnerError: it is no such line."""
    try:
        return _LINES.decode(raw)
    except msgspec.DecodeError as error:
        raise OwnerError(f"the consolidation's process said {raw[:80]!r}: {error}") from error


def read_request(raw: bytes) -> Request:
    """Return the first line of standard input. Raises msgspec.DecodeError, InvalidParamsError: it is none."""
    return _REQUESTS.decode(raw)


def run_folder(store: Path, name: str) -> Path:
    """Return where the run of that name is computed, in the store folder ``store``."""
    return store / FOLDER / name


def take_checkpoint(store: GraphStore, folder: Path) -> None:
    """Make ``folder`` (0700) with a checkpoint of ``store`` in it, which may then change freely.

    Raises StoreError: It can't be made; nothing is left of it then.

    Cost: some 5 ms; up to 50 ms if much was written lately, which is flushed first.
    """
    from context_graph.store.engine.failures import translate

    try:
        os.makedirs(folder.parent, mode=0o700, exist_ok=True)
        os.mkdir(folder, mode=0o700)
    except OSError as error:
        raise translate(error, folder) from error
    try:
        store.checkpoint(folder / DATABASE)
    except BaseException:
        discard(folder)
        raise


def discard(folder: Path) -> None:
    """Remove a run's folder, and the one above if it is empty. Never fails: leftovers are tried again."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.parent.rmdir()
    except OSError:
        return


def leftovers(store: Path) -> list[Path]:
    """Folders of runs in the store folder ``store``: those of dead processes, if none is running."""
    try:
        return sorted(path for path in (store / FOLDER).iterdir() if path.is_dir())
    except OSError:
        return []
