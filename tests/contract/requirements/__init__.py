"""Which tests prove which requirement of the specifications, checked both ways by test_requirements.py.

The ids are those of seed 000 (REQ-SESSION, TC-SESSION), seed 001 (REQ-HOOKS) and seed 003 (REQ-CORE, EC-CORE,
ERR-CORE, TC-CORE), all that they name. A test names what it proves in its docstring.
"""

from __future__ import annotations

from tests.contract.requirements.core import CORE
from tests.contract.requirements.core_cases import CORE_CASES
from tests.contract.requirements.hooks import HOOKS
from tests.contract.requirements.requirement import Requirement
from tests.contract.requirements.session import SESSION

__all__ = ["REQUIREMENTS"]

REQUIREMENTS: dict[str, Requirement] = {**SESSION, **HOOKS, **CORE, **CORE_CASES}
