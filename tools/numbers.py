#!/usr/bin/env python3
"""Print how each number of the product is spread and what it predicts: `python tools/numbers.py --help`."""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(import_module("tools.measures.command").main())

# A script of this folder that imports `numbers`, as numpy does, means the standard library's module.
_here = str(Path(__file__).parent)
_paths = sys.path[:]
sys.path[:] = [path for path in sys.path if path != _here]
del sys.modules[__name__]
import_module(__name__)
sys.path[:] = _paths
